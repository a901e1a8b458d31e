//! `memdir hook`: answers a client's hook, which is called at events of a session.
//!
//! Promises: the exit code is 0 whatever happens, because another one may stop the client; one line on
//! standard error says what was done; no model is loaded, and nothing is committed. Standard output holds the
//! answer to the client, or nothing.

use std::collections::HashSet;
use std::io::{IsTerminal, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use chrono::{DateTime, TimeDelta, Utc};

use crate::cli::args::sessions::Hook;
use crate::cli::sessions::capture;
use crate::cli::sessions::client::{self, HookEvent, HookInput};
use crate::cli::sessions::question::{Answer, Question, Subject};
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::log;
use crate::cli::terminal::output::Output;
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::config::{Capture, Config, Environment, Flags, Origin};
use crate::dialect::session_text;
use crate::engine::BriefLimits;
use crate::sessions::{LeftOutNote, SessionEvent, Sessions, known_to};

/// Maximum size of a client's message in bytes; a prompt with a pasted file is a few hundred thousand.
const MAX_INPUT: u64 = 16 << 20;
/// Maximum number of characters that are shown with a prompt, all in all.
const PROMPT_CHARACTERS: usize = 800;

/// Answers a hook. Errors are one line on standard error.
pub fn hook(flags: Flags, command: &Hook, environment: Environment, output: &Output) -> Outcome {
    let answer = || answer(flags, command, environment, output);
    let said = match catch_unwind(AssertUnwindSafe(answer)) {
        Ok(Ok(said)) => said,
        Ok(Err(failure)) => {
            let causes = failure.causes.iter().map(|cause| format!(": {cause}"));
            format!(
                "nothing was shown: {}{}",
                failure.what,
                causes.collect::<String>()
            )
        }
        Err(_) => {
            "nothing was shown: memdir has a fault, which the lines above describe".to_owned()
        }
    };
    let event = command.event.as_deref().unwrap_or("hook");
    output.note(format!("memdir {event}: {}", said.replace('\n', " ")));
    Outcome::Done
}

/// Returns whether the command line names this command.
pub fn is_called() -> bool {
    let mut words = std::env::args_os().skip(1);
    while let Some(word) = words.next() {
        match word.to_string_lossy().as_ref() {
            // Options of every command that have a value.
            "--store" | "--color" => drop(words.next()),
            word if word.starts_with('-') => {}
            word => return word == "hook",
        }
    }
    false
}

/// Ends a call whose words were not understood: a client takes any exit code but 0 for a refusal.
pub fn misunderstood(error: &str) -> ExitCode {
    let first = error.lines().next().unwrap_or_default();
    anstream::eprintln!("memdir hook: nothing was shown: {first}");
    ExitCode::SUCCESS
}

/// Answer of a hook to the client.
#[derive(Default)]
struct Given {
    /// Text for the agent; empty for none.
    text: String,
    /// Stems of the memories in it.
    shown: Vec<String>,
    left_out: Vec<LeftOutNote>,
    /// Sentence for people about what was done.
    did: String,
}

impl Given {
    /// Returns that nothing is given, and why.
    fn nothing(why: impl Into<String>) -> Given {
        Given {
            did: why.into(),
            ..Given::default()
        }
    }
}

/// The session in which a hook was called.
struct Session {
    input: HookInput,
    /// Its events before this one.
    events: Vec<SessionEvent>,
    /// Stems of the memories that it was shown.
    known: HashSet<String>,
}

/// Answers a hook, and returns what it did.
fn answer(
    flags: Flags,
    command: &Hook,
    mut environment: Environment,
    output: &Output,
) -> Result<String, Failure> {
    let name = command.event.as_deref().unwrap_or_default();
    let Some(event) = HookEvent::named(name) else {
        let names: Vec<&str> = HookEvent::NAMES.iter().map(|(name, _)| *name).collect();
        return Err(Failure::new(format!(
            "`{name}` is no event; the events are {}",
            names.join(", ")
        )));
    };
    let input = HookInput::read(&read_input()?);
    if let Some(folder) = &input.folder {
        environment.folder = environment.folder.join(folder);
    }
    let config = Config::read(&flags, &environment)?;
    // The client's log gets one line, unless the user looks for more.
    if config.log.origin != Origin::Default {
        log::start(&config, false);
    }
    let sessions = environment.state_folder.as_deref().map(Sessions::new);
    let client = command.client.as_str();
    let context = Context::new(config, environment, output.share());
    // Without an id, sessions in one folder cannot be told apart.
    let id = match input.session.is_empty() {
        true => context.environment.folder.display().to_string(),
        false => input.session.clone(),
    };
    let events = sessions
        .as_ref()
        .map(|sessions| sessions.events_of(client, &id));
    let events = events.unwrap_or_default();
    let session = Session {
        known: known_to(&events),
        input,
        events,
    };
    let now = context.now();
    let is_captured = !command.dry_run && capture::wanted(&context, client) != Capture::Off;
    let paused = sessions.as_ref().and_then(|sessions| sessions.paused(now));
    let given = match (event, paused) {
        (_, Some(pause)) => Given::nothing(pause.to_string()),
        (HookEvent::SessionStart, None) => {
            if let Some(sessions) = sessions.as_ref().filter(|_| is_captured) {
                keep_unended(&context, sessions, client, &id);
            }
            start(&context, &session)?
        }
        (HookEvent::Prompt, None) => prompt(&context, &session)?,
        // The end of an answer comes many times in a session, and has nothing to note.
        (HookEvent::Stop, None) => return Ok("there is nothing to do".to_owned()),
        (HookEvent::BeforeCompact | HookEvent::SessionEnd, None) => {
            let did = match event {
                HookEvent::SessionEnd => "the session ended",
                _ => "the context is compacted",
            };
            let transcript = session.input.transcript.as_deref();
            match transcript.filter(|_| is_captured) {
                Some(transcript) => {
                    capture::keep(&context, transcript.as_ref())?;
                    Given::nothing(format!("{did}; `memdir mine` keeps it"))
                }
                None => Given::nothing(did),
            }
        }
    };
    if !given.text.is_empty() {
        let answer = client::answer(client, event, &session.input, &given.text);
        let mut stdout = std::io::stdout();
        writeln!(stdout, "{answer}").and_then(|()| stdout.flush())?;
    }
    let mut said = given.did.clone();
    for LeftOutNote { id, why } in &given.left_out {
        said.push_str(&format!("; {id} is left out: {why}"));
    }
    let is_silent_prompt = event == HookEvent::Prompt && given.text.is_empty();
    let event = SessionEvent {
        at: now,
        event: name.to_owned(),
        source: session
            .input
            .source
            .filter(|_| event == HookEvent::SessionStart),
        client: client.to_owned(),
        session: id,
        folder: context.environment.folder.display().to_string(),
        store: context.config.store.value.display().to_string(),
        transcript: session.input.transcript,
        shown: given.shown,
        characters: given.text.chars().count(),
        left_out: given.left_out,
        did: given.did,
    };
    // Most prompts are answered by silence.
    if !command.dry_run && (!is_silent_prompt || !event.left_out.is_empty()) {
        match sessions.map(|sessions| sessions.add(&event)) {
            Some(Err(error)) => said.push_str(&format!("; it cannot be recorded: {error}")),
            None => said.push_str("; it cannot be recorded: there is no folder for state"),
            Some(Ok(())) => {}
        }
    }
    Ok(said)
}

/// Keeps the sessions of the folder that did not tell of their end, and notes that. One that still runs goes on,
/// and is kept again. What fails is tried again when the next session begins.
fn keep_unended(context: &Context, sessions: &Sessions, client: &str, id: &str) {
    let newest = sessions.newest(capture::LOOKED_AT);
    let folder = context.environment.folder.display().to_string();
    for last in capture::unended(&newest, client, id, &folder) {
        let transcript = last.transcript.as_deref().unwrap_or_default();
        if capture::keep(context, transcript.as_ref()).is_err() {
            continue;
        }
        let end = SessionEvent {
            // As if it had told at once: a session that goes on is shown what was written since then.
            at: last.at + TimeDelta::milliseconds(1),
            event: HookEvent::SessionEnd.name().to_owned(),
            source: None,
            shown: Vec::new(),
            characters: 0,
            left_out: Vec::new(),
            did: "it did not tell of its end; `memdir mine` keeps it".to_owned(),
            ..last.clone()
        };
        if let Err(error) = sessions.add(&end) {
            tracing::info!("the end of a session cannot be recorded: {error}");
        }
    }
}

fn read_input() -> Result<String, Failure> {
    let mut input = Vec::new();
    let stdin = std::io::stdin();
    // Somebody tries it by hand.
    if !stdin.is_terminal() {
        stdin
            .take(MAX_INPUT)
            .read_to_end(&mut input)
            .map_err(|error| Failure::new("cannot read the client's message").because(error))?;
    }
    Ok(String::from_utf8_lossy(&input).into_owned())
}

/// Gives a session its brief: whole when its context is new; after a compaction without what it was shown;
/// when it goes on, what was written since its last event.
fn start(context: &Context, session: &Session) -> Result<Given, Failure> {
    if session.input.is_subagent {
        return Ok(Given::nothing(
            "an agent of this session starts, which was told already",
        ));
    }
    let source = session.input.source.as_deref();
    let is_compacted = source == Some("compact");
    let last: Option<DateTime<Utc>> = session.events.iter().map(|event| event.at).max();
    let goes_on = !is_compacted && source != Some("clear");
    // Sessions without ids cannot be told apart.
    let since = last.filter(|_| goes_on && !session.input.session.is_empty());
    let dialect = context.config.mcp.dialect.as_deref();
    let instruction = session_text::start_instruction(dialect);
    let around =
        session_text::characters_around(&instruction) + session_text::SHOWN_BEFORE_CHARACTERS;
    let question = Question {
        namespace: context.config.namespace.value.clone(),
        characters: BriefLimits::default().characters - around,
        known: match since {
            Some(_) => session.known.clone(),
            None => HashSet::new(),
        },
        subject: Subject::Start { since },
    };
    let brief = ask(context, question)?;
    let (known, new): (Vec<_>, Vec<_>) = brief
        .memories
        .into_iter()
        .partition(|shown| is_compacted && session.known.contains(&shown.stem));
    let lines: Vec<String> = new.iter().map(|shown| shown.line.clone()).collect();
    let ids: Vec<&str> = known.iter().map(|shown| shown.id.as_str()).collect();
    // A session that goes on has the instruction.
    let text = match since.is_some() && lines.is_empty() {
        true => String::new(),
        false => session_text::with_lines(&instruction, &lines) + &session_text::shown_before(&ids),
    };
    let count = new.len();
    let plural = if count == 1 { "memory" } else { "memories" };
    Ok(Given {
        did: format!(
            "{count} {plural} of {}, {} characters",
            brief.namespace,
            text.chars().count()
        ),
        shown: new.into_iter().map(|shown| shown.stem).collect(),
        text,
        left_out: brief.left_out,
    })
}

/// Gives the memories that fit a prompt, or nothing.
fn prompt(context: &Context, session: &Session) -> Result<Given, Failure> {
    let prompt = session.input.prompt.trim();
    // Commands of the client are no questions.
    if prompt.is_empty() || prompt.starts_with('/') {
        return Ok(Given::nothing("there is no question"));
    }
    let instruction = session_text::prompt_instruction();
    let question = Question {
        namespace: context.config.namespace.value.clone(),
        characters: PROMPT_CHARACTERS - session_text::characters_around(instruction),
        known: session.known.clone(),
        subject: Subject::Prompt {
            text: prompt.to_owned(),
        },
    };
    let answer = ask(context, question)?;
    if answer.memories.is_empty() {
        return Ok(Given {
            left_out: answer.left_out,
            ..Given::nothing("no memory fits the prompt")
        });
    }
    let lines: Vec<String> = answer
        .memories
        .iter()
        .map(|shown| shown.line.clone())
        .collect();
    let text = session_text::with_lines(instruction, &lines);
    let count = lines.len();
    let plural = if count == 1 {
        "memory fits"
    } else {
        "memories fit"
    };
    Ok(Given {
        did: format!(
            "{count} {plural} the prompt, {} characters",
            text.chars().count()
        ),
        shown: answer
            .memories
            .into_iter()
            .map(|shown| shown.stem)
            .collect(),
        text,
        left_out: answer.left_out,
    })
}

/// Returns the answer of a server that runs; without one, that of the store.
fn ask(context: &Context, question: Question) -> Result<Answer, Failure> {
    #[cfg(unix)]
    if let Some(answer) = crate::cli::sessions::question::ask_server(context, &question) {
        return Ok(answer);
    }
    let is_start = matches!(question.subject, Subject::Start { .. });
    let engine = context.engine_without_models()?;
    let answer = question.answer(&engine)?;
    // A session that begins waits longer than one that asks.
    if is_start {
        afterwards::settle(&engine);
    }
    Ok(answer)
}

//! `memdir mine`: conversations of transcripts and exports become memories.

use std::collections::BTreeMap;
use std::io;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use crate::cli::args::sharing::{Mine, TalkFormat};
use crate::cli::sharing::suggest;
use crate::cli::sharing::suggest::Sending;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::{Output, visible};
use crate::cli::terminal::progress::byte_bar;
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::cli::wiring::llm;
use crate::engine::{Engine, MODEL_RULE, Mined, Mining, Proposal, Toward, ops, read_moment};
use crate::llm::Llm;
use crate::model::Stem;
use crate::talks;
use crate::talks::{Format, Found, Places, Session, Source, Sources, TalkError};

/// Maximum number of projects and damaged records that are shown; `--json` has all.
const MOST_SHOWN: usize = 12;

/// Number of memories that were written from which on they are indexed at once: fewer are searched as they are.
const MANY: usize = 32;

/// Runs `memdir mine`.
pub fn mine(context: &mut Context, command: &Mine) -> Result<Outcome, Failure> {
    let wanted = Wanted::of(context, command)?;
    let sources = match command.paths.is_empty() {
        true => talks::discover(&places(context)?, wanted.format),
        false => named(command, wanted.format)?,
    };
    let mut report = Report::without(&sources.unreadable);
    let mut sources = sources.found;
    let there = sources.len();
    sources.retain(|source| wanted.takes_source(source));
    if sources.is_empty() {
        return nothing(context, command, (&report, there));
    }
    let model = match command.proposals && !command.rules {
        true => llm::for_proposals(context)?,
        false => None,
    };
    if command.paths.is_empty() && !command.dry_run && !command.yes {
        show_sources(&mut context.output, &sources)?;
        if !is_confirmed(context)? {
            context.output.line("nothing was read")?;
            return Ok(Outcome::Nothing);
        }
    }
    let beside = command
        .dry_run
        .then(crate::files::scratch_folder)
        .transpose();
    let beside =
        beside.map_err(|error| Failure::new("cannot make a folder for a while").because(error))?;
    let engine = match &beside {
        Some(beside) => context.engine_for_trying(beside.path())?,
        None => context.engine_for_writing()?,
    };
    // One commit for each program that the conversations come from.
    sources.sort_by_key(|source| source.format);
    let bar = byte_bar("reading", sources.iter().map(|source| source.bytes).sum());
    for sources in sources.chunk_by(|one, other| one.format == other.format) {
        let before = report.stems.len();
        read_all(context, &engine, sources, &wanted, (&mut report, &bar))?;
        if report.stems.len() > before {
            afterwards::after_writing(context, &engine)?;
        }
    }
    bar.finish_and_clear();
    if !command.dry_run && report.stems.len() >= MANY {
        afterwards::index_many(&engine);
    }
    if command.proposals {
        propose(context, &engine, (command, model.as_ref()), &mut report)?;
        if !report.accepted.is_empty() {
            afterwards::after_writing(context, &engine)?;
        }
    }
    report.show(&mut context.output, &engine, command.dry_run)?;
    Ok(Outcome::found(report.damaged.is_empty()))
}

/// Proposes memories of what the sessions say; those of the user's `[capture] accept` become memories.
fn propose(
    context: &Context,
    engine: &Engine,
    (command, model): (&Mine, Option<&Llm>),
    report: &mut Report,
) -> Result<(), Failure> {
    let proposals = match model {
        Some(model) if command.dry_run => {
            let sessions = (report.seen.as_slice(), report.unkept.as_slice());
            report.sending = Some(suggest::show(context, engine, model, sessions)?);
            return Ok(());
        }
        None if command.dry_run => {
            let hint = "a dry run makes no proposals; without a language model none is asked";
            context.output.note(hint);
            return Ok(());
        }
        Some(model) => {
            let sessions = (report.seen.as_slice(), command);
            let Some((proposals, sending)) = suggest::propose(context, engine, model, sessions)?
            else {
                return Ok(());
            };
            report.sending = Some(sending);
            proposals
        }
        None => ops::propose(engine, &report.seen.concat())?,
    };
    if let Some(least) = context.config.capture.accept {
        // How sure a model is of its own statement is no measure of it.
        let mut likely = proposals.clone();
        likely.retain(|proposal| proposal.rule != MODEL_RULE);
        let accepted = ops::accept_likely_proposals(engine, likely, least)?;
        let stems = accepted
            .iter()
            .map(|(_, remembered)| remembered.stem.clone());
        report.accepted = stems.collect();
    }
    report.proposals = Some(proposals);
    Ok(())
}

/// Sessions that a command asks for.
struct Wanted {
    format: Option<Format>,
    since: Option<DateTime<Utc>>,
    /// Names of projects in lower case; empty for all.
    projects: Vec<String>,
    excluded: Vec<String>,
    min_messages: usize,
    /// Namespace of new sessions, in place of that of their projects.
    namespace: Option<String>,
    /// Whether nothing is to be written.
    is_dry_run: bool,
}

impl Wanted {
    fn of(context: &Context, command: &Mine) -> Result<Wanted, Failure> {
        let since = command.since.as_ref().map(|text| {
            read_moment(text, context.now(), Toward::Past).ok_or_else(|| {
                Failure::new(format!("cannot read the time `{text}` of --since")).hint(
                    "Write a date (2026-01-31), `yesterday`, or an amount such as 12h, 3d, 2w.",
                )
            })
        });
        let projects = command.project.as_deref().unwrap_or_default().split(',');
        let projects = projects.map(|name| name.trim().to_lowercase());
        Ok(Wanted {
            format: command.format.map(format),
            since: since.transpose()?,
            projects: projects.filter(|name| !name.is_empty()).collect(),
            excluded: command.exclude.clone(),
            min_messages: command.min_messages,
            namespace: command.namespace.clone(),
            is_dry_run: command.dry_run,
        })
    }

    /// Returns whether a source may hold such sessions.
    fn takes_source(&self, source: &Source) -> bool {
        let path = source.path.display().to_string();
        let is_excluded = self
            .excluded
            .iter()
            .any(|text| path.contains(text.as_str()));
        // What was not changed since then has no later message.
        let is_old = source.modified < self.since && source.modified.is_some();
        !is_excluded && !is_old
    }

    /// Returns whether it is such a session.
    fn takes(&self, session: &Session) -> bool {
        let project = session.project().unwrap_or("global").to_lowercase();
        let folder = session.folder.as_deref().unwrap_or_default();
        let is_excluded = self
            .excluded
            .iter()
            .any(|text| folder.contains(text.as_str()));
        let is_old = session.last() < self.since;
        let is_short = session.messages.len() < self.min_messages;
        let is_named = self.projects.is_empty() || self.projects.contains(&project);
        !is_excluded && !is_old && !is_short && is_named
    }
}

fn format(format: TalkFormat) -> Format {
    match format {
        TalkFormat::ClaudeCode => Format::ClaudeCode,
        TalkFormat::Codex => Format::Codex,
        TalkFormat::Gemini => Format::Gemini,
        TalkFormat::Opencode => Format::Opencode,
        TalkFormat::Cursor => Format::Cursor,
        TalkFormat::ClaudeMemory => Format::ClaudeMemory,
        TalkFormat::Claude => Format::Claude,
        TalkFormat::Chatgpt => Format::Chatgpt,
        TalkFormat::Slack => Format::Slack,
        TalkFormat::Plain => Format::Plain,
    }
}

/// Returns where programs keep transcripts on this machine.
fn places(context: &Context) -> Result<Places, Failure> {
    let variables = &context.environment.variables;
    let variable = |name: &str| {
        let path = variables.get(name).filter(|path| !path.is_empty());
        path.map(PathBuf::from)
    };
    let home = variable(if cfg!(windows) { "USERPROFILE" } else { "HOME" });
    let home = home.ok_or_else(|| {
        Failure::new("cannot find your home folder")
            .hint("Set HOME, or name the transcripts: `memdir mine PATH`.")
    })?;
    Ok(Places::of(&home, &variable))
}

/// Returns the sources at the paths of a command.
fn named(command: &Mine, format: Option<Format>) -> Result<Sources, Failure> {
    let mut sources = Sources::default();
    for path in &command.paths {
        let found = talks::sources_at(path, format).map_err(|error| {
            let failure = Failure::new(error.to_string());
            match (format, error) {
                (None, TalkError::Unknown { .. }) => {
                    failure.hint("Say what it is with --format, such as --format claude.")
                }
                _ => failure,
            }
        })?;
        sources.found.extend(found.found);
        sources.unreadable.extend(found.unreadable);
    }
    Ok(sources)
}

/// Says that no source is read, of `there` that could be.
fn nothing(
    context: &mut Context,
    command: &Mine,
    (report, there): (&Report, usize),
) -> Result<Outcome, Failure> {
    if context.output.json {
        context.output.json(&report.json(None, command.dry_run))?;
        return Ok(Outcome::Nothing);
    }
    report.show_damaged(&mut context.output);
    let left_out = match there {
        0 => String::new(),
        there => format!(": {} left out", plural(there, "file")),
    };
    let why = format!("there is no conversation to read{left_out}");
    context.output.note(why);
    if command.paths.is_empty() {
        for folder in places(context)?.folders() {
            context
                .output
                .note(format!("looked in {}", folder.display()));
        }
    }
    Ok(Outcome::Nothing)
}

/// Shows what was found on this machine, before any of it is read.
fn show_sources(output: &mut Output, sources: &[Source]) -> Result<(), Failure> {
    let mut by_format: BTreeMap<Format, Vec<&Source>> = BTreeMap::new();
    for source in sources {
        by_format.entry(source.format).or_default().push(source);
    }
    for (format, sources) in by_format {
        let bytes: u64 = sources.iter().map(|source| source.bytes).sum();
        let times = sources.iter().filter_map(|source| source.modified);
        let (first, last) = (times.clone().min(), times.max());
        let mut projects: BTreeMap<&str, usize> = BTreeMap::new();
        for project in sources
            .iter()
            .filter_map(|source| source.project.as_deref())
        {
            *projects.entry(project).or_default() += 1;
        }
        output.note(format!(
            "{format}: {}, {}{}{}",
            plural(sources.len(), "file"),
            size(bytes),
            span(first, last),
            listed(&projects)
        ));
    }
    Ok(())
}

fn is_confirmed(context: &Context) -> Result<bool, Failure> {
    if context.output.json || !std::io::stdin().is_terminal() {
        return Err(Failure::new(
            "conversations on this machine would be read, and nobody can be asked here",
        )
        .hint("Say --yes if that is meant, or --dry-run to see what is there."));
    }
    let agreed = context.output.is_agreed("Keep them as memories? [y/N]");
    agreed.map_err(|error| Failure::new("cannot read the answer").because(error))
}

/// Sessions of one format.
#[derive(Default)]
struct OfFormat {
    sessions: usize,
    messages: usize,
    bytes: u64,
    first: Option<DateTime<Utc>>,
    last: Option<DateTime<Utc>>,
    projects: BTreeMap<String, usize>,
}

impl OfFormat {
    fn add(&mut self, session: &Session) {
        self.sessions += 1;
        self.messages += session.messages.len();
        let sizes = session
            .messages
            .iter()
            .map(|message| message.text.len() as u64);
        self.bytes += sizes.sum::<u64>();
        let first = [self.first, session.first()].into_iter().flatten().min();
        self.first = first;
        self.last = self.last.max(session.last());
        let project = session.project().unwrap_or("global").to_owned();
        *self.projects.entry(project).or_default() += 1;
    }
}

/// Outcome.
#[derive(Default)]
struct Report {
    formats: BTreeMap<Format, OfFormat>,
    new: usize,
    /// Parts of new sessions.
    parts: usize,
    continued: usize,
    known: usize,
    forgotten: usize,
    left_out: usize,
    stems: Vec<Stem>,
    /// Memories of all sessions that were read, session by session.
    seen: Vec<Vec<Stem>>,
    /// Numbers of characters of the sessions that a dry run does not keep.
    unkept: Vec<usize>,
    /// Texts that go to a language model, where one makes proposals.
    sending: Option<Sending>,
    /// New proposals, where they were asked for.
    proposals: Option<Vec<Proposal>>,
    /// Memories that were made of proposals unasked.
    accepted: Vec<Stem>,
    /// Places that could not be read, with the reasons.
    damaged: Vec<(String, String)>,
}

/// Reads sources, and adds what becomes of their sessions to the report.
fn read_all(
    context: &Context,
    engine: &Engine,
    sources: &[Source],
    wanted: &Wanted,
    (report, bar): (&mut Report, &ProgressBar),
) -> Result<(), Failure> {
    let mut mining = Mining::begin(engine, &context.config.user.value, wanted.is_dry_run)?;
    mining.namespace.clone_from(&wanted.namespace);
    let mut failed = None;
    for source in sources {
        let read = talks::read(source, &mut |found| {
            match found {
                Found::Bytes(bytes) => bar.inc(bytes),
                Found::Damaged { place, reason } => report.damaged.push((place, reason)),
                Found::Session(session) if !wanted.takes(&session) => report.left_out += 1,
                Found::Session(session) => match mining.keep(&session) {
                    Ok(mined) => report.add(&session, mined),
                    Err(error) => {
                        failed = Some(error);
                        return ControlFlow::Break(());
                    }
                },
            }
            ControlFlow::Continue(())
        });
        if read.is_break() {
            break;
        }
    }
    // Also what was written before a failure is to stay.
    mining.finish()?;
    failed.map_or(Ok(()), |error| Err(error.into()))
}

impl Report {
    /// Returns the report of a run that cannot read some files.
    fn without(unreadable: &[(PathBuf, io::Error)]) -> Report {
        let unreadable = unreadable.iter();
        let damaged =
            unreadable.map(|(path, error)| (path.display().to_string(), error.to_string()));
        Report {
            damaged: damaged.collect(),
            ..Report::default()
        }
    }

    fn add(&mut self, session: &Session, mined: Mined) {
        self.formats.entry(session.format).or_default().add(session);
        if matches!(&mined, Mined::New { stems, .. } | Mined::Continued { stems, .. } if stems.is_empty())
        {
            let texts = session.messages.iter().map(|message| &message.text);
            self.unkept
                .push(texts.map(|text| text.chars().count()).sum());
        }
        match mined {
            Mined::New { stems, parts } => {
                self.new += 1;
                self.parts += parts;
                self.stems.extend_from_slice(&stems);
                self.seen.push(stems);
            }
            Mined::Continued { stems, known, .. } => {
                self.continued += 1;
                let new = stems.iter().filter(|stem| !known.contains(stem));
                if !stems.is_empty() {
                    self.seen.push(known.iter().chain(new).cloned().collect());
                }
                self.stems.extend(stems);
            }
            Mined::Known { stems } => {
                self.known += 1;
                self.seen.push(stems);
            }
            Mined::Forgotten => self.forgotten += 1,
        }
    }

    fn json(&self, engine: Option<&Engine>, is_dry_run: bool) -> Value {
        let formats = self.formats.iter().map(|(format, of)| {
            json!({
                "format": format.as_str(),
                "sessions": of.sessions,
                "messages": of.messages,
                "bytes": of.bytes,
                "first": of.first.map(moment),
                "last": of.last.map(moment),
                "projects": of.projects,
            })
        });
        let shown = |stem: &Stem| Some(engine?.live.shown_id(stem));
        let ids = self.stems.iter().filter_map(shown);
        let accepted = self.accepted.iter().filter_map(shown);
        let damaged = self.damaged.iter();
        let damaged = damaged.map(|(place, reason)| json!({"place": place, "reason": reason}));
        let proposals = self.proposals.as_ref();
        let proposals = proposals.map(|list| list.iter().map(proposal_json).collect::<Vec<_>>());
        json!({
            "dry_run": is_dry_run,
            "formats": formats.collect::<Vec<_>>(),
            "new": self.new,
            "continued": self.continued,
            "known": self.known,
            "forgotten": self.forgotten,
            "left_out": self.left_out,
            "ids": ids.collect::<Vec<_>>(),
            "proposals": proposals,
            "accepted": accepted.collect::<Vec<_>>(),
            "model": self.sending.as_ref().map(Sending::json),
            "damaged": damaged.collect::<Vec<_>>(),
        })
    }

    fn show_damaged(&self, output: &mut Output) {
        for (place, reason) in self.damaged.iter().take(MOST_SHOWN) {
            output.note(format!("not read: {}: {}", visible(place), visible(reason)));
        }
        if self.damaged.len() > MOST_SHOWN {
            let more = self.damaged.len() - MOST_SHOWN;
            output.note(format!("not read: {more} more; --json names all"));
        }
    }

    fn show(&self, output: &mut Output, engine: &Engine, is_dry_run: bool) -> Result<(), Failure> {
        if output.json {
            output.json(&self.json(Some(engine), is_dry_run))?;
            return Ok(());
        }
        self.show_damaged(output);
        for (format, of) in &self.formats {
            let projects = of
                .projects
                .iter()
                .map(|(name, count)| (name.as_str(), *count));
            let line = format!(
                "{format}: {}, {}, {}{}{}",
                plural(of.sessions, "session"),
                plural(of.messages, "message"),
                size(of.bytes),
                span(of.first, of.last),
                listed(&projects.collect())
            );
            let line = output.shown(&line);
            output.line(line)?;
        }
        let verb = if is_dry_run { "would keep" } else { "kept" };
        let mut said = format!("{verb} {} new", self.new);
        if self.parts > self.new {
            said += &format!(" (in {} parts)", self.parts);
        }
        said += &format!(
            ", continued {}, known already {}",
            self.continued, self.known
        );
        if self.forgotten > 0 {
            said += &format!(", forgotten here {}", self.forgotten);
        }
        if self.left_out > 0 {
            said += &format!(", not asked for {}", self.left_out);
        }
        output.line(said)?;
        if let Some(proposals) = &self.proposals {
            let count = plural(proposals.len(), "new proposal");
            let accepted = match self.accepted.len() {
                0 => String::new(),
                count => format!(", {count} accepted as [capture] accept says"),
            };
            output.line(format!(
                "{count}{accepted}; `memdir review` shows what waits"
            ))?;
        }
        Ok(())
    }
}

fn proposal_json(proposal: &Proposal) -> Value {
    json!({
        "id": proposal.id(),
        "kind": proposal.kind.as_str(),
        "confidence": proposal.confidence,
        "rule": proposal.rule,
        "passage": proposal.passage,
        "text": proposal.memory.content.trim(),
    })
}

fn moment(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

fn plural(count: usize, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        count => format!("{count} {thing}s"),
    }
}

#[allow(clippy::cast_precision_loss, reason = "it is rounded anyway")]
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} KB", bytes.div_ceil(1_000)),
        bytes => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

fn span(first: Option<DateTime<Utc>>, last: Option<DateTime<Utc>>) -> String {
    let day = |at: DateTime<Utc>| at.format("%Y-%m-%d").to_string();
    match (first.map(day), last.map(day)) {
        (Some(first), Some(last)) if first == last => format!(", {first}"),
        (Some(first), Some(last)) => format!(", {first} to {last}"),
        _ => String::new(),
    }
}

/// Returns the projects with the most sessions.
fn listed(projects: &BTreeMap<&str, usize>) -> String {
    let mut most: Vec<(&str, usize)> = projects
        .iter()
        .map(|(name, count)| (*name, *count))
        .collect();
    most.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let rest = most.len().saturating_sub(MOST_SHOWN);
    most.truncate(MOST_SHOWN);
    let names: Vec<String> = most
        .iter()
        .map(|(name, count)| format!("{name} ({count})"))
        .collect();
    match (names.is_empty(), rest) {
        (true, _) => String::new(),
        (false, 0) => format!("; projects: {}", names.join(", ")),
        (false, rest) => format!("; projects: {} and {rest} more", names.join(", ")),
    }
}

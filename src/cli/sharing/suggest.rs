//! Proposals of `memdir mine` that the language model of `[llm]` makes: shown, agreed to, asked for.

use std::cell::Cell;
use std::io::IsTerminal;

use serde_json::{Value, json};

use crate::cli::args::sharing::Mine;
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::Context;
use crate::engine::{
    Engine, MOST_CHARACTERS_ASKED, MOST_SUGGESTED, NoAnswer, Proposal, Suggested, UnaskedSession,
    ops,
};
use crate::fetch::FetchError;
use crate::llm::{Llm, LlmError, Suggestion, suggest};
use crate::model::Stem;
use crate::secrets;

/// Characters of a token, about.
const TOKEN: usize = 4;

/// Texts that go to a model, and their outcome.
#[derive(Debug)]
pub(super) struct Sending {
    calls: usize,
    characters: usize,
    /// Number of sessions of which a part is not sent.
    cut: usize,
    receiver: String,
    dropped: usize,
    by_rules: usize,
}

impl Sending {
    fn of(llm: &Llm, sessions: &[UnaskedSession], unkept: &[usize]) -> Sending {
        let most = |characters: &usize| (*characters).min(MOST_CHARACTERS_ASKED);
        let known: usize = sessions.iter().map(|session| session.characters).sum();
        let long = unkept
            .iter()
            .filter(|characters| **characters > MOST_CHARACTERS_ASKED);
        let cut = sessions.iter().filter(|session| session.is_cut()).count() + long.count();
        Sending {
            calls: sessions.len() + unkept.len(),
            characters: known + unkept.iter().map(most).sum::<usize>(),
            cut,
            receiver: llm.receiver(),
            dropped: 0,
            by_rules: 0,
        }
    }

    fn show(&self, context: &Context, is_dry_run: bool) {
        let verb = if is_dry_run {
            "would be sent"
        } else {
            "are sent"
        };
        let calls = counted(self.calls, "session", "one call each");
        context.output.note(format!(
            "{calls}: {} characters, about {} tokens, {verb} to {}; credentials are left out",
            self.characters,
            self.characters.div_ceil(TOKEN),
            self.receiver
        ));
        if self.cut > 0 {
            let cut = counted(self.cut, "session", "longer than that");
            context.output.note(format!(
                "at most the last {MOST_CHARACTERS_ASKED} characters of a session are sent; what is before is \
                 left to the rules: {cut}"
            ));
        }
    }

    /// Returns it for scripts.
    pub fn json(&self) -> Value {
        json!({
            "to": self.receiver,
            "calls": self.calls,
            "characters": self.characters,
            "tokens": self.characters.div_ceil(TOKEN),
            "cut": self.cut,
            "dropped": self.dropped,
            "by_rules": self.by_rules,
        })
    }
}

/// Shows what a run would send of the sessions in the store, and of those that it would keep, by their numbers
/// of characters.
pub(super) fn show(
    context: &Context,
    engine: &Engine,
    llm: &Llm,
    (sessions, unkept): (&[Vec<Stem>], &[usize]),
) -> Result<Sending, Failure> {
    let unasked = ops::unasked_sessions(engine, sessions)?;
    let sending = Sending::of(llm, &unasked, unkept);
    sending.show(context, true);
    Ok(sending)
}

/// Has the model propose memories of what sessions say, after it was shown what that sends and the user agreed;
/// `None` if the user did not.
pub(super) fn propose(
    context: &Context,
    engine: &Engine,
    llm: &Llm,
    (sessions, command): (&[Vec<Stem>], &Mine),
) -> Result<Option<(Vec<Proposal>, Sending)>, Failure> {
    let unasked = ops::unasked_sessions(engine, sessions)?;
    let mut sending = Sending::of(llm, &unasked, &[]);
    if unasked.is_empty() {
        return Ok(Some((Vec::new(), sending)));
    }
    sending.show(context, false);
    if !command.yes && !is_agreed(context)? {
        context
            .output
            .note("nothing was sent; --rules proposes by the rules");
        return Ok(None);
    }
    let (is_gone, first) = (Cell::new(false), Cell::new(None));
    let mut wrong = 0;
    let suggested = ops::propose_suggested(engine, &unasked, &mut |talks, is_among_people| {
        // Nobody waits for a host again that has just not answered.
        if is_gone.get() {
            return Err(NoAnswer::ForNow);
        }
        let talks: Vec<String> = talks.iter().map(|talk| secrets::redact(talk)).collect();
        match suggest(llm, &talks, is_among_people, MOST_SUGGESTED) {
            Ok((suggestions, others)) => {
                wrong += others;
                Ok(suggestions.into_iter().map(suggested_of).collect())
            }
            Err(error) => {
                let why = reason(&error);
                is_gone.set(why == NoAnswer::ForNow);
                first.set(Some(first.take().unwrap_or(error)));
                Err(why)
            }
        }
    })?;
    sending.dropped = suggested.dropped + wrong;
    sending.by_rules = suggested.by_rules;
    if let Some(error) = first.take() {
        let what = match sending.by_rules {
            1 => "the proposals of a session were made by the rules".to_owned(),
            many => format!("the proposals of {many} sessions were made by the rules"),
        };
        tracing::warn!("{what}: {error}");
    }
    if sending.dropped > 0 {
        let dropped = sending.dropped;
        context.output.note(format!(
            "{dropped} of the model's candidates left out: malformed, or not in a person's words"
        ));
    }
    Ok(Some((suggested.proposals, sending)))
}

fn suggested_of(suggestion: Suggestion) -> Suggested {
    Suggested {
        kind: suggestion.kind,
        text: suggestion.text,
        quote: suggestion.quote,
        confidence: suggestion.confidence,
    }
}

/// Returns whether the next session can be asked about after an error.
fn reason(error: &LlmError) -> NoAnswer {
    match error {
        // Too long a question for this model, or one that it does not take.
        LlmError::Fetch(FetchError::Refused {
            status: 400 | 413 | 422,
            ..
        }) => NoAnswer::Useless,
        LlmError::Fetch(_) => NoAnswer::ForNow,
        LlmError::TooMuch(_) | LlmError::Wrong { .. } => NoAnswer::Useless,
    }
}

fn is_agreed(context: &Context) -> Result<bool, Failure> {
    if context.output.json || !std::io::stdin().is_terminal() {
        return Err(Failure::new(
            "conversations would be sent to a language model, and nobody can be asked here; nothing was sent",
        )
        .hint("Say --yes if that is meant, --dry-run to see what is sent, or --rules to do without the model."));
    }
    let agreed = context.output.is_agreed("Send them? [y/N]");
    agreed.map_err(|error| Failure::new("cannot read the answer").because(error))
}

fn counted(count: usize, thing: &str, more: &str) -> String {
    match count {
        1 => format!("1 {thing}, {more}"),
        count => format!("{count} {thing}s, {more}"),
    }
}

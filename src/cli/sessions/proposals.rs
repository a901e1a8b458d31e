//! Proposals in `memdir review`: shown, asked about one by one on a terminal, decided.

use serde_json::{Value, json};

use crate::cli::args::sessions::Review;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::keys::Keys;
use crate::cli::terminal::output::{DIM, ID, Output};
use crate::cli::wiring::context::Context;
use crate::cli::wiring::editor::open_editor;
use crate::engine::{Engine, EngineError, KnownOfProposal, Proposal, Recalled, ops};
use crate::files::Draft;

/// Keys of a proposal on a terminal.
const KEYS: &str = "a accept, e edit, d drop, n never again, p passage, s skip, q quit";

/// Outcome of a review of proposals.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Decisions {
    /// Ids of the memories that were made.
    pub accepted: Vec<String>,
    /// Ids of proposals that were dropped.
    pub dropped: Vec<String>,
}

impl Decisions {
    /// Accepts a proposal.
    pub fn accept(
        &mut self,
        engine: &Engine,
        proposal: &Proposal,
        text: Option<&str>,
    ) -> Result<(), Failure> {
        let remembered = ops::accept_proposal(engine, proposal, text)?;
        self.accepted.push(engine.live.shown_id(&remembered.stem));
        Ok(())
    }

    fn drop(
        &mut self,
        engine: &Engine,
        proposal: &Proposal,
        for_ever: bool,
    ) -> Result<(), Failure> {
        ops::drop_proposal(engine, proposal, for_ever)?;
        self.dropped.push(proposal.id().to_owned());
        Ok(())
    }

    /// Returns whether a memory was written.
    pub fn is_changed(&self) -> bool {
        !self.accepted.is_empty()
    }

    /// Shows what was done.
    pub fn show(&self, output: &mut Output) -> Result<(), Failure> {
        if output.json {
            output.json(&json!({"accepted": self.accepted, "dropped": self.dropped}))?;
            return Ok(());
        }
        let (accepted, dropped) = (self.accepted.len(), self.dropped.len());
        let plural = if accepted == 1 { "memory" } else { "memories" };
        output.line(format!("accepted {accepted} {plural}, dropped {dropped}"))?;
        Ok(())
    }
}

/// Decides about the proposals that the command names.
pub(super) fn decide(
    context: &Context,
    engine: &Engine,
    command: &Review,
) -> Result<Decisions, Failure> {
    let mut decisions = Decisions::default();
    // Before the first decision: a wrong id is told before anything is done.
    let called = |ids: &[String]| -> Result<Vec<Proposal>, Failure> {
        let found = ids.iter().map(|id| ops::proposal_called(engine, id));
        Ok(found.collect::<Result<_, _>>()?)
    };
    let (dropped, never, edited) = (
        called(&command.drop)?,
        called(&command.never)?,
        called(&command.edit)?,
    );
    for proposal in dropped {
        decisions.drop(engine, &proposal, false)?;
    }
    for proposal in never {
        decisions.drop(engine, &proposal, true)?;
    }
    for proposal in edited {
        if let Some(text) = edited_text(context, &proposal)? {
            decisions.accept(engine, &proposal, Some(&text))?;
        }
    }
    if let Some(least) = command.accept_above {
        let proposals = ops::proposals(engine)?;
        let accepted = ops::accept_likely_proposals(engine, proposals, least)?;
        let ids = accepted
            .iter()
            .map(|(_, remembered)| engine.live.shown_id(&remembered.stem));
        decisions.accepted.extend(ids);
    }
    Ok(decisions)
}

/// Returns the proposal called `id`, if there is one.
pub(super) fn called(engine: &Engine, id: &str) -> Result<Option<Proposal>, Failure> {
    match ops::proposal_called(engine, id) {
        Ok(proposal) => Ok(Some(proposal)),
        Err(EngineError::NotFound(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns a proposal as `--json` shows it.
pub(super) fn as_json(engine: &Engine, proposal: &Proposal) -> Result<Value, Failure> {
    let known = ops::known_of_proposal(engine, proposal)?;
    let duplicate = known
        .duplicate
        .map(|(stem, headline)| json!({"id": engine.live.shown_id(&stem), "headline": headline}));
    let contradicted = known.contradicted.iter().map(|one| {
        json!({
            "id": engine.live.shown_id(&one.stem),
            "headline": one.headline,
            "difference": one.evidence.difference.word(),
            "older": one.evidence.older,
            "newer": one.evidence.newer,
        })
    });
    Ok(json!({
        "id": proposal.id(),
        "stem": proposal.memory.stem.as_str(),
        "kind": proposal.kind.as_str(),
        "confidence": proposal.confidence,
        "rule": proposal.rule,
        "passage": proposal.passage,
        "namespace": proposal.memory.namespace_or_global(),
        "timestamp": proposal.memory.timestamp.as_str(),
        "text": proposal.memory.content.trim(),
        "duplicate": duplicate,
        "contradicts": contradicted.collect::<Vec<_>>(),
        "suspicious": known.suspicious,
    }))
}

/// Shows a proposal: its sort and text, and what is known of it.
pub(super) fn show(
    output: &mut Output,
    engine: &Engine,
    proposal: &Proposal,
) -> Result<(), Failure> {
    let known = ops::known_of_proposal(engine, proposal)?;
    let Proposal {
        kind, confidence, ..
    } = proposal;
    let text = output.shown(&proposal.memory.content.trim().replace('\n', " "));
    output.line(format!(
        "{ID}{}{ID:#}  {DIM}{} {confidence:.2}{DIM:#}  {text}",
        proposal.id(),
        kind.as_str()
    ))?;
    for note in notes(engine, &known) {
        let note = output.shown(&note);
        output.line(format!("          {note}"))?;
    }
    Ok(())
}

/// Returns what is known of a proposal, a sentence each.
fn notes(engine: &Engine, known: &KnownOfProposal) -> Vec<String> {
    let duplicate = known.duplicate.iter().map(|(stem, headline)| {
        format!("{} says the same: {headline}", engine.live.shown_id(stem))
    });
    let contradicted = known.contradicted.iter().map(|one| {
        let id = engine.live.shown_id(&one.stem);
        format!("{id} says otherwise: {}", one.evidence)
    });
    let suspicious = known
        .suspicious
        .iter()
        .map(|sign| format!("suspicious: it {sign}"));
    duplicate.chain(contradicted).chain(suspicious).collect()
}

/// Asks about each proposal; one key decides. Returns what was decided before the end.
pub(super) fn ask(
    context: &mut Context,
    engine: &Engine,
    proposals: &[Proposal],
) -> Result<Decisions, Failure> {
    let mut decisions = Decisions::default();
    let mut keys = Keys::take()?;
    context.output.note(KEYS);
    'proposals: for proposal in proposals {
        show(&mut context.output, engine, proposal)?;
        loop {
            context.output.flush()?;
            match keys.next()? {
                'a' => decisions.accept(engine, proposal, None)?,
                'e' => match keys.without(|| edited_text(context, proposal))? {
                    Some(text) => decisions.accept(engine, proposal, Some(&text))?,
                    // Left as it was, or empty: asked again.
                    None => continue,
                },
                'd' => decisions.drop(engine, proposal, false)?,
                'n' => decisions.drop(engine, proposal, true)?,
                's' | '\n' | ' ' => {}
                'q' => break 'proposals,
                'p' => {
                    show_passage(&mut context.output, engine, proposal)?;
                    continue;
                }
                _ => {
                    context.output.note(KEYS);
                    continue;
                }
            }
            continue 'proposals;
        }
    }
    Ok(decisions)
}

/// Shows the passage of a proposal with its surroundings.
fn show_passage(output: &mut Output, engine: &Engine, proposal: &Proposal) -> Result<(), Failure> {
    for recalled in ops::recall(engine, std::slice::from_ref(&proposal.passage)) {
        match recalled {
            Recalled::Found { memory, .. } => {
                let text = output.shown(memory.content.trim_end());
                output.line(text)?;
            }
            Recalled::Failed { error, .. } => output.note(error.to_string()),
        }
    }
    Ok(())
}

/// Has the user edit the text of a proposal; `None` if it is empty then.
fn edited_text(context: &Context, proposal: &Proposal) -> Result<Option<String>, Failure> {
    let name = format!("{}.md", proposal.memory.stem);
    let draft = Draft::new(&name, proposal.memory.content.as_bytes())
        .map_err(|error| Failure::new("cannot make a draft to edit").because(error))?;
    open_editor(context, draft.path())?;
    let bytes = draft
        .read()
        .map_err(|error| Failure::new("cannot read the draft").because(error))?;
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    Ok((!text.is_empty()).then_some(text))
}

//! Makes proposals of what a language model finds in sessions.
//!
//! The model is the caller's: here is decided which sessions it is asked about, and what its answer is worth.

use crate::engine::error::EngineError;
use crate::engine::ops::proposals::kept;
use crate::engine::ops::proposals::kept::{Decisions, Proposal};
use crate::engine::ops::proposals::propose::{Proposing, company_of};
use crate::engine::ops::retrieval::recall::recall_one;
use crate::engine::parts::Engine;
use crate::injection;
use crate::learning::{Candidate, CandidateKind, Company, MOST_OF_A_TALK, lines_of_quote};
use crate::model::{Memory, Stem};
use crate::secrets;

/// Maximum number of characters of a session that a model is asked about.
pub const MOST_CHARACTERS_ASKED: usize = 60_000;
/// Maximum number of candidates that are taken from an answer.
pub const MOST_SUGGESTED: usize = 2 * MOST_OF_A_TALK;
/// Name of the rule of such proposals.
pub const MODEL_RULE: &str = "model";
/// Maximum number of characters of a statement.
const LONGEST_TEXT: usize = 600;

/// A session that a model was not asked about as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct UnaskedSession {
    /// Its talks that would be sent, in order: the newest ones that together have at most
    /// [`MOST_CHARACTERS_ASKED`].
    sent: Vec<Stem>,
    /// Its older talks, for which there is no room.
    rest: Vec<Stem>,
    /// Number of characters that would be sent.
    pub characters: usize,
    digest: u128,
}

impl UnaskedSession {
    /// Returns whether a part of it would not be sent.
    pub fn is_cut(&self) -> bool {
        !self.rest.is_empty()
    }
}

/// A statement that a model finds worth keeping.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggested {
    /// Name of its sort.
    pub kind: String,
    pub text: String,
    /// Words of a person that say so.
    pub quote: String,
    pub confidence: f64,
}

/// Reason why a model names nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {
    /// It cannot be asked; it may be another time.
    ForNow,
    /// Its answer to this session is of no use.
    Useless,
}

/// Asks a model about the texts of the talks of a session, and whether all who speak are people.
pub type AskModel<'a> = dyn FnMut(&[String], bool) -> Result<Vec<Suggested>, NoAnswer> + 'a;

/// Proposals that a model made, and how.
#[derive(Debug, Default)]
pub struct SuggestedProposals {
    /// New proposals.
    pub proposals: Vec<Proposal>,
    /// Number of candidates that were left out: of no known sort, too long, without a person's words, with a
    /// credential, or ones that want to be obeyed.
    pub dropped: usize,
    /// Number of sessions whose proposals were made by the rules.
    pub by_rules: usize,
}

/// Returns the sessions, each given by its talks in order, that a model was not asked about as they are now;
/// each once.
///
/// # Errors
///
/// Fails if a talk cannot be read.
pub fn unasked_sessions(
    engine: &Engine,
    sessions: &[Vec<Stem>],
) -> Result<Vec<UnaskedSession>, EngineError> {
    let decisions = Decisions::read(engine)?;
    let mut unasked: Vec<UnaskedSession> = Vec::new();
    for stems in sessions {
        let talks = read(engine, stems)?;
        let mut session = UnaskedSession {
            sent: Vec::new(),
            rest: Vec::new(),
            characters: 0,
            digest: digest_of(&talks),
        };
        for talk in talks.iter().rev() {
            let characters = talk.content.chars().count();
            let has_room = session.characters + characters <= MOST_CHARACTERS_ASKED;
            // What is sent has no gap.
            match has_room && session.rest.is_empty() {
                true => {
                    session.characters += characters;
                    session.sent.insert(0, talk.stem.clone());
                }
                false => session.rest.insert(0, talk.stem.clone()),
            }
        }
        let is_known = unasked.iter().any(|known| known.digest == session.digest);
        if !is_known && !session.sent.is_empty() && !decisions.hold_asked(session.digest) {
            unasked.push(session);
        }
    }
    Ok(unasked)
}

/// Writes proposals of what `ask` says about each session. Where it says nothing, the rules make the proposals;
/// so they do for what is not sent. A session is asked about once, unless there was no answer for now.
///
/// # Errors
///
/// Fails if a talk cannot be read, or a proposal cannot be written; those before it stay.
pub fn propose_suggested(
    engine: &Engine,
    sessions: &[UnaskedSession],
    ask: &mut AskModel<'_>,
) -> Result<SuggestedProposals, EngineError> {
    let mut proposing = Proposing::begin(engine)?;
    let (mut dropped, mut by_rules) = (0, 0);
    for session in sessions {
        let talks = read(engine, &session.sent)?;
        let texts: Vec<String> = talks.iter().map(|talk| talk.content.clone()).collect();
        let is_among_people = talks.iter().all(|talk| company_of(talk) == Company::People);
        proposing.by_rules(&session.rest)?;
        let answer = ask(&texts, is_among_people);
        match &answer {
            Ok(suggested) => {
                for (at, one) in suggested.iter().take(MOST_SUGGESTED).enumerate() {
                    match candidate(&talks, one, at + 1) {
                        // The words of a person stay the same when a model is asked again.
                        Some((talk, found)) => {
                            proposing.add(talk, &found, kept::text_digest(&found.quote))?;
                        }
                        None => dropped += 1,
                    }
                }
                dropped += suggested.len().saturating_sub(MOST_SUGGESTED);
            }
            Err(_) => {
                by_rules += 1;
                proposing.by_rules(&session.sent)?;
            }
        }
        if answer != Err(NoAnswer::ForNow) {
            kept::note_asked(engine, session.digest)?;
        }
    }
    Ok(SuggestedProposals {
        proposals: proposing.end(),
        dropped,
        by_rules,
    })
}

/// Reads the talks of a session.
fn read(engine: &Engine, stems: &[Stem]) -> Result<Vec<Memory>, EngineError> {
    let read = stems.iter().map(|stem| recall_one(engine, stem.as_str()));
    read.map(|read| Ok(*read?.0)).collect()
}

/// Returns the digest of a session as it is.
fn digest_of(talks: &[Memory]) -> u128 {
    let parts = talks.iter().map(|talk| {
        let digest = crate::files::digest(talk.content.as_bytes());
        format!("{}\0{digest:032x}\n", talk.stem)
    });
    crate::files::digest(parts.collect::<String>().as_bytes())
}

/// Returns the candidate that a model names, with the talk that holds its quotation; `None` if it names none.
fn candidate<'a>(
    talks: &'a [Memory],
    suggested: &Suggested,
    number: usize,
) -> Option<(&'a Memory, Candidate)> {
    let text = suggested.text.split_whitespace().collect::<Vec<&str>>();
    let text = text.join(" ");
    let is_sound = text.chars().any(char::is_alphanumeric)
        && text.chars().count() <= LONGEST_TEXT
        && suggested.confidence.is_finite()
        && secrets::find(&text).is_empty()
        && [&text, &suggested.quote]
            .iter()
            .all(|text| injection::find(text).is_empty());
    if !is_sound {
        return None;
    }
    let kind = CandidateKind::named(&suggested.kind)?;
    let found = |talk: &'a Memory| {
        let lines = lines_of_quote(&talk.content, company_of(talk), &suggested.quote)?;
        Some((talk, lines))
    };
    let (talk, lines) = talks.iter().find_map(found)?;
    #[allow(clippy::cast_possible_truncation, reason = "two places are kept")]
    let confidence = suggested.confidence.clamp(0.0, 1.0) as f32;
    let candidate = Candidate {
        kind,
        text,
        quote: suggested.quote.clone(),
        lines,
        number,
        confidence,
        rule: MODEL_RULE,
    };
    Some((talk, candidate))
}

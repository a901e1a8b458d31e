//! Questions of hooks to a store, and their answers: what a session begins with, and what fits a prompt.
//!
//! `memdir serve` answers them from what it holds in memory; without it the hook opens the store. Neither uses
//! a model, so the answers are the same.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

#[cfg(unix)]
use crate::cli::wiring::context::Context;
#[cfg(unix)]
use crate::cli::wiring::fingerprint::Facts;
use crate::engine::{
    BriefLimits, BriefQuery, Engine, EngineError, LeftOut, PROMPT_FLOOR, PromptHit, PromptQuery,
    brief_line, ops,
};
#[cfg(unix)]
use crate::relay::{Hello, RelayPlace};
use crate::sessions::LeftOutNote;

/// Maximum number of memories that are shown with a prompt.
const PROMPT_ITEMS: usize = 3;

/// A question of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Namespace of the session; `None` is that of the store.
    pub namespace: Option<String>,
    /// Maximum number of characters of all lines with their fences.
    pub characters: usize,
    /// Stems of memories that the session knows and is not shown.
    pub known: HashSet<String>,
    /// Subject of the question.
    pub subject: Subject,
}

/// The subject of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The start of a session; with a moment, only what was written from then on.
    Start { since: Option<DateTime<Utc>> },
    /// A prompt with this text.
    Prompt { text: String },
}

/// The memories that a hook shows, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Namespace in which the session begins; empty for a prompt.
    pub namespace: String,
    /// Memories to show.
    pub memories: Vec<Shown>,
    /// Memories that may not be shown unasked.
    pub left_out: Vec<LeftOutNote>,
}

/// A memory to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// Its stem.
    pub stem: String,
    /// Its id, as agents are shown it.
    pub id: String,
    /// Its line.
    pub line: String,
}

impl Question {
    /// Returns the answer of the store. Nothing is counted as a use.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub fn answer(self, engine: &Engine) -> Result<Answer, EngineError> {
        match self.subject {
            Subject::Start { since } => {
                let query = BriefQuery {
                    namespace: self.namespace,
                    limits: BriefLimits {
                        characters: self.characters,
                        ..BriefLimits::default()
                    },
                    since,
                    known: self.known,
                };
                start(engine, &query)
            }
            Subject::Prompt { text } => {
                let query = PromptQuery {
                    text,
                    namespace: self.namespace,
                    known: self.known,
                    limit: PROMPT_ITEMS,
                    floor: PROMPT_FLOOR,
                };
                prompt(engine, &query, self.characters)
            }
        }
    }
}

fn start(engine: &Engine, query: &BriefQuery) -> Result<Answer, EngineError> {
    let brief = ops::brief(engine, query)?;
    let memories = brief.items.into_iter().map(|item| Shown {
        stem: item.memory.stem.as_str().to_owned(),
        id: item.id,
        line: item.line,
    });
    Ok(Answer {
        namespace: brief.namespace,
        memories: memories.collect(),
        left_out: notes(brief.left_out),
    })
}

/// Returns the memories that fit a prompt, in lines that share `characters`.
fn prompt(engine: &Engine, query: &PromptQuery, characters: usize) -> Result<Answer, EngineError> {
    let (hits, left_out) = ops::fitting_prompt(engine, query)?;
    let left = characters.saturating_sub(crate::engine::FENCE_CHARACTERS);
    let share = (left / hits.len().max(1)).saturating_sub(1);
    let limit = share.min(BriefLimits::default().item_characters);
    let shown = |hit: &PromptHit| Shown {
        stem: hit.memory.stem.as_str().to_owned(),
        id: hit.id.clone(),
        line: brief_line(&hit.id, &hit.memory, None, limit),
    };
    Ok(Answer {
        namespace: String::new(),
        memories: hits.iter().map(shown).collect(),
        left_out: notes(left_out),
    })
}

fn notes(left_out: Vec<LeftOut>) -> Vec<LeftOutNote> {
    let notes = left_out.into_iter().map(|one| LeftOutNote {
        id: one.id,
        why: one.why,
    });
    notes.collect()
}

/// Returns the answer of a server of the same store; `None` if there is none.
#[cfg(unix)]
pub fn ask_server(context: &Context, question: &Question) -> Option<Answer> {
    let (place, fingerprint) = place(context)?;
    let hello = Hello {
        fingerprint,
        namespace: None,
        notice: None,
    };
    let question = serde_json::to_vec(question).ok()?;
    let answer = crate::relay::ask(&place, &hello, &question)?;
    serde_json::from_slice(&answer).ok()
}

/// Returns the answer to a question in a line of JSON, as another one without a line feed. What cannot be
/// answered gets an empty line: who asks finds out why by itself.
#[cfg(unix)]
pub fn answer_line(question: &[u8], engine: &Engine) -> Vec<u8> {
    let question = serde_json::from_slice::<Question>(question);
    let answer = question.map(|question| question.answer(engine));
    match answer {
        Ok(Ok(answer)) => serde_json::to_vec(&answer).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Returns the place of a server that gives the same answers as this process, and its fingerprint; `None` if
/// no server is wanted or possible.
#[cfg(unix)]
pub fn place(context: &Context) -> Option<(RelayPlace, String)> {
    if !context.config.mcp.relay {
        return None;
    }
    let state = context.environment.state_folder.as_deref()?;
    let fingerprint = Facts::without_models(context)?.fingerprint();
    let place = RelayPlace::of_questions(state, &fingerprint);
    Some((place, fingerprint))
}

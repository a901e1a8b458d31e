//! Makes proposals of what talks say.

use std::collections::HashSet;

use crate::engine::error::EngineError;
use crate::engine::ops::proposals::kept;
use crate::engine::ops::proposals::kept::{Decisions, Proposal};
use crate::engine::ops::retrieval::recall::recall_one;
use crate::engine::parts::Engine;
use crate::injection;
use crate::learning::{Candidate, CandidateKind, Company, candidates};
use crate::model::{Kind, Memory, MetaValue, NewMemory, Stem};
use crate::talks::Format;

/// Source of memories that were learned from a talk.
const SOURCE: &str = "talk";

/// Writes proposals of what the talks `stems` say, and returns them. What is proposed already, and what was
/// decided about, is not proposed again; texts that want to be obeyed never are.
///
/// # Errors
///
/// Fails if a talk cannot be read, or a proposal cannot be written; those before it stay.
pub fn propose(engine: &Engine, stems: &[Stem]) -> Result<Vec<Proposal>, EngineError> {
    let mut proposing = Proposing::begin(engine)?;
    proposing.by_rules(stems)?;
    Ok(proposing.end())
}

/// Writes proposals, each once.
pub(super) struct Proposing<'a> {
    engine: &'a Engine,
    decisions: Decisions,
    /// Digests of what is proposed.
    known: HashSet<u128>,
    proposals: Vec<Proposal>,
}

impl<'a> Proposing<'a> {
    pub fn begin(engine: &'a Engine) -> Result<Proposing<'a>, EngineError> {
        engine.writer.check_writable()?;
        let known = kept::read_all(engine)?;
        Ok(Proposing {
            engine,
            decisions: Decisions::read(engine)?,
            known: known.iter().map(|proposal| proposal.digest).collect(),
            proposals: Vec::new(),
        })
    }

    /// Proposes what the rules find in talks.
    pub fn by_rules(&mut self, stems: &[Stem]) -> Result<(), EngineError> {
        for stem in stems {
            let (talk, _) = recall_one(self.engine, stem.as_str())?;
            for candidate in candidates(&talk.content, company_of(&talk)) {
                self.add(&talk, &candidate, kept::text_digest(&candidate.text))?;
            }
        }
        Ok(())
    }

    /// Proposes a candidate of a talk, unless it is known by its digest or wants to be obeyed.
    pub fn add(
        &mut self,
        talk: &Memory,
        candidate: &Candidate,
        digest: u128,
    ) -> Result<(), EngineError> {
        let is_known =
            self.decisions.hold(talk.stem.as_str(), digest) || !self.known.insert(digest);
        if is_known || !injection::find(&candidate.text).is_empty() {
            return Ok(());
        }
        let stem = kept::stem_for(talk, digest);
        let memory = memory_of(talk, candidate, digest);
        if self.proposals.is_empty() {
            kept::keep_out_of_git(self.engine);
        }
        if kept::add(self.engine, &stem, &memory)? {
            let timestamp = talk.timestamp.clone();
            let proposal = Proposal::of(memory.into_memory(stem, timestamp));
            self.proposals.extend(proposal);
        }
        Ok(())
    }

    pub fn end(self) -> Vec<Proposal> {
        self.proposals
    }
}

/// Returns who talks in a talk, by the format that it is from.
pub(in crate::engine) fn company_of(talk: &Memory) -> Company {
    match talk.source.as_deref() == Some(Format::Slack.as_str()) {
        true => Company::People,
        false => Company::WithAssistant,
    }
}

/// Returns the memory that a candidate would be.
fn memory_of(talk: &Memory, candidate: &Candidate, digest: u128) -> NewMemory {
    let lines = match candidate.lines {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    };
    let number = i64::try_from(candidate.number).unwrap_or_default();
    let is_open = candidate.kind == CandidateKind::OpenEnd;
    NewMemory {
        timestamp: Some(talk.timestamp.clone()),
        agent: talk.agent.clone(),
        user: talk.user.clone(),
        topics: vec![candidate.kind.as_str().to_owned()],
        kind: Some(Kind::Semantic),
        namespace: talk.namespace.clone(),
        confidence: Some(rounded(candidate.confidence)),
        source: Some(SOURCE.to_owned()),
        status: is_open.then(|| "open".to_owned()),
        metadata: vec![
            kept::stated(kept::SORT, candidate.kind.as_str().to_owned()),
            kept::stated(kept::RULE, candidate.rule.to_owned()),
            kept::stated(kept::LEARNED_FROM, format!("{}:{lines}", talk.stem)),
            kept::stated(kept::DIGEST, format!("{digest:032x}")),
            (kept::NUMBER.to_owned(), MetaValue::Int(number)),
        ],
        content: format!("{}\n", candidate.text),
        ..NewMemory::default()
    }
}

/// Returns a share with two places, as a file has it.
fn rounded(share: f32) -> f64 {
    (f64::from(share) * 100.0).round() / 100.0
}

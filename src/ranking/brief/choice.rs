//! From candidates to the ordered items of a brief.

use std::cmp::Ordering;
use std::collections::HashSet;

use chrono::TimeDelta;

use super::excerpt::{FENCE_CHARACTERS, beginning, line_of, plain};
use super::knowledge::{Judged, judge};
use super::reason::{
    BriefReason, LOOKED_AT, Said, is_decision, is_open, is_preference, is_summary,
};
use crate::model::Memory;
use crate::ranking::resemblance;
use crate::ranking::text::Role;
use crate::words::Analyzer;

/// Place of a candidate, seen from the namespace of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BriefPlace {
    /// It is a standard that holds in the namespace.
    Standard,
    /// It lies in the namespace, or in one within it.
    Here,
    /// It lies in a namespace above it, such as `global`.
    Above,
    /// It says how the last session of the namespace ended.
    Ending,
}

/// A memory that may get a place.
#[derive(Debug, Clone)]
pub struct BriefCandidate<'a> {
    /// The memory.
    pub memory: &'a Memory,
    /// Its id, as agents are shown it.
    pub id: String,
    /// Its place.
    pub place: BriefPlace,
    /// Number of its uses.
    pub uses: u32,
}

/// Limits of a brief.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BriefLimits {
    /// Maximum number of characters of all lines with their fences.
    pub characters: usize,
    /// Maximum number of items.
    pub items: usize,
    /// Maximum number of characters of a line.
    pub item_characters: usize,
}

impl Default for BriefLimits {
    fn default() -> BriefLimits {
        BriefLimits {
            characters: 4_000,
            items: 12,
            item_characters: 300,
        }
    }
}

/// A memory that has a place in a brief.
#[derive(Debug, Clone, PartialEq)]
pub struct BriefItem<'a> {
    /// The memory.
    pub memory: &'a Memory,
    /// Its id, as agents are shown it.
    pub id: String,
    /// Reason for its place.
    pub reason: BriefReason,
    /// How likely it is needed, as the candidates compare; see docs/SESSIONS.md.
    pub needed: f32,
    /// Its line.
    pub line: String,
}

/// Longest pause within a session: memories of one are less than this apart.
const SESSION_GAP: TimeDelta = TimeDelta::hours(1);

/// Minimum share of common shingles of two texts that are copies of one.
const COPIES: f32 = 0.6;

/// A candidate with what was found out about it.
struct Ranked<'a, 'c> {
    candidate: &'c BriefCandidate<'a>,
    reason: BriefReason,
    /// Title and text.
    text: &'c str,
    /// The part of them that would be shown, without a mark where it is cut.
    shown: &'c str,
    needed: f32,
    is_summary: bool,
    /// Position among the candidates.
    number: usize,
}

/// Chooses the items of a brief from `candidates`, which are the standards, the most general first, and then
/// other memories, newest first. `may_be_shown` is asked of each memory that would get a place. The result is
/// ordered by reason; standards as they came, knowledge by how likely it is needed, all others newest first.
pub fn choose<'a>(
    candidates: &[BriefCandidate<'a>],
    limits: BriefLimits,
    analyzer: &mut Analyzer,
    may_be_shown: &mut dyn FnMut(&Memory) -> bool,
) -> Vec<BriefItem<'a>> {
    // Made once: each is looked at for phrases, judged, and shown. One more shows that a text goes on.
    let needed_characters = LOOKED_AT.max(limits.item_characters + 1);
    let texts: Vec<String> = candidates
        .iter()
        .map(|candidate| plain(candidate.memory, needed_characters))
        .collect();
    let shown: Vec<String> = texts
        .iter()
        .map(|text| {
            let text = beginning(text, limits.item_characters);
            // The mark of a cut would have every text normalised.
            text.trim_end_matches('…').to_owned()
        })
        .collect();
    let mut ranked = ranked(candidates, &texts, &shown, analyzer);
    ranked.sort_by(|one, other| {
        let by_reason = one.reason.cmp(&other.reason);
        let by_need = other.needed.total_cmp(&one.needed);
        let by_text = match one.reason {
            BriefReason::Knowledge => by_need,
            // What sums up a session says more than its last words, and these may be a farewell.
            BriefReason::LastSession => other.is_summary.cmp(&one.is_summary).then(by_need),
            _ => Ordering::Equal,
        };
        by_reason.then(by_text).then(one.number.cmp(&other.number))
    });
    let mut chosen = Chosen {
        limits,
        left: limits.characters.saturating_sub(FENCE_CHARACTERS),
        taken: HashSet::new(),
        texts: Vec::new(),
        items: Vec::new(),
        may_be_shown,
    };
    let mut waiting = Vec::new();
    let mut places = (None, 0);
    for one in &ranked {
        if places.0 != Some(one.reason) {
            places = (Some(one.reason), 0);
        }
        match places.1 < one.reason.quota() {
            true => places.1 += usize::from(chosen.take(one)),
            false => waiting.push(one),
        }
    }
    for one in waiting {
        chosen.take(one);
    }
    let mut items = chosen.items;
    items.sort_by_key(|(place, _)| *place);
    items.into_iter().map(|(_, item)| item).collect()
}

/// The items so far.
struct Chosen<'a, 'c, 'f> {
    limits: BriefLimits,
    /// Number of characters that are left.
    left: usize,
    taken: HashSet<&'a str>,
    texts: Vec<&'c str>,
    /// Items with their positions in the result.
    items: Vec<((BriefReason, usize), BriefItem<'a>)>,
    may_be_shown: &'f mut dyn FnMut(&Memory) -> bool,
}

impl<'a, 'c> Chosen<'a, 'c, '_> {
    /// Takes a memory if it fits, is none of those taken, and may be shown. Returns whether it was taken.
    fn take(&mut self, one: &Ranked<'a, 'c>) -> bool {
        let memory = one.candidate.memory;
        let is_full = self.items.len() >= self.limits.items;
        if is_full || self.taken.contains(memory.stem.as_str()) {
            return false;
        }
        let id = &one.candidate.id;
        let reason = Some(one.reason.as_str());
        let line = line_of(id, memory, reason, one.text, self.limits.item_characters);
        let cost = line.chars().count() + 1;
        let is_copy = |text: &&str| resemblance(text, one.shown) >= COPIES;
        if cost > self.left || self.texts.iter().any(is_copy) || !(self.may_be_shown)(memory) {
            return false;
        }
        self.left -= cost;
        self.taken.insert(memory.stem.as_str());
        self.texts.push(one.shown);
        let item = BriefItem {
            memory,
            id: id.clone(),
            reason: one.reason,
            needed: one.needed,
            line,
        };
        self.items.push(((one.reason, self.items.len()), item));
        true
    }
}

/// Returns whether a memory is a reply of an assistant in a chat.
fn is_reply(memory: &Memory) -> bool {
    Role::of(&memory.user) == Some(Role::Assistant)
}

/// Returns the candidates that have a text and a reason.
fn ranked<'a, 'c>(
    candidates: &'c [BriefCandidate<'a>],
    texts: &'c [String],
    shown: &'c [String],
    analyzer: &mut Analyzer,
) -> Vec<Ranked<'a, 'c>> {
    let is_here = |candidate: &&BriefCandidate<'_>| candidate.place == BriefPlace::Here;
    let count = candidates.len() as f32;
    let judged: Vec<Judged<'_>> = candidates
        .iter()
        .zip(shown)
        .enumerate()
        .map(|(number, (candidate, text))| Judged {
            text,
            is_used: candidate.uses > 0,
            is_reply: is_reply(candidate.memory),
            newness: 1.0 - number as f32 / count,
        })
        .collect();
    let needed = judge(&judged, analyzer);
    // The newest memories of the namespace, up to the first pause.
    let mut last: Option<chrono::DateTime<chrono::Utc>> = None;
    let of_last_session: HashSet<&str> = candidates
        .iter()
        .filter(is_here)
        .take_while(|candidate| {
            let at = candidate.memory.timestamp.utc();
            let goes_on = last.is_none_or(|last| last - at < SESSION_GAP);
            last = Some(at);
            goes_on
        })
        .map(|candidate| candidate.memory.stem.as_str())
        .collect();
    let mut ranked = Vec::with_capacity(candidates.len());
    for (number, candidate) in candidates.iter().enumerate() {
        let memory = candidate.memory;
        let is_here = candidate.place == BriefPlace::Here;
        let said = Said::of(memory, &texts[number]);
        let reason = match candidate.place {
            _ if texts[number].is_empty() => continue,
            BriefPlace::Standard => BriefReason::Standard,
            BriefPlace::Ending => BriefReason::LastSession,
            _ if memory.is_pinned() => BriefReason::Pinned,
            // An assistant that says "always" or "next step" decides nothing.
            BriefPlace::Here if is_reply(memory) => BriefReason::Knowledge,
            BriefPlace::Here if is_open(&said) => BriefReason::OpenEnd,
            BriefPlace::Here if is_decision(&said) => BriefReason::Decision,
            _ if is_preference(&said) => BriefReason::Preference,
            BriefPlace::Here => BriefReason::Knowledge,
            BriefPlace::Above => continue,
        };
        let entry = |reason| Ranked {
            candidate,
            reason,
            text: &texts[number],
            shown: &shown[number],
            needed: needed[number],
            is_summary: candidate.place == BriefPlace::Ending || is_summary(memory),
            number,
        };
        // The end of the last session is one more way to a place, before the weaker reasons.
        if is_here
            && reason > BriefReason::LastSession
            && of_last_session.contains(memory.stem.as_str())
        {
            ranked.push(entry(BriefReason::LastSession));
        }
        ranked.push(entry(reason));
    }
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{NewMemory, Stem, Timestamp};
    use crate::words::Language;

    /// Memories of one namespace, newest first, each a day before the one above it.
    fn memories(texts: &[&str]) -> Vec<Memory> {
        let memory = |(number, text): (usize, &&str)| {
            let day = 28 - number;
            let at = Timestamp::parse(&format!("2026-02-{day:02}T10:00:00Z")).unwrap();
            let stem = Stem::from_file_name(&format!("202602{day:02}_100000_{number:08x}"));
            let new = NewMemory {
                content: (*text).to_owned(),
                ..NewMemory::default()
            };
            new.into_memory(stem, at)
        };
        texts.iter().enumerate().map(memory).collect()
    }

    fn chosen<'a>(memories: &'a [Memory], limits: BriefLimits) -> Vec<BriefItem<'a>> {
        let candidates: Vec<BriefCandidate<'a>> = memories
            .iter()
            .map(|memory| BriefCandidate {
                memory,
                id: memory.stem.short().to_owned(),
                place: BriefPlace::Here,
                uses: 0,
            })
            .collect();
        let mut analyzer = Analyzer::new(&[Language::default()]);
        choose(&candidates, limits, &mut analyzer, &mut |_| true)
    }

    fn reasons<'a>(items: &'a [BriefItem<'_>]) -> Vec<(BriefReason, &'a str)> {
        let pairs = items
            .iter()
            .map(|item| (item.reason, item.memory.content.as_str()));
        pairs.collect()
    }

    #[test]
    fn each_memory_stands_under_its_strongest_reason() {
        let memories = memories(&[
            "The build is green again.",
            "TODO: rotate the staging key.",
            "We decided to keep Postgres.",
            "I prefer tabs over spaces.",
            "The ledger runs on port 5433.",
        ]);
        let items = chosen(&memories, BriefLimits::default());
        assert_eq!(
            reasons(&items),
            [
                (BriefReason::LastSession, "The build is green again."),
                (BriefReason::Decision, "We decided to keep Postgres."),
                (BriefReason::OpenEnd, "TODO: rotate the staging key."),
                (BriefReason::Preference, "I prefer tabs over spaces."),
                (BriefReason::Knowledge, "The ledger runs on port 5433."),
            ]
        );
    }

    #[test]
    fn every_limit_holds() {
        let long = "word ".repeat(200);
        let texts: Vec<String> = (0..27).map(|n| format!("{n} {n}x {n}y {long}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let memories = memories(&texts);
        let limits = BriefLimits {
            characters: 1_000,
            items: 12,
            item_characters: 300,
        };
        for limits in [limits, BriefLimits { items: 2, ..limits }] {
            let items = chosen(&memories, limits);
            let lines: Vec<String> = items.iter().map(|item| item.line.clone()).collect();
            let text = super::super::fenced(&lines);
            assert!(!items.is_empty() && items.len() <= limits.items);
            assert!(text.chars().count() <= limits.characters, "{text}");
            assert!(lines.iter().all(|line| line.chars().count() <= 300));
        }
    }

    #[test]
    fn places_that_are_left_go_to_further_memories_of_a_strong_reason() {
        let texts: Vec<String> = [
            "a new office",
            "the tulip field",
            "solar panels",
            "quiet keyboards",
            "green tea",
            "a second router",
        ]
        .iter()
        .map(|what| format!("We decided on {what}."))
        .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let memories = memories(&texts);
        let items = chosen(&memories, BriefLimits::default());
        assert_eq!(items.len(), 6, "{items:?}");
        let decisions = items
            .iter()
            .filter(|item| item.reason == BriefReason::Decision);
        assert_eq!(decisions.count(), 5);
    }

    #[test]
    fn of_two_copies_one_is_chosen() {
        let memories = memories(&[
            "The backup of the ledger runs every night at two.",
            "The backup of the ledger runs every night at two",
        ]);
        assert_eq!(chosen(&memories, BriefLimits::default()).len(), 1);
    }
}

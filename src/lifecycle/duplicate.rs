//! Decides about new memories that may be duplicates, with reasons.
//!
//! Functions of the new memory and of those that may be meant. Promises: no text is ever dropped
//! without a word; a memory that names what it supersedes is stored, whatever it resembles; what
//! differs between tool sets is another [`WritePolicy`], never a branch. Finding the memories that
//! may be meant, and writing, is left to `engine`.

use std::collections::HashSet;
use std::fmt;

use chrono::{DateTime, Utc};

use crate::model::{
    Change, Filter, Kind, Memory, MetaValue, NewMemory, Patch, Scope, Stem, Tier, Timestamp,
};
use crate::words::is_stop_word;

/// The policy for a new memory that may be there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DuplicatePolicy {
    /// Every memory is stored.
    #[default]
    Allow,
    /// One with the title of another in its namespace is a new text of that one; the earlier text
    /// is kept in the archive.
    SameTitle,
    /// The very same text is not stored again; one that is nearly the same is, with a link.
    Similar,
    /// Nothing is written where others may be meant: they are returned, with what could be done.
    Suggest,
}

impl DuplicatePolicy {
    /// All policies with their names.
    pub const ALL: [(&'static str, DuplicatePolicy); 4] = [
        ("allow", DuplicatePolicy::Allow),
        ("title", DuplicatePolicy::SameTitle),
        ("similar", DuplicatePolicy::Similar),
        ("suggest", DuplicatePolicy::Suggest),
    ];

    /// Returns the policy called `name`.
    pub fn named(name: &str) -> Option<DuplicatePolicy> {
        let mut all = DuplicatePolicy::ALL.into_iter();
        all.find_map(|(known, policy)| (known == name).then_some(policy))
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        DuplicatePolicy::ALL
            .into_iter()
            .find_map(|(name, policy)| (policy == self).then_some(name))
            .expect("all of them have a name")
    }
}

/// The properties by which another memory may be meant, for [`DuplicatePolicy::Suggest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resemblance {
    /// Title, topics, words, runs of words and meaning. The same words in another order are another
    /// text.
    #[default]
    Everything,
    /// Topics and the set of words.
    WordSets,
}

/// The policy for writing a memory.
#[derive(Debug, Clone, PartialEq)]
pub struct WritePolicy {
    /// Policy for possible duplicates.
    pub duplicates: DuplicatePolicy,
    /// Store it, whatever else there is.
    pub force: bool,
    /// Other kinds, scopes and namespaces count as well, for [`DuplicatePolicy::Suggest`].
    pub broad: bool,
    /// Only what passes this may be meant, or be linked with for its topics; `None`: only what is
    /// of the same kind, scope and namespace, or namespace.
    pub among: Option<Filter>,
    /// Properties that are compared, for [`DuplicatePolicy::Suggest`].
    pub resemblance: Resemblance,
    /// One whose metadata holds the same texts under all of these keys is the same memory: it gets
    /// the new text, before anything else is looked at. Empty: none is.
    pub named_by: Vec<String>,
    /// From this share of common runs of words on, texts are nearly the same.
    pub near_words: f32,
    /// As above, by the cosine of their vectors.
    pub near_meaning: f32,
    /// Maximum number of memories with the same topics that it is linked with.
    pub auto_links: usize,
    /// Minimum number of topics that both share.
    pub shared_topics: usize,
    /// Whether the answer names memories that it may contradict.
    pub contradictions: bool,
    /// Whether the answer names a memory with the very same text.
    pub names_same_text: bool,
    /// With [`DuplicatePolicy::SameTitle`], the higher importance of both counts.
    pub keeps_importance: bool,
}

impl Default for WritePolicy {
    fn default() -> WritePolicy {
        WritePolicy {
            duplicates: DuplicatePolicy::Allow,
            force: false,
            broad: false,
            among: None,
            resemblance: Resemblance::Everything,
            named_by: Vec::new(),
            near_words: 0.6,
            near_meaning: 0.92,
            auto_links: 0,
            shared_topics: 2,
            contradictions: true,
            names_same_text: true,
            keeps_importance: false,
        }
    }
}

impl WritePolicy {
    /// Returns the policy that writes without any comparison.
    pub fn plain() -> WritePolicy {
        WritePolicy {
            contradictions: false,
            names_same_text: false,
            ..WritePolicy::default()
        }
    }
}

/// A stored memory that may be a duplicate, with its similarities to the new one.
#[derive(Debug, Clone, PartialEq)]
pub struct DuplicateCandidate {
    /// The stored memory.
    pub memory: Memory,
    /// Share of common runs of words.
    pub words: f32,
    /// Cosine of the vectors, where there are any.
    pub meaning: Option<f32>,
}

/// Proposed action for a new memory and a possible duplicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Nothing: it is there.
    Nothing,
    /// Change that one.
    Update,
    /// Store it beside that one.
    Add,
}

impl Action {
    /// Returns the word for it in output: `NOOP`, `UPDATE` or `ADD`.
    pub fn word(self) -> &'static str {
        match self {
            Action::Nothing => "NOOP",
            Action::Update => "UPDATE",
            Action::Add => "ADD",
        }
    }
}

/// Reason why another memory may be a duplicate.
#[derive(Debug, Clone, PartialEq)]
pub enum ResemblanceReason {
    /// Text and title are the same, but for blanks, case and punctuation.
    SameWords,
    SameTitle,
    Topics(Vec<String>),
    /// Share of the new one's words that it holds.
    Words(f32),
    /// Share of runs of words in common.
    Runs(f32),
    /// Cosine of their vectors.
    Meaning(f32),
}

impl fmt::Display for ResemblanceReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResemblanceReason::SameWords => f.write_str("it says the same"),
            ResemblanceReason::SameTitle => f.write_str("it has the same title"),
            ResemblanceReason::Topics(topics) => {
                write!(f, "it shares the topics {}", topics.join(", "))
            }
            ResemblanceReason::Words(share) => {
                write!(f, "it holds {} % of the words", percent(*share))
            }
            ResemblanceReason::Runs(share) => {
                write!(f, "{} % of the text is the same", percent(*share))
            }
            ResemblanceReason::Meaning(cosine) => {
                write!(f, "it means nearly the same ({cosine:.2})")
            }
        }
    }
}

fn percent(share: f32) -> u32 {
    (share * 100.0).round() as u32
}

/// A possible duplicate, with the proposed action.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    /// Stem of the stored memory.
    pub stem: Stem,
    /// Title or first line of the stored memory.
    pub headline: String,
    /// Proposed action.
    pub action: Action,
    /// At least one.
    pub reasons: Vec<ResemblanceReason>,
}

/// The decision about a new memory.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Store it, and link it with these, which are nearly the same.
    Add { near: Vec<Suggestion> },
    /// It is a new text of this one.
    Update(Stem),
    /// This one says the very same: it gets what the new one states beside its text.
    Known(Stem),
    /// Ask: any of these may be meant.
    Suggest(Vec<Suggestion>),
}

/// Maximum number of suggestions.
const MOST_SUGGESTED: usize = 10;
/// Maximum number of memories that are nearly the same as a new one and linked with it.
const MOST_NEAR: usize = 3;
/// Numbers of shared topics from which two memories may mean the same thing, and from which they
/// do.
const FEW_TOPICS: usize = 2;
const MANY_TOPICS: usize = 3;
/// Minimum share of the new words for a duplicate, and minimum number of words for a comparison.
const MUCH: f32 = 0.6;
const LEAST_WORDS: usize = 3;

/// Decides what is to be done with `new`. The candidates may hold more than can be meant; among
/// equals, the first counts.
pub fn decide(
    new: &NewMemory,
    candidates: &[DuplicateCandidate],
    policy: &WritePolicy,
) -> Decision {
    let add = || Decision::Add { near: Vec::new() };
    // A correction is like what it corrects.
    if !new.supersedes.is_empty() || policy.force {
        return add();
    }
    match policy.duplicates {
        DuplicatePolicy::Allow => add(),
        DuplicatePolicy::SameTitle => {
            let mut candidates = candidates.iter().map(|candidate| &candidate.memory);
            // What somebody else calls so is theirs.
            let is_it = |memory: &&Memory| new.user == memory.user && is_same_title(new, memory);
            let found = candidates.find(is_it);
            found.map_or_else(add, |memory| Decision::Update(memory.stem.clone()))
        }
        DuplicatePolicy::Similar => {
            let of_group = || {
                candidates
                    .iter()
                    .filter(|one| is_of_group(new, &one.memory))
            };
            if let Some(same) = of_group().find(|one| is_same_text(new, &one.memory)) {
                return Decision::Known(same.memory.stem.clone());
            }
            let near = of_group().filter_map(|one| near(one, policy));
            Decision::Add {
                near: near.take(MOST_NEAR).collect(),
            }
        }
        DuplicatePolicy::Suggest => {
            let is_asked = policy.broad || policy.among.is_some();
            let meant = candidates
                .iter()
                .filter(|one| is_asked || is_of_group(new, &one.memory));
            let mut suggested: Vec<_> = meant
                .filter_map(|one| Some((suggestion(new, one, policy)?, one.words)))
                .collect();
            suggested.sort_by(|(a, near), (b, nearer)| {
                a.action.cmp(&b.action).then(nearer.total_cmp(near))
            });
            let suggested: Vec<Suggestion> = suggested
                .into_iter()
                .map(|(suggestion, _)| suggestion)
                .take(MOST_SUGGESTED)
                .collect();
            match suggested.is_empty() {
                true => add(),
                false => Decision::Suggest(suggested),
            }
        }
    }
}

/// Returns whether both have the same title, but for case and blanks at its ends, in one namespace.
pub fn is_same_title(new: &NewMemory, memory: &Memory) -> bool {
    let (Some(new_title), Some(title)) = (&new.title, &memory.title) else {
        return false;
    };
    let plain = |title: &str| title.trim().to_lowercase();
    let namespace = new.namespace.as_deref().unwrap_or("global");
    plain(new_title) == plain(title) && is_same_namespace(namespace, memory)
}

/// Compares namespaces without regard to case, as filters do.
fn is_same_namespace(namespace: &str, memory: &Memory) -> bool {
    namespace.to_lowercase() == memory.namespace_or_global().to_lowercase()
}

/// Returns whether both are of one kind, scope and namespace: only then can one replace the other.
fn is_of_group(new: &NewMemory, memory: &Memory) -> bool {
    let namespace = new.namespace.as_deref().unwrap_or("global");
    let usual = new.kind.map_or(Scope::Global, Kind::usual_scope);
    let scope = new.scope.unwrap_or(usual);
    (new.kind, scope) == (memory.kind, memory.scope_or_usual())
        && is_same_namespace(namespace, memory)
}

/// Returns whether both have the same user, title and text, but for blanks.
pub fn is_same_text(new: &NewMemory, memory: &Memory) -> bool {
    let same = |one: &str, other: &str| one.split_whitespace().eq(other.split_whitespace());
    let title = |title: &Option<String>| title.clone().unwrap_or_default();
    new.user == memory.user
        && same(&title(&new.title), &title(&memory.title))
        && same(&new.content, &memory.content)
}

/// Returns the reasons to link a memory that is stored with `candidate`, if both say nearly the
/// same.
fn near(candidate: &DuplicateCandidate, policy: &WritePolicy) -> Option<Suggestion> {
    let reasons = nearness(candidate, policy);
    (!reasons.is_empty()).then(|| Suggestion {
        stem: candidate.memory.stem.clone(),
        headline: candidate.memory.headline().to_owned(),
        action: Action::Add,
        reasons,
    })
}

fn nearness(candidate: &DuplicateCandidate, policy: &WritePolicy) -> Vec<ResemblanceReason> {
    let runs = Some(candidate.words).filter(|share| *share >= policy.near_words);
    let meaning = candidate.meaning;
    let meaning = meaning.filter(|cosine| *cosine >= policy.near_meaning);
    let runs = runs.map(ResemblanceReason::Runs).into_iter();
    runs.chain(meaning.map(ResemblanceReason::Meaning))
        .collect()
}

fn suggestion(
    new: &NewMemory,
    candidate: &DuplicateCandidate,
    policy: &WritePolicy,
) -> Option<Suggestion> {
    let (action, reasons) = match policy.resemblance {
        Resemblance::Everything => by_everything(new, candidate, policy)?,
        Resemblance::WordSets => by_word_sets(new, &candidate.memory)?,
    };
    Some(Suggestion {
        stem: candidate.memory.stem.clone(),
        headline: candidate.memory.headline().to_owned(),
        action,
        reasons,
    })
}

fn by_everything(
    new: &NewMemory,
    candidate: &DuplicateCandidate,
    policy: &WritePolicy,
) -> Option<(Action, Vec<ResemblanceReason>)> {
    let memory = &candidate.memory;
    if has_same_words(new, memory) {
        return Some((Action::Nothing, vec![ResemblanceReason::SameWords]));
    }
    let mut reasons = nearness(candidate, policy);
    let mut action = match reasons.is_empty() {
        true => Action::Add,
        false => Action::Update,
    };
    if is_same_title(new, memory) {
        reasons.push(ResemblanceReason::SameTitle);
        action = Action::Update;
    }
    if let Some((overlaps, more)) = overlap(new, memory) {
        action = action.min(overlaps);
        reasons.extend(more);
    }
    (!reasons.is_empty()).then_some((action, reasons))
}

fn by_word_sets(new: &NewMemory, memory: &Memory) -> Option<(Action, Vec<ResemblanceReason>)> {
    // First: where no blanks part words, the whole text is one, and one alone says nothing below.
    let words = all_words(&new.content);
    if !words.is_empty() && words == all_words(&memory.content) {
        return Some((Action::Nothing, vec![ResemblanceReason::SameWords]));
    }
    let (action, reasons) = overlap(new, memory)?;
    let words = telling_words(&new.content);
    match !words.is_empty() && words == telling_words(&memory.content) {
        true => Some((Action::Nothing, vec![ResemblanceReason::SameWords])),
        false => Some((action, reasons)),
    }
}

/// Compares words and topics of the new memory with an old one; `None` if they have little in
/// common.
fn overlap(new: &NewMemory, memory: &Memory) -> Option<(Action, Vec<ResemblanceReason>)> {
    let mut reasons = Vec::new();
    let mut action = Action::Add;
    let share = share_of_words(&new.content, &memory.content);
    if share >= MUCH {
        reasons.push(ResemblanceReason::Words(share));
        action = Action::Update;
    }
    let topics = shared_topics(&new.topics, &memory.topics);
    if topics.len() >= MANY_TOPICS {
        action = Action::Update;
    }
    if topics.len() >= FEW_TOPICS {
        reasons.push(ResemblanceReason::Topics(topics));
    }
    (!reasons.is_empty()).then_some((action, reasons))
}

/// Returns whether both have the same user and the same words in the same order. Every word counts, also "not".
fn has_same_words(new: &NewMemory, memory: &Memory) -> bool {
    let words = all_words(&new.content);
    new.user == memory.user && !words.is_empty() && words == all_words(&memory.content)
}

fn all_words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// Returns the share of the words of `new` that occur in `old`; 0 if there are too few to compare.
fn share_of_words(new: &str, old: &str) -> f32 {
    let (new, old) = (telling_words(new), telling_words(old));
    if new.len() < LEAST_WORDS {
        return 0.0;
    }
    new.intersection(&old).count() as f32 / new.len() as f32
}

/// Returns the significant words: of three letters or more, and numbers of any length.
fn telling_words(text: &str) -> HashSet<String> {
    let says = |word: &String| {
        let is_number = word.chars().any(|c| c.is_ascii_digit());
        is_number || (word.chars().count() >= 3 && !is_stop_word(word))
    };
    all_words(text).into_iter().filter(says).collect()
}

/// Returns the topics of `new` that `old` has as well, without regard to case, each once.
fn shared_topics(new: &[String], old: &[String]) -> Vec<String> {
    let lower = |topic: &String| topic.trim().to_lowercase();
    let old: HashSet<String> = old.iter().map(lower).collect();
    let mut shared: Vec<String> = new.iter().map(lower).collect();
    shared.sort_unstable();
    shared.dedup();
    shared.retain(|topic| old.contains(topic));
    shared
}

/// Returns the memories to link a new one with these topics with: those that share most of them, and
/// the first among equals.
pub fn related_by_topics(topics: &[String], others: &[Memory], policy: &WritePolicy) -> Vec<Stem> {
    let least = policy.shared_topics.max(1);
    let mut related: Vec<(usize, &Stem)> = others
        .iter()
        .map(|memory| (shared_topics(topics, &memory.topics).len(), &memory.stem))
        .filter(|(shared, _)| *shared >= least)
        .collect();
    related.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
    let related = related.into_iter().take(policy.auto_links);
    related.map(|(_, stem)| stem.clone()).collect()
}

/// Metadata key that identifies repeated calls: a text, or a list of them.
pub const IDEMPOTENCY_KEY: &str = "idempotency_key";
/// Maximum number of keys that are kept with a memory; the oldest go first.
const MOST_KEYS: usize = 16;

/// Ends of two memories, as of now; `None` for never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// End of the new memory.
    pub new: Option<DateTime<Utc>>,
    /// End of the stored memory.
    pub old: Option<DateTime<Utc>>,
}

impl Ends {
    fn is_new_later(self) -> bool {
        self.old
            .is_some_and(|old| self.new.is_none_or(|new| new > old))
    }

    /// Returns whether the new memory's end is ignored, because the old one lives longer.
    pub fn is_new_sooner(self) -> bool {
        self.new
            .is_some_and(|new| self.old.is_none_or(|old| new < old))
    }
}

/// Returns the change that makes `new` the text of `old`: fields of `new` replace those of `old`,
/// absent ones stay, topics and links are united. The later end of both holds; one that states no
/// end lives for ever.
pub fn as_update(new: &NewMemory, old: &Memory, ends: Ends) -> Change {
    fn set<T: Clone + PartialEq>(new: &Option<T>, old: &Option<T>) -> Patch<T> {
        match new {
            Some(value) if Some(value) != old.as_ref() => Patch::Set(value.clone()),
            _ => Patch::Keep,
        }
    }
    let mut topics = old.topics.clone();
    for topic in &new.topics {
        if !topics.iter().any(|known| known.eq_ignore_ascii_case(topic)) {
            topics.push(topic.clone());
        }
    }
    let mut links = old.links.clone();
    links.extend(
        new.links
            .iter()
            .filter(|link| !old.links.contains(link))
            .cloned(),
    );
    let mut metadata = old.metadata.clone();
    for (key, value) in &new.metadata {
        match metadata.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) if key == IDEMPOTENCY_KEY => add_key(known, value),
            Some((_, known)) => known.clone_from(value),
            None => metadata.push((key.clone(), value.clone())),
        }
    }
    let (tier, expires) = longer_life(new, old, ends);
    Change {
        topics: (topics != old.topics).then_some(topics),
        kind: set(&new.kind, &old.kind),
        scope: set(&new.scope, &old.scope),
        tier,
        importance: set(&new.importance, &old.importance),
        confidence: set(&new.confidence, &old.confidence),
        source: set(&new.source, &old.source),
        status: set(&new.status, &old.status),
        expires,
        links: match links == old.links {
            true => Patch::Keep,
            false => Patch::Set(links),
        },
        metadata: match metadata == old.metadata {
            true => Patch::Keep,
            false => Patch::Set(metadata),
        },
        content: (new.content != old.content).then(|| new.content.clone()),
        ..Change::default()
    }
}

/// Returns whether `change` replaces a value in the metadata of `old`.
pub fn replaces_metadata(change: &Change, old: &Memory) -> bool {
    let Patch::Set(metadata) = &change.metadata else {
        return false;
    };
    let mut known = old
        .metadata
        .iter()
        .filter(|(key, _)| key != IDEMPOTENCY_KEY);
    known.any(|entry| !metadata.contains(entry))
}

/// Both calls are known by their keys, the earlier one and this.
fn add_key(known: &mut MetaValue, key: &MetaValue) {
    let mut keys = match std::mem::replace(known, MetaValue::Null) {
        MetaValue::List(keys) => keys,
        one => vec![one],
    };
    if !keys.contains(key) {
        keys.push(key.clone());
    }
    keys.drain(..keys.len().saturating_sub(MOST_KEYS));
    *known = match <[MetaValue; 1]>::try_from(keys) {
        Ok([one]) => one,
        Err(keys) => MetaValue::List(keys),
    };
}

/// Returns tier and end that let `old` live as long as `new` would, if that is longer.
fn longer_life(new: &NewMemory, old: &Memory, ends: Ends) -> (Patch<Tier>, Patch<Timestamp>) {
    if !ends.is_new_later() {
        return (Patch::Keep, Patch::Keep);
    }
    let Some(end) = ends.new else {
        let tier = match (new.tier, old.tier) {
            (Some(tier), known) if known != new.tier => Patch::Set(tier),
            (None, Some(Tier::Short | Tier::Mid)) => Patch::Clear,
            _ => Patch::Keep,
        };
        let expires = match old.expires {
            Some(_) => Patch::Clear,
            None => Patch::Keep,
        };
        return (tier, expires);
    };
    let rank = |tier: Tier| match tier {
        Tier::Short => 0,
        Tier::Mid => 1,
        Tier::Long => 2,
    };
    let tier = match (new.tier, old.tier) {
        (Some(tier), Some(known)) if rank(tier) > rank(known) => Patch::Set(tier),
        _ => Patch::Keep,
    };
    let stated = new.expires.clone().filter(|stated| stated.utc() == end);
    let expires = stated.unwrap_or_else(|| Timestamp::from_utc(end));
    (tier, Patch::Set(expires))
}

/// Returns the names of the fields that `change` changes, but for the text.
pub fn changed_fields(change: &Change) -> Vec<&'static str> {
    let all = [
        ("topics", change.topics.is_some()),
        ("kind", !change.kind.is_keep()),
        ("scope", !change.scope.is_keep()),
        ("tier", !change.tier.is_keep()),
        ("importance", !change.importance.is_keep()),
        ("confidence", !change.confidence.is_keep()),
        ("source", !change.source.is_keep()),
        ("status", !change.status.is_keep()),
        ("expires", !change.expires.is_keep()),
        ("links", !change.links.is_keep()),
        ("metadata", !change.metadata.is_keep()),
    ];
    let changed = all.into_iter().filter(|(_, is_changed)| *is_changed);
    changed.map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests;

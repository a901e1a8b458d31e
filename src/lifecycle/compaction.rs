//! Makes summaries of old episodic memories.
//!
//! One summary stands for the memories of one week in one namespace and scope. It is linked to its
//! sources, which go to the archive: nothing is lost, and restoring them brings the same bytes back.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Datelike, TimeDelta, Utc};

use super::proposal::{MaintainedMemory, Proposal};
use super::summary;
use crate::model::{Kind, Link, MetaValue, NewMemory, Stem, Tier};

/// Conditions of compaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Compaction {
    /// Only what is older.
    pub age: TimeDelta,
    /// Fewer are left alone.
    pub min_group: usize,
    /// Memories of at least this importance stay as they are.
    pub keep_importance: u8,
    /// The most characters of a summary.
    pub budget: usize,
}

impl Default for Compaction {
    fn default() -> Compaction {
        Compaction {
            age: TimeDelta::days(30),
            min_group: 5,
            keep_importance: 8,
            budget: 2_000,
        }
    }
}

/// Maximum number of sources of a summary: it names them in its frontmatter, which has its limit.
pub const MOST_SOURCES: usize = 100;
/// Maximum number of links of a summary.
const MOST_LINKS: usize = 150;
/// The metadata key of a memory that holds for all of a namespace.
const STANDARD_OF: &str = "standard_of";
/// Maximum number of topics of a summary.
const MOST_TOPICS: usize = 12;
/// The link from what was made to what it was made of.
pub const DERIVED_FROM: &str = "derived-from";
/// Marks a summary among the metadata.
pub const SUMMARY: &str = "summary";

/// Returns the proposals for the memories `seen`, by week and group, earliest first.
pub fn compact(
    seen: &[MaintainedMemory],
    compaction: &Compaction,
    now: DateTime<Utc>,
) -> Vec<Proposal> {
    let Some(before) = now.checked_sub_signed(compaction.age) else {
        return Vec::new();
    };
    let mut groups: BTreeMap<_, Vec<&MaintainedMemory>> = BTreeMap::new();
    for one in seen {
        let memory = &one.memory;
        let at = memory.timestamp.utc();
        // Who brought one back wants it as it is, for as long as a new one stays so.
        let is_old = at < before && one.usage.restored().is_none_or(|back| back < before);
        let is_meant = memory.kind == Some(Kind::Episodic)
            && is_old
            && one.state.importance < compaction.keep_importance
            && may_go(one);
        if is_meant {
            let week = at.iso_week();
            let scope = memory.scope_or_usual().as_str();
            let group = (
                week.year(),
                week.week(),
                memory.namespace_or_global(),
                scope,
                &memory.user,
            );
            groups.entry(group).or_default().push(one);
        }
    }
    let mut proposals = Vec::new();
    for ((year, week, namespace, ..), mut group) in groups {
        if group.len() < compaction.min_group {
            continue;
        }
        sort_by_time(&mut group);
        for part in parts(&group) {
            let what = format!("{year}-W{week:02}, {namespace}");
            let title = format!("{what}: {} memories", part.len());
            let mut new = merged(part, title, compaction.budget);
            new.kind = Some(Kind::Episodic);
            new.metadata
                .push((SUMMARY.to_owned(), MetaValue::Bool(true)));
            proposals.push(Proposal {
                create: Some(new),
                is_summary: true,
                archive: stems(part),
                ..Proposal::new(format!("{} episodic memories of {what}", part.len()))
            });
        }
    }
    proposals
}

/// Returns whether it may become part of another unasked: not if it stands for others, has a role or an end
/// of its own.
fn may_go(seen: &MaintainedMemory) -> bool {
    !is_summary(seen) && !has_role(seen) && seen.memory.expires.is_none()
}

/// Returns whether the brief shows it always, which counts as no use: it is pinned, or the standard of a namespace.
pub(super) fn has_role(seen: &MaintainedMemory) -> bool {
    let mut metadata = seen.memory.metadata.iter();
    seen.memory.is_pinned() || metadata.any(|(key, _)| key == STANDARD_OF)
}

/// Returns whether it stands for others already.
pub(super) fn is_summary(seen: &MaintainedMemory) -> bool {
    let mut metadata = seen.memory.metadata.iter();
    metadata.any(|(key, value)| key == SUMMARY && *value == MetaValue::Bool(true))
}

/// Returns the group in parts of about the same size that one summary may stand for.
fn parts<'a, 'b>(group: &'a [&'b MaintainedMemory]) -> Vec<&'a [&'b MaintainedMemory]> {
    let count = group.len().div_ceil(MOST_SOURCES);
    let size = group.len().div_ceil(count.max(1));
    group.chunks(size.max(1)).collect()
}

pub(super) fn sort_by_time(group: &mut [&MaintainedMemory]) {
    group.sort_by_key(|one| (one.memory.timestamp.utc(), one.memory.stem.clone()));
}

pub(super) fn stems(group: &[&MaintainedMemory]) -> Vec<Stem> {
    group.iter().map(|one| one.memory.stem.clone()).collect()
}

/// One memory made of several, earliest first: what they have in common, and their best sentences.
pub(super) fn merged(group: &[&MaintainedMemory], title: String, budget: usize) -> NewMemory {
    let memories = || group.iter().map(|one| &one.memory);
    let texts: Vec<&str> = memories().map(|memory| memory.content.as_str()).collect();
    let mut content = String::new();
    for (source, sentence) in summary::extract(&texts, budget) {
        let day = group[source].memory.timestamp.date();
        content.push_str(&format!("- {day}: {sentence}\n"));
    }
    NewMemory {
        timestamp: memories()
            .next_back()
            .map(|memory| memory.timestamp.clone()),
        agent: common(memories().map(|memory| memory.agent.as_str())),
        user: common(memories().map(|memory| memory.user.as_str())),
        topics: topics(group),
        title: Some(title),
        namespace: group[0].memory.namespace.clone(),
        scope: group[0].memory.scope,
        importance: memories().filter_map(|memory| memory.importance).max(),
        // As sure as the least sure of them.
        confidence: memories()
            .filter_map(|memory| memory.confidence)
            .min_by(f64::total_cmp),
        source: same(memories().map(|memory| memory.source.clone())),
        supersedes: superseded(group),
        links: links(group),
        content,
        ..NewMemory::default()
    }
}

/// Returns the value that all agree on.
fn same<T: PartialEq>(mut values: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = values.next()??;
    values
        .all(|value| value.as_ref() == Some(&first))
        .then_some(first)
}

/// Returns the memories that the sources had replaced: they stay replaced.
fn superseded(group: &[&MaintainedMemory]) -> Vec<String> {
    let is_source = |stem: &str| group.iter().any(|one| one.memory.stem.as_str() == stem);
    let all = group.iter().flat_map(|one| &one.memory.supersedes);
    let all: BTreeSet<&String> = all.filter(|stem| !is_source(stem)).collect();
    all.into_iter().cloned().collect()
}

/// To all sources, and to what they were linked with.
fn links(group: &[&MaintainedMemory]) -> Vec<Link> {
    let mut links: Vec<Link> = group
        .iter()
        .map(|one| derived_from(&one.memory.stem))
        .collect();
    let is_source = |link: &Link| group.iter().any(|one| one.memory.stem.as_str() == link.to);
    for link in group.iter().flat_map(|one| &one.memory.links) {
        if links.len() < MOST_LINKS && !is_source(link) && !links.contains(link) {
            links.push(link.clone());
        }
    }
    links
}

pub(super) fn derived_from(stem: &Stem) -> Link {
    Link {
        to: stem.as_str().to_owned(),
        relation: DERIVED_FROM.to_owned(),
    }
}

/// Returns the value that most of them have.
pub(super) fn common<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    let most = counts.into_iter().rev().max_by_key(|(_, count)| *count);
    most.map_or_else(String::new, |(value, _)| value.to_owned())
}

/// Returns the commonest topics of all.
fn topics(group: &[&MaintainedMemory]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for topic in group.iter().flat_map(|one| &one.memory.topics) {
        *counts.entry(topic).or_default() += 1;
    }
    let mut topics: Vec<(&str, usize)> = counts.into_iter().collect();
    topics.sort_by_key(|(topic, count)| (std::cmp::Reverse(*count), *topic));
    topics.truncate(MOST_TOPICS);
    topics
        .into_iter()
        .map(|(topic, _)| topic.to_owned())
        .collect()
}

/// Makes one memory that lives without end of the given ones: with all that they say, if that fits
/// into the budget, else the sentences that say the most. `None` for fewer than two.
pub fn consolidate(
    seen: &[MaintainedMemory],
    title: Option<&str>,
    budget: usize,
) -> Option<Proposal> {
    let mut group: Vec<&MaintainedMemory> = seen.iter().collect();
    sort_by_time(&mut group);
    if group.len() < 2 || group.len() > MOST_SOURCES {
        return None;
    }
    let first = group[0].memory.headline();
    let title = match title {
        Some(title) => title.to_owned(),
        None => format!("{first} (and {} more)", group.len() - 1),
    };
    let mut new = merged(&group, title, budget);
    let whole = || group.iter().map(|one| one.memory.content.trim());
    if whole().map(|text| text.chars().count()).sum::<usize>() <= budget {
        new.content = whole().collect::<Vec<_>>().join("\n\n") + "\n";
    }
    // One kind and one namespace stay; a mixture is of none.
    let same = |value: &dyn Fn(&MaintainedMemory) -> bool| group.iter().all(|one| value(one));
    new.kind = group[0].memory.kind;
    if !same(&|one| one.memory.kind == new.kind) {
        new.kind = None;
    }
    if !same(&|one| one.memory.namespace == new.namespace) {
        new.namespace = None;
    }
    if !same(&|one| one.memory.scope == new.scope) {
        new.scope = None;
    }
    new.timestamp = None;
    new.tier = Some(Tier::Long);
    // Where all have an end, so has what they become: the latest.
    let ends = group.iter().map(|one| one.memory.expires.clone());
    if let Some(ends) = ends.collect::<Option<Vec<_>>>() {
        new.expires = ends.into_iter().max_by_key(|end| end.utc());
    }
    // What only one of them says is kept; of what several say otherwise, what the latest says.
    for (key, value) in group.iter().rev().flat_map(|one| &one.memory.metadata) {
        if !new.metadata.iter().any(|(known, _)| known == key) {
            new.metadata.push((key.clone(), value.clone()));
        }
    }
    Some(Proposal {
        create: Some(new),
        is_summary: true,
        archive: stems(&group),
        ..Proposal::new(format!("{} memories become one", group.len()))
    })
}

/// Conditions of consolidation without names.
#[derive(Debug, Clone, PartialEq)]
pub struct Grouping {
    /// Only memories of the tier `short`.
    pub short_only: bool,
    pub min_count: usize,
    pub budget: usize,
}

/// The proposals for memories of one namespace, scope and kind whose first topic is the same.
/// Those that stand for others, and those of no topic, are left alone.
pub fn auto_consolidate(seen: &[MaintainedMemory], grouping: &Grouping) -> Vec<Proposal> {
    let mut groups: BTreeMap<_, Vec<MaintainedMemory>> = BTreeMap::new();
    for one in seen {
        let memory = &one.memory;
        let is_meant = !grouping.short_only || memory.tier == Some(Tier::Short);
        let mut links = memory.links.iter();
        let stands_for_others = links.any(|link| link.relation == DERIVED_FROM);
        let Some(topic) = memory.topics.first() else {
            continue;
        };
        if is_meant && may_go(one) && !stands_for_others && one.usage.restored().is_none() {
            let kind = memory.kind.map_or("", Kind::as_str);
            let scope = memory.scope_or_usual().as_str();
            let namespace = memory.namespace_or_global();
            let group = (namespace, topic.as_str(), kind, scope, &memory.user);
            groups.entry(group).or_default().push(one.clone());
        }
    }
    let mut proposals = Vec::new();
    for ((namespace, topic, ..), mut group) in groups {
        if group.len() < grouping.min_count.max(2) {
            continue;
        }
        group.sort_by_key(|one| (one.memory.timestamp.utc(), one.memory.stem.clone()));
        let all: Vec<&MaintainedMemory> = group.iter().collect();
        for part in parts(&all) {
            let part: Vec<MaintainedMemory> = part.iter().copied().cloned().collect();
            let title = format!("{topic}: {} memories", part.len());
            let because = format!("{} memories of {namespace} about {topic}", part.len());
            let proposal = consolidate(&part, Some(&title), grouping.budget);
            proposals.extend(proposal.map(|proposal| Proposal {
                because,
                ..proposal
            }));
        }
    }
    proposals
}

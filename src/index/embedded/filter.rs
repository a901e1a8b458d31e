//! Which rows may be in an answer. The filter is part of the search, never applied to a cut list.

use std::collections::HashSet;

use tantivy::schema::IndexRecordOption;

use super::keywords;
use super::schema::fact;
use super::snapshot::EmbeddedSnapshot;
use crate::index::IndexError;
use crate::index::Snapshot as _;
use crate::index::Texts;
use crate::model::Filter;
use crate::model::TopicMatch;
use crate::model::Visibility;

/// A set of rows.
pub(super) struct Rows(Vec<bool>);

impl Rows {
    pub fn contains(&self, row: u32) -> bool {
        self.0[row as usize]
    }
}

/// The rows that pass `filter` at the moment `now` (microseconds since 1970).
pub(super) fn passing(
    snapshot: &EmbeddedSnapshot,
    filter: &Filter,
    now: i64,
    texts: &Texts<'_>,
) -> Result<Rows, IndexError> {
    let table = &snapshot.table;
    let mut rows = Rows(vec![true; table.len()]);
    let mut keep = |passes: &dyn Fn(u32) -> bool| {
        for (row, kept) in rows.0.iter_mut().enumerate() {
            *kept = *kept && passes(row as u32);
        }
    };
    if filter.visibility == Visibility::Current {
        let superseded = superseded(snapshot)?;
        keep(&|row| !superseded.contains(&row) && table.expires[row as usize] > now);
    }
    if let Some(since) = filter.since {
        let since = since.timestamp_micros();
        keep(&|row| table.collection.timestamp(row) >= since);
    }
    if let Some(until) = filter.until {
        let until = until.timestamp_micros();
        keep(&|row| table.collection.timestamp(row) < until);
    }
    if let Some(least) = filter.min_importance {
        keep(&|row| table.importance[row as usize] >= least);
    }
    if let Some(least) = filter.min_confidence {
        keep(&|row| f64::from(table.confidence[row as usize]) >= least - 1e-6);
    }
    if let Some(stems) = &filter.stems {
        let names: HashSet<&str> = stems.iter().map(|stem| stem.as_str()).collect();
        keep(&|row| {
            let name = table.name(row);
            let file = name.rsplit('/').next().unwrap_or(name);
            names.contains(file.strip_suffix(".md").unwrap_or(file))
        });
    }
    let words = |words: &[&'static str]| words.iter().map(|word| (*word).to_owned()).collect();
    let any_of: [(&str, Vec<String>); 6] = [
        ("agent", filter.agents.clone()),
        ("user", filter.users.clone()),
        ("namespace", filter.namespaces.clone()),
        (
            "kind",
            words(
                &filter
                    .kinds
                    .iter()
                    .map(|kind| kind.as_str())
                    .collect::<Vec<_>>(),
            ),
        ),
        (
            "scope",
            words(
                &filter
                    .scopes
                    .iter()
                    .map(|scope| scope.as_str())
                    .collect::<Vec<_>>(),
            ),
        ),
        (
            "tier",
            words(
                &filter
                    .tiers
                    .iter()
                    .map(|tier| tier.as_str())
                    .collect::<Vec<_>>(),
            ),
        ),
    ];
    let mut conditions: Vec<Vec<String>> = any_of
        .iter()
        .filter(|(_, values)| !values.is_empty())
        .map(|(key, values)| values.iter().map(|value| fact(key, value)).collect())
        .collect();
    let topics = filter.topics.iter().map(|topic| fact("topics", topic));
    match filter.topic_match {
        _ if filter.topics.is_empty() => {}
        TopicMatch::Any => conditions.push(topics.collect()),
        TopicMatch::All => conditions.extend(topics.map(|topic| vec![topic])),
    }
    conditions.extend(
        filter
            .equals
            .iter()
            .map(|(key, value)| vec![fact(key, value)]),
    );
    for facts in conditions {
        let mut any = vec![false; table.len()];
        for fact in facts {
            let mark = |row: u32, _| any[row as usize] = true;
            snapshot.each_posting(snapshot.fields.facts, &fact, IndexRecordOption::Basic, mark)?;
        }
        for (kept, any) in rows.0.iter_mut().zip(any) {
            *kept = *kept && any;
        }
    }
    for (phrases, wanted) in [(&filter.contains, true), (&filter.excludes, false)] {
        for phrase in phrases {
            let counted = keywords::count(snapshot, std::slice::from_ref(phrase), &rows, texts)?;
            let mut holds = vec![false; table.len()];
            counted
                .iter()
                .for_each(|found| holds[found.row as usize] = true);
            for (kept, holds) in rows.0.iter_mut().zip(holds) {
                *kept = *kept && holds == wanted;
            }
        }
    }
    Ok(rows)
}

/// The rows that a live memory supersedes: those it names in `supersedes`, and those that name it
/// in `superseded_by`. Where the newer memory was forgotten, the older one counts again.
fn superseded(snapshot: &EmbeddedSnapshot) -> Result<HashSet<u32>, IndexError> {
    let mut superseded = HashSet::new();
    for (older, _) in snapshot.facet("supersedes")? {
        superseded.extend(snapshot.rows_called(&older)?);
    }
    for (newer, _) in snapshot.facet("superseded_by")? {
        if !snapshot.rows_called(&newer)?.is_empty() {
            let fact = fact("superseded_by", &newer);
            snapshot.each_posting(
                snapshot.fields.facts,
                &fact,
                IndexRecordOption::Basic,
                |row, _| {
                    superseded.insert(row);
                },
            )?;
        }
    }
    Ok(superseded)
}

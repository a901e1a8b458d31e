//! A filter as conditions on what is known of a memory, the same for every kind of index.

use std::collections::HashSet;

use super::facts::fact;
use super::facts::stem_in;
use crate::model::Filter;
use crate::model::TopicMatch;
use crate::model::Visibility;
use crate::ranking::keyword::Keyword;

/// What a memory must be to pass a filter.
pub(super) struct Conditions<'a> {
    filter: &'a Filter,
    /// Microseconds since 1970.
    now: i64,
    stems: Option<HashSet<&'a str>>,
    /// Of each list, the memory has at least one fact.
    pub facts: Vec<Vec<String>>,
    /// Each stands in the memory's texts, or does not. `None` stands in none.
    pub phrases: Vec<(Option<Keyword>, bool)>,
}

/// The values of a memory that are compared as numbers, and its name.
pub(super) struct Values<'a> {
    pub name: &'a str,
    /// Microseconds since 1970.
    pub timestamp: i64,
    /// Microseconds since 1970; `i64::MAX` for never.
    pub expires: i64,
    /// 0 for none.
    pub importance: u8,
    /// 0 for none.
    pub confidence: f32,
}

impl<'a> Conditions<'a> {
    /// The conditions of `filter` at the moment `now`, in microseconds since 1970.
    pub fn of(filter: &'a Filter, now: i64) -> Conditions<'a> {
        let stems = filter.stems.as_ref();
        let phrases = |phrases: &[String], wanted: bool| -> Vec<_> {
            let phrases = phrases.iter();
            phrases.map(|text| (Keyword::new(text), wanted)).collect()
        };
        let mut all = phrases(&filter.contains, true);
        all.extend(phrases(&filter.excludes, false));
        Conditions {
            filter,
            now,
            stems: stems.map(|stems| stems.iter().map(|stem| stem.as_str()).collect()),
            facts: facts(filter),
            phrases: all,
        }
    }

    /// Whether what another memory supersedes does not pass.
    pub fn hides_superseded(&self) -> bool {
        self.filter.visibility == Visibility::Current
    }

    /// Whether the values are as the filter wants them; facts, phrases and supersession are to be
    /// looked at besides.
    pub fn admits(&self, values: &Values<'_>) -> bool {
        let filter = self.filter;
        let (since, until) = (filter.since, filter.until);
        (filter.visibility != Visibility::Current || values.expires > self.now)
            && since.is_none_or(|since| values.timestamp >= since.timestamp_micros())
            && until.is_none_or(|until| values.timestamp < until.timestamp_micros())
            && filter
                .min_importance
                .is_none_or(|least| values.importance >= least)
            && filter
                .min_confidence
                .is_none_or(|least| f64::from(values.confidence) >= least - 1e-6)
            && self
                .stems
                .as_ref()
                .is_none_or(|stems| stems.contains(stem_in(values.name)))
    }
}

fn facts(filter: &Filter) -> Vec<Vec<String>> {
    let texts = |key: &str, values: &[String]| -> Vec<String> {
        values.iter().map(|value| fact(key, value)).collect()
    };
    let mut lists = vec![
        texts("agent", &filter.agents),
        texts("user", &filter.users),
        texts("namespace", &filter.namespaces),
        filter
            .kinds
            .iter()
            .map(|kind| fact("kind", kind.as_str()))
            .collect(),
        filter
            .scopes
            .iter()
            .map(|scope| fact("scope", scope.as_str()))
            .collect(),
        filter
            .tiers
            .iter()
            .map(|tier| fact("tier", tier.as_str()))
            .collect(),
    ];
    let topics = texts("topics", &filter.topics);
    match filter.topic_match {
        TopicMatch::Any => lists.push(topics),
        TopicMatch::All => lists.extend(topics.into_iter().map(|topic| vec![topic])),
    }
    // An empty list asks for nothing.
    lists.retain(|list| !list.is_empty());
    let equals = filter.equals.iter();
    lists.extend(equals.map(|(key, value)| vec![fact(key, value)]));
    lists
}

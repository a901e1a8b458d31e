//! A filter as conditions on facts and fields of a memory, the same for every kind of index.

use std::collections::HashSet;
use std::sync::OnceLock;

use super::AsOf;
use super::facts::{ABOVE, each_namespace, fact, stem_in};
use super::phrase::Phrase;
use super::text::WantedWords;
use crate::lifecycle::Stated;
use crate::model::{
    Filter, Scope, TALK, Talks, Tier, TopicMatch, Visibility, normalized_namespace,
};
use crate::ranking::keyword::Keyword;
use crate::words::Analyzer;

/// Conditions that a memory must meet to pass a filter.
pub(super) struct Conditions<'a> {
    filter: &'a Filter,
    moment: AsOf<'a>,
    stems: Option<HashSet<&'a str>>,
    /// Facts of which the memory's namespace has one, if there are any.
    namespaces: Vec<String>,
    /// Lists of facts; the memory has at least one fact of each list.
    pub facts: Vec<Vec<String>>,
    /// Facts of which the memory has none.
    pub unwanted: Vec<String>,
    /// Texts that the memory must hold. `None` is held by none.
    pub contains: Vec<Option<Keyword>>,
    /// Phrases, each with whether the memory must have it, made at the first use.
    phrases: OnceLock<Vec<(Phrase, bool)>>,
    /// Words that the memory must hold, made at the first use.
    words: OnceLock<WantedWords>,
}

impl<'a> Conditions<'a> {
    /// Returns the conditions of `filter` at a moment.
    pub fn of(filter: &'a Filter, moment: AsOf<'a>) -> Conditions<'a> {
        let stems = filter.stems.as_ref();
        let contains = filter.contains.iter();
        Conditions {
            filter,
            moment,
            stems: stems.map(|stems| stems.iter().map(|stem| stem.as_str()).collect()),
            namespaces: namespaces(filter),
            facts: facts(filter),
            unwanted: unwanted(filter),
            contains: contains.map(|text| Keyword::new(text)).collect(),
            phrases: OnceLock::new(),
            words: OnceLock::new(),
        }
    }

    /// Returns the moment of the search.
    pub fn moment(&self) -> AsOf<'a> {
        self.moment
    }

    /// Returns the words that the memory's texts must all hold.
    pub fn words(&self, analyzer: &mut Analyzer) -> &WantedWords {
        self.words
            .get_or_init(|| WantedWords::of(analyzer, &self.filter.words))
    }

    /// Returns the phrases, each with whether the memory must have it.
    pub fn phrases(&self, analyzer: &mut Analyzer) -> &[(Phrase, bool)] {
        self.phrases.get_or_init(|| {
            let wanted = self.filter.phrases.iter().map(|text| (text, true));
            let unwanted = self.filter.excludes.iter().map(|text| (text, false));
            let all = wanted.chain(unwanted);
            all.map(|(text, wanted)| (Phrase::of(analyzer, text), wanted))
                .collect()
        })
    }

    /// Returns whether the filter has phrases.
    pub fn asks_for_phrases(&self) -> bool {
        !self.filter.phrases.is_empty() || !self.filter.excludes.is_empty()
    }

    /// Returns whether the filter has words.
    pub fn asks_for_words(&self) -> bool {
        !self.filter.words.is_empty()
    }

    /// Returns whether superseded memories do not pass.
    pub fn hides_superseded(&self) -> bool {
        self.filter.visibility == Visibility::Current
    }

    /// Returns whether the filter lists the stem of the file `name`, or lists none.
    pub fn names(&self, name: &str) -> bool {
        let stems = self.stems.as_ref();
        stems.is_none_or(|stems| stems.contains(stem_in(name)))
    }

    /// Returns whether the filter has namespaces.
    pub fn asks_for_namespaces(&self) -> bool {
        !self.namespaces.is_empty()
    }

    /// Returns whether memories in `namespace` may pass.
    pub fn admits_namespace(&self, namespace: &str) -> bool {
        let mut is_one = !self.asks_for_namespaces();
        each_namespace(namespace, &mut |key, value| {
            is_one = is_one || self.namespaces.contains(&fact(key, value));
        });
        is_one
    }

    /// Returns the value of [`Conditions::admits`] that all permanent memories have; `None` if each has to be
    /// looked at.
    pub fn of_the_permanent(&self) -> Option<bool> {
        let filter = self.filter;
        if filter.visibility == Visibility::Expired {
            return Some(false);
        }
        let asks_for_time =
            filter.since.is_some() || filter.until.is_some() || filter.after.is_some();
        let asks_for_each = self.stems.is_some()
            || asks_for_time
            || filter.min_importance.is_some()
            || filter.min_confidence.is_some();
        if asks_for_each {
            return None;
        }
        // Uses give them no other tier than the stated one: long, or none.
        let has_long = filter.tiers.is_empty() || filter.tiers.contains(&Tier::Long);
        let has_untiered = filter.tiers.is_empty() || filter.untiered;
        (has_long == has_untiered).then_some(has_long)
    }

    /// Returns whether the filter has conditions on importance, confidence or tier.
    fn asks_for_more(&self) -> bool {
        let filter = self.filter;
        filter.min_importance.is_some()
            || filter.min_confidence.is_some()
            || !filter.tiers.is_empty()
    }

    /// Returns whether the memory in the file `name` meets the conditions on time, visibility,
    /// importance, confidence and tier at the moment of the search. Its name, namespace, facts, words,
    /// phrases and supersession are checked elsewhere.
    pub fn admits(&self, name: &str, stated: &Stated) -> bool {
        let filter = self.filter;
        if filter.since.is_some_and(|since| stated.timestamp < since)
            || filter.until.is_some_and(|until| stated.timestamp >= until)
        {
            return false;
        }
        let after = filter.after.as_ref();
        if after.is_some_and(|position| !position.is_before(stated.timestamp, name)) {
            return false;
        }
        let may_expire = !stated.is_permanent();
        let asks_more = self.asks_for_more();
        match filter.visibility {
            Visibility::Expired if !may_expire => return false,
            Visibility::Everything if !asks_more => return true,
            Visibility::Current if !may_expire && !asks_more => return true,
            _ => {}
        }
        let state = (self.moment.state)(stem_in(name), stated, self.moment.now);
        let is_expired = state.is_expired(self.moment.now);
        let is_visible = match filter.visibility {
            Visibility::Everything => true,
            Visibility::Current => !is_expired,
            Visibility::Expired => is_expired,
        };
        is_visible
            && filter
                .min_importance
                .is_none_or(|least| state.importance >= least)
            && filter
                .min_confidence
                .is_none_or(|least| state.confidence >= least - 1e-6)
            && (filter.tiers.is_empty()
                || match state.tier {
                    Some(tier) => filter.tiers.contains(&tier),
                    None => filter.untiered,
                })
    }
}

/// Returns the facts of the filter's namespaces; a memory in a namespace below one matches too.
fn namespaces(filter: &Filter) -> Vec<String> {
    let wanted = filter.namespaces.iter();
    let facts = wanted.flat_map(|wanted| {
        let wanted = normalized_namespace(wanted);
        [fact("namespace", &wanted), fact(ABOVE, &wanted)]
    });
    facts.collect()
}

fn facts(filter: &Filter) -> Vec<Vec<String>> {
    let texts = |key: &str, values: &[String]| -> Vec<String> {
        values.iter().map(|value| fact(key, value)).collect()
    };
    let mut lists = vec![
        texts("agent", &filter.agents),
        texts("user", &filter.users),
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
    ];
    if let Some(namespace) = &filter.seen_from {
        let for_all = fact("scope", Scope::Global.as_str());
        lists.push(vec![for_all, wanted_fact("namespace", namespace)]);
    }
    let topics = texts("topics", &filter.topics);
    match filter.topic_match {
        TopicMatch::Any => lists.push(topics),
        TopicMatch::All => lists.extend(topics.into_iter().map(|topic| vec![topic])),
    }
    // An empty list asks for nothing.
    lists.retain(|list| !list.is_empty());
    let equals = filter.equals.iter();
    lists.extend(equals.map(|(key, value)| vec![wanted_fact(key, value)]));
    lists
}

/// Returns the facts of which a memory that passes has none.
fn unwanted(filter: &Filter) -> Vec<String> {
    let differs = filter.differs.iter();
    let differs = differs.map(|(key, value)| wanted_fact(key, value));
    let talks = match filter.talks {
        Talks::Nowhere => Some(fact(&format!("metadata.{TALK}"), "true")),
        Talks::Answers | Talks::Everywhere => None,
    };
    differs.chain(talks).collect()
}

/// Returns the fact of a condition on one key.
fn wanted_fact(key: &str, value: &str) -> String {
    match key {
        "namespace" => fact(key, &normalized_namespace(value)),
        _ => fact(key, value),
    }
}

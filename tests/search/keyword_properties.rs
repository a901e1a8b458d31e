//! Keyword search equals a plain scan of all files, written here straight from the formula:
//! on random stores, with filters, and while the store changes.

use std::collections::BTreeMap;
use std::fs;

use chrono::{DateTime, Duration, Utc};
use proptest::collection::vec;
use proptest::option;

use memdir::engine::{Engine, Query, QueryKind, live, ops};
use memdir::model::{Change, Filter, Kind, NewMemory, Stem, Timestamp, TopicMatch};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::support::{TestStore, at, random};

/// Words that overlap themselves and each other, that case changes, that blanks cut.
pub const WORDS: [&str; 44] = [
    "a",
    "aa",
    "aaa",
    "AA",
    "ab",
    "aba",
    "api",
    "API",
    "rapid",
    "api_x",
    "_",
    "x_",
    "c++",
    "c++17",
    "@x",
    "a@x",
    "-",
    "--",
    ".",
    "a.b",
    "don't",
    "std::path",
    "foo_bar",
    "HTTPServer",
    "well-known",
    "東京",
    "東京都",
    "京都",
    "猫",
    "Straße",
    "STRASSE",
    "ΑΣ",
    "Σ",
    "ς",
    "İ",
    "i\u{307}",
    "é",
    "e\u{301}",
    "x²",
    "ﬁ",
    "🦀",
    "\u{200d}",
    "\\",
    "\"",
];
const BLANKS: [&str; 9] = [
    "", "", " ", " ", "  ", "\u{a0}", "\u{3000}", "\u{2003}", "\u{2028}",
];
const BREAKS: [&str; 8] = [
    "\n", "\r\n", "\t", "\n\n", "\n---\n", "\u{b}", "\u{85}", "\0",
];

/// A memory as this test writes it and counts in it.
#[derive(Debug, Clone)]
struct Written {
    agent: String,
    user: String,
    topics: Vec<String>,
    namespace: Option<&'static str>,
    kind: Option<Kind>,
    timestamp: DateTime<Utc>,
    content: String,
}

impl Written {
    /// The file's text; JSON strings are quoted YAML scalars.
    fn text(&self, stem: &str) -> String {
        let json = |text: &str| serde_json::to_string(text).unwrap();
        let topics: Vec<String> = self.topics.iter().map(|topic| json(topic)).collect();
        let namespace = self
            .namespace
            .map(|n| format!("namespace: {n}\n"))
            .unwrap_or_default();
        let kind = self
            .kind
            .map(|kind| format!("kind: {kind}\n"))
            .unwrap_or_default();
        format!(
            "---\nid: {}\ntimestamp: {}\nagent: {}\nuser: {}\ntopics: [{}]\n{namespace}{kind}---\n\n{}",
            &stem[16..],
            self.timestamp.to_rfc3339(),
            json(&self.agent),
            json(&self.user),
            topics.join(", "),
            self.content
        )
    }

    fn new_memory(&self) -> NewMemory {
        NewMemory {
            timestamp: Some(Timestamp::from_utc(self.timestamp)),
            agent: self.agent.clone(),
            user: self.user.clone(),
            topics: self.topics.clone(),
            namespace: self.namespace.map(str::to_owned),
            kind: self.kind,
            content: self.content.clone(),
            ..NewMemory::default()
        }
    }

    fn passes(&self, stem: &str, filter: &Filter) -> bool {
        let same = |a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
        let any = |wanted: &[String], value: &str| {
            wanted.is_empty() || wanted.iter().any(|wanted| same(wanted, value))
        };
        let has_topic = |wanted: &String| self.topics.iter().any(|topic| same(topic, wanted));
        let topics = match filter.topic_match {
            TopicMatch::All => filter.topics.iter().all(has_topic),
            TopicMatch::Any => filter.topics.is_empty() || filter.topics.iter().any(has_topic),
        };
        any(&filter.agents, &self.agent)
            && any(&filter.users, &self.user)
            && any(&filter.namespaces, self.namespace.unwrap_or("global"))
            && (filter.kinds.is_empty() || self.kind.is_some_and(|k| filter.kinds.contains(&k)))
            && topics
            && filter.since.is_none_or(|since| self.timestamp >= since)
            && filter.until.is_none_or(|until| self.timestamp < until)
            && filter
                .stems
                .as_ref()
                .is_none_or(|stems| stems.iter().any(|s| s.as_str() == stem))
    }

    /// `2·Σ_topics count(k) + count(k, content) + count(k, user) + count(k, agent)
    /// + matches(\bk\b over topics, content, user, agent)`, all in lower case.
    fn score(&self, keyword: &str) -> usize {
        let lower = |text: &String| text.to_lowercase();
        let topics: Vec<String> = self.topics.iter().map(lower).collect();
        let others = [&self.content, &self.user, &self.agent].map(lower);
        let in_topics: usize = topics
            .iter()
            .map(|text| text.matches(keyword).count())
            .sum();
        let in_others: usize = others
            .iter()
            .map(|text| text.matches(keyword).count())
            .sum();
        let words = topics
            .iter()
            .chain(&others)
            .map(|text| whole_words(text, keyword));
        2 * in_topics + in_others + words.sum::<usize>()
    }
}

/// How often `\bkeyword\b` matches, from left to right and without overlap.
fn whole_words(text: &str, keyword: &str) -> usize {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let is_boundary =
        |at: usize| is_word(text[..at].chars().next_back()) != is_word(text[at..].chars().next());
    let (mut count, mut at) = (0, 0);
    while let Some(character) = text[at..].chars().next() {
        let end = at + keyword.len();
        if text[at..].starts_with(keyword) && is_boundary(at) && is_boundary(end) {
            count += 1;
            at = end;
        } else {
            at += character.len_utf8();
        }
    }
    count
}

/// What a search gave: file, score and matching keywords, best first; and the number of all.
type Answer = (Vec<(String, usize, Vec<String>)>, usize);

/// The answer by reading everything.
fn scan(memories: &BTreeMap<String, Written>, query: &Query) -> Answer {
    let QueryKind::Keywords(asked) = &query.kind else {
        panic!("these tests ask for keywords")
    };
    let mut keywords: Vec<String> = Vec::new();
    for keyword in asked.iter().map(|keyword| keyword.trim().to_lowercase()) {
        if !keyword.is_empty() && !keywords.contains(&keyword) {
            keywords.push(keyword);
        }
    }
    let mut hits: Vec<(&String, &Written, usize, Vec<String>)> = memories
        .iter()
        .filter(|(stem, memory)| memory.passes(stem, &query.filter))
        .map(|(stem, memory)| {
            let score = keywords.iter().map(|keyword| memory.score(keyword)).sum();
            let matched = keywords.iter().filter(|keyword| memory.score(keyword) > 0);
            (stem, memory, score, matched.cloned().collect())
        })
        .filter(|(_, _, score, _)| *score > 0)
        .collect();
    hits.sort_by_key(|(stem, memory, score, _)| {
        (
            std::cmp::Reverse(*score),
            std::cmp::Reverse(memory.timestamp),
            (*stem).clone(),
        )
    });
    let total = hits.len();
    let shown = hits.into_iter().skip(query.offset).take(query.limit);
    let shown = shown.map(|(stem, _, score, matched)| (format!("{stem}.md"), score, matched));
    (shown.collect(), total)
}

/// The answer of the engine.
fn ask(engine: &Engine, query: &Query) -> Answer {
    let results = ops::search(engine, query).unwrap();
    let hits = results.hits.into_iter();
    let hits = hits.map(|hit| {
        assert_eq!(hit.score.fract(), 0.0);
        (hit.name, hit.score as usize, hit.matched)
    });
    (hits.collect(), results.total)
}

pub fn pieces(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(pieces).prop_map(str::to_owned)
}

pub fn line() -> impl Strategy<Value = String> {
    vec((pieces(&WORDS), pieces(&BLANKS)), 1..5)
        .prop_map(|parts| {
            parts
                .into_iter()
                .map(|(word, blank)| word + &blank)
                .collect::<String>()
        })
        .prop_map(|text| text.trim().to_owned())
        .prop_filter("not blank", |text| !text.is_empty())
}

pub fn content() -> impl Strategy<Value = String> {
    let part = prop_oneof![6 => pieces(&WORDS), 4 => pieces(&BLANKS), 1 => pieces(&BREAKS)];
    vec(part, 0..25).prop_map(|parts| parts.concat())
}

/// A moment of a few, so that some memories share one.
fn moment() -> impl Strategy<Value = DateTime<Utc>> {
    (0..4_i64).prop_map(|day| at("2026-01-14T09:15:00Z") + Duration::days(day))
}

prop_compose! {
    fn written()(
        agent in prop_oneof![Just("claude".to_owned()), Just("Codex".to_owned()), line()],
        user in prop_oneof![Just("mira".to_owned()), Just("İda".to_owned()), line()],
        topics in vec(line(), 0..4),
        namespace in option::of(select(vec!["atlas", "Atlas", "global", "work"])),
        kind in option::of(select(vec![Kind::Episodic, Kind::Semantic])),
        timestamp in moment(),
        content in content(),
    ) -> Written {
        Written { agent, user, topics, namespace, kind, timestamp, content }
    }
}

fn store() -> impl Strategy<Value = Vec<Written>> {
    vec(written(), 0..12)
}

/// Keywords of every kind; some are cut out of a memory of the store, blanks and all.
fn keyword() -> impl Strategy<Value = Asked> {
    prop_oneof![
        3 => pieces(&WORDS).prop_map(Asked::Text),
        1 => pieces(&WORDS).prop_map(|word| Asked::Text(format!("  {}\t", word.to_uppercase()))),
        1 => (pieces(&WORDS), pieces(&BLANKS), pieces(&WORDS))
            .prop_map(|(a, blank, b)| Asked::Text(format!("{a}{blank}{b}"))),
        1 => Just(Asked::Text("a\0a".to_owned())),
        3 => (any::<Index>(), any::<Index>(), 1..8_usize).prop_map(|(a, b, n)| Asked::Part(a, b, n)),
    ]
}

/// A keyword: a text, or a part of some memory's content.
#[derive(Debug, Clone)]
enum Asked {
    Text(String),
    Part(Index, Index, usize),
}

impl Asked {
    fn keyword(&self, memories: &BTreeMap<String, Written>) -> String {
        let cut = |memory: &Index, start: &Index, length: &usize| {
            let content = &memories.values().nth(memory.index(memories.len()))?.content;
            let chars: Vec<char> = content.chars().collect();
            let start = start.index(chars.len().max(1));
            let part: String = chars.iter().skip(start).take(*length).collect();
            (!part.trim().is_empty()).then_some(part)
        };
        match self {
            Asked::Text(text) => text.clone(),
            Asked::Part(memory, start, length) => {
                // A memory without such a part is asked for any word.
                let part = (!memories.is_empty())
                    .then(|| cut(memory, start, length))
                    .flatten();
                part.unwrap_or_else(|| "aa".to_owned())
            }
        }
    }
}

#[derive(Debug, Clone)]
struct Question {
    keywords: Vec<Asked>,
    filter: Filter,
    stems: Option<Vec<Index>>,
    limit: usize,
    offset: usize,
}

impl Question {
    fn query(&self, memories: &BTreeMap<String, Written>) -> Query {
        let stem = |index: &Index| {
            Stem::from_file_name(memories.keys().nth(index.index(memories.len())).unwrap())
        };
        let stems = self.stems.as_ref().filter(|_| !memories.is_empty());
        Query {
            kind: QueryKind::Keywords(self.keywords.iter().map(|k| k.keyword(memories)).collect()),
            filter: Filter {
                stems: stems.map(|stems| stems.iter().map(stem).collect()),
                ..self.filter.clone()
            },
            ranking: memdir::engine::Ranking::default(),
            limit: self.limit,
            offset: self.offset,
        }
    }
}

prop_compose! {
    fn filter()(
        agents in rarely(vec(select(vec!["claude", "CODEX", "nobody"]), 1..3)),
        users in rarely(vec(select(vec!["Mira", "i\u{307}da"]), 1..3)),
        topics in rarely(vec(pieces(&WORDS), 1..3)),
        any_topic in any::<bool>(),
        namespaces in rarely(vec(select(vec!["ATLAS", "global"]), 1..3)),
        kinds in rarely(vec(select(vec![Kind::Episodic, Kind::Entity]), 1..3)),
        since in option::weighted(0.2, moment()),
        until in option::weighted(0.2, moment()),
    ) -> Filter {
        let texts = |texts: Option<Vec<&str>>| {
            texts.unwrap_or_default().into_iter().map(str::to_owned).collect()
        };
        Filter {
            agents: texts(agents),
            users: texts(users),
            topics: topics.unwrap_or_default(),
            topic_match: if any_topic { TopicMatch::Any } else { TopicMatch::All },
            namespaces: texts(namespaces),
            kinds: kinds.unwrap_or_default(),
            since,
            until,
            ..Filter::default()
        }
    }
}

pub fn rarely<T: std::fmt::Debug>(
    values: impl Strategy<Value = Vec<T>>,
) -> impl Strategy<Value = Option<Vec<T>>> {
    option::weighted(0.2, values)
}

prop_compose! {
    fn question()(
        keywords in vec(keyword(), 1..4),
        filter in prop_oneof![Just(Filter::default()), filter()],
        stems in option::weighted(0.1, vec(any::<Index>(), 0..4)),
        limit in prop_oneof![3 => Just(100), 1 => 0..6_usize],
        offset in prop_oneof![4 => Just(0), 1 => 0..4_usize],
    ) -> Question {
        Question { keywords, filter, stems, limit, offset }
    }
}

/// Something that happens to a store.
#[derive(Debug, Clone)]
enum Step {
    /// Another program puts a file in place, or over an old one.
    Add(Written),
    Replace(Index, Written),
    /// Another program writes into the file as it lies there.
    Overwrite(Index, Written),
    Delete(Index),
    Remember(Written),
    Update(Index, String),
    Forget(Index),
    Settle,
    DeleteIndex,
    /// Another process takes over.
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let which = any::<Index>;
    prop_oneof![
        2 => written().prop_map(Step::Add),
        1 => (which(), written()).prop_map(|(which, written)| Step::Replace(which, written)),
        1 => (which(), written()).prop_map(|(which, written)| Step::Overwrite(which, written)),
        1 => which().prop_map(Step::Delete),
        2 => written().prop_map(Step::Remember),
        1 => (which(), content()).prop_map(|(which, content)| Step::Update(which, content)),
        1 => which().prop_map(Step::Forget),
        2 => Just(Step::Settle),
        1 => Just(Step::DeleteIndex),
        1 => Just(Step::Reopen),
    ]
}

/// A store on disk with what this test knows to be in it.
struct Known {
    store: TestStore,
    engine: Engine,
    memories: BTreeMap<String, Written>,
    made: u32,
}

/// What can be stored of a text: a NUL stands in files of others only.
fn without_nul(content: &str) -> String {
    content.replace('\0', "o")
}

impl Known {
    fn of(memories: Vec<Written>) -> Known {
        let store = TestStore::new();
        let engine = store.engine();
        let mut known = Known {
            store,
            engine,
            memories: BTreeMap::new(),
            made: 0,
        };
        memories
            .into_iter()
            .for_each(|memory| known.step(Step::Add(memory)));
        known
    }

    fn stem(&self, index: Index) -> Option<String> {
        let count = self.memories.len();
        (count > 0).then(|| {
            self.memories
                .keys()
                .nth(index.index(count))
                .unwrap()
                .clone()
        })
    }

    fn put(&mut self, stem: &str, memory: Written) {
        self.store.put(&format!("{stem}.md"), memory.text(stem));
        self.memories.insert(stem.to_owned(), memory);
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Add(memory) => {
                self.made += 1;
                let stem = format!("20260114_091500_c{:07x}", self.made);
                self.put(&stem, memory);
            }
            Step::Remember(mut memory) => {
                memory.content = without_nul(&memory.content);
                let remembered = ops::remember(&self.engine, memory.new_memory(), None).unwrap();
                self.memories.insert(remembered.stem.to_string(), memory);
            }
            Step::Settle => {
                // Through a look, as the background loop does it.
                ops::status(&self.engine).unwrap();
                live::settle(&self.engine.live, true).unwrap();
            }
            Step::DeleteIndex => {
                if self.store.state().exists() {
                    fs::remove_dir_all(self.store.state()).unwrap();
                }
                self.engine = self.store.engine();
            }
            Step::Reopen => self.engine = self.store.engine(),
            Step::Replace(which, memory) => {
                if let Some(stem) = self.stem(which) {
                    self.put(&stem, memory);
                }
            }
            Step::Overwrite(which, memory) => {
                if let Some(stem) = self.stem(which) {
                    fs::write(
                        self.store.files().join(format!("{stem}.md")),
                        memory.text(&stem),
                    )
                    .unwrap();
                    self.memories.insert(stem, memory);
                    // A running process notices by its next sweep, at most a second later; this
                    // asks for the sweep.
                    ops::status(&self.engine).unwrap();
                }
            }
            Step::Delete(which) => {
                if let Some(stem) = self.stem(which) {
                    fs::remove_file(self.store.files().join(format!("{stem}.md"))).unwrap();
                    self.memories.remove(&stem);
                }
            }
            Step::Update(which, content) => {
                let content = without_nul(&content);
                if let Some(stem) = self.stem(which) {
                    let change = Change {
                        content: Some(content.clone()),
                        ..Change::default()
                    };
                    ops::update(&self.engine, &stem, &change).unwrap();
                    self.memories.get_mut(&stem).unwrap().content = content;
                }
            }
            Step::Forget(which) => {
                if let Some(stem) = self.stem(which) {
                    ops::forget(&self.engine, &stem).unwrap();
                    self.memories.remove(&stem);
                }
            }
        }
    }

    fn check(&self, engine: &Engine, question: &Question) -> Result<(), TestCaseError> {
        let query = question.query(&self.memories);
        prop_assert_eq!(
            ask(engine, &query),
            scan(&self.memories, &query),
            "{:?}",
            query
        );
        Ok(())
    }
}

proptest! {
    #![proptest_config(random(60))]

    #[test]
    fn keyword_search_equals_a_scan_of_all_files(
        memories in store(), questions in vec(question(), 1..25),
    ) {
        let known = Known::of(memories);
        // Through the overlay, then from the index, then in another process.
        for question in &questions {
            known.check(&known.engine, question)?;
        }
        live::settle(&known.engine.live, true).unwrap();
        let other = known.store.engine();
        for question in &questions {
            known.check(&known.engine, question)?;
            known.check(&other, question)?;
        }
    }

    #[test]
    fn keyword_search_equals_a_scan_whatever_happens_to_the_store(
        memories in store(), steps in vec((step(), vec(question(), 1..4)), 1..12),
    ) {
        let mut known = Known::of(memories);
        for (step, questions) in steps {
            known.step(step);
            for question in &questions {
                known.check(&known.engine, question)?;
            }
        }
        fs::remove_dir_all(known.store.state()).unwrap();
        let rebuilt = known.store.engine();
        let question = Question {
            keywords: WORDS.iter().map(|word| Asked::Text((*word).to_owned())).collect(),
            filter: Filter::default(),
            stems: None,
            limit: 100,
            offset: 0,
        };
        known.check(&known.engine, &question)?;
        known.check(&rebuilt, &question)?;
    }
}

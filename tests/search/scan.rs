//! A scan of the files answers what an index of them answers, to the score.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};
use memdir::index::embedded::EmbeddedIndex;
use memdir::index::{
    AsOf, Document, Index as _, IndexHit, Indexed, Overlay, Query, QueryKind, Scan, SearchModels,
    SearchResults, Snapshot,
};
use memdir::model::{
    Filter, Kind, Memory, MetaValue, Position, Scope, Stamp, Stem, Talks, Tier, Timestamp,
    TopicMatch, Visibility,
};
use memdir::words::Language;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::keyword_properties::{WORDS, content, line, pieces, rarely};
use crate::support::texts::{VOCABULARY, sentence};
use crate::support::{at, noon, random};

/// Ids that may be somebody's: two of one handle, a foreign name, one as long as a stem that is
/// none, and one that is nobody's.
const IDS: [&str; 8] = [
    "c0000001",
    "20260114_091500_c0000002",
    "20260115_091500_c0000002",
    "C0000003",
    "Notes",
    "notes",
    "éééééééé éééé",
    "aéaéaéaéaéaéaéa\u{301}",
];
const NAMES: [&str; 8] = [
    "20260114_091500_c0000001.md",
    "20260114_091500_c0000002.md",
    "20260115_091500_c0000002.md",
    "20260114_091500_c0000003.md",
    "20260114_091500_c0000004.md",
    "20260114_091500_c0000005.md",
    "Notes.md",
    "folder/20260114_091500_c0000006.md",
];

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => (sentence(), any::<bool>()).prop_map(|(text, asks)| {
            if asks { text.replace('.', "?") } else { text }
        }),
        2 => content(),
        2 => select(vec!["Hey Mel, how are you?", "Thanks, Mel!", "Hi, I'm Mel.\nIt rains."])
            .prop_map(str::to_owned),
        1 => (vec(pieces(&WORDS), 1..5), sentence())
            .prop_map(|(words, text)| words.join(" ") + &text),
    ]
}

fn user() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => select(vec!["Caroline", "Marco", "Caroline+Marco", "İda", "claude"])
            .prop_map(str::to_owned),
        1 => line(),
    ]
}

fn meta() -> impl Strategy<Value = MetaValue> {
    prop_oneof![
        Just(MetaValue::Null),
        any::<bool>().prop_map(MetaValue::Bool),
        (0..3_i64).prop_map(MetaValue::Int),
        Just(MetaValue::List(vec![
            MetaValue::Text("İx".to_owned()),
            MetaValue::Float(0.5)
        ])),
        Just(MetaValue::Map(vec![(
            "in".to_owned(),
            MetaValue::Text("b".repeat(2_000))
        )])),
    ]
}

fn of<T: std::str::FromStr + Clone + std::fmt::Debug>(
    words: &'static [&'static str],
) -> impl Strategy<Value = Option<T>> {
    option::of(select(words).prop_map(|word| word.parse().ok().unwrap()))
}

fn moment() -> impl Strategy<Value = DateTime<Utc>> {
    // Some close together, some alike, some far apart.
    prop_oneof![0..40_i64, (0..5_i64).prop_map(|days| days * 24 * 60)]
        .prop_map(|minutes| at("2026-01-14T09:15:00Z") + Duration::minutes(minutes * 10))
}

prop_compose! {
    fn memory()(
        (agent, user, topics) in (
            select(vec!["claude", "Codex"]), user(), vec(prop_oneof![line(), sentence()], 0..3),
        ),
        (title, content) in (rarely(vec(select(&VOCABULARY[..]), 1..4)), texts()),
        timestamp in moment(),
        (kind, scope, tier) in (of::<Kind>(Kind::WORDS), of::<Scope>(Scope::WORDS), of::<Tier>(Tier::WORDS)),
        (namespace, source) in (
            option::of(select(vec!["atlas", "Atlas", "work"])), option::of(line()),
        ),
        (importance, confidence) in (option::of(0..10_u8), option::of(0.0..1.0_f64)),
        expires in option::weighted(0.2, select(vec!["2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"])),
        supersedes in vec(select(&IDS[..]), 0..2),
        superseded_by in option::weighted(0.2, select(&IDS[..])),
        metadata in option::weighted(0.3, meta()),
        unknown in option::weighted(0.1, line()),
    ) -> Memory {
        let stem = Stem::from_file_name("");
        let mut memory = memdir::format::parse(&stem, content.as_bytes(), timestamp);
        memory.timestamp = Timestamp::from_utc(timestamp);
        memory.agent = agent.to_owned();
        memory.user = user;
        memory.topics = topics;
        memory.title = title.map(|words| words.join(" "));
        memory.kind = kind;
        memory.scope = scope;
        memory.tier = tier;
        memory.namespace = namespace.map(str::to_owned);
        memory.source = source;
        memory.importance = importance;
        memory.confidence = confidence;
        memory.expires = expires.and_then(Timestamp::parse);
        memory.supersedes = supersedes.into_iter().map(str::to_owned).collect();
        memory.superseded_by = superseded_by.map(str::to_owned);
        memory.metadata = metadata.map(|value| ("k".to_owned(), value)).into_iter().collect();
        memory.unknown = unknown.map(|value| ("odd".to_owned(), value)).into_iter().collect();
        memory
    }
}

type Documents = BTreeMap<String, Arc<Document>>;

/// Each under one of [`NAMES`].
fn documents() -> impl Strategy<Value = Documents> {
    vec(option::weighted(0.8, memory()), NAMES.len()).prop_map(|memories| {
        let named = NAMES.iter().zip(memories).enumerate();
        named
            .filter_map(|(number, (name, memory))| {
                let mut memory = memory?;
                let file = name.rsplit('/').next().unwrap();
                memory.stem = Stem::from_file_name(file.strip_suffix(".md").unwrap());
                let document = Document {
                    name: (*name).to_owned(),
                    indexed: Indexed {
                        stamp: Stamp {
                            size: number as u64,
                            ..Stamp::default()
                        },
                        hash: number as u128,
                        racy: number % 2 == 0,
                    },
                    bytes: memory.content.clone().into_bytes(),
                    memory,
                };
                Some(((*name).to_owned(), Arc::new(document)))
            })
            .collect()
    })
}

prop_compose! {
    fn filter()(
        (agents, users) in (rarely(vec(select(vec!["claude", "CODEX"]), 1..3)), rarely(vec(user(), 1..3))),
        (topics, any_topic) in (rarely(vec(line(), 1..3)), any::<bool>()),
        namespaces in rarely(vec(select(vec!["ATLAS", "global"]), 1..3)),
        (kind, scope, tier) in (of::<Kind>(Kind::WORDS), of::<Scope>(Scope::WORDS), of::<Tier>(Tier::WORDS)),
        (which, seen_from) in (0..8_u8, option::weighted(0.2, select(vec!["atlas", "Global", "nowhere"]))),
        (min_importance, min_confidence) in (option::weighted(0.2, 0..10_u8), option::weighted(0.2, 0.0..1.0_f64)),
        (contains, phrases, excludes, words) in (
            rarely(vec(phrase(), 1..3)), rarely(vec(phrase(), 1..2)), rarely(vec(phrase(), 1..2)),
            rarely(vec(phrase(), 1..3)),
        ),
        equals in rarely(vec(select(vec![
            ("metadata.k", "1"), ("metadata.k", "i\u{307}X"), ("metadata.k", "TRUE"),
            ("title", "the"), ("problem", "no-frontmatter"), ("id", "c0000002"), ("odd", "a"),
            ("supersedes", "NOTES"), ("metadata.k.in", ""),
        ]), 1..3)),
        differs in rarely(vec(select(vec![
            ("metadata.k", "1"), ("metadata.k", "true"), ("title", "THE"), ("user", "mira"), ("kind", "semantic"),
        ]), 1..3)),
        (since, until) in (option::weighted(0.2, moment()), option::weighted(0.2, moment())),
        after in option::weighted(0.1, (moment(), select(&NAMES[..]))),
        stems in rarely(vec(select(vec!["20260114_091500_c0000001", "Notes", "c0000002"]), 0..3)),
        (everything, untiered) in any::<(bool, bool)>(),
    ) -> Filter {
        let texts = |texts: Option<Vec<&str>>| {
            texts.unwrap_or_default().into_iter().map(str::to_owned).collect()
        };
        Filter {
            agents: texts(agents),
            users: users.unwrap_or_default(),
            topics: topics.unwrap_or_default(),
            topic_match: if any_topic { TopicMatch::Any } else { TopicMatch::All },
            namespaces: texts(namespaces),
            kinds: kind.filter(|_| which == 0).into_iter().collect(),
            scopes: scope.filter(|_| which == 1).into_iter().collect(),
            seen_from: seen_from.map(str::to_owned),
            tiers: tier.filter(|_| which == 2).into_iter().collect(),
            untiered,
            min_importance,
            min_confidence,
            words: words.unwrap_or_default(),
            contains: contains.unwrap_or_default(),
            phrases: phrases.unwrap_or_default(),
            excludes: excludes.unwrap_or_default(),
            equals: equals.unwrap_or_default().into_iter()
                .map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
            differs: differs.unwrap_or_default().into_iter()
                .map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
            since,
            until,
            after: after.map(|(at, name)| Position { at, name: name.to_owned() }),
            stems: stems.map(|stems| stems.into_iter().map(Stem::from_file_name).collect()),
            visibility: if everything { Visibility::Everything } else { Visibility::Current },
            talks: if which == 3 { Talks::Nowhere } else { Talks::Answers },
        }
    }
}

fn phrase() -> impl Strategy<Value = String> {
    prop_oneof![
        pieces(&WORDS),
        select(&VOCABULARY[..]).prop_map(str::to_owned),
        sentence(),
        Just("  ".to_owned())
    ]
}

type Results = SearchResults<IndexHit>;

fn keywords(count: std::ops::Range<usize>) -> impl Strategy<Value = QueryKind> {
    vec(phrase().prop_map(|text| text.to_lowercase()), count).prop_map(|mut words| {
        words.sort();
        words.dedup();
        QueryKind::Keywords(words)
    })
}

/// Keywords of one or two letters stand in many runs of every text.
fn short_keywords() -> impl Strategy<Value = QueryKind> {
    vec("[a-z]{1,2}|[.,'@é東]", 1..4).prop_map(QueryKind::Keywords)
}

fn kind() -> impl Strategy<Value = QueryKind> {
    prop_oneof![
        1 => Just(QueryKind::Everything),
        3 => keywords(1..4),
        2 => short_keywords(),
        // So many are looked for together.
        1 => keywords(60..80),
        4 => (texts(), select(vec![
            "", "What did Caroline say about ", "Marco's ", "Is Mel ", "when on 14 January 2026 ",
            "in January: x.Caroline-y ", "a:Marco:b ", "claude ",
        ])).prop_map(|(text, opening)| QueryKind::Text(opening.to_owned() + &text)),
    ]
}

prop_compose! {
    fn query()(
        kind in kind(),
        filter in prop_oneof![
            1 => Just(Filter::default()),
            1 => Just(Filter { visibility: Visibility::Everything, ..Filter::default() }),
            2 => filter(),
        ],
        limit in prop_oneof![3 => Just(100), 1 => 0..6_usize],
        offset in prop_oneof![4 => Just(0), 1 => 0..4_usize],
    ) -> Query {
        Query { kind, offset, ..Query::everything(filter, limit) }
    }
}

fn ask(query: &Query, snapshot: &dyn Snapshot, documents: &Documents) -> Results {
    let texts = |name: &str| Some(documents.get(name)?.memory.clone());
    let moment = AsOf::unused(noon());
    snapshot
        .search(query, moment, SearchModels::default(), &texts)
        .unwrap()
}

fn scan(documents: &Documents) -> Scan {
    let mut names: Vec<_> = documents
        .iter()
        .map(|(name, document)| (name.clone(), document.indexed.stamp))
        .collect();
    // One file is gone when it is read.
    names.push((
        "20260114_091500_c0000003 gone.md".to_owned(),
        Stamp::default(),
    ));
    let documents = documents.clone();
    let document = move |name: &&str| Some(Document::clone(documents.get(*name)?));
    let read = move |names: &[&str]| names.iter().map(&document).collect();
    Scan::new(names, Box::new(read), &[Language::default()])
}

fn overlay(documents: &Documents) -> Overlay {
    let files = documents.iter();
    Overlay {
        files: files
            .map(|(name, document)| (name.clone(), Some(document.clone())))
            .collect(),
    }
}

/// An index of `documents` in which some of them took the place of those in `before`, or were left
/// when those were deleted.
fn index(before: &Documents, documents: &Documents) -> EmbeddedIndex {
    let index = EmbeddedIndex::in_memory(&[Language::default()]);
    let changes = |name: &str| {
        ["1.md", "3.md", "5.md", "s.md"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    let (changed, kept): (Documents, Documents) = documents
        .clone()
        .into_iter()
        .partition(|(name, _)| changes(name));
    let mut old = before.clone();
    old.retain(|name, _| changes(name));
    old.extend(kept);
    for documents in [old, changed] {
        let mut batch = index.batch(documents.len()).unwrap();
        NAMES
            .iter()
            .filter(|name| changes(name))
            .for_each(|name| batch.delete(name));
        let all = documents.values().map(|d| Document::clone(d)).collect();
        batch.upsert_all(all).unwrap();
        batch.commit(0).unwrap();
    }
    index
}

fn check(
    scan: &Scan,
    snapshot: &dyn Snapshot,
    documents: &Documents,
    queries: &[Query],
) -> Result<(), TestCaseError> {
    for query in queries {
        prop_assert_eq!(
            ask(query, scan, documents),
            ask(query, snapshot, documents),
            "{:?}",
            query
        );
    }
    for key in [
        "topics",
        "user",
        "supersedes",
        "metadata.k",
        "id",
        "nothing",
    ] {
        prop_assert_eq!(scan.facet(key).unwrap(), snapshot.facet(key).unwrap());
        let sorted = |mut holders: Vec<(String, String)>| {
            holders.sort();
            holders
        };
        let (here, there) = (scan.holders(key).unwrap(), snapshot.holders(key).unwrap());
        prop_assert_eq!(sorted(here), sorted(there));
    }
    prop_assert_eq!(
        scan.with_problems().unwrap(),
        snapshot.with_problems().unwrap()
    );
    for handle in ["c0000001", "c0000002", "c0000009"] {
        prop_assert_eq!(scan.handle_count(handle), snapshot.handle_count(handle));
    }
    for name in NAMES {
        prop_assert_eq!(scan.indexed(name), snapshot.indexed(name));
    }
    Ok(())
}

proptest! {
    #![proptest_config(random(150))]

    #[test]
    fn a_scan_answers_as_an_index_does(
        before in documents(), documents in documents(), queries in vec(query(), 1..20),
    ) {
        let scan = scan(&documents);
        let empty = EmbeddedIndex::in_memory(&[Language::default()]);
        check(&scan, &*empty.snapshot(&overlay(&documents)).unwrap(), &documents, &queries)?;
        let index = index(&before, &documents);
        check(&scan, &*index.snapshot(&Overlay::default()).unwrap(), &documents, &queries)?;
    }

    #[test]
    fn what_is_behind_a_hit_is_the_rest_of_the_list(
        documents in documents(), place in 0..8_usize,
    ) {
        let scan = scan(&documents);
        let filter = Filter { visibility: Visibility::Everything, ..Filter::default() };
        let all = Query::everything(filter, 100);
        let mut hits = ask(&all, &scan, &documents).hits;
        prop_assume!(!hits.is_empty());
        let place = place % hits.len();
        let rest = hits.split_off(place + 1);
        let last = &documents[&hits[place].name];
        let position = Position { at: last.memory.timestamp.utc(), name: last.name.clone() };
        let filter = Filter { after: Some(position), ..all.filter.clone() };
        let found = ask(&Query { filter, ..all }, &scan, &documents);
        prop_assert_eq!(found.total, rest.len());
        prop_assert_eq!(found.hits, rest);
    }
}

/// Words `w<from>` to `w<to - 1>`.
fn numbered(from: usize, to: usize) -> String {
    let words: Vec<String> = (from..to).map(|number| format!("w{number}")).collect();
    words.join(" ")
}

#[test]
fn of_a_long_text_both_rank_the_rarest_terms() {
    // 400 words stand in all three, 400 in two, 400 in the last one alone.
    let documents: Documents = (0..3)
        .map(|number: usize| {
            let name = NAMES[number].to_owned();
            let content = numbered(0, 400 * (number + 1));
            let stem = Stem::from_file_name(name.strip_suffix(".md").unwrap());
            let memory = memdir::format::parse(&stem, content.as_bytes(), noon());
            let indexed = Indexed {
                stamp: Stamp::default(),
                hash: number as u128,
                racy: false,
            };
            let bytes = content.into_bytes();
            let document = Document {
                name: name.clone(),
                indexed,
                memory,
                bytes,
            };
            (name, Arc::new(document))
        })
        .collect();
    let (scan, index) = (scan(&documents), index(&Documents::new(), &documents));
    let snapshot = index.snapshot(&Overlay::default()).unwrap();
    let asked = |text: String| {
        let query = Query::text(text, Filter::default(), 10);
        let found = ask(&query, snapshot.as_ref(), &documents);
        assert_eq!(ask(&query, &scan, &documents), found);
        found
    };
    // 400 terms of one memory each, and the first 112 of two; 300 stand nowhere.
    let long = asked(numbered(0, 1_500));
    assert_eq!((long.unranked, long.total), (1_500 - 512, 2));
    assert_eq!(long.hits[0].name, NAMES[2]);
    // What is left is ranked as if it alone had been asked for.
    let rarest = asked(numbered(400, 512) + " " + &numbered(800, 1_200));
    let scores = |found: &Results| -> Vec<f64> { found.hits.iter().map(|hit| hit.score).collect() };
    assert_eq!((rarest.unranked, scores(&rarest)), (0, scores(&long)));
    // So many are no more than are ranked.
    assert_eq!(asked(numbered(0, 512)).unranked, 0);
    assert_eq!(asked(numbered(0, 512)).total, 3);
}

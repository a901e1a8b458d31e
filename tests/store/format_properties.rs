//! What is written reads back, and a change touches nothing else: on random memories and on
//! random files.

use std::collections::BTreeSet;

use memdir::format;
use memdir::format::FormatError;
use memdir::model::{
    Change, Handle, Kind, Link, Memory, MetaValue, NewMemory, Patch, Problem, Scope, Stem, Tier,
    Timestamp, normalized_namespace,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{at, noon, random};

/// Pieces that mean something to YAML, to markdown or to git, when they stand where they should not.
const PIECES: [&str; 64] = [
    ": ",
    " #",
    "#",
    "- ",
    "---",
    "...",
    "'",
    "\"",
    "\\",
    "\\n",
    "\\u",
    "{",
    "}",
    "[",
    "]",
    ",",
    "&a",
    "*a",
    "!t",
    "|",
    ">",
    "%",
    "@",
    "`",
    "?",
    "=",
    "<<",
    "~",
    "null",
    "yes",
    "No",
    "true",
    "off",
    "1e3",
    "0x1f",
    "0o7",
    "012",
    "1_000",
    "12:30",
    "2026-01-14",
    ".5",
    ".inf",
    "+1",
    "-1",
    "a: b",
    "//",
    " ",
    "\u{a0}",
    "\u{2003}",
    "\u{feff}",
    "\u{2028}",
    "\u{200d}",
    "é",
    "e\u{301}",
    "İ",
    "ς",
    "ß",
    "日本",
    "🦀",
    "\u{10ffff}",
    "\u{fffe}",
    "\u{e000}",
    "word",
    "x",
];

/// A piece of text without control characters.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => select(&PIECES[..]).prop_map(str::to_owned),
        1 => any::<char>().prop_filter("no control", |c| !c.is_control()).prop_map(String::from),
        2 => "[a-z0-9]{1,4}",
    ]
}

/// A text that a scalar may hold: not blank, without control characters.
fn scalar() -> impl Strategy<Value = String> {
    vec(piece(), 1..5)
        .prop_map(|pieces| pieces.concat())
        .prop_filter("not blank", |text| !text.trim().is_empty())
}

/// Any text at all that may be written: a NUL is refused.
fn content() -> impl Strategy<Value = String> {
    const BREAKS: [&str; 13] = [
        "\n",
        "\n",
        "\r\n",
        "\r",
        "\n---\n",
        "---\n",
        "\u{1}",
        "\t",
        "\u{85}",
        "\n\n",
        "<<<<<<< a\n",
        "=======\n",
        ">>>>>>> b\n",
    ];
    let any_char = any::<char>().prop_map(String::from);
    let breaks = select(&BREAKS[..]).prop_map(str::to_owned);
    vec(prop_oneof![3 => piece(), 3 => breaks, 1 => any_char], 0..12)
        .prop_map(|p| p.concat().replace('\0', ""))
}

fn meta_value() -> impl Strategy<Value = MetaValue> {
    let leaf = prop_oneof![
        Just(MetaValue::Null),
        any::<bool>().prop_map(MetaValue::Bool),
        any::<i64>().prop_map(MetaValue::Int),
        (-1e9..1e9_f64).prop_map(|f| MetaValue::Float(f.trunc() + 0.5)),
        content().prop_map(MetaValue::Text),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(MetaValue::List),
            vec((scalar(), inner), 0..4).prop_map(|map| MetaValue::Map(distinct(map))),
        ]
    })
}

/// Leaves out later entries of an earlier key.
fn distinct<T>(entries: Vec<(String, T)>) -> Vec<(String, T)> {
    let mut seen = BTreeSet::new();
    let mut entries = entries;
    entries.retain(|(key, _)| seen.insert(key.clone()));
    entries
}

fn timestamp() -> impl Strategy<Value = Timestamp> {
    prop_oneof![
        (0..4_102_444_800_i64, 0..1_000_000_u32).prop_map(|(seconds, micros)| {
            let at = chrono::DateTime::from_timestamp(seconds, micros * 1000).unwrap();
            Timestamp::from_utc(at)
        }),
        select(vec![
            "2026-01-14T09:15:00Z",
            "2026-01-14 10:15:00 +01:00",
            "2026-01-14T10:15:00.5-0730",
            "2026-01-14",
        ])
        .prop_map(|text| Timestamp::parse(text).unwrap()),
    ]
}

fn link() -> impl Strategy<Value = Link> {
    (scalar(), scalar()).prop_map(|(to, relation)| Link { to, relation })
}

prop_compose! {
    fn optional_texts()(
        title in option::of(scalar()),
        namespace in option::of(scalar()),
        source in option::of(scalar()),
        status in option::of(scalar()),
        supersedes in vec(scalar(), 0..3),
    ) -> NewMemory {
        NewMemory { title, namespace, source, status, supersedes, ..NewMemory::default() }
    }
}

prop_compose! {
    fn optional_values()(
        kind in option::of(select(vec![Kind::Episodic, Kind::Semantic, Kind::Procedural, Kind::Entity])),
        scope in option::of(select(vec![Scope::Group, Scope::Global])),
        tier in option::of(select(vec![Tier::Short, Tier::Mid, Tier::Long])),
        importance in option::of(1..=10_u8),
        confidence in option::of(0.0..=1.0_f64),
        expires in option::of(timestamp()),
        links in vec(link(), 0..3),
        metadata in vec((scalar(), meta_value()), 0..4),
    ) -> NewMemory {
        let metadata = distinct(metadata);
        NewMemory {
            kind, scope, tier, importance, confidence, expires, links, metadata,
            ..NewMemory::default()
        }
    }
}

prop_compose! {
    fn new_memory()(
        texts in optional_texts(),
        values in optional_values(),
        agent in scalar(),
        user in scalar(),
        topics in vec(scalar(), 0..5),
        content in content(),
    ) -> NewMemory {
        NewMemory {
            agent, user, topics, content,
            title: texts.title,
            namespace: texts.namespace,
            source: texts.source,
            status: texts.status,
            supersedes: texts.supersedes,
            ..values
        }
    }
}

fn handle() -> impl Strategy<Value = Handle> {
    "[0-9a-f]{8}".prop_map(|hex| Handle::parse(&hex).unwrap())
}

fn read(stem: &Stem, bytes: &[u8]) -> Memory {
    format::parse(stem, bytes, at("2020-01-01T00:00:00Z"))
}

/// Whether lines begin git's two sides, divide them, and end them.
fn has_markers(content: &str) -> bool {
    let mut lines = content.split_inclusive('\n');
    lines.any(|line| line.starts_with("<<<<<<< "))
        && lines.any(|line| line.trim_ascii_end() == "=======")
        && lines.any(|line| line.starts_with(">>>>>>> "))
}

/// The namespace that must be read where `namespace` was written.
fn normalized(namespace: Option<&str>) -> Option<String> {
    Some(normalized_namespace(namespace?).into_owned())
}

/// The memory that must be read where `memory` was written.
fn expected(memory: &NewMemory, stem: &Stem, timestamp: &Timestamp) -> Memory {
    let memory = memory.clone();
    let mut problems = Vec::new();
    if memory.content.contains('\0') {
        problems.push(Problem::HasNul);
    }
    if has_markers(&memory.content) {
        problems.push(Problem::ConflictMarkers);
    }
    Memory {
        stem: stem.clone(),
        id: stem.short().to_owned(),
        timestamp: timestamp.clone(),
        agent: memory.agent,
        user: memory.user,
        topics: memory.topics,
        title: memory.title,
        kind: memory.kind,
        namespace: normalized(memory.namespace.as_deref()),
        scope: memory.scope,
        tier: memory.tier,
        importance: memory.importance,
        confidence: memory.confidence,
        source: memory.source,
        status: memory.status,
        expires: memory.expires,
        supersedes: memory.supersedes,
        superseded_by: None,
        links: memory.links,
        metadata: memory.metadata,
        unknown: Vec::new(),
        content: memory.content,
        problems,
    }
}

/// The block between the `---` lines.
fn frontmatter(text: &str) -> &str {
    let rest = text.strip_prefix("---\n").unwrap();
    &rest[..rest.find("\n---\n").unwrap() + 1]
}

proptest! {
    #![proptest_config(random(2_000))]

    #[test]
    fn a_written_memory_reads_back_the_same(
        memory in new_memory(), handle in handle(), timestamp in timestamp(),
    ) {
        let stem = Stem::new(timestamp.utc(), handle);
        let text = format::render(&memory, &stem, &timestamp).unwrap();
        prop_assert_eq!(read(&stem, text.as_bytes()), expected(&memory, &stem, &timestamp));
    }

    #[test]
    fn a_yaml_reader_sees_the_same_strings_and_no_other_keys(
        memory in new_memory(), handle in handle(), timestamp in timestamp(),
    ) {
        let stem = Stem::new(timestamp.utc(), handle);
        let text = format::render(&memory, &stem, &timestamp).unwrap();
        let block: serde_yaml::Mapping = serde_yaml::from_str(frontmatter(&text)).unwrap();
        let string = |key: &str| block.get(key).and_then(|value| value.as_str()).map(str::to_owned);
        let strings = |key: &str| -> Vec<String> {
            let items = block.get(key).and_then(|value| value.as_sequence());
            let items = items.into_iter().flatten();
            items.map(|item| item.as_str().expect("a string").to_owned()).collect()
        };
        prop_assert_eq!(string("agent"), Some(memory.agent.clone()));
        prop_assert_eq!(string("user"), Some(memory.user.clone()));
        prop_assert_eq!(string("title"), memory.title.clone());
        prop_assert_eq!(string("namespace"), normalized(memory.namespace.as_deref()));
        prop_assert_eq!(string("source"), memory.source.clone());
        prop_assert_eq!(string("status"), memory.status.clone());
        prop_assert_eq!(string("kind"), memory.kind.map(|kind| kind.to_string()));
        prop_assert_eq!(strings("topics"), memory.topics.clone());
        prop_assert_eq!(strings("supersedes"), memory.supersedes.clone());
        let links: Vec<Link> = block
            .get("links")
            .and_then(|value| value.as_sequence())
            .into_iter()
            .flatten()
            .map(|link| Link {
                to: link["to"].as_str().expect("a string").to_owned(),
                relation: link["type"].as_str().expect("a string").to_owned(),
            })
            .collect();
        prop_assert_eq!(links, memory.links.clone());
        let keys: Vec<&str> = block.keys().map(|key| key.as_str().unwrap()).collect();
        prop_assert_eq!(keys, expected_keys(&memory));
    }

    #[test]
    fn control_characters_in_scalars_are_refused(
        before in scalar(), after in scalar(), which in 0..65_u32, field in 0..FIELDS.len(),
    ) {
        // C0, DEL, and C1: all that Unicode calls control characters.
        let control = char::from_u32(if which < 32 { which } else { which + 95 }).unwrap();
        let text = format!("{before}{control}{after}");
        let is_refusal = |error: &FormatError| {
            matches!(error, FormatError::ControlCharacter { code, .. } if *code == control as u32)
        };
        let (set_new, set_change) = FIELDS[field];
        let mut memory = plain_memory();
        set_new(&mut memory, &text);
        let timestamp = Timestamp::from_utc(noon());
        let stem = Stem::new(noon(), Handle::parse("1f3a9c02").unwrap());
        let refused = format::render(&memory, &stem, &timestamp);
        prop_assert!(refused.as_ref().is_err_and(is_refusal), "{:?}", refused);
        let mut change = Change::default();
        set_change(&mut change, &text);
        let sound = format::render(&plain_memory(), &stem, &timestamp).unwrap();
        let refused = format::edit(sound.as_bytes(), &change);
        prop_assert!(refused.as_ref().is_err_and(is_refusal), "{:?}", refused);
    }

    #[test]
    fn reading_never_fails_whatever_the_bytes_are(bytes in vec(any::<u8>(), 0..400)) {
        let stem = Stem::from_file_name("notes");
        let memory = read(&stem, &bytes);
        prop_assert_eq!(memory.stem, stem);
    }

    #[test]
    fn reading_and_changing_never_fail_on_a_file_that_was_damaged(
        memory in new_memory(), cuts in vec((any::<prop::sample::Index>(), damage()), 1..6),
    ) {
        let stem = Stem::new(noon(), Handle::parse("1f3a9c02").unwrap());
        let text = format::render(&memory, &stem, &Timestamp::from_utc(noon())).unwrap();
        let mut bytes = text.into_bytes();
        for (place, (remove, insert)) in cuts {
            let start = place.index(bytes.len() + 1);
            let end = (start + remove).min(bytes.len());
            bytes.splice(start..end, insert);
        }
        let read_back = read(&stem, &bytes);
        prop_assert_eq!(&read_back.stem, &stem);
        let change = Change { user: Some("somebody".to_owned()), ..Change::default() };
        if let Ok(edited) = format::edit(&bytes, &change) {
            prop_assert_eq!(read(&stem, &edited).user, "somebody");
        }
        prop_assert_eq!(format::edit(&bytes, &Change::default()).unwrap(), bytes);
    }
}

/// How many bytes go, and which come in their place.
fn damage() -> impl Strategy<Value = (usize, Vec<u8>)> {
    let bytes = prop_oneof![
        vec(any::<u8>(), 0..6),
        select(&PIECES[..]).prop_map(|piece| piece.as_bytes().to_vec()),
        select(vec![
            "\n", "\r\n", "\n---\n", "\n  - ", "\n  x: ", "[[[[", "\t"
        ])
        .prop_map(|piece| piece.as_bytes().to_vec()),
    ];
    (0..20_usize, bytes)
}

/// The keys that the frontmatter of `memory` must have, in their order.
fn expected_keys(memory: &NewMemory) -> Vec<&'static str> {
    let keys = [
        ("id", true),
        ("timestamp", true),
        ("agent", true),
        ("user", true),
        ("topics", true),
        ("title", memory.title.is_some()),
        ("kind", memory.kind.is_some()),
        ("namespace", memory.namespace.is_some()),
        ("scope", memory.scope.is_some()),
        ("tier", memory.tier.is_some()),
        ("importance", memory.importance.is_some()),
        ("confidence", memory.confidence.is_some()),
        ("source", memory.source.is_some()),
        ("status", memory.status.is_some()),
        ("expires", memory.expires.is_some()),
        ("supersedes", !memory.supersedes.is_empty()),
        ("links", !memory.links.is_empty()),
        ("metadata", !memory.metadata.is_empty()),
    ];
    keys.into_iter()
        .filter(|(_, is_set)| *is_set)
        .map(|(key, _)| key)
        .collect()
}

fn plain_memory() -> NewMemory {
    crate::support::new_memory("content\n")
}

/// How a text gets into one scalar field, of a new memory and by a change.
type Setter = (fn(&mut NewMemory, &str), fn(&mut Change, &str));

const FIELDS: [Setter; 10] = [
    (|m, t| m.agent = t.into(), |c, t| c.agent = Some(t.into())),
    (|m, t| m.user = t.into(), |c, t| c.user = Some(t.into())),
    (
        |m, t| m.topics = vec![t.into()],
        |c, t| c.topics = Some(vec![t.into()]),
    ),
    (
        |m, t| m.title = Some(t.into()),
        |c, t| c.title = Patch::Set(t.into()),
    ),
    (
        |m, t| m.namespace = Some(t.into()),
        |c, t| c.namespace = Patch::Set(t.into()),
    ),
    (
        |m, t| m.source = Some(t.into()),
        |c, t| c.source = Patch::Set(t.into()),
    ),
    (
        |m, t| m.status = Some(t.into()),
        |c, t| c.status = Patch::Set(t.into()),
    ),
    (
        |m, t| m.supersedes = vec![t.into()],
        |c, t| c.supersedes = Patch::Set(vec![t.into()]),
    ),
    (
        |m, t| m.links = vec![link_to(t)],
        |c, t| c.links = Patch::Set(vec![link_to(t)]),
    ),
    (
        |m, t| m.metadata = vec![(t.into(), MetaValue::Null)],
        |c, t| c.metadata = Patch::Set(vec![(t.into(), MetaValue::Null)]),
    ),
];

fn link_to(text: &str) -> Link {
    Link {
        to: text.to_owned(),
        relation: "related-to".to_owned(),
    }
}

/// One key with its lines, a comment or a blank line, in some file.
#[derive(Debug, Clone)]
struct Block {
    key: Option<&'static str>,
    lines: Vec<String>,
}

/// A file that somebody wrote by hand, in parts.
#[derive(Debug, Clone)]
struct Handmade {
    bom: bool,
    newline: &'static str,
    blocks: Vec<Block>,
    body: String,
}

impl Handmade {
    fn head(&self) -> String {
        let bom = if self.bom { "\u{feff}" } else { "" };
        format!("{bom}---{}", self.newline)
    }

    fn block(&self, block: &Block) -> String {
        block
            .lines
            .iter()
            .map(|line| format!("{line}{}", self.newline))
            .collect()
    }

    fn tail(&self) -> String {
        format!("---{}{}", self.newline, self.body)
    }

    fn text(&self) -> String {
        let blocks: String = self.blocks.iter().map(|block| self.block(block)).collect();
        format!("{}{blocks}{}", self.head(), self.tail())
    }
}

/// What people write after the colon of a key that takes one text.
fn handmade_scalar() -> impl Strategy<Value = String> {
    let word = "[a-zA-Z0-9éß日]{1,8}";
    prop_oneof![
        word.prop_map(|w| w),
        (word, word).prop_map(|(a, b)| format!("{a} {b}")),
        (word, word).prop_map(|(a, b)| format!("\"{a}: {b}\"")),
        (word, word).prop_map(|(a, b)| format!("'{a} # {b}'")),
        (word, word).prop_map(|(a, b)| format!("{a} # {b}")),
        (word, word).prop_map(|(a, b)| format!("\"{a}\"   # {b}")),
        Just(String::new()),
    ]
}

fn gap() -> impl Strategy<Value = &'static str> {
    select(vec![" ", " ", "  ", "\t", " \t "])
}

/// A key whose value stands on its own line.
fn scalar_block(key: &'static str) -> impl Strategy<Value = Block> {
    (gap(), handmade_scalar(), select(vec!["", "", " "])).prop_map(move |(gap, value, end)| Block {
        key: Some(key),
        lines: vec![format!("{key}:{gap}{value}{end}")],
    })
}

fn list_block(key: &'static str) -> impl Strategy<Value = Block> {
    const SPELLINGS: [&str; 9] = [
        ": [a, b]",
        ": [\"a\", \"b, c\"] # why",
        ": []",
        ":",
        ":\n  - a\n  - 'b # c'",
        ":\n- a\n- b # why",
        ":\n\n  - a\n\n  - b",
        ": [a,\n  b\n]",
        ": a, b",
    ];
    select(&SPELLINGS[..]).prop_map(move |spelling| Block {
        key: Some(key),
        lines: format!("{key}{spelling}")
            .split('\n')
            .map(str::to_owned)
            .collect(),
    })
}

/// Lines that the program does not know: keys with values of every kind, comments, blanks.
fn foreign_block() -> impl Strategy<Value = Block> {
    const FOREIGN: [&str; 13] = [
        "# a comment: with a colon",
        "  # an indented comment",
        "",
        "   ",
        "cssclasses: wide",
        "\"quoted key\": yes",
        "größe:   3 # cm",
        "aliases:\n  - one\n  - two",
        "plugin:\n  nested:\n    user: not the user\n    topics: [x]",
        "summary: |\n  user: nor this one\n\n  # and no comment\n  end",
        "folded: >-\n  a\n  b",
        "open: \"begins here\n  and: ends here\"",
        "list:\n- a\n- user: x",
    ];
    select(&FOREIGN[..]).prop_map(|text| Block {
        key: None,
        lines: text.split('\n').map(str::to_owned).collect(),
    })
}

fn known_blocks() -> impl Strategy<Value = Vec<Block>> {
    let texts = ["agent", "user", "title", "namespace", "source", "status"];
    let texts: Vec<_> = texts
        .iter()
        .map(|key| option::of(scalar_block(key)))
        .collect();
    let fixed = |key, line: &str| {
        let lines = line.split('\n').map(str::to_owned).collect();
        option::of(Just(Block {
            key: Some(key),
            lines,
        }))
    };
    (
        texts,
        option::of(list_block("topics")),
        option::of(list_block("supersedes")),
        fixed("kind", "kind: semantic # for now"),
        fixed("importance", "importance:  7"),
        fixed("expires", "expires: 2027-01-01 # new year"),
        fixed("metadata", "metadata:\n  project: atlas\n  runs: 3"),
        fixed("links", "links:\n  - {to: x, type: y}\n  - z"),
    )
        .prop_map(|(texts, a, b, c, d, e, f, g)| {
            texts
                .into_iter()
                .chain([a, b, c, d, e, f, g])
                .flatten()
                .collect()
        })
}

prop_compose! {
    fn handmade()(
        known in known_blocks(),
        foreign in vec(foreign_block(), 0..6),
    )(
        blocks in Just([known, foreign].concat()).prop_shuffle(),
        bom in any::<bool>(),
        newline in select(vec!["\n", "\r\n"]),
        body in select(vec!["", "\nbody\n", "no blank line", "\r\n\r\n---\nuser: body\n", "\n"]),
    ) -> Handmade {
        // An unindented list belongs to the key above, wherever it was meant to stand; a file
        // cannot begin with an indented line.
        Handmade { bom, newline, blocks, body: body.to_owned() }
    }
}

/// A change of one key, and what that key must then read as.
#[derive(Debug, Clone)]
struct OneKey {
    key: &'static str,
    change: Change,
    reads_back: Reading,
}

#[derive(Debug, Clone, PartialEq)]
enum Reading {
    Text(Option<String>),
    List(Vec<String>),
    Number(Option<u8>),
    Links(Vec<Link>),
    Metadata(Vec<(String, MetaValue)>),
}

impl OneKey {
    fn read(&self, memory: Memory) -> Reading {
        match self.key {
            "agent" => Reading::Text(Some(memory.agent)),
            "user" => Reading::Text(Some(memory.user)),
            "title" => Reading::Text(memory.title),
            "namespace" => Reading::Text(memory.namespace),
            "source" => Reading::Text(memory.source),
            "status" => Reading::Text(memory.status),
            "kind" => Reading::Text(memory.kind.map(|kind| kind.to_string())),
            "expires" => Reading::Text(memory.expires.map(|at| at.as_str().to_owned())),
            "importance" => Reading::Number(memory.importance),
            "topics" => Reading::List(memory.topics),
            "supersedes" => Reading::List(memory.supersedes),
            "links" => Reading::Links(memory.links),
            "metadata" => Reading::Metadata(memory.metadata),
            other => panic!("{other} is changed by no test"),
        }
    }
}

fn patch<T>(value: &Option<T>) -> Patch<T>
where
    T: Clone,
{
    value.clone().map_or(Patch::Clear, Patch::Set)
}

fn one_key() -> impl Strategy<Value = OneKey> {
    let required = (select(vec!["agent", "user"]), scalar()).prop_map(|(key, text)| {
        let mut change = Change::default();
        match key {
            "agent" => change.agent = Some(text.clone()),
            _ => change.user = Some(text.clone()),
        }
        let reads_back = Reading::Text(Some(text));
        OneKey {
            key,
            change,
            reads_back,
        }
    });
    let keys = select(vec!["title", "namespace", "source", "status"]);
    let optional = (keys, option::of(scalar())).prop_map(|(key, text)| {
        let mut change = Change::default();
        match key {
            "title" => change.title = patch(&text),
            "namespace" => change.namespace = patch(&text),
            "source" => change.source = patch(&text),
            _ => change.status = patch(&text),
        }
        let reads_back = match key {
            "namespace" => normalized(text.as_deref()),
            _ => text,
        };
        OneKey {
            key,
            change,
            reads_back: Reading::Text(reads_back),
        }
    });
    let topics = vec(scalar(), 0..4).prop_map(|topics| OneKey {
        key: "topics",
        change: Change {
            topics: Some(topics.clone()),
            ..Change::default()
        },
        reads_back: Reading::List(topics),
    });
    let supersedes = option::of(vec(scalar(), 1..3)).prop_map(|stems| OneKey {
        key: "supersedes",
        change: Change {
            supersedes: patch(&stems),
            ..Change::default()
        },
        reads_back: Reading::List(stems.unwrap_or_default()),
    });
    let kind = option::of(select(vec![Kind::Entity, Kind::Procedural])).prop_map(|kind| OneKey {
        key: "kind",
        change: Change {
            kind: patch(&kind),
            ..Change::default()
        },
        reads_back: Reading::Text(kind.map(|kind| kind.to_string())),
    });
    let importance = option::of(1..=10_u8).prop_map(|importance| OneKey {
        key: "importance",
        change: Change {
            importance: patch(&importance),
            ..Change::default()
        },
        reads_back: Reading::Number(importance),
    });
    let expires = option::of(timestamp()).prop_map(|expires| OneKey {
        key: "expires",
        change: Change {
            expires: patch(&expires),
            ..Change::default()
        },
        reads_back: Reading::Text(expires.map(|at| at.as_str().to_owned())),
    });
    let links = option::of(vec(link(), 1..3)).prop_map(|links| OneKey {
        key: "links",
        change: Change {
            links: patch(&links),
            ..Change::default()
        },
        reads_back: Reading::Links(links.unwrap_or_default()),
    });
    let metadata = option::of(vec((scalar(), meta_value()), 1..3)).prop_map(|metadata| {
        let metadata = metadata.map(distinct);
        OneKey {
            key: "metadata",
            change: Change {
                metadata: patch(&metadata),
                ..Change::default()
            },
            reads_back: Reading::Metadata(metadata.unwrap_or_default()),
        }
    });
    prop_oneof![
        3 => required, 3 => optional, 2 => topics, 1 => supersedes, 1 => kind, 1 => importance,
        1 => expires, 1 => links, 1 => metadata,
    ]
}

fn is_cleared(reading: &Reading, key: &str) -> bool {
    let is_empty = match reading {
        Reading::Text(text) => text.is_none(),
        Reading::Number(number) => number.is_none(),
        Reading::List(list) => list.is_empty(),
        Reading::Links(links) => links.is_empty(),
        Reading::Metadata(metadata) => metadata.is_empty(),
    };
    is_empty && key != "topics"
}

proptest! {
    #![proptest_config(random(10_000))]

    #[test]
    fn a_change_of_one_key_changes_the_lines_of_that_key_only(
        file in handmade(), one in one_key(),
    ) {
        let text = file.text();
        let edited = format::edit(text.as_bytes(), &one.change).unwrap();
        let edited = String::from_utf8(edited).unwrap();
        let stem = Stem::from_file_name("notes");
        prop_assert_eq!(&one.read(read(&stem, edited.as_bytes())), &one.reads_back, "{}", edited);

        let at = file.blocks.iter().position(|block| block.key == Some(one.key));
        let (before, after) = match at {
            Some(at) => file.blocks.split_at(at),
            None => (&file.blocks[..], &[][..]),
        };
        let join = |blocks: &[Block]| -> String { blocks.iter().map(|b| file.block(b)).collect() };
        if at.is_some() {
            let before = format!("{}{}", file.head(), join(before));
            let after = format!("{}{}", join(&after[1..]), file.tail());
            prop_assert!(edited.starts_with(&before), "{:?}\n{:?}", text, edited);
            prop_assert!(edited.ends_with(&after), "{:?}\n{:?}", text, edited);
            let middle = &edited[before.len()..edited.len() - after.len()];
            check_lines(middle, &file, &one)?;
        } else {
            // The new lines may stand anywhere between two others; without them it is the old text.
            let grown = edited.len() - text.len();
            let common = common_prefix(&text, &edited);
            let starts = (0..=common).rev().filter(|&at| {
                edited.is_char_boundary(at) && (at == 0 || edited[..at].ends_with('\n'))
            });
            let place = starts
                .filter(|&at| edited.is_char_boundary(at + grown))
                .find(|&at| edited[at + grown..] == text[at..]);
            prop_assert!(place.is_some(), "{:?}\n{:?}", text, edited);
            let place = place.unwrap();
            check_lines(&edited[place..place + grown], &file, &one)?;
        }
    }

    #[test]
    fn a_change_of_nothing_changes_nothing(file in handmade()) {
        let text = file.text();
        let edited = format::edit(text.as_bytes(), &Change::default()).unwrap();
        prop_assert_eq!(edited, text.into_bytes());
    }

    #[test]
    fn new_content_leaves_the_frontmatter_as_it_is(file in handmade(), content in content()) {
        let text = file.text();
        let change = Change { content: Some(content.clone()), ..Change::default() };
        let edited = format::edit(text.as_bytes(), &change).unwrap();
        let frontmatter = &text[..text.len() - file.body.len()];
        prop_assert!(edited.starts_with(frontmatter.as_bytes()));
        prop_assert_eq!(read(&Stem::from_file_name("notes"), &edited).content, content);
    }
}

fn common_prefix(one: &str, other: &str) -> usize {
    one.bytes()
        .zip(other.bytes())
        .take_while(|(a, b)| a == b)
        .count()
}

/// The lines of the changed key: none where it was cleared, one for each link, else one.
fn check_lines(lines: &str, file: &Handmade, one: &OneKey) -> Result<(), TestCaseError> {
    let count = match &one.reads_back {
        cleared if is_cleared(cleared, one.key) => 0,
        Reading::Links(links) => 1 + links.len(),
        _ => 1,
    };
    prop_assert_eq!(lines.matches(file.newline).count(), count, "{:?}", lines);
    prop_assert_eq!(lines.matches('\n').count(), count, "{:?}", lines);
    prop_assert!(
        count == 0 || lines.starts_with(&format!("{}:", one.key)),
        "{:?}",
        lines
    );
    prop_assert!(count == 0 || lines.ends_with(file.newline), "{:?}", lines);
    Ok(())
}

#[test]
fn a_comment_below_a_key_stays_when_the_key_changes() {
    check_new_user(
        "user: mira\n  # chosen by hand\ntopics: [a]\n",
        "user: tom\n  # chosen by hand\ntopics: [a]\n",
    );
    check_new_user("user: mira\n\t# a tab\n", "user: tom\n\t# a tab\n");
    check_new_user("user: |\n  # no comment\n# one\n", "user: tom\n# one\n");
}

#[track_caller]
fn check_new_user(frontmatter: &str, expected: &str) {
    let change = Change {
        user: Some("tom".to_owned()),
        ..Change::default()
    };
    let edited = format::edit(format!("---\n{frontmatter}---\n").as_bytes(), &change).unwrap();
    assert_eq!(
        String::from_utf8(edited).unwrap(),
        format!("---\n{expected}---\n")
    );
}

#[test]
fn an_alias_bomb_is_refused_and_costs_no_more_than_its_bytes() {
    // Nine to the tenth nodes, if a parser saw it.
    let mut bomb = String::from("\n  a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    for level in 1..10 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(",");
        bomb += &format!("  a{level}: &a{level} [{aliases}]\n");
    }
    check_refused("metadata", &bomb);
    check_refused("links", &bomb);
    check_refused("whatever", &bomb);
}

#[test]
fn deep_nesting_is_refused() {
    check_refused(
        "metadata",
        &format!(" {}{}\n", "[".repeat(8_000), "]".repeat(8_000)),
    );
    check_refused(
        "metadata",
        &format!(" {}1{}\n", "{a: ".repeat(4_000), "}".repeat(2_000)),
    );
    check_refused("whatever", &format!(" {}\n", "[".repeat(15_000)));
    check_refused("links", &format!("\n {}x\n", "- ".repeat(5_000)));
    let steps: String = (1..120).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
    check_refused("metadata", &format!("\n{steps}"));
}

#[test]
fn tags_merge_keys_and_second_documents_are_refused() {
    check_refused("metadata", " !!python/object:os.system {a: b}\n");
    check_refused("metadata", "\n  base: &b {x: 1}\n  more:\n    <<: *b\n");
    check_refused("links", "\n  - !!binary aGk=\n");
}

#[test]
fn a_frontmatter_of_a_megabyte_is_not_given_to_a_parser() {
    let many: String = (0..60_000)
        .map(|n| format!("  k{n}: {{a: [1, 2]}}\n"))
        .collect();
    check_refused("metadata", &format!("\n{many}"));
}

/// Reads a file with such a value: its other fields are there, the value is not, and why is said.
#[track_caller]
fn check_refused(key: &str, value: &str) {
    let text = format!(
        "---\nid: 1f3a9c02\ntimestamp: 2026-01-14T09:15:00Z\nagent: claude\nuser: mira\ntopics: [a]\n{key}:{value}---\n\nbody\n"
    );
    let stem = Stem::parse("20260114_091500_1f3a9c02").unwrap();
    let memory = read(&stem, text.as_bytes());
    assert_eq!(memory.user, "mira");
    assert_eq!(memory.content, "body\n");
    assert_eq!(memory.metadata, []);
    assert_eq!(memory.links, []);
    let is_refusal = |problem: &Problem| match problem {
        Problem::RefusedYaml(_) | Problem::FrontmatterTooLarge { .. } => true,
        Problem::Key { key: bad, what } => bad == key && !what.is_empty(),
        _ => false,
    };
    assert!(
        memory.problems.iter().any(is_refusal),
        "{:?}",
        memory.problems
    );
}

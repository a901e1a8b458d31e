//! Random memory files as people and programs write them, edit them and damage them.

use std::collections::BTreeSet;

/// The stem of the memory that all of them are.
pub const STEM: &str = "20260114_091500_1f3a9c02";

/// Random numbers that follow from a seed.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((x ^ (x >> 31)) % sides as u64).unwrap()
    }

    pub fn once_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.roll(words.len())]
    }

    /// A word that no other call returns.
    fn new_word(&mut self) -> String {
        let word = self.pick(&[
            "heron",
            "größe",
            "日本",
            "🦀 crab",
            "it's",
            "e\u{301}tude",
            "a: b",
        ]);
        format!("{word} {}", self.roll(1_000_000_000))
    }
}

/// A memory file as somebody writes it.
#[derive(Clone)]
pub struct Draft {
    mark: bool,
    newline: &'static str,
    keys: Vec<Key>,
    tail: Vec<String>,
    frame: bool,
    body: Vec<String>,
    is_ended: bool,
}

#[derive(Clone)]
struct Key {
    above: Vec<String>,
    name: String,
    value: Value,
}

#[derive(Clone)]
enum Value {
    /// What follows the colon, as it is written.
    Text(String),
    List(Vec<String>, Spelling),
    Links(Vec<String>, Spelling),
    Metadata(Vec<(String, String)>, Spelling),
}

#[derive(Clone, Copy)]
enum Spelling {
    Flow,
    Json,
    Block,
}

impl Draft {
    pub fn bytes(&self) -> Vec<u8> {
        let mut text = String::from("---\n");
        for key in &self.keys {
            text.extend(key.above.iter().map(|line| format!("{line}\n")));
            text.push_str(&format!("{}:{}\n", key.name, key.value.written()));
        }
        text.extend(self.tail.iter().map(|line| format!("{line}\n")));
        text.push_str(if self.frame { "---\n\n" } else { "---\n" });
        text.push_str(&self.body.join("\n"));
        if self.is_ended && !self.body.is_empty() {
            text.push('\n');
        }
        let mark = if self.mark { "\u{feff}" } else { "" };
        format!("{mark}{}", text.replace('\n', self.newline)).into_bytes()
    }
}

impl Value {
    fn written(&self) -> String {
        let block = |items: &[String]| -> String {
            let lines = items.iter().map(|item| format!("\n  - {item}"));
            lines.collect()
        };
        match self {
            Value::Text(text) => format!(" {text}"),
            Value::List(items, Spelling::Block) => block(items),
            Value::List(items, Spelling::Flow) => format!(" [{}]", items.join(", ")),
            Value::List(items, Spelling::Json) => format!(" [\"{}\"]", items.join("\", \"")),
            Value::Links(items, Spelling::Flow) => format!(" [{}]", items.join(", ")),
            Value::Links(items, _) => block(items),
            Value::Metadata(entries, Spelling::Block) => entries
                .iter()
                .map(|(key, value)| format!("\n  {key}: {value}"))
                .collect(),
            Value::Metadata(entries, _) => {
                let texts = entries.iter().map(|(k, v)| format!("\"{k}\": {v}"));
                format!(" {{{}}}", texts.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

fn spelling(dice: &mut Dice) -> Spelling {
    [Spelling::Flow, Spelling::Json, Spelling::Block][dice.roll(3)]
}

fn scalar(dice: &mut Dice) -> String {
    let number = dice.roll(1_000_000_000);
    match dice.roll(7) {
        0 => format!("\"quoted: {number}\""),
        1 => format!("'it''s {number}'"),
        2 => format!("plain größe {number} # c{number}"),
        3 => format!("|\n  # several {number}\n\n  lines"),
        4 => format!(">\n  folded {number}\n  lines"),
        _ => format!("plain {number}"),
    }
}

fn item(dice: &mut Dice) -> String {
    match dice.roll(3) {
        0 => dice.pick(&["rust", "git", "größe"]).to_owned(),
        _ => format!("w{}", dice.roll(1_000_000_000)),
    }
}

fn link(dice: &mut Dice) -> String {
    let number = dice.roll(1_000_000_000);
    match dice.roll(3) {
        0 => format!("s{number}"),
        1 => format!("{{type: x, to: s{number}}}"),
        _ => format!("{{to: s{number}, type: related-to}}"),
    }
}

fn moment(dice: &mut Dice) -> String {
    let day = 1 + dice.roll(28);
    match dice.roll(3) {
        0 => format!("2027-03-{day:02}"),
        1 => format!("2027-03-{day:02}T10:00:00+02:00"),
        _ => format!("2027-03-{day:02}T10:00:00Z"),
    }
}

fn entry(dice: &mut Dice) -> (String, String) {
    let number = dice.roll(1_000_000_000);
    let key = dice.pick(&["ticket", "source_id", "deep", "n", "größe"]);
    let value = match dice.roll(3) {
        0 => format!("\"see #{number}\""),
        1 => format!("{{\"x\": {number}}}"),
        _ => number.to_string(),
    };
    (key.to_owned(), value)
}

fn value(dice: &mut Dice, name: &str) -> Value {
    let count = 1 + dice.roll(3);
    match name {
        "topics" | "supersedes" | "aliases" => {
            let items: BTreeSet<String> = (0..count).map(|_| item(dice)).collect();
            Value::List(items.into_iter().collect(), spelling(dice))
        }
        "links" => Value::Links((0..count).map(|_| link(dice)).collect(), spelling(dice)),
        "metadata" => Value::Metadata(vec![entry(dice)], spelling(dice)),
        "importance" => Value::Text((1 + dice.roll(10)).to_string()),
        "confidence" => Value::Text(format!("0.{}", 1 + dice.roll(9))),
        "expires" | "updated" => Value::Text(moment(dice)),
        "kind" => Value::Text(dice.pick(&["episodic", "semantic", "Entity"]).to_owned()),
        "agent" | "user" => Value::Text(format!("{} # x", dice.new_word())),
        _ => Value::Text(scalar(dice)),
    }
}

const OPTIONAL: [&str; 17] = [
    "title",
    "kind",
    "namespace",
    "importance",
    "confidence",
    "source",
    "status",
    "expires",
    "supersedes",
    "superseded_by",
    "links",
    "metadata",
    "aliases",
    "updated",
    "reviewed",
    "x-notes",
    "project",
];

/// A random memory.
pub fn base(dice: &mut Dice) -> Draft {
    let key = |name: &str, text: &str| Key {
        above: Vec::new(),
        name: name.to_owned(),
        value: Value::Text(text.to_owned()),
    };
    let mut keys = vec![
        key("id", &STEM[16..]),
        key("timestamp", "2026-01-14T09:15:00.5+00:00"),
        key("agent", "claude"),
        key("user", "mira: # dev"),
    ];
    for name in ["topics"].iter().chain(&OPTIONAL) {
        if *name == "topics" || dice.once_in(3) {
            keys.push(Key {
                above: comment(dice, 6),
                name: (*name).to_owned(),
                value: value(dice, name),
            });
        }
    }
    if dice.once_in(4) {
        let len = keys.len();
        keys.swap(dice.roll(len), len - 1);
    }
    Draft {
        mark: dice.once_in(10),
        newline: if dice.once_in(5) { "\r\n" } else { "\n" },
        keys,
        tail: comment(dice, 6),
        frame: !dice.once_in(10),
        body: (0..dice.roll(12)).map(|_| line(dice)).collect(),
        is_ended: !dice.once_in(5),
    }
}

fn comment(dice: &mut Dice, chance: usize) -> Vec<String> {
    let number = dice.roll(1_000_000_000);
    if dice.once_in(chance) {
        vec![format!("# note {number}"), String::new()]
    } else {
        Vec::new()
    }
}

fn line(dice: &mut Dice) -> String {
    match dice.roll(5) {
        0 => dice
            .pick(&["", "- same", "---", "=======", "# Log", "  x"])
            .to_owned(),
        _ => format!("- {}", dice.new_word()),
    }
}

/// What one side made of a text.
pub fn edited(dice: &mut Dice, base: &Draft) -> Draft {
    let mut draft = base.clone();
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(draft.body.len() + 1);
        match dice.roll(12) {
            0 | 1 => draft.body.push(line(dice)),
            2 => draft.body.insert(at, line(dice)),
            3 if at < draft.body.len() => drop(draft.body.remove(at)),
            4 if at < draft.body.len() => draft.body[at] = line(dice),
            5 => {
                if dice.once_in(3) {
                    draft.newline = if draft.newline == "\n" { "\r\n" } else { "\n" };
                }
                draft.is_ended ^= dice.once_in(2);
                draft.mark ^= dice.once_in(3);
                draft.frame ^= dice.once_in(3);
            }
            6 => {
                let at = dice.roll(draft.keys.len());
                let lines = comment(dice, 1);
                draft.keys[at].above.extend(lines);
                if dice.once_in(3) {
                    draft.tail.clear();
                }
            }
            7 if draft.keys.len() > 5 => {
                let at = 4 + dice.roll(draft.keys.len() - 4);
                draft.keys.remove(at);
            }
            8 => {
                let name = dice.pick(&OPTIONAL);
                if draft.keys.iter().all(|key| key.name != name) {
                    let value = value(dice, name);
                    draft.keys.push(Key {
                        above: comment(dice, 4),
                        name: name.to_owned(),
                        value,
                    });
                }
            }
            _ => {
                // The four raw keys change rarely.
                let first = if dice.once_in(10) { 0 } else { 4 };
                let count = draft.keys.len() - first;
                if count > 0 {
                    let at = first + dice.roll(count);
                    change(dice, &mut draft.keys[at]);
                }
            }
        }
    }
    draft
}

fn change(dice: &mut Dice, key: &mut Key) {
    let new_value = value(dice, &key.name);
    match (&mut key.value, new_value) {
        (Value::List(items, spelling), Value::List(new, new_spelling)) => {
            if dice.once_in(2) {
                items.remove(dice.roll(items.len()));
            }
            items.extend(new);
            items.sort();
            items.dedup();
            if dice.once_in(3) {
                *spelling = new_spelling;
            }
        }
        (Value::Links(items, spelling), Value::Links(new, new_spelling)) => {
            items.extend(new);
            if dice.once_in(3) {
                *spelling = new_spelling;
            }
        }
        (Value::Metadata(entries, spelling), Value::Metadata(new, new_spelling)) => {
            entries.retain(|(known, _)| new.iter().all(|(key, _)| key != known));
            entries.extend(new);
            if dice.once_in(3) {
                *spelling = new_spelling;
            }
        }
        (value, new) => *value = new,
    }
}

/// What crashes, merges that nobody finished, and editors do to a file now and then.
pub fn damaged(dice: &mut Dice, mut bytes: Vec<u8>) -> Vec<u8> {
    let at = dice.roll(bytes.len() + 1);
    let line_start = bytes[..at]
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |at| at + 1);
    let mut insert = |at: usize, text: &[u8]| {
        bytes.splice(at..at, text.iter().copied());
    };
    match dice.roll(30) {
        0 => bytes.truncate(at),
        1 => insert(at, b"\xff"),
        2 => insert(at, b"\0"),
        3 => insert(
            line_start,
            b"<<<<<<< HEAD\nx: 1\n=======\nx: 2\n>>>>>>> other\n",
        ),
        4 => insert(line_start, b"<<<<<<< HEAD\n"),
        5 => insert(line_start, b">>>>>>> other\n"),
        6 => insert(line_start, b"no key\n"),
        7 => insert(line_start, b"title: again\n"),
        8 => insert(line_start, b"x-notes: &a [*a]\n"),
        9 => insert(line_start, b"---\n"),
        _ => {}
    }
    bytes
}

//! Facts: every value of a memory that a filter can match, as a key and a lower-case text.
//!
//! All kinds of index share this definition, so that the same memories pass.

use std::collections::{HashMap, HashSet};

use crate::model::{MENTIONED, Memory, MetaValue, Problem, Stem, plain_id, stripped_id};
use crate::ranking::Calling;
use crate::words::composed;

/// The fact that marks files with problems.
pub(super) const PROBLEM: &str = "problem";

/// Maximum length of a value; longer ones are compared by their beginnings.
const MAX_VALUE_BYTES: usize = 1_000;

/// Returns a fact as one text: `key`, NUL, value.
pub(super) fn fact(key: &str, value: &str) -> String {
    format!("{key}\0{}", comparable(value))
}

/// Returns a value as it is compared: lower case, composed, truncated.
pub(super) fn comparable(value: &str) -> String {
    let value = composed(value);
    let mut end = value.len().min(MAX_VALUE_BYTES);
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    value[..end].to_lowercase()
}

/// Returns the value of the `id` fact of a memory called `id`: its handle, or a stem of another form.
pub(super) fn id_value(id: &str) -> &str {
    match Stem::parse(id) {
        Some(_) => &id[16..],
        None => id,
    }
}

/// Returns whether the file `name`, which has the [`id_value`] of `id`, ends with all of `id`.
pub(super) fn is_called(name: &str, id: &str) -> bool {
    let name = name.to_lowercase();
    name.strip_suffix(".md").unwrap_or(&name).ends_with(id)
}

/// Returns the members of rings among `newer`, the memory that each names in `superseded_by`: two machines can each have
/// decided for another one. In a ring, none is newer than the others; only a memory outside of it hides one.
pub(super) fn rings(newer: &HashMap<u32, u32>) -> HashSet<u32> {
    let mut members = HashSet::new();
    // From where each was reached first.
    let mut reached: HashMap<u32, u32> = HashMap::new();
    for &start in newer.keys() {
        let mut at = start;
        while let Some(&next) = newer.get(&at) {
            match reached.get(&at) {
                None => drop(reached.insert(at, start)),
                Some(&from) if from == start && members.insert(at) => {}
                Some(_) => break,
            }
            at = next;
        }
    }
    members
}

/// Returns the stem in a file's name below the memory directory.
pub(super) fn stem_in(name: &str) -> &str {
    let slash = memchr::memrchr(b'/', name.as_bytes());
    let file = slash.map_or(name, |slash| &name[slash + 1..]);
    file.strip_suffix(".md").unwrap_or(file)
}

/// Key of the namespaces above a memory's own: `a` and `a/b` for `a/b/c`.
pub(super) const ABOVE: &str = "namespace/";

/// Returns the fact that a memory calls somebody `name`, a word in lower case. No filter asks for it.
pub(super) fn calling(calling: Calling, name: &str) -> String {
    match calling {
        Calling::Addressee => fact("calls/reader", name),
        Calling::Author => fact("calls/author", name),
    }
}

/// Calls `each` with every key and value that a filter can match.
pub(super) fn each_fact(memory: &Memory, mut each: impl FnMut(&str, &str)) {
    each("id", memory.stem.short());
    each("agent", &memory.agent);
    each("user", &memory.user);
    memory.topics.iter().for_each(|topic| each("topics", topic));
    each_namespace(memory.namespace_or_global(), &mut each);
    let optional = [
        ("title", memory.title.as_deref()),
        ("kind", memory.kind.map(|kind| kind.as_str())),
        ("scope", Some(memory.scope_or_usual().as_str())),
        ("tier", memory.tier.map(|tier| tier.as_str())),
        ("source", memory.source.as_deref()),
        ("status", memory.status.as_deref()),
        ("expires", memory.expires.as_ref().map(|at| at.as_str())),
    ];
    for (key, value) in optional {
        value.iter().for_each(|value| each(key, value));
    }
    memory
        .importance
        .iter()
        .for_each(|n| each("importance", &n.to_string()));
    memory
        .confidence
        .iter()
        .for_each(|n| each("confidence", &n.to_string()));
    let older = memory.supersedes.iter();
    let newer = memory.superseded_by.iter();
    older.for_each(|stem| each_stem("supersedes", stem, &mut each));
    newer.for_each(|stem| each_stem("superseded_by", stem, &mut each));
    for link in &memory.links {
        each_name("links", &link.to, &mut each);
        each("links.type", &link.relation);
    }
    for name in crate::model::mentioned(&memory.content) {
        each_name(MENTIONED, name, &mut each);
    }
    memory.metadata.iter().for_each(|(key, value)| {
        each_meta(&format!("metadata.{key}"), value, &mut each);
    });
    memory
        .unknown
        .iter()
        .for_each(|(key, text)| each(key, text));
    memory
        .problems
        .iter()
        .map(Problem::code)
        .for_each(|code| each(PROBLEM, code));
}

/// Calls `each` with the facts of a namespace: itself, and those above it.
pub(super) fn each_namespace(namespace: &str, each: &mut impl FnMut(&str, &str)) {
    each("namespace", namespace);
    for (end, _) in namespace.match_indices('/') {
        each(ABOVE, &namespace[..end]);
    }
}

/// Calls `each` with a stem as it is written, and without the brackets of a link and the ending of a file.
fn each_stem(key: &str, stem: &str, each: &mut impl FnMut(&str, &str)) {
    each(key, stem);
    let plain = stripped_id(stem);
    if plain != stem {
        each(key, plain);
    }
}

/// Calls `each` with a name as it is written, and with its plain id if that is another.
fn each_name(key: &str, name: &str, each: &mut impl FnMut(&str, &str)) {
    each(key, name);
    let plain = plain_id(name);
    let plain = plain.rsplit('/').next().unwrap_or(&plain);
    if plain != name {
        each(key, plain);
    }
}

fn each_meta(key: &str, value: &MetaValue, each: &mut impl FnMut(&str, &str)) {
    match value {
        MetaValue::Null => each(key, "null"),
        MetaValue::Bool(value) => each(key, if *value { "true" } else { "false" }),
        MetaValue::Int(int) => each(key, &int.to_string()),
        MetaValue::Float(float) => each(key, &float.to_string()),
        MetaValue::Text(text) => each(key, text),
        MetaValue::List(items) => items.iter().for_each(|item| each_meta(key, item, each)),
        MetaValue::Map(entries) => entries
            .iter()
            .for_each(|(inner, value)| each_meta(&format!("{key}.{inner}"), value, each)),
    }
}

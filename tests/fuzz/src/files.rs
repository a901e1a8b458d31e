//! Bytes of memory files, and of what others export.

use std::fmt;
use std::path::Path;

use arbitrary::Arbitrary;
use memdir::format;
use memdir::import::Defaults;
use memdir::model::{Change, Memory, NewMemory, Patch, Problem, Stem, Timestamp};

const STEM: &str = "20260114_091500_1f3a9c02";

fn read(bytes: &[u8]) -> Memory {
    let stem = Stem::from_file_name(STEM);
    format::parse(&stem, bytes, chrono::DateTime::UNIX_EPOCH)
}

/// Which key is changed.
#[derive(Debug, Clone, Copy, Arbitrary)]
enum Key {
    Agent,
    User,
    Topics,
    Title,
    Namespace,
    Source,
    Status,
    Supersedes,
    SupersededBy,
    Content,
}

/// A file and a change of one of its keys, to texts or to nothing.
#[derive(Debug, Arbitrary)]
pub struct FrontmatterEdit<'a> {
    key: Key,
    value: Option<Vec<&'a str>>,
    file: &'a [u8],
}

/// A change of one key reads back, changes no other key and not the content, and made again
/// changes nothing; clearing it removes it.
pub fn frontmatter_edit(input: FrontmatterEdit<'_>) {
    let FrontmatterEdit { key, value, file } = input;
    let Some(change) = change(key, value) else {
        return;
    };
    let Ok(edited) = format::edit(file, &change) else {
        return;
    };
    let again = format::edit(&edited, &change).expect("what was written can be written again");
    assert_eq!(shown(&again), shown(&edited));
    let (old, new) = (read(file), read(&edited));
    // Between conflict markers a key has two sides, of which the first one changes.
    if old.problems.contains(&Problem::ConflictMarkers) {
        return;
    }
    let mut expected = old.clone();
    expected.problems.clone_from(&new.problems);
    let twice = |memory: &Memory, key: &str| {
        let doubled = Problem::DuplicateKey(key.to_owned());
        memory.problems.contains(&doubled)
    };
    let text = |patch: Patch<String>| match patch {
        Patch::Set(text) => Some(text),
        _ => None,
    };
    match key {
        Key::Agent => expected.agent = change.agent.unwrap_or_default(),
        Key::User => expected.user = change.user.unwrap_or_default(),
        Key::Topics => expected.topics = change.topics.unwrap_or_default(),
        // Of a key that stands twice the second counts when the first is gone.
        Key::Title if twice(&old, "title") => return,
        Key::Namespace if twice(&old, "namespace") => return,
        Key::Source if twice(&old, "source") => return,
        Key::Status if twice(&old, "status") => return,
        Key::Supersedes if twice(&old, "supersedes") => return,
        Key::SupersededBy if twice(&old, "superseded_by") => return,
        Key::Title => expected.title = text(change.title),
        Key::Namespace => expected.namespace = text(change.namespace),
        Key::Source => expected.source = text(change.source),
        Key::Status => expected.status = text(change.status),
        Key::SupersededBy => expected.superseded_by = text(change.superseded_by),
        Key::Supersedes => {
            expected.supersedes = match change.supersedes {
                Patch::Set(stems) => stems,
                _ => Vec::new(),
            }
        }
        Key::Content => expected.content = change.content.unwrap_or_default(),
    }
    assert_eq!(new, expected, "{}", shown(&edited));
}

fn change(key: Key, value: Option<Vec<&str>>) -> Option<Change> {
    let texts: Option<Vec<String>> =
        value.map(|texts| texts.into_iter().map(str::to_owned).collect());
    let first = texts.as_ref().map(|texts| texts.concat());
    let patch = |value: Option<String>| value.map_or(Patch::Clear, Patch::Set);
    let mut change = Change::default();
    match key {
        Key::Agent => change.agent = Some(first?),
        Key::User => change.user = Some(first?),
        Key::Topics => change.topics = Some(texts?),
        Key::Title => change.title = patch(first),
        Key::Namespace => change.namespace = patch(first),
        Key::Source => change.source = patch(first),
        Key::Status => change.status = patch(first),
        Key::Supersedes => change.supersedes = texts.map_or(Patch::Clear, Patch::Set),
        Key::SupersededBy => change.superseded_by = patch(first),
        Key::Content => change.content = Some(first?),
    }
    Some(change)
}

/// The bytes of a memory file.
#[derive(Arbitrary)]
pub struct File<'a>(&'a [u8]);

impl fmt::Debug for File<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(self.0))
    }
}

/// Reading never fails; what was read is written, unless it breaks a limit, and then reads the
/// same.
pub fn file(input: File<'_>) {
    let memory = read(input.0);
    if let Ok(text) = std::str::from_utf8(input.0) {
        assert!(text.ends_with(&memory.content));
    }
    for problem in &memory.problems {
        assert!(!problem.to_string().is_empty() && !problem.code().is_empty());
    }
    let new = new_memory(&memory);
    let stem = Stem::from_file_name(STEM);
    let Ok(text) = format::render(&new, &stem, &memory.timestamp) else {
        return;
    };
    let again = read(text.as_bytes());
    assert_eq!(new_memory(&again), new, "{text}");
    assert_eq!(again.timestamp, memory.timestamp);
    // The same time with the same handle may be far from the name, and nothing else be wrong.
    let wrong =
        |problem: &Problem| !matches!(problem, Problem::Key { key, .. } if key == "timestamp");
    let markers = |problem: &Problem| matches!(problem, Problem::ConflictMarkers | Problem::HasNul);
    assert!(
        again
            .problems
            .iter()
            .all(|problem| !wrong(problem) || markers(problem)),
        "{:?}",
        again.problems
    );
}

fn new_memory(memory: &Memory) -> NewMemory {
    let memory = memory.clone();
    NewMemory {
        timestamp: None,
        handle: None,
        agent: memory.agent,
        user: memory.user,
        topics: memory.topics,
        title: memory.title,
        kind: memory.kind,
        namespace: memory.namespace,
        scope: memory.scope,
        tier: memory.tier,
        importance: memory.importance,
        confidence: memory.confidence,
        source: memory.source,
        status: memory.status,
        expires: memory.expires,
        supersedes: memory.supersedes,
        superseded_by: memory.superseded_by,
        links: memory.links,
        metadata: memory.metadata,
        content: memory.content,
    }
}

/// A file or folder of another program.
#[derive(Debug, Arbitrary)]
pub struct Import<'a> {
    kind: ImportKind,
    bytes: &'a [u8],
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum ImportKind {
    Aiaml,
    Jsonl,
    Markdown,
}

/// Importing never fails as a whole, and what it brings can be written or is refused with a word.
pub fn import(input: Import<'_>) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.expect("a folder can be made");
    let write = |name: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, input.bytes).expect("a file can be written");
        path
    };
    let defaults = Defaults {
        agent: "agent".to_owned(),
        user: "user".to_owned(),
        namespace: None,
    };
    let memories = match input.kind {
        ImportKind::Aiaml => {
            write("20260114_091500_1f3a9c02.md");
            memdir::import::aiaml(folder.path(), &defaults)
        }
        ImportKind::Jsonl => memdir::import::jsonl(&write("lines.jsonl"), &defaults),
        ImportKind::Markdown => {
            write("A note.md");
            memdir::import::markdown(Path::new(folder.path()), &defaults)
        }
    };
    let Ok(memories) = memories else { return };
    let stem = Stem::from_file_name(STEM);
    for memory in memories {
        match memory {
            Ok(foreign) => {
                let at = foreign.memory.timestamp.clone();
                let at = at.unwrap_or_else(|| Timestamp::from_utc(chrono::DateTime::UNIX_EPOCH));
                if let Ok(text) = format::render(&foreign.memory, &stem, &at) {
                    assert_eq!(read(text.as_bytes()).content, foreign.memory.content);
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn shown(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

//! The folder of the AIAML program, and every other folder of memory files → memories.
//!
//! `format` reads the files in every spelling; this module finds them and converts the parts that a new
//! memory has no field for. Other files of that program (`backups`, `temp`, `locks`, temporary and hidden
//! files) are skipped, and no link is followed.

use std::fs;
use std::path::{Path, PathBuf};

use super::draft::Draft;
use super::source_file::{SourceFile, io_error, unreadable};
use super::{Defaults, Foreign, ForeignMemories, ImportError};
use crate::format;
use crate::format::FileNameKind;
use crate::model::{Handle, Memory, MetaValue, NewMemory, Problem, Stem};

/// Reads the memories of the folder at `path`, of `files` in it if there is one, or of the one file
/// there, by file name.
///
/// # Errors
///
/// Fails if there is nothing at `path`, or it cannot be listed.
pub fn aiaml(path: &Path, defaults: &Defaults) -> Result<ForeignMemories, ImportError> {
    let files = memory_files(path)?;
    let defaults = defaults.clone();
    Ok(Box::new(files.into_iter().map(move |path| {
        let file = SourceFile::read(&path)?;
        foreign(&path, &read(&path, &file), &defaults)
    })))
}

fn memory_files(path: &Path) -> Result<Vec<PathBuf>, ImportError> {
    let metadata = fs::metadata(path).map_err(|source| io_error(path, source))?;
    if metadata.is_file() && metadata.len() == 0 {
        return Err(unreadable(path, "it is empty".to_owned()));
    }
    if !metadata.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    let base = folder(path)?;
    let is_of_files = base != path;
    let mut folders = vec![base.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|source| io_error(&folder, source))? {
            let entry = entry.map_err(|source| io_error(&folder, source))?;
            let (name, kind) = (entry.file_name(), entry.file_type());
            let name = name.to_string_lossy();
            let is_memory = || format::classify(&name) != FileNameKind::Ignored;
            let is_aside = || !is_of_files && folder == base && is_aside(&name);
            match kind {
                Ok(kind) if kind.is_file() && is_memory() => files.push(entry.path()),
                Ok(kind) if kind.is_dir() && !name.starts_with('.') && !is_aside() => {
                    folders.push(entry.path());
                }
                _ => {}
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Whether a folder beside memories holds none that are live: those of AIAML, and those of a store.
fn is_aside(name: &str) -> bool {
    ["archive", "backups", "journal", "locks", "temp"].contains(&name)
}

/// Returns `files` below the base directory, or the folder itself if there is none.
fn folder(path: &Path) -> Result<PathBuf, ImportError> {
    let files = path.join("files");
    match fs::symlink_metadata(&files) {
        Ok(metadata) if metadata.is_dir() => Ok(files),
        Ok(metadata) if metadata.is_symlink() => Err(unreadable(
            &files,
            "it is a symbolic link, which is not followed. Name the folder it points to."
                .to_owned(),
        )),
        _ => Ok(path.to_owned()),
    }
}

/// Reads `file` as a memory file that lies at `path`.
pub(super) fn read(path: &Path, file: &SourceFile) -> Memory {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    format::parse(&Stem::from_file_name(&stem), &file.bytes, file.modified)
}

/// Converts a memory as read to one to be written.
///
/// A canonical name gives the new memory the same name, so it needs no `source_id`; any other is
/// kept as one.
///
/// # Errors
///
/// Fails if the file has no frontmatter, or one that does not end.
pub(super) fn foreign(
    path: &Path,
    memory: &Memory,
    defaults: &Defaults,
) -> Result<Foreign, ImportError> {
    let mut draft = Draft::new(path.display().to_string());
    for problem in &memory.problems {
        match problem {
            Problem::Empty | Problem::NoFrontmatter | Problem::FrontmatterNotClosed => {
                return Err(draft.error(format!("{problem}. {}", problem.hint())));
            }
            Problem::MissingKey(_) | Problem::ForeignName | Problem::ConflictCopyOf(_) => {}
            other => draft.note(other.to_string()),
        }
    }
    let is_canonical = memory.stem.is_canonical();
    draft.called((!is_canonical).then(|| memory.stem.as_str().to_owned()));
    draft.foreign.memory = NewMemory {
        timestamp: Some(memory.timestamp.clone()),
        handle: handle(memory),
        agent: memory.agent.clone(),
        user: memory.user.clone(),
        topics: memory.topics.clone(),
        title: memory.title.clone(),
        kind: memory.kind,
        namespace: memory.namespace.clone().or(defaults.namespace.clone()),
        scope: memory.scope,
        tier: memory.tier,
        importance: memory.importance,
        confidence: memory.confidence,
        source: memory.source.clone(),
        status: memory.status.clone(),
        expires: memory.expires.clone(),
        supersedes: memory.supersedes.clone(),
        superseded_by: memory.superseded_by.clone(),
        links: memory.links.clone(),
        metadata: memory.metadata.clone(),
        content: memory.content.clone(),
    };
    if !is_canonical && memory.id != memory.stem.as_str() && Handle::parse(&memory.id).is_none() {
        draft.keep("id", MetaValue::Text(memory.id.clone()));
    }
    for (key, text) in &memory.unknown {
        draft.keep(key, MetaValue::of_unknown(text));
    }
    draft.finish(defaults)
}

/// Returns the handle to keep; `None` of a conflict copy, which has the handle of its original and would
/// be taken for that memory.
fn handle(memory: &Memory) -> Option<Handle> {
    let is_copy = memory
        .problems
        .iter()
        .any(|problem| matches!(problem, Problem::ConflictCopyOf(_)));
    memory
        .stem
        .handle()
        .or_else(|| Handle::parse(&memory.id))
        .filter(|_| !is_copy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::draft::IMPORT_NOTE;

    fn defaults() -> Defaults {
        Defaults {
            agent: "importer".to_owned(),
            user: "me".to_owned(),
            namespace: Some("old".to_owned()),
        }
    }

    fn fixture(path: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("fixtures")
            .join(path)
    }

    #[test]
    fn the_fixture_is_read_as_expected() {
        let json = fs::read_to_string(fixture("aiaml/expected.json")).unwrap();
        let expected: serde_json::Value = serde_json::from_str(&json).unwrap();
        for path in ["aiaml", "aiaml/files"] {
            let found: serde_json::Value = aiaml(&fixture(path), &defaults())
                .unwrap()
                .map(|foreign| summary(&foreign.unwrap()))
                .collect();
            assert_eq!(found, expected);
        }
    }

    fn summary(foreign: &Foreign) -> serde_json::Value {
        let memory = &foreign.memory;
        assert_eq!(foreign.source_id, None);
        assert_eq!(memory.namespace.as_deref(), Some("old"));
        assert_eq!(memory.metadata, []);
        serde_json::json!({
            "file": Path::new(&foreign.source).file_name().unwrap().to_string_lossy(),
            "id": memory.handle.unwrap().as_str(),
            "timestamp": memory.timestamp.as_ref().unwrap().as_str(),
            "agent": memory.agent,
            "user": memory.user,
            "topics": memory.topics,
            "content": memory.content,
        })
    }

    #[test]
    fn keys_the_program_does_not_know_become_metadata() {
        let foreign = one("obsidian/files/20260406_081200_0badcafe.md");
        let keys: Vec<&str> = foreign
            .memory
            .metadata
            .iter()
            .map(|(key, _)| key.as_str())
            .collect();
        assert_eq!(keys, ["priority", "plugin", "summary"]);
        assert_eq!(foreign.memory.importance, Some(4));
    }

    #[track_caller]
    fn one(path: &str) -> Foreign {
        let mut memories = aiaml(&fixture(path), &defaults()).unwrap();
        let first = memories.next().unwrap().unwrap();
        assert!(memories.next().is_none());
        first
    }

    #[test]
    fn damage_is_named_and_hides_nothing() {
        let all: Vec<_> = aiaml(&fixture("damage"), &defaults()).unwrap().collect();
        let refused: Vec<String> = all
            .iter()
            .filter_map(|item| item.as_ref().err())
            .map(|error| error.source_name().replace('\\', "/"))
            .map(|name| name[name.len() - 11..].to_owned())
            .collect();
        assert_eq!(
            refused,
            [
                "dead0003.md",
                "dead0004.md",
                "dead0005.md",
                "dead0006.md",
                "dead0051.md",
                "es/notes.md"
            ]
        );
        let words: Vec<String> = all
            .iter()
            .flatten()
            .flat_map(|foreign| foreign.memory.content.split_whitespace())
            .filter(|word| word.starts_with("dmg"))
            .map(str::to_owned)
            .collect();
        assert_eq!(words.len(), 39, "{words:?}");
    }

    #[test]
    fn fields_that_are_missing_come_from_name_and_defaults() {
        let memory = check_file(
            "20260302_081500_3fa85f64.md",
            "---\nid: 3fa85f64\n---\n\n text \n",
        )
        .memory;
        let at = memory.timestamp.unwrap().utc().to_rfc3339();
        assert_eq!(at, "2026-03-02T08:15:00+00:00");
        assert_eq!(
            (memory.agent.as_str(), memory.user.as_str()),
            ("importer", "me")
        );
        assert_eq!(memory.content, " text \n");
    }

    #[test]
    fn a_foreign_name_is_kept_as_source_id() {
        let foreign = check_file("plan.md", "---\nid: 3fa85f64\nsource_id: x\n---\nt");
        assert_eq!(foreign.source_id.as_deref(), Some("plan"));
        assert_eq!(foreign.memory.handle, Handle::parse("3fa85f64"));
        let kept = (
            "earlier_source_id".to_owned(),
            MetaValue::Text("x".to_owned()),
        );
        assert_eq!(foreign.memory.metadata, [kept]);

        let foreign = check_file("plan.md", "---\nid: note-7\n---\nt");
        assert_eq!(foreign.memory.handle, None);
        let kept = ("id".to_owned(), MetaValue::Text("note-7".to_owned()));
        assert_eq!(foreign.memory.metadata, [kept]);
    }

    #[test]
    fn a_conflict_copy_does_not_claim_the_handle_of_its_original() {
        let foreign = check_file(
            "20260302_081500_3fa85f64 (conflicted copy).md",
            "---\nid: 3fa85f64\ntimestamp: 2026-03-02T08:15:00Z\n---\nother text",
        );
        assert_eq!(foreign.memory.handle, None);
        assert!(foreign.source_id.is_some());
    }

    #[test]
    fn a_bad_value_is_named_in_the_note() {
        let foreign = check_file("20260302_081500_3fa85f64.md", "---\nimportance: 50\n---\nt");
        let (key, note) = &foreign.memory.metadata[0];
        assert_eq!(key, IMPORT_NOTE);
        assert!(format!("{note:?}").contains("`50`"), "{note:?}");
    }

    #[track_caller]
    fn check_file(name: &str, text: &str) -> Foreign {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let mut memories = aiaml(folder.path(), &defaults()).unwrap();
        memories.next().unwrap().unwrap()
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed_and_huge_files_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let sound = fixture("aiaml/files/20260302_081500_3fa85f64.md");
        std::os::unix::fs::symlink(&sound, folder.path().join("link.md")).unwrap();
        let huge = fs::File::create(folder.path().join("huge.md")).unwrap();
        huge.set_len(1 << 40).unwrap();
        let mut memories = aiaml(folder.path(), &defaults()).unwrap();
        let error = memories.next().unwrap().unwrap_err().to_string();
        assert!(
            error.contains("huge.md: the file has 1099511627776 bytes"),
            "{error}"
        );
        assert!(memories.next().is_none());

        std::os::unix::fs::symlink(fixture("aiaml/files"), folder.path().join("files")).unwrap();
        assert!(aiaml(folder.path(), &defaults()).is_err());
        assert!(aiaml(&folder.path().join("missing"), &defaults()).is_err());
    }
}

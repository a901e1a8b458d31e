//! Folders of notes that other programs wrote (Obsidian, basic-memory, static sites) → memories.
//!
//! `block` finds and reads the metadata; this module walks the folders and maps keys to fields. A block
//! that is refused or broken stays in the text, with a note in the metadata entry `import_note`.

use std::fs;
use std::path::{Path, PathBuf};

use super::block::{Block, BlockLanguage, NoteParts};
use super::draft::Draft;
use super::fields::ForeignFields;
use super::source_file::{SourceFile, check_is_note, io_error, is_markdown, unreadable};
use super::{Defaults, Foreign, ForeignMemories, ImportError, aiaml, fields};
use crate::format;
use crate::format::FormatError;
use crate::model::{Handle, Memory, MetaValue, NewMemory, Problem, Stem, Timestamp};

/// Maximum depth of folders that are read.
const MAX_DEPTH: usize = 16;

/// Reads the notes below the folder at `path`, or the one file there, by name.
///
/// # Errors
///
/// Fails if there is nothing at `path`, or it cannot be listed.
pub fn markdown(path: &Path, defaults: &Defaults) -> Result<ForeignMemories, ImportError> {
    notes(path, defaults, &Flavour::PLAIN)
}

/// Properties of the notes of one program.
pub(super) struct Flavour {
    /// Whether the text may begin with a second block of metadata.
    pub is_doubled: bool,
    /// Function that takes further values from the metadata, the text and the path within the source.
    pub read_more: fn(&mut Draft, &mut ForeignFields, &str, &str),
}

impl Flavour {
    const PLAIN: Flavour = Flavour {
        is_doubled: false,
        read_more: |_, _, _, _| {},
    };
}

/// Reads notes as [`markdown`], with the properties of the program that wrote them.
pub(super) fn notes(
    path: &Path,
    defaults: &Defaults,
    flavour: &'static Flavour,
) -> Result<ForeignMemories, ImportError> {
    let metadata = fs::metadata(path).map_err(|source| io_error(path, source))?;
    let defaults = defaults.clone();
    if !metadata.is_dir() {
        check_is_note(path)?;
        let root = path.parent().unwrap_or(path).to_owned();
        let note = note(&root, path, &defaults, flavour);
        return Ok(Box::new(std::iter::once(note)));
    }
    let root = path.to_owned();
    let mut walk = Walk {
        folders: vec![list(path)?.into_iter()],
    };
    Ok(Box::new(std::iter::from_fn(move || {
        let path = walk.next()?;
        Some(path.and_then(|path| note(&root, &path, &defaults, flavour)))
    })))
}

/// The notes below a folder, one listing per level in memory.
struct Walk {
    folders: Vec<std::vec::IntoIter<Found>>,
}

enum Found {
    Note(PathBuf),
    Folder(PathBuf),
}

impl Iterator for Walk {
    type Item = Result<PathBuf, ImportError>;

    fn next(&mut self) -> Option<Result<PathBuf, ImportError>> {
        loop {
            match self.folders.last_mut()?.next() {
                None => {
                    self.folders.pop();
                }
                Some(Found::Note(path)) => return Some(Ok(path)),
                Some(Found::Folder(path)) if self.folders.len() > MAX_DEPTH => {
                    let what = format!("it lies deeper than {MAX_DEPTH} folders and was not read");
                    return Some(Err(unreadable(&path, what)));
                }
                Some(Found::Folder(path)) => match list(&path) {
                    Ok(found) => self.folders.push(found.into_iter()),
                    Err(error) => return Some(Err(error)),
                },
            }
        }
    }
}

/// Returns the notes and folders in `folder` by name, without hidden entries, links and other files.
fn list(folder: &Path) -> Result<Vec<Found>, ImportError> {
    let at_folder = |source| io_error(folder, source);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(at_folder)? {
        let entry = entry.map_err(at_folder)?;
        let name = entry.file_name();
        let kind = entry.file_type().map_err(at_folder)?;
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        if kind.is_dir() {
            found.push((name, Found::Folder(entry.path())));
        } else if kind.is_file() && is_markdown(&entry.path()) {
            found.push((name, Found::Note(entry.path())));
        }
    }
    found.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    Ok(found.into_iter().map(|(_, found)| found).collect())
}

fn note(
    root: &Path,
    path: &Path,
    defaults: &Defaults,
    flavour: &'static Flavour,
) -> Result<Foreign, ImportError> {
    let file = SourceFile::read(path)?;
    let memory = aiaml::read(path, &file);
    if is_own(&memory) {
        return aiaml::foreign(path, &memory, defaults);
    }
    let note = Note {
        path,
        source_id: relative(root, path),
        modified: Timestamp::from_utc(memory.stem.time().unwrap_or(file.modified)),
        memory,
        is_lossy: std::str::from_utf8(&file.bytes).is_err(),
        defaults,
        flavour,
    };
    note.foreign(&String::from_utf8_lossy(&file.bytes))
}

/// Returns whether it is a memory file, by its name and its keys.
fn is_own(memory: &Memory) -> bool {
    memory.stem.is_canonical()
        && !memory.problems.iter().any(|problem| match problem {
            Problem::Empty | Problem::NoFrontmatter | Problem::FrontmatterNotClosed => true,
            Problem::MissingKey(key) => *key != "topics",
            _ => false,
        })
}

fn relative(root: &Path, path: &Path) -> String {
    let below = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = below
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    parts.join("/")
}

/// A note before its metadata is read.
struct Note<'a> {
    path: &'a Path,
    source_id: String,
    modified: Timestamp,
    /// The note as parsed by `format`, which keeps the spelling of numbers.
    memory: Memory,
    is_lossy: bool,
    defaults: &'a Defaults,
    flavour: &'static Flavour,
}

/// A note's text, split into its parts.
struct Reading<'a> {
    fields: ForeignFields,
    content: &'a str,
    /// The text that is searched for a heading.
    body: &'a str,
    why_whole: Option<String>,
}

impl Note<'_> {
    fn foreign(&self, text: &str) -> Result<Foreign, ImportError> {
        // The byte order mark belongs to the file and not to the text.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let whole = |body, why_whole| Reading {
            fields: ForeignFields(Vec::new()),
            content: text,
            body,
            why_whole,
        };
        let (block, content) = match Block::find(text) {
            NoteParts::Whole(block, content) => (block, content),
            NoteParts::NoBlock => return self.draft(whole(text, None)),
            NoteParts::NotClosed => {
                let why = "it has no closing line".to_owned();
                return self.draft(whole(text, Some(why)));
            }
        };
        let mut fields = match block.read() {
            Ok(fields) => fields,
            Err(why) => return self.draft(whole(content, Some(why))),
        };
        if block.language == BlockLanguage::Yaml {
            self.respell(&mut fields);
        }
        let mut inside = content;
        if self.flavour.is_doubled
            && let NoteParts::Whole(second, rest) = Block::find(content)
            && let Ok(more) = second.read()
        {
            fields.add(more);
            inside = rest;
        }
        let foreign = self.draft(Reading {
            fields,
            content: inside,
            body: inside,
            why_whole: None,
        })?;
        match too_large(&foreign) {
            Some(why) => self.draft(whole(content, Some(why))),
            None => Ok(foreign),
        }
    }

    fn draft(&self, reading: Reading<'_>) -> Result<Foreign, ImportError> {
        let mut fields = reading.fields;
        let mut draft = Draft::new(self.path.display().to_string());
        if let Some(why) = reading.why_whole {
            draft.note(format!("the frontmatter was left in the text: {why}"));
        }
        if self.is_lossy {
            draft.note("bytes that are not UTF-8 were replaced");
        }
        draft.called(Some(self.source_id.clone()));
        let memory = &mut draft.foreign.memory;
        memory.title = fields
            .take(&["title"], fields::text)
            .or_else(|| heading(reading.body))
            .or_else(|| Some(self.memory.stem.as_str().to_owned()));
        memory.topics = fields.take_topics().iter().map(|tag| topic(tag)).collect();
        memory.timestamp = fields
            .take(&["created", "date", "timestamp"], fields::written_moment)
            .or_else(|| Some(self.modified.clone()));
        memory.agent = fields.take(&["agent"], fields::text).unwrap_or_default();
        memory.user = fields
            .take(&["user", "author"], fields::text)
            .unwrap_or_default();
        memory.kind = fields.take(&["type", "kind"], fields::word);
        memory.namespace = self.defaults.namespace.clone().or_else(|| self.folder());
        memory.content = reading.content.to_owned();
        (self.flavour.read_more)(&mut draft, &mut fields, reading.content, &self.source_id);
        for (key, value) in fields.rest() {
            draft.keep(&key, value);
        }
        draft.finish(self.defaults)
    }

    /// Returns the first folder below the source's root.
    fn folder(&self) -> Option<String> {
        let (folder, _) = self.source_id.split_once('/')?;
        Some(folder.to_owned())
    }

    /// Restores the spelling of numbers in the file: `007`, `1.10` and `1e3` are often names and versions, and
    /// YAML keeps only their value.
    fn respell(&self, fields: &mut ForeignFields) {
        let has_topics = fields.0.iter().any(|(key, _)| key == "topics");
        for (key, value) in &mut fields.0 {
            let is_topics = key == "topics" || (key == "tags" && !has_topics);
            match value {
                MetaValue::Int(_) | MetaValue::Float(_) => {
                    let number = fields::any_text(value);
                    if let Some(spelling) = self.spelling(key)
                        && number.as_deref() != Some(spelling)
                    {
                        *value = MetaValue::Text(spelling.to_owned());
                    }
                }
                MetaValue::List(words) if is_topics && words.len() == self.memory.topics.len() => {
                    let topics = self.memory.topics.iter();
                    *words = topics.cloned().map(MetaValue::Text).collect();
                }
                _ => {}
            }
        }
    }

    fn spelling(&self, key: &str) -> Option<&str> {
        let memory = &self.memory;
        match key {
            "id" => Some(&memory.id),
            "agent" => Some(&memory.agent),
            "user" => Some(&memory.user),
            "title" => memory.title.as_deref(),
            "namespace" => memory.namespace.as_deref(),
            "source" => memory.source.as_deref(),
            "status" => memory.status.as_deref(),
            _ => {
                let (_, raw) = memory.unknown.iter().find(|(known, _)| known == key)?;
                let line = raw.lines().next()?;
                Some(
                    line.split_once(" #")
                        .map_or(line, |(value, _)| value)
                        .trim(),
                )
            }
        }
    }
}

/// Returns the reason if the metadata does not fit into a frontmatter.
fn too_large(foreign: &Foreign) -> Option<String> {
    let mut memory = NewMemory {
        content: String::new(),
        ..foreign.memory.clone()
    };
    // As the engine will write it.
    let source_id = MetaValue::Text(foreign.source_id.clone()?);
    memory.metadata.push(("source_id".to_owned(), source_id));
    let timestamp = memory.timestamp.clone()?;
    let stem = Stem::new(timestamp.utc(), Handle::parse("00000000")?);
    match format::render(&memory, &stem, &timestamp) {
        Err(error @ FormatError::FrontmatterTooLarge { .. }) => Some(error.to_string()),
        _ => None,
    }
}

/// Returns the first `# heading` outside of code.
fn heading(body: &str) -> Option<String> {
    let mut in_code = false;
    for line in body.lines() {
        let text = line.trim_start();
        if text.starts_with("```") || text.starts_with("~~~") {
            in_code = !in_code;
        }
        if !in_code && let Some(heading) = line.strip_prefix("# ") {
            let heading = heading.trim();
            let without_marks = heading.trim_end_matches('#');
            let is_closed = without_marks.ends_with(' ');
            let heading = if is_closed {
                without_marks.trim()
            } else {
                heading
            };
            if !heading.is_empty() {
                return Some(heading.to_owned());
            }
        }
    }
    None
}

/// Converts `#my topic` to `my-topic`.
fn topic(tag: &str) -> String {
    let words: Vec<&str> = tag
        .trim()
        .trim_start_matches('#')
        .split_whitespace()
        .collect();
    words.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::draft::IMPORT_NOTE;
    use crate::model::Kind;

    fn defaults() -> Defaults {
        Defaults {
            agent: "importer".to_owned(),
            user: "me".to_owned(),
            namespace: None,
        }
    }

    /// Writes one note and imports its folder.
    #[track_caller]
    fn import(name: &str, bytes: impl AsRef<[u8]>) -> Foreign {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        let mut notes = markdown(folder.path(), &defaults()).unwrap();
        let first = notes.next().unwrap().unwrap();
        assert!(notes.next().is_none());
        first
    }

    fn metadata(foreign: &Foreign) -> String {
        fields::to_json(&MetaValue::Map(foreign.memory.metadata.clone())).to_string()
    }

    #[test]
    fn an_obsidian_note_is_read_whole() {
        let foreign = import(
            "Projects/Garden/Tomato plan.md",
            "---\ntitle: Tomatoes\ntags:\n  - \"#garden/vegetables\"\n  - season 2026\naliases: [plan]\ncreated: 2026-04-05 10:15\ntype: procedural\nauthor: mira\npermalink: projects/tomatoes\nmodified: 2026-04-09\n---\n\n# Other\r\n\r\n[[link]]\n",
        );
        let memory = &foreign.memory;
        assert_eq!(
            foreign.source_id.as_deref(),
            Some("Projects/Garden/Tomato plan.md")
        );
        assert_eq!(memory.namespace.as_deref(), Some("Projects"));
        assert_eq!(memory.title.as_deref(), Some("Tomatoes"));
        assert_eq!(memory.topics, ["garden/vegetables", "season-2026"]);
        assert_eq!(
            memory.timestamp.as_ref().unwrap().as_str(),
            "2026-04-05 10:15"
        );
        assert_eq!(memory.kind, Some(Kind::Procedural));
        assert_eq!(
            (memory.agent.as_str(), memory.user.as_str()),
            ("importer", "mira")
        );
        assert_eq!(memory.content, "# Other\r\n\r\n[[link]]\n");
        assert_eq!(
            metadata(&foreign),
            r#"{"aliases":["plan"],"permalink":"projects/tomatoes","modified":"2026-04-09"}"#
        );
    }

    #[test]
    fn metadata_may_be_yaml_toml_or_json() {
        let toml = "title = \"T\"\ntags = [\"a\"]\ndate = 2026-04-05T10:15:00Z\nx = 1\n";
        let json =
            "{\"title\": \"T\",\n \"tags\": \"a\",\n \"date\": \"2026-04-05T10:15:00Z\", \"x\": 1}";
        let yaml = "title: T\ntags: a\ndate: 2026-04-05T10:15:00Z\nx: 1\n";
        check_language(&format!("---\n{yaml}---\n\nbody"));
        check_language(&format!(
            "---\r\n{}---\r\n\r\nbody",
            yaml.replace('\n', "\r\n")
        ));
        check_language(&format!("---\n{yaml}--- \nbody"));
        check_language(&format!("\u{feff}---\n{yaml}---\nbody"));
        check_language(&format!("+++\n{toml}+++\nbody"));
        check_language(&format!("---toml\n{toml}---\nbody"));
        check_language(&format!("---\n{json}\n---\nbody"));
        check_language(&format!(";;;\n{json}\n;;;\nbody"));
        check_language(&format!("{json}\n\nbody"));
    }

    #[track_caller]
    fn check_language(text: &str) {
        let foreign = import("n.md", text);
        let memory = &foreign.memory;
        assert_eq!(memory.title.as_deref(), Some("T"), "{text}");
        assert_eq!(memory.topics, ["a"]);
        assert_eq!(
            memory.timestamp.as_ref().unwrap().as_str(),
            "2026-04-05T10:15:00Z"
        );
        assert_eq!(metadata(&foreign), r#"{"x":1}"#);
        assert_eq!(memory.content, "body");
    }

    #[test]
    fn a_title_is_found_in_the_text_or_the_name() {
        check_title("---\ntitle: A\n---\n# B", "A");
        check_title("---\ntitle: 007\n---\n", "007");
        check_title("---\ntitle: 1.10 # version\n---\n", "1.10");
        check_title("---\ntitle: \n---\ntext\n# B #\n", "B");
        check_title("#tag\n## second\n# C#\n", "C#");
        check_title("```\n# code\n```\n# B", "B");
        check_title("---\na: &x 1\n# comment\n---\n# B", "B");
        check_title("text", "n");
        check_title("", "n");
    }

    #[track_caller]
    fn check_title(text: &str, expected: &str) {
        let title = import("n.md", text).memory.title;
        assert_eq!(title.as_deref(), Some(expected), "{text}");
    }

    #[test]
    fn a_block_that_is_refused_or_broken_stays_in_the_text() {
        check_whole("---\na: &x [1]\nb: *x\n---\nbody", "an anchor");
        check_whole(
            "---\na: [\"\n #\", &x [1]]\nb: [\"\n #\", *x]\n---\nbody",
            "an anchor",
        );
        check_whole("---\na: !t x\n---\nbody", "a tag");
        check_whole("---\na: 1\na: 2\n---\nbody", "the key `a` stands twice");
        check_whole("---\na: {{date}}\n---\nbody", "expected a string");
        check_whole(
            &format!("---\n{}x\n---\nbody", "? ".repeat(8000)),
            "a complex key",
        );
        check_whole(
            &format!("---\n{}x\n---\nbody", ": ".repeat(8000)),
            "a complex key",
        );
        check_whole(
            &format!("---\na:\n  {}x\n---\n", "- ".repeat(8000)),
            "nesting deeper",
        );
        check_whole("---\ntitle: a: b\n---\nbody", "mapping values");
        check_whole("---\njust text\n---\nbody", "no `key: value` lines");
        check_whole("---\na: 1\n", "no closing line");
        check_whole("+++\na = \n+++\nbody", "TOML parse error");
        check_whole(
            &format!("---\na: {}\n---\nbody", "x".repeat(16_384)),
            "more than 16384",
        );
        check_whole(
            &format!("---\na: {}\n---\nbody", "x".repeat(16_370)),
            "more than 16384",
        );
    }

    #[track_caller]
    fn check_whole(text: &str, why: &str) {
        let foreign = import("n.md", text);
        assert_eq!(foreign.memory.content, text);
        let (key, note) = &foreign.memory.metadata[0];
        let note = fields::text(note).unwrap();
        assert_eq!(key, IMPORT_NOTE);
        assert!(note.contains(why), "{note}");
    }

    #[test]
    fn values_of_yaml_are_read_as_those_of_a_memory() {
        let text =
            "---\nlarge: 99999999999999999999\ncode: 007\nnested:\n  z: 1\n  1.50: ~\n---\nbody";
        let text_of = |text: &str| MetaValue::Text(text.to_owned());
        let nested = vec![
            ("z".to_owned(), MetaValue::Int(1)),
            ("1.50".to_owned(), MetaValue::Null),
        ];
        let expected = [
            ("large", text_of("99999999999999999999")),
            ("code", text_of("007")),
            ("nested", MetaValue::Map(nested)),
        ];
        let found = import("n.md", text).memory.metadata;
        assert_eq!(found, expected.map(|(key, value)| (key.to_owned(), value)));
    }

    #[test]
    fn text_without_metadata_is_kept_to_the_byte() {
        check_plain("one\r\n\r\ntwo");
        check_plain("\n\n  text\n\n");
        check_plain("--- \ttext\n---\n");
        check_plain("{not json\n");
        check_plain("{\"a\": 1}\n");
        check_plain("{{< figure >}}\n");
        check_plain("");
    }

    #[track_caller]
    fn check_plain(text: &str) {
        let foreign = import("n.md", text);
        assert_eq!(foreign.memory.content, text);
        assert_eq!(foreign.memory.metadata, []);
        assert_eq!(foreign.memory.namespace, None);
    }

    #[test]
    fn numbers_keep_their_spelling() {
        let foreign = import(
            "n.md",
            "---\nzip: 00501 # here\nn: 3\nf: 3.50\nbig: 12345678901234567890\ntags: [2024, 1.10]\nid: 0012\n---\n",
        );
        assert_eq!(foreign.memory.topics, ["2024", "1.10"]);
        assert_eq!(
            metadata(&foreign),
            r#"{"zip":"00501","n":3,"f":"3.50","big":"12345678901234567890","id":"0012"}"#
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_and_named() {
        let foreign = import("n.md", b"caf\xe9");
        assert_eq!(foreign.memory.content, "caf\u{fffd}");
        assert!(metadata(&foreign).contains("not UTF-8"));
    }

    #[test]
    fn a_note_without_a_date_has_that_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("n.md");
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_768_382_100);
        fs::write(&path, "text").unwrap();
        let file = fs::File::options().append(true).open(&path).unwrap();
        file.set_modified(at).unwrap();
        let foreign = markdown(&path, &defaults())
            .unwrap()
            .next()
            .unwrap()
            .unwrap();
        assert_eq!(foreign.source_id.as_deref(), Some("n.md"));
        let timestamp = foreign.memory.timestamp.unwrap();
        assert_eq!(timestamp.as_str(), "2026-01-14T09:15:00.000000+00:00");
    }

    #[test]
    fn a_memory_file_among_the_notes_is_read_as_one() {
        let name = "20260302_081500_3fa85f64.md";
        let keys = "id: 3fa85f64\ntimestamp: 2026-03-02T08:15:00\nagent: a: b\nuser: me\n";
        let foreign = import(name, format!("---\n{keys}---\n\ntext"));
        assert_eq!(foreign.source_id, None);
        assert_eq!(foreign.memory.agent, "a: b");
        assert_eq!(foreign.memory.handle, Handle::parse("3fa85f64"));

        let foreign = import(name, "no frontmatter");
        assert_eq!(foreign.source_id.as_deref(), Some(name));
        let at = foreign.memory.timestamp.unwrap().utc().to_rfc3339();
        assert_eq!(at, "2026-03-02T08:15:00+00:00");
    }

    #[test]
    fn the_obsidian_store_is_read_as_memories() {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/obsidian");
        let json = fs::read_to_string(fixture.join("expected.json")).unwrap();
        let expected: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
        let expected: Vec<_> = expected
            .iter()
            .map(|memory| memory["content"].as_str())
            .collect();
        let found: Vec<Foreign> = markdown(&fixture.join("files"), &defaults())
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let found: Vec<_> = found
            .iter()
            .map(|f| Some(f.memory.content.as_str()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn folders_are_walked_by_name_and_hidden_ones_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let add = |name: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "text").unwrap();
        };
        let deep = |levels| format!("{}n.md", "d/".repeat(levels));
        [
            "b.md",
            "a/z.markdown",
            "a/A.MD",
            "c/n.md",
            ".obsidian/x.md",
            ".h.md",
            "c/n.txt",
        ]
        .iter()
        .for_each(|name| add(name));
        add(&deep(16));
        add(&deep(17));
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.path(), folder.path().join("loop")).unwrap();
        let found: Vec<String> = markdown(folder.path(), &defaults())
            .unwrap()
            .map(|note| match note {
                Ok(foreign) => foreign.source_id.unwrap(),
                Err(error) => error.to_string().rsplit(": ").next().unwrap().to_owned(),
            })
            .collect();
        let too_deep = "it lies deeper than 16 folders and was not read".to_owned();
        let own = ["a/A.MD", "a/z.markdown", "b.md", "c/n.md"].map(str::to_owned);
        assert_eq!(found, [&own[..], &[too_deep, deep(16)]].concat());
    }

    #[test]
    fn topics_and_titles_over_the_limits_are_cut() {
        let tags: String = (0..120).map(|n| format!("- t{n}\n")).collect();
        let title = "x".repeat(2000);
        let foreign = import(
            "n.md",
            format!("---\ntitle: {title}\ntags:\n{tags}---\nbody"),
        );
        assert_eq!(foreign.memory.topics.len(), 100);
        assert_eq!(foreign.memory.title.as_deref(), Some(&title[..1024]));
        let note = "title was cut, it had 2000 bytes; only 100 of 120 topics were kept";
        assert!(metadata(&foreign).contains(note), "{}", metadata(&foreign));
    }
}

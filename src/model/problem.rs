//! Faults of one file, as values: a damaged memory is no failure of the program.

use std::fmt;

use super::Stem;

/// One thing wrong with one file. It never hides another file, and rarely even this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    Empty,
    NoFrontmatter,
    FrontmatterNotClosed,
    FrontmatterTooLarge {
        bytes: usize,
    },
    NotUtf8,
    HasNul,
    ConflictMarkers,
    /// A key with what is wrong about it; the other keys were read.
    Key {
        key: String,
        what: String,
    },
    MissingKey(&'static str),
    DuplicateKey(String),
    /// YAML that is refused unread: aliases, tags, nesting, too many keys.
    RefusedYaml(String),
    IdDiffersFromName {
        id: String,
    },
    ForeignName,
    ConflictCopyOf(String),
    /// The other file's path below the memory directory.
    SameStemAs(String),
    SameHandleAs(String),
    /// The archive holds a file of the same name.
    AlsoArchived {
        same_text: bool,
    },
    /// A key names a memory that is not there.
    DanglingReference {
        key: &'static str,
        to: String,
    },
    /// A text that nobody has seen, in a temporary file of an interrupted change.
    Leftover,
    PartlyIndexed {
        bytes: u64,
    },
    /// `adopt` was ended while it gave notes their names.
    AdoptionUnfinished,
    /// The memory was purged; somebody has put its file back.
    Purged,
    /// A folder of the store that is a symbolic link; nothing behind it is looked at.
    LinkedFolder,
    /// Not a readable regular file: what it is instead.
    NotReadable(String),
}

impl Problem {
    /// Returns a short stable word for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Problem::Empty => "empty",
            Problem::NoFrontmatter => "no-frontmatter",
            Problem::FrontmatterNotClosed => "frontmatter-not-closed",
            Problem::FrontmatterTooLarge { .. } => "frontmatter-too-large",
            Problem::NotUtf8 => "not-utf8",
            Problem::HasNul => "nul",
            Problem::ConflictMarkers => "conflict-markers",
            Problem::Key { .. } => "bad-key",
            Problem::MissingKey(_) => "missing-key",
            Problem::DuplicateKey(_) => "duplicate-key",
            Problem::RefusedYaml(_) => "refused-yaml",
            Problem::IdDiffersFromName { .. } => "id-differs-from-name",
            Problem::ForeignName => "foreign-name",
            Problem::ConflictCopyOf(_) => "conflict-copy",
            Problem::SameStemAs(_) => "same-stem",
            Problem::SameHandleAs(_) => "same-handle",
            Problem::AlsoArchived { .. } => "also-archived",
            Problem::DanglingReference { .. } => "dangling-reference",
            Problem::Leftover => "leftover",
            Problem::PartlyIndexed { .. } => "partly-indexed",
            Problem::AdoptionUnfinished => "adoption-unfinished",
            Problem::Purged => "was-purged",
            Problem::LinkedFolder => "linked-folder",
            Problem::NotReadable(_) => "not-readable",
        }
    }

    /// Returns a sentence that says what a person can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Problem::Empty => "Write the memory again, or delete the file.",
            Problem::NoFrontmatter => {
                "`memdir adopt` writes one; it needs a `---` line, the keys id, timestamp, agent, user, topics, and another `---` line."
            }
            Problem::FrontmatterNotClosed => "Add the closing `---` line after the last key.",
            Problem::FrontmatterTooLarge { .. } => {
                "Move long text from the frontmatter into the body."
            }
            Problem::NotUtf8 => "Save the file as UTF-8.",
            Problem::HasNul => "Remove the NUL bytes; the file may have been cut off by a crash.",
            Problem::ConflictMarkers => {
                "Keep the lines you want and remove the `<<<<<<<`, `=======` and `>>>>>>>` lines."
            }
            Problem::Key { .. } => "Correct the line; the rest of the file was read.",
            Problem::MissingKey(_) => "`memdir adopt` adds it to the frontmatter.",
            Problem::DuplicateKey(_) => "Remove one of the two lines; the first one counts.",
            Problem::RefusedYaml(_) => {
                "Write the value plainly: no anchors, aliases, tags or deep nesting."
            }
            Problem::IdDiffersFromName { .. } => {
                "Make the id the eight hex digits of the file name; the name counts."
            }
            Problem::ForeignName => {
                "Nothing to do: it is called by its name. `memdir adopt` gives it an id and the name of a memory."
            }
            Problem::ConflictCopyOf(_) => {
                "Compare the two files, keep what you want in the first and delete the copy."
            }
            Problem::SameStemAs(path) if is_of_notes(path) => {
                "Nothing to do: name them by their paths, `folder/name.md`; `[[name]]` means the nearest."
            }
            Problem::SameStemAs(_) => {
                "Move one of them out of the store, or rename it; until then, name them by their paths."
            }
            Problem::SameHandleAs(_) => "Nothing to do: use the whole stem to name one of them.",
            Problem::AlsoArchived { .. } => {
                "Compare the two and delete or rename one; until then, neither `memdir forget` nor `memdir restore` moves them."
            }
            Problem::DanglingReference { .. } => {
                "Correct it, or leave it: the other memory may have been deleted, or lie on another machine."
            }
            Problem::Leftover => {
                "Any `memdir` command that may write to the store keeps it as a conflict copy."
            }
            Problem::PartlyIndexed { .. } => {
                "Split the memory; what lies beyond the first MiB is kept but not searched."
            }
            Problem::AdoptionUnfinished => {
                "`memdir adopt --yes` finishes it: no text is lost, and each note keeps the id that it was given."
            }
            Problem::Purged => {
                "`memdir purge` takes it away again, as a sync with another machine does; under another name it stays."
            }
            Problem::LinkedFolder => {
                "If you made the link, `memdir init --allow-links` has memdir follow it; else remove it."
            }
            Problem::NotReadable(_) => {
                "Only regular files are memories; move it elsewhere or mend its permissions."
            }
        }
    }

    /// Returns whether the file is sound all the same: worth a note, not a repair.
    pub fn is_note(&self) -> bool {
        if let Problem::SameStemAs(path) = self {
            return is_of_notes(path);
        }
        matches!(
            self,
            Problem::SameHandleAs(_)
                | Problem::AlsoArchived { same_text: true }
                | Problem::ForeignName
                | Problem::DanglingReference { .. }
                | Problem::PartlyIndexed { .. }
        )
    }
}

/// Returns whether a file has a name that people give, and not a memory's, which no two should have.
fn is_of_notes(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    Stem::parse(name.strip_suffix(".md").unwrap_or(name)).is_none()
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Empty => f.write_str("the file is empty"),
            Problem::NoFrontmatter => f.write_str("there is no frontmatter"),
            Problem::FrontmatterNotClosed => {
                f.write_str("the frontmatter has no closing `---` line")
            }
            Problem::FrontmatterTooLarge { bytes } => {
                write!(f, "the frontmatter has {bytes} bytes, more than 16384")
            }
            Problem::NotUtf8 => f.write_str("the text is not UTF-8"),
            Problem::HasNul => f.write_str("the text holds NUL bytes"),
            Problem::ConflictMarkers => f.write_str("the text holds git conflict markers"),
            Problem::Key { key, what } => write!(f, "key `{key}`: {what}"),
            Problem::MissingKey(key) => write!(f, "key `{key}` is missing"),
            Problem::DuplicateKey(key) => write!(f, "key `{key}` stands twice"),
            Problem::RefusedYaml(what) => write!(f, "the frontmatter is refused: {what}"),
            Problem::IdDiffersFromName { id } => {
                write!(f, "its id `{id}` is not the one in the file name")
            }
            Problem::ForeignName => f.write_str("the file name is not YYYYMMDD_HHMMSS_<8 hex>.md"),
            Problem::ConflictCopyOf(stem) => {
                write!(f, "the name is that of a conflict copy of `{stem}`")
            }
            Problem::SameStemAs(path) => write!(f, "`{path}` has the same name"),
            Problem::SameHandleAs(stem) => write!(f, "`{stem}` ends with the same eight digits"),
            Problem::AlsoArchived { same_text: true } => {
                f.write_str("the archive holds the same memory with the same text")
            }
            Problem::AlsoArchived { same_text: false } => {
                f.write_str("the archive holds another text under the same name")
            }
            Problem::DanglingReference { key, to } => {
                write!(f, "key `{key}` names `{to}`, which is not in the store")
            }
            Problem::Leftover => {
                f.write_str("an interrupted change left a text here that nobody has seen")
            }
            Problem::PartlyIndexed { bytes } => {
                write!(
                    f,
                    "the file has {bytes} bytes; only the first MiB is searched"
                )
            }
            Problem::AdoptionUnfinished => f.write_str("an adoption of notes was cut short"),
            Problem::Purged => f.write_str("the memory was purged"),
            Problem::LinkedFolder => {
                f.write_str("the folder is a symbolic link and is not followed")
            }
            Problem::NotReadable(what) => f.write_str(what),
        }
    }
}

//! Errors of the engine.

use std::fmt;
use std::path::PathBuf;

use chrono::{DateTime, SecondsFormat, Utc};

use crate::embed::EmbedError;
use crate::engine::options::SETTINGS;
use crate::engine::texts::{name_of, stem_of};
use crate::engine::workspace_clients::WorkspaceError;
use crate::files::{FilesError, is_journal};
use crate::format::FormatError;
use crate::git::{GitError, NetworkError};
use crate::index::IndexError;
use crate::journal::JournalError;
use crate::model::POSSIBLE_TIMES;

/// Error of an operation.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A file could not be read or written.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// A value breaks the format's limits.
    #[error("the memory cannot be written: {0}")]
    Format(FormatError),
    /// More memories have expired than a server archives automatically.
    #[error("{0} memories have ended at once, and none was archived")]
    TooManyExpired(usize),
    /// A journal could not be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The index could not be read or written.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A model could not be used.
    #[error(transparent)]
    Embed(EmbedError),
    /// The git repository could not be read or written.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A remote could not be reached.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A workspace could not be reached, or refused.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// A past state could not be found or restored.
    #[error(transparent)]
    Past(#[from] PastError),
    #[error("no memory is called `{0}`")]
    NotFound(String),
    #[error("`{id}` could mean {}", candidates.join(", "))]
    Ambiguous { id: String, candidates: Vec<String> },
    #[error("{} is no store: there is no folder `files` in it", .0.display())]
    NoStore(PathBuf),
    #[error("{what} needs a store in a folder, and this one is {place}")]
    NoDirectory { what: &'static str, place: String },
    #[error("the store {} can only be read", .0.display())]
    ReadOnly(PathBuf),
    #[error("this machine's clock says {}, which is no time {POSSIBLE_TIMES}: nothing is written", .0.to_rfc3339_opts(SecondsFormat::Secs, true))]
    ClockIsWrong(DateTime<Utc>),
    #[error("somebody else changed `{id}` meanwhile; their text stays and yours is kept as {copy}")]
    ChangedMeanwhile { id: String, copy: String },
    #[error(
        "`{id}` was changed; somebody else changed it in the same moment, and their text is kept as a conflict copy"
    )]
    KeptOther { id: String },
    #[error("nothing was written: the memory would hold {}", list(.0))]
    Secrets(Vec<FoundSecret>),
    #[error("nothing was sent, and the remote is not set up: {}", list(.0))]
    SecretsInHistory(Vec<Leak>),
    #[error("{0}")]
    Invalid(String),
    /// The user has to decide before anything is exchanged.
    #[error("{0}")]
    Paused(String),
}

/// Returns the first items as a list, with the number of further ones.
fn list<T: ToString>(all: &[T]) -> String {
    let shown: Vec<String> = all.iter().take(MAX_LISTED).map(T::to_string).collect();
    match all.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{}, and {more} more", shown.join(", ")),
    }
}

/// Maximum number of listed items.
const MAX_LISTED: usize = 20;

impl EngineError {
    /// Whether a search has no index yet, which is being made.
    pub fn awaits_index(&self) -> bool {
        use IndexError::{Building, Superseded};
        matches!(self, EngineError::Index(Building { .. } | Superseded))
    }

    /// Returns the name of the file that lay where another one was to go.
    pub fn taken_name(&self) -> Option<&str> {
        match self {
            EngineError::Files(FilesError::Taken { path }) => path.file_name()?.to_str(),
            _ => None,
        }
    }

    /// Returns what another call holds, if that is why nothing was done.
    pub fn busy(&self) -> Option<&str> {
        match self {
            EngineError::Files(FilesError::Busy { what, .. }) => Some(what),
            _ => None,
        }
    }

    /// Returns advice for the user, as a sentence.
    pub fn hint(&self) -> Option<String> {
        match self {
            EngineError::Files(error) if error.is_full() => {
                Some("Free some space, or raise the quota or limit, and try again; nothing was lost.".into())
            }
            EngineError::Network(error) => error.hint(),
            EngineError::Workspace(error) => error.hint.clone(),
            EngineError::ClockIsWrong(_) => Some("Set the clock right, and try again.".into()),
            EngineError::Files(error) if error.is_read_only() => {
                Some("Check the permissions of the store's folder.".into())
            }
            EngineError::Files(FilesError::Busy { .. }) => Some("Try again in a moment.".into()),
            EngineError::Files(FilesError::Link { .. }) => Some(
                "If you made the link, `memdir init --allow-links` has memdir follow it; else remove it.".into(),
            ),
            EngineError::NotFound(_) => {
                Some("`memdir think WORDS` finds ids; forgotten memories come back with `memdir restore ID`.".into())
            }
            EngineError::Ambiguous { .. } => Some("Use one of the whole names.".into()),
            EngineError::NoStore(folder) => Some(format!(
                "`memdir init {0}` makes one, `memdir init --notes {0}` of the notes in it; `--store DIR` names another.",
                folder.display()
            )),
            EngineError::NoDirectory { .. } => Some(
                "Export the memories into a folder, and do it there.".into(),
            ),
            EngineError::ReadOnly(_) => Some(
                "Searching and reading work. For writing, leave `--read-only` away, or give yourself write permission.".into(),
            ),
            EngineError::ChangedMeanwhile { .. } => {
                Some("Compare the two files, keep what you want in the first and forget the copy.".into())
            }
            EngineError::KeptOther { .. } => Some("`memdir status` names the copy; take over what you want of it.".into()),
            EngineError::Secrets(_) => Some("Write where it is kept instead. The setting `secrets` says what becomes of credentials.".into()),
            EngineError::SecretsInHistory(_) => Some(
                "What was sent cannot be called back. `memdir allow ID` says that they may be sent. `memdir redact ID` takes them out of a memory, but not out of the history: make such credentials invalid, and begin a new history by moving the store's `.git` away.".into(),
            ),
            EngineError::Past(error) => error.hint(),
            EngineError::Embed(_) => {
                Some("Words are searched all the same. `memdir model status` says which model is used.".into())
            }
            error if error.awaits_index() => Some(
                "Ask again in a minute. A memory whose id is known can be read at once.".into(),
            ),
            EngineError::Index(_) => Some("`memdir reindex --full` makes the index anew.".into()),
            _ => None,
        }
    }
}

/// Not a `source`: the message includes that of the cause, in one line.
impl From<FormatError> for EngineError {
    fn from(error: FormatError) -> EngineError {
        EngineError::Format(error)
    }
}

/// Error of reading the history or restoring from it.
#[derive(Debug, thiserror::Error)]
pub enum PastError {
    #[error("the store has no history: {why}")]
    NoHistory { why: String, hint: &'static str },
    #[error("there is no commit and no time called `{0}`")]
    UnknownRevision(String),
    #[error("`{0}` could mean more than one commit")]
    AmbiguousRevision(String),
    #[error("the history begins at {begin}, later than `{asked}`")]
    BeforeTheBeginning { asked: String, begin: DateTime<Utc> },
    #[error("`{id}` was not there as of {revision}")]
    NotThere { id: String, revision: String },
    #[error("`{text}` could mean the memory {memory} and the commit {commit}")]
    MemoryOrCommit {
        text: String,
        memory: String,
        commit: String,
    },
    #[error("neither a commit nor a memory is called `{0}`")]
    UnknownTarget(String),
    #[error("there is nothing to undo")]
    NothingToUndo,
    #[error("{commit} is undone already, by {by}")]
    UndoneAlready { commit: String, by: String },
    #[error("{commit} cannot be undone: {}", reasons.join("; "))]
    NotUndone {
        commit: String,
        reasons: Vec<String>,
    },
    #[error("`{0}` was purged: nothing brings it back")]
    Purged(String),
    #[error("nothing can be committed at present: {0}")]
    Paused(String),
}

impl PastError {
    /// Returns advice for the user, as a sentence.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            PastError::NoHistory { hint, .. } => hint,
            PastError::UnknownRevision(_) => {
                "Write the beginning of a commit's id, HEAD~3, a date (2026-01-31), or an amount of time such as 2w. `memdir log` shows the commits."
            }
            PastError::AmbiguousRevision(_) => "Write more digits of the commit's id.",
            PastError::BeforeTheBeginning { .. } => "`memdir log` shows what there is.",
            PastError::NotThere { id, .. } => {
                return Some(format!("`memdir log {id}` shows when it was."));
            }
            PastError::MemoryOrCommit { memory, .. } => {
                return Some(format!(
                    "Write {memory}.md for the memory, or all forty digits for the commit."
                ));
            }
            PastError::UnknownTarget(_) => "`memdir log` shows the commits.",
            PastError::NothingToUndo => {
                "Everything that memdir did on this machine is undone. `memdir undo COMMIT` undoes any commit, also an undo, and one of another machine."
            }
            PastError::UndoneAlready { by, .. } => {
                return Some(format!("`memdir undo {by}` does it again."));
            }
            PastError::NotUndone { .. } => {
                "Nothing was changed. `memdir diff ID COMMIT` compares, `memdir restore ID@COMMIT` brings one memory's text back."
            }
            PastError::Purged(id) => {
                return Some(format!(
                    "`memdir log {id}` shows the commits that hold its text."
                ));
            }
            PastError::Paused(_) => "Nothing was changed. Try again when that is over.",
        };
        Some(hint.to_owned())
    }
}

/// A credential in a commit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leak {
    /// Location and kind of the credential.
    pub held: Quarantined,
    /// Short id of the commit.
    pub commit: String,
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of commit {}", self.held, self.commit)
    }
}

/// A credential in a memory's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSecret {
    /// Kind of the credential, such as `a GitHub token`.
    pub kind: &'static str,
    /// Line of the file on which it begins, from 1.
    pub line: usize,
}

impl fmt::Display for FoundSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on line {}", self.kind, self.line)
    }
}

/// Kind of a text with git's conflict markers.
pub(in crate::engine) const CONFLICT_MARKERS: &str = "git's conflict markers";

/// Kind of a file whose name holds a credential.
pub(in crate::engine) const CREDENTIAL_IN_NAME: &str = "has a name that holds a credential";

/// Kind of a name that git interprets.
pub(in crate::engine) const GIT_NAME: &str =
    "has a name that git acts on, so that no other machine takes it";

/// Kind of a path with too many folders.
pub(in crate::engine) const TOO_DEEP: &str = "lies in more folders than another machine takes";

/// Kind of a path that some systems cannot store.
pub(in crate::engine) const UNPORTABLE_PATH: &str =
    "has a name or path that not every system holds";

/// Kind of a file in a folder with a memory's name.
pub(in crate::engine) const MEMORY_LIKE_FOLDER: &str =
    "lies in a folder that is called as a memory is";

/// Kind of settings that cannot be parsed.
pub(in crate::engine) const UNREADABLE_SETTINGS: &str =
    "cannot be read, so that none of its settings counts";

/// Kind of a file above the size limit.
pub(in crate::engine) const TOO_LARGE: &str = "has more bytes than another machine takes (10 MiB)";

/// Reason why a memory is held back from commits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quarantined {
    /// Path of the memory below the store's folder.
    pub file: String,
    /// Line of the file on which the finding begins, from 1; 0 if it is the file as a whole.
    pub line: usize,
    /// Kind of the finding, such as `a GitHub token`.
    pub kind: &'static str,
}

impl Quarantined {
    /// Whether the reason is git's conflict markers.
    pub fn is_unmerged(&self) -> bool {
        self.kind == CONFLICT_MARKERS
    }

    /// Whether the reason is the file as a whole: its name or size, or settings that cannot be
    /// read.
    pub fn is_untaken(&self) -> bool {
        self.line == 0
    }

    /// Whether the file is no memory: the settings, or a journal.
    pub fn is_beside(&self) -> bool {
        self.file == SETTINGS || is_journal(&self.file)
    }

    /// Returns advice for the user, as a command or a few words.
    pub fn remedy(&self) -> String {
        let stem = stem_of(&self.file);
        let id = match stem.is_canonical() {
            true => stem.short(),
            false => name_of(&self.file),
        };
        match self.kind {
            _ if self.is_beside() && self.line > 0 => "take it out of the file".to_owned(),
            CONFLICT_MARKERS => format!("`memdir resolve {id}`"),
            GIT_NAME | CREDENTIAL_IN_NAME | UNPORTABLE_PATH => "rename the file".to_owned(),
            MEMORY_LIKE_FOLDER => "rename the folder".to_owned(),
            UNREADABLE_SETTINGS => {
                "correct it; `memdir git diff` shows what was changed".to_owned()
            }
            TOO_DEEP => "move the file up".to_owned(),
            TOO_LARGE if is_journal(&self.file) => "shorten it".to_owned(),
            TOO_LARGE => "shorten it, or make several memories of it".to_owned(),
            _ => format!("`memdir redact {id}` or `memdir allow {id}`"),
        }
    }
}

impl fmt::Display for Quarantined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Quarantined { file, line, kind } = self;
        if self.is_untaken() {
            return write!(f, "{file} {kind}: {}", self.remedy());
        }
        write!(f, "{file} holds {kind} on line {line}")
    }
}

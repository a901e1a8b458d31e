//! Changes of memories in the past, from the git history of their folder, for a storage that keeps its own history.
//!
//! Promises: nothing is written; texts that hold a credential are left, as nobody would look for them there; a history
//! that is not there, is shallow or is damaged costs what it does not have, and [`GitChanges::left`] says so. Ids of
//! the commits that changed each memory are in memory, and texts of one memory at a time.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use crate::engine::error::EngineError;
use crate::engine::history::commits::commit_message;
use crate::engine::history::consent;
use crate::engine::texts::{FOLDERS, stem_of};
use crate::files::{EarlierChange, EarlierChanges};
use crate::format::is_memory_name;
use crate::git::{Id, Repository, each_change};
use crate::secrets;
use crate::secrets::Policy;
use crate::trust::Consent;

/// Maximum number of changes of one memory, and of bytes of their texts; older ones are left.
const MAX_CHANGES: usize = 500;
const MAX_BYTES: u64 = 4 << 20;

/// Changes of the memories of a folder with git. The history is read when the first memory is asked for.
pub struct GitChanges {
    root: PathBuf,
    consent: Consent,
    secrets: Policy,
    /// The history; `None` if there is none that can be read.
    read: OnceCell<Option<ReadHistory>>,
    left: RefCell<Left>,
}

/// Numbers of texts that were left, and the reason why a history was.
#[derive(Default)]
struct Left {
    history: Option<String>,
    with_secrets: usize,
    too_many: usize,
    damaged: Option<String>,
}

/// Commits, and the changes of each memory by them.
struct ReadHistory {
    repository: Repository,
    commits: Vec<Commit>,
    /// By [`key`], newest first.
    changes: HashMap<String, Vec<FileChange>>,
}

/// A change of one file by a commit.
struct FileChange {
    /// Number of the commit.
    commit: u32,
    path: String,
    /// New text; `None` removes the file.
    text: Option<Id>,
}

struct Commit {
    /// In seconds since 1970.
    at: i64,
    author: String,
    tool: String,
}

impl GitChanges {
    /// Returns the changes of the memories in the folder `root`, whose repository is read as `consent` permits.
    pub fn new(root: PathBuf, consent: Consent, secrets: Policy) -> GitChanges {
        GitChanges {
            root,
            consent,
            secrets,
            read: OnceCell::new(),
            left: RefCell::default(),
        }
    }

    /// Returns what was left, a sentence each; nothing if no memory was asked for.
    pub fn left(&self) -> Vec<String> {
        let left = self.left.borrow();
        let count = |count: usize, why: &str| {
            (count > 0).then(|| format!("{count} earlier texts were left: {why}"))
        };
        let all = [
            left.history
                .as_ref()
                .map(|why| format!("no earlier texts: {why}")),
            left.damaged
                .as_ref()
                .map(|why| format!("some earlier texts were left: {why}")),
            count(left.with_secrets, "they hold credentials"),
            count(
                left.too_many,
                "of one memory the last 500 changes and 4 MiB are taken",
            ),
        ];
        all.into_iter().flatten().collect()
    }

    fn history(&self) -> Option<&ReadHistory> {
        let read = || match self.read() {
            Ok(read) => Some(read),
            Err(why) => {
                self.left.borrow_mut().history = Some(why);
                None
            }
        };
        self.read.get_or_init(read).as_ref()
    }

    /// Reads the history; fails with the reason if there is none, or a part of it is missing.
    fn read(&self) -> Result<ReadHistory, String> {
        let repository = consent::repository_at(&self.root, &self.consent);
        let repository = repository.map_err(|error| error.to_string())?;
        let Some(repository) = repository else {
            return Err("the folder is in no git repository".to_owned());
        };
        if repository.is_shallow() {
            return Err("its git repository is a shallow one".to_owned());
        }
        let head = repository.head().map_err(|error| error.to_string())?;
        let Some(head) = head else {
            return Err("its git repository has no commit".to_owned());
        };
        let mut commits = Vec::new();
        let mut changes: HashMap<String, Vec<FileChange>> = HashMap::new();
        let taken = each_change::<EngineError>(&repository, head, |moment, files| {
            let files = files.into_iter().filter(|file| is_memory(&file.path));
            let mut is_first = true;
            for file in files {
                if is_first {
                    commits.push(Commit {
                        at: moment.at,
                        author: moment.author.clone(),
                        tool: commit_message::read(&moment.message).tools.join(", "),
                    });
                    is_first = false;
                }
                changes
                    .entry(key(&file.path))
                    .or_default()
                    .push(FileChange {
                        commit: commits.len() as u32 - 1,
                        path: file.path,
                        text: file.after,
                    });
            }
            Ok(())
        });
        taken.map_err(|error| error.to_string())?;
        Ok(ReadHistory {
            repository,
            commits,
            changes,
        })
    }

    /// Returns a text; `None` if it is left.
    fn text(&self, history: &ReadHistory, id: Id) -> Option<Vec<u8>> {
        let bytes = match history.repository.text(id) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.left.borrow_mut().damaged = Some(error.to_string());
                return None;
            }
        };
        let is_clean = self.secrets == Policy::Off
            || secrets::find(&String::from_utf8_lossy(&bytes)).is_empty();
        if !is_clean {
            self.left.borrow_mut().with_secrets += 1;
        }
        is_clean.then_some(bytes)
    }

    /// Returns the newest changes that are not too many, newest first.
    fn newest<'a>(&self, history: &ReadHistory, changes: &'a [FileChange]) -> &'a [FileChange] {
        let (mut bytes, mut known) = (0, HashSet::new());
        let fits = |change: &&FileChange| {
            let new = change.text.filter(|text| known.insert(*text));
            bytes += new.map_or(0, |text| history.repository.size_of(text).unwrap_or(0));
            bytes <= MAX_BYTES
        };
        let count = changes.iter().take(MAX_CHANGES).take_while(fits).count();
        self.left.borrow_mut().too_many += changes.len() - count;
        &changes[..count]
    }
}

impl EarlierChanges for GitChanges {
    fn of(&self, path: &str) -> Vec<EarlierChange> {
        let Some(history) = self.history() else {
            return Vec::new();
        };
        let changes = history.changes.get(&key(path));
        let changes = self.newest(history, changes.map_or(&[], Vec::as_slice));
        let mut earlier: Vec<EarlierChange> = Vec::new();
        let commits = changes.chunk_by(|one, other| one.commit == other.commit);
        for together in commits.rev() {
            let commit = &history.commits[together[0].commit as usize];
            let mut files = Vec::new();
            for FileChange { path, text, .. } in together {
                match text {
                    None => files.push((path.clone(), None)),
                    Some(id) => {
                        let text = self.text(history, *id);
                        files.extend(text.map(|text| (path.clone(), Some(text))));
                    }
                }
            }
            // A file that moves leaves its place before.
            files.sort_by_key(|(_, text)| text.is_some());
            earlier.push(EarlierChange {
                at: commit.at.saturating_mul(1_000_000_000),
                author: commit.author.clone(),
                tool: commit.tool.clone(),
                files,
            });
        }
        earlier
    }
}

/// Whether a memory lies at a path of a commit.
fn is_memory(path: &str) -> bool {
    let is_in = |folder: &&str| path.starts_with(&format!("{folder}/"));
    let mut parts = path.split('/').rev();
    parts.next().is_some_and(is_memory_name)
        && parts.all(|folder| !folder.starts_with('.'))
        && FOLDERS.iter().any(is_in)
}

/// Returns the name under which the changes of a memory are found: an id moves between folders; of other names each
/// path is a memory by itself.
fn key(path: &str) -> String {
    let stem = stem_of(path);
    match stem.is_canonical() {
        true => stem.as_str().to_owned(),
        false => path.to_owned(),
    }
}

//! Changes of memories in the past, written as commits of a new repository: the counterpart of `earlier_changes`.
//!
//! Promises: each text becomes part of a commit, in the order of the changes, with the time, author and tool of its
//! change; beside the repository no file is written. A commit holds the changes of one second by one author and tool.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::error::Error;
use std::path::PathBuf;

use chrono::DateTime;

use crate::engine::error::EngineError;
use crate::engine::history::commits::commit::READ_FOR_DOERS;
use crate::engine::history::commits::compare::{COMMITTED, Difference, memory_changes};
use crate::engine::history::commits::message::{Attribution, message};
use crate::engine::history::consent;
use crate::engine::texts::{name_of, stem_of};
use crate::files::{ChangeWriter, EarlierChange};
use crate::format;
use crate::git;
use crate::git::{Author, GitError, Id, NewText, Repository};
use crate::model::{Memory, is_talk_name};
use crate::secrets;
use crate::secrets::Policy;
use crate::trust::Consent;

/// Host in the addresses of authors of whom only the name is known.
const HOST: &str = "localhost";

/// Number of commits after which their objects are packed, if they are many.
const COMMITS_UNTIL_PACKED: usize = 200;

/// Maximum size of the texts of one commit in bytes.
const MAX_BYTES: usize = 32 << 20;

/// Texts that are in no commit.
#[derive(Debug, Clone, Copy)]
pub struct Withheld {
    /// The rule for texts that hold a credential.
    pub secrets: Policy,
    /// Whether talks with assistants are not among them.
    pub sync_talks: bool,
}

/// Writer of a repository for the store in a folder, with its changes until now.
pub struct GitWriter {
    root: PathBuf,
    withheld: Withheld,
    /// Number of texts that were left since they hold a credential.
    with_secrets: usize,
    /// The repository, once there is a change.
    repository: Option<Repository>,
    head: Option<Id>,
    /// Number of the commits.
    count: usize,
    /// Changes of the next commit.
    next: Vec<EarlierChange>,
    /// Paths of their files.
    paths: HashSet<String>,
    /// Size of their texts in bytes.
    bytes: usize,
}

impl GitWriter {
    /// Returns a writer for the folder `root`, which may not exist yet.
    ///
    /// # Errors
    ///
    /// Fails if the folder is in a repository already, which git would take for that of the store.
    pub fn new(
        root: PathBuf,
        consent: &Consent,
        withheld: Withheld,
    ) -> Result<GitWriter, EngineError> {
        let there = root.ancestors().find(|folder| folder.exists());
        if let Some(there) = there
            && let Some(repository) = consent::repository_at(there, consent)?
        {
            return Err(EngineError::Invalid(format!(
                "{} is in the git repository {}, where a store commits nothing: name a folder outside of it",
                root.display(),
                repository.work_folder().display()
            )));
        }
        Ok(GitWriter {
            root,
            withheld,
            with_secrets: 0,
            repository: None,
            head: None,
            count: 0,
            next: Vec::new(),
            paths: HashSet::new(),
            bytes: 0,
        })
    }

    /// Writes what is left, and has the branch begin with the last commit; returns the number of commits, and of texts that
    /// were left since they hold a credential.
    ///
    /// # Errors
    ///
    /// Fails if the repository cannot be written.
    pub fn finish(mut self) -> Result<(usize, usize), EngineError> {
        self.commit()?;
        if let (Some(repository), Some(head)) = (&self.repository, self.head) {
            let branch = format!("refs/heads/{}", repository.branch());
            git::advance_reference(repository, &branch, None, head, COMMITTED)?;
            git::make_index(repository, head)?;
            pack(repository)?;
        }
        Ok((self.count, self.with_secrets))
    }

    /// Whether the file at `path` is one that a store commits, with a text that no rule holds back.
    fn is_committed(&mut self, path: &str, text: Option<&[u8]>) -> bool {
        let size = text.map_or(0, <[u8]>::len) as u64;
        let is_local = !self.withheld.sync_talks && is_talk_name(name_of(path));
        if is_local || git::path_rejection(path, size).is_some() {
            return false;
        }
        let has_secret = |text: &[u8]| !secrets::find(&String::from_utf8_lossy(text)).is_empty();
        let is_withheld = self.withheld.secrets != Policy::Off && text.is_some_and(has_secret);
        self.with_secrets += usize::from(is_withheld);
        !is_withheld
    }

    /// Whether `change` belongs to the next commit.
    fn is_of_next(&self, change: &EarlierChange) -> bool {
        let Some(first) = self.next.first() else {
            return true;
        };
        let is_new = |(path, _): &(String, _)| !self.paths.contains(path);
        seconds(first) == seconds(change)
            && self.bytes <= MAX_BYTES
            && (&first.author, &first.tool) == (&change.author, &change.tool)
            && change.files.iter().all(is_new)
    }

    fn commit(&mut self) -> Result<(), GitError> {
        let changes = std::mem::take(&mut self.next);
        self.paths.clear();
        self.bytes = 0;
        let Some(first) = changes.first() else {
            return Ok(());
        };
        let (author, tool, at) = (first.author.clone(), first.tool.clone(), seconds(first));
        let repository = match self.repository.take() {
            Some(repository) => repository,
            None => Repository::create(&self.root, "main")?,
        };
        let repository = self.repository.insert(repository);
        let mut trees = git::trees(repository, self.head)?;
        let mut attribution = Attribution::default();
        attribution
            .tools
            .extend(tool.split(", ").map(str::to_owned));
        attribution.tools.remove("");
        let mut groups = Vec::new();
        let (mut files, mut texts) = (BTreeMap::new(), HashMap::new());
        for change in changes {
            let mut differences = Vec::new();
            for (path, text) in change.files {
                let before = trees.file(&path)?;
                let after = text.as_deref().map(Id::of_text);
                if before == after {
                    continue;
                }
                if let Some(text) = &text
                    && texts.len() < READ_FOR_DOERS
                {
                    let memory = memory_in(&path, text, change.at);
                    attribution.add(memory.agent, memory.user);
                }
                texts.extend(text.map(|text| (path.clone(), text)));
                files.insert(path.clone(), after);
                differences.push(Difference::of(path, before, after));
            }
            groups.push(memory_changes(&differences));
        }
        groups.retain(|group| !group.is_empty());
        if files.is_empty() {
            return Ok(());
        }
        let files: Vec<(String, Option<Id>)> = files.into_iter().collect();
        let mut text_of =
            |path: &str, _: Id| Ok(texts.remove(path).map_or(NewText::Known, NewText::Bytes));
        let parents: Vec<Id> = self.head.into_iter().collect();
        let said = message(&groups, &attribution, None);
        let author = Author::named(&author, HOST, at);
        let written = git::write_commit(
            repository,
            &mut trees,
            &parents,
            &files,
            &mut text_of,
            &said,
            &author,
        )?;
        self.head = written.or(self.head);
        self.count += 1;
        if self.count.is_multiple_of(COMMITS_UNTIL_PACKED) {
            pack(repository)?;
        }
        Ok(())
    }
}

fn pack(repository: &Repository) -> Result<(), GitError> {
    git::pack_loose_objects(repository, 1)?;
    git::join_packs(repository).map(drop)
}

impl ChangeWriter for GitWriter {
    fn add(&mut self, mut change: EarlierChange) -> Result<(), Box<dyn Error + Send + Sync>> {
        if change.author.is_empty() {
            change.author = user_in(&change);
        }
        let files = change.files.into_iter();
        change.files = files
            .filter(|(path, text)| self.is_committed(path, text.as_deref()))
            .collect();
        if !self.is_of_next(&change) {
            self.commit()?;
        }
        self.paths
            .extend(change.files.iter().map(|(path, _)| path.clone()));
        let texts = change.files.iter().filter_map(|(_, text)| text.as_ref());
        self.bytes += texts.map(Vec::len).sum::<usize>();
        self.next.push(change);
        Ok(())
    }
}

/// Returns the user that the first memory of a change states; empty if none does.
fn user_in(change: &EarlierChange) -> String {
    let users = change.files.iter().filter_map(|(path, text)| {
        let user = memory_in(path, text.as_ref()?, change.at).user;
        Some(user).filter(|user| !user.is_empty())
    });
    users.into_iter().next().unwrap_or_default()
}

fn memory_in(path: &str, text: &[u8], at: i64) -> Memory {
    format::parse(&stem_of(path), text, DateTime::from_timestamp_nanos(at))
}

/// Time of a change in seconds since 1970.
fn seconds(change: &EarlierChange) -> i64 {
    change.at.div_euclid(1_000_000_000)
}

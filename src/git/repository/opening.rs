//! Finding, opening and making repositories; their owner and obstacles.

use std::io::Write;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, RepositoryInitOptions, RepositoryState};

use crate::git::repository::loose_objects;
use crate::git::repository::loose_objects::check_loose_objects;
use crate::git::repository::umask::Shared;
use crate::git::{Author, GitError, Honoured, To, settings};

/// The repository that holds a store.
pub struct Repository {
    /// The opened repository.
    pub(in crate::git) inner: git2::Repository,
    /// Path of the store below the work folder, with a slash at its end; empty if it is that folder.
    pub(in crate::git) prefix: String,
    /// File modes of somebody's repository, in effect while this lives.
    _shared: Option<Shared>,
}

/// The owner of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The store: it was made for nothing else.
    Store,
    /// Somebody who asked for the store's commits in it.
    Asked,
    /// Somebody else.
    Other,
}

/// Reason why nothing should be committed in a repository at present.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// An operation of git is in progress, such as a merge or a rebase.
    InProgress(&'static str),
    DetachedHead,
    OtherBranch {
        found: String,
        expected: String,
    },
    /// It is a sparse checkout: missing files were not deleted.
    Sparse,
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Obstacle::InProgress(what) => write!(f, "{what} is in progress"),
            Obstacle::DetachedHead => f.write_str("no branch is checked out (detached HEAD)"),
            Obstacle::Sparse => f.write_str(
                "the repository is a sparse checkout, so that files are away that nobody deleted (`git sparse-checkout disable` brings them)",
            ),
            Obstacle::OtherBranch { found, expected } => {
                write!(
                    f,
                    "the branch `{found}` is checked out, not `{expected}`; `memdir sync --setup` takes it from now on"
                )
            }
        }
    }
}

/// Attributes that override a `.gitattributes` of a commit.
const OWN_ATTRIBUTES: &str = "\
# Memories keep their bytes, and a merge leaves no markers in them.
* -text -filter -ident -working-tree-encoding
*.md merge=binary
*.jsonl merge=union
";

/// Patterns of files that are derived or being written.
const OWN_EXCLUDES: &str = "\
.memdir/
.memdir-*.tmp
";

/// Files that libgit2 opens whenever they exist; it would hang on a FIFO.
const OPENED: [&str; 3] = ["config", "packed-refs", "index"];
/// Folders at which the search for a repository stops: none.
const NO_CEILING: [&str; 0] = [];

/// Refuses a repository in which one of these is a FIFO or a device.
fn check_plain_files(git: &Path, names: &[&str]) -> Result<(), GitError> {
    for name in names {
        let path = git.join(name);
        if std::fs::metadata(&path).is_ok_and(|data| !data.is_file() && !data.is_dir()) {
            let reason = format!("{} is no file: move it away", path.display());
            return Err(GitError::new("open the repository", reason));
        }
    }
    Ok(())
}

impl Repository {
    /// Opens the repository that the folder `root` belongs to; `None` if it lies in none, or in one that
    /// ignores it.
    ///
    /// # Errors
    ///
    /// Fails if there is one that cannot be opened, such as another user's, or one whose
    /// configuration names a file elsewhere that is not among the `honoured` settings.
    pub fn find(root: &Path, honoured: &Honoured) -> Result<Option<Repository>, GitError> {
        let action = "open the repository";
        // Objects were verified when they were written, and have a checksum; hashing a tree of ten
        // thousand files again takes longer than the rest of a commit.
        git2::opts::strict_hash_verification(false);
        let git_folder = match git2::Repository::discover_path(root, NO_CEILING) {
            Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
            other => other.to(action)?,
        };
        check_plain_files(&git_folder, &OPENED)?;
        settings::check_opening(&git_folder, honoured)?;
        let inner = match git2::Repository::open(&git_folder) {
            Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
            other => other.to(action)?,
        };
        check_loose_objects(&inner).to(action)?;
        let Some(work) = inner.workdir() else {
            return Ok(None); // A bare one holds no files.
        };
        let real = |path: &Path| path.canonicalize();
        let (Ok(work), Ok(root)) = (real(work), real(root)) else {
            return Ok(None);
        };
        let Ok(below) = root.strip_prefix(&work) else {
            return Ok(None);
        };
        let parts: Option<Vec<&str>> = below.components().map(|p| p.as_os_str().to_str()).collect();
        let Some(parts) = parts else {
            return Ok(None); // Paths of git are texts.
        };
        let prefix: String = parts.iter().map(|part| format!("{part}/")).collect();
        let files = format!("{prefix}files/");
        if !prefix.is_empty() && inner.is_path_ignored(&files).unwrap_or(false) {
            return Ok(None);
        }
        let mut repository = Repository {
            inner,
            prefix,
            _shared: None,
        };
        let branch = format!("refs/heads/{}", repository.branch());
        check_plain_files(repository.inner.commondir(), &[&branch])?;
        let owner = repository.owner();
        if owner != Owner::Store {
            let config = repository.local_config()?;
            let shared = config.get_string("core.sharedRepository").ok();
            repository._shared = Some(Shared::as_configured(shared.as_deref()));
        }
        // Nothing is written to a repository whose owner has not asked for it.
        if owner != Owner::Other {
            apply_settings(&repository.inner)?;
        }
        Ok(Some(repository))
    }

    /// Opens the repository again: libgit2 keeps files open that existed before.
    pub(in crate::git) fn reopened(&self) -> Result<Repository, GitError> {
        let inner = loose_objects::open(self.inner.path()).to("open the repository")?;
        apply_settings(&inner)?;
        Ok(Repository {
            inner,
            prefix: self.prefix.clone(),
            _shared: None,
        })
    }

    /// Makes a repository for the store at `root`, and for nothing else.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    pub fn create(root: &Path, branch: &str) -> Result<Repository, GitError> {
        let action = "make a repository";
        let mut options = RepositoryInitOptions::new();
        // No template: it may bring hooks.
        options
            .initial_head(branch)
            .external_template(false)
            .no_reinit(true);
        let inner = git2::Repository::init_opts(root, &options).to(action)?;
        check_loose_objects(&inner).to(action)?;
        apply_settings(&inner)?;
        let repository = Repository {
            inner,
            prefix: String::new(),
            _shared: None,
        };
        repository.take_over(branch)?;
        Ok(repository)
    }

    /// Configures it as the store's own, with commits to `branch`.
    ///
    /// # Errors
    ///
    /// Fails if its configuration cannot be written.
    pub fn take_over(&self, branch: &str) -> Result<(), GitError> {
        self.set_own_options()?;
        self.set("owner", "store")?;
        self.set("branch", branch)
    }

    /// Configures a repository of the store's own.
    pub(in crate::git) fn set_own_options(&self) -> Result<(), GitError> {
        let action = "set up the repository";
        let mut config = self.local_config()?;
        let mut set = |key: &str, value: &str| config.set_str(key, value).to(action);
        // What is committed survives a power cut.
        set("core.fsync", "all")?;
        // Bytes of memories are never changed by a checkout.
        set("core.autocrlf", "false")?;
        set("core.safecrlf", "false")?;
        // No link leads out of the store.
        set("core.symlinks", "false")?;
        set("core.quotePath", "false")?;
        // Packing is done here, and nothing old is thrown away before it is a year old.
        set("gc.auto", "0")?;
        set("maintenance.auto", "false")?;
        set("gc.pruneExpire", "1.year.ago")?;
        let info = self.inner.commondir().join("info");
        let written = std::fs::create_dir_all(&info)
            .and_then(|()| std::fs::write(info.join("attributes"), OWN_ATTRIBUTES))
            .and_then(|()| std::fs::write(info.join("exclude"), OWN_EXCLUDES));
        written.to(action)
    }

    /// Returns the author of commits: the user of git's configuration, else `user` at this machine.
    pub fn author(&self, user: &str, at: i64) -> Author {
        if let Ok(signature) = self.inner.signature() {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            return Author {
                name: text(signature.name_bytes()),
                email: text(signature.email_bytes()),
                at,
            };
        }
        Author::named(user, &host(), at)
    }

    /// Returns the owner that is recorded for this store.
    pub fn owner(&self) -> Owner {
        match self.get("owner").as_deref() {
            Some("store") => Owner::Store,
            Some("asked") => Owner::Asked,
            _ => Owner::Other,
        }
    }

    /// Returns whether this program set it up, but its configuration has no setting of it any more, because
    /// part of the file is lost.
    pub fn is_forgotten(&self) -> bool {
        let says_nothing = self.local_config().is_ok_and(|config| {
            let said = config.entries(Some("^memdir\\."));
            said.is_ok_and(|mut said| said.next().is_none())
        });
        says_nothing && self.inner.path().join(OWN_SETTINGS).exists()
    }

    /// Returns the folder `.git` of the repository.
    pub fn path(&self) -> &Path {
        self.inner.path()
    }

    /// Returns the work folder.
    pub fn work_folder(&self) -> PathBuf {
        self.inner.workdir().unwrap_or(self.inner.path()).to_owned()
    }

    /// Returns the value of this store's setting `key`.
    pub fn get(&self, key: &str) -> Option<String> {
        self.local_config().ok()?.get_string(&self.key(key)).ok()
    }

    /// Sets this store's setting `key`, in the configuration of the repository.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    pub fn set(&self, key: &str, value: &str) -> Result<(), GitError> {
        let name = self.key(key);
        self.local_config()?
            .set_str(&name, value)
            .to("change the repository's configuration")
    }

    /// Removes this store's setting `key`.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    pub fn unset(&self, key: &str) -> Result<(), GitError> {
        match self.local_config()?.remove(&self.key(key)) {
            Err(error) if error.code() == ErrorCode::NotFound => Ok(()),
            other => other.to("change the repository's configuration"),
        }
    }

    /// Returns the name of this store's setting `key`; a repository may hold several stores.
    fn key(&self, key: &str) -> String {
        let store = match self.prefix.trim_end_matches('/') {
            "" => ".",
            prefix => prefix,
        };
        format!("memdir.{store}.{key}")
    }

    /// Opens the configuration of the repository alone, without the user's.
    pub(in crate::git) fn local_config(&self) -> Result<git2::Config, GitError> {
        let action = "read the repository's configuration";
        let config = self.inner.config().to(action)?;
        config.open_level(git2::ConfigLevel::Local).to(action)
    }

    /// Returns the address of the remote called `name`, as it is written in the configuration.
    pub fn remote(&self, name: &str) -> Option<String> {
        // libgit2 would apply `url.*.insteadOf`.
        let config = self.local_config().ok()?;
        config.get_string(&format!("remote.{name}.url")).ok()
    }

    /// Returns the separate push address of the remote called `name`, if it has one.
    pub fn push_address(&self, name: &str) -> Option<String> {
        let config = self.local_config().ok()?;
        config.get_string(&format!("remote.{name}.pushurl")).ok()
    }

    /// Writes the address of the remote called `name` into the configuration.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    pub fn set_remote(&self, name: &str, address: &str) -> Result<(), GitError> {
        let action = "write down the remote";
        // libgit2 would write it to the file of `apply_settings`, which has a higher priority and
        // which only this program reads.
        let mut config = self.local_config()?;
        let is_new = self.inner.find_remote(name).is_err();
        config
            .set_str(&format!("remote.{name}.url"), address)
            .to(action)?;
        if is_new {
            let fetch = format!("+refs/heads/*:refs/remotes/{name}/*");
            config
                .set_str(&format!("remote.{name}.fetch"), &fetch)
                .to(action)?;
        }
        Ok(())
    }

    /// Renames the branch that is checked out to `branch`.
    ///
    /// # Errors
    ///
    /// Fails if there is another one of this name, or if it cannot be written.
    pub fn rename_branch(&self, branch: &str) -> Result<(), GitError> {
        let action = "rename the branch";
        let out = self.checked_out().unwrap_or_default();
        match self.inner.find_branch(&out, git2::BranchType::Local) {
            Ok(mut found) => found.rename(branch, false).map(drop).to(action),
            // Nothing was committed yet.
            Err(_) => {
                let name = format!("refs/heads/{branch}");
                self.inner.set_head(&name).to(action)
            }
        }
    }

    /// Returns the path of the store below the work folder, with a slash at its end; empty if it is that
    /// folder.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the branch that the store's commits go to.
    pub fn branch(&self) -> String {
        self.get("branch")
            .or_else(|| self.checked_out())
            .unwrap_or_else(|| "main".to_owned())
    }

    /// Returns the branch that is checked out, even if nothing was committed to it yet.
    pub fn checked_out(&self) -> Option<String> {
        let head = self.inner.find_reference("HEAD").ok()?;
        let target = head.symbolic_target().ok()??;
        target.strip_prefix("refs/heads/").map(str::to_owned)
    }

    /// Returns whether it is a sparse checkout; a work folder may have its own file for that setting.
    fn is_sparse(&self) -> bool {
        let says_so = |path: PathBuf| {
            let config = git2::Config::open(&path);
            config.and_then(|config| config.get_bool("core.sparseCheckout"))
        };
        says_so(self.inner.path().join("config.worktree"))
            .or_else(|_| says_so(self.inner.commondir().join("config")))
            .unwrap_or(false)
    }

    /// Returns the reason why nothing can be committed at present, if there is one.
    pub fn obstacle(&self) -> Option<Obstacle> {
        let what = match self.inner.state() {
            RepositoryState::Clean => None,
            RepositoryState::Merge => Some("a merge"),
            RepositoryState::Revert | RepositoryState::RevertSequence => Some("a revert"),
            RepositoryState::CherryPick | RepositoryState::CherryPickSequence => {
                Some("a cherry-pick")
            }
            RepositoryState::Bisect => Some("a bisect"),
            RepositoryState::Rebase
            | RepositoryState::RebaseInteractive
            | RepositoryState::RebaseMerge => Some("a rebase"),
            RepositoryState::ApplyMailbox | RepositoryState::ApplyMailboxOrRebase => {
                Some("applying of mails")
            }
        };
        if let Some(what) = what {
            return Some(Obstacle::InProgress(what));
        }
        let Some(found) = self.checked_out() else {
            return Some(Obstacle::DetachedHead);
        };
        if self.is_sparse() {
            return Some(Obstacle::Sparse);
        }
        let expected = self.branch();
        (found != expected).then_some(Obstacle::OtherBranch { found, expected })
    }
}

/// Name of the file with settings for libgit2 alone: written objects are synced, and a large tree is
/// packed by comparing it with its last few versions only, each of megabytes and almost the same. git
/// would warn of these settings, so they are in a file that git does not read.
const OWN_SETTINGS: &str = "memdir.config";
const SETTINGS: &str = "[core]\n\tfsyncObjectFiles = true\n[pack]\n\twindowMemory = 33554432\n";

fn apply_settings(repository: &git2::Repository) -> Result<(), GitError> {
    let action = "set up the repository";
    let path = repository.path().join(OWN_SETTINGS);
    let is_there = std::fs::read(&path).is_ok_and(|bytes| bytes == SETTINGS.as_bytes());
    if !is_there && replace(&path, SETTINGS.as_bytes()).is_err() {
        return Ok(()); // One that cannot be written to is only read.
    }
    let mut config = repository.config().to(action)?;
    config
        .add_file(&path, git2::ConfigLevel::App, true)
        .to(action)
}

/// Replaces a file atomically: another process reads either the old text or the new one.
pub(in crate::git) fn replace(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(path))?;
    file.write_all(text)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(unix)]
fn host() -> String {
    let system = rustix::system::uname();
    let name = system.nodename().to_string_lossy().into_owned();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    match name.chars().filter(|c| is_plain(*c)).collect::<String>() {
        name if name.is_empty() => "localhost".to_owned(),
        name => name,
    }
}

#[cfg(not(unix))]
fn host() -> String {
    "localhost".to_owned()
}

//! The user's record of stores: which folders this user trusts, and what each may do.
//!
//! The author of a handed-over folder writes everything in it: its settings, its repository's
//! configuration, its claims of what it is. Consent therefore lies with the user, in
//! `$XDG_STATE_HOME/memdir/stores/`, a JSON file for each store, and never in the store itself.
//! A record holds for a path together with the folder that was there: the same inode made at the
//! same moment, or the random id that memdir put into it, so that remounts and restores keep it
//! and another folder at the same place does not inherit it.
//!
//! This module knows records and folders. Who may be asked, and what is done without consent, is
//! decided by its callers.

mod reviews;

pub use reviews::{ReviewedTexts, Reviews, text_digest};

use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::files;
use crate::git::{GitSetting, Honoured};

/// Below the user's folder for state.
const FOLDER: &str = "stores";
/// Below the store's `.memdir`, which no repository and no `export` takes along.
const ID_FILE: &str = "store-id";
/// The largest record that is read. Theirs are a few hundred bytes.
const MAX_BYTES: u64 = 1 << 20;

/// An error in reading or writing a record.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("there is no folder to keep your consent in: set HOME or XDG_STATE_HOME")]
    NoPlace,
    #[error("cannot find the store {}", path.display())]
    NoStore { path: PathBuf, source: io::Error },
    #[error("cannot write your record of stores, {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// The remote that a store may exchange commits with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteConsent {
    /// As git gets it.
    pub address: String,
    /// The address that commits are pushed to, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push_address: Option<String>,
    /// Whether it may be a folder of this machine, or http to it.
    #[serde(default)]
    pub allow_local: bool,
}

/// Store that gets the changes of the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// This store.
    Pull,
    /// The other store.
    Push,
    /// Both.
    #[default]
    Merge,
}

impl Direction {
    /// Returns its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Direction::Pull => "pull",
            Direction::Push => "push",
            Direction::Merge => "merge",
        }
    }
}

/// Place of the token for a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenPlace {
    /// The file that `--keep-token` wrote for the address.
    Kept,
    /// The variable of this name.
    Variable(String),
}

/// The workspace of a team's server that the user joined a store to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceConsent {
    /// Such as `https://team.example/w/atlas`.
    pub address: String,
    /// Identity of the workspace: another one at the same address is not agreed to.
    pub identity: String,
    /// Direction of the changes.
    #[serde(default)]
    pub direction: Direction,
    /// Place of the token.
    pub token: TokenPlace,
}

/// The user's consent for one store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The store's folder without links, for people; the file's name is made of its exact bytes.
    pub store: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inode: Option<u64>,
    /// When the folder was made, in nanoseconds since 1970: inodes are used again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<RemoteConsent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceConsent>,
    /// Whether folders of the store may be links.
    #[serde(default)]
    pub allow_links: bool,
    /// Sources whose texts agents may be shown without a review.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted_sources: Vec<String>,
    /// Settings of the store's repository that name a program, a host or a file elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    git_settings: Vec<RecordedSetting>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedSetting {
    key: String,
    value: String,
}

impl Record {
    /// Returns the settings of the repository that count although they name programs, hosts or files.
    pub fn honoured(&self) -> Honoured {
        let settings = self.git_settings.iter();
        let settings = settings.map(|setting| GitSetting {
            key: setting.key.clone(),
            value: setting.value.clone(),
        });
        Honoured(settings.collect())
    }

    /// Agrees to exactly these settings of the repository.
    pub fn honour(&mut self, settings: &[GitSetting]) {
        let settings = settings.iter().map(|setting| RecordedSetting {
            key: setting.key.clone(),
            value: setting.value.clone(),
        });
        self.git_settings = settings.collect();
    }

    /// Returns whether the folder `store` is the one that this record was made for.
    fn is_of(&self, store: &Path) -> bool {
        let found = Identity::of(store);
        let is_same_folder =
            self.inode.is_some() && self.inode == found.inode && self.made == found.made;
        is_same_folder || (self.id.is_some() && self.id == found.id)
    }
}

/// Distinguishes a folder from another one at the same path.
struct Identity {
    inode: Option<u64>,
    made: Option<u64>,
    id: Option<String>,
}

impl Identity {
    fn of(store: &Path) -> Identity {
        let metadata = fs::metadata(store).ok();
        // On Windows the random id alone counts: a volume can be made with any numbers.
        let unix = metadata.as_ref().filter(|_| cfg!(unix));
        let inode = unix.and_then(|metadata| files::folder_number(store, metadata).ok());
        let made = metadata.as_ref().and_then(files::birth);
        Identity {
            inode,
            made: made.and_then(|made| u64::try_from(made.as_nanos()).ok()),
            id: id_in(store),
        }
    }
}

fn id_in(store: &Path) -> Option<String> {
    let path = id_path(store)?;
    let is_file = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file());
    let file = is_file.then(|| fs::File::open(path).ok())??;
    let mut text = String::new();
    file.take(64).read_to_string(&mut text).ok()?;
    Some(text.trim().to_owned()).filter(|id| !id.is_empty())
}

/// Returns the path of the store's id; `None` where its folder of derived things is a link.
fn id_path(store: &Path) -> Option<PathBuf> {
    let folder = store.join(files::STATE_FOLDER);
    let is_link = fs::symlink_metadata(&folder).is_ok_and(|metadata| metadata.is_symlink());
    (!is_link).then(|| folder.join(ID_FILE))
}

/// The records of one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Records {
    folder: PathBuf,
    /// The user's folder for state.
    state: PathBuf,
}

impl Records {
    /// Returns the records below the user's folder for state. Nothing is read or made yet.
    pub fn new(state_folder: &Path) -> Records {
        Records {
            folder: state_folder.join(FOLDER),
            state: state_folder.to_owned(),
        }
    }

    /// Returns the record of the store at `store`; `None` where there is none, or where another
    /// folder lies there now.
    pub fn find(&self, store: &Path) -> Option<Record> {
        self.at_path(store).filter(|record| record.is_of(store))
    }

    /// Returns the record of whatever store lay at this path.
    pub fn at_path(&self, store: &Path) -> Option<Record> {
        read(&self.path_of(&store.canonicalize().ok()?))
    }

    /// Changes the record of the store at `store`, which is made, or made anew for the folder that
    /// lies there now, first.
    ///
    /// # Errors
    ///
    /// Fails if the store is not there or the record cannot be written.
    pub fn change(
        &self,
        store: &Path,
        change: impl FnOnce(&mut Record),
    ) -> Result<Record, TrustError> {
        let no_store = |source| TrustError::NoStore {
            path: store.to_owned(),
            source,
        };
        let store = store.canonicalize().map_err(no_store)?;
        let _alone = self.lock()?;
        let mut record = self.find(&store).unwrap_or_else(|| mark(&store));
        change(&mut record);
        self.write(&store, &record)?;
        Ok(record)
    }

    /// Takes the workspace out of the record of whatever store lay at this path; returns it.
    ///
    /// # Errors
    ///
    /// Fails if the record cannot be written.
    pub fn leave_workspace(&self, store: &Path) -> Result<Option<WorkspaceConsent>, TrustError> {
        if self.at_path(store).is_none() {
            return Ok(None);
        }
        let _alone = self.lock()?;
        let Some(mut record) = self.at_path(store) else {
            return Ok(None);
        };
        let left = record.workspace.take();
        if let (Some(_), Ok(store)) = (&left, store.canonicalize()) {
            self.write(&store, &record)?;
        }
        Ok(left)
    }

    /// Takes the lock of all records: of two changes at once, one would be lost.
    fn lock(&self) -> Result<files::Lock, TrustError> {
        let failed = |source| TrustError::Write {
            path: self.folder.clone(),
            source,
        };
        let folder = self.state.join("locks");
        files::create_private_folder(&folder).map_err(failed)?;
        let lock = files::Lock::take(&folder.join("trust.lock"), "another change of the records");
        lock.map_err(|error| failed(io::Error::other(error)))
    }

    fn write(&self, canonical: &Path, record: &Record) -> Result<(), TrustError> {
        let path = self.path_of(canonical);
        let text = serde_json::to_string_pretty(record).expect("a record is plain JSON");
        let written = files::create_private_folder(&self.folder)
            .and_then(|()| files::write_synced(&path, format!("{text}\n").as_bytes()));
        written.map_err(|source| TrustError::Write { path, source })
    }

    /// Takes the consent for the store at `store` back. Returns whether there was any.
    ///
    /// # Errors
    ///
    /// Fails if the record cannot be removed.
    pub fn revoke(&self, store: &Path) -> Result<bool, TrustError> {
        // The folder may be gone; then its path was written without links.
        let store = store.canonicalize().unwrap_or_else(|_| store.to_owned());
        let path = self.path_of(&store);
        if !path.exists() {
            return Ok(false);
        }
        let _alone = self.lock()?;
        match files::remove_derived(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(TrustError::Write { path, source }),
        }
    }

    /// Every record, by the path of its store.
    pub fn all(&self) -> Vec<Record> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut records: Vec<Record> = entries.filter_map(|entry| read(&entry.path())).collect();
        records.sort_by(|one, other| one.store.cmp(&other.store));
        records
    }

    fn path_of(&self, canonical: &Path) -> PathBuf {
        let digest = files::digest(canonical.as_os_str().as_encoded_bytes());
        self.folder.join(format!("{digest:032x}.json"))
    }
}

/// Returns a record of the folder at `store` that agrees to nothing but the store itself. Puts a fresh id
/// into the folder where that can be done: what lies there already may have come with it.
fn mark(store: &Path) -> Record {
    let id = uuid::Uuid::new_v4().simple().to_string();
    let written = id_path(store).is_some_and(|path| {
        let folder = path
            .parent()
            .expect("it lies in the folder of derived things");
        files::create_private_folder(folder)
            .and_then(|()| files::write_derived(&path, format!("{id}\n").as_bytes()))
            .is_ok()
    });
    let found = Identity::of(store);
    Record {
        store: store.display().to_string(),
        inode: found.inode,
        made: found.made,
        id: written.then_some(id),
        remote: None,
        workspace: None,
        allow_links: false,
        accepted_sources: Vec::new(),
        git_settings: Vec::new(),
    }
}

fn read(path: &Path) -> Option<Record> {
    let file = fs::File::open(path).ok()?;
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text)
        .inspect_err(|error| tracing::warn!("{}: {error}; it is ignored", path.display()))
        .ok()
}

/// The source of the permission to use a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// The user's settings name it, or it is the default store.
    Settings,
    /// A flag or a variable of the environment names it, for this process.
    Process,
    /// It was found above the working folder, and the user's record holds it.
    Found,
}

/// The user's consent for the store that is open. Read anew at each question: another
/// process may have been told more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    records: Option<Records>,
    store: PathBuf,
    naming: Naming,
}

impl Consent {
    /// For the store at `store`; without `records` nothing beyond it is agreed to.
    pub fn new(records: Option<Records>, store: &Path, naming: Naming) -> Consent {
        Consent {
            records,
            store: store.to_owned(),
            naming,
        }
    }

    /// Returns whether this user or process names the store itself, so that what the environment says of a
    /// remote is meant for it.
    pub fn is_named(&self) -> bool {
        self.naming != Naming::Found
    }

    /// Returns whether version 0.1 may have set this store up, which kept consent in the repository: the
    /// user's settings name it, and there is no record of it.
    pub fn may_take_over(&self) -> bool {
        self.naming == Naming::Settings
            && self
                .records
                .as_ref()
                .is_some_and(|records| records.at_path(&self.store).is_none())
    }

    /// Returns the record of this store. That of another folder at the same path counts where the user
    /// names the path.
    pub fn record(&self) -> Option<Record> {
        let records = self.records.as_ref()?;
        match self.naming {
            Naming::Found => records.find(&self.store),
            Naming::Settings | Naming::Process => records.at_path(&self.store),
        }
    }

    /// Returns the remote that the store may use.
    pub fn remote(&self) -> Option<RemoteConsent> {
        self.record()?.remote
    }

    /// Returns the workspace that the user joined this folder to. That of another folder at the same path counts for
    /// nothing, whoever names the path: its memories would go to the team.
    pub fn workspace(&self) -> Option<WorkspaceConsent> {
        self.own_record()?.workspace
    }

    /// Returns the address of the workspace that another folder at this path was joined to.
    pub fn workspace_of_other_folder(&self) -> Option<String> {
        let record = self.records.as_ref()?.at_path(&self.store)?;
        let is_other = self.own_record().is_none();
        Some(record.workspace.filter(|_| is_other)?.address)
    }

    /// Takes the workspace out of the record, also that of another folder at this path; returns it.
    ///
    /// # Errors
    ///
    /// Fails if the record cannot be written.
    pub fn leave_workspace(&self) -> Result<Option<WorkspaceConsent>, TrustError> {
        match &self.records {
            Some(records) => records.leave_workspace(&self.store),
            None => Ok(None),
        }
    }

    /// Returns the record that was made for this very folder.
    fn own_record(&self) -> Option<Record> {
        self.records.as_ref()?.find(&self.store)
    }

    /// Returns the settings of the store's repository that count.
    pub fn honoured(&self) -> Honoured {
        self.record()
            .map(|record| record.honoured())
            .unwrap_or_default()
    }

    /// Returns the reviews of the store; `None` without a place for records.
    pub fn reviews(&self) -> Option<Reviews> {
        let records = self.records.as_ref()?;
        Some(Reviews::new(&records.state, &self.store))
    }

    /// Returns the names of the sources whose texts are accepted. That of another folder at the same path
    /// counts for nothing.
    pub fn accepted_sources(&self) -> Vec<String> {
        self.own_record()
            .map(|record| record.accepted_sources)
            .unwrap_or_default()
    }

    /// Notes that the store may use this remote.
    ///
    /// # Errors
    ///
    /// Fails if the record cannot be written.
    pub fn set_remote(&self, remote: RemoteConsent) -> Result<(), TrustError> {
        self.change(|record| record.remote = Some(remote))
    }

    /// Changes the record of this store.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    pub fn change(&self, change: impl FnOnce(&mut Record)) -> Result<(), TrustError> {
        let records = self.records.as_ref().ok_or(TrustError::NoPlace)?;
        records.change(&self.store, change).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene() -> (tempfile::TempDir, Records, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let records = Records::new(&folder.path().join("state"));
        let store = folder.path().join("store");
        fs::create_dir_all(store.join("files")).unwrap();
        (folder, records, store)
    }

    fn remote() -> RemoteConsent {
        RemoteConsent {
            address: "git@git.example:me/x".to_owned(),
            push_address: None,
            allow_local: false,
        }
    }

    #[test]
    fn what_was_agreed_to_is_found_again() {
        let (_folder, records, store) = scene();
        assert_eq!(records.find(&store), None);
        records
            .change(&store, |record| record.remote = Some(remote()))
            .unwrap();
        assert_eq!(records.find(&store).unwrap().remote, Some(remote()));
        assert_eq!(records.all().len(), 1);
        assert!(records.revoke(&store).unwrap());
        assert_eq!(records.find(&store), None);
    }

    #[test]
    fn another_folder_at_the_same_path_inherits_nothing() {
        let (folder, records, store) = scene();
        let joined = WorkspaceConsent {
            address: "https://team.example/w/atlas".to_owned(),
            identity: "an identity".to_owned(),
            direction: Direction::Pull,
            token: TokenPlace::Variable("MEMDIR_TOKEN".to_owned()),
        };
        let join = |record: &mut Record| record.workspace = Some(joined.clone());
        records.change(&store, join).unwrap();
        let consent = || Consent::new(Some(records.clone()), &store, Naming::Process);
        assert_eq!(consent().workspace().as_ref(), Some(&joined));
        assert_eq!(consent().workspace_of_other_folder(), None);
        fs::rename(&store, folder.path().join("away")).unwrap();
        fs::create_dir_all(store.join("files")).unwrap();
        assert_eq!(records.find(&store), None);
        assert!(records.at_path(&store).is_some());
        let found = Consent::new(Some(records.clone()), &store, Naming::Found);
        assert_eq!(found.record(), None);
        // Whoever names the path means its remote, too; memories go to a team from the joined folder alone.
        assert!(consent().record().is_some());
        assert_eq!(consent().workspace(), None);
        assert_eq!(consent().workspace_of_other_folder(), Some(joined.address));
    }

    #[test]
    fn a_store_that_was_restored_is_known_by_its_id() {
        let (folder, records, store) = scene();
        records.change(&store, |_| {}).unwrap();
        let id = fs::read(store.join(".memdir/store-id")).unwrap();
        fs::rename(&store, folder.path().join("away")).unwrap();
        fs::create_dir_all(store.join(".memdir")).unwrap();
        fs::write(store.join(".memdir/store-id"), id).unwrap();
        assert!(records.find(&store).is_some());
    }

    #[test]
    fn an_id_that_came_with_a_folder_is_not_taken_over() {
        let (_folder, records, store) = scene();
        fs::create_dir_all(store.join(".memdir")).unwrap();
        fs::write(store.join(".memdir/store-id"), "theirs\n").unwrap();
        records.change(&store, |_| {}).unwrap();
        let now = fs::read_to_string(store.join(".memdir/store-id")).unwrap();
        assert_ne!(now, "theirs\n");
    }

    #[test]
    fn without_a_place_for_records_nothing_is_agreed_to() {
        let (_folder, _, store) = scene();
        let consent = Consent::new(None, &store, Naming::Settings);
        assert!(!consent.may_take_over());
        assert!(matches!(
            consent.set_remote(remote()),
            Err(TrustError::NoPlace)
        ));
    }
}

//! Records of what memdir changed in files of clients, with the texts before, so that it can be taken back.
//!
//! A record for each file lies in the user's folder for state, readable by the user alone: configurations
//! hold tokens of other servers.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::part::Part;

/// Folder below the user's folder for state.
const FOLDER: &str = "setup";
/// Version of the records' format.
const VERSION: u32 = 1;

/// A file that memdir changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    version: u32,
    /// The file, links followed.
    pub path: String,
    /// Whose parts memdir put into it, by name of client.
    pub clients: BTreeMap<String, Vec<Part>>,
    /// The text without these parts; `None` where there was no file.
    pub before: Option<String>,
    /// Digest of the text that memdir wrote.
    pub after: String,
    /// The entry of the server that memdir wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Value>,
    /// Folders that were made for the file, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
}

impl Record {
    pub fn new(path: &Path, before: Option<&str>) -> Record {
        Record {
            version: VERSION,
            path: path.display().to_string(),
            clients: BTreeMap::new(),
            before: before.map(str::to_owned),
            after: String::new(),
            server: None,
            folders: Vec::new(),
        }
    }

    /// Notes that a part of a client stands in the file.
    pub fn add(&mut self, client: &str, part: Part) {
        let parts = self.clients.entry(client.to_owned()).or_default();
        if !parts.contains(&part) {
            parts.push(part);
        }
    }

    /// Returns whether a text is the one that memdir wrote.
    pub fn is_current(&self, text: &str) -> bool {
        self.after == digest(text)
    }
}

/// Returns the digest that a record keeps of a text.
pub fn digest(text: &str) -> String {
    format!("{:032x}", crate::files::digest(text.as_bytes()))
}

/// The records of one user.
#[derive(Debug, Clone)]
pub struct Records {
    folder: PathBuf,
}

impl Records {
    /// Returns the records below the user's folder for state. Nothing is read or made yet.
    pub fn new(state_folder: &Path) -> Records {
        Records {
            folder: state_folder.join(FOLDER),
        }
    }

    /// Returns the record of the file at `path`. One that cannot be read counts as none, with a warning.
    pub fn find(&self, path: &Path) -> Option<Record> {
        let file = self.path_of(path);
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!("{}: {error}; it is ignored", file.display());
                return None;
            }
        };
        let record: Result<Record, _> = serde_json::from_str(&text);
        record
            .inspect_err(|error| tracing::warn!("{}: {error}; it is ignored", file.display()))
            .ok()
            .filter(|record| record.version == VERSION)
    }

    pub(super) fn save(&self, path: &Path, record: &Record) -> io::Result<()> {
        let text = serde_json::to_string_pretty(record).expect("a record is plain JSON");
        crate::files::create_private_folder(&self.folder)?;
        crate::files::write_synced(&self.path_of(path), format!("{text}\n").as_bytes())
    }

    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        match self.path_of(path).exists() {
            true => crate::files::remove_derived(&self.path_of(path)),
            false => Ok(()),
        }
    }

    fn path_of(&self, path: &Path) -> PathBuf {
        let digest = crate::files::digest(path.as_os_str().as_encoded_bytes());
        self.folder.join(format!("{digest:032x}.json"))
    }
}

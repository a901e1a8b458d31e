//! Does what a plan says: replaces files whole, and notes what they were.
//!
//! The order keeps what can be taken back: the record of a file is on the disk before its text changes, and
//! goes after its old text is back.

use std::io;
use std::path::{Path, PathBuf};

use super::plan::Change;
use super::record::Records;

/// The reason for which a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    #[error("{} was changed by another program meanwhile", path.display())]
    Changed { path: PathBuf },
    #[error("cannot {action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

/// Changes one file.
///
/// # Errors
///
/// Fails if the file is no longer what the plan read, or cannot be written. It is unchanged then.
pub fn apply(change: &Change, records: Option<&Records>) -> Result<(), ApplyError> {
    let target = &change.target;
    let at = |action, path: &Path| {
        let path = path.to_owned();
        move |source| ApplyError::Io {
            action,
            path,
            source,
        }
    };
    let is_same = match std::fs::read(target) {
        Ok(bytes) => change
            .before
            .as_ref()
            .is_some_and(|text| text.as_bytes() == bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => change.before.is_none(),
        Err(error) => return Err(at("read", target)(error)),
    };
    if !is_same {
        return Err(ApplyError::Changed {
            path: change.path.clone(),
        });
    }
    if let (Some(record), Some(records)) = (&change.record, records) {
        records
            .save(target, record)
            .map_err(at("note what is changed of", target))?;
    }
    match &change.after {
        after if *after == change.before => {}
        Some(text) => {
            if let Some(folder) = target.parent() {
                crate::files::create_private_folder(folder).map_err(at("make", folder))?;
            }
            crate::files::write_synced(target, text.as_bytes()).map_err(at("write", target))?;
        }
        None => {
            crate::files::remove_derived(target).map_err(at("remove", target))?;
        }
    }
    for folder in &change.folders {
        // One that others use now stays.
        let _ = std::fs::remove_dir(folder);
    }
    if let (None, Some(records)) = (&change.record, records) {
        records
            .remove(target)
            .map_err(at("forget what was changed of", target))?;
    }
    Ok(())
}

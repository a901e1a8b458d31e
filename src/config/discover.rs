//! Finds the store where nobody names it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::model::{IN_PLACE, Stem};

/// The way in which a store was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreOrigin {
    /// Named on the command line: it must exist, a slip must not make a new one.
    Flag,
    /// Named by the environment, by configuration, or the default: made when first written to.
    Configured,
    /// A folder above the working folder, which the user trusts.
    Parent,
}

/// The folder of derived things.
const STATE: &str = ".memdir";
/// The settings file that marks a folder as a store.
pub const MARK: &str = "memdir.toml";

/// The folder of a project in which AIAML keeps its store.
const AIAML_FOLDER: &str = "memory";

/// Returns the nearest of `folder` and its parents that is a store, or has AIAML's store in it.
pub(super) fn nearest_store(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find_map(|folder| {
        let around = store_at(folder);
        let of_aiaml = folder.join(AIAML_FOLDER);
        let holds = is_surely_store(&around).then_some(around);
        holds.or_else(|| holds_a_memory(&of_aiaml.join("files")).then_some(of_aiaml))
    })
}

/// Returns the store that is meant by `folder`: itself, or the one that opens it in place.
pub fn store_at(folder: &Path) -> PathBuf {
    let in_place = folder.join(IN_PLACE);
    match !is_surely_store(folder) && in_place.join(MARK).is_file() {
        true => in_place,
        false => folder.to_owned(),
    }
}

/// Returns whether a folder holds a settings file, or memories under `files/`.
fn is_surely_store(folder: &Path) -> bool {
    folder.join(MARK).is_file() || holds_a_memory(&folder.join("files"))
}

fn holds_a_memory(files: &Path) -> bool {
    let Ok(entries) = fs::read_dir(files) else {
        return false;
    };
    // A `files` folder of something else shows itself early.
    entries.flatten().take(1_000).any(|entry| {
        let name = entry.file_name();
        name.to_str()
            .and_then(|name| name.strip_suffix(".md"))
            .is_some_and(|stem| Stem::parse(stem).is_some())
    })
}

/// Returns the nearest of `folder` and its parents that holds a folder `files` or memdir's folder of derived
/// things.
pub(super) fn nearest_lookalike(folder: &Path) -> Option<PathBuf> {
    let looks = |folder: &&Path| {
        let has = |name: &str| folder.join(name).is_dir();
        has("files") || has(STATE) || has(IN_PLACE)
    };
    folder.ancestors().find(looks).map(Path::to_owned)
}

/// Returns whether `folder` is surely a store: it holds a settings file, or memories under `files/`.
pub fn is_marked(folder: &Path) -> bool {
    is_surely_store(folder)
}

/// Returns whether `folder` is a store, or may be one: it has a settings file or a folder `files`.
pub fn is_store(folder: &Path) -> bool {
    folder.join(MARK).is_file() || folder.join("files").is_dir()
}

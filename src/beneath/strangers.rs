//! Sets aside what stands among a store's derived things in the place of something else.

use std::io;
use std::path::Path;

use super::entry::Kind;
use super::folder::SET_ASIDE;
use super::system::Folder;

/// Sets aside what stands where a file of derived things belongs and is none, and what stands where
/// a folder of them belongs and is none, in the folder `state` and the folders that it has.
///
/// # Errors
///
/// Fails if the folder cannot be read, or something cannot be renamed.
pub fn set_strangers_aside(state: &Path) -> io::Result<()> {
    let state = Folder::of_state(state)?;
    for (name, kind) in state.names()? {
        // What we know nothing of is none of ours.
        let is_stranger = match kind {
            _ if name.contains(SET_ASIDE) => false,
            Kind::File => holds_files_only(&name),
            Kind::Folder => is_called_as_a_file(&name),
            Kind::Link | Kind::Special => is_called_as_a_file(&name) || holds_files_only(&name),
        };
        if is_stranger {
            state.rename_aside(&name)?;
        } else if kind == Kind::Folder && holds_files_only(&name) {
            let folder = state.below(&name)?;
            for (name, kind) in folder.names()? {
                if kind != Kind::File && !name.contains(SET_ASIDE) {
                    folder.rename_aside(&name)?;
                }
            }
        }
    }
    Ok(())
}

/// Names of files among the derived things, beside those with an ending.
const FILES: [&str; 9] = [
    ".gitignore",
    "heartbeat",
    "journal-id",
    "listed",
    "serving",
    "sync-state",
    "tokens",
    "tools.log",
    "tools.taken",
];

fn is_called_as_a_file(name: &str) -> bool {
    FILES.contains(&name) || name.ends_with(".lock") || name.ends_with("-at-work")
}

/// Returns whether a folder of this name among the derived things holds files and nothing else.
fn holds_files_only(name: &str) -> bool {
    let is_index = ["index-v", "turns-v", "vectors-v"]
        .iter()
        .any(|kind| name.starts_with(kind));
    is_index || name == "locks" || name == "plans"
}

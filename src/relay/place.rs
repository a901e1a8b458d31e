//! The folder with the sockets of servers, and who may have made what is in it.

use std::path::{Path, PathBuf};

/// Name of the folder in the user's folder for state.
const FOLDER: &str = "relay";

/// The place of one server: its socket, which may be there or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayPlace {
    folder: PathBuf,
    /// Path of the socket.
    pub socket: PathBuf,
}

impl RelayPlace {
    /// Returns the place of a server with this fingerprint, in the user's folder for state and never in the
    /// store: that may be handed over by somebody else.
    pub fn new(state_folder: &Path, fingerprint: &str) -> RelayPlace {
        let folder = state_folder.join(FOLDER);
        RelayPlace {
            // The system allows about a hundred bytes for the path of a socket.
            socket: folder.join(&fingerprint[..fingerprint.len().min(16)]),
            folder,
        }
    }

    /// Returns the place of a server that answers questions, likewise.
    pub fn of_questions(state_folder: &Path, fingerprint: &str) -> RelayPlace {
        let RelayPlace { folder, socket } = RelayPlace::new(state_folder, fingerprint);
        RelayPlace {
            folder,
            socket: socket.with_extension("questions"),
        }
    }

    /// Makes the folder, and checks that it is this user's alone.
    pub(super) fn prepare(&self) -> std::io::Result<()> {
        crate::files::create_private_folder(&self.folder)?;
        match self.is_private() {
            true => Ok(()),
            false => Err(std::io::ErrorKind::PermissionDenied.into()),
        }
    }

    /// Returns whether the folder is this user's alone.
    fn is_private(&self) -> bool {
        std::fs::symlink_metadata(&self.folder)
            .is_ok_and(|folder| folder.is_dir() && is_own_with(&folder, 0o700))
    }

    /// Returns whether there is a socket that this user alone can have made and can open.
    pub(super) fn is_trusted(&self) -> bool {
        use std::os::unix::fs::FileTypeExt;
        let socket = std::fs::symlink_metadata(&self.socket);
        self.is_private()
            && socket
                .is_ok_and(|socket| socket.file_type().is_socket() && is_own_with(&socket, 0o600))
    }
}

/// Returns whether it belongs to this user, with this mode.
fn is_own_with(metadata: &std::fs::Metadata, mode: u32) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o7777 == mode
}

//! Detection of local disks, network mounts and folders of sync services, on which locks, events and
//! indexes depend.

use std::path::Path;

/// Medium of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    Local,
    /// A network mount, with its kind. Events do not report changes of other machines, and locks may not
    /// exclude them.
    Network(&'static str),
    /// A folder that a service copies to other machines, open files included.
    Synced(&'static str),
}

/// Returns the medium of `folder`.
pub fn medium(folder: &Path) -> Medium {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    if let Some(kind) = network(&folder) {
        return Medium::Network(kind);
    }
    synced(&folder).map_or(Medium::Local, Medium::Synced)
}

/// Returns the kind of a network file system, by the type of `statfs`.
#[cfg(target_os = "linux")]
fn network(folder: &Path) -> Option<&'static str> {
    const KINDS: [(u32, &str); 9] = [
        (0x6969, "NFS"),
        (0x517b, "SMB"),
        (0xff53_4d42, "SMB"),
        (0xfe53_4d42, "SMB"),
        (0x0102_1997, "9P"),
        (0x5346_414f, "AFS"),
        (0x00c3_6400, "Ceph"),
        (0x0bd0_0bd0, "Lustre"),
        (0x6573_5546, "FUSE"),
    ];
    let kind = rustix::fs::statfs(folder).ok()?.f_type as u32;
    let known = KINDS.iter().find(|(number, _)| *number == kind);
    known.map(|(_, name)| *name)
}

#[cfg(windows)]
fn network(folder: &Path) -> Option<&'static str> {
    let path = folder.to_string_lossy();
    let is_share =
        path.starts_with(r"\\?\UNC\") || (path.starts_with(r"\\") && !path.starts_with(r"\\?\"));
    is_share.then_some("a share")
}

/// Returns the kind of a file system that is not this machine's, by the name that `statfs` gives it.
#[cfg(target_vendor = "apple")]
fn network(folder: &Path) -> Option<&'static str> {
    const KINDS: [(&[u8], &str); 4] = [
        (b"nfs", "NFS"),
        (b"smbfs", "SMB"),
        (b"afpfs", "AFP"),
        (b"webdav", "WebDAV"),
    ];
    /// `MNT_LOCAL` of `sys/mount.h`.
    const LOCAL: u32 = 0x1000;
    let found = rustix::fs::statfs(folder).ok()?;
    let name = found.f_fstypename.map(|byte| byte.to_ne_bytes()[0]);
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let known = KINDS.iter().find(|(known, _)| *known == name);
    let is_local = found.f_flags & LOCAL != 0;
    match known {
        Some((_, kind)) => Some(kind),
        None if is_local => None,
        None => Some("a network mount"),
    }
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple", windows)))]
fn network(_: &Path) -> Option<&'static str> {
    None
}

/// Returns the sync service of a folder, by files that it leaves there, or by the folder's name.
fn synced(folder: &Path) -> Option<&'static str> {
    const LEFT: [(&str, &str); 5] = [
        (".dropbox", "Dropbox"),
        (".stfolder", "Syncthing"),
        (".owncloudsync.log", "ownCloud"),
        (".nextcloudsync.log", "Nextcloud"),
        (".sync_folder", "a sync service"),
    ];
    const CALLED: [(&str, &str); 5] = [
        ("Mobile Documents", "iCloud"),
        ("CloudStorage", "a sync service"),
        ("Dropbox", "Dropbox"),
        ("OneDrive", "OneDrive"),
        ("Google Drive", "Google Drive"),
    ];
    folder.ancestors().find_map(|folder| {
        let name = folder.file_name()?.to_string_lossy();
        let called = CALLED
            .iter()
            .find(|(called, _)| *name == **called || name.starts_with(&format!("{called} - ")));
        let left = || LEFT.iter().find(|(left, _)| folder.join(left).exists());
        called.or_else(left).map(|(_, service)| *service)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_known_by_their_folders() {
        assert_eq!(synced(Path::new("/home/mira/notes")), None);
        assert_eq!(
            synced(Path::new("/home/mira/Dropbox/notes")),
            Some("Dropbox")
        );
        let work = Path::new("/home/mira/OneDrive - Work/notes");
        assert_eq!(synced(work), Some("OneDrive"));
    }
}

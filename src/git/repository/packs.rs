//! Objects on disk: loose objects, and packs with their indexes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use git2::{Odb, Oid, PackBuilder};

use crate::git::repository::processes;
use crate::git::{GitError, Id, Repository, To};

/// A pack that has an index.
pub(in crate::git) struct Pack {
    /// Path of the pack.
    pub path: PathBuf,
    /// Size in bytes.
    pub size: u64,
}

/// First bytes of a pack's index, before the counts of ids by their first byte.
const LIST_HEADER: [u8; 8] = *b"\xfftOc\0\0\0\x02";
const COUNTS: usize = 256 * 4;

impl Pack {
    /// Returns whether no file marks it to be kept as it is.
    pub fn is_plain(&self) -> bool {
        let marks = ["keep", "promisor", "mtimes"];
        !marks
            .iter()
            .any(|mark| self.path.with_extension(mark).exists())
    }

    /// Returns the ids of its objects, sorted.
    pub fn ids(&self) -> std::io::Result<Vec<[u8; 20]>> {
        let list = std::fs::read(self.path.with_extension("idx"))?;
        let unknown = || std::io::Error::other("the list of a pack is of an unknown kind");
        let rest = list.strip_prefix(&LIST_HEADER).ok_or_else(unknown)?;
        let (counts, rest) = rest.split_at_checked(COUNTS).ok_or_else(unknown)?;
        let (_, count) = counts.split_at(COUNTS - 4);
        let count = u32::from_be_bytes(count.try_into().map_err(|_| unknown())?) as usize;
        let ids = rest.get(..count * 20).ok_or_else(unknown)?;
        Ok(ids.as_chunks::<20>().0.to_vec())
    }

    /// Removes the pack and its files, the index last: an index without its pack is skipped, a pack without
    /// its index would be garbage.
    pub fn remove(&self) {
        for part in ["pack", "rev", "bitmap", "idx"] {
            let _ = remove_read_only(&self.path.with_extension(part)); // Tried again later.
        }
    }
}

/// Removes a file of git's objects, which are read-only: Windows removes such a file only from some disks, a
/// stick is none of them.
pub(in crate::git) fn remove_read_only(path: &Path) -> std::io::Result<()> {
    let removed = std::fs::remove_file(path);
    #[cfg(windows)]
    if let Err(error) = &removed
        && error.kind() == std::io::ErrorKind::PermissionDenied
    {
        let mut permissions = std::fs::metadata(path)?.permissions();
        #[allow(
            clippy::permissions_set_readonly_false,
            reason = "on Windows it lets nobody else write"
        )]
        permissions.set_readonly(false);
        std::fs::set_permissions(path, permissions)?;
        return std::fs::remove_file(path);
    }
    removed
}

/// Writes the objects of `builder` as a pack of this repository; `action` is for errors.
pub(in crate::git) fn write_pack(
    repository: &Repository,
    builder: &mut PackBuilder<'_>,
    action: &str,
) -> Result<(), GitError> {
    let odb = repository.inner.odb().to(action)?;
    let mut pack = odb.packwriter().to(action)?;
    let mut failed = None;
    builder
        .foreach(|bytes| {
            failed = pack.write_all(bytes).err();
            failed.is_none()
        })
        .to(action)?;
    if let Some(error) = failed {
        return Err(GitError::new(action, error.to_string()));
    }
    // libgit2 verifies the pack before it gives it its name.
    pack.commit().to(action)?;
    Ok(())
}

/// Returns the loose objects: id, path, size in bytes.
pub(in crate::git) fn loose_objects(repository: &Repository) -> Vec<(Oid, PathBuf, u64)> {
    let folder = repository.inner.commondir().join("objects");
    let mut loose = Vec::new();
    for byte in 0..=u8::MAX {
        let start = format!("{byte:02x}");
        let Ok(files) = std::fs::read_dir(folder.join(&start)) else {
            continue;
        };
        for file in files.flatten() {
            let name = file.file_name();
            let id = name.to_str().map(|rest| format!("{start}{rest}"));
            let Some(Id(id)) = id.as_deref().and_then(Id::parse) else {
                continue;
            };
            let size = file.metadata().map_or(0, |data| data.len());
            loose.push((id, file.path(), size));
        }
    }
    loose
}

/// Returns the folder of packs.
pub(in crate::git) fn pack_folder(repository: &Repository) -> PathBuf {
    repository.inner.commondir().join("objects/pack")
}

/// Returns the packs that have an index, unsorted.
pub(in crate::git) fn packs(repository: &Repository) -> Vec<Pack> {
    let mut packs = Vec::new();
    let Ok(files) = std::fs::read_dir(pack_folder(repository)) else {
        return packs;
    };
    for file in files.flatten() {
        let path = file.path();
        if path.extension().is_some_and(|word| word == "pack")
            && path.with_extension("idx").exists()
            && let Ok(data) = file.metadata()
        {
            let size = data.len();
            packs.push(Pack { path, size });
        }
    }
    packs
}

/// Beginning of the names of libgit2's unfinished packs and their lock files.
const OF_LIBGIT2: &str = "pack_git2_";
/// Beginnings of the names of git's unfinished packs and indexes.
const OF_GIT: [&str; 3] = ["tmp_pack_", "tmp_idx_", "tmp_rev_"];
/// Age from which an unfinished pack counts as abandoned, whoever makes it: an exchange takes an hour at
/// most.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// Removes the packs that killed processes did not finish, and their lock files; never those that a
/// process has open. `is_alone` means that no other process of this program writes packs: libgit2's are
/// then removed at once, others after a day.
pub fn remove_unfinished_packs(repository: &Repository, is_alone: bool) {
    let files = std::fs::read_dir(pack_folder(repository));
    for file in files.into_iter().flatten().flatten() {
        let name = file.file_name();
        let name = name.to_string_lossy();
        let is_of_libgit2 = name.starts_with(OF_LIBGIT2);
        if !is_of_libgit2 && !OF_GIT.iter().any(|begin| name.starts_with(begin)) {
            continue;
        }
        let age = || file.metadata().ok()?.modified().ok()?.elapsed().ok();
        let is_abandoned =
            (is_alone && is_of_libgit2) || age().is_some_and(|age| age > ABANDONED_AFTER);
        if is_abandoned && !processes::is_open_somewhere(&file.path()) {
            let _ = remove_read_only(&file.path()); // Tried again later.
        }
    }
}

/// Returns whether the object can be read and has its id as hash.
pub(in crate::git) fn is_sound(odb: &Odb<'_>, id: Oid) -> bool {
    odb.read(id).is_ok_and(|object| {
        Oid::hash_object(object.kind(), object.data()).is_ok_and(|hash| hash == id)
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{File, FileTimes};
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn unfinished_packs_are_removed_when_nobody_can_finish_them() {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::create(folder.path(), "main").unwrap();
        let packs = pack_folder(&repository);
        let make = |name: &str| File::create(packs.join(name)).unwrap();
        let old = FileTimes::new().set_modified(SystemTime::now() - 2 * ABANDONED_AFTER);
        for name in ["tmp_pack_Xq3", "pack_git2_0aidx.lock", "pack-1.pack"] {
            make(name).set_times(old).unwrap();
        }
        for name in ["tmp_idx_new", "pack_git2_1b", "pack_git2_1bidx.lock"] {
            drop(make(name));
        }
        let open = make("pack_git2_2c");
        let left = || {
            let names = std::fs::read_dir(&packs).unwrap();
            let mut names: Vec<String> = names
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        remove_unfinished_packs(&repository, false);
        let new = ["pack_git2_1b", "pack_git2_1bidx.lock", "pack_git2_2c"];
        assert_eq!(left()[..1], ["pack-1.pack"]);
        assert_eq!(left()[1..4], new);
        assert_eq!(left()[4..], ["tmp_idx_new"]);
        remove_unfinished_packs(&repository, true);
        let is_known = cfg!(target_os = "linux");
        let kept = ["pack-1.pack", "pack_git2_2c", "tmp_idx_new"];
        assert!(!is_known || left() == kept, "{:?}", left());
        drop(open);
        remove_unfinished_packs(&repository, true);
        assert_eq!(left(), ["pack-1.pack", "tmp_idx_new"]);
    }
}

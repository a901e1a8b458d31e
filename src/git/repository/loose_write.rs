//! Writes large trees as loose objects that are not compressed.
//!
//! A folder of ten thousand memories is a tree of 0.6 MB. A third of its bytes are ids, which do not get
//! smaller: compressing it takes a third of a commit and saves a quarter of the file, until packing stores the tree
//! as its difference to the next one. git and libgit2 read such an object as any other; git itself writes them
//! with `core.looseCompression = 0`.
//!
//! Guarantees, as for the objects that libgit2 writes here: the file is synced, then its name.

use std::fs::File;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use git2::{Odb, Oid};
use sha1::{Digest as _, Sha1};

/// Number of bytes from which a tree is written here, if the system has permissions as git expects them.
pub(in crate::git) const LARGE: usize = 64 << 10;

/// Writes the tree `bytes` into the repository of `odb`, unless it is there.
///
/// # Errors
///
/// Fails if it cannot be written.
pub(in crate::git) fn write_tree(
    repository: &git2::Repository,
    odb: &Odb<'_>,
    bytes: &[u8],
) -> std::io::Result<Oid> {
    let header = format!("tree {}\0", bytes.len());
    let sum = Sha1::new().chain_update(&header).chain_update(bytes);
    let id = Oid::from_bytes(&sum.finalize()).map_err(std::io::Error::other)?;
    if odb.exists(id) {
        return Ok(id);
    }
    let mut stream = ZlibEncoder::new(Vec::with_capacity(bytes.len() + 1_000), Compression::none());
    stream.write_all(header.as_bytes())?;
    stream.write_all(bytes)?;
    let stream = stream.finish()?;
    let objects = repository.commondir().join("objects");
    let digits = id.to_string();
    let (start, rest) = digits.split_at(2);
    let folder = objects.join(start);
    let is_new_folder = !folder.is_dir();
    std::fs::create_dir_all(&folder)?;
    // git removes one of that name that a killed process left.
    let mut file = read_only("tmp_obj_", &objects)?;
    file.write_all(&stream)?;
    file.as_file().sync_all()?;
    // Another process may have written the same tree.
    file.persist(folder.join(rest))?;
    File::open(&folder)?.sync_all()?;
    if is_new_folder {
        File::open(&objects)?.sync_all()?;
    }
    Ok(id)
}

/// Makes a file that nobody may write to any more, as git's objects are.
fn read_only(prefix: &str, folder: &std::path::Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o444));
    builder.tempfile_in(folder)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use git2::ObjectType;

    use super::*;
    use crate::git::Repository;
    use crate::git::reading::tree_entry::entry_bytes;

    fn tree(count: usize) -> Vec<u8> {
        let id = Oid::hash_object(ObjectType::Blob, b"text").unwrap();
        let entries =
            (0..count).map(|n| entry_bytes("100644", format!("{n:08}.md").as_bytes(), id));
        entries.flatten().collect()
    }

    #[test]
    fn a_tree_is_read_as_if_libgit2_had_written_it() {
        for count in [0, 1, 1_700, 30_000] {
            let folder = tempfile::tempdir().unwrap();
            let repository = Repository::create(folder.path(), "main").unwrap();
            let odb = repository.inner.odb().unwrap();
            let bytes = tree(count);
            let id = write_tree(&repository.inner, &odb, &bytes).unwrap();
            assert_eq!(id, Oid::hash_object(ObjectType::Tree, &bytes).unwrap());
            let again = repository.reopened().unwrap();
            let objects = again.inner.odb().unwrap();
            let read = objects.read(id).unwrap();
            assert_eq!((read.kind(), read.data()), (ObjectType::Tree, &*bytes));
            // Neither does libgit2's own reader see a difference.
            let plain = git2::Odb::new().unwrap();
            let objects = repository.inner.path().join("objects");
            plain.add_disk_alternate(objects.to_str().unwrap()).unwrap();
            assert_eq!(plain.read(id).unwrap().data(), &*bytes);
        }
    }

    #[test]
    fn a_tree_is_written_once_and_nobody_may_write_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::create(folder.path(), "main").unwrap();
        let odb = repository.inner.odb().unwrap();
        let id = write_tree(&repository.inner, &odb, &tree(2)).unwrap();
        let (start, rest) = (&id.to_string()[..2], &id.to_string()[2..]);
        let objects = repository.inner.path().join("objects");
        let file = objects.join(start).join(rest);
        let before = std::fs::metadata(&file).unwrap();
        assert_eq!(before.permissions().mode() & 0o222, 0);
        assert_eq!(write_tree(&repository.inner, &odb, &tree(2)).unwrap(), id);
        let after = std::fs::metadata(&file).unwrap();
        assert_eq!(before.modified().unwrap(), after.modified().unwrap());
        let is_left = |name: &str| name.starts_with("tmp_obj_");
        let names = std::fs::read_dir(objects).unwrap();
        let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(!names.any(|name| is_left(&name)));
    }
}

//! Repairs packs and their indexes after damage.
//!
//! Each of these files ends with a SHA-1 of the bytes before it, which reveals a cut or a changed byte.
//! Guarantees: readable objects of a pack stay readable. A damaged index of a sound pack is made again
//! from it; the sound objects of a damaged pack are written to a new one. Optional files (reverse
//! indexes, bitmaps, multi-pack index, commit graphs) are set aside: git makes them again. Nothing is
//! deleted.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use git2::Oid;
use sha1::{Digest, Sha1};

use crate::git::repository::locks::keep_aside;
use crate::git::repository::packs;
use crate::git::repository::packs::Pack;
use crate::git::{GitError, Repository, To};

const ACTION: &str = "look at the packs";
const SUM: u64 = 20;

/// Returns the packs, indexes and optional files with a wrong checksum, and indexes of another pack.
///
/// # Errors
///
/// Fails if one of them cannot be read.
pub(in crate::git) fn packs_with_wrong_sum(
    repository: &Repository,
) -> Result<Vec<PathBuf>, GitError> {
    let objects = repository.inner.commondir().join("objects");
    let graphs = objects.join("info/commit-graphs");
    let mut wrong = Vec::new();
    for folder in [packs::pack_folder(repository), objects.join("info"), graphs] {
        for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = file.path();
            // Somebody's git may have replaced it meanwhile.
            if ends_with_sum(&path) && sum_of(&path)?.is_none() && path.exists() {
                wrong.push(path);
            }
        }
    }
    for pack in packs::packs(repository) {
        let list = pack.path.with_extension("idx");
        let is_wrong = wrong.contains(&list) || wrong.contains(&pack.path);
        if !is_wrong && sum_of(&pack.path)? != sum_in_list(&list) && list.exists() {
            wrong.push(list);
        }
    }
    wrong.sort();
    Ok(wrong)
}

/// Repairs what [`packs_with_wrong_sum`] finds; returns whether there was anything. The repository has
/// to be opened again then: libgit2 still holds the files that were set aside.
///
/// # Errors
///
/// Fails if something cannot be read or written.
pub(in crate::git) fn repair_packs(repository: &Repository) -> Result<bool, GitError> {
    let wrong = packs_with_wrong_sum(repository)?;
    let packs = packs::packs(repository);
    let is_of_pack = |path: &Path| has_extension(path, "pack") || has_extension(path, "idx");
    for path in wrong.iter().filter(|path| !is_of_pack(path)) {
        keep_aside(repository, path)?;
        if has_extension(path, "graph") {
            keep_aside(repository, &path.with_file_name("commit-graph-chain"))?;
        }
    }
    for pack in packs {
        let list = pack.path.with_extension("idx");
        if wrong.contains(&pack.path) {
            save_objects_of(repository, &pack)?;
        } else if wrong.contains(&list) {
            rebuild_pack_list(repository, &pack)?;
        }
    }
    Ok(!wrong.is_empty())
}

/// Makes the index of a sound pack again.
fn rebuild_pack_list(repository: &Repository, pack: &Pack) -> Result<(), GitError> {
    let list = pack.path.with_extension("idx");
    let mut file = File::open(&pack.path).to(ACTION)?;
    let odb = repository.inner.odb().to(ACTION)?;
    let mut writer = odb.packwriter().to(ACTION)?;
    let copied = std::io::copy(&mut file, &mut writer).to(ACTION);
    // libgit2 verifies the pack, and may give the copy the same name.
    let listed = copied.and_then(|_| writer.commit().to(ACTION));
    if listed.is_err() {
        return save_objects_of(repository, pack);
    }
    if sum_in_list(&list) != sum_of(&pack.path)? || sum_of(&list)?.is_none() {
        set_pack_aside(repository, pack)?;
    }
    Ok(())
}

/// Writes the sound objects of a damaged pack to a new one, and sets the old one aside.
fn save_objects_of(repository: &Repository, pack: &Pack) -> Result<(), GitError> {
    let odb = repository.inner.odb().to(ACTION)?;
    let mut builder = repository.inner.packbuilder().to(ACTION)?;
    builder.set_threads(1);
    let ids = pack.ids().unwrap_or_default();
    let ids = ids.iter().filter_map(|id| Oid::from_bytes(id).ok());
    let mut count = 0;
    for id in ids.filter(|id| packs::is_sound(&odb, *id)) {
        builder.insert_object(id, None).to(ACTION)?;
        count += 1;
    }
    if count > 0 {
        packs::write_pack(repository, &mut builder, ACTION)?;
    }
    // A pack that was fully restored has its old name.
    match sum_of(&pack.path)?.is_some()
        && sum_in_list(&pack.path.with_extension("idx")) == sum_of(&pack.path)?
    {
        true => Ok(()),
        false => set_pack_aside(repository, pack),
    }
}

fn set_pack_aside(repository: &Repository, pack: &Pack) -> Result<(), GitError> {
    // The list goes last: one without its pack is passed over.
    for part in ["pack", "rev", "bitmap", "mtimes", "idx"] {
        keep_aside(repository, &pack.path.with_extension(part))?;
    }
    // These would name the pack, and commits that are lost with it.
    let graph = repository
        .inner
        .commondir()
        .join("objects/info/commit-graph");
    keep_aside(
        repository,
        &packs::pack_folder(repository).join("multi-pack-index"),
    )?;
    keep_aside(repository, &graph)
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// Returns whether this kind of file ends with its checksum.
fn ends_with_sum(path: &Path) -> bool {
    let extensions = ["pack", "idx", "rev", "bitmap", "mtimes", "graph"];
    let names = ["multi-pack-index", "commit-graph"];
    let name = path.file_name().and_then(|name| name.to_str());
    extensions
        .iter()
        .any(|extension| has_extension(path, extension))
        || name.is_some_and(|name| names.contains(&name))
}

/// Returns the checksum at the end of a file; `None` if it is wrong, or the file is gone.
fn sum_of(path: &Path) -> Result<Option<[u8; SUM as usize]>, GitError> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other.to(ACTION)?,
    };
    let data = file.metadata().to(ACTION)?;
    let Some(rest) = data.len().checked_sub(SUM).filter(|_| data.is_file()) else {
        return Ok(None);
    };
    let mut sum = Hashed(Sha1::new());
    std::io::copy(&mut (&mut file).take(rest), &mut sum).to(ACTION)?;
    let mut stated = [0; SUM as usize];
    let is_read = file.read_exact(&mut stated).is_ok();
    Ok((is_read && stated == *sum.0.finalize()).then_some(stated))
}

/// Returns the pack's checksum in an index.
fn sum_in_list(path: &Path) -> Option<[u8; SUM as usize]> {
    let list = std::fs::read(path).ok()?;
    let (rest, _) = list.split_last_chunk::<{ SUM as usize }>()?;
    rest.last_chunk().copied()
}

struct Hashed(Sha1);

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

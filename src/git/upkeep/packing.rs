//! Packing: loose objects become a pack, in which versions of one folder are stored as differences; and
//! many packs become one.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Write};

use git2::Oid;
use sha1::{Digest, Sha1};

use crate::git::repository::packs::Pack;
use crate::git::repository::{loose_write, packs};
use crate::git::{GitError, Repository, To};

/// Number and bytes of loose objects from which they are packed.
const MANY_OBJECTS: usize = 2_000;
const MANY_BYTES: u64 = 16 << 20;
/// Divisor of the packed bytes that loose objects must reach before they are packed: each pack holds a
/// large folder once whole.
const SHARE_OF_PACKED: u64 = 2;
/// Number of packs from which they are joined: each lookup of an object searches all packs.
const MANY_PACKS: usize = 16;

/// Packs the loose objects, if there are `patience` times the usual threshold; returns their number. It
/// may be killed at any moment: a file is removed only when its object is in a pack.
///
/// # Errors
///
/// Fails if the repository cannot be read or written.
pub fn pack_loose_objects(repository: &Repository, patience: u32) -> Result<usize, GitError> {
    let action = "pack the repository";
    let loose = packs::loose_objects(repository);
    let bytes: u64 = loose.iter().map(|(_, _, size)| weight(*size)).sum();
    let packed: u64 = packs::packs(repository).iter().map(|pack| pack.size).sum();
    let much = MANY_BYTES.max(packed / SHARE_OF_PACKED) * u64::from(patience);
    if loose.len() < MANY_OBJECTS * patience as usize && bytes < much {
        return Ok(0);
    }
    let mut builder = repository.inner.packbuilder().to(action)?;
    builder.set_threads(1);
    let mut inserted = Vec::new();
    // Versions of one folder become neighbours, each written as its difference to the next.
    for (id, path, _) in &loose {
        if builder.insert_object(*id, None).is_ok() {
            inserted.push(path);
        }
    }
    packs::write_pack(repository, &mut builder, action)?;
    let mut count = 0;
    for path in inserted {
        if packs::remove_read_only(path).is_ok() {
            count += 1;
        }
    }
    Ok(count)
}

/// Returns what a loose object counts towards [`MANY_BYTES`]: large trees are not compressed, and would have five
/// eighths of their size. Without that, packs would be made more often, each with a large folder whole.
fn weight(size: u64) -> u64 {
    match size >= loose_write::LARGE as u64 {
        true => size * 5 / 8,
        false => size,
    }
}

/// Joins the smallest packs to one if there are many; returns their number. The objects are copied
/// unchanged, and verified by libgit2 before the packs are removed.
///
/// # Errors
///
/// Fails if one of them cannot be read, or the new one written.
pub fn join_packs(repository: &Repository) -> Result<usize, GitError> {
    let action = "join packs";
    let folder = packs::pack_folder(repository);
    // Git finds objects by the multi-pack index where there is one.
    if folder.join("multi-pack-index").exists() {
        return Ok(0);
    }
    let mut packs = packs::packs(repository);
    packs.retain(|pack| pack.is_plain());
    if packs.len() < MANY_PACKS {
        return Ok(0);
    }
    packs.sort_by_key(|pack| pack.size);
    packs.truncate(MANY_PACKS);
    let (joined, header) = without_overlap(packs).to(action)?;
    if joined.len() < 2 {
        return Ok(0);
    }
    let odb = repository.inner.odb().to(action)?;
    let mut whole = odb.packwriter().to(action)?;
    copy_packs(&header, &joined, &mut whole).to(action)?;
    whole.commit().to(action)?;
    for pack in &joined {
        pack.remove();
    }
    Ok(joined.len())
}

/// Returns whether a pack is marked to be kept as it is.
pub(in crate::git) fn has_kept_packs(repository: &Repository) -> bool {
    packs::packs(repository).iter().any(|pack| !pack.is_plain())
}

/// Removes objects, loose or packed: before a pack that holds one is removed, its other objects are
/// written to a new one.
///
/// # Errors
///
/// Fails if something cannot be read or written; some may be gone then.
pub(in crate::git) fn remove_objects(
    repository: &Repository,
    gone: &HashSet<Oid>,
) -> Result<(), GitError> {
    let action = "remove objects";
    let mut packs = packs::packs(repository);
    let mut held = Vec::new();
    for pack in packs.drain(..) {
        let ids = pack.ids().to(action)?;
        let ids = ids.iter().map(|id| Oid::from_bytes(id));
        let ids: Vec<Oid> = ids.collect::<Result<_, _>>().to(action)?;
        if ids.iter().any(|id| gone.contains(id)) {
            held.push((pack, ids));
        }
    }
    let objects = repository.inner.commondir().join("objects");
    // These would name removed objects; git makes them again.
    let _ = packs::remove_read_only(&packs::pack_folder(repository).join("multi-pack-index"));
    let _ = packs::remove_read_only(&objects.join("info/commit-graph"));
    let graphs = objects.join("info/commit-graphs");
    for graph in std::fs::read_dir(graphs).into_iter().flatten().flatten() {
        packs::remove_read_only(&graph.path()).to(action)?;
    }
    if !held.is_empty() {
        let mut builder = repository.inner.packbuilder().to(action)?;
        builder.set_threads(1);
        let mut count = 0;
        for id in held.iter().flat_map(|(_, ids)| ids) {
            if !gone.contains(id) {
                builder.insert_object(*id, None).to(action)?;
                count += 1;
            }
        }
        if count > 0 {
            packs::write_pack(repository, &mut builder, action)?;
        }
        held.iter().for_each(|(pack, _)| pack.remove());
    }
    for (id, path, _) in packs::loose_objects(repository) {
        if gone.contains(&id) {
            packs::remove_read_only(&path).to(action)?;
        }
    }
    Ok(())
}

/// First bytes of a pack: a word and its version; the number of objects follows.
const PACK_HEADER: [u8; 8] = *b"PACK\0\0\0\x02";
const HEADER: u64 = 12;
const SUM: u64 = 20;

/// Returns those of `packs` that share no object, since a pack may not hold one twice, and the header of
/// a pack of all their objects.
fn without_overlap(packs: Vec<Pack>) -> std::io::Result<(Vec<Pack>, Vec<u8>)> {
    let mut all = HashSet::new();
    let mut kept = Vec::new();
    for pack in packs {
        let ids = pack.ids()?;
        if ids.iter().any(|id| all.contains(id)) {
            continue;
        }
        all.extend(ids);
        kept.push(pack);
    }
    let count = u32::try_from(all.len()).map_err(std::io::Error::other)?;
    Ok((kept, [&PACK_HEADER[..], &count.to_be_bytes()].concat()))
}

/// Copies the objects of whole packs after `header`. The offset of a delta to its base is relative, so it
/// stays right.
fn copy_packs(header: &[u8], packs: &[Pack], whole: &mut dyn Write) -> std::io::Result<()> {
    let mut sum = Sha1::new();
    let mut write = |bytes: &[u8]| {
        sum.update(bytes);
        whole.write_all(bytes)
    };
    write(header)?;
    for pack in packs {
        let mut file = File::open(&pack.path)?;
        let mut start = [0; HEADER as usize];
        file.read_exact(&mut start)?;
        if start[..8] != PACK_HEADER {
            return Err(std::io::Error::other("a pack is of an unknown version"));
        }
        let mut objects = file.take(pack.size.saturating_sub(HEADER + SUM));
        let mut buffer = vec![0; 1 << 20];
        loop {
            match objects.read(&mut buffer)? {
                0 => break,
                length => write(&buffer[..length])?,
            }
        }
    }
    whole.write_all(&sum.finalize())
}

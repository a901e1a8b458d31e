//! Replaces a file's text without overwriting an unseen one.
//!
//! The new text is written to a temporary file beside the memory. When it is whole, that file gets a
//! name with the hashes of both texts and the memory's lock; then the two names are exchanged atomically
//! and the former text is checked. Where a system exchanges no names, the former file is given such a name
//! before it is renamed over. After a crash, a process that holds this lock finds out from the name
//! whether the file holds one of the two texts, and may be removed, or another one, and must be kept.

use std::io;

use super::hash::content_hash;
use super::{At, FilesError, disk};
use crate::beneath::{Folder, Target};

/// Outcome of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Swapped {
    Done,
    /// The former text was not the expected one; it is kept as a conflict copy.
    KeptOther,
}

/// Fields in the name of a temporary file beside a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SwapName {
    /// Number of the lock that its writer holds.
    pub shard: u8,
    /// Beginnings of the hashes of the text that was read and of the one that replaces it.
    seen: u64,
    new: u64,
    /// Stem of the memory, for the name of a conflict copy.
    stem: String,
    /// Whether the former text is kept aside.
    pub is_kept: bool,
}

const MARK: &str = "swap-";
const KEEPING_MARK: &str = "keep-";
/// Ends the random part of the name of the former file, where names are not exchanged.
const FORMER: &str = "f";
/// Maximum length of a stem in the name, in bytes.
const MAX_STEM_BYTES: usize = 120;

impl SwapName {
    pub fn new(name: &str, shard: u8, seen: u128, new: u128) -> SwapName {
        let stem = name.rsplit('/').next().unwrap_or(name);
        let stem = stem.strip_suffix(".md").unwrap_or(stem);
        let stem = if stem.len() <= MAX_STEM_BYTES {
            stem
        } else {
            "memory"
        };
        SwapName {
            shard,
            seen: seen as u64,
            new: new as u64,
            stem: stem.to_owned(),
            is_kept: false,
        }
    }

    /// Returns the same, with the former text kept aside.
    pub fn keeping(self) -> SwapName {
        SwapName {
            is_kept: true,
            ..self
        }
    }

    /// Returns the beginnings of the hashes of the text that was read and of the one that replaces it.
    pub fn hashes(&self) -> (u64, u64) {
        (self.seen, self.new)
    }

    /// Returns the file name of the memory.
    pub fn memory(&self) -> String {
        format!("{}.md", self.stem)
    }

    /// Returns the name of a file; `random` distinguishes it from others for the same texts.
    fn file(&self, random: &str) -> String {
        let SwapName {
            shard,
            seen,
            new,
            stem,
            is_kept,
        } = self;
        let prefix = disk::TEMP_PREFIX;
        let suffix = disk::TEMP_SUFFIX;
        let mark = if *is_kept { KEEPING_MARK } else { MARK };
        format!("{prefix}{mark}{shard:02x}-{seen:016x}-{new:016x}-{stem}-{random}{suffix}")
    }

    /// Returns whether the text with this hash is one of the two in the name.
    pub fn has_seen(&self, hash: u128) -> bool {
        hash as u64 == self.seen || hash as u64 == self.new
    }

    /// Parses the name of a file; `None` for another file.
    pub fn parse(file: &str) -> Option<SwapName> {
        let rest = file.rsplit('/').next()?.strip_prefix(disk::TEMP_PREFIX)?;
        let (rest, is_kept) = match rest.strip_prefix(MARK) {
            Some(rest) => (rest, false),
            None => (rest.strip_prefix(KEEPING_MARK)?, true),
        };
        let mut parts = rest.splitn(4, '-');
        let shard = u8::from_str_radix(parts.next()?, 16).ok()?;
        let seen = u64::from_str_radix(parts.next()?, 16).ok()?;
        let new = u64::from_str_radix(parts.next()?, 16).ok()?;
        let (stem, _random) = parts.next()?.rsplit_once('-')?;
        Some(SwapName {
            shard,
            seen,
            new,
            stem: stem.to_owned(),
            is_kept,
        })
    }
}

/// Function that moves the former text, in a file beside the memory, aside.
pub(super) type Keep<'a> = dyn Fn(&Folder, &str) -> Result<(), FilesError> + 'a;

/// Replaces the file `target`, which held the text that `name` has as read, with `bytes`. It survives a
/// power cut once the caller has synced the folder.
///
/// The caller holds the memory's lock. Where names cannot be exchanged and a file has one name only, it is
/// renamed over: the lock excludes other memdir processes, and the caller has just compared. The former
/// text is passed to `keep` if the name requires it.
pub(super) fn swap(
    folder: &Folder,
    target: &str,
    name: &SwapName,
    bytes: &[u8],
    keep: &Keep<'_>,
    keep_copy: &dyn Fn() -> Result<(), FilesError>,
) -> Result<Swapped, FilesError> {
    let path = folder.path().join(target);
    let permissions = folder.facts(target).at("read", &path)?.permissions();
    let temp = disk::uninterrupted(|| disk::write_temp(folder, bytes));
    let mut temp = temp.at("write", &path)?;
    temp.file.set_permissions(permissions).at("write", &path)?;
    let random = temp.random.clone();
    let beside = name.file(&random);
    disk::step();
    let named = disk::uninterrupted(|| temp.rename(&beside, Target::Keep));
    named.at("write", &path)?;
    // The file was locked until it had its name, so that no clean-up took it.
    drop(temp);
    let aside = name.file(&format!("{random}{FORMER}"));
    let exchanged = disk::uninterrupted(|| disk::exchange(folder, &beside, target, &aside));
    let former = match exchanged {
        Ok(Some(former)) => former,
        Ok(None) => {
            if name.is_kept {
                keep_copy().inspect_err(|_| {
                    let _ = folder.remove(&beside); // It is ours, and nobody has seen it.
                })?;
            }
            let replaced = folder.rename(&beside, folder, target, Target::Replace);
            replaced
                .inspect_err(|_| {
                    let _ = folder.remove(&beside); // It is ours, and nobody has seen it.
                })
                .at("replace", &path)?;
            return Ok(Swapped::Done);
        }
        Err(error) => {
            let _ = folder.remove(&beside);
            return Err(error).at("replace", &path);
        }
    };
    // From here on the file beside the memory may be somebody's only copy: it is not deleted
    // because something else fails.
    Ok(match resolve(folder, &former, name, keep)? {
        true => Swapped::KeptOther,
        false => Swapped::Done,
    })
}

/// Removes `target`, which held the text that `name` has as read; another text is kept as a conflict
/// copy. The caller holds the memory's lock.
pub(super) fn take_away(
    folder: &Folder,
    target: &str,
    name: &SwapName,
) -> Result<Swapped, FilesError> {
    let path = folder.path().join(target);
    // Random enough: the lock lets nobody else make one for the same memory.
    let beside = name.file("removed");
    let moved = disk::uninterrupted(|| disk::rename_no_replace(folder, target, folder, &beside));
    moved.at("remove", &path)?;
    let is_kept = resolve(folder, &beside, name, &|_, _| Ok(()))?;
    disk::uninterrupted(|| folder.sync()).at("sync", folder.path())?;
    Ok(match is_kept {
        true => Swapped::KeptOther,
        false => Swapped::Done,
    })
}

/// Deletes the file beside a memory if it holds one of the two texts of its name, or passes it to `keep`
/// if it is the former text and to be kept; else makes it a conflict copy and returns true. The caller
/// holds the memory's lock.
pub(super) fn resolve(
    folder: &Folder,
    beside: &str,
    name: &SwapName,
    keep: &Keep<'_>,
) -> Result<bool, FilesError> {
    let path = folder.path().join(beside);
    let text = disk::uninterrupted(|| disk::read(folder, beside)).at("read", &path)?;
    let hash = content_hash(&text);
    if name.is_kept && hash as u64 == name.seen {
        keep(folder, beside)?;
        return Ok(false);
    }
    if name.has_seen(hash) {
        disk::uninterrupted(|| disk::remove(folder, beside)).at("remove", &path)?;
        return Ok(false);
    }
    let mut both = hash as u64 ^ name.new;
    loop {
        let copy = copy_name(&name.stem, both);
        match disk::uninterrupted(|| disk::rename_no_replace(folder, beside, folder, &copy)) {
            Ok(()) => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => other.at("keep", &path)?,
        }
        // The same conflict happened before; or the copy was changed since, and has the name.
        let kept = disk::uninterrupted(|| disk::read(folder, &copy));
        if kept.is_ok_and(|kept| kept == text) {
            disk::uninterrupted(|| disk::remove(folder, beside)).at("remove", &path)?;
            return Ok(true);
        }
        both = both.wrapping_add(1);
    }
}

/// Returns the name of a conflict copy, derived from both texts, so that a conflict has one copy.
pub(super) fn copy_name(stem: &str, both: u64) -> String {
    format!("{stem}.conflict-{:08x}.md", both as u32)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn resolve_at(beside: &std::path::Path, name: &SwapName) -> Result<bool, FilesError> {
        let folder = Folder::open(beside.parent().unwrap()).unwrap();
        let beside = beside.file_name().unwrap().to_str().unwrap();
        resolve(&folder, beside, name, &|_, _| Ok(()))
    }

    #[test]
    fn a_swap_files_name_tells_what_it_is() {
        for stem in ["20260114_091500_1f3a9c02", "a note - with dashes"] {
            let name = SwapName::new(&format!("sub/{stem}.md"), 0x3f, 7 << 64 | 1, u128::MAX);
            let file = format!("sub/{}", name.file("AbCdEf012345"));
            assert!(disk::is_temp_name(&file[4..]));
            assert_eq!(SwapName::parse(&file).as_ref(), Some(&name));
            let keeping = name.keeping();
            let file = keeping.file("AbCdEf012345");
            assert!(disk::is_temp_name(&file));
            assert_eq!(SwapName::parse(&file), Some(keeping));
        }
        assert_eq!(SwapName::parse(".memdir-AbCdEf012345.tmp"), None);
        assert_eq!(SwapName::parse("20260114_091500_1f3a9c02.md"), None);
    }

    #[test]
    fn a_text_that_nobody_has_seen_is_kept_after_a_crash() {
        let folder = tempfile::tempdir().unwrap();
        let name = SwapName::new("m.md", 0, content_hash(b"seen"), content_hash(b"new"));
        for (text, kept) in [("seen", false), ("new", false), ("somebody else's", true)] {
            let beside = folder.path().join(name.file("AbCdEf012345"));
            fs::write(&beside, text).unwrap();
            assert_eq!(resolve_at(&beside, &name).unwrap(), kept, "{text}");
            assert!(!beside.exists());
        }
        let copies: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(copies.len(), 1);
    }

    #[test]
    fn a_text_that_was_written_meanwhile_is_kept_where_names_are_not_exchanged() {
        let folder = tempfile::tempdir().unwrap();
        let held = Folder::open(folder.path()).unwrap();
        let name = SwapName::new("m.md", 0, content_hash(b"seen"), content_hash(b"new"));
        let (beside, aside) = (name.file("AbCdEf012345"), name.file("AbCdEf012345f"));
        fs::write(folder.path().join("m.md"), "somebody else's").unwrap();
        fs::write(folder.path().join(&beside), "new").unwrap();
        let former = disk::replace_by_link(&held, &beside, "m.md", &aside).unwrap();
        assert_eq!(former.as_ref(), Some(&aside));
        assert_eq!(fs::read(folder.path().join("m.md")).unwrap(), b"new");
        assert!(resolve(&held, &aside, &name, &|_, _| Ok(())).unwrap());
        let copy = copy_name("m", content_hash(b"somebody else's") as u64 ^ name.new);
        let kept = fs::read(folder.path().join(copy)).unwrap();
        assert_eq!(kept, b"somebody else's");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_conflict_copy_that_was_changed_since_keeps_its_text_and_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let name = SwapName::new("m.md", 0, content_hash(b"seen"), content_hash(b"new"));
        let conflict = || {
            let beside = folder.path().join(name.file("AbCdEf012345"));
            fs::write(&beside, "theirs").unwrap();
            assert!(resolve_at(&beside, &name).unwrap());
            assert!(!beside.exists());
        };
        let texts = || {
            let entries = fs::read_dir(folder.path()).unwrap().flatten();
            let mut texts: Vec<String> = entries
                .map(|entry| fs::read_to_string(entry.path()).unwrap())
                .collect();
            texts.sort();
            texts
        };
        conflict();
        conflict();
        assert_eq!(texts(), ["theirs"]);
        let copy = fs::read_dir(folder.path()).unwrap().next().unwrap();
        fs::write(copy.unwrap().path(), "edited").unwrap();
        conflict();
        assert_eq!(texts(), ["edited", "theirs"]);
    }
}

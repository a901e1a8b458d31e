//! Exchanges a file's text for another without overwriting what nobody has seen.
//!
//! The new text is written beside the memory as any temporary file is. When it is whole, that file
//! is named after both texts and the memory's lock; then the two names are exchanged in one step
//! and the text that came out is looked at. Whoever finds such a file later, after a crash, can
//! tell under that lock whether it holds one of the two, and may go, or somebody else's text, and
//! must be kept.

use std::fs;
use std::io;
use std::path::Path;

use tempfile::TempPath;

use super::At;
use super::FilesError;
use super::disk;
use super::store::content_hash;

/// What became of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Swapped {
    Done,
    /// The text that came out was not the one expected; it is kept as a conflict copy.
    KeptOther,
}

/// What the name of a file beside a memory says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SwapName {
    /// The number of the lock that its writer holds.
    pub shard: u8,
    /// Hashes of the text that was seen and of the one that replaces it.
    seen: u64,
    new: u64,
    /// The memory's stem, for the name of a conflict copy.
    stem: String,
}

const MARK: &str = "swap-";
/// Longer stems would not leave room for the rest of the name.
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
        }
    }

    /// The name of a file; `random` keeps it apart from others for the same texts.
    fn file(&self, random: &str) -> String {
        let SwapName {
            shard,
            seen,
            new,
            stem,
        } = self;
        let prefix = disk::TEMP_PREFIX;
        let suffix = disk::TEMP_SUFFIX;
        format!("{prefix}{MARK}{shard:02x}-{seen:016x}-{new:016x}-{stem}-{random}{suffix}")
    }

    /// Whether the text with this hash is one of the two that the name tells of.
    pub fn has_seen(&self, hash: u128) -> bool {
        hash as u64 == self.seen || hash as u64 == self.new
    }

    /// Reads the name of a file; `None` if it is no such file.
    pub fn parse(file: &str) -> Option<SwapName> {
        let rest = file
            .rsplit('/')
            .next()?
            .strip_prefix(disk::TEMP_PREFIX)?
            .strip_prefix(MARK)?;
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
        })
    }
}

/// Puts `bytes` in the place of `target`, which held the text that `name` calls seen.
///
/// The caller holds the memory's lock. Where names cannot be exchanged, the file is renamed over:
/// the lock keeps other memdir processes away, and the caller has just compared.
pub(super) fn swap(target: &Path, name: &SwapName, bytes: &[u8]) -> Result<Swapped, FilesError> {
    let folder = target.parent().expect("a memory lies in a folder");
    let permissions = fs::metadata(target).at("read", target)?.permissions();
    let temp = disk::uninterrupted(|| disk::write_temp(folder, bytes)).at("write", target)?;
    temp.as_file()
        .set_permissions(permissions)
        .at("write", target)?;
    // The file stays open, and so locked, until it has its name: no clean-up may take it.
    let (_locked, whole) = temp.into_parts();
    let beside = folder.join(name.file(disk::random_part(&whole)));
    disk::uninterrupted(|| disk::rename_no_replace(&whole, &beside)).at("write", target)?;
    // The name it was made under is gone.
    let _ = whole.keep();
    let beside = TempPath::try_from_path(beside).at("write", target)?;
    if !disk::uninterrupted(|| disk::exchange(&beside, target)).at("replace", target)? {
        beside
            .persist(target)
            .map_err(|error| error.error)
            .at("replace", target)?;
        disk::uninterrupted(|| disk::sync_directory(folder)).at("sync", folder)?;
        return Ok(Swapped::Done);
    }
    // From here on the file beside the memory may be somebody's only copy: it is not deleted
    // because something else fails.
    let beside = beside
        .keep()
        .map_err(|error| error.error)
        .at("keep", target)?;
    let is_kept = resolve(&beside, name)?;
    disk::uninterrupted(|| disk::sync_directory(folder)).at("sync", folder)?;
    Ok(if is_kept {
        Swapped::KeptOther
    } else {
        Swapped::Done
    })
}

/// Takes `target` away, which held the text that `name` calls seen; true if it held another one,
/// which is kept as a conflict copy. The caller holds the memory's lock.
pub(super) fn take_away(target: &Path, name: &SwapName) -> Result<Swapped, FilesError> {
    let folder = target.parent().expect("a memory lies in a folder");
    // Random enough: the lock lets nobody else make one for the same memory.
    let beside = folder.join(name.file("removed"));
    disk::uninterrupted(|| disk::rename_no_replace(target, &beside)).at("remove", target)?;
    let is_kept = resolve(&beside, name)?;
    disk::uninterrupted(|| disk::sync_directory(folder)).at("sync", folder)?;
    Ok(if is_kept {
        Swapped::KeptOther
    } else {
        Swapped::Done
    })
}

/// Deletes the file beside a memory if it holds one of the two texts of its name; else makes it a
/// conflict copy and returns true. The caller holds the memory's lock.
pub(super) fn resolve(beside: &Path, name: &SwapName) -> Result<bool, FilesError> {
    let text = disk::uninterrupted(|| disk::read(beside)).at("read", beside)?;
    let hash = content_hash(&text);
    if name.has_seen(hash) {
        disk::uninterrupted(|| disk::remove(beside)).at("remove", beside)?;
        return Ok(false);
    }
    let mut both = hash as u64 ^ name.new;
    loop {
        let copy = beside.with_file_name(copy_name(&name.stem, both));
        match disk::uninterrupted(|| disk::rename_no_replace(beside, &copy)) {
            Ok(()) => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => other.at("keep", beside)?,
        }
        // The same conflict happened before; or the copy was changed since, and has the name.
        let kept = disk::uninterrupted(|| disk::read(&copy));
        if kept.is_ok_and(|kept| kept == text) {
            disk::uninterrupted(|| disk::remove(beside)).at("remove", beside)?;
            return Ok(true);
        }
        both = both.wrapping_add(1);
    }
}

/// The name of a conflict copy: it follows from both texts, so the same conflict has one copy.
pub(super) fn copy_name(stem: &str, both: u64) -> String {
    format!("{stem}.conflict-{:08x}.md", both as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_files_name_tells_what_it_is() {
        for stem in ["20260114_091500_1f3a9c02", "a note - with dashes"] {
            let name = SwapName::new(&format!("sub/{stem}.md"), 0x3f, 7 << 64 | 1, u128::MAX);
            let file = format!("sub/{}", name.file("AbCdEf012345"));
            assert!(disk::is_temp_name(&file[4..]));
            assert_eq!(SwapName::parse(&file), Some(name));
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
            assert_eq!(resolve(&beside, &name).unwrap(), kept, "{text}");
            assert!(!beside.exists());
        }
        let copies: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(copies.len(), 1);
    }

    #[test]
    fn a_conflict_copy_that_was_changed_since_keeps_its_text_and_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let name = SwapName::new("m.md", 0, content_hash(b"seen"), content_hash(b"new"));
        let conflict = || {
            let beside = folder.path().join(name.file("AbCdEf012345"));
            fs::write(&beside, "theirs").unwrap();
            assert!(resolve(&beside, &name).unwrap());
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

//! Packing: what was written one object a file becomes a pack, in which versions of one folder
//! cost little more than their differences.

use std::io::Write;
use std::path::PathBuf;

use git2::Oid;
use git2::PackBuilder;

use super::GitError;
use super::Id;
use super::Repository;
use super::To;

/// What is worth packing.
const MANY_OBJECTS: usize = 2_000;
const MANY_BYTES: u64 = 16 << 20;

impl Repository {
    /// Packs what lies in files of its own, if there is much of it; returns how many objects.
    /// Safe to be killed at any moment: a file is removed only when its object is in a pack.
    ///
    /// # Errors
    ///
    /// Fails if the repository cannot be read or written.
    pub fn pack(&self) -> Result<usize, GitError> {
        let action = "pack the repository";
        let loose = self.loose_objects();
        let bytes: u64 = loose.iter().map(|(_, _, size)| size).sum();
        if loose.len() < MANY_OBJECTS && bytes < MANY_BYTES {
            return Ok(0);
        }
        let mut builder = self.inner.packbuilder().to(action)?;
        builder.set_threads(1);
        let mut inserted = Vec::new();
        // Versions of one folder become neighbours, each written as its difference to the next.
        for (id, path, _) in &loose {
            if builder.insert_object(*id, None).is_ok() {
                inserted.push(path);
            }
        }
        self.write_pack(&mut builder, action)?;
        let mut count = 0;
        for path in inserted {
            if std::fs::remove_file(path).is_ok() {
                count += 1;
            }
        }
        Ok(count)
    }

    /// Writes what `builder` holds as a pack of this repository, for `action`.
    pub(super) fn write_pack(
        &self,
        builder: &mut PackBuilder<'_>,
        action: &str,
    ) -> Result<(), GitError> {
        let odb = self.inner.odb().to(action)?;
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
        // The library proves what it wrote before it gives the pack its name.
        pack.commit().to(action)?;
        Ok(())
    }

    fn loose_objects(&self) -> Vec<(Oid, PathBuf, u64)> {
        let folder = self.inner.commondir().join("objects");
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
}

//! Lookup of references and texts.

use git2::{ErrorCode, ObjectType, Oid};

use crate::git::{GitError, Id, Repository, To};

const BRANCHES: &str = "refs/heads/";

impl Repository {
    /// Returns the newest commit of the branch that is checked out; `None` before the first.
    ///
    /// # Errors
    ///
    /// Fails if the repository is damaged.
    pub fn head(&self) -> Result<Option<Id>, GitError> {
        match self.inner.head() {
            Ok(head) => {
                let commit = head.peel_to_commit().to("read the newest commit")?;
                Ok(Some(Id(commit.id())))
            }
            Err(error) if matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => {
                match self.lost_branch() {
                    None => Ok(None),
                    Some(branch) => Err(GitError::new(
                        "read the newest commit",
                        format!("the branch `{branch}` is gone, and its log names commits"),
                    )),
                }
            }
            Err(error) => Err(error).to("read the newest commit"),
        }
    }

    /// Returns the commit that the reference `name` points to.
    ///
    /// # Errors
    ///
    /// Fails if the repository is damaged.
    pub fn reference(&self, name: &str) -> Result<Option<Id>, GitError> {
        match self.inner.find_reference(name) {
            Ok(reference) => {
                let commit = reference.peel_to_commit().to("read a reference")?;
                Ok(Some(Id(commit.id())))
            }
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error).to("read a reference"),
        }
    }

    /// Sets the reference `name`, which is the program's own, to `to`.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    pub fn set_reference(&self, name: &str, to: Id) -> Result<(), GitError> {
        self.inner
            .reference(name, to.0, true, "memdir")
            .map(drop)
            .to("write a reference")
    }

    /// Returns whether one of the references whose names begin with `prefix` points to `to`.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be read.
    pub fn is_kept(&self, prefix: &str, to: Id) -> Result<bool, GitError> {
        let pattern = format!("{prefix}*");
        let all = self.inner.references_glob(&pattern);
        let mut all = all.to("read the references")?.flatten();
        Ok(all.any(|reference| reference.target() == Some(to.0)))
    }

    /// Removes all but the `count` last references, by name, whose names begin with `prefix`.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be read or removed.
    pub fn keep_newest(&self, prefix: &str, count: usize) -> Result<(), GitError> {
        let action = "remove old references";
        let all = self
            .inner
            .references_glob(&format!("{prefix}*"))
            .to(action)?;
        let mut all = all.collect::<Result<Vec<_>, _>>().to(action)?;
        all.sort_by(|a, b| b.name_bytes().cmp(a.name_bytes()));
        for old in all.iter_mut().skip(count) {
            old.delete().to(action)?;
        }
        Ok(())
    }

    /// Removes the reference `name`, if there is one.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read or removed.
    pub fn remove_reference(&self, name: &str) -> Result<(), GitError> {
        let removed = match self.inner.find_reference(name) {
            Ok(mut reference) => reference.delete(),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(()),
            Err(error) => Err(error),
        };
        removed.to("remove a reference")
    }

    /// Returns whether older commits were left away when it was fetched.
    pub fn is_shallow(&self) -> bool {
        self.inner.is_shallow()
    }

    /// Returns the text of a file.
    ///
    /// # Errors
    ///
    /// Fails if it is missing.
    pub fn text(&self, id: Id) -> Result<Vec<u8>, GitError> {
        let blob = self.inner.find_blob(id.0).to("read a text")?;
        Ok(blob.content().to_owned())
    }

    /// Returns the size of a text in bytes.
    ///
    /// # Errors
    ///
    /// Fails if it is missing.
    pub fn size_of(&self, id: Id) -> Result<u64, GitError> {
        let action = "read a text";
        let (size, _) = self.inner.odb().to(action)?.read_header(id.0).to(action)?;
        Ok(size as u64)
    }

    /// Calls `each` once with every text of the repository, whether a commit holds it or not.
    ///
    /// # Errors
    ///
    /// Fails if one of them cannot be read.
    pub fn each_text(&self, mut each: impl FnMut(Id, &[u8])) -> Result<(), GitError> {
        let action = "read all texts";
        let odb = self.inner.odb().to(action)?;
        let mut ids = Vec::new();
        odb.foreach(|id| {
            ids.push(*id);
            true
        })
        .to(action)?;
        ids.sort_unstable();
        ids.dedup();
        for id in ids {
            if odb.read_header(id).to(action)?.1 == ObjectType::Blob {
                each(Id(id), odb.read(id).to(action)?.data());
            }
        }
        Ok(())
    }

    /// Returns the branch that is checked out, if it is missing although its reflog has commits: git deletes
    /// the reflog of a branch together with the branch.
    pub(in crate::git) fn lost_branch(&self) -> Option<String> {
        let branch = self.checked_out()?;
        let log = self
            .inner
            .commondir()
            .join("logs")
            .join(BRANCHES)
            .join(&branch);
        let log = std::fs::read(log).ok()?;
        let has_commits = log.split(|byte| *byte == b'\n').any(|line| {
            let line = String::from_utf8_lossy(line);
            line.split(' ').nth(1).and_then(Id::parse).is_some()
        });
        has_commits.then_some(branch)
    }

    /// Returns the id that a reference names, whether such an object exists or not.
    pub(in crate::git) fn raw_target(&self, name: &str) -> Option<Oid> {
        let reference = self.inner.find_reference(name).ok()?;
        reference.target()
    }
}

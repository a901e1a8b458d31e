//! Looks at what a remote sent before anything is done with it: a pulled repository is data, and
//! somebody else's.

use git2::FileMode;
use git2::ObjectType;
use git2::Oid;
use git2::Tree;

use super::GitError;
use super::Id;
use super::Owner;
use super::Repository;
use super::To;
use super::paths::MOST_DEPTH;
use super::paths::is_gits_own;

/// More entries are no collection of memories, or made to hurt.
const MOST_ENTRIES: usize = 1_000_000;

impl Repository {
    /// Why the files of `commit` are not to be taken, if there is a reason. What the commit
    /// `known` holds was looked at before.
    ///
    /// # Errors
    ///
    /// Fails if something is missing from the repository.
    pub fn refusal(&self, commit: Id, known: Option<Id>) -> Result<Option<String>, GitError> {
        let action = "look at what the remote sent";
        let tree = |id: Id| self.inner.find_commit(id.0)?.tree();
        let known = known.map(tree).transpose().to(action)?;
        let mut look = Look {
            repository: self,
            entries: 0,
        };
        let found = look.find_in(&tree(commit).to(action)?, known.as_ref(), "", 0);
        found.to(action)
    }
}

struct Look<'a> {
    repository: &'a Repository,
    entries: usize,
}

impl Look<'_> {
    fn find_in(
        &mut self,
        tree: &Tree<'_>,
        known: Option<&Tree<'_>>,
        path: &str,
        depth: usize,
    ) -> Result<Option<String>, git2::Error> {
        if depth > MOST_DEPTH {
            return Ok(Some(format!("folders lie more than {MOST_DEPTH} deep")));
        }
        let is_asked = self.repository.owner() == Owner::Asked;
        for entry in tree {
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                return Ok(Some(format!("it holds more than {MOST_ENTRIES} files")));
            }
            let known_entry = known.and_then(|known| known.get_name_bytes(entry.name_bytes()));
            let is_known = |id: Oid, mode: i32| {
                known_entry
                    .as_ref()
                    .is_some_and(|known| known.id() == id && known.filemode() == mode)
            };
            if is_known(entry.id(), entry.filemode()) {
                continue;
            }
            let shown = format!("{path}{}", entry.name_bytes().escape_ascii());
            if is_asked && !self.repository.leads_to_store(&shown) {
                continue; // Nothing of it is taken from here: it comes with its owner's git.
            }
            if is_gits_own(entry.name_bytes()) {
                return Ok(Some(format!("it holds `{shown}`, which git would act on")));
            }
            let is_folder = entry.kind() == Some(ObjectType::Tree);
            if let Some(reason) = self.repository.out_of_place(&shown, is_folder) {
                return Ok(Some(format!("`{shown}` {reason}")));
            }
            let is_ours = self.repository.below_store(&shown).is_some();
            match entry.kind() {
                Some(ObjectType::Tree) => {
                    let repository = &self.repository.inner;
                    let below = repository.find_tree(entry.id())?;
                    let known = known_entry.filter(|known| known.kind() == Some(ObjectType::Tree));
                    let known = known
                        .map(|known| repository.find_tree(known.id()))
                        .transpose()?;
                    let path = format!("{shown}/");
                    let found = self.find_in(&below, known.as_ref(), &path, depth + 1)?;
                    if found.is_some() {
                        return Ok(found);
                    }
                }
                Some(ObjectType::Blob) if is_ours => {
                    if entry.filemode() == i32::from(FileMode::Link) {
                        return Ok(Some(format!("`{shown}` is a symbolic link")));
                    }
                    let (size, _) = self.repository.inner.odb()?.read_header(entry.id())?;
                    if size as u64 > self.repository.most_bytes(&shown) {
                        return Ok(Some(format!("`{shown}` has {size} bytes")));
                    }
                }
                Some(ObjectType::Commit) if is_ours => {
                    return Ok(Some(format!("`{shown}` is a repository of its own")));
                }
                _ => {}
            }
        }
        Ok(None)
    }
}

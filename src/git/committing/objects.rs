//! Texts, trees and commits: reading them, and writing new ones.

use git2::ObjectType;
use git2::Oid;
use git2::Signature;
use git2::Time;

use crate::git::GitError;
use crate::git::Repository;
use crate::git::To;
use crate::git::Trees;
use crate::git::author::Author;
use crate::git::id::Id;
use crate::git::reading::trees::Step;
use crate::git::repository::loose_objects;

/// The text of a file that is to be committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewText {
    Bytes(Vec<u8>),
    /// Some commit holds it already.
    Known,
    /// The file is gone meanwhile.
    Gone,
}

/// Gives the text of a file that is to be committed.
pub type TextOf<'a> = dyn FnMut(&str, Id) -> Result<NewText, GitError> + 'a;

/// From so many new objects on they are written as one pack instead of a file each.
const PACK_FROM: usize = 64;

impl Repository {
    /// The newest commit of the branch that is checked out; `None` before the first.
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
            Err(error)
                if matches!(
                    error.code(),
                    git2::ErrorCode::UnbornBranch | git2::ErrorCode::NotFound
                ) =>
            {
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

    /// The commit that the reference `name` points to.
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
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error).to("read a reference"),
        }
    }

    /// Has the reference `name` point to `to`; `Ok(false)` if it does not point to `from` any
    /// more, or exists where `from` is `None`, or if somebody is about to change it.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    pub fn advance(
        &self,
        name: &str,
        from: Option<Id>,
        to: Id,
        why: &str,
    ) -> Result<bool, GitError> {
        self.note_made(to)?;
        let moved = match from {
            Some(from) => self.inner.reference_matching(name, to.0, true, from.0, why),
            None => self.inner.reference(name, to.0, false, why),
        };
        match moved {
            Ok(_) => Ok(true),
            Err(error)
                if matches!(
                    error.code(),
                    git2::ErrorCode::Modified | git2::ErrorCode::Exists | git2::ErrorCode::Locked
                ) =>
            {
                Ok(false)
            }
            Err(error) => Err(error).to("move the branch"),
        }
    }

    /// Has the reference `name`, which is the program's own, point to `to`.
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

    /// Whether one of the references whose names begin with `prefix` points to `to`.
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

    /// The files of a commit.
    ///
    /// # Errors
    ///
    /// Fails if the commit or its tree is missing.
    pub fn trees(&self, commit: Option<Id>) -> Result<Trees<'_>, GitError> {
        let action = "read the files of a commit";
        let root = match commit {
            None => None,
            Some(commit) => {
                let commit = self.inner.find_commit(commit.0).to(action)?;
                Some(commit.tree_id())
            }
        };
        Trees::of(self, root)
    }

    /// The text of a file.
    ///
    /// # Errors
    ///
    /// Fails if it is missing.
    pub fn text(&self, id: Id) -> Result<Vec<u8>, GitError> {
        let blob = self.inner.find_blob(id.0).to("read a text")?;
        Ok(blob.content().to_owned())
    }

    /// How many bytes a text has.
    ///
    /// # Errors
    ///
    /// Fails if it is missing.
    pub fn size_of(&self, id: Id) -> Result<u64, GitError> {
        let action = "read a text";
        let (size, _) = self.inner.odb().to(action)?.read_header(id.0).to(action)?;
        Ok(size as u64)
    }

    /// Hands every text of the repository to `each`, once, whether a commit holds it or not.
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

    /// Makes a commit that differs from `base`, the files of its first parent, in `changes`: paths below the store,
    /// each with its new text, or `None` where it is gone. No branch is moved. Texts come from
    /// `text_of`, one at a time; `Ok(None)` if one of them is another by now.
    ///
    /// # Errors
    ///
    /// Fails if something cannot be written.
    pub fn commit(
        &self,
        base: &mut Trees<'_>,
        parents: &[Id],
        changes: &[(String, Option<Id>)],
        text_of: &mut TextOf<'_>,
        message: &str,
        author: &Author,
    ) -> Result<Option<Id>, GitError> {
        let action = "commit";
        let new = changes.iter().filter(|(_, id)| id.is_some()).count();
        let mut writer = Writer::new(self, new)?;
        for (path, id) in changes {
            let Some(id) = id else { continue };
            let text = match text_of(path, *id)? {
                NewText::Bytes(text) => text,
                NewText::Known => continue,
                NewText::Gone => return Ok(None),
            };
            if writer.text(&text)? != id.0 {
                return Ok(None); // It changed meanwhile.
            }
        }
        let owners = parents
            .iter()
            .map(|parent| writer.inner().find_commit(parent.0))
            .collect::<Result<Vec<_>, _>>()
            .to(action)?;
        let by_path: Vec<Step<'_>> = changes
            .iter()
            .map(|(path, id)| {
                let parts = self.prefix.split_terminator('/').chain(path.split('/'));
                (parts.collect(), id.map(|id| id.0))
            })
            .collect();
        let mut trees = Vec::new();
        let odb = writer.inner().odb().to(action)?;
        let tree = match base.write(&odb, "", &by_path, 0, &mut trees)? {
            Some(tree) => tree,
            None => {
                let empty = writer.inner().treebuilder(None).to(action)?;
                empty.write().to(action)?
            }
        };
        let tree = writer.inner().find_tree(tree).to(action)?;
        let signature = Signature::new(&author.name, &author.email, &Time::new(author.at, 0));
        let signature = signature.to(action)?;
        let parents: Vec<_> = owners.iter().collect();
        let id = writer
            .inner()
            .commit(None, &signature, &signature, message, &tree, &parents)
            .to(action)?;
        trees.extend([tree.id(), id]);
        drop((tree, parents, odb));
        drop(owners);
        writer.finish(trees)?;
        Ok(Some(Id(id)))
    }
}

/// Writes the objects of one commit: few of them a file each, many as one pack.
struct Writer<'a> {
    repository: &'a Repository,
    /// The repository once more, with an object store that keeps what is new in memory: it would
    /// keep it there as long as it lives.
    packed: Option<git2::Repository>,
    texts: Vec<Oid>,
}

impl Writer<'_> {
    fn new(repository: &Repository, texts: usize) -> Result<Writer<'_>, GitError> {
        let action = "commit";
        let packed = if texts >= PACK_FROM {
            let again = loose_objects::open(repository.inner.path()).to(action)?;
            let odb = again.odb().to(action)?;
            odb.add_new_mempack_backend(999).to(action)?;
            drop(odb);
            Some(again)
        } else {
            None
        };
        Ok(Writer {
            repository,
            packed,
            texts: Vec::new(),
        })
    }

    fn inner(&self) -> &git2::Repository {
        self.packed.as_ref().unwrap_or(&self.repository.inner)
    }

    fn text(&mut self, bytes: &[u8]) -> Result<Oid, GitError> {
        let id = self.inner().blob(bytes).to("commit")?;
        if self.packed.is_some() {
            self.texts.push(id);
        }
        Ok(id)
    }

    /// Makes what was written durable; `others` are the commit and its new trees.
    fn finish(self, others: Vec<Oid>) -> Result<(), GitError> {
        let action = "commit";
        let Some(packed) = &self.packed else {
            return Ok(());
        };
        let mut builder = packed.packbuilder().to(action)?;
        for id in self.texts.iter().chain(&others) {
            builder.insert_object(*id, None).to(action)?;
        }
        self.repository.write_pack(&mut builder, action)
    }
}

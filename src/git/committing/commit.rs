//! Texts, trees and commits: reading them, and writing new ones.

use git2::{Oid, Signature, Time};

use crate::git::author::Author;
use crate::git::id::Id;
use crate::git::reading::trees::Step;
use crate::git::repository::loose_objects;
use crate::git::repository::packs::write_pack;
use crate::git::{GitError, Repository, To, Trees};

/// The text of a file that is to be committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewText {
    Bytes(Vec<u8>),
    /// Some commit holds it already.
    Known,
    /// The file is gone meanwhile.
    Gone,
}

/// Returns the text of a file that is to be committed.
pub type TextOf<'a> = dyn FnMut(&str, Id) -> Result<NewText, GitError> + 'a;

/// Number of new objects from which they are written as one pack instead of a file each.
const PACK_FROM: usize = 64;

/// Makes a commit that differs from `base`, the files of its first parent, in `changes`: paths below
/// the store, each with its new text, or `None` of a deleted file. No branch is moved. Texts come from
/// `text_of`, one at a time; returns `Ok(None)` if one of them has changed meanwhile.
///
/// # Errors
///
/// Fails if something cannot be written.
pub fn write_commit(
    repository: &Repository,
    base: &mut Trees<'_>,
    parents: &[Id],
    changes: &[(String, Option<Id>)],
    text_of: &mut TextOf<'_>,
    message: &str,
    author: &Author,
) -> Result<Option<Id>, GitError> {
    let action = "commit";
    let new = changes.iter().filter(|(_, id)| id.is_some()).count();
    let mut writer = Writer::new(repository, new)?;
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
            let parts = repository
                .prefix
                .split_terminator('/')
                .chain(path.split('/'));
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

/// Writer of the objects of one commit: few as loose objects, many as one pack.
struct Writer<'a> {
    repository: &'a Repository,
    /// The repository, opened again with an object store that keeps new objects in memory until it is
    /// dropped; `None` for loose objects.
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

    /// Writes the pack, if there is one; `others` are the commit and its new trees.
    fn finish(self, others: Vec<Oid>) -> Result<(), GitError> {
        let action = "commit";
        let Some(packed) = &self.packed else {
            return Ok(());
        };
        let mut builder = packed.packbuilder().to(action)?;
        for id in self.texts.iter().chain(&others) {
            builder.insert_object(*id, None).to(action)?;
        }
        write_pack(self.repository, &mut builder, action)
    }
}

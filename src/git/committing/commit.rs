//! Texts, trees and commits: reading them, and writing new ones.

use git2::{ObjectType, Oid, Signature, Time};

use crate::git::author::Author;
use crate::git::id::Id;
use crate::git::reading::trees::Step;
use crate::git::repository::packs::write_pack;
use crate::git::repository::{loose_objects, loose_write};
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
    let tree = base.write("", &by_path, 0, &mut |bytes| writer.tree(bytes))?;
    let tree = match tree {
        Some(tree) => tree,
        None => writer.tree(b"")?,
    };
    let signature = Signature::new(&author.name, &author.email, &Time::new(author.at, 0));
    let commit = commit_bytes(tree, parents, &signature.to(action)?, message);
    let id = writer.object(ObjectType::Commit, &commit)?;
    writer.finish()?;
    Ok(Some(Id(id)))
}

/// Returns the bytes of a commit. libgit2 would read the whole tree again to make them.
fn commit_bytes(tree: Oid, parents: &[Id], by: &Signature<'_>, message: &str) -> Vec<u8> {
    let mut bytes = format!("tree {tree}\n").into_bytes();
    for Id(parent) in parents {
        bytes.extend_from_slice(format!("parent {parent}\n").as_bytes());
    }
    for role in ["author", "committer"] {
        bytes.extend_from_slice(format!("{role} ").as_bytes());
        bytes.extend_from_slice(by.name_bytes());
        bytes.extend_from_slice(b" <");
        bytes.extend_from_slice(by.email_bytes());
        // The time zone of all commits is UTC.
        bytes.extend_from_slice(format!("> {} +0000\n", by.when().seconds()).as_bytes());
    }
    bytes.extend_from_slice(format!("\n{message}").as_bytes());
    bytes
}

/// Writer of the objects of one commit: few as loose objects, many as one pack.
struct Writer<'a> {
    repository: &'a Repository,
    /// The repository, opened again with an object store that keeps new objects in memory until it is
    /// dropped; `None` for loose objects.
    packed: Option<git2::Repository>,
    /// Objects of the pack.
    objects: Vec<Oid>,
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
            objects: Vec::new(),
        })
    }

    fn inner(&self) -> &git2::Repository {
        self.packed.as_ref().unwrap_or(&self.repository.inner)
    }

    fn text(&mut self, bytes: &[u8]) -> Result<Oid, GitError> {
        self.object(ObjectType::Blob, bytes)
    }

    fn tree(&mut self, bytes: &[u8]) -> Result<Oid, GitError> {
        if cfg!(unix) && self.packed.is_none() && bytes.len() >= loose_write::LARGE {
            let inner = self.inner();
            let odb = inner.odb().to("commit")?;
            return loose_write::write_tree(inner, &odb, bytes).to("commit");
        }
        self.object(ObjectType::Tree, bytes)
    }

    fn object(&mut self, kind: ObjectType, bytes: &[u8]) -> Result<Oid, GitError> {
        let odb = self.inner().odb().to("commit")?;
        let id = odb.write(kind, bytes).to("commit")?;
        drop(odb);
        if self.packed.is_some() {
            self.objects.push(id);
        }
        Ok(id)
    }

    /// Writes the pack, if there is one.
    fn finish(self) -> Result<(), GitError> {
        let action = "commit";
        let Some(packed) = &self.packed else {
            return Ok(());
        };
        let mut builder = packed.packbuilder().to(action)?;
        for id in &self.objects {
            builder.insert_object(*id, None).to(action)?;
        }
        write_pack(self.repository, &mut builder, action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_written_as_libgit2_writes_it() {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::create(folder.path(), "main").unwrap();
        let mut parents = Vec::new();
        let texts = [
            ("Añ Ó", "a@b.c", 0, "Add"),
            (" x. ", "é@x", 1_768_000_000, "Title\n\nBody\n"),
        ];
        for (name, email, at, message) in texts {
            let author = Author {
                name: name.to_owned(),
                email: email.to_owned(),
                at,
            };
            let changes = [(
                "files/a.md".to_owned(),
                Some(Id(
                    Oid::hash_object(ObjectType::Blob, name.as_bytes()).unwrap()
                )),
            )];
            let mut base = crate::git::trees(&repository, parents.first().copied()).unwrap();
            let mut text_of = |_: &str, _: Id| Ok(NewText::Bytes(name.as_bytes().to_vec()));
            let written = write_commit(
                &repository,
                &mut base,
                &parents,
                &changes,
                &mut text_of,
                message,
                &author,
            );
            let id = written.unwrap().unwrap();
            let inner = &repository.inner;
            let by = Signature::new(name, email, &Time::new(at, 0)).unwrap();
            let owners: Vec<_> = parents
                .iter()
                .map(|Id(id)| inner.find_commit(*id).unwrap())
                .collect();
            let tree = inner.find_commit(id.0).unwrap().tree().unwrap();
            let expected = inner.commit(
                None,
                &by,
                &by,
                message,
                &tree,
                &owners.iter().collect::<Vec<_>>(),
            );
            assert_eq!(expected.unwrap(), id.0);
            parents = vec![id];
        }
    }
}

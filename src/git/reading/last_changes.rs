//! Times of the last changes of files, from the commits that changed them.
//!
//! Guarantees: a commit is compared with its parent at most once, however many names are looked up, and
//! only for a name that no newer commit changed. No more than a few folders are in memory at a time.

use std::cmp::Ordering;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use git2::{ObjectType, Odb, Oid};

use crate::git::reading::history;
use crate::git::reading::revisions::entries_at;
use crate::git::reading::tree_entry::{ID_BYTES, TreeEntry};
use crate::git::reading::trees::trees;
use crate::git::repository::path_change::PathChange;
use crate::git::{CommitInfo, GitError, Id, Repository, STORE_PARTS, To};

const ACTION: &str = "read the history";
/// Number of folders kept: those of a commit are compared again with the next older commit.
const FOLDERS_KEPT: usize = 16;

/// Lookup of the newest commits that changed files, by name.
pub struct LastChanges<'a> {
    repository: &'a Repository,
    odb: Odb<'a>,
    /// Commits that are not compared yet, newest first.
    older: Box<dyn Iterator<Item = Result<CommitInfo, GitError>> + 'a>,
    /// Function from a path below the store to the name under which it is looked up.
    name_of: fn(&str) -> &str,
    /// Time of the newest compared commit that changed each name.
    found: HashMap<String, i64>,
    /// Changes of each path, newest first.
    changes: HashMap<String, Vec<TextChange>>,
    /// Former path of a text that a commit removed, by commit and text.
    removed: HashMap<(usize, Oid), String>,
    /// Compared commits, newest first.
    commits: Vec<Id>,
    /// Time of the newest commit, in seconds since 1970.
    newest: i64,
    folders: VecDeque<(Oid, Rc<[u8]>)>,
    /// Number of commits that were compared with their parents.
    pub compared: usize,
}

/// A path with its texts before and after a commit.
type ChangedFile = (String, Option<Oid>, Option<Oid>);

/// The change of one path by one commit.
#[derive(Clone, Copy)]
struct TextChange {
    /// Number of the commit among the compared ones.
    commit: usize,
    at: i64,
    before: Option<Oid>,
    after: Option<Oid>,
}

/// Returns the lookup in `from` and its ancestors, without `without` and its ancestors. Merges are
/// skipped: they hold changes of other commits. `name_of` returns the name under which a path below the
/// store is looked up.
///
/// # Errors
///
/// Fails if the repository is damaged.
pub fn last_changes(
    repository: &Repository,
    from: Id,
    without: Option<Id>,
    name_of: fn(&str) -> &str,
) -> Result<LastChanges<'_>, GitError> {
    Ok(LastChanges {
        repository,
        odb: repository.inner.odb().to(ACTION)?,
        older: Box::new(history::commits(repository, from, without)?),
        name_of,
        found: HashMap::new(),
        changes: HashMap::new(),
        removed: HashMap::new(),
        commits: Vec::new(),
        newest: history::commit_info(repository, from)?.at,
        folders: VecDeque::new(),
        compared: 0,
    })
}

/// Calls `take` with `from` and its ancestors, newest first, each with the files of the store that it changed; of a
/// merge these are the files that differ from all of its parents.
///
/// # Errors
///
/// Fails if the repository is damaged, and as `take` does.
pub fn each_change<E: From<GitError>>(
    repository: &Repository,
    from: Id,
    mut take: impl FnMut(&CommitInfo, Vec<PathChange>) -> Result<(), E>,
) -> Result<(), E> {
    let mut commits = last_changes(repository, from, None, |path| path)?;
    while let Some(moment) = commits.older.next() {
        let moment = moment?;
        let mut changed = commits.differences(&moment)?;
        for parent in moment.parents.iter().skip(1) {
            let mut files = trees(repository, Some(*parent))?;
            let mut own = Vec::new();
            for (path, before, after) in changed {
                if files.file(&path)? != after.map(Id) {
                    own.push((path, before, after));
                }
            }
            changed = own;
        }
        let changed = changed.into_iter().map(|(path, before, after)| PathChange {
            path,
            before: before.map(Id),
            after: after.map(Id),
        });
        take(&moment, changed.collect())?;
    }
    Ok(())
}

impl LastChanges<'_> {
    /// Returns the time of the newest commit that changed a file of this name, in seconds since 1970; that
    /// of the newest commit if none did.
    ///
    /// # Errors
    ///
    /// Fails if the repository is damaged.
    pub fn of(&mut self, name: &str) -> Result<i64, GitError> {
        loop {
            if let Some(at) = self.found.get(name) {
                return Ok(*at);
            }
            let Some(moment) = self.older.next() else {
                return Ok(self.newest);
            };
            let moment = moment?;
            if moment.parents.len() < 2 {
                self.compare(&moment)?;
            }
        }
    }

    /// Returns the time when the text at `path` was written, in seconds since 1970. Commits that only moved
    /// it, and those whose message `brings_back` recognizes as restoring an older text, are skipped where
    /// the older commit is found.
    ///
    /// # Errors
    ///
    /// Fails if the repository is damaged.
    pub fn of_text(&mut self, path: &str, brings_back: fn(&str) -> bool) -> Result<i64, GitError> {
        let mut path = path.to_owned();
        let (mut text, mut brought, mut from) = (None, None, 0);
        while let Some(change) = self.next_change(&path, from)? {
            from = change.commit + 1;
            if text.is_some() && change.after != text {
                continue;
            }
            text = change.after;
            let old = text.filter(|_| change.before.is_none());
            let old = old.and_then(|text| self.removed.get(&(change.commit, text)));
            if let Some(old) = old {
                path.clone_from(old);
            } else if !brings_back(
                &history::commit_info(self.repository, self.commits[change.commit])?.message,
            ) {
                return Ok(change.at);
            }
            brought = Some(change.at);
        }
        Ok(brought.unwrap_or(self.newest))
    }

    /// Returns the newest change of `path` by the commit number `from` or an older one.
    fn next_change(&mut self, path: &str, from: usize) -> Result<Option<TextChange>, GitError> {
        loop {
            let known = self.changes.get(path).into_iter().flatten();
            if let Some(change) = known.copied().find(|change| change.commit >= from) {
                return Ok(Some(change));
            }
            let Some(moment) = self.older.next() else {
                return Ok(None);
            };
            let moment = moment?;
            if moment.parents.len() < 2 {
                self.compare(&moment)?;
            }
        }
    }

    /// Returns the files that differ between a commit and its first parent.
    fn differences(&mut self, moment: &CommitInfo) -> Result<Vec<ChangedFile>, GitError> {
        self.compared += 1;
        let after = entries_at(self.repository, moment.id, &STORE_PARTS)?;
        let before = match moment.parents.first() {
            Some(parent) => entries_at(self.repository, *parent, &STORE_PARTS)?,
            None => vec![None; STORE_PARTS.len()],
        };
        let mut changed = Vec::new();
        for ((part, before), after) in STORE_PARTS.iter().zip(before).zip(after) {
            if before != after {
                let [before, after] = [before, after].map(|id| id.map(|id| id.0));
                self.compare_below(part, before, after, &mut changed)?;
            }
        }
        Ok(changed)
    }

    fn compare(&mut self, moment: &CommitInfo) -> Result<(), GitError> {
        let changed = self.differences(moment)?;
        let commit = self.commits.len();
        self.commits.push(moment.id);
        for (path, before, after) in changed {
            let name = (self.name_of)(&path);
            if !self.found.contains_key(name) {
                self.found.insert(name.to_owned(), moment.at);
            }
            if let (Some(text), None) = (before, after) {
                self.removed.insert((commit, text), path.clone());
            }
            let at = moment.at;
            self.changes.entry(path).or_default().push(TextChange {
                commit,
                at,
                before,
                after,
            });
        }
        Ok(())
    }

    /// Adds to `changed` the files that differ at or below `path`, which is a file or a folder.
    fn compare_below(
        &mut self,
        path: &str,
        before: Option<Oid>,
        after: Option<Oid>,
        changed: &mut Vec<ChangedFile>,
    ) -> Result<(), GitError> {
        let ids = [before, after];
        let before = before.map(|id| self.folder(id)).transpose()?;
        let after = after.map(|id| self.folder(id)).transpose()?;
        let is_file = |side: &Option<Option<Rc<[u8]>>>| matches!(side, Some(None));
        if is_file(&before) || is_file(&after) {
            let [old, new] = ids;
            let old = old.filter(|_| is_file(&before));
            let new = new.filter(|_| is_file(&after));
            changed.push((path.to_owned(), old, new));
        }
        let [before, after] = [before, after].map(|side| side.flatten().unwrap_or_default());
        for (name, before, after) in differing(&before, &after) {
            // A name that is no text is none of ours.
            let Ok(name) = std::str::from_utf8(name) else {
                continue;
            };
            let path = format!("{path}/{name}");
            let text = |entry: Option<TreeEntry<'_>>| {
                entry
                    .filter(|entry| !entry.is_folder())
                    .map(|entry| entry.id)
            };
            if text(before).is_some() || text(after).is_some() {
                changed.push((path.clone(), text(before), text(after)));
            }
            let folder = |entry: Option<TreeEntry<'_>>| {
                entry
                    .filter(|entry| entry.is_folder())
                    .map(|entry| entry.id)
            };
            if let (None, None) = (folder(before), folder(after)) {
                continue;
            }
            self.compare_below(&path, folder(before), folder(after), changed)?;
        }
        Ok(())
    }

    /// Returns the bytes of a tree; `None` of a blob.
    fn folder(&mut self, id: Oid) -> Result<Option<Rc<[u8]>>, GitError> {
        if let Some((_, bytes)) = self.folders.iter().find(|(known, _)| *known == id) {
            return Ok(Some(Rc::clone(bytes)));
        }
        if self.odb.read_header(id).to(ACTION)?.1 != ObjectType::Tree {
            return Ok(None);
        }
        let bytes: Rc<[u8]> = self.odb.read(id).to(ACTION)?.data().into();
        if self.folders.len() == FOLDERS_KEPT {
            self.folders.pop_front();
        }
        self.folders.push_back((id, Rc::clone(&bytes)));
        Ok(Some(bytes))
    }
}

/// A differing entry of two versions of a folder: its name, and the entry in each.
type Differing<'a> = (&'a [u8], Option<TreeEntry<'a>>, Option<TreeEntry<'a>>);

fn differing<'a>(before: &'a [u8], after: &'a [u8]) -> Vec<Differing<'a>> {
    let mut found = Vec::new();
    let (mut before, mut after) = (before, after);
    loop {
        let same = same_entries(before, after);
        (before, after) = (&before[same..], &after[same..]);
        let (old, new) = (TreeEntry::first(before), TreeEntry::first(after));
        let order = match (&old, &new) {
            (None, None) => return found,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => old.key().cmp(&new.key()),
        };
        let old = old.filter(|_| order != Ordering::Greater);
        let new = new.filter(|_| order != Ordering::Less);
        before = &before[old.map_or(0, |entry| entry.bytes.len())..];
        after = &after[new.map_or(0, |entry| entry.bytes.len())..];
        if let Some(entry) = old.or(new) {
            found.push((entry.name, old, new));
        }
    }
}

/// Returns the length of the common prefix of whole entries, in bytes. Folders of ten thousand files
/// differ in a few entries, and parsing all of them would take most of the time.
fn same_entries(one: &[u8], other: &[u8]) -> usize {
    const BLOCK: usize = 4096;
    let most = one.len().min(other.len());
    let blocks = one[..most].chunks(BLOCK).zip(other[..most].chunks(BLOCK));
    let blocks = blocks.take_while(|(one, other)| one == other);
    let equal: usize = blocks.map(|(block, _)| block.len()).sum();
    let mut at = 0;
    while at < most {
        let Some(end) = memchr::memchr(0, &one[at..]).map(|end| at + end + 1 + ID_BYTES) else {
            break;
        };
        if end > most || end > equal && one[at..end] != other[at..end] {
            break;
        }
        at = end;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::{Author, NewText, trees, write_commit};

    /// A repository, and how to commit files into it: each with its text, `None` where it goes.
    struct Scene {
        _folder: tempfile::TempDir,
        repository: Repository,
        at: i64,
    }

    impl Scene {
        fn new() -> Scene {
            let folder = tempfile::tempdir().unwrap();
            let repository = Repository::create(folder.path(), "main").unwrap();
            Scene {
                _folder: folder,
                repository,
                at: 0,
            }
        }

        fn commit(&mut self, parents: &[Id], files: &[(&str, Option<&str>)]) -> Id {
            self.at += 10;
            let author = Author {
                name: "m".to_owned(),
                email: "m@m".to_owned(),
                at: self.at,
            };
            let changes: Vec<(String, Option<Id>)> = files
                .iter()
                .map(|(path, text)| {
                    (
                        (*path).to_owned(),
                        text.map(|text| Id::of_text(text.as_bytes())),
                    )
                })
                .collect();
            let mut text_of = |path: &str, _| {
                let text = files.iter().find(|(known, _)| *known == path);
                Ok(match text {
                    Some((_, Some(text))) => NewText::Bytes(text.as_bytes().to_vec()),
                    _ => NewText::Gone,
                })
            };
            let repository = &self.repository;
            let mut trees = trees(repository, parents.first().copied()).unwrap();
            write_commit(
                repository,
                &mut trees,
                parents,
                &changes,
                &mut text_of,
                "c",
                &author,
            )
            .unwrap()
            .unwrap()
        }

        fn looked(&self, from: Id, without: Option<Id>) -> LastChanges<'_> {
            last_changes(&self.repository, from, without, |path| {
                path.rsplit('/').next().unwrap_or(path)
            })
            .unwrap()
        }
    }

    #[test]
    fn the_newest_commit_that_changed_a_name_counts() {
        let mut scene = Scene::new();
        let first = scene.commit(&[], &[("files/a.md", Some("1")), ("files/b.md", Some("1"))]);
        let second = scene.commit(
            &[first],
            &[("files/a.md", Some("2")), ("files/x/c.md", Some("1"))],
        );
        let third = scene.commit(
            &[second],
            &[("files/b.md", None), ("archive/b.md", Some("1"))],
        );
        let fourth = scene.commit(&[third], &[("memdir.toml", Some("limit = 3\n"))]);
        let mut looked = scene.looked(fourth, None);
        assert_eq!(looked.of("memdir.toml").unwrap(), 40);
        assert_eq!(looked.compared, 1, "older commits are not looked at yet");
        let times = ["b.md", "a.md", "c.md"].map(|name| looked.of(name).unwrap());
        assert_eq!(times, [30, 20, 20]);
        assert_eq!(looked.of("nobody.md").unwrap(), 40);
        assert_eq!(looked.compared, 4);
        let mut since = scene.looked(fourth, Some(second));
        assert_eq!(since.of("a.md").unwrap(), 40, "nobody changed it since");
        assert_eq!(since.compared, 2);
    }

    #[test]
    fn every_commit_is_compared_once_however_many_names_are_asked_for() {
        let mut scene = Scene::new();
        let names: Vec<String> = (0..40).map(|n| format!("files/{n:02}.md")).collect();
        let all: Vec<(&str, Option<&str>)> = names
            .iter()
            .map(|name| (name.as_str(), Some("0")))
            .collect();
        let base = scene.commit(&[], &all);
        let mut head = base;
        for name in &names {
            head = scene.commit(&[head], &[(name, Some("1"))]);
        }
        let mut looked = scene.looked(head, Some(base));
        for (n, name) in names.iter().enumerate() {
            let at = looked.of(name.strip_prefix("files/").unwrap()).unwrap();
            assert_eq!(at, 20 + 10 * n as i64);
        }
        assert_eq!(looked.compared, 40);
    }

    #[test]
    fn what_was_moved_or_brought_back_is_as_old_as_its_text() {
        let mut scene = Scene::new();
        let first = scene.commit(&[], &[("files/a.md", Some("1")), ("files/b.md", Some("x"))]);
        let second = scene.commit(&[first], &[("files/a.md", Some("2"))]);
        let third = scene.commit(&[second], &[("files/a.md", Some("1"))]);
        let moved = scene.commit(
            &[third],
            &[("files/a.md", None), ("files/x/c.md", Some("1"))],
        );
        let last = scene.commit(&[moved], &[("files/b.md", Some("never before"))]);
        let of = |path: &str, brings_back: fn(&str) -> bool| {
            let mut looked = scene.looked(last, None);
            looked.of_text(path, brings_back).unwrap()
        };
        assert_eq!(of("files/x/c.md", |_| false), 30, "written a second time");
        assert_eq!(of("files/x/c.md", |_| true), 10);
        assert_eq!(of("files/b.md", |_| true), 50, "no older one holds it");
        assert_eq!(of("files/b.md", |_| false), 50);
    }

    #[test]
    fn a_merge_changes_nothing_by_itself() {
        let mut scene = Scene::new();
        let base = scene.commit(&[], &[("files/a.md", Some("0"))]);
        let one = scene.commit(&[base], &[("files/a.md", Some("1"))]);
        let other = scene.commit(&[base], &[("files/b.md", Some("1"))]);
        let merge = scene.commit(&[one, other], &[("files/b.md", Some("1"))]);
        let mut looked = scene.looked(merge, Some(base));
        let times = ["a.md", "b.md"].map(|name| looked.of(name).unwrap());
        assert_eq!(times, [20, 30]);
    }

    #[test]
    fn a_folder_where_a_file_was_is_both() {
        let mut scene = Scene::new();
        let base = scene.commit(&[], &[("files/a", Some("0")), ("files/a.md", Some("0"))]);
        let next = scene.commit(&[base], &[("files/a", None)]);
        let last = scene.commit(
            &[next],
            &[("files/a/b.md", Some("0")), ("files/z.md", Some("1"))],
        );
        let mut looked = scene.looked(last, Some(base));
        let times = ["b.md", "z.md", "a"].map(|name| looked.of(name).unwrap());
        assert_eq!(times, [30, 30, 20]);
        assert_eq!(
            looked.of("a.md").unwrap(),
            30,
            "of the newest: it was not changed"
        );
    }
}

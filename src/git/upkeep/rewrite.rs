//! Removes files from a whole history: every commit that held one is rewritten without it, and the old
//! objects are removed from the disk.
//!
//! Guarantees: author, times and message of each commit stay to the byte; signatures are removed. The
//! branch moves last, to a commit with the same files. A killed process leaves the old history or the
//! new one, and another run completes it. Other unreachable objects are not removed.

use std::collections::{BTreeMap, HashMap, HashSet};

use git2::{ObjectType, Odb, Oid, Sort};

use crate::git::committing::branch_update::advance_reference;
use crate::git::reading::tree_entry::entry_bytes;
use crate::git::repository::opening::replace;
use crate::git::upkeep::packing;
use crate::git::{GitError, Id, Repository, To};

/// The outcome of a rewriting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rewritten {
    /// Number of commits that were rewritten.
    pub commits: usize,
    /// Number of texts that were removed from the disk.
    pub texts: usize,
}

const ACTION: &str = "rewrite the history";
const WHY: &str = "memdir: purge --history";
const ZERO: &str = "0000000000000000000000000000000000000000";

/// Returns whether a file is to be removed, by its path below the store.
pub type IsGone<'a> = dyn Fn(&str) -> bool + 'a;

/// Returns the reason why this history cannot be rewritten, if there is one.
///
/// # Errors
///
/// Fails if the repository cannot be read.
pub fn rewrite_obstacle(repository: &Repository) -> Result<Option<&'static str>, GitError> {
    let alternates = repository.inner.commondir().join("objects/info/alternates");
    Ok(if !repository.prefix.is_empty() {
        Some("the store is not all of the repository")
    } else if !repository.inner.worktrees().to(ACTION)?.is_empty() {
        Some("another work tree of it is checked out elsewhere")
    } else if alternates.exists() {
        Some("it takes objects from another repository")
    } else if repository.inner.is_shallow() {
        Some("it is a shallow one")
    } else if packing::has_kept_packs(repository) {
        Some("a pack of it is marked to be kept")
    } else {
        None
    })
}

/// Removes the files for which `is_gone` is true from every commit, and every other file with the same
/// text. The caller keeps all others from writing.
///
/// # Errors
///
/// Fails, before any change, if the newest commit of the branch holds one of the texts; or if something
/// cannot be read or written, or somebody moves the branch.
pub fn rewrite_without(
    repository: &Repository,
    is_gone: &IsGone<'_>,
) -> Result<Rewritten, GitError> {
    let branch = format!("refs/heads/{}", repository.branch());
    let mut rewriting = Rewriting::of(repository, is_gone)?;
    let tips = tips(repository)?;
    let named = tips.values().map(|(_, commit)| *commit);
    let commits = oldest_first(repository, named.chain(stashed(repository)))?;
    for commit in &commits {
        let tree = repository.inner.find_commit(*commit).to(ACTION)?.tree_id();
        rewriting.collect(tree, "")?;
    }
    if let Some(head) = repository.reference(&branch)? {
        let tree = repository.inner.find_commit(head.0).to(ACTION)?.tree_id();
        if let Some(path) = rewriting.holds(tree, "")? {
            let reason = format!("`{path}` holds the same text; purge it as well, or change it");
            return Err(GitError::new(ACTION, reason));
        }
    }
    let mut map = HashMap::new();
    for commit in commits {
        let new = rewriting.commit(commit, &map)?;
        map.insert(commit, new);
    }
    let mut last = None;
    for (name, (target, commit)) in &tips {
        let new = map[commit];
        match new == *commit {
            true => {}
            false if *name == branch => last = Some((*target, new)),
            false => {
                let set = repository.inner.reference(name, new, true, WHY);
                set.to(ACTION)?;
            }
        }
    }
    if let Some((from, to)) = last
        && !advance_reference(repository, &branch, Some(Id(from)), Id(to), WHY)?
    {
        return Err(GitError::new(ACTION, "somebody moved the branch meanwhile"));
    }
    rewrite_logs(repository, &map)?;
    let texts = prune(repository, rewriting.texts, is_gone)?;
    let changed = map.iter().filter(|(old, new)| old != new);
    Ok(Rewritten {
        commits: changed.count(),
        texts,
    })
}

/// Returns the target of every reference, and the commit that it leads to.
fn tips(repository: &Repository) -> Result<BTreeMap<String, (Oid, Oid)>, GitError> {
    let mut tips = BTreeMap::new();
    for reference in repository.inner.references().to(ACTION)? {
        let reference = reference.to(ACTION)?;
        let (Some(target), Ok(commit)) = (reference.target(), reference.peel_to_commit()) else {
            continue; // One that points to another reference, or to no commit.
        };
        let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
        tips.insert(name, (target, commit.id()));
    }
    Ok(tips)
}

/// Reference of `git stash`.
const STASH: &str = "refs/stash";

/// Returns the commits of `git stash`. All but the newest are named by the reference's log alone.
fn stashed(repository: &Repository) -> Vec<Oid> {
    let log = repository.inner.commondir().join("logs").join(STASH);
    let log = std::fs::read_to_string(log).unwrap_or_default();
    let ids = log.lines().filter_map(|line| line.split(' ').nth(1));
    let ids = ids.filter_map(|id| Oid::from_str(id).ok());
    ids.filter(|id| repository.inner.find_commit(*id).is_ok())
        .collect()
}

fn oldest_first(
    repository: &Repository,
    tips: impl Iterator<Item = Oid>,
) -> Result<Vec<Oid>, GitError> {
    let mut walk = repository.inner.revwalk().to(ACTION)?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)
        .to(ACTION)?;
    for tip in tips {
        walk.push(tip).to(ACTION)?;
    }
    walk.collect::<Result<_, _>>().to(ACTION)
}

/// Replaces old ids with new ones in the reflogs, and removes lines of commits that are gone.
fn rewrite_logs(repository: &Repository, map: &HashMap<Oid, Oid>) -> Result<(), GitError> {
    let known: HashSet<Oid> = map.values().copied().collect();
    let named = |id: &str| match id {
        ZERO => Some(ZERO.to_owned()),
        id => {
            let id = Oid::from_str(id).ok()?;
            let new = map.get(&id).copied().or_else(|| known.get(&id).copied())?;
            Some(new.to_string())
        }
    };
    let mut pending = vec![repository.inner.commondir().join("logs")];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).to(ACTION)?.flatten();
            pending.extend(entries.map(|entry| entry.path()));
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let is_stash = path.ends_with(STASH);
        let line = |line: &str| {
            let (before, rest) = line.split_at_checked(40)?;
            let (after, rest) = rest.strip_prefix(' ')?.split_at_checked(40)?;
            let after = named(after)?;
            let before = named(before).unwrap_or_else(|| ZERO.to_owned());
            // The rewriting of the reference is no entry of the stash.
            let is_own = is_stash && before == after;
            (!is_own).then(|| format!("{before} {after}{rest}\n"))
        };
        let new: String = text.lines().filter_map(line).collect();
        if new != text {
            replace(&path, new.as_bytes()).to(ACTION)?;
        }
    }
    Ok(())
}

/// Removes the unreachable objects that hold one of `texts`; returns the number of texts.
fn prune(
    repository: &Repository,
    mut texts: HashSet<Oid>,
    is_gone: &IsGone<'_>,
) -> Result<usize, GitError> {
    let odb = repository.inner.odb().to(ACTION)?;
    odb.refresh().to(ACTION)?;
    let reachable = reachable(repository)?;
    let mut others: Vec<(Oid, ObjectType)> = Vec::new();
    let mut all = Vec::new();
    odb.foreach(|id| {
        all.push(*id);
        true
    })
    .to(ACTION)?;
    for id in all.into_iter().filter(|id| !reachable.contains(id)) {
        let (_, kind) = odb.read_header(id).to(ACTION)?;
        others.push((id, kind));
    }
    let of = |wanted: ObjectType| {
        let others = others.iter().filter(move |(_, kind)| *kind == wanted);
        others.map(|(id, _)| *id).collect::<Vec<Oid>>()
    };
    let trees = of(ObjectType::Tree);
    // The path of an unreachable folder is unknown: its files are recognized by their names.
    for id in &trees {
        for entry in &repository.inner.find_tree(*id).to(ACTION)? {
            let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
            let is_it = is_gone(&format!("files/{name}")) || is_gone(&format!("archive/{name}"));
            let is_empty = entry.id() == Id::of_text(b"").0;
            if is_it && !is_empty && !reachable.contains(&entry.id()) {
                texts.insert(entry.id());
            }
        }
    }
    let mut tainted: HashSet<Oid> = texts.difference(&reachable).copied().collect();
    // For each object, the objects that name it.
    let mut named_by: HashMap<Oid, Vec<Oid>> = HashMap::new();
    for id in trees {
        for entry in &repository.inner.find_tree(id).to(ACTION)? {
            named_by.entry(entry.id()).or_default().push(id);
        }
    }
    for id in of(ObjectType::Commit) {
        let commit = repository.inner.find_commit(id).to(ACTION)?;
        for named in commit.parent_ids().chain([commit.tree_id()]) {
            named_by.entry(named).or_default().push(id);
        }
    }
    for id in of(ObjectType::Tag) {
        let tag = repository.inner.find_tag(id).to(ACTION)?;
        named_by.entry(tag.target_id()).or_default().push(id);
    }
    // Objects that name one which a killed run has removed must go, too.
    let missing = named_by.keys().filter(|id| !odb.exists(**id)).copied();
    tainted.extend(missing);
    let mut pending: Vec<Oid> = tainted.iter().copied().collect();
    while let Some(id) = pending.pop() {
        let above = named_by.get(&id).into_iter().flatten();
        pending.extend(
            above
                .filter(|id| tainted.insert(**id))
                .copied()
                .collect::<Vec<_>>(),
        );
    }
    let count = texts.iter().filter(|id| odb.exists(**id)).count();
    packing::remove_objects(repository, &tainted)?;
    Ok(count)
}

/// Returns all objects that are reachable from a reference.
fn reachable(repository: &Repository) -> Result<HashSet<Oid>, GitError> {
    let tips = tips(repository)?;
    let mut reachable: HashSet<Oid> = tips.values().map(|(target, _)| *target).collect();
    for id in oldest_first(repository, tips.values().map(|(_, commit)| *commit))? {
        reachable.insert(id);
        let mut pending = vec![repository.inner.find_commit(id).to(ACTION)?.tree_id()];
        while let Some(tree) = pending.pop() {
            if !reachable.insert(tree) {
                continue;
            }
            for entry in &repository.inner.find_tree(tree).to(ACTION)? {
                match entry.kind() {
                    Some(ObjectType::Tree) => pending.push(entry.id()),
                    _ => drop(reachable.insert(entry.id())),
                }
            }
        }
    }
    Ok(reachable)
}

/// The state of a rewriting.
struct Rewriting<'a> {
    repository: &'a Repository,
    odb: Odb<'a>,
    is_gone: &'a IsGone<'a>,
    /// Texts of the files that are removed.
    texts: HashSet<Oid>,
    /// Folders that were searched, by id and path.
    seen: HashSet<(Oid, String)>,
    /// Id of the new folder by id and path of the old one; `None` where nothing is left.
    made: HashMap<(Oid, String), Option<Oid>>,
}

impl<'a> Rewriting<'a> {
    fn of(repository: &'a Repository, is_gone: &'a IsGone<'a>) -> Result<Self, GitError> {
        Ok(Rewriting {
            odb: repository.inner.odb().to(ACTION)?,
            repository,
            is_gone,
            texts: HashSet::new(),
            seen: HashSet::new(),
            made: HashMap::new(),
        })
    }

    /// Returns the entries of a folder.
    fn entries(&self, tree: Oid, path: &str) -> Result<Vec<Entry>, GitError> {
        let tree = self.repository.inner.find_tree(tree).to(ACTION)?;
        let entry = |entry: git2::TreeEntry<'_>| Entry {
            name: entry.name_bytes().to_vec(),
            path: format!("{path}{}", String::from_utf8_lossy(entry.name_bytes())),
            id: entry.id(),
            is_folder: entry.kind() == Some(ObjectType::Tree),
            mode: entry.filemode_raw(),
        };
        Ok(tree.iter().map(entry).collect())
    }

    fn collect(&mut self, tree: Oid, path: &str) -> Result<(), GitError> {
        if !self.seen.insert((tree, path.to_owned())) {
            return Ok(());
        }
        for entry in self.entries(tree, path)? {
            if entry.is_folder {
                self.collect(entry.id, &format!("{}/", entry.path))?;
            } else if (self.is_gone)(&entry.path) && entry.id != Id::of_text(b"").0 {
                // The empty text is no secret, and many files may have it.
                self.texts.insert(entry.id);
            }
        }
        Ok(())
    }

    /// Returns the path of a file below `path` that holds one of the texts, if there is one.
    fn holds(&self, tree: Oid, path: &str) -> Result<Option<String>, GitError> {
        for entry in self.entries(tree, path)? {
            if entry.is_folder {
                if let Some(found) = self.holds(entry.id, &format!("{}/", entry.path))? {
                    return Ok(Some(found));
                }
            } else if self.texts.contains(&entry.id) {
                return Ok(Some(entry.path));
            }
        }
        Ok(None)
    }

    fn tree(&mut self, tree: Oid, path: &str) -> Result<Option<Oid>, GitError> {
        let key = (tree, path.to_owned());
        if let Some(made) = self.made.get(&key) {
            return Ok(*made);
        }
        let mut is_same = true;
        let mut bytes = Vec::new();
        for entry in self.entries(tree, path)? {
            let id = match entry.is_folder {
                true => self.tree(entry.id, &format!("{}/", entry.path))?,
                false => {
                    let goes = self.texts.contains(&entry.id) || (self.is_gone)(&entry.path);
                    (!goes).then_some(entry.id)
                }
            };
            is_same &= id == Some(entry.id);
            if let Some(id) = id {
                bytes.extend(entry_bytes(&format!("{:o}", entry.mode), &entry.name, id));
            }
        }
        let made = match (is_same, bytes.is_empty()) {
            (true, _) => Some(tree),
            (false, true) if !path.is_empty() => None,
            (false, _) => Some(self.odb.write(ObjectType::Tree, &bytes).to(ACTION)?),
        };
        self.made.insert(key, made);
        Ok(made)
    }

    /// Rewrites a commit without the removed files, on its rewritten parents.
    fn commit(&mut self, id: Oid, map: &HashMap<Oid, Oid>) -> Result<Oid, GitError> {
        let commit = self.repository.inner.find_commit(id).to(ACTION)?;
        let tree = self.tree(commit.tree_id(), "")?.unwrap_or(commit.tree_id());
        let parents: Vec<Oid> = commit
            .parent_ids()
            .map(|parent| map.get(&parent).copied().unwrap_or(parent))
            .collect();
        if tree == commit.tree_id() && commit.parent_ids().eq(parents.iter().copied()) {
            return Ok(id);
        }
        let object = self.odb.read(id).to(ACTION)?;
        let text = object.data();
        let head = memchr::memmem::find(text, b"\n\n").map_or(text.len(), |at| at + 1);
        let mut new = format!("tree {tree}\n").into_bytes();
        for parent in parents {
            new.extend_from_slice(format!("parent {parent}\n").as_bytes());
        }
        let mut is_dropped = false;
        for line in text[..head].split_inclusive(|byte| *byte == b'\n') {
            // A continuation line belongs to the key before it.
            if !line.starts_with(b" ") {
                let dropped: [&[u8]; 3] = [b"tree ", b"parent ", b"gpgsig"];
                is_dropped = dropped.iter().any(|key| line.starts_with(key));
            }
            if !is_dropped {
                new.extend_from_slice(line);
            }
        }
        new.extend_from_slice(&text[head..]);
        self.odb.write(ObjectType::Commit, &new).to(ACTION)
    }
}

/// One entry of a folder.
struct Entry {
    name: Vec<u8>,
    path: String,
    id: Oid,
    is_folder: bool,
    mode: i32,
}

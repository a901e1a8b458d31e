//! Removes purged memories from the store's history, too.
//!
//! Promises: only in a repository that was made for the store, and never in a remote: the user runs
//! the command for that. What is erased was purged before, so that no machine brings it
//! back. A run that was killed is completed by the next one.
//!
//! Under the locks of commits and of the remote: every commit reachable from a reference is
//! rewritten without the memory's files and texts, the branch moves last, the reference logs follow, and
//! unreachable objects that hold a text are removed, out of packs as well
//! (`git/upkeep/rewrite`, `git/upkeep/packing`). The same history gives the same commits, so a run
//! that was killed is done again.

use std::collections::BTreeSet;

use crate::engine::error::EngineError;
use crate::engine::history::consent::Remote;
use crate::engine::history::past_commits::Former;
use crate::engine::history::{consent, git_work, past_commits};
use crate::engine::live::names::Matches;
use crate::engine::ops::past::purge;
use crate::engine::parts::Engine;
use crate::engine::texts::{files_of, name_of, stem_of};
use crate::engine::write::tombstones;
use crate::files::{FilesOf, Lock, Place};
use crate::git;
use crate::git::{Id, Owner, Repository, Rewritten};
use crate::model::{Stem, plain_id};

/// Result of an erasure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erased {
    /// Number of rewritten commits.
    pub commits: usize,
    /// Number of texts removed from the disk.
    pub texts: usize,
    /// Remote that still has the old history.
    pub remote: Option<RemoteHistory>,
}

/// A remote that still has the old history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteHistory {
    /// Address without credentials.
    pub address: String,
    /// Command that replaces the remote's branch by the local one.
    pub command: String,
}

/// Returns the memory called `id`, live, forgotten or purged, and a name of its file.
///
/// # Errors
///
/// Fails if there is none, or if several are called so.
pub fn resolve_for_erasing(engine: &Engine, id: &str) -> Result<(Stem, String), EngineError> {
    match purge::find_for_purging(engine, id) {
        Err(EngineError::NotFound(_)) => {}
        other => return other,
    }
    let mut matches = Matches::new(id);
    for stem in engine.live.store.purged()? {
        let stem = Stem::from_file_name(&stem);
        // The history is read only for a name that may be meant.
        let mut is_like = Matches::new(plain_id(id).rsplit('/').next().unwrap_or_default());
        is_like.take(&format!("{stem}.md"));
        let names = match !stem.is_canonical() && is_like.only().is_ok() {
            true => purged_names(engine, &stem)?,
            false => BTreeSet::new(),
        };
        match names.is_empty() {
            true => matches.take(&format!("{stem}.md")),
            false => names.iter().for_each(|name| matches.take(name)),
        }
    }
    matches.only()
}

/// Returns the names of the files in the history that held a purged text of `stem`, which is no id: its
/// tombstone names the texts, and no folder.
fn purged_names(engine: &Engine, stem: &Stem) -> Result<BTreeSet<String>, EngineError> {
    let mut names = BTreeSet::new();
    let Some(stone) = tombstones::tombstone(&engine.writer, stem)? else {
        return Ok(names);
    };
    let history = match past_commits::history(&engine.history) {
        Err(EngineError::Past(_)) => return Ok(names),
        other => other?,
    };
    history.each_of(FilesOf::Stem(stem.as_str()), |_, texts| {
        let is_named = |(path, text): (String, Id)| {
            let name = name_of(&path).to_owned();
            stone.names(&text.to_string()).then_some(name)
        };
        names.extend(texts.into_iter().filter_map(is_named));
        Ok(true)
    })?;
    Ok(names)
}

/// Returns the remote that would still have the history that [`erase`] rewrites, of the memories `named`.
///
/// # Errors
///
/// Fails if this history may not be rewritten.
pub fn check_erasing(
    engine: &Engine,
    named: &[(Stem, String)],
) -> Result<Option<RemoteHistory>, EngineError> {
    engine.writer.check_writable()?;
    let repository = history_to_rewrite(engine)?;
    with_formers(engine, named)?;
    remote_of(&repository)
}

fn history_to_rewrite(engine: &Engine) -> Result<Repository, EngineError> {
    let refused = |why: &str| {
        Err(EngineError::Invalid(format!(
            "the history is not rewritten: {why}"
        )))
    };
    if engine.history.git.is_none() {
        return refused("the setting `git` is off");
    }
    let Some(repository) = consent::repository(&engine.history)? else {
        return refused("there is none");
    };
    if repository.owner() != Owner::Store {
        return refused(
            "the store lies in somebody's repository, which is theirs to rewrite, as with `git filter-repo`; `memdir purge` without --history takes the files away",
        );
    }
    if let Some(obstacle) = repository.obstacle() {
        return refused(&obstacle.to_string());
    }
    match git::rewrite_obstacle(&repository)? {
        Some(why) => refused(why),
        None => Ok(repository),
    }
}

/// Rewrites the history so that no commit holds a text of one of these purged memories.
///
/// # Errors
///
/// Fails if this history may not be rewritten, if a live memory has one of the texts, or if another
/// process uses the repository. Then it can be done again.
pub fn erase(engine: &Engine, purged: &[(Stem, String)]) -> Result<Erased, EngineError> {
    engine.writer.check_writable()?;
    // A fetch meanwhile would bring the texts back.
    let _still = Lock::take(&engine.live.state().join("exchange.lock"), "the remote")?;
    let _lock = git_work::lock_repository(&engine.history)?;
    let repository = history_to_rewrite(engine)?;
    let Some(_at_work) = git_work::begin_git_work(&engine.history, &repository)? else {
        return Err(EngineError::Invalid(
            "git is at work in the repository; try again in a moment".to_owned(),
        ));
    };
    let remote = remote_of(&repository)?;
    let purged = &with_formers(engine, purged)?;
    let is_gone = |path: &str| {
        let name = [Place::Files, Place::Archive]
            .iter()
            .find_map(|place| path.strip_prefix(&place.path_of("")));
        name.is_some_and(|name| purged.iter().any(|(stem, of)| files_of(stem, of).has(name)))
    };
    let Rewritten { commits, texts } = git::rewrite_without(&repository, &is_gone)?;
    if engine.live.has_background() {
        *git_work::committed_to(&engine.history) = repository.head()?;
    }
    Ok(Erased {
        commits,
        texts,
        remote,
    })
}

/// Adds the names that the memories had before they got their ids.
fn with_formers(
    engine: &Engine,
    purged: &[(Stem, String)],
) -> Result<Vec<(Stem, String)>, EngineError> {
    let mut all = purged.to_vec();
    let history = match past_commits::history(&engine.history) {
        Err(EngineError::Past(_)) => return Ok(all), // Nothing was committed.
        other => other?,
    };
    for (stem, name) in purged.iter().filter(|(stem, _)| stem.is_canonical()) {
        let Some(Former { name: former, .. }) = history.former(files_of(stem, name))? else {
            continue;
        };
        // It is purged at once.
        if purged
            .iter()
            .any(|(stem, name)| files_of(stem, name).has(&former))
        {
            continue;
        }
        let is_there = |place| engine.live.store.look_at(place, &former).is_some();
        if [Place::Files, Place::Archive].into_iter().any(is_there) {
            return Err(EngineError::Invalid(format!(
                "`{former}` is what {} was before it got its id, and another memory now; purge that as well, or rename it",
                stem.short()
            )));
        }
        all.push((stem_of(&former), former));
    }
    Ok(all)
}

fn remote_of(repository: &Repository) -> Result<Option<RemoteHistory>, EngineError> {
    let Some(remote) = Remote::of(repository)? else {
        return Ok(None);
    };
    let branch = repository.branch();
    let name = repository.get("remote").unwrap_or_default();
    // Replaces only the state that was seen there, and no later push.
    let lease = match repository.reference(&remote.seen_ref())? {
        Some(seen) => format!("--force-with-lease={branch}:{seen}"),
        None => "--force".to_owned(),
    };
    Ok(Some(RemoteHistory {
        address: remote.address.to_string(),
        command: format!("memdir git push {lease} {name} {branch}"),
    }))
}

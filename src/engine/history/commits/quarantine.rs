//! Holds back texts that must not be committed: a text with git's conflict markers, until
//! somebody has resolved it; and if the store has a remote, a memory with a credential,
//! until somebody has allowed or redacted it, and a journal with new lines that hold one.
//!
//! Promises: the checked text is the committed text; earlier committed texts of such
//! a memory stay. Held-back files are reported by file, kind and line.

use std::collections::BTreeSet;

use crate::engine::error::{
    CONFLICT_MARKERS, CREDENTIAL_IN_NAME, EngineError, GIT_NAME, MEMORY_LIKE_FOLDER, Quarantined,
    TOO_DEEP, TOO_LARGE, UNPORTABLE_PATH, UNREADABLE_SETTINGS,
};
use crate::engine::history::commits::compare::{Difference, is_ours};
use crate::engine::history::commits::journals::credentials_since;
use crate::engine::history::commits::{compare, journals};
use crate::engine::history::{History, consent};
use crate::engine::live::reading;
use crate::engine::locked::locked;
use crate::engine::options::SETTINGS;
use crate::engine::texts::{key_of, name_of};
use crate::engine::write::screen::not_allowed;
use crate::files::{FilesOf, is_journal};
use crate::format::are_settings;
use crate::git::{Id, Owner, PathRejection, Repository};
use crate::secrets::Policy;
use crate::{format, git};

const NO_NOTE: &str = "is no note";

/// Returns the identity of the memory at `path`: the file's name if it is an id, which is one
/// memory in every folder; else the name below `files/` or `archive/`, as many folders may have an
/// `index.md`.
fn memory_of(path: &str) -> &str {
    match is_journal(path) {
        true => path,
        false => key_of(name_of(path)),
    }
}

/// Returns the memories that are held back, from a check of the present files.
///
/// # Errors
///
/// Fails if files or repository cannot be read.
pub fn held_back(history: &History) -> Result<Vec<Quarantined>, EngineError> {
    if history.git.is_none() {
        return Ok(Vec::new());
    }
    let Some(repository) = consent::repository(history)? else {
        return Ok(Vec::new());
    };
    if repository.owner() == Owner::Other {
        return Ok(Vec::new());
    }
    let secrets = holds_secrets_back(history, &repository);
    let mut trees = git::trees(&repository, repository.head()?)?;
    let mut differences = compare::compare_all(history, &repository, &mut trees)?;
    compare::compare_settings(history, &repository, &mut trees, &mut differences)?;
    journals::compare_journals(history, &repository, &mut trees, true, &mut differences)?;
    compare::pass_over_left_out(history, &repository, &mut differences)?;
    let mut held = Vec::new();
    for difference in &differences {
        let found = held_in(history, &repository, difference, secrets)?;
        held.extend(found.unwrap_or_default());
    }
    held.sort_unstable();
    Ok(held)
}

/// Returns the memories that the last commit of this process held back.
pub fn last_held_back(history: &History) -> Vec<Quarantined> {
    held(history).iter().cloned().collect()
}

/// Returns the reason why the newest text of the memory with these files is not committed, as known to this process.
pub(in crate::engine) fn held_of(history: &History, files: FilesOf<'_>) -> Option<Quarantined> {
    let held = self::held(history);
    held.iter()
        .find(|one| files.has(name_of(&one.file)))
        .cloned()
}

fn held(history: &History) -> std::sync::MutexGuard<'_, BTreeSet<Quarantined>> {
    locked(&history.held)
}

/// Whether `bytes`, a text of the file at `path`, may be committed.
pub(in crate::engine) fn may_be_committed(
    history: &History,
    repository: &Repository,
    path: &str,
    bytes: &[u8],
) -> bool {
    let is_sound =
        unmerged(path, bytes).is_none() && untaken(repository, path, bytes.len()).is_none();
    let holds_none = || named(path).is_none() && credentials(path, bytes).is_empty();
    is_sound && (!holds_secrets_back(history, repository) || holds_none())
}

fn holds_secrets_back(history: &History, repository: &Repository) -> bool {
    history.writer.secrets != Policy::Off && repository.get("remote").is_some()
}

/// Whether a differing file that was not read yet may be committed as it is.
pub(in crate::engine) fn passes(
    history: &History,
    repository: &Repository,
    difference: &Difference,
) -> Result<bool, EngineError> {
    let secrets = holds_secrets_back(history, repository);
    let held = held_in(history, repository, difference, secrets)?;
    Ok(held.is_some_and(|held| held.is_empty()))
}

/// Returns the reasons to hold back a differing file; `None` if it changed meanwhile.
fn held_in(
    history: &History,
    repository: &Repository,
    difference: &Difference,
    secrets: bool,
) -> Result<Option<Vec<Quarantined>>, EngineError> {
    if difference.path == SETTINGS {
        let mut held = broken(history, repository, difference)?;
        if let (true, Some(bytes)) = (secrets, reading::bytes_at(&history.live, SETTINGS)?) {
            held.extend(credentials(SETTINGS, &bytes));
        }
        return Ok(Some(held));
    }
    if let Some(read) = &difference.read {
        let before = difference.before.map(|before| repository.text(before));
        let before = before.transpose()?.unwrap_or_default();
        let texts = (before.as_slice(), read.bytes.as_slice());
        return Ok(Some(in_journal(
            repository,
            &difference.path,
            texts,
            secrets,
        )));
    }
    let Some(after) = difference.after.filter(|_| is_ours(&difference.path)) else {
        return Ok(Some(Vec::new()));
    };
    match reading::bytes_at(&history.live, &difference.path)? {
        Some(bytes) if Id::of_text(&bytes) == after => {
            let found = unmerged(&difference.path, &bytes);
            let mut held: Vec<Quarantined> = found.into_iter().collect();
            held.extend(untaken(repository, &difference.path, bytes.len()));
            if secrets {
                held.extend(named(&difference.path));
                held.extend(credentials(&difference.path, &bytes));
            }
            Ok(Some(held))
        }
        _ => Ok(None),
    }
}

/// Holds back settings that cannot be parsed, if the committed ones can.
fn broken(
    history: &History,
    repository: &Repository,
    difference: &Difference,
) -> Result<Vec<Quarantined>, EngineError> {
    let before = difference.before.map(|before| repository.text(before));
    let was_good = before.transpose()?.is_some_and(|text| are_settings(&text));
    let bytes = reading::bytes_at(&history.live, SETTINGS)?.unwrap_or_default();
    if !was_good || are_settings(&bytes) {
        return Ok(Vec::new());
    }
    Ok(vec![Quarantined {
        file: SETTINGS.to_owned(),
        line: 0,
        kind: UNREADABLE_SETTINGS,
    }])
}

/// Removes from `differences` the files that must not be committed; they are all differences, or all of
/// `names`. `Ok(false)` if a file changed meanwhile, so that the result is void.
pub(in crate::engine) fn hold_back(
    history: &History,
    repository: &Repository,
    names: Option<&BTreeSet<String>>,
    differences: &mut Vec<Difference>,
) -> Result<bool, EngineError> {
    let mut now = BTreeSet::new();
    let secrets = holds_secrets_back(history, repository);
    for difference in differences.iter() {
        let Some(held) = held_in(history, repository, difference, secrets)? else {
            return Ok(false);
        };
        now.extend(held);
    }
    let memories: BTreeSet<&str> = now.iter().map(|one| memory_of(&one.file)).collect();
    // If one was moved, its old path stays committed, too.
    differences.retain(|difference| !memories.contains(memory_of(&difference.path)));
    let mut known = self::held(history);
    let told: BTreeSet<String> = known.iter().map(|one| one.file.clone()).collect();
    known.retain(|one| {
        !one.is_beside() && names.is_some_and(|names| !names.contains(name_of(&one.file)))
    });
    known.extend(now.iter().cloned());
    drop(known);
    let mut last = "";
    for one in &now {
        history.live.note_pending(name_of(&one.file));
        if history.live.has_background() && one.file != last && !told.contains(&one.file) {
            match one.is_untaken() {
                true => tracing::warn!("not committed: {one}"),
                false => tracing::warn!("not committed: {one}; {}", one.remedy()),
            }
        }
        last = &one.file;
    }
    Ok(true)
}

/// Whether the memory at `path` is held back, as known to this process.
pub(in crate::engine) fn is_held(history: &History, path: &str) -> bool {
    held(history)
        .iter()
        .any(|one| memory_of(&one.file) == memory_of(path))
}

/// Holds back a path that other machines refuse: it would stop all their exchanges.
fn untaken(repository: &Repository, path: &str, bytes: usize) -> Option<Quarantined> {
    let kind = match repository.path_rejection(path, bytes as u64)? {
        PathRejection::Name => GIT_NAME,
        PathRejection::System => UNPORTABLE_PATH,
        PathRejection::Folder => MEMORY_LIKE_FOLDER,
        PathRejection::Depth => TOO_DEEP,
        // Listings of notes contain none.
        PathRejection::NoNote => NO_NOTE,
        PathRejection::Size => TOO_LARGE,
    };
    Some(Quarantined {
        file: path.to_owned(),
        line: 0,
        kind,
    })
}

/// Holds back a name with a credential: it would be in every commit of the file, and in messages.
fn named(path: &str) -> Option<Quarantined> {
    let found = not_allowed(path.as_bytes()).into_iter().next();
    found.map(|_| Quarantined {
        file: path.to_owned(),
        line: 0,
        kind: CREDENTIAL_IN_NAME,
    })
}

/// Returns the reasons to hold back a journal: a path that other machines refuse, or credentials.
fn in_journal(
    repository: &Repository,
    path: &str,
    (before, now): (&[u8], &[u8]),
    secrets: bool,
) -> Vec<Quarantined> {
    let mut held: Vec<Quarantined> = untaken(repository, path, now.len()).into_iter().collect();
    if secrets {
        held.extend(named(path));
        let found = credentials_since(before, now).into_iter();
        held.extend(found.map(|one| Quarantined {
            file: path.to_owned(),
            line: one.line,
            kind: one.kind,
        }));
    }
    held
}

fn unmerged(path: &str, bytes: &[u8]) -> Option<Quarantined> {
    let line = format::first_conflict_marker(bytes)?;
    Some(Quarantined {
        file: path.to_owned(),
        line,
        kind: CONFLICT_MARKERS,
    })
}

fn credentials(path: &str, bytes: &[u8]) -> Vec<Quarantined> {
    let found = not_allowed(bytes).into_iter();
    found
        .map(|one| Quarantined {
            file: path.to_owned(),
            line: one.line,
            kind: one.kind,
        })
        .collect()
}

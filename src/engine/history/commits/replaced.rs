//! Commits texts that were replaced before any commit held them, such as an edit by hand
//! just before a program changed the same memory.
//!
//! Promises: a text that is kept aside is removed when a commit holds it, or without a history, when
//! the archive does; one of a purged memory is removed at once. A text that must not be committed, such as
//! one with a credential, stays aside on this machine.
//!
//! The next commit first commits such texts, each in the place of the one that
//! it followed; likewise the text of a memory that was changed and then moved. Without a history,
//! those that memdir did not write itself (`.memdir/written.log`) become `archive/NAME.replaced-<16
//! hex>.md`. Merges keep none, as both sides of one are commits; nor does `redact`.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::error::EngineError;
use crate::engine::history::commits::compare::{COMMITTED, Difference, moves};
use crate::engine::history::commits::message::{Attribution, ChangeKind, MemoryChange, message};
use crate::engine::history::commits::{quarantine, unfinished};
use crate::engine::history::past_commits::PastCommits;
use crate::engine::history::{History, consent, git_work};
use crate::engine::live::reading;
use crate::engine::texts::{files_of, name_of, stem_of};
use crate::engine::write::change_notes::{BY_HAND, ChangeNotes};
use crate::engine::write::{screen, tombstones};
use crate::files::{Place, ReplacedText};
use crate::format;
use crate::git;
use crate::git::{Id, NewText, Repository, Staged};

/// A text to be committed before the files are committed as they are now.
struct Former {
    path: String,
    before: Option<Id>,
    id: Id,
    bytes: Vec<u8>,
    tool: String,
}

/// Branch after the commits of the kept texts.
pub(in crate::engine) struct AfterReplaced {
    /// Newest commit.
    pub head: Option<Id>,
    /// Names of the memories that these texts belong to.
    pub names: BTreeSet<String>,
}

impl AfterReplaced {
    fn none(head: Option<Id>) -> AfterReplaced {
        AfterReplaced {
            head,
            names: BTreeSet::new(),
        }
    }
}

/// Maximum number of memories, changed and moved at once, whose change gets a commit of its own.
const MAX_MOVED: usize = 64;

/// Removes the kept texts of the memories for which `is_meant` holds.
pub(in crate::engine) fn forget_replaced(history: &History, is_meant: impl Fn(&str) -> bool) {
    let directory = history.live.directory();
    let texts = directory.map(|directory| directory.replaced().unwrap_or_default());
    let texts = texts.unwrap_or_default().into_iter();
    for text in texts.filter(|text| is_meant(&text.name)) {
        history.writer.release_replaced(&text);
    }
}

/// Removes the kept texts of the memory in the file `name` that hold a credential, which no commit would ever take.
pub(in crate::engine) fn forget_secrets(history: &History, name: &str) {
    let Some(directory) = history.live.directory() else {
        return;
    };
    let texts = directory.replaced().unwrap_or_default().into_iter();
    for text in texts.filter(|text| text.name == name) {
        let bytes = directory.replaced_bytes(&text).ok().flatten();
        let holds_any = bytes.is_some_and(|bytes| {
            !screen::found_but_in(&bytes, &format::allowed_secrets(&bytes)).is_empty()
        });
        if holds_any {
            history.writer.release_replaced(&text);
        }
    }
}

/// Commits the kept texts that no commit holds yet, each in the place of the one that it
/// followed. Returns the newest commit, and the names of all their memories;
/// `None` if another process moved the branch.
pub(in crate::engine) fn commit_replaced(
    history: &History,
    repository: &Repository,
    head: Option<Id>,
    user: &str,
    notes: &mut ChangeNotes,
) -> Result<Option<AfterReplaced>, EngineError> {
    let mut texts = history.live.need_directory("a commit")?.replaced()?;
    texts.retain(|text| !history.live.is_local(&text.name));
    if texts.is_empty() {
        return Ok(Some(AfterReplaced::none(head)));
    }
    if let Some(head) = head
        && unfinished::unfinished_merge(history, repository, head)?.is_some()
    {
        return Ok(Some(AfterReplaced::none(Some(head)))); // They wait for the merge.
    }
    let names = texts.iter().map(|text| text.name.clone()).collect();
    let mut by_memory: BTreeMap<String, Vec<ReplacedText>> = BTreeMap::new();
    for text in texts {
        let path = text.place.path_of(&text.name);
        by_memory.entry(path).or_default().push(text);
    }
    let mut trees = git::trees(repository, head)?;
    let mut rounds: Vec<Vec<Former>> = Vec::new();
    let mut settled = Vec::new();
    for (path, texts) in by_memory {
        let before = trees.file(&path)?;
        let (formers, done) =
            formers_of(history, repository, head, (&path, before), &texts, notes)?;
        settled.extend(done);
        for (round, former) in formers.into_iter().enumerate() {
            match rounds.get_mut(round) {
                Some(round) => round.push(former),
                None => rounds.push(vec![former]),
            }
        }
    }
    let mut head = head;
    for formers in rounds {
        match commit_formers(history, repository, head, user, formers)? {
            Some(commit) => head = Some(commit),
            None => return Ok(None),
        }
    }
    for text in settled {
        history.writer.release_replaced(&text);
    }
    Ok(Some(AfterReplaced { head, names }))
}

/// Returns the texts of the memory at `path` to commit, oldest first, where the newest commit
/// has `before`; and the texts that need not be kept aside afterwards.
fn formers_of(
    history: &History,
    repository: &Repository,
    head: Option<Id>,
    (path, mut before): (&str, Option<Id>),
    texts: &[ReplacedText],
    notes: &mut ChangeNotes,
) -> Result<(Vec<Former>, Vec<ReplacedText>), EngineError> {
    let (mut formers, mut settled) = (Vec::new(), Vec::new());
    let mut earlier: Option<&ReplacedText> = None;
    for (at, text) in texts.iter().enumerate() {
        let is_made = earlier.is_none_or(|earlier| text.followed(earlier));
        earlier = Some(text);
        let Some(bytes) = history
            .live
            .need_directory("a commit")?
            .replaced_bytes(text)?
        else {
            continue;
        };
        let id = Id::of_text(&bytes);
        if before == Some(id)
            || tombstones::is_purged(&history.writer, &stem_of(&text.name), &bytes)?
            || is_in_history(history, repository, head, path, id)?
        {
            settled.push(text.clone());
            continue;
        }
        if !quarantine::may_be_committed(history, repository, path, &bytes) {
            continue;
        }
        let tool = match is_made {
            true => notes.tool_before(&text.name, texts.len() - at),
            false => None,
        };
        formers.push(Former {
            path: path.to_owned(),
            before,
            id,
            bytes,
            tool: tool.unwrap_or_else(|| BY_HAND.to_owned()),
        });
        before = Some(id);
        settled.push(text.clone());
    }
    Ok((formers, settled))
}

/// Commits changes of memories that were then moved or forgotten, before a commit held the change, at
/// their old paths, so that the move is a change by itself. Returns the newest commit;
/// `None` if a file or the branch changed meanwhile.
pub(in crate::engine) fn commit_before_moves(
    history: &History,
    repository: &Repository,
    head: Option<Id>,
    user: &str,
    differences: &mut Vec<Difference>,
    notes: &mut ChangeNotes,
) -> Result<Option<Option<Id>>, EngineError> {
    let moves = moves(differences);
    let new = differences.iter().enumerate().filter_map(|(at, one)| {
        let (place, name) = Place::of(&one.path)?;
        let after = one.after.filter(|_| one.before.is_none())?;
        match moves.get(&at) {
            Some(at) if differences[*at].before == Some(after) => None,
            Some(at) => Some((one.path.clone(), after, Some(*at))),
            // Made and forgotten since the last commit.
            None if place == Place::Archive && notes.was_moved(name) => {
                Some((one.path.clone(), after, None))
            }
            None => None,
        }
    });
    let new: Vec<(String, Id, Option<usize>)> = new.collect();
    if new.is_empty() || new.len() > MAX_MOVED {
        return Ok(Some(head));
    }
    let mut formers = Vec::new();
    for (path, id, from) in new {
        let Some(bytes) =
            reading::bytes_at(&history.live, &path)?.filter(|now| Id::of_text(now) == id)
        else {
            return Ok(None);
        };
        let (old, before) = match from {
            Some(at) => (differences[at].path.clone(), differences[at].before),
            None => (Place::Files.path_of(name_of(&path)), None),
        };
        let tool = notes.tool_of_change(name_of(&path));
        formers.push(Former {
            path: old.clone(),
            before,
            id,
            bytes,
            tool: tool.unwrap_or_else(|| BY_HAND.to_owned()),
        });
        match from {
            Some(at) => differences[at].before = Some(id),
            None => differences.push(Difference::of(old, Some(id), None)),
        }
    }
    Ok(commit_formers(history, repository, head, user, formers)?.map(Some))
}

/// Makes one commit of earlier texts of files; `None` if another process moved the branch.
fn commit_formers(
    history: &History,
    repository: &Repository,
    head: Option<Id>,
    user: &str,
    formers: Vec<Former>,
) -> Result<Option<Id>, EngineError> {
    let mut attribution = Attribution::default();
    let mut changes = Vec::new();
    for former in &formers {
        let kind = match former.before {
            None => ChangeKind::Add,
            Some(_) => ChangeKind::Change,
        };
        changes.push(MemoryChange {
            kind,
            path: former.path.clone(),
        });
        let memory = screen::preview(&history.writer, name_of(&former.path), &former.bytes);
        attribution.tools.insert(former.tool.clone());
        attribution.add(memory.agent, memory.user);
    }
    let changes: Vec<Vec<MemoryChange>> = changes.into_iter().map(|one| vec![one]).collect();
    let message = message(&changes, &attribution, None);
    let author = repository.author(user, history.live.clock.now().timestamp());
    let changes: Vec<(String, Option<Id>)> = formers
        .iter()
        .map(|former| (former.path.clone(), Some(former.id)))
        .collect();
    let staged = formers.iter().map(|former| {
        let staged = Staged {
            before: former.before,
            after: Some(former.id),
            stamped: None,
        };
        (former.path.clone(), staged)
    });
    let staged = staged.collect();
    let mut texts: BTreeMap<String, Vec<u8>> = formers
        .into_iter()
        .map(|former| (former.path, former.bytes))
        .collect();
    let mut text_of =
        |path: &str, _: Id| Ok(texts.remove(path).map_or(NewText::Gone, NewText::Bytes));
    let since = git::index_version(repository);
    let mut trees = git::trees(repository, head)?;
    let parents: Vec<Id> = head.into_iter().collect();
    let commit = git::write_commit(
        repository,
        &mut trees,
        &parents,
        &changes,
        &mut text_of,
        &message,
        &author,
    )?;
    let Some(commit) = commit else {
        return Ok(None);
    };
    let is_moved = git::move_branch(repository, head, commit, COMMITTED, &staged, since)?;
    if is_moved && history.live.has_background() {
        *git_work::committed_to(history) = Some(commit);
    }
    Ok(is_moved.then_some(commit))
}

/// Whether some commit holds the text `id` of the memory at `path`.
pub(in crate::engine) fn is_in_history(
    history: &History,
    repository: &Repository,
    head: Option<Id>,
    path: &str,
    id: Id,
) -> Result<bool, EngineError> {
    // Rarely: a text of no commit is usually no object.
    let (Some(head), Ok(_)) = (head, repository.size_of(id)) else {
        return Ok(false);
    };
    let Some(repository) = consent::repository(history)? else {
        return Ok(false);
    };
    let past = PastCommits { repository, head };
    let mut found = false;
    let name = name_of(path);
    past.each_of(files_of(&stem_of(name), name), |_, places| {
        found = places.values().any(|text| *text == id);
        Ok(!found)
    })?;
    Ok(found)
}

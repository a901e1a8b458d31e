//! Detects mass deletions of memories, before they are applied here or sent to others.
//!
//! Memories are counted, live or forgotten, in whatever folder their files are: moving and forgetting are
//! no losses. A memory whose text lost nine tenths of it or more counts as deleted, as does one outside
//! of the folders of memories. Losses are counted from the *deletion baseline*, the last state that somebody
//! accepted or that was in step a day ago, so that many small losses count as a large one.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::error::EngineError;
use crate::engine::history::History;
use crate::engine::history::commits::compare::is_ours;
use crate::engine::history::merge_plan::{MergePlan, MergeStep, stem_of_path};
use crate::engine::texts::{key_of, name_of, stem_of};
use crate::format::content_start;
use crate::git;
use crate::git::{Id, PathChange, Repository};

/// Number of deletions beyond which they are too many if they are also more than a fifth of all
/// memories: a person who tidies up by hand deletes no more.
const FEW: usize = 5;

/// Number of memories from which deleting all of them is too much.
const SMALLEST: usize = 3;

/// Number of seconds after which a state that nobody objected to becomes the baseline.
const DAY: i64 = 24 * 60 * 60;

/// Setting with the time of the deletion baseline.
const SINCE: &str = "yardstick-at";

/// Setting with the commit before a reset, until it was sent or undone.
pub(in crate::engine) const RESET: &str = "reset-on";

/// Returns the reason why `plan`, applied to `head`, deletes too many memories; a purge on another machine
/// counts as a deletion, as nobody here has confirmed it.
pub(in crate::engine) fn deleted_there(
    repository: &Repository,
    head: Option<Id>,
    plan: &MergePlan,
) -> Result<Option<String>, EngineError> {
    let is_loss = |step: &&MergeStep| step.before.is_some() && is_memory(&step.path);
    let Some(head) = head.filter(|_| plan.steps.iter().any(|step| is_loss(&step))) else {
        return Ok(None);
    };
    let mut files = memories(repository, head)?;
    let before = by_key(files.clone());
    let mut new = BTreeMap::new();
    for step in &plan.steps {
        match step.after {
            Some(after) if is_memory(&step.path) => {
                files.insert(step.path.clone(), after);
                new.extend(step.text.as_deref().map(|text| (after, text)));
            }
            _ => drop(files.remove(&step.path)),
        }
    }
    let all = measured(repository, before)?;
    let text = |id: Id| match new.get(&id) {
        Some(text) => Ok(Some(text.to_vec())),
        None => Ok(Some(repository.text(id)?)),
    };
    let mut lost = lost(&all, &by_key(files), &text)?;
    // Here somebody has confirmed what is purged here already.
    let purged = purged_at(repository, head)?;
    lost.deleted
        .retain(|key| !purged.contains(stem_of_path(key)));
    Ok(reason(all.len() - lost.moved, &lost))
}

/// Returns the stems of the memories that are purged at a commit.
fn purged_at(repository: &Repository, head: Id) -> Result<BTreeSet<String>, EngineError> {
    let tombstones = git::trees(repository, Some(head))?.files_below("tombstones")?;
    let stems = tombstones
        .iter()
        .map(|(path, _)| stem_of_path(path).to_owned());
    Ok(stems.collect())
}

/// Returns the reason why the commits from `tip` to `head` delete too many. Purges are not counted.
pub(in crate::engine) fn deleted_here(
    repository: &Repository,
    tip: Id,
    head: Id,
) -> Result<Option<String>, EngineError> {
    let changes = git::diff(repository, Some(tip), head)?;
    let is_loss = |change: &PathChange| change.before.is_some() && is_memory(&change.path);
    if !changes.iter().any(is_loss) {
        return Ok(None);
    }
    let all = measured(repository, by_key(memories(repository, tip)?))?;
    let after = by_key(memories(repository, head)?);
    let purged = purged_at(repository, head)?;
    let mut lost = lost(&all, &after, &|id| Ok(Some(repository.text(id)?)))?;
    lost.deleted
        .retain(|key| !purged.contains(stem_of_path(key)));
    let gone = lost.deleted.len();
    // Also of a few: a reset here does not imply that others are to lose theirs.
    if gone > 0 && repository.get(RESET).is_some() {
        return Ok(Some(format!(
            "the store was reset: {gone} memories went; if other machines are to lose them, too, `memdir sync --accept-deletions`; if not, `memdir reset --from BACKUP` brings them back"
        )));
    }
    Ok(reason(all.len() - lost.moved, &lost))
}

/// Makes `head` the deletion baseline if somebody `accepts` it, or if the present one is a day old.
pub(in crate::engine) fn measure_from(
    history: &History,
    repository: &Repository,
    head: Id,
    accepts: bool,
) -> Result<(), EngineError> {
    // In step with the state before it, or on the way to it: nothing of a reset was sent yet.
    if repository
        .get(RESET)
        .is_some_and(|on| on != head.to_string())
    {
        repository.unset(RESET)?;
    }
    let name = deletion_baseline(repository);
    let now = history.live.clock.now().timestamp();
    let since: Option<i64> = repository.get(SINCE).and_then(|at| at.parse().ok());
    let is_old = since.is_none_or(|at| now - at >= DAY || at > now);
    if accepts || is_old || repository.reference(&name)?.is_none() {
        repository.set_reference(&name, head)?;
        repository.set(SINCE, &now.to_string())?;
    }
    Ok(())
}

fn deletion_baseline(repository: &Repository) -> String {
    format!("refs/memdir/yardstick/{}", repository.branch())
}

/// Memories by what tells them from others ([`key_of`]), with the texts that they have or had.
pub(in crate::engine) type Memories = BTreeMap<String, BTreeSet<Id>>;

/// Returns the memories of the baseline and `others`.
fn measured(repository: &Repository, others: Memories) -> Result<Memories, EngineError> {
    let mut all = others;
    if let Some(commit) = repository.reference(&deletion_baseline(repository))? {
        let mut baseline = by_key(memories(repository, commit)?);
        for key in moved(&baseline, &all) {
            baseline.remove(&key);
        }
        for (key, texts) in baseline {
            all.entry(key).or_default().extend(texts);
        }
    }
    Ok(all)
}

/// Returns the keys of memories without an id that are in another folder afterwards, and so have another key: for each
/// there is a file with its text that was not there before.
fn moved(before: &Memories, after: &Memories) -> BTreeSet<String> {
    let mut arrived: BTreeMap<Id, usize> = BTreeMap::new();
    let new = after.iter().filter(|(key, _)| !before.contains_key(*key));
    for text in new.flat_map(|(_, texts)| texts) {
        *arrived.entry(*text).or_default() += 1;
    }
    let gone = before.iter().filter(|(key, _)| !after.contains_key(*key));
    let gone = gone.filter(|(key, _)| !stem_of(key).is_canonical());
    let mut moved = BTreeSet::new();
    for (key, texts) in gone {
        let found = texts
            .iter()
            .find(|text| arrived.get(*text).is_some_and(|left| *left > 0));
        if let Some(left) = found.and_then(|text| arrived.get_mut(text)) {
            *left -= 1;
            moved.insert(key.clone());
        }
    }
    moved
}

/// Lost memories.
#[derive(Debug, Default)]
pub(in crate::engine) struct Lost {
    /// Keys of the deleted memories.
    pub deleted: BTreeSet<String>,
    /// Number of further memories with a tenth of their text left, or less.
    pub emptied: usize,
    /// Number of memories without an id that are in another folder now, under another key.
    pub moved: usize,
}

impl Lost {
    /// Returns the number of deleted and emptied memories.
    pub fn count(&self) -> usize {
        self.deleted.len() + self.emptied
    }
}

/// Returns the losses from the memories `before` to those `after`. `text_of` is called only if it can
/// matter: reading each changed text costs more than the rest of a merge.
pub(in crate::engine) fn lost(
    before: &Memories,
    after: &Memories,
    text_of: &dyn Fn(Id) -> Result<Option<Vec<u8>>, EngineError>,
) -> Result<Lost, EngineError> {
    let mut lost = Lost::default();
    let mut changed = Vec::new();
    let moved = moved(before, after);
    lost.moved = moved.len();
    for (key, texts) in before {
        match after.get(key) {
            None if moved.contains(key) => {}
            None => drop(lost.deleted.insert(key.clone())),
            Some(now) if now.is_superset(texts) => {}
            Some(now) => changed.push((texts, now)),
        }
    }
    let all = before.len() - lost.moved;
    if !are_too_many(all, lost.deleted.len() + changed.len()) {
        return Ok(lost);
    }
    for (texts, now) in changed {
        let substance = |texts: &BTreeSet<Id>| -> Result<Substance, EngineError> {
            let mut most = Substance::default();
            for id in texts {
                let text = text_of(*id)?.unwrap_or_default();
                most = most.max(Substance::of(&text));
            }
            Ok(most)
        };
        if substance(now)?.is_rest_of(substance(texts)?) {
            lost.emptied += 1;
        }
    }
    Ok(lost)
}

/// Number of visible bytes of a file: without blanks and invisible characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Substance {
    whole: usize,
    /// Visible bytes below the frontmatter.
    content: usize,
}

impl Substance {
    fn of(text: &[u8]) -> Substance {
        let count = |bytes: &[u8]| -> usize {
            let text = String::from_utf8_lossy(bytes);
            let seen = text.chars().filter(|c| !is_unseen(*c));
            seen.map(char::len_utf8).sum()
        };
        let start = content_start(text);
        let content = count(&text[start..]);
        Substance {
            whole: count(&text[..start]) + content,
            content,
        }
    }

    fn max(self, other: Substance) -> Substance {
        Substance {
            whole: self.whole.max(other.whole),
            content: self.content.max(other.content),
        }
    }

    /// Whether this is at most a tenth of `before`.
    fn is_rest_of(self, before: Substance) -> bool {
        let is_rest = |now: usize, before: usize| before > 0 && now * 10 <= before;
        is_rest(self.whole, before.whole) || is_rest(self.content, before.content)
    }
}

/// Whether a character is a blank, a control character or invisible.
fn is_unseen(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Whether `deleted` of `all` memories are too many to go unconfirmed.
pub(in crate::engine) fn are_too_many(all: usize, deleted: usize) -> bool {
    let is_fifth = deleted > FEW && deleted * 5 > all;
    let is_everything = deleted == all && all >= SMALLEST;
    is_fifth || is_everything
}

/// Returns the reason why losing `lost` of `all` memories is too much, if it is.
fn reason(all: usize, lost: &Lost) -> Option<String> {
    let deed = match lost.emptied {
        0 => "deleted".to_owned(),
        emptied => {
            format!("deleted or emptied ({emptied} have a tenth of their text or less)")
        }
    };
    let gone = lost.count();
    are_too_many(all, gone).then(|| {
        format!(
            "{gone} of {all} memories were {deed}; if that is meant, `memdir sync --accept-deletions`"
        )
    })
}

/// Returns all memories of a commit, live and forgotten, by path.
fn memories(repository: &Repository, commit: Id) -> Result<BTreeMap<String, Id>, EngineError> {
    let mut trees = git::trees(repository, Some(commit))?;
    let mut files = trees.files_below("files")?;
    files.extend(trees.files_below("archive")?);
    Ok(files
        .into_iter()
        .filter(|(path, _)| is_memory(path))
        .collect())
}

/// Whether `path` is that of a memory, live or forgotten.
pub(in crate::engine) fn is_memory(path: &str) -> bool {
    let is_there = path.starts_with("files/") || path.starts_with("archive/");
    is_there && is_ours(path)
}

/// Groups the files of memories by the key of their memory.
pub(in crate::engine) fn by_key(files: impl IntoIterator<Item = (String, Id)>) -> Memories {
    let mut memories = Memories::new();
    for (path, id) in files {
        let key = key_of(name_of(&path)).to_owned();
        memories.entry(key).or_default().insert(id);
    }
    memories
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_are_a_few_and_all_are_too_many() {
        for (all, deleted) in [(30, 6), (30, 5), (10, 5), (2, 2), (3, 2), (5, 4), (0, 0)] {
            assert!(!are_too_many(all, deleted), "{deleted} of {all}");
        }
        for (all, deleted) in [(30, 7), (29, 6), (10, 6), (10, 10), (3, 3), (5, 5)] {
            assert!(are_too_many(all, deleted), "{deleted} of {all}");
        }
    }

    #[test]
    fn a_text_of_which_a_tenth_is_left_is_gone() {
        let front = "---\nid: aaaaaaaa\ntopics: [birds]\n---\n\n";
        let text = "The heron stands in the reeds and waits.";
        let check = |after: &str, expected: bool| {
            let before = Substance::of(format!("{front}{text}").as_bytes());
            assert_eq!(
                Substance::of(after.as_bytes()).is_rest_of(before),
                expected,
                "{after}"
            );
        };
        check("", true);
        check(front, true);
        check(&format!("{front}{}", " \n\t".repeat(100)), true);
        check(&format!("{front}{}", "\u{200b}\u{feff}".repeat(100)), true);
        check(&format!("{front}..."), true);
        check(&format!("{front}The heron."), false);
        check(&format!("{front}{}", "x".repeat(text.len())), false);
        check(&format!("{front}{text} It waits still."), false);
        // What has no content has its title to lose.
        let title = Substance::of(b"---\ntitle: The heron stands\n---\n");
        assert!(Substance::of(b"").is_rest_of(title));
        assert!(!Substance::of(b"---\ntitle: The heron\n---\n").is_rest_of(title));
        assert!(!Substance::of(b"").is_rest_of(Substance::of(b"")));
    }

    #[test]
    fn each_note_that_came_stands_for_one_that_moved() {
        let text = Id::of_text(b"the same");
        let notes = |folders: &[&str]| -> Memories {
            let names = folders.iter().map(|folder| format!("{folder}/index.md"));
            names.map(|name| (name, BTreeSet::from([text]))).collect()
        };
        let (before, after) = (notes(&["a", "b", "c", "d"]), notes(&["d", "e"]));
        let lost = lost(&before, &after, &|_| Ok(None)).unwrap();
        assert_eq!((lost.deleted.len(), lost.moved), (2, 1));
    }

    #[test]
    fn texts_are_read_only_where_they_could_be_too_many() {
        let id = |number: u32| Id::of_text(&number.to_le_bytes());
        let memories = |from: u32| -> Memories {
            let texts = (0..20).map(|at| (format!("{at}"), BTreeSet::from([id(from + at)])));
            texts.collect()
        };
        let mut few = memories(0);
        few.insert("0".to_owned(), BTreeSet::from([id(99)]));
        let unread = |_: Id| -> Result<Option<Vec<u8>>, EngineError> { panic!("it was read") };
        assert_eq!(lost(&memories(0), &few, &unread).unwrap().count(), 0);
        let text = |text: Id| {
            Ok(Some(if text == id(100) {
                vec![]
            } else {
                b"text".to_vec()
            }))
        };
        let mut all = memories(0);
        all.values_mut()
            .for_each(|texts| *texts = BTreeSet::from([id(100)]));
        assert_eq!(lost(&memories(0), &all, &text).unwrap().count(), 20);
    }
}

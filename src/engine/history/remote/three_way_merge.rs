//! Plans the merge of two histories, from commits and texts alone.
//!
//! A memory is identified by its stem in any folder: moved here and edited there, it is moved and edited.
//! A change of one side is taken; changes of both are merged by meaning. A change wins over a deletion
//! and over forgetting; no text of one side only is dropped.

use std::collections::BTreeMap;

use chrono::DateTime;

use crate::engine::error::EngineError;
use crate::engine::history::merge_plan;
use crate::engine::history::merge_plan::{Lying, MergePlan, MergeStep, Sources, stem_of_path};
use crate::engine::history::remote::journal_union;
use crate::engine::options::SETTINGS;
use crate::files::is_below_journals;
use crate::format::{
    MergeSide, Merged, Tombstone, are_settings, aside_as, is_aside_of, merge, merge_settings, parse,
};
use crate::git::{Id, PathChange};
use crate::model::{Link, Stem};

/// Plans how the local side gets the other side's changes. Both lists of changes start at
/// the merge base.
pub(in crate::engine) fn plan(
    local: &[PathChange],
    remote: &[PathChange],
    sources: &dyn Sources,
) -> Result<MergePlan, EngineError> {
    let mut plan = MergePlan::default();
    journal_union::unite(local, remote, sources, &mut plan)?;
    let (local, mut remote) = (by_stem(local), by_stem(remote));
    merge_plan::add_former_texts(&local, &mut remote);
    for (stem, theirs) in remote {
        let ours = local.get(stem).map_or(&[][..], Vec::as_slice);
        let (ours, theirs) = without_purged(stem, ours, theirs, sources, &mut plan)?;
        if theirs.is_empty() || ours == theirs {
            continue;
        }
        if ours.is_empty() {
            plan.steps.extend(theirs.into_iter().map(MergeStep::from));
            continue;
        }
        match MemoryVersions::of(stem, &ours, &theirs) {
            Some(memory) => memory.unite(stem, sources, &mut plan)?,
            // Several files have this name: each is merged by itself.
            None => by_path(stem, &ours, &theirs, sources, &mut plan)?,
        }
    }
    for step in std::mem::take(&mut plan.moved_on) {
        plan.steps.retain(|other| other.path != step.path);
        plan.steps.push(step);
    }
    keep_settings(sources, &mut plan)?;
    plan.steps.sort_by(|a, b| a.path.cmp(&b.path));
    plan.conflicts.sort_unstable();
    plan.conflicts.dedup();
    Ok(plan)
}

/// Keeps readable settings if the other side has broken them: the next commit repairs them.
fn keep_settings(sources: &dyn Sources, plan: &mut MergePlan) -> Result<(), EngineError> {
    let step = plan.steps.iter().position(|step| step.path == SETTINGS);
    let Some(at) = step else { return Ok(()) };
    let MergeStep { before, after, .. } = &plan.steps[at];
    if let (Some(before), Some(after), None) = (before, after, &plan.steps[at].text)
        && are_settings(&sources.text(*before)?)
        && !are_settings(&sources.text(*after)?)
    {
        plan.steps.remove(at);
    }
    Ok(())
}

/// Whether a change adds or changes a tombstone: then the memory is not brought back.
fn is_tombstone(change: &PathChange) -> bool {
    change.path.starts_with("tombstones/") && change.after.is_some()
}

/// Changes of the files of one name.
type Changes<'a> = Vec<&'a PathChange>;

/// Plans the steps of purged files, and returns the changes of all others: ours and theirs.
fn without_purged<'a>(
    stem: &str,
    ours: &[&'a PathChange],
    theirs: Changes<'a>,
    sources: &dyn Sources,
    plan: &mut MergePlan,
) -> Result<(Changes<'a>, Changes<'a>), EngineError> {
    let Some(stone) = sources.tombstone(stem)? else {
        return Ok((ours.to_vec(), theirs));
    };
    let mut all = ours.iter().chain(&theirs);
    let is_new = all.any(|change| is_tombstone(change));
    let mut is_purged: BTreeMap<&str, bool> = BTreeMap::new();
    for (changes, is_local) in [(ours, true), (theirs.as_slice(), false)] {
        for change in changes {
            let is_about = is_tombstone(change)
                || is_new && Stem::parse(stem).is_some()
                || change.after.is_some()
                    && is_about(stem, &stone, change, is_local, is_new, sources)?;
            *is_purged.entry(&change.path).or_default() |= is_about;
        }
    }
    let split = |changes: Changes<'a>| -> (Changes<'a>, Changes<'a>) {
        let purged = |change: &&PathChange| is_purged[change.path.as_str()];
        changes.into_iter().partition(purged)
    };
    let ((our_purged, ours), (their_purged, theirs)) = (split(ours.to_vec()), split(theirs));
    bury(&our_purged, &their_purged, plan);
    unite_words(&our_purged, &their_purged, &stone, plan);
    Ok((ours, theirs))
}

/// Whether the tombstone of `stem` applies to the file that a side changed.
fn is_about(
    stem: &str,
    stone: &Tombstone,
    change: &PathChange,
    is_local: bool,
    is_new: bool,
    sources: &dyn Sources,
) -> Result<bool, EngineError> {
    if Stem::from_file_name(stem).is_of_one_memory() {
        return Ok(true);
    }
    if !stone.names_texts() {
        // A tombstone of an older version applies to files that existed before.
        return Ok(is_new && change.before.is_some());
    }
    let texts = sources.texts(&change.path, is_local)?;
    Ok(texts.iter().any(|text| stone.names(&text.to_string())))
}

/// Unites the tombstones of both sides.
fn unite_words(
    ours: &[&PathChange],
    theirs: &[&PathChange],
    stone: &Tombstone,
    plan: &mut MergePlan,
) {
    let word = |changes: &[&PathChange]| {
        let mut words = changes.iter().filter(|change| is_tombstone(change));
        words
            .next()
            .map(|change| (change.path.clone(), change.after))
    };
    let (Some((path, before)), Some((_, other))) = (word(ours), word(theirs)) else {
        return;
    };
    if before != other && stone.names_texts() {
        let step = MergeStep::written(path, before, stone.written().into_bytes());
        plan.steps
            .extend(Some(step).filter(|step| step.before != step.after));
    }
}

/// Removes every file of a purged memory, and takes over its tombstone.
fn bury(ours: &[&PathChange], theirs: &[&PathChange], plan: &mut MergePlan) {
    let ours_at = |path: &str| ours.iter().find(|change| change.path == path);
    for change in ours {
        if !is_tombstone(change) && change.after.is_some() {
            plan.purged.insert(change.path.clone());
            plan.steps
                .push(MergeStep::taken(&change.path, change.after, None));
        }
    }
    for change in theirs
        .iter()
        .filter(|change| ours_at(&change.path).is_none())
    {
        let after = change.after.filter(|_| is_tombstone(change));
        if change.after != after {
            plan.buried.push(change.path.clone());
        }
        if change.before != after {
            if after.is_none() {
                plan.purged.insert(change.path.clone());
            }
            plan.steps
                .push(MergeStep::taken(&change.path, change.before, after));
        }
    }
}

/// Groups the changes by file name without folders and ending; journals are left out.
fn by_stem(changes: &[PathChange]) -> BTreeMap<&str, Vec<&PathChange>> {
    let mut stems: BTreeMap<&str, Vec<&PathChange>> = BTreeMap::new();
    let is_other = |change: &&PathChange| !is_below_journals(&change.path);
    for change in changes.iter().filter(is_other) {
        let stem = stem_of_path(&change.path);
        stems.entry(stem).or_default().push(change);
    }
    stems
}

fn by_path(
    stem: &str,
    ours: &[&PathChange],
    theirs: &[&PathChange],
    sources: &dyn Sources,
    plan: &mut MergePlan,
) -> Result<(), EngineError> {
    // Both sides added the file, and the memory lay in another folder: that was the text of both.
    let elsewhere = Stem::parse(stem)
        .map(|_| versions_before(ours, theirs))
        .filter(|before| before.len() == 1)
        .and_then(|mut before| before.pop());
    for change in theirs {
        let known = ours.iter().find(|known| known.path == change.path);
        match known {
            None => plan.steps.push(MergeStep::from(*change)),
            Some(known) if known.after == change.after => {}
            Some(known) => {
                let lying = |id: Option<Id>| id.map(|id| (change.path.clone(), id));
                let memory = MemoryVersions {
                    base: lying(change.before).or_else(|| elsewhere.clone()),
                    local: lying(known.after),
                    remote: lying(change.after),
                };
                memory.unite(stem, sources, plan)?;
            }
        }
    }
    Ok(())
}

/// Returns the files of a name that were there before both sides changed them, by path.
fn versions_before(ours: &[&PathChange], theirs: &[&PathChange]) -> Vec<Lying> {
    let mut before: Vec<Lying> = ours
        .iter()
        .chain(theirs)
        .filter_map(|change| Some((change.path.clone(), change.before?)))
        .collect();
    before.sort_unstable();
    before.dedup();
    before
}

/// Three versions of a memory; `None` where it does not exist.
struct MemoryVersions {
    base: Option<Lying>,
    local: Option<Lying>,
    remote: Option<Lying>,
}

impl MemoryVersions {
    /// Returns the versions that the changes of both sides give; `None` if a version has several files
    /// of this name, or if files of several folders may be different memories, under a name that is no id.
    fn of(stem: &str, ours: &[&PathChange], theirs: &[&PathChange]) -> Option<MemoryVersions> {
        let mut base = versions_before(ours, theirs);
        let after = |changes: &[&PathChange]| {
            let is_told = |path: &str| changes.iter().any(|change| change.path == path);
            let mut files: Vec<Lying> = changes
                .iter()
                .filter_map(|change| Some((change.path.clone(), change.after?)))
                .collect();
            // A file that a side did not change is there as it was: a file added beside it is no
            // later version of it.
            files.extend(base.iter().filter(|(path, _)| !is_told(path)).cloned());
            (files.len() < 2).then(|| files.pop())
        };
        let memory = MemoryVersions {
            local: after(ours)?,
            remote: after(theirs)?,
            base: match base.len() {
                0 => None,
                1 => base.pop(),
                _ => return None,
            },
        };
        let path = |lying: &Option<Lying>| lying.as_ref().map(|(path, _)| path.clone());
        // A file of another folder is the same memory if it has its id, or its whole text.
        let is_of = |lying: &Option<Lying>, base: &Lying| {
            let same = |lying: &Lying| lying.0 == base.0 || lying.1 == base.1;
            lying.as_ref().is_none_or(same)
        };
        let is_one = Stem::parse(stem).is_some()
            || match &memory.base {
                Some(base) => is_of(&memory.local, base) && is_of(&memory.remote, base),
                None => path(&memory.local) == path(&memory.remote),
            };
        is_one.then_some(memory)
    }

    fn unite(
        self,
        stem: &str,
        sources: &dyn Sources,
        plan: &mut MergePlan,
    ) -> Result<(), EngineError> {
        let (local, remote) = match (&self.local, &self.remote) {
            // Gone on the other side: a deletion never wins over anything else.
            (_, None) => return Ok(()),
            (None, Some((path, id))) => {
                plan.steps.push(MergeStep::taken(path, None, Some(*id)));
                return Ok(());
            }
            (Some(local), Some(remote)) => (local, remote),
        };
        let base = self.base.as_ref().map(|(_, id)| *id);
        let path = self.place(local, remote).to_owned();
        let (mut after, mut text) = (local.1, None);
        if let Some(contended) = self.contended(stem, &path, sources)? {
            after = contended;
        } else if remote.1 != local.1 && Some(remote.1) != base {
            if Some(local.1) == base {
                after = remote.1;
            } else {
                let mut aside = None;
                match self.merged(stem, base, (local, remote), sources, plan)? {
                    Merged::One(bytes) => text = Some(bytes),
                    Merged::Two {
                        kept,
                        aside: other,
                        aside_stem,
                    } => {
                        text = Some(kept);
                        aside = Some((aside_stem, other));
                    }
                }
                if let Some(bytes) = &text {
                    after = Id::of_text(bytes);
                }
                if let Some((aside, bytes)) = aside {
                    // An earlier, unfinished attempt may have put it there; its later changes
                    // count.
                    if !sources.is_here(aside.as_str())? {
                        let folder = path.rsplit_once('/').map_or("files", |(folder, _)| folder);
                        let path = format!("{folder}/{aside}.md");
                        plan.steps.push(MergeStep::written(path, None, bytes));
                    }
                    plan.conflicts.push(stem.to_owned());
                }
            }
        }
        if path != local.0 {
            plan.steps
                .push(MergeStep::taken(&local.0, Some(local.1), None));
        }
        let before = (path == local.0).then_some(local.1);
        if before != Some(after) {
            plan.steps.push(MergeStep {
                path,
                before,
                after: Some(after),
                text,
            });
        }
        Ok(())
    }

    /// Returns the text of a memory of a contradicting pair, if one side decided for it and
    /// the other one for the other memory: both stay, and contradict each other as before.
    fn contended(
        &self,
        stem: &str,
        path: &str,
        sources: &dyn Sources,
    ) -> Result<Option<Id>, EngineError> {
        let (Some(base), Some(local), Some(remote)) = (&self.base, &self.local, &self.remote)
        else {
            return Ok(None);
        };
        let (live, other) = if path == local.0 {
            (local, remote)
        } else {
            (remote, local)
        };
        let is_archived = |lying: &Lying| lying.0.starts_with("archive/");
        if !is_archived(other) || is_archived(live) || is_archived(base) || other.1 != base.1 {
            return Ok(None);
        }
        let Some(stem) = Stem::parse(stem) else {
            return Ok(None);
        };
        let Some(before) = sources.base_text(base.1)? else {
            return Ok(None);
        };
        let decided = is_decided(&stem, &before, &sources.text(live.1)?);
        Ok(decided.then_some(base.1))
    }

    /// Returns the path of the merged memory.
    fn place<'a>(&'a self, local: &'a Lying, remote: &'a Lying) -> &'a str {
        let is_archived = |lying: &Lying| lying.0.starts_with("archive/");
        let Some(base) = &self.base else {
            return live_first(&local.0, &remote.0);
        };
        let is_changed = |lying: &Lying| lying.1 != base.1;
        // Forgotten on one side and changed on the other: the change wins.
        if is_archived(local) != is_archived(remote) {
            let (archived, live) = match is_archived(local) {
                true => (local, remote),
                false => (remote, local),
            };
            if is_changed(live) || archived.0 == base.0 {
                return &live.0;
            }
            return &archived.0;
        }
        match (local.0 == base.0, remote.0 == base.0) {
            (true, _) => &remote.0,
            (_, true) => &local.0,
            _ => live_first(&local.0, &remote.0),
        }
    }

    fn merged(
        &self,
        stem: &str,
        base: Option<Id>,
        (local, remote): (&Lying, &Lying),
        sources: &dyn Sources,
        plan: &mut MergePlan,
    ) -> Result<Merged, EngineError> {
        let base = match base {
            Some(id) => sources.base_text(id)?,
            None => None,
        };
        let (ours, theirs) = (sources.text(local.1)?, sources.text(remote.1)?);
        let ours = MergeSide {
            bytes: &ours,
            at: sources.changed_at(&local.0, true)?,
        };
        let theirs = MergeSide {
            bytes: &theirs,
            at: sources.changed_at(&remote.0, false)?,
        };
        if local.0 == SETTINGS {
            let merged = merge_settings(base.as_deref(), ours, theirs);
            return Ok(Merged::One(merged));
        }
        let stem = Stem::from_file_name(stem);
        let merged = merge(&stem, base.as_deref(), ours, theirs);
        if let Merged::One(_) = merged {
            return Ok(merged);
        }
        let is_ours_later = (ours.at, ours.bytes) > (theirs.at, theirs.bytes);
        let [later, earlier] = match is_ours_later {
            true => [ours.bytes, theirs.bytes],
            false => [theirs.bytes, ours.bytes],
        };
        for (one, other) in [(later, earlier), (earlier, later)] {
            if known_conflict(&stem, one, other, base.as_deref(), sources, plan)? {
                return Ok(Merged::One(one.to_vec()));
            }
        }
        Ok(merged)
    }
}

/// Whether `one`, a text of the memory `stem`, links to a memory that an earlier merge put aside, and
/// that holds the text `other`: then the two are a pair already.
///
/// If that memory holds the text of the merge base, `other` is a later version of it, from a side that
/// had not put it aside yet. Then `plan` moves it there.
fn known_conflict(
    stem: &Stem,
    one: &[u8],
    other: &[u8],
    base: Option<&[u8]>,
    sources: &dyn Sources,
    plan: &mut MergePlan,
) -> Result<bool, EngineError> {
    let links = parse(stem, one, DateTime::UNIX_EPOCH).links;
    for link in links.iter().filter(|link| is_conflict(link)) {
        let Some(aside) = Stem::parse(&link.to).filter(|aside| aside != stem) else {
            continue;
        };
        let Some((path, before)) = sources.memory(aside.as_str())? else {
            continue;
        };
        let known = sources.text(before)?;
        if is_aside_of(&known, other) {
            return Ok(true);
        }
        let later = match base.filter(|base| is_aside_of(&known, base)) {
            Some(_) => aside_as(stem, other, &aside),
            None => None,
        };
        if let Some(text) = later {
            let is_here = sources.is_here(aside.as_str())?;
            let before = is_here.then_some(before);
            plan.moved_on.push(MergeStep::written(path, before, text));
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the live path of two, so that a forgotten memory never hides a live one; else the first by
/// name, as on all machines.
fn live_first<'a>(one: &'a str, other: &'a str) -> &'a str {
    let order = |path: &str| path.starts_with("archive/");
    if (order(one), one) <= (order(other), other) {
        one
    } else {
        other
    }
}

/// Whether `after` differs from `before` only in links of contradiction that were removed.
fn is_decided(stem: &Stem, before: &[u8], after: &[u8]) -> bool {
    let read = |bytes: &[u8]| parse(stem, bytes, DateTime::UNIX_EPOCH);
    let (mut before, after) = (read(before), read(after));
    let count = before.links.len();
    before.links.retain(|link| !is_conflict(link));
    before.links.len() < count && before == after
}

/// Type of the links between contradicting memories.
pub(in crate::engine) const RELATION: &str = "conflicts-with";

/// Whether a link is one between contradicting memories.
pub(in crate::engine) fn is_conflict(link: &Link) -> bool {
    link.relation.eq_ignore_ascii_case(RELATION)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use super::*;

    /// Texts by their ids, and what the local side holds besides.
    #[derive(Default)]
    struct Texts {
        all: HashMap<Id, Vec<u8>>,
        here: Option<String>,
        memories: HashMap<String, Id>,
    }

    impl Texts {
        fn add(&mut self, body: &str) -> Id {
            let text = format!(
                "---\nid: aaaaaaaa\ntimestamp: 2026-01-01T00:00:00Z\nagent: a\nuser: u\ntopics: []\n---\n\n{body}\n"
            );
            let id = Id::of_text(text.as_bytes());
            self.all.insert(id, text.into_bytes());
            id
        }
    }

    impl Sources for Texts {
        fn text(&self, id: Id) -> Result<Vec<u8>, EngineError> {
            Ok(self.all[&id].clone())
        }

        fn is_here(&self, stem: &str) -> Result<bool, EngineError> {
            Ok(self.here.as_deref() == Some(stem))
        }

        fn memory(&self, stem: &str) -> Result<Option<Lying>, EngineError> {
            let id = self.memories.get(stem);
            Ok(id.map(|id| (format!("files/{stem}.md"), *id)))
        }

        fn changed_at(&self, _: &str, _: bool) -> Result<i64, EngineError> {
            Ok(0)
        }

        fn tombstones(&self, _: &str) -> Vec<Id> {
            Vec::new()
        }

        fn texts(&self, _: &str, _: bool) -> Result<BTreeSet<Id>, EngineError> {
            Ok(BTreeSet::new())
        }
    }

    #[test]
    fn what_an_ended_attempt_put_aside_stays_as_it_became() {
        let mut texts = Texts::default();
        let [ours, theirs] =
            ["On Monday.", "On Friday."].map(|body| [change(PATH, None, texts.add(body))]);
        let first = plan(&ours, &theirs, &texts).unwrap();
        let aside = first.steps.iter().find(|step| step.path != PATH);
        let aside = aside.expect("both texts stay").path.clone();
        let stem = aside
            .strip_prefix("files/")
            .and_then(|name| name.strip_suffix(".md"));
        texts.here = stem.map(str::to_owned);
        let second = plan(&ours, &theirs, &texts).unwrap();
        assert!(second.steps.iter().all(|step| step.path != aside));
        assert_eq!(second.conflicts, first.conflicts);
    }

    const PATH: &str = "files/20260101_000000_aaaaaaaa.md";

    fn change(path: &str, before: Option<Id>, after: Id) -> PathChange {
        PathChange {
            path: path.to_owned(),
            before,
            after: Some(after),
        }
    }

    /// Returns two contradicting texts of one memory, as a merge leaves them: the one under its name,
    /// and the one put aside, with its path.
    fn pair(texts: &mut Texts, base: Id, ours: Id, theirs: Id) -> (Id, String, Id) {
        let one = plan(
            &[change(PATH, Some(base), ours)],
            &[change(PATH, Some(base), theirs)],
            texts,
        )
        .unwrap();
        for step in &one.steps {
            let text = step.text.clone().unwrap();
            texts.all.insert(step.after.unwrap(), text);
        }
        let at = |is_aside: bool| {
            let step = one
                .steps
                .iter()
                .find(|step| (step.path != PATH) == is_aside);
            step.expect("both texts stay")
        };
        let aside = at(true);
        let stem = stem_of_path(&aside.path).to_owned();
        texts.memories.insert(stem, aside.after.unwrap());
        (
            at(false).after.unwrap(),
            aside.path.clone(),
            aside.after.unwrap(),
        )
    }

    #[test]
    fn a_conflict_that_was_half_merged_is_no_second_one() {
        let mut texts = Texts::default();
        let [base, monday, friday] =
            ["No day.", "On Monday.", "On Friday."].map(|body| texts.add(body));
        let (kept, aside, aside_text) = pair(&mut texts, base, monday, friday);
        texts.here = Some(stem_of_path(&aside).to_owned());
        // Somebody committed what the merge had written before it was killed.
        for theirs in [monday, friday] {
            let again = plan(
                &[
                    change(PATH, Some(base), kept),
                    change(&aside, None, aside_text),
                ],
                &[change(PATH, Some(base), theirs)],
                &texts,
            )
            .unwrap();
            assert_eq!(
                (again.steps.len(), again.conflicts.len()),
                (0, 0),
                "{again:?}"
            );
        }
    }

    #[test]
    fn an_edit_of_what_was_put_aside_elsewhere_goes_there() {
        let mut texts = Texts::default();
        let [base, monday, friday] =
            ["No day.", "On Monday.", "On Friday."].map(|body| texts.add(body));
        let (kept, aside, aside_text) = pair(&mut texts, base, monday, friday);
        let kept_text = String::from_utf8(texts.all[&kept].clone()).unwrap();
        let (put_aside, now) = match kept_text.contains("Monday") {
            true => (friday, texts.add("On Friday, at noon.")),
            false => (monday, texts.add("On Monday, at noon.")),
        };
        let merged = vec![
            change(PATH, Some(put_aside), kept),
            change(&aside, None, aside_text),
        ];
        let edited = vec![change(PATH, Some(put_aside), now)];
        let check = |plan: MergePlan, before: Option<Id>| {
            assert!(plan.conflicts.is_empty(), "{plan:?}");
            let step = plan.steps.iter().find(|step| step.path == aside).unwrap();
            assert_eq!(step.before, before);
            let text = String::from_utf8(step.text.clone().unwrap()).unwrap();
            assert!(text.contains("at noon") && text.contains("conflicts-with"));
        };
        check(plan(&edited, &merged, &texts).unwrap(), None);
        texts.here = Some(stem_of_path(&aside).to_owned());
        check(plan(&merged, &edited, &texts).unwrap(), Some(aside_text));
    }
    #[test]
    fn a_copy_beside_the_forgotten_memory_comes_from_it() {
        let mut texts = Texts::default();
        let [forgotten, changed] = ["On Monday.", "On Friday."].map(|body| texts.add(body));
        let archived = PATH.replace("files/", "archive/");
        // A commit saw the memory in both folders, while it was moved back from the archive.
        let ours = [change(PATH, None, forgotten)];
        let mut gone = change(&archived, Some(forgotten), forgotten);
        gone.after = None;
        let theirs = [gone, change(PATH, None, changed)];
        let plan = plan(&ours, &theirs, &texts).unwrap();
        assert!(plan.conflicts.is_empty(), "{plan:?}");
        let steps = plan.steps.iter();
        let steps: Vec<_> = steps.map(|step| (step.path.as_str(), step.after)).collect();
        assert_eq!(steps, [(archived.as_str(), None), (PATH, Some(changed))]);
    }
}

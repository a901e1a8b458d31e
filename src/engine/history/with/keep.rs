//! Forgets in one store the memories whose files are gone from the other one without a purge.
//!
//! Promises: a missing file may be lost as well as deleted, and one of which only the beginning is left, or
//! nothing, may be cut as well as edited. So its text moves to the archive, or stays where it is; only a
//! tombstone removes a text.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::engine::error::EngineError;
use crate::engine::history::commits::deletions::is_memory;
use crate::engine::history::merge_plan::{MergePlan, MergeStep, Sources, stem_of_path};
use crate::engine::history::with::side::{Files, Found};
use crate::git::Id;
use crate::model::Stem;
use crate::secrets;

/// Reason in the journal for forgetting such a memory.
pub(in crate::engine) const WHY: &str = "sync --with: its file was gone from the other store";

/// Returns the files, with their texts, that `plan` would remove from `local` for good though they were
/// not purged.
pub(in crate::engine) fn lost(
    plan: &MergePlan,
    local: &Files,
    sources: &dyn Sources,
) -> Result<Vec<(String, Id)>, EngineError> {
    let after = carried_out(local, plan);
    let memories = after.iter().filter(|(path, _)| is_memory(path));
    let stays: HashSet<(&str, Id)> = memories
        .map(|(path, found)| (stem_of_path(path), found.id))
        .collect();
    let added = plan.steps.iter().filter(|step| step.before.is_none());
    let moved: HashSet<&str> = added
        .filter(|step| step.after.is_some() && is_memory(&step.path))
        .map(|step| stem_of_path(&step.path))
        .filter(|stem| Stem::parse(stem).is_some())
        .collect();
    let mut lost = Vec::new();
    for step in plan.steps.iter().filter(|step| is_memory(&step.path)) {
        let (Some(id), None) = (step.before, step.after) else {
            continue;
        };
        let stem = stem_of_path(&step.path);
        let is_kept = stays.contains(&(stem, id)) || moved.contains(stem);
        if !is_kept && !plan.purged.contains(&step.path) && !is_purged(stem, id, sources)? {
            lost.push((step.path.clone(), id));
        }
    }
    Ok(lost)
}

/// Returns whether nothing but the beginning of the text `id` is left after `step`, cut within a line, or only blanks.
/// A text with a credential is not kept.
fn is_cut(id: Id, step: &MergeStep, sources: &dyn Sources) -> Result<bool, EngineError> {
    let Some(after) = step.after.filter(|after| *after != id) else {
        return Ok(false);
    };
    let left = match &step.text {
        Some(text) => text.clone(),
        None => sources.text(after)?,
    };
    let text = sources.text(id)?;
    let is_blank = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_whitespace);
    let is_beginning = text.starts_with(&left) && !left.ends_with(b"\n");
    Ok(!is_blank(&text)
        && (is_blank(&left) || is_beginning)
        && secrets::find(&String::from_utf8_lossy(&text)).is_empty())
}

/// Returns the files, with their texts, of which `plan` would leave nothing but the beginning, in their place or
/// where they go.
fn cut(plan: &MergePlan, sources: &dyn Sources) -> Result<Vec<(String, Id)>, EngineError> {
    let steps = || plan.steps.iter().filter(|step| is_memory(&step.path));
    let added = steps().filter(|step| step.before.is_none());
    let moved: HashMap<&str, &MergeStep> = added
        .map(|step| (stem_of_path(&step.path), step))
        .filter(|(stem, _)| Stem::parse(stem).is_some())
        .collect();
    let mut cut = Vec::new();
    for step in steps() {
        let left = match step.after {
            Some(_) => Some(step),
            None => moved.get(stem_of_path(&step.path)).copied(),
        };
        if let (Some(id), Some(left)) = (step.before, left)
            && !plan.purged.contains(&step.path)
            && is_cut(id, left, sources)?
        {
            cut.push((step.path.clone(), id));
        }
    }
    Ok(cut)
}

/// Changes `plan` to archive the lost files instead, and the texts of those that are cut; if the archive has
/// another file of that name, the file stays. Returns the stems of the archived memories.
pub(in crate::engine) fn keep(
    plan: &mut MergePlan,
    local: &Files,
    sources: &dyn Sources,
) -> Result<BTreeSet<String>, EngineError> {
    let (mut deleted, mut staying) = (BTreeSet::new(), BTreeSet::new());
    for (path, id) in lost(plan, local, sources)? {
        match archived(&path).filter(|archived| !local.contains_key(archived)) {
            Some(archived) => {
                deleted.insert(stem_of_path(&path).to_owned());
                archive(plan, archived, id);
            }
            None => drop(staying.insert(path)),
        }
    }
    plan.steps.retain(|step| !staying.contains(&step.path));
    for (path, id) in cut(plan, sources)? {
        let former = former_text(&path, id).filter(|former| !local.contains_key(former));
        if let Some(former) = former {
            archive(plan, former, id);
        }
    }
    plan.steps.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(deleted)
}

/// Adds a step to `plan` that puts a text into the archive.
pub(in crate::engine) fn archive(plan: &mut MergePlan, path: String, id: Id) {
    if plan.steps.iter().any(|step| step.path == path) {
        return;
    }
    plan.steps.push(MergeStep::taken(&path, None, Some(id)));
}

/// Returns the path of a live memory once it is forgotten.
pub(in crate::engine) fn archived(path: &str) -> Option<String> {
    let name = path.strip_prefix("files/")?;
    Some(format!("archive/{name}"))
}

/// Whether a tombstone of either side names this text.
fn is_purged(stem: &str, text: Id, sources: &dyn Sources) -> Result<bool, EngineError> {
    let is_about = |stone: crate::format::Tombstone| {
        Stem::from_file_name(stem).is_of_one_memory()
            || !stone.names_texts()
            || stone.names(&text.to_string())
    };
    Ok(sources.tombstone(stem)?.is_some_and(is_about))
}

/// Number of bytes of a file's name to which the end of a former text's name can be added.
const LONGEST_STEM: usize = 220;

/// Returns the path of a former text of the memory at `path` in the archive, as where a store without a history
/// keeps what was replaced.
fn former_text(path: &str, id: Id) -> Option<String> {
    let (_, name) = path.split_once('/')?;
    let (folder, file) = name
        .rsplit_once('/')
        .map_or(("", name), |(folder, file)| (folder, file));
    let stem = file.strip_suffix(".md").unwrap_or(file);
    // A name has at most 255 bytes.
    let end = stem.floor_char_boundary(LONGEST_STEM);
    let path = [folder, &stem[..end]]
        .into_iter()
        .filter(|part| !part.is_empty());
    let path: Vec<&str> = path.collect();
    Some(format!(
        "archive/{}.replaced-{:.16}.md",
        path.join("/"),
        id.to_string()
    ))
}

/// Returns the state of `files` after `plan`.
pub(in crate::engine) fn carried_out(files: &Files, plan: &MergePlan) -> Files {
    let mut after = files.clone();
    for step in &plan.steps {
        match step.after {
            Some(id) => {
                let at = files.get(&step.path).map_or(0, |found| found.at);
                after.insert(step.path.clone(), Found { id, at });
            }
            None => drop(after.remove(&step.path)),
        }
    }
    after
}

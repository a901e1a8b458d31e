//! Merges two versions of a journal: the result has the lines of both.

use std::collections::BTreeMap;

use crate::engine::error::EngineError;
use crate::engine::history::merge_plan::{MergePlan, MergeStep, Sources};
use crate::files::is_below_journals;
use crate::format::unite_journals;
use crate::git::{Id, PathChange};

/// Plans how the journals of the local side get the other side's changes.
pub(in crate::engine) fn unite(
    local: &[PathChange],
    remote: &[PathChange],
    sources: &dyn Sources,
    plan: &mut MergePlan,
) -> Result<(), EngineError> {
    let is_one = |change: &&PathChange| is_below_journals(&change.path);
    let ours: BTreeMap<&str, &PathChange> = local
        .iter()
        .filter(is_one)
        .map(|change| (change.path.as_str(), change))
        .collect();
    for theirs in remote.iter().filter(is_one) {
        let mut step = MergeStep {
            path: theirs.path.clone(),
            before: theirs.before,
            after: theirs.after,
            text: None,
        };
        if let Some(ours) = ours.get(theirs.path.as_str()) {
            let text = |id: Option<Id>| id.map(|id| sources.text(id)).transpose();
            let base = text(theirs.before)?.unwrap_or_default();
            let (here, there) = (text(ours.after)?, text(theirs.after)?);
            step.text = united(&base, here.as_deref(), there.as_deref());
            step.before = ours.after;
            step.after = step.text.as_deref().map(Id::of_text);
        }
        if step.before != step.after {
            plan.steps.push(step);
        }
    }
    Ok(())
}

/// Returns the union of two versions of a journal; `None` if there is no such file.
pub(in crate::engine) fn united(
    base: &[u8],
    one: Option<&[u8]>,
    other: Option<&[u8]>,
) -> Option<Vec<u8>> {
    let text = unite_journals(base, one.unwrap_or_default(), other.unwrap_or_default());
    let is_there = one.is_some() && other.is_some() || !text.is_empty();
    is_there.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_gone_where_nothing_was_added_to_it() {
        assert_eq!(united(b"a\n", None, Some(b"a\n")), None);
        assert_eq!(united(b"a\n", None, Some(b"a\nb\n")).unwrap(), b"b\n");
        assert_eq!(united(b"a\n", Some(b""), Some(b"a\n")).unwrap(), b"");
        assert_eq!(united(b"", None, None), None);
    }
}

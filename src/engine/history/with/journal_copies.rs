//! Journals of two stores: united line by line.
//!
//! Only one copy of a store writes a journal, and removes the uses from it that it has summed up. So the
//! owner's version is complete: lines that the owner removed must not come back from others, or uses would
//! count twice.

use crate::engine::error::EngineError;
use crate::engine::history::History;
use crate::engine::history::remote::foreign_files::lies_behind_link;
use crate::engine::history::with::record::Base;
use crate::engine::history::with::side::StoreContents;
use crate::engine::history::with::sources::TextSources;
use crate::engine::write::journals::put_journal;
use crate::format::unite_journals;

/// A journal to be extended.
pub(in crate::engine) struct JournalUnion {
    /// Path below the store's folder.
    pub path: String,
    /// Common ancestor; empty if it is not known.
    base: Vec<u8>,
    /// Text of the other store.
    theirs: Vec<u8>,
    /// Whether only the other store writes it.
    is_theirs: bool,
}

/// Returns the journals of which `source` has more lines than `target`.
pub(in crate::engine) fn plan(
    target: &StoreContents,
    source: &StoreContents,
    base: &Base,
    texts: &TextSources<'_>,
) -> Result<Vec<JournalUnion>, EngineError> {
    let mut all = Vec::new();
    for (path, id) in &source.journals {
        let ours = target.journals.get(path);
        let known = base.get(path);
        let is_own = target.own_journals.contains(path);
        if is_own || ours == Some(id) || known == Some(id) && ours.is_some() {
            continue;
        }
        let Some(theirs) = source.text(path)? else {
            continue; // Gone meanwhile.
        };
        let before = known.and_then(|id| texts.committed(*id));
        let unite = JournalUnion {
            path: path.clone(),
            base: before.unwrap_or_default(),
            theirs,
            is_theirs: source.own_journals.contains(path) || ours.is_some() && ours == known,
        };
        let now = match ours {
            Some(_) => target.text(path)?,
            None => None,
        };
        if now.as_deref() != Some(&unite.with(now.as_deref())) {
            all.push(unite);
        }
    }
    Ok(all)
}

impl JournalUnion {
    /// Returns the new text of the journal, if its present text is `now`.
    fn with(&self, now: Option<&[u8]>) -> Vec<u8> {
        match now {
            None => self.theirs.clone(),
            Some(_) if self.is_theirs => self.theirs.clone(),
            Some(now) if now.starts_with(&self.theirs) => now.to_vec(),
            Some(now) if self.theirs.starts_with(now) => self.theirs.clone(),
            Some(now) => unite_journals(&self.base, now, &self.theirs),
        }
    }
}

/// Writes the union of both stores' journals; `Ok(false)` if it is no file, or changes all the time.
pub(in crate::engine) fn unite_journal(
    history: &History,
    unite: &JournalUnion,
) -> Result<bool, EngineError> {
    if lies_behind_link(history.live.root(), &unite.path) {
        return Ok(false);
    }
    put_journal(&history.writer, &unite.path, |now| Some(unite.with(now)))
}

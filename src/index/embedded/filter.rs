//! Which rows may be in an answer. The filter is part of the search, never applied to a cut list.

use std::collections::HashSet;

use super::keywords;
use super::snapshot::EmbeddedSnapshot;
use crate::index::IndexError;
use crate::index::Moment;
use crate::index::Snapshot as _;
use crate::index::Texts;
use crate::index::facts::fact;
use crate::index::filter::Conditions;
use crate::model::Filter;
use crate::ranking::Postings as _;

/// A set of rows.
pub(super) struct Rows(Vec<bool>);

impl Rows {
    pub fn contains(&self, row: u32) -> bool {
        self.0[row as usize]
    }

    /// Takes out the rows for which `keeps` is false.
    fn keep(&mut self, keeps: impl Fn(u32) -> bool) {
        for (row, kept) in self.0.iter_mut().enumerate() {
            *kept = *kept && keeps(row as u32);
        }
    }
}

/// The rows that pass `filter` at a moment.
pub(super) fn passing(
    snapshot: &EmbeddedSnapshot,
    filter: &Filter,
    moment: Moment<'_>,
    texts: &Texts<'_>,
) -> Result<Rows, IndexError> {
    let table = &snapshot.table;
    let conditions = Conditions::of(filter, moment);
    let mut rows = Rows(vec![true; table.len()]);
    rows.keep(|row| {
        let name = table.name(row);
        conditions.names(name) && conditions.admits(name, &table.stated(row))
    });
    if conditions.hides_superseded() {
        let superseded = superseded(snapshot)?;
        rows.keep(|row| !superseded.contains(&row));
    }
    for facts in &conditions.facts {
        let mut has_any = vec![false; table.len()];
        for fact in facts {
            for row in snapshot.rows_with_fact(fact)? {
                has_any[row as usize] = true;
            }
        }
        rows.keep(|row| has_any[row as usize]);
    }
    if conditions.asks_for_words() {
        let words = snapshot
            .analyzers
            .lend(|analyzer| conditions.words(analyzer));
        for terms in words {
            let mut has_any = vec![false; table.len()];
            for term in terms {
                for (row, _) in snapshot.text(&term)? {
                    has_any[row as usize] = true;
                }
            }
            rows.keep(|row| has_any[row as usize]);
        }
    }
    for fact in &conditions.unwanted {
        let having: HashSet<u32> = snapshot.rows_with_fact(fact)?.into_iter().collect();
        rows.keep(|row| !having.contains(&row));
    }
    for (phrase, wanted) in &conditions.phrases {
        let counted = keywords::count(snapshot, &[phrase.as_ref()], &rows, texts)?;
        let holding: HashSet<u32> = counted.iter().map(|found| found.row).collect();
        rows.keep(|row| holding.contains(&row) == *wanted);
    }
    Ok(rows)
}

/// The rows that a live memory supersedes: those it names in `supersedes`, and those that name it
/// in `superseded_by`. Where the newer memory was forgotten, the older one counts again.
fn superseded(snapshot: &EmbeddedSnapshot) -> Result<HashSet<u32>, IndexError> {
    let mut superseded = HashSet::new();
    for (older, _) in snapshot.facet("supersedes")? {
        superseded.extend(snapshot.rows_called(&older)?);
    }
    for (newer, _) in snapshot.facet("superseded_by")? {
        if !snapshot.rows_called(&newer)?.is_empty() {
            superseded.extend(snapshot.rows_with_fact(&fact("superseded_by", &newer))?);
        }
    }
    Ok(superseded)
}

//! Rows that pass a filter. The filter is part of the search, never applied to a truncated list.

use std::collections::HashSet;

use super::keywords;
use super::snapshot::EmbeddedSnapshot;
use crate::index::filter::Conditions;
use crate::index::{AsOf, IndexError, Texts};
use crate::model::Filter;
use crate::ranking::keyword::KeywordSet;
use crate::ranking::{Postings as _, RowSet};

/// Returns the rows that pass `filter` at a moment.
pub(super) fn passing(
    snapshot: &EmbeddedSnapshot,
    filter: &Filter,
    moment: AsOf<'_>,
    texts: &Texts<'_>,
) -> Result<RowSet, IndexError> {
    let table = &snapshot.table;
    let conditions = Conditions::of(filter, moment);
    let mut rows = RowSet::all(table.len());
    let admits = |row: u32| {
        let name = table.name(row);
        conditions.names(name) && conditions.admits(name, &table.stated(row))
    };
    // Most memories are permanent: where all of these pass or none does, only the others are checked.
    match conditions.of_the_permanent() {
        Some(true) => {
            let may_end = table.impermanent();
            may_end
                .filter(|row| !admits(*row))
                .for_each(|row| rows.take_out(row));
        }
        Some(false) => {
            rows = RowSet::none(table.len());
            let may_end = table.impermanent();
            may_end
                .filter(|row| admits(*row))
                .for_each(|row| rows.put_in(row));
        }
        None => rows.keep(admits),
    }
    if conditions.asks_for_namespaces() {
        let mut lies_in_one = RowSet::none(table.len());
        for namespace in table.namespaces() {
            if conditions.admits_namespace(namespace) {
                lies_in_one.put_in_all(table.rows_in(namespace));
            }
        }
        rows.keep_those_of(&lies_in_one);
    }
    if conditions.hides_superseded() {
        for row in snapshot.superseded()? {
            rows.take_out(*row);
        }
    }
    for facts in &conditions.facts {
        let mut has_any = RowSet::none(table.len());
        for fact in facts {
            snapshot.each_with_fact(fact, |row| has_any.put_in(row))?;
        }
        rows.keep_those_of(&has_any);
    }
    if conditions.asks_for_words() {
        let words = snapshot
            .analyzers
            .lend(|analyzer| conditions.words(analyzer));
        for terms in words.terms() {
            if rows.is_empty() {
                break;
            }
            let mut has_any = RowSet::none(table.len());
            for term in terms {
                for (row, _) in snapshot.text(term)? {
                    has_any.put_in(row);
                }
            }
            rows.keep_those_of(&has_any);
        }
    }
    for fact in &conditions.unwanted {
        snapshot.each_with_fact(fact, |row| rows.take_out(row))?;
    }
    for (phrase, wanted) in &conditions.phrases {
        let phrase = KeywordSet::of(phrase.iter().cloned().collect());
        let counted = keywords::count(snapshot, &phrase, (&rows, filter.talks), texts)?;
        let holding: HashSet<u32> = counted.iter().map(|found| found.row).collect();
        rows.keep(|row| holding.contains(&row) == *wanted);
    }
    Ok(rows)
}

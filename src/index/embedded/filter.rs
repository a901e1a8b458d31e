//! Rows that pass a filter. The filter is part of the search, never applied to a truncated list.

use std::collections::{HashMap, HashSet};

use super::keywords;
use super::snapshot::EmbeddedSnapshot;
use crate::index::filter::Conditions;
use crate::index::text::WantedWords;
use crate::index::{AsOf, IndexError, Texts};
use crate::model::{Filter, Talks};
use crate::ranking::keyword::{Keyword, KeywordSet};
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
        keep_with_words(snapshot, words, &mut rows)?;
    }
    for fact in &conditions.unwanted {
        snapshot.each_with_fact(fact, |row| rows.take_out(row))?;
    }
    for text in &conditions.contains {
        let holding = with_text(snapshot, text.clone(), (&rows, filter.talks), texts)?;
        rows.keep(|row| holding.contains(&row));
    }
    if conditions.asks_for_phrases() {
        let phrases = snapshot
            .analyzers
            .lend(|analyzer| conditions.phrases(analyzer));
        for (phrase, wanted) in phrases {
            let mut having = rows.clone();
            match phrase.words() {
                Some(words) => keep_with_words(snapshot, words, &mut having)?,
                None => {
                    let holding =
                        with_text(snapshot, phrase.signs(), (&rows, filter.talks), texts)?;
                    having.keep(|row| holding.contains(&row));
                }
            }
            if !phrase.is_word() {
                let memory = |row: u32| texts(table.name(row));
                having.keep(|row| memory(row).is_some_and(|memory| phrase.stands_in(&memory)));
            }
            rows.keep(|row| having.contains(row) == *wanted);
        }
    }
    Ok(rows)
}

/// Keeps the rows that hold all of `words` in title, topics or content.
fn keep_with_words(
    snapshot: &EmbeddedSnapshot,
    words: &WantedWords,
    rows: &mut RowSet,
) -> Result<(), IndexError> {
    let collection = &snapshot.table.collection;
    // The index counts the words of the user's name, too.
    let names = collection.user_names().iter();
    let of_names: Vec<HashMap<String, u32>> = snapshot
        .analyzers
        .lend(|analyzer| names.map(|name| words.counts_in(analyzer, name)).collect());
    for terms in words.terms() {
        if rows.is_empty() {
            break;
        }
        let mut has_any = RowSet::none(snapshot.table.len());
        for term in terms {
            for (row, times) in snapshot.text(term)? {
                let of_name = of_names[collection.user(row) as usize].get(term);
                if times > of_name.copied().unwrap_or(0) {
                    has_any.put_in(row);
                }
            }
        }
        rows.keep_those_of(&has_any);
    }
    Ok(())
}

/// Returns those of the rows that hold a text anywhere.
fn with_text(
    snapshot: &EmbeddedSnapshot,
    text: Option<Keyword>,
    of: (&RowSet, Talks),
    texts: &Texts<'_>,
) -> Result<HashSet<u32>, IndexError> {
    let text = KeywordSet::of(text.into_iter().collect());
    let counted = keywords::count(snapshot, &text, of, texts)?;
    Ok(counted.iter().map(|found| found.row).collect())
}

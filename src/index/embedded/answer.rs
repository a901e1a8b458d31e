//! Answers of a view: the implementation of `Snapshot` over one table and its segments.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use tantivy::schema::{Field, IndexRecordOption};

use super::failure::guarded;
use super::keywords::Counted;
use super::snapshot::EmbeddedSnapshot;
use super::{filter, keywords, sharing};
use crate::index::{
    AsOf, Coverage, Embedded, IndexError, IndexHit, Indexed, Query, QueryKind, SearchModels,
    SearchResults, Snapshot, Texts, Unembedded, facts, passage,
};
use crate::model::Filter;
use crate::ranking::fused::{Pieces, Ranked, RankingInput, Scored};
use crate::ranking::keyword::KeywordSet;
use crate::ranking::{Calling, Excerpts, Postings, Ranking, Reranking, RowSet, first, fused};
use crate::vectors::VectorKey;

impl EmbeddedSnapshot {
    fn hit(&self, row: u32, score: f64) -> IndexHit {
        IndexHit {
            name: self.table.name(row).to_owned(),
            score,
            matched: Vec::new(),
            parts: None,
            indexed: self.table.indexed(row),
        }
    }

    /// Newest first, then by name: the order among equals.
    fn newer(&self, a: u32, b: u32) -> Ordering {
        let time = |row| self.table.collection.timestamp(row);
        time(b)
            .cmp(&time(a))
            .then_with(|| self.table.name(a).cmp(self.table.name(b)))
    }

    fn answer(
        &self,
        query: &Query,
        moment: AsOf<'_>,
        models: SearchModels<'_>,
        texts: &Texts<'_>,
    ) -> Result<SearchResults<IndexHit>, IndexError> {
        let passing = filter::passing(self, &query.filter, moment, texts)?;
        Ok(match &query.kind {
            QueryKind::Everything => {
                let mut rows: Vec<u32> = passing.iter().collect();
                // Most rows are in the order of their times: from the newest one on, few change places.
                rows.reverse();
                let order = |&a: &u32, &b: &u32| self.newer(a, b);
                results(query, &rows, order, |&row| self.hit(row, 0.0))
            }
            QueryKind::Keywords(words) => {
                let keywords = KeywordSet::read(words);
                let counted =
                    keywords::count(self, &keywords, (&passing, query.filter.talks), texts)?;
                let order = |a: &Counted, b: &Counted| {
                    b.score.cmp(&a.score).then_with(|| self.newer(a.row, b.row))
                };
                results(query, &counted, order, |found| IndexHit {
                    matched: keywords.texts(&found.matched()),
                    ..self.hit(found.row, f64::from(found.score))
                })
            }
            QueryKind::Text(text) => {
                let asked = (text.as_str(), query.offset.saturating_add(query.limit));
                let ranked = self.rank(asked, &query.ranking, moment, models, &passing, texts)?;
                let order = |a: &Scored, b: &Scored| {
                    b.score
                        .total_cmp(&a.score)
                        .then_with(|| self.newer(a.row, b.row))
                };
                let results = results(query, &ranked.scored, order, |scored| IndexHit {
                    parts: Some(ranked.parts(scored.row)),
                    ..self.hit(scored.row, f64::from(scored.score))
                });
                SearchResults {
                    unranked: ranked.unranked,
                    people: ranked.people,
                    ..results
                }
            }
        })
    }

    fn rank(
        &self,
        (text, first): (&str, usize),
        ranking: &Ranking,
        moment: AsOf<'_>,
        models: SearchModels<'_>,
        passing: &RowSet,
        texts: &Texts<'_>,
    ) -> Result<Ranked<'_>, IndexError> {
        let names = self.names()?;
        let passes = |row| passing.contains(row);
        let memory = |row| texts(self.table.name(row));
        let excerpts = |row| memory(row).map_or_else(Excerpts::default, |m| passage::excerpts(&m));
        let ahead = |rows: &[u32]| {
            if let Some(ahead) = models.ahead {
                let names: Vec<&str> = rows.iter().map(|&row| self.table.name(row)).collect();
                ahead(&names);
            }
        };
        let input = RankingInput {
            text,
            first,
            ranking,
            meaning: &|text| self.cosines((models.embed?)(text)?),
            pieces: Pieces {
                ahead: &ahead,
                of: &|row| memory(row).map_or_else(Vec::new, |memory| passage::texts_of(&memory)),
            },
            signals: &|row| moment.signals(self.table.name(row), &self.table.stated(row)),
            memory: &memory,
            reranking: models.rerank.map(|rerank| Reranking {
                rerank,
                ahead: &ahead,
                excerpts: &excerpts,
            }),
        };
        let collection = &self.table.collection;
        self.analyzers
            .lend(|analyzer| fused::score(&input, collection, names, analyzer, self, passes))
    }

    fn nearest_now(
        &self,
        embedded: &[Embedded],
        passing: &RowSet,
        limit: usize,
    ) -> Option<Vec<(String, f32)>> {
        let mut sums = vec![0.0_f32; self.table.len()];
        let mut exact = Vec::new();
        for piece in embedded {
            let cosines = self.cosines(piece.clone())?;
            sums.iter_mut()
                .zip(&cosines.own)
                .for_each(|(sum, near)| *sum += near);
            exact.push(cosines.exact);
        }
        // A row without a vector (NaN) is left out.
        let mut rows: Vec<u32> = (0..self.table.len() as u32)
            .filter(|&row| passing.contains(row) && !sums[row as usize].is_nan())
            .collect();
        rows.sort_unstable_by(|&a, &b| sums[b as usize].total_cmp(&sums[a as usize]));
        rows.truncate(limit.saturating_mul(4));
        let count = embedded.len().max(1) as f32;
        let mean = |row: u32| exact.iter().map(|exact| exact(row)[0]).sum::<f32>() / count;
        let mut near: Vec<(u32, f32)> = rows.into_iter().map(|row| (row, mean(row))).collect();
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| self.newer(a.0, b.0)));
        near.truncate(limit);
        let named = near
            .into_iter()
            .map(|(row, near)| (self.table.name(row).to_owned(), near));
        Some(named.collect())
    }

    fn facet_now(&self, key: &str) -> Result<Vec<(String, usize)>, IndexError> {
        let prefix = format!("{key}\0");
        let mut counts = self.values(self.fields.facts, &prefix)?;
        for (value, count) in &mut counts {
            *count = self.rows_with_fact(&format!("{prefix}{value}"))?.len();
        }
        let mut values: Vec<_> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
        values.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Ok(values)
    }

    /// Returns the rest of each term of `field` that begins with `prefix`, with its document frequency, deleted
    /// documents included.
    fn values(&self, field: Field, prefix: &str) -> Result<HashMap<String, usize>, IndexError> {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for (part, _) in self.documents() {
            part.each_term(field, prefix, |term, count| {
                let value = String::from_utf8_lossy(&term[prefix.len()..]).into_owned();
                *counts.entry(value).or_default() += count as usize;
            })?;
        }
        Ok(counts)
    }

    fn holders_now(&self, key: &str) -> Result<Vec<(String, String)>, IndexError> {
        let mut holders = Vec::new();
        for (value, _) in self.facet_now(key)? {
            let rows = self.rows_with_fact(&format!("{key}\0{value}"))?;
            let names = rows.into_iter().map(|row| self.table.name(row).to_owned());
            holders.extend(names.map(|name| (value.clone(), name)));
        }
        Ok(holders)
    }
}

impl Postings for EmbeddedSnapshot {
    type Error = IndexError;

    fn text(&self, term: &str) -> Result<Vec<(u32, u32)>, IndexError> {
        let mut rows = Vec::new();
        self.each_posting(
            self.fields.words,
            term,
            IndexRecordOption::WithFreqs,
            |row, times| {
                rows.push((row, times));
            },
        )?;
        Ok(rows)
    }

    fn frequency(&self, term: &str) -> Result<usize, IndexError> {
        let mut count = 0;
        let record = IndexRecordOption::Basic;
        // The dictionary's own count has what was deleted or lies below an overlay, too.
        self.each_posting(self.fields.words, term, record, |_, _| count += 1)?;
        Ok(count)
    }

    fn called(&self, whom: Calling, name: &str) -> Result<Vec<u32>, IndexError> {
        self.rows_with_fact(&facts::calling(whom, name))
    }

    fn title(&self, term: &str) -> Result<Vec<u32>, IndexError> {
        let mut rows = Vec::new();
        self.each_posting(
            self.fields.title,
            term,
            IndexRecordOption::Basic,
            |row, _| rows.push(row),
        )?;
        Ok(rows)
    }

    fn date(&self, term: &str) -> Result<Vec<u32>, IndexError> {
        let mut rows = Vec::new();
        self.each_posting(
            self.fields.dates,
            term,
            IndexRecordOption::Basic,
            |row, _| rows.push(row),
        )?;
        Ok(rows)
    }
}

impl Snapshot for EmbeddedSnapshot {
    fn search(
        &self,
        query: &Query,
        moment: AsOf<'_>,
        models: SearchModels<'_>,
        texts: &Texts<'_>,
    ) -> Result<SearchResults<IndexHit>, IndexError> {
        guarded(|| self.answer(query, moment, models, texts))
    }

    fn nearest(
        &self,
        embedded: &[Embedded],
        filter: &Filter,
        moment: AsOf<'_>,
        limit: usize,
        texts: &Texts<'_>,
    ) -> Result<Vec<(String, f32)>, IndexError> {
        guarded(|| {
            let passing = filter::passing(self, filter, moment, texts)?;
            let near = self.nearest_now(embedded, &passing, limit);
            Ok(near.filter(|_| !embedded.is_empty()).unwrap_or_default())
        })
    }

    fn containing(&self, fragments: &[Vec<String>]) -> Result<Option<Vec<String>>, IndexError> {
        let mut rows: Vec<u32> = Vec::new();
        for alternative in fragments {
            match guarded(|| self.rows_with_trigrams(alternative))? {
                None => return Ok(None),
                Some(found) => rows.extend(found),
            }
        }
        rows.sort_unstable();
        rows.dedup();
        let mut names: Vec<String> = rows
            .into_iter()
            .map(|row| self.table.name(row).to_owned())
            .collect();
        names.sort_unstable();
        Ok(Some(names))
    }

    fn cut(&self) -> Vec<String> {
        self.table.cut().map(str::to_owned).collect()
    }

    fn passing(
        &self,
        mut names: Vec<String>,
        filter: &Filter,
        moment: AsOf<'_>,
        texts: &Texts<'_>,
    ) -> Result<Vec<String>, IndexError> {
        guarded(|| {
            let passing = filter::passing(self, filter, moment, texts)?;
            let passes = |name: &String| {
                self.table
                    .row(name)
                    .is_some_and(|row| passing.contains(row))
            };
            names.retain(passes);
            Ok(names)
        })
    }

    fn sharing_rare(
        &self,
        words: &str,
        filter: &Filter,
        moment: AsOf<'_>,
        limit: usize,
        texts: &Texts<'_>,
    ) -> Result<Vec<String>, IndexError> {
        guarded(|| {
            let passing = filter::passing(self, filter, moment, texts)?;
            let mut found = sharing::rows(self, words, &passing)?;
            found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| self.newer(a.0, b.0)));
            found.truncate(limit);
            let names = found
                .into_iter()
                .map(|(row, _)| self.table.name(row).to_owned());
            Ok(names.collect())
        })
    }

    fn indexed(&self, name: &str) -> Option<Indexed> {
        self.table.row(name).map(|row| self.table.indexed(row))
    }

    fn files(&self) -> Box<dyn Iterator<Item = (&str, Indexed)> + '_> {
        Box::new(self.table.files())
    }

    fn state(&self) -> &str {
        &self.committed().state
    }

    fn maybe_called(&self, id: &str) -> Option<Vec<String>> {
        let fact = facts::fact("id", facts::id_value(id));
        let rows = guarded(|| self.rows_with_fact(&fact)).ok()?;
        let names = rows.into_iter().map(|row| self.table.name(row).to_owned());
        Some(names.collect())
    }

    fn handle_count(&self, handle: &str) -> usize {
        let fact = facts::fact("id", handle);
        // An unreadable index counts as one: the handle may be taken.
        guarded(|| self.rows_with_fact(&fact)).map_or(1, |rows| rows.len())
    }

    fn len(&self) -> usize {
        self.table.len()
    }

    fn facet(&self, key: &str) -> Result<Vec<(String, usize)>, IndexError> {
        guarded(|| self.facet_now(key))
    }

    fn shared(&self, key: &str) -> Result<Vec<String>, IndexError> {
        guarded(|| {
            // Read from the dictionary alone: values that only deleted documents share are among them.
            let values = self
                .values(self.fields.facts, &format!("{key}\0"))?
                .into_iter();
            let shared = values.filter(|(_, count)| *count > 1);
            Ok(shared.map(|(value, _)| value).collect())
        })
    }

    fn completions(&self, beginning: &str, limit: usize) -> Result<Vec<String>, IndexError> {
        guarded(|| {
            let rests = self.values(self.fields.words, beginning)?.into_iter();
            let mut terms: Vec<(String, usize)> = rests.collect();
            terms.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            terms.truncate(limit);
            let terms = terms.into_iter();
            Ok(terms
                .map(|(rest, _)| format!("{beginning}{rest}"))
                .collect())
        })
    }

    fn holders(&self, key: &str) -> Result<Vec<(String, String)>, IndexError> {
        guarded(|| self.holders_now(key))
    }

    fn with_problems(&self) -> Result<Vec<String>, IndexError> {
        let holders = self.holders(facts::PROBLEM)?;
        let mut names: Vec<String> = holders.into_iter().map(|(_, name)| name).collect();
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    fn unembedded(&self, model: &str, limit: usize) -> Result<Vec<Unembedded>, IndexError> {
        guarded(|| {
            let Some(places) = self.places(model)? else {
                return Ok(Vec::new());
            };
            Ok(self
                .keys()?
                .missing(&self.table, &places)
                .take(limit)
                .collect())
        })
    }

    fn vector_keys(&self) -> Result<HashSet<VectorKey>, IndexError> {
        guarded(|| Ok(self.keys()?.all()))
    }

    fn coverage(&self, model: &str) -> Result<Coverage, IndexError> {
        guarded(|| {
            let memories = self.keys()?.memories();
            Ok(match self.places(model)? {
                None => Coverage {
                    memories,
                    ..Coverage::default()
                },
                Some(places) => Coverage {
                    complete: places.complete(self.keys()?),
                    memories,
                    wanted: self.keys()?.len(),
                    kept: places.kept(),
                    bytes: places.bytes(),
                },
            })
        })
    }

    fn verified(&self) -> i64 {
        self.committed().verified
    }
}

/// Returns the page of `rows` that `query` asks for, each row as a hit.
fn results<T>(
    query: &Query,
    rows: &[T],
    order: impl Fn(&T, &T) -> Ordering,
    hit: impl Fn(&T) -> IndexHit,
) -> SearchResults<IndexHit> {
    let total = rows.len();
    let end = query.offset.saturating_add(query.limit).min(total);
    let page = page(rows, query.offset.min(total)..end, order);
    SearchResults {
        hits: page.into_iter().map(hit).collect(),
        total,
        unranked: 0,
        not_reranked: None,
        people: Vec::new(),
    }
}

/// Returns the positions `range` of `rows` in sorted order; only these are sorted.
fn page<T>(rows: &[T], range: Range<usize>, order: impl Fn(&T, &T) -> Ordering) -> Vec<&T> {
    let order = |a: &&T, b: &&T| order(a, b);
    let mut page = first(rows, range.end, order);
    if range.start > 0 && range.start < page.len() {
        page.select_nth_unstable_by(range.start, order);
    }
    page.drain(..range.start.min(page.len()));
    page.sort_unstable_by(order);
    page
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::page;

    proptest! {
        #[test]
        fn a_page_is_a_part_of_the_whole_order(
            rows in prop::collection::vec(0..1_000_u32, 0..60),
            (one, other) in (0..60_usize, 0..60_usize),
        ) {
            let (start, end) = (one.min(other).min(rows.len()), one.max(other).min(rows.len()));
            let mut sorted = rows.clone();
            sorted.sort_unstable();
            let found: Vec<u32> = page(&rows, start..end, u32::cmp).into_iter().copied().collect();
            prop_assert_eq!(found, &sorted[start..end]);
        }
    }
}

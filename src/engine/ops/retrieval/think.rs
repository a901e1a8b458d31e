//! Keeps many copies of one text from filling a result.
//!
//! A writer can store one text a thousand times with small changes and so hide everything
//! else. Promises: without such a flood, the result is that of [`search`](search::search),
//! to the byte; with one, the two best copies stay where they are, and the others follow
//! all that is no copy. Nothing is removed from the store, or from the count.

use crate::engine::error::EngineError;
use crate::engine::ops::retrieval::search;
use crate::engine::ops::retrieval::search::{Hit, SearchResults};
use crate::engine::parts::Engine;
use crate::index::{Query, QueryKind};
use crate::ranking::{ShingleFilter, ShingleSet};

/// Minimum share of common shingles of two texts that are copies of one.
const COPIES: f32 = 0.6;

/// Maximum number of near copies of one text among the first hits, where there are [`FLOOD`] of them.
const SHOWN: usize = 2;

/// Number of near copies from which they are limited. Fewer are usual, such as a form that is filled in
/// each week.
const FLOOD: usize = 20;

/// Minimum number of hits of the second search, where the first one may hold a flood.
const FIRST_LOOK: usize = 100;

/// Factor by which the number of hits grows from one search to the next.
const STEP: usize = 8;

/// Maximum number of hits that are examined, as each is read from its file. If all of them are
/// copies, the result ends with copies.
const LAST_LOOK: usize = 6_400;

/// As [`search`], for callers that read only the best hits: a flood of copies does not push
/// other memories out of the result.
///
/// # Errors
///
/// As for [`search`].
pub fn think(engine: &Engine, query: &Query) -> Result<SearchResults, EngineError> {
    let results = search::search(engine, query)?;
    let is_ranked = matches!(query.kind, QueryKind::Text(_)) && query.offset == 0;
    let may_be_flood = is_ranked && results.hits.len() > SHOWN && results.total >= FLOOD;
    if !may_be_flood || !Groups::of(&results.hits).largest_is(SHOWN + 1) {
        return Ok(results);
    }
    let mut limit = query.limit.saturating_mul(4).max(FIRST_LOOK);
    loop {
        let deeper = Query {
            limit,
            ..query.clone()
        };
        let deeper = search::search(engine, &deeper)?;
        let groups = Groups::of(&deeper.hits);
        if !groups.largest_is(FLOOD) {
            return Ok(results);
        }
        let is_all = deeper.hits.len() < limit;
        let others = groups.behind.iter().filter(|is_behind| !**is_behind);
        if is_all || limit >= LAST_LOOK || others.count() >= query.limit {
            let behind = groups.behind;
            let mut hits = spread(deeper.hits, &behind);
            hits.truncate(query.limit);
            return Ok(SearchResults { hits, ..deeper });
        }
        limit = limit.saturating_mul(STEP).min(LAST_LOOK.max(query.limit));
    }
}

/// Groups of hits that are copies of one text.
struct Groups<'a> {
    /// Text of each group, from its best hit, and number of its hits.
    groups: Vec<(&'a ShingleSet, usize)>,
    /// For each hit, whether it belongs behind the others, as a copy of a flood.
    behind: Vec<bool>,
}

impl<'a> Groups<'a> {
    fn of(hits: &'a [Hit]) -> Groups<'a> {
        let mut groups: Vec<(&ShingleSet, usize)> = Vec::new();
        let mut member = Vec::with_capacity(hits.len());
        // Most are like none: to compare each with each would cost the square of the hits.
        let mut crowd = ShingleFilter::with_room(hits.len());
        for hit in hits {
            let outline = hit.memory.outline();
            let of_group = |(known, _): &(&ShingleSet, usize)| known.is_like(outline, COPIES);
            let group = match crowd.may_hold_one_like(outline, COPIES) {
                true => groups.iter().position(of_group),
                false => None,
            };
            let at = group.unwrap_or_else(|| {
                crowd.add(outline);
                groups.push((outline, 0));
                groups.len() - 1
            });
            groups[at].1 += 1;
            member.push((at, groups[at].1));
        }
        let is_behind = |&(at, place): &(usize, usize)| place > SHOWN && groups[at].1 >= FLOOD;
        let behind = member.iter().map(is_behind).collect();
        Groups { groups, behind }
    }

    /// Whether one text has at least `count` copies.
    fn largest_is(&self, count: usize) -> bool {
        self.groups.iter().any(|(_, copies)| *copies >= count)
    }
}

/// Returns the hits in their order, with those marked in `behind` after all others.
fn spread(hits: Vec<Hit>, behind: &[bool]) -> Vec<Hit> {
    let (mut first, mut later) = (Vec::new(), Vec::new());
    for (hit, is_behind) in hits.into_iter().zip(behind) {
        match is_behind {
            true => later.push(hit),
            false => first.push(hit),
        }
    }
    first.append(&mut later);
    first
}

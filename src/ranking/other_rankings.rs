//! The rankings of other servers, and single parts of ours: to compare with, and for callers that expect
//! them.

use std::cmp::Ordering;

use super::scoring::{Cosines, Pieces, Scored, Scoring};
use super::signals::{LEAST_COSINE, RankingSignals, WeightedQuery, share_of_meaning};
use crate::model::Memory;

/// Scores by words alone.
pub(super) fn by_words(scoring: &Scoring<'_>, candidates: &[u32]) -> Vec<Scored> {
    positive(candidates, &scoring.words.scores)
}

/// Scores by one of the exact cosines; by words alone where there are no vectors.
pub(super) fn by_cosine(
    scoring: &mut Scoring<'_>,
    candidates: &[u32],
    of: fn(&Cosines) -> &[f32],
) -> Vec<Scored> {
    for &row in candidates {
        scoring.compare_exactly(row);
    }
    let cosines = scoring.cosines.as_ref().map(of);
    positive(candidates, cosines.unwrap_or(&scoring.words.scores))
}

/// Scores by reciprocal rank fusion of words and cosines.
pub(super) fn by_ranks(scoring: &Scoring<'_>, candidates: &[u32]) -> Vec<Scored> {
    let mut scores = vec![0.0_f32; candidates.len()];
    let own = scoring.cosines.as_ref().map(|cosines| &cosines.own[..]);
    for arm in [Some(&scoring.words.scores[..]), own].into_iter().flatten() {
        let value = |place: &usize| arm[candidates[*place] as usize];
        let mut places: Vec<usize> = (0..candidates.len())
            .filter(|place| value(place) > 0.0)
            .collect();
        places.sort_by(|a, b| match value(b).total_cmp(&value(a)) {
            Ordering::Equal => newer(scoring, candidates[*a], candidates[*b]),
            other => other,
        });
        for (rank, place) in (1_u32..).zip(places) {
            scores[place] += 1.0 / (scoring.weights.rrf_k + rank as f32);
        }
    }
    candidates
        .iter()
        .zip(scores)
        .filter(|(_, score)| *score > 0.0)
        .map(|(&row, score)| Scored { row, score })
        .collect()
}

/// Scores by words and signals, and by cosines where there are vectors.
pub(super) fn by_worth(
    scoring: &mut Scoring<'_>,
    candidates: &[u32],
    signals: &dyn Fn(u32) -> RankingSignals,
    by_tier: bool,
) -> Vec<Scored> {
    let words = |scoring: &Scoring<'_>, row: u32| scoring.words.scores[row as usize];
    let near = |scoring: &Scoring<'_>, row: u32| {
        let cosines = scoring.cosines.as_ref();
        cosines.map_or(0.0, |cosines| cosines.own[row as usize])
    };
    let mut scored = Vec::new();
    for &row in candidates {
        scoring.compare_exactly(row);
        if words(scoring, row) > 0.0 || near(scoring, row) > LEAST_COSINE {
            scored.push(Scored {
                row,
                score: words(scoring, row) + signals(row).worth(by_tier),
            });
        }
    }
    if scoring.cosines.is_some() {
        let best = scored.iter().map(|one| one.score).fold(0.0, f32::max);
        for one in &mut scored {
            let length = scoring.rows.words(one.row);
            let share = share_of_meaning(length);
            let worth = one.score / best.max(f32::MIN_POSITIVE);
            one.score = share * near(scoring, one.row) + (1.0 - share) * worth;
        }
    }
    scored
}

/// Number of memories that are asked for together.
const TOGETHER: usize = 128;

/// Scores memories that hold a word by title, tags, importance and last use.
pub(super) fn weighted(
    scoring: &Scoring<'_>,
    candidates: &[u32],
    text: &str,
    pieces: Pieces<'_>,
    signals: &dyn Fn(u32) -> RankingSignals,
    memory: &dyn Fn(u32) -> Option<Memory>,
) -> Vec<Scored> {
    let asked = WeightedQuery::of(text);
    let found = by_words(scoring, candidates);
    let mut scored = Vec::with_capacity(found.len());
    for some in found.chunks(TOGETHER) {
        let rows: Vec<u32> = some.iter().map(|one| one.row).collect();
        (pieces.ahead)(&rows);
        // Without those that are gone since the index was made.
        scored.extend(some.iter().filter_map(|one| {
            let memory = memory(one.row)?;
            let score = signals(one.row).weighted(&asked, &memory);
            Some(Scored { score, ..*one })
        }));
    }
    scored
}

fn newer(scoring: &Scoring<'_>, a: u32, b: u32) -> Ordering {
    let time = |row| scoring.collection.timestamp(row);
    time(b).cmp(&time(a)).then(a.cmp(&b))
}

/// Returns the candidates whose score is above 0, in their order.
fn positive(candidates: &[u32], scores: &[f32]) -> Vec<Scored> {
    let scored = candidates.iter().map(|&row| Scored {
        row,
        score: scores[row as usize],
    });
    scored.filter(|one| one.score > 0.0).collect()
}

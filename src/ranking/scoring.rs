//! The parts of a query's score, for each row.

mod bounds;
mod priors;

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use super::best::first;
use super::chats::Chats;
use super::collection::Collection;
use super::dated::Dated;
use super::episode::Episode;
use super::lexical::{Words, idf};
use super::meaning::{
    Context, Distribution, LateInteraction, Nearness, QueryTokens, SoftWords, is_not_long,
    spreading, uncovered,
};
use super::parsed_query::ParsedQuery;
use super::parts::{Evidence, FoundBy, Parts};
use super::reranked::{RERANKED, Reranking};
use super::row_reader::{RowData, RowReader};
use super::row_set::RowSet;
use super::signals::LEAST_COSINE;
use super::weights::Weights;
use crate::words::Analyzer;

/// Cosines of the query with each memory, by row; NaN where there is no vector.
pub struct Cosines {
    /// Approximate cosine with the memory itself.
    pub own: Vec<f32>,
    /// Approximate cosine with the memory together with the one before it.
    pub window: Vec<f32>,
    /// Exact values of both for one row.
    pub exact: Box<dyn Fn(u32) -> [f32; 2]>,
    /// Tokens of the query, if the model gives them.
    pub tokens: Option<QueryTokens>,
}

impl Cosines {
    /// Returns the cosines as the weights of the ranking take them: those of E5, for one, lie between 0.7
    /// and 0.9, and are spread.
    pub(super) fn spread(self) -> Cosines {
        let Some(spread) = spreading(&self.own) else {
            return self;
        };
        let exact = self.exact;
        Cosines {
            own: self.own.into_iter().map(spread).collect(),
            window: self.window.into_iter().map(spread).collect(),
            exact: Box::new(move |row| exact(row).map(spread)),
            tokens: self.tokens,
        }
    }
}

/// Number of best candidates whose cosines are computed exactly: more than a page of results.
const EXACT: usize = 200;
/// Difference in score between the last hit that words found and the first that only vectors found.
const BEHIND: f32 = 0.001;
/// Number of best candidates whose passages are scored singly, if they are very long.
const LOOKED_AT: usize = 50;
/// Maximum number of words of their texts together, which are read for it: 50 of an hour's talk. The first is
/// looked at whatever its length.
const MOST_WORDS: f32 = 60_000.0;

/// Number of hits from which the least score of the best is estimated, as a multiple of those.
const SAMPLE: usize = 8;

/// Number of best hits by which a namespace is scored.
const NAMESPACE_BEST: usize = 10;

/// Texts of rows, cut into pieces.
#[derive(Clone, Copy)]
pub struct Pieces<'a> {
    /// Told which rows are asked for next.
    pub ahead: &'a dyn Fn(&[u32]),
    /// Returns the pieces of a row; none if it cannot be read.
    pub of: &'a dyn Fn(u32) -> Vec<String>,
}

/// One memory, scored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// Number of the row.
    pub row: u32,
    /// Score of the memory.
    pub score: f32,
}

/// Scores of the parts of one query.
pub(super) struct Scoring<'a> {
    pub collection: &'a Collection,
    pub rows: RowReader<'a>,
    pub weights: Weights,
    pub query: ParsedQuery,
    pub chats: Chats,
    /// Mean score of the best hits of each namespace, by number, less that of the best namespace; empty if
    /// namespaces make no difference.
    pub namespaces: Vec<f32>,
    pub words: Words,
    /// Title scores by row; 0 of others.
    pub titles: FxHashMap<u32, f32>,
    pub dated: Dated,
    pub cosines: Option<Cosines>,
    /// Distribution of the memories' own cosines.
    pub distribution: Option<Distribution>,
    pub nearness: Option<Nearness>,
    /// Comparison of the query's words with those of memories, one by one.
    pub late: Option<LateInteraction>,
    /// Content words of a question, for the first hits.
    pub soft: Option<SoftWords>,
    /// Their scores of rows.
    pub softness: HashMap<u32, f32>,
    /// Weight of a standard deviation of the cosine of a memory without context.
    pub uncovered: f32,
    /// Content words of the query.
    pub content: Vec<String>,
    /// Passage scores of very long memories, by row.
    pub passages: HashMap<u32, f32>,
    /// Parts of the hits that a cross-encoder scored, by row.
    pub reranked: HashMap<u32, f32>,
    /// Whether a named person takes part, by episode; empty if nobody is named.
    pub with_named: Vec<bool>,
    /// Memories whose text names such a person; empty if nobody is named.
    pub naming: RowSet,
    pub best_words: f32,
    pub best_date: f32,
    /// Greatest share of the query's content words, by idf, that one candidate holds.
    pub best_covered: f32,
    /// Number added to the score of memories that only vectors found; at most 0.
    pub behind: f32,
}

impl Scoring<'_> {
    /// Adds the nearest by vectors to the candidates, of those that pass.
    pub fn add_nearest(&mut self, passes: &impl Fn(u32) -> bool) {
        let Some(cosines) = &mut self.cosines else {
            return;
        };
        let own = cosines.own.iter().copied();
        self.distribution = Some(Distribution::of(own.filter(|cosine| !cosine.is_nan())));
        let count = self.weights.nearest as usize;
        for near in [&mut cosines.own, &mut cosines.window] {
            let mut known: Vec<u32> = (0..near.len() as u32)
                .filter(|&row| !near[row as usize].is_nan() && passes(row))
                .collect();
            let mean = known.iter().map(|&row| near[row as usize]).sum::<f32>()
                / known.len().max(1) as f32;
            if known.len() > count {
                known.select_nth_unstable_by(count, |&a, &b| {
                    near[b as usize].total_cmp(&near[a as usize])
                });
                known.truncate(count);
            }
            for row in known {
                self.words.candidates.put_in(row);
            }
            // A memory without a vector gets the mean.
            for value in near.iter_mut().filter(|value| value.is_nan()) {
                *value = mean;
            }
        }
    }

    /// Adds the nearest by word vectors to the candidates, of those that pass.
    pub fn add_near_words(&mut self, passes: &impl Fn(u32) -> bool) {
        let Some(nearness) = &self.nearness else {
            return;
        };
        for row in nearness.nearest(self.weights.nearest as usize, passes) {
            self.words.candidates.put_in(row);
        }
    }

    /// Adds the standing instructions of the chats to the candidates of a question, whatever they name.
    pub fn add_standing(&mut self, passes: &impl Fn(u32) -> bool) {
        if self.weights.instruction == 0.0 {
            return;
        }
        for row in self.chats.rows() {
            if self.is_standing(row) && passes(row) {
                self.words.candidates.put_in(row);
            }
        }
    }

    /// Returns whether a row is a standing instruction that this query asks for.
    fn is_standing(&self, row: u32) -> bool {
        self.query.asks && self.chats.contains(row) && self.rows.features(row).instructs
    }

    pub fn find_best(&mut self, candidates: &[u32]) {
        let best = |scores: &[f32]| match scores.is_empty() {
            true => 0.0,
            false => {
                let scores = candidates.iter().map(|&row| scores[row as usize]);
                scores.fold(0.0, f32::max)
            }
        };
        (self.best_words, self.best_date) = (best(&self.words.scores), best(&self.dated.scores));
        self.best_covered = best(&self.words.coverage);
        // A day says which memories are meant, though they hold none of the other words.
        self.uncovered = match candidates
            .iter()
            .any(|&row| self.dated.of_day.contains(row))
        {
            true => 0.0,
            false => uncovered(&self.weights, self.best_covered),
        };
    }

    /// Scores all candidates; the best ones with exact cosines, passages and a cross-encoder, which is
    /// given the text of the query. Those behind the first `wanted` may get bounds above their scores instead.
    pub fn all(
        &mut self,
        candidates: Vec<u32>,
        wanted: usize,
        pieces: Pieces<'_>,
        reranking: Option<(&Reranking<'_>, &str)>,
        analyzer: &mut Analyzer,
    ) -> Vec<Scored> {
        let wanted = wanted.max(LOOKED_AT).max(RERANKED);
        let (mut scored, mut in_full) = self.begin(candidates, wanted);
        if self.cosines.is_some() {
            let places = best(&scored, EXACT);
            let rows: Vec<u32> = places.iter().map(|&place| scored[place].row).collect();
            rows.iter().for_each(|&row| self.compare_exactly(row));
            self.compare_words(&rows);
            for (place, row) in places.into_iter().zip(rows) {
                scored[place] = self.scored(row);
            }
        }
        if self.weights.passage != 0.0 && !self.content.is_empty() {
            let mut looked_at = best(&scored, LOOKED_AT);
            looked_at.retain(|&place| self.has_passage(scored[place].row));
            let mut words = 0.0;
            looked_at.retain(|&place| {
                let is_first = words <= 0.0;
                words += self.rows.words(scored[place].row);
                is_first || words <= MOST_WORDS
            });
            let rows: Vec<u32> = looked_at.iter().map(|&place| scored[place].row).collect();
            self.look_at_pieces(&rows, pieces, analyzer);
            for place in looked_at {
                scored[place] = self.scored(scored[place].row);
            }
        }
        self.look_at_words(&mut scored, pieces, analyzer);
        if self.add_namespaces(&mut scored, &mut in_full) {
            self.settle(&mut scored, &mut in_full, wanted);
        }
        let is_reranked = self.rerank(&mut scored, reranking, analyzer);
        if self.put_behind(&mut scored, &mut in_full, wanted) || is_reranked {
            self.settle(&mut scored, &mut in_full, wanted);
        }
        scored
    }

    /// Adds to the first hits, if they are short and of no chat, which words they hold that are near to those that
    /// they lack.
    fn look_at_words(
        &mut self,
        scored: &mut [Scored],
        pieces: Pieces<'_>,
        analyzer: &mut Analyzer,
    ) {
        let Some(mut soft) = self.soft.take() else {
            return;
        };
        let mut places = best(scored, LOOKED_AT);
        places.retain(|&place| {
            let row = scored[place].row;
            self.is_short(self.rows.words(row)) && !self.chats.contains(row)
        });
        let rows: Vec<u32> = places.iter().map(|&place| scored[place].row).collect();
        (pieces.ahead)(&rows);
        for (place, row) in places.into_iter().zip(rows) {
            let score = soft.score(&(pieces.of)(row), analyzer);
            self.softness.insert(row, score);
            scored[place] = self.scored(row);
        }
    }

    /// Returns whether a memory with a number of words is short enough for what only short ones tell.
    pub(super) fn is_short(&self, words: f32) -> bool {
        words <= self.weights.prior_words
    }

    /// Adds to the first hits what a cross-encoder says of them and the text of the query. Returns whether it did.
    pub fn rerank(
        &mut self,
        scored: &mut [Scored],
        reranking: Option<(&Reranking<'_>, &str)>,
        analyzer: &mut Analyzer,
    ) -> bool {
        let Some((reranking, text)) = reranking.filter(|_| self.weights.rerank != 0.0) else {
            return false;
        };
        let places = best(scored, RERANKED);
        if places.len() < 2 {
            return false;
        }
        let hits = places.iter().map(|&place| scored[place]);
        let hits: Vec<(u32, f32)> = hits.map(|hit| (hit.row, hit.score)).collect();
        let rows: Vec<u32> = hits.iter().map(|(row, _)| *row).collect();
        (reranking.ahead)(&rows);
        let Some(parts) = reranking.parts(text, &self.content, &hits, analyzer) else {
            return false;
        };
        for (place, part) in places.into_iter().zip(parts) {
            scored[place].score += self.weights.rerank * part;
            self.reranked.insert(scored[place].row, part);
        }
        true
    }

    /// Adds to each hit what its namespace is worth, for questions: an answer mostly lies where most
    /// speaks of what is asked. A namespace with few candidates is not judged, and loses nothing: one
    /// memory by itself may be the answer. Returns whether scores changed.
    fn add_namespaces(&mut self, scored: &mut [Scored], in_full: &mut RowSet) -> bool {
        if !self.query.asks {
            return false;
        }
        // Hits are in the order of rows, and these in the order of their namespaces.
        let namespace = |hit: &Scored| self.rows.namespace(hit.row);
        let of_each = scored.chunk_by_mut(|one, next| namespace(one) == namespace(next));
        let judged = of_each.filter(|hits| hits.len() >= NAMESPACE_BEST);
        let mut judged: Vec<&mut [Scored]> = judged.collect();
        if judged.len() < 2 {
            return false;
        }
        let mut means: Vec<(u32, f32)> = Vec::with_capacity(judged.len());
        for hits in &mut judged {
            self.settle(hits, in_full, NAMESPACE_BEST);
            means.push((namespace(&hits[0]), mean(hits)));
        }
        let best = means.iter().map(|(_, mean)| *mean);
        let best = best.fold(f32::NEG_INFINITY, f32::max);
        for (number, mean) in means {
            let number = number as usize;
            let count = self.namespaces.len().max(number + 1);
            self.namespaces.resize(count, 0.0);
            self.namespaces[number] = mean - best;
        }
        for hit in scored.iter_mut() {
            if self.of_namespace(self.rows.namespace(hit.row)) != 0.0 {
                *hit = match in_full.contains(hit.row) {
                    true => self.scored(hit.row),
                    false => self.bounded(hit.row),
                };
            }
        }
        true
    }

    fn of_namespace(&self, number: u32) -> f32 {
        self.namespaces.get(number as usize).copied().unwrap_or(0.0)
    }

    /// Ranks hits that only vectors found after all others if the query is a list of words, or with the
    /// vectors of words if it is a single word; and removes those that are not near a list. For a question
    /// they keep their scores. Returns whether scores changed.
    fn put_behind(
        &mut self,
        scored: &mut Vec<Scored>,
        in_full: &mut RowSet,
        wanted: usize,
    ) -> bool {
        let keeps_scores = match (&self.cosines, &self.nearness) {
            (Some(_), _) => false,
            (None, Some(_)) => self.content.len() > 1,
            (None, None) => true,
        };
        if self.query.asks || keeps_scores {
            return false;
        }
        if self.cosines.is_some() {
            scored.retain(|hit| {
                let is_near = self.nearness(hit.row) >= LEAST_COSINE;
                is_near || self.found_by(hit.row) != FoundBy::Meaning
            });
        }
        let is_by_meaning = |hit: &Scored| self.found_by(hit.row) == FoundBy::Meaning;
        let (mut by_meaning, mut others): (Vec<Scored>, Vec<Scored>) =
            std::mem::take(scored).into_iter().partition(is_by_meaning);
        self.settle(&mut others, in_full, wanted);
        for hit in &mut by_meaning {
            self.score_in_full(hit, in_full);
        }
        let best = by_meaning.iter().map(|hit| hit.score);
        let best = best.fold(f32::NEG_INFINITY, f32::max);
        // Those with bounds are behind as many others as are wanted, and so are the hits behind this one.
        let known = others.iter().filter(|hit| in_full.contains(hit.row));
        let last = known.map(|hit| hit.score).fold(f32::INFINITY, f32::min);
        // Without hits of one kind the sum is infinite.
        let behind = (last - best - BEHIND).min(0.0);
        if behind.is_finite() && behind != 0.0 {
            self.behind = behind;
            for hit in &mut by_meaning {
                *hit = self.scored(hit.row);
            }
        }
        others.append(&mut by_meaning);
        // Two runs that are in order.
        others.sort_by_key(|hit| hit.row);
        *scored = others;
        true
    }

    /// Returns the greater of a row's two cosines.
    fn nearness(&self, row: u32) -> f32 {
        let of = |near: &Vec<f32>| near[row as usize];
        let cosines = self.cosines.as_ref();
        cosines.map_or(0.0, |cosines| of(&cosines.own).max(of(&cosines.window)))
    }

    fn found_by(&self, row: u32) -> FoundBy {
        let at = row as usize;
        let is_author = || self.named(row) > 0;
        if self.words.holders.contains(row) || is_author() {
            FoundBy::Words
        } else if self.dated.rows.contains(row) {
            FoundBy::Date
        } else if self.words.scores[at] > 0.0 {
            FoundBy::Context
        } else if self.is_standing(row) {
            FoundBy::Instruction
        } else {
            FoundBy::Meaning
        }
    }

    pub fn compare_exactly(&mut self, row: u32) {
        let Some(cosines) = &mut self.cosines else {
            return;
        };
        let [own, window] = (cosines.exact)(row);
        for (near, exact) in [(&mut cosines.own, own), (&mut cosines.window, window)] {
            if !exact.is_nan() {
                near[row as usize] = exact;
            }
        }
    }

    /// Compares the words of the query with those of these rows, but not in chats.
    fn compare_words(&mut self, rows: &[u32]) {
        let Some(mut late) = self.late.take() else {
            return;
        };
        late.compare(
            rows.iter()
                .copied()
                .filter(|&row| !self.chats.contains(row)),
        );
        self.late = Some(late);
    }

    /// Returns whether an episode is one in which somebody asks.
    fn is_talk(&self, episode: Episode) -> bool {
        let mut rows = episode.start..episode.end;
        rows.any(|row| self.rows.features(row).has_question)
    }

    /// Returns the number of persons among a row's users whom the query names.
    pub(super) fn named(&self, row: u32) -> u32 {
        match self.query.names_somebody() {
            true => self
                .query
                .named(self.rows.user(row), || self.rows.namespace(row)),
            false => 0,
        }
    }

    /// Computes the passage scores of these very long memories. The idf of a word is taken from their
    /// pieces, because nearly every long text holds it.
    fn look_at_pieces(&mut self, rows: &[u32], pieces: Pieces<'_>, analyzer: &mut Analyzer) {
        // Numbers of the query's content words that each piece holds.
        let mut looked: Vec<(u32, Vec<Vec<usize>>)> = Vec::new();
        let mut frequencies = vec![0_usize; self.content.len()];
        let content = self.content.iter().zip(0_usize..);
        let content: HashMap<&str, usize> = content.map(|(word, at)| (word.as_str(), at)).collect();
        (pieces.ahead)(rows);
        for &row in rows {
            let held = (pieces.of)(row).into_iter().map(|piece| {
                let mut holds: Vec<usize> = Vec::new();
                analyzer.terms(&piece, |term, _, _| holds.extend(content.get(term)));
                holds.sort_unstable();
                holds.dedup();
                holds.iter().for_each(|&at| frequencies[at] += 1);
                holds
            });
            looked.push((row, held.collect()));
        }
        let count = looked.iter().map(|(_, pieces)| pieces.len()).sum();
        let idf: Vec<f32> = frequencies
            .iter()
            .map(|&frequency| idf(count, frequency))
            .collect();
        let all: f32 = idf.iter().sum();
        for (row, pieces) in looked {
            let share = |holds: &Vec<usize>| holds.iter().map(|&at| idf[at]).sum::<f32>() / all;
            let most = pieces.iter().map(share).fold(0.0, f32::max);
            self.passages.insert(row, most);
        }
    }

    fn scored(&self, row: u32) -> Scored {
        Scored {
            row,
            score: self.parts(row).total(&self.weights),
        }
    }

    pub fn parts(&self, row: u32) -> Parts {
        let at = row as usize;
        let found_by = self.found_by(row);
        let mut parts = Parts {
            found_by,
            behind: match found_by {
                FoundBy::Meaning => self.behind,
                _ => 0.0,
            },
            words: share(self.words.scores[at], self.best_words),
            coverage: self.coverage(row),
            passage: self.passages.get(&row).copied().unwrap_or(0.0),
            title: self.title(row),
            date: self.date(row),
            rerank: self.reranked.get(&row).copied().unwrap_or(0.0),
            ..Parts::default()
        };
        let here = self.rows.row(row);
        let in_chat = self.chats.contains(row);
        let is_in_context = here.episode.is_context || in_chat;
        self.meaning(&here, is_in_context, &mut parts);
        parts.nearness += self.word_nearness(&here, is_in_context);
        self.people(&here, &mut parts);
        let namespace = match self.namespaces.is_empty() {
            true => 0.0,
            false => self.of_namespace(self.rows.namespace(row)),
        };
        match in_chat {
            true => {
                parts.chat = namespace;
                self.message(&here, &mut parts);
            }
            false => {
                parts.namespace = namespace;
                self.priors(&here, &mut parts);
            }
        }
        parts
    }

    /// Returns the evidence for a row's relevance; `best` and `tenth` are the scores of those hits.
    pub fn evidence(&self, row: u32, parts: &Parts, [best, tenth]: [f32; 2]) -> Evidence {
        let near = match (&self.nearness, &self.cosines, &self.distribution) {
            (Some(nearness), ..) => nearness.deviations(row),
            (None, Some(cosines), Some(usual)) => usual.deviations(cosines.own[row as usize]),
            _ => 0.0,
        };
        Evidence {
            best_covered: self.best_covered,
            held: self.words.scores[row as usize] / self.words.idf.max(f32::MIN_POSITIVE),
            gap: parts.total(&self.weights) - best,
            lead: best - tenth,
            near,
            stranger: flag(!self.with_named.is_empty()) - parts.participant,
            length: self.rows.words(row).max(1.0).ln(),
            asked: (self.content.len().max(1) as f32).ln(),
        }
    }

    fn title(&self, row: u32) -> f32 {
        self.titles.get(&row).copied().unwrap_or(0.0)
    }

    fn date(&self, row: u32) -> f32 {
        let date = self.dated.scores.get(row as usize).copied();
        share(date.unwrap_or(0.0), self.best_date)
    }

    fn coverage(&self, row: u32) -> f32 {
        if self.content.len() < 2 {
            return 0.0;
        }
        let from = self.weights.coverage_from;
        ((self.words.coverage[row as usize] - from) / (1.0 - from)).clamp(0.0, 1.0)
    }

    /// Returns whether the passages of a memory are scored: of very long ones, but not in chats.
    fn has_passage(&self, row: u32) -> bool {
        self.rows.words(row) > self.weights.passage_words && !self.chats.contains(row)
    }

    fn meaning(&self, here: &RowData, is_in_context: bool, parts: &mut Parts) {
        let Some(cosines) = &self.cosines else {
            return;
        };
        let row = here.row;
        let factor = match self.query.asks {
            true => 1.0,
            false => self.weights.keyword_meaning,
        };
        let doublings = here.features().pieces().log2();
        let of_chance = self.weights.pieces * doublings;
        parts.own = factor * (cosines.own[row as usize] - of_chance);
        parts.window = factor * (cosines.window[row as usize] - of_chance);
        parts.soft = self.softness.get(&row).copied().unwrap_or(0.0);
        if let Some(late) = &self.late {
            let score = late.score(row);
            // Most rows were not compared.
            let of_talk = match score != 0.0 && self.is_talk(here.episode) {
                true => self.weights.talk_late * flag(self.is_short(here.words())),
                false => 1.0,
            };
            parts.late = factor * of_talk * score;
        }
        if let Some(distribution) = &self.distribution
            && !is_in_context
        {
            let own = cosines.own[row as usize] - of_chance;
            let alone = self.uncovered * is_not_long(&self.weights, here.words());
            parts.nearness = factor * alone * distribution.deviations(own);
        }
    }

    /// Returns the nearness of a row by the vectors of words; 0 with a model.
    fn word_nearness(&self, here: &RowData, is_in_context: bool) -> f32 {
        let Some(nearness) = &self.nearness else {
            return 0.0;
        };
        let follows = here.episode.is_context && here.row > here.episode.start;
        let context = match is_in_context {
            false => Context::None,
            true if follows && !here.features().is_long() => Context::After(here.row - 1),
            true => Context::First,
        };
        nearness.score(
            &self.weights,
            here.row,
            here.words(),
            context,
            self.uncovered,
        )
    }
}

/// Returns the mean score of the [`NAMESPACE_BEST`] best hits.
fn mean(hits: &[Scored]) -> f32 {
    let scores = hits.iter().map(|hit| hit.score);
    let mut scores = first(scores, NAMESPACE_BEST, |a, b| b.total_cmp(a));
    scores.sort_unstable_by(|a, b| b.total_cmp(a));
    scores.iter().sum::<f32>() / NAMESPACE_BEST as f32
}

/// Returns the positions of the `count` best.
pub(super) fn best(scored: &[Scored], count: usize) -> Vec<usize> {
    // Among equals the first rows, so that equal stores have equal results.
    let order =
        |&a: &usize, &b: &usize| scored[b].score.total_cmp(&scored[a].score).then(a.cmp(&b));
    let sample = count.saturating_mul(SAMPLE).min(scored.len());
    let kept = first(0..sample, count, order);
    // Most of the others are below these, which is quickly seen.
    let scores = kept.iter().map(|&place| scored[place].score);
    let least = scores.fold(f32::INFINITY, f32::min);
    let others = (sample..scored.len()).filter(|&place| scored[place].score >= least);
    let others: Vec<usize> = others.collect();
    first(kept.into_iter().chain(others), count, order)
}

fn share(score: f32, best: f32) -> f32 {
    if best > 0.0 { score / best } else { 0.0 }
}

pub(super) fn flag(condition: bool) -> f32 {
    if condition { 1.0 } else { 0.0 }
}

//! The ranking: a weighted sum of scores of words in their context, people, times and meaning.
//!
//! `score = words/max + coverage + passage + title + date/max + own·cos + window·cos + nearness +
//! people + priors + rerank`; a candidate is a memory that holds a word of the query, is next to one that
//! does, has a date of the query, or is among the nearest by vectors. [`Weights`](super::Weights) holds every
//! constant, `docs/RETRIEVAL.md` the contribution of each part.

use std::borrow::Cow;
use std::collections::HashMap;

use super::best::first;
use super::chats::Chats;
use super::collection::Collection;
use super::dated::Dated;
use super::lexical::{QueryTerms, Scorer, query_terms};
use super::meaning::{LateInteraction, Nearness, SoftWords};
use super::other_rankings::{by_cosine, by_ranks, by_words, by_worth, weighted};
use super::parsed_query::ParsedQuery;
use super::parts::Parts;
use super::people::{NamedBy, NamedPerson, Names, aliases, rows_beside, without};
use super::postings::Postings;
use super::reranked::Reranking;
use super::row_reader::RowReader;
use super::row_set::RowSet;
use super::scoring::Scoring;
use super::signals::RankingSignals;
use super::weights::{Method, Ranking};
use crate::model::Memory;
use crate::words::Analyzer;

pub use super::meaning::QueryTokens;
pub use super::scoring::{Cosines, Pieces, Scored};

/// Returns the cosines of all rows with a text; `None` without a model or vectors.
pub type Meaning<'a> = dyn Fn(&str) -> Option<Cosines> + 'a;

/// Scores of a query.
pub struct Ranked<'a> {
    /// Scored rows, in the order of rows. Scores of different queries cannot be compared. Behind the first ones that were
    /// asked for, in the order of scores, a score may be too high.
    pub scored: Vec<Scored>,
    /// Number of distinct terms of the query beyond [`super::MOST_TERMS`].
    pub unranked: usize,
    /// Words of the query that were taken for users who are called otherwise.
    pub people: Vec<NamedPerson>,
    scoring: Scoring<'a>,
    /// Scores of the best hit and of the tenth; `None` of a list of words and of a ranking to which no
    /// relevance is fitted.
    leading: Option<[f32; 2]>,
}

impl Ranked<'_> {
    /// Computes the parts of a row's score, with the evidence for its relevance.
    pub fn parts(&self, row: u32) -> Parts {
        let parts = self.scoring.parts(row);
        let evidence = |leading| self.scoring.evidence(row, &parts, leading);
        Parts {
            evidence: self.leading.map(evidence),
            ..parts
        }
    }
}

/// Query text of a ranking, and the caller's data of each row.
pub struct RankingInput<'a> {
    /// Text of the query.
    pub text: &'a str,
    /// Number of hits that are looked at, from the best one on.
    pub first: usize,
    /// Method and weights.
    pub ranking: &'a Ranking,
    /// Cosines with a text.
    pub meaning: &'a Meaning<'a>,
    /// Texts of rows in pieces.
    pub pieces: Pieces<'a>,
    /// Ranking signals of a row's memory at the moment of the search.
    pub signals: &'a dyn Fn(u32) -> RankingSignals,
    /// Memory of a row; `None` if it cannot be read.
    pub memory: &'a dyn Fn(u32) -> Option<Memory>,
    /// A cross-encoder for the first hits, if there is one.
    pub reranking: Option<Reranking<'a>>,
}

/// Scores every candidate for the text of `input` for which `passes` is true.
///
/// An empty text finds nothing.
///
/// # Errors
///
/// Fails if the postings do.
pub fn score<'a, P: Postings>(
    input: &RankingInput<'_>,
    collection: &'a Collection,
    names: &Names,
    analyzer: &mut Analyzer,
    postings: &P,
    passes: impl Fn(u32) -> bool,
) -> Result<Ranked<'a>, P::Error> {
    let ranking = input.ranking;
    let is_plain = ranking.method.is_plain();
    let mut people = Vec::new();
    let text = match is_plain {
        true => Cow::Borrowed(input.text),
        false => {
            people = names.stated(input.text);
            let users = collection.user_names();
            with_names_as_written(input.text, (names, users), analyzer, postings, &mut people)?
        }
    };
    let text = text.as_ref();
    let weights = match is_plain {
        true => ranking.weights.plain(),
        false => ranking.weights,
    };
    let query = match is_plain {
        true => ParsedQuery::plain(text),
        false => {
            let mut query = ParsedQuery::read(text, names);
            let of = (text, names, collection);
            let called = add_aliases(&mut query, of, analyzer, postings, &passes)?;
            people.extend(called);
            query
        }
    };
    let QueryTerms { terms, unranked } =
        query_terms(text, &query.text, analyzer, postings, &weights)?;
    let chats = match is_plain {
        true => Chats::default(),
        false => Chats::of(collection),
    };
    let scorer = Scorer {
        collection,
        weights: &weights,
        query: &query,
        chats: &chats,
    };
    let words = scorer.words(&terms);
    let titles = scorer.titles(&terms, postings)?;
    let asked = asked(&query, text).filter(|_| ranking.method.uses_meaning());
    let cosines = asked.and_then(input.meaning);
    let mut cosines = match is_plain {
        true => cosines,
        false => cosines.map(Cosines::spread),
    };
    let tokens = cosines.as_mut().and_then(|cosines| cosines.tokens.take());
    let tokens = tokens.filter(|_| !is_plain && weights.late != 0.0);
    let late = tokens.zip(asked).and_then(|(tokens, asked)| {
        LateInteraction::of(tokens, asked, (&terms, collection.len()), analyzer)
    });
    let is_soft = cosines.is_some() && query.asks && !is_plain && weights.soft != 0.0;
    let soft = is_soft
        .then(|| SoftWords::of(&query.text, (&terms, collection.len()), analyzer))
        .flatten();
    let nearness = match (&cosines, ranking.method) {
        (None, Method::Fused) => Nearness::of(collection, &query, &terms, analyzer, &weights),
        _ => None,
    };
    let mut scoring = Scoring {
        collection,
        rows: RowReader::new(collection),
        weights,
        nearness,
        late,
        soft,
        softness: HashMap::new(),
        uncovered: 0.0,
        titles,
        dated: Dated::of(&query.dates, collection.len(), postings)?,
        content: terms
            .iter()
            .filter(|term| term.is_content)
            .map(|term| term.text.clone())
            .collect(),
        passages: HashMap::new(),
        reranked: HashMap::new(),
        words,
        cosines,
        distribution: None,
        with_named: with_named(collection, &query),
        naming: naming(collection.len(), &query, analyzer, postings)?,
        query,
        chats,
        namespaces: Vec::new(),
        best_words: 0.0,
        best_date: 0.0,
        best_covered: 0.0,
        behind: 0.0,
    };
    scoring
        .words
        .candidates
        .put_in_those_of(&scoring.dated.rows);
    scoring.add_nearest(&passes);
    scoring.add_near_words(&passes);
    scoring.add_standing(&passes);
    let candidates = scoring.words.candidates.iter();
    let candidates: Vec<u32> = candidates.filter(|&row| passes(row)).collect();
    scoring.find_best(&candidates);
    // The query as it was asked: names are words to a cross-encoder.
    let reranking = input.reranking.as_ref().map(|one| (one, input.text));
    let reranking = reranking.filter(|_| ranking.method.reranks());
    let mut scored = match ranking.method {
        Method::Fused | Method::Words => {
            scoring.all(candidates, input.first, input.pieces, reranking, analyzer)
        }
        Method::Bm25 => by_words(&scoring, &candidates),
        Method::Cosine => by_cosine(&mut scoring, &candidates, |cosines| &cosines.own),
        Method::WindowCosine => by_cosine(&mut scoring, &candidates, |cosines| &cosines.window),
        Method::ReciprocalRank => by_ranks(&scoring, &candidates),
        Method::SixFactor | Method::SixFactorReranked | Method::SixFactorWords => {
            by_worth(&mut scoring, &candidates, input.signals, true)
        }
        Method::FiveFactor => by_worth(&mut scoring, &candidates, input.signals, false),
        Method::Weighted => weighted(
            &scoring,
            &candidates,
            text,
            input.pieces,
            input.signals,
            input.memory,
        ),
    };
    if ranking.method == Method::SixFactorReranked {
        scoring.rerank(&mut scored, reranking, analyzer);
    }
    Ok(Ranked {
        leading: (!is_plain && scoring.query.asks).then(|| leading(&scored)),
        scored,
        unranked,
        people,
        scoring,
    })
}

/// Returns the scores of the best hit and of the tenth; 0 for one that does not exist.
fn leading(scored: &[Scored]) -> [f32; 2] {
    let scores = scored.iter().map(|hit| hit.score);
    let mut scores = first(scores, 10, |a, b| b.total_cmp(a));
    scores.sort_unstable_by(|a, b| b.total_cmp(a));
    [scores.first(), scores.get(9)].map(|score| score.copied().unwrap_or(0.0))
}

/// Returns the query with the names of users as the store has them: a capitalised word that no memory
/// holds, and that is one letter away from a name, is that name in another spelling. Adds such to `people`.
fn with_names_as_written<'a, P: Postings>(
    text: &'a str,
    (names, users): (&Names, &[String]),
    analyzer: &mut Analyzer,
    postings: &P,
    people: &mut Vec<NamedPerson>,
) -> Result<Cow<'a, str>, P::Error> {
    let mut written = Cow::Borrowed(text);
    // From the end, so that the places before stay as they are.
    for (range, name) in names.misspelt(text).into_iter().rev() {
        let mut holders = 0;
        for term in analyzer.term_list(&text[range.clone()]) {
            holders += postings.frequency(&term)?;
        }
        if holders == 0 {
            people.push(NamedPerson {
                word: text[range.clone()].to_owned(),
                user: names.called(name, users),
                by: NamedBy::Spelling,
            });
            written.to_mut().replace_range(range, name);
        }
    }
    Ok(written)
}

/// Adds the persons whom `text` calls as the memories of a namespace do, of those in which a row passes,
/// and takes the words out of the query; returns them.
fn add_aliases<P: Postings>(
    query: &mut ParsedQuery,
    (text, names, collection): (&str, &Names, &Collection),
    analyzer: &mut Analyzer,
    postings: &P,
    passes: &impl Fn(u32) -> bool,
) -> Result<Vec<NamedPerson>, P::Error> {
    let mut aliases = aliases(text, names, collection, postings)?;
    aliases.retain(|alias| rows_beside(collection, alias.row).any(passes));
    let mut people = Vec::new();
    for alias in &aliases {
        query.add_alias(alias);
        let mut is_word = false;
        for term in analyzer.term_list(&alias.word) {
            let is_called = |row: u32| {
                let mut same = aliases.iter().filter(|other| other.word == alias.word);
                same.any(|other| other.namespace == collection.namespace(row))
            };
            let mut rows = postings.text(&term)?.into_iter();
            is_word |= rows.any(|(row, _)| passes(row) && !is_called(row));
        }
        // Where memories of other namespaces hold it, it is a word like others there.
        if !is_word {
            query.text = without(&query.text, &alias.word);
        }
        let person = alias.person();
        if !people.contains(&person) {
            people.push(person);
        }
    }
    Ok(people)
}

/// Returns the memories whose texts hold all words of a user's name that the query holds, of `count`.
fn naming<P: Postings>(
    count: usize,
    query: &ParsedQuery,
    analyzer: &mut Analyzer,
    postings: &P,
) -> Result<RowSet, P::Error> {
    let mut naming = RowSet::none(count);
    for name in &query.named {
        let terms = analyzer.term_list(name);
        let mut holding = RowSet::all(count);
        for term in &terms {
            let mut rows = RowSet::none(count);
            for (row, _) in postings.text(term)? {
                rows.put_in(row);
            }
            holding.keep_those_of(&rows);
        }
        if !terms.is_empty() {
            holding.iter().for_each(|row| naming.put_in(row));
        }
    }
    Ok(naming)
}

/// Returns whether a person that the query names takes part, by episode; empty if nobody is named.
fn with_named(collection: &Collection, query: &ParsedQuery) -> Vec<bool> {
    let mut with_named = Vec::new();
    if query.names_somebody() {
        with_named.resize(collection.episode_bound(), false);
        let (users, episodes) = (collection.users(), collection.episodes());
        for row in 0..collection.len() as u32 {
            let named = query.named(users.get(row), || collection.namespace(row));
            with_named[episodes.of(row) as usize] |= named > 0;
        }
    }
    with_named
}

/// Returns the text of a query that is embedded: without the names, unless no word is left then;
/// `None` of a query without a word.
fn asked<'a>(query: &'a ParsedQuery, text: &'a str) -> Option<&'a str> {
    [query.text.trim(), text]
        .into_iter()
        .find(|text| text.contains(char::is_alphanumeric))
}

//! One search and its results, shared by the engine and every kind of index.

use crate::model::Filter;
use crate::ranking::{MOST_TERMS, NamedPerson, Ranking};

/// Kind of a search, besides its filter.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryKind {
    /// Substring counts of keywords; case, blanks around a keyword and doubles do not count.
    Keywords(Vec<String>),
    /// A sentence or words, ranked.
    Text(String),
    /// Every memory that passes the filter, newest first.
    Everything,
}

/// One search.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Kind of the search.
    pub kind: QueryKind,
    /// Filter of the memories.
    pub filter: Filter,
    /// Ranking of a text.
    pub ranking: Ranking,
    /// Maximum number of hits, best first.
    pub limit: usize,
    /// Number of best hits that are left out.
    pub offset: usize,
}

impl Query {
    /// Returns the search for the newest `limit` memories that pass `filter`.
    pub fn everything(filter: Filter, limit: usize) -> Query {
        Query {
            kind: QueryKind::Everything,
            filter,
            ranking: Ranking::default(),
            limit,
            offset: 0,
        }
    }

    /// Returns the search for the best `limit` memories for `text` that pass `filter`, by the default
    /// ranking.
    pub fn text(text: impl Into<String>, filter: Filter, limit: usize) -> Query {
        Query {
            kind: QueryKind::Text(text.into()),
            ..Query::everything(filter, limit)
        }
    }
}

/// The results of a search: hits of an index, or memories that were read from their files.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResults<H> {
    /// Hits, best first.
    pub hits: Vec<H>,
    /// Number of all memories that matched.
    pub total: usize,
    /// Number of distinct terms of the text beyond [`MOST_TERMS`], which were not ranked.
    pub unranked: usize,
    /// Reason why a cross-encoder that is set up did not re-rank the first hits.
    pub not_reranked: Option<String>,
    /// Words of the text that were taken for users who are called otherwise.
    pub people: Vec<NamedPerson>,
}

impl<H> SearchResults<H> {
    /// Returns a note for the caller if not every word of a long text was ranked.
    pub fn note(&self) -> Option<String> {
        let terms = self.unranked + MOST_TERMS;
        (self.unranked > 0).then(|| {
            format!(
                "the query has {terms} distinct words; only the {MOST_TERMS} rarest were ranked: those \
                 that the fewest memories hold. Ask shorter questions, or give `keywords`, which all count"
            )
        })
    }
}

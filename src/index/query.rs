//! One search and its results, as the engine and every kind of index know them.

use crate::model::Filter;
use crate::ranking::{MOST_TERMS, Ranking};

/// Which memories are asked for, besides the filter.
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
    pub kind: QueryKind,
    pub filter: Filter,
    /// How a text is ranked.
    pub ranking: Ranking,
    /// Maximum number of hits, best first.
    pub limit: usize,
    /// Number of best hits that are left out.
    pub offset: usize,
}

impl Query {
    /// The newest `limit` memories that pass `filter`.
    pub fn everything(filter: Filter, limit: usize) -> Query {
        Query {
            kind: QueryKind::Everything,
            filter,
            ranking: Ranking::default(),
            limit,
            offset: 0,
        }
    }

    /// The best `limit` memories for `text` that pass `filter`, by the usual ranking.
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
    /// Best first.
    pub hits: Vec<H>,
    /// How many memories matched in all.
    pub total: usize,
    /// How many distinct terms of the text were not ranked, because it has more than [`MOST_TERMS`].
    pub unranked: usize,
}

impl<H> SearchResults<H> {
    /// What whoever asked is told beside the answer: that not every word of a long text was ranked.
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

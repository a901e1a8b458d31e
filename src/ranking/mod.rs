//! Scores of search hits, as functions of memories' data. No state, no files.
//!
//! Two rankings: [`keyword`] counts substrings, exactly as the three-tool specification defines it;
//! [`fused`] ranks by words in their context, people, times and meaning. `docs/RETRIEVAL.md` has the
//! formulas, the contribution of each part, and the measurements.

mod best;
pub mod brief;
mod chats;
mod collection;
mod dated;
mod episode;
pub mod fused;
pub mod keyword;
mod lexical;
mod meaning;
mod other_rankings;
mod parsed_query;
mod parts;
mod people;
mod postings;
mod reranked;
mod row_reader;
mod row_set;
mod rows;
mod scoring;
mod signals;
mod table_delta;
mod text;
mod times;
mod weights;

pub use best::first;
pub use collection::Collection;
pub use lexical::{MOST_TERMS, bm25, idf};
pub use parsed_query::ParsedQuery;
pub use parts::{Evidence, FoundBy, Parts};
pub use people::{NamedPerson, Names};
pub use postings::Postings;
pub use reranked::{Excerpts, Rerank, Reranking};
pub use row_set::RowSet;
pub use rows::{Member, Members, Rows};
pub use signals::RankingSignals;
pub use table_delta::{Origin, Piece, Spliced, TableDelta};
pub use text::{
    Calling, LONG_WORDS, PIECE_WORDS, SKETCH_PARTS, ShingleFilter, ShingleSet, Sketch,
    TextFeatures, TextPart, TraitsBuilder, callings, condition, instructs, resemblance,
};
pub use times::{AskedTime, asked_time, coming_time, date_terms, number};
pub use weights::{Method, Ranking, Weights};

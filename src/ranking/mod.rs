//! Scores of search hits, as functions of memories' data. No state, no files.
//!
//! Two rankings: [`keyword`] counts substrings, exactly as the three-tool specification defines it;
//! [`fused`] ranks by words in their context, people, times and meaning. `docs/RETRIEVAL.md` has the
//! formulas, the contribution of each part, and the measurements.

mod best;
mod collection;
mod coming_times;
mod dates;
mod episode;
pub mod fused;
pub mod keyword;
mod lexical;
mod parsed_query;
mod parts;
mod row_set;
mod rows;
mod shingles;
mod signals;
mod table_delta;
mod text_features;
mod time_expressions;
mod weights;

pub use best::first;
pub use collection::Collection;
pub use coming_times::coming_time;
pub use dates::date_terms;
pub use lexical::{MOST_TERMS, Postings, bm25, idf};
pub use parsed_query::{Names, ParsedQuery};
pub use parts::{FoundBy, Parts};
pub use row_set::RowSet;
pub use rows::{Member, Members, Rows};
pub use shingles::{ShingleFilter, ShingleSet, resemblance};
pub use signals::RankingSignals;
pub use table_delta::{Origin, Piece, Spliced, TableDelta};
pub use text_features::{
    LONG_WORDS, PIECE_WORDS, SKETCH_PARTS, Sketch, TextFeatures, TextPart, TraitsBuilder,
};
pub use time_expressions::{AskedTime, asked_time, number};
pub use weights::{Method, Ranking, Weights};

//! Scores for search hits, as functions of what is known about memories. No state, no files.
//!
//! Two rankings: [`keyword`] counts substrings, exactly as the three-tool specification has it;
//! [`fused`] ranks by words in their context, people, times and meaning. `docs/RETRIEVAL.md` holds
//! the formulas, what each part is worth, and the figures.

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
pub use lexical::MOST_TERMS;
pub use lexical::Postings;
pub use lexical::bm25;
pub use lexical::idf;
pub use parsed_query::Names;
pub use parsed_query::ParsedQuery;
pub use parts::FoundBy;
pub use parts::Parts;
pub use row_set::RowSet;
pub use rows::Member;
pub use rows::Members;
pub use rows::Rows;
pub use shingles::ShingleFilter;
pub use shingles::ShingleSet;
pub use shingles::resemblance;
pub use signals::RankingSignals;
pub use table_delta::Origin;
pub use table_delta::Piece;
pub use table_delta::Spliced;
pub use table_delta::TableDelta;
pub use text_features::LONG_WORDS;
pub use text_features::PIECE_WORDS;
pub use text_features::SKETCH_PARTS;
pub use text_features::Sketch;
pub use text_features::TextFeatures;
pub use text_features::TextPart;
pub use text_features::TraitsBuilder;
pub use time_expressions::AskedTime;
pub use time_expressions::asked_time;
pub use time_expressions::number;
pub use weights::Method;
pub use weights::Ranking;
pub use weights::Weights;

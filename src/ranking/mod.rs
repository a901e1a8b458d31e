//! Scores for search hits, as functions of what is known about memories. No state, no files.
//!
//! Two rankings: [`keyword`] counts substrings, exactly as the three-tool specification has it;
//! [`fused`] ranks by words in their context, people, times and meaning. `docs/RETRIEVAL.md` holds
//! the formulas, what each part is worth, and the figures.

mod best;
mod collection;
mod dates;
pub mod fused;
pub mod keyword;
mod lexical;
mod parts;
mod question;
mod row_set;
mod rows;
mod shingles;
mod splice;
mod standing;
mod times;
mod traits;
mod weights;

pub use best::first;
pub use collection::Collection;
pub use dates::date_terms;
pub use lexical::MOST_TERMS;
pub use lexical::Postings;
pub use lexical::bm25;
pub use lexical::idf;
pub use parts::FoundBy;
pub use parts::Parts;
pub use question::Names;
pub use question::Question;
pub use row_set::RowSet;
pub use rows::Member;
pub use rows::Members;
pub use rows::Rows;
pub use shingles::Crowd;
pub use shingles::Outline;
pub use shingles::resemblance;
pub use splice::Origin;
pub use splice::Piece;
pub use splice::Splice;
pub use splice::Spliced;
pub use standing::Standing;
pub use times::AskedTime;
pub use times::asked_time;
pub use traits::LONG_WORDS;
pub use traits::PIECE_WORDS;
pub use traits::SKETCH_PARTS;
pub use traits::Sketch;
pub use traits::TextPart;
pub use traits::Traits;
pub use traits::TraitsBuilder;
pub use weights::Method;
pub use weights::Ranking;
pub use weights::Weights;

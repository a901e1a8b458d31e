//! Scores for search hits, as functions of what is known about memories. No state, no files.
//!
//! Two rankings: [`keyword`] counts substrings, exactly as the three-tool specification has it;
//! [`context`] ranks by words in their context. `docs/RETRIEVAL.md` holds the formulas, what each
//! part is worth, and the figures.

mod collection;
pub mod context;
mod dates;
pub mod keyword;
mod question;
mod traits;

pub use collection::Collection;
pub use dates::date_terms;
pub use question::Names;
pub use question::Question;
pub use traits::SKETCH_PARTS;
pub use traits::Sketch;
pub use traits::TextPart;
pub use traits::Traits;
pub use traits::TraitsBuilder;

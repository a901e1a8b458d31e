//! Text → terms: the word rules that the index and the query share.
//!
//! Words are cut as Unicode says, lower-cased and stemmed, and lose the marks of their letters; scripts without spaces
//! become bigrams; identifiers (`std::path`, `well-known`, `HTTPServer`, `foo_bar`, `v1.2.3`, `C++`) become
//! terms whole and in parts. Vectors of words, compiled into the program, tell what a text is about
//! where there is no model. No character makes an error and none is syntax. This module knows
//! nothing of memories or of any index.

mod analyzer;
mod language;
mod stop;
mod vectors;

pub use analyzer::{Analyzer, Part, composed, is_unspaced, without_marks};
pub use language::Language;
pub use stop::is_stop_word;
pub use vectors::{QueryVector, TextVector, WordVectors};

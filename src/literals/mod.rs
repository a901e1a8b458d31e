//! Literal texts, found before expressions: which words stand in a text, by one pass over it, and
//! which texts an expression needs.
//!
//! Most texts hold no word that any expression of a table needs, and to compile an expression takes
//! longer than most commands do everything else. What is found announces that an expression may
//! match; to look closer is left to others.

mod dictionary;
mod required;

pub use dictionary::Dictionary;
pub use dictionary::KEY;
pub use dictionary::Word;
pub use required::required;

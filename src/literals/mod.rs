//! Literal texts, found before expressions: which words stand in a text, by one pass over it, and
//! which texts an expression needs; and lists of words, read from a file.
//!
//! Most texts hold no word that any expression of a table needs, and to compile an expression takes
//! longer than most commands do everything else. What is found announces that an expression may
//! match; to look closer is left to others.

mod dictionary;
mod lists;
mod required;

pub use dictionary::{Dictionary, DictionaryWord, KEY};
pub use lists::{WordLists, blank_separated, lines};
pub use required::required;

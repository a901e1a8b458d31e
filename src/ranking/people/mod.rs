//! People whom a query names.

mod names;

pub use names::{Names, words};

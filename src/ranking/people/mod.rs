//! People whom a query names.

mod aliases;
mod named;
mod names;

pub use aliases::{Alias, aliases, rows_beside, without};
pub use named::{NamedBy, NamedPerson};
pub use names::{Names, words};

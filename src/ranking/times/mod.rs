//! Times in queries and texts: calendar terms, expressions of past times, and of coming ones.

mod coming;
mod dates;
mod expressions;

pub use coming::coming_time;
pub use dates::date_terms;
pub(super) use dates::{is_of_day, is_precise, query_terms};
pub use expressions::{AskedTime, asked_time, number};

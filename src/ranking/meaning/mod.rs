//! Nearness of a query and a memory in meaning, by the vectors of a model or by those of words in the program.

mod late_interaction;
mod nearness;
mod soft_words;

pub(super) use late_interaction::LateInteraction;
pub use late_interaction::QueryTokens;
pub(super) use nearness::{Context, Distribution, Nearness, is_not_long, spreading, uncovered};
pub(super) use soft_words::SoftWords;

//! How long memories live, what replaces and resembles them, and what maintenance does.

mod contradictions;
mod duplicates;
mod life;
mod maintenance;
mod succession;
mod summaries;
#[path = "../support/mod.rs"]
mod support;
mod tiers;
mod times;

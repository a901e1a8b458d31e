//! `memdir shell`: commands one after another, on a store that stays open.

mod completer;
mod editor;
mod line;
mod run;

pub use run::shell;

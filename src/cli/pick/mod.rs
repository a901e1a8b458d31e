//! `memdir pick`: a picker of memories on the whole screen of a terminal, or in plain lines.
//!
//! [`state`] is pure: it takes a key and says what is to be done. [`source`] asks the engine, [`draw`] makes the
//! screen of the state, and [`run`] joins them to a terminal ([`screen`]). [`plain`] offers the same in numbered
//! lines without moving the cursor, for screen readers and terminals that cannot do more.
//!
//! Promises: the first list needs the committed index and the files of the rows that are shown, nothing else.
//! No byte of a memory reaches the terminal that it would obey. Standard output gets the id of the chosen memory
//! and nothing else, so that `$(memdir pick)` works. No memory is forgotten without a second key.

mod actions;
mod draw;
mod fields;
mod input;
mod keys;
mod pane_keys;
mod panes;
mod plain;
mod run;
mod screen;
mod source;
mod state;
mod step;

pub use run::{pick, show_versions, when_unnamed};

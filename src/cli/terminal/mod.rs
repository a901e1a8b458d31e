//! How answers, texts and errors look on a terminal and to scripts.

pub mod difference;
pub mod fail;
pub mod log;
pub mod output;
pub mod pager;
pub mod progress;
pub mod prose;

//! How answers, texts and errors look on a terminal and to scripts.

pub(in crate::cli) mod difference;
pub(in crate::cli) mod fail;
pub(in crate::cli) mod log;
pub(in crate::cli) mod output;
pub(in crate::cli) mod pager;
pub(in crate::cli) mod progress;
pub(in crate::cli) mod prose;

//! Output of answers, texts and errors, for terminals and for scripts.

pub mod difference;
pub mod fail;
pub mod keys;
pub mod log;
pub mod output;
pub mod pager;
pub mod progress;
pub mod prose;
pub mod signals;
pub mod sparkline;

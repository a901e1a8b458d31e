//! The words of other programs' command lines.

pub mod ai_memory;

//! A command line of another program, read.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::cli::args::programs::ai_memory::AiMemoryCommand;

/// Meaning of a line of another program.
pub enum Line {
    /// The same in the words of memdir's own command line, without its name.
    Memdir(Vec<OsString>),
    AiMemory(AiMemoryLine),
    /// The answer is shown already, a help text or an error; with the exit code.
    Shown(u8),
}

/// A line that the tools of ai-memory do.
pub struct AiMemoryLine {
    /// The store that `--db` or its variable names.
    pub store: Option<PathBuf>,
    pub json: bool,
    pub command: AiMemoryCommand,
}

//! Programs whose memories can be imported, by name.

use std::path::Path;

use super::{Defaults, ForeignItems, ImportError, items};

/// A program, or a form of text, that memories come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    Aiaml,
    Jsonl,
    Markdown,
    Obsidian,
    BasicMemory,
    Loci,
    AiMemory,
    IAm,
    ServerMemory,
    Mem0,
}

impl Program {
    /// Programs whose memories come as one file, each with its name.
    pub const OF_ONE_FILE: [(&'static str, Program); 7] = [
        ("markdown", Program::Markdown),
        ("jsonl", Program::Jsonl),
        ("ai-memory", Program::AiMemory),
        ("loci", Program::Loci),
        ("i-am", Program::IAm),
        ("server-memory", Program::ServerMemory),
        ("mem0", Program::Mem0),
    ];

    /// Programs whose memories come as a folder, each with its name.
    pub const OF_A_FOLDER: [(&'static str, Program); 4] = [
        ("markdown", Program::Markdown),
        ("obsidian", Program::Obsidian),
        ("basic-memory", Program::BasicMemory),
        ("aiaml", Program::Aiaml),
    ];

    /// Returns the memories at `path`, read as they are asked for.
    ///
    /// # Errors
    ///
    /// Fails if there is nothing that can be read. What cannot be read within it is an item that failed.
    pub fn read(self, path: &Path, defaults: &Defaults) -> Result<ForeignItems, ImportError> {
        Ok(match self {
            Program::Aiaml => items(super::aiaml(path, defaults)?),
            Program::Jsonl => items(super::jsonl(path, defaults)?),
            Program::Markdown => items(super::markdown(path, defaults)?),
            Program::Obsidian => items(super::obsidian(path, defaults)?),
            Program::BasicMemory => items(super::basic_memory(path, defaults)?),
            Program::Loci => super::loci(path, defaults)?,
            Program::AiMemory => super::ai_memory(path, defaults)?,
            Program::IAm => super::i_am(path, defaults)?,
            Program::ServerMemory => super::server_memory(path, defaults)?,
            Program::Mem0 => super::mem0(path, defaults)?,
        })
    }
}

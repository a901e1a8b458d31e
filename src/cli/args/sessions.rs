//! The words of commands about sessions of agents.

use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(Debug, ClapArgs)]
pub struct Brief {
    /// As for a session that begins in this folder [default: the working folder]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// As for a session in this project [default: the git project of the folder, else global]
    #[arg(long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// The most characters of the whole text
    #[arg(long, value_name = "N", default_value_t = 4_000)]
    pub budget: usize,
    /// The most memories
    #[arg(long, short = 'n', value_name = "N", default_value_t = 12)]
    pub limit: usize,
    /// Say why each memory is in it, how much its text says, and what was left out
    #[arg(long)]
    pub explain: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Hook {
    /// session-start, prompt, before-compact, stop or session-end
    pub event: Option<String>,
    /// Who calls: claude-code, codex, cursor, gemini or copilot
    #[arg(long, value_name = "NAME", default_value = "claude-code")]
    pub client: String,
}

pub const HOOK_EXAMPLES: &str = "Examples:
  memdir hook session-start --client claude-code < message.json
  echo '{\"prompt\":\"how do we deploy atlas?\"}' | memdir hook prompt

Clients call it; `memdir setup` tells them to. It reads the client's message on standard input and prints
what the client gives to its agent, or nothing. What it did is one line on standard error.

Exit code: 0, whatever happens";

pub const BRIEF_EXAMPLES: &str = "Examples:
  memdir brief                                  what a session in this folder begins with
  memdir brief --cwd ~/projects/atlas
  memdir brief --explain                        why each of them is in it
  memdir brief --budget 1500

It holds standards and pinned memories (`pinned: true`) of the project and of `global`, how the last
session here ended, decisions and open ends, what you prefer, and what else says most. Memories that want
to be obeyed are left out. docs/SESSIONS.md says how it is chosen.

Exit code: 0 printed, 1 there is nothing to begin with, 2 error";

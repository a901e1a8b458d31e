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
    /// The most memories, of the log the most events [default: 12, of the log 50]
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
    /// Say why each memory is in it, how likely it is needed, and what was left out
    #[arg(long)]
    pub explain: bool,
    /// Show what agents were shown unasked, when, and into which session, newest first
    #[arg(long, conflicts_with_all = ["explain", "namespace"])]
    pub log: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Review {
    /// Accept the texts of these memories as they are now; of proposals, make memories of them
    #[arg(long, value_name = "ID", num_args = 1.., conflicts_with = "all")]
    pub accept: Vec<String>,
    /// Accept these proposals with another text, which you write in your editor
    #[arg(long, value_name = "ID", num_args = 1.., conflicts_with_all = ["accept", "all"])]
    pub edit: Vec<String>,
    /// Drop these proposals: they are not made again from the same talk
    #[arg(long, value_name = "ID", num_args = 1.., conflicts_with_all = ["accept", "all"])]
    pub drop: Vec<String>,
    /// Never propose what these proposals say again, from whatever talk
    #[arg(long, value_name = "ID", num_args = 1.., conflicts_with_all = ["accept", "all"])]
    pub never: Vec<String>,
    /// Accept the proposals of at least this confidence, from 0 to 1, that no memory equals or contradicts
    #[arg(long, value_name = "SHARE", conflicts_with_all = ["accept", "all"], value_parser = share)]
    pub accept_above: Option<f64>,
    /// Accept all that are unreviewed
    #[arg(long)]
    pub all: bool,
    /// Accept everything from this source from now on: import or sync
    #[arg(long, value_name = "NAME", conflicts_with_all = ["accept", "all", "revoke"])]
    pub source: Option<String>,
    /// Take the rule for a source back
    #[arg(long, value_name = "NAME", conflicts_with_all = ["accept", "all"])]
    pub revoke: Option<String>,
    /// The most
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    pub limit: usize,
}

impl Review {
    /// Returns whether it decides about proposals.
    pub fn decides(&self) -> bool {
        let ids = [&self.edit, &self.drop, &self.never];
        self.accept_above.is_some() || ids.iter().any(|ids| !ids.is_empty())
    }
}

/// Reads a share from 0 to 1.
fn share(text: &str) -> Result<f64, String> {
    let share = text
        .parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "write a number from 0 to 1".to_owned())
}

pub const REVIEW_EXAMPLES: &str = "Examples:
  memdir review                                 what waits? On a terminal, one key decides about a proposal
  memdir review --drop 1f3a9c02 --never 4be01c9a
  memdir review --accept-above 0.9              proposals that are most likely worth keeping
  memdir review --accept 1f3a9c02 4be01c9a
  memdir review --all
  memdir review --source sync                   all that this store's remote brings, such as from your other machine
  memdir review --revoke sync

What was imported, and what others may have written into a store with a remote, is found by searches, but no
agent is shown it unasked before you have accepted it. What you accept is a text; if it changes, it is
unreviewed again. Your decisions are kept in your own folder for state, never in the store.

Proposals are what `memdir mine --proposals` found in talks; none is a memory before you accept it. What you
drop is remembered as a digest in the store's proposals/, and not proposed again: docs/MINING.md.

Exit code: 0 done, or there is something to review; 1 there is nothing; 2 error";

#[derive(Debug, ClapArgs)]
pub struct Hook {
    /// session-start, prompt, before-compact, stop or session-end
    pub event: Option<String>,
    /// Client that calls: claude-code, codex, cursor, gemini or copilot
    #[arg(long, value_name = "NAME", default_value = "claude-code")]
    pub client: String,
    /// Answer, and note nothing of it
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Pause {
    /// Length of the pause, or its end [default: until `memdir pause --end`]
    #[arg(value_name = "SPAN")]
    pub span: Option<String>,
    /// End the pause
    #[arg(long, conflicts_with = "span")]
    pub end: bool,
    /// Only say whether there is one
    #[arg(long, conflicts_with_all = ["span", "end"])]
    pub show: bool,
}

pub const PAUSE_EXAMPLES: &str = "Examples:
  memdir pause 2h
  memdir pause                                  until you end it
  memdir pause --end

Meanwhile agents are shown nothing unasked, in all stores of yours; what they ask for is answered. `memdir
status` tells of a pause.

Exit code: 0 done, 1 there is no pause, 2 error";

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
  memdir brief --log                            what agents were shown, and when

It holds standards and pinned memories (`pinned: true`) of the project and of `global`, how the last
session here ended, decisions and open ends, what you prefer, and what else is most likely needed. Memories that want
to be obeyed are left out. docs/SESSIONS.md says how it is chosen.

Exit code: 0 printed, 1 there is nothing to begin with, 2 error";

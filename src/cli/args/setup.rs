//! Options of the commands that set memdir up.

use clap::Args as ClapArgs;
use clap::builder::PossibleValuesParser;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, ClapArgs)]
pub struct Init {
    /// The folder [default: --store, else the working folder]
    pub folder: Option<PathBuf>,
    /// The working folder, whatever store is in use
    #[arg(long, conflicts_with = "folder")]
    pub here: bool,
    /// Open this folder of notes in place, such as an Obsidian vault: its files keep their names and
    /// folders, and the rest of the store lies in `.memdir-store` in it
    #[arg(long, value_name = "FOLDER", conflicts_with = "folder")]
    pub notes: Option<PathBuf>,
    /// Keep no history: nothing is committed to git
    #[arg(long)]
    pub no_git: bool,
    /// Sync with this repository: https, ssh, or git@host:path
    #[arg(long, value_name = "ADDRESS", conflicts_with = "no_git")]
    pub remote: Option<String>,
    /// Let a folder of this machine be the remote
    #[arg(long, requires = "remote")]
    pub allow_local: bool,
    /// Follow folders of the store that are symbolic links, such as `archive` on another disk
    #[arg(long)]
    pub allow_links: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Trust {
    /// The store's folder [default: the store above the working folder, else the one in use]
    pub folder: Option<PathBuf>,
    /// Show what was agreed to, and agree to nothing
    #[arg(long, conflicts_with_all = ["git_settings", "revoke", "list"])]
    pub show: bool,
    /// Follow the settings of the store's repository that name programs, hosts or files elsewhere
    #[arg(long, conflicts_with_all = ["revoke", "list"])]
    pub git_settings: bool,
    /// Take it back
    #[arg(long, conflicts_with = "list")]
    pub revoke: bool,
    /// List every store that was agreed to
    #[arg(long, conflicts_with = "folder")]
    pub list: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Completions {
    /// Whose script
    pub shell: clap_complete::Shell,
}

/// A command line of another program.
#[derive(Debug, clap::Subcommand)]
pub enum As {
    /// The program's name, then its words, which memdir's own parser does not look at.
    #[command(external_subcommand)]
    Line(Vec<OsString>),
}

#[derive(Debug, ClapArgs)]
pub struct PathOf {
    /// A memory
    pub id: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Version {
    /// Ask where the releases are whether there is a newer one
    #[arg(long)]
    pub check: bool,
    /// Address of the repository or of a mirror of it, whose releases are asked for
    #[arg(long, requires = "check", value_name = "URL")]
    pub releases: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Doctor {
    /// Make a wrong index anew
    #[arg(long)]
    pub fix: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Setup {
    /// The clients [default: those that are found on this machine]
    #[arg(value_name = "CLIENT", value_parser = PossibleValuesParser::new(crate::clients::CLIENTS.iter().map(|client| client.name)))]
    pub clients: Vec<String>,
    /// Write the files of the project in the working folder instead of your own
    #[arg(long)]
    pub project: bool,
    /// Show what would be written, as a unified diff, and write nothing
    #[arg(long, conflicts_with = "print")]
    pub dry_run: bool,
    /// Do it without asking
    #[arg(long, short)]
    pub yes: bool,
    /// Print the entries for pasting, and write nothing
    #[arg(long, conflicts_with = "uninstall")]
    pub print: bool,
    /// Take out what this command put in: files that nobody else changed get the bytes they had
    #[arg(long, conflicts_with_all = ["no_hooks", "no_instructions", "dialect", "tools"])]
    pub uninstall: bool,
    /// Write no hooks: nothing is shown to agents unasked
    #[arg(long)]
    pub no_hooks: bool,
    /// Write no instructions and no skill
    #[arg(long)]
    pub no_instructions: bool,
    /// The tool set of the server, which the instructions name [default: mcp.dialect, else core]
    #[arg(long, value_parser = PossibleValuesParser::new(crate::dialect::NAMES))]
    pub dialect: Option<String>,
    /// Further tools of the usual set, with commas between: forget, link, list, status, or all
    #[arg(long, value_delimiter = ',', value_name = "TOOL")]
    pub tools: Vec<String>,
}

pub const SETUP_EXAMPLES: &str = "Examples:
  memdir setup                                  which clients are here, and which to set up
  memdir setup --yes                            all that are here
  memdir setup claude-code codex --dry-run      what would be written, as a diff
  memdir setup cursor --project                 for the project in the working folder
  memdir setup zed --print                      for pasting
  memdir setup --tools forget --yes             agents may also move memories to the archive
  memdir setup --uninstall --yes

A client gets the server, where it has them the hooks that show an agent what matters at the start of a
session, and a few lines of instructions with a skill. Comments, order, indentation, mode and links of
its files stay. A file that cannot be read is left alone, and what belongs into it is printed. Doing it
twice changes nothing.

Exit code: 0 done, 1 something was left alone or waits for --yes, 2 error";

//! Options of the commands that set memdir up.

use clap::Args as ClapArgs;
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

#[derive(Debug, ClapArgs)]
pub struct PathOf {
    /// A memory
    pub id: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Doctor {
    /// Make a wrong index anew
    #[arg(long)]
    pub fix: bool,
}

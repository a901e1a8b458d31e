//! The words of the commands about forgotten memories.

use clap::{Args as ClapArgs, Subcommand};

use super::life::Counted;
use super::shared::Ids;

#[derive(Debug, Subcommand)]
pub enum Archive {
    /// Show what was forgotten, newest first; the same as `memdir archived`
    List(Counted),
    /// Bring forgotten memories back; the same as `memdir restore`
    Restore(Ids),
    /// Take forgotten memories away for good; live ones are left alone
    #[command(after_help = "Examples:
  memdir archive purge 1f3a9c02                 asks before it does it
  memdir archive purge --older-than 90d         all that were forgotten so long ago
  memdir archive purge --older-than 90d --dry-run

No machine brings a purged memory back. Its text stays in the commits that hold it. A live memory of
the same id stays, here and on other machines.

Exit code: 0 done, 1 nothing to purge, 2 error")]
    Purge(ArchivePurge),
    /// Count the forgotten memories
    Stats,
}

#[derive(Debug, ClapArgs)]
pub struct ArchivePurge {
    /// Only these
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Only what was forgotten before this: an amount of time such as 90d, or a date
    #[arg(long, value_name = "WHEN")]
    pub older_than: Option<String>,
    /// Only say which
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

//! The words of the command that takes all memories away.

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub struct Reset {
    /// Bring this backup back: its name below `backup/`, or its folder
    #[arg(long, value_name = "BACKUP")]
    pub from: Option<String>,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

//! Options of the commands that change memories and where they lie.

use super::shared::Fields;
use crate::model::Layout;
use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub struct Update {
    /// The memory
    pub id: String,
    /// The new content; `-` reads standard input
    #[arg(long, short)]
    pub content: Option<String>,
    /// Its topics; with + and - before each, those to add and to take out: +rust,-go
    #[arg(
        long,
        visible_alias = "tags",
        value_name = "A,B",
        allow_hyphen_values = true
    )]
    pub topics: Option<String>,
    /// Who wrote it
    #[arg(long)]
    pub agent: Option<String>,
    /// Whom it is about or from
    #[arg(long)]
    pub user: Option<String>,
    #[command(flatten)]
    pub fields: Fields,
}

#[derive(Debug, ClapArgs)]
pub struct Edit {
    /// The memory [default: picked on a terminal]
    pub id: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Resolve {
    /// One of a pair; with LOSER, the one that holds
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// The memory that the first one replaces; both files stay
    #[arg(value_name = "LOSER", conflicts_with_all = ["keep", "both"])]
    pub loser: Option<String>,
    /// The one of the two that stays; the other one is forgotten
    #[arg(long, value_name = "ID", requires = "id", conflicts_with = "both")]
    pub keep: Option<String>,
    /// Both stay
    #[arg(long, requires = "id")]
    pub both: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Purge {
    /// The memories
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,
    /// Rewrite the store's history as well, so that no commit holds the text; keeps no backup
    #[arg(long)]
    pub history: bool,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Adopt {
    /// The notes, by their names or paths; without any, all that lack an id or a name
    #[arg(value_name = "FILE")]
    pub files: Vec<String>,
    /// Do it; without it, what would be done is only listed
    #[arg(long)]
    pub yes: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Rearrange {
    /// flat or by-month
    #[arg(value_parser = clap::value_parser!(Layout))]
    pub layout: Option<Layout>,
}

#[derive(Debug, ClapArgs)]
pub struct Reindex {
    /// Throw the index away and make it anew
    #[arg(long)]
    pub full: bool,
}

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

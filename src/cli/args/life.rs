//! The words of commands about the life of memories.

use clap::Args as ClapArgs;

use super::shared::Filters;

#[derive(Debug, ClapArgs)]
pub struct Forget {
    /// The memories, unless they are described by conditions [default: picked on a terminal]
    #[arg(value_name = "ID")]
    pub named: Vec<String>,
    /// Why, for whoever asks later
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Only what holds this text
    #[arg(long, value_name = "TEXT")]
    pub contains: Vec<String>,
    #[command(flatten)]
    pub filters: Filters,
    /// Only say which
    #[arg(long)]
    pub dry_run: bool,
    /// Forget what the conditions describe; without it they are only listed
    #[arg(long)]
    pub yes: bool,
}

impl Forget {
    /// Whether neither ids nor conditions say which memories are meant.
    pub fn is_undescribed(&self) -> bool {
        let is_bare = self.filters == Filters::default();
        self.named.is_empty() && self.contains.is_empty() && is_bare
    }
}

#[derive(Debug, ClapArgs)]
pub struct Gc {
    /// Only say which
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Inspect {
    /// A live memory
    pub id: String,
}

#[derive(Debug, ClapArgs)]
pub struct LinkTo {
    /// The memory that holds the link [default: picked on a terminal]
    #[arg(value_name = "FROM")]
    pub from: Option<String>,
    /// The memory that it points to [default: picked on a terminal]
    #[arg(value_name = "TO")]
    pub to: Option<String>,
    /// What the first is to the second: related-to, supersedes, contradicts, derived-from,
    /// elaborates, depends-on, or a word of your own
    #[arg(
        long = "type",
        visible_alias = "relation",
        short = 't',
        value_name = "WORD",
        default_value = "related-to"
    )]
    pub relation: String,
}

#[derive(Debug, ClapArgs)]
pub struct Unlink {
    /// The memory that holds the links
    #[arg(value_name = "FROM")]
    pub from: String,
    /// The memory that they point to
    #[arg(value_name = "TO")]
    pub to: String,
    /// Only links of this type [default: all but `supersedes`]
    #[arg(long = "type", short = 't', value_name = "WORD")]
    pub relation: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Links {
    /// A memory [default: report what is wrong with the links of all]
    pub id: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Stats {
    /// Only memories of this namespace; the archive is counted whole
    #[arg(long, value_name = "NAME")]
    pub namespace: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Counted {
    /// The most
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    pub limit: usize,
}

//! The words of commands that maintain many memories at once.

use clap::Args as ClapArgs;

use super::shared::Filters;

#[derive(Debug, ClapArgs)]
pub struct Compact {
    /// Only memories older than this, such as 30d [default: the setting `compact_after`]
    #[arg(long, value_name = "SPAN")]
    pub older_than: Option<String>,
    /// Fewer memories of a week stay as they are [default: the setting `compact_min_group`]
    #[arg(long, value_name = "N")]
    pub min_group: Option<usize>,
    #[command(flatten)]
    pub filters: Filters,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Consolidate {
    /// The memories that become one
    #[arg(required = true, num_args = 2.., value_delimiter = ',', value_name = "ID")]
    pub ids: Vec<String>,
    /// What it is called
    #[arg(long, short = 'T')]
    pub title: Option<String>,
    /// What it says; `-` reads standard input [default: their texts, or the sentences that say most]
    #[arg(long, visible_alias = "summary", short = 's', value_name = "TEXT")]
    pub content: Option<String>,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub struct AutoConsolidate {
    /// Only memories of the tier `short`
    #[arg(long)]
    pub short_only: bool,
    /// Smaller groups stay as they are [default: the setting `consolidate_min_group`]
    #[arg(long, value_name = "N")]
    pub min_count: Option<usize>,
    #[command(flatten)]
    pub filters: Filters,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Cleanup {
    #[command(flatten)]
    pub filters: Filters,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Reflect {
    #[command(flatten)]
    pub filters: Filters,
    /// Do what is proposed; without it, it is only shown
    #[arg(long)]
    pub apply: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Decay {
    #[command(flatten)]
    pub filters: Filters,
    /// Write it into the files, from where it goes on
    #[arg(long)]
    pub apply: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Standards {
    /// Only those that hold in this namespace: its own, of those it lies in, and of `global`
    #[arg(value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Make this memory the standard of the namespace
    #[arg(
        long,
        value_name = "ID",
        requires = "namespace",
        conflicts_with = "clear"
    )]
    pub set: Option<String>,
    /// Leave the namespace without one; the memory stays
    #[arg(long, requires = "namespace")]
    pub clear: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Supersede {
    /// The memory that no longer holds
    #[arg(value_name = "OLD")]
    pub old: String,
    /// The memory that replaces it
    #[arg(value_name = "NEW")]
    pub new: String,
}

//! Options that several commands take.

use clap::Args as ClapArgs;

/// Fields of a memory that can be set.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Fields")]
pub struct Fields {
    /// One line that names it
    #[arg(long, short = 'T')]
    pub title: Option<String>,
    /// episodic, semantic, procedural or entity
    #[arg(long)]
    pub kind: Option<String>,
    /// Project it belongs to [default: the git project of the working folder, else global]
    #[arg(long, short)]
    pub namespace: Option<String>,
    /// group or global
    #[arg(long)]
    pub scope: Option<String>,
    /// short, mid or long
    #[arg(long, short)]
    pub tier: Option<String>,
    /// 1 to 10
    #[arg(long, visible_alias = "priority", short = 'p', value_name = "1-10")]
    pub importance: Option<String>,
    /// 0 to 1
    #[arg(long, value_name = "0-1")]
    pub confidence: Option<String>,
    /// Where it comes from, such as user-stated
    #[arg(long)]
    pub source: Option<String>,
    /// active, superseded, or a word of your own
    #[arg(long)]
    pub status: Option<String>,
    /// When it ceases to hold: a date, a time, or an amount of time such as 30d
    #[arg(long, visible_alias = "expires-at", value_name = "WHEN")]
    pub expires: Option<String>,
    /// Ids of memories that it replaces
    #[arg(long, value_name = "IDS")]
    pub supersedes: Option<String>,
    /// A link to another memory, ID or ID:TYPE; may be given several times. `update` sets all of them; `memdir link` adds one
    #[arg(long = "link", value_name = "ID[:TYPE]")]
    pub links: Vec<String>,
    /// An entry of its metadata; the value is JSON or a text; may be given several times. In `update`, KEY= takes one out, and an empty text all
    #[arg(long = "meta", value_name = "KEY=VALUE")]
    pub metadata: Vec<String>,
}

/// Conditions that memories must meet.
#[derive(Debug, Default, PartialEq, ClapArgs)]
#[command(next_help_heading = "Filters")]
pub struct Filters {
    /// Only from these agents
    #[arg(long, value_name = "A,B")]
    pub agent: Option<String>,
    /// Only of these users
    #[arg(long, value_name = "A,B")]
    pub user: Option<String>,
    /// Only with all of these topics
    #[arg(long, visible_alias = "tags", value_name = "A,B")]
    pub topics: Option<String>,
    /// One of the topics is enough
    #[arg(long)]
    pub any_topic: bool,
    /// Only of these projects and what lies in them, as atlas/web in atlas; `global` for those of
    /// none
    #[arg(long, value_name = "A,B")]
    pub namespace: Option<String>,
    /// Only of these kinds
    #[arg(long, value_name = "A,B")]
    pub kind: Option<String>,
    /// Only of these scopes: group, global
    #[arg(long, value_name = "A,B")]
    pub scope: Option<String>,
    /// Only of these tiers: short, mid, long
    #[arg(long, value_name = "A,B")]
    pub tier: Option<String>,
    /// Only as important as this, or more
    #[arg(long, value_name = "1-10")]
    pub min_importance: Option<u8>,
    /// Only as sure as this, or more
    #[arg(long, value_name = "0-1")]
    pub min_confidence: Option<f64>,
    /// Any frontmatter key with a value, such as status=open or metadata.project=x
    #[arg(long = "where", value_name = "KEY=VALUE")]
    pub equals: Vec<String>,
    /// Only from this moment on: a date, yesterday, 2w
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Only before this moment
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,
    /// Only among these
    #[arg(long, value_name = "IDS")]
    pub ids: Option<String>,
    /// Expired and superseded memories too
    #[arg(long)]
    pub all: bool,
    /// Talks too, where they are left out: in lists, and of keywords
    #[arg(long)]
    pub talks: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Ids {
    /// The memories
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,
}

/// How problems of files are listed.
#[derive(Debug, ClapArgs)]
pub struct Findings {
    /// Name every file with a problem, not three of each kind
    #[arg(long)]
    pub verbose: bool,
}

//! The words of `remember`.

use clap::Args as ClapArgs;

use super::shared::Fields;
use crate::engine::DuplicatePolicy;

#[derive(Debug, ClapArgs)]
pub struct Remember {
    /// The memory, as markdown, in one argument or several words; `-` or nothing reads standard input
    pub text: Vec<String>,
    /// The same as an option; `-` reads standard input
    #[arg(
        long,
        short,
        value_name = "TEXT",
        conflicts_with = "text",
        allow_hyphen_values = true
    )]
    pub content: Option<String>,
    /// Single words to find it by
    #[arg(long, visible_alias = "tags", value_name = "A,B")]
    pub topics: Option<String>,
    /// Who writes it [default: the setting `agent`]
    #[arg(long)]
    pub agent: Option<String>,
    /// Whom it is about or from [default: the setting `user`]
    #[arg(long)]
    pub user: Option<String>,
    #[command(flatten)]
    pub fields: Fields,
    /// When it happened [default: now]
    #[arg(long, value_name = "WHEN")]
    pub timestamp: Option<String>,
    /// A second call with the same key stores nothing new
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Where it says what another one says: `allow` stores it, `title` makes it the text of the one
    /// with its title, `similar` stores the same text once and links what is nearly the same,
    /// `suggest` lists what may be meant and stores nothing [default: the setting
    /// `duplicates.policy`]
    #[arg(long, value_name = "POLICY", value_parser = policy)]
    pub duplicates: Option<DuplicatePolicy>,
    /// Store it, whatever says the same
    #[arg(long)]
    pub force: bool,
    /// With `suggest`: memories of other kinds, scopes and namespaces may be meant as well
    #[arg(long)]
    pub broad: bool,
}

fn policy(name: &str) -> Result<DuplicatePolicy, String> {
    let names = DuplicatePolicy::ALL.map(|(name, _)| name);
    DuplicatePolicy::named(name).ok_or_else(|| format!("it is none of {}", names.join(", ")))
}

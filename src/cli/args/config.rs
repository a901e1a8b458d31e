//! The words of `config`.

use clap::{Args as ClapArgs, Subcommand};

pub const EXAMPLES: &str = "Examples:
  memdir config                                 all settings, and where each comes from
  memdir config get limit                       its value alone
  memdir config set limit 10                    in your own config.toml
  memdir config set embedding.model minilm
  memdir config set people.emi Kate             whom questions call Kate
  memdir config set --in-store layout by-month  in the store, for every machine
  memdir config unset limit

Comments and everything else in the file stay. A variable, such as MEMDIR_LIMIT, counts more.";

#[derive(Debug, Subcommand)]
pub enum Config {
    /// Print the value of one setting alone, for scripts
    Get(ConfigGet),
    /// Set one setting
    Set(ConfigSet),
    /// Take one setting out; its default counts then
    Unset(ConfigUnset),
}

#[derive(Debug, ClapArgs)]
pub struct ConfigGet {
    /// Its name, as `memdir config` shows it
    pub key: String,
}

#[derive(Debug, ClapArgs)]
pub struct ConfigSet {
    /// Its name, as `memdir config` shows it
    pub key: String,
    /// A number, true, a list such as ["english"], or a text
    #[arg(allow_hyphen_values = true)]
    pub value: String,
    /// In the settings that travel with the store
    #[arg(long)]
    pub in_store: bool,
}

#[derive(Debug, ClapArgs)]
pub struct ConfigUnset {
    /// Its name, as `memdir config` shows it
    pub key: String,
    /// In the settings that travel with the store
    #[arg(long)]
    pub in_store: bool,
}

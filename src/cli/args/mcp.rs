//! The words of the command that serves agents, and of what is served.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::dialect::FeatureTier;
use crate::http::bridge::ServerAddress;

#[derive(Debug, ClapArgs)]
pub struct Mcp {
    /// Use a server that runs already instead of opening the store: the store's own, or the one at
    /// http://HOST:PORT, https://HOST:PORT or unix:/PATH, else at MEMDIR_CONNECT or `connect` in [mcp]
    /// of your config.toml. Its tool set is served. The token is MEMDIR_TOKEN, which is sent only to
    /// an address that these two name, else the store's own, which is never sent: anybody else has
    /// to prove that he knows it
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, conflicts_with_all = ["dialect", "tools", "tier", "group"])]
    pub connect: Option<Option<ServerAddress>>,
    /// The certificates that vouch for the server, in a PEM file: its own if it signed itself.
    /// Without it SSL_CERT_FILE, else the system's
    #[arg(long, value_name = "FILE", requires = "connect")]
    pub connect_ca: Option<PathBuf>,
    #[command(flatten)]
    pub tool_set: ToolSet,
}

/// Which tools are served, and how.
#[derive(Debug, ClapArgs)]
pub struct ToolSet {
    /// The tool set: as clients of another memory server know it, on the same files
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(crate::dialect::NAMES))]
    pub dialect: Option<String>,
    /// Further tools of the usual set, with commas between: forget, link, list, status, or all
    #[arg(long, value_delimiter = ',', value_name = "TOOL")]
    pub tools: Vec<String>,
    /// Features of the prefixed tool set; `smart` wants a language model in [llm]
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(FeatureTier::ALL.map(|(name, _)| name)))]
    pub tier: Option<String>,
    /// The project or group that the session belongs to, else LOCI_GROUP
    #[arg(long)]
    pub group: Option<String>,
}

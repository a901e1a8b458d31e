//! The words of the command that serves agents, and of what is served.

use clap::Args as ClapArgs;

use crate::dialect::FeatureTier;

#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct Mcp {
    #[command(flatten)]
    pub tool_set: ToolSet,
}

/// Which tools are served, and how.
#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct ToolSet {
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

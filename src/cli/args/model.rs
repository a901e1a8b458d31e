//! The words of the commands about models.

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, Subcommand)]
pub enum Model {
    /// Get a model by name, check every byte of it, and use it
    #[command(after_help = "Examples:
  memdir model download
  memdir model download multilingual-e5-small
  memdir model download ms-marco-MiniLM-L-6-v2              re-ranks the first hits of a search
  HF_ENDPOINT=https://hub.example memdir model download     from a mirror

A download that broke off goes on where it stopped. Proxies are named by HTTPS_PROXY and NO_PROXY.
Without a connection: copy the folder from another machine, then memdir model use DIR.")]
    Download(ModelDownload),
    /// Use the model in a folder, one that was downloaded, or none
    #[command(after_help = "Examples:
  memdir model use all-MiniLM-L6-v2
  memdir model use /media/stick/all-MiniLM-L6-v2
  memdir model use none

The model is tried before it is set in the user's config.toml. One that scores pairs of texts (a
cross-encoder) re-ranks, until memdir config unset rerank.model. MEMDIR_MODEL_DIR names a folder for
one run, and MEMDIR_EMBEDDING=off switches all models off.")]
    Use(ModelUse),
    /// Show which model is used, where that is set, and whether its files are whole
    #[command(after_help = "Examples:
  memdir model status
  memdir model status --check                   also ask a host for a vector of one sentence

Exit code: 0 fine, 1 a model is set and cannot be used, 2 error")]
    Status(ModelStatus),
}

#[derive(Debug, ClapArgs)]
pub struct ModelDownload {
    /// Of those that --list shows
    #[arg(default_value = crate::embed::catalog::DEFAULT)]
    pub name: String,
    /// Show what can be downloaded
    #[arg(long)]
    pub list: bool,
    /// Only download it
    #[arg(long)]
    pub no_use: bool,
}

#[derive(Debug, ClapArgs)]
pub struct ModelStatus {
    /// Ask a host, too, whether it answers; a model on this machine is always tried
    #[arg(long)]
    pub check: bool,
}

#[derive(Debug, ClapArgs)]
pub struct ModelUse {
    /// A folder, a name, or `none`
    #[arg(value_name = "DIR|NAME|none")]
    pub model: String,
}

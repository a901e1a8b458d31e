//! Options of the commands that search and read.

use super::eval::method;
use super::shared::Filters;
use crate::engine::Method;
use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub struct Think {
    /// A question, a sentence, or words
    #[arg(required = true, value_name = "WORDS")]
    pub words: Vec<String>,
    /// Count the words as substrings instead of ranking by them
    #[arg(long, short)]
    pub keywords: bool,
    /// The most hits [default: the setting `limit`]
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
    /// The estimated size of the answer in tokens
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<usize>,
    /// How words are ranked: fused (by words, people, times and meaning), words (without meaning),
    /// rrf (reciprocal rank fusion of BM25 and meaning), bm25, cosine, window-cosine, or as other
    /// memory servers do it: six-factor, six-factor-words, five-factor, weighted
    #[arg(long, value_name = "RANKING", default_value = "fused", value_parser = method)]
    #[arg(conflicts_with = "keywords", hide_default_value = true)]
    pub ranking: Method,
    /// Show what each score is made of, and which words were taken for users who are called otherwise
    #[arg(long, conflicts_with = "keywords")]
    pub explain: bool,
    #[command(flatten)]
    pub filters: Filters,
}

#[derive(Debug, ClapArgs)]
pub struct Pick {
    /// Words to begin the search with
    #[arg(value_name = "WORDS")]
    pub words: Vec<String>,
    /// Numbered lines and a prompt in place of a full screen, for screen readers
    #[arg(long)]
    pub plain: bool,
    #[command(flatten)]
    pub filters: Filters,
}

#[derive(Debug, ClapArgs)]
pub struct Recall {
    /// The memories, or some lines of one with those around them: ID:120-134 [default: picked on a
    /// terminal]
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// The estimated size of the answer in tokens; contents are cut to fit
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<usize>,
    /// Also who wrote it and who changed it last
    #[arg(long, short)]
    pub verbose: bool,
}

#[derive(Debug, ClapArgs)]
pub struct List {
    /// The most
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    pub limit: usize,
    /// Number of the newest memories to leave out
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub offset: usize,
    #[command(flatten)]
    pub filters: Filters,
}

#[derive(Debug, ClapArgs)]
pub struct Grep {
    /// What is searched for in every line of a file
    #[arg(value_name = "REGEX")]
    pub pattern: String,
    /// Ignore case
    #[arg(long, short)]
    pub ignore_case: bool,
    /// Print only the names of files
    #[arg(long, short = 'l')]
    pub files_with_matches: bool,
    #[command(flatten)]
    pub filters: Filters,
}

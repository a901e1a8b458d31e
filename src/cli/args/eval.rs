//! The words of `eval`, and how a ranking is named.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::engine::Method;

#[derive(Debug, ClapArgs)]
pub struct Eval {
    /// Folders with corpus.jsonl {id, timestamp, user, text, scope} and queries.jsonl {qid, query,
    /// relevant_ids, type, scope}; with `--from`, files as they are published
    #[arg(required = true, value_name = "DATASET")]
    pub datasets: Vec<PathBuf>,
    /// The form of the data sets
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    pub from: Form,
    /// The ranking that is measured: fused, words, rrf, bm25, cosine, window-cosine, six-factor,
    /// six-factor-words, five-factor or weighted
    #[arg(long, value_name = "RANKING", default_value = "fused", value_parser = method)]
    pub ranking: Method,
    /// Compare the ranking with each of its parts as a search of its own; fails where one is ahead by
    /// more than 0.3 points in R@10 or NDCG@10
    #[arg(long, conflicts_with = "run_dir")]
    pub arms: bool,
    /// Give a constant of the ranking another value; 0 switches a part off
    #[arg(long, value_name = "NAME=NUMBER")]
    pub set: Vec<String>,
    /// Ask only the whole store
    #[arg(long, conflicts_with = "scoped")]
    pub pooled: bool,
    /// Ask only in the namespace of each question
    #[arg(long)]
    pub scoped: bool,
    /// How many answers are asked for, at least 25
    #[arg(long, default_value_t = 25, value_name = "N")]
    pub limit: usize,
    /// Write the answers to DATASET.MODE.jsonl in this folder, as {qid, ranked}
    #[arg(long, value_name = "DIR")]
    pub run_dir: Option<PathBuf>,
    /// Write with them what each score is made of
    #[arg(long, requires = "run_dir")]
    pub explain: bool,
    /// Keep the stores in this folder, so that the next run need not make them anew
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Form {
    /// A folder with corpus.jsonl and queries.jsonl
    #[default]
    Folder,
    /// locomo10.json: every turn a memory
    Locomo,
    /// longmemeval_s.json and its like: every session a memory, asked for in the haystack of its
    /// question
    Longmemeval,
}

pub fn method(name: &str) -> Result<Method, String> {
    let names = || Method::ALL.map(|(name, _)| name).join(", ");
    Method::named(name).ok_or_else(|| format!("it is one of {}", names()))
}

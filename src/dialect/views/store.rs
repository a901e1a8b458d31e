//! The store as a whole: its status, its topics, and the problems of its files.

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::{Finding, Proof, Status};

/// The store in numbers, as `GET /status` replies it.
#[derive(Serialize, JsonSchema)]
pub struct StatusView<'a> {
    files: usize,
    indexed: usize,
    waiting: usize,
    unreadable: usize,
    archived: usize,
    bytes: u64,
    index_bytes: u64,
    conflicts: usize,
    read_only: bool,
    problems: Vec<FindingView<'a>>,
}

impl<'a> From<&'a Status> for StatusView<'a> {
    fn from(status: &'a Status) -> StatusView<'a> {
        StatusView {
            files: status.files,
            indexed: status.indexed,
            waiting: status.waiting,
            unreadable: status.unreadable,
            archived: status.archived,
            bytes: status.bytes,
            index_bytes: status.index_bytes,
            conflicts: status.conflicts,
            read_only: status.read_only,
            problems: findings(&status.findings),
        }
    }
}

/// A problem of one file.
#[derive(Serialize, JsonSchema)]
pub struct FindingView<'a> {
    file: &'a str,
    code: &'static str,
    problem: String,
    hint: &'static str,
}

/// Returns the views of problems of files.
pub fn findings<'a>(findings: &'a [Finding]) -> Vec<FindingView<'a>> {
    let view = |Finding { file, problem }: &'a Finding| FindingView {
        file,
        code: problem.code(),
        problem: problem.to_string(),
        hint: problem.hint(),
    };
    findings.iter().map(view).collect()
}

/// The comparison of a store with its index and its history, as `verify` shows it.
#[derive(Serialize, JsonSchema)]
pub struct VerificationView<'a> {
    sound: bool,
    files: usize,
    index_faults: &'a [String],
    git_faults: &'a [String],
    problems: Vec<FindingView<'a>>,
}

impl<'a> From<&'a Proof> for VerificationView<'a> {
    fn from(proof: &'a Proof) -> VerificationView<'a> {
        VerificationView {
            sound: proof.is_sound(),
            files: proof.files,
            index_faults: &proof.index_faults,
            git_faults: &proof.git_faults,
            problems: findings(&proof.findings),
        }
    }
}

/// The topics of the live memories, the commonest first.
#[derive(Serialize, JsonSchema)]
pub struct TopicsView {
    pub topics: Vec<TopicCount>,
}

/// A topic with its number of memories.
#[derive(Serialize, JsonSchema)]
pub struct TopicCount {
    pub topic: String,
    pub count: usize,
}

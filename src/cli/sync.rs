//! The command that brings git up to date: sync.

use serde_json::json;

use super::Context;
use super::Outcome;
use super::args::Sync;
use super::fail::Failure;
use crate::engine::Committed;
use crate::engine::EngineError;

pub(super) fn sync(context: &mut Context, _command: &Sync) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    if engine.is_read_only() {
        return Err(EngineError::ReadOnly(engine.root().to_owned()).into());
    }
    let committed = engine.commit_everything()?;
    let (word, text, outcome) = match &committed {
        Committed::Nothing => (
            "nothing",
            "everything is committed".to_owned(),
            Outcome::Done,
        ),
        Committed::Done { id, files } => (
            "committed",
            match files {
                1 => format!("committed 1 file as {id}"),
                _ => format!("committed {files} files as {id}"),
            },
            Outcome::Done,
        ),
        Committed::Busy => (
            "busy",
            "another process is committing, or git is at work in the repository; try again in a moment".to_owned(),
            Outcome::Failed,
        ),
        Committed::Off => (
            "off",
            "this store is not committed: it lies in somebody's repository, or its setting `git` is off"
                .to_owned(),
            Outcome::Nothing,
        ),
        Committed::Paused(reason) => (
            "paused",
            format!("nothing is committed at present: {reason}"),
            Outcome::Failed,
        ),
    };
    if context.output.json {
        let mut document = json!({"commit": word});
        match committed {
            Committed::Done { id, files } => {
                document["id"] = json!(id);
                document["files"] = json!(files);
            }
            Committed::Paused(reason) => document["reason"] = json!(reason),
            _ => {}
        }
        context.output.json(&document)?;
    } else {
        context.output.line(text)?;
    }
    Ok(outcome)
}

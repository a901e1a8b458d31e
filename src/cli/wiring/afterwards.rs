//! Upkeep by commands: vectors before a question, index and commit after the answer.

use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::progress::progress_bar;
use crate::cli::wiring::context::Context;
use crate::engine::{Engine, live, meaning};

/// Gives the memories that lack a vector theirs, before a question, if they are few and nobody else
/// does it. A failure costs meaning, no answer.
pub fn embed_few(engine: &Engine) {
    match meaning::embed_few(&engine.meaning) {
        Ok(0) => {}
        Ok(left) => tracing::warn!(
            "{left} memories are found without the model: `memdir reindex` embeds them"
        ),
        Err(error) => tracing::warn!("some memories are found without the model: {error}"),
    }
}

/// Indexes what waits, after the answer. A failure costs the next search some time, nothing else.
pub fn settle(engine: &Engine) {
    if let Err(error) = live::settle(&engine.live, false) {
        tracing::warn!("the index was not brought up to date: {error}");
    }
}

/// Indexes what a command has written, if that is much and no server does it: the next question would wait for
/// it. A failure costs that.
pub fn index_many(engine: &Engine) {
    let bar = progress_bar("indexing");
    let indexed = live::reindex_unless_led(&engine.live, &mut |progress| {
        bar.set_length(progress.total as u64);
        bar.set_position(progress.done as u64);
    });
    bar.finish_and_clear();
    if let Err(error) = indexed {
        tracing::warn!("the index was not brought up to date: {error}");
    }
}

/// Commits what a command has changed, and indexes what waits, after the answer.
pub fn after_writing(context: &mut Context, engine: &Engine) -> Result<(), Failure> {
    context.output.flush()?;
    settle(engine);
    if let Err(error) = crate::engine::history::commit_if_alone(&engine.history) {
        tracing::warn!("nothing was committed: {error}");
    }
    context
        .output
        .held_back(&crate::engine::history::last_held_back(&engine.history));
    Ok(())
}

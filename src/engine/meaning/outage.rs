//! Spares callers a host of models that does not answer.
//!
//! After a failure, questions are answered by words alone, at once, and the host is tried again
//! after a pause that doubles with each failure: in the background where there is one. What is known
//! lies beside the index, for all processes and for the next command.

use std::path::PathBuf;
use std::time::Duration;

use chrono::TimeDelta;

use crate::embed::{EmbedError, Embedder};
use crate::engine::meaning::models;
use crate::engine::meaning::models::{FIRST_PAUSE, LONGEST_PAUSE, Meaning, Outage, Wake};
use crate::files;

/// Longer reasons are cut.
const MAX_CHARACTERS: usize = 200;

/// The text that a host is probed with where nothing else waits for it.
const PROBE: &str = "Is anybody there?";

fn outage_path(meaning: &Meaning) -> PathBuf {
    meaning.live.state().join("model-outage.json")
}

/// The failure of the model that is set, where it is on a host and has not answered since.
pub fn outage(meaning: &Meaning) -> Option<Outage> {
    let embedder = models::embedder(meaning)?;
    outage_of(meaning, embedder.as_ref())
}

fn outage_of(meaning: &Meaning, embedder: &dyn Embedder) -> Option<Outage> {
    embedder.host()?;
    let text = files::read_derived(&outage_path(meaning)).ok()?;
    let outage: Outage = serde_json::from_slice(&text).ok()?;
    (outage.model == embedder.id()).then_some(outage)
}

/// Whether the model's host is not to be asked now. Once its pause is over it is tried in the
/// background, or by this call where there is none.
pub(in crate::engine) fn is_out(meaning: &Meaning, embedder: &dyn Embedder) -> bool {
    let Some(outage) = outage_of(meaning, embedder) else {
        return false;
    };
    if !outage.left(meaning.live.clock.now()).is_zero() {
        return true;
    }
    match meaning.wake_embedding.get() {
        Some(wake) => {
            let _ = wake.send(Wake::Try); // Nobody listens when the process ends.
            true
        }
        None => {
            // Only one of several commands waits for it.
            note_outage(meaning, embedder, &outage.reason);
            false
        }
    }
}

/// Time until the host may be asked again; `None` where it is not known to be out.
pub(in crate::engine) fn outage_left(meaning: &Meaning) -> Option<Duration> {
    let outage = self::outage(meaning)?;
    Some(
        outage
            .left(meaning.live.clock.now())
            .to_std()
            .unwrap_or_default(),
    )
}

/// Asks the host once, if its pause is over; whether it may be asked for more.
pub(in crate::engine) fn try_host(meaning: &Meaning) -> bool {
    // Without a word of an outage no model is opened for it.
    if !outage_path(meaning).exists() {
        return true;
    }
    let Some(embedder) = models::embedder(meaning) else {
        return true;
    };
    match outage_left(meaning) {
        None => true,
        Some(left) if !left.is_zero() => false,
        Some(_) => {
            // Other processes wait for what this one finds.
            note_outage(meaning, embedder.as_ref(), "it is being tried again");
            let tried = embedder.query(PROBE);
            heard_of(meaning, embedder.as_ref(), tried.as_ref().err());
            tried.is_ok()
        }
    }
}

/// Notes how a call of the model ended.
pub(in crate::engine) fn heard_of(
    meaning: &Meaning,
    embedder: &dyn Embedder,
    error: Option<&EmbedError>,
) {
    if embedder.host().is_none() {
        return;
    }
    match error {
        Some(EmbedError::NoWords) => {}
        Some(error) => note_outage(meaning, embedder, &error.to_string()),
        None if outage_path(meaning).exists() => {
            if let Err(error) = files::remove_derived(&outage_path(meaning)) {
                tracing::debug!("cannot note that the model answers again: {error}");
            }
        }
        None => {}
    }
}

fn note_outage(meaning: &Meaning, embedder: &dyn Embedder, reason: &str) {
    let now = meaning.live.clock.now();
    let before = outage_of(meaning, embedder);
    let pause_seconds = match &before {
        // Calls that failed side by side are one failure.
        Some(before) if !before.left(now).is_zero() => before.pause_seconds,
        Some(before) => (before.pause_seconds * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE),
        None => FIRST_PAUSE,
    };
    let outage = Outage {
        model: embedder.id().to_owned(),
        host: embedder.host().unwrap_or_default(),
        since: before.map_or(now, |before| before.since.min(now)),
        next: now + TimeDelta::seconds(pause_seconds),
        reason: reason.chars().take(MAX_CHARACTERS).collect(),
        pause_seconds,
    };
    let noted = serde_json::to_vec(&outage)
        .map_err(std::io::Error::from)
        .and_then(|text| files::write_derived(&outage_path(meaning), &text));
    if let Err(error) = noted {
        tracing::debug!("cannot note that the model does not answer: {error}");
    }
}

//! Avoids calls of a model's host that does not answer.
//!
//! After a failure, queries are answered without it, at once, and the host is tried again
//! after a pause that doubles with each failure: in the background if there is one. The outage is
//! stored beside the index, for all processes and for the next command.

use std::path::PathBuf;
use std::time::Duration;

use chrono::TimeDelta;

use crate::embed::{EmbedError, Embedder};
use crate::engine::meaning::models;
use crate::engine::meaning::models::{FIRST_PAUSE, LONGEST_PAUSE, Meaning, Outage, Wake};
use crate::files;

/// Maximum number of characters of a stored reason.
const MAX_CHARACTERS: usize = 200;

/// Text to probe a host with if nothing else is to be embedded.
const PROBE: &str = "Is anybody there?";

fn outage_path(meaning: &Meaning) -> PathBuf {
    meaning.live.state().join("model-outage.json")
}

/// Returns the outage of the configured model, if it is on a host and has not answered since.
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

/// Whether the model's host must not be called now. Once its pause is over it is tried in the
/// background, or by this call if there is none.
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

/// Returns the time until the host may be called again; `None` without an outage.
pub(in crate::engine) fn outage_left(meaning: &Meaning) -> Option<Duration> {
    let outage = self::outage(meaning)?;
    Some(
        outage
            .left(meaning.live.clock.now())
            .to_std()
            .unwrap_or_default(),
    )
}

/// Calls the host once, if its pause is over; returns whether it may be called for more.
pub(in crate::engine) fn try_host(meaning: &Meaning) -> bool {
    // Without a stored outage no model is opened for it.
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
            // Other processes wait for the result.
            note_outage(meaning, embedder.as_ref(), "it is being tried again");
            let tried = embedder.query(PROBE);
            heard_of(meaning, embedder.as_ref(), tried.as_ref().err());
            tried.is_ok()
        }
    }
}

/// Records the result of a call of the model.
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
        // Parallel calls that failed are one failure.
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

//! Choice of the model that makes vectors, and of the one for queries.
//!
//! The configured model makes vectors. A query uses the vectors of one model, never
//! of two: those of the configured one, or, while another has vectors of more memories, of
//! that one. So a store loses nothing during a change of the model. The opener of the engine
//! decides how models are found and opened.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::embed::Embedder;
use crate::engine::error::EngineError;
use crate::engine::live::store::LiveStore;
use crate::engine::locked::locked;
use crate::engine::meaning::questions::Questions;
use crate::engine::options::Models;
use crate::index::Snapshot;
use crate::vectors::SharedVectors;

/// Search of one store's memories by meaning.
pub struct Meaning {
    /// The store.
    pub(in crate::engine) live: Arc<LiveStore>,
    pub(in crate::engine::meaning) models: Option<Opened>,
    /// Vectors that servers share.
    pub(in crate::engine::meaning) shared: Option<Arc<dyn SharedVectors>>,
    /// Time when unused ones were removed from them.
    pub(in crate::engine::meaning) shared_tidied: Mutex<Option<Instant>>,
    pub(in crate::engine::meaning) questions: Questions,
    /// Whether a warning about the model was logged.
    pub(in crate::engine::meaning) warned_of_model: AtomicBool,
    /// Sender that wakes the thread that embeds, in a process that has one.
    pub(in crate::engine::meaning) wake_embedding: OnceLock<std::sync::mpsc::Sender<Wake>>,
}

impl Meaning {
    /// Creates the search; opens no model yet.
    pub fn new(
        live: Arc<LiveStore>,
        models: Option<Arc<dyn Models>>,
        shared: Option<Arc<dyn SharedVectors>>,
    ) -> Meaning {
        Meaning {
            live,
            models: models.map(Opened::new),
            shared,
            shared_tidied: Mutex::default(),
            questions: Questions::new(),
            warned_of_model: AtomicBool::new(false),
            wake_embedding: OnceLock::new(),
        }
    }
}

/// Models of a store, each opened on first use.
pub(in crate::engine) struct Opened {
    models: Arc<dyn Models>,
    set: OnceLock<Option<Arc<dyn Embedder>>>,
    earlier: Mutex<HashMap<String, Option<Arc<dyn Embedder>>>>,
}

impl Opened {
    /// Creates the set; opens no model yet.
    pub fn new(models: Arc<dyn Models>) -> Opened {
        Opened {
            models,
            set: OnceLock::new(),
            earlier: Mutex::default(),
        }
    }

    fn earlier(&self, id: &str) -> Option<Arc<dyn Embedder>> {
        let mut earlier = locked(&self.earlier);
        let opened = earlier
            .entry(id.to_owned())
            .or_insert_with(|| self.models.earlier(id));
        opened.clone()
    }
}

/// Returns the configured model; `None` if there is none that can be used.
pub(in crate::engine) fn embedder(meaning: &Meaning) -> Option<&Arc<dyn Embedder>> {
    let opened = meaning.models.as_ref()?;
    opened.set.get_or_init(|| opened.models.set()).as_ref()
}

/// Returns the model whose vectors answer queries to `snapshot`.
pub(in crate::engine) fn answering(
    meaning: &Meaning,
    snapshot: &dyn Snapshot,
) -> Option<Arc<dyn Embedder>> {
    let set = embedder(meaning)?;
    // Without a readable index, the configured one is used.
    let earlier = self::earlier(meaning, set.id(), snapshot).ok().flatten();
    Some(earlier.unwrap_or_else(|| Arc::clone(set)))
}

/// Returns the model that has vectors of more memories than the configured one, and can be opened.
pub(in crate::engine) fn earlier(
    meaning: &Meaning,
    set: &str,
    snapshot: &dyn Snapshot,
) -> Result<Option<Arc<dyn Embedder>>, EngineError> {
    let Some(opened) = &meaning.models else {
        return Ok(None);
    };
    let mut others = Vec::new();
    for other in meaning
        .live
        .index
        .models()
        .into_iter()
        .filter(|name| name != set)
    {
        others.push((snapshot.coverage(&other)?.complete, other));
    }
    if others.is_empty() {
        return Ok(None);
    }
    let complete = snapshot.coverage(set)?.complete;
    others.retain(|(theirs, _)| *theirs > complete);
    others.sort_unstable_by(|a, b| b.cmp(a));
    Ok(others.iter().find_map(|(_, name)| opened.earlier(name)))
}

/// Unloads models that were not used for the time `idle`.
pub(in crate::engine) fn rest_models(meaning: &Meaning, idle: Duration) {
    let Some(opened) = &meaning.models else {
        return;
    };
    let earlier = locked(&opened.earlier);
    let set = opened.set.get().into_iter().flatten();
    for embedder in set.chain(earlier.values().flatten()) {
        embedder.rest(idle);
    }
}

/// Closes the models whose vectors answered before the configured one had made its own.
pub(in crate::engine::meaning) fn forget_earlier(meaning: &Meaning) {
    if let Some(opened) = &meaning.models {
        locked(&opened.earlier).clear();
    }
}

/// Event that wakes the thread that embeds.
pub(in crate::engine) enum Wake {
    /// There may be something to embed.
    Changed,
    /// A query was embedded: the model is loaded, and to be unloaded after a while.
    Used,
    /// A host that did not answer may be called again.
    Try,
}

/// First pause in seconds after a failure: a restarted host is soon found.
pub(in crate::engine) const FIRST_PAUSE: i64 = 30;

/// Maximum pause in seconds: a host that is gone is called once in half an hour.
pub(in crate::engine) const LONGEST_PAUSE: i64 = 30 * 60;

/// Outage of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// Id of the model that was called.
    pub model: String,
    /// Name of the host.
    pub host: String,
    /// Time of the first failure.
    pub since: DateTime<Utc>,
    /// Time from which it is tried again, at the next call.
    pub next: DateTime<Utc>,
    /// Its last error.
    pub reason: String,
    /// Pause in seconds until the next attempt.
    pub(in crate::engine) pause_seconds: i64,
}

impl Outage {
    /// Returns the time until it is tried again, at `now`.
    pub(in crate::engine) fn left(&self, now: DateTime<Utc>) -> TimeDelta {
        // A clock that was set back must not prevent attempts for years.
        let longest = TimeDelta::seconds(LONGEST_PAUSE);
        (self.next - now).clamp(TimeDelta::zero(), longest)
    }
}

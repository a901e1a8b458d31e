//! Which model makes vectors, and which one answers.
//!
//! The model that is set makes vectors. A question is answered by the vectors of one model, never
//! of two: by those of the one that is set, or, while another has vectors of more memories, by
//! that one. So a store loses nothing while a change of the model is under way. How models are
//! found and opened is left to whoever opens the engine.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::embed::Embedder;
use crate::engine::error::EngineError;
use crate::engine::live::current_snapshot;
use crate::engine::live::store::LiveStore;
use crate::engine::locked::locked;
use crate::engine::options::Models;
use crate::index::Snapshot;

/// Finds memories of one store by their meaning.
pub struct Meaning {
    pub(in crate::engine) live: Arc<LiveStore>,
    pub(in crate::engine::meaning) models: Option<Opened>,
    pub(in crate::engine::meaning) warned_of_model: AtomicBool,
    /// Wakes the thread that embeds, in a process that has one.
    pub(in crate::engine::meaning) wake_embedding: OnceLock<std::sync::mpsc::Sender<Wake>>,
}

impl Meaning {
    /// Opens no model yet.
    pub fn new(live: Arc<LiveStore>, models: Option<Arc<dyn Models>>) -> Meaning {
        Meaning {
            live,
            models: models.map(Opened::new),
            warned_of_model: AtomicBool::new(false),
            wake_embedding: OnceLock::new(),
        }
    }
}

/// The models of a store, as far as they were opened.
pub(in crate::engine) struct Opened {
    models: Arc<dyn Models>,
    set: OnceLock<Option<Arc<dyn Embedder>>>,
    earlier: Mutex<HashMap<String, Option<Arc<dyn Embedder>>>>,
}

impl Opened {
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

/// The model that is set; `None` if there is none that can be used.
pub(in crate::engine) fn embedder(meaning: &Meaning) -> Option<&Arc<dyn Embedder>> {
    let opened = meaning.models.as_ref()?;
    opened.set.get_or_init(|| opened.models.set()).as_ref()
}

/// The model by whose vectors `snapshot` answers.
pub(in crate::engine) fn answering(
    meaning: &Meaning,
    snapshot: &dyn Snapshot,
) -> Option<Arc<dyn Embedder>> {
    let set = embedder(meaning)?;
    // Who cannot look finds what there is.
    let earlier = self::earlier(meaning, set.id(), snapshot).ok().flatten();
    Some(earlier.unwrap_or_else(|| Arc::clone(set)))
}

/// The model that has vectors of more memories than the one that is set, and can be had.
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

/// Lets go of models that nobody asked for so long.
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

/// Removes the vectors that nobody wants, where they are many, and those of other models once
/// the one that is set has made all of its own.
pub(in crate::engine) fn tidy_vectors(meaning: &Meaning) -> Result<(), EngineError> {
    let Some(embedder) = self::embedder(meaning) else {
        return Ok(());
    };
    let snapshot = current_snapshot::snapshot(&meaning.live)?;
    let coverage = snapshot.coverage(embedder.id())?;
    let is_alone = meaning
        .live
        .index
        .models()
        .iter()
        .all(|name| name == embedder.id());
    let is_waste = coverage.kept > 2 * coverage.wanted;
    if coverage.complete < coverage.memories || is_alone && !is_waste {
        return Ok(());
    }
    let wanted = snapshot.vector_keys()?;
    let _lock = meaning.live.lock_index()?;
    meaning.live.index.tidy_vectors(&[embedder.id()], &wanted)?;
    if let Some(opened) = &meaning.models {
        let mut earlier = locked(&opened.earlier);
        earlier.clear();
    }
    Ok(())
}

/// Events that wake the thread that embeds.
pub(in crate::engine) enum Wake {
    /// There may be something to embed.
    Changed,
    /// A question was embedded: the model is loaded, and to be let go of after a while.
    Used,
    /// A host that did not answer may be asked again.
    Try,
}

/// The first pause, and the longest: a host that is started anew is soon found, and one that is gone
/// is asked once in half an hour.
pub(in crate::engine) const FIRST_PAUSE: i64 = 30;

pub(in crate::engine) const LONGEST_PAUSE: i64 = 30 * 60;

/// A host that did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// The model that was asked.
    pub model: String,
    pub host: String,
    /// When it failed first.
    pub since: DateTime<Utc>,
    /// When it is tried again, at the next call.
    pub next: DateTime<Utc>,
    /// Its last error.
    pub reason: String,
    pub(in crate::engine) pause_seconds: i64,
}

impl Outage {
    /// Time until it is tried again, at `now`.
    pub(in crate::engine) fn left(&self, now: DateTime<Utc>) -> TimeDelta {
        // A clock that was set back must not keep the host from being asked for years.
        let longest = TimeDelta::seconds(LONGEST_PAUSE);
        (self.next - now).clamp(TimeDelta::zero(), longest)
    }
}

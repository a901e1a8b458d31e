//! Which model makes vectors, and which one answers.
//!
//! The model that is set makes vectors. A question is answered by the vectors of one model, never
//! of two: by those of the one that is set, or, while another has vectors of more memories, by
//! that one. So a store loses nothing while a change of the model is under way. How models are
//! found and opened is left to whoever opens the engine.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::PoisonError;
use std::time::Duration;

use super::Engine;
use super::EngineError;
use super::outage::Outage;
use crate::embed::Embedder;
use crate::index::Coverage;
use crate::index::Snapshot;

/// Opens models. Asked when one is needed for the first time, and only then.
pub trait Models: Send + Sync {
    /// The one that is set; says itself why there is none.
    fn set(&self) -> Option<Arc<dyn Embedder>>;

    /// One that was set before, by its id; `None` if it cannot be had any more, or if texts would
    /// leave this machine for it: nobody wants that any longer.
    fn earlier(&self, id: &str) -> Option<Arc<dyn Embedder>> {
        let _ = id;
        None
    }
}

/// The models of a store, as far as they were opened.
pub(super) struct Opened {
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
        let mut earlier = self.earlier.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = earlier
            .entry(id.to_owned())
            .or_insert_with(|| self.models.earlier(id));
        opened.clone()
    }
}

/// How far the memories have vectors, and which model answers until they all have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeaningStatus {
    /// The model that is set.
    pub model: String,
    pub coverage: Coverage,
    /// Another one whose vectors answer meanwhile.
    pub answered_by: Option<String>,
    /// That its host does not answer, so that words alone do.
    pub outage: Option<Outage>,
}

impl Engine {
    /// The model that is set; `None` if there is none that can be used.
    pub(super) fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        let opened = self.models.as_ref()?;
        opened.set.get_or_init(|| opened.models.set()).as_ref()
    }

    /// The model by whose vectors `snapshot` answers.
    pub(super) fn answering(&self, snapshot: &dyn Snapshot) -> Option<Arc<dyn Embedder>> {
        let set = self.embedder()?;
        // Who cannot look finds what there is.
        let earlier = self.earlier(set.id(), snapshot).ok().flatten();
        Some(earlier.unwrap_or_else(|| Arc::clone(set)))
    }

    /// The model that has vectors of more memories than the one that is set, and can be had.
    fn earlier(
        &self,
        set: &str,
        snapshot: &dyn Snapshot,
    ) -> Result<Option<Arc<dyn Embedder>>, EngineError> {
        let Some(opened) = &self.models else {
            return Ok(None);
        };
        let mut others = Vec::new();
        for other in self.index.models().into_iter().filter(|name| name != set) {
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
    pub(super) fn rest_models(&self, idle: Duration) {
        let Some(opened) = &self.models else { return };
        let earlier = opened
            .earlier
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let set = opened.set.get().into_iter().flatten();
        for embedder in set.chain(earlier.values().flatten()) {
            embedder.rest(idle);
        }
    }

    /// Removes the vectors that nobody wants, where they are many, and those of other models once
    /// the one that is set has made all of its own.
    pub(super) fn tidy_vectors(&self) -> Result<(), EngineError> {
        let Some(embedder) = self.embedder() else {
            return Ok(());
        };
        let snapshot = self.snapshot()?;
        let coverage = snapshot.coverage(embedder.id())?;
        let is_alone = self.index.models().iter().all(|name| name == embedder.id());
        let is_waste = coverage.kept > 2 * coverage.wanted;
        if coverage.complete < coverage.memories || is_alone && !is_waste {
            return Ok(());
        }
        let wanted = snapshot.vector_keys()?;
        let _lock = self.lock_index()?;
        self.index.tidy_vectors(&[embedder.id()], &wanted)?;
        if let Some(opened) = &self.models {
            let mut earlier = opened
                .earlier
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            earlier.clear();
        }
        Ok(())
    }

    /// How far the memories have vectors of the model that is set; `None` without one.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot be read.
    pub fn meaning_status(&self) -> Result<Option<MeaningStatus>, EngineError> {
        let Some(embedder) = self.embedder() else {
            return Ok(None);
        };
        let snapshot = self.snapshot()?;
        let earlier = self.earlier(embedder.id(), snapshot.as_ref())?;
        Ok(Some(MeaningStatus {
            model: embedder.id().to_owned(),
            coverage: snapshot.coverage(embedder.id())?,
            answered_by: earlier.map(|earlier| earlier.id().to_owned()),
            outage: self.outage(),
        }))
    }
}

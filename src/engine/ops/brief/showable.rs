//! Whether a memory may be shown to an agent that has not asked for it.

use std::cell::OnceCell;

use crate::engine::ops::brief::provenance::{ForeignSource, Provenance};
use crate::engine::parts::Engine;
use crate::injection;
use crate::model::{Memory, Stem};

/// A memory that would have been shown and was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The memory.
    pub stem: Stem,
    /// Its id, as agents are shown it.
    pub id: String,
    /// Reason, as the end of a sentence: "… is left out: it …".
    pub why: String,
}

/// Judge of memories, which notes what it leaves out.
pub(super) struct Showable<'a> {
    engine: &'a Engine,
    left_out: Vec<LeftOut>,
    /// Read when the first memory is judged.
    provenance: OnceCell<Provenance>,
}

impl<'a> Showable<'a> {
    /// Creates a judge that has left nothing out.
    pub fn new(engine: &'a Engine) -> Showable<'a> {
        Showable {
            engine,
            left_out: Vec::new(),
            provenance: OnceCell::new(),
        }
    }

    /// Returns whether a memory may be shown; notes it if not.
    pub fn may_be_shown(&mut self, memory: &Memory) -> bool {
        if self.left_out.iter().any(|known| known.stem == memory.stem) {
            return false;
        }
        let Some(why) = self.obstacle(memory) else {
            return true;
        };
        self.left_out.push(LeftOut {
            stem: memory.stem.clone(),
            id: self.engine.live.shown_id(&memory.stem),
            why,
        });
        false
    }

    /// Returns the memories that were left out, in the order of their turns.
    pub fn left_out(self) -> Vec<LeftOut> {
        self.left_out
    }

    /// Returns why a memory may not be shown unasked.
    fn obstacle(&self, memory: &Memory) -> Option<String> {
        let provenance = self
            .provenance
            .get_or_init(|| Provenance::read(self.engine));
        if let Some(source) = provenance.unreviewed(memory) {
            return Some(match source {
                ForeignSource::Import => "it was imported and is not reviewed".to_owned(),
                ForeignSource::Talk => "it is a talk and is not reviewed".to_owned(),
                ForeignSource::Sync => {
                    "others may have written it, and it is not reviewed".to_owned()
                }
            });
        }
        let title = memory.title.as_deref().unwrap_or_default();
        let signs = injection::find(&format!("{title}\n{}", memory.content));
        signs.first().map(|sign| format!("it {sign}"))
    }
}

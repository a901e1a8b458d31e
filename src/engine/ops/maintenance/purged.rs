//! Removes purged memories from the records of plans.

use std::path::Path;

use crate::engine::ops::maintenance::perform;
use crate::engine::ops::maintenance::record::{Recorded, is_plan};
use crate::engine::parts::Engine;
use crate::engine::texts::stem_of;
use crate::files;
use crate::model::Stem;

/// Removes every record of a plan with a step on one of the memories, as it holds their texts.
/// A plan without a record cannot be reverted any more, which is logged. An interrupted plan is reverted
/// first.
pub(in crate::engine) fn forget_in_plans(engine: &Engine, stems: &[Stem]) {
    if let Err(error) = perform::recover_plans(engine) {
        tracing::warn!("an interrupted plan was not taken back: {error}");
    }
    let folder = engine.live.state().join("plans");
    for name in files::names_in(&folder).unwrap_or_default() {
        let id = name.strip_suffix(".json");
        let Some(id) = id.filter(|id| is_plan(id)) else {
            continue;
        };
        let path = folder.join(&name);
        if !tells_of(&path, stems) {
            continue;
        }
        match files::remove_derived(&path) {
            Ok(()) => tracing::warn!(
                "{id} held a text that is gone for good, and can be taken back no more"
            ),
            Err(error) => tracing::warn!(
                "{} holds a text that was to go for good, and cannot be removed: {error}",
                path.display()
            ),
        }
    }
}

/// Whether a record has a step of one of the memories; if it cannot be parsed, whether it contains a stem.
fn tells_of(path: &Path, stems: &[Stem]) -> bool {
    let Ok(text) = files::read_derived(path) else {
        return false; // Gone meanwhile.
    };
    match serde_json::from_slice::<Recorded>(&text) {
        Ok(record) => {
            let mut steps = record.steps.iter();
            steps.any(|step| stems.contains(&stem_of(step.name())))
        }
        Err(_) => {
            let text = String::from_utf8_lossy(&text);
            stems.iter().any(|stem| text.contains(stem.as_str()))
        }
    }
}

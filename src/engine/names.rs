//! Which file is meant by what stands in a link.

use std::collections::HashMap;

use super::reading::stem_of;
use crate::model::Stem;
use crate::model::plain_id;

/// Whether `id`, as a link has it, names the memory `stem`.
pub(super) fn is_called(stem: &Stem, id: &str) -> bool {
    let id = plain_id(id);
    let id = id.rsplit('/').next().unwrap_or(&id);
    id == plain_id(stem.as_str()) || id == stem.short()
}

/// The files of a store by what links call them.
pub(super) struct Names<'a> {
    /// `None` where several are called so.
    by_id: HashMap<String, Option<&'a str>>,
}

impl<'a> Names<'a> {
    pub fn of(names: impl Iterator<Item = &'a str>) -> Names<'a> {
        let mut by_id = HashMap::new();
        for name in names {
            let stem = stem_of(name);
            let mut ids = vec![plain_id(stem.as_str()), stem.short().to_owned()];
            ids.dedup();
            for id in ids {
                by_id
                    .entry(id)
                    .and_modify(|known| *known = None)
                    .or_insert(Some(name));
            }
        }
        Names { by_id }
    }

    /// The one file that is called so; `None` if there is none, or if there are several.
    pub fn called(&self, id: &str) -> Option<&'a str> {
        let id = plain_id(id);
        let id = id.rsplit('/').next().unwrap_or(&id);
        self.by_id.get(id).copied().flatten()
    }
}

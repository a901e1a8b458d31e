//! Parts of the views: the document around them, entries, markdown, differences, plots, texts.

pub(super) mod difference;
pub(super) mod entry;
pub(super) mod error;
pub(super) mod frame;
pub(super) mod health;
pub(super) mod import_run;
pub(super) mod line_ends;
pub(super) mod locked;
pub(super) mod markdown;
pub(super) mod narrow;
pub(super) mod parameters;
pub(super) mod picture;
pub(super) mod plots;
pub(super) mod texts;
pub(super) mod uploads;
pub(super) mod visit;

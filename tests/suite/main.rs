//! What the whole store promises, tried on real folders.
//!
//! The modules share one program, so that it is linked once. [`support`] is the only one that
//! knows how an engine is opened.

mod files_safety;
mod fixtures;
mod format_properties;
mod freshness;
mod keyword_properties;
mod support;

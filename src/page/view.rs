//! Views by their names.

use super::parts::error::PageError;
use super::parts::parameters::MOST_OF_ADDRESS;
use super::parts::visit::Visit;
use super::{brief, edit, history, import, memory, review, search, store, timeline};

/// A view, with the id of its memory where it is about one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View {
    Timeline,
    Search,
    Memory(String),
    Raw(String),
    History(String),
    Edit(String),
    Review,
    Brief,
    Store,
    Import,
}

/// Returns the HTML of a view; with the parameter `part` only what a script puts in place of the same part.
///
/// # Errors
///
/// Fails if a parameter is none, if there is no such memory, or if the store cannot be read.
pub fn view(visit: &Visit<'_>, view: &View) -> Result<String, PageError> {
    visit.parameters.check(MOST_OF_ADDRESS)?;
    match view {
        View::Timeline => timeline::view(visit),
        View::Search => search::view(visit),
        View::Memory(id) => memory::view(visit, id),
        View::Raw(id) => memory::raw(visit, id),
        View::History(id) => history::view(visit, id),
        View::Edit(id) => edit::view(visit, id),
        View::Review => review::view(visit),
        View::Brief => brief::view(visit),
        View::Store => store::view(visit),
        View::Import => import::view(visit),
    }
}

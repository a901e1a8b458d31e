//! The page for people: views of a store as HTML, and what their forms do.
//!
//! Promises: every text of a memory is escaped; markdown is rendered without raw HTML, without links that run
//! something and without pictures of other hosts (`parts/markdown.rs`); nothing changes by reading a view; a change has
//! the visitor's right to write, and the token of his forms. An edit is saved over the version that it was made
//! from, or shown beside the one that came in between; a text that could not be saved comes back in a form. A place for memories that is no folder, such as a workspace of a
//! database, has no imports, no checks of `memdir doctor`, and nothing of git.
//!
//! Left to others: who may come in, addresses, headers and bodies (`http`), and all that is done to memories
//! (`engine`).

mod act;
mod assets;
mod brief;
mod edit;
mod history;
mod import;
mod memory;
mod parts;
mod review;
mod search;
mod store;
mod timeline;
mod unsent;
mod view;

pub use act::{Acted, Action, act};
pub use assets::{Asset, asset};
pub use import::uploaded;
pub use parts::entry::address_of_memory;
pub use parts::error::PageError;
pub use parts::frame::{elsewhere, entrance, entrance_of_workspace, failure};
pub use parts::health::{Examine, Health, HealthCheck};
pub use parts::parameters::Parameters;
pub use parts::uploads::{Upload, Uploads};
pub use parts::visit::{OfFolder, Visit, Visitor};
pub use unsent::unsent;
pub use view::{View, view};

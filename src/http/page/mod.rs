//! The page for people over HTTP: who may come in, and the way of its requests to [`crate::page`].
//!
//! A browser needs a session (`login`). What its forms send has the token of the session, too. Who comes in at the page
//! of a workspace is checked by `workspaces`.

mod answers;
mod guarding;
mod routes;
mod unpack;
mod upload;

pub(super) use answers::{again, asset, refused, see};
pub(super) use guarding::{
    FORM_TYPES, address_within, check_visit, holds, is_of_page, refusal, secure,
};
pub(super) use routes::{add_routes, add_routes_of_folder};

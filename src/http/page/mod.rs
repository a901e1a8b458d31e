//! The page for people over HTTP: who may come in, and the way of its requests to [`crate::page`].
//!
//! A browser needs a session (`login`). What its forms send has the token of the session, too.

mod guarding;
mod routes;
mod unpack;
mod upload;

pub(super) use guarding::{FORM_TYPES, check_visit, is_of_page, refusal, secure};
pub(super) use routes::add_routes;

//! The HTTP interface of the prefixed tool set: its addresses, bodies, status codes and limits.
//!
//! What is done is what the tools do; only the shapes differ where the specification has them so.

mod memories;
mod state;

use crate::dialect::Endpoint;
use crate::dialect::Place;
use crate::dialect::Verb;

pub(in crate::dialect) const ENDPOINTS: &[Endpoint] =
    &[state::HEALTH, memories::CREATE, memories::GET];

/// A row of an address that reads, to be filled in.
const fn reads(
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    run: crate::dialect::endpoint::Run,
    reply: fn() -> serde_json::Value,
) -> Endpoint {
    Endpoint {
        verb: Verb::Get,
        path,
        name,
        summary,
        parameters: &[],
        place: Place::Query,
        writes: false,
        is_large: false,
        statuses: &[200],
        reply,
        run,
    }
}

/// The same, of one that writes.
const fn writes(
    verb: Verb,
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    run: crate::dialect::endpoint::Run,
    reply: fn() -> serde_json::Value,
) -> Endpoint {
    Endpoint {
        verb,
        place: Place::Body,
        writes: true,
        ..reads(path, name, summary, run, reply)
    }
}

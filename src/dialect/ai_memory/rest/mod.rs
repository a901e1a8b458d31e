//! The HTTP interface of the prefixed tool set: its addresses, bodies, status codes and limits.
//!
//! What is done is what the tools do; only the shapes differ where the specification has them so.

mod archive;
mod exchange;
mod find;
mod links;
mod listing;
mod many;
mod memories;
mod schema;
mod state;

use crate::dialect::Answer;
use crate::dialect::Arguments;
use crate::dialect::Call;
use crate::dialect::Endpoint;
use crate::dialect::ParameterLocation;
use crate::dialect::Tool;
use crate::dialect::ToolError;
use crate::dialect::Verb;

pub(in crate::dialect) const ENDPOINTS: &[Endpoint] = &[
    state::HEALTH,
    memories::CREATE,
    memories::CREATE_MANY,
    memories::LIST,
    memories::GET,
    memories::UPDATE,
    memories::DELETE,
    memories::PROMOTE,
    find::SEARCH,
    find::RECALL,
    find::RECALL_BY_BODY,
    many::FORGET,
    many::CONSOLIDATE,
    links::CREATE,
    links::GET,
    state::NAMESPACES,
    state::STATS,
    many::GC,
    exchange::EXPORT,
    exchange::IMPORT,
    archive::LIST,
    archive::RESTORE,
    archive::PURGE,
    archive::STATS,
];

/// What a tool answers to the same arguments.
fn from_tool(tool: &Tool, call: &Call<'_>, arguments: &Arguments) -> Result<Answer, ToolError> {
    Ok(Answer::object((tool.run)(call, arguments)?.structured))
}

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
        ignored: &[],
        wrapper: None,
        place: ParameterLocation::Query,
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
        place: ParameterLocation::Body,
        writes: true,
        ..reads(path, name, summary, run, reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_is_there_once_and_its_parameters_stand_in_a_table() {
        assert_eq!(ENDPOINTS.len(), 24);
        for (place, row) in ENDPOINTS.iter().enumerate() {
            let is_same = |other: &&Endpoint| {
                other.name == row.name || (other.verb == row.verb && other.path == row.path)
            };
            assert!(
                ENDPOINTS[..place].iter().find(is_same).is_none(),
                "{}",
                row.name
            );
            assert_eq!(row.writes, row.verb != Verb::Get && row.path != "/recall");
            for part in row.path.split('/').filter(|part| part.starts_with('{')) {
                let name = part.trim_matches(['{', '}']);
                assert!(
                    row.parameters
                        .iter()
                        .any(|one| one.name == name && one.is_required)
                );
            }
            let reply = (row.reply)();
            assert_eq!(reply["type"], "object", "{}", row.name);
            let required = reply["required"].as_array().unwrap();
            assert!(!required.is_empty(), "{}", row.name);
        }
    }
}

//! The HTTP interface of the prefixed tool set: its addresses, bodies, status codes and limits.
//!
//! Endpoints do what the tools do; only the shapes differ where the specification requires it.

mod archive;
mod exchange;
mod find;
mod listing;
mod memories;
mod state;

use super::{archive as archive_tools, state as state_tools};
use super::{consolidate, forget, links, one};
use crate::dialect::endpoint::{Endpoint, Verb};
use crate::dialect::views::schema_of;

/// Endpoints of the prefixed tool set.
pub(in crate::dialect) const ENDPOINTS: &[Endpoint] = &[
    state::HEALTH,
    memories::CREATE,
    memories::CREATE_MANY,
    memories::LIST,
    Endpoint {
        is_short: true,
        ..Endpoint::of_tool(
            Verb::Get,
            "/memories/{id}",
            "get_memory",
            "One memory whole, with its links.",
            &one::GET,
            schema_of::<one::GetView>,
        )
    },
    memories::UPDATE,
    Endpoint::of_tool(
        Verb::Delete,
        "/memories/{id}",
        "delete_memory",
        "Move one memory to the archive.",
        &one::DELETE,
        schema_of::<one::DeletedView>,
    ),
    Endpoint::of_tool(
        Verb::Post,
        "/memories/{id}/promote",
        "promote_memory",
        "Let one memory live for ever.",
        &one::PROMOTE,
        schema_of::<one::PromotedView>,
    ),
    find::SEARCH,
    find::RECALL,
    find::RECALL_BY_BODY,
    Endpoint::of_tool(
        Verb::Post,
        "/forget",
        "forget_memories",
        "Move all memories to the archive that are in a namespace, hold every word of a pattern, and have a tier; one of the three must be given.",
        &forget::FORGET,
        schema_of::<forget::ForgottenView>,
    ),
    Endpoint::of_tool(
        Verb::Post,
        "/consolidate",
        "consolidate_memories",
        "Make one memory of 2 to 100, which go to the archive.",
        &consolidate::CONSOLIDATE,
        schema_of::<consolidate::ConsolidatedView>,
    )
    .answering(&[201]),
    Endpoint::of_tool(
        Verb::Post,
        "/links",
        "create_link",
        "Link one memory to another.",
        &links::LINK,
        schema_of::<links::LinkedView>,
    )
    .answering(&[201]),
    Endpoint::of_tool(
        Verb::Get,
        "/links/{id}",
        "get_links",
        "The links of one memory, in both directions.",
        &links::GET_LINKS,
        schema_of::<links::LinksView>,
    ),
    state::NAMESPACES,
    Endpoint::of_tool(
        Verb::Get,
        "/stats",
        "stats",
        "The store in numbers.",
        &state_tools::STATS,
        schema_of::<state_tools::StatsView>,
    ),
    Endpoint::of_tool(
        Verb::Post,
        "/gc",
        "collect_expired",
        "Move the memories whose life has ended to the archive.",
        &forget::GC,
        schema_of::<forget::ExpiredView>,
    ),
    exchange::EXPORT,
    exchange::IMPORT,
    archive::LIST,
    Endpoint::of_tool(
        Verb::Post,
        "/archive/{id}/restore",
        "restore_memory",
        "Bring an archived memory back, as it was.",
        &archive_tools::RESTORE,
        schema_of::<archive_tools::RestoredView>,
    ),
    Endpoint::of_tool(
        Verb::Delete,
        "/archive",
        "purge_archive",
        "Remove archived memories for good.",
        &archive_tools::PURGE,
        schema_of::<archive_tools::PurgedView>,
    ),
    Endpoint::of_tool(
        Verb::Get,
        "/archive/stats",
        "archive_stats",
        "The archive in numbers.",
        &archive_tools::STATS,
        schema_of::<archive_tools::ArchiveStatsView>,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::endpoint::Verb;

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

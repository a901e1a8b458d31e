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
mod row;
mod schema;
mod state;

use crate::dialect::endpoint::Endpoint;

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

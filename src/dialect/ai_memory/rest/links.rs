//! `/links`: how memories stand to each other.

use super::row::from_tool;
use super::row::reads;
use super::row::writes;
use super::schema;
use crate::dialect::ai_memory::check;
use crate::dialect::ai_memory::links;
use crate::dialect::endpoint::Endpoint;
use crate::dialect::endpoint::Verb;

pub(super) const CREATE: Endpoint = Endpoint {
    parameters: links::LINK.parameters,
    statuses: &[201],
    ..writes(
        Verb::Post,
        "/links",
        "create_link",
        "Link one memory to another.",
        |call, arguments| from_tool(&links::LINK, call, arguments),
        || {
            schema::object(
                [
                    ("linked", schema::yes()),
                    ("source_id", schema::text()),
                    ("target_id", schema::text()),
                    ("relation", schema::word(check::RELATIONS)),
                    ("existed", schema::flag()),
                ],
                [],
            )
        },
    )
};

pub(super) const GET: Endpoint = Endpoint {
    parameters: links::GET_LINKS.parameters,
    ..reads(
        "/links/{id}",
        "get_links",
        "The links of one memory, in both directions.",
        |call, arguments| from_tool(&links::GET_LINKS, call, arguments),
        || {
            schema::object(
                [
                    ("links", schema::list(&schema::link())),
                    ("count", schema::count()),
                ],
                [],
            )
        },
    )
};

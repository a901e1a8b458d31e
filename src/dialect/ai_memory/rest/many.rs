//! `/forget`, `/consolidate` and `/gc`: several memories at once.

use super::row::from_tool;
use super::row::writes;
use super::schema;
use crate::dialect::ai_memory::consolidate;
use crate::dialect::ai_memory::forget;
use crate::dialect::endpoint::Endpoint;
use crate::dialect::endpoint::Verb;

pub(super) const FORGET: Endpoint = Endpoint {
    parameters: forget::FORGET.parameters,
    ..writes(
        Verb::Post,
        "/forget",
        "forget_memories",
        "Move all memories to the archive that are in a namespace, hold every word of a pattern, and have a tier; one of the three must be given.",
        |call, arguments| from_tool(&forget::FORGET, call, arguments),
        || schema::taken("deleted"),
    )
};

pub(super) const GC: Endpoint = Endpoint {
    parameters: forget::GC.parameters,
    ..writes(
        Verb::Post,
        "/gc",
        "collect_expired",
        "Move the memories whose life has ended to the archive.",
        |call, arguments| from_tool(&forget::GC, call, arguments),
        || schema::taken("expired_deleted"),
    )
};

pub(super) const CONSOLIDATE: Endpoint = Endpoint {
    parameters: consolidate::CONSOLIDATE.parameters,
    statuses: &[201],
    ..writes(
        Verb::Post,
        "/consolidate",
        "consolidate_memories",
        "Make one memory of 2 to 100, which go to the archive.",
        |call, arguments| from_tool(&consolidate::CONSOLIDATE, call, arguments),
        || {
            schema::object(
                [
                    ("id", schema::text()),
                    ("consolidated", schema::count()),
                    ("archived", schema::texts()),
                    (
                        "summary_by",
                        schema::word(&["caller", "model", "sentences"]),
                    ),
                    ("undo", schema::text()),
                ],
                [("warnings", schema::texts())],
            )
        },
    )
};

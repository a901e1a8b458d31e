//! `/search` and `/recall`.

use serde_json::json;

use super::listing;
use super::row::reads;
use super::schema;
use crate::dialect::ai_memory::find;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::endpoint::Answer;
use crate::dialect::endpoint::Endpoint;
use crate::dialect::endpoint::ParameterLocation;
use crate::dialect::endpoint::Verb;
use crate::dialect::parameter::Parameter;
use crate::dialect::reply::ToolError;

pub(super) const SEARCH: Endpoint = Endpoint {
    parameters: &[
        Parameter::text("q", "Words that must all be there").required(),
        find::NAMESPACE,
        find::TIER,
        listing::limit(20, "At most 200: more counts as that"),
        find::TAGS,
        find::SINCE,
        find::UNTIL,
        find::MIN_PRIORITY,
    ],
    ..reads(
        "/search",
        "search_memories",
        "The memories that hold every word, best first.",
        search,
        || {
            schema::object(
                [
                    ("results", schema::list(&schema::found())),
                    ("count", schema::count()),
                    ("query", schema::text()),
                ],
                [("note", schema::text())],
            )
        },
    )
};

pub(super) const RECALL: Endpoint = Endpoint {
    parameters: RECALLED_BY,
    ..reads(
        "/recall",
        "recall_memories",
        "The memories for what is about to be done, best first; this is a use of each.",
        recall,
        recalled,
    )
};

pub(super) const RECALL_BY_BODY: Endpoint = Endpoint {
    verb: Verb::Post,
    place: ParameterLocation::Body,
    name: "recall_memories_by_body",
    ..RECALL
};

const RECALLED_BY: &[Parameter] = &[
    Parameter::text("context", "What is about to be done, or was asked").required(),
    find::NAMESPACE,
    listing::limit(10, "At most 50: more counts as that"),
    find::TIER,
    find::TAGS,
    find::SINCE,
    find::UNTIL,
    find::MIN_PRIORITY,
];

fn recalled() -> serde_json::Value {
    schema::object(
        [
            ("memories", schema::list(&schema::found())),
            ("count", schema::count()),
            ("mode", schema::word(&["hybrid", "keyword"])),
        ],
        [
            ("standards", json!({"type": "integer", "minimum": 1})),
            ("note", schema::text()),
        ],
    )
}

fn search(call: &Call<'_>, arguments: &Arguments) -> Result<Answer, ToolError> {
    let query = arguments.required_text("q")?;
    Ok(Answer::object(find::found(call, arguments, query)?))
}

fn recall(call: &Call<'_>, arguments: &Arguments) -> Result<Answer, ToolError> {
    Ok(Answer::object(find::recalled(call, arguments)?))
}

//! `/search` and `/recall`.

use super::listing;
use crate::dialect::ai_memory::find;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::endpoint::{Endpoint, ParameterLocation, Verb};
use crate::dialect::parameter::Parameter;
use crate::dialect::reply::{Reply, ToolError};
use crate::dialect::views::schema_of;

/// Endpoint `GET /search`.
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
    ..Endpoint::new(
        Verb::Get,
        "/search",
        "search_memories",
        "The memories that hold every word, best first.",
        search,
        schema_of::<find::FoundView>,
    )
};

/// Endpoint `GET /recall`.
pub(super) const RECALL: Endpoint = Endpoint {
    parameters: RECALLED_BY,
    ..Endpoint::new(
        Verb::Get,
        "/recall",
        "recall_memories",
        "The memories for what is about to be done, best first; this is a use of each.",
        recall,
        schema_of::<find::RecallView>,
    )
};

/// Endpoint `POST /recall`.
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

fn search(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let query = arguments.required_text("q")?;
    Ok(Reply::of(&find::found(call, arguments, query)?))
}

fn recall(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    Ok(Reply::of(&find::recalled(call, arguments)?))
}

//! Further addresses of the HTTP interface, which are ours.

use serde_json::json;

use crate::dialect::Answer;
use crate::dialect::Arguments;
use crate::dialect::Call;
use crate::dialect::Endpoint;
use crate::dialect::Place;
use crate::dialect::ToolError;
use crate::dialect::Verb;

pub(in crate::dialect) const ENDPOINTS: &[Endpoint] = &[TOPICS];

const TOPICS: Endpoint = Endpoint {
    verb: Verb::Get,
    path: "/topics",
    name: "list_topics",
    summary: "The topics of the live memories, the commonest first.",
    parameters: &[],
    place: Place::Query,
    writes: false,
    is_large: false,
    statuses: &[200],
    reply: || {
        json!({
            "type": "object",
            "properties": {"topics": {"type": "array", "items": {
                "type": "object",
                "properties": {"topic": {"type": "string"}, "count": {"type": "integer"}},
                "required": ["topic", "count"],
            }}},
            "required": ["topics"],
        })
    },
    run: topics,
};

fn topics(call: &Call<'_>, _: &Arguments) -> Result<Answer, ToolError> {
    let topics = call.engine.facet("topics")?.into_iter();
    let topics = topics.map(|(topic, count)| json!({"topic": topic, "count": count}));
    let topics: Vec<_> = topics.collect();
    Ok(Answer::json(json!({"topics": topics})))
}

//! Further addresses of the HTTP interface, which are ours: topics, the past of a memory, the store.

use chrono::SecondsFormat;
use serde_json::Value;
use serde_json::json;

use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::endpoint::Answer;
use crate::dialect::endpoint::Endpoint;
use crate::dialect::endpoint::ParameterLocation;
use crate::dialect::endpoint::Verb;
use crate::dialect::parameter::Literal;
use crate::dialect::parameter::Parameter;
use crate::dialect::reply::ToolError;
use crate::engine::Finding;
use crate::engine::PastChange;
use crate::engine::PastText;
use crate::engine::Proof;
use crate::engine::Revision;
use crate::engine::Toward;
use crate::engine::ops;
use crate::engine::read_moment;

pub(in crate::dialect) const ENDPOINTS: &[Endpoint] = &[TOPICS, HISTORY, DIFF, STATUS, VERIFY];

const MOST_CHANGES: u64 = 1000;
const ID: Parameter = Parameter::text("id", "Its id, or the beginning of it, if unique").required();

/// An address that reads, to be filled in.
const READS: Endpoint = Endpoint {
    verb: Verb::Get,
    path: "/topics",
    name: "list_topics",
    summary: "The topics of the live memories, the commonest first.",
    parameters: &[],
    place: ParameterLocation::Query,
    writes: false,
    is_large: false,
    ignored: &[],
    wrapper: None,
    statuses: &[200],
    reply: topics_schema,
    run: topics,
};

const TOPICS: Endpoint = READS;

const HISTORY: Endpoint = Endpoint {
    path: "/memories/{id}/history",
    name: "memory_history",
    summary: "The changes of one memory, the newest first, as git has them; also of one that was forgotten.",
    parameters: &[
        ID,
        Parameter::whole("limit", 1, MOST_CHANGES, "").or(Literal::Whole(50)),
    ],
    reply: history_schema,
    run: history,
    ..READS
};

const DIFF: Endpoint = Endpoint {
    path: "/memories/{id}/diff",
    name: "memory_diff",
    summary: "What one memory says now, and said before: by the last change, or as of a commit or a time.",
    parameters: &[
        ID,
        Parameter::text("revision", "A commit, or a time in RFC3339"),
    ],
    reply: diff_schema,
    run: diff,
    ..READS
};

const STATUS: Endpoint = Endpoint {
    path: "/status",
    name: "status",
    summary: "The store in numbers: files, what the index holds, what waits, what cannot be read.",
    reply: status_schema,
    run: status,
    ..READS
};

const VERIFY: Endpoint = Endpoint {
    path: "/verify",
    name: "verify",
    summary: "Compares every file with the index, and reads the history: slow in large stores.",
    reply: verify_schema,
    run: verify,
    ..READS
};

fn object_of(properties: Value) -> Value {
    let names: Vec<&String> = properties
        .as_object()
        .into_iter()
        .flat_map(|it| it.keys())
        .collect();
    let required = json!(names);
    json!({"type": "object", "properties": properties, "required": required})
}

fn list_of(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn text_or_null() -> Value {
    json!({"type": ["string", "null"]})
}

fn topics_schema() -> Value {
    let topic = json!({"topic": {"type": "string"}, "count": {"type": "integer"}});
    object_of(json!({"topics": list_of(object_of(topic))}))
}

fn topics(call: &Call<'_>, _: &Arguments) -> Result<Answer, ToolError> {
    let topics = ops::facet(call.engine, "topics")?.into_iter();
    let topics = topics.map(|(topic, count)| json!({"topic": topic, "count": count}));
    let topics: Vec<Value> = topics.collect();
    Ok(Answer::json(json!({"topics": topics})))
}

fn history_schema() -> Value {
    let change = json!({
        "commit": {"type": "string"},
        "at": {"type": "string"},
        "what": {"type": "string"},
        "agent": text_or_null(),
        "user": text_or_null(),
        "tool": text_or_null(),
        "author": {"type": "string"},
        "memories": list_of(object_of(json!({"id": {"type": "string"}, "done": {"type": "string"}}))),
    });
    object_of(json!({
        "id": {"type": "string"},
        "changes": list_of(object_of(change)),
        "more": {"type": "boolean"},
    }))
}

fn history(call: &Call<'_>, arguments: &Arguments) -> Result<Answer, ToolError> {
    let id = arguments.required_text("id")?;
    let limit = arguments.at_most("limit", MOST_CHANGES)?.unwrap_or(50);
    let log = ops::log(call.engine, Some(&id), limit as usize)?;
    let changes: Vec<Value> = log.changes.iter().map(change_json).collect();
    let id = log.stem.map_or(id, |stem| call.engine.live.shown_id(&stem));
    Ok(Answer::json(
        json!({"id": id, "changes": changes, "more": log.has_more}),
    ))
}

fn diff_schema() -> Value {
    let text = || {
        object_of(json!({"file": text_or_null(), "commit": text_or_null(), "text": text_or_null()}))
    };
    let mut before = text();
    before["type"] = json!(["object", "null"]);
    object_of(json!({
        "id": {"type": "string"},
        "different": {"type": "boolean"},
        "before": before,
        "after": text(),
    }))
}

fn diff(call: &Call<'_>, arguments: &Arguments) -> Result<Answer, ToolError> {
    let id = arguments.required_text("id")?;
    let revision = arguments.set_text("revision")?.map(|text| Revision {
        at: read_moment(&text, call.engine.live.now(), Toward::Past),
        text,
    });
    let versions = ops::versions(call.engine, &id, revision.as_ref())?;
    let (before, now) = (&versions.before, &versions.now);
    let is_other = |before: &PastText| before.bytes != now.bytes || now.file.is_none();
    Ok(Answer::json(json!({
        "id": call.engine.live.shown_id(&versions.stem),
        "different": before.as_ref().is_some_and(is_other),
        "before": before.as_ref().map(text_json),
        "after": text_json(now),
    })))
}

fn status_schema() -> Value {
    let number = || json!({"type": "integer"});
    object_of(json!({
        "files": number(),
        "indexed": number(),
        "waiting": number(),
        "unreadable": number(),
        "archived": number(),
        "bytes": number(),
        "index_bytes": number(),
        "conflicts": number(),
        "read_only": {"type": "boolean"},
        "problems": list_of(finding_schema()),
    }))
}

fn status(call: &Call<'_>, _: &Arguments) -> Result<Answer, ToolError> {
    let status = ops::status(call.engine)?;
    Ok(Answer::json(json!({
        "files": status.files,
        "indexed": status.indexed,
        "waiting": status.waiting,
        "unreadable": status.unreadable,
        "archived": status.archived,
        "bytes": status.bytes,
        "index_bytes": status.index_bytes,
        "conflicts": status.conflicts,
        "read_only": status.read_only,
        "problems": findings_json(&status.findings),
    })))
}

fn finding_schema() -> Value {
    object_of(json!({
        "file": {"type": "string"},
        "code": {"type": "string"},
        "problem": {"type": "string"},
        "hint": text_or_null(),
    }))
}

fn verify_schema() -> Value {
    let texts = || list_of(json!({"type": "string"}));
    object_of(json!({
        "sound": {"type": "boolean"},
        "files": {"type": "integer"},
        "index_faults": texts(),
        "git_faults": texts(),
        "problems": list_of(finding_schema()),
    }))
}

fn verify(call: &Call<'_>, _: &Arguments) -> Result<Answer, ToolError> {
    Ok(Answer::json(proof_json(&ops::verify(call.engine)?)))
}

/// A change of the past, for programs.
pub fn change_json(change: &PastChange) -> Value {
    let memories: Vec<Value> = change
        .memories
        .iter()
        .map(|(done, id)| json!({"id": id, "done": done.to_lowercase()}))
        .collect();
    let joined = |names: &[String]| (!names.is_empty()).then(|| names.join(", "));
    json!({
        "commit": change.commit,
        "at": change.at.to_rfc3339_opts(SecondsFormat::Secs, false),
        "what": change.what,
        "agent": joined(&change.agents),
        "user": joined(&change.users),
        "tool": joined(&change.tools),
        "author": change.author,
        "memories": memories,
    })
}

/// What a memory said, for programs.
pub fn text_json(text: &PastText) -> Value {
    json!({
        "file": text.file,
        "commit": text.commit,
        "text": text.file.as_ref().map(|_| String::from_utf8_lossy(&text.bytes)),
    })
}

/// What a comparison of the store found, for programs.
pub fn proof_json(proof: &Proof) -> Value {
    json!({
        "sound": proof.is_sound(),
        "files": proof.files,
        "index_faults": proof.index_faults,
        "git_faults": proof.git_faults,
        "problems": findings_json(&proof.findings),
    })
}

/// What is wrong with files, for programs.
pub fn findings_json(findings: &[Finding]) -> Value {
    let one = |finding: &Finding| {
        json!({
            "file": finding.file,
            "code": finding.problem.code(),
            "problem": finding.problem.to_string(),
            "hint": finding.problem.hint(),
        })
    };
    findings.iter().map(one).collect()
}

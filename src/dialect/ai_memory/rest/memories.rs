//! `/memories`: to make, list, read, change and remove them.

use serde_json::Value;
use serde_json::json;

use super::listing;
use super::listing::Listing;
use super::row::from_tool;
use super::row::reads;
use super::row::writes;
use super::schema;
use crate::dialect::ai_memory::find;
use crate::dialect::ai_memory::one;
use crate::dialect::ai_memory::titles::OTHERS;
use crate::dialect::ai_memory::titles::Titles;
use crate::dialect::ai_memory::write;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::endpoint::Answer;
use crate::dialect::endpoint::Endpoint;
use crate::dialect::endpoint::ParameterLocation;
use crate::dialect::endpoint::Refusal;
use crate::dialect::endpoint::Verb;
use crate::dialect::parameter::Form;
use crate::dialect::parameter::Parameter;
use crate::dialect::reply::ToolError;
use crate::engine::EngineError;
use crate::engine::ops;
use crate::model::Filter;
use crate::model::Position;
use crate::model::Stem;

/// Maximum number of memories in one request.
pub(super) const MOST_AT_ONCE: usize = 1_000;

/// What [`GET`] answers holds the memory in this member, and the other one beside it.
const WRAPPER: Option<(&str, &[&str])> = Some(("memory", &["links"]));
/// What a memory is shown with and nobody sets.
const OF_ITSELF: &[&str] = &[
    "id",
    "access_count",
    "created_at",
    "updated_at",
    "last_accessed_at",
    OTHERS,
];

pub(super) const CREATE: Endpoint = Endpoint {
    parameters: write::STORE.parameters,
    ignored: OF_ITSELF,
    wrapper: WRAPPER,
    statuses: &[201],
    ..writes(
        Verb::Post,
        "/memories",
        "create_memory",
        "Store a memory; the same title and namespace again replace its content. Without \
         `tier`, `expires_at` and `ttl_secs` it ends 7 days after it was made, later where it is \
         used; with `tier: long` it never ends.",
        |call, arguments| from_tool(&write::STORE, call, arguments),
        || {
            schema::object(
                [
                    ("id", schema::text()),
                    ("tier", schema::tier()),
                    ("namespace", schema::text()),
                    ("title", schema::text()),
                ],
                [
                    ("action", schema::word(&["updated", "unchanged"])),
                    ("earlier_id", schema::text()),
                    ("note", schema::text()),
                    ("tags", schema::texts()),
                    ("potential_contradictions", schema::texts()),
                    ("same_text_as", schema::text()),
                    ("life", schema::text()),
                    ("warnings", schema::texts()),
                ],
            )
        },
    )
};

pub(super) const CREATE_MANY: Endpoint = Endpoint {
    parameters: &[Parameter::new(
        "memories",
        Form::Objects {
            members: write::STORE.parameters,
            most: MOST_AT_ONCE,
        },
        "",
    )
    .required()],
    place: ParameterLocation::List,
    is_large: true,
    ..writes(
        Verb::Post,
        "/memories/bulk",
        "create_memories",
        "Store many memories; one that cannot be stored costs only itself. They end as those of \
         `POST /memories` do: without a tier after 7 days.",
        create_many,
        || {
            schema::object(
                [
                    ("created", schema::count()),
                    ("errors", schema::texts()),
                    ("ids", schema::texts()),
                ],
                [],
            )
        },
    )
};

pub(super) const LIST: Endpoint = Endpoint {
    parameters: &[
        find::NAMESPACE,
        find::TIER,
        listing::limit(20, "At most 200: more counts as that"),
        listing::OFFSET,
        listing::CURSOR,
        find::TAGS,
        find::SINCE,
        find::UNTIL,
        find::MIN_PRIORITY,
    ],
    ..reads(
        "/memories",
        "list_memories",
        "The memories, the newest first, page by page.",
        list,
        || {
            schema::object(
                [
                    ("memories", schema::list(&schema::memory())),
                    ("count", schema::count()),
                    ("total", schema::count()),
                    ("next_cursor", schema::next_cursor()),
                ],
                [],
            )
        },
    )
};

pub(super) const GET: Endpoint = Endpoint {
    parameters: one::GET.parameters,
    ..reads(
        "/memories/{id}",
        "get_memory",
        "One memory whole, with its links.",
        |call, arguments| from_tool(&one::GET, call, arguments),
        || {
            schema::object(
                [
                    ("memory", schema::memory()),
                    ("links", schema::list(&schema::link())),
                ],
                [],
            )
        },
    )
};

pub(super) const UPDATE: Endpoint = Endpoint {
    parameters: write::UPDATE.parameters,
    ignored: &[
        "id",
        "source",
        "access_count",
        "created_at",
        "updated_at",
        "last_accessed_at",
        OTHERS,
    ],
    wrapper: WRAPPER,
    ..writes(
        Verb::Put,
        "/memories/{id}",
        "update_memory",
        "Change what is given of one memory; the rest stays.",
        |call, arguments| from_tool(&write::UPDATE, call, arguments),
        || {
            let more = schema::object(
                [("updated", schema::flag())],
                [
                    ("earlier_id", schema::text()),
                    ("note", schema::text()),
                    ("warnings", schema::texts()),
                ],
            );
            schema::with(schema::memory(), &more)
        },
    )
};

pub(super) const DELETE: Endpoint = Endpoint {
    parameters: one::DELETE.parameters,
    place: ParameterLocation::Query,
    ..writes(
        Verb::Delete,
        "/memories/{id}",
        "delete_memory",
        "Move one memory to the archive.",
        |call, arguments| from_tool(&one::DELETE, call, arguments),
        || {
            schema::object(
                [
                    ("deleted", schema::yes()),
                    ("id", schema::text()),
                    ("archived", schema::yes()),
                ],
                [],
            )
        },
    )
};

pub(super) const PROMOTE: Endpoint = Endpoint {
    parameters: one::PROMOTE.parameters,
    ..writes(
        Verb::Post,
        "/memories/{id}/promote",
        "promote_memory",
        "Let one memory live for ever.",
        |call, arguments| from_tool(&one::PROMOTE, call, arguments),
        || {
            schema::object(
                [
                    ("promoted", schema::yes()),
                    ("id", schema::text()),
                    ("tier", schema::word(&["long"])),
                ],
                [],
            )
        },
    )
};

fn create_many(call: &Call<'_>, arguments: &Arguments) -> Result<Answer, ToolError> {
    if call.engine.live.is_read_only() {
        return Err(EngineError::ReadOnly(call.engine.live.root().to_owned()).into());
    }
    let items = arguments.objects("memories")?.unwrap_or_default();
    let (mut places, mut memories) = (Vec::new(), Vec::new());
    let mut outcomes: Vec<Result<Stem, ToolError>> = Vec::new();
    for (place, item) in items.into_iter().enumerate() {
        let given = item
            .map_err(ToolError::from)
            .and_then(|item| {
                let mut item = CREATE.unwrapped(item).map_err(ToolError::refused)?;
                item.retain(|name, _| !OF_ITSELF.contains(&name.as_str()));
                Ok(Arguments::new(item, write::STORE.parameters)?)
            })
            .and_then(|item| write::given(call, &item));
        match given {
            Ok((memory, _)) => {
                places.push(place);
                memories.push(memory);
                outcomes.push(Err(ToolError::refused("it was not stored")));
            }
            Err(error) => outcomes.push(Err(error)),
        }
    }
    let stored = ops::remember_many(call.engine, memories, &write::policy(call))?;
    for (place, stored) in places.into_iter().zip(stored) {
        outcomes[place] = stored.map_err(ToolError::from);
    }
    let are_stored = outcomes.iter().any(Result::is_ok);
    let (mut ids, mut errors) = (Vec::new(), Vec::new());
    for (place, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Ok(stem) => ids.push(call.engine.live.shown_id(&stem)),
            Err(error) => {
                let refusal = Refusal::of(&error);
                // Where nothing can be written, no item is to blame.
                if refusal.code == Refusal::DATABASE_ERROR && !are_stored {
                    return Err(error);
                }
                errors.push(format!("[{place}]: {}", refusal.message));
            }
        }
    }
    Ok(Answer::json(
        json!({"created": ids.len(), "errors": errors, "ids": ids}),
    ))
}

fn list(call: &Call<'_>, arguments: &Arguments) -> Result<Answer, ToolError> {
    let limit = find::limit(arguments, 20, find::MOST_FOUND)?;
    let filter = find::filter(call, arguments)?;
    let listing = Listing::of(&format!("memories {filter:?}"), arguments)?;
    let titles = Titles::of(call)?;
    let filter = titles.narrow(filter);
    let behind = Filter {
        after: listing.after.clone(),
        ..filter.clone()
    };
    let page = find::newest(call, behind, limit, listing.offset)?;
    let total = match listing.after {
        None => page.total,
        // Behind a place there are fewer than there are in all.
        Some(_) => find::newest(call, filter, 0, 0)?.total,
    };
    let last = page.hits.last().map(|hit| Position {
        at: hit.memory.timestamp.utc(),
        name: hit.name.clone(),
    });
    let is_more = listing.offset.saturating_add(limit) < page.total;
    let mut rows: Vec<Value> = find::rows(call, &page);
    titles.name_others(call.engine, &mut rows);
    Ok(Answer::json(json!({
        "count": rows.len(),
        "memories": rows,
        "total": total,
        "next_cursor": listing.next(last.filter(|_| is_more)),
    })))
}

//! `/memories`: to make, list, read, change and remove them.

use schemars::JsonSchema;
use serde::Serialize;

use super::listing;
use super::listing::Listing;
use crate::dialect::ai_memory::titles::{ListedMemory, OTHERS, Titles};
use crate::dialect::ai_memory::{find, write};
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::endpoint::{Endpoint, ParameterLocation, Refusal, Verb};
use crate::dialect::parameter::{Form, Parameter};
use crate::dialect::reply::{Reply, ToolError};
use crate::dialect::views::schema_of;
use crate::engine::{EngineError, ops};
use crate::model::{Filter, Position, Stem};

/// Maximum number of memories in one request.
pub(super) const MOST_AT_ONCE: usize = 1_000;

/// Member of a `GET` response that holds the memory, and those beside it.
const WRAPPER: Option<(&str, &[&str])> = Some(("memory", &["links"]));
/// Fields of a memory that are shown and cannot be set.
const OF_ITSELF: &[&str] = &[
    "id",
    "access_count",
    "created_at",
    "updated_at",
    "last_accessed_at",
    OTHERS,
];

/// Endpoint `POST /memories`.
pub(super) const CREATE: Endpoint = Endpoint {
    ignored: OF_ITSELF,
    wrapper: WRAPPER,
    statuses: &[201],
    ..Endpoint::of_tool(
        Verb::Post,
        "/memories",
        "create_memory",
        "Store a memory; the same title and namespace again replace its content. Without \
         `tier`, `expires_at` and `ttl_secs` it ends 7 days after it was made, later where it is \
         used; with `tier: long` it never ends.",
        &write::STORE,
        schema_of::<write::StoredView>,
    )
};

/// Endpoint `POST /memories/bulk`.
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
    ..Endpoint::new(
        Verb::Post,
        "/memories/bulk",
        "create_memories",
        "Store many memories; one that cannot be stored costs only itself. They end as those of \
         `POST /memories` do: without a tier after 7 days.",
        create_many,
        schema_of::<CreatedView>,
    )
};

/// Endpoint `GET /memories`.
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
    is_short: true,
    ..Endpoint::new(
        Verb::Get,
        "/memories",
        "list_memories",
        "The memories, the newest first, page by page.",
        list,
        schema_of::<MemoryPage>,
    )
};

/// Endpoint `PUT /memories/{id}`.
pub(super) const UPDATE: Endpoint = Endpoint {
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
    ..Endpoint::of_tool(
        Verb::Put,
        "/memories/{id}",
        "update_memory",
        "Change what is given of one memory; the rest stays.",
        &write::UPDATE,
        schema_of::<write::UpdatedView>,
    )
};

/// The outcome of storing many memories.
#[derive(Serialize, JsonSchema)]
struct CreatedView {
    created: usize,
    errors: Vec<String>,
    ids: Vec<String>,
}

fn create_many(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
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
    Ok(Reply::of(&CreatedView {
        created: ids.len(),
        errors,
        ids,
    }))
}

/// A page of the memories.
#[derive(Serialize, JsonSchema)]
struct MemoryPage {
    count: usize,
    memories: Vec<ListedMemory>,
    total: usize,
    #[schemars(extend("about" = listing::NEXT_CURSOR))]
    next_cursor: Option<String>,
}

fn list(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let limit = find::limit(arguments, 20, find::MOST_FOUND)?;
    let filter = find::filter(call, arguments)?;
    let listing = Listing::of("memories", arguments)?;
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
    let memories = find::rows(call, &titles, &page);
    Ok(Reply::of(&MemoryPage {
        count: memories.len(),
        memories,
        total,
        next_cursor: listing.next(last.filter(|_| is_more)),
    }))
}

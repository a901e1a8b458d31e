//! `/export` and `/import`: all memories and links at once.

use serde_json::Value;
use serde_json::json;

use super::memories::MOST_AT_ONCE;
use super::row::reads;
use super::row::writes;
use super::schema;
use crate::dialect::ai_memory::check;
use crate::dialect::ai_memory::shape;
use crate::dialect::arguments::Arguments;
use crate::dialect::arguments::BadArgument;
use crate::dialect::call::Call;
use crate::dialect::endpoint::Answer;
use crate::dialect::endpoint::Endpoint;
use crate::dialect::endpoint::Verb;
use crate::dialect::json::JsonObject;
use crate::dialect::parameter::Form;
use crate::dialect::parameter::Parameter;
use crate::dialect::reply::ToolError;
use crate::engine::Import;
use crate::engine::ImportDefaults;
use crate::engine::Imported;
use crate::engine::ai_memory_objects;
use crate::engine::ops;
use crate::model::Filter;
use crate::model::Handle;
use crate::model::Memory;
use crate::model::Stem;

/// Maximum number of links in one import.
const MOST_LINKS: usize = 100_000;

pub(super) const EXPORT: Endpoint = reads(
    "/export",
    "export",
    "All memories and links.",
    export,
    || {
        schema::object(
            [
                ("memories", schema::list(&schema::memory())),
                ("links", schema::list(&schema::link())),
                ("count", schema::count()),
                ("exported_at", schema::moment()),
            ],
            [],
        )
    },
);

pub(super) const IMPORT: Endpoint = Endpoint {
    parameters: &[
        Parameter::new(
            "memories",
            Form::Objects {
                members: MEMORY,
                most: MOST_AT_ONCE,
            },
            "At most 1,000",
        )
        .required(),
        Parameter::new(
            "links",
            Form::Objects {
                members: LINK,
                most: MOST_LINKS,
            },
            "Between them, and those that were imported before",
        ),
        // What else an export says.
        Parameter::REST,
    ],
    is_large: true,
    ..writes(
        Verb::Post,
        "/import",
        "import",
        "Bring in the memories and links of an export; what was imported before stays as it is, and one that cannot be taken costs only itself.",
        import,
        || {
            schema::object(
                [
                    ("imported", schema::count()),
                    ("errors", schema::texts()),
                    ("known", schema::count()),
                    ("linked", schema::count()),
                ],
                [
                    (
                        "not_carried",
                        json!({"type": "object", "additionalProperties": schema::count()}),
                    ),
                    ("warnings", schema::texts()),
                ],
            )
        },
    )
};

const MEMORY: &[Parameter] = &[
    Parameter::text("id", "What it is called where it comes from"),
    Parameter::text("title", "").required(),
    Parameter::text("content", "").required(),
    Parameter::word("tier", check::TIERS, ""),
    Parameter::text("namespace", ""),
    Parameter::texts("tags", ""),
    Parameter::whole("priority", 1, 10, ""),
    Parameter::share("confidence", ""),
    Parameter::text("source", ""),
    Parameter::text("created_at", ""),
    Parameter::text("expires_at", ""),
    Parameter::new("metadata", Form::Any, "An object, or one as JSON in a text"),
    Parameter::REST,
];

const LINK: &[Parameter] = &[
    Parameter::text("source_id", "").required(),
    Parameter::text("target_id", "").required(),
    Parameter::text("relation", ""),
    Parameter::REST,
];

fn export(call: &Call<'_>, _: &Arguments) -> Result<Answer, ToolError> {
    let engine = call.engine;
    let (mut memories, mut shown) = (Vec::new(), Vec::new());
    ops::export(engine, &Filter::default(), &mut |memory, _| {
        let mut stated = shape::memory(engine, &memory);
        // What uses have added comes with the uses: who takes both in would count them twice.
        let priority = memory.importance.unwrap_or(shape::USUAL_IMPORTANCE);
        stated.insert("priority".to_owned(), json!(priority));
        shown.push(Value::Object(stated));
        // Of the texts one copy is enough.
        memories.push(Memory {
            content: String::new(),
            ..memory
        });
    })?;
    let links = ops::stated_relations(engine, &memories)?;
    let links: Vec<Value> = links.iter().map(|link| shape::link(engine, link)).collect();
    Ok(Answer::json(json!({
        "count": shown.len(),
        "memories": shown,
        "links": links,
        "exported_at": shape::moment(engine.live.now()),
    })))
}

fn import(call: &Call<'_>, arguments: &Arguments) -> Result<Answer, ToolError> {
    let engine = call.engine;
    let mut errors = Vec::new();
    let mut of = |list: &str, checked: fn(JsonObject) -> Result<JsonObject, ToolError>| {
        let items = arguments.objects(list)?;
        let mut good = Vec::new();
        for (place, item) in items.into_iter().flatten().enumerate() {
            let source = format!("{list}[{place}]");
            match item.map_err(ToolError::from).and_then(checked) {
                Ok(item) => good.push((source, item)),
                Err(error) => errors.push(format!("{source}: {error}")),
            }
        }
        Ok::<_, BadArgument>(good)
    };
    let memories = of("memories", memory)?;
    let links = of("links", link)?;
    if !arguments.has("memories") {
        return Err(ToolError::refused(
            "`memories` is missing: give a list of objects",
        ));
    }
    let defaults = ImportDefaults {
        agent: call.agent(),
        user: call.preferences.user.clone(),
        namespace: None,
    };
    let (mut imported, mut known) = (0_usize, 0_usize);
    let mut warnings = Vec::new();
    let mut fault = None;
    let items = ai_memory_objects(memories, links, &defaults);
    let report = ops::import(engine, items, Import::default(), &mut |one| match one {
        Imported::Added { stem, screened, .. } => {
            imported += 1;
            let id = stem
                .map(|stem| engine.live.shown_id(&stem))
                .unwrap_or_default();
            let found = screened.warnings().into_iter();
            warnings.extend(found.map(|found| format!("{id}: {found}")));
        }
        Imported::Known { .. } => known += 1,
        Imported::LeftOut { source_id, what } => {
            let id = source_id.unwrap_or_default();
            errors.push(format!("{id}: {what} are left out"));
        }
        Imported::Failed {
            source,
            reason,
            fault: Some(error),
        } => {
            tracing::error!("{source}: {reason}");
            errors.push(format!("{source}: Internal server error"));
            fault.get_or_insert(error);
        }
        Imported::Failed { source, reason, .. } => match reason.starts_with(&source) {
            true => errors.push(reason),
            false => errors.push(format!("{source}: {reason}")),
        },
    })?;
    // Where nothing can be written, no memory is to blame.
    if let Some(error) = fault.filter(|_| imported == 0) {
        return Err(error.into());
    }
    let mut reply = crate::dialect::reply::object(json!({
        "imported": imported,
        "errors": errors,
        "known": known,
        "linked": report.linked,
    }));
    if !report.not_carried.is_empty() {
        reply.insert("not_carried".to_owned(), json!(report.not_carried));
    }
    if !warnings.is_empty() {
        reply.insert("warnings".to_owned(), json!(warnings));
    }
    Ok(Answer::object(reply))
}

/// The memory as it is, if it keeps to the limits of this tool set. What this program exported may
/// be of another one, with limits of its own; it comes back as it went.
fn memory(item: JsonObject) -> Result<JsonObject, ToolError> {
    let arguments = Arguments::new(item, MEMORY)?;
    let id = arguments.text("id")?;
    if let Some(id) = &id {
        check::id(&arguments, "id")?;
        if Handle::parse(id).is_some() || Stem::parse(id).is_some() {
            return Ok(arguments.values().clone());
        }
    }
    let missing = |name: &str| ToolError::refused(format!("`{name}` is missing: give a text"));
    check::title(&arguments)?.ok_or_else(|| missing("title"))?;
    check::content(&arguments, "content")?.ok_or_else(|| missing("content"))?;
    check::namespace(&arguments)?;
    check::tags(&arguments)?;
    check::one_of(&arguments, "tier", check::TIERS)?;
    check::source(&arguments)?;
    check::metadata(&arguments)?;
    arguments.number("priority")?;
    arguments.share("confidence")?;
    arguments.moment("created_at")?;
    // One that has passed is no error: then the memory comes in as one whose life is over.
    arguments.moment("expires_at")?;
    Ok(arguments.values().clone())
}

fn link(item: JsonObject) -> Result<JsonObject, ToolError> {
    let arguments = Arguments::new(item, LINK)?;
    check::id(&arguments, "source_id")?;
    check::id(&arguments, "target_id")?;
    arguments.text("relation")?;
    Ok(arguments.values().clone())
}

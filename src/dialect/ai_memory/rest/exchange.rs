//! `/export` and `/import`: all memories and links at once.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::memories::MOST_AT_ONCE;
use crate::dialect::ai_memory::shape::{LinkView, MemoryView, Moment};
use crate::dialect::ai_memory::{check, shape};
use crate::dialect::arguments::{Arguments, BadArgument};
use crate::dialect::call::Call;
use crate::dialect::endpoint::{Endpoint, Verb};
use crate::dialect::json::JsonObject;
use crate::dialect::parameter::{Form, Parameter};
use crate::dialect::reply::{Reply, ToolError};
use crate::dialect::views::schema_of;
use crate::engine::live::UsesOfAll;
use crate::engine::{Import, ImportDefaults, Imported, ai_memory_objects, ops};
use crate::model::{Filter, Handle, Memory, Stem};

/// Maximum number of links in one import.
const MOST_LINKS: usize = 100_000;

/// Endpoint `GET /export`.
pub(super) const EXPORT: Endpoint = Endpoint::new(
    Verb::Get,
    "/export",
    "export",
    "All memories and links.",
    export,
    schema_of::<ExportView>,
);

/// Endpoint `POST /import`.
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
    ..Endpoint::new(
        Verb::Post,
        "/import",
        "import",
        "Bring in the memories and links of an export; what was imported before stays as it is, and one that cannot be taken costs only itself.",
        import,
        schema_of::<ImportView>,
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

/// All memories and links.
#[derive(Serialize, JsonSchema)]
struct ExportView {
    count: usize,
    memories: Vec<MemoryView>,
    links: Vec<LinkView>,
    exported_at: Moment,
}

fn export(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    let engine = call.engine;
    let (mut memories, mut shown) = (Vec::new(), Vec::new());
    let uses = UsesOfAll::read(&engine.live);
    ops::export(engine, &Filter::default(), &mut |memory, _| {
        let mut view = MemoryView::by_uses(engine, &memory, &uses);
        // What uses have added comes with the uses: who takes both in would count them twice.
        view.priority = memory.importance.unwrap_or(shape::USUAL_IMPORTANCE);
        shown.push(view);
        // Of the texts one copy is enough.
        memories.push(Memory {
            content: String::new(),
            ..memory
        });
    })?;
    let links = ops::stated_relations(engine, &memories)?;
    Ok(Reply::of(&ExportView {
        count: shown.len(),
        memories: shown,
        links: links
            .iter()
            .map(|link| LinkView::of(engine, link))
            .collect(),
        exported_at: engine.live.now().into(),
    }))
}

/// The outcome of an import.
#[derive(Serialize, JsonSchema)]
struct ImportView {
    imported: usize,
    errors: Vec<String>,
    known: usize,
    linked: usize,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    not_carried: BTreeMap<&'static str, usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

fn import(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
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
    Ok(Reply::of(&ImportView {
        imported,
        errors,
        known,
        linked: report.linked,
        not_carried: report.not_carried,
        warnings,
    }))
}

/// Returns the memory unchanged, if it is within the limits of this tool set. One that this program
/// exported may be of another tool set with other limits, and comes back as it was.
fn memory(item: JsonObject) -> Result<JsonObject, ToolError> {
    let arguments = Arguments::new(item, MEMORY)?;
    let id = arguments.text("id")?;
    if let Some(id) = &id {
        check::id(&arguments, "id")?;
        if Handle::parse(id).is_some() || Stem::parse(id).is_some() {
            return Ok(arguments.values().clone());
        }
    }
    check::title(&arguments)?.ok_or_else(|| check::missing("title"))?;
    check::content(&arguments, "content")?.ok_or_else(|| check::missing("content"))?;
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

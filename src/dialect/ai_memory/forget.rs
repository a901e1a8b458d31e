//! `memory_forget` and `memory_gc`: many memories at once to the archive.

use serde_json::Value;
use serde_json::json;

use super::check;
use super::shape;
use super::titles::Titles;
use super::tool::takes_away;
use super::tool::tool;
use super::tool::writes;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::json::JsonObject;
use crate::dialect::parameter::Literal;
use crate::dialect::parameter::Parameter;
use crate::dialect::reply::Reply;
use crate::dialect::reply::ToolError;
use crate::dialect::tool_set::Tool;
use crate::engine::Archived;
use crate::engine::ops;
use crate::model::Filter;
use crate::model::Stem;
use crate::model::Tier;

const DRY_RUN: Parameter = Parameter::flag("dry_run", "Only say which").or(Literal::Flag(false));

pub(super) const FORGET: Tool = tool(
    "memory_forget",
    "Take all memories out of sight that are in a namespace, hold every word of a pattern, and have a tier; at least one of the three must be given. They go to the archive, from where memory_archive_restore brings each back. See with dry_run first.",
    &[
        Parameter::text("namespace", "In it, and in what lies in it"),
        Parameter::text(
            "pattern",
            "Words that title, tags or content hold, all of them",
        ),
        Parameter::word("tier", check::TIERS, ""),
        DRY_RUN,
    ],
    takes_away("Forget memories"),
    forget,
);

pub(super) const GC: Tool = tool(
    "memory_gc",
    "Move the memories whose life has ended to the archive. A server does that by itself; nothing that still lives is touched.",
    &[DRY_RUN],
    writes("Collect expired memories"),
    gc,
);

fn forget(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let tiers: Vec<Tier> = arguments.word("tier")?.into_iter().collect();
    let filter = Filter {
        namespaces: arguments.set_text("namespace")?.into_iter().collect(),
        words: arguments.set_text("pattern")?.into_iter().collect(),
        untiered: tiers.contains(&Tier::Long),
        tiers,
        ..Filter::default()
    };
    if filter == Filter::default() {
        let what = "at least one of namespace, pattern and tier is required";
        return Err(ToolError::refused(what));
    }
    let dry_run = arguments.flag("dry_run")?.unwrap_or(false);
    let titles = Titles::of(call)?;
    let archived = ops::forget_all(call.engine, &filter, None, dry_run)?;
    Ok(reply(call, "deleted", archived, &titles, dry_run))
}

fn gc(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let dry_run = arguments.flag("dry_run")?.unwrap_or(false);
    let archived = ops::expire(call.engine, dry_run)?;
    let titles = Titles::default();
    Ok(reply(call, "expired_deleted", archived, &titles, dry_run))
}

/// What was archived, or would be, a title counted once. What could not be is said, without where
/// it lies.
fn reply(call: &Call<'_>, done: &str, archived: Archived, titles: &Titles, dry_run: bool) -> Reply {
    let stems: Vec<Stem> = archived.moved.into_iter().map(|moved| moved.stem).collect();
    let mut reply = JsonObject::new();
    let mut put = |key: &str, value: Value| drop(reply.insert(key.to_owned(), value));
    let count = titles.count(&stems);
    put(done, json!(if dry_run { 0 } else { count }));
    if dry_run {
        put("dry_run", json!(true));
        put("would_delete", json!(count));
    }
    put("ids", json!(shape::shown_ids(call.engine, &stems)));
    if !archived.failed.is_empty() {
        put("failed", json!(archived.failed.len()));
    }
    Reply::object(reply)
}

//! `memory_forget` and `memory_gc`: many memories at once to the archive.

use schemars::JsonSchema;
use serde::Serialize;

use super::titles::Titles;
use super::tool::tool;
use super::{check, shape};
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::parameter::{Literal, Parameter};
use crate::dialect::reply::{Reply, ToolError};
use crate::dialect::tool_set::{Hints, Tool};
use crate::engine::{Archived, ops};
use crate::model::{Filter, Stem, Tier};

const DRY_RUN: Parameter = Parameter::flag("dry_run", "Only say which").or(Literal::Flag(false));

/// Tool `memory_forget`.
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
    Hints::takes_away("Forget memories"),
    forget,
);

/// Tool `memory_gc`.
pub(super) const GC: Tool = tool(
    "memory_gc",
    "Move the memories whose life has ended to the archive. A server does that by itself; nothing that still lives is touched.",
    &[DRY_RUN],
    Hints::writes("Collect expired memories"),
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
    let taken = Taken::of(call, archived, &titles, dry_run);
    Ok(Reply::of(&ForgottenView {
        deleted: taken.done(),
        taken,
    }))
}

fn gc(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let dry_run = arguments.flag("dry_run")?.unwrap_or(false);
    let archived = ops::expire(call.engine, dry_run)?;
    let taken = Taken::of(call, archived, &Titles::default(), dry_run);
    Ok(Reply::of(&ExpiredView {
        expired_deleted: taken.done(),
        taken,
    }))
}

/// Memories that were forgotten.
#[derive(Serialize, JsonSchema)]
pub(super) struct ForgottenView {
    deleted: usize,
    #[serde(flatten)]
    taken: Taken,
}

/// Memories whose life had ended.
#[derive(Serialize, JsonSchema)]
pub(super) struct ExpiredView {
    expired_deleted: usize,
    #[serde(flatten)]
    taken: Taken,
}

/// Memories that were archived, or would be; those of one title count once.
#[derive(Serialize, JsonSchema)]
struct Taken {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = [true]))]
    dry_run: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    would_delete: Option<usize>,
    ids: Vec<String>,
    /// Number of memories that could not be moved, without where they lie.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<usize>,
    #[serde(skip)]
    count: usize,
}

impl Taken {
    fn of(call: &Call<'_>, archived: Archived, titles: &Titles, dry_run: bool) -> Taken {
        let stems: Vec<Stem> = archived.moved.into_iter().map(|moved| moved.stem).collect();
        let count = titles.count(&stems);
        Taken {
            dry_run: dry_run.then_some(true),
            would_delete: dry_run.then_some(count),
            ids: shape::shown_ids(call.engine, &stems),
            failed: Some(archived.failed.len()).filter(|failed| *failed > 0),
            count,
        }
    }

    /// Returns the number of memories that were moved.
    fn done(&self) -> usize {
        match self.dry_run {
            Some(_) => 0,
            None => self.count,
        }
    }
}

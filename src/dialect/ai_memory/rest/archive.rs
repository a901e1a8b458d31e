//! `/archive`: the memories in the archive, page by page.

use schemars::JsonSchema;
use serde::Serialize;

use super::listing;
use super::listing::Listing;
use crate::dialect::ai_memory::archive;
use crate::dialect::ai_memory::archive::ArchivedMemory;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::endpoint::{Endpoint, Verb};
use crate::dialect::reply::{Reply, ToolError};
use crate::dialect::views::schema_of;
use crate::model::Position;

/// Endpoint `GET /archive`.
pub(super) const LIST: Endpoint = Endpoint {
    parameters: &[
        archive::NAMESPACE,
        listing::limit(archive::USUAL, "At most 1,000: more counts as that"),
        listing::OFFSET,
        listing::CURSOR,
    ],
    ..Endpoint::new(
        Verb::Get,
        "/archive",
        "list_archive",
        "The archived memories, the last archived first, page by page.",
        list,
        schema_of::<ArchivePage>,
    )
};

#[derive(Serialize, JsonSchema)]
struct ArchivePage {
    count: usize,
    archived: Vec<ArchivedMemory>,
    total: usize,
    #[schemars(extend("about" = listing::NEXT_CURSOR))]
    next_cursor: Option<String>,
}

fn list(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let namespace = arguments.set_text("namespace")?;
    let limit = arguments.at_most("limit", archive::MOST_LISTED)?;
    let limit = limit.unwrap_or(archive::USUAL) as usize;
    let listing = Listing::of("archive", arguments)?;
    let mut archived = archive::archived_of(call, namespace.as_deref())?;
    let total = archived.len();
    if let Some(position) = &listing.after {
        archived.retain(|one| position.is_before(one.at, &one.name));
    }
    let is_more = listing.offset.saturating_add(limit) < archived.len();
    let page: Vec<_> = archived
        .into_iter()
        .skip(listing.offset)
        .take(limit)
        .collect();
    let last = page.last().map(|one| Position {
        at: one.at,
        name: one.name.clone(),
    });
    let shown = page.iter().map(|one| ArchivedMemory::of(call, one));
    Ok(Reply::of(&ArchivePage {
        count: page.len(),
        archived: shown.collect(),
        total,
        next_cursor: listing.next(last.filter(|_| is_more)),
    }))
}

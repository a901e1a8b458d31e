//! Paging of lists: limit, offset and cursor.

use crate::dialect::arguments::Arguments;
use crate::dialect::cursor;
use crate::dialect::parameter::{Literal, Parameter};
use crate::dialect::reply::ToolError;
use crate::model::Position;

/// Parameter for the number of memories to skip.
pub(super) const OFFSET: Parameter =
    Parameter::whole("offset", 0, u64::MAX, "Number of memories to skip").or(Literal::Whole(0));
/// Parameter for the cursor.
pub(super) const CURSOR: Parameter = Parameter::text(
    "cursor",
    "The `next_cursor` of an answer to the same filters, in place of `offset`: what is added or removed meanwhile makes no page skip or repeat a memory",
);

/// Description of the `next_cursor` of a response.
pub(super) const NEXT_CURSOR: &str =
    "What to send as `cursor` for what comes next; null at the end";

/// Returns the parameter for the number of results. A greater number than the maximum is no error, so the
/// schema has no upper bound.
pub(super) const fn limit(usual: u64, about: &'static str) -> Parameter {
    Parameter::whole("limit", 1, u64::MAX, about).or(Literal::Whole(usual))
}

/// Beginning of a page of a list.
pub(super) struct Listing {
    list: String,
    /// Position of the last memory of the former page.
    pub after: Option<Position>,
    /// Number of memories to skip.
    pub offset: usize,
}

impl Listing {
    /// Reads the beginning from the arguments of a list of `kind`. A cursor serves the filters as they are given: `3d` is
    /// another moment with each page.
    ///
    /// # Errors
    ///
    /// Fails if the cursor is of another list.
    pub fn of(kind: &str, arguments: &Arguments) -> Result<Listing, ToolError> {
        let filters = arguments.values().iter().filter(|(name, value)| {
            !["cursor", "offset", "limit"].contains(&name.as_str()) && !value.is_null()
        });
        let mut filters: Vec<String> = filters
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        filters.sort();
        let list = format!("{kind} {}", filters.join("&"));
        let after = arguments.set_text("cursor")?;
        let after = after.map(|text| cursor::read(&list, &text)).transpose()?;
        let offset = arguments.number("offset")?.unwrap_or(0);
        if after.is_some() && offset > 0 {
            let what = "`cursor` and `offset` both say where to begin: give one of them";
            return Err(ToolError::refused(what));
        }
        Ok(Listing {
            list,
            after,
            offset: usize::try_from(offset).unwrap_or(usize::MAX),
        })
    }

    /// Returns the cursor of the page after `last`; `None` at the end.
    pub fn next(&self, last: Option<Position>) -> Option<String> {
        last.map(|last| cursor::written(&self.list, &last))
    }
}

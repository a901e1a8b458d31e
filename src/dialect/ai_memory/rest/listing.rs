//! What lists have in common: how many, from which place on, and how they go on.

use crate::dialect::arguments::Arguments;
use crate::dialect::cursor;
use crate::dialect::parameter::Literal;
use crate::dialect::parameter::Parameter;
use crate::dialect::reply::ToolError;
use crate::model::Position;

pub(super) const OFFSET: Parameter =
    Parameter::whole("offset", 0, u64::MAX, "Number of memories to skip").or(Literal::Whole(0));
pub(super) const CURSOR: Parameter = Parameter::text(
    "cursor",
    "The `next_cursor` of an answer to the same filters, in place of `offset`: what is added or removed meanwhile makes no page skip or repeat a memory",
);

/// How many are wanted. More than there may be is no error, and so the schema has no upper bound.
pub(super) const fn limit(usual: u64, about: &'static str) -> Parameter {
    Parameter::whole("limit", 1, u64::MAX, about).or(Literal::Whole(usual))
}

/// Where a list begins.
pub(super) struct Listing {
    list: String,
    /// Only what is behind it.
    pub after: Option<Position>,
    /// Number of memories that are skipped.
    pub offset: usize,
}

impl Listing {
    /// Of the list that `list` describes: its kind, and what it is filtered by.
    ///
    /// # Errors
    ///
    /// Fails if the cursor is of another list.
    pub fn of(list: &str, arguments: &Arguments) -> Result<Listing, ToolError> {
        let after = arguments.set_text("cursor")?;
        let after = after.map(|text| cursor::read(list, &text)).transpose()?;
        let offset = arguments.number("offset")?.unwrap_or(0);
        if after.is_some() && offset > 0 {
            let what = "`cursor` and `offset` both say where to begin: give one of them";
            return Err(ToolError::refused(what));
        }
        Ok(Listing {
            list: list.to_owned(),
            after,
            offset: usize::try_from(offset).unwrap_or(usize::MAX),
        })
    }

    /// How it goes on behind `last`; `None` if that is the end.
    pub fn next(&self, last: Option<Position>) -> Option<String> {
        last.map(|last| cursor::written(&self.list, &last))
    }
}

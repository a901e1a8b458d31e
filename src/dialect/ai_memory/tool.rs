//! How a tool of this set is written down: its row, and what clients may know of it.

use super::errors;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::parameter::Parameter;
use crate::dialect::reply::Reply;
use crate::dialect::reply::ToolError;
use crate::dialect::tool_set::Hints;
use crate::dialect::tool_set::Tool;

type Run = fn(&Call<'_>, &Arguments) -> Result<Reply, ToolError>;

pub(super) const fn tool(
    name: &'static str,
    description: &'static str,
    parameters: &'static [Parameter],
    hints: Hints,
    run: Run,
) -> Tool {
    Tool {
        name,
        description,
        parameters,
        result: None,
        hints,
        run,
        refuse: errors::refuse,
    }
}

/// Of a tool that changes no memory.
pub(super) const fn reads(title: &'static str) -> Hints {
    Hints {
        title,
        read_only: true,
        destructive: false,
        idempotent: true,
        at_hand: false,
    }
}

/// Of a tool that adds or changes.
pub(super) const fn writes(title: &'static str) -> Hints {
    Hints {
        read_only: false,
        idempotent: false,
        ..reads(title)
    }
}

/// Of a tool that takes memories out of sight, or away.
pub(super) const fn takes_away(title: &'static str) -> Hints {
    Hints {
        destructive: true,
        ..writes(title)
    }
}

/// The same, of a tool that clients should show at once.
pub(super) const fn at_hand(hints: Hints) -> Hints {
    Hints {
        at_hand: true,
        ..hints
    }
}

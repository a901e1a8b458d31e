//! The constructor of this set's tools.

use super::errors;
use crate::dialect::parameter::Parameter;
use crate::dialect::tool_set::{Hints, Run, Tool};

/// Returns a tool whose errors have a code and a message.
pub(super) const fn tool(
    name: &'static str,
    description: &'static str,
    parameters: &'static [Parameter],
    hints: Hints,
    run: Run,
) -> Tool {
    Tool::new(name, description, parameters, hints, run, errors::refuse)
}

//! Arguments that several tools of this set take.

use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::reply::ToolError;
use crate::model::normalized_namespace;

/// Reads a required text that is not blank.
pub(super) fn needed(arguments: &Arguments, name: &str) -> Result<String, ToolError> {
    let given = arguments.set_text(name)?;
    given.ok_or_else(|| ToolError::refused(format!("`{name}` is missing: give a text")))
}

/// Maximum length of a group's name, in bytes.
pub(super) const MOST_GROUP_BYTES: usize = 512;

/// Returns the namespace of a call's group: as `given`, else the session's, else `default`.
///
/// A group is called by any text, also by the path of a workspace, and its namespace is that text
/// without blanks and slashes at its end.
pub(super) fn group(call: &Call<'_>, given: Option<String>) -> Result<String, ToolError> {
    let group = given.or_else(|| call.preferences.group.clone());
    let group = group.unwrap_or_else(|| "default".to_owned());
    let group = group.trim();
    if group.len() > MOST_GROUP_BYTES || group.chars().any(char::is_control) {
        return Err(ToolError::refused(format!(
            "`group` must be a name or path of at most {MOST_GROUP_BYTES} bytes, on one line"
        )));
    }
    // Of a path of Windows the last stroke says nothing, either.
    Ok(normalized_namespace(group.trim_end_matches('\\')).into_owned())
}

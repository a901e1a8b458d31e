//! Entries in the arguments of a call.

use super::entry::{Entry, readable, required};
use super::vocabulary;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::reply::ToolError;

/// # Errors
///
/// Fails if it is absent or none of the six.
pub(super) fn category(arguments: &Arguments, name: &str) -> Result<&'static str, ToolError> {
    vocabulary::category(&arguments.required_text(name)?)
}

/// # Errors
///
/// Fails if it is absent or empty.
pub(super) fn key(arguments: &Arguments, name: &str) -> Result<String, ToolError> {
    let key = arguments.required_text(name)?.trim().to_owned();
    if key.is_empty() {
        return Err(ToolError::refused(format!("`{name}` is empty: give a key")));
    }
    Ok(key)
}

/// Returns the entry of a category and a key in two arguments.
///
/// # Errors
///
/// As for [`category`] and [`key`], and if there is no such entry.
pub(super) fn entry(
    call: &Call<'_>,
    arguments: &Arguments,
    category_name: &str,
    key_name: &str,
) -> Result<Entry, ToolError> {
    let category = category(arguments, category_name)?;
    required(call, category, &key(arguments, key_name)?)
}

/// Returns as [`entry`], for calls that only read.
///
/// # Errors
///
/// As for [`entry`].
pub(super) fn readable_entry(call: &Call<'_>, arguments: &Arguments) -> Result<Entry, ToolError> {
    let category = category(arguments, "category")?;
    readable(call, category, &key(arguments, "key")?)
}

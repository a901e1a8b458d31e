//! Settings that variables of several programs decide together: history, remote and logs.

use super::environment::Environment;
use super::layer::printable;
use super::setting::{Origin, Setting};
use super::table::SettingId;
use super::values::SettingValues;

/// Whether changes are committed. Where nothing else says it, AIAML's variable does: that program
/// keeps no history without syncing.
pub(super) fn git(environment: &Environment, values: &SettingValues) -> Setting<bool> {
    let git = values.switch(SettingId::Git);
    match aiaml_sync(environment) {
        Some(Setting {
            value: Ok(false),
            origin,
        }) if git.origin == Origin::Default => Setting::new(false, origin),
        _ => git,
    }
}

/// Returns the value of `AIAML_ENABLE_SYNC`; `Err` with its value if that is neither `true` nor `false`.
fn aiaml_sync(environment: &Environment) -> Option<Setting<Result<bool, String>>> {
    let Setting { value, origin } = environment.variable(&["AIAML_ENABLE_SYNC"])?;
    let value = match value.to_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(value),
    };
    Some(Setting { value, origin })
}

/// Warns of a value of `AIAML_ENABLE_SYNC` that nobody knows, once for all that it decides.
pub(super) fn check_aiaml_sync(environment: &Environment, warnings: &mut Vec<String>) {
    if let Some(Setting {
        value: Err(value),
        origin,
    }) = aiaml_sync(environment)
    {
        let shown = printable(&value, LONGEST_VALUE);
        warnings.push(format!(
            "{origin} is `{shown}`, which is neither true nor false: it is taken as not set"
        ));
    }
}

/// Named by the environment only: a store must not send itself anywhere. Under the names of the
/// three-tool program an address alone is consent, and so is `AIAML_ENABLE_SYNC=true` without one.
pub(super) fn remote(environment: &Environment) -> Setting<Option<String>> {
    let names = SettingId::Remote.row().variables;
    let enabled = aiaml_sync(environment);
    let says = |on| {
        enabled
            .as_ref()
            .is_some_and(|setting| setting.value == Ok(on))
    };
    let named = environment.variable(names);
    let is_aiaml = |setting: &Setting<String>| setting.origin == Origin::Variable(names[1]);
    let remote = match named {
        Some(named) if is_aiaml(&named) && says(false) => None,
        Some(named) => Some(named),
        None if says(true) => enabled.clone().map(|setting| Setting {
            value: String::new(),
            origin: setting.origin,
        }),
        None => None,
    };
    Setting::optional(remote)
}

/// Maximum number of characters of a variable's value in a warning.
const LONGEST_VALUE: usize = 40;

/// The level of logs where nothing better is said.
const USUAL_LEVEL: &str = "warn";

/// Returns a level that nobody knows is warned of, and the usual one is taken.
pub(super) fn log(environment: &Environment, warnings: &mut Vec<String>) -> Setting<String> {
    let names = SettingId::Log.row().variables;
    let Some(Setting { value, origin }) = environment.variable(names) else {
        return Setting {
            value: USUAL_LEVEL.to_owned(),
            origin: Origin::Default,
        };
    };
    let level = match origin {
        Origin::Variable("AIAML_LOG_LEVEL" | "LOCI_LOG_LEVEL") => foreign_level(&value),
        // Where other programs are meant, too, one word may name one of them.
        Origin::Variable("RUST_LOG") => is_filter(&value).then_some(value.as_str()),
        _ => (is_filter(&value) && !is_unknown_word(&value)).then_some(value.as_str()),
    };
    if level.is_none() {
        let shown = printable(&value, LONGEST_VALUE);
        warnings.push(format!(
            "{origin} is `{shown}`, which is no level (off, error, warn, info, debug, trace): `{USUAL_LEVEL}` is taken"
        ));
    }
    Setting {
        value: level.unwrap_or(USUAL_LEVEL).to_owned(),
        origin,
    }
}

/// Returns the level that other programs call `name`, if one does.
fn foreign_level(name: &str) -> Option<&'static str> {
    Some(match name.to_uppercase().as_str() {
        "TRACE" => "trace",
        "DEBUG" => "debug",
        "INFO" => "info",
        "WARN" | "WARNING" => "warn",
        "ERROR" | "CRITICAL" => "error",
        "OFF" => "off",
        _ => return None,
    })
}

fn is_filter(value: &str) -> bool {
    tracing_subscriber::EnvFilter::try_new(value).is_ok()
}

/// Returns whether a filter is one word that is no level, nor this program: a target that logs nothing.
fn is_unknown_word(value: &str) -> bool {
    let is_word = !value.contains(['=', ',', '[', ':']);
    is_word
        && value != "memdir"
        && value
            .parse::<tracing::level_filters::LevelFilter>()
            .is_err()
}

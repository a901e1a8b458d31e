//! Single settings, read from their texts.

use std::time::Duration;

use super::settings::ConfigError;
use super::settings::Environment;
use super::settings::Origin;
use super::settings::Setting;
use super::settings::optional;
use super::sources::Layer;
use super::sources::Sources;
use super::sources::printable;
use crate::model::Layout;
use crate::secrets::Policy;
use crate::words::Language;

const MAX_LIMIT: usize = 1_000;

pub(super) fn languages(sources: &Sources<'_>) -> Result<Setting<Vec<Language>>, ConfigError> {
    let Some(Setting { value, origin }) = sources.text("languages", &["MEMDIR_LANGUAGES"])? else {
        return Ok(Setting {
            value: vec![Language::default()],
            origin: Origin::Default,
        });
    };
    let languages: Result<Vec<Language>, String> = value
        .split(',')
        .filter(|name| !name.trim().is_empty())
        .map(str::parse)
        .collect();
    match languages {
        Ok(value) if !value.is_empty() => Ok(Setting { value, origin }),
        Ok(_) => Err(ConfigError::BadValue {
            origin,
            key: "languages",
            what: "is empty".to_owned(),
        }),
        Err(what) => Err(ConfigError::BadValue {
            origin,
            key: "languages",
            what: format!("is wrong: {what}"),
        }),
    }
}

pub(super) fn git_setting(sources: &Sources<'_>) -> Result<Setting<bool>, ConfigError> {
    let Some(Setting { value, origin }) = sources.text("git", &["MEMDIR_GIT"])? else {
        // That program keeps no history then.
        if let Some(setting) = aiaml_sync(sources).filter(|setting| setting.value == Ok(false)) {
            return Ok(Setting {
                value: false,
                origin: setting.origin,
            });
        }
        return Ok(Setting {
            value: true,
            origin: Origin::Default,
        });
    };
    match value.to_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Ok(Setting {
            value: true,
            origin,
        }),
        "off" | "false" | "no" | "0" => Ok(Setting {
            value: false,
            origin,
        }),
        _ => {
            let what = format!("is `{value}`, which is neither on nor off");
            Err(ConfigError::BadValue {
                origin,
                key: "git",
                what,
            })
        }
    }
}

/// In whole seconds.
pub(super) fn sync_interval(sources: &Sources<'_>) -> Result<Setting<Duration>, ConfigError> {
    let key = "sync_interval";
    let Some(Setting { value, origin }) = sources.text(key, &["MEMDIR_SYNC_INTERVAL"])? else {
        return Ok(Setting {
            value: Duration::from_secs(60),
            origin: Origin::Default,
        });
    };
    match value.parse() {
        Ok(seconds @ 1..=86_400) => Ok(Setting {
            value: Duration::from_secs(seconds),
            origin,
        }),
        _ => {
            let what = format!("is `{value}`, which is no number of seconds from 1 to 86400");
            Err(ConfigError::BadValue { origin, key, what })
        }
    }
}

pub(super) fn limit(sources: &Sources<'_>) -> Result<Setting<usize>, ConfigError> {
    let variables = ["MEMDIR_LIMIT", "AIAML_MAX_SEARCH_RESULTS"];
    let Some(Setting { value, origin }) = sources.text("limit", &variables)? else {
        return Ok(Setting {
            value: 25,
            origin: Origin::Default,
        });
    };
    match value.parse() {
        Ok(limit @ 1..=MAX_LIMIT) => Ok(Setting {
            value: limit,
            origin,
        }),
        _ => {
            let what = format!("is `{value}`, which is no whole number from 1 to {MAX_LIMIT}");
            Err(ConfigError::BadValue {
                origin,
                key: "limit",
                what,
            })
        }
    }
}

/// The value of `AIAML_ENABLE_SYNC`; `Err` with its value if that is neither `true` nor `false`.
fn aiaml_sync(sources: &Sources<'_>) -> Option<Setting<Result<bool, String>>> {
    let Setting { value, origin } = sources.variable(&["AIAML_ENABLE_SYNC"])?;
    let value = match value.to_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(value),
    };
    Some(Setting { value, origin })
}

/// Warns of a value of `AIAML_ENABLE_SYNC` that nobody knows, once for all that it decides.
pub(super) fn check_aiaml_sync(sources: &Sources<'_>, warnings: &mut Vec<String>) {
    if let Some(Setting {
        value: Err(value),
        origin,
    }) = aiaml_sync(sources)
    {
        let shown = printable(&value, LONGEST_VALUE);
        warnings.push(format!(
            "{origin} is `{shown}`, which is neither true nor false: it is taken as not set"
        ));
    }
}

/// How many characters of a variable's value are shown in a warning.
const LONGEST_VALUE: usize = 40;

/// The level of logs where nothing better is said.
const USUAL_LEVEL: &str = "warn";

/// A level that nobody knows is warned of, and the usual one is taken.
pub(super) fn log(environment: &Environment, warnings: &mut Vec<String>) -> Setting<String> {
    let sources = Sources {
        environment,
        layers: [&Layer::default(), &Layer::default()],
    };
    let names = [
        "MEMDIR_LOG",
        "RUST_LOG",
        "AIAML_LOG_LEVEL",
        "LOCI_LOG_LEVEL",
    ];
    let Some(Setting { value, origin }) = sources.variable(&names) else {
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

/// The level that other programs call `name`, if one does.
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

/// Whether a filter is one word that is no level, nor this program: a target that logs nothing.
fn is_unknown_word(value: &str) -> bool {
    let is_word = !value.contains(['=', ',', '[', ':']);
    is_word
        && value != "memdir"
        && value
            .parse::<tracing::level_filters::LevelFilter>()
            .is_err()
}

/// Of the store alone: a user's other stores are none of its business.
pub(super) fn layout(sources: &Sources<'_>) -> Result<Setting<Layout>, ConfigError> {
    let key = "layout";
    let Some(Setting { value, origin }) = sources.text(key, &["MEMDIR_LAYOUT"])? else {
        return Ok(Setting {
            value: Layout::default(),
            origin: Origin::Default,
        });
    };
    match value.parse() {
        Ok(value) => Ok(Setting { value, origin }),
        Err(what) => {
            let what = format!("is wrong: {what}");
            Err(ConfigError::BadValue { origin, key, what })
        }
    }
}

pub(super) fn secrets_setting(sources: &Sources<'_>) -> Result<Setting<Policy>, ConfigError> {
    let key = "secrets";
    let Some(Setting { value, origin }) = sources.text(key, &["MEMDIR_SECRETS"])? else {
        return Ok(Setting {
            value: Policy::default(),
            origin: Origin::Default,
        });
    };
    match value.parse() {
        Ok(value) => Ok(Setting { value, origin }),
        Err(what) => Err(ConfigError::BadValue { origin, key, what }),
    }
}

/// Named by the environment only: a store must not send itself anywhere. Under the names of the
/// three-tool program an address alone is consent, and so is `AIAML_ENABLE_SYNC=true` without one.
pub(super) fn remote(sources: &Sources<'_>) -> Setting<Option<String>> {
    let names = ["MEMDIR_REMOTE", "AIAML_GITHUB_REMOTE"];
    let enabled = aiaml_sync(sources);
    let says = |on| {
        enabled
            .as_ref()
            .is_some_and(|setting| setting.value == Ok(on))
    };
    let named = sources.variable(&names);
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
    optional(remote, |remote| remote)
}

//! Single settings, read from their texts.

use std::time::Duration;

use super::settings::ConfigError;
use super::settings::Environment;
use super::settings::Origin;
use super::settings::Setting;
use super::settings::optional;
use super::sources::Layer;
use super::sources::Sources;
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
        let aiaml = sources.variable(&["AIAML_ENABLE_SYNC"]);
        if let Some(setting) = aiaml.filter(|setting| setting.value.eq_ignore_ascii_case("false")) {
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

pub(super) fn log(environment: &Environment) -> Setting<String> {
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
    match sources.variable(&names) {
        Some(Setting {
            value,
            origin: origin @ Origin::Variable("AIAML_LOG_LEVEL" | "LOCI_LOG_LEVEL"),
        }) => {
            // Those programs' levels have their own names.
            let value = match value.to_uppercase().as_str() {
                "TRACE" => "trace",
                "DEBUG" => "debug",
                "INFO" => "info",
                "ERROR" | "CRITICAL" => "error",
                _ => "warn",
            };
            Setting {
                value: value.to_owned(),
                origin,
            }
        }
        Some(setting) => setting,
        None => Setting {
            value: "warn".to_owned(),
            origin: Origin::Default,
        },
    }
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
    let enabled = sources.variable(&["AIAML_ENABLE_SYNC"]);
    let says = |word: &str| {
        let value = enabled.as_ref().map(|setting| setting.value.to_lowercase());
        value.as_deref() == Some(word)
    };
    let named = sources.variable(&names);
    let is_aiaml = |setting: &Setting<String>| setting.origin == Origin::Variable(names[1]);
    let remote = match named {
        Some(named) if is_aiaml(&named) && says("false") => None,
        Some(named) => Some(named),
        None if says("true") => enabled.clone().map(|setting| Setting {
            value: String::new(),
            origin: setting.origin,
        }),
        None => None,
    };
    optional(remote, |remote| remote)
}

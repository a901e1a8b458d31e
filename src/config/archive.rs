//! How long the archive keeps what git holds as well: the user's table `[archive]`.
//!
//! Never from a store's `memdir.toml`: what is removed is the user's alone to say.

use chrono::TimeDelta;

use super::settings::ConfigError;
use super::settings::Environment;
use super::settings::Origin;
use super::settings::Setting;
use super::sources::Layer;
use super::sources::Sources;
use super::units::named;
use super::units::span;
use super::units::written;
use crate::lifecycle::Maintenance;

const TABLE: &str = "archive";
const KEY: &str = "keep";
/// What it is called in messages.
const SHOWN: &str = "archive.keep";
/// Keeps everything.
const FOR_EVER: &str = "forever";

/// Reads how long replaced texts are kept; `None`: for ever.
pub(super) fn read(
    environment: &Environment,
    user: &Layer,
    warnings: &mut Vec<String>,
) -> Result<Setting<Option<TimeDelta>>, ConfigError> {
    let layer = user.table(TABLE, &[KEY], warnings)?;
    let nothing = Layer::default();
    let sources = Sources {
        environment,
        layers: [&layer, &nothing],
    };
    let set = sources
        .text(KEY, &[])
        .map_err(|error| named(error, SHOWN))?;
    let Some(Setting { value, origin }) = set else {
        return Ok(Setting {
            value: Maintenance::default().keep_replaced,
            origin: Origin::Default,
        });
    };
    let value = match value.as_str() {
        FOR_EVER => None,
        text => Some(span(text).map_err(|what| ConfigError::BadValue {
            origin: origin.clone(),
            key: SHOWN,
            what: format!("is `{text}`, which is {what}; `{FOR_EVER}` keeps all"),
        })?),
    };
    Ok(Setting { value, origin })
}

/// The key with its value as text and its origin.
pub(super) fn listed(keep: &Setting<Option<TimeDelta>>) -> (&'static str, String, &Origin) {
    let value = keep.value.map_or_else(|| FOR_EVER.to_owned(), written);
    (SHOWN, value, &keep.origin)
}

//! What maintenance does, and whether a server does it by itself: the table `[maintenance]`, of the
//! user or of a store.
//!
//! A store may bring its own constants: they decide about its own memories only, and what goes, goes
//! to the archive. Whether it is done unasked is the user's alone to say.

use chrono::TimeDelta;

use super::settings::ConfigError;
use super::settings::Environment;
use super::settings::Origin;
use super::settings::Setting;
use super::sources::Layer;
use super::sources::Sources;
use super::units::named;
use super::units::number;
use super::units::share;
use super::units::span;
use super::units::written;
use crate::lifecycle::Maintenance;

/// The table, as one value, and how each key of it came to be.
#[derive(Debug, Clone, PartialEq)]
pub struct MaintenanceSettings {
    pub value: Maintenance,
    keys: Vec<(&'static str, String, Origin)>,
}

struct Key {
    key: &'static str,
    /// What it is called in messages.
    shown: &'static str,
    /// Sets it; what is wrong with a value that cannot be.
    put: fn(&mut Maintenance, &str) -> Result<(), String>,
    get: fn(&Maintenance) -> String,
}

/// One key whose value is kept in one field, as a reader and a writer of such values say.
macro_rules! key {
    ($key:literal, $read:expr, $write:expr, $($field:ident).+) => {
        Key {
            key: $key,
            shown: concat!("maintenance.", $key),
            put: |all, text| {
                all.$($field).+ = $read(text)?;
                Ok(())
            },
            get: |all| $write(&all.$($field).+),
        }
    };
}

/// The keys, in the order of the documentation.
const KEYS: [Key; 18] = [
    key!("schedule", every, every_shown, schedule),
    key!("compact_after", span, in_units, compaction.age),
    key!("compact_min_group", count, text, compaction.min_group),
    key!(
        "compact_keep_importance",
        importance,
        text,
        compaction.keep_importance
    ),
    key!("summary_length", length, text, compaction.budget),
    key!("observations", count, text, observations.min_count),
    key!(
        "observation_similarity",
        cosine,
        text,
        observations.similarity
    ),
    key!(
        "observation_resemblance",
        cosine,
        text,
        observations.resemblance
    ),
    key!("consolidate_min_group", count, text, consolidate_min),
    key!("cleanup_confidence", share, text, cleanup.confidence),
    key!("cleanup_after", span, in_units, cleanup.unused),
    key!("reflect_stale_after", span, in_units, reflection.stale),
    key!(
        "reflect_unimportant",
        importance,
        text,
        reflection.unimportant
    ),
    key!("reflect_proven_uses", uses, text, reflection.proven_uses),
    key!("reflect_proven", share, text, reflection.proven),
    key!("reflect_stated", share, text, reflection.stated),
    key!("reflect_doubt", share, text, reflection.doubt),
    key!("reflect_least", share, text, reflection.least),
];

impl MaintenanceSettings {
    /// Of the store's layer and the user's.
    pub(super) fn read(
        environment: &Environment,
        [store, user]: [&Layer; 2],
        warnings: &mut Vec<String>,
    ) -> Result<MaintenanceSettings, ConfigError> {
        let known = KEYS.map(|key| key.key);
        let user = user.table(TABLE, &known, warnings)?;
        // The first key is the user's.
        let store = store.table(TABLE, &known[1..], warnings)?;
        let sources = Sources {
            environment,
            layers: [&store, &user],
        };
        let mut value = Maintenance::default();
        let mut keys = Vec::new();
        for Key {
            key,
            shown,
            put,
            get,
        } in KEYS
        {
            let set = sources.text(key, &[]);
            let origin = match set.map_err(|error| named(error, shown))? {
                None => Origin::Default,
                Some(Setting {
                    value: text,
                    origin,
                }) => {
                    put(&mut value, &text).map_err(|what| ConfigError::BadValue {
                        origin: origin.clone(),
                        key: shown,
                        what: format!("is `{text}`, which is {what}"),
                    })?;
                    origin
                }
            };
            keys.push((shown, get(&value), origin));
        }
        Ok(MaintenanceSettings { value, keys })
    }

    /// Every key with its value as text and its origin.
    pub(super) fn list(&self) -> impl Iterator<Item = (&'static str, String, &Origin)> {
        let keys = self.keys.iter();
        keys.map(|(key, value, origin)| (*key, value.clone(), origin))
    }
}

const TABLE: &str = "maintenance";

fn every(text: &str) -> Result<Option<TimeDelta>, String> {
    match text {
        "off" | "false" => Ok(None),
        _ => match span(text)? {
            often if often < TimeDelta::hours(1) => Err("more often than once an hour".to_owned()),
            span => Ok(Some(span)),
        },
    }
}

fn every_shown(schedule: &Option<TimeDelta>) -> String {
    schedule.map_or_else(|| "off".to_owned(), written)
}

fn in_units(span: &TimeDelta) -> String {
    written(*span)
}

fn text<T: ToString>(value: &T) -> String {
    value.to_string()
}

fn count(text: &str) -> Result<usize, String> {
    match number(text, 10_000)? {
        1 => Err("no group".to_owned()),
        count => Ok(count as usize),
    }
}

fn uses(text: &str) -> Result<u32, String> {
    number(text, 1_000_000)
}

fn length(text: &str) -> Result<usize, String> {
    match number(text, 100_000)? {
        short if short < 100 => Err("less than 100 characters".to_owned()),
        length => Ok(length as usize),
    }
}

fn importance(text: &str) -> Result<u8, String> {
    Ok(number(text, 11)? as u8)
}

fn cosine(text: &str) -> Result<f32, String> {
    Ok(share(text)? as f32)
}

//! How long memories live, and what a use does: the table `[life]`, of the user or of a store.
//!
//! A store may bring its own: it decides about its own memories only, and what no longer lives is
//! kept in the archive.

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
use crate::lifecycle::Decay;
use crate::lifecycle::Life;
use crate::lifecycle::Promotion;

/// The table, as one value, and how each key of it came to be.
#[derive(Debug, Clone, PartialEq)]
pub struct LifeSettings {
    pub value: Life,
    keys: Vec<(&'static str, String, Origin)>,
}

/// The keys, in the order of the documentation, with what they are called in messages.
const KEYS: [(&str, &str); 12] = [
    ("short", "life.short"),
    ("mid", "life.mid"),
    ("short_extension", "life.short_extension"),
    ("mid_extension", "life.mid_extension"),
    ("promote_after_days", "life.promote_after_days"),
    ("promote_after_uses", "life.promote_after_uses"),
    ("confidence_per_use", "life.confidence_per_use"),
    ("uses_per_importance", "life.uses_per_importance"),
    ("decay", "life.decay"),
    ("decay_interval", "life.decay_interval"),
    ("decay_episodic", "life.decay_episodic"),
    ("decay_others", "life.decay_others"),
];

impl LifeSettings {
    /// Of `layers`, best first.
    pub(super) fn read(
        environment: &Environment,
        layers: [&Layer; 2],
        warnings: &mut Vec<String>,
    ) -> Result<LifeSettings, ConfigError> {
        let known = KEYS.map(|(key, _)| key);
        let [first, second] = layers;
        let first = first.table("life", &known, warnings)?;
        let second = second.table("life", &known, warnings)?;
        let sources = Sources {
            environment,
            layers: [&first, &second],
        };
        let mut life = Life::default();
        let mut decay = (false, Decay::default());
        let mut origins = Vec::new();
        // Days and uses are two ways to say one thing: who says one of them says it.
        let promotions = ["promote_after_days", "promote_after_uses"];
        let firsts = Sources {
            environment,
            layers: [&first, &first],
        };
        for (key, shown) in KEYS {
            let is_said = promotions.contains(&key) && promotions.iter().any(|key| first.has(key));
            let sources = if is_said { &firsts } else { &sources };
            let set = sources
                .text(key, &[])
                .map_err(|error| named(error, shown))?;
            let Some(Setting { value, origin }) = set else {
                origins.push(Origin::Default);
                continue;
            };
            put(&mut life, &mut decay, key, &value).map_err(|what| ConfigError::BadValue {
                origin: origin.clone(),
                key: shown,
                what: format!("is `{value}`, which is {what}"),
            })?;
            origins.push(origin);
        }
        let (falls, factors) = decay;
        let shown = |key| shown(&life, falls, &factors, key);
        let keys = KEYS.iter().zip(origins);
        let keys = keys.map(|((key, name), origin)| (*name, shown(key), origin));
        let keys = keys.collect();
        life.decay = falls.then_some(factors);
        Ok(LifeSettings { value: life, keys })
    }

    /// Every key with its value as text and its origin.
    pub(super) fn list(&self) -> impl Iterator<Item = (&'static str, String, &Origin)> {
        let keys = self.keys.iter();
        keys.map(|(key, value, origin)| (*key, value.clone(), origin))
    }
}

/// Sets one key; what is wrong with a value that cannot be.
fn put(life: &mut Life, decay: &mut (bool, Decay), key: &str, text: &str) -> Result<(), String> {
    match key {
        "short" => life.short_life = span(text)?,
        "mid" => life.mid_life = span(text)?,
        "short_extension" => life.short_extension = span(text)?,
        "mid_extension" => life.mid_extension = span(text)?,
        "promote_after_days" => {
            life.promotion = match number(text, 10_000)? {
                0 => Promotion::Never,
                days => Promotion::Days(days),
            }
        }
        // Who sets both means the plain count.
        "promote_after_uses" => match number(text, 1_000_000)? {
            0 => {}
            uses => life.promotion = Promotion::Uses(uses),
        },
        "confidence_per_use" => life.confidence_per_use = share(text)?,
        "uses_per_importance" => life.uses_per_importance = number(text, 1_000_000)?,
        "decay" => {
            decay.0 = match text {
                "true" | "on" => true,
                "false" | "off" => false,
                _ => return Err("neither on nor off".to_owned()),
            }
        }
        "decay_interval" => decay.1.interval = span(text)?,
        "decay_episodic" => decay.1.episodic = share(text)?,
        _ => decay.1.others = share(text)?,
    }
    Ok(())
}

fn shown(life: &Life, falls: bool, decay: &Decay, key: &str) -> String {
    let count = |count: Option<u32>| count.unwrap_or(0).to_string();
    match key {
        "short" => written(life.short_life),
        "mid" => written(life.mid_life),
        "short_extension" => written(life.short_extension),
        "mid_extension" => written(life.mid_extension),
        "promote_after_days" => count(match life.promotion {
            Promotion::Days(days) => Some(days),
            _ => None,
        }),
        "promote_after_uses" => count(match life.promotion {
            Promotion::Uses(uses) => Some(uses),
            _ => None,
        }),
        "confidence_per_use" => life.confidence_per_use.to_string(),
        "uses_per_importance" => life.uses_per_importance.to_string(),
        "decay" => if falls { "on" } else { "off" }.to_owned(),
        "decay_interval" => written(decay.interval),
        "decay_episodic" => decay.episodic.to_string(),
        _ => decay.others.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use chrono::TimeDelta;

    use super::super::settings::Config;
    use super::super::settings::Flags;
    use super::*;

    /// The settings of a user and of a store.
    fn read(user: &str, store: &str) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let (config, root) = (folder.path().join("config"), folder.path().join("store"));
        for (folder, file, text) in [
            (&config, "config.toml", user),
            (&root, "memdir.toml", store),
        ] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join(file), text).unwrap();
        }
        let environment = Environment {
            folder: folder.path().to_owned(),
            config_folder: Some(config),
            ..Environment::default()
        };
        let flags = Flags {
            store: Some(root),
            ..Flags::default()
        };
        Config::read(&flags, &environment)
    }

    #[test]
    fn a_store_decides_about_its_memories_before_its_user() {
        let config = read(
            "[life]\nshort = \"2h\"\nmid = \"3w\"\n",
            "[life]\nshort = \"90m\"\n",
        );
        let life = config.unwrap().life.value;
        assert_eq!(life.short_life, TimeDelta::minutes(90));
        assert_eq!(life.mid_life, TimeDelta::weeks(3));
        assert_eq!(life.mid_extension, Life::default().mid_extension);
        assert_eq!(read("", "").unwrap().life.value, Life::default());
        let user = "[life]\npromote_after_uses = 3\n";
        let both = read(user, "[life]\npromote_after_days = 9\n").unwrap();
        assert_eq!(both.life.value.promotion, Promotion::Days(9));
    }

    #[test]
    fn every_key_is_read_and_shown_with_its_origin() {
        let text = "[life]\nshort = \"1h\"\nmid = \"2d\"\nshort_extension = \"3m\"\n\
                    mid_extension = \"4s\"\npromote_after_uses = 6\nconfidence_per_use = 0.1\n\
                    uses_per_importance = 7\ndecay = true\ndecay_interval = \"1d\"\n\
                    decay_episodic = 0.5\ndecay_others = 0.75\n";
        let config = read(text, "").unwrap();
        let life = &config.life.value;
        let decay = life.decay.clone().unwrap();
        assert_eq!(
            (life.promotion, life.uses_per_importance),
            (Promotion::Uses(6), 7)
        );
        assert_eq!(
            (decay.interval, decay.episodic, decay.others),
            (TimeDelta::days(1), 0.5, 0.75)
        );
        let list = config.list();
        for (key, value) in [
            ("life.short", "1h"),
            ("life.mid", "2d"),
            ("life.short_extension", "3m"),
            ("life.mid_extension", "4s"),
            ("life.promote_after_days", "0"),
            ("life.promote_after_uses", "6"),
            ("life.confidence_per_use", "0.1"),
            ("life.decay", "on"),
            ("life.decay_interval", "1d"),
        ] {
            let found = list.iter().find(|(found, _, _)| *found == key).unwrap();
            assert_eq!(found.1, value, "{key}");
            let is_default = key == "life.promote_after_days";
            assert_eq!(matches!(found.2, Origin::File(_)), !is_default, "{key}");
        }
    }

    #[test]
    fn what_is_no_value_is_named() {
        for (line, wanted) in [
            ("short = \"soon\"", "life.short"),
            ("short = 6", "span of time"),
            ("mid = \"-1d\"", "life.mid"),
            ("mid = \"999999999999w\"", "span of time"),
            ("decay = \"perhaps\"", "neither on nor off"),
            ("decay_others = 1.5", "from 0 to 1"),
            ("uses_per_importance = -1", "whole number"),
        ] {
            let error = read(&format!("[life]\n{line}\n"), "")
                .unwrap_err()
                .to_string();
            assert!(error.contains(wanted), "{line}: {error}");
        }
        let config = read("[life]\nlong = \"1d\"\n", "").unwrap();
        assert!(
            config.warnings[0].contains("life.long"),
            "{:?}",
            config.warnings
        );
    }
}

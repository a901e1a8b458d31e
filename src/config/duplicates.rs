//! What is done about a new memory that resembles others: the table `[duplicates]`, of the user or
//! of a store.

use super::settings::ConfigError;
use super::settings::Environment;
use super::settings::Origin;
use super::settings::Setting;
use super::sources::Layer;
use super::sources::Sources;
use super::units::whole;
use crate::lifecycle::DuplicatePolicy;
use crate::lifecycle::WritePolicy;

/// The table, as one value, and how each key of it came to be.
#[derive(Debug, Clone, PartialEq)]
pub struct DuplicateSettings {
    pub value: WritePolicy,
    keys: Vec<(&'static str, String, Origin)>,
}

/// The keys, in the order of the documentation, with what they are called in messages.
const KEYS: [(&str, &str); 6] = [
    ("policy", "duplicates.policy"),
    ("near_words", "duplicates.near_words"),
    ("near_meaning", "duplicates.near_meaning"),
    ("auto_links", "duplicates.auto_links"),
    ("shared_topics", "duplicates.shared_topics"),
    ("contradictions", "duplicates.contradictions"),
];

/// More links would fill the frontmatter of every memory.
const MOST_LINKS: usize = 20;
const MOST_TOPICS: usize = 8;

impl DuplicateSettings {
    /// Of `layers`, best first.
    pub(super) fn read(
        environment: &Environment,
        layers: [&Layer; 2],
        warnings: &mut Vec<String>,
    ) -> Result<DuplicateSettings, ConfigError> {
        let known = KEYS.map(|(key, _)| key);
        let [first, second] = layers;
        let first = first.table("duplicates", &known, warnings)?;
        let second = second.table("duplicates", &known, warnings)?;
        let sources = Sources {
            environment,
            layers: [&first, &second],
        };
        let mut policy = WritePolicy::default();
        let mut origins = Vec::new();
        for (key, shown) in KEYS {
            let set = sources.text(key, &[]);
            let set = set.map_err(|error| super::units::named(error, shown))?;
            let Some(Setting { value, origin }) = set else {
                origins.push(Origin::Default);
                continue;
            };
            put(&mut policy, key, &value).map_err(|what| ConfigError::BadValue {
                origin: origin.clone(),
                key: shown,
                what: format!("is `{value}`, which is {what}"),
            })?;
            origins.push(origin);
        }
        let keys = KEYS.iter().zip(origins);
        let keys = keys.map(|((key, name), origin)| (*name, shown(&policy, key), origin));
        let keys = keys.collect();
        Ok(DuplicateSettings {
            value: policy,
            keys,
        })
    }

    /// Every key with its value as text and its origin.
    pub(super) fn list(&self) -> impl Iterator<Item = (&'static str, String, &Origin)> {
        let keys = self.keys.iter();
        keys.map(|(key, value, origin)| (*key, value.clone(), origin))
    }
}

/// Sets one key; what is wrong with a value that cannot be.
fn put(policy: &mut WritePolicy, key: &str, text: &str) -> Result<(), String> {
    match key {
        "policy" => {
            policy.duplicates = DuplicatePolicy::named(text).ok_or_else(|| {
                let names = DuplicatePolicy::ALL.map(|(name, _)| name);
                format!("none of {}", names.join(", "))
            })?;
        }
        "near_words" => policy.near_words = share(text)?,
        "near_meaning" => policy.near_meaning = share(text)?,
        "auto_links" => policy.auto_links = whole(text, 0, MOST_LINKS)?,
        "shared_topics" => policy.shared_topics = whole(text, 1, MOST_TOPICS)?,
        _ => {
            policy.contradictions = match text {
                "true" | "on" => true,
                "false" | "off" => false,
                _ => return Err("neither on nor off".to_owned()),
            }
        }
    }
    Ok(())
}

fn shown(policy: &WritePolicy, key: &str) -> String {
    match key {
        "policy" => policy.duplicates.name().to_owned(),
        "near_words" => policy.near_words.to_string(),
        "near_meaning" => policy.near_meaning.to_string(),
        "auto_links" => policy.auto_links.to_string(),
        "shared_topics" => policy.shared_topics.to_string(),
        _ => if policy.contradictions { "on" } else { "off" }.to_owned(),
    }
}

fn share(text: &str) -> Result<f32, String> {
    let number: Option<f32> = text.trim().parse().ok();
    let number = number.filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "no number from 0 to 1".to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn layer(text: &str) -> Layer {
        Layer::of_text(Path::new("file.toml"), text).unwrap()
    }

    /// The settings of a store and of its user, with what is warned of.
    fn read(store: &str, user: &str) -> Result<(DuplicateSettings, Vec<String>), ConfigError> {
        let mut warnings = Vec::new();
        let layers = [&layer(store), &layer(user)];
        let settings = DuplicateSettings::read(&Environment::default(), layers, &mut warnings)?;
        Ok((settings, warnings))
    }

    #[test]
    fn every_key_is_read_and_shown_with_its_origin() {
        let text = "[duplicates]\npolicy = \"similar\"\nnear_words = 0.5\nnear_meaning = 0.75\n\
                    auto_links = 3\nshared_topics = 4\ncontradictions = false\n";
        let (settings, _) = read(text, "").unwrap();
        let expected = WritePolicy {
            duplicates: DuplicatePolicy::Similar,
            near_words: 0.5,
            near_meaning: 0.75,
            auto_links: 3,
            shared_topics: 4,
            contradictions: false,
            ..WritePolicy::default()
        };
        assert_eq!(settings.value, expected);
        let list: Vec<String> = settings
            .list()
            .map(|(key, value, origin)| format!("{key} {value} {origin}"))
            .collect();
        let expected = [
            "duplicates.policy similar file.toml",
            "duplicates.near_words 0.5 file.toml",
            "duplicates.near_meaning 0.75 file.toml",
            "duplicates.auto_links 3 file.toml",
            "duplicates.shared_topics 4 file.toml",
            "duplicates.contradictions off file.toml",
        ];
        assert_eq!(list, expected);
    }

    #[test]
    fn a_store_decides_before_its_user_and_nobody_must() {
        let (settings, _) = read(
            "[duplicates]\npolicy = \"title\"\n",
            "[duplicates]\npolicy = \"suggest\"\nauto_links = 2\n",
        )
        .unwrap();
        assert_eq!(settings.value.duplicates, DuplicatePolicy::SameTitle);
        assert_eq!(settings.value.auto_links, 2);
        let (settings, _) = read("", "").unwrap();
        assert_eq!(settings.value, WritePolicy::default());
        let first = settings.list().next().unwrap();
        assert_eq!(
            first,
            ("duplicates.policy", "allow".to_owned(), &Origin::Default)
        );
    }

    #[test]
    fn what_is_no_value_is_named() {
        for (line, wanted) in [
            ("policy = \"never\"", "allow, title, similar, suggest"),
            ("near_words = 2", "from 0 to 1"),
            ("auto_links = 21", "from 0 to 20"),
            ("shared_topics = 0", "from 1 to 8"),
            ("contradictions = \"perhaps\"", "neither on nor off"),
        ] {
            let error = read(&format!("[duplicates]\n{line}\n"), "").unwrap_err();
            let error = error.to_string();
            assert!(error.contains(wanted), "{line}: {error}");
            assert!(error.contains("duplicates."), "{line}: {error}");
        }
        let (_, warnings) = read("[duplicates]\nlinks = 1\n", "").unwrap();
        assert!(warnings[0].contains("duplicates.links"), "{warnings:?}");
    }
}

//! One settings file: the settings that it states, each tried by itself.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::setting::{ConfigError, Origin, Setting};
use super::table::{Scope, SettingId, TABLE};
use super::value::{SettingType, SettingValue};

/// A settings file of a store that has more is passed over.
const MOST_STORE_BYTES: u64 = 64 << 10;

/// Maximum number of characters of a key that are shown.
const LONGEST_KEY: usize = 80;

/// The owner of a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    User,
    Store,
}

/// The settings that a file states.
#[derive(Default)]
pub(super) struct SettingsLayer {
    path: PathBuf,
    values: Vec<(SettingId, SettingValue)>,
    /// Settings of the user with a value of no sense: an error where they count.
    bad: Vec<(SettingId, String)>,
    /// The settings that are passed over.
    problems: Vec<PassedOver>,
}

/// A setting that does not count.
pub(super) struct PassedOver {
    key: String,
    /// As the end of a sentence that begins with the key.
    pub what: String,
    /// Whether it is a setting that may stand there, with a value that may not.
    is_bad: bool,
}

impl SettingsLayer {
    /// Reads the user's settings file at `path`. Settings that nobody knows are warned of.
    pub fn of_user(path: &Path, warnings: &mut Vec<String>) -> Result<SettingsLayer, ConfigError> {
        match fs::read_to_string(path) {
            Ok(text) => SettingsLayer::of_user_text(path, &text, warnings),
            Err(error) if is_absent(&error) => Ok(SettingsLayer::default()),
            Err(source) => Err(ConfigError::Unreadable {
                path: path.to_owned(),
                source,
            }),
        }
    }

    /// Returns the settings that the user's file would state with this text.
    pub fn of_user_text(
        path: &Path,
        text: &str,
        warnings: &mut Vec<String>,
    ) -> Result<SettingsLayer, ConfigError> {
        let layer = SettingsLayer::of_text(path, text, Owner::User)?;
        for PassedOver { key, what, is_bad } in &layer.problems {
            if *is_bad {
                return Err(ConfigError::BadValue {
                    origin: layer.origin(),
                    key: key.clone(),
                    what: what.clone(),
                });
            }
            let path = path.display();
            warnings.push(format!("{path}: `{key}` {what} and is ignored"));
        }
        Ok(layer)
    }

    /// Reads the settings file of a store, which may come from anybody: what is no small file of TOML
    /// says nothing, and `warnings` say why.
    pub fn of_store(path: &Path, warnings: &mut Vec<String>) -> SettingsLayer {
        let layer = match read_small(path) {
            Ok(None) => return SettingsLayer::default(),
            Ok(Some(text)) => {
                SettingsLayer::of_text(path, &text, Owner::Store).map_err(|error| error.to_string())
            }
            Err(why) => Err(format!("{}: {why}", path.display())),
        };
        layer.unwrap_or_else(|why| {
            warnings.push(format!("{why}; the store's settings are ignored"));
            SettingsLayer::default()
        })
    }

    fn of_text(path: &Path, text: &str, owner: Owner) -> Result<SettingsLayer, ConfigError> {
        let values: toml::Table = toml::from_str(text).map_err(|error| ConfigError::NotToml {
            path: path.to_owned(),
            what: error.message().to_owned(),
        })?;
        let mut layer = SettingsLayer {
            path: path.to_owned(),
            ..SettingsLayer::default()
        };
        for (key, value) in &values {
            layer.take(key, value, owner);
        }
        Ok(layer)
    }

    /// Takes what stands under a key of the file itself: a setting, or a table of them.
    fn take(&mut self, key: &str, value: &toml::Value, owner: Owner) {
        let is_below = |name: &str| {
            let below = name.strip_prefix(key);
            below.is_some_and(|below| below.starts_with('.'))
        };
        let mut below = TABLE.iter().filter(|row| is_below(row.name)).peekable();
        if below.peek().is_none() {
            return self.take_one(key.to_owned(), value, owner);
        }
        if owner == Owner::Store && below.all(|row| row.scope == Scope::User) {
            return self.passes_over(key.to_owned(), NOT_OF_STORES.to_owned(), false);
        }
        match value.as_table() {
            None => self.passes_over(key.to_owned(), format!("must be a table: [{key}]"), true),
            Some(table) => table.iter().for_each(|(last, value)| {
                self.take_one(format!("{key}.{last}"), value, owner);
            }),
        }
    }

    fn take_one(&mut self, key: String, value: &toml::Value, owner: Owner) {
        let Some(id) = SettingId::named(&key) else {
            return self.passes_over(key, "is unknown".to_owned(), false);
        };
        let row = id.row();
        let refused = match (row.scope, owner) {
            (Scope::Anyone, _) | (Scope::User, Owner::User) | (Scope::Store, Owner::Store) => None,
            (Scope::User, Owner::Store) => Some(NOT_OF_STORES),
            (Scope::Store, Owner::User) => Some("is set in a store's memdir.toml"),
            (Scope::Variable, _) => Some("is set by a variable alone"),
        };
        if let Some(why) = refused {
            return self.passes_over(key, why.to_owned(), false);
        }
        let text = match (row.kind, value) {
            (SettingType::OtherNames, toml::Value::Table(users)) => text_of_names(users),
            _ => text_of(value),
        };
        let text = match (row.kind, value) {
            // What was typed as a list and is no TOML became a text, which would be one word without a meaning.
            (SettingType::List, toml::Value::String(text)) if is_in_brackets(text) => Err(format!(
                "is `{text}`, which is no list: texts in brackets stand in quotes, and paths with \\ in single ones"
            )),
            _ => text.ok_or_else(|| "must be a text".to_owned()),
        };
        match text.and_then(|text| row.kind.read(&text)) {
            Ok(SettingValue::Unset) => {}
            Ok(value) => self.values.push((id, value)),
            Err(why) if owner == Owner::User => self.bad.push((id, why)),
            Err(why) => self.passes_over(key, why, true),
        }
    }

    fn passes_over(&mut self, key: String, what: String, is_bad: bool) {
        let key = printable(&key, LONGEST_KEY);
        self.problems.push(PassedOver { key, what, is_bad });
    }

    /// Passes the setting `id` over, which the file states, because of `why`.
    pub fn remove(&mut self, id: SettingId, why: &str) {
        self.values.retain(|(known, _)| *known != id);
        self.passes_over(id.row().name.to_owned(), why.to_owned(), true);
    }

    /// Returns the value that the file states for the setting.
    ///
    /// # Errors
    ///
    /// Fails if it is the user's, and has no sense.
    pub fn stated(&self, id: SettingId) -> Result<Option<Setting<SettingValue>>, ConfigError> {
        let mut bad = self.bad.iter();
        match bad.find(|(known, _)| *known == id) {
            None => Ok(self.get(id)),
            Some((_, what)) => Err(ConfigError::BadValue {
                origin: self.origin(),
                key: id.row().name.to_owned(),
                what: what.clone(),
            }),
        }
    }

    pub fn get(&self, id: SettingId) -> Option<Setting<SettingValue>> {
        let mut values = self.values.iter();
        let (_, value) = values.find(|(known, _)| *known == id)?;
        Some(Setting::new(value.clone(), self.origin()))
    }

    /// Returns a line for each setting that is passed over, with the reason, at most `longest`
    /// characters of it.
    pub fn passed_over(&self, longest: usize) -> impl Iterator<Item = String> {
        self.problems.iter().map(move |problem| {
            let PassedOver { key, what, is_bad } = problem;
            let path = self.path.display();
            match is_bad {
                true => {
                    let what = printable(what, longest);
                    format!("{path}: `{key}` {what}; it is passed over")
                }
                false => format!("{path}: `{key}` {what} and is ignored"),
            }
        })
    }

    fn origin(&self) -> Origin {
        Origin::File(self.path.clone())
    }
}

fn is_in_brackets(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('[') && text.ends_with(']')
}

const NOT_OF_STORES: &str = "may not be set by a store";

/// Returns the text of a value, as a setting reads it: words of a list are separated by commas.
fn text_of(value: &toml::Value) -> Option<String> {
    Some(match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Boolean(value) => value.to_string(),
        toml::Value::Array(items) => {
            let items: Option<Vec<&str>> = items.iter().map(toml::Value::as_str).collect();
            items?.join(",")
        }
        _ => return None,
    })
}

/// Returns the text of a table of users with their other names.
fn text_of_names(users: &toml::Table) -> Option<String> {
    let users = users.iter();
    let texts = users.map(|(user, names)| Some(format!("{user} = {}", text_of(names)?)));
    Some(texts.collect::<Option<Vec<_>>>()?.join(";"))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Returns the text of the file at `path`, if there is one; else why it is not read: a folder, a link or a
/// pipe is no settings file, and what has megabytes would only cost time.
fn read_small(path: &Path) -> Result<Option<String>, String> {
    match fs::symlink_metadata(path) {
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(format!("cannot be read: {error}")),
        Ok(data) if !data.is_file() => return Err("is no regular file".to_owned()),
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| {
        let mut file = file.take(MOST_STORE_BYTES + 1);
        file.read_to_end(&mut bytes)
    });
    match read {
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(format!("cannot be read: {error}")),
        Ok(read) if read as u64 > MOST_STORE_BYTES => {
            Err(format!("has more than {MOST_STORE_BYTES} bytes"))
        }
        Ok(_) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| "is not UTF-8".to_owned()),
    }
}

/// Returns the beginning of a text from a file for a message: one line, without control characters.
pub(super) fn printable(text: &str, most: usize) -> String {
    let mut characters = text.chars();
    let mut shown: String = characters
        .by_ref()
        .take(most)
        .flat_map(char::escape_debug)
        .collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

//! The places a setting can come from: the environment, the settings files of store and user.

use std::fs;
use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

use super::settings::ConfigError;
use super::settings::Environment;
use super::settings::KEYS;
use super::settings::LONGEST_KEY;
use super::settings::Origin;
use super::settings::Setting;

/// A settings file of a store that has more is passed over.
const MOST_STORE_BYTES: u64 = 64 << 10;

/// The tables that a store may bring.
const TABLES: [&str; 3] = ["life", "maintenance", "duplicates"];

/// One settings file.
#[derive(Default)]
pub(super) struct Layer {
    path: PathBuf,
    values: toml::Table,
}

impl Layer {
    pub fn read(
        path: Option<&Path>,
        known: &[&str],
        warnings: &mut Vec<String>,
    ) -> Result<Layer, ConfigError> {
        let Some(path) = path else {
            return Ok(Layer::default());
        };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(Layer::default());
            }
            Err(source) => {
                return Err(ConfigError::Unreadable {
                    path: path.to_owned(),
                    source,
                });
            }
        };
        let mut layer = Layer::of_text(path, &text)?;
        layer.keep_known(known, warnings);
        Ok(layer)
    }

    /// The settings file of a store, which may come from anybody: what is no small file of TOML
    /// says nothing, and `warnings` say why.
    pub fn of_store(path: &Path, known: &[&str], warnings: &mut Vec<String>) -> Layer {
        let layer = match read_small(path) {
            Ok(None) => return Layer::default(),
            Ok(Some(text)) => Layer::of_text(path, &text).map_err(|error| error.to_string()),
            Err(why) => Err(format!("{}: {why}", path.display())),
        };
        match layer {
            Ok(mut layer) => {
                layer.keep_known(known, warnings);
                layer
            }
            Err(why) => {
                warnings.push(format!("{why}; the store's settings are ignored"));
                Layer::default()
            }
        }
    }

    /// Removes the keys that are not `known`, and says so.
    fn keep_known(&mut self, known: &[&str], warnings: &mut Vec<String>) {
        let path = self.path.display();
        self.values.retain(|key, _| {
            let is_known = known.contains(&key);
            if !is_known {
                let why = if KEYS.contains(&key) {
                    "may not be set by a store"
                } else {
                    "is unknown"
                };
                let key = printable(key, LONGEST_KEY);
                warnings.push(format!("{path}: `{key}` {why} and is ignored"));
            }
            is_known
        });
    }

    /// A layer for each setting of this one that holds that setting alone, with the setting's path:
    /// the key, or the table and the key.
    pub fn single_settings(&self) -> impl Iterator<Item = (Vec<String>, Layer)> {
        self.values.iter().flat_map(|(key, value)| {
            let alone = |value: toml::Value| Layer {
                path: self.path.clone(),
                values: toml::Table::from_iter([(key.clone(), value)]),
            };
            match value.as_table().filter(|_| TABLES.contains(&key.as_str())) {
                None => vec![(vec![key.clone()], alone(value.clone()))],
                Some(table) => table
                    .iter()
                    .map(|(below, value)| {
                        let single = toml::Table::from_iter([(below.clone(), value.clone())]);
                        (vec![key.clone(), below.clone()], alone(single.into()))
                    })
                    .collect(),
            }
        })
    }

    /// Removes the setting at `path`, as [`Layer::single_settings`] gives it.
    pub fn remove(&mut self, path: &[String]) {
        match path {
            [key] => drop(self.values.remove(key)),
            [table, key] => {
                let table = self
                    .values
                    .get_mut(table)
                    .and_then(toml::Value::as_table_mut);
                table.map(|table| table.remove(key));
            }
            _ => {}
        }
    }

    /// What a file with this text says.
    pub fn of_text(path: &Path, text: &str) -> Result<Layer, ConfigError> {
        let values = toml::from_str(text).map_err(|error| ConfigError::NotToml {
            path: path.to_owned(),
            what: error.message().to_owned(),
        })?;
        Ok(Layer {
            path: path.to_owned(),
            values,
        })
    }

    /// The table `name` as a layer of its own; empty if there is none. Its unknown keys are
    /// warned of and left out.
    pub fn table(
        &self,
        name: &'static str,
        known: &[&str],
        warnings: &mut Vec<String>,
    ) -> Result<Layer, ConfigError> {
        let path = self.path.clone();
        let mut values = match self.values.get(name) {
            None => toml::Table::new(),
            Some(toml::Value::Table(table)) => table.clone(),
            Some(_) => {
                return Err(ConfigError::BadValue {
                    origin: self.origin(),
                    key: name,
                    what: format!("must be a table: [{name}]"),
                });
            }
        };
        values.retain(|key, _| {
            let is_known = known.contains(&key);
            if !is_known {
                warnings.push(format!(
                    "{}: `{name}.{}` is unknown and is ignored",
                    path.display(),
                    printable(key, LONGEST_KEY)
                ));
            }
            is_known
        });
        Ok(Layer { path, values })
    }

    pub fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    fn origin(&self) -> Origin {
        Origin::File(self.path.clone())
    }
}

/// The text of the file at `path`, if there is one; else why it is not read: a folder, a link or a
/// pipe is no settings file, and what has megabytes would only cost time.
fn read_small(path: &Path) -> Result<Option<String>, String> {
    let is_absent = |error: &io::Error| {
        matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        )
    };
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

/// The beginning of a text from a file for a message: one line, without control characters.
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

/// All places a setting can come from but flags, best first.
pub(super) struct Sources<'a> {
    pub environment: &'a Environment,
    pub layers: [&'a Layer; 2],
}

impl Sources<'_> {
    pub fn variable(&self, names: &[&'static str]) -> Option<Setting<String>> {
        names.iter().find_map(|&name| {
            let value = self.environment.variables.get(name)?;
            let value = value.trim().to_owned();
            (!value.is_empty()).then_some(Setting {
                value,
                origin: Origin::Variable(name),
            })
        })
    }

    pub fn text(
        &self,
        key: &'static str,
        variables: &[&'static str],
    ) -> Result<Option<Setting<String>>, ConfigError> {
        if let Some(setting) = self.variable(variables) {
            return Ok(Some(setting));
        }
        for layer in self.layers {
            let origin = layer.origin();
            match layer.values.get(key) {
                None => {}
                Some(toml::Value::String(text)) => {
                    return Ok(Some(Setting {
                        value: text.clone(),
                        origin,
                    }));
                }
                Some(toml::Value::Integer(number)) => {
                    return Ok(Some(Setting {
                        value: number.to_string(),
                        origin,
                    }));
                }
                Some(toml::Value::Float(number)) => {
                    return Ok(Some(Setting {
                        value: number.to_string(),
                        origin,
                    }));
                }
                Some(toml::Value::Boolean(value)) => {
                    return Ok(Some(Setting {
                        value: value.to_string(),
                        origin,
                    }));
                }
                Some(toml::Value::Array(items)) if items.iter().all(toml::Value::is_str) => {
                    let items: Vec<&str> = items.iter().filter_map(toml::Value::as_str).collect();
                    return Ok(Some(Setting {
                        value: items.join(","),
                        origin,
                    }));
                }
                Some(_) => {
                    let what = "must be a text".to_owned();
                    return Err(ConfigError::BadValue { origin, key, what });
                }
            }
        }
        Ok(None)
    }
}

//! The places a setting can come from: the environment, the settings files of store and user.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use super::settings::ConfigError;
use super::settings::Environment;
use super::settings::KEYS;
use super::settings::Origin;
use super::settings::Setting;

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
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
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
        let Layer { mut values, .. } = Layer::of_text(path, &text)?;
        values.retain(|key, _| {
            let is_known = known.contains(&key);
            if !is_known {
                let why = if KEYS.contains(&key) {
                    "may not be set by a store"
                } else {
                    "is unknown"
                };
                warnings.push(format!("{}: `{key}` {why} and is ignored", path.display()));
            }
            is_known
        });
        Ok(Layer {
            path: path.to_owned(),
            values,
        })
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
                    "{}: `{name}.{key}` is unknown and is ignored",
                    path.display()
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

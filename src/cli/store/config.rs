//! The command `config`: what is set and where, and changes of single settings.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::args::config::{Config as Command, ConfigGet, ConfigSet, ConfigUnset};
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::{BOLD, DIM};
use crate::cli::wiring::context::{Context, Outcome};
use crate::config::{Config, Environment, Flags, NewValue, SETTINGS_OF_STORE, help, with_settings};
use crate::files::{FilesError, Lock};

/// Runs `memdir config`.
pub fn config(context: &mut Context, command: &Option<Command>) -> Result<Outcome, Failure> {
    match command {
        None => list(context),
        Some(Command::Get(ConfigGet { key })) => get(context, key),
        Some(Command::Set(ConfigSet {
            key,
            value,
            in_store,
        })) => change(context, key, Some(NewValue::typed(value)), *in_store),
        Some(Command::Unset(ConfigUnset { key, in_store })) => {
            change(context, key, None, *in_store)
        }
    }
}

/// Prints the value of one setting alone.
fn get(context: &mut Context, key: &str) -> Result<Outcome, Failure> {
    let settings = context.config.list().into_iter();
    let Some((_, value, origin)) = settings.into_iter().find(|(known, ..)| *known == key) else {
        return Err(Failure::new(format!("no setting is called `{key}`"))
            .hint("`memdir config` lists all settings and their values."));
    };
    let output = &mut context.output;
    if output.json {
        output.json(&json!({"key": key, "value": value, "origin": origin.to_string()}))?;
    } else {
        output.line(value)?;
    }
    Ok(Outcome::Done)
}

fn list(context: &mut Context) -> Result<Outcome, Failure> {
    let file = user_file(&context.environment);
    let output = &mut context.output;
    let settings = context.config.list();
    if output.json {
        let document: serde_json::Map<String, serde_json::Value> = settings
            .into_iter()
            .map(|(key, value, origin)| {
                let setting = json!({"value": value, "origin": origin.to_string()});
                (key.to_owned(), setting)
            })
            .collect();
        output.json(&document)?;
        return Ok(Outcome::Done);
    }
    let longest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0);
    let keys = longest(&mut settings.iter().map(|(key, ..)| key.len()));
    // One long value moves no other.
    let values = settings.iter().map(|(_, value, _)| value.chars().count());
    let values = longest(&mut values.filter(|length| *length <= 24));
    for (key, value, origin) in settings {
        let value = output.shown(&value);
        output.line(format!(
            "{BOLD}{key:<keys$}{BOLD:#}  {value:<values$}  {DIM}({origin}){DIM:#}"
        ))?;
    }
    if let Some(file) = file.filter(|_| output.is_terminal) {
        let is_there = if file.exists() {
            ""
        } else {
            ", which is not there yet"
        };
        output.note(format!(
            "your settings: {}{is_there}; `memdir config set KEY VALUE` changes one",
            file.display()
        ));
    }
    Ok(Outcome::Done)
}

/// Sets one key, or removes it; what would not be understood is not written.
fn change(
    context: &mut Context,
    key: &str,
    value: Option<NewValue>,
    in_store: bool,
) -> Result<Outcome, Failure> {
    let path = match in_store {
        false => settings_file(&context.environment)?,
        true if context.config.read_only => {
            return Err(Failure::new(
                "a store's settings are not changed with --read-only",
            ));
        }
        true => context.config.store.value.join(SETTINGS_OF_STORE),
    };
    let is_set = value.is_some();
    let changes = [(key, value)];
    let edited = EditedSettings::of(&context.environment, path, &changes)?;
    if is_set {
        check(context, key, &edited.before, &edited.text, in_store)?;
    }
    let is_changed = edited.before != edited.text;
    let path = match is_changed {
        true => edited.save()?,
        false => edited.path,
    };
    let output = &mut context.output;
    if output.json {
        let file = path.display().to_string();
        output.json(&json!({"key": key, "changed": is_changed, "file": file}))?;
    } else {
        let done = match (is_changed, is_set) {
            (true, true) => "set",
            (true, false) => "unset",
            (false, true) => "is set so already:",
            (false, false) => "is not set:",
        };
        output.line(format!("{done} {BOLD}{key}{BOLD:#} in {}", path.display()))?;
        if is_changed {
            output.line("Servers that run take it when they are started again.")?;
        }
    }
    Ok(Outcome::Done)
}

/// Fails if a settings file that reads `after` would be refused or warned of, where one that reads
/// `before` would not.
fn check(
    context: &Context,
    key: &str,
    before: &str,
    after: &str,
    in_store: bool,
) -> Result<(), Failure> {
    let cannot = |error| Failure::new(format!("cannot try `{key}`")).because(error);
    let said_of = |text: &str| -> Result<Vec<String>, Failure> {
        let folder = crate::files::scratch_folder().map_err(cannot)?;
        let (name, flags) = match in_store {
            true => (SETTINGS_OF_STORE, folder.path().to_owned()),
            false => ("config.toml", context.config.store.value.clone()),
        };
        crate::files::write_synced(&folder.path().join(name), text.as_bytes()).map_err(cannot)?;
        let environment = Environment {
            config_folder: Some(folder.path().to_owned()),
            variables: Default::default(),
            ..context.environment.clone()
        };
        let flags = Flags {
            store: Some(flags),
            read_only: true,
        };
        // The folder is gone when somebody reads this.
        let place = format!("{}: ", folder.path().join(name).display());
        let plain = |text: String| text.replace(&place, "");
        match Config::read(&flags, &environment) {
            Ok(config) => Ok(config.warnings.into_iter().map(plain).collect()),
            Err(error) => Ok(vec![plain(error.to_string())]),
        }
    };
    let known = said_of(before)?;
    let new = said_of(after)?;
    match new.into_iter().find(|one| !known.contains(one)) {
        None => Ok(()),
        Some(why) => {
            let meaning = help(key)
                .map(|help| format!("`{key}`: {help} "))
                .unwrap_or_default();
            Err(
                Failure::new(format!("`{key}` cannot be set so: {why}")).hint(format!(
                    "{meaning}`memdir config` lists every setting. Nothing was changed."
                )),
            )
        }
    }
}

/// Returns the path of the user's settings file, whether it exists or not.
fn user_file(environment: &Environment) -> Option<PathBuf> {
    let path = environment.config_folder.as_ref()?.join("config.toml");
    // Whoever keeps his settings elsewhere, behind a link, keeps them there.
    Some(fs::canonicalize(&path).unwrap_or(path))
}

fn settings_file(environment: &Environment) -> Result<PathBuf, Failure> {
    user_file(environment).ok_or_else(|| {
        Failure::new("there is no home folder to keep settings in")
            .hint("Set it by a variable: MEMDIR_ and the key in capitals.")
    })
}

fn text_of(path: &Path) -> Result<String, Failure> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        other => other.map_err(|error| {
            Failure::new(format!("cannot read {}", path.display())).because(error)
        }),
    }
}

/// A changed settings file that is still to be saved.
pub struct EditedSettings<'a> {
    /// Path of the file.
    pub path: PathBuf,
    before: String,
    /// Its text with the changes.
    pub text: String,
    environment: &'a Environment,
    changes: &'a [(&'a str, Option<NewValue>)],
}

impl<'a> EditedSettings<'a> {
    /// Returns the user's settings file with `changes`.
    pub fn of_user(
        environment: &'a Environment,
        changes: &'a [(&'a str, Option<NewValue>)],
    ) -> Result<EditedSettings<'a>, Failure> {
        EditedSettings::of(environment, settings_file(environment)?, changes)
    }

    fn of(
        environment: &'a Environment,
        path: PathBuf,
        changes: &'a [(&'a str, Option<NewValue>)],
    ) -> Result<EditedSettings<'a>, Failure> {
        let before = text_of(&path)?;
        let text = edited(&path, &before, changes)?;
        Ok(EditedSettings {
            path,
            before,
            text,
            environment,
            changes,
        })
    }

    /// Makes the changes in the file as it is by now, and creates its folder if needed; returns its path.
    pub fn save(self) -> Result<PathBuf, Failure> {
        let _alone = lock_of(self.environment, &self.path)?;
        let text = edited(&self.path, &text_of(&self.path)?, self.changes)?;
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let saved = crate::files::create_private_folder(folder)
            .and_then(|()| crate::files::write_synced(&self.path, text.as_bytes()));
        saved.map_err(|error| {
            Failure::new(format!("cannot write {}", self.path.display())).because(error)
        })?;
        Ok(self.path)
    }
}

fn edited(
    path: &Path,
    text: &str,
    changes: &[(&str, Option<NewValue>)],
) -> Result<String, Failure> {
    with_settings(text, changes).map_err(|why| {
        Failure::new(format!("cannot change {}: {why}", path.display()))
            .hint("Mend the file first; nothing was changed.")
    })
}

/// Takes the lock of a settings file, which lies with the user's records; `None` where these cannot be kept.
fn lock_of(environment: &Environment, path: &Path) -> Result<Option<Lock>, Failure> {
    let folder = environment
        .state_folder
        .as_ref()
        .map(|state| state.join("locks"));
    let Some(folder) = folder.filter(|folder| crate::files::create_private_folder(folder).is_ok())
    else {
        return Ok(None);
    };
    let digest = crate::files::digest(path.as_os_str().as_encoded_bytes());
    let lock = folder.join(format!("settings-{digest:032x}.lock"));
    match Lock::take(&lock, "another change of the settings") {
        Ok(lock) => Ok(Some(lock)),
        // It is held; of another error only the lock is at fault, and not the settings.
        Err(error @ FilesError::Busy { .. }) => {
            let what = format!("cannot change {}", path.display());
            Err(Failure::new(what).because(error))
        }
        Err(_) => Ok(None),
    }
}

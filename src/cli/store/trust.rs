//! `memdir trust`: what the user agrees to for a store; and the question that is asked where a store
//! was merely found.

use std::io::IsTerminal;
use std::path::Path;

use serde_json::{Value, json};

use crate::cli::args::Command;
use crate::cli::args::setup::Trust;
use crate::cli::store::purge;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::Output;
use crate::cli::wiring::context::{Context, Outcome};
use crate::cli::wiring::no_store;
use crate::config::{Config, Environment};
use crate::git::{GitSetting, foreign_settings, without_credentials};
use crate::trust::{Record, Records, TrustError};

/// Agrees to a store, shows what was agreed to, or takes it back.
pub fn trust(context: &mut Context, command: &Trust) -> Result<Outcome, Failure> {
    let records = records(&context.environment)?;
    if command.list {
        return list(&mut context.output, &records);
    }
    let store = match &command.folder {
        Some(folder) => context.environment.folder.join(folder),
        None => match &context.config.untrusted {
            Some(found) => found.clone(),
            None => context.config.store.value.clone(),
        },
    };
    if command.revoke {
        return revoke(&mut context.output, &records, &store);
    }
    if !crate::config::is_store(&store) {
        return Err(no_store::no_store(&store));
    }
    let settings = foreign_settings(&store);
    if command.show {
        let settings = settings.unwrap_or_default();
        return show(
            &mut context.output,
            records.find(&store).as_ref(),
            &store,
            &settings,
        );
    }
    let settings = match command.git_settings {
        true => Some(settings.map_err(|error| Failure::new(error.to_string()))?),
        false => None,
    };
    let record = records
        .change(&store, |record| {
            if let Some(settings) = &settings {
                record.honour(settings);
            }
        })
        .map_err(failed)?;
    let settings = foreign_settings(&store).unwrap_or_default();
    show(&mut context.output, Some(&record), &store, &settings)
}

/// Agrees to the store at `store`, which the user has just made or named, and to its links if
/// `allow_links` says so.
pub fn record(environment: &Environment, store: &Path, allow_links: bool) {
    let agree = |record: &mut Record| record.allow_links |= allow_links;
    let recorded = records(environment)
        .and_then(|records| records.change(store, agree).map(drop).map_err(failed));
    if let Err(failure) = recorded {
        tracing::warn!("{}; name the store with --store", failure.what);
    }
}

/// Returns whether the user's record holds the store at `store`.
pub fn is_recorded(environment: &Environment, store: &Path) -> bool {
    environment
        .records()
        .is_some_and(|records| records.find(store).is_some())
}

/// Takes the store at `store`, which was not made after all, out of the user's record.
pub fn forget(environment: &Environment, store: &Path) {
    if let Some(records) = environment.records() {
        let _ = records.revoke(store); // It names a folder that is no store: nothing comes of it.
    }
}

/// Has the user decide about a store that was found above the working folder. Returns whether it
/// is to be used; what goes on without it uses the user's own store.
///
/// # Errors
///
/// Fails if a command needs the store and the user did not agree.
pub fn decide(
    command: &Command,
    config: &Config,
    environment: &Environment,
    output: &Output,
) -> Result<bool, Failure> {
    let Some(found) = &config.untrusted else {
        return Ok(false);
    };
    match command {
        // They make, name or show stores, and read nothing of this one.
        Command::Init(_)
        | Command::Setup(_)
        | Command::Trust(_)
        | Command::Team(_)
        | Command::Model(_)
        | Command::Eval(_) => Ok(false),
        // Nobody is there to be asked, or no answer depends on it.
        Command::Mcp(_)
        | Command::Serve(_)
        | Command::Token(_)
        | Command::Brief(_)
        | Command::Pause(_)
        | Command::Config { .. }
        | Command::Status(_)
        | Command::Path(_) => {
            tracing::warn!("{}", passed_over(found, &config.store.value));
            Ok(false)
        }
        _ if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() => {
            let question = format!(
                "{} is a store that you have not used before. Its memories may be anybody's.\nUse it from now on?",
                found.display()
            );
            if !purge::is_answered_yes(output, &question)? {
                return Err(refused(found, &config.store.value));
            }
            let records = records(environment)?;
            records.change(found, |_| {}).map_err(failed)?;
            Ok(true)
        }
        _ => Err(refused(found, &config.store.value)),
    }
}

/// Returns the warning where a store was found and is not used.
pub fn passed_over(found: &Path, own: &Path) -> String {
    format!(
        "the store {} above the working folder is not used, because you have not agreed to it (`memdir trust {}` does); {} is used instead",
        found.display(),
        found.display(),
        own.display()
    )
}

fn refused(found: &Path, own: &Path) -> Failure {
    let (found, own) = (found.display(), own.display());
    Failure::new(format!(
        "the store {found} was found above the working folder, and you have not agreed to use it"
    ))
    .hint(format!(
        "`memdir trust {found}` agrees to it, `--store {found}` uses it this once, and `--store {own}` is your own."
    ))
}

fn revoke(output: &mut Output, records: &Records, store: &Path) -> Result<Outcome, Failure> {
    let was_there = records.revoke(store).map_err(failed)?;
    let store = store.display().to_string();
    if output.json {
        output.json(&json!({"store": store, "revoked": was_there}))?;
    } else if was_there {
        output.line(format!("{store} is not trusted any more"))?;
    } else {
        output.line(format!("{store} was not trusted"))?;
    }
    Ok(Outcome::found(was_there))
}

fn list(output: &mut Output, records: &Records) -> Result<Outcome, Failure> {
    let records = records.all();
    if output.json {
        let records: Vec<Value> = records.iter().map(record_json).collect();
        output.json(&json!({"stores": records}))?;
    } else {
        for record in &records {
            output.line(record_line(record))?;
        }
    }
    Ok(Outcome::found(!records.is_empty()))
}

fn record_line(record: &Record) -> String {
    let remote = record.remote.as_ref();
    let remote = remote.map(|remote| format!("  remote {}", without_credentials(&remote.address)));
    let workspace = record.workspace.as_ref();
    let workspace = workspace.map(|joined| format!("  workspace {}", joined.address));
    let links = if record.allow_links {
        "  links allowed"
    } else {
        ""
    };
    format!(
        "{}{}{}{links}",
        record.store,
        remote.unwrap_or_default(),
        workspace.unwrap_or_default()
    )
}

fn record_json(record: &Record) -> Value {
    let remote = record.remote.as_ref().map(|remote| {
        let push_address = remote.push_address.as_deref().map(without_credentials);
        json!({
            "address": without_credentials(&remote.address),
            "push_address": push_address,
            "allow_local": remote.allow_local,
        })
    });
    json!({
        "store": record.store,
        "remote": remote,
        "workspace": record.workspace.as_ref().map(|joined| &joined.address),
        "allow_links": record.allow_links,
    })
}

/// Shows what was agreed to, and what the repository asks for beyond that.
fn show(
    output: &mut Output,
    record: Option<&Record>,
    store: &Path,
    settings: &[GitSetting],
) -> Result<Outcome, Failure> {
    let honoured = record.map(Record::honoured).unwrap_or_default();
    if output.json {
        let settings: Vec<Value> = settings
            .iter()
            .map(|setting| {
                json!({
                    "key": setting.key,
                    "value": setting.value,
                    "followed": honoured.contains(setting),
                })
            })
            .collect();
        output.json(&json!({
            "store": store.display().to_string(),
            "trusted": record.is_some(),
            "record": record.map(record_json),
            "git_settings": settings,
        }))?;
    } else {
        match record {
            Some(record) => output.line(format!("trusted: {}", record_line(record)))?,
            None => output.line(format!("not trusted: {}", store.display()))?,
        }
        for setting in settings {
            let followed = match honoured.contains(setting) {
                true => "followed",
                false => "not followed",
            };
            let GitSetting { key, value } = setting;
            output.line(format!("its repository sets {key} = {value}  ({followed})"))?;
        }
        if settings.iter().any(|setting| !honoured.contains(setting)) {
            output.note("`memdir trust --git-settings` has memdir follow these settings, which may name programs and hosts.");
        }
    }
    Ok(match record {
        Some(_) => Outcome::Done,
        None => Outcome::Nothing,
    })
}

fn records(environment: &Environment) -> Result<Records, Failure> {
    environment
        .records()
        .ok_or_else(|| failed(TrustError::NoPlace))
}

fn failed(error: TrustError) -> Failure {
    match std::error::Error::source(&error) {
        Some(cause) => Failure::new(error.to_string()).because(cause),
        None => Failure::new(error.to_string()),
    }
}

/// Returns the store that a server uses instead of one that it found, and what it says of it.
pub fn notice(config: &Config) -> Option<String> {
    let found = config.untrusted.as_ref()?;
    Some(passed_over(found, &config.store.value))
}

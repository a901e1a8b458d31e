//! Commands around a store: init, path, completions, man.

use std::path::{Path, PathBuf};

use clap::CommandFactory;
use serde_json::json;

use crate::cli::args::Args;
use crate::cli::args::setup::{Completions, Init, PathOf};
use crate::cli::complete;
use crate::cli::sharing::sync;
use crate::cli::store::trust;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::Output;
use crate::cli::wiring::context::{Context, Outcome};
use crate::cli::wiring::{layout_offer, no_store};
use crate::engine::{EngineError, Recalled, history, ops};
use crate::model::IN_PLACE;

/// The text of a new store's settings file, which marks the folder as a store.
const SETTINGS: &str = "\
# Settings of this memdir store. They travel with it, so they never name a command, an endpoint
# or a path. `memdir config` shows every setting and where it comes from.
#
# languages = [\"english\"]   # whose words are stemmed in searches
# namespace = \"project\"     # of new memories: \"project\", \"global\", or a name
# layout = \"by-month\"       # new memories in a folder for each month; see `memdir layout`
# limit = 25                # hits of a search
# git = true                # keep a history, and go to other machines with `memdir sync`
# secrets = \"warn\"          # credentials in what is written: \"warn\", \"redact\", \"refuse\"
";

/// Runs `memdir init`.
pub fn init(context: &mut Context, command: &Init) -> Result<Outcome, Failure> {
    if context.config.read_only {
        return Err(Failure::new("a store cannot be made with --read-only"));
    }
    let folder = folder_to_make(context, command)?;
    if context.config.read_only {
        return Err(EngineError::ReadOnly(folder).into());
    }
    if let Some(notes) = notes_over(&folder) {
        let what = format!("cannot make a store in {}", folder.display());
        let why = match folder == notes {
            true => "it is a store already",
            false => "it lies in a store that opens notes in place, and is part of that",
        };
        return Err(Failure::new(format!("{what}: {why}")).hint(format!(
            "`memdir status --store {}` tells of that store.",
            notes.join(IN_PLACE).display()
        )));
    }
    let cannot = |error| no_store::not_made(&folder, error);
    let existed = folder.join("memdir.toml").exists();
    let begun = crate::files::UnfinishedInit::at(&folder);
    let was_trusted = trust::is_recorded(&context.environment, &folder);
    match crate::files::notes_around(&folder) {
        None => crate::files::create_private_folder(&folder.join("files")).map_err(cannot)?,
        Some(_) => {
            crate::files::create_private_folder(&folder).map_err(cannot)?;
            // For a repository and a sync service of the notes themselves.
            let ignored = folder.join(".gitignore");
            crate::files::write_derived(&ignored, b"*\n").map_err(cannot)?;
        }
    }
    trust::record(&context.environment, &folder, command.allow_links);
    // What the remote holds comes first: it may bring settings along.
    let exchanged = match &command.remote {
        None => None,
        Some(address) => {
            let engine = context.open_at(&folder)?;
            match sync::set_up(context, &engine, address, command.allow_local, false) {
                Ok(exchanged) => Some((engine, exchanged)),
                Err(failure) => {
                    // What failed leaves no half of a store, which a write would then pass over.
                    drop(engine);
                    if begun.take_back() && !was_trusted {
                        trust::forget(&context.environment, &folder);
                    }
                    return Err(failure);
                }
            }
        }
    };
    if !folder.join("memdir.toml").exists() {
        let mut settings = SETTINGS.to_owned();
        if command.no_git {
            settings.push_str("git = false\n");
        }
        crate::files::write_derived(&folder.join("memdir.toml"), settings.as_bytes())
            .map_err(cannot)?;
    }
    let mut offer = None;
    if context.config.git.value && !command.no_git {
        let engine = context.open_at(&folder)?;
        offer = layout_offer::offer_once(&engine, ops::in_no_folder(&engine)?);
        if let Err(error) = history::commit_what_was_there(&engine.history) {
            tracing::warn!("nothing was committed: {error}");
        }
    }
    let output = &mut context.output;
    if output.json {
        let notes = crate::files::notes_around(&folder).map(|notes| notes.display().to_string());
        let mut document = json!({"store": folder.display().to_string(), "existed": existed});
        if let Some(notes) = notes {
            document["notes"] = json!(notes);
        }
        output.json(&document)?;
    } else {
        let what = if existed {
            "is a store already"
        } else {
            "is a store now"
        };
        let shown = crate::files::notes_around(&folder).unwrap_or(&folder);
        output.line(format!("{} {what}", shown.display()))?;
        let notes = crate::files::notes_around(&folder);
        if let Some(notes) = notes.filter(|notes| notes.join(".git").exists()) {
            output.note(format!(
                "{} is in a git repository of its own: name {IN_PLACE}/ in its .gitignore",
                notes.display()
            ));
        }
        if let Some(offer) = &offer {
            output.note(offer);
        }
        if output.is_terminal {
            output.note("Write to it:  memdir remember --topics a,b 'TEXT'\nServe agents: claude mcp add --scope user memdir -- memdir mcp");
        }
        if let Some((engine, exchanged)) = exchanged {
            return sync::show(context, &engine, &exchanged);
        }
    }
    Ok(Outcome::Done)
}

/// Returns the folder that becomes a store: the one that `init` names, else that of `--store`, else the working
/// folder.
///
/// # Errors
///
/// Fails if `--store` and `init` name different folders.
fn folder_to_make(context: &Context, command: &Init) -> Result<PathBuf, Failure> {
    let working = &context.environment.folder;
    let (option, named) = match (&command.notes, &command.folder) {
        (Some(notes), _) => ("--notes", clean(&working.join(notes))),
        (None, _) if command.here => ("--here", clean(working)),
        (None, Some(folder)) => ("FOLDER", working.join(folder)),
        (None, None) => ("", working.clone()),
    };
    let by_flag = context.config.store_origin == crate::config::StoreOrigin::Flag;
    let flag = Some(&context.config.store.value).filter(|_| by_flag);
    if let (Some(flag), "") = (flag, option) {
        return Ok(flag.clone());
    }
    let folder = match option {
        "--notes" => in_place(context, &named)?,
        _ => named.clone(),
    };
    if let Some(flag) = flag
        .map(|flag| clean(flag))
        .filter(|flag| *flag != clean(&named) && *flag != folder)
    {
        let what = format!(
            "cannot make one store in two folders: --store names {}, and {option} {}",
            flag.display(),
            named.display()
        );
        let hint = match option {
            "--notes" => {
                "Leave --store out: the store of notes in place lies in `.memdir-store` beside them."
            }
            _ => "Leave --store out, or have it name the same folder.",
        };
        return Err(Failure::new(what).hint(hint));
    }
    Ok(folder)
}

/// Returns the store that opens the folder `notes` in place.
fn in_place(context: &Context, notes: &Path) -> Result<PathBuf, Failure> {
    let refused = |why: &str, hint: &str| {
        let what = format!("cannot open {} in place: {why}", notes.display());
        Err(Failure::new(what).hint(hint))
    };
    let home = context.environment.variables.get("HOME");
    let is_home =
        home.is_some_and(|home| notes.canonicalize().ok() == Path::new(home).canonicalize().ok());
    if !notes.is_dir() {
        return refused(
            "there is no such folder",
            "Name a folder of notes that is there.",
        );
    }
    if is_home || notes.parent().is_none() {
        let hint = "Name the folder in it that holds the notes.";
        return refused("it holds much else than notes", hint);
    }
    let store = notes.join(IN_PLACE);
    if crate::config::is_marked(notes) || notes.ends_with(IN_PLACE) {
        return refused("it is a store already", "`memdir status` tells of it.");
    }
    Ok(store)
}

/// Returns the folder of notes that another store than `folder` opens in place, and that `folder` is or lies
/// in.
fn notes_over(folder: &Path) -> Option<&Path> {
    let own = crate::files::notes_around(folder);
    let around = own.unwrap_or(folder).ancestors();
    let mut around = around.filter(|notes| Some(*notes) != own);
    around.find(|notes| crate::config::store_at(notes) != **notes)
}

/// Returns a path without `.` and `..`.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => drop(clean.pop()),
            part => clean.push(part),
        }
    }
    clean
}

/// Runs `memdir path`.
pub fn path(context: &mut Context, command: &PathOf) -> Result<Outcome, Failure> {
    let path = match &command.id {
        None => context.config.store.value.clone(),
        Some(id) => {
            let engine = context.engine()?;
            match ops::recall(&engine, std::slice::from_ref(id)).pop() {
                Some(Recalled::Found { name, .. }) => engine.live.files_folder().join(name),
                Some(Recalled::Failed { error, .. }) => return Err(error.into()),
                None => unreachable!("one id has one answer"),
            }
        }
    };
    let output = &mut context.output;
    if output.json {
        output.json(&json!({"path": path.display().to_string()}))?;
    } else {
        output.line(path.display().to_string())?;
    }
    Ok(Outcome::Done)
}

pub fn completions(command: &Completions, output: &mut Output) -> Result<Outcome, Failure> {
    let script = complete::script(&command.shell.to_string());
    if output.json {
        let script = String::from_utf8_lossy(&script);
        output.json(&json!({"shell": command.shell.to_string(), "script": script}))?;
    } else {
        output.bytes(&script)?;
    }
    Ok(Outcome::Done)
}

pub fn man(output: &mut Output) -> Result<Outcome, Failure> {
    manual(Args::command(), output)
}

/// Prints the manual page of a program with these commands.
pub fn manual(mut command: clap::Command, output: &mut Output) -> Result<Outcome, Failure> {
    let mut page = Vec::new();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    // One page for all: the commands follow in the order of the help.
    for subcommand in command
        .get_subcommands()
        .filter(|command| command.get_name() != "help")
    {
        let title = subcommand
            .get_display_name()
            .unwrap_or(subcommand.get_name())
            .to_owned();
        let man = clap_mangen::Man::new(subcommand.clone().display_name(title.replace('-', " ")));
        man.render_name_section(&mut page)?;
        man.render_synopsis_section(&mut page)?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
        man.render_extra_section(&mut page)?;
    }
    if output.json {
        output.json(&json!({"section": 1, "page": String::from_utf8_lossy(&page)}))?;
    } else {
        output.bytes(&page)?;
    }
    Ok(Outcome::Done)
}

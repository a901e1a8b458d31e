//! `memdir setup`: writes the server, hooks and instructions into the files of clients, and takes them out.

use std::io::IsTerminal;

use crate::cli::args::setup::Setup;
use crate::cli::clients::shown;
use crate::cli::store::config::EditedSettings;
use crate::cli::store::purge;
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::{Context, Outcome};
use crate::clients::{
    self, CLIENTS, Client, Contents, Folders, Launch, Part, Program, Records, Request, Scope, Words,
};
use crate::config::{NewValue, StoreOrigin};
use crate::dialect;
use crate::dialect::core::Core;

/// Runs `memdir setup`.
pub fn setup(context: &mut Context, command: &Setup) -> Result<Outcome, Failure> {
    let only_looks = command.print || command.dry_run;
    if context.config.read_only && !only_looks {
        return Err(Failure::new("clients cannot be set up with --read-only")
            .hint("--dry-run and --print write nothing."));
    }
    let environment = &context.environment;
    let folders = Folders::new(&environment.variables, &environment.folder);
    let folders = folders.ok_or_else(|| {
        Failure::new("cannot tell your home folder").hint("Set the variable HOME to it.")
    })?;
    let records = environment.state_folder.as_deref().map(Records::new);
    let contents = contents(context, command, &folders)?;
    let scope = match command.project {
        true => Scope::Project,
        false => Scope::User,
    };
    let parts: Vec<Part> = Part::ALL
        .into_iter()
        .filter(|part| match part {
            Part::Server => true,
            Part::Hooks => !command.no_hooks,
            Part::Instructions | Part::Skill => !command.no_instructions,
        })
        .collect();
    let mut chosen = chosen(command, &folders);
    let plan = |clients: &[&'static Client]| {
        let request = Request {
            clients,
            scope,
            parts: &parts,
            folders: &folders,
            records: records.as_ref(),
        };
        match command.uninstall {
            true => clients::take_out(&request, &contents),
            false => clients::set_up(&request, &contents),
        }
    };
    if command.print {
        let request = Request {
            clients: &chosen,
            scope,
            parts: &parts,
            folders: &folders,
            records: None,
        };
        let snippets = clients::snippets(&request, &contents);
        shown::snippets(&mut context.output, &folders, &snippets)?;
        return Ok(Outcome::found(!snippets.is_empty()));
    }
    let is_asked = command.clients.is_empty() && !command.uninstall;
    if is_asked && chosen.is_empty() {
        shown::nothing_found(&mut context.output)?;
        return Ok(Outcome::Nothing);
    }
    let mut planned = plan(&chosen);
    let may_ask = std::io::stdin().is_terminal()
        && context.output.is_terminal
        && !context.output.json
        && !command.yes
        && !command.dry_run;
    if is_asked && may_ask {
        shown::table(&mut context.output, &folders, &chosen, &planned)?;
        context.output.flush()?;
        chosen = ask(context, &chosen)?;
        if chosen.is_empty() {
            return Ok(Outcome::Done);
        }
        planned = plan(&chosen);
    }
    let report = shown::Report {
        folders: &folders,
        clients: &chosen,
        contents: &contents,
        scope,
        is_uninstall: command.uninstall,
    };
    if command.dry_run {
        report.difference(&mut context.output, &planned)?;
        return Ok(Outcome::found(planned.left.is_empty()));
    }
    let mut may_write = command.yes || planned.changed().next().is_none() || (is_asked && may_ask);
    if !may_write {
        if !context.output.json {
            match is_asked {
                true => shown::table(&mut context.output, &folders, &chosen, &planned)?,
                false => report.changes(&mut context.output, &planned)?,
            }
            context.output.flush()?;
        }
        may_write = may_ask && purge::is_answered_yes(&context.output, "Write these files?")?;
    }
    let mut failures = Vec::new();
    if may_write {
        for change in &planned.changes {
            if let Err(error) = clients::apply(change, records.as_ref()) {
                failures.push(Failure::new("a file was not changed").because(error));
            }
        }
    }
    report.outcome(&mut context.output, &planned, may_write)?;
    if may_write && command.project {
        project_store(context, command.uninstall)?;
    }
    for failure in &failures {
        context.output.error(failure);
    }
    if !failures.is_empty() {
        return Ok(Outcome::Failed);
    }
    Ok(Outcome::found(may_write && planned.left.is_empty()))
}

/// Has servers for agents answer from the project's own store, too (`[stores] also`), if the working folder
/// lies in one that was agreed to; or no longer.
fn project_store(context: &mut Context, is_uninstall: bool) -> Result<(), Failure> {
    let config = &context.config;
    if let Some(untrusted) = &config.untrusted {
        let shown = untrusted.display();
        context.output.note(format!(
            "the store {shown} is not used before you agree to it: `memdir trust`, then this command again"
        ));
        return Ok(());
    }
    if config.store_origin != StoreOrigin::Parent {
        return Ok(());
    }
    let root = &config.store.value;
    let mut also: Vec<String> = config
        .also
        .iter()
        .filter(|also| *also != root)
        .map(|also| also.display().to_string())
        .collect();
    let is_listed = also.len() < config.also.len();
    if is_listed != is_uninstall {
        return Ok(());
    }
    if !is_uninstall {
        also.push(root.display().to_string());
    }
    let list = NewValue::typed(&serde_json::json!(also).to_string());
    let change = ("stores.also", Some(list).filter(|_| !also.is_empty()));
    let path = EditedSettings::of_user(&context.environment, &[change])?.save()?;
    let (shown, root) = (path.display(), root.display());
    context.output.note(match is_uninstall {
        true => format!("servers answer no longer from {root} beside your own store: {shown}"),
        false => format!("servers answer from {root} and from your own store: {shown}"),
    });
    Ok(())
}

/// Returns the clients that are named, else those that are found; to take out, every one.
fn chosen(command: &Setup, folders: &Folders) -> Vec<&'static Client> {
    let is_chosen = |client: &&Client| match command.clients.is_empty() {
        true => command.uninstall || folders.find(client).is_some(),
        false => command.clients.iter().any(|name| name == client.name),
    };
    CLIENTS.iter().filter(is_chosen).collect()
}

/// Asks which of the clients to set up. An empty answer means all of them.
fn ask(context: &Context, found: &[&'static Client]) -> Result<Vec<&'static Client>, Failure> {
    loop {
        context
            .output
            .note("Which ones? Names with blanks between, `all`, or `none` [all]");
        let mut answer = String::new();
        let read = std::io::stdin()
            .read_line(&mut answer)
            .map_err(|error| Failure::new("cannot read the answer").because(error))?;
        let words: Vec<&str> = answer.split([' ', ',', '\n', '\r', '\t']).collect();
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        match words.as_slice() {
            // The input has ended: nobody agreed to anything.
            [] if read == 0 => return Ok(Vec::new()),
            ["none"] => return Ok(Vec::new()),
            [] | ["all"] => return Ok(found.to_vec()),
            names => match names.iter().find(|name| clients::named(name).is_none()) {
                None => {
                    return Ok(names
                        .iter()
                        .filter_map(|name| clients::named(name))
                        .collect());
                }
                Some(unknown) => context
                    .output
                    .note(format!("There is no client `{unknown}`.")),
            },
        }
    }
}

/// Returns what is written into the files.
fn contents(context: &Context, command: &Setup, folders: &Folders) -> Result<Contents, Failure> {
    let settings = &context.config.mcp;
    let named = command.dialect.as_deref().or(settings.dialect.as_deref());
    let named = named.unwrap_or(dialect::NAMES[0]);
    let is_core = named == dialect::NAMES[0];
    if !is_core && !command.tools.is_empty() {
        let what = "is served as it is: --tools adds to `core` only";
        return Err(Failure::new(format!("the tool set `{named}` {what}")));
    }
    let tools = match command.tools.is_empty() {
        true => &settings.tools,
        false => &command.tools,
    };
    if is_core && !tools.is_empty() {
        Core::with(tools).map_err(|error| Failure::new(error.to_string()))?;
    }
    let serves_forget = tools
        .iter()
        .any(|tool| matches!(tool.as_str(), "forget" | "all"));
    let words = Words::of(named, serves_forget).ok_or_else(|| {
        let known = dialect::NAMES.join(", ");
        Failure::new(format!(
            "there is no tool set `{named}`: it is one of {known}"
        ))
    })?;
    let own = std::env::current_exe()
        .map_err(|error| Failure::new("cannot tell where this program is").because(error))?;
    let mut options = Vec::new();
    if context.config.store_origin == StoreOrigin::Flag {
        let store = std::path::absolute(&context.config.store.value)
            .map_err(|error| Failure::new("cannot tell where the store is").because(error))?;
        options.extend(["--store".to_owned(), store.display().to_string()]);
    }
    let mut served = Vec::new();
    if let Some(dialect) = &command.dialect {
        served.extend(["--dialect".to_owned(), dialect.clone()]);
    }
    if !command.tools.is_empty() {
        served.extend(["--tools".to_owned(), command.tools.join(",")]);
    }
    Ok(Contents {
        overrides_command: !options.is_empty() || !served.is_empty(),
        launch: Launch {
            program: Program::find(&own, folders),
            options,
            served,
        },
        words,
    })
}

//! Checks of clients: whether each one knows this program, and whether its hooks answer.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::cli::doctor::check::Check;
use crate::cli::doctor::run;
use crate::cli::wiring::context::Context;
use crate::clients::{self, CLIENTS, Client, Folders, Scope, ServerEntry};

const NAME: &str = "client";

/// Time after which a client's own list is given up: some start every server that they know.
const LIST_PATIENCE: Duration = Duration::from_secs(20);

/// Time after which a hook is given up. Clients wait for the answer.
const HOOK_PATIENCE: Duration = Duration::from_secs(5);

/// Time of a hook that a person does not notice.
const HOOK_SOON: Duration = Duration::from_millis(500);

/// Checks each client that is found here: its entry starts this program, and its own list has it.
pub fn clients(context: &Context) -> Vec<Check> {
    let Some(folders) = folders(context) else {
        return Vec::new();
    };
    let found = CLIENTS
        .iter()
        .filter(|client| folders.find(client).is_some());
    let entries: Vec<(&Client, PathBuf, ServerEntry)> = found
        .filter_map(|client| {
            let (path, entry) = clients::server_entry(client, &folders, Scope::User)?;
            Some((client, path, entry))
        })
        .collect();
    let missing = entries
        .iter()
        .filter(|(_, _, entry)| *entry == ServerEntry::Missing);
    let missing: Vec<&str> = missing.map(|(client, ..)| client.name).collect();
    let folders = &folders;
    let mut checks: Vec<Check> = std::thread::scope(|scope| {
        // Each list takes seconds: they are asked at once.
        let asked: Vec<_> = entries
            .iter()
            .filter(|(_, _, entry)| *entry != ServerEntry::Missing)
            .map(|(client, path, entry)| scope.spawn(move || one(client, path, entry, folders)))
            .collect();
        asked
            .into_iter()
            .map(|check| check.join().expect("a check does not panic"))
            .collect()
    });
    if !missing.is_empty() {
        let names = missing.join(", ");
        checks.push(match checks.is_empty() {
            true => Check::wrong(
                NAME,
                format!("none knows memdir; found here: {names}"),
                "`memdir setup` tells them.",
            ),
            false => Check::well(
                NAME,
                format!("found, and not set up: {names}; `memdir setup NAME` does it"),
            ),
        });
    }
    checks
}

/// Checks the entry of one client.
fn one(client: &Client, path: &Path, entry: &ServerEntry, folders: &Folders) -> Check {
    let (title, name, file) = (client.title, client.name, folders.shown(path));
    let anew = format!("Remove the entry, then `memdir setup {name}` writes it anew.");
    let words = match entry {
        ServerEntry::Missing => return Check::wrong(NAME, format!("{title}: no entry"), anew),
        ServerEntry::Unreadable(why) => {
            let what = format!("{title}: {file} cannot be read: {why}");
            let hint = format!("`memdir setup {name} --print` shows what belongs into it.");
            return Check::wrong(NAME, what, hint);
        }
        ServerEntry::Runs(words) => words,
    };
    let Some(program) = words.first() else {
        let what = format!("{title}: the entry in {file} runs nothing");
        return Check::wrong(NAME, what, anew);
    };
    let is_path = Path::new(program).components().count() > 1;
    let started = match is_path {
        true => Some(PathBuf::from(program)).filter(|path| path.is_file()),
        false => folders.program(program),
    };
    let Some(started) = started else {
        let what = format!("{title}: {file} starts `{program}`, which is not there");
        return Check::wrong(NAME, what, anew);
    };
    let real = |path: &Path| path.canonicalize().ok();
    let own = std::env::current_exe().ok();
    if own.is_some_and(|own| real(&own) != real(&started)) {
        let started = started.display();
        let what = format!("{title}: {file} starts another program: {started}");
        return Check::wrong(NAME, what, anew);
    }
    let command = words.join(" ");
    match own_list(client, folders) {
        Ok(None) => Check::well(NAME, format!("{title}: `{command}` in {file}")),
        Ok(Some(state)) => Check::well(
            NAME,
            format!("{title}: `{command}` in {file}, {state} by its own list"),
        ),
        Err((list, why)) => Check::wrong(
            NAME,
            format!("{title}: `{list}`: {why}"),
            format!("{file} is right; what that command says is the reason."),
        ),
    }
}

/// Returns whether the client's own list says that memdir is connected, or merely has it; `None` where there
/// is no such list. An error names the command and what is wrong.
fn own_list(client: &Client, folders: &Folders) -> Result<Option<&'static str>, (String, String)> {
    let Some((name, program)) = client
        .list
        .and_then(|name| Some((name, folders.program(name)?)))
    else {
        return Ok(None);
    };
    let mut command = Command::new(program);
    command
        .args(["mcp", "list"])
        .env("NO_COLOR", "1")
        .env("TERM", "dumb");
    let list = || format!("{name} mcp list");
    let ran = run::run(command, "", LIST_PATIENCE).map_err(|why| (list(), why))?;
    if !ran.is_success {
        let said = ran.stderr.lines().chain(ran.stdout.lines());
        let said = said.map(str::trim).find(|line| !line.is_empty());
        return Err((list(), said.unwrap_or("it failed").to_owned()));
    }
    let lines = ran.stdout.lines().chain(ran.stderr.lines());
    let line = lines
        .map(str::to_lowercase)
        .find(|line| line.contains("memdir"));
    let Some(line) = line else {
        return Err((list(), "it does not name memdir".to_owned()));
    };
    let is_bad = ["fail", "disconnected", "disabled", "error", "\u{2717}"];
    if is_bad.iter().any(|word| line.contains(word)) {
        return Err((list(), line.trim().to_owned()));
    }
    Ok(Some(match line.contains("connected") {
        true => "connected",
        false => "known",
    }))
}

/// Checks that the hooks of the clients answer: each event that gives an agent something is tried, and noted
/// nowhere. `None` if no client has hooks.
pub fn hooks(context: &Context) -> Option<Check> {
    const NAME: &str = "hooks";
    let folders = folders(context)?;
    let with_hooks = CLIENTS.iter();
    let with_hooks = with_hooks.filter(|client| clients::has_hooks(client, &folders, Scope::User));
    let names: Vec<&str> = with_hooks.map(|client| client.name).collect();
    let client = names.first()?;
    let hint = "`memdir hook session-start --dry-run` in a terminal says the reason.";
    let folder = context.environment.folder.display().to_string();
    let mut answers = Vec::new();
    for event in ["session-start", "prompt"] {
        let message = json!({
            "session_id": "memdir doctor",
            "cwd": folder,
            "source": "startup",
            "prompt": "What do we know about this project?",
        });
        let ran = match answer(context, client, event, &message.to_string()) {
            Ok(ran) => ran,
            Err(why) => return Some(Check::wrong(NAME, format!("{event}: {why}"), hint)),
        };
        let did = ran.stderr.trim();
        let did = did
            .strip_prefix(&format!("memdir {event}: "))
            .unwrap_or(did);
        if !ran.is_success || did.starts_with("nothing was shown") {
            return Some(Check::wrong(NAME, format!("{event}: {did}"), hint));
        }
        let taken = ran.taken.as_millis();
        if ran.taken > HOOK_SOON {
            return Some(Check::wrong(
                NAME,
                format!("{event} took {taken} ms: {did}"),
                "`memdir reindex` brings the index up to date; the machine may be busy.",
            ));
        }
        answers.push(format!("{event} {taken} ms ({did})"));
    }
    let what = format!("{}: {}", names.join(", "), answers.join(", "));
    Some(Check::well(NAME, what))
}

/// Calls a hook as a client does.
fn answer(context: &Context, client: &str, event: &str, message: &str) -> Result<run::Ran, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot be found: {error}"))?;
    let mut command = Command::new(program);
    command.arg("--store").arg(&context.config.store.value);
    command.args(["hook", event, "--client", client, "--dry-run"]);
    run::run(command, message, HOOK_PATIENCE)
}

fn folders(context: &Context) -> Option<Folders> {
    let environment = &context.environment;
    Folders::new(&environment.variables, &environment.folder)
}

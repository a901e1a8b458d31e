//! Commands about what was: log, diff, undo, and git itself.

use std::process::Command;

use serde_json::{Value, json};

use crate::cli::args::history::{Git, Log, Undo};
use crate::cli::memories::when::{local, revision};
use crate::cli::memories::{life, maintenance};
use crate::cli::terminal::difference;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::{BOLD, DIM, ID, Output, visible};
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::dialect::views::{ChangeView, TextView, UndoneView};
use crate::engine::{
    Engine, EngineError, PastChange, PastText, Recalled, UndoneFile, history, ops,
};
use crate::git::compare_texts;
use crate::model::Stem;

/// Maximum number of changes that `recall --verbose` shows.
const MOST_RECALLED: usize = 10;
/// Number of commits that `log` prints.
const USUAL_LIMIT: usize = 50;
/// Number of equal lines that are shown around each difference.
const USUAL_CONTEXT: u32 = 3;
/// Variables that would have git work in another repository than the store's.
const GIT_PLACES: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
];

/// Runs `memdir log`.
pub fn log(context: &mut Context, command: &Log) -> Result<Outcome, Failure> {
    let limit = command.limit.unwrap_or(USUAL_LIMIT);
    if limit == 0 {
        return Err(Failure::new("--limit must be at least 1"));
    }
    if command.audit {
        return life::audit(context, command.id.as_deref(), limit);
    }
    let engine = context.engine()?;
    commit_first(&engine);
    let log = ops::log(&engine, command.id.as_deref(), limit)?;
    let output = &mut context.output;
    let found = !log.changes.is_empty();
    if output.json {
        let commits: Vec<ChangeView<'_>> = log.changes.iter().map(ChangeView::from).collect();
        let mut document = json!({"commits": commits, "more": log.has_more});
        if let Some(stem) = &log.stem {
            document["stem"] = json!(stem.as_str());
        }
        output.json(&document)?;
    } else {
        for change in &log.changes {
            let line = summary(&engine, output, change);
            output.line(line)?;
            if log.stem.is_none() {
                titles(&engine, output, change)?;
            }
        }
        if !found {
            output.note("nothing found");
        }
        if log.has_more && output.is_terminal {
            output.note("there are older ones; more with -n");
        }
    }
    output.flush()?;
    afterwards::settle(&engine);
    Ok(Outcome::found(found))
}

/// Runs `memdir diff`.
pub fn diff(context: &mut Context, id: &str, asked: Option<&str>) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    commit_first(&engine);
    let revision = asked.map(|text| revision(text, context.now()));
    let versions = ops::versions(&engine, id, revision.as_ref())?;
    let output = &mut context.output;
    let (now, before) = (&versions.now, &versions.before);
    let is_same = |before: &PastText| before.bytes == now.bytes && now.file.is_some();
    let is_different = before.as_ref().is_some_and(|before| !is_same(before));
    if output.json {
        output.json(&json!({
            "id": engine.live.shown_id(&versions.stem),
            "stem": versions.stem.as_str(),
            "different": is_different,
            "before": before.as_ref().map(TextView::from),
            "after": TextView::from(now),
        }))?;
    } else if let Some(before) = before.as_ref().filter(|_| is_different) {
        show_difference(output, before, now)?;
    } else if before.is_none() {
        output.note("no difference: it never said anything else");
    } else {
        output.note("no difference");
    }
    output.flush()?;
    afterwards::settle(&engine);
    Ok(Outcome::found(is_different))
}

/// Runs `memdir undo`.
pub fn undo(context: &mut Context, command: &Undo) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    if let Some(plan) = command.target.as_deref().filter(|text| ops::is_plan(text)) {
        return maintenance::take_back(context, &engine, plan, command.dry_run);
    }
    let mut undone = ops::undo(&engine, command.target.as_deref(), command.dry_run)?;
    for file in &mut undone.files {
        file.file = engine.live.shown_file(&file.file);
    }
    let is_change = undone.files.iter().any(|file| file.is_change);
    let output = &mut context.output;
    if output.json {
        output.json(&json!(UndoneView::new(&undone, command.dry_run)))?;
    } else {
        let done = match (is_change, command.dry_run) {
            (true, false) => "undid",
            (true, true) => "would undo",
            (false, _) => "nothing to change for",
        };
        let commit = undone.undone.get(..10).unwrap_or_default();
        let what = one_line(output, &undone.what);
        output.line(format!("{done} {ID}{commit}{ID:#}  {BOLD}{what}{BOLD:#}"))?;
        for UndoneFile { file, what, .. } in &undone.files {
            let file = one_line(output, file);
            output.line(format!("    {file}  {DIM}{what}{DIM:#}"))?;
        }
        if is_change && undone.others > 0 {
            let memories = match undone.others {
                1 => "1 other memory".to_owned(),
                others => format!("{others} other memories"),
            };
            output.line(format!(
                "The commit changed {memories}; `memdir undo {commit}` takes back what is left of it."
            ))?;
        }
    }
    if !command.dry_run {
        afterwards::after_writing(context, &engine)?;
    }
    Ok(Outcome::found(is_change))
}

/// Runs git with the caller's input and output.
pub fn git(context: &mut Context, command: &Git) -> Result<Outcome, Failure> {
    if context.config.read_only {
        return Err(
            Failure::new("git may change the store, and runs not with --read-only")
                .hint("`memdir log` and `memdir diff` show the history."),
        );
    }
    let engine = context.engine()?;
    if let Err(error) = history::tidy_repository(&engine.history) {
        tracing::info!("git's index was not brought up to date: {error}");
    }
    let found = history::repository(&engine.history).map_err(EngineError::from)?;
    if found.is_none() {
        return Err(Failure::new("the store is in no repository")
            .hint("`memdir sync` makes one, unless the setting `git` is off."));
    }
    let unfollowed = history::unfollowed_settings(&engine.history).map_err(EngineError::from)?;
    if let Some(first) = unfollowed.first() {
        let what = format!(
            "the repository's configuration names programs, hosts or files that git would use (`{}`), and you have not agreed to them",
            first.key
        );
        return Err(Failure::new(what).hint(
            "`memdir trust --show` lists them, `memdir trust --git-settings` agrees to them.",
        ));
    }
    if engine.live.notes().is_some() {
        check_in_place(&command.arguments)?;
    }
    context.output.flush()?;
    let mut program = Command::new("git");
    program
        .current_dir(engine.live.root())
        .args(&command.arguments);
    for name in GIT_PLACES {
        program.env_remove(name);
    }
    let status = program.status().map_err(|error| {
        Failure::new("cannot start git")
            .because(error)
            .hint("Install git, or add its folder to PATH.")
    })?;
    // As a shell says that a signal ended it.
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|number| 128 + number);
    #[cfg(not(unix))]
    let signal: Option<i32> = None;
    let code = status.code().or(signal).unwrap_or(2);
    Ok(Outcome::Code(u8::try_from(code).unwrap_or(2)))
}

/// Git commands that work on files, each with the memdir command to run instead.
const ON_FILES: [(&[&str], &str); 6] = [
    (
        &["status", "diff"],
        "`memdir status` shows what waits to be committed, `memdir diff ID` what changed",
    ),
    (
        &["add", "commit", "rm", "mv", "stash"],
        "edit and delete notes as you like: `memdir sync` commits what changed",
    ),
    (
        &[
            "checkout",
            "switch",
            "restore",
            "reset",
            "revert",
            "clean",
            "read-tree",
            "checkout-index",
        ],
        "`memdir undo`, `memdir restore ID@REV` and `memdir reset` bring back what was",
    ),
    (
        &["merge", "pull", "rebase", "cherry-pick", "am", "apply"],
        "`memdir sync` fetches from a remote and pushes to it",
    ),
    (
        &["bisect", "sparse-checkout", "submodule"],
        "`memdir log` shows the history",
    ),
    (
        &["gui", "citool", "mergetool", "difftool"],
        "`memdir git log -p` shows changes",
    ),
];

/// Refuses what git would do with files, where the notes lie in place: git takes them for deleted, as
/// it looks for them in `files/`, and would put them there.
fn check_in_place(arguments: &[std::ffi::OsString]) -> Result<(), Failure> {
    let mut words = arguments.iter().map(|word| word.to_string_lossy());
    let command = loop {
        match words.next() {
            None => return Ok(()),
            // These take a value.
            Some(word)
                if ["-c", "-C", "--git-dir", "--work-tree", "--namespace"].contains(&&*word) =>
            {
                words.next();
            }
            Some(word) if word.starts_with('-') => {}
            Some(word) => break word,
        }
    };
    let Some((_, instead)) = ON_FILES.iter().find(|(of, _)| of.contains(&&*command)) else {
        return Ok(());
    };
    if command == "diff" {
        let words: Vec<_> = words.take_while(|word| word != "--").collect();
        let revisions = words.iter().filter(|word| !word.starts_with('-')).count();
        // Two commits, or a commit and the index: no file is looked at.
        let is_of_history = revisions >= 2
            || words
                .iter()
                .any(|word| word.contains("..") || ["--cached", "--staged"].contains(&&**word));
        if is_of_history {
            return Ok(());
        }
    }
    Err(Failure::new(format!(
        "git {command} cannot be run here: the notes lie in place, and git would look for them in .memdir-store/files"
    ))
    .hint(format!("In place of it: {instead}. `memdir git log`, `show` and the like work.")))
}

/// Returns the changes of each recalled memory; `None` for what is no memory. A store without history is
/// said to be one, and is no error.
pub fn histories(
    engine: &Engine,
    recalled: &[Recalled],
    context: &Context,
) -> Result<Vec<Option<Vec<PastChange>>>, Failure> {
    commit_first(engine);
    let mut histories = Vec::new();
    for one in recalled {
        let Recalled::Found { memory, name } = one else {
            histories.push(None);
            continue;
        };
        let id = id_in_history(&memory.stem, name);
        let changes = match ops::log(engine, Some(id), usize::MAX) {
            Ok(log) => log.changes,
            Err(error @ EngineError::Past(_)) => {
                context.output.note(error.to_string());
                return Ok(recalled
                    .iter()
                    .map(|one| matches!(one, Recalled::Found { .. }).then(Vec::new))
                    .collect());
            }
            Err(error) => return Err(error.into()),
        };
        histories.push(Some(changes));
    }
    Ok(histories)
}

/// Returns what calls the memory in the file `name`, and no other: of names that are no ids, each folder may have one.
pub fn id_in_history<'a>(stem: &'a Stem, name: &'a str) -> &'a str {
    match stem.is_canonical() {
        true => stem.as_str(),
        false => name,
    }
}

/// Returns the newest of a memory's changes, for scripts.
pub fn newest(changes: &[PastChange]) -> Value {
    let newest = changes.iter().take(MOST_RECALLED);
    newest
        .map(|change| json!(ChangeView::from(change)))
        .collect()
}

/// Lines about who wrote a memory, and who changed it last.
pub fn life(output: &Output, changes: &[PastChange]) -> Vec<String> {
    let line = |word: &str, change: &PastChange| {
        let at = local(change.at);
        let who = doers(output, change);
        format!("{word}: {at} {who} ({})", change.short())
    };
    let written = changes.last().map(|change| line("written", change));
    let changed = changes
        .first()
        .filter(|_| changes.len() > 1)
        .map(|change| line("changed", change));
    written.into_iter().chain(changed).collect()
}

/// Has changes by hand in the history before it is shown.
pub fn commit_first(engine: &Engine) {
    if engine.live.is_read_only() {
        return;
    }
    if let Err(error) = history::commit_everything(&engine.history) {
        tracing::info!("what waits was not committed: {error}");
    }
}

/// The memories that a change of several is about, by what they are called now; the first few.
fn titles(engine: &Engine, output: &mut Output, change: &PastChange) -> Result<(), Failure> {
    const MOST: usize = 3;
    let [_, _, ..] = change.memories.as_slice() else {
        return Ok(());
    };
    for (done, id) in change.memories.iter().take(MOST) {
        let (done, title) = (done.to_lowercase(), title(engine, output, id, change));
        output.line(format!("    {done} {ID}{id}{ID:#}  {title}"))?;
    }
    let more = change.memories.len().saturating_sub(MOST);
    if more > 0 {
        output.line(format!("    {DIM}and {more} more{DIM:#}"))?;
    }
    Ok(())
}

/// Returns the memory's title as of the change.
fn title(engine: &Engine, output: &Output, id: &str, change: &PastChange) -> String {
    let title = ops::headline_at(engine, id, &change.commit);
    let title = title
        .or_else(|| ops::headline(engine, id))
        .unwrap_or_default();
    one_line(output, &title).chars().take(80).collect()
}

fn summary(engine: &Engine, output: &Output, change: &PastChange) -> String {
    let at = local(change.at);
    let mut what = one_line(output, &change.what);
    // The name of the file says nothing that the id does not; what it is about does.
    if let [(_, id)] = change.memories.as_slice()
        && let Some((said, _)) = what.split_once(" (")
    {
        let title = title(engine, output, id, change);
        if !title.is_empty() {
            what = format!("{said}: {title}");
        }
    }
    let who = doers(output, change);
    let short = change.short();
    format!("{ID}{short}{ID:#}  {at}  {BOLD}{what}{BOLD:#}  {DIM}{who}{DIM:#}")
}

/// Returns the agents, users and tools of a change: `by claude, mira with update`.
pub fn doers(output: &Output, change: &PastChange) -> String {
    let mut who: Vec<&str> = Vec::new();
    for name in change.agents.iter().chain(&change.users) {
        if !who.contains(&name.as_str()) {
            who.push(name);
        }
    }
    if who.is_empty() {
        who.push(&change.author);
    }
    let mut text = format!("by {}", who.join(", "));
    match change.tools.join(", ").as_str() {
        "" => {}
        "by hand" => text.push_str(", by hand"),
        tools => text.push_str(&format!(" with {tools}")),
    }
    one_line(output, &text)
}

fn show_difference(output: &mut Output, before: &PastText, now: &PastText) -> Result<(), Failure> {
    let named = |side: &str, text: &PastText| match &text.file {
        Some(file) => format!("{side}/{}", visible(file).replace(['\n', '\t'], " ")),
        None => "/dev/null".to_owned(),
    };
    output.line(format!("{BOLD}--- {}{BOLD:#}", named("a", before)))?;
    output.line(format!("{BOLD}+++ {}{BOLD:#}", named("b", now)))?;
    let lines =
        compare_texts(&before.bytes, &now.bytes, USUAL_CONTEXT).map_err(EngineError::from)?;
    difference::show(output, &lines)
}

fn one_line(output: &Output, text: &str) -> String {
    output.shown(&text.replace(['\n', '\t'], " "))
}

//! The command that takes memories away for good.

use std::io::IsTerminal;

use serde_json::{Value, json};

use crate::cli::args::change::Purge;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::{ID, Output};
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::engine::{Engine, EngineError, Purged, Recalled, RemoteHistory, Unpurged, live, ops};
use crate::files::BACKUPS;
use crate::model::Stem;

/// Runs `memdir purge`.
pub fn purge(context: &mut Context, command: &Purge) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    if engine.live.is_read_only() {
        return Err(EngineError::ReadOnly(engine.live.root().to_owned()).into());
    }
    if command.history {
        return erase(context, &engine, command);
    }
    if !command.yes && !is_confirmed(context, &engine, &command.ids)? {
        context.output.line("nothing was purged")?;
        return Ok(Outcome::Nothing);
    }
    let (mut purged, mut failed) = (Vec::new(), Vec::new());
    for (at, id) in command.ids.iter().enumerate() {
        // An earlier text may be gone with its memory.
        let is_gone = |one: &Purged| [one.stem.as_str(), one.stem.short()].contains(&id.as_str());
        if command.ids[..at].contains(id) || purged.iter().any(is_gone) {
            continue;
        }
        match purge_whole(&engine, id) {
            Ok((some, left)) => {
                purged.extend(some);
                failed.extend(left);
            }
            Err(error) => failed.push((id.clone(), error)),
        }
    }
    show(context, &engine, &purged, failed)
}

/// Purges a memory and its earlier texts. Where an earlier call was interrupted in between, these alone.
fn purge_whole(engine: &Engine, id: &str) -> Result<(Vec<Purged>, Unpurged), EngineError> {
    let (mut purged, stem) = match ops::purge(engine, id) {
        Ok(one) => {
            let stem = one.stem.clone();
            (vec![one], stem)
        }
        Err(EngineError::NotFound(id)) => {
            let stem = ops::resolve_purged(engine, &id);
            (Vec::new(), stem.map_err(|_| EngineError::NotFound(id))?)
        }
        Err(error) => return Err(error),
    };
    let left = match ops::purge_earlier_texts(engine, &stem) {
        Ok((earlier, left)) => {
            purged.extend(earlier);
            left
        }
        Err(error) => vec![(id.to_owned(), error)],
    };
    match purged.is_empty() && left.is_empty() {
        true => Err(EngineError::NotFound(id.to_owned())),
        false => Ok((purged, left)),
    }
}

/// Takes the words of what was purged out of the index. That is derived, and may be made anew at any
/// time: if it cannot be done now, the purge is one all the same.
fn clear_remains(engine: &Engine, is_nothing: bool) {
    if is_nothing {
        return;
    }
    if let Err(error) = live::clear_remains(&engine.live) {
        tracing::warn!(
            "words of what was purged are still in the index: {error}; `memdir reindex --full` takes them out"
        );
    }
}

/// Says what was purged, and of what was not why.
pub fn show(
    context: &mut Context,
    engine: &Engine,
    purged: &[Purged],
    failed: Unpurged,
) -> Result<Outcome, Failure> {
    clear_remains(engine, purged.is_empty());
    let all_purged = failed.is_empty();
    let failed = failed
        .into_iter()
        .map(|(id, error)| (id, Failure::from(error)));
    let failed: Vec<(String, Failure)> = failed.collect();
    let stems: Vec<Stem> = purged.iter().map(|one| one.stem.clone()).collect();
    let backups = backups_holding(engine, &stems);
    if context.output.json {
        let errors = failed
            .iter()
            .map(|(id, failure)| json!({"id": id, "error": failure.what}));
        let errors: Vec<Value> = errors.collect();
        let purged: Vec<Value> = purged.iter().map(as_json).collect();
        context
            .output
            .json(&json!({"purged": purged, "errors": errors, "backups": backups}))?;
    } else {
        for one in purged {
            let short = one.stem.short();
            context.output.line(format!("purged {ID}{short}{ID:#}"))?;
        }
        for (_, failure) in &failed {
            context.output.error(failure);
        }
        warn_of_history(context, purged)?;
        warn_of_backups(context, &backups)?;
    }
    afterwards::after_writing(context, engine)?;
    Ok(Outcome::complete(all_purged))
}

/// Fails where nobody can answer a question: without a terminal, or where a script reads.
pub fn check_can_ask(context: &Context) -> Result<(), Failure> {
    if context.output.json || !std::io::stdin().is_terminal() {
        return Err(Failure::new(
            "what is purged cannot be restored, and nobody can be asked here",
        )
        .hint("Say --yes if that is meant; `memdir forget ID` can be taken back."));
    }
    Ok(())
}

/// Shows what would be purged and asks.
fn is_confirmed(context: &mut Context, engine: &Engine, ids: &[String]) -> Result<bool, Failure> {
    check_can_ask(context)?;
    for id in ids {
        let stem = ops::resolve_for_purging(engine, id)?;
        let headline = match ops::recall(engine, &[stem.as_str().to_owned()]).pop() {
            Some(Recalled::Found { memory, .. }) => memory.headline().to_owned(),
            _ => "(forgotten)".to_owned(),
        };
        let headline = context.output.shown(&headline);
        context
            .output
            .note(format!("{}  {headline}", stem.as_str()));
    }
    is_answered_yes(
        &context.output,
        "Take this away for good? It cannot be restored.",
    )
}

pub fn is_answered_yes(output: &Output, question: &str) -> Result<bool, Failure> {
    output.note(format!("{question} [y/N]"));
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .map_err(|error| Failure::new("cannot read the answer").because(error))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Says what purging does not do.
fn warn_of_history(context: &mut Context, purged: &[Purged]) -> Result<(), Failure> {
    let Some(one) = purged.iter().find(|one| one.is_in_history) else {
        return Ok(());
    };
    let output = &mut context.output;
    output.line("The text is still in the git history of this store, and of every remote and copy that has its commits.")?;
    output.line(format!(
        "`memdir log {stem}` shows the commits; `memdir git log --all --stat -- '*{stem}.md'` those of all branches.",
        stem = one.stem
    ))?;
    Ok(())
}

/// Returns the folders of the backups that hold what was purged: they are whoever's who made them. It is
/// purged already where they cannot be listed.
fn backups_holding(engine: &Engine, stems: &[Stem]) -> Vec<String> {
    let names = ops::backups_holding(engine, stems).unwrap_or_else(|error| {
        tracing::warn!("whether a backup holds what was purged is not known: {error}");
        Vec::new()
    });
    let folder = engine.live.root().join(BACKUPS);
    let path = |name: String| folder.join(name).display().to_string();
    names.into_iter().map(path).collect()
}

fn warn_of_backups(context: &mut Context, backups: &[String]) -> Result<(), Failure> {
    for folder in backups {
        let line = format!("The backup {folder} holds it still.");
        context.output.line(line)?;
    }
    Ok(())
}

/// Purges, and takes the texts out of the history.
fn erase(context: &mut Context, engine: &Engine, command: &Purge) -> Result<Outcome, Failure> {
    let ids = command.ids.iter();
    let mut named: Vec<(Stem, String)> = ids
        .map(|id| ops::resolve_for_erasing(engine, id))
        .collect::<Result<_, EngineError>>()?;
    let stems: Vec<Stem> = named.iter().map(|(stem, _)| stem.clone()).collect();
    let earlier = ops::earlier_texts(engine, &stems)?;
    let purged = ops::purged_earlier_texts(engine, &stems)?;
    for one in earlier.into_iter().chain(purged) {
        if !named.contains(&one) {
            named.push(one);
        }
    }
    let remote = ops::check_erasing(engine, &named)?;
    if !command.yes && !is_erasing_confirmed(context, &named, remote.as_ref())? {
        context.output.line("nothing was purged")?;
        return Ok(Outcome::Nothing);
    }
    let (purged, failed) = ops::purge_each(engine, &named)?;
    for (_, error) in failed {
        match error {
            EngineError::NotFound(_) => {} // It was purged before.
            error => return Err(error.into()),
        }
    }
    let erased = ops::erase(engine, &named).map_err(|error| {
        let hint =
            "The files are purged all the same; only the history is as it was. Run it again.";
        Failure::from(error).hint(hint)
    })?;
    clear_remains(engine, purged.is_empty());
    let stems: Vec<Stem> = named.iter().map(|(stem, _)| stem.clone()).collect();
    let backups = backups_holding(engine, &stems);
    let output = &mut context.output;
    if output.json {
        let purged = purged.iter().map(|purged| Purged {
            is_in_history: false,
            // That commit has another id now.
            commit: None,
            ..purged.clone()
        });
        let purged: Vec<Value> = purged.map(|purged| as_json(&purged)).collect();
        output.json(&json!({
            "purged": purged,
            "errors": [],
            "backups": backups,
            "history": {
                "commits": erased.commits,
                "texts": erased.texts,
                "remote": erased.remote.as_ref().map(|remote| &remote.address),
                "command": erased.remote.as_ref().map(|remote| &remote.command),
            },
        }))?;
    } else {
        for (stem, _) in &named {
            output.line(format!("purged {ID}{}{ID:#}", stem.short()))?;
        }
        output.line(format!(
            "no commit of this store holds the text any more: {} commits were made anew, {} texts are gone",
            erased.commits, erased.texts
        ))?;
        for line in erased.remote.iter().flat_map(what_follows) {
            output.line(line)?;
        }
        warn_of_backups(context, &backups)?;
    }
    afterwards::after_writing(context, engine)?;
    Ok(Outcome::Done)
}

/// Says what a remote has, and what is to be done there.
fn what_follows(remote: &RemoteHistory) -> [String; 5] {
    [
        format!(
            "{} still has the text, and so has every other machine. `memdir sync` pauses until that is settled:",
            remote.address
        ),
        format!("  {}", remote.command),
        "replaces the remote's branch by the one that is here; memdir never does that by itself.".to_owned(),
        "Then `memdir sync`, and the same purge once more: what was got from the old branch meanwhile goes.".to_owned(),
        "`memdir sync --adopt-remote` on every other machine follows it. `memdir sync --accept-history` would bring the text back.".to_owned(),
    ]
}

/// Asks the user to type the id, or the number of several: neither is typed by mistake.
fn is_erasing_confirmed(
    context: &mut Context,
    named: &[(Stem, String)],
    remote: Option<&RemoteHistory>,
) -> Result<bool, Failure> {
    check_can_ask(context)?;
    let output = &mut context.output;
    for (stem, _) in named {
        output.note(stem.as_str());
    }
    output.note("Every commit that held this is made anew without it. No backup is kept, and nothing brings it back.");
    for line in remote.into_iter().flat_map(what_follows) {
        output.note(line);
    }
    let wanted = match named {
        [(stem, _)] => stem.short().to_owned(),
        several => several.len().to_string(),
    };
    output.note(format!("Type {wanted} to go on:"));
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .map_err(|error| Failure::new("cannot read the answer").because(error))?;
    Ok(answer.trim() == wanted)
}

fn as_json(purged: &Purged) -> Value {
    json!({
        "id": purged.stem.short(),
        "stem": purged.stem.as_str(),
        "files": purged.files,
        "commit": purged.commit,
        "in_history": purged.is_in_history,
    })
}

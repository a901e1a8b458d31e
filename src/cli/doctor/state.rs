//! Checks of program, store, index, remote, model and variables.

use std::path::{Path, PathBuf};

use crate::cli::doctor::check::Check;
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::Context;
use crate::cli::wiring::embedding;
use crate::cli::wiring::embedding::EmbedderChoice;
use crate::embed::Embedder;
use crate::engine::{Engine, GitStatus, RemoteLook, history, live, ops};

/// Checks whether clients that start `memdir` start this program.
pub fn program(context: &Context) -> Check {
    const NAME: &str = "program";
    let version = env!("CARGO_PKG_VERSION");
    let Ok(own) = std::env::current_exe() else {
        return Check::well(NAME, format!("version {version}"));
    };
    let path = context.environment.variables.get("PATH");
    let found = path.and_then(|path| first_on(path));
    let same = |other: &Path| other.canonicalize().ok() == own.canonicalize().ok();
    match found {
        Some(found) if same(&found) => {
            Check::well(NAME, format!("version {version}, {}", found.display()))
        }
        Some(found) => Check::wrong(
            NAME,
            format!(
                "`memdir` on the PATH is another program: {}",
                found.display()
            ),
            format!(
                "Put the folder of {} first, or remove the other one.",
                own.display()
            ),
        ),
        None => Check::well(
            NAME,
            format!("version {version}, {}, not on the PATH", own.display()),
        ),
    }
}

/// Returns the first program of the name on a `PATH`.
fn first_on(path: &str) -> Option<PathBuf> {
    let name = format!("memdir{}", std::env::consts::EXE_SUFFIX);
    let mut found = std::env::split_paths(path).map(|folder| folder.join(&name));
    found.find(|file| file.is_file())
}

/// Checks that files and index are sound; with `fix` it makes a wrong index anew.
pub fn store(context: &Context, engine: &Engine, fix: bool) -> Check {
    const NAME: &str = "store";
    let mut proof = match ops::verify(engine) {
        Ok(proof) => proof,
        Err(error) => return Check::of_failure(NAME, &Failure::from(error)),
    };
    let mut was_fixed = false;
    if fix && !proof.index_faults.is_empty() {
        let made = live::reindex(&engine.live, true, &mut |_| {});
        match made.and_then(|_| ops::verify(engine)) {
            Ok(again) => (proof, was_fixed) = (again, true),
            Err(error) => return Check::of_failure(NAME, &Failure::from(error)),
        }
    }
    if let Some(fault) = proof.index_faults.first() {
        let hint = "`memdir doctor --fix` or `memdir reindex --full` makes the index anew.";
        return Check::wrong(NAME, format!("the index is wrong: {fault}"), hint);
    }
    if let Some(fault) = proof.git_faults.first() {
        let hint = "`memdir sync` repairs what can be repaired.";
        return Check::wrong(NAME, format!("the history is damaged: {fault}"), hint);
    }
    let problems = proof.findings.iter();
    let problems = problems.filter(|finding| !finding.problem.is_note());
    let mut files: Vec<&str> = problems.map(|finding| finding.file.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    if let Some(first) = files.first() {
        let what = match files.len() {
            1 => format!("{first} has a problem"),
            count => format!("{count} files have problems, such as {first}"),
        };
        return Check::wrong(NAME, what, "`memdir verify` names each with what to do.");
    }
    // Last: it throws a damaged index away.
    let status = match ops::status(engine) {
        Ok(status) => status,
        Err(error) => return Check::of_failure(NAME, &Failure::from(error)),
    };
    let root = context.config.store.value.display();
    let memories = match status.files {
        1 => "1 memory".to_owned(),
        count => format!("{count} memories"),
    };
    let waiting = match status.waiting {
        0 => String::new(),
        count => format!(" ({count} not indexed yet, and searched all the same)"),
    };
    let size = status.bytes.div_ceil(1024);
    let what = format!("{memories}{waiting}, {size} KiB, sound: {root}");
    match was_fixed {
        true => Check::fixed(NAME, format!("{what}; the index was made anew")),
        false => Check::well(NAME, what),
    }
}

/// Checks that changes are committed, and that the remote answers, if there is one.
pub fn sync(engine: &Engine) -> Check {
    const NAME: &str = "sync";
    let status = match history::git_status(&engine.history) {
        Ok(status) => status,
        Err(error) => return Check::of_failure(NAME, &Failure::from(error)),
    };
    let GitStatus::On {
        obstacle,
        remote,
        held_back,
        note,
        ..
    } = status
    else {
        let GitStatus::Off(why) = status else {
            unreachable!("it is off or on");
        };
        return Check::well(NAME, format!("history: {why}"));
    };
    if let Some(obstacle) = obstacle {
        return Check::wrong(
            NAME,
            format!("nothing is committed: {obstacle}"),
            "End what git is at in the repository.",
        );
    }
    if let Some(one) = held_back.first() {
        let what = match held_back.len() {
            1 => format!("held back: {one}"),
            count => format!("{count} memories are held back, such as {one}"),
        };
        let hint = match one {
            one if one.is_unmerged() => {
                "`memdir resolve ID` makes one memory of both sides, or two where they contradict."
            }
            one if one.is_untaken() || one.is_beside() => {
                "Mend the file; `memdir sync` tells more."
            }
            _ => "`memdir redact ID` takes the credential out, `memdir allow ID` lets it pass.",
        };
        return Check::wrong(NAME, what, hint);
    }
    let Some(remote) = remote else {
        return match note {
            Some(note) => Check::wrong(NAME, note, "`memdir sync --setup ADDRESS` names a remote."),
            None => Check::well(
                NAME,
                "the history stays on this machine: there is no remote",
            ),
        };
    };
    match history::look_at_remote(&engine.history) {
        Err(error) => Check::of_failure(NAME, &Failure::from(error)),
        Ok(RemoteLook { has_news }) => {
            let ended = remote.last.filter(|last| last.state != "busy");
            if let Some(reason) = ended.and_then(|last| last.reason) {
                let hint = "`memdir sync` tries again when you have done what it says.";
                return Check::wrong(NAME, format!("{}: {reason}", remote.address), hint);
            }
            let news = if has_news { ", which has news" } else { "" };
            let unsent = match remote.unsent {
                0 => "all was sent".to_owned(),
                1 => "1 commit waits to be sent".to_owned(),
                count => format!("{count} commits wait to be sent"),
            };
            Check::well(NAME, format!("{unsent} to {}{news}", remote.address))
        }
    }
}

/// Checks that the workspace that the store is joined to answers, and that nothing keeps memories from it; `None` if
/// there is none.
pub fn workspace(engine: &Engine) -> Option<Check> {
    const NAME: &str = "workspace";
    let status = match history::workspace_status(&engine.history) {
        Ok(status) => status?,
        Err(error) => return Some(Check::of_failure(NAME, &Failure::from(error))),
    };
    let address = &status.address;
    if let Err(error) = history::look_at_workspace(&engine.history) {
        return Some(Check::of_failure(NAME, &Failure::from(error)));
    }
    let paused = status.last.filter(|last| last.state == "paused");
    Some(match paused.and_then(|last| last.reason) {
        Some(reason) => {
            let hint = "`memdir sync` tries again when you have done what it says.";
            Check::wrong(NAME, format!("{address}: {reason}"), hint)
        }
        None => {
            let unsent = match status.unsent {
                0 => "all was sent".to_owned(),
                1 => "1 memory waits to be sent".to_owned(),
                count => format!("{count} memories wait to be sent"),
            };
            Check::well(NAME, format!("{unsent} to {address}"))
        }
    })
}

/// Checks that the model of the settings embeds a text.
pub fn model(context: &Context) -> Check {
    const NAME: &str = "model";
    let chosen = embedding::chosen(&context.config, &context.environment);
    let tried = match &chosen {
        EmbedderChoice::Local { embedder, .. } => embedder.query("Is it there?").map(drop),
        EmbedderChoice::Hosted(embedder) => embedder.query("Is it there?").map(drop),
        EmbedderChoice::Unusable(failure) => return Check::of_failure(NAME, failure),
        EmbedderChoice::Nothing => Ok(()),
    };
    let line = embedding::line(&context.config, &context.environment, &chosen);
    match tried {
        Err(error) => Check::wrong(
            NAME,
            error.to_string(),
            "Until then searches are by words and vectors of words; `memdir model status` shows what is set.",
        ),
        Ok(()) => Check::well(NAME, line),
    }
}

/// Variables of other programs that are set and not followed, each with what takes its place.
const IGNORED: [(&str, &str); 5] = [
    (
        "LOCI_DB",
        "`memdir import --from loci FILE` brings its memories in.",
    ),
    (
        "AI_MEMORY_DB",
        "`memdir import --from ai-memory FILE` brings its memories in.",
    ),
    (
        "MEMORY_FILE_PATH",
        "`memdir import --from server-memory FILE` brings its memories in.",
    ),
    (
        "BASIC_MEMORY_HOME",
        "`memdir import --from markdown FOLDER` brings its notes in.",
    ),
    ("MEM0_API_KEY", "memdir asks no host of that program."),
];

/// Names the variables of other programs that are not followed.
pub fn variables(context: &Context) -> Vec<Check> {
    const NAME: &str = "variable";
    let variables = &context.environment.variables;
    let is_set = |name: &str| variables.get(name).is_some_and(|value| !value.is_empty());
    let ignored = IGNORED.iter().filter(|(name, _)| is_set(name));
    let checks = ignored.map(|(name, instead)| {
        let what = format!("{name} is set, and memdir does not follow it. {instead}");
        Check::well(NAME, what)
    });
    let warnings = context.config.warnings.iter();
    let wrong = warnings.map(|warning| {
        Check::wrong(
            "setting",
            warning.clone(),
            "`memdir config` shows where it is set.",
        )
    });
    checks.chain(wrong).collect()
}

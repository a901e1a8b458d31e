//! State of commits and of the remote of a store, as `status` and `sync --status` show it.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::{Context, Outcome};
use crate::engine::{
    Direction, Engine, EngineError, GitStatus, Quarantined, SyncState, WorkspaceStatus, history,
};

/// Shows what `status` says about git.
pub fn show(context: &mut Context, engine: &Engine) -> Result<Outcome, Failure> {
    let git = history::git_status(&engine.history);
    let workspace = history::workspace_status(&engine.history)?;
    let mut rows = git_rows(&git, context.now());
    rows.extend(workspace_rows(workspace.as_ref(), context.now()));
    let output = &mut context.output;
    if output.json {
        let mut document = git_json(&git);
        document["workspace"] = workspace_json(workspace.as_ref());
        output.json(&document)?;
    } else {
        output.rows(&rows)?;
    }
    Ok(Outcome::Done)
}

/// Returns the state of git as rows for people.
pub fn git_rows(
    git: &Result<GitStatus, EngineError>,
    now: DateTime<Utc>,
) -> Vec<(&'static str, String)> {
    let (branch, newest, obstacle, remote, note, held_back) = match git {
        Err(error) => return vec![("git", error.to_string())],
        Ok(GitStatus::Off(why)) => return vec![("git", format!("off: {why}"))],
        Ok(GitStatus::On {
            branch,
            newest,
            obstacle,
            remote,
            note,
            held_back,
        }) => (branch, newest, obstacle, remote, note, held_back),
    };
    let committed = match newest {
        Some((id, at)) => format!("{id} on {branch}, {}", ago(now, *at)),
        None => format!("nothing on {branch} yet"),
    };
    let mut rows = vec![("committed", committed)];
    if let Some(obstacle) = obstacle {
        rows.push(("paused", obstacle.clone()));
    }
    rows.extend(held_back.iter().map(|one| ("held back", one.to_string())));
    let Some(remote) = remote else {
        rows.extend(note.iter().map(|note| ("remote", format!("none; {note}"))));
        return rows;
    };
    rows.push((
        "remote",
        format!("{} (by {})", remote.address, remote.means),
    ));
    rows.extend(note.iter().map(|note| ("", note.clone())));
    let unsent = match remote.unsent {
        0 => String::new(),
        1 => "; 1 commit waits to be sent".to_owned(),
        count => format!("; {count} commits wait to be sent"),
    };
    rows.push(("sync", last_line(remote.last.as_ref(), now) + &unsent));
    rows
}

/// Returns the result of the last exchange for people.
fn last_line(last: Option<&SyncState>, now: DateTime<Utc>) -> String {
    let Some(last) = last else {
        return "never".to_owned();
    };
    let in_step = match last.in_step_at {
        Some(at) => format!("in step {}", ago(now, at)),
        None => "in step never".to_owned(),
    };
    match &last.reason {
        None => in_step,
        Some(reason) => format!("{}: {reason}; last {in_step}", last.state),
    }
}

/// Returns the state of the exchange with a workspace as rows for people.
pub fn workspace_rows(
    workspace: Option<&WorkspaceStatus>,
    now: DateTime<Utc>,
) -> Vec<(&'static str, String)> {
    let Some(workspace) = workspace else {
        return Vec::new();
    };
    let way = match workspace.direction {
        Direction::Merge => "",
        Direction::Pull => " (only from it)",
        Direction::Push => " (only to it)",
    };
    let unsent = match workspace.unsent {
        0 => String::new(),
        1 => "; 1 memory waits to be sent".to_owned(),
        count => format!("; {count} memories wait to be sent"),
    };
    vec![
        ("workspace", format!("{}{way}", workspace.address)),
        (
            "exchange",
            last_line(workspace.last.as_ref(), now) + &unsent,
        ),
    ]
}

/// Returns the state of the exchange with a workspace as JSON; null if the store is joined to none.
pub fn workspace_json(workspace: Option<&WorkspaceStatus>) -> Value {
    let of = |workspace: &WorkspaceStatus| {
        let last = workspace.last.as_ref();
        json!({
            "address": workspace.address,
            "direction": workspace.direction.as_str(),
            "unsent": workspace.unsent,
            "state": last.map(|last| &last.state),
            "reason": last.and_then(|last| last.reason.as_ref()),
            "tried_at": last.map(|last| last.at),
            "in_step_at": last.and_then(|last| last.in_step_at),
        })
    };
    json!(workspace.map(of))
}

pub fn git_json(git: &Result<GitStatus, EngineError>) -> Value {
    match git {
        Err(error) => json!({"on": false, "reason": error.to_string()}),
        Ok(GitStatus::Off(why)) => json!({"on": false, "reason": why}),
        Ok(GitStatus::On {
            branch,
            newest,
            obstacle,
            remote,
            note,
            held_back,
        }) => json!({
            "on": true,
            "branch": branch,
            "commit": newest.as_ref().map(|(id, _)| id),
            "committed_at": newest.as_ref().map(|(_, at)| at),
            "obstacle": obstacle,
            "held_back": held_back_json(held_back),
            "note": note,
            "remote": remote.as_ref().map(|remote| json!({
                "address": remote.address,
                "means": remote.means,
                "unsent": remote.unsent,
                "state": remote.last.as_ref().map(|last| &last.state),
                "reason": remote.last.as_ref().and_then(|last| last.reason.as_ref()),
                "tried_at": remote.last.as_ref().map(|last| last.at),
                "in_step_at": remote.last.as_ref().and_then(|last| last.in_step_at),
            })),
        }),
    }
}

/// Returns the JSON of memories that are held back from commits.
pub fn held_back_json(held_back: &[Quarantined]) -> Value {
    held_back
        .iter()
        .map(|one| {
            let line = Some(one.line).filter(|_| !one.is_untaken());
            json!({"file": one.file, "kind": one.kind, "line": line})
        })
        .collect()
}

/// Returns the age of a moment in seconds since 1970, for people.
fn ago(now: DateTime<Utc>, at: i64) -> String {
    let seconds = (now.timestamp() - at).max(0);
    let (count, unit) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural} ago")
}

//! Hands the transcripts of sessions to `memdir mine`, if the user wants sessions kept (`[capture] keep`).
//!
//! Promises: the hook does not wait; a session is kept at its end, before its context is compacted, and, if
//! it ended without a word, when the next one begins in its folder.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::cli::sessions::client::HookEvent;
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::Context;
use crate::config::Capture;
use crate::sessions::SessionEvent;

/// Clients whose transcripts `memdir mine` reads.
const CLIENTS: [&str; 3] = ["claude-code", "codex", "gemini"];

/// Number of events in which sessions are looked for that ended without a word.
pub(super) const LOOKED_AT: usize = 200;

/// Returns what is to be kept of the sessions of a client in the working folder.
pub(super) fn wanted(context: &Context, client: &str) -> Capture {
    match CLIENTS.contains(&client) {
        true => context.config.capture.kept_in(&context.environment.folder),
        false => Capture::Off,
    }
}

/// Returns the last events of the sessions in the same folder that ended without a word; `newest` are the
/// newest events of all sessions, newest first.
pub(super) fn unended<'a>(
    newest: &'a [SessionEvent],
    client: &str,
    session: &str,
    folder: &str,
) -> Vec<&'a SessionEvent> {
    let mut seen: Vec<&str> = vec![session];
    let mut unended = Vec::new();
    for event in newest.iter().filter(|event| event.client == client) {
        if seen.contains(&event.session.as_str()) {
            continue;
        }
        seen.push(&event.session);
        let is_ended = event.event == HookEvent::SessionEnd.name();
        if !is_ended && event.folder == folder && event.transcript.is_some() {
            unended.push(event);
        }
    }
    unended
}

/// Starts `memdir mine` on a transcript, in a process of its own that nobody waits for.
pub(super) fn keep(context: &Context, transcript: &Path) -> Result<(), Failure> {
    let cannot = |error| Failure::new("the session is not kept").because(error);
    let program = std::env::current_exe().map_err(cannot)?;
    let folder = &context.environment.folder;
    let is_proposed = context.config.capture.kept_in(folder) == Capture::Proposals;
    // Nobody is shown here what would go to a language model.
    let proposals: &[&str] = match is_proposed {
        true => &["--proposals", "--rules"],
        false => &[],
    };
    let mut command = Command::new(program);
    command
        .arg("--store")
        .arg(&context.config.store.value)
        .args(["mine", "--yes"])
        .args(proposals)
        .arg("--")
        .arg(transcript)
        .current_dir(&context.environment.folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // Who ends the client's processes means the client.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().map(drop).map_err(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(session: &str, event: &str, folder: &str, transcript: Option<&str>) -> SessionEvent {
        SessionEvent {
            at: "2026-11-25T20:00:00Z".parse().unwrap(),
            event: event.to_owned(),
            source: None,
            client: "codex".to_owned(),
            session: session.to_owned(),
            folder: folder.to_owned(),
            store: "/memories".to_owned(),
            transcript: transcript.map(str::to_owned),
            shown: Vec::new(),
            characters: 0,
            left_out: Vec::new(),
            did: String::new(),
        }
    }

    #[test]
    fn sessions_that_ended_without_a_word_are_found_once() {
        let newest = [
            event("now", "session-start", "/a", Some("/now")),
            event("ended", "session-end", "/a", Some("/ended")),
            event("killed", "prompt", "/a", Some("/killed")),
            event("killed", "session-start", "/a", Some("/killed")),
            event("ended", "session-start", "/a", Some("/ended")),
            event("elsewhere", "session-start", "/b", Some("/b")),
            event("silent", "session-start", "/a", None),
        ];
        let found = unended(&newest, "codex", "now", "/a");
        let found: Vec<&str> = found.iter().map(|event| event.session.as_str()).collect();
        assert_eq!(found, ["killed"]);
        assert!(unended(&newest, "gemini", "now", "/a").is_empty());
    }
}

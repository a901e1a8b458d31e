//! Commands about the store's state: reindex, status, verify.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use std::collections::BTreeSet;

use crate::cli::args::change::Reindex;
use crate::cli::sharing::git_state;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::{BOLD, Output};
use crate::cli::terminal::progress::progress_bar;
use crate::cli::wiring::context::{Context, Outcome};
use crate::cli::wiring::service::served;
use crate::cli::wiring::{afterwards, embedding, layout_offer};
use crate::dialect::views::{VerificationView, findings};
use crate::engine;
use crate::engine::{
    Coverage, EngineError, Finding, GitStatus, Leader, MeaningStatus, Outage, Status,
    WorkspaceStatus, history, live, meaning, ops,
};
use crate::lifecycle::FLAGGED_BELOW;
use crate::sessions::{Pause, Sessions};

/// Runs `memdir reindex`.
pub fn reindex(context: &mut Context, command: &Reindex) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let bar = progress_bar("indexing");
    let reindexed = live::reindex(&engine.live, command.full, &mut |progress| {
        bar.set_length(progress.total as u64);
        bar.set_position(progress.done as u64);
    });
    bar.finish_and_clear();
    let engine::Reindexed {
        read,
        files,
        indexed,
    } = reindexed?;
    let bar = progress_bar("embedding");
    let embedded = meaning::embed_all(&engine.meaning, &mut |progress| {
        bar.set_length(progress.total as u64);
        bar.set_position(progress.done as u64);
    });
    bar.finish_and_clear();
    let embedded = embedded?;
    let output = &mut context.output;
    if output.json {
        output.json(&json!({
            "read": read,
            "embedded": embedded,
            "files": files,
            "indexed": indexed,
        }))?;
    } else {
        let made = match embedded {
            0 => String::new(),
            _ => format!("; {embedded} passages were embedded"),
        };
        output.line(format!(
            "read {read} files; {indexed} of {files} are indexed{made}"
        ))?;
    }
    Ok(Outcome::Done)
}

/// Returns the number of memories that have vectors, and which model answers until all have.
fn embedded_line(embedding: Option<&MeaningStatus>) -> String {
    let Some(embedding) = embedding else {
        return String::new();
    };
    let Coverage {
        complete, memories, ..
    } = embedding.coverage;
    if complete == memories {
        return format!("{complete} of {memories}");
    }
    let meanwhile = match &embedding.answered_by {
        Some(model) => format!("; {model} answers until then"),
        None => String::new(),
    };
    format!("{complete} of {memories}; a server embeds the rest, or memdir reindex{meanwhile}")
}

/// Returns the line about a host of models that does not answer.
fn outage_line(outage: &Outage, now: DateTime<Utc>) -> String {
    let left = (outage.next - now).num_seconds();
    let next = match left > 0 {
        true => format!("tried again in {left} s"),
        false => "tried again with the next question".to_owned(),
    };
    let Outage { host, reason, .. } = outage;
    format!("{host} does not answer, searches are by words, {next}: {reason}")
}

/// Runs `memdir status`.
pub fn status(context: &mut Context, verbose: bool) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let status = ops::status(&engine)?;
    let offer = match context.output.json {
        true => None,
        false => layout_offer::offer_once(&engine, status.in_no_folder),
    };
    let seen = SeenStatus {
        status,
        offer,
        git: history::git_status(&engine.history),
        workspace: history::workspace_status(&engine.history)?,
        embedding: meaning::meaning_status(&engine.meaning)?,
        meaning: embedding::summary(&context.config, &context.environment),
        notes: engine.live.notes().map(|notes| notes.display().to_string()),
        now: context.now(),
        paused: paused(context),
        served: served(&engine),
    };
    let output = &mut context.output;
    if output.json {
        output.json(&seen.as_json())?;
    } else {
        output.rows(&seen.rows())?;
        show_findings(output, &seen.status.findings, verbose)?;
    }
    output.flush()?;
    afterwards::settle(&engine);
    Ok(Outcome::Done)
}

/// The state of a store and of all that belongs to it, as it was looked at once.
struct SeenStatus {
    status: Status,
    git: Result<GitStatus, EngineError>,
    /// The exchange with the workspace that the store is joined to.
    workspace: Option<WorkspaceStatus>,
    embedding: Option<MeaningStatus>,
    /// The settings of meaning, as a line and as JSON.
    meaning: (String, Value),
    /// The folder of notes around a store in place.
    notes: Option<String>,
    now: DateTime<Utc>,
    /// The pause of what agents are shown unasked.
    paused: Option<Pause>,
    /// Addresses of a server that runs.
    served: Vec<String>,
    /// The offer of another layout, if it was not shown before.
    offer: Option<String>,
}

fn paused(context: &Context) -> Option<Pause> {
    let folder = context.environment.state_folder.as_deref()?;
    Sessions::new(folder).paused(context.now())
}

impl SeenStatus {
    fn as_json(&self) -> Value {
        let SeenStatus {
            status, embedding, ..
        } = self;
        json!({
            "store": status.root.display().to_string(),
            "index": status.state.display().to_string(),
            "read_only": status.read_only,
            "files": status.files,
            "indexed": status.indexed,
            "waiting": status.waiting,
            "unreadable": status.unreadable,
            "archived": status.archived,
            "bytes": status.bytes,
            "index_bytes": status.index_bytes,
            "writer": status.writer,
            "watcher": status.leader.as_ref().map(|leader| json!({
                "process": leader.process,
                "mode": leader.watching,
                "alive": leader.is_alive,
            })),
            "languages": status.languages,
            "conflicts": status.conflicts,
            "flagged": status.flagged,
            "layout": status.layout.as_str(),
            "served": self.served,
            "paused": self.paused.map(|pause| json!({
                "until": pause.until.map(|until| until.to_rfc3339()),
            })),
            "meaning": self.meaning.1,
            "git": git_state::git_json(&self.git),
            "workspace": git_state::workspace_json(self.workspace.as_ref()),
            "embedded": embedding.as_ref().map(|embedding| json!({
                "model": embedding.model,
                "complete": embedding.coverage.complete,
                "memories": embedding.coverage.memories,
                "bytes": embedding.coverage.bytes,
                "answered_by": embedding.answered_by,
                "outage": embedding.outage.as_ref().map(|outage| json!({
                    "host": outage.host,
                    "since": outage.since.to_rfc3339(),
                    "next_try": outage.next.to_rfc3339(),
                    "reason": outage.reason,
                })),
            })),
            "problems": findings(&status.findings),
        })
    }

    /// Returns the rows for people, each a name and a value.
    fn rows(&self) -> Vec<(&'static str, String)> {
        let SeenStatus {
            status, embedding, ..
        } = self;
        let size = |bytes: u64| match bytes {
            0..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1_024.0),
            _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        };
        let read_only = if status.read_only { " (read-only)" } else { "" };
        let mut rows = vec![
            ("store", format!("{}{read_only}", status.root.display())),
            ("notes", self.notes.clone().unwrap_or_default()),
            (
                "files",
                format!("{} ({})", status.files, size(status.bytes)),
            ),
            (
                "indexed",
                format!("{} ({})", status.indexed, size(status.index_bytes)),
            ),
            (
                "waiting",
                format!("{} (searched all the same)", status.waiting),
            ),
            ("archived", status.archived.to_string()),
            ("index", status.state.display().to_string()),
            ("languages", status.languages.join(", ")),
            ("meaning", self.meaning.0.clone()),
            ("embedded", embedded_line(embedding.as_ref())),
        ];
        let outage = embedding.as_ref();
        let outage = outage.and_then(|embedding| embedding.outage.as_ref());
        rows.extend(outage.map(|outage| ("model", outage_line(outage, self.now))));
        rows.retain(|(name, value)| {
            let is_optional = ["embedded", "notes"].contains(name);
            (*name != "waiting" || status.waiting > 0) && (!is_optional || !value.is_empty())
        });
        if let Some(leader) = &status.leader {
            let silent = if leader.is_alive {
                ""
            } else {
                ", silent for a second"
            };
            let Leader {
                process, watching, ..
            } = leader;
            rows.push((
                "watched",
                format!("by process {process}: {watching}{silent}"),
            ));
        }
        if let Some(writer) = &status.writer {
            rows.push(("indexing", format!("process {writer}")));
        }
        if !self.served.is_empty() {
            rows.push(("served", format!("at {}", self.served.join(" and "))));
        }
        if status.conflicts > 0 {
            let plural = if status.conflicts == 1 { "" } else { "s" };
            let what = format!("{} conflict{plural}: memdir resolve", status.conflicts);
            rows.push(("to decide", what));
        }
        if status.flagged > 0 {
            let plural = if status.flagged == 1 { "y" } else { "ies" };
            let what = format!(
                "{} memor{plural} below confidence {FLAGGED_BELOW}: memdir cleanup --dry-run",
                status.flagged
            );
            rows.push(("doubtful", what));
        }
        rows.extend(self.paused.map(|pause| ("sessions", pause.to_string())));
        rows.extend(self.offer.clone().map(|offer| ("layout", offer)));
        rows.extend(git_state::git_rows(&self.git, self.now));
        rows.extend(git_state::workspace_rows(self.workspace.as_ref(), self.now));
        rows
    }
}

/// Runs `memdir verify`.
pub fn verify(context: &mut Context, verbose: bool) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let proof = ops::verify(&engine)?;
    let output = &mut context.output;
    let outcome = Outcome::found(proof.is_sound());
    if output.json {
        output.json(&VerificationView::from(&proof))?;
        return Ok(outcome);
    }
    show_findings(output, &proof.findings, verbose)?;
    for fault in &proof.index_faults {
        output.line(format!("index: {fault}"))?;
    }
    if !proof.index_faults.is_empty() {
        output.line("  `memdir reindex --full` makes the index anew.")?;
    }
    for fault in &proof.git_faults {
        output.line(format!("git: {fault}"))?;
    }
    if !proof.git_faults.is_empty() {
        output.line(
            "  `memdir sync` repairs what can be repaired, and sets aside what cannot be read.",
        )?;
    }
    let verdict = if proof.is_sound() {
        "sound"
    } else {
        "not sound"
    };
    output.line(format!(
        "{} files compared with the index: {verdict}",
        proof.files
    ))?;
    Ok(outcome)
}

/// Maximum number of findings of one kind that are all shown; of more, this number is.
const EXAMPLES: usize = 3;

/// Returns the findings by their kinds: each by itself where they are few, or all are wanted, else their
/// number, some of them, and what is to be done about all.
fn show_findings(output: &mut Output, findings: &[Finding], verbose: bool) -> std::io::Result<()> {
    let mut kinds: Vec<(&str, Vec<&Finding>)> = Vec::new();
    for finding in findings {
        let kind = finding.problem.code();
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, group)) => group.push(finding),
            None => kinds.push((kind, vec![finding])),
        }
    }
    for (kind, group) in kinds {
        let is_whole = verbose || group.len() <= EXAMPLES;
        if !is_whole {
            let files: BTreeSet<&str> = group.iter().map(|one| one.file.as_str()).collect();
            let files = match files.len() {
                1 => "1 file".to_owned(),
                count => format!("{count} files"),
            };
            output.line(format!("{BOLD}{files}: {kind}{BOLD:#}"))?;
        }
        let indent = if is_whole { "" } else { "  " };
        let shown = if is_whole { group.len() } else { EXAMPLES };
        for finding in &group[..shown] {
            let (file, problem) = (
                output.shown(&finding.file),
                output.shown(&finding.problem.to_string()),
            );
            output.line(format!("{indent}{BOLD}{file}{BOLD:#}: {problem}"))?;
            if is_whole {
                output.line(format!("  {}", finding.problem.hint()))?;
            }
        }
        if !is_whole {
            let left = group.len() - EXAMPLES;
            output.line(format!("  and {left} more, which --verbose names"))?;
            output.line(format!("  {}", group[0].problem.hint()))?;
        }
    }
    Ok(())
}

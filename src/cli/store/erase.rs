//! `memdir team erase`: takes a person out of a workspace, and says what it cannot reach.
//!
//! Tokens end first, so that the person writes nothing meanwhile; memories go by the engine's purge; the audit loses the
//! name last, since a repeated command finds by it what a killed one has left.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::cli::args::sharing::Erase;
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::{Context, Outcome, open};
use crate::cli::wiring::database;
use crate::engine::{Engine, EngineError, Options, Unpurged, ops};
use crate::files::{Place, Storage};
use crate::model::Stem;
use crate::rows::access::{self, Actor, AuditLog, LogPosition, Person, PersonalData, WrittenFile};
use crate::rows::{Database, Rows};

/// Number of memories that are purged together: what a killed command has done of them is done.
const TOGETHER: usize = 100;

/// Maximum number of looks for what is left while others write.
const MAX_LOOKS: usize = 8;

/// Maximum number of memories that are shown.
const SHOWN: usize = 20;

/// Time after the end of a token until no server relies on it (5 s), and the lines of its last calls are in the audit
/// (2 s), with a second more.
const LAST_LINES: Duration = Duration::from_secs(8);

/// Runs `memdir team erase`; `backups_are_kept` for that time.
pub fn erase(
    context: &mut Context,
    database: &Database,
    command: &Erase,
    backups_are_kept: Option<Duration>,
) -> Result<Outcome, Failure> {
    let rows = Rows::open(database, &command.workspace).map_err(database::failure)?;
    let person = Person {
        identities: command.person.clone(),
        users: command.user.clone(),
        agents: command.agent.clone(),
    };
    let data = access::personal_data(&rows, &person).map_err(database::failure)?;
    if !command.yes {
        return show_plan(context, &rows, command, &data);
    }
    let erased = Erasure::carry_out(context, database, &rows, command, &person)?;
    let position = access::log_position(database)
        .inspect_err(|error| tracing::warn!("the position of replicas is not known: {error}"))
        .ok();
    show_erased(context, command, &erased, position, backups_are_kept)
}

/// An erasure, and what it has done.
#[derive(Default)]
struct Erasure {
    purged: BTreeSet<Stem>,
    /// Memories that could not be purged.
    failed: Unpurged,
    texts: usize,
    proposals: usize,
    lines: usize,
    tokens: usize,
}

impl Erasure {
    fn carry_out(
        context: &Context,
        database: &Database,
        rows: &Rows,
        command: &Erase,
        person: &Person,
    ) -> Result<Erasure, Failure> {
        let folder = crate::files::scratch_folder()
            .map_err(|error| Failure::new("cannot make a folder for a while").because(error))?;
        let options = Options {
            models: None,
            reranker: None,
            workspace: None,
            ..database::options(context, folder.path())
        };
        let engine = open(database::options_of(rows, folder.path(), options))?;
        let mut erasure = Erasure::default();
        let (workspace, identities) = (&command.workspace, &person.identities);
        erasure.tokens =
            access::erase_tokens(database, workspace, identities).map_err(database::failure)?;
        let ended = Instant::now();
        let mut has_waited = erasure.tokens == 0;
        loop {
            let before = erasure.purged.len();
            let stems = erasure.erase_memories(&engine, database, rows, command, person)?;
            if !erasure.failed.is_empty() {
                // A repeated command learns from the audit whose they are.
                return Ok(erasure);
            }
            access::erase_records(rows, &stems)
                .map_err(|error| Failure::new("cannot clear the journal").because(error))?;
            let count = erasure.purged.len() - before;
            erasure.lines += access::erase_identities(database, workspace, person, count)
                .map_err(database::failure)?;
            if has_waited {
                return Ok(erasure);
            }
            has_waited = true;
            std::thread::sleep(LAST_LINES.saturating_sub(ended.elapsed()));
            let late = access::personal_data(rows, person).map_err(database::failure)?;
            if late.lines == 0 {
                return Ok(erasure);
            }
        }
    }

    /// Purges the person's memories, and erases what else holds their texts, until nothing is left; returns the stems of
    /// all memories of theirs, also of those that were gone.
    fn erase_memories(
        &mut self,
        engine: &Engine,
        database: &Database,
        rows: &Rows,
        command: &Erase,
        person: &Person,
    ) -> Result<BTreeSet<Stem>, Failure> {
        let log = AuditLog::new(database);
        let mut stems = BTreeSet::new();
        for _ in 0..MAX_LOOKS {
            let data = access::personal_data(rows, person).map_err(database::failure)?;
            let files = theirs(&data, command.edited);
            stems.extend(files.iter().map(|file| file.stem()));
            let earlier = match stems.is_empty() {
                true => Vec::new(),
                false => ops::earlier_texts(engine, &stems)?,
            };
            stems.extend(earlier.iter().map(|(stem, _)| stem.clone()));
            let mut wanted = named(&files);
            wanted.extend(earlier);
            if wanted.is_empty() && data.has_no_leftovers() {
                self.failed.clear();
                return Ok(stems);
            }
            self.failed.clear();
            for some in wanted.chunks(TOGETHER) {
                self.purge(engine, &log, &command.workspace, some)?;
            }
            self.texts += former_texts(&data);
            self.proposals += data.proposals.len();
            access::erase_leftovers(rows, &data)
                .map_err(|error| Failure::new("cannot erase former texts").because(error))?;
        }
        if self.failed.is_empty() {
            let reason = "the person's memories are written again faster than they are removed";
            return Err(Failure::new(reason)
                .hint("Take them out of their groups at the issuer, and repeat the command."));
        }
        Ok(stems)
    }

    /// Purges some memories, by nobody's name in the audit.
    fn purge(
        &mut self,
        engine: &Engine,
        log: &AuditLog,
        workspace: &str,
        memories: &[(Stem, String)],
    ) -> Result<(), Failure> {
        let actor = Actor {
            identity: String::new(),
            action: access::ERASE.to_owned(),
            request: String::new(),
        };
        let mut done = Ok((Vec::new(), Unpurged::new()));
        log.run(&Arc::from(workspace), actor, &mut || {
            done = ops::purge_each(engine, memories);
            (done.is_ok(), Vec::new())
        });
        log.flush().map_err(database::failure)?;
        let (purged, failed) = done?;
        self.purged.extend(purged.into_iter().map(|one| one.stem));
        // What another process removed meanwhile is looked for once more.
        let failed = failed.into_iter();
        let failed = failed.filter(|(_, error)| !matches!(error, EngineError::NotFound(_)));
        self.failed.extend(failed);
        Ok(())
    }
}

/// Returns the memories that are purged.
fn theirs(data: &PersonalData, with_edited: bool) -> Vec<&WrittenFile> {
    let edited = data.shared.iter().filter(|_| with_edited);
    data.own.iter().chain(edited).collect()
}

fn former_texts(data: &PersonalData) -> usize {
    let files = data.own.iter().chain(&data.shared);
    files.map(|file| file.former).sum()
}

/// Returns stems and names of the memories that are there, each once.
fn named(files: &[&WrittenFile]) -> Vec<(Stem, String)> {
    let named = files
        .iter()
        .filter_map(|file| Some((file.stem(), file.name()?.to_owned())));
    named.collect()
}

/// Shows what would go.
fn show_plan(
    context: &mut Context,
    rows: &Rows,
    command: &Erase,
    data: &PersonalData,
) -> Result<Outcome, Failure> {
    let files = theirs(data, command.edited);
    let there = files.iter().filter(|file| !file.present.is_empty());
    let there: Vec<&WrittenFile> = there.copied().collect();
    let kept = data.shared.iter().filter(|file| !file.present.is_empty());
    let kept: Vec<&WrittenFile> = kept.filter(|_| !command.edited).collect();
    let texts = former_texts(data);
    let is_anything = texts + there.len() + kept.len() + data.lines + data.tokens > 0
        || !data.proposals.is_empty();
    let output = &mut context.output;
    if output.json {
        output.json(&json!({
            "erased": false,
            "memories": ids(&there),
            "edited": ids(&kept),
            "former_texts": texts,
            "proposals": data.proposals.len(),
            "audit_lines": data.lines,
            "tokens": data.tokens,
        }))?;
        return Ok(Outcome::found(is_anything));
    }
    for file in there.iter().take(SHOWN) {
        let others = if file.has_others {
            "  (changed by others, too)"
        } else {
            ""
        };
        let headline = output.shown(&headline(rows, file));
        output.line(format!("{}  {headline}{others}", file.stem()))?;
    }
    if there.len() > SHOWN {
        output.line(format!("… and {} more", there.len() - SHOWN))?;
    }
    let counts = [
        (there.len(), "memories to purge"),
        (texts, "former texts to erase"),
        (data.proposals.len(), "proposals to remove"),
        (data.lines, "lines of the audit to give a pseudonym"),
        (data.tokens, "tokens to end"),
    ];
    for (count, what) in counts {
        output.line(format!("{count:>7}  {what}"))?;
    }
    for file in kept.iter().take(SHOWN) {
        let whose = match file.is_last {
            true => "the present text is theirs",
            false => "the present text is that of others",
        };
        output.note(format!(
            "{} is of others and stays: {whose}; --edited purges it",
            file.stem()
        ));
    }
    if kept.len() > SHOWN {
        output.note(format!("… and {} more of others stay", kept.len() - SHOWN));
    }
    if command.user.is_empty() && command.agent.is_empty() {
        output.note("memories that were imported, or whose line of the audit is gone, are found by --user and --agent only");
    }
    output.note(match is_anything {
        true => "nothing was erased: --yes does it, and nothing brings it back",
        false => "there is nothing of this person",
    });
    Ok(Outcome::found(is_anything))
}

/// Returns the headline of a memory.
fn headline(rows: &Rows, file: &WrittenFile) -> String {
    let Some((place, name)) = file.present.first() else {
        return String::new();
    };
    let is_archived = *place == Place::Archive;
    let read = rows.reader(*place).read(name, u64::MAX);
    let memory =
        read.map(|read| crate::format::parse(&file.stem(), &read.bytes, DateTime::UNIX_EPOCH));
    let headline = memory.map_or_else(
        |error| error.to_string(),
        |memory| memory.headline().to_owned(),
    );
    match is_archived {
        true => format!("{headline} (forgotten)"),
        false => headline,
    }
}

fn ids(files: &[&WrittenFile]) -> Vec<String> {
    let ids = files.iter().map(|file| file.stem().as_str().to_owned());
    ids.collect()
}

/// Shows what was erased, and where the data is still.
fn show_erased(
    context: &mut Context,
    command: &Erase,
    erased: &Erasure,
    position: Option<LogPosition>,
    backups_are_kept: Option<Duration>,
) -> Result<Outcome, Failure> {
    let output = &mut context.output;
    let out_of_reach = out_of_reach(command, position.as_ref(), backups_are_kept);
    let is_whole = erased.failed.is_empty();
    if output.json {
        let failed = erased.failed.iter();
        let failed = failed.map(|(id, error)| json!({"id": id, "error": error.to_string()}));
        let failed: Vec<Value> = failed.collect();
        let purged = erased.purged.iter().map(Stem::as_str);
        output.json(&json!({
            "erased": is_whole,
            "memories": purged.collect::<Vec<_>>(),
            "former_texts": erased.texts,
            "proposals": erased.proposals,
            "audit_lines": erased.lines,
            "tokens": erased.tokens,
            "errors": failed,
            "at": position.as_ref().and_then(|position| moment(position.at)),
            "log_position": position.as_ref().map(|position| &position.position),
            "out_of_reach": out_of_reach
                .iter()
                .map(|(place, what)| json!({"place": place, "what": what}))
                .collect::<Vec<_>>(),
        }))?;
        return Ok(Outcome::complete(is_whole));
    }
    let counts = [
        (erased.purged.len(), "memories purged"),
        (erased.texts, "former texts erased"),
        (erased.proposals, "proposals removed"),
        (erased.lines, "lines of the audit with a pseudonym now"),
        (erased.tokens, "tokens ended"),
    ];
    for (count, what) in counts {
        output.line(format!("{count:>7}  {what}"))?;
    }
    for (id, error) in &erased.failed {
        let what = format!("cannot purge {id}");
        output.error(&Failure::new(what).because(error));
    }
    if !is_whole {
        output.note("the audit has the name still: repeat the command");
        return Ok(Outcome::Failed);
    }
    output.line("")?;
    output.line("Not in reach of this command, and to be done or waited for:")?;
    for (place, what) in out_of_reach {
        output.line(format!("- {place}: {what}"))?;
    }
    Ok(Outcome::Done)
}

fn moment(seconds: i64) -> Option<String> {
    let at = DateTime::<Utc>::from_timestamp(seconds, 0)?;
    Some(at.format("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// Returns the places that hold the data still, each with what ends that.
fn out_of_reach(
    command: &Erase,
    position: Option<&LogPosition>,
    backups_are_kept: Option<Duration>,
) -> Vec<(&'static str, String)> {
    let at = position.and_then(|position| moment(position.at));
    let at = at.unwrap_or_else(|| "now".to_owned());
    let kept = backups_are_kept.map(|kept| kept.as_secs() as i64);
    let gone = position
        .zip(kept)
        .and_then(|(position, kept)| moment(position.at + kept));
    let backups = match gone {
        Some(gone) => format!("from {gone} on none has the data, if each is deleted at its age"),
        None => {
            "each has the data until it is deleted; --backups TIME says when that is".to_owned()
        }
    };
    let mut places = vec![
        (
            "dumps, base backups and archives of the log (WAL)",
            format!("those that were begun before {at} have the data: {backups}. After a restore from one of them this command is to be repeated"),
        ),
        (
            "files of the database",
            "the bytes of removed rows stay in its pages until it writes them anew; VACUUM FULL of memory, version, change, journal, audit, token, vector, index_copy and index_piece does that now, and locks them meanwhile".to_owned(),
        ),
    ];
    if let Some(position) = position {
        let behind = match (position.replicas, position.behind) {
            (0, _) => "none is connected now".to_owned(),
            (count, Some(behind)) => format!("{count} connected, {behind} bytes behind at most"),
            (count, None) => format!("{count} connected"),
        };
        places.push((
            "replicas",
            format!(
                "each has the data until it has replayed the log up to {at_position} ({behind}): SELECT pg_last_wal_replay_lsn() >= '{at_position}' there",
                at_position = position.position
            ),
        ));
    }
    places.extend([
        (
            "caches of servers",
            "a server that has the workspace open takes the words out of its index within 10 s, one that has it closed when it opens it; deleting the folder of --cache does it now".to_owned(),
        ),
        (
            "joined folders (`sync --with`), exports and copies",
            "a joined folder removes the memories at its next exchange; its history in git, its backups and whatever was exported keep them".to_owned(),
        ),
        (
            "logs of servers and load balancers",
            "they may name the person's token, and requests by their ids".to_owned(),
        ),
        (
            "memories of others",
            "what they say about the person in their own words, and reasons of changes, stays: `memdir search` of an export, or the REST interface, finds it".to_owned(),
        ),
    ]);
    if command.person.iter().any(|identity| identity.contains('@')) {
        places.push((
            "the issuer of tokens",
            "tokens of the person open the workspace until their groups lose their roles, or they are taken out of the groups there".to_owned(),
        ));
    }
    places
}

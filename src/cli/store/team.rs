//! `memdir team`: the workspaces of a database.

use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::cli::args::sharing::{Team, TeamCommand};
use crate::cli::store::erase;
use crate::cli::store::purge::is_answered_yes;
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::{self, Context, Outcome};
use crate::cli::wiring::database;
use crate::engine::history::{GitChanges, GitWriter, Withheld, commit_everything};
use crate::engine::{Committed, GitOptions, Options, Toward, ops, read_moment};
use crate::files::Store;
use crate::rows;
use crate::rows::access::{self, AuditLine, Grant, GroupRole, Quota, Quotas, Role, TokenState};
use crate::rows::{Checked, Copied, CopyError, Database, Rows, RowsError};
use crate::trust::Consent;

/// Number of lines of an audit that are read at once.
const AUDIT_LINES: i64 = 1000;

/// Maximum number of paths that are shown.
const SHOWN: usize = 20;

/// Runs `memdir team`.
pub fn team(context: &mut Context, command: &Team) -> Result<Outcome, Failure> {
    let database = database::open(context, command.database.as_deref())?;
    match &command.what {
        TeamCommand::Init {
            workspace,
            owner,
            expires,
        } => {
            let lifetime = expires.as_deref().map(time).transpose()?;
            let done = SetUp::run(&database, workspace.as_deref(), owner.as_deref(), lifetime)?;
            show_set_up(context, &done)
        }
        TeamCommand::Migrate => {
            let applied = database.migrate().map_err(failure)?;
            match context.output.json {
                true => context.output.json(&json!({"applied": applied}))?,
                false => tell_migrations(context, &applied),
            }
            Ok(Outcome::Done)
        }
        TeamCommand::List => list(context, &database),
        TeamCommand::Create { name } => {
            database.create_workspace(name).map_err(failure)?;
            context.output.note(format!("made the workspace {name}"));
            Ok(Outcome::Done)
        }
        TeamCommand::Drop { name, yes } => drop_workspace(context, &database, name, *yes),
        TeamCommand::Import { name, folder } => {
            let folder = context.environment.folder.join(folder);
            if !crate::config::is_store(&folder) {
                let what = format!(
                    "{} is no store: there is no folder `files` in it",
                    folder.display()
                );
                return Err(Failure::new(what));
            }
            let rows = Rows::open(&database, name).map_err(failure)?;
            let records = context.environment.records();
            let consent = Consent::new(records, &folder, context.naming_of(&folder));
            let store = Store::at(&folder);
            let earlier = GitChanges::new(folder, consent, context.config.secrets.value);
            let copied = rows::import(&rows, &store, Some(&earlier)).map_err(not_copied)?;
            show(context, &copied, &earlier.left())
        }
        TeamCommand::Export {
            name,
            folder,
            history,
        } => {
            let folder = context.environment.folder.join(folder);
            let rows = Rows::open(&database, name).map_err(failure)?;
            if !history {
                let copied = rows::export(&rows, &Store::at(&folder), None).map_err(not_copied)?;
                return show(context, &copied, &[]);
            }
            export_with_history(context, &rows, folder)
        }
        TeamCommand::Grant {
            workspace,
            name,
            role,
            expires,
            rotate,
            overlap,
        } => {
            let lifetime = expires.as_deref().map(time).transpose()?;
            // The parser knows the roles, and demands one without --rotate.
            let role = role.as_deref().and_then(Role::parse).filter(|_| !rotate);
            let made = match role {
                Some(role) => access::grant(&database, workspace, name, role, lifetime),
                None => access::rotate(&database, workspace, name, lifetime, time(overlap)?),
            };
            show_grant(context, name, &made.map_err(failure)?)
        }
        TeamCommand::Revoke { workspace, name } => {
            access::revoke(&database, workspace, name).map_err(failure)?;
            context
                .output
                .note(format!("revoked the tokens {name} of {workspace}"));
            Ok(Outcome::Done)
        }
        TeamCommand::Tokens { workspace } => {
            let tokens = access::granted(&database, workspace).map_err(failure)?;
            list_tokens(context, &tokens)
        }
        TeamCommand::Map {
            workspace,
            group,
            role,
        } => {
            let known = Role::parse(role);
            let known = known.ok_or_else(|| Failure::new(format!("there is no role `{role}`")))?;
            access::map_group(&database, workspace, group, known).map_err(failure)?;
            let told = format!("the group {group} has the role {role} in {workspace}");
            context.output.note(told);
            Ok(Outcome::Done)
        }
        TeamCommand::Unmap { workspace, group } => {
            access::unmap_group(&database, workspace, group).map_err(failure)?;
            let told = format!("the group {group} has no role in {workspace} any more");
            context.output.note(told);
            Ok(Outcome::Done)
        }
        TeamCommand::Groups { workspace } => {
            let groups = access::groups(&database, workspace).map_err(failure)?;
            list_groups(context, &groups)
        }
        TeamCommand::Audit {
            workspace,
            since,
            keep,
        } => {
            if let Some(keep) = keep {
                let days = (time(keep)?.as_secs() / 86_400).max(1) as i64;
                access::keep_audit(&database, workspace, days).map_err(failure)?;
                let told = format!("lines of the audit of {workspace} are kept for {days} days");
                context.output.note(told);
                return Ok(Outcome::Done);
            }
            let rows = Rows::open(&database, workspace).map_err(failure)?;
            let since = since.as_deref().map(|since| {
                read_moment(since, context.now(), Toward::Past).ok_or_else(|| {
                    Failure::new(format!("cannot read the time `{since}` of --since"))
                        .hint("Write a date (2026-01-31), or an amount such as 12h or 3d.")
                })
            });
            let since = since.transpose()?.map_or(0, |since| since.timestamp());
            show_audit(context, &rows, since)
        }
        TeamCommand::Erase(command) => {
            let backups_are_kept = command.backups.as_deref().map(time).transpose()?;
            erase::erase(context, &database, command, backups_are_kept)
        }
        TeamCommand::Quota {
            workspace,
            memories,
            bytes,
            requests,
        } => {
            let named = [
                (Quota::Memories, memories),
                (Quota::Bytes, bytes),
                (Quota::Requests, requests),
            ];
            let mut limits = Vec::new();
            for (quota, text) in named {
                if let Some(text) = text {
                    limits.push((quota, limit(quota, text)?));
                }
            }
            let quotas = access::set_quotas(&database, workspace, &limits).map_err(failure)?;
            show_quotas(context, &quotas)
        }
        TeamCommand::Check { name } => {
            let rows = Rows::open(&database, name).map_err(failure)?;
            check(context, &rows)
        }
    }
}

/// Copies a workspace into `folder`, and its history into a repository there.
fn export_with_history(
    context: &mut Context,
    rows: &Rows,
    folder: PathBuf,
) -> Result<Outcome, Failure> {
    let withheld = Withheld {
        secrets: context.config.secrets.value,
        sync_talks: context.config.talks.are_sent_of(&folder),
    };
    let consent = Consent::new(
        context.environment.records(),
        &folder,
        context.naming_of(&folder),
    );
    let mut writer = GitWriter::new(folder.clone(), &consent, withheld)?;
    let to = Store::at(&folder);
    let copied = rows::export(rows, &to, Some(&mut writer)).map_err(not_copied)?;
    let (mut commits, with_secrets) = writer.finish()?;
    let options = context.options(&folder);
    let git = options.git.clone().unwrap_or_else(|| GitOptions {
        user: context.config.user.value.clone(),
        interval: context.config.sync_interval.value,
        remote: None,
    });
    let engine = context::open(Options {
        git: Some(git),
        ..options
    })?;
    // The settings, the journals, and what was changed meanwhile.
    let mut notes = Vec::new();
    match commit_everything(&engine.history)? {
        Committed::Done { .. } => commits += 1,
        Committed::Nothing => {}
        Committed::Paused(why) => notes.push(format!("the last changes are in no commit: {why}")),
        Committed::Busy | Committed::Off => notes.push(
            "the last changes are in no commit: git is at work; `memdir sync` makes one".to_owned(),
        ),
    }
    notes.insert(0, format!("wrote {commits} commits of a git repository"));
    if with_secrets > 0 {
        notes.push(format!(
            "{with_secrets} texts were left: they hold credentials"
        ));
    }
    show(context, &copied, &notes)
}

/// State of a database after its set-up.
struct SetUp<'a> {
    /// Names of the migrations that were applied just now.
    applied: Vec<&'static str>,
    /// The workspace, and whether it was made just now.
    workspace: Option<(&'a str, bool)>,
    /// Name of its owner's token, and the token if it was made just now.
    owner: Option<(&'a str, Option<Grant>)>,
}

impl<'a> SetUp<'a> {
    /// Makes what `database` lacks of the tables, the workspace, and the token `owner` that is valid for `lifetime`.
    ///
    /// # Errors
    ///
    /// Fails if a valid token of that name has another role.
    fn run(
        database: &Database,
        workspace: Option<&'a str>,
        owner: Option<&'a str>,
        lifetime: Option<Duration>,
    ) -> Result<SetUp<'a>, Failure> {
        let mut done = SetUp {
            applied: database.migrate().map_err(failure)?,
            workspace: None,
            owner: None,
        };
        let Some(workspace) = workspace else {
            return Ok(done);
        };
        let is_made = match database.create_workspace(workspace) {
            Err(RowsError::WorkspaceExists(_)) => false,
            made => made.map(|()| true).map_err(failure)?,
        };
        done.workspace = Some((workspace, is_made));
        if let Some(owner) = owner {
            let made = match access::grant(database, workspace, owner, Role::Owner, lifetime) {
                Err(RowsError::TokenExists(_)) => None,
                made => Some(made.map_err(failure)?),
            };
            if made.is_none() {
                check_owner(database, workspace, owner)?;
            }
            done.owner = Some((owner, made));
        }
        Ok(done)
    }
}

/// Checks that the valid token `owner` of a workspace owns it.
fn check_owner(database: &Database, workspace: &str, owner: &str) -> Result<(), Failure> {
    let tokens = access::granted(database, workspace).map_err(failure)?;
    let mut valid = tokens
        .iter()
        .filter(|token| token.is_valid && token.name == owner);
    match valid.find(|token| token.role != Role::Owner) {
        None => Ok(()),
        Some(other) => {
            let role = other.role.as_str();
            let what = format!("the token `{owner}` of {workspace} is that of a {role}");
            Err(Failure::new(what).hint(format!(
                "Name another one, or take it back by `memdir team revoke {workspace} {owner}`."
            )))
        }
    }
}

fn show_set_up(context: &mut Context, done: &SetUp) -> Result<Outcome, Failure> {
    let made = done.owner.as_ref();
    let made = made.and_then(|(name, made)| Some((*name, made.as_ref()?)));
    if context.output.json {
        context.output.json(&json!({
            "applied": done.applied,
            "workspace": done.workspace.map(|(name, is_made)| json!({"name": name, "made": is_made})),
            "token": made.map(|(name, made)| grant_as_json(name, made)),
        }))?;
        return Ok(Outcome::Done);
    }
    tell_migrations(context, &done.applied);
    let Some((workspace, is_made)) = done.workspace else {
        let next = "next: `memdir team init WORKSPACE --owner TOKEN` makes a workspace";
        context.output.note(next);
        return Ok(Outcome::Done);
    };
    context.output.note(match is_made {
        true => format!("made the workspace {workspace}"),
        false => format!("the workspace {workspace} is there"),
    });
    if let Some((name, made)) = made {
        show_grant(context, name, made)?;
    } else if let Some((name, _)) = done.owner {
        context.output.note(format!(
            "{name} owns it already: `memdir team grant {workspace} {name} --rotate` makes another secret"
        ));
    }
    context.output.note(format!(
        "next, with the address of the database in MEMDIR_DATABASE:\n  memdir team import {workspace} DIR\n  memdir serve --database"
    ));
    Ok(Outcome::Done)
}

fn tell_migrations(context: &mut Context, applied: &[&str]) {
    if applied.is_empty() {
        context.output.note("the database is up to date");
    }
    for name in applied {
        context
            .output
            .note(format!("applied the migration `{name}`"));
    }
}

fn list(context: &mut Context, database: &Database) -> Result<Outcome, Failure> {
    let workspaces = database.workspaces().map_err(failure)?;
    let output = &mut context.output;
    if output.json {
        let all = workspaces.iter().map(
            |one| json!({"name": one.name, "memories": one.memories, "last_change": one.head}),
        );
        let all: Vec<_> = all.collect();
        output.json(&json!({"workspaces": all}))?;
    } else {
        for one in &workspaces {
            output.line(format!("{:>9}  {}", one.memories, one.name))?;
        }
    }
    Ok(Outcome::found(!workspaces.is_empty()))
}

fn drop_workspace(
    context: &mut Context,
    database: &Database,
    name: &str,
    is_agreed: bool,
) -> Result<Outcome, Failure> {
    let question =
        format!("Remove the workspace {name} with all its memories? Nothing brings them back.");
    if !is_agreed && !is_answered_yes(&context.output, &question)? {
        return Ok(Outcome::Nothing);
    }
    database.drop_workspace(name).map_err(failure)?;
    context.output.note(format!("removed the workspace {name}"));
    Ok(Outcome::Done)
}

/// Shows what was copied, and what was left of the history; some files that were not copied are no success.
fn show(context: &mut Context, copied: &Copied, left: &[String]) -> Result<Outcome, Failure> {
    let output = &mut context.output;
    if output.json {
        let skipped = copied.skipped.iter();
        let skipped = skipped.map(|one| json!({"file": one.name, "reason": one.reason}));
        let skipped: Vec<_> = skipped.collect();
        output.json(&json!({
            "added": copied.added,
            "known": copied.known,
            "earlier": copied.earlier,
            "different": copied.different,
            "skipped": skipped,
            "notes": left,
        }))?;
    } else {
        output.note(format!(
            "copied {} files, {} were there",
            copied.added, copied.known
        ));
        if copied.earlier > 0 {
            output.note(format!("copied {} earlier texts", copied.earlier));
        }
        for note in left {
            output.note(note);
        }
        for path in copied.different.iter().take(SHOWN) {
            output.note(format!("not copied: {path} is there with another text"));
        }
        for one in copied.skipped.iter().take(SHOWN) {
            output.note(format!("not copied: {}: {}", one.name, one.reason));
        }
        let left = copied.different.len() + copied.skipped.len();
        if left > 0 {
            output.note(format!("{left} files were not copied"));
        }
    }
    let is_whole = copied.different.is_empty() && copied.skipped.is_empty();
    Ok(Outcome::complete(is_whole))
}

/// Shows the secret of a token, once.
fn show_grant(context: &mut Context, name: &str, made: &Grant) -> Result<Outcome, Failure> {
    let output = &mut context.output;
    if output.json {
        output.json(&grant_as_json(name, made))?;
    } else {
        output.line(&made.secret)?;
        let expires = made.expires.and_then(moment);
        let until = expires.map_or("without end".to_owned(), |at| {
            format!("until {}", at.to_rfc3339())
        });
        output.note(format!(
            "{name}, {}, {until}: this is shown once",
            made.role.as_str()
        ));
    }
    Ok(Outcome::Done)
}

fn grant_as_json(name: &str, made: &Grant) -> Value {
    let expires = made.expires.and_then(moment);
    json!({
        "name": name,
        "role": made.role.as_str(),
        "expires": expires.map(|at| at.to_rfc3339()),
        "token": made.secret,
    })
}

/// Returns a limit; `None` of the word `none`.
fn limit(quota: Quota, text: &str) -> Result<Option<i64>, Failure> {
    let least = i64::from(quota == Quota::Requests);
    match text.parse::<i64>() {
        _ if text == "none" => Ok(None),
        Ok(limit) if limit >= least => Ok(Some(limit)),
        _ => Err(Failure::new(format!("`{text}` is no limit"))
            .hint(format!("Write a number of at least {least}, or `none`."))),
    }
}

fn show_quotas(context: &mut Context, quotas: &Quotas) -> Result<Outcome, Failure> {
    let output = &mut context.output;
    if output.json {
        output.json(&json!({
            "memories": quotas.memories,
            "bytes": quotas.bytes,
            "max_memories": quotas.max_memories,
            "max_bytes": quotas.max_bytes,
            "max_requests": quotas.max_requests,
        }))?;
        return Ok(Outcome::Done);
    }
    let of = |limit: Option<i64>| limit.map_or("no limit".to_owned(), |limit| limit.to_string());
    let memories = format!("{} of {}", quotas.memories, of(quotas.max_memories));
    let bytes = format!("{} of {}", quotas.bytes, of(quotas.max_bytes));
    output.rows(&[
        ("memories", memories),
        ("bytes", bytes),
        ("calls a minute", of(quotas.max_requests)),
    ])?;
    Ok(Outcome::Done)
}

fn list_tokens(context: &mut Context, tokens: &[TokenState]) -> Result<Outcome, Failure> {
    let output = &mut context.output;
    if output.json {
        let all: Value = tokens.iter().map(token_as_json).collect();
        output.json(&json!({"tokens": all}))?;
    } else {
        let written = |at: Option<i64>, none: &str| {
            at.and_then(moment).map_or(none.to_owned(), |at| {
                at.format("%Y-%m-%d %H:%M").to_string()
            })
        };
        for token in tokens {
            let ends = match token.is_valid {
                true => format!("until {}", written(token.expires, "revoked")),
                false => "expired".to_owned(),
            };
            let used = written(token.last_used, "never");
            let role = token.role.as_str();
            output.line(format!(
                "{role:6}  {}  {ends}, last used {used}",
                token.name
            ))?;
        }
    }
    Ok(Outcome::found(!tokens.is_empty()))
}

fn list_groups(context: &mut Context, groups: &[GroupRole]) -> Result<Outcome, Failure> {
    let output = &mut context.output;
    if output.json {
        let all: Value = groups.iter().map(group_as_json).collect();
        output.json(&json!({"groups": all}))?;
    } else {
        for one in groups {
            output.line(format!("{:6}  {}", one.role.as_str(), one.group))?;
        }
    }
    Ok(Outcome::found(!groups.is_empty()))
}

/// Returns a group of the issuer with its role as JSON.
pub fn group_as_json(group: &GroupRole) -> Value {
    json!({
        "group": group.group,
        "role": group.role.as_str(),
        "changed": moment(group.changed).map(|at| at.to_rfc3339()),
    })
}

/// Returns a token as JSON, without its secret, which nobody has.
pub fn token_as_json(token: &TokenState) -> Value {
    let written = |at: Option<i64>| at.and_then(moment).map(|at| at.to_rfc3339());
    json!({
        "name": token.name,
        "role": token.role.as_str(),
        "created": written(Some(token.created)),
        "expires": written(token.expires),
        "last_used": written(token.last_used),
        "valid": token.is_valid,
    })
}

/// Shows the audit of a workspace: a line each, or a JSON object in each line.
fn show_audit(context: &mut Context, rows: &Rows, since: i64) -> Result<Outcome, Failure> {
    let output = &mut context.output;
    let mut after = 0;
    let mut is_empty = true;
    loop {
        let lines = access::audit(rows, after, since, AUDIT_LINES).map_err(failure)?;
        let Some(last) = lines.last() else {
            return Ok(Outcome::found(!is_empty));
        };
        after = last.number;
        is_empty = false;
        for line in &lines {
            if output.json {
                output.json_line(&audit_as_json(line))?;
                continue;
            }
            let at = DateTime::<Utc>::from_timestamp_millis(line.at);
            let at = at.map_or(String::new(), |at| {
                at.format("%Y-%m-%d %H:%M:%S").to_string()
            });
            let who = line.identity.as_deref().unwrap_or("-");
            let memories = match line.count {
                0 => String::new(),
                1 => line.memories.concat(),
                count => format!("{count} memories"),
            };
            let text = format!("{at}  {who}  {}  {}  {memories}", line.action, line.outcome);
            output.line(text.trim_end())?;
        }
    }
}

/// Returns a line of the audit as JSON.
pub fn audit_as_json(line: &AuditLine) -> Value {
    let at = DateTime::<Utc>::from_timestamp_millis(line.at);
    json!({
        "number": line.number,
        "at": at.map(|at| at.to_rfc3339()),
        "identity": line.identity,
        "action": line.action,
        "request": line.request,
        "outcome": line.outcome,
        "memories": line.memories,
        "count": line.count,
        "first_change": line.changes.map(|(first, _)| first),
        "last_change": line.changes.map(|(_, last)| last),
    })
}

fn moment(seconds: i64) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp(seconds, 0)
}

/// Returns an amount of time, such as of 90d.
fn time(text: &str) -> Result<Duration, Failure> {
    let span = crate::config::span(text).map_err(|what| format!("is {what}"));
    let span = span.and_then(|span| span.to_std().map_err(|_| "is none".to_owned()));
    span.map_err(|what| {
        Failure::new(format!("`{text}` {what}")).hint("Write it as 90d, 12h or 4w.")
    })
}

/// Checks rows, and then the index that a server would have of them: its copy in the database, brought up to date.
fn check(context: &mut Context, rows: &Rows) -> Result<Outcome, Failure> {
    let mut checked = rows::check(rows).map_err(failure)?;
    // What was found in the rows is shown in any case.
    let faults = index_faults(context, rows, &checked).unwrap_or_else(|failure| {
        let causes = failure.causes.join(": ");
        vec![format!("it cannot be compared: {}: {causes}", failure.what)]
    });
    let faults = faults.into_iter();
    checked
        .findings
        .extend(faults.map(|fault| format!("index: {fault}")));
    let output = &mut context.output;
    if output.json {
        output.json(&json!({"files": checked.files, "findings": checked.findings}))?;
    } else {
        for finding in checked.findings.iter().take(SHOWN) {
            output.line(finding)?;
        }
        let count = checked.findings.len();
        output.note(format!("checked {} files: {count} findings", checked.files));
    }
    Ok(Outcome::found(checked.findings.is_empty()))
}

/// Compares the memories that were checked with their index, which is made in a temporary folder.
fn index_faults(context: &Context, rows: &Rows, checked: &Checked) -> Result<Vec<String>, Failure> {
    let folder = crate::files::scratch_folder().map_err(|error| {
        Failure::new("cannot make a temporary folder for the index").because(error)
    })?;
    let options = Options {
        models: None,
        reranker: None,
        ..database::options(context, folder.path())
    };
    let engine = context::open(database::options_of(rows, folder.path(), options))?;
    Ok(ops::verify_index(&engine, &checked.memories)?)
}

fn failure(error: RowsError) -> Failure {
    database::failure(error)
}

fn not_copied(error: CopyError) -> Failure {
    match error {
        CopyError::Rows(error) => failure(error),
        error => Failure::new("cannot copy the memories").because(error),
    }
}

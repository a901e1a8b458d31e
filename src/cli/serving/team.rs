//! `memdir serve --database`: the workspaces of a team over HTTP.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::cli::args::serve::Serve;
use crate::cli::serving::cache::WorkspaceCache;
use crate::cli::serving::health::DoctorRuns;
use crate::cli::serving::{mcp, serve};
use crate::cli::store::team::{audit_as_json, group_as_json, token_as_json};
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::{Context, Outcome, open};
use crate::cli::wiring::database;
use crate::cli::wiring::issuer::{self, TrustedIssuer};
use crate::dialect::{CallOutcome, CallRecord, Dialect, Preferences, Recorder};
use crate::engine::{Background, EngineError, Options};
use crate::http::{
    CallLease, CallLeases, Holder, ProtectedResource, Serving, Settings, Workspace, Workspaces,
    is_signed,
};
use crate::mcp::{Served, Session};
use crate::model::is_possible_time;
use crate::rows;
use crate::rows::access::{self, Access, AccessTokens, Actor, AuditLog, Role};
use crate::rows::{Database, Presence, Rows, RowsError};

/// Folder below the user's cache, where no other is named.
const CACHE: &str = "team";

const GIGABYTE: u64 = 1_000_000_000;

/// Variable with the seconds for which a server drains.
const DRAIN_VARIABLE: &str = "MEMDIR_DRAIN";

/// Variable with the name by which others know this server.
const ADVERTISE_VARIABLE: &str = "MEMDIR_ADVERTISE";

/// Time for which a server drains: two checks of a load balancer that looks every 2 s.
const DRAIN: Duration = Duration::from_secs(5);

/// Maximum number of seconds for which a server drains.
const MAX_DRAIN: u16 = 600;

/// Serves the workspaces of a database until the process is asked to end.
pub fn serve(context: &mut Context, command: &Serve) -> Result<Outcome, Failure> {
    let now = context.now();
    if !is_possible_time(now) {
        return Err(EngineError::ClockIsWrong(now).into());
    }
    let addresses = serve::addresses(command)?;
    let drain = drain(context, command)?;
    let database = database::open(context, command.database.as_deref())?;
    let database = database::with_replicas(context, database, &command.replica)?;
    let trusted = trusted_issuer(context, command)?;
    let issuer = trusted
        .as_ref()
        .map(|trusted| trusted.issuer.name().to_owned());
    database.check().map_err(database::failure)?;
    let cache = cache(context, command)?;
    crate::embed::limit_kept_memory();
    let presence = presence(context, command, &database)?;
    let audit = AuditLog::new(&database);
    let workspaces = TeamWorkspaces {
        tokens: AccessTokens::new(&database),
        issuer: trusted,
        audit: audit.clone(),
        presence: presence.clone(),
        database,
        options: database::options(context, &cache),
        dialect: mcp::dialect(context, &command.tool_set)?,
        preferences: Arc::new(mcp::preferences(context, &command.tool_set)?),
        cache: WorkspaceCache::new(&cache, u64::from(command.cache_size) * GIGABYTE),
    };
    let doctor = DoctorRuns::new();
    let settings = Settings {
        drain,
        ..serve::settings(context, command, addresses, (&cache, &cache), &doctor)
    };
    let ended = crate::http::serve_workspaces(Arc::new(workspaces), &settings, |serving| {
        tell(context, &settings, serving, issuer.as_deref());
        if let Err(error) = crate::service::tell_ready() {
            tracing::warn!("cannot tell the service manager that this server is ready: {error}");
        }
    });
    doctor.end();
    if let Some(presence) = &presence {
        leave(presence);
    }
    if let Err(error) = audit.flush() {
        tracing::error!("the last lines of the audit are lost: {error}");
    }
    match ended {
        // A call that still runs must not keep the process.
        Ok(()) => std::process::exit(0),
        Err(error) => Err(serve::failure(error)),
    }
}

/// Announces this server by the name that a command gives it, or the environment.
fn presence(
    context: &Context,
    command: &Serve,
    database: &Database,
) -> Result<Option<Presence>, Failure> {
    let variable = context.environment.variables.get(ADVERTISE_VARIABLE);
    let name = command.advertise.as_ref().or(variable);
    let name = name.filter(|name| !name.is_empty());
    let presence = name.map(|name| Presence::announce(database, name));
    presence.transpose().map_err(database::failure)
}

/// Has requests of all workspaces prefer other servers.
fn leave(presence: &Presence) {
    if let Err(error) = presence.leave() {
        tracing::warn!("workspaces prefer this server for some seconds still: {error}");
    }
}

/// Returns the time for which the server drains.
fn drain(context: &Context, command: &Serve) -> Result<Duration, Failure> {
    let variable = context.environment.variables.get(DRAIN_VARIABLE);
    let variable = variable.filter(|text| !text.is_empty());
    match (command.drain, variable) {
        (Some(seconds), _) => Ok(Duration::from_secs(seconds.into())),
        (None, None) => Ok(DRAIN),
        (None, Some(text)) => match text.parse::<u16>() {
            Ok(seconds) if seconds <= MAX_DRAIN => Ok(Duration::from_secs(seconds.into())),
            _ => Err(
                Failure::new(format!("`{text}` of {DRAIN_VARIABLE} is no time to drain"))
                    .hint(format!("Write a number of seconds from 0 to {MAX_DRAIN}.")),
            ),
        },
    }
}

/// Returns the issuer whose tokens are taken, asked for its keys; one that does not answer is asked again when its
/// tokens come.
fn trusted_issuer(context: &Context, command: &Serve) -> Result<Option<TrustedIssuer>, Failure> {
    let named = issuer::Named {
        issuer: command.issuer.as_deref(),
        audience: command.audience.as_deref(),
        groups_claim: command.groups_claim.as_deref(),
        hosts: &command.allow_host,
    };
    let trusted = issuer::open(context, &named)?;
    if let Some(TrustedIssuer { issuer, .. }) = &trusted
        && let Err(error) = issuer.fetch()
    {
        let why = error.in_one_line();
        tracing::warn!("tokens of the issuer open nothing until it answers: {why}");
    }
    Ok(trusted)
}

/// Returns the folder of what is derived from workspaces, made if it is missing.
fn cache(context: &Context, command: &Serve) -> Result<PathBuf, Failure> {
    let named = command.cache.as_ref();
    let named = named.map(|cache| context.environment.folder.join(cache));
    let usual = || Some(context.config.cache.as_ref()?.join(CACHE));
    let cache = named.or_else(usual).ok_or_else(|| {
        Failure::new("there is no folder for caches").hint("Name one by --cache DIR.")
    })?;
    crate::files::create_private_folder(&cache).map_err(|error| {
        Failure::new(format!("cannot make the folder {}", cache.display())).because(error)
    })?;
    Ok(cache)
}

/// Says where it listens, on standard error.
fn tell(context: &Context, settings: &Settings, serving: &Serving, issuer: Option<&str>) {
    let names = serving.names.join(" and ");
    let output = &context.output;
    output.note(format!("serving the workspaces of a database at {names}"));
    output.note("MCP at /w/NAME/mcp, REST at /w/NAME/api/v1, a page for people at /w/NAME/");
    output.note(match settings.needs_token {
        true => format!("the tokens are in {}", settings.tokens.display()),
        false => "no token is asked for: any program on this machine may read and write".to_owned(),
    });
    if let Some(issuer) = issuer {
        output.note(format!("tokens of {issuer} are taken, too"));
    }
}

/// Workspaces of a database, with the settings of this server.
struct TeamWorkspaces {
    database: Database,
    tokens: AccessTokens,
    /// Issuer of further tokens.
    issuer: Option<TrustedIssuer>,
    audit: AuditLog,
    /// This server among the others, if it has a name.
    presence: Option<Presence>,
    cache: WorkspaceCache,
    options: Options,
    dialect: Arc<dyn Dialect>,
    preferences: Arc<Preferences>,
}

impl CallLeases for TeamWorkspaces {
    fn lease(&self, name: &str, calls_a_minute: u64, wanted: u64) -> Option<CallLease> {
        match access::lease_calls(&self.database, name, calls_a_minute, wanted) {
            Ok((calls, left)) => Some(CallLease { calls, left }),
            Err(error) => {
                tracing::warn!("calls are counted at this server alone: {}", told(error));
                None
            }
        }
    }
}

impl Workspaces for TeamWorkspaces {
    fn check(&self) -> Result<(), String> {
        self.database.check().map_err(|error| error.to_string())
    }

    fn open(&self, name: &str) -> Result<Option<Workspace>, String> {
        let rows = match Rows::open(&self.database, name) {
            Ok(rows) => rows,
            Err(RowsError::NoWorkspace(_) | RowsError::WorkspaceName(_)) => return Ok(None),
            Err(error) => {
                return Err(told(error));
            }
        };
        let engine = self.cache.open(name, |folder| {
            let options = database::options_of(&rows, folder, self.options.clone());
            open(options).map_err(|failure| failure.what)
        })?;
        let engine = Arc::new(engine);
        let background = Background::start(&engine).map_err(|error| error.to_string())?;
        Ok(Some(Workspace {
            served: Served {
                engine,
                dialect: Arc::clone(&self.dialect),
                preferences: Arc::clone(&self.preferences),
                stores: Arc::default(),
                session: Session::default(),
                notice: Arc::new(Mutex::new(None)),
            },
            kept: Box::new(Mutex::new(background)),
        }))
    }

    fn recent_holder(&self, name: &str, secret: &str) -> Option<Holder> {
        self.tokens.recent(name, secret).map(holder)
    }

    fn holder(&self, name: &str, secret: &str) -> Result<Option<Holder>, String> {
        let access = match self.issuer.as_ref().filter(|_| is_signed(secret)) {
            Some(trusted) => {
                let audiences = trusted.audiences(name);
                let identity = trusted.issuer.identity(secret, &audiences);
                let identity = identity.map_err(|error| error.in_one_line())?;
                let Some(identity) = identity else {
                    return Ok(None);
                };
                let (who, groups) = (&identity.name, &identity.groups);
                self.tokens
                    .holder_by_groups(name, secret, who, groups, identity.left)
            }
            None => self.tokens.holder(name, secret),
        };
        access.map(|access| access.map(holder)).map_err(told)
    }

    fn protected_resource(&self, name: &str) -> Option<ProtectedResource> {
        let trusted = self.issuer.as_ref();
        let trusted = trusted.filter(|_| rows::is_workspace_name(name))?;
        Some(ProtectedResource {
            origin: trusted.origin.clone(),
            path: trusted.path_of(name),
            issuer: trusted.issuer.name().to_owned(),
        })
    }

    fn preferred_server(&self, name: &str) -> Option<String> {
        let presence = self.presence.as_ref();
        let presence = presence.filter(|_| rows::is_workspace_name(name))?;
        presence.preferred(name)
    }

    fn trim_cache(&self, is_open: &dyn Fn(&str) -> bool) {
        self.cache.trim(is_open);
    }

    fn leave(&self) {
        if let Some(presence) = &self.presence {
            leave(presence);
        }
    }

    fn groups(&self, name: &str) -> Result<Option<Value>, String> {
        match access::groups(&self.database, name) {
            Ok(groups) => Ok(Some(groups.iter().map(group_as_json).collect())),
            Err(RowsError::NoWorkspace(_) | RowsError::WorkspaceName(_)) => Ok(None),
            Err(error) => Err(told(error)),
        }
    }

    fn tokens(&self, name: &str) -> Result<Option<Value>, String> {
        match access::granted(&self.database, name) {
            Ok(tokens) => Ok(Some(tokens.iter().map(token_as_json).collect())),
            Err(RowsError::NoWorkspace(_) | RowsError::WorkspaceName(_)) => Ok(None),
            Err(error) => Err(told(error)),
        }
    }

    fn audit(&self, name: &str, after: u64, limit: usize) -> Result<Option<Value>, String> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let lines = Rows::open(&self.database, name)
            .and_then(|rows| access::audit(&rows, after, 0, limit as i64));
        match lines {
            Ok(lines) => Ok(Some(lines.iter().map(audit_as_json).collect())),
            Err(RowsError::NoWorkspace(_) | RowsError::WorkspaceName(_)) => Ok(None),
            Err(error) => Err(told(error)),
        }
    }

    fn recorder(&self, name: &str, identity: &str, request: &str) -> Option<Arc<dyn Recorder>> {
        if !rows::is_workspace_name(name) {
            return None;
        }
        Some(Arc::new(AuditRecorder {
            audit: self.audit.clone(),
            workspace: Arc::from(name),
            identity: identity.to_owned(),
            request: request.to_owned(),
        }))
    }
}

/// Records the calls of one request in the audit of its workspace.
#[derive(Clone)]
struct AuditRecorder {
    audit: AuditLog,
    workspace: Arc<str>,
    identity: String,
    request: String,
}

/// Records one call. One that ended before it was run is kept as failed.
struct AuditRecord {
    of: AuditRecorder,
    actor: Actor,
    is_kept: Cell<bool>,
}

impl Recorder for AuditRecorder {
    fn record(&self, action: &str) -> Box<dyn CallRecord> {
        let actor = Actor {
            identity: self.identity.clone(),
            action: action.to_owned(),
            request: self.request.clone(),
        };
        Box::new(AuditRecord {
            of: self.clone(),
            actor,
            is_kept: Cell::new(false),
        })
    }
}

impl CallRecord for AuditRecord {
    fn run(&self, call: &mut dyn FnMut() -> CallOutcome) {
        let AuditRecord { of, actor, is_kept } = self;
        is_kept.set(true);
        of.audit.run(&of.workspace, actor.clone(), &mut || {
            let outcome = call();
            (outcome.is_done, outcome.ids)
        });
    }

    fn refuse(&self) {
        let AuditRecord { of, actor, is_kept } = self;
        is_kept.set(true);
        of.audit.refuse(&of.workspace, actor.clone());
    }
}

impl Drop for AuditRecord {
    fn drop(&mut self) {
        if !self.is_kept.get() {
            self.run(&mut || CallOutcome::of(false, ""));
        }
    }
}

fn holder(access: Access) -> Holder {
    Holder {
        name: access.name,
        may_write: access.role != Role::Reader,
        is_owner: access.role == Role::Owner,
        calls_a_minute: access.calls_a_minute,
    }
}

/// Returns the text of an error with its causes, for the log.
fn told(error: RowsError) -> String {
    let failure = database::failure(error);
    format!("{}: {}", failure.what, failure.causes.join(": "))
}

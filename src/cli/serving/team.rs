//! `memdir serve --database`: the workspaces of a team over HTTP.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::cli::args::serve::Serve;
use crate::cli::serving::health::DoctorRuns;
use crate::cli::serving::{mcp, serve};
use crate::cli::store::team::{audit_as_json, token_as_json};
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::{Context, Outcome, open};
use crate::cli::wiring::database;
use crate::dialect::{CallOutcome, CallRecord, Dialect, Preferences, Recorder};
use crate::engine::{Backend, Background, EngineError, Options};
use crate::http::{Holder, Serving, Settings, Workspace, Workspaces};
use crate::mcp::{Served, Session};
use crate::model::is_possible_time;
use crate::rows;
use crate::rows::access::{self, Access, AccessTokens, Actor, AuditLog, Role};
use crate::rows::{Database, Rows, RowsError};

/// Folder below the user's cache, where no other is named.
const CACHE: &str = "team";

/// Serves the workspaces of a database until the process is asked to end.
pub fn serve(context: &mut Context, command: &Serve) -> Result<Outcome, Failure> {
    let now = context.now();
    if !is_possible_time(now) {
        return Err(EngineError::ClockIsWrong(now).into());
    }
    let addresses = serve::addresses(command)?;
    let database = database::open(context, command.database.as_deref())?;
    let database = database::with_replicas(context, database, &command.replica)?;
    database.check().map_err(database::failure)?;
    let cache = cache(context, command)?;
    crate::embed::limit_kept_memory();
    let audit = AuditLog::new(&database);
    let workspaces = TeamWorkspaces {
        tokens: AccessTokens::new(&database),
        audit: audit.clone(),
        database,
        options: Options {
            state: None,
            cache: None,
            git: None,
            namespace: None,
            ..context.options(&cache)
        },
        dialect: mcp::dialect(context, &command.tool_set)?,
        preferences: Arc::new(mcp::preferences(context, &command.tool_set)?),
        cache: cache.clone(),
    };
    let doctor = DoctorRuns::new();
    let settings = serve::settings(context, command, addresses, (&cache, &cache), &doctor);
    let ended = crate::http::serve_workspaces(Arc::new(workspaces), &settings, |serving| {
        tell(context, &settings, serving);
        if let Err(error) = crate::service::tell_ready() {
            tracing::warn!("cannot tell the service manager that this server is ready: {error}");
        }
    });
    doctor.end();
    if let Err(error) = audit.flush() {
        tracing::error!("the last lines of the audit are lost: {error}");
    }
    match ended {
        // A call that still runs must not keep the process.
        Ok(()) => std::process::exit(0),
        Err(error) => Err(serve::failure(error)),
    }
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
fn tell(context: &Context, settings: &Settings, serving: &Serving) {
    let names = serving.names.join(" and ");
    let output = &context.output;
    output.note(format!("serving the workspaces of a database at {names}"));
    output.note("MCP at /w/NAME/mcp, REST at /w/NAME/api/v1");
    output.note(match settings.needs_token {
        true => format!("the tokens are in {}", settings.tokens.display()),
        false => "no token is asked for: any program on this machine may read and write".to_owned(),
    });
}

/// Workspaces of a database, with the settings of this server.
struct TeamWorkspaces {
    database: Database,
    tokens: AccessTokens,
    audit: AuditLog,
    cache: PathBuf,
    options: Options,
    dialect: Arc<dyn Dialect>,
    preferences: Arc<Preferences>,
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
        let backend = Backend {
            storage: Arc::new(rows.clone()),
            journal: rows::journal(&rows),
            name: format!("the workspace {name} of a database"),
        };
        let options = Options {
            root: self.cache.join(name),
            backend: Some(backend),
            ..self.options.clone()
        };
        let engine = Arc::new(open(options).map_err(|failure| failure.what)?);
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
        let access = self.tokens.holder(name, secret);
        access.map(|access| access.map(holder)).map_err(told)
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

    fn recorder(&self, name: &str, identity: &str, request: &str) -> Arc<dyn Recorder> {
        Arc::new(AuditRecorder {
            audit: self.audit.clone(),
            workspace: Arc::from(name),
            identity: identity.to_owned(),
            request: request.to_owned(),
        })
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

/// Records one call.
struct AuditRecord(AuditRecorder, Actor);

impl Recorder for AuditRecorder {
    fn record(&self, action: &str) -> Box<dyn CallRecord> {
        let actor = Actor {
            identity: self.identity.clone(),
            action: action.to_owned(),
            request: self.request.clone(),
        };
        Box::new(AuditRecord(self.clone(), actor))
    }
}

impl CallRecord for AuditRecord {
    fn run(&self, call: &mut dyn FnMut() -> CallOutcome) {
        let AuditRecord(of, actor) = self;
        of.audit.run(&of.workspace, actor.clone(), &mut || {
            let outcome = call();
            (outcome.is_done, outcome.ids)
        });
    }

    fn refuse(&self) {
        let AuditRecord(of, actor) = self;
        of.audit.refuse(&of.workspace, actor.clone());
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

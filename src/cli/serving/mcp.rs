//! `memdir mcp`: a store served to agents, in the words that they know; or the way to a server that
//! serves it already.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::cli::args::mcp::{Mcp, ToolSet};
use crate::cli::serving::also;
#[cfg(unix)]
use crate::cli::serving::relay;
use crate::cli::store::trust;
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::{Context, Outcome};
use crate::cli::wiring::{llm, no_store};
use crate::config::Origin;
use crate::dialect;
use crate::dialect::core::Core;
use crate::dialect::{Dialect, FeatureTier, Preferences};
use crate::engine::{Background, Method, Ranking};
use crate::http::bridge::{BridgeError, ServerAddress, Token, Whereabouts};
use crate::http::{bridge, tokens};
use crate::mcp::{ServeError, Served, Session};
use crate::model::normalized_namespace;
#[cfg(unix)]
use crate::relay::Takeover;

/// The tool set of the program that keeps a file in each working folder.
const I_AM: &str = "i-am";

/// Serves agents until standard input ends.
pub fn mcp(context: &mut Context, command: &Mcp) -> Result<Outcome, Failure> {
    if let Some(place) = &command.connect {
        return connect(context, place.as_ref(), command.connect_ca.clone());
    }
    // Before there are threads.
    crate::embed::limit_kept_memory();
    settle_namespace(context, &command.tool_set);
    #[cfg(unix)]
    if let Some(relay) = relay::connect(context, &command.tool_set, notice(context)) {
        tracing::debug!("using the server in process {}", relay.process);
        match relay.run() {
            Ok(None) => std::process::exit(0),
            Ok(Some(session)) => return go_on(context, command, session),
            Err(error) => return Err(Failure::new("cannot use a server").because(error)),
        }
    }
    let (served, background) = begin(context, &command.tool_set)?;
    let ended = crate::mcp::serve_stdio(served);
    end(background, ended)
}

/// Serves a session of which another server is gone.
#[cfg(unix)]
fn go_on(context: &mut Context, command: &Mcp, session: Takeover) -> Result<Outcome, Failure> {
    tracing::debug!("the server is gone: this process goes on with the session");
    let (mut served, background) = begin(context, &command.tool_set)?;
    served.session.earlier = session.earlier;
    let ended = crate::mcp::serve_lines(served, session.input, session.output);
    end(background, ended)
}

fn end(background: Vec<Background>, ended: Result<(), ServeError>) -> Result<Outcome, Failure> {
    drop(background);
    crate::git::end_children();
    match ended {
        // A tool that still runs must not keep the process; its file is whole or absent.
        Ok(()) => std::process::exit(0),
        Err(error) => Err(Failure::new("the server ended").because(error)),
    }
}

/// Lets agents use the server at `place`, else the store's own, until standard input ends.
fn connect(
    context: &Context,
    place: Option<&ServerAddress>,
    authorities: Option<PathBuf>,
) -> Result<Outcome, Failure> {
    let variable = |name: &str| {
        let value = context.environment.variables.get(name)?;
        Some(value.trim().to_owned()).filter(|value| !value.is_empty())
    };
    let named: Option<ServerAddress> = match &context.config.mcp.connect {
        Some(named) => {
            let named = named.parse();
            Some(named.map_err(|error| {
                Failure::new("cannot use the address in mcp.connect").because(error)
            })?)
        }
        None => None,
    };
    // Whoever writes a client's configuration or listens here could have chosen any other address.
    let is_trusted = named.is_some() && (place.is_none() || place == named.as_ref());
    let place = place.or(named.as_ref());
    let whereabouts = match place {
        Some(place) => Whereabouts::At(place.clone()),
        None => Whereabouts::Noted(state(context)?.join(crate::http::NOTE)),
    };
    if let Some(place) = place.filter(|place| !place.is_secret()) {
        tracing::warn!("nothing is secret on the way to {place}: memories, and the token if any");
    }
    let token = match variable("MEMDIR_TOKEN") {
        Some(token) => Token::Given(token),
        // Who names a server may have no store here.
        None if place.is_some_and(|place| !place.is_local()) => Token::None,
        None => match state(context) {
            Ok(state) => Token::File(tokens::path(&state)),
            Err(_) => Token::None,
        },
    };
    let settings = bridge::Settings {
        whereabouts,
        is_trusted,
        token,
        authorities: authorities.or_else(|| variable("SSL_CERT_FILE").map(PathBuf::from)),
    };
    match bridge::bridge(settings) {
        // A request that still runs must not keep the process.
        Ok(()) => std::process::exit(0),
        Err(error) => Err(unconnected(context, error)),
    }
}

/// Returns the folder of the store's state, with the files of servers.
fn state(context: &Context) -> Result<PathBuf, Failure> {
    Ok(context.engine()?.live.state().to_owned())
}

fn unconnected(context: &Context, error: BridgeError) -> Failure {
    match error {
        BridgeError::NoServer => {
            let store = context.config.store.value.display();
            let hint = "Start one with `memdir serve`, name one with --connect ADDRESS, or leave --connect out.";
            Failure::new(format!("no server runs for the store {store}")).hint(hint)
        }
        BridgeError::Trust(error) => Failure::new("cannot use a server")
            .because(error)
            .hint("--connect-ca FILE names a file of trusted certificates."),
        error => Failure::new("cannot use a server").because(error),
    }
}

/// Returns the store to serve, and the background work of it and of further stores, which ends when it is
/// dropped.
pub fn begin(
    context: &mut Context,
    wanted: &ToolSet,
) -> Result<(Served, Vec<Background>), Failure> {
    let dialect = dialect(context, wanted)?;
    let preferences = preferences(context, wanted)?;
    let notice = notice(context);
    let engine = Arc::new(context.engine_for_writing()?);
    let (stores, unused) = also::stores(context, &engine);
    let mut background = Vec::new();
    for engine in std::iter::once(&engine).chain(stores.iter().skip(1).map(|store| &store.engine)) {
        let started = Background::start(engine);
        background
            .push(started.map_err(|error| {
                Failure::new("cannot start the background loop").because(error)
            })?);
    }
    let unused = unused.into_iter();
    let notice: Vec<String> = notice.into_iter().chain(unused).collect();
    let notice = (!notice.is_empty()).then(|| notice.join("\n"));
    let served = Served {
        engine,
        dialect,
        preferences: Arc::new(preferences),
        stores: stores.into(),
        session: Session::default(),
        notice: Arc::new(Mutex::new(notice)),
    };
    Ok((served, background))
}

/// Gives the session the namespace that its tool set wants, before anything is served.
pub fn settle_namespace(context: &mut Context, wanted: &ToolSet) {
    let name = wanted.dialect.as_deref();
    if name.or(context.config.mcp.dialect.as_deref()) == Some(I_AM) {
        keep_projects_apart(context);
    }
}

/// Returns what the user is to be told with the first reply of a tool.
fn notice(context: &Context) -> Option<String> {
    let root = &context.config.store.value;
    let notices = [
        trust::notice(&context.config),
        context.elsewhere(),
        (!crate::config::is_store(root)).then(|| no_store::made(root)),
    ];
    let notices: Vec<String> = notices.into_iter().flatten().collect();
    (!notices.is_empty()).then(|| notices.join("\n"))
}

/// Tells of what the program whose tools are spoken would follow, and this one does not.
fn warn_of_others(context: &Context, dialect: &str) {
    let (variable, settings) = match dialect {
        "loci" => ("LOCI_DB", ".loci/config.toml"),
        "ai-memory" => ("AI_MEMORY_DB", ".config/ai-memory/config.toml"),
        _ => return,
    };
    let variables = &context.environment.variables;
    if variables
        .get(variable)
        .is_some_and(|value| !value.is_empty())
    {
        tracing::warn!(
            "{variable} names a database and is not followed: MEMDIR_STORE names a store, and `memdir import --from {dialect}` brings the memories of a database in"
        );
    }
    let home = variables.get("HOME").map(Path::new);
    let settings = home.map(|home| home.join(settings));
    // Its own program passes it over where this is set.
    let is_off = dialect == "ai-memory" && variables.contains_key("AI_MEMORY_NO_CONFIG");
    if let Some(path) = settings.filter(|path| !is_off && path.is_file()) {
        tracing::warn!(
            "{} is not followed: `memdir config` shows the settings that there are; docs/DIALECTS.md says which take the place of which",
            path.display()
        );
        if std::fs::read_to_string(&path).is_ok_and(|text| deletes_on_gc(&text)) {
            tracing::warn!(
                "`archive_on_gc = false` is refused: memdir deletes no memory unasked, what has ended goes to the archive; memory_archive_purge, or `memdir purge`, removes it from there"
            );
        }
    }
}

/// Returns whether settings of ai-memory want what has ended deleted, and not archived.
fn deletes_on_gc(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.split('#').next().unwrap_or("");
        let pair = line.split_once('=');
        pair.is_some_and(|(key, value)| key.trim() == "archive_on_gc" && value.trim() == "false")
    })
}

/// Gives the store a namespace for each project, as the program that the set comes from keeps a file
/// in each: the folder of `MEMORY_FILE` names it, or outside of a git project the working folder. A
/// namespace that the user names is kept.
fn keep_projects_apart(context: &mut Context) {
    let namespace = &context.config.namespace;
    if !matches!(namespace.origin, Origin::Default | Origin::Found(_)) {
        return;
    }
    let store = &context.config.store.value;
    let folder = &context.environment.folder;
    let variables = &context.environment.variables;
    let file = variables.get(MEMORY_FILE).filter(|file| !file.is_empty());
    let file = file.map(|file| folder.join(file));
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let project = whole(file.as_deref().map_or(folder, |file| project_of(file)));
    let home = variables.get("HOME").map(|home| whole(Path::new(home)));
    let name = crate::git::project_name(&project, store).or_else(|| {
        let is_of_nobody = home.as_ref() == Some(&project) || project.starts_with(whole(store));
        let below_home = home.and_then(|home| project.strip_prefix(home).ok());
        let path = below_home.unwrap_or(&project).to_str();
        let path = path.filter(|_| !is_of_nobody);
        path.map(|path| path.trim_start_matches('/').to_owned())
    });
    let name = name.map(|name| normalized_namespace(&name).into_owned());
    if let Some(file) = file.filter(|file| file.is_file()) {
        let namespace = name.as_deref().unwrap_or(crate::model::GLOBAL);
        tracing::warn!(
            "{MEMORY_FILE} names {file}, which is not read: the namespace `{namespace}` takes its place, and `memdir import --from i-am {file} --namespace {namespace}` brings its entries in",
            file = file.display()
        );
    }
    context.config.namespace.value = name;
}

/// The variable in which the program of the category set finds its file.
const MEMORY_FILE: &str = "MEMORY_FILE";

/// Returns the folder of the project whose memories stand in `file`: a hidden folder and the usual name of
/// the file belong to that program.
fn project_of(file: &Path) -> &Path {
    let folder = file.parent().unwrap_or(file);
    let is_hidden = |name: &OsStr| name.as_encoded_bytes().starts_with(b".");
    match folder.file_name().is_some_and(is_hidden) {
        true => folder.parent().unwrap_or(folder),
        false => folder,
    }
}

pub(super) fn dialect(context: &Context, wanted: &ToolSet) -> Result<Arc<dyn Dialect>, Failure> {
    let settings = &context.config.mcp;
    let name = wanted.dialect.as_deref().or(settings.dialect.as_deref());
    let name = name.unwrap_or(dialect::NAMES[0]);
    let is_core = name == dialect::NAMES[0];
    if !is_core && !wanted.tools.is_empty() {
        let what = "is served as it is: --tools adds to `core` only";
        return Err(Failure::new(format!("the tool set `{name}` {what}")));
    }
    let tools = match wanted.tools.is_empty() {
        true => &settings.tools,
        false => &wanted.tools,
    };
    if is_core && !tools.is_empty() {
        return match Core::with(tools) {
            Ok(core) => Ok(Arc::new(core)),
            Err(error) => Err(Failure::new(error.to_string())),
        };
    }
    warn_of_others(context, name);
    dialect::named(name).ok_or_else(|| {
        let known = dialect::NAMES.join(", ");
        Failure::new(format!(
            "there is no tool set `{name}`: it is one of {known}"
        ))
    })
}

/// Returns the settings of a server, or of whoever calls its tools without one.
pub fn preferences(context: &Context, wanted: &ToolSet) -> Result<Preferences, Failure> {
    let settings = &context.config.mcp;
    let ranking = settings.ranking.as_deref().map(|name| {
        let method = Method::named(name).ok_or_else(|| {
            let known = Method::ALL.map(|(name, _)| name).join(", ");
            Failure::new(format!("mcp.ranking is `{name}`, which is none of {known}"))
        });
        method.map(|method| Ranking {
            method,
            ..Ranking::default()
        })
    });
    let tier = wanted.tier.as_deref().and_then(FeatureTier::named);
    let tier = tier.unwrap_or_default();
    // Texts go to a model only where both is said: which one, and that tools use it.
    let assistant = match tier >= FeatureTier::Smart {
        true => llm::assistant(context)?,
        false => None,
    };
    if tier >= FeatureTier::Smart && assistant.is_none() {
        let name = tier.name();
        tracing::warn!("--tier {name} without a language model: [llm] of the settings names none");
    }
    let group = wanted.group.clone().or_else(|| settings.group.clone());
    let group = group.filter(|group| !group.trim().is_empty());
    if group
        .as_deref()
        .is_some_and(|group| group.contains(char::is_control))
    {
        return Err(
            Failure::new("the group holds a line break or another control character")
                .hint("Name it by --group NAME, LOCI_GROUP, or `group` in [mcp] of the settings."),
        );
    }
    Ok(Preferences {
        user: context.config.user.value.clone(),
        group,
        ranking: ranking.transpose()?,
        tier,
        max_results: settings.max_results,
        preview_tokens: settings.preview_tokens,
        recall_tokens: settings.recall_tokens,
        assistant,
    })
}

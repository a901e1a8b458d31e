//! Commands and how their results look in a terminal and to scripts.
//!
//! With `--json` every command prints one JSON document on standard output. Exit codes are
//! grep's: 0 found or done, 1 nothing found, 2 an error. What is meant for people goes to
//! standard error or is plain text; colours appear on terminals only.

mod adopt;
mod archive;
mod args;
mod complete;
mod config;
mod difference;
mod edit;
mod embedding;
mod eval;
mod exchange;
mod export_folder;
mod fail;
mod fields;
mod find;
mod history;
mod layout;
mod life;
mod llm;
mod log;
mod maintain;
mod maintenance;
mod mcp;
mod model;
mod no_store;
mod opened;
mod output;
mod pager;
mod prose;
mod purge;
mod reset;
mod resolve;
mod secrets;
mod serve;
mod setup;
mod stats;
mod sync;
mod trust;
mod when;
mod with;
mod write;

use std::process::ExitCode;
use std::sync::Arc;

use clap::FromArgMatches;

use self::args::Args;
use self::args::Command;
use self::fail::Failure;
use self::output::Output;
use self::pager::Pager;
use crate::clock::Clock;
use crate::clock::SystemClock;
use crate::config::Config;
use crate::config::Environment;
use crate::config::Flags;
use crate::config::Provider;
use crate::config::StoreOrigin;
use crate::engine::Engine;
use crate::engine::GitOptions;
use crate::engine::Models;
use crate::engine::Options;
use crate::engine::live;
use crate::engine::meaning;
use crate::files::LinkPolicy;
use crate::trust::Consent;
use crate::trust::Naming;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    /// A search without a hit, a check with findings.
    Nothing,
    /// Some of what was asked could not be done; the errors were shown.
    Failed,
    /// As another program ended that did the work.
    Code(u8),
}

/// What commands work with.
struct Context {
    config: Config,
    environment: Environment,
    output: Output,
}

/// Runs the program's command line.
pub fn run() -> ExitCode {
    if complete::answer() {
        return ExitCode::SUCCESS;
    }
    let matches = args::command().get_matches();
    let mut args = Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let mut output = Output::new(args.json, args.color, args.raw);
    let mut pager = None;
    let outcome = match args.command.take() {
        None => {
            anstream::println!("{}", args::overview());
            Ok(Outcome::Done)
        }
        Some(command) => prepare()
            .and_then(|environment| dispatch(&args, command, environment, &mut output, &mut pager)),
    };
    let flushed = output.flush();
    if let Some(pager) = pager {
        pager.wait();
    }
    match outcome {
        Ok(_) if output.reader_is_gone() => ExitCode::from(0),
        Ok(outcome) if flushed.is_ok() => ExitCode::from(match outcome {
            Outcome::Done => 0,
            Outcome::Nothing => 1,
            Outcome::Failed => 2,
            Outcome::Code(code) => code,
        }),
        Ok(_) => {
            output.error(&Failure::from(flushed.expect_err("it is not ok")));
            ExitCode::from(2)
        }
        Err(failure) => {
            output.error(&failure);
            ExitCode::from(2)
        }
    }
}

/// Sees to it that limits of the system are errors, not deaths, and looks around.
fn prepare() -> Result<Environment, Failure> {
    #[cfg(unix)]
    {
        // Without a handler the first write past a file size limit ends the process; with one it
        // fails like any other. (SIGPIPE is ignored by the standard library already.)
        let noticed = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let _ = signal_hook::flag::register(SIGXFSZ, noticed);
    }
    // What is made is the owner's alone, whatever the caller's mask: the index holds the words of
    // memories, and its library makes files by the mask.
    crate::git::make_private();
    let folder = std::env::current_dir()
        .map_err(|error| Failure::new("cannot tell the working folder").because(error))?;
    let folders = etcetera::choose_base_strategy().ok();
    let below = |get: fn(&dyn etcetera::BaseStrategy) -> std::path::PathBuf| {
        folders.as_ref().map(|folders| get(folders).join("memdir"))
    };
    let ours = |name: &std::ffi::OsStr| {
        let name = name.as_encoded_bytes();
        name.starts_with(b"MEMDIR_") || name.starts_with(b"AIAML_")
    };
    // Left out, it would send memories to another store than the one that was meant.
    if let Some((name, _)) =
        std::env::vars_os().find(|(name, value)| ours(name) && value.to_str().is_none())
    {
        let name = name.to_string_lossy();
        return Err(Failure::new(format!("the variable {name} is not UTF-8"))
            .hint("Name such a path with --store."));
    }
    Ok(Environment {
        variables: std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect(),
        folder,
        config_folder: below(|folders| folders.config_dir()),
        data_folder: below(|folders| folders.data_dir()),
        cache_folder: below(|folders| folders.cache_dir()),
        // Windows has none of its own.
        state_folder: below(|folders| {
            folders
                .state_dir()
                .unwrap_or_else(|| folders.cache_dir().join("state"))
        }),
    })
}

/// The number of the signal on every system that has it.
#[cfg(unix)]
const SIGXFSZ: i32 = 25;

fn dispatch(
    args: &Args,
    command: Command,
    environment: Environment,
    output: &mut Output,
    pager: &mut Option<Pager>,
) -> Result<Outcome, Failure> {
    match &command {
        Command::Completions(command) => return setup::completions(command, output),
        Command::Man => return setup::man(output),
        _ => {}
    }
    let flags = Flags {
        store: args.store.clone(),
        read_only: args.read_only,
    };
    let mut config = Config::read(&flags, &environment)?;
    let as_json = matches!(&command, Command::Serve(serve) if serve.log_format == "json");
    log::start(&config, as_json);
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    if trust::decide(&command, &config, &environment, output)? {
        config = Config::read(&flags, &environment)?;
    }
    // From here on these commands ask nothing.
    if output.is_terminal && !output.json {
        *pager = Pager::start(&command);
    }
    let mut context = Context {
        config,
        environment,
        output: output.share(),
    };
    match command {
        Command::Init(command) => setup::init(&mut context, &command),
        Command::Config { command } => config::config(&mut context, &command),
        Command::Path(command) => setup::path(&mut context, &command),
        Command::Remember(command) => write::remember(&mut context, *command),
        Command::Think(command) => find::think(&mut context, &command),
        Command::Recall(command) => find::recall(&mut context, &command),
        Command::List(command) => find::list(&mut context, &command),
        Command::Grep(command) => find::grep(&mut context, &command),
        Command::Update(command) => write::update(&mut context, *command),
        Command::Edit(command) => edit::edit(&mut context, &command),
        Command::Forget(command) => life::forget(&mut context, &command),
        Command::Inspect(command) => life::inspect(&mut context, &command),
        Command::Link(command) => life::link(&mut context, &command),
        Command::Unlink(command) => life::unlink(&mut context, &command),
        Command::Links(command) => life::links(&mut context, &command),
        Command::Archived(command) => archive::list(&mut context, &command),
        Command::Archive(command) => archive::archive(&mut context, &command),
        Command::Promote(command) => life::promote(&mut context, &command),
        Command::Gc(command) => life::gc(&mut context, &command),
        Command::Compact(command) => maintenance::compact(&mut context, &command),
        Command::Consolidate(command) => maintenance::consolidate(&mut context, &command),
        Command::AutoConsolidate(command) => maintenance::auto_consolidate(&mut context, &command),
        Command::Cleanup(command) => maintenance::cleanup(&mut context, &command),
        Command::Reflect(command) => maintenance::reflect(&mut context, &command),
        Command::Decay(command) => maintenance::decay(&mut context, &command),
        Command::Supersede(command) => maintenance::supersede(&mut context, &command),
        Command::Plans => maintenance::plans(&mut context),
        Command::Stats(command) => stats::stats(&mut context, &command),
        Command::Topics(command) => stats::facet(&mut context, ("topics", "topics"), &command),
        Command::Namespaces(command) => {
            stats::facet(&mut context, ("namespace", "namespaces"), &command)
        }
        Command::Standards(command) => stats::standards(&mut context, &command),
        Command::Restore(command) => write::restore(&mut context, &command),
        Command::Adopt(command) => adopt::adopt(&mut context, &command),
        Command::Layout(command) => layout::layout(&mut context, &command),
        Command::Purge(command) => purge::purge(&mut context, &command),
        Command::Reset(command) => reset::reset(&mut context, &command),
        Command::Resolve(command) => resolve::resolve(&mut context, &command),
        Command::Eval(command) => eval::eval(&mut context, &command),
        Command::Reindex(command) => maintain::reindex(&mut context, &command),
        Command::Status(command) => maintain::status(&mut context, command.verbose),
        Command::Allow(command) => secrets::allow(&mut context, &command),
        Command::Redact(command) => secrets::redact(&mut context, &command),
        Command::Log(command) => history::log(&mut context, &command),
        Command::Diff(command) => history::diff(&mut context, &command),
        Command::Undo(command) => history::undo(&mut context, &command),
        Command::Git(command) => history::git(&mut context, &command),
        Command::Sync(command) => sync::sync(&mut context, &command),
        Command::Model(command) => model::model(&mut context, &command),
        Command::Verify(command) => maintain::verify(&mut context, command.verbose),
        Command::Import(command) => exchange::import(&mut context, &command),
        Command::Export(command) => exchange::export(&mut context, &command),
        Command::Mcp(command) => mcp::mcp(&mut context, &command),
        Command::Serve(command) => serve::serve(&mut context, &command),
        Command::Token(command) => serve::token(&mut context, &command),
        Command::Trust(command) => trust::trust(&mut context, &command),
        Command::Completions(_) | Command::Man => unreachable!("they were answered above"),
    }
}

/// What is said of a store that a command found missing.
fn made(root: &std::path::Path) -> String {
    format!("there was no store in {}: it was made", root.display())
}

/// Gives the memories that lack a vector theirs, before a question, if they are few and nobody else
/// does it. A failure costs meaning, no answer.
fn embed_few(engine: &Engine) {
    match meaning::embed_few(&engine.meaning) {
        Ok(0) => {}
        Ok(left) => tracing::warn!(
            "{left} memories are found by their words only: `memdir reindex` embeds them"
        ),
        Err(error) => tracing::warn!("some memories are found by their words only: {error}"),
    }
}

/// Indexes what waits, after the answer. A failure costs the next search some time, nothing else.
fn settle(engine: &Engine) {
    if let Err(error) = live::settle(&engine.live, false) {
        tracing::warn!("the index was not brought up to date: {error}");
    }
}

/// Commits what a command has changed, and indexes what waits, after the answer.
fn after_writing(context: &mut Context, engine: &Engine) -> Result<(), Failure> {
    context.output.flush()?;
    settle(engine);
    if let Err(error) = crate::engine::history::commit_if_alone(&engine.history) {
        tracing::warn!("nothing was committed: {error}");
    }
    context
        .output
        .held_back(&crate::engine::history::last_held_back(&engine.history));
    Ok(())
}

impl Context {
    /// The store, for commands that only read.
    fn engine(&self) -> Result<Engine, Failure> {
        self.open(false)
    }

    /// The store, made if it does not exist; one that was named on the command line only where a
    /// slip is unlikely.
    fn engine_for_writing(&self) -> Result<Engine, Failure> {
        if let Some(elsewhere) = self.elsewhere() {
            tracing::warn!("{elsewhere}");
        }
        self.open(true)
    }

    /// Where writes go, if the working folder lies in one that only looks like a store.
    fn elsewhere(&self) -> Option<String> {
        let lookalike = self.config.lookalike.as_ref()?.display();
        let own = self.config.store.value.display();
        Some(format!(
            "this goes to the store {own}: {lookalike} looks like a store, but has no memdir.toml and no memory; `memdir init {lookalike}` makes it one, and `--store` names one"
        ))
    }

    /// Whether the store would be made by a command that writes.
    fn may_make_store(&self) -> bool {
        let config = &self.config;
        let root = &config.store.value;
        match config.store_origin {
            _ if config.read_only => false,
            StoreOrigin::Configured => true,
            StoreOrigin::Parent => false,
            // A slip in `--store` must not read a stranger's folder, or make one far away.
            StoreOrigin::Flag => match std::fs::read_dir(root) {
                Ok(mut entries) => entries.next().is_none(),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    root.parent().is_some_and(std::path::Path::is_dir)
                }
                Err(_) => false,
            },
        }
    }

    fn open(&self, may_create: bool) -> Result<Engine, Failure> {
        let config = &self.config;
        let root = &config.store.value;
        if !crate::config::is_store(root) {
            if !may_create || !self.may_make_store() {
                return Err(no_store::no_store(root));
            }
            crate::files::create_private_folder(&root.join("files"))
                .map_err(|error| no_store::not_made(root, error))?;
            if config.store_origin == StoreOrigin::Flag {
                self.output.note(made(root));
            }
        }
        self.open_at(root)
    }

    /// The store for who writes nothing there, not even an index: that lies in the folder `beside`,
    /// as does an empty store instead of one that would be made.
    fn engine_for_trying(&self, beside: &std::path::Path) -> Result<Engine, Failure> {
        let config = &self.config;
        let is_there = crate::config::is_store(&config.store.value);
        let may_create = self.may_make_store();
        let root = match is_there || !may_create {
            true => &config.store.value,
            false => beside,
        };
        if !(is_there || may_create) {
            return Err(no_store::no_store(root));
        }
        let options = Options {
            state: Some(beside.join("state")),
            read_only: true,
            models: None,
            ..self.options(root)
        };
        Ok(Engine::open(options, Box::new(SystemClock))?)
    }

    fn open_at(&self, root: &std::path::Path) -> Result<Engine, Failure> {
        Ok(Engine::open(self.options(root), Box::new(SystemClock))?)
    }

    /// How the store at `root` is opened.
    fn options(&self, root: &std::path::Path) -> Options {
        let config = &self.config;
        let consent = Consent::new(self.environment.records(), root, self.naming_of(root));
        let links = match consent.record() {
            Some(record) if record.allow_links => LinkPolicy::Follow,
            _ => LinkPolicy::Refuse,
        };
        Options {
            root: root.to_owned(),
            state: config.index_dir.value.clone(),
            cache: config.cache.clone(),
            languages: config.languages.value.clone(),
            namespace: config.namespace.value.clone(),
            layout: config.layout.value,
            limit: config.limit.value,
            read_only: config.read_only,
            git: config.git.value.then(|| GitOptions {
                user: config.user.value.clone(),
                interval: config.sync_interval.value,
                remote: config.remote.value.clone(),
            }),
            secrets: config.secrets.value,
            life: config.life.clone(),
            maintenance: config.maintenance.clone(),
            writes: config.duplicates.clone(),
            models: self.models(),
            consent,
            links,
        }
    }

    /// By whose word the store at `root` is used.
    fn naming_of(&self, root: &std::path::Path) -> Naming {
        match *root == self.config.store.value {
            true => self.config.naming(),
            // It was named to a command.
            false => Naming::Process,
        }
    }

    /// What opens models, once somebody asks for meaning; nothing without one.
    fn models(&self) -> Option<Arc<dyn Models>> {
        if self.config.embedding.provider.value == Provider::Off {
            return None;
        }
        Some(Arc::new(embedding::Configured {
            config: self.config.clone(),
            environment: self.environment.clone(),
        }))
    }

    fn now(&self) -> chrono::DateTime<chrono::Utc> {
        SystemClock.now()
    }
}

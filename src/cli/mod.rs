//! Commands and how their results look in a terminal and to scripts.
//!
//! With `--json` every command prints one JSON document on standard output. Exit codes are
//! grep's: 0 found or done, 1 nothing found, 2 an error. What is meant for people goes to
//! standard error or is plain text; colours appear on terminals only.

mod args;
mod arms;
mod clients;
mod complete;
mod doctor;
mod eval;
mod memories;
mod model;
mod pick;
mod programs;
mod serving;
mod sessions;
mod sharing;
mod shell;
mod store;
mod terminal;
mod version;
mod wiring;

use std::process::ExitCode;

use clap::FromArgMatches;

use self::args::setup::As;
use self::args::{Args, Command};
use self::memories::{archive, edit, find, history, life, maintenance, resolve, stats, write};
use self::programs::Line;
use self::serving::{mcp, open, serve};
use self::sessions::{brief, hook, pause, review};
use self::sharing::{import_export, mine, sync};
#[cfg(feature = "team")]
use self::store::team;
use self::store::{adopt, config, layout, purge, reset, secrets, setup, status, trust};
use self::terminal::fail::Failure;
use self::terminal::log;
use self::terminal::output::Output;
use self::terminal::pager::Pager;
use self::wiring::context::{Context, Outcome};
use self::wiring::environment;
use crate::config::{Config, Environment, Flags};

/// Runs the program's command line.
pub fn run() -> ExitCode {
    if complete::answer() {
        return ExitCode::SUCCESS;
    }
    let words = programs::words(std::env::args_os());
    let matches = match args::command().try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) if hook::is_called() && error.use_stderr() => {
            return hook::misunderstood(&error.to_string());
        }
        Err(error) => error.exit(),
    };
    let mut args = Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let mut output = Output::new(args.json, args.color, args.raw);
    let mut pager = None;
    let outcome = match args.command.take() {
        None => {
            anstream::println!("{}", args::overview());
            Ok(Outcome::Done)
        }
        Some(command) => environment::prepare()
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

/// Runs a line of another program, as the command of memdir that it stands for.
fn dispatch_as(
    args: &Args,
    words: &[std::ffi::OsString],
    environment: Environment,
    output: &mut Output,
    pager: &mut Option<Pager>,
) -> Result<Outcome, Failure> {
    let variable = |name: &str| {
        let value = environment.variables.get(name);
        value.filter(|value| !value.is_empty()).cloned()
    };
    let line = match programs::read(words, &variable, &environment.folder)? {
        Line::Shown(code) => return Ok(Outcome::Code(code)),
        Line::AiMemory(line) => Args {
            store: line.store,
            json: line.json,
            command: Some(Command::AiMemory(Box::new(line.command))),
            ..Args::default()
        },
        Line::Memdir(words) => {
            let words = std::iter::once("memdir".into()).chain(words);
            let parsed = args::command().try_get_matches_from(words);
            match parsed.and_then(|matches| Args::from_arg_matches(&matches)) {
                Ok(line) => line,
                Err(error) => {
                    let _ = error.print(); // Who does not read it wants none of it.
                    return Ok(Outcome::Code(u8::try_from(error.exit_code()).unwrap_or(2)));
                }
            }
        }
    };
    let Some(command) = line.command else {
        let name = words[0].to_string_lossy();
        return Err(Failure::new(format!("no command of {name} is given"))
            .hint("`memdir as --help` shows examples."));
    };
    output.json |= line.json;
    let args = Args {
        store: line.store.or_else(|| args.store.clone()),
        json: output.json,
        color: args.color,
        raw: args.raw || line.raw,
        read_only: args.read_only || line.read_only,
        command: None,
    };
    dispatch(&args, command, environment, output, pager)
}

fn dispatch(
    args: &Args,
    command: Command,
    mut environment: Environment,
    output: &mut Output,
    pager: &mut Option<Pager>,
) -> Result<Outcome, Failure> {
    match &command {
        Command::Completions(command) => return setup::completions(command, output),
        Command::Man => return setup::man(output),
        Command::Version(command) => return version::version(command, &environment, output),
        Command::As(As::Line(words)) => {
            return dispatch_as(args, words, environment, output, pager);
        }
        _ => {}
    }
    let store = args.store.as_ref();
    let flags = Flags {
        store: store.map(|store| environment.folder.join(store)),
        read_only: args.read_only,
    };
    // It fails for nothing, settings included.
    if let Command::Hook(command) = &command {
        return Ok(hook::hook(flags, command, environment, output));
    }
    if let Command::Brief(brief) = &command
        && let Some(folder) = &brief.cwd
    {
        environment.folder = environment.folder.join(folder);
    }
    let mut config = Config::read(&flags, &environment)?;
    let as_json = matches!(&command, Command::Serve(serve) if serve.log_format == "json");
    log::start(&config, as_json);
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    if trust::decide(&command, &config, &environment, output)? {
        config = Config::read(&flags, &environment)?;
    }
    let mut context = Context::new(config, environment, output.share());
    let Some(command) = pick::when_unnamed(&mut context, command)? else {
        return Ok(Outcome::Nothing);
    };
    if let Command::Log(log) = &command
        && pick::show_versions(&mut context, log)?
    {
        return Ok(Outcome::Done);
    }
    // From here on these commands ask nothing.
    if output.is_terminal && !output.json && command.is_long() {
        *pager = Pager::start();
    }
    match command {
        Command::Shell => shell::shell(&mut context, &flags, perform),
        Command::AiMemory(command) => programs::ai_memory(&mut context, &command),
        command => perform(&mut context, command),
    }
}

/// Runs one of memdir's own commands on the store of `context`.
fn perform(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    let Some(command) = pick::when_unnamed(context, command)? else {
        return Ok(Outcome::Nothing);
    };
    match command {
        Command::Init(command) => setup::init(context, &command),
        Command::Setup(command) => clients::setup::setup(context, &command),
        Command::Config { command } => config::config(context, &command),
        Command::Path(command) => setup::path(context, &command),
        Command::Remember(command) => write::remember(context, *command),
        Command::Think(command) => find::think(context, &command),
        Command::Pick(command) => pick::pick(context, &command),
        Command::Recall(command) => find::recall(context, &command),
        Command::List(command) => find::list(context, &command),
        Command::Grep(command) => find::grep(context, &command),
        Command::Brief(command) => brief::brief(context, &command),
        Command::Review(command) => review::review(context, &command),
        Command::Pause(command) => pause::pause(context, &command),
        Command::Update(command) => write::update(context, *command),
        Command::Edit(command) => edit::edit(context, &named(command.id)),
        Command::Forget(command) => life::forget(context, &command),
        Command::Inspect(command) => life::inspect(context, &command),
        Command::Link(command) => {
            let ends = (named(command.from), named(command.to));
            life::link(context, ends, &command.relation)
        }
        Command::Unlink(command) => life::unlink(context, &command),
        Command::Links(command) => life::links(context, &command),
        Command::Archived(command) => archive::list(context, &command),
        Command::Archive(command) => archive::archive(context, &command),
        Command::Promote(command) => life::promote(context, &command),
        Command::Gc(command) => life::gc(context, &command),
        Command::Compact(command) => maintenance::compact(context, &command),
        Command::Consolidate(command) => maintenance::consolidate(context, &command),
        Command::AutoConsolidate(command) => maintenance::auto_consolidate(context, &command),
        Command::Cleanup(command) => maintenance::cleanup(context, &command),
        Command::Reflect(command) => maintenance::reflect(context, &command),
        Command::Decay(command) => maintenance::decay(context, &command),
        Command::Supersede(command) => maintenance::supersede(context, &command),
        Command::Plans => maintenance::plans(context),
        Command::Stats(command) => stats::stats(context, &command),
        Command::Topics(command) => stats::facet(context, ("topics", "topics"), &command),
        Command::Namespaces(command) => {
            stats::facet(context, ("namespace", "namespaces"), &command)
        }
        Command::Standards(command) => stats::standards(context, &command),
        Command::Restore(command) => write::restore(context, &command),
        Command::Adopt(command) => adopt::adopt(context, &command),
        Command::Layout(command) => layout::layout(context, &command),
        Command::Purge(command) => purge::purge(context, &command),
        Command::Reset(command) => reset::reset(context, &command),
        Command::Resolve(command) => resolve::resolve(context, &command),
        Command::Eval(command) if command.arms => arms::compare(context, &command),
        Command::Eval(command) => eval::eval(context, &command),
        Command::Reindex(command) => status::reindex(context, &command),
        Command::Status(command) => status::status(context, command.verbose),
        Command::Allow(command) => secrets::allow(context, &command),
        Command::Redact(command) => secrets::redact(context, &command),
        Command::Log(command) => history::log(context, &command),
        Command::Diff(command) => {
            let revision = command.revision.as_deref();
            history::diff(context, &named(command.id), revision)
        }
        Command::Undo(command) => history::undo(context, &command),
        Command::Git(command) => history::git(context, &command),
        Command::Sync(command) => sync::sync(context, &command),
        Command::Model(command) => model::model(context, &command),
        Command::Verify(command) => status::verify(context, command.verbose),
        Command::Doctor(command) => doctor::doctor(context, &command),
        Command::Import(command) => import_export::import(context, &command),
        Command::Mine(command) => mine::mine(context, &command),
        Command::Export(command) => import_export::export(context, &command),
        Command::Mcp(command) => mcp::mcp(context, &command),
        #[cfg(feature = "team")]
        Command::Serve(command) if command.database.is_some() => {
            serving::team::serve(context, &command)
        }
        #[cfg(not(feature = "team"))]
        Command::Serve(command) if command.database.is_some() => Err(serve::without_team()),
        Command::Serve(command) => serve::serve(context, &command),
        Command::Open(command) => open::open(context, &command),
        #[cfg(feature = "team")]
        Command::Team(command) => team::team(context, &command),
        #[cfg(not(feature = "team"))]
        Command::Team(_) => Err(serve::without_team()),
        Command::Token(command) => serve::token(context, &command),
        Command::Trust(command) => trust::trust(context, &command),
        Command::Completions(command) => setup::completions(&command, &mut context.output),
        Command::Man => setup::man(&mut context.output),
        Command::Version(command) => {
            version::version(&command, &context.environment, &mut context.output)
        }
        Command::Hook(_) | Command::Shell | Command::As(_) | Command::AiMemory(_) => {
            unreachable!("they are answered before a store is opened")
        }
    }
}

/// Returns the id that a command has, typed or picked.
fn named(id: Option<String>) -> String {
    id.expect("what is not named is picked, or an error")
}

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
mod serving;
mod sessions;
mod sharing;
mod store;
mod terminal;
mod wiring;

use std::process::ExitCode;

use clap::FromArgMatches;

use self::args::{Args, Command};
use self::memories::{archive, edit, find, history, life, maintenance, resolve, stats, write};
use self::serving::{mcp, serve};
use self::sessions::{brief, hook, pause, review};
use self::sharing::{import_export, mine, sync};
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
    let matches = match args::command().try_get_matches() {
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
    // From here on these commands ask nothing.
    if output.is_terminal && !output.json && command.is_long() {
        *pager = Pager::start();
    }
    let mut context = Context {
        config,
        environment,
        output: output.share(),
    };
    match command {
        Command::Init(command) => setup::init(&mut context, &command),
        Command::Setup(command) => clients::setup::setup(&mut context, &command),
        Command::Config { command } => config::config(&mut context, &command),
        Command::Path(command) => setup::path(&mut context, &command),
        Command::Remember(command) => write::remember(&mut context, *command),
        Command::Think(command) => find::think(&mut context, &command),
        Command::Recall(command) => find::recall(&mut context, &command),
        Command::List(command) => find::list(&mut context, &command),
        Command::Grep(command) => find::grep(&mut context, &command),
        Command::Brief(command) => brief::brief(&mut context, &command),
        Command::Review(command) => review::review(&mut context, &command),
        Command::Pause(command) => pause::pause(&mut context, &command),
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
        Command::Eval(command) if command.arms => arms::compare(&mut context, &command),
        Command::Eval(command) => eval::eval(&mut context, &command),
        Command::Reindex(command) => status::reindex(&mut context, &command),
        Command::Status(command) => status::status(&mut context, command.verbose),
        Command::Allow(command) => secrets::allow(&mut context, &command),
        Command::Redact(command) => secrets::redact(&mut context, &command),
        Command::Log(command) => history::log(&mut context, &command),
        Command::Diff(command) => history::diff(&mut context, &command),
        Command::Undo(command) => history::undo(&mut context, &command),
        Command::Git(command) => history::git(&mut context, &command),
        Command::Sync(command) => sync::sync(&mut context, &command),
        Command::Model(command) => model::model(&mut context, &command),
        Command::Verify(command) => status::verify(&mut context, command.verbose),
        Command::Doctor(command) => doctor::doctor(&mut context, &command),
        Command::Import(command) => import_export::import(&mut context, &command),
        Command::Mine(command) => mine::mine(&mut context, &command),
        Command::Export(command) => import_export::export(&mut context, &command),
        Command::Mcp(command) => mcp::mcp(&mut context, &command),
        Command::Serve(command) => serve::serve(&mut context, &command),
        Command::Token(command) => serve::token(&mut context, &command),
        Command::Trust(command) => trust::trust(&mut context, &command),
        Command::Completions(_) | Command::Man | Command::Hook(_) => {
            unreachable!("they were answered above")
        }
    }
}

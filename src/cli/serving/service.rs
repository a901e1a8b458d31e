//! `memdir serve --install-service` and `--uninstall-service`: a server that starts with the user's session.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::args::serve::Serve;
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::{Context, Outcome};
use crate::cli::wiring::service::{definition_of, folders};
use crate::service::{Definition, Manager, Service, ServiceError};

/// Installs the service, shows its file, or removes it: whichever `command` says.
pub fn service(context: &mut Context, command: &Serve) -> Result<Outcome, Failure> {
    let manager = Manager::of_system().map_err(|error| unsupported(context, command, error))?;
    let definition = definition(context, command)?;
    let service = Service::of(&definition, manager, &folders(&context.environment));
    let service = service.map_err(|error| failed("set up a service", error))?;
    if command.uninstall_service {
        return uninstall(context, &service);
    }
    if command.print {
        context.output.bytes(service.text.as_bytes())?;
        return Ok(Outcome::Done);
    }
    // As `serve` does: a store of a service must be there at every start.
    drop(context.engine_for_writing()?);
    match service.install() {
        Ok(()) => tell(context, &service, "installed"),
        Err(error @ ServiceError::NoManager(_)) => {
            context.output.bytes(service.text.as_bytes())?;
            let path = service.path.display();
            Err(failed("install the service", error).hint(format!(
                "Nothing was written. In a session of your own, put the text above into {path} and start it, or run this command again there; `memdir serve` serves without a service."
            )))
        }
        Err(error) => Err(failed("install the service", error)),
    }
}

fn uninstall(context: &mut Context, service: &Service) -> Result<Outcome, Failure> {
    let removed = service.uninstall();
    let was_there = removed.map_err(|error| failed("remove the service", error))?;
    match was_there {
        true => tell(context, service, "removed"),
        false => tell(context, service, "absent"),
    }
}

fn tell(context: &mut Context, service: &Service, state: &str) -> Result<Outcome, Failure> {
    let (name, path) = (&service.name, service.path.display());
    let output = &mut context.output;
    if output.json {
        output.json(&json!({"service": name, "file": path.to_string(), "state": state}))?;
        return Ok(Outcome::Done);
    }
    output.note(match state {
        "installed" => format!("{name} runs, now and with every session: {path}"),
        "removed" => format!("{name} was stopped and removed"),
        _ => format!("no service of this store is installed: there is no {path}"),
    });
    Ok(Outcome::Done)
}

/// Returns the service that serves the store with the options of `command`.
fn definition(context: &Context, command: &Serve) -> Result<Definition, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::new("cannot tell the path of this program").because(error))?;
    let mut definition = definition_of(&context.config, &context.environment);
    definition.command = vec![program.to_string_lossy().into_owned()];
    definition.command.extend(words(context, command));
    Ok(definition)
}

/// Returns the words after the program: what was given to this command, with absolute paths.
fn words(context: &Context, command: &Serve) -> Vec<String> {
    let here = |path: &Path| context.environment.folder.join(path);
    let shown = |path: PathBuf| path.to_string_lossy().into_owned();
    let store = shown(context.config.store.value.clone());
    let mut words = vec!["--store".to_owned(), store];
    if context.config.read_only {
        words.push("--read-only".to_owned());
    }
    words.push("serve".to_owned());
    let Serve {
        listen,
        socket,
        no_token,
        tls_cert,
        tls_key,
        insecure,
        allow_host,
        allow_origin,
        reads_per_second,
        writes_per_second,
        log_format,
        tool_set,
        install_service: _,
        uninstall_service: _,
        print: _,
        // A service is one of the user's store.
        database: _,
        cache: _,
        cache_size: _,
        replica: _,
        drain: _,
        advertise: _,
        issuer: _,
        audience: _,
        groups_claim: _,
    } = command;
    let file = |path: &Option<PathBuf>| path.as_deref().map(|path| shown(here(path)));
    let options = [
        ("--socket", file(socket)),
        ("--tls-cert", file(tls_cert)),
        ("--tls-key", file(tls_key)),
        (
            "--reads-per-second",
            reads_per_second.map(|n| n.to_string()),
        ),
        (
            "--writes-per-second",
            writes_per_second.map(|n| n.to_string()),
        ),
        ("--dialect", tool_set.dialect.clone()),
        ("--tier", tool_set.tier.clone()),
        ("--group", tool_set.group.clone()),
    ];
    let given = options
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let log = (log_format != "text").then(|| ("--log-format", log_format.clone()));
    let listen = listen.iter().map(|one| ("--listen", one.to_string()));
    let hosts = allow_host.iter().map(|one| ("--allow-host", one.clone()));
    let origins = allow_origin
        .iter()
        .map(|one| ("--allow-origin", one.clone()));
    let tools = (!tool_set.tools.is_empty()).then(|| ("--tools", tool_set.tools.join(",")));
    for (name, value) in listen
        .chain(given)
        .chain(hosts)
        .chain(origins)
        .chain(tools)
        .chain(log)
    {
        // A value that begins with a dash is none of its own.
        words.push(format!("{name}={value}"));
    }
    let switches = [("--no-token", *no_token), ("--insecure", *insecure)];
    let switches = switches.iter().filter(|(_, is_on)| *is_on);
    words.extend(switches.map(|(name, _)| (*name).to_owned()));
    words
}

/// Returns the error of a system whose services memdir does not know, with the command to give to them.
fn unsupported(context: &Context, command: &Serve, error: ServiceError) -> Failure {
    let words = match definition(context, command) {
        Ok(definition) => definition.command.join(" "),
        Err(_) => "memdir serve".to_owned(),
    };
    failed("set up a service", error).hint(format!(
        "Have the system run this at log-on, on Windows by the Task Scheduler: {words}"
    ))
}

fn failed(what: &str, error: ServiceError) -> Failure {
    let hint = match &error {
        ServiceError::Foreign(_) => "Move or remove that file yourself if you do not need it.",
        ServiceError::Command { .. } if cfg!(target_os = "linux") => {
            "The service is as it was before; `journalctl --user` holds what it said."
        }
        ServiceError::Command { .. } => "The service is as it was before.",
        _ => return Failure::new(format!("cannot {what}")).because(error),
    };
    Failure::new(format!("cannot {what}"))
        .because(error)
        .hint(hint)
}

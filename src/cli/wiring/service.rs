//! The service of the store in use: its name, and what it gets of the environment.

use std::path::Path;

use crate::config::{Config, Environment};
use crate::engine::Engine;
use crate::service::{Definition, Folders, Installed, Manager, Service};

/// Variables that a service gets beside those of memdir: where its folders are, and where programs such as
/// git and ssh are found.
const VARIABLES: [&str; 5] = [
    "PATH",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
];

/// Prefixes of the variables that settings are read from.
const PREFIXES: [&str; 3] = ["MEMDIR_", "AIAML_", "LOCI_"];

/// Variables that say what `--store` of the service says, or that no server reads.
const LEFT_OUT: [&str; 5] = [
    "MEMDIR_STORE",
    "AIAML_MEMORY_DIR",
    "MEMDIR_CONNECT",
    "MEMDIR_NAMESPACE",
    "LOCI_DB",
];

/// Returns the service of the store in use, with the variables that it gets and without a command. Variables
/// with credentials in them are left out: the file of a service is no place for them.
pub fn definition_of(config: &Config, environment: &Environment) -> Definition {
    let store = &config.store.value;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_usual = config.usual_store.as_deref().map(real) == Some(real(store));
    let is_secret = |name: &str| {
        ["TOKEN", "KEY", "PASSWORD"]
            .iter()
            .any(|word| name.contains(word))
    };
    let is_wanted = |name: &str| {
        let is_ours = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        VARIABLES.contains(&name) || (is_ours && !LEFT_OUT.contains(&name) && !is_secret(name))
    };
    let variables = environment.variables.iter();
    let variables = variables.filter(|(name, value)| is_wanted(name) && !value.is_empty());
    let mut variables: Vec<_> = variables
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    variables.sort();
    Definition {
        store: store.clone(),
        is_usual,
        command: Vec::new(),
        variables,
    }
}

/// Returns the folders of the user's services.
pub fn folders(environment: &Environment) -> Folders {
    let config = environment.config_folder.as_deref();
    Folders {
        home: environment.variables.get("HOME").map(Into::into),
        config: config.and_then(Path::parent).map(Path::to_owned),
    }
}

/// Returns the service of the store in use, if memdir has installed one.
pub fn installed(config: &Config, environment: &Environment) -> Option<Installed> {
    let manager = Manager::of_system().ok()?;
    let definition = definition_of(config, environment);
    let service = Service::of(&definition, manager, &folders(environment)).ok()?;
    service.installed()
}

/// Returns the addresses of a server of the store that runs; none if there is none.
pub fn served(engine: &Engine) -> Vec<String> {
    crate::http::noted(&engine.live.state().join(crate::http::NOTE))
}

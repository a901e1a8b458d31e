//! The database with a team's workspaces, as the command line and the environment name it.

use std::path::Path;
use std::sync::Arc;

use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::Context;
use crate::engine::{Backend, Options};
use crate::rows;
use crate::rows::{Database, Rows, RowsError};

/// Variable with the address of the database.
pub const VARIABLE: &str = "MEMDIR_DATABASE";

/// Returns the database at the address that a command names, or the environment.
pub fn open(context: &Context, address: Option<&str>) -> Result<Database, Failure> {
    let variable = context.environment.variables.get(VARIABLE);
    let variable = variable.filter(|value| !value.is_empty());
    let Some(address) = address
        .filter(|address| !address.is_empty())
        .or(variable.map(String::as_str))
    else {
        return Err(Failure::new("no database is named").hint(format!(
            "Set {VARIABLE} to its address, or give --database URL."
        )));
    };
    Database::new(address).map_err(failure)
}

/// Variable with the addresses of replicas, with spaces in between.
pub const REPLICAS: &str = "MEMDIR_REPLICAS";

/// Returns `database` with the replicas that a command names, or the environment.
pub fn with_replicas(
    context: &Context,
    database: Database,
    named: &[String],
) -> Result<Database, Failure> {
    let variable = context.environment.variables.get(REPLICAS);
    let variable = variable.map_or("", String::as_str).split_whitespace();
    let addresses: Vec<String> = match named {
        [] => variable.map(str::to_owned).collect(),
        named => named.to_vec(),
    };
    database.with_replicas(&addresses).map_err(failure)
}

/// Returns the options with which workspaces are opened: nothing of the user's own store, and what is derived lies in
/// `folder`.
pub fn options(context: &Context, folder: &Path) -> Options {
    Options {
        state: None,
        cache: None,
        git: None,
        namespace: None,
        ..context.options(folder)
    }
}

/// Returns `options` for a workspace.
pub fn options_of(rows: &Rows, folder: &Path, options: Options) -> Options {
    let backend = Backend {
        storage: Arc::new(rows.clone()),
        journal: rows::journal(rows),
        copies: Some(Arc::new(rows.clone())),
        vectors: Some(Arc::new(rows.clone())),
        name: format!("the workspace {} of a database", rows.name()),
    };
    Options {
        root: folder.to_owned(),
        backend: Some(backend),
        ..options
    }
}

/// Returns the failure of an operation on the database.
pub fn failure(error: RowsError) -> Failure {
    let hint = error.hint();
    let failure = Failure::new("cannot use the database").because(error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

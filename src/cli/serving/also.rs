//! The stores that a server for agents answers from beside the one in use (`[stores] also`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::store::trust;
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::Context;
use crate::config::{Config, Flags, Origin};
use crate::dialect::ServedStore;
use crate::engine::Engine;

/// Name of the user's own store in replies.
const OWN: &str = "own";

/// Opens the further stores. Returns all, the one in use first, or none if it is the only one; and a notice
/// for each that is not used.
pub fn stores(context: &Context, engine: &Arc<Engine>) -> (Vec<ServedStore>, Vec<String>) {
    let config = &context.config;
    let is_same = |one: &Path, other: &Path| one.canonicalize().ok() == other.canonicalize().ok();
    let in_use = &config.store.value;
    let is_further = config.also.iter().any(|also| is_same(also, in_use));
    let mut stores = vec![match is_further {
        true => {
            let namespace = namespace_of(context, in_use);
            of_project(namespace, Arc::clone(engine))
        }
        false => own(Arc::clone(engine)),
    }];
    let mut notices = Vec::new();
    let usual = config.usual_store.as_ref().filter(|_| is_further);
    let mut roots: Vec<(&PathBuf, bool)> = config.also.iter().map(|also| (also, false)).collect();
    roots.extend(usual.map(|usual| (usual, true)));
    for (root, is_own) in roots {
        if is_same(root, in_use) {
            continue;
        }
        match open(context, root, is_own) {
            Ok(engine) if is_own => stores.push(own(Arc::new(engine))),
            Ok(engine) => {
                let namespace = namespace_of(context, root);
                stores.push(of_project(namespace, Arc::new(engine)));
            }
            Err(failure) => {
                let hint = failure.hint.unwrap_or_default();
                notices.push(format!("{}. {hint}", failure.what));
            }
        }
    }
    if stores.len() == 1 {
        stores.clear();
    }
    (stores, notices)
}

fn own(engine: Arc<Engine>) -> ServedStore {
    ServedStore {
        name: OWN.to_owned(),
        namespace: None,
        engine,
    }
}

fn of_project(namespace: String, engine: Arc<Engine>) -> ServedStore {
    ServedStore {
        name: namespace.clone(),
        namespace: Some(namespace),
        engine,
    }
}

/// Opens a store by its own settings. One that is not the user's must have been agreed to.
fn open(context: &Context, root: &Path, is_own: bool) -> Result<Engine, Failure> {
    let shown = root.display();
    if !is_own && !trust::is_recorded(&context.environment, root) {
        let what = format!("{shown} is not used: you have not agreed to this store");
        return Err(Failure::new(what).hint(format!("`memdir trust {shown}` agrees to it.")));
    }
    let flags = Flags {
        store: Some(root.to_owned()),
        read_only: context.config.read_only,
    };
    let config = Config::read(&flags, &context.environment)?;
    let (environment, output) = (context.environment.clone(), context.output.share());
    Context::new(config, environment, output).engine()
}

/// Returns the namespace whose memories belong to a store: what its own settings say, else the git project
/// around it, else the name of its folder.
fn namespace_of(context: &Context, root: &Path) -> String {
    let around = root.parent().unwrap_or(root);
    let environment = crate::config::Environment {
        folder: around.to_owned(),
        ..context.environment.clone()
    };
    let flags = Flags {
        store: Some(root.to_owned()),
        read_only: true,
    };
    let stated = Config::read(&flags, &environment).ok();
    let stated = stated.map(|config| config.namespace);
    // What the user's settings say holds for all stores, and tells none from another.
    let stated = stated.filter(|namespace| match &namespace.origin {
        Origin::File(file) => file.starts_with(root),
        Origin::Found(_) => true,
        _ => false,
    });
    let stated = stated.and_then(|namespace| namespace.value);
    stated.unwrap_or_else(|| {
        let name = root.file_name().unwrap_or(root.as_os_str());
        name.to_string_lossy().into_owned()
    })
}

//! The context of a command: settings, environment, output, and the store it opens.

use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::Output;
use crate::cli::wiring::no_store::made;
use crate::cli::wiring::workspace::ConfiguredWorkspaces;
use crate::cli::wiring::{embedding, no_store};
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, Environment, Flags, Provider, StoreOrigin};
use crate::engine::{Engine, GitOptions, Models, Options, WorkspaceOptions, live};
use crate::files::LinkPolicy;
use crate::trust::{Consent, Naming};
use std::sync::Arc;

/// Outcome of a command, which determines its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// A search without a hit, a check with findings.
    Nothing,
    /// Some of what was asked could not be done; the errors were shown.
    Failed,
    /// Exit code of another program that did the work.
    Code(u8),
}

impl Outcome {
    /// Returns the end of a search, or of a check, by whether it found something.
    pub fn found(is_found: bool) -> Outcome {
        match is_found {
            true => Outcome::Done,
            false => Outcome::Nothing,
        }
    }

    /// Returns the end of a command that works on several things, by whether all of them were done.
    pub fn complete(is_complete: bool) -> Outcome {
        match is_complete {
            true => Outcome::Done,
            false => Outcome::Failed,
        }
    }
}

/// The context of a command.
pub struct Context {
    pub config: Config,
    pub environment: Environment,
    pub output: Output,
    /// The store, where it stays open from one command to the next.
    kept: Option<Engine>,
}

impl Context {
    pub fn new(config: Config, environment: Environment, output: Output) -> Context {
        Context {
            config,
            environment,
            output,
            kept: None,
        }
    }

    /// Opens the store anew, if there is one, and keeps it open for the commands that follow.
    pub fn keep_open(&mut self) -> Result<(), Failure> {
        self.kept = None;
        if crate::config::is_store(&self.config.store.value) {
            let engine = self.engine()?;
            live::follow_events(&engine.live);
            self.kept = Some(engine);
        }
        Ok(())
    }

    /// Returns whether a store is kept open.
    pub fn is_open(&self) -> bool {
        self.kept.is_some()
    }

    /// Returns the store, for commands that only read.
    pub fn engine(&self) -> Result<Engine, Failure> {
        self.open(false)
    }

    /// Returns the store, made if it does not exist; one that was named on the command line only where a
    /// slip is unlikely.
    pub fn engine_for_writing(&self) -> Result<Engine, Failure> {
        if let Some(elsewhere) = self.elsewhere() {
            tracing::warn!("{elsewhere}");
        }
        self.open(true)
    }

    /// Returns a warning that names the store in use, if the working folder lies in one that only looks like a store.
    pub fn elsewhere(&self) -> Option<String> {
        let lookalike = self.config.lookalike.as_ref()?.display();
        let own = self.config.store.value.display();
        Some(format!(
            "this goes to the store {own}: {lookalike} looks like a store, but has no memdir.toml and no memory; `memdir init {lookalike}` makes it one, and `--store` names one"
        ))
    }

    /// Returns whether the store would be made by a command that writes.
    pub fn may_make_store(&self) -> bool {
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

    /// Returns the store for who answers within milliseconds: no model is loaded, nothing is committed.
    pub fn engine_without_models(&self) -> Result<Engine, Failure> {
        let root = &self.config.store.value;
        if !crate::config::is_store(root) {
            return Err(no_store::no_store(root));
        }
        open(Options {
            models: None,
            reranker: None,
            git: None,
            ..self.options(root)
        })
    }

    pub fn open(&self, may_create: bool) -> Result<Engine, Failure> {
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

    /// Returns the store for who writes nothing there, not even an index: that lies in the folder `beside`,
    /// as does an empty store instead of one that would be made.
    pub fn engine_for_trying(&self, beside: &std::path::Path) -> Result<Engine, Failure> {
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
            reranker: None,
            ..self.options(root)
        };
        open(options)
    }

    pub fn open_at(&self, root: &std::path::Path) -> Result<Engine, Failure> {
        match &self.kept {
            Some(kept) if *root == self.config.store.value => Ok(kept.clone()),
            _ => open(self.options(root)),
        }
    }

    /// Returns the options with which the store at `root` is opened.
    pub fn options(&self, root: &std::path::Path) -> Options {
        let config = &self.config;
        let consent = Consent::new(self.environment.records(), root, self.naming_of(root));
        let links = match consent.record() {
            Some(record) if record.allow_links => LinkPolicy::Follow,
            _ => LinkPolicy::Refuse,
        };
        Options {
            backend: None,
            root: root.to_owned(),
            state: config.index_dir.value.clone(),
            cache: config.cache.clone(),
            languages: config.languages.value.clone(),
            people: config.people.clone(),
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
            sync_talks: config.talks.are_sent_of(root),
            private: config.private.clone(),
            workspace: Some(WorkspaceOptions {
                clients: Arc::new(ConfiguredWorkspaces {
                    flags: Flags {
                        store: Some(root.to_owned()),
                        read_only: config.read_only,
                    },
                    environment: self.environment.clone(),
                }),
                interval: config.sync_interval.value,
            }),
            keep_talks: config.talks.keep,
            models: self.models(),
            reranker: embedding::reranker(config, &self.environment),
            consent,
            links,
        }
    }

    /// By whose word the store at `root` is used.
    pub fn naming_of(&self, root: &std::path::Path) -> Naming {
        match *root == self.config.store.value {
            true => self.config.naming(),
            // It was named to a command.
            false => Naming::Process,
        }
    }

    /// Opens the models of the settings when a search by meaning needs one; `None` without a model.
    pub fn models(&self) -> Option<Arc<dyn Models>> {
        if self.config.embedding.provider.value == Provider::Off {
            return None;
        }
        Some(Arc::new(embedding::ConfiguredModels {
            config: self.config.clone(),
            environment: self.environment.clone(),
        }))
    }

    pub fn now(&self) -> chrono::DateTime<chrono::Utc> {
        SystemClock.now()
    }
}

/// Opens a store by the clock of the system: every command does it here.
pub fn open(options: Options) -> Result<Engine, Failure> {
    Ok(Engine::open(options, Box::new(SystemClock))?)
}

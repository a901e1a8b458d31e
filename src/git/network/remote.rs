//! Remotes: listing branches, fetching, pushing.
//!
//! Guarantees: no prompt ever; every operation ends, by itself, by its limits or within a second of the
//! caller's wish; nothing on the remote is overwritten; no secret is in an argument vector, a message or
//! a log. There are two means: the `git` program, with the user's proxies, certificates, keys and
//! credential helpers; and where there is none, libgit2. Fetched commits are not inspected here, and no
//! reference but the given one is moved.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use git2::{Oid, Reference, Repository};

use crate::git::network::address::{Address, Scheme};
use crate::git::network::child::{Cut, Limits};
use crate::git::network::failure::{Failure, Kind, NetworkError, one_line};
use crate::git::network::job::{Job, Pushed, RemoteBranches};
use crate::git::network::network_settings::NetworkSettings;
use crate::git::network::program::Program;
use crate::git::network::redact::Secrets;
use crate::git::network::{credentials, libgit2};
use crate::git::repository::loose_objects;

/// The means by which remotes are reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Means {
    /// The git program of this version, like `git 2.47.3`.
    Program(String),
    /// libgit2, because there is no git program.
    Library,
}

/// Access to remotes from this process.
pub struct Network {
    settings: NetworkSettings,
    secrets: Secrets,
    program: OnceLock<Option<Program>>,
}

impl Network {
    /// Returns the access with `settings`; the git program is searched for at the first use.
    pub fn new(settings: NetworkSettings) -> Network {
        let secrets = Secrets::new(credentials::all_tokens(&|name| settings.variable(name)));
        Network {
            settings,
            secrets,
            program: OnceLock::new(),
        }
    }

    /// Returns the means by which remotes are reached. Runs `git --version` at the first call.
    pub fn means(&self) -> Means {
        match self.program() {
            Some(program) => Means::Program(program.version().to_owned()),
            None => Means::Library,
        }
    }

    /// Fetches `branch` of a remote and sets `to_ref` to it, whatever it pointed to before. Returns the id
    /// of its commit; `None` if the remote has no such branch, and `to_ref` is unchanged.
    ///
    /// # Errors
    ///
    /// Fails if the remote cannot be reached or does not give it, and if something sent is not
    /// what git accepts. The repository is then as it was, but for objects that nothing refers to.
    pub fn fetch(
        &self,
        repository: &Path,
        address: &Address,
        branch: &str,
        to_ref: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<String>, NetworkError> {
        let fetched = self.allowed(address).and_then(|()| {
            let branch = ref_of(branch)?;
            let to_ref = checked_ref(to_ref)?;
            let opened = open(repository)?;
            let job = self.job(address, Some(opened.path()), stop);
            let found = match self.program() {
                Some(program) => program.fetch(&job, &branch, to_ref)?,
                None => libgit2::fetch(&job, &branch, to_ref)?,
            };
            if !found {
                return Ok(None);
            }
            // A server may send what is no commit, under any name.
            let commit = opened
                .find_reference(to_ref)
                .and_then(|reference| reference.peel_to_commit())
                .map_err(|error| {
                    Failure::other(format!("it sent no commit: {}", error.message()))
                })?;
            Ok(Some(commit.id().to_string()))
        });
        fetched.map_err(|failure| self.error("fetch from", address, &failure))
    }

    /// Pushes the commit `from` to `branch` of a remote, if that is a fast-forward. Never forced.
    ///
    /// # Errors
    ///
    /// Fails if the remote cannot be reached or does not take it.
    pub fn push(
        &self,
        repository: &Path,
        address: &Address,
        from: &str,
        branch: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Pushed, NetworkError> {
        let pushed = self.allowed(address).and_then(|()| {
            let branch = ref_of(branch)?;
            let opened = open(repository)?;
            // An empty id would delete the branch, a short one could mean another commit.
            let is_whole = from.len() >= 40 && from.bytes().all(|b| b.is_ascii_hexdigit());
            let commit = Oid::from_str(from).and_then(|id| opened.find_commit(id));
            if !is_whole || commit.is_err() {
                return Err(Failure::other("what should be sent is no commit"));
            }
            let job = self.job(address, Some(opened.path()), stop);
            match self.program() {
                Some(program) => program.push(&job, from, &branch),
                None => libgit2::push(&job, from, &branch),
            }
        });
        pushed.map_err(|failure| self.error("push to", address, &failure))
    }

    /// Lists the branches of a remote; `repository` is that of the settings, if there is one.
    ///
    /// # Errors
    ///
    /// Fails if the remote cannot be reached or does not say.
    pub fn look(
        &self,
        address: &Address,
        repository: Option<&Path>,
        stop: &dyn Fn() -> bool,
    ) -> Result<RemoteBranches, NetworkError> {
        let seen = self.allowed(address).and_then(|()| {
            let opened = repository.map(open).transpose()?;
            let job = self.job(address, opened.as_ref().map(Repository::path), stop);
            match self.program() {
                Some(program) => program.look(&job),
                None => libgit2::look(&job),
            }
        });
        seen.map_err(|failure| self.error("ask", address, &failure))
    }

    fn program(&self) -> Option<&Program> {
        let program = self.program.get_or_init(|| Program::find(&self.settings));
        program.as_ref()
    }

    fn job<'a>(
        &'a self,
        address: &'a Address,
        repository: Option<&'a Path>,
        stop: &'a dyn Fn() -> bool,
    ) -> Job<'a> {
        Job {
            settings: &self.settings,
            address,
            repository,
            stop,
        }
    }

    fn allowed(&self, address: &Address) -> Result<(), Failure> {
        match address.scheme() {
            Scheme::Local | Scheme::Http if !self.settings.allow_local => Err(Failure::other(
                "remotes on this machine are not allowed; `memdir sync --setup ADDRESS --allow-local` allows this one",
            )),
            _ => Ok(()),
        }
    }

    fn error(&self, what: &str, address: &Address, failure: &Failure) -> NetworkError {
        let reason = self.secrets.taken_out(&one_line(&failure.reason));
        NetworkError::new(failure.kind, format!("cannot {what} {address}: {reason}"))
    }
}

impl From<(Cut, &Limits)> for Failure {
    fn from((cut, limits): (Cut, &Limits)) -> Failure {
        match cut {
            Cut::Start(error) => Failure::other(format!("git cannot be run: {error}")),
            Cut::Silent => Failure::new(Kind::Offline, no_answer(limits.silence)),
            Cut::TooLong => Failure::new(
                Kind::Offline,
                format!("not done after {} s", limits.total.as_secs()),
            ),
            Cut::TooLarge => Failure::new(
                Kind::TooLarge,
                format!("it sends more than {} bytes", limits.largest),
            ),
            Cut::Stopped => Failure::new(Kind::Stopped, "stopped"),
        }
    }
}

fn no_answer(silence: Duration) -> String {
    format!("no answer for {} s", silence.as_secs_f32())
}

fn open(repository: &Path) -> Result<Repository, Failure> {
    loose_objects::open(repository).map_err(|error| {
        let reason = format!(
            "{} is no git repository: {}",
            repository.display(),
            error.message()
        );
        Failure::other(reason)
    })
}

fn ref_of(branch: &str) -> Result<String, Failure> {
    let name = format!("refs/heads/{branch}");
    checked_ref(&name)?;
    Ok(name)
}

/// Checks that a text is the full name of a reference, and so neither an option nor a pattern.
fn checked_ref(name: &str) -> Result<&str, Failure> {
    if name.starts_with("refs/") && Reference::is_valid_name(name) {
        Ok(name)
    } else {
        Err(Failure::other("the name of the branch is not valid"))
    }
}

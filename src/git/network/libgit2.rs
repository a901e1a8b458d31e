//! Remotes by libgit2, where there is no git program.
//!
//! libgit2 runs in a thread of its own, so that the caller can abort it: the connection is shut down,
//! and libgit2 returns an error. Local references are moved by the caller's thread alone, after
//! everything has arrived. Unlike the program, libgit2 has no credential helpers, no certificates of
//! the system, and no checks of every object.

use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use git2::{
    AutotagOption, Direction, Error, ErrorCode, FetchOptions, Oid, PushOptions, Remote,
    RemoteCallbacks, RemoteRedirect, Repository,
};

use crate::git::network::child::{Cut, TICK};
use crate::git::network::connection::Connection;
use crate::git::network::failure::{Failure, Kind, classify};
use crate::git::network::job::{Job, Pushed, RemoteBranches};
use crate::git::network::program::is_overtaken;
use crate::git::network::transport;
use crate::git::repository::loose_objects;

/// Maximum wait for libgit2's thread after the connection was shut down. After that it ends by itself,
/// when a name was resolved or a connection made, which have limits of their own.
const FAREWELL: Duration = Duration::from_millis(600);

/// Fetches a branch, and sets `to_ref` to it. Returns whether the remote has it.
pub(in crate::git) fn fetch(job: &Job<'_>, branch: &str, to_ref: &str) -> Result<bool, Failure> {
    let folder = folder_of(job);
    let (branch, spec) = (branch.to_owned(), format!("+{branch}:{to_ref}"));
    let found = run(job, move |connection, url| {
        let repository = loose_objects::open(&folder)?;
        if repository.is_shallow() && connection.address().is_local() {
            // libgit2 1.9 would forget where the history ends, and leave a broken repository.
            let reason = "libgit2 cannot fetch from a folder into a shallow repository";
            return Err(Error::from_str(reason));
        }
        let mut remote = remote_at(&repository, url)?;
        let callbacks = callbacks(connection);
        let mut connected = remote.connect_auth(Direction::Fetch, Some(callbacks), None)?;
        let heads = connected.list()?;
        let Some(id) = heads
            .iter()
            .find(|head| head.name() == branch)
            .map(|head| head.oid())
        else {
            return Ok(None);
        };
        let mut options = FetchOptions::new();
        options
            .remote_callbacks(self::callbacks(connection))
            .download_tags(AutotagOption::None)
            .update_fetchhead(false)
            .follow_redirects(RemoteRedirect::None);
        connected
            .remote()
            .download(&[spec.as_str()], Some(&mut options))?;
        Ok(Some(id))
    })?;
    let Some(id) = found else {
        return Ok(false);
    };
    set_ref(&folder_of(job), to_ref, id).map_err(|error| Failure::other(error.message()))?;
    Ok(true)
}

/// Pushes the commit `from` to a branch of the remote.
pub(in crate::git) fn push(job: &Job<'_>, from: &str, branch: &str) -> Result<Pushed, Failure> {
    let folder = folder_of(job);
    let spec = format!("{from}:{branch}");
    let pushed = run(job, move |connection, url| {
        let repository = loose_objects::open(&folder)?;
        let mut remote = remote_at(&repository, url)?;
        let refused = Mutex::new(None);
        let mut callbacks = callbacks(connection);
        callbacks.push_update_reference(|_, status| {
            let status = status.map(str::to_owned);
            *refused.lock().unwrap_or_else(PoisonError::into_inner) = status;
            Ok(())
        });
        callbacks.pack_progress(|_, _, _| connection.hears());
        callbacks.push_transfer_progress(|_, _, _| connection.hears());
        let mut options = PushOptions::new();
        options
            .remote_callbacks(callbacks)
            .follow_redirects(RemoteRedirect::None);
        let pushed = remote.push(&[spec.as_str()], Some(&mut options));
        drop(options);
        match pushed {
            Ok(()) => Ok(refused.into_inner().unwrap_or_else(PoisonError::into_inner)),
            // It has commits that are not here, or no ancestors of what is sent.
            Err(error) if error.code() == ErrorCode::NotFastForward => {
                Ok(Some("non-fast-forward".to_owned()))
            }
            Err(error) => Err(error),
        }
    })?;
    match pushed {
        None => Ok(Pushed::Done),
        Some(status) if is_overtaken(&status) => Ok(Pushed::Rejected),
        Some(status) => Err(Failure::other(format!("the remote refused: {status}"))),
    }
}

/// Lists the branches of the remote.
pub(in crate::git) fn look(job: &Job<'_>) -> Result<RemoteBranches, Failure> {
    run(job, |connection, url| {
        let mut remote = Remote::create_detached(url)?;
        let callbacks = callbacks(connection);
        let connected = remote.connect_auth(Direction::Fetch, Some(callbacks), None)?;
        let mut seen = RemoteBranches::default();
        for head in connected.list()? {
            if let Some(branch) = head.name().strip_prefix("refs/heads/") {
                seen.branches
                    .push((branch.to_owned(), head.oid().to_string()));
            } else if head.name() == "HEAD" {
                let target = head.symref_target();
                let branch = target.and_then(|target| target.strip_prefix("refs/heads/"));
                seen.head = branch.map(str::to_owned);
            }
        }
        seen.branches.sort();
        Ok(seen)
    })
}

/// Calls `work` in a thread of its own, and aborts it at the limits.
fn run<T: Send + 'static>(
    job: &Job<'_>,
    work: impl FnOnce(&Connection, &str) -> Result<T, Error> + Send + 'static,
) -> Result<T, Failure> {
    if job.address.is_local() && Repository::open(job.address.path()).is_err() {
        return Err(Failure::new(Kind::NotFound, "it is no git repository"));
    }
    // libgit2 opens a local remote's objects itself, and would hang on a truncated one.
    if job.address.is_local()
        && let Some(file) = loose_objects::damaged_object(Path::new(job.address.path()))
    {
        let reason = format!("the remote's object {} is damaged", file.display());
        return Err(Failure::other(reason));
    }
    let url = match job.address.is_local() {
        true => job.address.for_git().to_owned(),
        false => transport::URL.to_owned(),
    };
    let connection = Arc::new(Connection::new(
        job.address.clone(),
        job.settings.clone(),
        ssh_command(job),
    ));
    let (sender, done) = mpsc::channel();
    let shared = Arc::clone(&connection);
    let worker = thread::Builder::new()
        .name("memdir-git".to_owned())
        .spawn(move || {
            let result = transport::with(&shared, || work(&shared, &url));
            let _ = sender.send(result);
        })
        .map_err(|error| Failure::other(error.to_string()))?;
    let begun = Instant::now();
    let limits = &job.settings.limits;
    let cut = loop {
        match done.recv_timeout(TICK) {
            Ok(result) => {
                let _ = worker.join();
                return result.map_err(|error| failure_of(&connection, &error));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::other("the thread that worked on it has ended"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if (job.stop)() {
            break Cut::Stopped;
        }
        if connection.silence() > limits.silence {
            break Cut::Silent;
        }
        if begun.elapsed() > limits.total {
            break Cut::TooLong;
        }
    };
    connection.abort();
    let _ = done.recv_timeout(FAREWELL);
    Err((cut, limits).into())
}

fn folder_of(job: &Job<'_>) -> PathBuf {
    job.repository.unwrap_or(Path::new("")).to_owned()
}

/// Returns a remote at exactly this address: if the user's settings replaced it with another, libgit2
/// would open a connection of its own.
fn remote_at<'a>(repository: &'a Repository, url: &str) -> Result<Remote<'a>, Error> {
    let remote = repository.remote_anonymous(url)?;
    if remote.url()? != url {
        return Err(Error::from_str(
            "a setting puts another address in its place",
        ));
    }
    Ok(remote)
}

/// Returns callbacks that record progress and end an aborted transfer.
fn callbacks(connection: &Connection) -> RemoteCallbacks<'_> {
    let mut callbacks = RemoteCallbacks::new();
    callbacks.transfer_progress(|progress| {
        connection.hears();
        connection.bears(progress.received_bytes() as u64).is_ok()
    });
    callbacks.sideband_progress(|_| {
        connection.hears();
        connection.goes_on().is_ok()
    });
    callbacks
}

fn set_ref(folder: &Path, name: &str, id: Oid) -> Result<(), Error> {
    let repository = loose_objects::open(folder)?;
    repository.find_commit(id)?;
    repository.reference(name, id, true, "memdir: fetched")?;
    Ok(())
}

/// Returns the `core.sshCommand` of the repository, if the user agreed to it, or of the user.
fn ssh_command(job: &Job<'_>) -> Option<String> {
    let mut honoured = job.settings.honoured.0.iter().rev();
    if let Some(setting) = honoured.find(|setting| setting.key == "core.sshcommand") {
        return Some(setting.value.clone());
    }
    let config = git2::Config::open_default().ok()?;
    config.get_string("core.sshCommand").ok()
}

fn failure_of(connection: &Connection, error: &Error) -> Failure {
    if let Some(failure) = connection.failure() {
        return failure;
    }
    match error.code() {
        ErrorCode::Auth => Failure::new(Kind::Denied, error.message()),
        ErrorCode::Certificate => Failure::new(Kind::HostKey, error.message()),
        ErrorCode::Eof => Failure::new(Kind::Offline, error.message()),
        _ => classify(error.message()),
    }
}

//! State shared by the thread that runs libgit2 and the thread that waits for it: the remote, the
//! progress, the reason of a failure, and the means to abort.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use git2::Error;

use crate::git::network::address::Address;
use crate::git::network::child::Group;
use crate::git::network::credentials;
use crate::git::network::failure::{Failure, Kind};
use crate::git::network::network_settings::NetworkSettings;

/// Time for ssh to end by itself after the last data.
const FAREWELL: Duration = Duration::from_secs(1);

/// One operation with one remote.
pub(in crate::git) struct Connection {
    address: Address,
    settings: NetworkSettings,
    /// The ssh command of git's configuration.
    ssh_command: Option<String>,
    is_aborted: AtomicBool,
    received: AtomicU64,
    heard: Mutex<Instant>,
    failure: Mutex<Option<Failure>>,
    agent: Mutex<Option<ureq::Agent>>,
    /// The address of the repository on a web server, after redirects.
    base: Mutex<Option<String>>,
    /// Whether the server has requested authentication.
    is_challenged: AtomicBool,
    ssh: Mutex<Option<Group>>,
}

impl Connection {
    /// Returns the state of an operation that has not begun.
    pub(in crate::git) fn new(
        address: Address,
        settings: NetworkSettings,
        ssh_command: Option<String>,
    ) -> Connection {
        Connection {
            address,
            settings,
            ssh_command,
            is_aborted: AtomicBool::new(false),
            received: AtomicU64::new(0),
            heard: Mutex::new(Instant::now()),
            failure: Mutex::new(None),
            agent: Mutex::new(None),
            base: Mutex::new(None),
            is_challenged: AtomicBool::new(false),
            ssh: Mutex::new(None),
        }
    }

    /// Returns the address of the remote.
    pub(in crate::git) fn address(&self) -> &Address {
        &self.address
    }

    /// Returns the settings.
    pub(in crate::git) fn settings(&self) -> &NetworkSettings {
        &self.settings
    }

    /// Returns the ssh command of git's configuration.
    pub(in crate::git) fn ssh_command(&self) -> Option<&str> {
        self.ssh_command.as_deref()
    }

    /// Records progress.
    pub(in crate::git) fn hears(&self) {
        *locked(&self.heard) = Instant::now();
    }

    /// Returns the time since the last progress.
    pub(in crate::git) fn silence(&self) -> Duration {
        locked(&self.heard).elapsed()
    }

    /// Records received bytes.
    ///
    /// # Errors
    ///
    /// Fails if the limit is exceeded, or the operation was aborted.
    pub(in crate::git) fn receives(&self, bytes: usize) -> io::Result<()> {
        self.hears();
        let bytes = bytes as u64;
        let received = self.received.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.bears(received)
    }

    /// Checks the total number of received bytes, as [`Connection::receives`].
    pub(in crate::git) fn bears(&self, received: u64) -> io::Result<()> {
        let largest = self.settings.limits.largest;
        if received > largest {
            let reason = format!("it sends more than {largest} bytes");
            self.fails(Failure::new(Kind::TooLarge, reason));
            return Err(io::Error::other("too large"));
        }
        self.goes_on()
    }

    /// Checks that the operation was not aborted.
    ///
    /// # Errors
    ///
    /// Fails if it was.
    pub(in crate::git) fn goes_on(&self) -> io::Result<()> {
        if self.is_aborted.load(Ordering::SeqCst) {
            return Err(io::Error::other("stopped"));
        }
        Ok(())
    }

    /// Records the reason of a failure, since libgit2's error has less detail. The first reason is kept.
    pub(in crate::git) fn fails(&self, failure: Failure) -> Error {
        let error = Error::from_str(&failure.reason.replace('\0', " "));
        locked(&self.failure).get_or_insert(failure);
        error
    }

    /// Takes the recorded reason.
    pub(in crate::git) fn failure(&self) -> Option<Failure> {
        locked(&self.failure).take()
    }

    /// Records a web client, so that it can be shut down.
    pub(in crate::git) fn uses_agent(&self, agent: &ureq::Agent) -> io::Result<()> {
        *locked(&self.agent) = Some(agent.clone());
        self.goes_on()
    }

    /// Returns the recorded web client.
    pub(in crate::git) fn agent(&self) -> Option<ureq::Agent> {
        locked(&self.agent).clone()
    }

    /// Returns the address of the repository on a web server, after redirects.
    pub(in crate::git) fn base(&self) -> String {
        let moved = locked(&self.base).clone();
        moved.unwrap_or_else(|| self.address.for_git().trim_end_matches('/').to_owned())
    }

    /// Records the address of a redirect.
    pub(in crate::git) fn moves_to(&self, base: String) {
        *locked(&self.base) = Some(base);
    }

    /// Returns the `Authorization` header, once the server has requested it.
    pub(in crate::git) fn authorization(&self) -> Option<String> {
        if !self.is_challenged.load(Ordering::SeqCst) {
            return None;
        }
        let variables = |name: &str| self.settings.variable(name);
        credentials::for_address(&self.address, &variables).map(|found| found.basic())
    }

    /// Records that the server requests authentication. Returns whether this is the first time and there
    /// are credentials.
    pub(in crate::git) fn is_asked(&self) -> bool {
        !self.is_challenged.swap(true, Ordering::SeqCst) && self.authorization().is_some()
    }

    /// Records an ssh process, so that it can be killed.
    pub(in crate::git) fn uses_ssh(&self, group: Group) -> io::Result<()> {
        *locked(&self.ssh) = Some(group);
        self.goes_on()
    }

    /// Waits for ssh to end by itself, and kills it otherwise.
    pub(in crate::git) fn close(&self) {
        let Some(mut group) = locked(&self.ssh).take() else {
            return;
        };
        let begun = Instant::now();
        while begun.elapsed() < FAREWELL && matches!(group.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Aborts the connection, from another thread.
    pub(in crate::git) fn abort(&self) {
        self.is_aborted.store(true, Ordering::SeqCst);
        if let Some(agent) = locked(&self.agent).take() {
            agent.shutdown();
        }
        drop(locked(&self.ssh).take());
    }
}

/// Locks a mutex, poisoned or not: each value is changed in one step.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! What the thread that works with libgit2 and the thread that waits for it share: the remote, how
//! much has come in, why it failed, and how to break off.

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

/// For an ssh whose remote has said everything, to end by itself.
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
    /// The server has asked who we are.
    is_challenged: AtomicBool,
    ssh: Mutex<Option<Group>>,
}

impl Connection {
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

    pub(in crate::git) fn address(&self) -> &Address {
        &self.address
    }

    pub(in crate::git) fn settings(&self) -> &NetworkSettings {
        &self.settings
    }

    pub(in crate::git) fn ssh_command(&self) -> Option<&str> {
        self.ssh_command.as_deref()
    }

    /// Notes a sign of progress.
    pub(in crate::git) fn hears(&self) {
        *locked(&self.heard) = Instant::now();
    }

    /// Time since the last progress.
    pub(in crate::git) fn silence(&self) -> Duration {
        locked(&self.heard).elapsed()
    }

    /// Notes that more has come in.
    ///
    /// # Errors
    ///
    /// Fails if that is more than is taken, or the caller does not want to wait any longer.
    pub(in crate::git) fn receives(&self, bytes: usize) -> io::Result<()> {
        self.hears();
        let bytes = bytes as u64;
        let received = self.received.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.bears(received)
    }

    /// The same, from how much has come in altogether.
    pub(in crate::git) fn bears(&self, received: u64) -> io::Result<()> {
        let largest = self.settings.limits.largest;
        if received > largest {
            let reason = format!("it sends more than {largest} bytes");
            self.fails(Failure::new(Kind::TooLarge, reason));
            return Err(io::Error::other("too large"));
        }
        self.goes_on()
    }

    /// # Errors
    ///
    /// Fails if the caller does not want to wait any longer.
    pub(in crate::git) fn goes_on(&self) -> io::Result<()> {
        if self.is_aborted.load(Ordering::SeqCst) {
            return Err(io::Error::other("stopped"));
        }
        Ok(())
    }

    /// Keeps why the operation fails, because what comes back from libgit2 says less. The first
    /// reason counts.
    pub(in crate::git) fn fails(&self, failure: Failure) -> Error {
        let error = Error::from_str(&failure.reason.replace('\0', " "));
        locked(&self.failure).get_or_insert(failure);
        error
    }

    pub(in crate::git) fn failure(&self) -> Option<Failure> {
        locked(&self.failure).take()
    }

    /// Makes a web client known, so that it can be shut down.
    pub(in crate::git) fn uses_agent(&self, agent: &ureq::Agent) -> io::Result<()> {
        *locked(&self.agent) = Some(agent.clone());
        self.goes_on()
    }

    pub(in crate::git) fn agent(&self) -> Option<ureq::Agent> {
        locked(&self.agent).clone()
    }

    /// The address of the repository on a web server.
    pub(in crate::git) fn base(&self) -> String {
        let moved = locked(&self.base).clone();
        moved.unwrap_or_else(|| self.address.for_git().trim_end_matches('/').to_owned())
    }

    pub(in crate::git) fn moves_to(&self, base: String) {
        *locked(&self.base) = Some(base);
    }

    /// The header that proves who one is, once the server has asked.
    pub(in crate::git) fn authorization(&self) -> Option<String> {
        if !self.is_challenged.load(Ordering::SeqCst) {
            return None;
        }
        let variables = |name: &str| self.settings.variable(name);
        credentials::for_address(&self.address, &variables).map(|found| found.basic())
    }

    /// Notes that the server asks who we are. `true` if it can now be told.
    pub(in crate::git) fn is_asked(&self) -> bool {
        !self.is_challenged.swap(true, Ordering::SeqCst) && self.authorization().is_some()
    }

    /// Makes an ssh known, so that it can be ended.
    pub(in crate::git) fn uses_ssh(&self, group: Group) -> io::Result<()> {
        *locked(&self.ssh) = Some(group);
        self.goes_on()
    }

    /// Lets the connection end as it is meant to.
    pub(in crate::git) fn close(&self) {
        let Some(mut group) = locked(&self.ssh).take() else {
            return;
        };
        let begun = Instant::now();
        while begun.elapsed() < FAREWELL && matches!(group.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Breaks the connection off, from another thread.
    pub(in crate::git) fn abort(&self) {
        self.is_aborted.store(true, Ordering::SeqCst);
        if let Some(agent) = locked(&self.agent).take() {
            agent.shutdown();
        }
        drop(locked(&self.ssh).take());
    }
}

/// No value behind these locks can be left half changed.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

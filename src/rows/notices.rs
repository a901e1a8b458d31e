//! Notifications of the database: a connection that listens, and wakes whoever waits for changes.
//!
//! A notification says that a workspace changed, not what; the table of changes does. Where notifications are
//! lost, as behind a pooler, the numbers of all workspaces are read at intervals, and waiters for others are woken.

use std::future::{Future, poll_fn};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::unbounded_channel;
use tokio_postgres::{AsyncMessage, Config};

use super::encryption::Encryption;
use super::error::RowsError;
use super::heads::{Head, HeadOf};

/// Channel of the notifications; the payload is the name of the workspace.
pub(super) const CHANNEL: &str = "memdir";

/// Interval at which those are woken without a notification who do not know the last change, or wait for something else.
const WITHOUT: Duration = Duration::from_secs(5);

/// Pauses before another attempt to connect: the first one, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];

/// A flag that is set when a workspace may have changed.
pub(super) struct Signal {
    state: Mutex<State>,
    changed: Condvar,
    wake: Box<dyn Fn() + Send + Sync>,
    confirm: Box<dyn Fn(Instant) + Send + Sync>,
}

#[derive(Default)]
struct State {
    is_set: bool,
    /// Numbers that its owner knows; `None` if it waits for something else.
    known: Option<Head>,
}

impl Signal {
    /// Returns a signal that calls `wake` each time it is given.
    pub(super) fn new(wake: Box<dyn Fn() + Send + Sync>) -> Signal {
        Signal::following(wake, Box::new(|_| {}))
    }

    /// As [`Signal::new`], for an owner who says what it knows; calls `confirm` with a time as of which that is all.
    pub(super) fn following(
        wake: Box<dyn Fn() + Send + Sync>,
        confirm: Box<dyn Fn(Instant) + Send + Sync>,
    ) -> Signal {
        Signal {
            state: Mutex::default(),
            changed: Condvar::new(),
            wake,
            confirm,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give(&self) {
        self.lock().is_set = true;
        self.changed.notify_all();
        (self.wake)();
    }

    /// Resets the flag; returns whether it was set.
    pub(super) fn take(&self) -> bool {
        std::mem::take(&mut self.lock().is_set)
    }

    /// Sets the flag again, without waking anybody.
    pub(super) fn put_back(&self) {
        self.lock().is_set = true;
    }

    /// Takes in the numbers that the owner knows: without others it need not be woken.
    pub(super) fn know(&self, head: Head) {
        self.lock().known = Some(head);
    }

    /// Takes in that the owner does not know what was told last.
    pub(super) fn doubt(&self) {
        let mut state = self.lock();
        state.known = None;
        state.is_set = true;
    }

    /// Returns whether the flag is set.
    pub(super) fn is_given(&self) -> bool {
        self.lock().is_set
    }

    /// Waits until the flag is set, for `patience` at most.
    pub(super) fn wait(&self, patience: Duration) {
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), patience, |state| !state.is_set);
        drop(waited);
    }
}

/// Signals of workspaces, given by one connection that listens.
#[derive(Default)]
pub(super) struct Notices(Mutex<Subscribers>);

#[derive(Default)]
struct Subscribers {
    /// Whether somebody listens, or tries to.
    is_begun: bool,
    /// Whether the database tells changes at present.
    is_listening: bool,
    signals: Vec<(Arc<str>, Weak<Signal>)>,
}

impl Notices {
    fn lock(&self) -> MutexGuard<'_, Subscribers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a signal; returns whether the caller has to [`Notices::listen`], once.
    pub(super) fn add(&self, workspace: &Arc<str>, signal: &Arc<Signal>) -> bool {
        let mut subscribers = self.lock();
        let signals = &mut subscribers.signals;
        signals.retain(|(_, signal)| signal.strong_count() > 0);
        signals.push((Arc::clone(workspace), Arc::downgrade(signal)));
        !std::mem::replace(&mut subscribers.is_begun, true)
    }

    /// Returns whether the database tells changes at present.
    pub(super) fn is_listening(&self) -> bool {
        self.lock().is_listening
    }

    /// Gives the signals of `workspace`; of all with `None`.
    fn give(&self, workspace: Option<&str>) {
        let signals: Vec<_> = self
            .lock()
            .signals
            .iter()
            .filter(|(of, _)| workspace.is_none_or(|workspace| **of == *workspace))
            .filter_map(|(_, signal)| signal.upgrade())
            .collect();
        // Called without the lock, since they may add signals.
        for signal in signals {
            signal.give();
        }
    }

    /// Gives the signals whose owners know other numbers than those that `ask` returns for their workspaces, and those
    /// that wait for something else; all if it fails. Confirms what the other owners know.
    async fn give_behind<F>(&self, ask: &impl Fn(Vec<Arc<str>>) -> F)
    where
        F: Future<Output = Result<HeadOf, RowsError>>,
    {
        let signals: Vec<_> = self
            .lock()
            .signals
            .iter()
            .filter_map(|(of, signal)| Some((Arc::clone(of), signal.upgrade()?)))
            .collect();
        let known = |signal: &Signal| signal.lock().known;
        let followed = signals.iter().filter(|(_, signal)| known(signal).is_some());
        let names: Vec<_> = followed.map(|(of, _)| Arc::clone(of)).collect();
        let moment = Instant::now();
        let heads = match names.is_empty() {
            true => HeadOf::new(),
            false => ask(names).await.unwrap_or_default(),
        };
        for (of, signal) in signals {
            let known = known(&signal);
            match known.is_some() && heads.get(&of).copied() == known {
                true => (signal.confirm)(moment),
                false => signal.give(),
            }
        }
    }

    /// Looks for ever, at intervals, who was not notified; `ask` returns the numbers of workspaces.
    pub(super) async fn compare_regularly<F>(&self, ask: &impl Fn(Vec<Arc<str>>) -> F)
    where
        F: Future<Output = Result<HeadOf, RowsError>>,
    {
        loop {
            tokio::time::sleep(WITHOUT).await;
            self.give_behind(ask).await;
        }
    }

    /// Listens for ever, on a connection of its own.
    pub(super) async fn listen(&self, config: &Config, encryption: Encryption) {
        let mut pause = PAUSES[0];
        loop {
            let ended = self.listen_once(config, encryption.clone()).await;
            self.lock().is_listening = false;
            match ended {
                Ok(()) => pause = PAUSES[0],
                Err(error) => tracing::warn!("no notifications of the database: {error}"),
            }
            // Changes in between were not told.
            self.give(None);
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSES[1]);
        }
    }

    /// Listens until the connection ends.
    async fn listen_once(
        &self,
        config: &Config,
        encryption: Encryption,
    ) -> Result<(), tokio_postgres::Error> {
        let (client, mut connection) = config.connect(encryption).await?;
        let (sender, mut notices) = unbounded_channel();
        let reading = tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await
            {
                if let AsyncMessage::Notification(notice) = message
                    && sender.send(notice.payload().to_owned()).is_err()
                {
                    break;
                }
            }
        });
        client.batch_execute(&format!("LISTEN {CHANNEL}")).await?;
        self.lock().is_listening = true;
        self.give(None);
        while let Some(workspace) = notices.recv().await {
            self.give(Some(&workspace));
        }
        reading.abort();
        Ok(())
    }
}

//! Thread that synchronizes with the remote, beside the one that commits: a remote may not answer
//! for minutes, and changes are committed meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crate::engine::history::remote::exchanged::{Accept, Exchanged};
use crate::engine::history::remote::setup;
use crate::engine::history::warn_once::WarnOnce;
use crate::engine::history::{History, consent};

/// Event that wakes the thread.
#[derive(Debug)]
enum Event {
    /// Whether this process leads.
    Lead(bool),
    /// New commits are to be sent.
    Committed,
    Stop,
}

/// Delay after a commit, as another one may follow soon.
const SEND_AFTER: Duration = Duration::from_secs(2);

/// Maximum pause before another attempt at a remote that cannot be reached or synchronized; pauses
/// grow up to this.
const LONGEST_SILENCE: Duration = Duration::from_secs(15 * 60);

/// First pause after a failure.
const FIRST_SILENCE: Duration = Duration::from_secs(5);

/// Handle of the thread, which runs until it is dropped.
pub(in crate::engine) struct Exchanger {
    events: mpsc::Sender<Event>,
    is_ended: Arc<AtomicBool>,
}

impl Exchanger {
    /// Starts the thread; it contacts no remote before [`Exchanger::lead`] tells that this process leads.
    pub fn start(history: &Arc<History>) -> std::io::Result<Exchanger> {
        let (events, inbox) = mpsc::channel();
        let is_ended = Arc::new(AtomicBool::new(false));
        let work = Work {
            history: Arc::clone(history),
            leads: false,
            sync_at: None,
            silences: 0,
            is_ended: Arc::clone(&is_ended),
            warn_once: WarnOnce::default(),
        };
        std::thread::Builder::new()
            .name("sync".to_owned())
            .spawn(move || work.run(&inbox))?;
        Ok(Exchanger { events, is_ended })
    }

    /// Notifies it that there are commits to send.
    pub fn committed(&self) {
        let _ = self.events.send(Event::Committed); // Nobody listens at the end.
    }

    /// Notifies it whether this process leads.
    pub fn lead(&self, leads: bool) {
        let _ = self.events.send(Event::Lead(leads));
    }
}

impl Drop for Exchanger {
    fn drop(&mut self) {
        self.is_ended.store(true, Ordering::Relaxed);
        let _ = self.events.send(Event::Stop);
    }
}

struct Work {
    history: Arc<History>,
    leads: bool,
    /// Time of the next synchronization, if there is a remote.
    sync_at: Option<Instant>,
    /// Number of failures in a row.
    silences: u32,
    is_ended: Arc<AtomicBool>,
    warn_once: WarnOnce,
}

impl Work {
    fn run(mut self, inbox: &mpsc::Receiver<Event>) {
        loop {
            let event = match self.sync_at.filter(|_| self.leads) {
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => inbox.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            let soon = Instant::now() + SEND_AFTER;
            match event {
                Ok(Event::Lead(leads)) => {
                    self.leads = leads;
                    self.sync_at = leads.then_some(soon);
                }
                // Commits here do not shorten the pause of a remote that does not answer.
                Ok(Event::Committed) if self.silences == 0 => {
                    self.sync_at = Some(self.sync_at.map_or(soon, |at| at.min(soon)));
                }
                Ok(Event::Committed) => {}
                Err(RecvTimeoutError::Timeout) => self.sync(),
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn sync(&mut self) {
        let ended = Arc::clone(&self.is_ended);
        let stop = move || ended.load(Ordering::Relaxed);
        let exchanged = setup::come_into_step(&self.history, Accept::default(), &stop);
        let now = Instant::now();
        match exchanged {
            Ok(Exchanged::InStep(moved)) => {
                self.silences = 0;
                self.warn_once.forget();
                let interval = self.history.git.as_ref().map(|git| git.interval);
                self.sync_at = Some(now + interval.unwrap_or(LONGEST_SILENCE));
                if moved.pulled > 0 {
                    tracing::info!("{} files came from the remote", moved.pulled);
                }
                for stem in moved.conflicts {
                    self.warn_once.say(format!(
                        "{stem} was changed on two machines, and is two memories now"
                    ));
                }
            }
            // The next commit triggers another attempt.
            Ok(Exchanged::NoRemote | Exchanged::Off) => {
                self.sync_at = None;
                if let Some(forgotten) = consent::forgotten_remote(&self.history) {
                    self.warn_once.say(forgotten);
                }
            }
            Ok(Exchanged::Busy) => self.sync_later(now, SEND_AFTER),
            Ok(Exchanged::Paused(reason)) => {
                let what = format!("nothing is exchanged at present: {reason}");
                self.warn_once.say(what);
                self.sync_later(now, FIRST_SILENCE);
            }
            Err(error) => {
                self.warn_once.say(error.to_string());
                self.sync_later(now, FIRST_SILENCE);
            }
        }
    }

    /// Schedules another attempt after a pause, which grows from `first` with each failure.
    fn sync_later(&mut self, now: Instant, first: Duration) {
        let pause = first * 2_u32.saturating_pow(self.silences.min(16));
        self.silences = self.silences.saturating_add(1);
        self.sync_at = Some(now + pause.min(LONGEST_SILENCE));
    }
}

//! The background loop of a long-running process: indexes what waits, looks for changes.

use std::sync::Arc;
use std::sync::mpsc;
use std::sync::mpsc::RecvTimeoutError;
use std::thread::JoinHandle;
use std::time::Duration;

use super::Engine;

/// Everything that can wake the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// An operation changed files or found them changed.
    FilesChanged,
    Stop,
}

/// Changes are collected for so long before they are committed together: longer than a burst of
/// writes, shorter than anyone closes a client.
const QUIET: Duration = Duration::from_millis(300);

/// The loop, running until it is dropped.
pub struct Background {
    events: mpsc::Sender<Event>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts the loop for `engine`; the first thing it does is to look at the files, so that the
    /// first question finds the index ready.
    ///
    /// # Errors
    ///
    /// Fails if no thread can be started.
    pub fn start(engine: &Arc<Engine>) -> std::io::Result<Background> {
        let (events, inbox) = mpsc::channel();
        let waker = events.clone();
        engine.set_wake(Box::new(move || {
            let _ = waker.send(Event::FilesChanged); // Nobody listens when the process ends.
        }));
        let engine = Arc::clone(engine);
        let thread = std::thread::Builder::new()
            .name("background".to_owned())
            .spawn(move || run(&engine, &inbox))?;
        Ok(Background {
            events,
            thread: Some(thread),
        })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.events.send(Event::Stop);
        // What is pending is picked up by the next process; nobody waits for it here.
        drop(self.thread.take());
    }
}

fn run(engine: &Engine, inbox: &mpsc::Receiver<Event>) {
    let settle = || {
        let looked = engine.snapshot().and_then(|_| engine.settle(true));
        if let Err(error) = looked {
            tracing::warn!("cannot bring the index up to date: {error}");
        }
    };
    settle();
    while let Ok(Event::FilesChanged) = inbox.recv() {
        loop {
            match inbox.recv_timeout(QUIET) {
                Ok(Event::FilesChanged) => {}
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        settle();
    }
}

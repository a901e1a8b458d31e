//! `/events`: ids of changed memories, as server-sent events.
//!
//! An event `changed` names memories that this server, another process, an editor or git changed. A
//! client that reads too slowly gets an event `lost` once there is room again: then it has to read
//! its list again.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use prometheus_client::metrics::gauge::Gauge;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Interval;

use super::answer::RequestError;
use super::connection::{Phase, reached};
use super::site::Site;
use crate::engine::{Changed, Listening, live};

/// Maximum number of open event streams: half of the connections.
const MOST_LISTENERS: i64 = 256;

/// Maximum number of events that wait for a slow client.
const WAITING: usize = 64;

/// Maximum number of ids in one event.
const MOST_IDS: usize = 1000;

/// Interval of comments on a silent stream, so that no proxy closes it.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A stream of events.
pub struct Events {
    inbox: mpsc::Receiver<Bytes>,
    lost: Arc<AtomicBool>,
    alive: Interval,
    /// Ready when the server stops, or the workspace is closed.
    ending: Pin<Box<dyn Future<Output = ()> + Send>>,
    _listening: Listening,
    _counted: Counted,
}

/// Count of an open stream, decremented on drop.
struct Counted(Gauge);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Events {
    /// Opens a stream of the changes of a store from now on, until the server stops or its workspace is closed: nobody
    /// tells of the changes of that.
    ///
    /// # Errors
    ///
    /// Fails if too many streams are open.
    pub(super) fn of(site: &Site) -> Result<Events, RequestError> {
        let (engine, listeners) = (&site.served.engine, &site.metrics.listeners);
        let (phase, mut is_open) = (site.phase.clone(), site.is_open.subscribe());
        let counted = Counted(listeners.clone());
        if listeners.inc() >= MOST_LISTENERS {
            return Err(RequestError::overload());
        }
        let (sender, inbox) = mpsc::channel(WAITING);
        let lost = Arc::new(AtomicBool::new(false));
        // Said at once, so that a client knows from when on it is told.
        let _ = sender.try_send(Bytes::from_static(b": listening\n\n"));
        let (shown, is_lost) = (Arc::downgrade(engine), Arc::clone(&lost));
        let tell = move |changed: &Changed| {
            let Some(engine) = shown.upgrade() else {
                return;
            };
            let stems: Vec<_> = changed.stems.iter().collect();
            for stems in stems.chunks(MOST_IDS) {
                let ids: Vec<String> = stems
                    .iter()
                    .map(|stem| engine.live.shown_id(stem))
                    .collect();
                let data = json!({"ids": ids});
                let event = format!("event: changed\ndata: {data}\n\n");
                if sender.try_send(event.into()).is_err() {
                    is_lost.store(true, Ordering::Relaxed);
                }
            }
        };
        Ok(Events {
            inbox,
            lost,
            alive: tokio::time::interval_at(tokio::time::Instant::now() + KEEP_ALIVE, KEEP_ALIVE),
            ending: Box::pin(async move {
                tokio::select! {
                    () = reached(phase, Phase::Stopping) => {}
                    // Nothing is sent: its end is what counts.
                    _ = is_open.changed() => {}
                }
            }),
            _listening: live::listen(&engine.live, Arc::new(tell)),
            _counted: counted,
        })
    }

    /// Opens a stream by [`Events::of`]; changes since the state with the number `at` count as lost.
    pub(super) fn since(site: &Site, at: Option<u64>) -> Result<Events, RequestError> {
        let events = Events::of(site)?;
        if at.is_some_and(|at| live::is_past(&site.served.engine.live, at)) {
            events.lost.store(true, Ordering::Relaxed);
        }
        Ok(events)
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.ending.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        if let Poll::Ready(event) = self.inbox.poll_recv(cx) {
            return Poll::Ready(event.map(|event| Ok(Frame::data(event))));
        }
        if self.lost.swap(false, Ordering::Relaxed) {
            let event = Bytes::from_static(b"event: lost\ndata: {}\n\n");
            return Poll::Ready(Some(Ok(Frame::data(event))));
        }
        match self.alive.poll_tick(cx) {
            Poll::Ready(_) => {
                let comment = Bytes::from_static(b": here\n\n");
                Poll::Ready(Some(Ok(Frame::data(comment))))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

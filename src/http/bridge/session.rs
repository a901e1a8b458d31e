//! The session of a client with the server, which outlasts the server.
//!
//! A server that was started anew knows nothing of the session. Then it is opened again as the
//! client opened it, with all that the client subscribed to, and the client sees nothing of it but
//! that everything it subscribed to may have changed.
//!
//! By hand and not by rmcp's client: that opens a lost session again, but without the subscriptions, and
//! is closed for good if nobody answers the first message.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ::http::HeaderValue;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::exchange::{Answered, Exchange, NegotiatedSession, next};
use super::failure::RequestFailure;
use super::message::Message;

/// First and maximum pause before the event stream is opened again. A server that restarts is back
/// within seconds; one that is gone should cost nothing.
const PAUSE: Duration = Duration::from_millis(250);
const MOST_PAUSE: Duration = Duration::from_secs(15);

/// Minimum duration of a stream that counts as a good one.
const LONG: Duration = Duration::from_secs(60);

/// Maximum time the client's next message waits for the event stream to begin, so that no event of
/// what it subscribes to is lost.
const OPENING: Duration = Duration::from_secs(5);

/// Session of a client, which outlasts the server.
pub struct Session {
    /// Server and client of the session.
    pub exchange: Exchange,
    state: Mutex<State>,
    /// Held while a lost session is opened again.
    renewing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    known: NegotiatedSession,
    /// The client's `initialize`.
    opening: Option<Message>,
    /// Resources the client subscribed to.
    followed: BTreeSet<String>,
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Session {
    /// Creates a session that is not open yet.
    pub fn new(exchange: Exchange) -> Session {
        Session {
            exchange,
            state: Mutex::default(),
            renewing: tokio::sync::Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> NegotiatedSession {
        self.state().known.clone()
    }

    /// Writes the response to a request of the client; opens its session again if that is lost.
    pub async fn answer(self: &Arc<Self>, message: &Message) {
        let Some(id) = &message.id else {
            return;
        };
        let answer = match self.try_answer(message).await {
            Ok(answered) => answered.answer,
            Err(failure) => {
                tracing::debug!("no answer to a request: {}", failure.sentence());
                failure.answer(id)
            }
        };
        self.exchange.say(&answer).await;
    }

    async fn try_answer(self: &Arc<Self>, message: &Message) -> Result<Answered, RequestFailure> {
        if message.is_stateless() {
            return self
                .exchange
                .ask(message, &NegotiatedSession::default())
                .await;
        }
        let known = self.known();
        let answered = match self.exchange.ask(message, &known).await {
            Err(failure) if known.session.is_some() && failure.is_lost_session() => {
                self.renew(known.generation).await?;
                self.exchange.ask(message, &self.known()).await?
            }
            answered => answered?,
        };
        if answered.answer.get("result").is_some() {
            self.note(message);
        }
        Ok(answered)
    }

    /// Records subscriptions, which have to be repeated to another server.
    fn note(&self, message: &Message) {
        let Some(uri) = &message.uri else {
            return;
        };
        match message.method.as_str() {
            "resources/subscribe" => drop(self.state().followed.insert(uri.clone())),
            "resources/unsubscribe" => drop(self.state().followed.remove(uri)),
            _ => {}
        }
    }

    /// Sends a notification of the client.
    pub async fn tell(&self, message: &Message) {
        if let Err(failure) = self.exchange.tell(message, &self.known()).await {
            tracing::debug!("a notification was not taken: {}", failure.sentence());
        }
    }

    /// Opens the session that the client asks for with `opening`, its `initialize`.
    pub async fn open(self: &Arc<Self>, opening: &Message) {
        let Some(id) = &opening.id else {
            return;
        };
        let answer = match self
            .exchange
            .ask(opening, &NegotiatedSession::default())
            .await
        {
            Ok(answered) => {
                if let Some(known) = self.agreed(&answered) {
                    let former = {
                        let mut state = self.state();
                        state.opening = Some(opening.clone());
                        state.followed.clear();
                        std::mem::replace(&mut state.known, known.clone())
                    };
                    if former.session.is_some() {
                        // A client that begins anew: the other session would only idle.
                        let _ = self.exchange.end(&former).await;
                    }
                    // Written first: the client need not wait for the stream.
                    self.exchange.say(&answered.answer).await;
                    self.listen(known).await;
                    return;
                }
                answered.answer
            }
            Err(failure) => failure.answer(id),
        };
        self.exchange.say(&answer).await;
    }

    /// Returns session and revision in the response to an `initialize`.
    fn agreed(&self, answered: &Answered) -> Option<NegotiatedSession> {
        let version = answered.answer.get("result")?.get("protocolVersion")?;
        Some(NegotiatedSession {
            generation: self.known().generation + 1,
            session: answered.session.clone(),
            version: HeaderValue::from_str(version.as_str()?).ok(),
        })
    }

    /// Opens the session of that generation again, unless somebody has done so by now.
    async fn renew(self: &Arc<Self>, generation: u64) -> Result<(), RequestFailure> {
        let _turn = self.renewing.lock().await;
        let (known, opening, followed) = {
            let state = self.state();
            let opening = state.opening.clone();
            (state.known.clone(), opening, state.followed.clone())
        };
        let Some(opening) = opening.filter(|_| known.generation == generation) else {
            return Ok(());
        };
        let answered = self
            .exchange
            .ask(&opening, &NegotiatedSession::default())
            .await?;
        let Some(known) = self.agreed(&answered) else {
            return Err(RequestFailure::Odd(
                "it opens no session any more".to_owned(),
            ));
        };
        tracing::info!("the session is opened again: the server was started anew");
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.exchange.tell(&message(ready), &known).await?;
        // Not before: a request must not come between.
        self.state().known = known.clone();
        self.listen(known.clone()).await;
        for uri in &followed {
            let subscribe = json!({
                "jsonrpc": "2.0",
                "id": format!("memdir-bridge {uri}"),
                "method": "resources/subscribe",
                "params": {"uri": uri},
            });
            if let Err(failure) = self.exchange.ask(&message(subscribe), &known).await {
                tracing::warn!("no news of {uri} any more: {}", failure.sentence());
            }
        }
        self.say_all_may_have_changed().await;
        Ok(())
    }

    async fn say_all_may_have_changed(&self) {
        let followed = self.state().followed.clone();
        for uri in followed {
            let news = json!({
                "jsonrpc": "2.0",
                "method": "notifications/resources/updated",
                "params": {"uri": uri},
            });
            self.exchange.say(&news).await;
        }
    }

    /// Starts to pass on the server's own messages; returns once the stream is open, or after a timeout.
    async fn listen(self: &Arc<Self>, known: NegotiatedSession) {
        if known.session.is_none() {
            return;
        }
        let (begun, is_begun) = oneshot::channel();
        self.begin_to_pass_on(known, begun);
        // Ended or late: then there is no news, and the log says why.
        let _ = tokio::time::timeout(OPENING, is_begun).await;
    }

    /// Separate from [`Session::listen`] for the compiler: the task may open the session again, which calls `listen`.
    fn begin_to_pass_on(self: &Arc<Self>, known: NegotiatedSession, begun: oneshot::Sender<()>) {
        let session = Arc::clone(self);
        let task: Task = Box::pin(async move { session.pass_on(&known, begun).await });
        drop(tokio::spawn(task));
    }

    async fn pass_on(self: Arc<Self>, known: &NegotiatedSession, begun: oneshot::Sender<()>) {
        let mut begun = Some(begun);
        let mut pause = PAUSE;
        while self.known().generation == known.generation {
            let since = Instant::now();
            let failure = match self.exchange.listen(known).await {
                Ok(mut messages) => {
                    match begun.take() {
                        Some(begun) => drop(begun.send(())),
                        // What was said in between, nobody heard.
                        None => self.say_all_may_have_changed().await,
                    }
                    loop {
                        match next(&mut messages).await {
                            Ok(Some(message)) => self.exchange.say(&message).await,
                            Ok(None) => break None,
                            Err(failure) => break Some(failure),
                        }
                    }
                }
                Err(failure) => Some(failure),
            };
            if let Some(failure) = &failure {
                tracing::debug!("no news from the server: {}", failure.sentence());
            }
            let is_lost = failure
                .as_ref()
                .is_some_and(RequestFailure::is_lost_session);
            let is_final = failure.as_ref().is_some_and(RequestFailure::is_final);
            let has_followed = !self.state().followed.is_empty();
            match is_lost {
                true if !has_followed => return, // The next request opens the session again.
                true => {
                    if self.renew(known.generation).await.is_ok() {
                        return;
                    }
                }
                false if is_final => return, // There is no such stream.
                false => {}
            }
            if since.elapsed() > LONG {
                pause = PAUSE;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MOST_PAUSE);
        }
    }

    /// Ends the session, if there is one.
    pub async fn end(&self) {
        let known = self.known();
        if known.session.is_some()
            && let Err(failure) = self.exchange.end(&known).await
        {
            tracing::debug!("the session was not ended: {}", failure.sentence());
        }
    }
}

fn message(value: Value) -> Message {
    match value {
        Value::Object(object) => Message::of(object),
        _ => Message::of(serde_json::Map::new()),
    }
}

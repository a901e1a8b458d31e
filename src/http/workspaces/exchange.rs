//! The exchange of a workspace with the stores that are joined to it: `POST /api/v1/exchange/…`.
//!
//! Reads need any token, changes one that may write. What is asked and answered is in `engine`.

use std::sync::Arc;

use ::http::{Request, StatusCode};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::dialect::{CallOutcome, Refusal, ToolError};
use crate::engine::EngineError;
use crate::engine::history::{
    History, change_workspace, workspace_listing, workspace_state, workspace_texts,
};
use crate::http::admission::{AdmissionError, recorded, run_recorded};
use crate::http::answer;
use crate::http::answer::{RequestError, sequence};
use crate::http::client::Client;
use crate::http::openapi::BASE;
use crate::http::reading;
use crate::http::reading::{CHANGES, MOST_BYTES, MOST_CHANGES};
use crate::http::site::Site;

/// Adds the routes of the exchange.
pub(in crate::http) fn add_routes(router: Router<Arc<Site>>) -> Router<Arc<Site>> {
    router
        .route(&format!("{BASE}/exchange/state"), post(state))
        .route(&format!("{BASE}/exchange/listing"), post(listing))
        .route(&format!("{BASE}/exchange/texts"), post(texts))
        .route(&format!("{BASE}{CHANGES}"), post(changes))
}

async fn state(
    State(site): State<Arc<Site>>,
    request: Request<Body>,
) -> Result<Response, RequestError> {
    let may_write = client(&request)?.may_write();
    // Nothing is asked.
    let answer = move |history: &History, _: serde_json::Value| workspace_state(history, may_write);
    exchange(site, request, ("exchange/state", false), answer).await
}

async fn listing(
    State(site): State<Arc<Site>>,
    request: Request<Body>,
) -> Result<Response, RequestError> {
    exchange(
        site,
        request,
        ("exchange/listing", false),
        |history, question| workspace_listing(history, &question),
    )
    .await
}

async fn texts(
    State(site): State<Arc<Site>>,
    request: Request<Body>,
) -> Result<Response, RequestError> {
    exchange(
        site,
        request,
        ("exchange/texts", false),
        |history, question| workspace_texts(history, &question),
    )
    .await
}

async fn changes(
    State(site): State<Arc<Site>>,
    request: Request<Body>,
) -> Result<Response, RequestError> {
    exchange(
        site,
        request,
        ("exchange/changes", true),
        |history, question| change_workspace(history, &question),
    )
    .await
}

/// Answers a question by `answer`, in a thread of its own and within the limits of its client.
async fn exchange<Q, A>(
    site: Arc<Site>,
    request: Request<Body>,
    (action, writes): (&str, bool),
    answer: impl FnOnce(&History, Q) -> Result<A, EngineError> + Send + 'static,
) -> Result<Response, RequestError>
where
    Q: DeserializeOwned + Send + 'static,
    A: Serialize + Send + 'static,
{
    let client = client(&request)?;
    let record = recorded(request.extensions(), action);
    if writes && !client.may_write() {
        // Before its body is read.
        if let Some(record) = record {
            record.refuse();
        }
        return Err(AdmissionError::OnlyReads.into());
    }
    let most = if writes { MOST_CHANGES } else { MOST_BYTES };
    let large = writes.then(|| site.large.try_acquire());
    let _large = large.transpose().map_err(|_| RequestError::overload())?;
    let body = reading::read(request.into_body(), most).await?;
    let question: Q = serde_json::from_slice(&body)
        .map_err(|error| RequestError::bad(format!("the body is no such question: {error}")))?;
    let turn = site.admission.enter(&client, writes).await;
    if let (Err(_), Some(record)) = (&turn, &record) {
        record.refuse();
    }
    let turn = turn?;
    let of = Arc::clone(&site);
    let run = move || {
        // Until the call has ended, also where nobody waits for it any more.
        let _turn = turn;
        let engine = &of.served.engine;
        engine.writer.serve(&client.name);
        let act = || {
            let answered = answer(&engine.history, question);
            let answered = answered.map_err(|error| refusal(ToolError::Engine(error)))?;
            Ok(serde_json::to_vec(&answered).expect("texts and numbers are JSON"))
        };
        let outcome = |body: &Vec<u8>| CallOutcome::of(true, &String::from_utf8_lossy(body));
        let call = || run_recorded(record, act, outcome);
        let (body, ended) = engine.live.call(None, writes, call)?;
        sequence::judged(body, &ended, writes).map(|body| (body, ended))
    };
    let answered = tokio::task::spawn_blocking(run).await;
    let (body, ended) = answered.map_err(|_| RequestError::internal())??;
    let mut response = answer::json_of(StatusCode::OK, body, &site.outgoing).await?;
    sequence::tell(&mut response, &ended);
    Ok(response)
}

fn client(request: &Request<Body>) -> Result<Client, RequestError> {
    // The guard has put it there.
    let client = request.extensions().get::<Client>();
    client.cloned().ok_or_else(RequestError::internal)
}

fn refusal(error: ToolError) -> RequestError {
    match error {
        ToolError::Engine(EngineError::Invalid(what)) => RequestError::bad(what),
        ToolError::Engine(EngineError::ReadOnly(_)) => {
            let status = StatusCode::FORBIDDEN;
            RequestError::new(status, "FORBIDDEN", "this workspace can only be read")
        }
        other => Refusal::of(&other).into(),
    }
}

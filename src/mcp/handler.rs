//! Handler of a client's requests: server info, lists of tools, calls.
//!
//! Tools run on blocking threads, so that waiting for a disk does not delay a ping. A tool that panics
//! fails its own call only. Requests other than for tools, resources or prompts get rmcp's default:
//! "method not found".

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode,
    ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation, InitializeRequestParams,
    InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, PromptsCapability, ReadResourceRequestParams,
    ReadResourceResponse, ResourcesCapability, ServerCapabilities, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter,
};
use rmcp::model::{Tool as ListedTool, UnsubscribeRequestParams};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};

use serde::Serialize;
use tokio::task::JoinHandle;

use crate::dialect::json::to_text;
use crate::dialect::{Call, CallOutcome, Caller, Dialect, Reply};
use crate::engine::{EndedCall, SequenceError};
use crate::mcp::gate::{Admitted, Gate};
use crate::mcp::sequence::CallNote;
use crate::mcp::served::Served;
use crate::mcp::subscriptions::{Followed, News};
use crate::mcp::{resources, sequence, subscriptions, tools};

/// Lifetime of the list of tools at a client, in milliseconds. The list changes with the program only.
const LIST_TTL_MS: u64 = 60 * 60 * 1000;

/// Returns a list, with its lifetime for clients whose revision has lifetimes.
macro_rules! kept {
    ($list:expr, $context:expr) => {{
        let list = $list;
        match knows_ttl(&$context) {
            true => list
                .with_ttl_ms(LIST_TTL_MS)
                .with_cache_scope(CacheScope::Public),
            false => list,
        }
    }};
}

/// Handler of the requests of a client, or of many that share a process.
pub(super) struct Handler {
    served: Served,
    /// Present where many clients share a process.
    gate: Option<Arc<dyn Gate>>,
    /// List of tools, made at the first request, not before `initialize` is answered.
    listed: OnceLock<Vec<ListedTool>>,
    followed: Followed,
    /// Queues of changes for clients that are about to listen, in their order. One that began earlier has all
    /// changes that a client needs.
    begun: Mutex<VecDeque<News>>,
}

impl Handler {
    /// Returns a handler without a gate.
    pub(super) fn new(served: Served) -> Self {
        Handler {
            served,
            gate: None,
            listed: OnceLock::new(),
            followed: Followed::default(),
            begun: Mutex::default(),
        }
    }

    /// Returns a handler whose calls have to pass `gate`.
    pub(super) fn behind(served: Served, gate: Arc<dyn Gate>) -> Self {
        Handler {
            gate: Some(gate),
            ..Handler::new(served)
        }
    }

    /// Runs the `action` `act`, on a thread that may wait for a disk where it is not short; `outcome` is that of its
    /// result.
    async fn on_a_thread<T: Send + 'static>(
        &self,
        context: RequestContext<RoleServer>,
        (action, writes, is_short): (&str, bool, bool),
        act: impl FnOnce(&Call<'_>) -> T + Send + 'static,
        outcome: fn(&T) -> CallOutcome,
    ) -> Result<(T, EndedCall), CallError> {
        let has_sequence = self.served.engine.live.has_sequence();
        let least = match has_sequence {
            true => sequence::asked(&context).map_err(CallError::Number)?,
            false => None,
        };
        let parts = context.extensions.get::<::http::request::Parts>();
        let note = parts.and_then(|parts| parts.extensions.get::<CallNote>());
        let note = note.cloned();
        let mut record = None;
        let admitted = match &self.gate {
            None => None,
            Some(gate) => {
                let nothing = ::http::Extensions::new();
                let noted = parts.map_or(&nothing, |parts| &parts.extensions);
                record = gate.record(noted, action);
                let admitted = gate.admit(noted, writes).await;
                if let (Err(_), Some(record)) = (&admitted, &record) {
                    record.refuse();
                }
                Some(admitted.map_err(CallError::Refused)?)
            }
        };
        let (turn, timeout) = match admitted {
            Some(Admitted { turn, timeout }) => (Some(turn), timeout),
            None => (None, Duration::MAX),
        };
        let served = self.served.clone();
        let caller = caller(&context);
        let id = serde_json::to_string(&context.id).unwrap_or_default();
        let scope = served.session.scope(&caller, id);
        let cancelled = context.ct;
        let run = move || {
            let _turn = turn;
            if cancelled.is_cancelled() {
                return None;
            }
            let act = || act(&served.call(&caller));
            let call = || served.engine.live.call(least, writes, act);
            let Some(record) = record else {
                return Some(scope.run(call));
            };
            let (mut begun, mut done) = (Some(|| scope.run(call)), None);
            record.run(&mut || {
                done = begun.take().map(|run| run());
                match &done {
                    Some(Ok((done, _))) => outcome(done),
                    // It is run once.
                    _ => CallOutcome::of(false, ""),
                }
            });
            done
        };
        // One client waits on standard input: no other thread is woken for a short call. A database is waited for elsewhere.
        let live = &self.served.engine.live;
        let is_here = is_short && self.gate.is_none() && !has_sequence && live.answers_at_once();
        let done = Arc::new(Mutex::new(None));
        let result = Arc::clone(&done);
        let run = Box::new(move || {
            let ran = run();
            *result.lock().unwrap_or_else(PoisonError::into_inner) = ran;
        });
        let ran = begun(is_here, run);
        match tokio::time::timeout(timeout, ran).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(CallError::BrokenDown(error)),
            Err(_) => return Err(CallError::Late(timeout)),
        }
        let done = done.lock().unwrap_or_else(PoisonError::into_inner).take();
        let done = done.ok_or(CallError::Cancelled)?;
        if let (Some(note), Ok((_, ended))) = (note, &done) {
            note.end(*ended);
        }
        done.map_err(CallError::from)
    }

    /// Runs as [`Handler::on_a_thread`], with errors as those of the protocol.
    async fn answer<T: Serialize + Send + 'static>(
        &self,
        context: RequestContext<RoleServer>,
        action: &str,
        act: impl FnOnce(&dyn Dialect, &Call<'_>) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<(T, EndedCall), ErrorData> {
        let dialect = Arc::clone(&self.served.dialect);
        let act = move |call: &Call<'_>| act(dialect.as_ref(), call);
        let outcome = |done: &Result<T, ErrorData>| match done {
            Ok(answer) => CallOutcome::of(true, &to_text(answer)),
            Err(_) => CallOutcome::of(false, ""),
        };
        let done = self.on_a_thread(context, (action, false, false), act, outcome);
        match done.await {
            Ok((answer, ended)) if ended.is_incomplete => {
                drop(answer);
                Err(ErrorData::internal_error(ended.lack(false), None))
            }
            Ok((answer, ended)) => Ok((answer?, ended)),
            Err(error) if error.is_of_request() => {
                Err(ErrorData::invalid_params(error.to_string(), None))
            }
            Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
        }
    }
}

/// Runs a call on this thread, once it is free, or on one that may wait for a disk. Its result is none of the task's: each
/// type of result would add both kinds of tasks to the program.
fn begun(is_here: bool, run: Box<dyn FnOnce() + Send>) -> JoinHandle<()> {
    match is_here {
        true => tokio::spawn(async move { run() }),
        false => tokio::task::spawn_blocking(run),
    }
}

/// Error of a call.
#[derive(Debug, thiserror::Error)]
enum CallError {
    /// The client cancelled it before its turn. rmcp would drop its answer anyway.
    #[error("cancelled")]
    Cancelled,
    #[error("{0}")]
    Refused(String),
    /// The request names a change by something that is no number.
    #[error("{0}")]
    Number(String),
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    #[error("not done within {} seconds: it goes on, ask for its outcome later", .0.as_secs())]
    Late(Duration),
    // The panic hook has written the details to stderr.
    #[error("internal error")]
    BrokenDown(tokio::task::JoinError),
}

impl CallError {
    /// Returns whether the request is at fault, and not to be repeated.
    fn is_of_request(&self) -> bool {
        matches!(
            self,
            CallError::Number(_) | CallError::Sequence(SequenceError::Unknown { .. })
        )
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let about = self.served.dialect.about();
        let mut capabilities = ServerCapabilities::builder().enable_tools().build();
        if !self.served.dialect.resources().is_empty() {
            let mut resources = ResourcesCapability::default();
            resources.subscribe = Some(true);
            capabilities.resources = Some(resources);
        }
        if !self.served.dialect.prompts().is_empty() {
            capabilities.prompts = Some(PromptsCapability::default());
        }
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new(about.name, about.version).with_title(about.title),
            )
            .with_instructions(about.instructions)
    }

    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let agreed = self.negotiate_initialize(&request)?;
        // rmcp's default would remember the revision the client asked for, and
        // answer one that asks for a future revision in words not agreed upon.
        request.protocol_version = agreed.protocol_version.clone();
        context.peer.set_peer_info(request);
        Ok(agreed)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let listed = self
            .listed
            .get_or_init(|| tools::listed(self.served.dialect.tools()));
        Ok(kept!(
            ListToolsResult::with_all_items(listed.clone()),
            context
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tools = self.served.dialect.tools();
        let Some(at) = tools.iter().position(|tool| tool.name == request.name) else {
            return Err(tools::unknown_tool(&request.name, tools));
        };
        let arguments = request.arguments.unwrap_or_default();
        let dialect = Arc::clone(&self.served.dialect);
        let run = move |call: &Call<'_>| dialect.tools()[at].call(call, arguments);
        let tool = &tools[at];
        let reads = tool.hints.read_only;
        let done = self.on_a_thread(
            context,
            (tool.name, !reads, tool.is_short),
            run,
            CallOutcome::of_reply,
        );
        let (reply, ended) = match done.await {
            Ok((reply, ended)) => match ended.is_incomplete && (reply.is_error || reads) {
                true => (Reply::text(ended.lack(!reads)).failed(), ended),
                false => (reply, ended),
            },
            Err(error) if error.is_of_request() => {
                return Err(ErrorData::invalid_params(error.to_string(), None));
            }
            Err(CallError::Cancelled) => return Err(ErrorData::internal_error("cancelled", None)),
            Err(CallError::BrokenDown(error)) => {
                tracing::error!(tool = tool.name, "tool panicked: {error}");
                (tools::broken_down(tool), EndedCall::default())
            }
            // In the reply, where the model reads it.
            Err(error) => (
                Reply::text(error.to_string()).failed(),
                EndedCall::default(),
            ),
        };
        let notice = self.served.notice.lock();
        let mut notice = notice.unwrap_or_else(PoisonError::into_inner);
        let mut result = tools::result(tool, reply, &mut notice);
        sequence::tell(&mut result.meta, &ended);
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let listed = resources::listed(self.served.dialect.resources());
        Ok(kept!(ListResourcesResult::with_all_items(listed), context))
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let listed = resources::templates(self.served.dialect.resources());
        Ok(kept!(
            ListResourceTemplatesResult::with_all_items(listed),
            context
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let knows_ttl = knows_ttl(&context);
        let read = move |dialect: &dyn Dialect, call: &Call<'_>| {
            resources::read(dialect, call, &request.uri)
        };
        let read = self.answer(context, "resources/read", read).await?;
        let ((mut result, ttl_ms), ended) = read;
        sequence::tell(&mut result.meta, &ended);
        // What memories say is nobody else's business.
        let result = match knows_ttl {
            true => result
                .with_ttl_ms(ttl_ms)
                .with_cache_scope(CacheScope::Private),
            false => result,
        };
        Ok(result.into())
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let listed = resources::listed_prompts(self.served.dialect.prompts());
        Ok(kept!(ListPromptsResult::with_all_items(listed), context))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let values = request.arguments.unwrap_or_default();
        let prompted = move |dialect: &dyn Dialect, call: &Call<'_>| {
            resources::prompted(dialect, call, &request.name, values)
        };
        let (mut result, ended) = self.answer(context, "prompts/get", prompted).await?;
        sequence::tell(&mut result.meta, &ended);
        Ok(result.into())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // rmcp says yes to the client before it calls `listen`: what changes in between is news.
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.push_back(News::of(&self.served));
        let dialect = self.served.dialect.as_ref();
        let uris = requested.resource_subscriptions.clone().unwrap_or_default();
        let known = uris
            .into_iter()
            .filter(|uri| resources::named(dialect, uri).is_some())
            .take(subscriptions::MOST);
        Some(
            SubscriptionFilter::builder()
                .resource_subscriptions(known)
                .build(),
        )
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let accepted = context.accepted().resource_subscriptions.clone();
        let accepted = accepted.unwrap_or_default();
        let begun = self
            .begun
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front();
        let mut news = begun.unwrap_or_else(|| News::of(&self.served));
        loop {
            let changed = tokio::select! {
                biased; // A change that is there already is not told after the end.
                () = context.cancelled() => return Ok(()),
                changed = news.next() => changed,
            };
            let Some(changed) = changed else {
                return Ok(());
            };
            let touched = |uri: &&String| subscriptions::is_touched(&self.served, uri, &changed);
            for uri in accepted.iter().filter(touched) {
                if context.sink().notify_resource_updated(uri).await.is_err() {
                    return Ok(());
                }
            }
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if resources::named(self.served.dialect.as_ref(), &request.uri).is_none() {
            return Err(resources::missing(&request.uri));
        }
        if !self.followed.add(request.uri).await? {
            return Ok(());
        }
        let mut news = News::of(&self.served);
        let (served, followed) = (self.served.clone(), self.followed.clone());
        tokio::spawn(async move {
            while let Some(changed) = news.next().await {
                let told = followed.notify(&served, &changed, &context.peer).await;
                if told.is_err() {
                    return;
                }
            }
        });
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.followed.remove(&request.uri).await;
        Ok(())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let is_removed = !is_legacy(&context) && REMOVED.contains(&request.method.as_str());
        // To rmcp, a request it knows with parameters it cannot read is one it
        // does not know. "Method not found" would send its author astray.
        Err(match request.method.as_str() {
            "initialize"
            | "server/discover"
            | "ping"
            | "tools/list"
            | "tools/call"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
            | "resources/subscribe"
            | "resources/unsubscribe"
            | "subscriptions/listen"
            | "prompts/list"
            | "prompts/get"
                if !is_removed =>
            {
                let message = format!("invalid params for {}", request.method);
                ErrorData::invalid_params(message, None)
            }
            _ => {
                let message = format!("method not found: {:.64}", request.method);
                ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
            }
        })
    }
}

/// Methods answered here that revisions without `initialize` no longer have.
const REMOVED: &[&str] = &[
    "initialize",
    "ping",
    "resources/subscribe",
    "resources/unsubscribe",
];

/// Returns whether the client uses a revision with `initialize`, or an unknown one.
fn is_legacy(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_none_or(|version| version.has_initialize())
}

/// Returns whether the client's revision has lifetimes of lists and texts.
fn knows_ttl(context: &RequestContext<RoleServer>) -> bool {
    !is_legacy(context)
}

/// Returns the client, by the request's own `_meta` or by `initialize`.
fn caller(context: &RequestContext<RoleServer>) -> Caller {
    match context.client_info() {
        Some(client) => Caller {
            client: Some(client.name),
            version: Some(client.version),
        },
        None => Caller::default(),
    }
}

//! Answers the suite's requests, from the tables beside.

#![expect(
    deprecated,
    reason = "the older revisions have logging, and the suite asks for it"
)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use memdir::mcp::{Admitted, Gate};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse, GetTaskParams,
    GetTaskResult, Implementation, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::task_manager::TaskManager;
use rmcp::{RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use super::{lists, prompts, tools};

/// What all requests share, whichever session they are of.
pub struct Shared {
    /// Each call passes it, where there is one, as the calls of memories do.
    gate: Option<Arc<dyn Gate>>,
    pub tasks: TaskManager,
    pub changes: broadcast::Sender<Change>,
}

/// A list that is another now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    Tools,
    Prompts,
}

impl Shared {
    pub fn new(gate: Option<Arc<dyn Gate>>) -> Shared {
        Shared {
            gate,
            tasks: TaskManager::new(),
            changes: broadcast::channel(16).0,
        }
    }
}

/// What is said of a state that did not come from here.
pub fn seal(text: &str) -> String {
    // The key is no secret: states have to be the same over every transport, to be compared.
    let mac = blake3::keyed_hash(b"the key of the conformance tests", text.as_bytes());
    format!("{text}.{}", mac.to_hex())
}

/// What was sealed.
pub fn unseal(state: &str) -> Result<&str, ErrorData> {
    let text = state.split_once('.').map(|(text, _)| text);
    let is_ours = |text: &&str| seal(text) == state;
    text.filter(is_ours)
        .ok_or_else(|| ErrorData::invalid_params("this state is not ours", None))
}

/// A value of the protocol, as JSON has it.
pub fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    let wrong = |error| ErrorData::internal_error(format!("a wrong fixture: {error}"), None);
    serde_json::from_value(value).map_err(wrong)
}

/// The whole of a result. The older revisions are not told its kind: rmcp leaves it out.
pub fn whole<T: DeserializeOwned>(mut value: Value) -> Result<T, ErrorData> {
    value["resultType"] = json!("complete");
    typed(value)
}

/// The suite's handler.
pub struct Fixtures {
    shared: Arc<Shared>,
    /// Begun before the client is told so: what changes in between is news.
    begun: Mutex<VecDeque<broadcast::Receiver<Change>>>,
}

impl Fixtures {
    pub fn of(shared: Arc<Shared>) -> Fixtures {
        Fixtures {
            shared,
            begun: Mutex::default(),
        }
    }

    async fn admitted(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<Admitted>, ErrorData> {
        let Some(gate) = &self.shared.gate else {
            return Ok(None);
        };
        let nothing = http::Extensions::new();
        let parts = context.extensions.get::<http::request::Parts>();
        let noted = parts.map_or(&nothing, |parts| &parts.extensions);
        let admitted = gate.admit(noted, false).await;
        admitted
            .map(Some)
            .map_err(|why| ErrorData::internal_error(why, None))
    }
}

impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        let capabilities = typed(json!({
            "completions": {},
            "extensions": {"io.modelcontextprotocol/tasks": {}},
            "logging": {},
            "prompts": {"listChanged": true},
            "resources": {"subscribe": true},
            "tools": {"listChanged": true},
        }));
        ServerConfig::new(capabilities.expect("the capabilities are well-formed"))
            .with_server_info(Implementation::new("fixtures", "1"))
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        whole(json!({"tools": lists::tools()}))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tools = lists::tools();
        let tool = tools.into_iter().find(|tool| tool["name"] == name);
        tool.and_then(|tool| typed(tool).ok())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let _admitted = self.admitted(&context).await?;
        tools::call(&self.shared, request, &context).await
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        whole(json!({"resources": lists::resources()}))
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        whole(json!({"resourceTemplates": lists::templates()}))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let _admitted = self.admitted(&context).await?;
        let uri = request.uri;
        let Some(contents) = lists::contents(&uri) else {
            let data = json!({"uri": uri});
            return Err(ErrorData::resource_not_found("there is none", Some(data)));
        };
        let result: ReadResourceResult = whole(json!({"contents": [contents]}))?;
        Ok(result.into())
    }

    async fn subscribe(
        &self,
        _request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        whole(json!({"prompts": lists::prompts()}))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let _admitted = self.admitted(&context).await?;
        prompts::prompt(request)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let value = format!("{}-completed", request.argument.value);
        whole(json!({"completion": {"values": [value], "total": 1, "hasMore": false}}))
    }

    async fn set_level(
        &self,
        _request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        match context.protocol_version() {
            Some(version) if !version.has_initialize() => {
                let code = ErrorCode::METHOD_NOT_FOUND;
                Err(ErrorData::new(code, "logging/setLevel", None))
            }
            _ => Ok(()),
        }
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut begun = self.begun.lock().expect("no holder panics");
        begun.push_back(self.shared.changes.subscribe());
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let begun = self.begun.lock().expect("no holder panics").pop_front();
        let mut changes = begun.unwrap_or_else(|| self.shared.changes.subscribe());
        let accepted = context.accepted().clone();
        loop {
            let change = tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = changes.recv() => change,
            };
            let sink = context.sink();
            let told = match change {
                Ok(Change::Tools) if accepted.tools_list_changed == Some(true) => {
                    sink.notify_tool_list_changed().await
                }
                Ok(Change::Prompts) if accepted.prompts_list_changed == Some(true) => {
                    sink.notify_prompt_list_changed().await
                }
                Ok(_) => Ok(()),
                Err(_) => return Ok(()),
            };
            if told.is_err() {
                return Ok(());
            }
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let task = self.shared.tasks.get_task(&request.task_id)?;
        Ok(GetTaskResult::new(task))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let tasks = &self.shared.tasks;
        tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.shared.tasks.cancel_task(&request.task_id)
    }
}

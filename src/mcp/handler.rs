//! Answers the requests of a client: who we are, which tools there are, calls.
//!
//! Tools run on blocking threads, so that waiting for a disk never keeps a ping
//! waiting. A tool that panics costs its call and nothing else. What is not
//! about tools is left to rmcp's defaults: empty lists, or "method not found".

use std::sync::OnceLock;

use rmcp::RoleServer;
use rmcp::ServerHandler;
use rmcp::model::CacheScope;
use rmcp::model::CallToolRequestParams;
use rmcp::model::CallToolResponse;
use rmcp::model::CustomRequest;
use rmcp::model::CustomResult;
use rmcp::model::ErrorCode;
use rmcp::model::ErrorData;
use rmcp::model::Implementation;
use rmcp::model::InitializeRequestParams;
use rmcp::model::InitializeResult;
use rmcp::model::ListToolsResult;
use rmcp::model::PaginatedRequestParams;
use rmcp::model::ServerCapabilities;
use rmcp::model::ServerConfig;
use rmcp::model::Tool as ListedTool;
use rmcp::service::RequestContext;

use crate::dialect::Caller;
use crate::mcp::Served;
use crate::mcp::tools;

/// How long a client may keep the list of tools. It changes with the program
/// only; an hour spares the questions and still notices an upgrade.
const LIST_TTL_MS: u64 = 60 * 60 * 1000;

pub(super) struct Handler {
    served: Served,
    /// Made at the first question, not before `initialize` is answered.
    listed: OnceLock<Vec<ListedTool>>,
}

impl Handler {
    pub(super) fn new(served: Served) -> Self {
        Handler {
            served,
            listed: OnceLock::new(),
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let about = self.served.dialect.about();
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
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
        let result = ListToolsResult::with_all_items(listed.clone());
        let knows_ttl = context
            .protocol_version()
            .is_some_and(|version| !version.has_initialize());
        Ok(if knows_ttl {
            result
                .with_ttl_ms(LIST_TTL_MS)
                .with_cache_scope(CacheScope::Public)
        } else {
            result
        })
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
        let served = self.served.clone();
        let caller = caller(&context);
        let cancelled = context.ct;
        let arguments = request.arguments.unwrap_or_default();
        let run = move || {
            // A call cancelled while it waited for its turn is not run. Its
            // answer would be dropped by rmcp anyway.
            (!cancelled.is_cancelled())
                .then(|| served.dialect.tools()[at].call(&served.call(&caller), arguments))
        };
        let tool = &tools[at];
        let reply = match tokio::task::spawn_blocking(run).await {
            Ok(Some(reply)) => reply,
            Ok(None) => return Err(ErrorData::internal_error("cancelled", None)),
            Err(_) => {
                // The panic hook has written the details to stderr.
                tracing::error!(tool = tool.name, "tool panicked");
                tools::broken_down(tool)
            }
        };
        Ok(tools::result(tool, reply).into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // To rmcp, a request it knows with parameters it cannot read is one it
        // does not know. "Method not found" would send its author astray.
        Err(match request.method.as_str() {
            "initialize" | "server/discover" | "ping" | "tools/list" | "tools/call" => {
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

/// Who sent the request: by its own `_meta`, or by `initialize`.
fn caller(context: &RequestContext<RoleServer>) -> Caller {
    match context.client_info() {
        Some(client) => Caller {
            client: Some(client.name),
            version: Some(client.version),
        },
        None => Caller::default(),
    }
}

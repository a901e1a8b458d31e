//! The relay of `memdir mcp` to a server that runs: fingerprints, and which of the two serves.
use std::sync::Arc;

use crate::cli::args::mcp::ToolSet;
use crate::cli::sessions::question;
use crate::cli::wiring::context::Context;
use crate::cli::wiring::fingerprint::{Facts, record_of};
use crate::config::Config;
use crate::mcp::Served;
use crate::relay;
use crate::relay::{Hello, Offer, Relay, RelayPlace, Service};

/// Prefixes and endings of the variables that decide about answers beside the settings: keys of hosts, and
/// ways to them.
const PREFIXES: [&str; 4] = ["MEMDIR_", "AIAML_", "LOCI_", "OLLAMA_"];
const ENDINGS: [&str; 4] = ["_API_KEY", "_PROXY", "_proxy", "SSL_CERT_FILE"];

/// Variables among these that decide about no answer, or whose value counts as that of a setting or of the
/// session.
const LEFT_OUT: [&str; 10] = [
    "MEMDIR_STORE",
    "AIAML_MEMORY_DIR",
    "MEMDIR_NAMESPACE",
    "MEMDIR_AGENT",
    "MEMDIR_CONNECT",
    "MEMDIR_TOKEN",
    "MEMDIR_LOG",
    "AIAML_LOG_LEVEL",
    "LOCI_LOG_LEVEL",
    "LOCI_DB",
];

/// Returns the place of a server that gives the same answers with the same rights as `context` and `wanted`
/// do, and the fingerprint that it has; `None` if no relay is wanted or possible.
pub(super) fn place(context: &Context, wanted: &ToolSet) -> Option<(RelayPlace, String)> {
    if !context.config.mcp.relay {
        return None;
    }
    let state = context.environment.state_folder.as_deref()?;
    let fingerprint = fingerprint(context, wanted)?;
    Some((RelayPlace::new(state, &fingerprint), fingerprint))
}

/// Connects to a server that gives the same answers with the same rights; `None` if there is none.
pub fn connect(context: &Context, wanted: &ToolSet, notice: Option<String>) -> Option<Relay> {
    let (place, fingerprint) = place(context, wanted)?;
    let hello = Hello {
        fingerprint,
        namespace: context.config.namespace.value.clone(),
        notice,
    };
    relay::connect(&place, &hello)
}

/// Lets `memdir mcp` use this server, which serves `served`, and hooks ask it, until the result is dropped.
/// A failure costs a warning: clients serve alone then, and hooks open the store.
pub fn offer(
    context: &Context,
    sessions: Option<(RelayPlace, String)>,
    served: Served,
) -> Vec<Offer> {
    let engine = served.engine.without_models();
    let answer = move |question: &[u8]| question::answer_line(question, &engine);
    let questions = question::place(context);
    let offers = [
        sessions.map(|(place, fingerprint)| {
            relay::offer(place, fingerprint, Service::Sessions(Box::new(served)))
        }),
        questions.map(|(place, fingerprint)| {
            relay::offer(place, fingerprint, Service::Questions(Arc::new(answer)))
        }),
    ];
    let mut offered = Vec::new();
    for offer in offers.into_iter().flatten() {
        match offer {
            Ok(Some(offer)) => offered.push(offer),
            Ok(None) => {
                tracing::info!("another server of this store is the one that other programs use");
            }
            Err(error) => {
                tracing::warn!("`memdir mcp` and hooks cannot use this server: {error}");
            }
        }
    }
    offered
}

/// Returns the fingerprint of all that decides about answers and rights, but the namespace, which a session
/// brings along. `None` without a store.
fn fingerprint(context: &Context, wanted: &ToolSet) -> Option<String> {
    let Config {
        limit,
        git,
        sync_interval,
        remote,
        secrets,
        embedding,
        rerank,
        maintenance,
        llm,
        duplicates,
        mcp,
        also,
        read_only,
        talks,
        ..
    } = &context.config;
    let mut facts = Facts::without_models(context)?;
    let also: Vec<_> = also
        .iter()
        .map(|store| (store, record_of(context, store)))
        .collect();
    facts.add("further stores", &also);
    facts.add("limit", &limit.value);
    facts.add("history", &(git.value, sync_interval.value, &remote.value));
    facts.add("talks", talks);
    facts.add("secrets", &secrets.value);
    facts.add("models", &(embedding, rerank, llm));
    facts.add("upkeep", &(maintenance, duplicates));
    facts.add("rights", read_only);
    let ToolSet {
        dialect,
        tools,
        tier,
        group,
    } = wanted;
    facts.add("tools", &(dialect.as_ref().or(mcp.dialect.as_ref())));
    let tools = if tools.is_empty() { &mcp.tools } else { tools };
    facts.add("further tools", &(tools, tier));
    facts.add("group", &group.as_ref().or(mcp.group.as_ref()));
    let limits = (mcp.max_results, mcp.preview_tokens, mcp.recall_tokens);
    facts.add("replies", &(&mcp.ranking, limits));
    let mut variables: Vec<_> = context.environment.variables.iter().collect();
    variables.retain(|(name, _)| {
        let is_ours = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        let is_of_host = ENDINGS.iter().any(|ending| name.ends_with(ending));
        (is_ours || is_of_host) && !LEFT_OUT.contains(&name.as_str())
    });
    variables.sort();
    facts.add("variables", &variables);
    Some(facts.fingerprint())
}

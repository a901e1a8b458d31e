//! The relay of `memdir mcp` to a server that runs: fingerprints, and which of the two serves.

use std::fmt::Debug;
use std::fmt::Write as _;
use std::path::Path;

use crate::cli::args::mcp::ToolSet;
use crate::cli::wiring::context::Context;
use crate::config::Config;
use crate::files::digest;
use crate::mcp::Served;
use crate::relay;
use crate::relay::{Hello, Offer, Relay, RelayPlace};

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

/// Lets `memdir mcp` use this server, which serves `served`, until the result is dropped. What prevents
/// it costs a warning: clients serve alone then.
pub fn offer((place, fingerprint): (RelayPlace, String), served: Served) -> Option<Offer> {
    match relay::offer(place, fingerprint, served) {
        Ok(Some(offer)) => Some(offer),
        Ok(None) => {
            tracing::info!("another server of this store is the one that `memdir mcp` uses");
            None
        }
        Err(error) => {
            tracing::warn!("`memdir mcp` cannot use this server, and serves by itself: {error}");
            None
        }
    }
}

/// Texts that are compared as one.
#[derive(Default)]
struct Facts(String);

impl Facts {
    fn add(&mut self, name: &str, value: &dyn Debug) {
        let _ = writeln!(self.0, "{name}: {value:?}"); // A text takes all.
    }
}

/// Returns the fingerprint of all that decides about answers and rights, but the namespace, which a session
/// brings along. `None` without a store.
fn fingerprint(context: &Context, wanted: &ToolSet) -> Option<String> {
    let Config {
        store,
        index_dir,
        cache,
        user,
        languages,
        people,
        layout,
        limit,
        git,
        sync_interval,
        remote,
        secrets,
        embedding,
        rerank,
        life,
        maintenance,
        llm,
        duplicates,
        mcp,
        also,
        read_only,
        // Of the command line, of a session, or of how the others were found.
        store_origin: _,
        untrusted: _,
        lookalike: _,
        usual_store: _,
        agent: _,
        namespace: _,
        editor: _,
        log: _,
        warnings: _,
        ..
    } = &context.config;
    let mut facts = Facts::default();
    facts.add("program", &program()?);
    facts.add("store", &crate::files::place_of(&store.value).ok()?);
    facts.add("path", &store.value);
    facts.add("named by", &context.config.naming());
    let records = context.environment.records();
    let record_of = |store: &Path| records.as_ref().map(|records| records.find(store));
    facts.add("record", &record_of(&store.value));
    let also: Vec<_> = also.iter().map(|store| (store, record_of(store))).collect();
    facts.add("further stores", &also);
    facts.add("index", &(&index_dir.value, cache));
    facts.add("user", &user.value);
    facts.add(
        "texts",
        &(&languages.value, people, layout.value, limit.value),
    );
    facts.add("history", &(git.value, sync_interval.value, &remote.value));
    facts.add("secrets", &secrets.value);
    facts.add("models", &(embedding, rerank, llm));
    facts.add("life", &(life, maintenance, duplicates));
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
    Some(format!("{:032x}", digest(facts.0.as_bytes())))
}

/// Returns which program this is: a file that was replaced since a server started is another one.
fn program() -> Option<(&'static str, u64, std::time::SystemTime)> {
    let file = std::env::current_exe().ok()?.metadata().ok()?;
    Some((env!("CARGO_PKG_VERSION"), file.len(), file.modified().ok()?))
}

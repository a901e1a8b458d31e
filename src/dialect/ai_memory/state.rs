//! `memory_stats` and `memory_capabilities`: the store and the server in numbers and words.

use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::shape::NamespaceCount;
use super::titles::Titles;
use super::tool::tool;
use super::{check, shape};
use crate::dialect::arguments::Arguments;
use crate::dialect::call::{Call, FeatureTier};
use crate::dialect::reply::{Reply, ToolError};
use crate::dialect::tool_set::{Hints, Tool};
use crate::engine::{meaning, ops};
use crate::model::{Filter, Tier, Visibility};

/// Time before its expiry from which on a memory counts as expiring.
const SOON: TimeDelta = TimeDelta::hours(1);

/// Tool `memory_stats`.
pub(super) const STATS: Tool = tool(
    "memory_stats",
    "The store in numbers: memories by tier and namespace, how many end within the hour, links, size.",
    &[],
    Hints::reads("Statistics"),
    stats,
);

/// Tool `memory_capabilities`.
pub(super) const CAPABILITIES: Tool = tool(
    "memory_capabilities",
    "Which features this server has: its tier, its models, and what answers where there is none.",
    &[],
    Hints::reads("Capabilities"),
    capabilities,
);

/// The store in numbers.
#[derive(Serialize, JsonSchema)]
pub(super) struct StatsView {
    total: usize,
    by_tier: Vec<TierCount>,
    by_namespace: Vec<NamespaceCount>,
    expiring_soon: usize,
    links_count: usize,
    db_size_bytes: u64,
    archived: usize,
}

/// A tier with its number of memories.
#[derive(Serialize, JsonSchema)]
struct TierCount {
    #[schemars(extend("enum" = check::TIERS))]
    tier: &'static str,
    count: usize,
}

fn stats(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    let engine = call.engine;
    let titles = Titles::of(call)?;
    let shown = titles.narrow(Filter::default());
    let stats = ops::stats(engine, &shown)?;
    let of_tier = |tier: Tier| -> Result<TierCount, ToolError> {
        let of_tier = Filter {
            tiers: vec![tier],
            untiered: tier == Tier::Long,
            visibility: Visibility::Everything,
            ..shown.clone()
        };
        Ok(TierCount {
            tier: tier.as_str(),
            count: ops::count(engine, of_tier)?,
        })
    };
    let tiers = [Tier::Long, Tier::Mid, Tier::Short].into_iter();
    Ok(Reply::of(&StatsView {
        total: stats.memories,
        by_tier: tiers.map(of_tier).collect::<Result<_, _>>()?,
        by_namespace: namespaces(call, &titles)?,
        expiring_soon: ops::ending_by(engine, &shown, engine.live.now() + SOON)?,
        links_count: ops::count_stated_relations(engine)?,
        db_size_bytes: stats.bytes,
        archived: stats.archived,
    }))
}

/// Returns every namespace with its number of memories, the largest first.
pub(super) fn namespaces(
    call: &Call<'_>,
    titles: &Titles,
) -> Result<Vec<NamespaceCount>, ToolError> {
    let namespaces = ops::facet(call.engine, "namespace")?.into_iter();
    Ok(shape::namespaces(namespaces.map(|(namespace, count)| {
        let shown = count.saturating_sub(titles.not_shown_in(&namespace));
        (namespace, shown)
    })))
}

fn capabilities(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    let tier = call.preferences.tier;
    let embedding = match tier {
        FeatureTier::Keyword => None,
        _ => meaning::meaning_status(&call.engine.meaning)?.map(|status| status.model),
    };
    let model = call.assistant().map(|assistant| assistant.name());
    let (has_meaning, has_model) = (embedding.is_some(), model.is_some());
    let reranker = call.engine.reranker.as_ref();
    let reranker = reranker.filter(|one| tier == FeatureTier::Autonomous && one.is_usable());
    let none = || "none".to_owned();
    Ok(Reply::json(json!({
        "tier": tier.name(),
        "version": env!("CARGO_PKG_VERSION"),
        "features": {
            "keyword_search": true,
            "semantic_search": has_meaning,
            "hybrid_recall": has_meaning,
            "query_expansion": has_model,
            "auto_consolidation": has_model,
            "auto_tagging": has_model,
            "contradiction_analysis": has_model,
            "tags_on_store": has_model && tier == FeatureTier::Autonomous,
            "cross_encoder_reranking": reranker.is_some(),
        },
        "models": {
            "embedding": embedding.unwrap_or_else(none),
            "llm": model.unwrap_or_else(none),
            "cross_encoder": reranker.map_or_else(none, |reranker| reranker.name()),
        },
        "without_llm": "memory_expand_query, memory_auto_tag and memory_detect_contradiction answer from the memories that are there, and say so",
    })))
}

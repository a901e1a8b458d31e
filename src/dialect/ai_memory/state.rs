//! `memory_stats` and `memory_capabilities`: the store and the server in numbers and words.

use std::cmp::Reverse;

use chrono::TimeDelta;
use serde_json::Value;
use serde_json::json;

use super::titles::Titles;
use super::tool::reads;
use super::tool::tool;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::call::FeatureTier;
use crate::dialect::reply::Reply;
use crate::dialect::reply::ToolError;
use crate::dialect::tool_set::Tool;
use crate::engine::Query;
use crate::engine::meaning;
use crate::engine::ops;
use crate::model::Filter;
use crate::model::Tier;
use crate::model::Visibility;

/// What ends so soon is counted as expiring.
const SOON: TimeDelta = TimeDelta::hours(1);

pub(super) const STATS: Tool = tool(
    "memory_stats",
    "The store in numbers: memories by tier and namespace, how many end within the hour, links, size.",
    &[],
    reads("Statistics"),
    stats,
);

pub(super) const CAPABILITIES: Tool = tool(
    "memory_capabilities",
    "Which features this server has: its tier, its models, and what answers where there is none.",
    &[],
    reads("Capabilities"),
    capabilities,
);

fn stats(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    let engine = call.engine;
    let titles = Titles::of(call)?;
    let shown = titles.narrow(Filter::default());
    let stats = ops::stats(engine, &shown)?;
    let mut by_tier = Vec::new();
    for tier in [Tier::Long, Tier::Mid, Tier::Short] {
        let count = of_tier(call, &shown, tier)?;
        by_tier.push(json!({"tier": tier.as_str(), "count": count}));
    }
    let by_namespace = namespaces(call, &titles)?;
    Ok(Reply::json(json!({
        "total": stats.memories,
        "by_tier": by_tier,
        "by_namespace": by_namespace,
        "expiring_soon": ops::ending_by(engine, &shown, engine.live.now() + SOON)?,
        "links_count": ops::count_stated_relations(engine)?,
        "db_size_bytes": stats.bytes,
        "archived": stats.archived,
    })))
}

/// Every namespace with its number of memories, the largest first.
pub(super) fn namespaces(call: &Call<'_>, titles: &Titles) -> Result<Vec<Value>, ToolError> {
    let mut namespaces = ops::facet(call.engine, "namespace")?;
    for (namespace, count) in &mut namespaces {
        *count = count.saturating_sub(titles.not_shown_in(namespace));
    }
    namespaces.sort_by_key(|(_, count)| Reverse(*count));
    Ok(namespaces
        .into_iter()
        .map(|(namespace, count)| json!({"namespace": namespace, "count": count}))
        .collect())
}

/// How many live memories that pass `shown` are of the tier as of now.
fn of_tier(call: &Call<'_>, shown: &Filter, tier: Tier) -> Result<usize, ToolError> {
    let filter = Filter {
        tiers: vec![tier],
        untiered: tier == Tier::Long,
        visibility: Visibility::Everything,
        ..shown.clone()
    };
    Ok(ops::search(call.engine, &Query::everything(filter, 0))?.total)
}

fn capabilities(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    let tier = call.preferences.tier;
    let embedding = match tier {
        FeatureTier::Keyword => None,
        _ => meaning::meaning_status(&call.engine.meaning)?.map(|status| status.model),
    };
    let model = call.assistant().map(|assistant| assistant.name());
    let (has_meaning, has_model) = (embedding.is_some(), model.is_some());
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
            "cross_encoder_reranking": false,
        },
        "models": {
            "embedding": embedding.unwrap_or_else(none),
            "llm": model.unwrap_or_else(none),
            "cross_encoder": "none",
        },
        "without_llm": "memory_expand_query, memory_auto_tag and memory_detect_contradiction answer from the memories that are there, and say so",
    })))
}

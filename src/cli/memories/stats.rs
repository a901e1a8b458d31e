//! Commands that count: stats, topics, namespaces.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::cli::args::life::{Counted, Stats};
use crate::cli::args::maintenance::Standards;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::{DIM, ID};
use crate::cli::terminal::sparkline::sparkline;
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::engine::{Engine, ops};
use crate::model::{Filter, Visibility};

/// Weeks of which `stats` shows the growth: half a year.
const WEEKS: i64 = 26;

/// Runs `memdir stats`.
pub fn stats(context: &mut Context, command: &Stats) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let filter = Filter {
        namespaces: command.namespace.iter().cloned().collect(),
        ..Filter::default()
    };
    let stats = ops::stats(&engine, &filter)?;
    let now = context.now();
    let output = &mut context.output;
    let moment = |at: Option<chrono::DateTime<chrono::Utc>>| at.map(|at| at.to_rfc3339());
    if output.json {
        output.json(&json!({
            "memories": stats.memories,
            "current": stats.current,
            "superseded": stats.superseded,
            "expired": stats.expired,
            "archived": stats.archived,
            "kinds": stats.kinds,
            "scopes": stats.scopes,
            "tiers": stats.tiers,
            "topics": stats.topics,
            "users": stats.users,
            "namespaces": stats.namespaces,
            "linked": stats.linked,
            "bytes": stats.bytes,
            "oldest": moment(stats.oldest),
            "newest": moment(stats.newest),
        }))?;
        return Ok(Outcome::Done);
    }
    let words = |counts: &BTreeMap<String, usize>| {
        let counts = counts.iter().map(|(word, count)| format!("{word} {count}"));
        counts.collect::<Vec<_>>().join(", ")
    };
    let rows = [
        ("memories", stats.memories.to_string()),
        ("current", stats.current.to_string()),
        ("superseded", stats.superseded.to_string()),
        ("expired", stats.expired.to_string()),
        ("archived", stats.archived.to_string()),
        ("kinds", words(&stats.kinds)),
        ("scopes", words(&stats.scopes)),
        ("tiers", words(&stats.tiers)),
        ("topics", stats.topics.to_string()),
        ("users", stats.users.to_string()),
        ("namespaces", stats.namespaces.to_string()),
        ("linked", stats.linked.to_string()),
        ("bytes", stats.bytes.to_string()),
        ("oldest", moment(stats.oldest).unwrap_or_default()),
        ("newest", moment(stats.newest).unwrap_or_default()),
    ];
    for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        output.line(format!("{DIM}{name:<10}{DIM:#} {value}"))?;
    }
    if output.is_terminal {
        let growth = growth(&engine, &filter, now)?;
        let name = "growth";
        output.line(format!("{DIM}{name:<10}{DIM:#} {growth}"))?;
    }
    Ok(Outcome::Done)
}

/// Returns the numbers of memories of the last [`WEEKS`] weeks as a picture and in words.
fn growth(engine: &Engine, filter: &Filter, now: DateTime<Utc>) -> Result<String, Failure> {
    let since = |weeks: i64| now.checked_sub_signed(TimeDelta::weeks(weeks));
    let of_week = |weeks: i64| {
        let filter = Filter {
            since: since(weeks),
            until: since(weeks - 1),
            visibility: Visibility::Everything,
            ..filter.clone()
        };
        ops::count(engine, filter)
    };
    let weeks: Vec<usize> = (1..=WEEKS).rev().map(of_week).collect::<Result<_, _>>()?;
    let most = weeks.iter().copied().max().unwrap_or(0);
    let last = weeks.last().copied().unwrap_or(0);
    let bars = sparkline(&weeks);
    Ok(format!(
        "{bars}| {WEEKS} weeks: {last} in the last one, at most {most}"
    ))
}

/// Returns the values of a facet with their numbers, the commonest first.
pub fn facet(
    context: &mut Context,
    (key, name): (&str, &str),
    command: &Counted,
) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let mut values = ops::facet(&engine, key)?;
    let has_more = values.len() > command.limit;
    values.truncate(command.limit);
    let output = &mut context.output;
    if output.json {
        let values: Vec<Value> = values
            .iter()
            .map(|(value, count)| json!({"name": value, "memories": count}))
            .collect();
        output.json(&json!({name: values, "more": has_more}))?;
    } else {
        for (value, count) in &values {
            let value = output.shown(value);
            output.line(format!("{count:>6}  {value}"))?;
        }
        if has_more && output.is_terminal {
            output.note("there are more; -n shows them");
        }
    }
    Ok(Outcome::found(!values.is_empty()))
}

/// The standards of namespaces, after one was set or taken away.
pub fn standards(context: &mut Context, command: &Standards) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let namespace = command.namespace.as_deref();
    if let (Some(namespace), Some(id)) = (namespace, &command.set) {
        ops::set_standard(&engine, namespace, id)?;
    }
    if let (Some(namespace), true) = (namespace, command.clear) {
        ops::clear_standard(&engine, namespace)?;
    }
    let standards = match namespace {
        Some(namespace) => ops::standards_in(&engine, namespace)?,
        None => ops::standards(&engine)?,
    };
    let output = &mut context.output;
    if output.json {
        let standards = standards.iter().map(|(of, memory)| {
            json!({
                "namespace": of,
                "id": memory.stem.short(),
                "stem": memory.stem.as_str(),
                "headline": memory.headline(),
                "content": memory.content,
            })
        });
        let standards: Vec<Value> = standards.collect();
        output.json(&json!({"standards": standards}))?;
    } else {
        for (of, memory) in &standards {
            let (of, headline) = (output.shown(of), output.shown(memory.headline()));
            output.line(format!(
                "{ID}{}{ID:#}  {of}: {headline}",
                memory.stem.short()
            ))?;
        }
        if standards.is_empty() {
            output.note("there are no standards");
        }
    }
    let is_change = command.clear || command.set.is_some();
    if is_change {
        afterwards::after_writing(context, &engine)?;
    }
    Ok(Outcome::found(!standards.is_empty() || is_change))
}

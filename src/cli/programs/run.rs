//! The commands of ai-memory: each calls a tool of its tool set and shows the reply.

use std::path::Path;

use serde_json::{Value, json};

use super::ai_memory::DATABASE;
use super::exchange;
use super::shown::{self, Row, line};
use super::tools::{Tools, member};
use crate::cli::args::programs::ai_memory::{
    self as args, AiMemory, AiMemoryCommand, Archive, AutoConsolidate,
};
use crate::cli::memories::fields::standard_input;
use crate::cli::memories::maintenance;
use crate::cli::store::setup;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::{DIM, LONG, NAME, Output};
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::cli::wiring::llm::write_summaries;
use crate::dialect::JsonObject;
use crate::engine::{Recalled, ops};
use crate::lifecycle::{Grouping, Proposal};
use crate::model::{Filter, GLOBAL, normalized_namespace};

/// Maximum numbers of memories that one call of a tool gives.
const MOST_RECALLED: u64 = 50;
const MOST_FOUND: u64 = 200;

/// Runs a command of ai-memory; a failure is shown here, because its exit code is another one than
/// memdir's.
pub fn ai_memory(context: &mut Context, command: &AiMemoryCommand) -> Result<Outcome, Failure> {
    warn_of_database(context);
    match perform(context, command) {
        Err(failure) => {
            context.output.flush()?;
            context.output.error(&failure);
            Ok(Outcome::Code(1))
        }
        // To find nothing is no failure there.
        Ok(Outcome::Nothing) => Ok(Outcome::Done),
        done => done,
    }
}

/// Tells that the variable which names a database of ai-memory is not followed; one that names a store is.
fn warn_of_database(context: &Context) {
    let named = context.environment.variables.get(DATABASE);
    let named = named.filter(|named| !named.is_empty());
    if named.is_some_and(|named| !context.environment.folder.join(named).is_dir()) {
        tracing::warn!(
            "{DATABASE} names a database and is not followed: --db or MEMDIR_STORE names a store, and `memdir import --from ai-memory` brings the memories of a database in"
        );
    }
}

/// Runs a command of ai-memory.
pub fn perform(context: &mut Context, command: &AiMemoryCommand) -> Result<Outcome, Failure> {
    match command {
        AiMemoryCommand::Store(command) => store(context, command),
        AiMemoryCommand::Update(command) => update(context, command),
        AiMemoryCommand::Recall(command) => recall(context, command),
        AiMemoryCommand::Search(command) => search(context, command),
        AiMemoryCommand::Get(command) => get(context, &command.id),
        AiMemoryCommand::List(command) => list(context, command),
        AiMemoryCommand::Delete(command) => changed(
            context,
            "memory_delete",
            json!({"id": command.id}),
            |reply| format!("deleted: {}", text(reply, "id")),
        ),
        AiMemoryCommand::Promote(command) => changed(
            context,
            "memory_promote",
            json!({"id": command.id}),
            |reply| format!("promoted to long-term: {}", text(reply, "id")),
        ),
        AiMemoryCommand::Forget(command) => changed(
            context,
            "memory_forget",
            json!({
                "namespace": command.namespace,
                "pattern": command.pattern,
                "tier": command.tier,
            }),
            |reply| format!("forgot {} memories", reply["deleted"]),
        ),
        AiMemoryCommand::Link(command) => changed(
            context,
            "memory_link",
            json!({
                "source_id": command.source_id,
                "target_id": command.target_id,
                "relation": command.relation,
            }),
            |reply| format!("linked: {}", arrow(&reply.clone().into())),
        ),
        AiMemoryCommand::Consolidate(command) => changed(
            context,
            "memory_consolidate",
            json!({
                "ids": command.ids,
                "title": command.title,
                "summary": command.summary,
                "namespace": command.namespace,
            }),
            |reply| {
                let (count, id) = (&reply["consolidated"], text(reply, "id"));
                format!("consolidated {count} memories into: {id}")
            },
        ),
        AiMemoryCommand::Resolve(command) => resolve(context, command),
        AiMemoryCommand::Sync(command) => exchange::sync(context, command),
        AiMemoryCommand::AutoConsolidate(command) => auto_consolidate(context, command),
        AiMemoryCommand::Gc => changed(context, "memory_gc", json!({}), |reply| {
            format!("expired memories deleted: {}", reply["expired_deleted"])
        }),
        AiMemoryCommand::Stats => stats(context),
        AiMemoryCommand::Namespaces => namespaces(context),
        AiMemoryCommand::Export => {
            let engine = context.engine()?;
            let all = Tools::new(context, &engine, None)?.ask("export")?;
            context.output.json_lines(&all)?;
            Ok(Outcome::Done)
        }
        AiMemoryCommand::Import => exchange::import(context, Path::new("-")),
        AiMemoryCommand::Completions(command) => {
            let mut script = Vec::new();
            let mut words = <AiMemory as clap::CommandFactory>::command();
            clap_complete::generate(command.shell, &mut words, "ai-memory", &mut script);
            context.output.bytes(&script)?;
            Ok(Outcome::Done)
        }
        AiMemoryCommand::Man => {
            let words = <AiMemory as clap::CommandFactory>::command();
            setup::manual(words, &mut context.output)
        }
        AiMemoryCommand::Archive(command) => archive(context, command),
        AiMemoryCommand::Serve(_)
        | AiMemoryCommand::Mcp(_)
        | AiMemoryCommand::Mine(_)
        | AiMemoryCommand::Shell => unreachable!("they were said in the words of memdir"),
    }
}

fn store(context: &mut Context, command: &args::Store) -> Result<Outcome, Failure> {
    let engine = context.engine_for_writing()?;
    let tools = Tools::new(context, &engine, None)?;
    let namespace = command.namespace.clone();
    let reply = tools.call(
        "memory_store",
        json!({
            "title": command.title,
            "content": content(&command.content)?,
            "tier": command.tier,
            "namespace": namespace.unwrap_or_else(|| own_namespace(context)),
            "tags": command.tags,
            "priority": command.priority,
            "confidence": command.confidence,
            "source": command.source,
            "expires_at": command.expires_at,
            "ttl_secs": command.ttl_secs,
        }),
    )?;
    let id = text(&reply, "id");
    let similar = reply.get("potential_contradictions").cloned();
    warn(context, &reply);
    if context.output.json {
        let stored = tools.call("memory_get", json!({"id": id}))?;
        let mut memory: JsonObject = member(&stored, "memory");
        // What the memory is comes first, then what became of the call.
        for (name, value) in reply {
            memory.entry(name).or_insert(value);
        }
        context.output.json(&memory)?;
    } else {
        let (tier, namespace) = (text(&reply, "tier"), text(&reply, "namespace"));
        let namespace = line(&context.output, &namespace);
        let output = &mut context.output;
        output.line(format!("stored: {id} [{tier}] (ns={namespace})"))?;
        if let Some(similar) = similar.as_ref().and_then(Value::as_array) {
            output.flush()?;
            output.note(format!(
                "warning: {} similar memories found in same namespace (potential contradictions)",
                similar.len()
            ));
        }
    }
    afterwards::after_writing(context, &engine)?;
    Ok(Outcome::Done)
}

/// Returns the namespace of a memory that names none: that of the settings, which is the git project of
/// the working folder, else that folder's name. The home folder and the root are no project.
fn own_namespace(context: &Context) -> String {
    if let Some(namespace) = &context.config.namespace.value {
        return namespace.clone();
    }
    let folder = &context.environment.folder;
    let home = context.environment.variables.get("HOME").map(Path::new);
    let is_of_nobody =
        home == Some(folder.as_path()) || folder.starts_with(&context.config.store.value);
    let name = folder.file_name().and_then(|name| name.to_str());
    let name = name.filter(|_| !is_of_nobody).map(|name| {
        let words = name.split(|c: char| c.is_whitespace() || c.is_control());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        normalized_namespace(&words.join("-")).into_owned()
    });
    let name = name.filter(|name| !name.is_empty());
    name.unwrap_or_else(|| GLOBAL.to_owned())
}

fn content(text: &str) -> Result<String, Failure> {
    match text {
        "-" => standard_input(),
        text => Ok(text.to_owned()),
    }
}

fn update(context: &mut Context, command: &args::Update) -> Result<Outcome, Failure> {
    let content = command.content.as_deref().map(content).transpose()?;
    changed(
        context,
        "memory_update",
        json!({
            "id": command.id,
            "title": command.title,
            "content": content,
            "tier": command.tier,
            "namespace": command.namespace,
            "tags": command.tags,
            "priority": command.priority,
            "confidence": command.confidence,
            "expires_at": command.expires_at,
        }),
        |reply| format!("updated: {} [{}]", text(reply, "id"), text(reply, "title")),
    )
}

fn recall(context: &mut Context, command: &args::Recall) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    afterwards::embed_few(&engine);
    let tools = Tools::new(context, &engine, Some(&command.tier))?;
    let arguments = json!({
        "context": command.context,
        "namespace": command.namespace,
        "limit": command.limit,
        "tags": command.tags,
        "since": command.since,
        "until": command.until,
        "format": "json",
    });
    let reply = tools.call("memory_recall", arguments)?;
    let rows: Vec<Row> = member(&reply, "memories");
    let now = context.now();
    let output = &mut context.output;
    if output.json {
        output.json(&reply)?;
    } else if rows.is_empty() {
        output.note(format!("no memories found for: {}", command.context));
    } else {
        shown::recalled(output, &rows, now)?;
        output.flush()?;
        remark(output, &reply, (command.limit, MOST_RECALLED));
    }
    output.flush()?;
    afterwards::settle(&engine);
    Ok(Outcome::found(!rows.is_empty()))
}

fn search(context: &mut Context, command: &args::Search) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let tools = Tools::new(context, &engine, None)?;
    let arguments = json!({
        "query": command.query,
        "namespace": command.namespace,
        "tier": command.tier,
        "limit": command.limit,
        "since": command.since,
        "until": command.until,
        "tags": command.tags,
        "format": "json",
    });
    let reply = tools.call("memory_search", arguments)?;
    let rows: Vec<Row> = member(&reply, "results");
    let now = context.now();
    let output = &mut context.output;
    if output.json {
        output.json(&reply)?;
    } else if rows.is_empty() {
        output.note(format!("no results for: {}", command.query));
    } else {
        shown::listed(output, &rows, "result(s)", now)?;
        output.flush()?;
        remark(output, &reply, (command.limit, MOST_FOUND));
    }
    output.flush()?;
    afterwards::settle(&engine);
    Ok(Outcome::found(!rows.is_empty()))
}

/// Says what a reply notes beside its memories, and whether more were asked for than one call gives.
fn remark(output: &Output, reply: &JsonObject, (asked, most): (u64, u64)) {
    if let Some(note) = reply.get("note").and_then(Value::as_str) {
        output.note(note);
    }
    if asked > most {
        output.note(format!("at most {most} are shown"));
    }
}

fn get(context: &mut Context, id: &str) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let tools = Tools::new(context, &engine, None)?;
    let reply = tools.call("memory_get", json!({"id": id}))?;
    let output = &mut context.output;
    if output.json {
        output.json(&reply)?;
        return Ok(Outcome::Done);
    }
    output.json_lines(&reply["memory"])?;
    let links: Vec<Value> = member(&reply, "links");
    if !links.is_empty() {
        output.line("\nlinks:")?;
    }
    for link in &links {
        let arrow = line(output, &arrow(link));
        output.line(format!("  {arrow}"))?;
    }
    Ok(Outcome::Done)
}

/// `SOURCE --[RELATION]--> TARGET`.
fn arrow(link: &Value) -> String {
    let part = |name: &str| link[name].as_str().unwrap_or_default();
    format!(
        "{} --[{}]--> {}",
        part("source_id"),
        part("relation"),
        part("target_id")
    )
}

fn list(context: &mut Context, command: &args::List) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let tools = Tools::new(context, &engine, None)?;
    let mut listed: Vec<Value> = Vec::new();
    // A tool gives a page; who asks for more gets the next ones, too.
    let mut all = loop {
        let had = listed.len() as u64;
        let wanted = (command.limit - had).min(MOST_FOUND);
        let mut page = tools.call(
            "memory_list",
            json!({
                "namespace": command.namespace,
                "tier": command.tier,
                "limit": wanted,
                "offset": command.offset + had,
                "since": command.since,
                "until": command.until,
                "tags": command.tags,
                "format": "json",
            }),
        )?;
        let rows: Vec<Value> = member(&page, "memories");
        page.remove("memories");
        let is_last = (rows.len() as u64) < wanted || had + rows.len() as u64 >= command.limit;
        listed.extend(rows);
        if is_last {
            break page;
        }
    };
    let now = context.now();
    let output = &mut context.output;
    let is_empty = listed.is_empty();
    if output.json {
        all["count"] = json!(listed.len());
        all.insert("memories".to_owned(), listed.into());
        output.json(&all)?;
    } else if is_empty {
        output.note("no memories stored");
    } else {
        let rows = listed.into_iter().map(serde_json::from_value);
        let rows: Vec<Row> = rows.collect::<Result<_, _>>().expect("they are memories");
        shown::listed(output, &rows, "memory(ies)", now)?;
        output.flush()?;
        remark(output, &all, (0, 0));
    }
    output.flush()?;
    afterwards::settle(&engine);
    Ok(Outcome::found(!is_empty))
}

/// Calls a tool that changes memories, and shows its reply, for people in one line.
fn changed(
    context: &mut Context,
    tool: &str,
    arguments: Value,
    said: impl Fn(&JsonObject) -> String,
) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let reply = Tools::new(context, &engine, None)?.call(tool, arguments)?;
    warn(context, &reply);
    let output = &mut context.output;
    if output.json {
        output.json(&reply)?;
    } else {
        let said = line(output, &said(&reply));
        output.line(said)?;
        output.flush()?;
        remark(output, &reply, (0, 0));
    }
    afterwards::after_writing(context, &engine)?;
    Ok(match reply.contains_key("failed") {
        true => {
            return Err(Failure::new(format!(
                "{} could not be moved",
                reply["failed"]
            )));
        }
        false => Outcome::Done,
    })
}

/// Tells of the credentials in what was written.
fn warn(context: &Context, reply: &JsonObject) {
    let warnings = reply.get("warnings").and_then(Value::as_array);
    for warning in warnings.into_iter().flatten().filter_map(Value::as_str) {
        context.output.note(format!("warning: {warning}"));
    }
}

fn text(reply: &JsonObject, name: &str) -> String {
    let value = reply.get(name).and_then(Value::as_str);
    value.unwrap_or_default().to_owned()
}

fn resolve(context: &mut Context, command: &args::Resolve) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let decided = ops::decide_between(&engine, &command.winner_id, &command.loser_id)?;
    let [winner, loser] = [&decided.winner, &decided.loser].map(|stem| engine.live.shown_id(stem));
    Tools::new(context, &engine, None)?.call(
        "memory_update",
        json!({"id": loser, "priority": 1, "confidence": 0.1}),
    )?;
    let (memory, name) = ops::recall_one(&engine, &winner)?;
    engine
        .writer
        .count_uses(&[Recalled::Found { memory, name }]);
    let output = &mut context.output;
    if output.json {
        output.json(&json!({"resolved": true, "winner": winner, "loser": loser}))?;
    } else {
        output.line(format!(
            "resolved: {LONG}{winner}{LONG:#} supersedes {DIM}{loser}{DIM:#}"
        ))?;
    }
    afterwards::after_writing(context, &engine)?;
    Ok(Outcome::Done)
}

fn auto_consolidate(context: &mut Context, command: &AutoConsolidate) -> Result<Outcome, Failure> {
    let engine = maintenance::recovered(context)?;
    let filter = Filter {
        namespaces: command.namespace.iter().cloned().collect(),
        ..Filter::default()
    };
    let grouping = Grouping {
        short_only: command.short_only,
        min_count: command.min_count as usize,
        budget: context.config.maintenance.compaction.budget,
    };
    let mut proposed = ops::plan_grouping(&engine, &filter, &grouping)?;
    if command.dry_run {
        let group = |proposal: &Proposal| {
            let new = proposal.create.as_ref();
            let sources = proposal.archive.iter();
            let sources = sources.filter_map(|stem| proposed.memory(stem));
            let titles: Vec<&str> = sources.map(|memory| memory.headline()).collect();
            json!({
                "namespace": new.and_then(|new| new.namespace.as_deref()).unwrap_or(GLOBAL),
                "tag": new.and_then(|new| new.topics.first()),
                "count": proposal.archive.len(),
                "titles": titles,
            })
        };
        let groups: Vec<Value> = proposed.plan.proposals.iter().map(group).collect();
        let output = &mut context.output;
        if output.json {
            output.json(&json!({"dry_run": true, "groups": groups}))?;
        } else {
            output.line("dry run — would consolidate:")?;
            for group in &groups {
                let part = |name: &str| group[name].as_str().unwrap_or_default();
                let (namespace, tag) = (part("namespace"), part("tag"));
                let place = line(output, &format!("{namespace} [{tag}]"));
                output.line(format!("  {place}: {} memories", group["count"]))?;
            }
        }
        return Ok(Outcome::Done);
    }
    write_summaries(context, &engine, &mut proposed)?;
    let performed = ops::perform_plan(&engine, &proposed)?;
    let count = performed.map_or(0, |performed| performed.archived.len());
    let output = &mut context.output;
    if output.json {
        output.json(&json!({"consolidated": count}))?;
    } else {
        output.line(format!("auto-consolidated {count} memories"))?;
    }
    afterwards::after_writing(context, &engine)?;
    Ok(Outcome::Done)
}

fn stats(context: &mut Context) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let stats = Tools::new(context, &engine, None)?.call("memory_stats", json!({}))?;
    let output = &mut context.output;
    if output.json {
        output.json(&stats)?;
        return Ok(Outcome::Done);
    }
    let head = [
        ("total memories", "total", ""),
        ("expiring within 1h", "expiring_soon", ""),
        ("links", "links_count", ""),
        ("database size", "db_size_bytes", " bytes"),
    ];
    for (name, key, unit) in head {
        output.line(format!("{name}: {}{unit}", stats[key]))?;
    }
    output.line("\nby tier:")?;
    for row in member::<Vec<Value>>(&stats, "by_tier") {
        let tier = shown::tier(row["tier"].as_str().unwrap_or_default());
        output.line(format!("  {tier}: {}", row["count"]))?;
    }
    output.line("\nby namespace:")?;
    counts(output, &stats, "by_namespace", "")?;
    Ok(Outcome::Done)
}

fn namespaces(context: &mut Context) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let reply = Tools::new(context, &engine, None)?.ask("list_namespaces")?;
    let is_empty = member::<Vec<Value>>(&reply, "namespaces").is_empty();
    let output = &mut context.output;
    if output.json {
        output.json(&reply)?;
    } else if is_empty {
        output.note("no namespaces");
    } else {
        counts(output, &reply, "namespaces", " memories")?;
    }
    Ok(Outcome::found(!is_empty))
}

/// Shows the namespaces in the member `name` of a reply, each with its number of memories.
fn counts(output: &mut Output, reply: &JsonObject, name: &str, unit: &str) -> Result<(), Failure> {
    for row in member::<Vec<Value>>(reply, name) {
        let namespace = line(output, row["namespace"].as_str().unwrap_or_default());
        let count = &row["count"];
        output.line(format!("  {NAME}{namespace}{NAME:#}: {count}{unit}"))?;
    }
    Ok(())
}

fn archive(context: &mut Context, command: &Archive) -> Result<Outcome, Failure> {
    match command {
        Archive::List(command) => archived(context, command),
        Archive::Restore(command) => changed(
            context,
            "memory_archive_restore",
            json!({"id": command.id}),
            |reply| format!("restored: {}", text(reply, "id")),
        ),
        Archive::Purge(command) => changed(
            context,
            "memory_archive_purge",
            json!({"older_than_days": command.older_than_days}),
            |reply| format!("purged {} archived memories", reply["purged"]),
        ),
        Archive::Stats => {
            let engine = context.engine()?;
            let tools = Tools::new(context, &engine, None)?;
            let stats = tools.call("memory_archive_stats", json!({}))?;
            let output = &mut context.output;
            if output.json {
                output.json(&stats)?;
            } else {
                output.line(format!("archived: {} total", stats["archived_total"]))?;
                counts(output, &stats, "by_namespace", "")?;
            }
            Ok(Outcome::Done)
        }
    }
}

fn archived(context: &mut Context, command: &args::ArchiveList) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let reply = Tools::new(context, &engine, None)?.call(
        "memory_archive_list",
        json!({
            "namespace": command.namespace,
            "limit": command.limit,
            "offset": command.offset,
        }),
    )?;
    let rows: Vec<Value> = member(&reply, "archived");
    let output = &mut context.output;
    if output.json {
        output.json(&reply)?;
    } else if rows.is_empty() {
        output.line("no archived memories")?;
    } else {
        for row in &rows {
            let part = |name: &str| line(output, row[name].as_str().unwrap_or_default());
            let (id, title, at) = (part("id"), part("title"), part("archived_at"));
            output.line(format!("[{id}] {title} (archived: {at})"))?;
        }
        output.line(format!("{} archived memories", rows.len()))?;
    }
    Ok(Outcome::found(!rows.is_empty()))
}

//! Commands that bring memories in and out: import, export.

use serde_json::{Value, json};

use crate::cli::args::sharing::{Export, Import, Source, Target};
use crate::cli::sharing::export_folder;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output;
use crate::cli::terminal::output::Output;
use crate::cli::terminal::progress::counting_bar;
use crate::cli::wiring::context::{Context, Outcome};
use crate::cli::wiring::{afterwards, layout_offer};
use crate::dialect::views::MemoryView;
use crate::engine;
use crate::engine::{Engine, Imported, KnownAs, ops};
use crate::import::{Defaults, Program};
use crate::model::{Memory, MetaValue};

/// Runs `memdir import`.
pub fn import(context: &mut Context, command: &Import) -> Result<Outcome, Failure> {
    let beside = command
        .dry_run
        .then(crate::files::scratch_folder)
        .transpose();
    let beside =
        beside.map_err(|error| Failure::new("cannot make a folder for a while").because(error))?;
    let engine = match &beside {
        Some(beside) => context.engine_for_trying(beside.path())?,
        None => context.engine_for_writing()?,
    };
    let config = &context.config;
    let defaults = Defaults {
        agent: command.agent.clone().unwrap_or_else(|| "import".to_owned()),
        user: command
            .user
            .clone()
            .unwrap_or_else(|| config.user.value.clone()),
        namespace: command.namespace.clone(),
    };
    let items = program(command.from).read(&command.path, &defaults)?;
    let bar = counting_bar("importing");
    let options = engine::Import {
        dry_run: command.dry_run,
        into_namespace: command.namespace.is_some(),
    };
    let mut all = AllImported::default();
    let report = ops::import(&engine, items, options, &mut |imported| {
        bar.inc(1);
        all.add(&engine, imported);
    })?;
    bar.finish_and_clear();
    let (added, is_whole) = (all.added, all.failures.is_empty());
    all.show(&mut context.output, &report, command.dry_run)?;
    if !command.dry_run
        && let Some(offer) = layout_offer::offer(&engine, added)
    {
        context.output.note(offer);
    }
    if !command.dry_run && added > 0 {
        // Searches find what is imported without it; it only makes them fast.
        afterwards::after_writing(context, &engine)?;
    }
    Ok(Outcome::found(is_whole))
}

/// Returns the program that a command names.
fn program(source: Source) -> Program {
    match source {
        Source::Aiaml => Program::Aiaml,
        Source::Jsonl => Program::Jsonl,
        Source::Markdown => Program::Markdown,
        Source::Obsidian => Program::Obsidian,
        Source::BasicMemory => Program::BasicMemory,
        Source::Loci => Program::Loci,
        Source::AiMemory => Program::AiMemory,
        Source::IAm => Program::IAm,
        Source::ServerMemory => Program::ServerMemory,
        Source::Mem0 => Program::Mem0,
    }
}

/// The results of an import, as they are shown at its end.
#[derive(Default)]
struct AllImported {
    /// An object for each memory of the source, for `--json`.
    pairs: Vec<Value>,
    /// Items that could not be imported, each with the reason.
    failures: Vec<(String, String)>,
    warnings: Vec<String>,
    added: usize,
    known: usize,
    /// Number of known ones with another text here, and of forgotten ones.
    differing: usize,
    forgotten: usize,
    /// Number of memories with the text of another one of the same import.
    twice: usize,
}

impl AllImported {
    fn add(&mut self, engine: &Engine, imported: Imported) {
        match imported {
            Imported::Added {
                source_id,
                stem,
                screened,
                not_carried,
                same_text,
            } => {
                self.added += 1;
                let id = stem.map(|stem| engine.live.shown_id(&stem));
                let mut pair = json!({"source_id": source_id, "id": id});
                if !not_carried.is_empty() {
                    pair["not_carried"] = json!(not_carried);
                }
                if let Some(same) = same_text {
                    self.twice += 1;
                    pair["same_text_as"] = json!(engine.live.shown_id(&same));
                }
                let found = screened.warnings();
                if !found.is_empty() {
                    pair["warnings"] = json!(found);
                }
                self.pairs.push(pair);
                let id = id.unwrap_or_default();
                let warnings = found.into_iter().map(|found| format!("{id}: {found}"));
                self.warnings.extend(warnings);
            }
            Imported::Known {
                source_id,
                stem,
                state,
            } => {
                self.known += 1;
                let id = stem.map(|stem| engine.live.shown_id(&stem));
                let mut pair = json!({"source_id": source_id, "id": id});
                match state {
                    KnownAs::Same => {}
                    KnownAs::OtherText => {
                        self.differing += 1;
                        pair["differs"] = json!(true);
                    }
                    KnownAs::Forgotten => {
                        self.forgotten += 1;
                        pair["forgotten"] = json!(true);
                    }
                }
                self.pairs.push(pair);
            }
            Imported::LeftOut { source_id, what } => {
                if source_id.is_some() {
                    let pair = json!({"source_id": source_id, "id": null, "left_out": what});
                    self.pairs.push(pair);
                }
            }
            Imported::Failed { source, reason, .. } => self.failures.push((source, reason)),
        }
    }

    fn show(
        self,
        output: &mut Output,
        report: &engine::Report,
        dry_run: bool,
    ) -> Result<(), Failure> {
        for warning in self.warnings {
            output.note(format!("warning: {warning}"));
        }
        for (source, reason) in &self.failures {
            let said = if reason.contains(source.as_str()) {
                reason.clone()
            } else {
                format!("{source}: {reason}")
            };
            output.note(format!("not imported: {}", output::visible(&said)));
        }
        // What concerns no single memory has no place in the list of `--json`.
        let totals = [expired(report), not_carried(report)];
        let totals = totals.into_iter().flatten();
        if output.json {
            output.json(&Value::Array(self.pairs))?;
            totals.for_each(|said| output.note(said));
            return Ok(());
        }
        let (verb, links) = match dry_run {
            true => ("would import", "links it would set"),
            false => ("imported", "links set"),
        };
        output.line(format!(
            "{verb} {}, known already {}, failed {}",
            self.added,
            self.known,
            self.failures.len()
        ))?;
        if self.differing > 0 {
            output.line(format!(
                "known, with another text here: {} (left as they are; `--namespace` keeps two sources apart)",
                self.differing
            ))?;
        }
        if self.forgotten > 0 {
            output.line(format!(
                "known, and forgotten here: {} (`memdir restore ID` brings one back)",
                self.forgotten
            ))?;
        }
        if self.twice > 0 {
            output.line(format!("with the text of another one: {}", self.twice))?;
        }
        if report.linked > 0 {
            output.line(format!("{links}: {}", report.linked))?;
        }
        for said in totals {
            output.line(said)?;
        }
        Ok(())
    }
}

/// The number of imported memories whose life is over, which no search shows.
fn expired(report: &engine::Report) -> Option<String> {
    (report.expired > 0).then(|| format!("expired already: {}", report.expired))
}

/// Returns the sorts of data that could not be carried over, each with its number.
fn not_carried(report: &engine::Report) -> Option<String> {
    let sorts: Vec<String> = report
        .not_carried
        .iter()
        .map(|(what, count)| format!("{what} ({count})"))
        .collect();
    (!sorts.is_empty()).then(|| format!("not carried over: {}", sorts.join(", ")))
}

/// Runs `memdir export`.
pub fn export(context: &mut Context, command: &Export) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let filter = command.filters.filter(context, &engine)?;
    if let Target::Folder(folder) = &command.to {
        return export_folder::export(context, &engine, &filter, folder);
    }
    let output = &mut context.output;
    let mut failed = Ok(());
    let (mut memories, mut sections) = (Vec::new(), String::new());
    let count = ops::export(&engine, &filter, &mut |memory, _| {
        if failed.is_err() || output.reader_is_gone() {
            return;
        }
        match command.to {
            Target::Jsonl => {
                let exported = exported(&engine, &memory);
                if output.json {
                    memories.push(json!(exported));
                } else {
                    failed = output.json_line(&exported);
                }
            }
            Target::Folder(_) => unreachable!("it is exported by itself"),
            Target::Markdown if output.json => sections += &section(&memory, &str::to_owned),
            Target::Markdown => {
                let section = section(&memory, &|text| output.shown(text));
                failed = output.bytes(section.as_bytes());
            }
        }
    })?;
    failed?;
    if output.json {
        output.json(&match command.to {
            Target::Jsonl => json!({"memories": memories}),
            _ => json!({"markdown": sections}),
        })?;
    }
    Ok(Outcome::found(count > 0))
}

/// Returns a memory as `recall` replies it, with its stem, which names it in every store, and under `keys` those of its
/// file that the program does not know. Beside its own, an import would take some for fields.
fn exported(engine: &Engine, memory: &Memory) -> Value {
    let mut exported = json!(MemoryView::new(memory, engine.live.shown_id(&memory.stem)));
    if let Value::Object(fields) = &mut exported {
        fields.insert("stem".to_owned(), json!(memory.stem.as_str()));
        // `tags` are topics.
        let unknown = memory.unknown.iter().filter(|(key, _)| key != "tags");
        let keys = unknown.map(|(key, text)| {
            let value = match MetaValue::of_unknown(text) {
                MetaValue::Bool(is_so) => json!(is_so),
                _ => json!(text),
            };
            (key.clone(), value)
        });
        let keys: serde_json::Map<String, Value> = keys.collect();
        if !keys.is_empty() {
            fields.insert("keys".to_owned(), Value::Object(keys));
        }
    }
    exported
}

/// Returns a memory as a section of a document; `shown` makes its texts fit to be seen.
fn section(memory: &Memory, shown: &dyn Fn(&str) -> String) -> String {
    let headline = shown(memory.headline());
    let facts = [
        memory.timestamp.as_str(),
        &memory.agent,
        &memory.user,
        memory.namespace_or_global(),
        &memory.topics.join(", "),
        memory.stem.as_str(),
    ]
    .join(" · ");
    let facts = shown(&facts.replace("--", "—"));
    let content = shown(memory.content.trim_end());
    format!("## {headline}\n\n<!-- {facts} -->\n\n{content}\n\n")
}

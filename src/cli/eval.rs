//! The command that measures how well questions find their answers.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::args::eval::{Eval, Form};
use super::terminal::fail::Failure;
use super::terminal::progress::progress_bar;
use super::wiring::context::{Context, Outcome, open};
use crate::engine::{Engine, Hit, Imported, Query, QueryKind, Ranking, live, meaning, ops};
use crate::eval::{Dataset, EvalQuestion, Measures, Tally};
use crate::import::Defaults;
use crate::model::Filter;
use crate::{engine, eval, import};

/// A store made of one data set.
pub(super) struct Corpus {
    pub engine: Engine,
    /// The ids of memories in the data set, by stem.
    ids: HashMap<String, String>,
}

/// Runs `memdir eval`.
pub fn eval(context: &mut Context, command: &Eval) -> Result<Outcome, Failure> {
    let ranking = ranking(command)?;
    let folder = crate::files::scratch_folder()
        .map_err(|error| Failure::new("cannot make a store to measure in").because(error))?;
    let mut all = Vec::new();
    for path in &command.datasets {
        let dataset = dataset(path, command.from, folder.path())?;
        let root = command.keep.as_deref().unwrap_or(folder.path());
        let corpus = corpus(context, &dataset, &root.join(&dataset.name))?;
        for mode in modes(command) {
            let tally = ask(&corpus, &dataset, mode, &ranking, command)?;
            all.push(report(context, &dataset, mode, &tally, command)?);
        }
    }
    if context.output.json {
        context.output.json(&Value::Array(all))?;
    }
    Ok(Outcome::Done)
}

/// Returns how questions are asked: of the whole store, and in the namespace of each.
pub(super) fn modes(command: &Eval) -> impl Iterator<Item = &'static str> {
    let modes = [("pooled", !command.scoped), ("scoped", !command.pooled)];
    modes
        .into_iter()
        .filter_map(|(mode, is_asked)| is_asked.then_some(mode))
}

/// Reads a data set; one in a published form is brought into ours below `scratch`.
pub(super) fn dataset(path: &Path, form: Form, scratch: &Path) -> Result<Dataset, Failure> {
    let load = match form {
        Form::Folder => return Ok(Dataset::read(path)?),
        Form::Locomo => eval::locomo,
        Form::Longmemeval => eval::longmemeval,
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read {}", path.display())).because(error))?;
    let loaded = load(&text).map_err(|reason| {
        Failure::new(format!("{} is not of that form: {reason}", path.display()))
    })?;
    let name = path
        .file_stem()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned();
    let corpus = scratch.join(format!("{name}.corpus.jsonl"));
    write(&corpus, &loaded.corpus)?;
    Ok(Dataset {
        name,
        corpus,
        questions: loaded.questions,
    })
}

/// Returns the ranking with the constants that the command sets.
pub(super) fn ranking(command: &Eval) -> Result<Ranking, Failure> {
    let mut ranking = Ranking {
        method: command.ranking,
        ..Ranking::default()
    };
    for setting in &command.set {
        let parsed = setting
            .split_once('=')
            .and_then(|(name, value)| Some((name, value.parse::<f32>().ok()?)));
        let is_set = parsed.is_some_and(|(name, value)| ranking.weights.set(name, value));
        if !is_set {
            let names: Vec<&str> = ranking.weights.list().iter().map(|(n, _)| *n).collect();
            return Err(
                Failure::new(format!("`--set {setting}` sets no constant")).hint(format!(
                    "Write NAME=NUMBER; the names are {}.",
                    names.join(", ")
                )),
            );
        }
    }
    Ok(ranking)
}

/// Makes the store of a data set, or completes the one that was kept.
pub(super) fn corpus(context: &Context, dataset: &Dataset, root: &Path) -> Result<Corpus, Failure> {
    crate::files::create_private_folder(&root.join("files")).map_err(|error| {
        Failure::new(format!("cannot make the store {}", root.display())).because(error)
    })?;
    let options = engine::Options {
        state: None,
        git: None,
        namespace: None,
        read_only: false,
        ..context.options(root)
    };
    let engine = open(options)?;
    let defaults = Defaults {
        agent: "eval".to_owned(),
        user: "unknown".to_owned(),
        namespace: None,
    };
    let mut ids = HashMap::new();
    let mut failed = None;
    let bar = progress_bar("importing");
    ops::import(
        &engine,
        import::jsonl(&dataset.corpus, &defaults)?,
        engine::Import::default(),
        &mut |imported| {
            bar.inc(1);
            match imported {
                Imported::Added {
                    source_id, stem, ..
                }
                | Imported::Known {
                    source_id, stem, ..
                } => {
                    let pair = stem.zip(source_id);
                    ids.extend(pair.map(|(stem, id)| (stem.as_str().to_owned(), id)));
                }
                Imported::LeftOut { .. } => {}
                Imported::Failed { source, reason, .. } => {
                    failed.get_or_insert((source, reason));
                }
            }
        },
    )?;
    bar.finish_and_clear();
    if let Some((source, reason)) = failed {
        return Err(Failure::new(format!("{source} is no memory: {reason}")));
    }
    live::reindex(&engine.live, false, &mut |_| {})?;
    let bar = progress_bar("embedding");
    meaning::embed_all(&engine.meaning, &mut |progress| {
        bar.set_length(progress.total as u64);
        bar.set_position(progress.done as u64);
    })?;
    bar.finish_and_clear();
    Ok(Corpus { engine, ids })
}

/// Asks every question, and writes the answers down where that was asked for.
fn ask(
    corpus: &Corpus,
    dataset: &Dataset,
    mode: &str,
    ranking: &Ranking,
    command: &Eval,
) -> Result<Tally, Failure> {
    let mut tally = Tally::default();
    let mut lines = String::new();
    let bar = progress_bar("asking");
    bar.set_length(dataset.questions.len() as u64);
    for question in &dataset.questions {
        let kind = QueryKind::Text(question.query.clone());
        let hits = corpus.search(question, kind, mode, ranking, command.limit)?;
        tally.add(&question.kind, &corpus.measures(question, &hits));
        if command.run_dir.is_some() {
            let found: Vec<&str> = hits.iter().map(|hit| corpus.id(hit)).collect();
            let _ = writeln!(lines, "{}", line(question, &found, &hits, ranking, command));
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if let Some(folder) = &command.run_dir {
        crate::files::create_private_folder(folder).map_err(|error| {
            Failure::new(format!("cannot make the folder {}", folder.display())).because(error)
        })?;
        let file = folder.join(format!("{}.{mode}.jsonl", dataset.name));
        write(&file, &lines)?;
    }
    Ok(tally)
}

impl Corpus {
    /// Returns the id of a hit in the data set.
    fn id<'a>(&'a self, hit: &'a Hit) -> &'a str {
        let stem = hit.memory.stem.as_str();
        self.ids.get(stem).map_or(stem, String::as_str)
    }

    /// Searches for `kind`, in the namespace of the question if the mode is `scoped`.
    pub fn search(
        &self,
        question: &EvalQuestion,
        kind: QueryKind,
        mode: &str,
        ranking: &Ranking,
        limit: usize,
    ) -> Result<Vec<Hit>, Failure> {
        let query = Query {
            kind,
            filter: Filter {
                namespaces: match (mode, &question.scope) {
                    ("scoped", Some(scope)) => vec![scope.clone()],
                    _ => Vec::new(),
                },
                ..Filter::default()
            },
            ranking: *ranking,
            limit: limit.max(25),
            offset: 0,
        };
        Ok(ops::search(&self.engine, &query)?.hits)
    }

    /// Returns the quality of the hits of a question.
    pub fn measures(&self, question: &EvalQuestion, hits: &[Hit]) -> Measures {
        let known = &question.relevant_ids;
        let is_relevant = |hit| known.iter().any(|id| id == self.id(hit));
        let relevant: Vec<bool> = hits.iter().map(is_relevant).collect();
        Measures::of(&relevant, known.len())
    }
}

fn line(
    question: &EvalQuestion,
    found: &[&str],
    hits: &[Hit],
    ranking: &Ranking,
    command: &Eval,
) -> Value {
    let mut line = json!({"qid": question.qid, "ranked": found});
    if command.explain {
        let parts = hits.iter().map(|hit| {
            let parts = hit.parts.unwrap_or_default().weighed(&ranking.weights);
            parts
                .iter()
                .map(|(name, value)| ((*name).to_owned(), json!(value)))
                .collect()
        });
        line["parts"] = parts.map(Value::Object).collect();
        let evidence = hits.iter().map(|hit| {
            let evidence = hit.parts.and_then(|parts| parts.evidence)?;
            let named = evidence.list().into_iter();
            Some(
                named
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect(),
            )
        });
        let evidence: Vec<Option<BTreeMap<String, f32>>> = evidence.collect();
        line["evidence"] = json!(evidence);
    }
    line
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    crate::files::write_derived(file, text.as_bytes())
        .map_err(|error| Failure::new(format!("cannot write {}", file.display())).because(error))
}

/// Shows one table; returns it for scripts.
fn report(
    context: &mut Context,
    dataset: &Dataset,
    mode: &str,
    tally: &Tally,
    command: &Eval,
) -> Result<Value, Failure> {
    let rows = tally.rows();
    let method = command.ranking.name();
    if context.output.json {
        let types: serde_json::Map<String, Value> = rows
            .iter()
            .map(|(kind, count, values)| {
                let mut row = json!({"questions": count});
                for (name, value) in Measures::NAMES.into_iter().zip(values) {
                    row[name] = json!(value);
                }
                ((*kind).to_owned(), row)
            })
            .collect();
        return Ok(json!({
            "dataset": dataset.name, "mode": mode, "ranking": method, "types": types,
        }));
    }
    let mut table = format!(
        "{} · {mode} · {method}\n{:<20} {:>5}",
        dataset.name, "type", "n"
    );
    for name in Measures::NAMES {
        let _ = write!(table, " {name:>7}");
    }
    for (kind, count, values) in rows {
        let _ = write!(table, "\n{kind:<20} {count:>5}");
        for value in values {
            let _ = write!(table, " {:>7.1}", 100.0 * value);
        }
    }
    context.output.line(table + "\n")?;
    Ok(Value::Null)
}

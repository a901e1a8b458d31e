//! Commands that find and show: think, recall, list, grep.

use serde_json::{Value, json};

use crate::cli::args::search::{Grep, List, Recall, Think};
use crate::cli::memories::when::Direction;
use crate::cli::memories::{history, when};
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::{BOLD, DIM, ID, MATCH, Output, REMOVED};
use crate::cli::terminal::prose::{HighlightedWords, terminal_width, wrapped};
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::dialect::{PreviewWords, core, preview, preview_of_hit};
use crate::engine::{
    Engine, EngineError, Hit, NamedPerson, Query, QueryKind, Ranking, Recalled, live, ops,
};
use crate::model::{Budget, Filter, Memory};

/// Runs `memdir think`.
pub fn think(context: &mut Context, command: &Think) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let mut filter = command.filters.filter(context, &engine)?;
    let limit = command.limit.unwrap_or_else(|| engine.default_limit());
    if limit == 0 {
        return Err(Failure::new("--limit must be at least 1"));
    }
    let unconditioned = filter.clone();
    let words = conditions(context, &command.words, &mut filter)?;
    let kind = if words.is_empty() && filter == unconditioned {
        return Err(Failure::new("there is nothing to think of")
            .hint("Give a question or words; `memdir list` lists all."));
    } else if words.is_empty() {
        QueryKind::Everything
    } else if command.keywords {
        QueryKind::Keywords(words)
    } else {
        QueryKind::Text(words.join(" "))
    };
    let query = Query {
        kind,
        filter,
        ranking: Ranking {
            method: command.ranking,
            ..Ranking::default()
        },
        limit,
        offset: 0,
    };
    if matches!(query.kind, QueryKind::Text(_)) && command.ranking.uses_meaning() {
        afterwards::embed_few(&engine);
    }
    let results = ops::think_in_talks(&engine, &query)?;
    let found = !results.hits.is_empty();
    let note = results.note().or_else(|| results.doubt());
    let not_reranked = results.not_reranked.clone().filter(|_| command.explain);
    let people = results.people.clone();
    let output = &mut context.output;
    if output.json {
        let budget = Budget {
            limit,
            max_tokens: command.max_tokens,
        };
        let parts: Vec<Value> = results
            .hits
            .iter()
            .map(|hit| explained(hit, &query))
            .collect();
        let mut reply = core::think_reply(&engine, &query, results, budget);
        let results = &mut reply.structured["results"];
        if command.explain {
            let shown = results.as_array_mut().into_iter().flatten();
            shown
                .zip(parts)
                .for_each(|(hit, parts)| hit["score_parts"] = parts);
        }
        output.json(results)?;
    } else if found {
        let words = PreviewWords::of(&query.kind);
        let sought = HighlightedWords::of(&query.kind);
        let mut tokens = command.max_tokens.unwrap_or(usize::MAX);
        for person in people.iter().filter(|_| command.explain) {
            let person = output.shown(&person.to_string());
            output.line(format!("{DIM}{person}{DIM:#}"))?;
        }
        for (number, hit) in results.hits.iter().enumerate() {
            let mut text = described(&engine, output, hit, (&words, &sought));
            if let Some(by) = hit.found_only_by() {
                text.push_str(&format!(
                    "\n    {DIM}found by its {by}: it holds no word of the query{DIM:#}"
                ));
            }
            if command.explain {
                text.push_str(&explanation(hit, &query));
            }
            let cost = crate::model::estimated_tokens(&text);
            // One hit is better than none.
            if cost > tokens && number > 0 {
                break;
            }
            tokens = tokens.saturating_sub(cost);
            output.line(text)?;
        }
    } else {
        output.note("nothing found");
    }
    output.flush()?;
    if output.json {
        // The answer is the specification's array; what it rests on is said beside it.
        let counts = ops::counts(&engine);
        let mut beside = json!({
            "files": counts.files,
            "indexed": counts.indexed,
            "waiting": counts.waiting,
            "unreadable": counts.unreadable,
        });
        if command.explain {
            beside["people"] = people.iter().map(taken).collect();
        }
        if let Some(note) = note {
            beside["note"] = json!(note);
        }
        if let Some(why) = not_reranked {
            beside["not_reranked"] = json!(why);
        }
        output.note(beside.to_string());
    } else {
        let why = not_reranked.map(|why| format!("not re-ranked: {why}"));
        note.into_iter()
            .chain(why)
            .for_each(|note| output.note(note));
    }
    afterwards::settle(&engine);
    Ok(Outcome::found(found))
}

/// Takes `topic:x`, `user:x`, `agent:x`, `since:x`, `until:x`, `-topic:x`, `-word` and `"phrases"` out of the words
/// and into the filter; returns the other words. A value of several words is quoted: `user:"Lena Maier"`.
pub fn conditions(
    context: &Context,
    words: &[String],
    filter: &mut Filter,
) -> Result<Vec<String>, Failure> {
    let mut plain = Vec::new();
    // An argument that the shell kept together is read like typed words, phrases apart.
    for word in words.iter().flat_map(|argument| split(argument)) {
        let (key, value) = word.split_once(':').unwrap_or(("", ""));
        let value = unquoted(value);
        let time = |option| when::moment(option, value, context.now(), Direction::Past);
        match key {
            "topic" if !value.is_empty() => filter.topics.push(value.to_owned()),
            "user" if !value.is_empty() => filter.users.push(value.to_owned()),
            "agent" if !value.is_empty() => filter.agents.push(value.to_owned()),
            "-topic" if !value.is_empty() => filter.differs.push(("topics".into(), value.into())),
            "-user" | "-agent" if !value.is_empty() => {
                filter.differs.push((key[1..].into(), value.into()));
            }
            // What is no time is a word like others.
            "since" if time("since:").is_ok() => filter.since = Some(time("since:")?),
            "until" if time("until:").is_ok() => filter.until = Some(time("until:")?),
            _ => match word.strip_prefix('-').filter(|word| is_excluded(word)) {
                Some(excluded) => filter.excludes.push(unquoted(excluded).to_owned()),
                None if word.len() > 2 && word.starts_with('"') && word.ends_with('"') => {
                    filter.phrases.push(unquoted(&word).to_owned());
                    plain.push(unquoted(&word).to_owned());
                }
                None => plain.push(word),
            },
        }
    }
    Ok(plain)
}

/// Returns whether `word`, which stood behind a hyphen, is one to exclude: not the rest of an option of a command, such
/// as `-i` and `--force`, or of a number below zero.
fn is_excluded(word: &str) -> bool {
    if word.starts_with('"') {
        return unquoted(word).chars().any(char::is_alphanumeric);
    }
    let is_number = || {
        word.chars()
            .all(|c| c.is_ascii_digit() || ".,%".contains(c))
    };
    let says_something = word.chars().any(char::is_alphanumeric) || !word.is_ascii();
    word.len() > 1 && says_something && !word.starts_with('-') && !is_number()
}

fn unquoted(word: &str) -> &str {
    word.trim_matches('"')
}

/// Splits at blanks outside of quotation marks. Those that a word processor puts become `"`.
fn split(argument: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for character in argument.chars() {
        match character {
            '"' | '“' | '”' | '„' | '«' | '»' => {
                quoted = !quoted;
                words.last_mut().expect("there is one").push('"');
            }
            c if c.is_whitespace() && !quoted => words.push(String::new()),
            c => words.last_mut().expect("there is one").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// One hit, as a person reads it.
fn described(
    engine: &Engine,
    output: &Output,
    hit: &Hit,
    (words, sought): (&PreviewWords, &HighlightedWords),
) -> String {
    let memory = &hit.memory;
    let id = live::shown_name(&engine.live, &memory.stem, &hit.name);
    let (shown, passage) = preview_of_hit(&memory.content, hit.lines.as_ref(), words, 160);
    let flat: Vec<&str> = shown.text.split_whitespace().collect();
    let mut text = summary(output, memory, &id);
    let flat = flat.join(" ");
    if memory.title.is_some() || flat != memory.headline() {
        let shown = output.shown(&flat);
        let lines = match terminal_width().filter(|_| output.is_terminal) {
            Some(width) => wrapped(&shown, width, "    "),
            None => format!("    {shown}"),
        };
        text.push_str(&format!("\n{}", sought.mark(&lines)));
    }
    if let Some(passage) = passage {
        let lines = passage.lines();
        text.push_str(&format!("\n    {DIM}memdir recall {id}:{lines}{DIM:#}"));
    }
    if let Some(mark) = suspicion(memory.title.as_deref(), &shown.text) {
        text.push_str(&format!("\n    {mark}"));
    }
    text
}

/// Returns a line about a text that wants to steer who reads it; nothing about an ordinary one.
fn suspicion(title: Option<&str>, text: &str) -> Option<String> {
    let reasons = core::reasons(title, text);
    let told = || {
        let reasons = reasons.join(", ");
        format!("{REMOVED}suspicious:{REMOVED:#} it {reasons}")
    };
    (!reasons.is_empty()).then(told)
}

/// Returns the share of each part in a hit's score.
fn explained(hit: &Hit, query: &Query) -> Value {
    let parts = hit
        .parts
        .unwrap_or_default()
        .weighed(&query.ranking.weights);
    let parts = parts.into_iter().filter(|(_, value)| *value != 0.0);
    let rounded = |value: f32| json!((f64::from(value) * 1000.0).round() / 1000.0);
    Value::Object(
        parts
            .map(|(name, value)| (name.to_owned(), rounded(value)))
            .collect(),
    )
}

/// Returns what a word of the query was taken for.
fn taken(person: &NamedPerson) -> Value {
    let NamedPerson { word, user, by } = person;
    json!({"word": word, "user": user, "by": by.as_str()})
}

/// Returns the same as a line below a hit.
fn explanation(hit: &Hit, query: &Query) -> String {
    let parts = hit
        .parts
        .unwrap_or_default()
        .weighed(&query.ranking.weights);
    let shown: Vec<String> = parts
        .into_iter()
        .filter(|(_, value)| *value != 0.0)
        .map(|(name, value)| format!("{name} {value:+.2}"))
        .collect();
    let relevance = hit.relevance();
    let relevance = relevance.map_or_else(String::new, |chance| format!("relevance {chance:.2}; "));
    format!(
        "\n    {DIM}{relevance}{:.3} = {}{DIM:#}",
        hit.score,
        shown.join(" ")
    )
}

/// Returns the line that stands for a memory in lists.
fn summary(output: &Output, memory: &Memory, id: &str) -> String {
    let at = memory.timestamp.utc();
    let age = output.age(
        at,
        crate::clock::Clock::now(&crate::clock::SystemClock),
        memory.timestamp.as_str(),
    );
    let id = output.shown_name(id);
    let headline: String = memory.headline().chars().take(80).collect();
    let headline = output.shown(&headline.replace(['\n', '\t'], " "));
    let topics = output.shown(&memory.topics.join(", ").replace(['\n', '\t'], " "));
    let topics = if topics.is_empty() {
        topics
    } else {
        format!("  [{topics}]")
    };
    format!("{ID}{id}{ID:#}  {BOLD}{headline}{BOLD:#}  {DIM}{age}{topics}{DIM:#}")
}

/// Runs `memdir recall`.
pub fn recall(context: &mut Context, command: &Recall) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let recalled = ops::recall(&engine, &command.ids);
    engine.writer.count_uses(&recalled);
    let mut histories = Vec::new();
    if command.verbose {
        histories = history::histories(&engine, &recalled, context)?;
    }
    let outcome = recalled_outcome(&recalled);
    let output = &mut context.output;
    if output.json {
        let reply = core::recall_reply(&engine, recalled, command.max_tokens);
        let mut results = reply.structured["results"].clone();
        for (at, changes) in histories.iter().enumerate() {
            if let Some(changes) = changes {
                results[at]["history"] = history::newest(changes);
            }
        }
        output.json(&results)?;
        return Ok(outcome);
    }
    let mut tokens = command.max_tokens.unwrap_or(usize::MAX);
    for (number, one) in recalled.into_iter().enumerate() {
        match one {
            Recalled::Found { mut memory, .. } => {
                if number > 0 {
                    output.line("")?;
                }
                let lived = histories.get(number).and_then(Option::as_ref);
                let said = lived.map_or_else(Vec::new, |changes| history::life(output, changes));
                show(&engine, output, &mut memory, &mut tokens, &said)?;
            }
            Recalled::Failed { error, .. } => output.error(&Failure::from(error)),
        }
    }
    Ok(outcome)
}

/// Returns the exit of a recall: 2 if a file could not be read, 1 if an id was not found.
fn recalled_outcome(recalled: &[Recalled]) -> Outcome {
    let error = |one: &Recalled| match one {
        Recalled::Found { .. } => None,
        Recalled::Failed { error, .. } => Some(matches!(error, EngineError::Files(_))),
    };
    match recalled.iter().filter_map(error).max() {
        None => Outcome::Done,
        Some(false) => Outcome::Nothing,
        Some(true) => Outcome::Failed,
    }
}

/// Returns a whole memory: its fields, with lines about its `life` after them, then its content as it is.
fn show(
    engine: &Engine,
    output: &mut Output,
    memory: &mut Memory,
    tokens: &mut usize,
    life: &[String],
) -> Result<(), Failure> {
    let id = engine.live.shown_id(&memory.stem);
    let line = summary(output, memory, &id);
    output.line(line)?;
    // The content may be large, and is not one of the lines.
    let mut content = std::mem::take(&mut memory.content);
    for (key, text) in output.fields(&core::memory_view(engine, memory)) {
        if !["id", "title", "topics", "suspicious"].contains(&key.as_str()) {
            output.line(format!("{DIM}{key}: {text}{DIM:#}"))?;
        }
    }
    for line in life {
        output.line(format!("{DIM}{line}{DIM:#}"))?;
    }
    if let Some(mark) = suspicion(memory.title.as_deref(), &content) {
        output.line(mark)?;
    }
    output.line("")?;
    if let Some((end, _)) = content.char_indices().nth(tokens.saturating_mul(4)) {
        content.truncate(end);
        content.push('…');
    }
    *tokens = tokens.saturating_sub(crate::model::estimated_tokens(&content));
    output.bytes(output.shown(&content).as_bytes())?;
    if !content.ends_with('\n') {
        output.line("")?;
    }
    Ok(())
}

/// Runs `memdir list`.
pub fn list(context: &mut Context, command: &List) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let query = Query {
        offset: command.offset,
        ..Query::everything(command.filters.filter(context, &engine)?, command.limit)
    };
    let results = ops::search(&engine, &query)?;
    let output = &mut context.output;
    let found = !results.hits.is_empty();
    if output.json {
        let memories: Vec<Value> = results
            .hits
            .iter()
            .map(|hit| {
                let memory = &hit.memory;
                let shown = preview(&memory.content, &PreviewWords::default(), 160);
                json!({
                    "id": live::shown_name(&engine.live, &memory.stem, &hit.name),
                    "file": engine.live.shown_path(&hit.name),
                    "timestamp": memory.timestamp.as_str(),
                    "agent": memory.agent,
                    "user": memory.user,
                    "topics": memory.topics,
                    "title": memory.title,
                    "namespace": memory.namespace_or_global(),
                    "kind": memory.kind.map(|kind| kind.as_str()),
                    "content_preview": shown.text,
                    "truncated": shown.truncated,
                })
            })
            .collect();
        output.json(
            &json!({"memories": memories, "total": results.total, "offset": command.offset}),
        )?;
    } else {
        for hit in &results.hits {
            let id = live::shown_name(&engine.live, &hit.memory.stem, &hit.name);
            let line = summary(output, &hit.memory, &id);
            output.line(line)?;
        }
        if !found {
            output.note("nothing found");
        }
        let shown = command.offset + results.hits.len();
        if shown < results.total && output.is_terminal {
            output.note(format!(
                "{shown} of {}; more with --offset {shown}",
                results.total
            ));
        }
    }
    output.flush()?;
    afterwards::settle(&engine);
    Ok(Outcome::found(found))
}

/// Runs `memdir grep`.
pub fn grep(context: &mut Context, command: &Grep) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let filter = command.filters.filter(context, &engine)?;
    // A search of texts finds what stands in them, whether or not it still holds.
    let filter = if filter == Filter::default() {
        Filter {
            visibility: crate::model::Visibility::Everything,
            ..filter
        }
    } else {
        filter
    };
    let output = &mut context.output;
    let mut matches: Vec<Value> = Vec::new();
    let mut found = false;
    let mut last_file = String::new();
    let mut failed = Ok(());
    ops::grep(
        &engine,
        &command.pattern,
        command.ignore_case,
        &filter,
        &mut |line| {
            found = true;
            if command.files_with_matches && line.name == last_file {
                return true;
            }
            last_file.clone_from(&line.name);
            let file = engine.live.shown_path(&line.name);
            if output.json {
                let text = String::from_utf8_lossy(&line.text);
                matches.push(if command.files_with_matches {
                    json!({"file": file})
                } else {
                    json!({"file": file, "line": line.number, "text": text})
                });
                return true;
            }
            let written = if command.files_with_matches {
                output.line(file)
            } else if output.is_terminal || output.is_coloured {
                let text = String::from_utf8_lossy(&line.text);
                let (start, end) = line.matched;
                let shown = match (text.get(..start), text.get(start..end), text.get(end..)) {
                    (Some(before), Some(inside), Some(after)) => format!(
                        "{}{MATCH}{}{MATCH:#}{}",
                        output.shown(before),
                        output.shown(inside),
                        output.shown(after)
                    ),
                    _ => output.shown(&text),
                };
                output.line(format!(
                    "{ID}{file}{ID:#}:{DIM}{}{DIM:#}:{shown}",
                    line.number
                ))
            } else {
                output
                    .bytes(format!("{file}:{}:", line.number).as_bytes())
                    .and_then(|()| output.bytes(&line.text))
                    .and_then(|()| output.bytes(b"\n"))
            };
            failed = written;
            failed.is_ok() && !output.reader_is_gone()
        },
    )?;
    failed?;
    if output.json {
        output.json(&json!({"matches": matches}))?;
    }
    output.flush()?;
    afterwards::settle(&engine);
    Ok(Outcome::found(found))
}

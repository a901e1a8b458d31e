//! Commands that write memories: remember, update, forget, restore.

use serde_json::{Value, json};

use crate::cli::args::change::Update;
use crate::cli::args::remember::Remember;
use crate::cli::args::shared::Ids;
use crate::cli::memories::when::Direction;
use crate::cli::memories::{fields, when};
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::{DIM, ID, visible};
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::cli::wiring::each::each;
use crate::dialect::core;
use crate::engine::{
    Edited, Engine, EngineError, Moved, Remembered, Stored, Suggestion, WriteOutcome, WritePolicy,
    live, ops,
};
use crate::model::{NewMemory, Timestamp};

/// Runs `memdir remember`.
pub fn remember(context: &mut Context, command: Remember) -> Result<Outcome, Failure> {
    let engine = context.engine_for_writing()?;
    let text = match &command.content {
        Some(content) => Some(content.clone()),
        None if command.text.is_empty() => None,
        None => Some(command.text.join(" ")),
    };
    let content = match text {
        Some(text) if text == "-" => fields::standard_input()?,
        Some(text) => text,
        _ if std::io::IsTerminal::is_terminal(&std::io::stdin()) => {
            return Err(Failure::new("there is nothing to remember")
                .hint("Give the text: memdir remember --topics a,b 'TEXT', or pipe it in."));
        }
        _ => fields::standard_input()?,
    };
    if content.trim().is_empty() {
        return Err(Failure::new(
            "there is nothing to remember: the text is empty",
        ));
    }
    let timestamp = match &command.timestamp {
        None => None,
        Some(text) => Some(match Timestamp::parse(text) {
            Some(timestamp) => timestamp,
            None => Timestamp::from_utc(when::moment(
                "--timestamp",
                text,
                context.now(),
                Direction::Past,
            )?),
        }),
    };
    let mut memory = NewMemory {
        timestamp,
        agent: command
            .agent
            .unwrap_or_else(|| context.config.agent.value.clone()),
        user: command
            .user
            .unwrap_or_else(|| context.config.user.value.clone()),
        topics: command
            .topics
            .as_deref()
            .map(fields::list)
            .unwrap_or_default(),
        content,
        ..NewMemory::default()
    };
    command.fields.fill(context, &engine, &mut memory)?;
    let policy = engine.writer.write_policy().clone();
    let policy = WritePolicy {
        duplicates: command.duplicates.unwrap_or(policy.duplicates),
        force: command.force,
        broad: command.broad,
        ..policy
    };
    let stored = ops::remember_as(&engine, memory, command.idempotency_key.as_deref(), &policy)?;
    if context.output.json {
        let view = core::remember_view(&engine, &stored);
        context.output.json(&view)?;
    }
    let outcome = match &stored {
        Stored::Written(remembered) => {
            tell_written(context, &engine, remembered)?;
            Outcome::Done
        }
        Stored::Suggested(suggestions) => {
            tell_suggested(context, &engine, suggestions)?;
            Outcome::Nothing
        }
    };
    afterwards::after_writing(context, &engine)?;
    Ok(outcome)
}

/// Returns the id for scripts; to people, what became of other memories.
fn tell_written(
    context: &mut Context,
    engine: &Engine,
    remembered: &Remembered,
) -> Result<(), Failure> {
    let output = &mut context.output;
    let id = engine.live.shown_id(&remembered.stem);
    if !output.json {
        output.line(format!("{ID}{id}{ID:#}"))?;
        output.flush()?;
    }
    match &remembered.became {
        WriteOutcome::Added | WriteOutcome::Repeated if output.is_terminal && !output.json => {
            let name = engine.live.new_name(&remembered.stem);
            let path = engine.live.files_folder().join(name);
            output.note(format!("remembered in {}", path.display()));
        }
        WriteOutcome::Added | WriteOutcome::Repeated => {}
        WriteOutcome::Known if remembered.changed.is_empty() => {
            output.note(format!("{id} says the same; nothing new was stored"));
        }
        WriteOutcome::Known => output.note(format!(
            "{id} says the same; nothing new was stored, but it got what is new: {}",
            remembered.changed.join(", ")
        )),
        WriteOutcome::Updated { earlier: None } => {
            output.note(format!("{id} has this title and text; nothing was changed"));
        }
        WriteOutcome::Updated {
            earlier: Some(earlier),
        } => output.note(format!(
            "{id} has this title and was updated; its earlier text is {} in the archive",
            engine.live.shown_id(earlier)
        )),
    }
    if remembered.lives_on {
        output.note(format!("{id} lives longer than that, and goes on so"));
    }
    for near in &remembered.near {
        let (other, reasons) = (engine.live.shown_id(&near.stem), reasons(near));
        output.note(format!(
            "linked with {other}, which is nearly the same: {reasons}"
        ));
    }
    for related in &remembered.related {
        let related = engine.live.shown_id(related);
        output.note(format!("linked with {related}, which has topics of it"));
    }
    if let Some(same) = &remembered.same_text {
        let same = engine.live.shown_id(same);
        output.note(format!(
            "{same} has the same text; `memdir forget {id}` takes this one away again"
        ));
    }
    for one in &remembered.contradicted {
        let other = engine.live.shown_id(&one.stem);
        let (headline, evidence) = (&one.headline, &one.evidence);
        let shown = visible(&format!("{headline}: {evidence}"));
        output.note(format!("hint: it may contradict {other}, {shown}"));
        output.note(format!(
            "`memdir resolve {id} {other}` says that it replaces that one"
        ));
    }
    output.warnings(&remembered.screened);
    Ok(())
}

fn tell_suggested(
    context: &mut Context,
    engine: &Engine,
    suggestions: &[Suggestion],
) -> Result<(), Failure> {
    let output = &mut context.output;
    if output.json {
        return Ok(());
    }
    for one in suggestions {
        let (id, action) = (engine.live.shown_id(&one.stem), one.action.word());
        let (headline, reasons) = (output.shown(&one.headline), reasons(one));
        output.line(format!(
            "{ID}{id}{ID:#}  {action}  {headline}  {DIM}({reasons}){DIM:#}"
        ))?;
    }
    output.note(
        "nothing was stored: --supersedes ID corrects one, `memdir update ID` changes it, --force stores it beside them",
    );
    Ok(())
}

fn reasons(suggestion: &Suggestion) -> String {
    let reasons: Vec<String> = suggestion.reasons.iter().map(ToString::to_string).collect();
    reasons.join(", ")
}

/// Runs `memdir update`.
pub fn update(context: &mut Context, command: Update) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let mut change = command.fields.change(context, &engine)?;
    change.content = match command.content.as_deref() {
        Some("-") => Some(fields::standard_input()?),
        other => other.map(str::to_owned),
    };
    if change
        .content
        .as_ref()
        .is_some_and(|content| content.trim().is_empty())
    {
        return Err(
            Failure::new("the new content is empty").hint("`memdir forget ID` takes a memory out.")
        );
    }
    let topics = command.topics.as_deref().map(fields::topics);
    let topics = topics.transpose()?;
    if let Some(fields::Topics::All(topics)) = &topics {
        change.topics = Some(topics.clone());
    }
    change.agent = command.agent;
    change.user = command.user;
    let (added, removed) = match topics {
        Some(fields::Topics::Changed { added, removed }) => (added, removed),
        _ => Default::default(),
    };
    let entries = command.fields.entries()?;
    let is_whole = added.is_empty() && removed.is_empty() && entries.is_empty();
    if is_whole && change == crate::model::Change::default() {
        return Err(Failure::new("there is nothing to change")
            .hint("Name a field, for example --title 'New title'; an empty value removes it."));
    }
    let parts = ops::Parts {
        added,
        removed,
        entries,
    };
    let edited = ops::update_parts(&engine, &command.id, &change, &parts)?;
    let id = engine.live.shown_id(&edited.memory.stem);
    // The end of a life that was set follows from the tier, the age and the uses, so it is shown.
    let (state, _) = live::state_of(&engine.live, &edited.memory);
    let is_life_set = !change.tier.is_keep() || !change.expires.is_keep();
    let tier = state.tier.map(|tier| tier.as_str());
    let end = state
        .expires
        .map(|end| Timestamp::from_utc(end).as_str().to_owned());
    let output = &mut context.output;
    if output.json {
        let mut document = edited_json(&edited, &id);
        if is_life_set {
            document["tier"] = json!(tier);
            document["expires"] = json!(end);
        }
        output.json(&document)?;
    } else {
        let what = if edited.changed {
            "updated"
        } else {
            "unchanged"
        };
        output.line(format!("{what} {ID}{id}{ID:#}"))?;
        if is_life_set {
            let tier = tier.unwrap_or("none");
            let end = end.map_or_else(|| "does not end".to_owned(), |end| format!("ends at {end}"));
            output.line(format!("its tier is {tier}, and it {end}"))?;
        }
    }
    context.output.warnings(&edited.screened);
    afterwards::after_writing(context, &engine)?;
    Ok(Outcome::Done)
}

/// Returns the JSON of a memory that was changed.
pub fn edited_json(edited: &Edited, id: &str) -> Value {
    let stem = edited.memory.stem.as_str();
    let mut document = json!({"id": id, "stem": stem, "changed": edited.changed});
    let warnings = edited.screened.warnings();
    if !warnings.is_empty() {
        document["warnings"] = json!(warnings);
    }
    document
}

/// Runs `memdir restore`.
pub fn restore(context: &mut Context, command: &Ids) -> Result<Outcome, Failure> {
    let now = context.now();
    each(context, &command.ids, "restored", |engine, id| {
        let (moved, word) = match (ops::restore(engine, id), id.rsplit_once('@')) {
            (Err(EngineError::NotFound(_)), Some((id, revision))) => {
                let revision = when::revision(revision, now);
                let restored = ops::restore_as_of(engine, id, &revision)?;
                let word = match restored.changed {
                    true => "restored",
                    false => "unchanged",
                };
                let (stem, name) = (restored.stem, restored.name);
                (Moved { stem, name }, word)
            }
            (Err(EngineError::NotFound(_)), None) if ops::headline(engine, id).is_some() => {
                return Err(EngineError::Invalid(format!(
                    "`{id}` lives: it is not in the archive. `memdir restore {id}@REVISION` brings an older version back, `memdir log {id}` shows them"
                )));
            }
            (other, _) => (other?, "restored"),
        };
        let line = format!("{word} {ID}{}{ID:#}", moved.stem.short());
        Ok((moved_json(&moved), Some(line)))
    })
}

/// Moves each memory; one that cannot be moved does not stop the others.
pub fn relocate(
    context: &mut Context,
    ids: &[String],
    done: &str,
    relocate: impl Fn(&Engine, &str) -> Result<Moved, EngineError>,
) -> Result<Outcome, Failure> {
    each(context, ids, done, |engine, id| {
        let moved = relocate(engine, id)?;
        let line = format!("{done} {ID}{}{ID:#}", moved.stem.short());
        Ok((moved_json(&moved), Some(line)))
    })
}

/// Returns the JSON of a memory that was moved.
pub fn moved_json(moved: &Moved) -> Value {
    json!({"id": moved.stem.short(), "stem": moved.stem.as_str(), "file": moved.name})
}

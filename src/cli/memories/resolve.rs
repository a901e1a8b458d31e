//! The command that decides between memories that contradict each other.

use serde_json::{Value, json};

use crate::cli::args::change::Resolve;
use crate::cli::memories::history;
use crate::cli::terminal::difference;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::keys::Keys;
use crate::cli::terminal::output::{ADDED, BOLD, DIM, ID, Output, REMOVED};
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::engine::{
    Conflict, Contender, Engine, EngineError, PastChange, Unmarked, Unmerged, ops,
};
use crate::git::compare_texts;
use crate::model::{Memory, Stem};

/// Runs `memdir resolve`.
pub fn resolve(context: &mut Context, command: &Resolve) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    if let (Some(winner), Some(loser)) = (&command.id, &command.loser) {
        return decide(context, &engine, winner, loser);
    }
    if let Some(id) = &command.id
        && let Some(done) = ops::take_out_markers(&engine, id)?
    {
        return tell_unmarked(context, &engine, &done);
    }
    let resolved = match (&command.id, &command.keep, command.both) {
        (Some(id), Some(keep), _) => ops::keep_one(&engine, id, keep)?,
        (Some(id), None, true) => ops::keep_both(&engine, id, None)?,
        (Some(id), None, false) => {
            let pairs = ops::conflicts_of(&engine, id)?;
            return show_or_ask(context, &engine, &pairs, &[], WHOLE);
        }
        (None, ..) => {
            let pairs = [ops::conflicts(&engine)?, ops::title_conflicts(&engine)?];
            return show_or_ask(context, &engine, &pairs, &ops::unmerged(&engine)?, BRIEF);
        }
    };
    let output = &mut context.output;
    if output.json {
        let kept: Vec<Value> = resolved.kept.iter().map(named).collect();
        let forgotten = resolved.forgotten.as_ref().map(named);
        output.json(&json!({"kept": kept, "forgotten": forgotten}))?;
    } else {
        for stem in &resolved.kept {
            output.line(format!("kept {ID}{}{ID:#}", stem.short()))?;
        }
        if let Some(stem) = &resolved.forgotten {
            output.line(format!("forgotten {ID}{}{ID:#}", stem.short()))?;
        }
    }
    afterwards::after_writing(context, &engine)?;
    Ok(Outcome::Done)
}

/// Says that one memory holds, and that it replaces the other.
fn decide(
    context: &mut Context,
    engine: &Engine,
    winner: &str,
    loser: &str,
) -> Result<Outcome, Failure> {
    let decided = ops::decide_between(engine, winner, loser)?;
    let output = &mut context.output;
    if output.json {
        output.json(&json!({
            "kept": [named(&decided.winner)],
            "superseded": named(&decided.loser),
            "unlinked": decided.unlinked,
            "forgotten": null,
        }))?;
    } else {
        let (winner, loser) = (
            engine.live.shown_id(&decided.winner),
            engine.live.shown_id(&decided.loser),
        );
        let already = if decided.is_new { "" } else { " already" };
        output.line(format!(
            "{ID}{winner}{ID:#} supersedes {ID}{loser}{ID:#}{already}"
        ))?;
        if decided.unlinked > 0 {
            output.line("the link that says they contradict is gone")?;
        }
    }
    afterwards::after_writing(context, engine)?;
    Ok(Outcome::Done)
}

/// Tells what became of a memory in which git had left its conflict markers.
fn tell_unmarked(
    context: &mut Context,
    engine: &Engine,
    done: &Unmarked,
) -> Result<Outcome, Failure> {
    let output = &mut context.output;
    let id = done.stem.short();
    if output.json {
        let aside = done.aside.as_ref().map(named);
        output.json(&json!({"merged": named(&done.stem), "aside": aside}))?;
    } else if let Some(aside) = &done.aside {
        let aside = aside.short();
        output.line(format!(
            "the sides of {ID}{id}{ID:#} contradict: one of them is {ID}{aside}{ID:#} now"
        ))?;
        output.line(DECIDE)?;
    } else {
        output.line(format!("merged both sides of {ID}{id}{ID:#}"))?;
    }
    afterwards::after_writing(context, engine)?;
    Ok(Outcome::Done)
}

const DECIDE: &str = "decide: memdir resolve ID --keep ID, or memdir resolve ID --both";
const DECIDE_TITLE: &str =
    "decide: memdir resolve ID --keep ID, or memdir update ID --title ANOTHER-TITLE";

fn named(stem: &Stem) -> Value {
    json!({"id": stem.short(), "stem": stem.as_str()})
}

/// Number of equal lines around each difference: of several pairs, and of one that is named.
const BRIEF: u32 = 1;
const WHOLE: u32 = u32::MAX;

const KEYS: &str = "1: the first holds (---)  2: the second holds (+++)  b: both  s: skip  q: quit";
const KEYS_TITLE: &str = "1: keep the first (---)  2: keep the second (+++)  s: skip  q: quit";

/// Asks about each pair where somebody sits at a terminal, and shows them all elsewhere.
fn show_or_ask(
    context: &mut Context,
    engine: &Engine,
    pairs: &[Vec<Conflict>; 2],
    unmerged: &[Unmerged],
    context_lines: u32,
) -> Result<Outcome, Failure> {
    let is_pair = pairs.iter().any(|pairs| !pairs.is_empty());
    if !is_pair || !context.output.is_asked() {
        return show(context, engine, pairs, unmerged, context_lines);
    }
    history::commit_first(engine);
    let is_changed = ask(context, engine, pairs, context_lines)?;
    show_unmerged(&mut context.output, engine, unmerged)?;
    match is_changed {
        true => afterwards::after_writing(context, engine)?,
        false => context.output.flush()?,
    }
    Ok(Outcome::Done)
}

/// Asks about each pair; one key decides. Returns whether something was decided before the end.
fn ask(
    context: &mut Context,
    engine: &Engine,
    pairs: &[Vec<Conflict>; 2],
    context_lines: u32,
) -> Result<bool, Failure> {
    let mut is_changed = false;
    let mut keys = Keys::take()?;
    for (pairs, question, is_title) in [(&pairs[0], KEYS, false), (&pairs[1], KEYS_TITLE, true)] {
        for Conflict { pair } in pairs {
            let output = &mut context.output;
            show_pair(output, engine, pair, context_lines)?;
            let [first, second] = pair.each_ref().map(|side| &side.memory.stem);
            let decided = loop {
                output.line(question)?;
                output.flush()?;
                break match keys.next()? {
                    '1' => prefer(engine, first, second, is_title),
                    '2' => prefer(engine, second, first, is_title),
                    'b' if !is_title => {
                        ops::keep_both(engine, first.as_str(), Some(second.as_str()))
                            .map(|_| "kept both".to_owned())
                    }
                    's' | '\n' | ' ' => Ok(String::new()),
                    'q' => return Ok(is_changed),
                    _ => continue,
                };
            };
            match decided {
                Ok(said) => {
                    is_changed |= !said.is_empty();
                    output.line(said)?;
                }
                // A pair before it may have taken one of the two.
                Err(error) => output.note(error.to_string()),
            }
        }
    }
    Ok(is_changed)
}

/// Has one memory of a pair hold: it supersedes the other, or where both have one title, the other is forgotten.
/// Returns what was done in words.
fn prefer(
    engine: &Engine,
    holds: &Stem,
    other: &Stem,
    is_title: bool,
) -> Result<String, EngineError> {
    let [holds_id, other_id] = [holds, other].map(|stem| engine.live.shown_id(stem));
    if is_title {
        ops::keep_one(engine, other.as_str(), holds.as_str())?;
        return Ok(format!(
            "kept {ID}{holds_id}{ID:#}, forgotten {ID}{other_id}{ID:#}"
        ));
    }
    ops::decide_between(engine, holds.as_str(), other.as_str())?;
    Ok(format!(
        "{ID}{holds_id}{ID:#} supersedes {ID}{other_id}{ID:#}"
    ))
}

/// Names the memories in which git left its conflict markers.
fn show_unmerged(
    output: &mut Output,
    engine: &Engine,
    unmerged: &[Unmerged],
) -> Result<(), Failure> {
    for Unmerged { stem, line, .. } in unmerged {
        let id = engine.live.shown_id(stem);
        output.line(format!(
            "{ID}{id}{ID:#}  has git's conflict markers on line {line}: memdir resolve {id}"
        ))?;
    }
    Ok(())
}

fn show(
    context: &mut Context,
    engine: &Engine,
    [conflicts, same_title]: &[Vec<Conflict>; 2],
    unmerged: &[Unmerged],
    context_lines: u32,
) -> Result<Outcome, Failure> {
    history::commit_first(engine);
    let output = &mut context.output;
    if output.json {
        let pairs = |pairs: &[Conflict]| -> Result<Vec<Value>, Failure> {
            let sides = |Conflict { pair }: &Conflict| {
                pair.iter().map(|side| as_json(engine, side)).collect()
            };
            pairs.iter().map(sides).collect()
        };
        let (conflicts, same_title) = (pairs(conflicts)?, pairs(same_title)?);
        let unmerged: Vec<Value> = unmerged
            .iter()
            .map(|one| {
                json!({
                    "id": engine.live.shown_id(&one.stem),
                    "stem": one.stem.as_str(),
                    "file": engine.live.shown_path(&one.name),
                    "line": one.line,
                })
            })
            .collect();
        output.json(&json!({
            "conflicts": conflicts,
            "same_title": same_title,
            "unmerged": unmerged,
        }))?;
    } else if conflicts.is_empty() && same_title.is_empty() && unmerged.is_empty() {
        output.line("no memories contradict each other")?;
    } else {
        for (pairs, decide) in [(conflicts, DECIDE), (same_title, DECIDE_TITLE)] {
            for Conflict { pair } in pairs {
                show_pair(output, engine, pair, context_lines)?;
            }
            if !pairs.is_empty() {
                output.line(decide)?;
            }
        }
        show_unmerged(output, engine, unmerged)?;
    }
    output.flush()?;
    afterwards::settle(engine);
    Ok(Outcome::Done)
}

/// Two memories that contradict each other, or have one title: who wrote each and when, and how their texts differ.
fn show_pair(
    output: &mut Output,
    engine: &Engine,
    pair: &[Contender; 2],
    context_lines: u32,
) -> Result<(), Failure> {
    for (side, sign) in pair.iter().zip(["-", "+"]) {
        let memory = &side.memory;
        let id = engine.live.shown_id(&memory.stem);
        let headline = output.shown(memory.headline());
        let paint = if sign == "-" { REMOVED } else { ADDED };
        output.line(format!(
            "{paint}{sign}{sign}{sign}{paint:#} {ID}{id}{ID:#}  {BOLD}{headline}{BOLD:#}"
        ))?;
        let [agent, user, at] =
            [&memory.agent, &memory.user, memory.timestamp.as_str()].map(|text| output.shown(text));
        let changes = changes_of(engine, side)?;
        let mut said = vec![format!("dated: {at} by {agent}, {user}")];
        said.extend(history::life(output, &changes));
        for line in said {
            output.line(format!("    {DIM}{line}{DIM:#}"))?;
        }
    }
    let [before, after] = compared_texts(pair);
    let lines = compare_texts(before.as_bytes(), after.as_bytes(), context_lines)
        .map_err(EngineError::from)?;
    if lines.is_empty() {
        output.line("the texts are the same")?;
    }
    difference::show(output, &lines)?;
    output.line("")?;
    Ok(())
}

/// Returns the texts to compare of two memories: the fields that people write and that differ, and the contents.
fn compared_texts([one, other]: &[Contender; 2]) -> [String; 2] {
    let fields = |memory: &Memory| {
        [
            ("title", memory.title.clone().unwrap_or_default()),
            ("topics", memory.topics.join(", ")),
        ]
    };
    let mut texts = [String::new(), String::new()];
    for ((name, before), (_, after)) in fields(&one.memory).into_iter().zip(fields(&other.memory)) {
        if before != after {
            texts[0].push_str(&format!("{name}: {before}\n"));
            texts[1].push_str(&format!("{name}: {after}\n"));
        }
    }
    for (text, side) in texts.iter_mut().zip([one, other]) {
        text.push_str(side.memory.content.trim_end());
        text.push('\n');
    }
    texts
}

/// Returns the changes of a memory, newest first; none in a store without history.
fn changes_of(engine: &Engine, side: &Contender) -> Result<Vec<PastChange>, Failure> {
    let id = history::id_in_history(&side.memory.stem, &side.name);
    match ops::log(engine, Some(id), usize::MAX) {
        Ok(log) => Ok(log.changes),
        Err(EngineError::Past(_)) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

fn as_json(engine: &Engine, side: &Contender) -> Result<Value, Failure> {
    let memory = &side.memory;
    let changes = changes_of(engine, side)?;
    Ok(json!({
        "id": engine.live.shown_id(&memory.stem),
        "stem": memory.stem.as_str(),
        "file": engine.live.shown_path(&side.name),
        "headline": memory.headline(),
        "timestamp": memory.timestamp.as_str(),
        "agent": memory.agent,
        "user": memory.user,
        "content": memory.content,
        "history": history::newest(&changes),
    }))
}

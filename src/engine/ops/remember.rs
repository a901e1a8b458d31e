//! Stores a new memory.

use crate::engine::error::EngineError;
use crate::engine::live::{names, rows};
use crate::engine::ops::remembered::{Remembered, WriteOutcome};
use crate::engine::ops::update::{check_details, superseded_by};
use crate::engine::ops::{duplicates, hints, update};
use crate::engine::parts::Engine;
use crate::engine::texts::{parse, stem_of};
use crate::engine::write::title_lock::TitleLock;
use crate::engine::write::{new, title_lock};
use crate::files::{Lock, Place};
use crate::lifecycle::{
    Decision, DuplicatePolicy, IDEMPOTENCY_KEY as KEY, Suggestion, WritePolicy,
};
use crate::model::{
    Filter, Memory, MetaValue, NewMemory, Stem, Visibility, is_global_namespace,
    normalized_namespace,
};

/// Result of storing a memory.
#[derive(Debug, Clone, PartialEq)]
pub enum Stored {
    /// The memory was written, or is there already.
    Written(Box<Remembered>),
    /// Existing memories that the new one may equal; it was not written.
    Suggested(Vec<Suggestion>),
}

impl Stored {
    fn written(remembered: Remembered) -> Stored {
        Stored::Written(Box::new(remembered))
    }
}

/// Normalizes a text for comparison: single blanks, lower case.
fn words_of(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// Writes a memory; when this returns, it is synced to the disk.
///
/// With an idempotency `key`, a second call with the same key and user writes nothing and
/// returns the memory of the first one. Memories named in `supersedes` are marked.
///
/// # Errors
///
/// Fails if the memory breaks the format's limits, if a superseded memory does not exist, or
/// if any step of writing fails; then nothing was written.
pub fn remember(
    engine: &Engine,
    memory: NewMemory,
    key: Option<&str>,
) -> Result<Remembered, EngineError> {
    match remember_as(engine, memory, key, &WritePolicy::plain())? {
        Stored::Written(remembered) => Ok(*remembered),
        Stored::Suggested(_) => unreachable!("suggestions were not asked for"),
    }
}

/// As [`remember`], and applies `policy` to memories that are duplicates, related or
/// contradicted. A memory that supersedes another one is always stored, and a possible
/// contradiction never prevents a write.
///
/// # Errors
///
/// As for [`remember`], and if the store cannot be searched where the policy needs it.
pub fn remember_as(
    engine: &Engine,
    mut memory: NewMemory,
    key: Option<&str>,
    policy: &WritePolicy,
) -> Result<Stored, EngineError> {
    engine.writer.check_writable()?;
    check_new(engine, &mut memory)?;
    let superseded = resolve_superseded(engine, &mut memory)?;
    // Before a policy takes what this call wrote itself for another's.
    if let Some((stem, screened)) = new::written_before(&engine.writer, &memory, "remember")? {
        mark_superseded(engine, &superseded, &stem);
        let known = Remembered {
            superseded,
            screened,
            ..Remembered::of(stem, WriteOutcome::Added)
        };
        return Ok(Stored::written(known));
    }
    let _same_key = match claim_key(engine, &mut memory, key)? {
        Claim::Known(stem) => {
            let known = Remembered::of(stem, WriteOutcome::Repeated);
            return Ok(Stored::written(known));
        }
        Claim::New(lock) => lock,
    };
    let _same_name = match claim_name(engine, &memory, policy)? {
        Claim::Known(stem) => return renewed(engine, &stem, memory, policy),
        Claim::New(lock) => lock,
    };
    let _same_title = claim_title(engine, &memory, policy)?;
    let _same_text = claim_text(engine, &memory, policy)?;
    let near = match duplicates::decide_on(engine, &memory, policy)? {
        Decision::Add { near } => near,
        Decision::Suggest(suggestions) => return Ok(Stored::Suggested(suggestions)),
        Decision::Known(stem) => match duplicates::enrich(engine, &stem, &memory)? {
            Some(known) => return Ok(Stored::written(known)),
            None => Vec::new(),
        },
        Decision::Update(stem) => return renewed(engine, &stem, memory, policy),
    };
    let near_stems: Vec<Stem> = near.iter().map(|one| one.stem.clone()).collect();
    let related = duplicates::relate(engine, &mut memory, &near_stems, policy)?;
    let (stem, screened) = new::write_new(&engine.writer, &memory, "remember")?;
    mark_superseded(engine, &superseded, &stem);
    let written = Memory {
        stem: stem.clone(),
        ..duplicates::as_memory(engine, &memory)
    };
    let noticed = hints::notice(engine, &engine.live.new_name(&stem), &written, policy);
    Ok(Stored::written(Remembered {
        superseded,
        near,
        same_text: noticed.same_text,
        contradicted: noticed.contradicted,
        related,
        screened,
        ..Remembered::of(stem, WriteOutcome::Added)
    }))
}

/// Result of claiming an idempotency key or a name.
enum Claim {
    /// The memory that has it already.
    Known(Stem),
    /// The key or name is free, and stays so while the lock is held. `None`: there is no key or name.
    New(Option<Lock>),
}

/// Adds the idempotency key to `memory`. Of two calls with one key only one writes.
fn claim_key(
    engine: &Engine,
    memory: &mut NewMemory,
    key: Option<&str>,
) -> Result<Claim, EngineError> {
    let Some(key) = key else {
        return Ok(Claim::New(None));
    };
    let stated = (KEY.to_owned(), MetaValue::Text(key.to_owned()));
    memory.metadata.push(stated);
    let lock = title_lock::lock_shard(&engine.writer, "key", key, "the idempotency key")?;
    Ok(match written_with(engine, key, &memory.user)? {
        Some(stem) => Claim::Known(stem),
        None => Claim::New(Some(lock)),
    })
}

/// Claims the name that the policy reads from the metadata: of two memories with one name only one is new.
fn claim_name(
    engine: &Engine,
    memory: &NewMemory,
    policy: &WritePolicy,
) -> Result<Claim, EngineError> {
    let names = names(memory, policy);
    if names.is_empty() {
        return Ok(Claim::New(None));
    }
    let name: Vec<&str> = names.iter().map(|(_, name)| *name).collect();
    let lock = title_lock::lock_shard(&engine.writer, "name", &name.join("\0"), "the name")?;
    let known = duplicates::called_by(engine, &names, memory.namespace.as_deref())?;
    Ok(known.map_or(Claim::New(Some(lock)), Claim::Known))
}

/// Locks the title until the memory is written, if the policy compares titles.
fn claim_title(
    engine: &Engine,
    memory: &NewMemory,
    policy: &WritePolicy,
) -> Result<Option<TitleLock>, EngineError> {
    match (&memory.title, policy.duplicates) {
        (Some(title), DuplicatePolicy::SameTitle) => {
            Ok(Some(title_lock::hold_title(&engine.writer, title)?))
        }
        _ => Ok(None),
    }
}

/// Locks the text until the memory is written, if the policy compares texts.
fn claim_text(
    engine: &Engine,
    memory: &NewMemory,
    policy: &WritePolicy,
) -> Result<Option<Lock>, EngineError> {
    match policy.duplicates {
        DuplicatePolicy::Similar | DuplicatePolicy::Suggest => {
            let words = words_of(&memory.content);
            let lock = title_lock::lock_shard(&engine.writer, "text", &words, "the text")?;
            Ok(Some(lock))
        }
        DuplicatePolicy::Allow | DuplicatePolicy::SameTitle => Ok(None),
    }
}

/// Updates the memory `stem` with the new one.
fn renewed(
    engine: &Engine,
    stem: &Stem,
    memory: NewMemory,
    policy: &WritePolicy,
) -> Result<Stored, EngineError> {
    let renewed = duplicates::renew(engine, stem, memory, policy)?;
    Ok(Stored::written(renewed))
}

/// Resolves the memories that `memory` supersedes, and replaces their ids in it by stems.
fn resolve_superseded(engine: &Engine, memory: &mut NewMemory) -> Result<Vec<Stem>, EngineError> {
    let ids = memory.supersedes.iter();
    let stems = ids.map(|id| names::resolve(&engine.live, id).map(|(stem, _)| stem));
    let superseded: Vec<Stem> = stems.collect::<Result<_, _>>()?;
    let stems = superseded.iter().map(|stem| stem.as_str().to_owned());
    memory.supersedes = stems.collect();
    Ok(superseded)
}

/// Marks the memories that the new one, `stem`, supersedes. The new one names them itself; the marks
/// are for readers.
fn mark_superseded(engine: &Engine, superseded: &[Stem], stem: &Stem) {
    for old in superseded {
        let mark = superseded_by(stem);
        if let Err(error) = update::update_as(engine, "supersede", old.as_str(), &mark) {
            tracing::warn!("cannot mark {old} as superseded by {stem}: {error}");
        }
    }
}

/// Checks the values of a memory, and settles its namespace.
pub(in crate::engine) fn check_new(
    engine: &Engine,
    memory: &mut NewMemory,
) -> Result<(), EngineError> {
    check_details(memory.kind, &memory.metadata)?;
    memory.namespace = match memory.namespace.as_deref() {
        None => engine.live.namespace(),
        Some(text) => Some(normalized_namespace(text).into_owned()),
    };
    // A memory of no project states none.
    memory.namespace = (memory.namespace.take()).filter(|text| !is_global_namespace(text));
    Ok(())
}

fn written_with(engine: &Engine, key: &str, user: &str) -> Result<Option<Stem>, EngineError> {
    let filter = Filter {
        equals: vec![
            (format!("metadata.{KEY}"), key.to_owned()),
            ("user".to_owned(), user.to_owned()),
        ],
        visibility: Visibility::Everything,
        ..Filter::default()
    };
    let found = rows::names_where(&engine.live, &filter)?;
    // The index folds case and cuts long values; what is written decides.
    let is_it = |name: &str| {
        let version = engine.live.store.reader(Place::Files).read(name, u64::MAX);
        version.is_ok_and(|version| {
            let memory = parse(&version.entry, &version.bytes);
            let value = MetaValue::Text(key.to_owned());
            let holds = |known: &MetaValue| match known {
                MetaValue::List(keys) => keys.contains(&value),
                one => *one == value,
            };
            memory.user == user && memory.metadata.iter().any(|(k, v)| k == KEY && holds(v))
        })
    };
    let mut names = found.into_iter();
    Ok(names.find(|name| is_it(name)).map(|name| stem_of(&name)))
}

/// Returns the name of `memory` by the keys of the policy; empty if it lacks one of them.
fn names<'a>(memory: &'a NewMemory, policy: &'a WritePolicy) -> Vec<(&'a str, &'a str)> {
    let text = |key: &'a String| {
        let mut metadata = memory.metadata.iter();
        metadata.find_map(|(known, value)| match value {
            MetaValue::Text(text) if known == key => Some((key.as_str(), text.as_str())),
            _ => None,
        })
    };
    let names = policy.named_by.iter().map(text);
    names.collect::<Option<_>>().unwrap_or_default()
}

//! Stores many memories at once: one lock for each title's shard, one sync of each folder, one line
//! in the journal.
//!
//! What is decided about each is what `remember` decides. Only writing waits, so that the store is
//! looked at once, until all are decided, or until one needs to see what another one of them became.

use std::collections::HashSet;

use crate::engine::error::EngineError;
use crate::engine::ops::duplicates::{Earlier, Renewal};
use crate::engine::ops::{duplicates, remember};
use crate::engine::parts::Engine;
use crate::engine::texts::stem_of;
use crate::engine::write::{new, title_lock};
use crate::files::{FilesError, Lock, Place, Replaced, Version};
use crate::lifecycle::{Decision, DuplicatePolicy, WritePolicy};
use crate::model::{NewMemory, Stem};

/// What became of each memory of a batch; `None` while it waits to be written.
type Outcome = Option<Result<Stem, EngineError>>;

/// What waits to be written, each with its place among the memories that were given.
#[derive(Default)]
struct Batch {
    new: Vec<(usize, NewFile)>,
    renewed: Vec<(usize, Renewed)>,
    /// By user, namespace and title: whoever has one of these has to see the file.
    titles: HashSet<[String; 3]>,
}

struct NewFile {
    memory: NewMemory,
    stem: Stem,
    name: String,
    bytes: Vec<u8>,
}

struct Renewed {
    stem: Stem,
    new: NewMemory,
    renewal: Renewal,
}

/// Stores `memories`, in this order, each as [`remember_as`] does with
/// [`DuplicatePolicy::SameTitle`], and returns what became of each. None of them may supersede
/// another memory, and none is looked at for what it contradicts. When this returns, what was
/// stored survives the end of the process and of the power.
///
/// # Errors
///
/// Fails if nothing can be written at all; what concerns one memory is said in its place.
pub fn remember_many(
    engine: &Engine,
    memories: Vec<NewMemory>,
    policy: &WritePolicy,
) -> Result<Vec<Result<Stem, EngineError>>, EngineError> {
    engine.writer.check_writable()?;
    engine.writer.create()?;
    let policy = WritePolicy {
        duplicates: DuplicatePolicy::SameTitle,
        contradictions: false,
        names_same_text: false,
        ..policy.clone()
    };
    let titles = memories.iter().filter_map(|memory| memory.title.as_deref());
    let _held: Vec<Lock> = title_lock::hold_titles(&engine.writer, titles)?;
    let _together = engine.writer.collect_records();
    let mut done: Vec<Outcome> = memories.iter().map(|_| None).collect();
    let mut batch = Batch::default();
    for (place, memory) in memories.into_iter().enumerate() {
        let decided = add_to_batch(engine, place, memory, &policy, &mut batch, &mut done);
        done[place] = decided.transpose();
    }
    write_batch(engine, batch, &policy, &mut done);
    let lost = || EngineError::Invalid("it was not written".to_owned());
    Ok(done
        .into_iter()
        .map(|done| done.unwrap_or_else(|| Err(lost())))
        .collect())
}

/// Decides about one memory; `Ok(None)` where it waits in the batch now.
fn add_to_batch(
    engine: &Engine,
    place: usize,
    mut memory: NewMemory,
    policy: &WritePolicy,
    batch: &mut Batch,
    done: &mut [Outcome],
) -> Result<Option<Stem>, EngineError> {
    remember::check_new(engine, &mut memory)?;
    let title = memory.title.as_deref().unwrap_or_default();
    let key = [
        memory.user.clone(),
        memory.namespace.clone().unwrap_or_default(),
        title.trim().to_lowercase(),
    ];
    if !batch.titles.insert(key.clone()) {
        write_batch(engine, std::mem::take(batch), policy, done);
        batch.titles.insert(key);
    }
    let renewed = match duplicates::decide_on(engine, &memory, policy)? {
        Decision::Known(stem) => match duplicates::enrich(engine, &stem, &memory)? {
            Some(known) => return Ok(Some(known.stem)),
            None => None,
        },
        Decision::Update(stem) => Some(stem),
        Decision::Add { .. } | Decision::Suggest(_) => None,
    };
    match renewed {
        None => {
            duplicates::relate(engine, &mut memory, &[], policy)?;
            let timestamp = new::time_of(&engine.writer, &memory);
            let handle = memory
                .handle
                .unwrap_or_else(|| new::draw_handle(&engine.writer));
            let stem = Stem::new(timestamp.utc(), handle);
            let (name, bytes, _) = new::rendered(&engine.writer, &memory, &stem, &timestamp)?;
            let new = NewFile {
                memory,
                stem,
                name,
                bytes,
            };
            batch.new.push((place, new));
        }
        Some(stem) => {
            let renewal = duplicates::renewal(engine, &stem, &memory, policy)?;
            if renewal.is_nothing() {
                return Ok(Some(stem));
            }
            let new = memory;
            batch.renewed.push((place, Renewed { stem, new, renewal }));
        }
    }
    Ok(None)
}

fn write_batch(engine: &Engine, batch: Batch, policy: &WritePolicy, done: &mut [Outcome]) {
    add_batch(engine, batch.new, done);
    // First the earlier texts: should this process end in between, a text is there twice, and
    // none is lost.
    let mut renewed = keep_earlier_of(engine, batch.renewed, done);
    let file = |(_, Renewed { renewal, .. }): &mut (usize, Renewed)| {
        let bytes = std::mem::take(&mut renewal.bytes);
        (renewal.name.clone(), renewal.version.clone(), bytes)
    };
    let files: Vec<(String, Version, Vec<u8>)> = renewed.iter_mut().map(file).collect();
    let replaced = engine.writer.replace_many(&files);
    for ((place, one), replaced) in renewed.into_iter().zip(replaced) {
        let Renewed { stem, new, renewal } = one;
        if replaced.is_ok() {
            engine.writer.note_change("remember", &renewal.name);
        }
        done[place] = Some(match replaced {
            Ok(Replaced::Done) => Ok(stem),
            Ok(Replaced::KeptOther) => Err(EngineError::KeptOther {
                id: stem.short().to_owned(),
            }),
            // Somebody was faster: once more, by itself.
            Ok(Replaced::Stale) => {
                duplicates::renew(engine, &stem, new, policy).map(|done| done.stem)
            }
            Err(FilesError::Missing { .. }) => Err(EngineError::NotFound(stem.as_str().to_owned())),
            Err(error) => Err(error.into()),
        });
    }
}

fn add_batch(engine: &Engine, new: Vec<(usize, NewFile)>, done: &mut [Outcome]) {
    let mut new = new;
    let file = |(_, new): &mut (usize, NewFile)| (new.name.clone(), std::mem::take(&mut new.bytes));
    let files: Vec<(String, Vec<u8>)> = new.iter_mut().map(file).collect();
    let added = engine.writer.add_many(Place::Files, &files);
    for ((place, new), added) in new.into_iter().zip(added) {
        done[place] = Some(match added {
            Ok(()) => {
                engine.writer.note_change("remember", &new.name);
                Ok(new.stem)
            }
            // Another name is drawn.
            Err(FilesError::Taken { .. }) => {
                let written = new::write_new(&engine.writer, &new.memory, "remember");
                written.map(|(stem, _)| stem)
            }
            Err(error) => Err(error.into()),
        });
    }
}

/// Puts the texts that are to be replaced into the archive; returns what may be replaced now.
fn keep_earlier_of(
    engine: &Engine,
    renewed: Vec<(usize, Renewed)>,
    done: &mut [Outcome],
) -> Vec<(usize, Renewed)> {
    let earlier: Vec<Option<Earlier>> = renewed
        .iter()
        .map(|(_, one)| one.renewal.earlier(engine))
        .collect();
    let files: Vec<(String, Vec<u8>)> = earlier
        .iter()
        .flatten()
        .map(|earlier| (earlier.name.clone(), earlier.bytes.clone()))
        .collect();
    let mut added = engine.writer.add_many(Place::Archive, &files).into_iter();
    let mut kept = Vec::with_capacity(renewed.len());
    for ((place, one), earlier) in renewed.into_iter().zip(earlier) {
        let is_kept = match earlier.and_then(|earlier| Some((earlier, added.next()?))) {
            None => Ok(()),
            Some((earlier, Ok(()))) => {
                duplicates::kept_earlier(engine, &stem_of(&one.renewal.name), &earlier.name);
                Ok(())
            }
            // The same text is there already, or another name has to be drawn.
            Some((_, Err(FilesError::Taken { .. }))) => one.renewal.keep_earlier(engine).map(drop),
            Some((_, Err(error))) => Err(error.into()),
        };
        match is_kept {
            Ok(()) => kept.push((place, one)),
            Err(error) => done[place] = Some(Err(error)),
        }
    }
    kept
}

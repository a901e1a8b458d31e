//! Stores many memories at once: one lock per shard of titles, one sync per folder, one line
//! in the journal.
//!
//! Each memory is decided on as in `remember`. Only the writes are delayed until all are decided, so that
//! the store is listed once, or until a memory depends on the result of an earlier one.

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

/// Result for each memory of a batch; `None` while it waits to be written.
type Outcome = Option<Result<Stem, EngineError>>;

/// Memories that wait to be written, each with its position in the input.
#[derive(Default)]
struct Batch {
    new: Vec<(usize, NewFile)>,
    renewed: Vec<(usize, Renewed)>,
    /// Users, namespaces and titles of the batch: a memory with the same ones needs the written file.
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

/// Stores `memories`, in this order, each as [`remember_as`](super::remember::remember_as) does with
/// [`DuplicatePolicy::SameTitle`], and returns the results in that order. None of them may supersede
/// another memory, and none is checked for contradictions. When this returns, the stored
/// memories are synced to the disk.
///
/// # Errors
///
/// Fails if nothing can be written at all; an error of one memory is in its result.
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

/// Decides on one memory; `Ok(None)` if it was added to the batch.
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
    // First the earlier texts: if this process ends in between, a text exists twice, and
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
        if replaced.as_ref().is_ok_and(Replaced::is_written) {
            engine.writer.note_change("remember", &renewal.name);
        }
        done[place] = Some(match replaced {
            Ok(Replaced::Done) => Ok(stem),
            Ok(Replaced::KeptOther) => Err(EngineError::KeptOther {
                id: stem.short().to_owned(),
            }),
            // Another process was faster: repeated by itself.
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

/// Puts the texts that are to be replaced into the archive; returns the memories whose texts were kept.
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

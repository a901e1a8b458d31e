//! Maintenance: proposals of `lifecycle` for the memories of this store, performed completely or not at
//! all, and revertible.
//!
//! A plan is made from the files as they are, and performed only if they have not changed.
//! Before the first step a record of all steps is written: an interrupted plan is reverted
//! by the next process, and a performed one can be reverted later, without git, too.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::error::EngineError;
use crate::engine::live::{current_snapshot, names, rows, usage};
use crate::engine::ops::forget;
use crate::engine::ops::maintenance::perform;
use crate::engine::ops::maintenance::proposed::{File, Proposed};
use crate::engine::ops::retrieval::similar;
use crate::engine::ops::retrieval::similar::{Likeness, Similar};
use crate::engine::parts::Engine;
use crate::engine::texts::{is_called, parse, stem_of};
use crate::files::Place;
use crate::format::MAX_INDEXED_BYTES;
use crate::lifecycle::{
    Cleanup, Compaction, Grouping, MOST_SOURCES, MaintainedMemory, MaintenanceKind,
    MaintenancePlan, Observations, Proposal, Reflection, Stated,
};
use crate::model::{Filter, Handle, Kind, Memory, Stem, Timestamp, Visibility};
use crate::{format, lifecycle};

/// Memories as input of maintenance, with their files.
struct Gathered {
    seen: Vec<MaintainedMemory>,
    /// Files of the memories.
    pub(in crate::engine) files: BTreeMap<Stem, File>,
    damaged: usize,
}

impl Gathered {
    fn propose(self, operation: MaintenanceKind, proposals: Vec<Proposal>) -> Proposed {
        Proposed {
            plan: MaintenancePlan {
                operation,
                proposals,
            },
            left_out: Vec::new(),
            damaged: self.damaged,
            files: self.files,
        }
    }
}

/// Maximum number of memories that an observation is compared with.
const COMPARED: usize = 20;

/// Metadata key of a memory that was made from observations.
const OBSERVATIONS: &str = "metadata.observations";

/// Proposes summaries of old episodic memories that pass `filter`, and knowledge from
/// repeated observations.
///
/// # Errors
///
/// Fails if the store cannot be searched.
pub fn plan_compaction(
    engine: &Engine,
    filter: &Filter,
    compaction: &Compaction,
    observations: &Observations,
) -> Result<Proposed, EngineError> {
    let filter = Filter {
        kinds: vec![Kind::Episodic],
        ..filter.clone()
    };
    let gathered = gather(engine, &filter)?;
    let now = engine.live.clock.now();
    let mut proposals = lifecycle::compact(&gathered.seen, compaction, now);
    if observations.min_count > 1 {
        let pairs = like_pairs(engine, &gathered.seen, observations)?;
        proposals.extend(lifecycle::distil(&gathered.seen, &pairs, observations));
    }
    possible(
        engine,
        gathered.propose(MaintenanceKind::Compact, proposals),
    )
}

/// Proposes one memory that replaces those called `ids`.
///
/// # Errors
///
/// Fails if one does not exist, or if they are fewer than two or too many.
pub fn plan_consolidation(
    engine: &Engine,
    ids: &[String],
    title: Option<&str>,
    budget: usize,
) -> Result<Proposed, EngineError> {
    let mut stems: Vec<Stem> = Vec::new();
    for id in ids {
        let (stem, _) = names::resolve(&engine.live, id)?;
        if !stems.contains(&stem) {
            stems.push(stem);
        }
    }
    if !(2..=MOST_SOURCES).contains(&stems.len()) {
        let what = format!(
            "from 2 to {MOST_SOURCES} memories become one, not {}",
            stems.len()
        );
        return Err(EngineError::Invalid(what));
    }
    let gathered = gather(
        engine,
        &Filter {
            stems: Some(stems.clone()),
            visibility: Visibility::Everything,
            ..Filter::default()
        },
    )?;
    if let Some(stem) = stems.iter().find(|stem| !gathered.files.contains_key(stem)) {
        return Err(EngineError::Invalid(format!(
            "something is wrong with the file of {stem}, so it is left as it is; \
                 `memdir verify` tells what"
        )));
    }
    let proposal = lifecycle::consolidate(&gathered.seen, title, budget);
    possible(
        engine,
        gathered.propose(MaintenanceKind::Consolidate, proposal.into_iter().collect()),
    )
}

/// Proposes one memory for each group of those that pass `filter` and share their first topic.
///
/// # Errors
///
/// Fails if the store cannot be searched.
pub fn plan_grouping(
    engine: &Engine,
    filter: &Filter,
    grouping: &Grouping,
) -> Result<Proposed, EngineError> {
    let gathered = gather(engine, filter)?;
    let proposals = lifecycle::auto_consolidate(&gathered.seen, grouping);
    possible(
        engine,
        gathered.propose(MaintenanceKind::Consolidate, proposals),
    )
}

/// Proposes to archive memories that pass `filter` and are not useful any more.
///
/// # Errors
///
/// Fails if the store cannot be searched, or if a journal, which records the uses, cannot be
/// read.
pub fn plan_cleanup(
    engine: &Engine,
    filter: &Filter,
    cleanup: &Cleanup,
) -> Result<Proposed, EngineError> {
    usage::check_uses(&engine.live)?;
    let gathered = gather(
        engine,
        &Filter {
            // Superseded memories are included.
            visibility: Visibility::Everything,
            ..filter.clone()
        },
    )?;
    let proposals = lifecycle::clean_up(&gathered.seen, cleanup, engine.live.clock.now());
    possible(
        engine,
        gathered.propose(MaintenanceKind::Cleanup, proposals),
    )
}

/// Reviews the memories that pass `filter`: returns proposals, and the memories that were never used.
///
/// # Errors
///
/// As for [`plan_cleanup`].
pub fn plan_reflection(
    engine: &Engine,
    filter: &Filter,
    reflection: &Reflection,
) -> Result<(Proposed, Vec<Memory>), EngineError> {
    usage::check_uses(&engine.live)?;
    let gathered = gather(engine, filter)?;
    let reflected = lifecycle::reflect(&gathered.seen, reflection, engine.live.clock.now());
    let stale = reflected.stale.into_iter();
    let stale = stale.map(|at| gathered.seen[at].memory.clone()).collect();
    let proposed = gathered.propose(MaintenanceKind::Reflect, reflected.proposals);
    Ok((possible(engine, proposed)?, stale))
}

/// Proposes to write the present confidence into the memories that pass `filter`, where it
/// differs from the one that they state.
///
/// # Errors
///
/// As for [`plan_cleanup`].
pub fn plan_decay(engine: &Engine, filter: &Filter) -> Result<Proposed, EngineError> {
    usage::check_uses(&engine.live)?;
    let gathered = gather(engine, filter)?;
    let proposals = lifecycle::decay(&gathered.seen);
    possible(engine, gathered.propose(MaintenanceKind::Decay, proposals))
}

/// Returns the plan without impossible proposals, and with the memories that its sources supersede.
fn possible(engine: &Engine, mut proposed: Proposed) -> Result<Proposed, EngineError> {
    let marks = current_snapshot::with_snapshot(&engine.live, |snapshot| {
        Ok(snapshot.holders("superseded_by")?)
    })?;
    let archive = engine.live.store.reader(Place::Archive);
    let mut possible = Vec::new();
    for mut proposal in std::mem::take(&mut proposed.plan.proposals) {
        if let Some(new) = &mut proposal.create {
            let is_source = |newer: &str| {
                let mut sources = proposal.archive.iter();
                sources.any(|stem| is_called(stem, newer))
            };
            // Only the older one states it; it would be current again without its source.
            for (_, older) in marks.iter().filter(|(newer, _)| is_source(newer)) {
                let older = stem_of(older);
                let is_known = new.supersedes.iter().any(|stem| is_called(&older, stem));
                if !is_known && !proposal.archive.contains(&older) {
                    new.supersedes.push(older.as_str().to_owned());
                }
            }
        }
        let trial = Stem::new(engine.live.clock.now(), Handle::draw());
        let at = Timestamp::from_utc(engine.live.clock.now());
        let rendered = proposal
            .create
            .as_ref()
            .map(|new| format::render(new, &trial, &at));
        let in_the_way = proposal.archive.iter().find_map(|stem| {
            let name = &proposed.files.get(stem)?.name;
            archive.read(name, 0).is_ok().then_some(name)
        });
        let trouble = match (rendered, in_the_way) {
            (Some(Err(error)), _) => error.to_string(),
            (_, Some(name)) => format!("archive/{name} is there already"),
            _ => {
                possible.push(proposal);
                continue;
            }
        };
        proposed.left_out.push((proposal.because, trouble));
    }
    proposed.plan.proposals = possible;
    Ok(proposed)
}

fn gather(engine: &Engine, filter: &Filter) -> Result<Gathered, EngineError> {
    let mut names = rows::names_where(&engine.live, filter)?;
    names.sort_unstable();
    let reader = engine.live.store.reader(Place::Files);
    let mut gathered = Gathered {
        seen: Vec::new(),
        files: BTreeMap::new(),
        damaged: 0,
    };
    usage::at_once(&engine.live, |moment| {
        // Without those that are gone since they were found.
        for version in rows::versions(reader.as_ref(), &names, MAX_INDEXED_BYTES as u64).flatten() {
            let memory = parse(&version.entry, &version.bytes);
            // Files that cannot be parsed whole are left alone, and so is the second of two of one stem.
            if !memory.problems.is_empty() || gathered.files.contains_key(&memory.stem) {
                gathered.damaged += 1;
                continue;
            }
            let usage = usage::usage_of(&engine.live, &memory.stem);
            let state = (moment.state)(memory.stem.as_str(), &Stated::of(&memory), moment.now);
            let file = File {
                name: version.entry.name,
                hash: version.hash,
                memory: memory.clone(),
            };
            gathered.files.insert(memory.stem.clone(), file);
            gathered.seen.push(MaintainedMemory {
                memory,
                state,
                usage,
            });
        }
    });
    Ok(gathered)
}

/// Returns the pairs of similar memories, by position; without those that knowledge was already made
/// of.
fn like_pairs(
    engine: &Engine,
    seen: &[MaintainedMemory],
    observations: &Observations,
) -> Result<Vec<(usize, usize)>, EngineError> {
    let known = observed(engine)?;
    let places: BTreeMap<&Stem, usize> = seen
        .iter()
        .enumerate()
        .filter(|(_, one)| !known.contains(one.memory.stem.as_str()))
        .map(|(place, one)| (&one.memory.stem, place))
        .collect();
    let mut pairs = Vec::new();
    for (stem, &place) in &places {
        let memory = &seen[place].memory;
        let filter = Filter {
            kinds: vec![Kind::Episodic],
            namespaces: vec![memory.namespace_or_global().to_owned()],
            ..Filter::default()
        };
        let known = Filter {
            kinds: vec![Kind::Semantic],
            ..filter.clone()
        };
        let is_like = |other: &Similar| {
            let least = match other.by {
                Likeness::Meaning => observations.similarity,
                Likeness::Shingles => observations.resemblance,
            };
            let is_same_scope = other.hit.memory.scope_or_usual() == memory.scope_or_usual();
            other.similarity >= least && is_same_scope
        };
        if similar::similar(engine, memory, &known, 1)?
            .iter()
            .any(is_like)
        {
            continue;
        }
        for other in similar::similar(engine, memory, &filter, COMPARED)? {
            if is_like(&other)
                && other.hit.memory.stem != **stem
                && let Some(&other) = places.get(&other.hit.memory.stem)
            {
                pairs.push((place, other));
            }
        }
    }
    Ok(pairs)
}

/// Returns the ids of the memories that knowledge was made of, also of knowledge that was forgotten
/// or reverted since.
fn observed(engine: &Engine) -> Result<BTreeSet<String>, EngineError> {
    let holders = current_snapshot::with_snapshot(&engine.live, |snapshot| {
        Ok(snapshot.holders(OBSERVATIONS)?)
    })?;
    rows::prefetch(&engine.live, holders.iter().map(|(_, name)| name));
    let live = holders
        .into_iter()
        .filter_map(|(_, name)| rows::read_memory(&engine.live, &name));
    let archived = forget::archived(engine)?.into_iter().map(|one| one.memory);
    let has_observations = |memory: &Memory| {
        let mut metadata = memory.metadata.iter();
        metadata.any(|(key, _)| format!("metadata.{key}") == OBSERVATIONS)
    };
    let taken_back = perform::plans(engine)?
        .into_iter()
        .flat_map(|plan| plan.taken_back());
    let all = live.chain(archived).chain(taken_back);
    let links = all.filter(has_observations).flat_map(|memory| memory.links);
    Ok(links.map(|link| link.to).collect())
}

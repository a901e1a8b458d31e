//! What state the store is in.

use std::collections::HashMap;
use std::path::PathBuf;

use chrono::{DateTime, Duration, Utc};

use crate::engine::error::EngineError;
use crate::engine::live::leader::Leader;
use crate::engine::live::{current_snapshot, index_recovery, leader, rows};
use crate::engine::ops::finding::{Finding, finding};
use crate::engine::ops::relations::conflicts;
use crate::engine::ops::retrieval::search;
use crate::engine::ops::{adopt_notes, stats};
use crate::engine::parts::Engine;
use crate::engine::texts::{parse, stem_of};
use crate::files::{FilesError, Place, Version};
use crate::format::{FileNameKind, MAX_INDEXED_BYTES, classify};
use crate::index::Snapshot;
use crate::model::{Filter, Layout, Problem, Visibility};

/// The state of a store.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    pub root: PathBuf,
    /// Where the index lies.
    pub state: PathBuf,
    pub read_only: bool,
    /// Memory files on disk.
    pub files: usize,
    /// Of these, in the index as they are.
    pub indexed: usize,
    /// Found by searches, but not in the index yet.
    pub waiting: usize,
    /// Files that cannot be read as text at all.
    pub unreadable: usize,
    pub archived: usize,
    pub bytes: u64,
    pub index_bytes: u64,
    /// The process that writes the index at this moment, if any.
    pub writer: Option<String>,
    /// The process that follows the changes and indexes them, if one is running.
    pub leader: Option<Leader>,
    pub languages: Vec<&'static str>,
    /// Pairs of memories that contradict each other.
    pub conflicts: usize,
    /// Memories that are hardly believed.
    pub flagged: usize,
    /// In which folder new memories are put.
    pub layout: Layout,
    /// Files that lie in no folder below `files/`.
    pub in_no_folder: usize,
    /// By file.
    pub findings: Vec<Finding>,
}

/// Looks at the store as it is now.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn status(engine: &Engine) -> Result<Status, EngineError> {
    index_recovery::mending(&engine.live, || status_now(engine))
}

fn status_now(engine: &Engine) -> Result<Status, EngineError> {
    let snapshot = current_snapshot::swept_snapshot(&engine.live)?;
    let listing = engine.live.store.list(Place::Files)?;
    let counts = search::counts(engine);
    let mut findings = Vec::new();
    let reader = engine.live.store.reader(Place::Files);
    let mut names = snapshot.with_problems()?;
    names.extend(in_the_future(engine, snapshot.as_ref())?);
    names.sort_unstable();
    names.dedup();
    for name in names {
        let Ok(version) = reader.read(&name, MAX_INDEXED_BYTES as u64) else {
            continue;
        };
        let problems = self::problems(engine, &version).into_iter();
        findings.extend(problems.map(|problem| finding(&name, problem)));
    }
    findings.extend(skipped_findings(engine));
    findings.extend(linked_folders(engine));
    findings.extend(adopt_notes::unfinished_adoption(engine));
    let names: Vec<&str> = listing
        .entries
        .iter()
        .map(|entry| entry.name.as_str())
        .collect();
    findings.extend(
        twins(&names)
            .into_iter()
            .map(|(name, problem)| finding(name, problem)),
    );
    show(engine, &mut findings);
    findings.sort_by(|a, b| a.file.cmp(&b.file));
    let unreadable = findings
        .iter()
        .filter(|f| matches!(f.problem, Problem::NotReadable(_)))
        .count();
    Ok(Status {
        root: engine.live.root().to_owned(),
        state: engine.live.state().to_owned(),
        read_only: engine.live.is_read_only(),
        files: listing.entries.len(),
        indexed: counts.indexed,
        waiting: counts.waiting,
        unreadable,
        archived: match engine.live.store.list(Place::Archive) {
            // It is a finding.
            Err(FilesError::Link { .. }) => 0,
            other => other?.entries.len(),
        },
        bytes: listing.entries.iter().map(|entry| entry.stamp.size).sum(),
        index_bytes: folder_bytes(engine.live.state()),
        writer: writer(engine),
        leader: leader::leader(&engine.live),
        languages: engine
            .live
            .languages
            .iter()
            .map(|language| language.name())
            .collect(),
        conflicts: conflicts::conflicts(engine)?.len(),
        flagged: stats::flagged(engine, &Filter::default())?.len(),
        layout: engine.live.layout,
        in_no_folder: names.iter().filter(|name| !name.contains('/')).count(),
        findings,
    })
}

/// Has findings name files as they are shown.
pub(in crate::engine) fn show(engine: &Engine, findings: &mut [Finding]) {
    for finding in findings {
        finding.file = engine.live.directory.shown(&finding.file).into_owned();
    }
}

/// What is wrong with a file, as its text, its size and the clock say.
pub(in crate::engine) fn problems(engine: &Engine, version: &Version) -> Vec<Problem> {
    let memory = parse(&version.entry, &version.bytes);
    let mut problems = memory.problems;
    // A note that somebody wrote by hand: its name says that it has none of the rest, either.
    if problems.contains(&Problem::ForeignName) {
        let is_of_memories =
            |problem: &Problem| matches!(problem, Problem::NoFrontmatter | Problem::MissingKey(_));
        problems.retain(|problem| !is_of_memories(problem));
        // Where all notes are somebody's, so are their names.
        problems
            .retain(|problem| *problem != Problem::ForeignName || engine.live.notes().is_none());
    }
    let bytes = version.entry.stamp.size;
    if bytes > MAX_INDEXED_BYTES as u64 {
        problems.push(Problem::PartlyIndexed { bytes });
    }
    if memory.timestamp.utc() >= future(engine) {
        problems.push(Problem::Key {
            key: "timestamp".to_owned(),
            what: format!("`{}` lies in the future", memory.timestamp.as_str()),
        });
    }
    problems
}

/// What is dated so late lies in the future whatever the zone of the clock that wrote it.
fn future(engine: &Engine) -> DateTime<Utc> {
    engine.live.clock.now() + Duration::hours(24)
}

fn in_the_future(engine: &Engine, snapshot: &dyn Snapshot) -> Result<Vec<String>, EngineError> {
    let filter = Filter {
        since: Some(future(engine)),
        visibility: Visibility::Everything,
        ..Filter::default()
    };
    rows::names_of(&engine.live, snapshot, &filter)
}

/// The store's folders that are links, and are not followed.
pub(in crate::engine) fn linked_folders(engine: &Engine) -> Vec<Finding> {
    let links = engine.live.directory.refused_links().into_iter();
    links
        .map(|folder| Finding {
            file: folder.to_owned(),
            problem: Problem::LinkedFolder,
        })
        .collect()
}

fn skipped_findings(engine: &Engine) -> Vec<Finding> {
    engine
        .live
        .freshness()
        .skipped
        .iter()
        .map(|(name, reason)| finding(name, Problem::NotReadable(reason.clone())))
        .collect()
}

fn writer(engine: &Engine) -> Option<String> {
    let path = engine.live.writer_lock_path();
    let said = || crate::files::said(&path).map(|(text, _)| text);
    crate::files::is_held(&path).then(|| said().unwrap_or_default())
}

/// The names in a sorted listing that are not told apart by their stems, or not by their handles:
/// each with what another one shares with it.
pub(in crate::engine) fn twins<'a>(names: &[&'a str]) -> Vec<(&'a str, Problem)> {
    let mut by_stem: HashMap<&str, &str> = HashMap::new();
    let mut by_handle: HashMap<&str, &str> = HashMap::new();
    let mut twins = Vec::new();
    for &name in names {
        let file = name.rsplit('/').next().unwrap_or(name);
        if let Some(other) = by_stem.insert(file, name) {
            twins.push((name, Problem::SameStemAs(other.to_owned())));
            continue;
        }
        let FileNameKind::Memory(_) = classify(file) else {
            continue;
        };
        if let Some(first) = by_handle.insert(&file[16..24], file) {
            let other = stem_of(first);
            twins.push((name, Problem::SameHandleAs(other.as_str().to_owned())));
        }
    }
    twins
}

fn folder_bytes(folder: &std::path::Path) -> u64 {
    if folder.is_symlink() {
        return 0;
    }
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(data) if data.is_dir() => folder_bytes(&entry.path()),
            Ok(data) => data.len(),
            Err(_) => 0,
        })
        .sum()
}

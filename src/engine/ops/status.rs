//! State of the store.

use std::collections::HashMap;
use std::path::PathBuf;

use chrono::{DateTime, Duration, Utc};

use crate::engine::error::EngineError;
use crate::engine::live::leader::Leader;
use crate::engine::live::{current_snapshot, index_recovery, leader, rows};
use crate::engine::ops::conflicts;
use crate::engine::ops::finding::{Finding, finding};
use crate::engine::ops::retrieval::search;
use crate::engine::ops::{adopt_notes, stats};
use crate::engine::parts::Engine;
use crate::engine::texts::{parse, stem_of};
use crate::files::{FilesError, Place, Store, Version, folder_bytes};
use crate::format::{FileNameKind, MAX_INDEXED_BYTES, classify};
use crate::index::Snapshot;
use crate::model::{Filter, Layout, Problem, Talks, Visibility};

/// The state of a store.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// Folder of the store.
    pub root: PathBuf,
    /// Folder of the index.
    pub state: PathBuf,
    /// Whether the store is read-only.
    pub read_only: bool,
    /// Number of memory files on disk.
    pub files: usize,
    /// Number of files that are in the index in their present version.
    pub indexed: usize,
    /// Number of files that searches find, but that are not in the index yet.
    pub waiting: usize,
    /// Number of files that cannot be read as text.
    pub unreadable: usize,
    /// Number of archived memories.
    pub archived: usize,
    /// Total size of the live files in bytes.
    pub bytes: u64,
    /// Size of the folder of the index in bytes.
    pub index_bytes: u64,
    /// Process that writes the index now, if any.
    pub writer: Option<String>,
    /// Process that watches for changes and indexes them, if one is running.
    pub leader: Option<Leader>,
    /// Languages of the search.
    pub languages: Vec<&'static str>,
    /// Number of pairs of memories that contradict each other.
    pub conflicts: usize,
    /// Number of memories with a low confidence.
    pub flagged: usize,
    /// Layout of the folders for new memories.
    pub layout: Layout,
    /// Number of files that are directly in `files/`.
    pub in_no_folder: usize,
    /// Findings, sorted by file.
    pub findings: Vec<Finding>,
}

/// Returns the state of the store as it is now.
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
    for version in rows::versions(reader.as_ref(), &names, MAX_INDEXED_BYTES as u64).flatten() {
        let problems = self::problems(engine, &version).into_iter();
        findings.extend(problems.map(|problem| finding(&version.entry.name, problem)));
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

/// Replaces the paths of findings by those shown to users.
pub(in crate::engine) fn show(engine: &Engine, findings: &mut [Finding]) {
    for finding in findings {
        finding.file = engine.live.shown_file(&finding.file);
    }
}

/// Returns the problems of a file, from its text, its size and the clock.
pub(in crate::engine) fn problems(engine: &Engine, version: &Version) -> Vec<Problem> {
    let memory = parse(&version.entry, &version.bytes);
    let mut problems = memory.problems;
    // A note written by hand: its foreign name implies that it lacks the keys, too.
    if problems.contains(&Problem::ForeignName) {
        let is_of_memories =
            |problem: &Problem| matches!(problem, Problem::NoFrontmatter | Problem::MissingKey(_));
        problems.retain(|problem| !is_of_memories(problem));
        // In a folder of notes, their names are no problem.
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

/// Returns the earliest time that is in the future in every time zone of the clock that wrote it.
fn future(engine: &Engine) -> DateTime<Utc> {
    engine.live.clock.now() + Duration::hours(24)
}

fn in_the_future(engine: &Engine, snapshot: &dyn Snapshot) -> Result<Vec<String>, EngineError> {
    let filter = Filter {
        since: Some(future(engine)),
        visibility: Visibility::Everything,
        talks: Talks::Everywhere,
        ..Filter::default()
    };
    rows::names_of(&engine.live, snapshot, &filter)
}

/// Returns the store's folders that are links, and are not followed.
pub(in crate::engine) fn linked_folders(engine: &Engine) -> Vec<Finding> {
    let links = engine.live.directory().map(Store::refused_links);
    links
        .unwrap_or_default()
        .into_iter()
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

/// Returns the names in a sorted listing that share their stem or their handle with another one, each
/// with the problem.
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

//! Checks that every file is sound and indexed correctly.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::engine::error::EngineError;
use crate::engine::history::repair;
use crate::engine::live::names::{former_id, spellings};
use crate::engine::live::{current_snapshot, index_recovery, reindex};
use crate::engine::ops::finding::Finding;
use crate::engine::ops::status::twins;
use crate::engine::ops::{adopt_notes, status};
use crate::engine::parts::Engine;
use crate::engine::texts::{parse, stem_of};
use crate::engine::write::tombstones;
use crate::files::{FilesError, Listing, Place};
use crate::format::MAX_INDEXED_BYTES;
use crate::index::{IndexError, Snapshot};
use crate::model::{Memory, Problem, Stem, plain_id};

/// Result of a comparison of files and index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Proof {
    /// Number of live files whose bytes were compared.
    pub files: usize,
    /// Problems of files.
    pub findings: Vec<Finding>,
    /// Differences of the index from the files, or within the index, as sentences.
    pub index_faults: Vec<String>,
    /// Faults of the git history, as sentences.
    pub git_faults: Vec<String>,
}

impl Proof {
    /// Whether there are no faults and no problems; notes do not count.
    pub fn is_sound(&self) -> bool {
        self.index_faults.is_empty()
            && self.git_faults.is_empty()
            && self
                .findings
                .iter()
                .all(|finding| finding.problem.is_note())
    }
}

/// Number of comparisons of a differing file before it is reported as a fault, as it may be changing
/// all the time.
const MAX_LOOKS: usize = 3;

/// Compares every file's bytes with the index, and checks names, ids, references, the index's own
/// files and the history. Repairs nothing itself; as every operation, it rebuilds an unusable
/// index and removes leftovers of interrupted writes.
///
/// # Errors
///
/// Fails if the directory cannot be read, or if the index can be neither read nor made.
pub fn verify(engine: &Engine) -> Result<Proof, EngineError> {
    let mut index_faults = damaged_parts(engine)?;
    let snapshot = index_recovery::mending(&engine.live, || {
        current_snapshot::swept_snapshot(&engine.live)
    })?;
    let live = read_through(engine, Place::Files)?;
    let archived = read_through(engine, Place::Archive)?;
    index_faults.extend(differences(engine, snapshot.as_ref(), &live.hashes)?);
    let mut findings = unseen_texts(engine)?;
    findings.extend(live.both(&archived));
    findings.extend(dangling(&live, &archived));
    findings.extend(status::linked_folders(engine));
    findings.extend(adopt_notes::unfinished_adoption(engine));
    let purged = match engine.live.store.purged() {
        Err(FilesError::Link { .. }) => BTreeSet::new(),
        other => other?,
    };
    for seen in [&live, &archived] {
        findings.extend(back_again(engine, seen, &purged)?);
    }
    findings.extend(live.findings);
    findings.extend(archived.findings);
    status::show(engine, &mut findings);
    findings.sort_by(|a, b| a.file.cmp(&b.file));
    findings.dedup();
    Ok(Proof {
        files: live.hashes.len(),
        findings,
        index_faults,
        git_faults: repair::git_faults(&engine.history)?,
    })
}

/// Compares the index with live memories that were read before: the `hashes` of their files, by name. Brings it up to date
/// first; returns its differences, and faults of its own files, as sentences.
///
/// # Errors
///
/// Fails if the store cannot be read, or if the index can be neither read nor made.
pub fn verify_index(
    engine: &Engine,
    hashes: &HashMap<String, u128>,
) -> Result<Vec<String>, EngineError> {
    let mut faults = damaged_parts(engine)?;
    reindex(&engine.live, false, &mut |_| ())?;
    let snapshot = current_snapshot::swept_snapshot(&engine.live)?;
    faults.extend(differences(engine, snapshot.as_ref(), hashes)?);
    Ok(faults)
}

/// Returns the damaged files of the indexes, as sentences. To be asked before an index is opened, and so repaired.
fn damaged_parts(engine: &Engine) -> Result<Vec<String>, EngineError> {
    let indexes = [engine.live.index.as_ref()].into_iter();
    let indexes = indexes.chain(engine.live.turns.existing());
    let mut index_faults = Vec::new();
    for index in indexes {
        match index.damaged_parts() {
            Ok(parts) => {
                let parts = parts.into_iter();
                index_faults.extend(parts.map(|part| format!("{part} is damaged")));
            }
            // An error of the machine proves no fault of the index.
            Err(error @ IndexError::Failed { .. }) => return Err(error.into()),
            Err(error) => index_faults.push(error.to_string()),
        }
    }
    // Vectors are of both.
    index_faults.dedup();
    Ok(index_faults)
}

/// Returns a finding for each file of a memory that was `purged`.
fn back_again(
    engine: &Engine,
    seen: &FolderFindings,
    purged: &BTreeSet<String>,
) -> Result<Vec<Finding>, EngineError> {
    let mut back = Vec::new();
    for name in seen.hashes.keys() {
        let stem = stem_of(name);
        if !purged.contains(stem.as_str()) {
            continue;
        }
        if let Ok(version) = engine.live.store.reader(seen.place).read(name, u64::MAX)
            && tombstones::is_purged(&engine.writer, &stem, &version.bytes)?
        {
            back.push(Finding {
                file: seen.place.path_of(name),
                problem: Problem::Purged,
            });
        }
    }
    Ok(back)
}

/// Reads every file of `place`.
fn read_through(engine: &Engine, place: Place) -> Result<FolderFindings, EngineError> {
    let listing = match engine.live.store.list(place) {
        // A finding of its own.
        Err(FilesError::Link { .. }) if place == Place::Archive => Listing::default(),
        other => other?,
    };
    let Listing {
        entries, skipped, ..
    } = listing;
    let mut seen = FolderFindings::of(place);
    for skipped in skipped {
        seen.add(&skipped.name, Problem::NotReadable(skipped.reason));
    }
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    for (name, problem) in twins(&names) {
        seen.add(name, problem);
    }
    let reader = engine.live.store.reader(place);
    for entry in &entries {
        let name = entry.name.as_str();
        seen.stems.insert(stem_of(name));
        match reader.read(name, MAX_INDEXED_BYTES as u64) {
            Ok(version) => {
                seen.hashes.insert(name.to_owned(), version.hash);
                seen.refer(name, &parse(&version.entry, &version.bytes));
                let mut problems = status::problems(engine, &version);
                // A note without a frontmatter may be replaced or forgotten, and is archived as it was.
                if place == Place::Archive {
                    problems.retain(|problem| *problem != Problem::NoFrontmatter);
                }
                for problem in problems {
                    seen.add(name, problem);
                }
            }
            Err(FilesError::Missing { .. }) => {} // Removed while we look.
            Err(FilesError::Io { source, .. }) => {
                let reason = format!("it cannot be read: {source}");
                seen.add(name, Problem::NotReadable(reason));
            }
            Err(error) => seen.add(name, Problem::NotReadable(error.to_string())),
        }
    }
    Ok(seen)
}

/// Returns the differences of the index from the files, as sentences.
fn differences(
    engine: &Engine,
    old: &dyn Snapshot,
    hashes: &HashMap<String, u128>,
) -> Result<Vec<String>, EngineError> {
    let mut doubtful: BTreeSet<String> = hashes
        .iter()
        .filter(|(name, hash)| old.indexed(name).is_none_or(|known| known.hash != **hash))
        .map(|(name, _)| name.clone())
        .collect();
    let names = old.files().map(|(name, _)| name);
    let gone = names.filter(|name| !hashes.contains_key(*name));
    doubtful.extend(gone.map(str::to_owned));
    let mut faults = Vec::new();
    // Files that changed during the reading are compared again; a fault stays one.
    for _ in 0..MAX_LOOKS {
        if doubtful.is_empty() {
            return Ok(Vec::new());
        }
        let seen: Vec<OnDisk> = doubtful.iter().map(|name| on_disk(engine, name)).collect();
        let snapshot = index_recovery::mending(&engine.live, || {
            current_snapshot::swept_snapshot(&engine.live)
        })?;
        let mut again = BTreeSet::new();
        faults.clear();
        for (name, seen) in doubtful.into_iter().zip(seen) {
            let Some(fault) = index_fault(snapshot.as_ref(), &name, seen) else {
                continue;
            };
            // The last good text of a file in flux stays indexed for a moment.
            if engine
                .live
                .freshness()
                .holds_one_of(std::slice::from_ref(&name))
            {
                continue;
            }
            // A file that changed during the update of the index proves nothing.
            if on_disk(engine, &name) == seen {
                faults.push(fault);
            }
            again.insert(name);
        }
        doubtful = again;
    }
    Ok(faults)
}

fn on_disk(engine: &Engine, name: &str) -> OnDisk {
    let reader = engine.live.store.reader(Place::Files);
    match reader.read(name, MAX_INDEXED_BYTES as u64) {
        Ok(version) => OnDisk::Text(version.hash),
        Err(FilesError::Missing { .. }) => OnDisk::Missing,
        Err(_) => OnDisk::Unreadable,
    }
}

/// Returns the files with texts that interrupted changes left under temporary names. Where this
/// process may write, they have become conflict copies by now.
fn unseen_texts(engine: &Engine) -> Result<Vec<Finding>, EngineError> {
    let Some(directory) = engine.live.directory() else {
        return Ok(Vec::new());
    };
    let temps = engine.live.store.list(Place::Files)?.temps;
    let left = directory.unseen_texts(Place::Files, &temps);
    Ok(left
        .into_iter()
        .map(|name| Finding {
            file: format!("files/{name}"),
            problem: Problem::Leftover,
        })
        .collect())
}

/// State of a file on disk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnDisk {
    /// Hash of its text.
    Text(u128),
    Missing,
    Unreadable,
}

/// Returns the difference of the index from the file `name`, as a sentence.
fn index_fault(snapshot: &dyn Snapshot, name: &str, seen: OnDisk) -> Option<String> {
    let difference = match (seen, snapshot.indexed(name)) {
        (OnDisk::Text(hash), Some(indexed)) if hash == indexed.hash => return None,
        (OnDisk::Text(_), Some(_)) => "is indexed with another text",
        (OnDisk::Text(_), None) => "is not indexed",
        (OnDisk::Missing, Some(_)) => "is indexed and does not exist",
        (OnDisk::Unreadable, Some(_)) => "is indexed and cannot be read",
        (OnDisk::Missing | OnDisk::Unreadable, None) => return None,
    };
    Some(format!("{name} {difference}"))
}

/// Findings of one folder, from all its files.
struct FolderFindings {
    place: Place,
    /// Hash of each readable file, by name.
    hashes: HashMap<String, u128>,
    stems: HashSet<Stem>,
    /// Ids of memories in their former systems, in lower case.
    former_ids: HashSet<String>,
    references: Vec<Reference>,
    findings: Vec<Finding>,
}

/// A key of a file that names another memory.
struct Reference {
    name: String,
    key: &'static str,
    to: String,
}

impl FolderFindings {
    fn of(place: Place) -> FolderFindings {
        FolderFindings {
            place,
            hashes: HashMap::new(),
            stems: HashSet::new(),
            former_ids: HashSet::new(),
            references: Vec::new(),
            findings: Vec::new(),
        }
    }

    fn add(&mut self, name: &str, problem: Problem) {
        let file = self.place.path_of(name);
        self.findings.push(Finding { file, problem });
    }

    fn refer(&mut self, name: &str, memory: &Memory) {
        let former = former_id(memory).map(str::to_ascii_lowercase);
        self.former_ids.extend(former);
        let links = memory.links.iter().map(|link| ("links", &link.to));
        let older = memory.supersedes.iter().map(|stem| ("supersedes", stem));
        let newer = memory
            .superseded_by
            .iter()
            .map(|stem| ("superseded_by", stem));
        self.references
            .extend(links.chain(older).chain(newer).map(|(key, to)| Reference {
                name: name.to_owned(),
                key,
                to: to.clone(),
            }));
    }

    /// Returns the files that are live and `archived` at once, which cannot be moved.
    fn both(&self, archived: &FolderFindings) -> Vec<Finding> {
        let twice = self.hashes.iter().filter_map(|(name, hash)| {
            let other = archived.hashes.get(name)?;
            Some(Finding {
                file: self.place.path_of(name),
                problem: Problem::AlsoArchived {
                    same_text: hash == other,
                },
            })
        });
        twice.collect()
    }
}

/// Finds references of live memories to themselves, and to memories that are neither live nor archived.
fn dangling(live: &FolderFindings, archived: &FolderFindings) -> Vec<Finding> {
    if live.references.is_empty() {
        return Vec::new();
    }
    let stems = live.stems.iter().chain(&archived.stems);
    // Short ids are compared without case.
    let known: HashSet<String> = stems
        .flat_map(|stem| [plain_id(stem.as_str()), stem.short().to_owned()])
        .collect();
    let is_former = |to: &str| {
        let mut ids = spellings(to).map(|id| id.to_ascii_lowercase());
        ids.any(|id| live.former_ids.contains(&id) || archived.former_ids.contains(&id))
    };
    let mut findings = Vec::new();
    for Reference { name, key, to } in &live.references {
        let id = plain_id(to);
        let stem = stem_of(name);
        let is_namesake = to != name && live.hashes.contains_key(to);
        let problem = if !is_namesake && (id == stem.as_str() || id == stem.short()) {
            Problem::Key {
                key: (*key).to_owned(),
                what: "names the memory itself".to_owned(),
            }
        } else if known.contains(&plain_id(id.rsplit('/').next().unwrap_or(&id))) || is_former(to) {
            continue;
        } else {
            Problem::DanglingReference {
                key,
                to: to.clone(),
            }
        };
        findings.push(Finding {
            file: live.place.path_of(name),
            problem,
        });
    }
    findings
}

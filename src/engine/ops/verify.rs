//! Proves that every file is sound, and indexed as it is.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::engine::error::EngineError;
use crate::engine::history::repair;
use crate::engine::live::names::{former_id, spellings};
use crate::engine::live::{current_snapshot, index_recovery};
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

/// What a comparison of files and index showed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Proof {
    /// Files whose bytes were compared.
    pub files: usize,
    /// What is wrong with files.
    pub findings: Vec<Finding>,
    /// Where the index differs from the files, or from itself, in sentences.
    pub index_faults: Vec<String>,
    /// What of the history cannot be read, in sentences.
    pub git_faults: Vec<String>,
}

impl Proof {
    /// Whether everything is as it should be; notes do not count.
    pub fn is_sound(&self) -> bool {
        self.index_faults.is_empty()
            && self.git_faults.is_empty()
            && self
                .findings
                .iter()
                .all(|finding| finding.problem.is_note())
    }
}

/// Looks at a file that differs from the index before it is called a fault: somebody may be
/// writing all the time.
const MAX_LOOKS: usize = 3;

/// Compares every file's bytes with what is indexed, and checks names, ids, references, the
/// index's own files and the history. Mends nothing by itself; as every operation, it makes an unusable
/// index anew and clears what interrupted writes left.
///
/// # Errors
///
/// Fails if the directory cannot be read, or if the index can be neither read nor made.
pub fn verify(engine: &Engine) -> Result<Proof, EngineError> {
    // Before anything is opened, and so mended.
    let mut index_faults = match engine.live.index.damaged_parts() {
        Ok(parts) => parts
            .into_iter()
            .map(|part| format!("{part} is damaged"))
            .collect(),
        // The machine lacks something: nothing can be said of the index.
        Err(error @ IndexError::Failed { .. }) => return Err(error.into()),
        Err(error) => vec![error.to_string()],
    };
    let snapshot = index_recovery::mending(&engine.live, || {
        current_snapshot::swept_snapshot(&engine.live)
    })?;
    let live = read_through(engine, Place::Files)?;
    let archived = read_through(engine, Place::Archive)?;
    index_faults.extend(self::index_faults(engine, snapshot.as_ref(), &live)?);
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

/// The files of memories that were `purged`, and are there all the same.
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
        // It is a finding of its own.
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
                // A note without one may be replaced or forgotten, and is kept as it was.
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

/// Where the index differs from the files, in sentences.
fn index_faults(
    engine: &Engine,
    old: &dyn Snapshot,
    live: &FolderFindings,
) -> Result<Vec<String>, EngineError> {
    let mut doubtful: BTreeSet<String> = live
        .hashes
        .iter()
        .filter(|(name, hash)| old.indexed(name).is_none_or(|known| known.hash != **hash))
        .map(|(name, _)| name.clone())
        .collect();
    let names = old.files().map(|(name, _)| name);
    let gone = names.filter(|name| !live.hashes.contains_key(*name));
    doubtful.extend(gone.map(str::to_owned));
    let mut faults = Vec::new();
    // What changed while all files were read is compared anew; a fault stays one.
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
            // The last good text of a file in flux is searched for a moment more.
            if engine
                .live
                .freshness()
                .holds_one_of(std::slice::from_ref(&name))
            {
                continue;
            }
            // What changed while the index was brought up to date says nothing of it.
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

/// Texts that interrupted changes left under names that nobody reads. Where this process may
/// write, they have become conflict copies by now.
fn unseen_texts(engine: &Engine) -> Result<Vec<Finding>, EngineError> {
    let temps = engine.live.store.list(Place::Files)?.temps;
    let left = engine.live.directory.unseen_texts(Place::Files, &temps);
    Ok(left
        .into_iter()
        .map(|name| Finding {
            file: format!("files/{name}"),
            problem: Problem::Leftover,
        })
        .collect())
}

/// What lies under a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnDisk {
    /// A text, by its hash.
    Text(u128),
    Missing,
    Unreadable,
}

/// How the index differs from what lies under `name`, in a sentence.
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

/// What reading all files of one folder showed.
struct FolderFindings {
    place: Place,
    /// By name, of every file that could be read.
    hashes: HashMap<String, u128>,
    stems: HashSet<Stem>,
    /// What memories were called where they come from, in lower case.
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

    /// The memories that are live and `archived` at once: neither can be moved.
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

/// References of live memories to themselves, and to what is neither live nor archived.
fn dangling(live: &FolderFindings, archived: &FolderFindings) -> Vec<Finding> {
    if live.references.is_empty() {
        return Vec::new();
    }
    let stems = live.stems.iter().chain(&archived.stems);
    // Short names are found whatever their letters' case.
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

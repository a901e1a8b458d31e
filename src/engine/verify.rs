//! Proves that every file is sound, and indexed as it is.

use super::Engine;
use super::EngineError;
use super::Finding;
use super::reading::parse;
use super::maintain::finding;
use super::maintain::twins;
use crate::files::FilesError;
use crate::files::Place;
use crate::format::MAX_INDEXED_BYTES;
use crate::model::Problem;

/// What a comparison of files and index showed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Proof {
    /// Files whose bytes were compared.
    pub files: usize,
    /// What is wrong with files.
    pub findings: Vec<Finding>,
    /// Where the index differs from the files, or from itself, in sentences.
    pub index_faults: Vec<String>,
}

impl Proof {
    /// Whether everything is as it should be; notes do not count.
    pub fn is_sound(&self) -> bool {
        self.index_faults.is_empty()
            && self
                .findings
                .iter()
                .all(|finding| finding.problem.is_note())
    }
}

impl Engine {
    /// Compares every file's bytes with what is indexed, and checks names, ids and the index's
    /// own files. Mends nothing.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be read.
    pub fn verify(&self) -> Result<Proof, EngineError> {
        let mut proof = Proof::default();
        match self.index.damaged_parts() {
            Ok(parts) => proof
                .index_faults
                .extend(parts.into_iter().map(|part| format!("{part} is damaged"))),
            Err(error) => proof.index_faults.push(error.to_string()),
        }
        let snapshot = self.mending(|| self.swept_snapshot())?;
        let listing = self.store.list(Place::Files)?;
        let reader = self.store.reader(Place::Files);
        let mut indexed_and_there = 0;
        for entry in &listing.entries {
            let version = match reader.read(&entry.name, MAX_INDEXED_BYTES as u64) {
                Ok(version) => version,
                Err(FilesError::Missing { .. }) => continue, // Removed while we look.
                Err(error) => {
                    proof.findings.push(finding(
                        &entry.name,
                        Problem::NotReadable(error.to_string()),
                    ));
                    continue;
                }
            };
            proof.files += 1;
            let problems = self.problems(&version).into_iter();
            proof
                .findings
                .extend(problems.map(|problem| finding(&entry.name, problem)));
            match snapshot.indexed(&entry.name) {
                None => proof
                    .index_faults
                    .push(format!("{} is not indexed", entry.name)),
                Some(indexed) if indexed.hash != version.hash => {
                    proof
                        .index_faults
                        .push(format!("{} is indexed with another text", entry.name));
                }
                Some(_) => indexed_and_there += 1,
            }
        }
        if snapshot.len() > indexed_and_there {
            snapshot.for_each(&mut |name, _| {
                if listing
                    .entries
                    .binary_search_by(|e| e.name.as_str().cmp(name))
                    .is_err()
                {
                    proof
                        .index_faults
                        .push(format!("{name} is indexed and does not exist"));
                }
            });
        }
        let names: Vec<&str> = listing
            .entries
            .iter()
            .map(|entry| entry.name.as_str())
            .collect();
        proof.findings.extend(twins(&names));
        proof.findings.extend(self.skipped_findings());
        for entry in self.store.list(Place::Archive)?.entries {
            if let Ok(version) = self
                .store
                .reader(Place::Archive)
                .read(&entry.name, MAX_INDEXED_BYTES as u64)
            {
                let problems = parse(&version.entry, &version.bytes).problems;
                proof
                    .findings
                    .extend(problems.into_iter().map(|problem| Finding {
                        file: format!("archive/{}", entry.name),
                        problem,
                    }));
            }
        }
        proof.findings.sort_by(|a, b| a.file.cmp(&b.file));
        proof.findings.dedup();
        Ok(proof)
    }
}

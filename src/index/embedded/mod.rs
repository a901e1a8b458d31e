//! The index in a local folder: Tantivy for postings and columns, our own ranking over them.
//!
//! Everything known of a file version (its stamp and hash too) is part of its document, so that
//! the record of what is indexed cannot differ from what is. An overlay becomes a segment in
//! memory that is searched like the others.

mod answer;
mod batch;
mod checks;
mod directory;
mod embedded_index;
mod failure;
mod filter;
mod keywords;
mod layers;
mod lexicon;
mod meaning;
mod models;
mod opened;
mod rows;
mod schema;
mod sharing;
mod snapshot;
mod tokenize;
mod unused_indexes;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use chrono::DateTime;
use chrono::Utc;

pub use embedded_index::EmbeddedIndex;

use self::embedded_index::changed;
use self::embedded_index::with_table;
use self::failure::failed;
use self::failure::guarded;
use self::failure::locked;
use self::rows::kept;
use super::Batch;
use super::Index;
use super::IndexError;
use super::Overlay;
use super::Snapshot;
use crate::columns;
use crate::vectors::Key;

impl Index for EmbeddedIndex {
    fn snapshot(&self, overlay: &Overlay) -> Result<Arc<dyn Snapshot>, IndexError> {
        guarded(|| self.view(overlay))
    }

    fn batch(&self, expected: usize) -> Result<Box<dyn Batch + '_>, IndexError> {
        guarded(|| {
            // Deleting in a damaged segment, or merging it, could end the whole process.
            let committed = self.committed()?;
            if let Some(folder) = &self.folder {
                let files = committed.files();
                self.with_checks(folder, |checks| {
                    checks.learn(folder);
                    checks.prove(folder, &files, 0, None)
                })?;
            }
            let tantivy = self.with_open(|opened| opened.for_writing())?;
            let batch = batch::EmbeddedBatch::begin(self, &tantivy, expected)?;
            Ok(Box::new(batch) as Box<dyn Batch + '_>)
        })
    }

    fn reset(&self) -> Result<(), IndexError> {
        self.close();
        if let Some(folder) = &self.folder {
            // Other processes may have the files open.
            match unused_indexes::remove(folder) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed("remove", error)),
            }
        }
        let removed = self.vectors.remove_unsound();
        removed.map_err(|error| failed("remove damaged vectors beside", error))?;
        guarded(|| self.with_open(|_| Ok(())))
    }

    fn keep_vectors(
        &self,
        model: &str,
        vectors: Vec<(Key, Vec<Vec<f32>>)>,
    ) -> Result<(), IndexError> {
        let kept = self.vectors.keep(model, vectors);
        kept.map_err(|error| failed("write vectors beside", error))
    }

    fn tidy_vectors(&self, models: &[&str], wanted: &HashSet<Key>) -> Result<(), IndexError> {
        let tidied = self.vectors.tidy(models, wanted);
        tidied.map_err(|error| failed("put in order the vectors beside", error))
    }

    fn models(&self) -> Vec<String> {
        self.vectors.names()
    }

    fn mark(&self) -> u64 {
        self.reopened.load(Ordering::Acquire)
    }

    fn changed_since(&self, mark: u64) -> Option<IndexError> {
        match self.changed_file() {
            Some(name) => Some(changed(&name)),
            None if self.mark() != mark => Some(changed("the index")),
            None => None,
        }
    }

    fn is_sound_when_reopened(&self) -> Result<bool, IndexError> {
        self.close();
        let proved = guarded(|| {
            let committed = self.opened()?;
            let Some(folder) = &self.folder else {
                return Ok(());
            };
            let files = with_table(committed.files());
            self.with_checks(folder, |checks| checks.prove(folder, &files, 0, None))?;
            let vectors = self.vectors.unsound();
            let vectors = vectors.map_err(|error| failed("read vectors beside", error))?;
            match vectors.first() {
                None => Ok(()),
                Some(name) => Err(changed(name)),
            }
        });
        match proved {
            Ok(()) => Ok(true),
            Err(IndexError::Unusable { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn damaged_parts(&self) -> Result<Vec<String>, IndexError> {
        let committed = self.opened()?;
        let Some(folder) = &self.folder else {
            return Ok(Vec::new());
        };
        let mut files = committed.files();
        if kept::state_in(folder).is_some() {
            files = with_table(files);
        }
        let mut damaged = checks::damaged_files(folder, &files)?;
        let vectors = self.vectors.unsound();
        damaged.extend(vectors.map_err(|error| failed("read vectors beside", error))?);
        Ok(damaged)
    }

    fn check_some(&self, budget: Duration, moment: DateTime<Utc>) -> Result<bool, IndexError> {
        let Some(folder) = &self.folder else {
            return Ok(true);
        };
        let deadline = Instant::now() + budget;
        let committed = self.committed()?;
        let files = committed.files();
        let table = [PathBuf::from(kept::NAME)];
        let now = moment.timestamp_nanos_opt().unwrap_or(0);
        let kept = kept::state_in(folder);
        let (is_done, is_table_whole) = self.with_checks(folder, |checks| {
            checks.learn(folder);
            let is_done = checks.prove(folder, &files, now, Some(deadline))?;
            let is_table_whole = match is_done && kept.is_some() {
                true => checks.prove(folder, &table, now, Some(deadline)).ok(),
                false => None,
            };
            checks.keep_only(&with_table(files));
            Ok((is_done, is_table_whole))
        })?;
        let is_current = kept.as_ref() == Some(&committed.state);
        let is_all = match is_table_whole {
            _ if !is_done => false,
            Some(true) if is_current => true,
            Some(false) => false,
            is_whole => {
                if is_whole.is_none() && kept.is_some() {
                    // It is damaged: what was made from it, too.
                    let _ = columns::remove(&folder.join(kept::NAME));
                    *locked(&self.newest) = None;
                }
                // Without any, each process reads all segments.
                let is_settled = kept.is_none() || self.is_settled(folder, &committed, moment);
                if is_settled {
                    self.keep_rows(folder, now)?;
                }
                is_settled
            }
        };
        self.write_checks(folder);
        unused_indexes::touch(folder, moment.into());
        Ok(is_all)
    }

    fn remove_unused(&self, now: DateTime<Utc>) -> Result<usize, IndexError> {
        let Some(folder) = &self.folder else {
            return Ok(0);
        };
        unused_indexes::touch(folder, now.into());
        unused_indexes::remove_unused(folder, schema::VERSION, now.into())
            .map_err(|error| failed("clean up beside", error))
    }
}

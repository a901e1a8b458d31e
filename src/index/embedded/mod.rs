//! The index in a local folder: Tantivy for postings and columns, our own ranking over them.
//!
//! All data of a file version (its stamp and hash too) are part of its document, so that the record
//! of indexed versions cannot differ from the indexed documents. An overlay becomes a segment in
//! memory that is searched like the others.
//!
//! - *Fields.* Words with frequencies, title words, *runs* (what stands between blanks, lower
//!   case), runs of topics, trigrams of the whole file, *facts* (`key`, NUL, value) for every
//!   filter, calendar terms; columns for the table.
//! - *The table.* One row a memory, in the order (namespace, time, name) that gives each memory its
//!   neighbours. It lies in a file beside the segments as it lies in memory: a process that starts
//!   maps it, and all processes share its pages. A view of a newer state, and one with an overlay,
//!   is that file and a `TableDelta`: the rows that went, and the documents that came. So a write
//!   costs the next search what was written, in a store of any size. Whoever commits writes the
//!   file anew when a 64th of the rows is new; else the leader does, when the state has stood for 1
//!   s for 10,000 rows. Where there is no file, or a quarter of it differs, a process reads the
//!   columns of all segments.
//! - *A filter* is a set of rows, a bit each. Memories that may end are judged one by one; a
//!   namespace is a range of rows; other facts are postings. What is superseded is found once a
//!   view.
//! - *Keyword counts* come from runs: the count of a keyword without blanks in a text is the sum,
//!   over the runs that hold it, of how often the run occurs times how often the keyword stands in
//!   the run. Keywords with blanks are narrowed down by trigrams and counted in the texts.
//! - *`grep`* reads only files that hold the trigrams of a literal that the expression requires,
//!   and all files if it requires none.
//! - *What a new memory may contradict* shares its rarest words (`sharing`): the postings of these
//!   are read, as far as that is quickly done.
//! - *Nearness* is compared with every vector: exact search is fast at a million, and a graph would
//!   cost minutes to build, as much memory again, and its recall under filters (docs/RETRIEVAL.md).
//! - *No reader waits.* Tantivy's lock around opening and removing files is not taken: its holder
//!   may be stopped. A reader that misses a file looks for the newest state again.
//! - *Its own files are proved once.* Each ends with a checksum. `checked`, beside them, says which
//!   were found whole, by size, modification time and inode. Unproved files are read before the
//!   index is written (a damaged segment could end the process), when it is opened if they are
//!   small, and else a piece at a time when there is nothing to do; after a month again. Damage
//!   means an index made anew.
//! - *A file that is cut while it is mapped* ends no process (`columns::mapped`). Before an answer
//!   is given, `engine::live::index_recovery` asks whether a mapped file was cut or written
//!   meanwhile; if so, the answer is thrown away and made again. Whoever commits asks too, so that
//!   zeros become part of no segment.
//! - *What is no file is set aside.* A pipe, a socket, a device, a link or a folder in the place of
//!   one of these files is renamed (`NAME.set-aside-1`) when the store or the file is opened.
//! - *Few segments.* A commit makes one; eight of a kind become one, and all below 1,000 memories
//!   are of a kind. Those of more than 50,000 memories stay. A batch of a few changes runs with one
//!   thread and one merge thread: allocators keep memory for every thread there was at once.
//! - *Folders of other versions and languages* are removed by whoever holds the writer lock, a week
//!   after an older version, a month after any other was used last. A long-running process touches
//!   `used` once a day. A program whose index is removed below it makes it anew.

mod answer;
mod batch;
mod checks;
mod directory;
mod embedded_index;
mod failure;
mod filter;
mod folder;
mod keywords;
mod layers;
mod lexicon;
mod meaning;
mod models;
mod opened;
mod part;
mod rows;
mod schema;
mod sharing;
mod snapshot;
mod tokenize;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

pub use embedded_index::EmbeddedIndex;

use self::directory::ReadSince;
use self::embedded_index::with_table;
use self::failure::{changed, changed_since};
use self::failure::{failed, guarded};
use self::folder::{copying, unused};
use self::rows::kept;
use super::{Batch, IncomingIndex, Index, IndexError, Overlay, Snapshot, StateFiles};
use crate::columns;
use crate::vectors::{VectorEntry, VectorKey};

impl Index for EmbeddedIndex {
    fn snapshot(&self, overlay: &Overlay) -> Result<Arc<dyn Snapshot>, IndexError> {
        guarded(|| self.view(overlay))
    }

    fn batch(&self, expected: usize) -> Result<Box<dyn Batch + '_>, IndexError> {
        guarded(|| {
            let mark = self.mark();
            // Deleting in a damaged segment, or merging it, could end the whole process.
            let committed = self.committed()?;
            if let Some(folder) = &self.folder {
                let files = committed.files();
                self.with_checks(folder, |checks| {
                    checks.learn(folder);
                    checks.prove(folder, &files, 0, None)
                })?;
            }
            let state = self.state().map(Path::to_owned);
            let read = state.map(|state| ReadSince { state, mark });
            let tantivy = self.with_open(|opened| opened.for_writing(read))?;
            let batch = batch::EmbeddedBatch::begin(self, &tantivy, expected, mark)?;
            Ok(Box::new(batch) as Box<dyn Batch + '_>)
        })
    }

    fn reset(&self) -> Result<(), IndexError> {
        self.close();
        if let Some(folder) = &self.folder {
            // Other processes may have the files open.
            match unused::remove(folder) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed("remove", error)),
            }
        }
        let removed = self.vectors.remove_unsound();
        removed.map_err(|error| failed("remove damaged vectors beside", error))?;
        guarded(|| self.with_open(|_| Ok(())))
    }

    fn keep_vectors(&self, model: &str, vectors: Vec<VectorEntry>) -> Result<(), IndexError> {
        let kept = self.vectors.keep(model, vectors);
        kept.map_err(|error| failed("write vectors beside", error))
    }

    fn tidy_vectors(&self, models: &[&str], wanted: &HashSet<VectorKey>) -> Result<(), IndexError> {
        let tidied = self.vectors.tidy(models, wanted);
        tidied.map_err(|error| failed("put in order the vectors beside", error))
    }

    fn models(&self) -> Vec<String> {
        self.vectors.names()
    }

    fn mark(&self) -> u64 {
        self.state().map_or(0, columns::forgotten_changes)
    }

    fn changed_since(&self, mark: u64) -> Option<IndexError> {
        changed_since(self.state()?, mark)
    }

    fn reopen(&self) {
        self.close();
        if let Some(state) = self.state() {
            columns::forget_changed_in(state);
        }
    }

    fn is_sound(&self) -> Result<bool, IndexError> {
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
        let is_all = match is_table_whole {
            _ if !is_done => false,
            Some(false) => false,
            is_whole => {
                if is_whole.is_none() && kept.is_some() {
                    // It is damaged, and so is the view that was made from it.
                    let _ = columns::remove(&folder.join(kept::NAME));
                    self.forget_view();
                }
                let touched = self.touched().len();
                let is_due = kept::is_due(folder, &committed.parts, touched, kept::AT_REST);
                // Without a table file, each process reads all segments.
                let is_settled = kept.is_none() || self.is_settled(folder, &committed, moment);
                if is_due && is_settled {
                    self.keep_rows(folder, now)?;
                }
                is_settled || !is_due
            }
        };
        self.write_checks(folder);
        unused::touch(folder, moment.into());
        Ok(is_all)
    }

    fn remove_unused(&self, now: DateTime<Utc>) -> Result<usize, IndexError> {
        let Some(folder) = &self.folder else {
            return Ok(0);
        };
        unused::touch(folder, now.into());
        unused::remove_unused(folder, schema::VERSION, now.into())
            .map_err(|error| failed("clean up beside", error))
    }

    fn name(&self) -> Option<&str> {
        self.folder.as_ref()?.file_name()?.to_str()
    }

    fn state_files(&self) -> Result<Option<StateFiles>, IndexError> {
        let Some(folder) = self.folder.as_ref().filter(|_| self.exists()) else {
            return Ok(None);
        };
        let committed = self.opened()?;
        let names = committed.files();
        // A damaged file must not damage other machines.
        self.with_checks(folder, |checks| {
            checks.learn(folder);
            checks.prove(folder, &with_table(names.clone()), 0, None)
        })?;
        let files = copying::open_files(folder, &names);
        let files = files.map_err(|error| failed("copy", error))?;
        let state = committed.state.clone();
        Ok(Some(StateFiles { state, files }))
    }

    fn receive(&self) -> Result<Option<Box<dyn IncomingIndex>>, IndexError> {
        let Some(folder) = self.folder.as_ref().filter(|_| !self.exists()) else {
            return Ok(None);
        };
        let incoming = copying::Incoming::begin(folder);
        let incoming = incoming.map_err(|error| failed("receive", error))?;
        Ok(Some(Box::new(incoming)))
    }
}

//! Copies of whole stores: a folder into a workspace, and a workspace into a folder.
//!
//! Guarantees: bytes and times of memories, live and archived, are the same on both sides, as are those of the
//! settings, tombstones and proposals; nothing is overwritten; a copy that was interrupted can be made again. Journals
//! are copied by what they say: the sum of uses, and all records. Other files of a folder are left there.
//!
//! A memory that is new to the workspace comes with its earlier changes, as far as they are known, in the same
//! transaction: their texts, times and authors. One that is or was there gets none.

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_postgres::Row;

use super::database::Value;
use super::error::RowsError;
use super::storage::{SETTINGS, added_files};
use super::workspace::{BESIDE, Rows, draw, note_lack, path_of, place_name, row_of};
use super::writing;
use super::writing::{NewMemory, Origin, Outcome, PastStep, Text};
use crate::files::{
    ChangeWriter, EarlierChange, EarlierChanges, Entry, FilesError, PROPOSALS, Place, Reader,
    Replaced, Skipped, Storage, Store, TOMBSTONES, Version, WritableStorage, file_of,
};
use crate::journal::{JournalError, JournalFolder, LineJournal, copy_to_folder, copy_to_lines};
use crate::model::Stem;

/// Maximum number of files, and of their bytes, that are copied together.
const MAX_FILES: usize = 500;
const MAX_BYTES: u64 = 4 << 20;

/// Result of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Copied {
    /// Number of files that were added.
    pub added: usize,
    /// Number of files that were there with the same bytes.
    pub known: usize,
    /// Number of earlier texts that were added.
    pub earlier: usize,
    /// Paths of files that are there with other bytes, and were left as they are.
    pub different: Vec<String>,
    /// Entries of the folder that are no readable memories.
    pub skipped: Vec<Skipped>,
}

/// Error of a copy.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error(transparent)]
    Rows(#[from] RowsError),
    #[error(transparent)]
    Files(#[from] FilesError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("cannot write the history")]
    History(#[source] Box<dyn Error + Send + Sync>),
    #[error("{} is not empty", .0.display())]
    NotEmpty(PathBuf),
}

/// A file to be copied: its place, and its name there.
struct File {
    place: &'static str,
    entry: Entry,
}

/// Copies the store in the folder of `from` into the workspace `rows`, memories with their changes in `earlier`.
///
/// # Errors
///
/// Fails if a side cannot be read or written; what was copied stays.
pub fn import(
    rows: &Rows,
    from: &Store,
    earlier: Option<&dyn EarlierChanges>,
) -> Result<Copied, CopyError> {
    let mut copied = Copied::default();
    let all = files_of(from, &mut copied.skipped)?;
    let changed = Changed {
        earlier,
        without: without_changes(rows, from, &all)?,
    };
    for files in batches(all) {
        let texts = read_all(from, &files)?;
        add_batch(rows, &files, texts, &changed, &mut copied)?;
    }
    if copied.added >= MAX_FILES {
        rows.database.analyze()?;
    }
    let journal = LineJournal::new(rows.clone());
    // Uses of a journal that was copied before would count twice.
    if journal.is_empty()? {
        copy_to_lines(&JournalFolder::new(from.root(), from.state()), &journal)?;
    }
    Ok(copied)
}

/// Earlier changes of memories.
struct Changed<'a> {
    earlier: Option<&'a dyn EarlierChanges>,
    /// Names of files, without folders, whose changes are left.
    without: BTreeSet<String>,
}

/// Returns the names of files, without folders, that are purged on one of the sides, or that two files have.
fn without_changes(
    rows: &Rows,
    from: &Store,
    files: &[File],
) -> Result<BTreeSet<String>, FilesError> {
    let purged = [rows.purged()?, from.purged()?];
    let purged = purged.iter().flatten().map(|stem| format!("{stem}.md"));
    let mut without: BTreeSet<String> = purged.collect();
    let mut seen = BTreeSet::new();
    for name in files.iter().map(file_name) {
        if !seen.insert(name) {
            without.insert(name.to_owned());
        }
    }
    Ok(without)
}

fn file_name(file: &File) -> &str {
    let name = &file.entry.name;
    name.rsplit('/').next().unwrap_or(name)
}

/// Adds files with their texts.
fn add_batch(
    rows: &Rows,
    files: &[File],
    texts: Vec<Version>,
    changed: &Changed<'_>,
    copied: &mut Copied,
) -> Result<(), CopyError> {
    let mut plain = Vec::new();
    let mut memories = Memories::default();
    let there = hashes(rows, files)?;
    for ((file, version), there) in files.iter().zip(texts).zip(there) {
        let path = path_of(file.place, &file.entry.name);
        if let Some(hash) = there {
            match hash == version.hash {
                true => copied.known += 1,
                false => copied.different.push(path),
            }
            continue;
        }
        let present = (path, version.bytes, file.entry.stamp.modified);
        let is_memory = file.place != BESIDE && !changed.without.contains(file_name(file));
        let earlier = changed.earlier.filter(|_| is_memory);
        let earlier = earlier.map_or_else(Vec::new, |earlier| earlier.of(&present.0));
        if earlier.is_empty() {
            plain.push(present);
            continue;
        }
        memories.add(earlier, present)?;
        if memories.bytes > MAX_BYTES || memories.steps > MAX_FILES as u64 {
            std::mem::take(&mut memories).write(rows, copied)?;
        }
    }
    memories.write(rows, copied)?;
    add_plain(rows, &plain, copied)
}

/// Returns the hashes of the files that are there, in the same order.
fn hashes(rows: &Rows, files: &[File]) -> Result<Vec<Option<u128>>, FilesError> {
    let read = versions(rows, files, 0).into_iter();
    let hash = |read| match read {
        Ok(Version { hash, .. }) => Ok(Some(hash)),
        Err(FilesError::Missing { .. }) => Ok(None),
        Err(error) => Err(error),
    };
    read.map(hash).collect()
}

/// Adds files without earlier changes.
fn add_plain(
    rows: &Rows,
    files: &[(String, Vec<u8>, i64)],
    copied: &mut Copied,
) -> Result<(), CopyError> {
    for (added, (path, bytes, _)) in added_files(rows, files)?.into_iter().zip(files) {
        match added {
            Ok(()) => copied.added += 1,
            Err(FilesError::Taken { .. }) => compare(rows, path, bytes, copied)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Notes whether the file at `path` that is there has the same bytes.
fn compare(rows: &Rows, path: &str, bytes: &[u8], copied: &mut Copied) -> Result<(), FilesError> {
    let there = rows.version_at(path)?;
    match there.is_some_and(|there| there.bytes == bytes) {
        true => copied.known += 1,
        false => copied.different.push(path.to_owned()),
    }
    Ok(())
}

/// Memories with their earlier changes, which are added together.
#[derive(Default)]
struct Memories {
    memories: Vec<NewMemory>,
    /// The present file of each: path, bytes, time.
    present: Vec<(String, Vec<u8>, i64)>,
    bytes: u64,
    steps: u64,
}

impl Memories {
    /// Adds the memory in a file.
    fn add(
        &mut self,
        earlier: Vec<EarlierChange>,
        present: (String, Vec<u8>, i64),
    ) -> Result<(), RowsError> {
        let steps = steps(earlier, &present)?;
        let texts = steps.iter().filter_map(|step| step.text.as_ref());
        self.bytes += texts.map(|text| text.bytes.len() as u64).sum::<u64>();
        self.steps += steps.len() as u64;
        self.memories.push(NewMemory { steps });
        self.present.push(present);
        Ok(())
    }

    fn write(self, rows: &Rows, copied: &mut Copied) -> Result<(), CopyError> {
        if self.memories.is_empty() {
            return Ok(());
        }
        let texts = |memory: &NewMemory| {
            let texts = memory.steps.iter().filter(|step| step.text.is_some());
            texts.count()
        };
        let counts: Vec<usize> = self.memories.iter().map(texts).collect();
        let (known, workspace) = (&rows.known, &rows.workspace);
        let outcomes = writing::add_new(&rows.database, workspace, known, self.memories);
        let mut plain = Vec::new();
        for ((outcome, count), present) in note_lack(outcomes)?.iter().zip(counts).zip(self.present)
        {
            match outcome {
                Outcome::Done => {
                    copied.added += 1;
                    copied.earlier += count - 1;
                }
                // It was there before, under this path or another, and its history is that of the workspace.
                _ => plain.push(present),
            }
        }
        add_plain(rows, &plain, copied)
    }
}

/// Returns the changes of a memory up to its present file.
fn steps(
    earlier: Vec<EarlierChange>,
    (path, bytes, modified): &(String, Vec<u8>, i64),
) -> Result<Vec<PastStep>, RowsError> {
    let mut steps: Vec<PastStep> = Vec::new();
    // Number of the step that wrote each file last.
    let mut there: HashMap<String, usize> = HashMap::new();
    let mut put = |steps: &mut Vec<PastStep>, path: String, text: Option<Text>, origin| {
        let last = match text {
            Some(_) => there.insert(path.clone(), steps.len()),
            None => there.remove(&path),
        };
        let is_same = match (last.and_then(|last| steps[last].text.as_ref()), &text) {
            (Some(last), Some(text)) => last.hash == text.hash,
            (last, text) => last.is_none() && text.is_none(),
        };
        if is_same {
            if let Some(last) = last {
                there.insert(path, last);
            }
            return;
        }
        let (place, name) = row_of(&path);
        steps.push(PastStep {
            place,
            name,
            text,
            origin,
        });
    };
    for change in earlier {
        let origin = Arc::new(Origin {
            token: draw()?,
            at: change.at,
            author: change.author,
            tool: change.tool,
        });
        for (path, bytes) in change.files {
            let text = bytes.map(|bytes| Text {
                modified: Some(change.at),
                ..Text::new(&bytes)
            });
            put(&mut steps, path, text, Some(Arc::clone(&origin)));
        }
    }
    let text = Text {
        modified: Some(*modified),
        ..Text::new(bytes)
    };
    put(&mut steps, path.clone(), Some(text), None);
    let present = there.remove(path).unwrap_or_default();
    if let Some(text) = &mut steps[present].text {
        text.modified = Some(*modified);
    }
    let gone: BTreeSet<String> = there.into_keys().collect();
    steps.extend(gone.iter().map(|path| {
        let (place, name) = row_of(path);
        PastStep {
            place,
            name,
            text: None,
            origin: None,
        }
    }));
    Ok(steps)
}

/// Copies the workspace `rows` into the folder of `to`, which does not exist, or is empty; and the changes of its memories
/// that were made before to `history`.
///
/// # Errors
///
/// Fails if there is something in the folder, or if a side cannot be read or written.
pub fn export(
    rows: &Rows,
    to: &Store,
    history: Option<&mut dyn ChangeWriter>,
) -> Result<Copied, CopyError> {
    let root = to.root();
    if std::fs::read_dir(root).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(CopyError::NotEmpty(root.to_owned()));
    }
    to.create()?;
    let mut copied = Copied::default();
    if let Some(history) = history {
        copied.earlier = write_changes(rows, history)?;
    }
    for files in batches(files_of(rows, &mut copied.skipped)?) {
        let texts = read_all(rows, &files)?;
        copied.added += put_batch(to, &files, texts)?;
    }
    let journal = LineJournal::new(rows.clone());
    copy_to_folder(&journal, &JournalFolder::new(root, to.state()))?;
    Ok(copied)
}

/// Numbers, times, transactions and names of the changes of memories after the number `$2`, without those after the
/// number that was the last one, `$3`.
const CHANGES: &str = "SELECT seq, (extract(epoch FROM at) * 1000000)::bigint * 1000, token, name FROM change \
     WHERE workspace = $1 AND place <> 'beside' AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT 20000";

/// Changes by their numbers, each with its new text, if that is still there.
const CHANGED: &str = "SELECT c.seq, c.place, c.name, c.op = 'remove', coalesce(c.author, ''), coalesce(c.tool, ''), t.bytes, \
     t.is_former \
     FROM unnest($2) AS wanted JOIN change c ON c.workspace = $1 AND c.seq = wanted LEFT JOIN LATERAL ( \
     SELECT bytes, false AS is_former FROM memory \
     WHERE workspace = $1 AND place = c.place AND name = c.name AND seq = c.seq UNION ALL \
     SELECT bytes, true FROM version WHERE workspace = $1 AND place = c.place AND name = c.name AND seq = c.seq LIMIT 1 \
     ) t ON true";

/// Number of changes whose texts are read together.
const TEXTS: usize = 100;

/// A change of a file, without its text.
struct Past {
    /// Time, of the last change until this one of the same memory.
    at: i64,
    number: i64,
    token: i64,
}

/// Writes the changes of all memories to `history`, by their times; returns the number of texts that stand there no more.
/// The numbers are not in that order: those that an import brought are later than others.
fn write_changes(rows: &Rows, history: &mut dyn ChangeWriter) -> Result<usize, CopyError> {
    let mut count = 0;
    let mut write = |change| history.add(change).map_err(CopyError::History);
    let mut present: Option<(i64, EarlierChange)> = None;
    for past in past_changes(rows)?.chunks(TEXTS) {
        let numbers = past.iter().map(|one| one.number).collect();
        let read = rows.look(CHANGED, [Value::Numbers(numbers)])?;
        let read: HashMap<i64, Row> = read.into_iter().map(|row| (row.get(0), row)).collect();
        for one in past {
            let Some(row) = read.get(&one.number) else {
                continue;
            };
            let text: Option<Vec<u8>> = row.get(6);
            let is_removed: bool = row.get(3);
            count += usize::from(row.get::<_, Option<bool>>(7) == Some(true));
            // An erased text is in no history.
            let file = (is_removed || text.is_some()).then(|| {
                (
                    path_of(row.get(1), row.get(2)),
                    text.filter(|_| !is_removed),
                )
            });
            match &mut present {
                Some((token, change)) if *token == one.token => {
                    change.at = one.at;
                    change.files.extend(file);
                }
                _ => {
                    let begun = EarlierChange {
                        at: one.at,
                        author: row.get(4),
                        tool: row.get(5),
                        files: file.into_iter().collect(),
                    };
                    if let Some((_, done)) = present.replace((one.token, begun)) {
                        write(done)?;
                    }
                }
            }
        }
    }
    if let Some((_, done)) = present {
        write(done)?;
    }
    Ok(count)
}

/// Returns what tells the memory in the file `name` from others: an id is one memory in every folder, of other names each
/// folder may have one.
fn memory_of(name: &str) -> String {
    let file = file_of(name);
    let stem = Stem::from_file_name(file.strip_suffix(".md").unwrap_or(file));
    let is_anywhere = stem.is_canonical();
    (if is_anywhere { file } else { name }).to_owned()
}

/// Returns the changes of all memories, by their times.
fn past_changes(rows: &Rows) -> Result<Vec<Past>, CopyError> {
    let last = rows.head()?;
    let mut all: Vec<Past> = Vec::new();
    let mut latest: HashMap<String, i64> = HashMap::new();
    loop {
        let after = all.last().map_or(0, |past| past.number);
        let read = rows.look(CHANGES, [Value::Number(after), Value::Number(last)])?;
        if read.is_empty() {
            break;
        }
        for row in read {
            let latest = latest.entry(memory_of(row.get(3))).or_insert(i64::MIN);
            *latest = (*latest).max(row.get(1));
            all.push(Past {
                at: *latest,
                number: row.get(0),
                token: row.get(2),
            });
        }
    }
    all.sort_unstable_by_key(|past| (past.at, past.number));
    Ok(all)
}

/// Returns the files of a store, in the order of their paths.
fn files_of(from: &dyn Storage, skipped: &mut Vec<Skipped>) -> Result<Vec<File>, FilesError> {
    let mut files = Vec::new();
    for place in [Place::Files, Place::Archive] {
        let listing = from.list(place)?;
        let file = |entry| File {
            place: place_name(place),
            entry,
        };
        files.extend(listing.entries.into_iter().map(file));
        skipped.extend(listing.skipped);
    }
    let mut paths = vec![SETTINGS.to_owned()];
    for top in [TOMBSTONES, PROPOSALS] {
        let names = from.names_beside(top)?.into_iter();
        paths.extend(names.map(|name| format!("{top}/{name}")));
    }
    paths.sort_unstable();
    let beside = from.beside();
    let entries = paths.iter().filter_map(|path| beside.look(path));
    files.extend(entries.map(|entry| File {
        place: BESIDE,
        entry,
    }));
    Ok(files)
}

/// Splits files into batches.
fn batches(files: Vec<File>) -> Vec<Vec<File>> {
    let (mut batches, mut bytes) = (Vec::<Vec<File>>::new(), MAX_BYTES);
    for file in files {
        bytes += file.entry.stamp.size;
        match batches.last_mut() {
            Some(batch) if bytes <= MAX_BYTES && batch.len() < MAX_FILES => batch.push(file),
            _ => {
                bytes = file.entry.stamp.size;
                batches.push(vec![file]);
            }
        }
    }
    batches
}

/// Reads the texts of `files`, in the same order.
fn read_all(from: &dyn Storage, files: &[File]) -> Result<Vec<Version>, FilesError> {
    versions(from, files, u64::MAX).into_iter().collect()
}

/// Reads `files`, up to `limit` bytes of each, in the same order.
fn versions(from: &dyn Storage, files: &[File], limit: u64) -> Vec<Result<Version, FilesError>> {
    let mut texts = Vec::with_capacity(files.len());
    for run in files.chunk_by(|one, other| one.place == other.place) {
        let reader = match Place::of(&path_of(run[0].place, &run[0].entry.name)) {
            Some((place, _)) if run[0].place != BESIDE => from.reader(place),
            _ => from.beside(),
        };
        let names: Vec<&str> = run.iter().map(|file| file.entry.name.as_str()).collect();
        let read = match reader.read_many(&names, limit) {
            Some(read) => read,
            None => one_by_one(reader.held().as_ref(), &names, limit),
        };
        texts.extend(read);
    }
    texts
}

fn one_by_one(reader: &dyn Reader, names: &[&str], limit: u64) -> Vec<Result<Version, FilesError>> {
    let read = names.iter().map(|name| reader.read(name, limit));
    read.collect()
}

/// Puts files into the folder of a store, with their times; returns their number.
fn put_batch(to: &Store, files: &[File], texts: Vec<Version>) -> Result<usize, FilesError> {
    let count = files.len();
    for (file, version) in files.iter().zip(texts) {
        let name = &file.entry.name;
        let path = path_of(file.place, name);
        match Place::of(&path).filter(|_| file.place != BESIDE) {
            Some((place, _)) => {
                to.add(place, name, &version.bytes)?;
                to.set_modified(place, &version, version.entry.stamp.modified)?;
            }
            None => match to.put_beside(name, None, Some(&version.bytes))? {
                Replaced::Done => {}
                _ => return Err(FilesError::Taken { path: path.into() }),
            },
        }
    }
    Ok(count)
}

//! The folder of files, as one.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::dot::Wide;
use super::segment::{VectorEntry, VectorSegment};
use super::{VectorKey, segment};
use crate::beneath::Folder;

/// The vectors of one model.
pub struct VectorStore {
    folder: PathBuf,
    newest: Mutex<Arc<View>>,
}

/// All vectors that there were at one moment.
#[derive(Default)]
pub struct View {
    /// The names that were there.
    paths: Vec<PathBuf>,
    segments: Vec<Arc<VectorSegment>>,
    /// Files that are not whole.
    pub damaged: Vec<PathBuf>,
}

/// The place of the vectors of one key in a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VectorLocation {
    segment: u32,
    entry: u32,
}

/// Number of files of about one size that are joined.
const JOINED: usize = 8;
/// Files are about of one size if their numbers of keys lie between two powers of this.
const LEVEL: usize = 8;
/// Number of vectors from which all cores compare.
const MANY: usize = 20_000;

impl VectorStore {
    /// Returns the vectors in `folder`, which need not exist. Opens nothing yet.
    pub fn new(folder: &Path) -> VectorStore {
        VectorStore {
            folder: folder.to_owned(),
            newest: Mutex::default(),
        }
    }

    /// All vectors that there are now. Files that were there before are not opened again.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read; a file that cannot is left out.
    pub fn view(&self) -> io::Result<Arc<View>> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(folder) = self.open()? else {
            *newest = Arc::default();
            return Ok(Arc::clone(&newest));
        };
        let names = files(&folder, "vec")?;
        let paths: Vec<PathBuf> = names.iter().map(|name| self.folder.join(name)).collect();
        // What was cut is left out, as what was cut before it was opened.
        let is_same = newest.paths == paths && !newest.segments.iter().any(|one| one.is_changed());
        if is_same {
            return Ok(Arc::clone(&newest));
        }
        let folder = Arc::new(folder);
        let mut view = View::default();
        for (path, name) in paths.into_iter().zip(names) {
            let mut known = newest.segments.iter();
            let known = known.find(|segment| segment.path == path && !segment.is_changed());
            let open = || VectorSegment::open(&folder, &name).map(Arc::new);
            view.paths.push(path.clone());
            match known.map_or_else(open, |segment| Ok(Arc::clone(segment))) {
                Ok(segment) => view.segments.push(segment),
                // It was joined with others meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => view.damaged.push(path),
            }
        }
        *newest = Arc::new(view);
        Ok(Arc::clone(&newest))
    }

    /// Returns the folder, if there is one.
    fn open(&self) -> io::Result<Option<Folder>> {
        match Folder::of_state(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other.map(Some),
        }
    }

    /// Keeps `entries`. The folder must exist.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be written; then none of them is kept.
    pub fn add(&self, mut entries: Vec<VectorEntry>) -> io::Result<()> {
        entries.sort_unstable_by_key(|entry| entry.key);
        entries.dedup_by_key(|entry| entry.key);
        let of_one = |entry: &VectorEntry| entry.pieces.first().map(Vec::len);
        if entries.is_empty() {
            return Ok(());
        }
        // Of texts without words it is kept that they have no vector.
        let dimensions = entries.iter().find_map(of_one).unwrap_or(0);
        let folder = Folder::of_state(&self.folder)?;
        segment::write(&folder, dimensions, &entries).map(drop)
    }

    /// Reads everything, and removes the files that are not as they were written; how many. To be
    /// called by whoever adds.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read, or such a file not be removed.
    pub fn remove_unsound(&self) -> io::Result<usize> {
        let unsound = self.view()?.unsound();
        if let Some(folder) = self.open()? {
            for name in unsound.iter().map(|path| name_of(path)) {
                match folder.set_aside(name)? {
                    true => {}
                    false => folder.remove(name)?,
                }
            }
        }
        Ok(unsound.len())
    }

    /// Joins files of about one size where there are many, and leaves out what nobody wants any
    /// more once that is half of a file. Removes what is damaged. To be called by whoever adds.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be written; the vectors are then as before.
    pub fn tidy(&self, wanted: Option<&HashSet<VectorKey>>) -> io::Result<()> {
        let view = self.view()?;
        let Some(folder) = self.open()? else {
            return Ok(());
        };
        let half_written = files(&folder, "part")?;
        let damaged = view.damaged.iter().map(|path| name_of(path));
        // Whoever adds is alone: what is half written was left by one that was killed.
        for name in damaged.chain(half_written.iter().map(String::as_str)) {
            let _ = folder.remove(name); // It is left out as long as it is there.
        }
        let is_wanted = |key: VectorKey| wanted.is_none_or(|wanted| wanted.contains(&key));
        let is_waste = |segment: &&Arc<VectorSegment>| {
            let unwanted = (0..segment.entries).filter(|&e| !is_wanted(segment.key(e)));
            wanted.is_some() && unwanted.count() * 2 > segment.entries
        };
        let mut levels: HashMap<(usize, u32), Vec<&Arc<VectorSegment>>> = HashMap::new();
        for segment in &view.segments {
            let level = segment.entries.max(1).ilog(LEVEL);
            levels
                .entry((segment.dimensions, level))
                .or_default()
                .push(segment);
        }
        for ((dimensions, _), segments) in levels {
            let joined: Vec<&Arc<VectorSegment>> = match segments.len() >= JOINED {
                true => segments,
                false => segments.into_iter().filter(is_waste).collect(),
            };
            if joined.is_empty() || !joined.iter().all(|segment| segment.is_sound()) {
                continue;
            }
            let mut entries: Vec<VectorEntry> = joined
                .iter()
                .flat_map(|segment| (0..segment.entries).map(move |entry| (segment, entry)))
                .filter(|(segment, entry)| is_wanted(segment.key(*entry)))
                .map(|(segment, entry)| segment.entry(entry))
                .collect();
            entries.sort_unstable_by_key(|entry| entry.key);
            entries.dedup_by_key(|entry| entry.key);
            if joined.iter().any(|segment| segment.is_changed()) {
                continue; // What was joined may be zeros.
            }
            if !entries.is_empty() {
                segment::write(&folder, dimensions, &entries)?;
            }
            for segment in joined {
                folder.remove(name_of(&segment.path))?;
            }
        }
        Ok(())
    }
}

/// Returns the names with an extension in a folder, in their order.
fn files(folder: &Folder, extension: &str) -> io::Result<Vec<String>> {
    let has_extension = |name: &String| {
        let found = name.rsplit_once('.');
        found.is_some_and(|(_, found)| found == extension)
    };
    let names = folder.names()?.into_iter().map(|(name, _)| name);
    let mut names: Vec<String> = names.filter(has_extension).collect();
    names.sort_unstable();
    Ok(names)
}

/// Returns the name of a file of vectors, which we gave it.
fn name_of(path: &Path) -> &str {
    let name = path.file_name().and_then(|name| name.to_str());
    name.unwrap_or_default()
}

impl View {
    /// Returns the place of the vectors of `key`.
    pub fn find(&self, key: VectorKey) -> Option<VectorLocation> {
        (0_u32..).zip(&self.segments).find_map(|(segment, found)| {
            let entry = found.find(key)? as u32;
            Some(VectorLocation { segment, entry })
        })
    }

    /// Returns the number of keys, those in two files counted twice.
    pub fn len(&self) -> usize {
        self.segments.iter().map(|segment| segment.entries).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// On disk.
    pub fn bytes(&self) -> usize {
        self.segments.iter().map(|segment| segment.bytes()).sum()
    }

    /// About how near the query is to everything: by [`VectorLocation`], the cosine of the best piece.
    pub fn near(&self, query: &[f32]) -> Near {
        let wide = Wide::of(query);
        let of_segment = |segment: &Arc<VectorSegment>| -> Vec<f32> {
            if segment.dimensions != query.len() {
                return vec![f32::NAN; segment.entries];
            }
            let entries = 0..segment.entries;
            match self.len() < MANY {
                true => entries.map(|entry| segment.near(entry, &wide)).collect(),
                false => entries
                    .into_par_iter()
                    .with_min_len(MANY / 4)
                    .map(|entry| segment.near(entry, &wide))
                    .collect(),
            }
        };
        Near(self.segments.iter().map(of_segment).collect())
    }

    /// Returns the cosine of the best piece at `place` with the query.
    pub fn exact(&self, place: VectorLocation, query: &[f32]) -> f32 {
        let segment = &self.segments[place.segment as usize];
        match segment.dimensions == query.len() {
            true => segment.exact(place.entry as usize, query),
            false => f32::NAN,
        }
    }

    /// Returns the codes of the tokens at `place`; empty where none are kept.
    pub fn tokens(&self, place: VectorLocation) -> &[u8] {
        self.segments[place.segment as usize].tokens(place.entry as usize)
    }

    /// Reads everything and returns the files that are not as they were written.
    pub fn unsound(&self) -> Vec<PathBuf> {
        let unsound = self.segments.iter().filter(|segment| !segment.is_sound());
        let paths = unsound.map(|segment| segment.path.clone());
        paths.chain(self.damaged.iter().cloned()).collect()
    }
}

/// The similarities that [`View::near`] found.
pub struct Near(Vec<Vec<f32>>);

impl Near {
    pub fn at(&self, place: VectorLocation) -> f32 {
        self.0[place.segment as usize][place.entry as usize]
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    /// Returns a vector of length 1 that points mostly in one direction.
    fn vector(direction: usize) -> Vec<f32> {
        let mut vector = [0.1_f32; 8];
        vector[direction % 8] = 1.0;
        let length = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
        vector.iter().map(|v| v / length).collect()
    }

    /// Spread over the whole range, as hashes are.
    fn key(number: u64) -> VectorKey {
        let hash = blake3::hash(&number.to_le_bytes());
        VectorKey::from_le_bytes(hash.as_bytes()[..16].try_into().unwrap())
    }

    fn entry(number: u64, pieces: Vec<Vec<f32>>) -> VectorEntry {
        VectorEntry {
            key: key(number),
            tokens: pieces
                .concat()
                .first()
                .map_or(Vec::new(), |_| vec![number as u8; 64]),
            pieces,
        }
    }

    fn paths(store: &VectorStore) -> Vec<PathBuf> {
        let folder = store.open().unwrap().unwrap();
        let names = super::files(&folder, "vec").unwrap();
        names.iter().map(|name| store.folder.join(name)).collect()
    }

    fn files(store: &VectorStore) -> usize {
        paths(store).len()
    }

    #[test]
    fn what_was_added_is_found_by_any_store_of_the_folder() {
        let folder = folder();
        let store = VectorStore::new(folder.path());
        assert!(store.view().unwrap().is_empty());
        let many: Vec<_> = (0..200)
            .map(|n| entry(n, vec![vector(n as usize)]))
            .collect();
        store.add(many).unwrap();
        store
            .add(vec![
                entry(500, vec![vector(1), vector(2)]),
                entry(501, vec![]),
            ])
            .unwrap();
        let view = VectorStore::new(folder.path()).view().unwrap();
        assert_eq!(view.len(), 202);
        let query = vector(2);
        let near = view.near(&query);
        for number in 0..200 {
            let place = view.find(key(number)).unwrap();
            let cosine: f32 = query
                .iter()
                .zip(vector(number as usize))
                .map(|(a, b)| a * b)
                .sum();
            assert!((near.at(place) - cosine).abs() < 0.02);
            assert!((view.exact(place, &query) - cosine).abs() < 0.001);
        }
        // The best piece counts; what has none is near to nothing.
        assert!((view.exact(view.find(key(500)).unwrap(), &query) - 1.0).abs() < 0.001);
        assert!(view.exact(view.find(key(501)).unwrap(), &query).is_nan());
        assert_eq!(view.find(key(999)), None);
        assert_eq!(view.tokens(view.find(key(7)).unwrap()), [7; 64]);
        assert_eq!(view.tokens(view.find(key(501)).unwrap()), [0; 0]);
        assert!(view.near(&[1.0; 3]).at(view.find(key(1)).unwrap()).is_nan());
    }

    #[test]
    fn many_small_files_become_one() {
        let folder = folder();
        let store = VectorStore::new(folder.path());
        for number in 0..50 {
            store
                .add(vec![entry(number, vec![vector(number as usize)])])
                .unwrap();
            store.tidy(None).unwrap();
        }
        assert!(files(&store) < JOINED * 2, "{}", files(&store));
        let view = store.view().unwrap();
        let tokens = |number| view.find(key(number)).map(|place| view.tokens(place));
        assert!((0..50).all(|number| tokens(number) == Some(&[number as u8; 64])));
    }

    #[test]
    fn what_nobody_wants_goes_once_it_is_much() {
        let folder = folder();
        let store = VectorStore::new(folder.path());
        store
            .add((0..10).map(|n| entry(n, vec![vector(0)])).collect())
            .unwrap();
        let wanted: HashSet<VectorKey> = (0..6).map(key).collect();
        store.tidy(Some(&wanted)).unwrap();
        assert_eq!(store.view().unwrap().len(), 10, "four of ten may stay");
        let wanted: HashSet<VectorKey> = (0..4).map(key).collect();
        store.tidy(Some(&wanted)).unwrap();
        let view = store.view().unwrap();
        assert_eq!(view.len(), 4);
        assert!((0..4).all(|number| view.find(key(number)).is_some()));
        store.tidy(Some(&HashSet::new())).unwrap();
        assert_eq!(files(&store), 0);
    }

    #[test]
    fn a_view_keeps_what_others_join_and_remove() {
        let folder = folder();
        let store = VectorStore::new(folder.path());
        store.add(vec![entry(1, vec![vector(1)])]).unwrap();
        let before = store.view().unwrap();
        let other = VectorStore::new(folder.path());
        other.tidy(Some(&HashSet::new())).unwrap();
        assert!(store.view().unwrap().is_empty());
        let place = before.find(key(1)).unwrap();
        assert!(before.exact(place, &vector(1)) > 0.99);
    }

    #[test]
    fn a_damaged_file_is_left_out_and_removed() {
        let folder = folder();
        let store = VectorStore::new(folder.path());
        let three = (0..3).map(|n| entry(n, vec![vector(n as usize)])).collect();
        store.add(three).unwrap();
        let whole = fs::read(&paths(&store)[0]).unwrap();
        let path = paths(&store)[0].clone();
        for cut in [0, 10, 63, 64, 100, whole.len() - 1] {
            fs::write(&path, &whole[..cut]).unwrap();
            assert!(
                VectorStore::new(folder.path()).view().unwrap().is_empty(),
                "{cut}"
            );
        }
        for at in (0..whole.len()).filter(|at| !(40..64).contains(at)) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x40;
            fs::write(&path, &bytes).unwrap();
            let view = VectorStore::new(folder.path()).view().unwrap();
            assert!(view.is_empty() || view.unsound() == [path.clone()], "{at}");
        }
        fs::write(&path, &whole[..100]).unwrap();
        let store = VectorStore::new(folder.path());
        store.tidy(None).unwrap();
        assert_eq!(files(&store), 0);
    }
}

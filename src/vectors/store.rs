//! The folder of files, as one.

use std::collections::HashMap;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use rayon::prelude::*;

use super::Key;
use super::dot::Small;
use super::segment;
use super::segment::Entry;
use super::segment::Segment;

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
    segments: Vec<Arc<Segment>>,
    /// Files that are not whole.
    pub damaged: Vec<PathBuf>,
}

/// Where the vectors of one key lie in a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    segment: u32,
    entry: u32,
}

/// So many files of about one size are joined.
const JOINED: usize = 8;
/// Files are about of one size if their numbers of keys lie between two powers of this.
const LEVEL: usize = 8;
/// From so many vectors on, all cores compare.
const MANY: usize = 20_000;

impl VectorStore {
    /// The vectors in `folder`, which need not exist. Opens nothing yet.
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
        let paths = self.files()?;
        if newest.paths == paths {
            return Ok(Arc::clone(&newest));
        }
        let mut view = View::default();
        for path in paths {
            view.paths.push(path.clone());
            let known = newest.segments.iter().find(|segment| segment.path == path);
            match known.map_or_else(|| Segment::open(&path).map(Arc::new), |s| Ok(Arc::clone(s))) {
                Ok(segment) => view.segments.push(segment),
                // It was joined with others meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => view.damaged.push(path),
            }
        }
        *newest = Arc::new(view);
        Ok(Arc::clone(&newest))
    }

    /// In the order of their names.
    fn files(&self) -> io::Result<Vec<PathBuf>> {
        let names = match fs::read_dir(&self.folder) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut paths = Vec::new();
        for name in names {
            let path = name?.path();
            if path.extension().is_some_and(|extension| extension == "vec") {
                paths.push(path);
            }
        }
        paths.sort_unstable();
        Ok(paths)
    }

    /// Keeps `vectors`, each key with those of its pieces. The folder must exist.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be written; then none of them is kept.
    pub fn add(&self, vectors: Vec<(Key, Vec<Vec<f32>>)>) -> io::Result<()> {
        let mut entries: Vec<Entry> = vectors
            .into_iter()
            .map(|(key, pieces)| Entry { key, pieces })
            .collect();
        entries.sort_unstable_by_key(|entry| entry.key);
        entries.dedup_by_key(|entry| entry.key);
        let of_one = |entry: &Entry| entry.pieces.first().map(Vec::len);
        if entries.is_empty() {
            return Ok(());
        }
        // Of texts without words it is kept that they have no vector.
        let dimensions = entries.iter().find_map(of_one).unwrap_or(0);
        segment::write(&self.folder, dimensions, &entries).map(drop)
    }

    /// Joins files of about one size where there are many, and leaves out what nobody wants any
    /// more once that is half of a file. Removes what is damaged. To be called by whoever adds.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be written; the vectors are then as before.
    pub fn tidy(&self, wanted: Option<&HashSet<Key>>) -> io::Result<()> {
        let view = self.view()?;
        for path in &view.damaged {
            let _ = fs::remove_file(path); // It is made anew; seen as damaged until it is gone.
        }
        let is_wanted = |key: Key| wanted.is_none_or(|wanted| wanted.contains(&key));
        let is_waste = |segment: &&Arc<Segment>| {
            let unwanted = (0..segment.entries).filter(|&e| !is_wanted(segment.key(e)));
            wanted.is_some() && unwanted.count() * 2 > segment.entries
        };
        let mut levels: HashMap<(usize, u32), Vec<&Arc<Segment>>> = HashMap::new();
        for segment in &view.segments {
            let level = segment.entries.max(1).ilog(LEVEL);
            levels
                .entry((segment.dimensions, level))
                .or_default()
                .push(segment);
        }
        for ((dimensions, _), segments) in levels {
            let joined: Vec<&Arc<Segment>> = match segments.len() >= JOINED {
                true => segments,
                false => segments.into_iter().filter(is_waste).collect(),
            };
            if joined.is_empty() || !joined.iter().all(|segment| segment.is_sound()) {
                continue;
            }
            let mut entries: Vec<Entry> = joined
                .iter()
                .flat_map(|segment| (0..segment.entries).map(move |entry| (segment, entry)))
                .filter(|(segment, entry)| is_wanted(segment.key(*entry)))
                .map(|(segment, entry)| segment.entry(entry))
                .collect();
            entries.sort_unstable_by_key(|entry| entry.key);
            entries.dedup_by_key(|entry| entry.key);
            let kept = match entries.is_empty() {
                true => None,
                false => Some(segment::write(&self.folder, dimensions, &entries)?),
            };
            for segment in joined.iter().filter(|s| kept.as_ref() != Some(&s.path)) {
                fs::remove_file(&segment.path)?;
            }
        }
        Ok(())
    }
}

impl View {
    /// Where the vectors of `key` lie.
    pub fn find(&self, key: Key) -> Option<Place> {
        (0_u32..).zip(&self.segments).find_map(|(segment, found)| {
            let entry = found.find(key)? as u32;
            Some(Place { segment, entry })
        })
    }

    /// How many keys there are, those in two files counted twice.
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

    /// About how near the query is to everything: by [`Place`], the cosine of the best piece.
    pub fn near(&self, query: &[f32]) -> Near {
        let small = Small::of(query);
        let of_segment = |segment: &Arc<Segment>| -> Vec<f32> {
            if segment.dimensions != query.len() {
                return vec![f32::NAN; segment.entries];
            }
            let entries = 0..segment.entries;
            match self.len() < MANY {
                true => entries.map(|entry| segment.near(entry, &small)).collect(),
                false => entries
                    .into_par_iter()
                    .with_min_len(MANY / 4)
                    .map(|entry| segment.near(entry, &small))
                    .collect(),
            }
        };
        Near(self.segments.iter().map(of_segment).collect())
    }

    /// The cosine of the best piece at `place` with the query.
    pub fn exact(&self, place: Place, query: &[f32]) -> f32 {
        let segment = &self.segments[place.segment as usize];
        match segment.dimensions == query.len() {
            true => segment.exact(place.entry as usize, query),
            false => f32::NAN,
        }
    }

    /// Reads everything and returns the files that are not as they were written.
    pub fn unsound(&self) -> Vec<PathBuf> {
        let unsound = self.segments.iter().filter(|segment| !segment.is_sound());
        let paths = unsound.map(|segment| segment.path.clone());
        paths.chain(self.damaged.iter().cloned()).collect()
    }
}

/// What [`View::near`] found.
pub struct Near(Vec<Vec<f32>>);

impl Near {
    pub fn at(&self, place: Place) -> f32 {
        self.0[place.segment as usize][place.entry as usize]
    }
}

//! Cache of memories that were read before, valid while their files are unchanged; and of those with equal titles, as of
//! a snapshot.
//!
//! Every hit of a search is checked against the disk. Asking the system whether a file is unchanged
//! costs a tenth of reading, hashing and parsing it again, and mostly it is.
//!
//! Promises: a returned memory is the content of its file, by the same rule as in the index. The file's
//! size, modification time, inode and time of change are those at the read, and it
//! had not been changed for so long that another change would show. So a file
//! that was changed just before is not cached, and nothing at all if the times are another machine's.
//! The size of each is bounded, and so is that of all in a program. Callers compare the returned hash with the index.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::{Duration, Instant};

use crate::engine::locked::locked;
use crate::engine::texts::is_racy;
use crate::files::{Entry, Reader};
use crate::index::Snapshot;
use crate::model::{Memory, Stamp, normalized_namespace};
use crate::ranking::ShingleSet;

/// A memory as it was read from its file, shared by all holders.
#[derive(Debug, Clone)]
pub struct Shared(Arc<Text>);

#[derive(Debug)]
struct Text {
    memory: Memory,
    /// Computed on first use.
    outline: OnceLock<ShingleSet>,
}

impl Shared {
    /// Returns the memory by itself; copied only if it has other holders.
    pub fn into_memory(self) -> Memory {
        match Arc::try_unwrap(self.0) {
            Ok(text) => text.memory,
            Err(shared) => shared.memory.clone(),
        }
    }

    /// Returns the shingles of its text, for comparing it with others.
    pub(in crate::engine) fn outline(&self) -> &ShingleSet {
        let text = &self.0;
        text.outline
            .get_or_init(|| ShingleSet::of(&text.memory.content))
    }
}

impl Deref for Shared {
    type Target = Memory;

    fn deref(&self) -> &Memory {
        &self.0.memory
    }
}

impl From<Memory> for Shared {
    fn from(memory: Memory) -> Shared {
        Shared(Arc::new(Text {
            memory,
            outline: OnceLock::new(),
        }))
    }
}

impl PartialEq for Shared {
    fn eq(&self, other: &Shared) -> bool {
        **self == **other
    }
}

/// Maximum size of the cache in bytes: the hits of some hundred searches of a session.
const MAX_BYTES: usize = 8 << 20;

/// Maximum size in bytes of all caches of a program beyond [`MAX_BYTES`] of each, of stores whose files are read from
/// a database: one miss takes it more work than a search takes here.
const MAX_SHARED_BYTES: usize = 512 << 20;

/// Size in bytes by which a cache grows.
const GROWTH: usize = 1 << 20;

/// Bytes of [`MAX_SHARED_BYTES`] that are in use.
static SHARED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Maximum size of a cached file in bytes, which a part of a talk has at most: a larger one would displace many
/// others.
const LARGEST_FILE: u64 = 64 << 10;

/// Bytes that a memory takes besides its text: its fields, its shingles, its name and its slot.
const OVERHEAD: usize = 1_792;

/// Size of a frontmatter in bytes that is included in [`OVERHEAD`]; of a longer one each byte may be a
/// value by itself.
const USUAL_FRONTMATTER: usize = 256;

/// Bytes of memory for each further byte of a frontmatter.
const MAX_FOR_A_BYTE: usize = 32;

/// Cached memories by the names of their files.
pub(in crate::engine) struct ReadCache {
    versions: Mutex<Versions>,
    most_bytes: usize,
    /// Maximum size of what it shares with others.
    most_shared: usize,
}

#[derive(Default)]
struct Versions {
    places: HashMap<Arc<str>, usize>,
    // Invariant: the names are those of `places`, each at its place.
    versions: Vec<Version>,
    bytes: usize,
    /// Bytes that it took of those for all.
    shared: Share,
    /// Time of the last use.
    used: Option<Instant>,
    /// State of the random choice of the evicted entry.
    dice: u32,
}

/// One file as it was read.
struct Version {
    name: Arc<str>,
    stamp: Stamp,
    /// [`Entry::changed`] at the read.
    changed: i64,
    hash: u128,
    memory: Shared,
    bytes: usize,
}

impl Default for ReadCache {
    fn default() -> ReadCache {
        ReadCache {
            versions: Mutex::default(),
            most_bytes: MAX_BYTES,
            most_shared: 0,
        }
    }
}

/// Bytes of those for all caches, given back when dropped.
#[derive(Default)]
struct Share(usize);

impl Share {
    /// Takes [`GROWTH`] more, of `most` in all, unless less than it has were left for others; returns whether it did.
    fn grow(&mut self, most: usize) -> bool {
        let own = self.0 + GROWTH;
        let more = |taken: usize| Some(taken + GROWTH).filter(|taken| taken + own <= most);
        let is_taken = SHARED_BYTES
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_ok();
        if is_taken {
            self.0 += GROWTH;
        }
        is_taken
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        SHARED_BYTES.fetch_sub(self.0, Ordering::Relaxed);
    }
}

impl ReadCache {
    /// Returns a cache that grows as long as there is room for it beside those of other stores.
    pub(in crate::engine) fn growing() -> ReadCache {
        ReadCache {
            most_shared: MAX_SHARED_BYTES,
            ..ReadCache::default()
        }
    }

    /// Returns the memory in the file `name`, with the hash of the file, if it is cached and the file is
    /// unchanged.
    pub(in crate::engine) fn get(&self, reader: &dyn Reader, name: &str) -> Option<(u128, Shared)> {
        let (stamp, changed, hash, memory) = self.lock().get(name)?;
        // The lock is not held while the disk is read.
        let entry = reader.look(name);
        if entry.is_some_and(|entry| (entry.stamp, entry.changed) == (stamp, changed)) {
            return Some((hash, memory));
        }
        self.lock().forget(name, changed);
        None
    }

    /// Caches the memory read from the file of `entry`, unless it may change without a trace.
    /// `now` is a time before the read.
    pub(in crate::engine) fn put(&self, entry: &Entry, hash: u128, memory: &Shared, now: i64) {
        if is_racy(entry.changed, now) || entry.stamp.size > LARGEST_FILE {
            return;
        }
        let frontmatter = (entry.stamp.size as usize).saturating_sub(memory.content.len());
        let unusual = frontmatter.saturating_sub(USUAL_FRONTMATTER);
        let version = Version {
            name: Arc::from(entry.name.as_str()),
            stamp: entry.stamp,
            changed: entry.changed,
            hash,
            memory: memory.clone(),
            bytes: OVERHEAD + memory.content.len() + unusual * MAX_FOR_A_BYTE,
        };
        self.lock().put(version, self.most_bytes, self.most_shared);
    }

    /// Empties the cache if it was not used within `age`; returns whether it did.
    pub(in crate::engine) fn forget_after(&self, age: Duration) -> bool {
        let mut versions = self.lock();
        let is_over = versions.used.is_some_and(|used| used.elapsed() >= age);
        if is_over {
            *versions = Versions::default();
        }
        is_over
    }

    /// Returns whether nothing is cached.
    pub(in crate::engine) fn is_empty(&self) -> bool {
        self.lock().versions.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Versions> {
        locked(&self.versions)
    }
}

impl Versions {
    fn get(&mut self, name: &str) -> Option<(Stamp, i64, u128, Shared)> {
        self.used = self.used.map(|_| Instant::now());
        let version = &self.versions[*self.places.get(name)?];
        let memory = version.memory.clone();
        Some((version.stamp, version.changed, version.hash, memory))
    }

    /// Removes the entry of `name` whose time of change is `changed`.
    fn forget(&mut self, name: &str, changed: i64) {
        if let Some(&place) = self.places.get(name)
            && self.versions[place].changed == changed
        {
            self.remove(place);
        }
    }

    fn put(&mut self, version: Version, most_bytes: usize, most_shared: usize) {
        if let Some(&place) = self.places.get(&version.name) {
            self.remove(place);
        }
        if version.bytes > most_bytes {
            return;
        }
        while self.bytes + version.bytes > most_bytes + self.shared.0 {
            if self.shared.grow(most_shared) {
                continue;
            }
            // The evicted one is random. With the least recently used one, a caller that cycles through more
            // entries than there is room for would always miss.
            self.dice = self
                .dice
                .wrapping_mul(1_664_525)
                .wrapping_add(1_013_904_223);
            self.remove((self.dice >> 8) as usize % self.versions.len());
        }
        self.used = Some(Instant::now());
        self.bytes += version.bytes;
        self.places
            .insert(Arc::clone(&version.name), self.versions.len());
        self.versions.push(version);
    }

    fn remove(&mut self, place: usize) {
        let removed = self.versions.swap_remove(place);
        self.places.remove(&removed.name);
        self.bytes -= removed.bytes;
        if let Some(moved) = self.versions.get(place) {
            self.places.insert(Arc::clone(&moved.name), place);
        }
    }
}

/// Files that share their titles with others, as indexed in one view.
pub(in crate::engine) type Files = Arc<Vec<String>>;

/// Cache of the files that share a title, for one view.
#[derive(Default)]
pub(in crate::engine) struct SharedTitles(
    /// View and its files.
    pub(in crate::engine) Mutex<Option<(Weak<dyn Snapshot>, Files)>>,
);

/// Returns the key of a memory if titles identify memories: user, namespace and title, compared as in
/// `lifecycle::duplicate::is_same_title`; `None` without a title.
pub(in crate::engine) fn called(memory: &Memory) -> Option<[String; 3]> {
    let title = memory.title.as_deref()?.trim().to_lowercase();
    let namespace = normalized_namespace(memory.namespace_or_global()).to_lowercase();
    (!title.is_empty()).then(|| [memory.user.clone(), namespace, title])
}

#[cfg(test)]
mod tests {
    use std::fs;
    #[cfg(unix)]
    use std::fs::File;
    use std::path::PathBuf;

    use super::*;
    use crate::engine::texts::{RACY_NANOS, parse};
    use crate::files::{Place, Storage, Store};

    const NAME: &str = "20260101_000000_aaaaaaaa.md";
    const TEXT: &str = "---\nid: aaaaaaaa\n---\n\nalpha\n";
    const OTHER: &str = "---\nid: aaaaaaaa\n---\n\nbravo\n";
    /// Time so late that no file is in doubt.
    const LATER: i64 = i64::MAX;

    struct Scene {
        root: tempfile::TempDir,
        reader: Box<dyn Reader>,
        known: ReadCache,
    }

    impl Scene {
        /// Returns a memory that was read.
        fn new() -> Scene {
            let scene = Scene::with(ReadCache::default());
            fs::write(scene.path(NAME), TEXT).unwrap();
            scene.read(NAME, LATER);
            scene
        }

        fn with(known: ReadCache) -> Scene {
            let root = tempfile::tempdir().unwrap();
            fs::create_dir(root.path().join("files")).unwrap();
            let store = Store::new(root.path(), &root.path().join(".memdir"));
            let reader = store.reader(Place::Files).held();
            Scene {
                root,
                reader,
                known,
            }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.path().join("files").join(name)
        }

        fn read(&self, name: &str, now: i64) {
            let version = self.reader.read(name, u64::MAX).unwrap();
            let memory = Shared::from(parse(&version.entry, &version.bytes));
            self.known.put(&version.entry, version.hash, &memory, now);
        }

        fn known(&self, name: &str) -> Option<String> {
            let (hash, memory) = self.known.get(self.reader.as_ref(), name)?;
            assert_eq!(hash, self.reader.read(name, u64::MAX).unwrap().hash);
            Some(memory.content.clone())
        }

        /// Does `change` to the memory's file, again and again until the file system's clock has
        /// moved on from when it was read. Of systems with a time of change that nobody sets back.
        #[cfg(unix)]
        fn change(&self, change: impl Fn(&File)) {
            let changed = || self.reader.look(NAME).unwrap().changed;
            let before = changed();
            let modified = fs::metadata(self.path(NAME)).unwrap().modified().unwrap();
            while changed() == before {
                let file = File::options().write(true).open(self.path(NAME)).unwrap();
                change(&file);
                file.set_modified(modified).unwrap();
            }
        }
    }

    #[test]
    fn what_is_on_disk_as_it_was_read_is_known() {
        let scene = Scene::new();
        assert_eq!(scene.known(NAME).as_deref(), Some("alpha\n"));
        assert_eq!(scene.known(NAME).as_deref(), Some("alpha\n"));
        assert_eq!(scene.known("20260101_000000_bbbbbbbb.md"), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_text_of_the_same_size_and_time_is_not_known() {
        use std::io::Write;
        let scene = Scene::new();
        scene.change(|mut file| file.write_all(OTHER.as_bytes()).unwrap());
        let size = fs::metadata(scene.path(NAME)).unwrap().len();
        assert_eq!(size, TEXT.len() as u64);
        assert_eq!(scene.known(NAME), None);
        scene.read(NAME, LATER);
        assert_eq!(scene.known(NAME).as_deref(), Some("bravo\n"));
    }

    #[test]
    fn a_file_that_was_put_in_place_of_another_is_not_known() {
        let scene = Scene::new();
        fs::write(scene.path(".new"), OTHER).unwrap();
        fs::rename(scene.path(".new"), scene.path(NAME)).unwrap();
        assert_eq!(scene.known(NAME), None);
    }

    #[test]
    fn what_is_no_file_any_more_is_not_known() {
        let scene = Scene::new();
        fs::rename(scene.path(NAME), scene.path("aside.md")).unwrap();
        assert_eq!(scene.known(NAME), None);
        fs::rename(scene.path("aside.md"), scene.path(NAME)).unwrap();
        scene.read(NAME, LATER);
        assert!(scene.known(NAME).is_some());
        fs::remove_file(scene.path(NAME)).unwrap();
        fs::create_dir(scene.path(NAME)).unwrap();
        assert_eq!(scene.known(NAME), None);
    }

    #[cfg(unix)]
    #[test]
    fn what_may_be_read_by_nobody_any_more_is_not_known() {
        use std::os::unix::fs::PermissionsExt;
        let scene = Scene::new();
        let mode = |mode| fs::Permissions::from_mode(mode);
        scene.change(|file| {
            file.set_permissions(mode(0)).unwrap();
            // Only the time of change is to tell, and the file is to be opened once more.
            file.set_permissions(mode(0o600)).unwrap();
        });
        fs::set_permissions(scene.path(NAME), mode(0)).unwrap();
        assert_eq!(scene.known.get(scene.reader.as_ref(), NAME), None);
    }

    #[test]
    fn a_file_that_was_changed_just_before_is_not_kept() {
        let scene = Scene::with(ReadCache::default());
        fs::write(scene.path(NAME), TEXT).unwrap();
        let changed = scene.reader.look(NAME).unwrap().changed;
        scene.read(NAME, changed + RACY_NANOS - 1);
        assert_eq!(scene.known(NAME), None);
        scene.read(NAME, changed + RACY_NANOS);
        assert!(scene.known(NAME).is_some());
    }

    #[test]
    fn what_nobody_asks_for_any_more_is_forgotten() {
        let scene = Scene::new();
        assert!(!scene.known.forget_after(Duration::MAX));
        assert!(scene.known(NAME).is_some());
        assert!(scene.known.forget_after(Duration::ZERO));
        assert_eq!(scene.known(NAME), None);
        assert_eq!(scene.known.lock().bytes, 0);
        assert!(!scene.known.forget_after(Duration::ZERO));
    }

    #[test]
    fn a_growing_cache_takes_of_what_is_for_all() {
        let most_bytes = 10 * (OVERHEAD + 6);
        let scene = Scene::with(ReadCache {
            most_bytes,
            ..ReadCache::growing()
        });
        let name = |number: u32| format!("20260101_000000_{number:08x}.md");
        for number in 0..40 {
            fs::write(scene.path(&name(number)), TEXT).unwrap();
            scene.read(&name(number), LATER);
        }
        let kept = (0..40).filter(|number| scene.known(&name(*number)).is_some());
        assert_eq!(kept.count(), 40);
        assert_eq!(scene.known.lock().shared.0, GROWTH);
        let mut share = Share::default();
        assert!(!share.grow(2 * GROWTH));
        assert!(scene.known.forget_after(Duration::ZERO));
        assert_eq!(scene.known.lock().shared.0, 0);
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        let most_bytes = 10 * (OVERHEAD + 6);
        let scene = Scene::with(ReadCache {
            most_bytes,
            ..ReadCache::default()
        });
        let name = |number: u32| format!("20260101_000000_{number:08x}.md");
        for number in 0..40 {
            fs::write(scene.path(&name(number)), TEXT).unwrap();
            scene.read(&name(number), LATER);
            // What was read last is kept in any case.
            assert!(scene.known(&name(number)).is_some());
        }
        let kept = (0..40).filter(|number| scene.known(&name(*number)).is_some());
        assert_eq!(kept.count(), 10);
        assert_eq!(scene.known.lock().bytes, most_bytes);
        fs::write(scene.path(NAME), "x".repeat(LARGEST_FILE as usize + 1)).unwrap();
        scene.read(NAME, LATER);
        assert_eq!(scene.known(NAME), None);
        // Of many small values each takes more than its bytes.
        let topics = "a,".repeat(LARGEST_FILE as usize / 4);
        fs::write(scene.path(NAME), format!("---\ntopics: [{topics}]\n---\n")).unwrap();
        scene.read(NAME, LATER);
        assert_eq!(scene.known(NAME), None);
    }
}

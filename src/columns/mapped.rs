//! A file as bytes: a small one is read, a large one is mapped.
//!
//! A process that may write the folder can cut a file that others have mapped; the system then ends each
//! process that reads behind the new end (SIGBUS). To read everything instead would cost a process
//! on a large store its start and its memory, and looking at the length first leaves a moment in
//! between. So the fault is caught: a handler puts zeros where the file was, for the rest of that
//! map, and notes that it did. Only maps that were made here are treated so; any other fault goes
//! where it went before.
//!
//! An answer that was computed from zeros must be thrown away: its maker asks [`changed_in`] and
//! [`forgotten_changes`] before it is given. A cut within a page shows as zeros without any fault, so
//! [`changed_in`] also compares size and time of change of each mapped file with those that it had
//! when it was mapped; where the file has no name any more, because it was cut and then removed, the
//! last byte of the map tells. A map that was changed is not forgotten until nobody can take it for
//! whole: [`forget_changed_in`] is called by whoever has dropped everything that was read of it.
//! Small files are read because most are small, and what was read cannot change.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::io::Read as _;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use memmap2::Mmap;
#[cfg(unix)]
use memmap2::UncheckedAdvice;
use zerocopy::IntoBytes as _;

#[cfg(unix)]
use super::guard;
use crate::beneath::{Access, Facts, Folder, Kind};

/// Maximum size, in bytes, of a file that is read and not mapped. Balances what each process holds
/// by itself against the maps, which are asked after on every answer.
const READ_AT_MOST: u64 = 32 << 10;

/// The bytes of a file as it was when it was opened; cheap to clone.
#[derive(Clone)]
pub struct Bytes(Arc<Source>);

enum Source {
    /// In words, as columns of large numbers want them to lie; the next field is the number of
    /// bytes that count.
    Read(Vec<u128>, usize),
    Mapped(Mapped),
}

/// A file that is mapped, with what tells whether it still is what was mapped.
struct Mapped {
    // Before the map, which must be there as long as it is.
    #[cfg(unix)]
    guard: guard::Guard,
    map: Mmap,
    folder: Arc<Folder>,
    name: String,
    size: u64,
    modified: i64,
    id: (u64, u64),
    /// Position and value of the last byte that is not zero; it reads as zero once the file was cut there.
    last: (usize, u8),
    /// [`changed_in`] does not name it any more.
    is_forgotten: AtomicBool,
}

/// All maps of this process.
static MAPS: Mutex<Vec<Weak<Source>>> = Mutex::new(Vec::new());

/// See [`forgotten_changes`]: a number for each folder that held such files.
static FORGOTTEN: Mutex<BTreeMap<PathBuf, u64>> = Mutex::new(BTreeMap::new());

/// Maximum number of bytes at the end of a file that are searched for one that is not zero.
const LAST_BYTES: usize = 4 << 10;

impl Bytes {
    /// Opens the file `name` in `folder`.
    ///
    /// # Errors
    ///
    /// As the system says; `InvalidData` if it is no regular file.
    pub fn open(folder: &Arc<Folder>, name: &str) -> io::Result<Bytes> {
        let mut file = folder.open_file(name, Access::Read)?;
        let data = file.metadata()?;
        if !data.is_file() {
            let error = "it is no regular file";
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        if data.len() <= READ_AT_MOST {
            let mut words = vec![0_u128; (data.len() as usize).div_ceil(size_of::<u128>())];
            let length = read_into(&mut file, words.as_mut_bytes())?;
            return Ok(Bytes(Arc::new(Source::Read(words, length))));
        }
        // Of what was opened: another file may have the name by now.
        let facts = Facts::of(&file)?;
        if let Some(known) = known(&facts, folder, name) {
            return Ok(known);
        }
        // SAFETY: the bytes may change below us only if somebody writes into the file, which no
        // program of ours does: a file is put in place whole, and a new one is another file. Who
        // cuts it makes a fault that `guard` turns into zeros, and every pattern of bits is a
        // value of what is read here. What was read from a changed file is thrown away.
        #[allow(unsafe_code, reason = "mapping a file cannot be said safely")]
        let map = unsafe { Mmap::map(&file)? };
        if map.len() as u64 != facts.size {
            let error = "it was cut while it was opened";
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        let mapped = Mapped {
            #[cfg(unix)]
            guard: guard::Guard::of(&map),
            last: last_of(&map),
            is_forgotten: AtomicBool::new(false),
            map,
            folder: Arc::clone(folder),
            name: name.to_owned(),
            size: facts.size,
            modified: facts.modified,
            id: facts.id,
        };
        let source = Arc::new(Source::Mapped(mapped));
        let mut maps = MAPS.lock().unwrap_or_else(PoisonError::into_inner);
        maps.retain(|map| map.strong_count() > 0);
        maps.push(Arc::downgrade(&source));
        Ok(Bytes(source))
    }

    /// Opens the file at `path`, below a folder of derived things.
    ///
    /// # Errors
    ///
    /// As for [`Bytes::open`].
    pub fn open_at(path: &Path) -> io::Result<Bytes> {
        let (folder, name) = Folder::parent_of(path)?;
        Bytes::open(&Arc::new(folder), name)
    }

    /// Returns whether the file was cut or written since it was opened; what was read may then be wrong.
    pub fn is_changed(&self) -> bool {
        match &*self.0 {
            Source::Read(..) => false,
            Source::Mapped(mapped) => mapped.is_changed(),
        }
    }
}

/// Fills `bytes` from a file, as far as it goes; how far.
fn read_into(file: &mut File, bytes: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < bytes.len() {
        match file.read(&mut bytes[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// Returns the place and value of the last byte that is not zero; of the last byte where all of the last
/// [`LAST_BYTES`] are zero.
fn last_of(map: &[u8]) -> (usize, u8) {
    let start = map.len().saturating_sub(LAST_BYTES);
    let found = map[start..].iter().rposition(|byte| *byte != 0);
    let place = found.map_or(map.len() - 1, |place| start + place);
    (place, map[place])
}

/// Returns the map of a file that is mapped already and was not changed since.
fn known(facts: &Facts, folder: &Folder, name: &str) -> Option<Bytes> {
    if facts.id == (0, 0) {
        return None;
    }
    let maps = MAPS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut maps = maps.iter().filter_map(Weak::upgrade);
    let known = maps.find(|source| match &**source {
        Source::Read(..) => false,
        Source::Mapped(mapped) => {
            mapped.is_as(facts)
                && mapped.name == name
                && mapped.folder.path() == folder.path()
                && !mapped.is_cut()
                && !mapped.is_forgotten.load(Ordering::Acquire)
        }
    });
    known.map(Bytes)
}

/// Returns the maps of files below the folder `path` that were not forgotten.
fn maps_in(path: &Path) -> Vec<Arc<Source>> {
    let maps = MAPS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut maps: Vec<_> = maps.iter().filter_map(Weak::upgrade).collect();
    maps.retain(|source| match &**source {
        Source::Read(..) => false,
        Source::Mapped(mapped) => {
            mapped.folder.path().starts_with(path) && !mapped.is_forgotten.load(Ordering::Acquire)
        }
    });
    maps
}

/// Returns the first file below the folder `path` that this process has mapped and that was cut or
/// written since. Costs a `stat` of each mapped file.
pub fn changed_in(path: &Path) -> Option<PathBuf> {
    maps_in(path).iter().find_map(|source| match &**source {
        Source::Mapped(mapped) if mapped.is_changed() => {
            Some(mapped.folder.path().join(&mapped.name))
        }
        _ => None,
    })
}

/// Has [`changed_in`] name no more the files below the folder `path` that were changed until now, and
/// counts them in [`forgotten_changes`]. The caller has dropped what was read of them and whatever
/// could hand out such a map; files that are changed later are named all the same.
pub fn forget_changed_in(path: &Path) {
    for source in maps_in(path) {
        if let Source::Mapped(mapped) = &*source
            && mapped.is_changed()
        {
            mapped.forget();
        }
    }
}

/// Unmaps the pages of all maps, which stay in the system's cache of files: a page that is used again is mapped
/// again. To be called before a long rest.
pub fn give_back_pages() {
    #[cfg(unix)]
    for source in maps_in(Path::new("")) {
        if let Source::Mapped(mapped) = &*source {
            // SAFETY: the pages are those of a file, or zeros in their place, and were never written: they
            // are the same when they are mapped again.
            #[allow(unsafe_code, reason = "advice may drop what was written")]
            let result = unsafe { mapped.map.unchecked_advise(UncheckedAdvice::DontNeed) };
            // The pages stay, which costs memory and nothing else.
            drop(result);
        }
    }
}

/// Returns the number of maps of changed files below the folder `path` that [`changed_in`] names no more, because
/// they were forgotten or given back. Whoever finds it as it was, and no file changed, has read what
/// was written.
pub fn forgotten_changes(path: &Path) -> u64 {
    let forgotten = FORGOTTEN.lock().unwrap_or_else(PoisonError::into_inner);
    let below = forgotten.iter();
    below
        .filter(|(folder, _)| folder.starts_with(path))
        .map(|(_, count)| count)
        .sum()
}

impl Mapped {
    fn is_changed(&self) -> bool {
        if self.is_cut() {
            return true;
        }
        match self.folder.facts(&self.name) {
            Ok(facts) if facts.kind == Kind::File && facts.id == self.id => !self.is_as(&facts),
            // It was removed: it cannot be written by its name any more, but may have been before.
            _ => !self.has_its_end(),
        }
    }

    fn is_as(&self, facts: &Facts) -> bool {
        facts.id == self.id && facts.size == self.size && facts.modified == self.modified
    }

    /// Returns whether the map holds what the file ended with, as it does not once that was cut away.
    fn has_its_end(&self) -> bool {
        let (place, value) = self.last;
        // Others may have changed it since it was read last.
        std::hint::black_box(&self.map)[place] == value && !self.is_cut()
    }

    fn forget(&self) {
        // Counted first: whoever does not find it in one way finds it in the other.
        let mut forgotten = FORGOTTEN.lock().unwrap_or_else(PoisonError::into_inner);
        *forgotten.entry(self.folder.path().to_owned()).or_default() += 1;
        self.is_forgotten.store(true, Ordering::Release);
    }

    #[cfg(unix)]
    fn is_cut(&self) -> bool {
        self.guard.is_cut()
    }

    /// Returns false: a file that is mapped cannot be cut there.
    #[cfg(not(unix))]
    fn is_cut(&self) -> bool {
        false
    }
}

impl Drop for Mapped {
    /// Records a change that a reader may not have asked for yet.
    fn drop(&mut self) {
        if !*self.is_forgotten.get_mut() && self.is_changed() {
            self.forget();
        }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &*self.0 {
            Source::Read(words, length) => &words.as_bytes()[..*length],
            Source::Mapped(mapped) => &mapped.map,
        }
    }
}

// SAFETY: the bytes lie in a vector that nobody changes, or in a map, each behind an `Arc`: they
// stay where they are when a `Bytes` is moved or cloned, for as long as there is one.
#[allow(unsafe_code, reason = "the index library asks for the promise")]
unsafe impl stable_deref_trait::StableDeref for Bytes {}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const LARGE: usize = 300_000;

    fn scene() -> (tempfile::TempDir, Arc<Folder>) {
        let scene = tempfile::tempdir().unwrap();
        let folder = Folder::open(scene.path()).unwrap();
        (scene, Arc::new(folder))
    }

    #[test]
    fn a_file_is_what_it_was_and_small_ones_stay_so() {
        let (scene, folder) = scene();
        for size in [
            0,
            10,
            READ_AT_MOST as usize,
            READ_AT_MOST as usize + 1,
            LARGE,
        ] {
            let name = size.to_string();
            fs::write(scene.path().join(&name), vec![7; size]).unwrap();
            let bytes = Bytes::open(&folder, &name).unwrap();
            assert!(bytes.len() == size && bytes.iter().all(|byte| *byte == 7));
            assert!(!bytes.is_changed());
            let is_mapped = size > READ_AT_MOST as usize;
            let cut = fs::write(scene.path().join(&name), "");
            if cfg!(windows) && is_mapped {
                assert!(cut.is_err(), "the system lets nobody cut it");
                assert!(!bytes.is_changed() && bytes.iter().all(|byte| *byte == 7));
                continue;
            }
            cut.unwrap();
            assert_eq!(bytes.is_changed(), is_mapped, "{size}");
            assert!(is_mapped || bytes.iter().all(|byte| *byte == 7));
        }
        fs::create_dir(scene.path().join("folder")).unwrap();
        assert!(Bytes::open(&folder, "folder").is_err());
    }

    #[test]
    fn pages_that_were_given_back_hold_what_they_held() {
        let (scene, folder) = scene();
        fs::write(scene.path().join("a"), vec![7; LARGE]).unwrap();
        let bytes = Bytes::open(&folder, "a").unwrap();
        give_back_pages();
        assert!(bytes.len() == LARGE && bytes.iter().all(|byte| *byte == 7));
        assert!(!bytes.is_changed());
    }

    #[cfg(unix)]
    #[test]
    fn a_cut_file_reads_as_zeros_behind_its_end_and_says_so() {
        let (scene, folder) = scene();
        for cut in [0, 1, 4_095, 4_096, 100_000, LARGE as u64 - 1] {
            let path = scene.path().join(cut.to_string());
            fs::write(&path, vec![7; LARGE]).unwrap();
            let bytes = Bytes::open(&folder, &cut.to_string()).unwrap();
            assert_eq!(changed_in(scene.path()), None);
            File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_len(cut)
                .unwrap();
            let sum: usize = bytes.iter().map(|byte| usize::from(*byte)).sum();
            assert_eq!(sum, 7 * cut as usize, "what was cut away reads as zeros");
            assert!(bytes.is_changed());
            assert_eq!(changed_in(scene.path()), Some(path.clone()));
            assert_eq!(changed_in(&scene.path().join("elsewhere")), None);
            let before = forgotten_changes(scene.path());
            drop(bytes);
            assert_eq!(changed_in(scene.path()), None);
            assert!(forgotten_changes(scene.path()) > before);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_cut_and_then_removed_is_changed_and_one_that_is_removed_is_not() {
        let (scene, folder) = scene();
        let path = scene.path().join("file");
        let mut content = vec![7; LARGE];
        content[LARGE - 9..].fill(0);
        for cut in [None, Some(LARGE - 20), Some(LARGE / 2)] {
            fs::write(&path, &content).unwrap();
            let bytes = Bytes::open(&folder, "file").unwrap();
            if let Some(cut) = cut {
                let file = File::options().write(true).open(&path).unwrap();
                file.set_len(cut as u64).unwrap();
            }
            fs::remove_file(&path).unwrap();
            assert_eq!(bytes.is_changed(), cut.is_some(), "cut to {cut:?}");
            assert_eq!(changed_in(scene.path()).is_some(), cut.is_some());
            // Another file of the name is none of its business.
            fs::write(&path, &content).unwrap();
            assert_eq!(bytes.is_changed(), cut.is_some(), "cut to {cut:?}");
            fs::remove_file(&path).unwrap();
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_forgotten_is_what_was_changed_until_then() {
        let (scene, folder) = scene();
        let cut = |name: &str| {
            let file = File::options().write(true).open(scene.path().join(name));
            file.unwrap().set_len(LARGE as u64 / 2).unwrap();
        };
        for name in ["one", "other"] {
            fs::write(scene.path().join(name), vec![7; LARGE]).unwrap();
        }
        let _one = Bytes::open(&folder, "one").unwrap();
        let other = Bytes::open(&folder, "other").unwrap();
        cut("one");
        let before = forgotten_changes(scene.path());
        forget_changed_in(scene.path());
        assert!(forgotten_changes(scene.path()) > before);
        assert_eq!(changed_in(scene.path()), None);
        cut("other");
        assert_eq!(changed_in(scene.path()), Some(scene.path().join("other")));
        assert!(other.is_changed());
    }

    #[cfg(unix)]
    #[test]
    fn many_maps_are_cut_while_threads_read_and_open_them() {
        let (scene, folder) = scene();
        let names: Vec<String> = (0..200).map(|number| number.to_string()).collect();
        for name in &names {
            fs::write(scene.path().join(name), vec![7; LARGE / 4]).unwrap();
        }
        let maps: Vec<Bytes> = names
            .iter()
            .map(|n| Bytes::open(&folder, n).unwrap())
            .collect();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for name in &names {
                    let file = File::options().write(true).open(scene.path().join(name));
                    file.unwrap().set_len(5_000).unwrap();
                }
            });
            for _ in 0..3 {
                scope.spawn(|| {
                    for (bytes, name) in maps.iter().zip(&names) {
                        let again = Bytes::open(&folder, name).unwrap();
                        assert!(again.iter().chain(bytes.iter()).all(|b| [0, 7].contains(b)));
                    }
                });
            }
        });
        assert!(maps.iter().all(Bytes::is_changed));
    }

    #[test]
    fn a_file_that_is_mapped_is_mapped_once() {
        let (scene, folder) = scene();
        fs::write(scene.path().join("a"), vec![7; LARGE]).unwrap();
        let one = Bytes::open(&folder, "a").unwrap();
        let other = Bytes::open(&folder, "a").unwrap();
        assert_eq!(one.as_ptr() == other.as_ptr(), cfg!(unix));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_fault_outside_of_our_maps_still_ends_the_process() {
        const ASKED: &str = "MEMDIR_TEST_FOREIGN_FAULT";
        let (scene, folder) = scene();
        if std::env::var_os(ASKED).is_some() {
            fs::write(scene.path().join("ours"), vec![7; LARGE]).unwrap();
            let _ours = Bytes::open(&folder, "ours").unwrap();
            let path = scene.path().join("theirs");
            fs::write(&path, vec![7; LARGE]).unwrap();
            // SAFETY: what is read behind the end ends the process, which is what is tried.
            #[allow(unsafe_code, reason = "a map that is not registered")]
            let map = unsafe { Mmap::map(&File::open(&path).unwrap()).unwrap() };
            File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_len(0)
                .unwrap();
            std::process::exit(i32::from(map[LARGE / 2]));
        }
        let name = "columns::mapped::tests::a_fault_outside_of_our_maps_still_ends_the_process";
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        let output = command
            .args([name, "--exact"])
            .env(ASKED, "1")
            .output()
            .unwrap();
        let signal = std::os::unix::process::ExitStatusExt::signal(&output.status);
        assert_eq!(signal, Some(libc::SIGBUS), "{output:?}");
    }
}

//! Folders whose names were read, and a look at files in them without reading the names again.
//!
//! Reading and sorting the names of a folder takes as long as looking at its files. Whatever adds, removes or renames a
//! name gives the folder another time of change, which nobody can set. Promise: [`ListedFolders`] exist only where equal
//! ones prove that the same names lie in the folders: on file systems of which that is known, and of folders that were
//! left alone for longer than the resolution of their times, since the system was started. Everybody else reads the names
//! (`list`).

use rayon::prelude::*;

use super::{Place, Store};
use crate::beneath::Folder;
use crate::files::folders::split;
use crate::files::list::{DirectoryEntry, Entry, system};
use crate::model::Stamp;

/// Number of files that one thread looks at before it takes more.
const SHARE: usize = 1_024;

/// Maximum number of folders.
const MAX_FOLDERS: usize = 1_024;

/// Folders of a listing, with identities and times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFolders(Vec<FolderState>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct FolderState {
    /// Path below the memory directory, parts joined by `/`.
    folder: String,
    device: u64,
    inode: u64,
    /// Times of modification and of change, in nanoseconds since 1970.
    modified: i64,
    changed: i64,
}

/// Differences of files to what is known of them, each list in the order of names.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct KnownFiles {
    /// Files with another stamp than the known one, and those without one.
    pub changed: Vec<Entry>,
    /// Files with the known stamp that were changed after the moment until which it is certain.
    pub in_doubt: Vec<Entry>,
    /// Names of files that do not exist.
    pub removed: Vec<String>,
    /// Whether some file has another hard link.
    pub has_links: bool,
}

impl ListedFolders {
    /// Returns the folders of a listing, as [`Listing::folders`](crate::files::Listing::folders) has them; `None` where
    /// their states would prove nothing: if one was changed since it was listed, or after `quiet_since`, in nanoseconds
    /// since 1970; on other file systems; and of very many.
    pub fn of(
        store: &Store,
        place: Place,
        folders: &[(String, i64)],
        quiet_since: i64,
    ) -> Option<ListedFolders> {
        if folders.len() > MAX_FOLDERS || !begins_with_top(folders.iter().map(|(name, _)| name)) {
            return None;
        }
        let top = store.top(place.folder()).ok()?;
        let state = |(folder, modified): &(String, i64)| {
            let opened = top.below(folder).ok()?;
            let state = FolderState::of(folder, &opened)?;
            let is_as_listed = state.modified == *modified && state.changed <= quiet_since;
            (is_as_listed && tells_changes(&opened)).then_some(state)
        };
        folders
            .iter()
            .map(state)
            .collect::<Option<_>>()
            .map(ListedFolders)
    }

    /// Returns whether the same names lie in these folders as when they were listed.
    pub fn are_unchanged(&self, store: &Store, place: Place) -> bool {
        let Ok(top) = store.top(place.folder()) else {
            return false;
        };
        self.0.iter().all(|known| {
            let opened = top.below(&known.folder).ok();
            let state = opened.and_then(|opened| FolderState::of(&known.folder, &opened));
            state.as_ref() == Some(known)
        })
    }

    /// Returns the folders with their modification times, as a listing has them.
    pub fn times(&self) -> Vec<(String, i64)> {
        let times = |state: &FolderState| (state.folder.clone(), state.modified);
        self.0.iter().map(times).collect()
    }

    /// Returns a line for each folder; `None` if a name has several lines.
    pub fn lines(&self) -> Option<String> {
        let line = |state: &FolderState| {
            let FolderState {
                folder,
                device,
                inode,
                modified,
                changed,
            } = state;
            let is_line = !folder.contains(['\n', '\r']);
            is_line.then(|| format!("{device} {inode} {modified} {changed} {folder}\n"))
        };
        self.0.iter().map(line).collect()
    }

    /// Reads what [`ListedFolders::lines`] made; `None` of anything else.
    pub fn from_lines<'a>(lines: impl Iterator<Item = &'a str>) -> Option<ListedFolders> {
        let state = |line: &str| {
            let mut fields = line.splitn(5, ' ');
            let mut number = || fields.next()?.parse().ok();
            let (device, inode) = (number()?, number()?);
            let mut time = || fields.next()?.parse().ok();
            Some(FolderState {
                device,
                inode,
                modified: time()?,
                changed: time()?,
                folder: fields.next()?.to_owned(),
            })
        };
        let folders: Vec<FolderState> = lines.map(state).collect::<Option<_>>()?;
        begins_with_top(folders.iter().map(|state| &state.folder)).then_some(ListedFolders(folders))
    }
}

/// Returns whether the first folder is the memory directory itself: nothing is known of one that did not exist.
fn begins_with_top<'a>(mut folders: impl Iterator<Item = &'a String>) -> bool {
    folders.next().is_some_and(String::is_empty)
}

impl FolderState {
    #[cfg(target_os = "linux")]
    fn of(name: &str, folder: &Folder) -> Option<FolderState> {
        let stat = rustix::fs::fstat(folder).ok()?;
        Some(FolderState {
            folder: name.to_owned(),
            device: stat.st_dev,
            inode: stat.st_ino,
            modified: system::modified(&stat),
            changed: system::changed(&stat),
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn of(_: &str, _: &Folder) -> Option<FolderState> {
        None
    }
}

/// Returns whether a file system gives a folder another time of change with each change of its names, until the system is
/// started again: not each log that is replayed then does so. FAT does not.
#[cfg(target_os = "linux")]
fn tells_changes(folder: &Folder) -> bool {
    /// Ext2 to ext4, XFS, Btrfs, F2FS, bcachefs, ZFS, tmpfs: `linux/magic.h`, or the file system's own source. Below an
    /// overlay names may change while it is not mounted.
    const KINDS: [u32; 7] = [
        0xef53,
        0x5846_5342,
        0x9123_683e,
        0xf2f5_2010,
        0xca45_1a4e,
        0x2fc1_2fc1,
        0x0102_1994,
    ];
    let kind = rustix::fs::fstatfs(folder).map(|found| found.f_type as u32);
    kind.is_ok_and(|kind| KINDS.contains(&kind))
}

#[cfg(not(target_os = "linux"))]
fn tells_changes(_: &Folder) -> bool {
    false
}

/// Returns the id that the system got when it was started; `None` where there is none.
pub fn boot_id() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim_end().to_owned())
}

/// Looks at the files `known`, in the order of names, each with its stamp if that is known; a file that was changed after
/// `certain`, in nanoseconds since 1970, may differ although it has it. `None` if a name is that of something else than a
/// file by now, or cannot be looked at.
pub fn look_at_known(
    store: &Store,
    place: Place,
    known: &[(&str, Option<Stamp>)],
    certain: i64,
) -> Option<KnownFiles> {
    let looked = known.par_chunks(SHARE).map(|files| {
        // Each thread by a descriptor of its own: through one they would wait for each other in the kernel.
        let top = store.top(place.folder()).ok()?;
        look_through(&top, files, certain)
    });
    let mut all = KnownFiles::default();
    for some in looked.collect::<Vec<Option<KnownFiles>>>() {
        let some = some?;
        all.changed.extend(some.changed);
        all.in_doubt.extend(some.in_doubt);
        all.removed.extend(some.removed);
        all.has_links |= some.has_links;
    }
    Some(all)
}

fn look_through(top: &Folder, files: &[(&str, Option<Stamp>)], certain: i64) -> Option<KnownFiles> {
    let mut found = KnownFiles::default();
    let mut opened: Option<(&str, Folder)> = None;
    for (name, known) in files {
        let (folder, file) = split(name);
        if opened.as_ref().is_none_or(|(last, _)| *last != folder) {
            opened = Some((folder, top.below(folder).ok()?));
        }
        let (_, holder) = opened.as_ref()?;
        match system::look_at(holder, file) {
            None => found.removed.push((*name).to_owned()),
            Some(DirectoryEntry::Other(_)) => return None,
            Some(DirectoryEntry::File {
                stamp,
                changed,
                has_links,
            }) => {
                found.has_links |= has_links;
                let is_changed = *known != Some(stamp);
                if !is_changed && changed <= certain {
                    continue;
                }
                let differing = match is_changed {
                    true => &mut found.changed,
                    false => &mut found.in_doubt,
                };
                differing.push(Entry {
                    name: (*name).to_owned(),
                    stamp,
                    changed,
                    has_links,
                });
            }
        }
    }
    Some(found)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
pub(in crate::files) mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    use super::*;
    use crate::files::Storage;

    const ONE: &str = "20260101_000000_aaaaaaaa.md";
    const TWO: &str = "2026/01/20260101_000000_bbbbbbbb.md";

    /// Returns a new folder on a file system that tells changes, which that of a container may not.
    fn folder() -> tempfile::TempDir {
        tempfile::tempdir_in("/dev/shm").unwrap()
    }

    fn store(root: &Path) -> Store {
        fs::create_dir_all(root.join("files/2026/01")).unwrap();
        for name in [ONE, TWO] {
            fs::write(root.join("files").join(name), "a heron").unwrap();
        }
        Store::at(root)
    }

    fn listed(store: &Store, quiet_since: i64) -> Option<ListedFolders> {
        let folders = store.list(Place::Files).unwrap().folders;
        ListedFolders::of(store, Place::Files, &folders, quiet_since)
    }

    /// Waits until a change gets a later time than the last one of a folder.
    pub(crate) fn wait_for_a_tick(folder: &Path, probe: &Path) {
        let changed = |path: &Path| {
            let data = fs::metadata(path).unwrap();
            (data.ctime(), data.ctime_nsec())
        };
        let last = changed(folder);
        fs::write(probe, "").unwrap();
        while changed(probe) <= last {
            std::thread::yield_now();
            fs::write(probe, "").unwrap();
        }
    }

    #[test]
    fn names_that_come_and_go_are_told_although_times_are_set_back() {
        let root = folder();
        let store = store(root.path());
        let folder = root.path().join("files/2026/01");
        for change in [
            |folder: &Path| fs::write(folder.join("20260101_000000_cccccccc.md"), "").unwrap(),
            |folder: &Path| fs::remove_file(folder.join("20260101_000000_cccccccc.md")).unwrap(),
            |folder: &Path| fs::create_dir(folder.join("more")).unwrap(),
        ] {
            let known = listed(&store, i64::MAX).unwrap();
            assert!(known.are_unchanged(&store, Place::Files));
            let modified = fs::metadata(&folder).unwrap().modified().unwrap();
            wait_for_a_tick(&folder, &root.path().join("probe"));
            change(&folder);
            File::open(&folder).unwrap().set_modified(modified).unwrap();
            assert!(!known.are_unchanged(&store, Place::Files));
        }
    }

    #[test]
    fn folders_that_were_just_changed_prove_nothing() {
        let root = folder();
        let store = store(root.path());
        let known = listed(&store, i64::MAX).unwrap();
        let last = known.0.iter().map(|state| state.changed).max().unwrap();
        assert!(listed(&store, last).is_some());
        assert!(listed(&store, last - 1).is_none());
    }

    #[test]
    fn folders_are_read_as_they_were_written() {
        let root = folder();
        let known = listed(&store(root.path()), i64::MAX).unwrap();
        let lines = known.lines().unwrap();
        assert_eq!(ListedFolders::from_lines(lines.lines()), Some(known));
        assert_eq!(ListedFolders::from_lines(["1 2 3"].into_iter()), None);
        assert_eq!(ListedFolders::from_lines([].into_iter()), None);
    }

    #[test]
    fn nothing_is_known_of_a_folder_that_did_not_exist() {
        let root = folder();
        let store = Store::at(root.path());
        let folders = store.list(Place::Files).unwrap().folders;
        fs::create_dir(root.path().join("files")).unwrap();
        assert_eq!(
            ListedFolders::of(&store, Place::Files, &folders, i64::MAX),
            None
        );
    }

    #[test]
    fn known_files_are_looked_at_one_by_one() {
        let root = folder();
        let store = store(root.path());
        let entries = store.list(Place::Files).unwrap().entries;
        let [two, one] = &entries[..] else {
            panic!("{entries:?}");
        };
        let gone = "20260101_000000_dddddddd.md";
        let files = [(TWO, Some(two.stamp)), (ONE, None), (gone, None)];
        let look = |certain| look_at_known(&store, Place::Files, &files, certain).unwrap();
        let found = look(i64::MAX);
        assert_eq!(found.changed, std::slice::from_ref(one));
        assert_eq!(found.in_doubt, []);
        assert_eq!(found.removed, [gone]);
        assert_eq!(look(0).in_doubt, std::slice::from_ref(two));
        fs::remove_file(root.path().join("files").join(ONE)).unwrap();
        fs::create_dir(root.path().join("files").join(ONE)).unwrap();
        assert_eq!(look_at_known(&store, Place::Files, &files, 0), None);
    }
}

//! A store whose folders are links.

use super::*;
use crate::files::{Storage, WritableStorage};

const NAME: &str = "20260101_000000_aaaaaaaa.md";
const OTHER: &str = "20260101_000000_bbbbbbbb.md";

/// A store with a memory, and beside it a foreign folder with a memory of its own.
struct Scene {
    folder: tempfile::TempDir,
    store: Store,
}

fn scene() -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    fs::create_dir_all(root.join("files")).unwrap();
    fs::write(root.join("files").join(NAME), "ours").unwrap();
    fs::create_dir(folder.path().join("foreign")).unwrap();
    fs::write(folder.path().join("foreign").join(OTHER), "theirs").unwrap();
    let store = Store::new(&root, &root.join(".memdir"));
    Scene { folder, store }
}

impl Scene {
    fn link(&self, name: &str) {
        let to = self.folder.path().join("foreign");
        std::os::unix::fs::symlink(to, self.store.root().join(name)).unwrap();
    }

    /// Returns the names of the files in the foreign folder.
    fn foreign(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path().join("foreign")).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        entries
            .map(|entry| name(entry).into_string().unwrap())
            .collect()
    }
}

fn is_refused<T: std::fmt::Debug>(done: Result<T, FilesError>) {
    assert!(matches!(done, Err(FilesError::Link { .. })), "{done:?}");
}

#[test]
fn an_archive_that_is_a_link_is_not_followed() {
    let scene = scene();
    scene.link("archive");
    let store = &scene.store;
    is_refused(store.list(Place::Archive));
    is_refused(store.reader(Place::Archive).read(OTHER, 10));
    is_refused(store.reader(Place::Archive).held().read(OTHER, 10));
    assert_eq!(store.reader(Place::Archive).look(OTHER), None);
    assert_eq!(store.look_at(Place::Archive, OTHER), None);
    is_refused(store.relocate(NAME, Place::Files, Place::Archive));
    is_refused(store.relocate(OTHER, Place::Archive, Place::Files));
    is_refused(store.add(Place::Archive, NAME, b"x"));
    is_refused(store.sync_folder(Place::Archive, ""));
    assert_eq!(store.refused_links(), ["archive"]);
    assert_eq!(scene.foreign(), [OTHER]);
    assert!(store.path(Place::Files, NAME).exists());
    let error = store.list(Place::Archive).unwrap_err().to_string();
    assert!(
        error.contains("archive") && !error.contains("foreign"),
        "{error}"
    );
}

#[test]
fn no_folder_of_a_store_is_followed_if_it_is_a_link() {
    for top in TOP_FOLDERS {
        let scene = scene();
        let _ = fs::remove_dir_all(scene.store.root().join(top));
        scene.link(top);
        let store = &scene.store;
        let _ = store.add(Place::Files, "20260101_000000_cccccccc.md", b"x");
        let _ = store.relocate(NAME, Place::Files, Place::Archive);
        let _ = store.relocate(OTHER, Place::Archive, Place::Files);
        let _ = store.put_beside("tombstones/x", None, Some(b"x"));
        let _ = store.put_beside("journal/x.jsonl", None, Some(b"x"));
        let _ = crate::files::Backup::begin(store, "20260101T000000Z");
        let _ = store.create();
        let listed = [Place::Files, Place::Archive].map(|place| store.list(place));
        let names = listed.iter().flatten().flat_map(|listing| &listing.entries);
        assert!(names.into_iter().all(|entry| entry.name != OTHER), "{top}");
        assert!(
            !store.purged().is_ok_and(|purged| purged.contains(OTHER)),
            "{top}"
        );
        assert_eq!(scene.foreign(), [OTHER], "{top}");
        assert_eq!(store.refused_links(), [top]);
    }
}

#[test]
fn a_month_that_is_a_link_is_not_written_or_read_through() {
    let scene = scene();
    scene.link("files/2026-01");
    let name = format!("2026-01/{OTHER}");
    is_refused(scene.store.add(Place::Files, "2026-01/x.md", b"x"));
    is_refused(
        scene
            .store
            .rename((Place::Files, NAME), (Place::Files, "2026-01/x.md")),
    );
    let read = scene.store.reader(Place::Files).read(&name, 10);
    assert!(
        matches!(read, Err(FilesError::NotRegular { .. })),
        "{read:?}"
    );
    assert_eq!(scene.foreign(), [OTHER]);
}

#[test]
fn a_store_whose_owner_made_it_so_is_used_through_its_links() {
    let scene = scene();
    scene.link("archive");
    let store = scene.store.clone().with_links(LinkPolicy::Follow);
    assert_eq!(store.list(Place::Archive).unwrap().entries.len(), 1);
    store.relocate(NAME, Place::Files, Place::Archive).unwrap();
    let read = store.reader(Place::Archive).read(NAME, 10).unwrap();
    assert_eq!(read.bytes, b"ours");
    store.relocate(OTHER, Place::Archive, Place::Files).unwrap();
    assert_eq!(scene.foreign(), [NAME]);
    assert!(store.refused_links().is_empty());
}

/// Memories go to and fro while the archive is swapped for a link to a foreign folder, and back.
#[test]
fn a_link_that_is_swapped_in_meanwhile_leads_nowhere() {
    let scene = scene();
    let (store, root) = (&scene.store, scene.store.root());
    fs::create_dir(root.join("archive")).unwrap();
    scene.link("aside");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let root = Folder::open(root).unwrap();
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                root.rename("archive", &root, "aside", Target::Exchange)
                    .unwrap();
            }
        });
        for _ in 0..2_000 {
            let _ = store.relocate(NAME, Place::Files, Place::Archive);
            let _ = store.relocate(NAME, Place::Archive, Place::Files);
            let _ = store.relocate(OTHER, Place::Archive, Place::Files);
            if let Ok(listing) = store.list(Place::Archive) {
                assert!(listing.entries.iter().all(|entry| entry.name == NAME));
            }
            assert!(store.reader(Place::Archive).read(OTHER, 10).is_err());
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(scene.foreign(), [OTHER]);
}

//! Feed of changed files below a folder, from the system's events.
//!
//! Guarantees: a change is reported once, soon, and never waited for; events without names (an
//! overflown queue, a folder that appeared with files in it, names that are no UTF-8) are reported as
//! `everything`. On Linux, [`ChangeFeed::take`] reports every change that was complete when it was called.
//! The feed reports when its events become unreliable.

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod elsewhere;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod inotify;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, CreateKind, ModifyKind, RemoveKind};
use notify::{Event, EventKind};

#[cfg(not(any(target_os = "linux", target_os = "android")))]
use self::elsewhere::Events;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
use self::elsewhere::FolderWatcher;
#[cfg(any(target_os = "linux", target_os = "android"))]
use self::inotify::Events;
#[cfg(any(target_os = "linux", target_os = "android"))]
use self::inotify::FolderWatcher;
use super::disk::{FileId, file_id_at};
use super::storage::{ChangeFeed, Changed};
use crate::beneath::is_composed;

/// A watched folder, with the folders in it, until dropped.
pub(super) struct FolderWatch {
    /// Path of the folder as it was given; another folder may replace it later.
    folder: PathBuf,
    inbox: Arc<Inbox>,
    events: Events,
    watcher: Mutex<FolderWatcher>,
    /// Id of the watched folder.
    identity: Option<FileId>,
}

/// Whether the system watches each folder by itself; the library's own search for folders below one
/// would read the metadata of every file.
const IS_BY_FOLDER: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// Number of changed files from which `everything` is reported instead.
const MAX_NAMES: usize = 4096;

struct Inbox {
    folder: PathBuf,
    is_of_interest: fn(&str) -> bool,
    wake: Box<dyn Fn() + Send + Sync>,
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Default)]
struct State {
    changed: Changed,
    lost: Option<String>,
    /// Folders below the watched one that are watched, too.
    folders: BTreeSet<String>,
    /// Number of times that `folders` was cleared.
    forgotten: u64,
}

impl FolderWatch {
    /// Watches `folder`. Only files whose names (without folders) are `of_interest` are reported; `wake` is
    /// called from another thread when there are changes. Folders in it have to be passed to
    /// [`ChangeFeed::include`]. The first change is `everything`: earlier changes are unknown.
    ///
    /// # Errors
    ///
    /// Fails with the reason if the folder does not exist, or if the system has no watches left.
    pub fn start(
        folder: &Path,
        of_interest: fn(&str) -> bool,
        wake: Box<dyn Fn() + Send + Sync>,
    ) -> Result<FolderWatch, String> {
        // Some systems tell real paths, whatever path was watched.
        let real = folder.canonicalize().map_err(|error| error.to_string())?;
        let identity = identity(&real);
        let inbox = Arc::new(Inbox {
            folder: real.clone(),
            is_of_interest: of_interest,
            wake,
            state: Mutex::new(State {
                changed: Changed {
                    everything: true,
                    ..Changed::default()
                },
                ..State::default()
            }),
            arrived: Condvar::new(),
        });
        let receiver = Arc::clone(&inbox);
        let mut watcher = FolderWatcher::new(move |event| receiver.take_in(event))
            .map_err(|error| reason(&error))?;
        watcher.watch(&real).map_err(|error| reason(&error))?;
        Ok(FolderWatch {
            folder: folder.to_owned(),
            inbox,
            events: watcher.events(),
            watcher: Mutex::new(watcher),
            identity,
        })
    }
}

impl ChangeFeed for FolderWatch {
    fn include(&self, folder: &str) {
        if !IS_BY_FOLDER || folder.is_empty() {
            return;
        }
        let forgotten = {
            let state = self.inbox.state();
            if state.folders.contains(folder) {
                return;
            }
            state.forgotten
        };
        let path = self.inbox.folder.join(folder);
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        let watched = watcher.watch(&path);
        let mut state = self.inbox.state();
        match watched {
            // The news that a folder of this name is gone takes the new watch away as well.
            Ok(()) if state.forgotten != forgotten => {}
            Ok(()) => drop(state.folders.insert(folder.to_owned())),
            // Gone again: then there is nothing to watch.
            Err(_) if !path.is_dir() => {}
            Err(error) => state.lost = Some(reason(&error)),
        }
    }

    fn take(&self) -> Changed {
        self.events.read();
        std::mem::take(&mut self.inbox.state().changed)
    }

    fn wait(&self, patience: Duration) {
        let state = self.inbox.state();
        let is_quiet = |state: &mut State| state.changed.events == 0 && !state.changed.everything;
        drop(
            self.inbox
                .arrived
                .wait_timeout_while(state, patience, is_quiet),
        );
    }

    fn has_changes(&self) -> bool {
        self.events.read();
        let state = self.inbox.state();
        state.changed.everything || !state.changed.names.is_empty()
    }

    fn lost(&self) -> Option<String> {
        // No event tells that a folder above was moved, and another put in its place.
        let is_there = identity(&self.folder) == self.identity;
        let replaced = || (!is_there).then(|| "the folder was removed or replaced".to_owned());
        self.inbox.state().lost.clone().or_else(replaced)
    }

    fn tells_at_once(&self) -> bool {
        IS_BY_FOLDER
    }
}

impl State {
    /// Reports `everything` and clears the watched folders, since each name may be another folder now.
    fn look_at_folders(&mut self) {
        self.changed.everything = true;
        self.folders.clear();
        self.forgotten += 1;
    }
}

impl Inbox {
    /// Locks the state, poisoned or not: it is only a list of names.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_in(&self, event: notify::Result<Event>) {
        // Reading changes nothing; our own reading would never let us rest.
        if event.as_ref().is_ok_and(is_reading) {
            return;
        }
        let mut state = self.state();
        let was_quiet = !state.changed.everything && state.changed.names.is_empty();
        match event {
            // Without the rest of the list nobody knows what it was about.
            Err(error) => {
                state.changed.everything = true;
                state.lost = Some(reason(&error));
            }
            // The queue ran over: an event without a path.
            Ok(event) if event.need_rescan() => state.look_at_folders(),
            Ok(event) => self.sort_in(&mut state, &event),
        }
        let is_quiet = !state.changed.everything && state.changed.names.is_empty();
        drop(state);
        self.arrived.notify_all();
        if was_quiet && !is_quiet {
            (self.wake)();
        }
    }

    fn sort_in(&self, state: &mut State, event: &Event) {
        match event.kind {
            // Files may have been put into it before it was watched.
            EventKind::Create(CreateKind::Folder) | EventKind::Remove(RemoveKind::Folder) => {
                state.look_at_folders();
            }
            _ => {}
        }
        state.changed.events += 1;
        for path in &event.paths {
            let Ok(below) = path.strip_prefix(&self.folder) else {
                continue;
            };
            if below.as_os_str().is_empty() {
                if matches!(
                    event.kind,
                    EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))
                ) {
                    state.changed.everything = true;
                    state.lost = Some("the folder was removed or replaced".to_owned());
                }
                continue;
            }
            match name_of(below) {
                Some(name) => self.take_name(state, name, event.kind, path),
                None => state.changed.everything = true,
            }
        }
        if state.changed.names.len() > MAX_NAMES {
            state.changed.names.clear();
            state.changed.everything = true;
        }
    }

    fn take_name(&self, state: &mut State, name: String, kind: EventKind, path: &Path) {
        let mut parts: Vec<&str> = name.split('/').collect();
        let file = parts.pop().unwrap_or_default();
        if parts.iter().any(|folder| folder.starts_with('.')) {
            return; // Hidden folders belong to other programs.
        }
        if (self.is_of_interest)(file) {
            state.changed.names.insert(name);
        } else if may_move_a_folder(kind, path)
            && !file.starts_with('.')
            && (!file.ends_with('~') || path.is_dir() || state.folders.contains(&name))
        {
            // A folder may have been moved here or away, with all that is in it; most names with
            // a tilde are backups of editors.
            state.look_at_folders();
        }
    }
}

/// Returns whether an event may tell of a folder that came or went with all that is in it. Windows tells
/// of one that was moved as of a file that was made or removed, and does not say which it is.
fn may_move_a_folder(kind: EventKind, path: &Path) -> bool {
    match kind {
        EventKind::Modify(ModifyKind::Name(_)) | EventKind::Remove(RemoveKind::Any) => true,
        EventKind::Create(CreateKind::Any) => path.is_dir(),
        _ => false,
    }
}

fn is_reading(event: &Event) -> bool {
    let written = AccessKind::Close(AccessMode::Write);
    matches!(event.kind, EventKind::Access(kind) if kind != written) && !event.need_rescan()
}

fn identity(folder: &Path) -> Option<FileId> {
    let data = std::fs::metadata(folder).ok()?;
    file_id_at(folder, &data).ok()
}

/// Returns the name that a file below the watched folder has in the store; `None` where a listing has to say it.
fn name_of(below: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = below
        .components()
        .map(|part| part.as_os_str().to_str())
        .collect();
    let name = parts?.join("/");
    // macOS tells it as the file was made ([`Folder::stored_name`](crate::beneath::Folder::stored_name)).
    let is_stored_so = !cfg!(target_vendor = "apple") || is_composed(&name);
    is_stored_so.then_some(name)
}

/// Returns the reason of an error, without paths.
fn reason(error: &notify::Error) -> String {
    match &error.kind {
        notify::ErrorKind::MaxFilesWatch => "the system's limit of watches is reached".to_owned(),
        notify::ErrorKind::PathNotFound => "the folder does not exist".to_owned(),
        notify::ErrorKind::Io(error) => match error.raw_os_error() {
            // What inotify says when a user has as many watching processes as allowed.
            Some(24) => "the system's limit of watching processes is reached".to_owned(),
            _ => error.to_string(),
        },
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_came_or_went_as_some_file_is_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let arrived = folder.path().join("arrived");
        std::fs::create_dir(&arrived).unwrap();
        let tells = |kind, path: &Path| {
            let inbox = Inbox {
                folder: folder.path().to_owned(),
                is_of_interest: |name| name.ends_with(".md"),
                wake: Box::new(|| ()),
                state: Mutex::default(),
                arrived: Condvar::new(),
            };
            inbox.take_in(Ok(Event::new(kind).add_path(path.to_owned())));
            let changed = std::mem::take(&mut inbox.state().changed);
            (changed.everything, changed.names.len())
        };
        let (made, gone) = (CreateKind::Any, RemoveKind::Any);
        let other = folder.path().join("image.png");
        let memory = arrived.join("a.md");
        assert_eq!(tells(EventKind::Create(made), &arrived), (true, 0));
        assert_eq!(tells(EventKind::Remove(gone), &arrived), (true, 0));
        assert_eq!(tells(EventKind::Create(made), &other), (false, 0));
        assert_eq!(tells(EventKind::Create(made), &memory), (false, 1));
        assert_eq!(tells(EventKind::Remove(gone), &memory), (false, 1));
    }
}

//! Change events of Linux, without events of opened files.
//!
//! `notify` always requests those as well: each file that this process reads would wake one of its
//! threads. Guarantees: otherwise the events of `notify`, in its types and order; a folder that is
//! removed or moved is no longer watched under its old name, nor are those in it; when [`Events::read`]
//! returns, it has delivered every event of a change that was complete when it was called. The parent
//! module interprets the events.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::{io, thread};

use notify::event::{
    AccessKind, AccessMode, CreateKind, DataChange, Flag, MetadataKind, ModifyKind, RemoveKind,
    RenameMode,
};
use notify::{Error, ErrorKind, Event, EventKind};
use rustix::fs::inotify;
use rustix::fs::inotify::{CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

/// Size of the buffer, in bytes: some hundred events.
const BUFFER_BYTES: usize = 8 << 10;

/// Watched folders, until dropped.
pub(super) struct FolderWatcher {
    events: Events,
    over: Arc<AtomicBool>,
}

/// Queue of the system's events. Clones read the same queue.
#[derive(Clone)]
pub(super) struct Events {
    descriptor: Arc<OwnedFd>,
    watched: Arc<Mutex<Watched>>,
    /// Receiver of events, locked while the queue is read, so that events are delivered in order, and no
    /// call returns while another thread has undelivered events.
    tell: Arc<Mutex<Tell>>,
}

type Tell = dyn Fn(notify::Result<Event>) + Send;

/// Watched folders by descriptor, and back. None is added while events are processed: the event of a
/// removed folder removes the entry of its name.
#[derive(Default)]
struct Watched {
    paths: HashMap<i32, PathBuf>,
    numbers: HashMap<PathBuf, i32>,
}

impl FolderWatcher {
    /// Calls `tell`, from a thread of its own, with the events in watched folders.
    pub fn new(tell: impl Fn(notify::Result<Event>) + Send + 'static) -> notify::Result<Self> {
        let watcher = FolderWatcher {
            events: Events {
                descriptor: Arc::new(inotify::init(CreateFlags::CLOEXEC).map_err(error)?),
                watched: Arc::default(),
                tell: Arc::new(Mutex::new(tell)),
            },
            over: Arc::default(),
        };
        let (events, over) = (watcher.events.clone(), Arc::clone(&watcher.over));
        thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || listen(&events, &over))
            .map_err(Error::io)?;
        Ok(watcher)
    }

    /// Returns the queue of events, to read it without waiting for the thread.
    pub fn events(&self) -> Events {
        self.events.clone()
    }

    /// Watches the folder at `path`, without those in it.
    pub fn watch(&mut self, path: &Path) -> notify::Result<()> {
        let flags = WatchFlags::ATTRIB
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::MODIFY
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF;
        let Events {
            descriptor,
            watched,
            ..
        } = &self.events;
        let mut watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
        let number = inotify::add_watch(descriptor, path, flags).map_err(error)?;
        watched.paths.insert(number, path.to_owned());
        let known = watched.numbers.insert(path.to_owned(), number);
        if let Some(known) = known.filter(|known| *known != number) {
            // Another folder, that was called so; where it is gone, the system has done it.
            let _ = inotify::remove_watch(descriptor, known);
            watched.paths.remove(&known);
        }
        Ok(())
    }
}

impl Drop for FolderWatcher {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        // A watch that ends is news, which wakes the thread from its reading; where too much news
        // waits for one more, it is awake. Nobody is waited for: the thread may itself wait for
        // who drops this.
        let Events {
            descriptor,
            watched,
            ..
        } = &self.events;
        let end = |number: &i32| inotify::remove_watch(descriptor, *number).is_ok();
        let other = inotify::add_watch(descriptor, "/", WatchFlags::DELETE_SELF);
        if !other.is_ok_and(|number| end(&number))
            && let Ok(watched) = watched.try_lock()
        {
            for number in watched.paths.keys() {
                end(number);
            }
        }
    }
}

/// Delivers events until the watcher is dropped.
fn listen(events: &Events, over: &AtomicBool) {
    while !over.load(Ordering::Acquire) {
        let read = wait(&events.descriptor).and_then(|()| events.read_queue());
        if let Err(errno) = read {
            return events.fail(errno);
        }
    }
}

/// Waits until there is an event, and takes none.
///
/// inotify(7): a read waits for an event, and fails with `EINVAL` where its buffer is too small for it;
/// the event stays in the queue. `poll` would do the same, by one more part of rustix.
fn wait(descriptor: &OwnedFd) -> Result<(), Errno> {
    match rustix::io::read(descriptor, &mut [0_u8]) {
        Ok(_) | Err(Errno::INVAL | Errno::INTR) => Ok(()),
        Err(errno) => Err(errno),
    }
}

impl Events {
    /// Delivers all events in the queue. One system call if it is empty.
    ///
    /// The kernel puts the event of a change into the queue before the call that made the change returns. So
    /// the event of a completed write is found here, however late the thread that waits for events runs.
    pub fn read(&self) {
        // The thread that waits finds the same, and says that the watch is lost.
        let _ = self.read_queue();
    }

    fn read_queue(&self) -> Result<(), Errno> {
        let tell = self.tell.lock().unwrap_or_else(PoisonError::into_inner);
        let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
        let mut reader = inotify::Reader::new(&*self.descriptor, &mut buffer);
        // Whoever reads holds `tell`, so what is there now is there when it is read: nothing blocks.
        while rustix::io::ioctl_fionread(&*self.descriptor)? > 0 {
            let mut read = Vec::new();
            loop {
                match reader.next() {
                    Ok(event) => read.push(News::of(&event)),
                    Err(Errno::INTR) => {}
                    Err(errno) => return Err(errno),
                }
                if reader.is_buffer_empty() {
                    break;
                }
            }
            let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
            let mut gone = Vec::new();
            for news in read {
                watched.sort(news, &*tell, &mut gone);
            }
            gone.iter()
                .for_each(|path| watched.forget(&self.descriptor, path));
        }
        Ok(())
    }

    fn fail(&self, errno: Errno) {
        let tell = self.tell.lock().unwrap_or_else(PoisonError::into_inner);
        tell(Err(error(errno)));
    }
}

/// An event of the system, copied from the buffer.
struct News {
    number: i32,
    what: ReadFlags,
    name: Option<Vec<u8>>,
}

impl News {
    fn of(event: &inotify::Event<'_>) -> News {
        News {
            number: event.wd(),
            what: event.events(),
            name: event.file_name().map(|name| name.to_bytes().to_vec()),
        }
    }
}

impl Watched {
    /// Delivers one event in the types of `notify`; adds removed folders to `gone`.
    fn sort(&mut self, news: News, tell: &Tell, gone: &mut Vec<PathBuf>) {
        if news.what.contains(ReadFlags::QUEUE_OVERFLOW) {
            return tell(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
        }
        let Some(folder) = self.paths.get(&news.number) else {
            return; // It is not watched any more.
        };
        let path = match &news.name {
            Some(name) => folder.join(OsStr::from_bytes(name)),
            None => folder.clone(),
        };
        let is_folder = news.what.contains(ReadFlags::ISDIR);
        let created = if is_folder {
            CreateKind::Folder
        } else {
            CreateKind::File
        };
        let removed = if is_folder {
            RemoveKind::Folder
        } else {
            RemoveKind::File
        };
        let moved = |mode| EventKind::Modify(ModifyKind::Name(mode));
        let written = AccessKind::Close(AccessMode::Write);
        let kinds = [
            (ReadFlags::MOVED_FROM, moved(RenameMode::From)),
            (ReadFlags::MOVED_TO, moved(RenameMode::To)),
            (ReadFlags::MOVE_SELF, moved(RenameMode::From)),
            (ReadFlags::CREATE, EventKind::Create(created)),
            (ReadFlags::DELETE, EventKind::Remove(removed)),
            (
                ReadFlags::DELETE_SELF,
                EventKind::Remove(RemoveKind::Folder),
            ),
            (ReadFlags::UNMOUNT, EventKind::Remove(RemoveKind::Folder)),
            (
                ReadFlags::MODIFY,
                EventKind::Modify(ModifyKind::Data(DataChange::Any)),
            ),
            (ReadFlags::CLOSE_WRITE, EventKind::Access(written)),
            (
                ReadFlags::ATTRIB,
                EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)),
            ),
        ];
        for (what, kind) in kinds {
            if news.what.contains(what) {
                tell(Ok(Event::new(kind).add_path(path.clone())));
            }
        }
        let ends = ReadFlags::MOVED_FROM | ReadFlags::DELETE | ReadFlags::DELETE_SELF;
        if news.what.intersects(ends) {
            gone.push(path);
        }
    }

    /// Ends the watches of the folder that was at `path`, and of those in it.
    fn forget(&mut self, descriptor: &OwnedFd, path: &Path) {
        if !self.numbers.contains_key(path) {
            return;
        }
        self.numbers.retain(|known, number| {
            let is_kept = !known.starts_with(path);
            if !is_kept {
                // Refused where the folder is gone: then the system has done it.
                let _ = inotify::remove_watch(descriptor, *number);
                self.paths.remove(number);
            }
            is_kept
        });
    }
}

fn error(errno: Errno) -> Error {
    match errno {
        Errno::NOSPC => Error::new(ErrorKind::MaxFilesWatch),
        Errno::NOENT => Error::new(ErrorKind::PathNotFound),
        other => Error::io(io::Error::from(other)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc;
    use std::sync::mpsc::Receiver;
    use std::time::Duration;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    fn watched(folder: &Path) -> (FolderWatcher, Receiver<Event>) {
        let (sender, events) = mpsc::channel();
        let mut watcher =
            FolderWatcher::new(move |event| drop(sender.send(event.unwrap()))).unwrap();
        watcher.watch(folder).unwrap();
        (watcher, events)
    }

    #[test]
    fn reading_is_no_news_and_writing_is() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "text").unwrap();
        let (_watcher, events) = watched(folder.path());
        fs::read(folder.path().join("a")).unwrap();
        fs::read_dir(folder.path()).unwrap().count();
        fs::write(folder.path().join("b"), "text").unwrap();
        let first = events.recv_timeout(LONG).unwrap();
        assert_eq!(first.paths, [folder.path().join("b")]);
        assert_eq!(first.kind, EventKind::Create(CreateKind::File));
    }

    #[test]
    fn a_folder_that_was_moved_away_is_not_told_of_by_its_old_name() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        fs::create_dir(&old).unwrap();
        let (mut watcher, events) = watched(folder.path());
        watcher.watch(&old).unwrap();
        fs::rename(&old, &new).unwrap();
        let is_new = |event: &Event| event.paths == [new.clone()];
        while !is_new(&events.recv_timeout(LONG).unwrap()) {}
        // Sorted with what came before it, or after.
        drop(watcher.events.tell.lock());
        fs::write(new.join("a"), "text").unwrap();
        fs::write(folder.path().join("last"), "text").unwrap();
        let mut told = events.iter();
        let below = told.find(|event| !event.paths.iter().any(|path| *path == old || *path == new));
        assert_eq!(below.unwrap().paths, [folder.path().join("last")]);
    }

    #[test]
    fn whoever_reads_the_events_is_told_what_was_done_before() {
        let folder = tempfile::tempdir().unwrap();
        let (watcher, events) = watched(folder.path());
        let reader = watcher.events();
        for number in 0..1_000 {
            let path = folder.path().join(number.to_string());
            fs::write(&path, "text").unwrap();
            reader.read();
            // Nothing is waited for: the event is there already.
            assert!(events.try_iter().any(|event| event.paths == [path.clone()]));
        }
    }

    #[test]
    fn a_watcher_that_is_dropped_ends_its_thread() {
        let folder = tempfile::tempdir().unwrap();
        let (watcher, events) = watched(folder.path());
        drop(watcher);
        // The channel closes with the thread that holds its other end.
        let closed = mpsc::RecvTimeoutError::Disconnected;
        assert_eq!(events.recv_timeout(LONG).unwrap_err(), closed);
        let (watcher, events) = watched(folder.path());
        folder.close().unwrap();
        while !events.recv_timeout(LONG).unwrap().kind.is_remove() {}
        drop(watcher);
        while events.recv_timeout(LONG) != Err(closed) {}
    }
}

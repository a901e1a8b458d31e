//! Operations on a folder that is held open, the same on every system.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Component, Path};

use super::entry::{Access, Kind, Target};
use super::system::Folder;

/// The folder of a store that holds what is derived from its files, and what is this machine's.
pub const STATE_FOLDER: &str = ".memdir";

/// Part of the name of an entry that was set aside because it stood where a file belongs.
pub(super) const SET_ASIDE: &str = ".set-aside-";
/// Maximum number of attempts to create a folder that others remove.
const MOST_TRIES: usize = 10;
/// The most entries of one name that are set aside; later ones stay where they are.
const MOST_SET_ASIDE: u32 = 100;

impl Folder {
    /// Opens the folder at `path`, through links as far as the folder that holds the last
    /// [`STATE_FOLDER`] on the way, and through none from there on.
    ///
    /// # Errors
    ///
    /// As for [`Folder::below`].
    pub fn of_state(path: &Path) -> io::Result<Folder> {
        match split_at_state(path) {
            Some((root, below)) => Folder::open(root)?.below(&below),
            None => Folder::open(path),
        }
    }

    /// As [`Folder::of_state`], with the folders made that are missing from [`STATE_FOLDER`] on;
    /// elsewhere the last two of the path. What lies above is not: a store that was moved away this
    /// moment is not begun anew in its place.
    ///
    /// # Errors
    ///
    /// As for [`Folder::create_below`].
    pub fn create_of_state(path: &Path) -> io::Result<Folder> {
        match split_at_state(path) {
            Some((root, below)) => Folder::open(root)?.create_below(&below),
            None => {
                for folder in [path.parent(), Some(path)].into_iter().flatten() {
                    match Folder::make_folder_at(folder) {
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                        // The folder above is none that could be made: it is the system's root.
                        Err(_) if folder.is_dir() => {}
                        other => other?,
                    }
                }
                Folder::open(path)
            }
        }
    }

    /// Opens the folder at `path`, which may lead through links; what is missing is made, for the
    /// user alone, and synced.
    ///
    /// # Errors
    ///
    /// Fails if a folder cannot be made or opened.
    pub fn create(path: &Path) -> io::Result<Folder> {
        match Folder::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let parent = Folder::create(parent.unwrap_or(Path::new(".")))?;
        match Folder::make_folder_at(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => other?,
        }
        parent.sync()?;
        Folder::open(path)
    }

    /// Returns the folder that holds what lies at `path`, opened as [`Folder::of_state`] opens it, and the
    /// name there.
    ///
    /// # Errors
    ///
    /// As for [`Folder::below`]; `InvalidInput` if the path has no name that is text.
    pub fn parent_of(path: &Path) -> io::Result<(Folder, &str)> {
        let (parent, name) = split_name(path)?;
        Ok((Folder::of_state(parent)?, name))
    }

    /// Its path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the folder at `relative`, parts joined by `/`; itself for an empty text.
    ///
    /// # Errors
    ///
    /// Fails if there is none, and with an error that [`is_link`](super::is_link) knows if a part is a link.
    pub fn below(&self, relative: &str) -> io::Result<Folder> {
        check(relative)?;
        self.below_checked(relative)
    }

    /// As [`Folder::below`]; what is missing is made, for the user alone, and synced.
    ///
    /// # Errors
    ///
    /// As for [`Folder::below`], or if a folder cannot be made.
    pub fn create_below(&self, relative: &str) -> io::Result<Folder> {
        match self.below(relative) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
        let mut folder = self.below("")?;
        for part in relative.split('/').filter(|part| !part.is_empty()) {
            folder = folder.open_or_make(part)?;
        }
        Ok(folder)
    }

    fn open_or_make(&self, name: &str) -> io::Result<Folder> {
        let mut tries = 0;
        loop {
            match self.below(name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries < MOST_TRIES => {}
                other => return other,
            }
            match self.make_folder(name) {
                // Another process made it, and may set it aside before it is opened here.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(()) => self.sync().inspect_err(|_| {
                    // Who tries again syncs only what is not there.
                    let _ = self.remove_folder(name);
                })?,
            }
            tries += 1;
        }
    }

    /// Opens the file at `relative`. A named pipe is not waited for.
    ///
    /// # Errors
    ///
    /// As the system says; also with an error that [`is_link`](super::is_link) knows if a part is a link. What is
    /// opened need not be a regular file.
    pub fn open_file(&self, relative: &str, access: Access) -> io::Result<File> {
        check(relative)?;
        self.open_file_checked(relative, access)
    }

    /// As [`Folder::open_file`], for a file of derived things: what has the name and is no regular
    /// file is set aside before.
    ///
    /// # Errors
    ///
    /// As for [`Folder::open_file`].
    pub fn open_derived(&self, name: &str, access: Access) -> io::Result<File> {
        let opened = self.open_file(name, access);
        let is_file = |file: &File| file.metadata().is_ok_and(|data| data.is_file());
        match opened {
            Ok(file) if is_file(&file) => Ok(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
            other => match self.set_aside(name)? {
                true => self.open_file(name, access),
                false => other,
            },
        }
    }

    /// Gives what is called `name` another name that says why, unless it is a regular file; whether
    /// it did.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be renamed.
    pub fn set_aside(&self, name: &str) -> io::Result<bool> {
        match self.facts(name) {
            Ok(facts) if facts.kind != Kind::File => self.rename_aside(name).map(|()| true),
            _ => Ok(false),
        }
    }

    pub(super) fn rename_aside(&self, name: &str) -> io::Result<()> {
        for number in 1..=MOST_SET_ASIDE {
            let aside = format!("{name}{SET_ASIDE}{number}");
            match self.rename(name, self, &aside, Target::Keep) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                // Another process was faster.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Ok(()) => {
                    tracing::warn!(
                        "{} is no regular file; it is set aside as {aside}",
                        self.path.join(name).display()
                    );
                    return Ok(());
                }
                other => return other,
            }
        }
        Err(io::Error::other("too much was set aside under this name"))
    }

    /// Reads the file called `name`, of derived things.
    ///
    /// # Errors
    ///
    /// As for [`Folder::open_derived`].
    pub fn read_derived(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut self.open_derived(name, Access::Read)?, &mut bytes)?;
        Ok(bytes)
    }

    /// Puts a file of derived things in place, whole. With `synced` it is on the disk before it has
    /// its name; the folder is not synced.
    ///
    /// # Errors
    ///
    /// As the system says; then what was there is there.
    pub fn write_derived(&self, name: &str, bytes: &[u8], synced: bool) -> io::Result<()> {
        let mut temp = self.temporary(".tmp-", "")?;
        io::Write::write_all(&mut temp.file, bytes)?;
        if synced {
            temp.file.sync_data()?;
        }
        self.make_way(name)?;
        temp.rename(name, Target::Replace)
    }

    /// As [`Folder::set_aside`], before a new file is put in the place of `name`: only among derived
    /// things. Elsewhere it may be somebody's own link or folder.
    ///
    /// # Errors
    ///
    /// As for [`Folder::set_aside`].
    pub fn make_way(&self, name: &str) -> io::Result<()> {
        let mut parts = self.path.components();
        if parts.any(|part| part == Component::Normal(OsStr::new(STATE_FOLDER))) {
            self.set_aside(name)?;
        }
        Ok(())
    }

    /// Removes a folder with all that is in it; no link in it is followed.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn remove_all(&self, name: &str) -> io::Result<()> {
        let folder = self.below(name)?;
        for (name, kind) in folder.names()? {
            match kind {
                Kind::Folder => folder.remove_all(&name)?,
                _ => folder.remove(&name)?,
            }
        }
        drop(folder);
        self.remove_folder(name)
    }

    /// Returns a new file for the user alone, with a name that nobody has; removed when it is dropped.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be made.
    pub fn temporary(&self, prefix: &str, suffix: &str) -> io::Result<Temporary<'_>> {
        loop {
            let random = uuid::Uuid::new_v4().simple().to_string();
            let random = random[..RANDOM_DIGITS].to_owned();
            let name = format!("{prefix}{random}{suffix}");
            match self.open_file(&name, Access::CreateNew) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => {
                    return Ok(Temporary {
                        folder: self,
                        name: Some(name),
                        random,
                        file: other?,
                    });
                }
            }
        }
    }
}

/// Digits in the name of a temporary file: 64 bits.
const RANDOM_DIGITS: usize = 16;

/// A file that is being written, and is not in its place yet.
#[derive(Debug)]
pub struct Temporary<'a> {
    folder: &'a Folder,
    /// `None` once it has another.
    name: Option<String>,
    /// The random part of its name.
    pub random: String,
    pub file: File,
}

impl Temporary<'_> {
    /// Gives it the name where it stays.
    ///
    /// # Errors
    ///
    /// As for [`Folder::rename`].
    pub fn rename(&mut self, to: &str, target: Target) -> io::Result<()> {
        let from = self.name.as_deref().unwrap_or_default();
        self.folder.rename(from, self.folder, to, target)?;
        self.name = None;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = self.folder.remove(name); // A clean-up finds it later.
        }
    }
}

/// Cuts a path before its last [`STATE_FOLDER`].
fn split_at_state(path: &Path) -> Option<(&Path, String)> {
    let parts: Vec<Component<'_>> = path.components().collect();
    let is_state = |part: &Component<'_>| *part == Component::Normal(OsStr::new(STATE_FOLDER));
    let at = parts.iter().rposition(is_state)?;
    let below: Option<Vec<&str>> = parts[at..]
        .iter()
        .map(|part| part.as_os_str().to_str())
        .collect();
    let root = path.ancestors().nth(parts.len() - at)?;
    let root = if root.as_os_str().is_empty() {
        Path::new(".")
    } else {
        root
    };
    Some((root, below?.join("/")))
}

/// Returns the folder and the name of what lies at `path`.
fn split_name(path: &Path) -> io::Result<(&Path, &str)> {
    let name = path.file_name().and_then(OsStr::to_str);
    let name = name.ok_or(io::ErrorKind::InvalidInput)?;
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    Ok((parent.unwrap_or(Path::new(".")), name))
}

/// No part of a relative path may lead up, and none begins at the system's root.
fn check(relative: &str) -> io::Result<()> {
    let leads_out = relative.starts_with('/') || relative.split('/').any(|part| part == "..");
    match leads_out {
        true => Err(io::ErrorKind::InvalidInput.into()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use std::fs;

    use super::*;
    #[cfg(unix)]
    use crate::beneath::{is_link, set_strangers_aside};

    #[test]
    fn a_path_is_cut_before_the_last_folder_of_derived_things() {
        let cut = |path| split_at_state(Path::new(path));
        let root = |root, below: &str| Some((Path::new(root), below.to_owned()));
        assert_eq!(
            cut("/s/.memdir/locks/a.lock"),
            root("/s", ".memdir/locks/a.lock")
        );
        assert_eq!(
            cut("/s/.memdir/.memdir/x/"),
            root("/s/.memdir", ".memdir/x")
        );
        assert_eq!(cut(".memdir"), root(".", ".memdir"));
        assert_eq!(cut("/cache/store-1/writer.lock"), None);
    }

    #[cfg(unix)]
    #[test]
    fn no_link_is_followed_below_by_either_way() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("root");
        fs::create_dir_all(inside.join("real/deep")).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("outside/file"), "theirs").unwrap();
        std::os::unix::fs::symlink("../outside", inside.join("link")).unwrap();
        std::os::unix::fs::symlink("real", inside.join("inner")).unwrap();
        let root = Folder::open(&inside).unwrap();
        assert!(root.below("real/deep").is_ok());
        for way in ["link", "inner", "inner/deep", "link/file"] {
            assert!(is_link(&root.below(way).unwrap_err()), "{way}");
            let (flags, mode) = (rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty());
            let flags = flags | rustix::fs::OFlags::NOFOLLOW;
            let stepped = crate::beneath::system::step_by_step(&root.fd, way, flags, mode);
            assert!(is_link(&stepped.unwrap_err()), "{way}");
        }
        assert!(is_link(
            &root.open_file("link/file", Access::Read).unwrap_err()
        ));
        assert!(is_link(&root.create_below("link/new").unwrap_err()));
        assert!(root.below("../outside").is_err());
        assert!(root.below("real/../../outside").is_err());
        assert_eq!(
            fs::read_dir(folder.path().join("outside")).unwrap().count(),
            1
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_stays_the_same_when_a_link_takes_its_place() {
        let scene = tempfile::tempdir().unwrap();
        let path = |name: &str| scene.path().join(name);
        fs::create_dir(path("held")).unwrap();
        fs::create_dir(path("foreign")).unwrap();
        let held = Folder::open(scene.path()).unwrap().below("held").unwrap();
        fs::rename(path("held"), path("moved")).unwrap();
        std::os::unix::fs::symlink("foreign", path("held")).unwrap();
        let mut temp = held.temporary("t-", "").unwrap();
        temp.rename("new", Target::Keep).unwrap();
        assert!(path("moved/new").exists());
        assert_eq!(fs::read_dir(path("foreign")).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_name_is_composed_if_that_is_the_same_file() {
        let scene = tempfile::tempdir().unwrap();
        let folder = Folder::open(scene.path()).unwrap();
        let (apart, composed) = ("Zoe\u{308}.md", "Zo\u{eb}.md");
        fs::write(scene.path().join(apart), "one").unwrap();
        let alone = folder.composed(apart).into_owned();
        // A disk that finds a file by either name, as those of macOS do.
        let _ = fs::hard_link(scene.path().join(apart), scene.path().join(composed));
        assert_eq!(folder.composed(apart), composed);
        assert_eq!(folder.composed(composed), composed);
        assert_eq!(folder.composed("plain.md"), "plain.md");
        let of_macos = cfg!(target_vendor = "apple");
        assert_eq!(alone, if of_macos { composed } else { apart });
        assert_eq!(folder.stored_name(apart), alone);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_set_aside_and_not_waited_for() {
        let scene = tempfile::tempdir().unwrap();
        let scene_path = scene.path().join(STATE_FOLDER);
        let folder = Folder::create_of_state(&scene_path).unwrap();
        let pipe = |name: &str| {
            let mode = rustix::fs::Mode::RWXU;
            rustix::fs::mknodat(&folder, name, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        };
        for access in [
            Access::Read,
            Access::Write,
            Access::CreateAppend,
            Access::Create,
        ] {
            pipe("name");
            let opened = folder.open_derived("name", access);
            let creates = matches!(access, Access::CreateAppend | Access::Create);
            assert_eq!(opened.is_ok(), creates, "{access:?}");
            let _ = folder.remove("name");
            fs::create_dir(scene_path.join("name")).unwrap();
            folder.write_derived("name", b"whole", false).unwrap();
            assert_eq!(folder.read_derived("name").unwrap(), b"whole");
            folder.remove("name").unwrap();
        }
        let names = folder.names().unwrap();
        assert!(
            names
                .iter()
                .all(|(name, _)| name.starts_with("name.set-aside-"))
        );
        assert_eq!(names.len(), 8);
    }

    #[cfg(unix)]
    #[test]
    fn strangers_among_the_derived_things_are_set_aside() {
        let scene = tempfile::tempdir().unwrap();
        let state = scene.path().join(STATE_FOLDER);
        fs::create_dir_all(state.join("index-v9-english/meta.json")).unwrap();
        fs::create_dir_all(state.join("writer.lock")).unwrap();
        fs::create_dir_all(state.join("broken-git/1")).unwrap();
        fs::write(state.join("locks"), "").unwrap();
        fs::write(state.join("serving"), "").unwrap();
        std::os::unix::fs::symlink("/etc/hosts", state.join("anything")).unwrap();
        std::os::unix::fs::symlink("/etc/hosts", state.join("heartbeat")).unwrap();
        set_strangers_aside(&state).unwrap();
        set_strangers_aside(&state).unwrap();
        let mut names = Folder::of_state(&state).unwrap().names().unwrap();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "anything",
            "broken-git",
            "heartbeat.set-aside-1",
            "index-v9-english",
            "locks.set-aside-1",
            "serving",
            "writer.lock.set-aside-1",
        ];
        assert_eq!(names, expected);
        assert!(
            state
                .join("index-v9-english/meta.json.set-aside-1")
                .is_dir()
        );
    }
}

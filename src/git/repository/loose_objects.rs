//! Reads loose objects in place of libgit2, with bounded resources.
//!
//! A loose object is a file of its own: a zlib stream with a header `TYPE SIZE\0`. libgit2 1.9 hangs on
//! a truncated one (libgit2#7342, fixed upstream, in no release that a crate vendors), takes a damaged
//! first byte for an older format with the same fault, and hangs on a FIFO in its place. A changed
//! libgit2 would fall under the GPL, so each repository gets a further object backend, which libgit2
//! tries before its own.
//!
//! Guarantees: a loose object is either whole (header, length and checksum of the stream) or an error
//! that names it; at most its announced size is held in memory, and never more than its bytes can
//! inflate to. libgit2 still reads packs, whose reader checks its progress, writes objects, and checks
//! whether one exists. Commit graphs are not read: they repeat data of commits, unverified.

use std::ffi::{CString, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Once;

use git2::{Binding, Oid, Repository};
use libgit2_sys as raw;

use crate::git::repository::loose_file;
use crate::git::repository::loose_file::{LooseObject, Unreadable};

/// Priorities of object backends, tried in falling order: packs, which hold most objects of a long
/// history, then this one, then libgit2's loose objects with their default.
const PACKED_PRIORITY: c_int = 3;
const SOURCE_PRIORITY: c_int = 2;
/// Maximum depth to which libgit2 follows `info/alternates`.
const MOST_ALTERNATES: usize = 5;

/// Opens the repository at `path` with checked loose objects.
pub(in crate::git) fn open(path: &Path) -> Result<Repository, git2::Error> {
    let repository = Repository::open(path)?;
    check_loose_objects(&repository)?;
    Ok(repository)
}

/// Adds this module's backend to `repository`. Does nothing if the folder of objects is missing.
#[allow(unsafe_code, reason = "git2 offers no sources of objects of one's own")]
pub(in crate::git) fn check_loose_objects(repository: &Repository) -> Result<(), git2::Error> {
    static OPTIONS: Once = Once::new();
    OPTIONS.call_once(|| {
        // SAFETY: each option takes one `int`, which libgit2 stores. The priority is read when a
        // repository's objects are first opened; of those that this module serves, none is before this
        // line. The other one has everything synced that is written into a repository: the setting
        // `core.fsyncObjectFiles` comes too late for objects that are opened here.
        unsafe {
            raw::git_libgit2_opts(
                raw::GIT_OPT_SET_ODB_PACKED_PRIORITY as c_int,
                PACKED_PRIORITY,
            );
            raw::git_libgit2_opts(raw::GIT_OPT_ENABLE_FSYNC_GITDIR as c_int, 1 as c_int);
        }
    });
    let objects = repository.commondir().join("objects");
    let odb = match repository.odb() {
        Err(_) if !objects.is_dir() => return Ok(()),
        other => other?,
    };
    let source = Box::new(ObjectSource {
        backend: raw::git_odb_backend {
            version: raw::GIT_ODB_BACKEND_VERSION,
            odb: ptr::null_mut(),
            read: Some(read),
            read_prefix: Some(read_prefix),
            read_header: Some(read_header),
            write: None,
            writestream: None,
            readstream: None,
            exists: None,
            exists_prefix: None,
            refresh: None,
            foreach: Some(foreach),
            writepack: None,
            writemidx: None,
            freshen: None,
            free: Some(free),
        },
        folders: object_folders(objects),
    });
    let source = Box::into_raw(source);
    // SAFETY: `odb` is alive; `source` begins with a complete backend (`repr(C)`), and belongs to
    // libgit2 from now on, which gives it back to `free` once. If it is not taken, nobody else has it.
    unsafe {
        if raw::git_odb_add_backend(odb.raw(), source.cast(), SOURCE_PRIORITY) < 0 {
            drop(Box::from_raw(source));
            return Err(git2::Error::last_error(-1));
        }
        if git_odb_set_commit_graph(odb.raw(), ptr::null_mut()) < 0 {
            return Err(git2::Error::last_error(-1));
        }
    }
    Ok(())
}

/// Returns the first loose object of the repository in the folder `path` that cannot be read, for
/// readers without this module's backend. A missing repository has none.
pub(in crate::git) fn damaged_object(path: &Path) -> Option<PathBuf> {
    let objects = [path.join(".git/objects"), path.join("objects")];
    let objects = objects.into_iter().find(|objects| objects.is_dir())?;
    let folders = object_folders(objects);
    let entries_of = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = folders.iter().flat_map(|folder| entries_of(folder));
    let files = folders.flat_map(|folder| entries_of(&folder.path()).map(|file| file.path()));
    files
        .filter(|file| id_of(file).is_some())
        .find(|file| loose_file::read_whole(file).is_err())
}

#[allow(unsafe_code, reason = "libgit2-sys leaves this function out")]
// SAFETY: as `git2/odb.h` of the vendored libgit2 declares it; a null pointer takes the graph away.
unsafe extern "C" {
    fn git_odb_set_commit_graph(odb: *mut raw::git_odb, graph: *mut c_void) -> c_int;
}

/// An object backend of libgit2.
#[repr(C)]
struct ObjectSource {
    /// First field, so that a pointer to it is a pointer to the whole.
    backend: raw::git_odb_backend,
    /// The repository's folder of objects, then its alternates.
    folders: Vec<PathBuf>,
}

/// Returns `objects` and its alternates, as libgit2 follows them.
fn object_folders(objects: PathBuf) -> Vec<PathBuf> {
    let mut folders = vec![objects];
    let mut level = 0..1;
    for _ in 0..=MOST_ALTERNATES {
        for at in level.clone() {
            let listed = std::fs::read(folders[at].join("info/alternates")).unwrap_or_default();
            let listed = String::from_utf8_lossy(&listed).into_owned();
            let lines = listed.split(['\r', '\n']);
            for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
                let folder = match line.starts_with('.') {
                    true => folders[at].join(line),
                    false => PathBuf::from(line),
                };
                if !folders.contains(&folder) {
                    folders.push(folder);
                }
            }
        }
        level = level.end..folders.len();
    }
    folders
}

/// Returns the id in the name of an object's file.
fn id_of(file: &Path) -> Option<Oid> {
    let start = file.parent()?.file_name()?.to_str()?;
    let rest = file.file_name()?.to_str()?;
    let is_id = start.len() == 2 && rest.len() == 38;
    is_id.then(|| Oid::from_str(&format!("{start}{rest}")).ok())?
}

impl ObjectSource {
    /// Returns the path of an object in each folder.
    fn files(&self, id: Oid) -> impl Iterator<Item = PathBuf> + '_ {
        let digits = id.to_string();
        let (start, rest) = digits.split_at(2);
        let name = PathBuf::from(start).join(rest);
        self.folders.iter().map(move |folder| folder.join(&name))
    }

    /// Returns the result of `read` on the first file that holds the object; `None` if there is none.
    fn first<T>(
        &self,
        id: Oid,
        read: impl Fn(&Path) -> Result<T, Unreadable>,
    ) -> Option<Result<T, (PathBuf, Unreadable)>> {
        let mut unreadable = None;
        for file in self.files(id) {
            match read(&file) {
                Ok(found) => return Some(Ok(found)),
                Err(Unreadable::Missing) => {}
                Err(error) => unreadable = unreadable.or(Some(Err((file, error)))),
            }
        }
        unreadable
    }

    /// Returns the ids that begin with the first `digits` hex digits of `id`, at most two.
    fn ids_with_prefix(&self, id: Oid, digits: usize) -> Vec<Oid> {
        let text = id.to_string();
        let Some(wanted) = text.get(..digits) else {
            return Vec::new();
        };
        let mut found: Vec<Oid> = Vec::new();
        for folder in &self.folders {
            let files = std::fs::read_dir(folder.join(&text[..2]));
            for file in files.into_iter().flatten().flatten() {
                let id = id_of(&file.path());
                let Some(id) = id.filter(|id| id.to_string().starts_with(wanted)) else {
                    continue;
                };
                if !found.contains(&id) && found.len() < 2 {
                    found.push(id);
                }
            }
        }
        found
    }
}

// Callbacks of libgit2, which holds the lock of its backends meanwhile.

/// Sets libgit2's error for an object that cannot be read.
#[allow(unsafe_code, reason = "git2 sets no errors of others")]
fn refuse(file: &Path, why: Unreadable) -> c_int {
    let what = match why {
        Unreadable::Forbidden => "cannot be read",
        Unreadable::Missing | Unreadable::Damaged => "is damaged",
    };
    let name = id_of(file).map_or_else(|| file.display().to_string(), |id| id.to_string());
    if let Ok(text) = CString::new(format!("the object {name} {what}")) {
        // SAFETY: libgit2 copies the text.
        unsafe { raw::git_error_set_str(raw::GIT_ERROR_ODB as c_int, text.as_ptr()) };
    }
    raw::GIT_ERROR
}

/// Converts libgit2's pointers to the backend and the object's id.
///
/// # Safety
///
/// `backend` was made by [`check_loose_objects`] and is not freed; `id` points to an id.
#[allow(unsafe_code, reason = "libgit2 passes pointers")]
unsafe fn asked<'a>(
    backend: *mut raw::git_odb_backend,
    id: *const raw::git_oid,
) -> (&'a ObjectSource, Oid) {
    // SAFETY: as the caller promises; the backend is the source's first field.
    unsafe { (&*backend.cast::<ObjectSource>(), Oid::from_raw(id)) }
}

#[allow(unsafe_code, reason = "libgit2 calls it with pointers")]
extern "C" fn read(
    data: *mut *mut c_void,
    length: *mut usize,
    kind: *mut raw::git_object_t,
    backend: *mut raw::git_odb_backend,
    id: *const raw::git_oid,
) -> c_int {
    // SAFETY: libgit2 asks a source that it was given, with an id.
    let (source, id) = unsafe { asked(backend, id) };
    let found = source.first(id, |file| {
        let (bytes, size) = loose_file::read_bytes(file)?;
        let begun = LooseObject::begin(&bytes, size)?;
        let (size, object_kind) = (begun.size, begun.kind);
        let room = size.checked_add(1).ok_or(Unreadable::Damaged)?;
        // SAFETY: the memory is libgit2's own, has `room` bytes, is written to once before anybody
        // reads it, and is given back unless libgit2 gets it.
        unsafe {
            let memory = raw::git_odb_backend_data_alloc(backend, room).cast::<u8>();
            if memory.is_null() {
                return Err(Unreadable::Forbidden);
            }
            memory.write_bytes(0, room); // With a zero behind it, as libgit2's own sources have it.
            let out = std::slice::from_raw_parts_mut(memory, size);
            if let Err(error) = begun.finish(out) {
                raw::git_odb_backend_data_free(backend, memory.cast());
                return Err(error);
            }
            Ok((memory, size, object_kind))
        }
    });
    match found {
        None => raw::GIT_ENOTFOUND,
        Some(Err((file, why))) => refuse(&file, why),
        Some(Ok((memory, size, object_kind))) => {
            // SAFETY: libgit2 waits for its answer there.
            unsafe {
                *data = memory.cast();
                *length = size;
                *kind = object_kind.raw();
            }
            raw::GIT_OK
        }
    }
}

#[allow(unsafe_code, reason = "libgit2 calls it with pointers")]
extern "C" fn read_header(
    length: *mut usize,
    kind: *mut raw::git_object_t,
    backend: *mut raw::git_odb_backend,
    id: *const raw::git_oid,
) -> c_int {
    // SAFETY: libgit2 asks a source that it was given, with an id.
    let (source, id) = unsafe { asked(backend, id) };
    let found = source.first(id, |file| {
        let (mut opened, size) = loose_file::open_file(file)?;
        let bytes = loose_file::read_beginning(&mut opened, size)?;
        let begun = LooseObject::begin(&bytes, size)?;
        Ok((begun.size, begun.kind))
    });
    match found {
        None => raw::GIT_ENOTFOUND,
        Some(Err((file, why))) => refuse(&file, why),
        Some(Ok((size, object_kind))) => {
            // SAFETY: libgit2 waits for its answer there.
            unsafe {
                *length = size;
                *kind = object_kind.raw();
            }
            raw::GIT_OK
        }
    }
}

#[allow(unsafe_code, reason = "libgit2 calls it with pointers")]
extern "C" fn read_prefix(
    full: *mut raw::git_oid,
    data: *mut *mut c_void,
    length: *mut usize,
    kind: *mut raw::git_object_t,
    backend: *mut raw::git_odb_backend,
    short: *const raw::git_oid,
    digits: usize,
) -> c_int {
    // SAFETY: libgit2 asks a source that it was given, with the beginning of an id, and waits for
    // its answer at `full`.
    unsafe {
        let (source, id) = asked(backend, short);
        match source.ids_with_prefix(id, digits)[..] {
            [] => raw::GIT_ENOTFOUND,
            [id] => {
                *full = *id.raw();
                read(data, length, kind, backend, full)
            }
            _ => raw::GIT_EAMBIGUOUS,
        }
    }
}

/// Lists nothing: libgit2's own backend lists the same files.
extern "C" fn foreach(
    _: *mut raw::git_odb_backend,
    _: raw::git_odb_foreach_cb,
    _: *mut c_void,
) -> c_int {
    raw::GIT_OK
}

#[allow(unsafe_code, reason = "libgit2 gives back what it was given")]
extern "C" fn free(backend: *mut raw::git_odb_backend) {
    // SAFETY: it was a box, and libgit2 calls this once, at the end.
    drop(unsafe { Box::from_raw(backend.cast::<ObjectSource>()) });
}

#[cfg(test)]
mod tests {
    use git2::ObjectType;

    use super::*;

    /// Returns a repository with one loose object in it, and the file of that.
    fn with_object(content: &[u8]) -> (tempfile::TempDir, Repository, Oid, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init(folder.path()).unwrap();
        check_loose_objects(&repository).unwrap();
        let id = repository.blob(content).unwrap();
        let digits = id.to_string();
        let file = folder.path().join(".git/objects").join(&digits[..2]);
        let file = file.join(&digits[2..]);
        (folder, repository, id, file)
    }

    fn replace(file: &Path, bytes: &[u8]) {
        crate::git::repository::packs::remove_read_only(file).unwrap();
        std::fs::write(file, bytes).unwrap();
    }

    /// Text that does not shrink to nothing, of several of zlib's blocks.
    fn long_text() -> Vec<u8> {
        let numbers = (0_u32..20_000).map(|number| number.wrapping_mul(2_654_435_761));
        numbers
            .flat_map(|number| number.to_string().into_bytes())
            .collect()
    }

    #[test]
    fn a_whole_object_is_read_as_it_was_written() {
        for content in [&b""[..], b"short", &[0; 100_000], &long_text()] {
            let (folder, _, id, _) = with_object(content);
            let again = open(folder.path()).unwrap();
            assert_eq!(again.find_blob(id).unwrap().content(), content);
            let header = again.odb().unwrap().read_header(id).unwrap();
            assert_eq!(header, (content.len(), ObjectType::Blob));
            assert_eq!(damaged_object(folder.path()), None);
        }
    }

    #[test]
    fn an_object_that_is_cut_anywhere_is_an_error_that_names_it() {
        for content in [&b"short"[..], &long_text()] {
            let (folder, _, id, file) = with_object(content);
            let bytes = std::fs::read(&file).unwrap();
            for cut in (0..bytes.len()).step_by(bytes.len().div_ceil(64)) {
                replace(&file, &bytes[..cut]);
                let again = open(folder.path()).unwrap();
                let error = again.find_blob(id).unwrap_err();
                assert!(error.message().contains(&id.to_string()), "{cut}: {error}");
                let short = id.to_string()[..10].to_owned();
                assert!(again.revparse_single(&short).is_err(), "{cut}");
                assert_eq!(damaged_object(folder.path()), Some(file.clone()), "{cut}");
            }
        }
    }

    #[test]
    fn an_object_with_a_changed_byte_is_an_error_or_says_the_same() {
        let content = b"a text that is short enough to change each byte";
        let (folder, _, id, file) = with_object(content);
        let bytes = std::fs::read(&file).unwrap();
        let mut same = 0;
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                replace(&file, &changed);
                let again = open(folder.path()).unwrap();
                // Some bits only fill the last byte of the stream.
                let read = again.find_blob(id);
                let is_same = read.is_ok_and(|blob| blob.content() == content);
                same += usize::from(is_same);
                assert!(
                    is_same || again.find_blob(id).is_err(),
                    "bit {bit} of byte {at}"
                );
            }
        }
        assert!(same < 8, "{same}");
    }

    #[test]
    fn more_than_an_object_announces_is_an_error() {
        let (folder, _, id, file) = with_object(b"twelve bytes");
        let mut bytes = std::fs::read(&file).unwrap();
        bytes.extend_from_slice(b"more");
        replace(&file, &bytes);
        assert!(open(folder.path()).unwrap().find_blob(id).is_err());
        // A stream of zlib without compression, whose header promises less and far more.
        for size in ["5", "99999999999999", "18446744073709551616", "-1", ""] {
            let object = [format!("blob {size}\0").as_bytes(), b"twelve bytes"].concat();
            replace(&file, &stored(&object));
            assert!(
                open(folder.path()).unwrap().find_blob(id).is_err(),
                "{size}"
            );
        }
        replace(&file, &stored(b"blob 12\0twelve bytes"));
        assert!(open(folder.path()).unwrap().find_blob(id).is_ok());
    }

    /// `bytes` as a zlib stream of one block that is not compressed.
    fn stored(bytes: &[u8]) -> Vec<u8> {
        let length = u16::try_from(bytes.len()).unwrap();
        let (mut low, mut high) = (1_u32, 0_u32);
        for byte in bytes {
            low = (low + u32::from(*byte)) % 65_521;
            high = (high + low) % 65_521;
        }
        let head = [
            &[0x78, 0x01, 0x01][..],
            &length.to_le_bytes(),
            &(!length).to_le_bytes(),
        ];
        [&head.concat()[..], bytes, &(high << 16 | low).to_be_bytes()].concat()
    }

    #[test]
    fn a_damaged_object_is_taken_from_another_folder_that_has_it() {
        let (other, _, _, _) = with_object(b"the same");
        let (folder, _, id, file) = with_object(b"the same");
        replace(&file, b"");
        assert!(open(folder.path()).unwrap().find_blob(id).is_err());
        let list = folder.path().join(".git/objects/info/alternates");
        let objects = other.path().join(".git/objects");
        std::fs::write(list, format!("# another\n{}\n", objects.display())).unwrap();
        let again = open(folder.path()).unwrap();
        assert_eq!(again.find_blob(id).unwrap().content(), b"the same");
    }

    #[cfg(unix)]
    #[test]
    fn a_fifo_in_place_of_an_object_is_not_waited_for() {
        let (folder, _, id, file) = with_object(b"a text");
        std::fs::remove_file(&file).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&file).status();
        assert!(made.unwrap().success());
        let again = open(folder.path()).unwrap();
        assert!(again.find_blob(id).is_err());
        assert!(again.odb().unwrap().read_header(id).is_err());
        assert_eq!(damaged_object(folder.path()), Some(file));
    }
}

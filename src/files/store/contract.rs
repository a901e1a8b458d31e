//! A directory as a place that keeps memories: [`Storage`] and [`WritableStorage`].

use std::collections::BTreeSet;
use std::{fs, io};

use super::{Store, TEMP_LIFETIME, file_of, folder_of, shard_of};
use crate::beneath::{Folder, Target};
use crate::files::folders::{Place, TOMBSTONES, split};
use crate::files::hash::content_hash;
use crate::files::lanes::in_lanes;
use crate::files::list;
use crate::files::list::{Entry, Listing, Skipped};
use crate::files::lock::Lock;
use crate::files::medium::{Medium, medium};
use crate::files::storage::{
    ChangeFeed, Leftover, Reader, Replaced, Storage, Version, WritableStorage,
};
use crate::files::swap::{SwapName, Swapped};
use crate::files::watch::FolderWatch;
use crate::files::{At, FilesError, disk, swap};
use crate::format::is_memory_name;

impl Storage for Store {
    fn list(&self, place: Place) -> Result<Listing, FilesError> {
        self.list_after(place, &|_| ())
    }

    fn list_after(&self, place: Place, before: &dyn Fn(&str)) -> Result<Listing, FilesError> {
        let folder = match disk::uninterrupted(|| self.top(place.folder())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Listing::default()),
            Err(error) => {
                let path = self.folder(place);
                return Err(self.refused(place.folder(), "list", &path, error));
            }
            Ok(folder) => folder,
        };
        let read = || Listing::read(&folder, is_memory_name, before);
        disk::uninterrupted(read).at("list", folder.path())
    }

    fn names_beside(&self, top: &'static str) -> Result<Vec<String>, FilesError> {
        let names = match self.top(top).and_then(|folder| folder.names()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.refused(top, "list", &self.root.join(top), error)),
            Ok(names) => names.into_iter().map(|(name, _)| name),
        };
        Ok(names.filter(|name| !name.starts_with('.')).collect())
    }

    fn has_folder(&self, folder: &str) -> bool {
        self.folder(Place::Files).join(folder).is_dir()
    }

    fn purged(&self) -> Result<BTreeSet<String>, FilesError> {
        Ok(self.names_beside(TOMBSTONES)?.into_iter().collect())
    }

    fn has_handle(&self, handle: &str) -> bool {
        const MOST: usize = 50_000;
        let ending = format!("_{handle}.md");
        self.top(Place::Files.folder()).is_ok_and(|folder| {
            list::any_name(&folder, MOST, |name| name.ends_with(ending.as_bytes()))
        })
    }

    fn look_at(&self, place: Place, name: &str) -> Option<Result<Entry, Skipped>> {
        list::look_at(&self.top(place.folder()).ok()?, name)
    }

    fn folder_times(&self, place: Place, folders: &[(String, i64)]) -> Option<Vec<(String, i64)>> {
        let time = |folder: &String| Some((folder.clone(), self.folder_time(place, folder)?));
        folders.iter().map(|(folder, _)| time(folder)).collect()
    }

    fn folders_changed(&self, place: Place, folders: &[(String, i64)]) -> bool {
        if folders.is_empty() {
            return self.folder(place).exists();
        }
        let is_changed =
            |(folder, then): &(String, i64)| self.folder_time(place, folder) != Some(*then);
        folders.iter().any(is_changed)
    }

    fn changed_folders<'a>(&self, place: Place, folders: &'a [(String, i64)]) -> Vec<&'a str> {
        let is_changed = move |(folder, then): &&'a (String, i64)| {
            self.folder_time(place, folder) != Some(*then)
        };
        let changed = folders.iter().filter(is_changed);
        changed.map(|(folder, _)| folder.as_str()).collect()
    }

    fn reader(&self, place: Place) -> Box<dyn Reader> {
        Box::new(self.folder_reader(place))
    }

    fn beside(&self) -> Box<dyn Reader> {
        Box::new(self.folder_beside())
    }

    fn changes(&self, wake: Box<dyn Fn() + Send + Sync>) -> Result<Box<dyn ChangeFeed>, String> {
        match medium(self.root()) {
            Medium::Network(kind) => Err(format!("{kind} tells no changes of other machines")),
            Medium::Local | Medium::Synced(_) => {
                let folder = self.folder(Place::Files);
                let watch = FolderWatch::start(&folder, is_memory_name, wake)?;
                Ok(Box::new(watch))
            }
        }
    }

    fn remove_leftovers(&self, place: Place, temps: &[String]) -> Vec<Leftover> {
        let reader = self.folder_reader(place);
        let cleared = |name: &str| match SwapName::parse(name) {
            Some(swap_name) => match Lock::try_take(&self.lock_path(swap_name.shard)) {
                Ok(Some(_lock)) => self.holder(place, name).is_ok_and(|(folder, file)| {
                    let below = name.strip_suffix(file).unwrap_or_default();
                    let memory = format!("{below}{}", swap_name.memory());
                    let keep = |folder: &Folder, beside: &str| {
                        self.keep_aside(place, &memory, folder, beside, &swap_name)
                    };
                    swap::resolve(&folder, file, &swap_name, &keep).is_ok()
                }),
                _ => false,
            },
            None => {
                // The lock is held until the file is gone: its writer then makes another one.
                let Ok(file) = reader.open_regular(name) else {
                    return false;
                };
                let old = file
                    .metadata()
                    .and_then(|data| data.modified())
                    .is_ok_and(|at| at.elapsed().is_ok_and(|age| age > TEMP_LIFETIME));
                (file.try_lock().is_ok() || old)
                    && self
                        .holder(place, name)
                        .is_ok_and(|(folder, file)| disk::remove(&folder, file).is_ok())
            }
        };
        temps
            .iter()
            .filter(|name| cleared(name))
            .map(|name| Leftover { name: name.clone() })
            .collect()
    }
}

impl WritableStorage for Store {
    fn create(&self) -> Result<(), FilesError> {
        match fs::exists(&self.root) {
            Ok(true) => {}
            _ => disk::create_private_folder(&self.root).at("create", &self.root)?,
        }
        self.open_or_create(Place::Files.folder(), "").map(drop)
    }

    // Order: temporary file, sync, rename without replacing, sync of the folder.
    fn add(&self, place: Place, name: &str, bytes: &[u8]) -> Result<(), FilesError> {
        let folder = self.put_new(place, name, bytes)?;
        disk::uninterrupted(|| folder.sync())
            .inspect_err(|_| {
                // Not acknowledged, so it must not be there either; a retry would write it twice.
                let _ = folder.remove(file_of(name));
            })
            .at("sync", folder.path())
    }

    fn add_many(&self, place: Place, files: &[(String, Vec<u8>)]) -> Vec<Result<(), FilesError>> {
        let add = |(name, bytes): &(String, Vec<u8>)| self.put_new(place, name, bytes);
        let mut added = in_lanes(
            files,
            |(name, _)| shard_of(name),
            |file| add(file).map(drop),
        );
        let names = || files.iter().map(|(name, _)| name.as_str());
        self.sync_folders_of(place, names().zip(&mut added), |name| {
            // As for a single one: what is not acknowledged must not be there.
            if let Ok((folder, file)) = self.holder(place, name) {
                let _ = folder.remove(file);
            }
        });
        added
    }

    fn replace_many(
        &self,
        place: Place,
        files: &[(String, Version, Vec<u8>)],
    ) -> Vec<Result<Replaced, FilesError>> {
        // Those of one lock one after another: nobody waits for a lock that this process holds.
        let lane = |(name, ..): &(String, Version, Vec<u8>)| shard_of(name);
        let mut replaced = in_lanes(files, lane, |(name, seen, bytes)| {
            let swap_name = SwapName::new(name, shard_of(name), seen.hash, content_hash(bytes));
            let (replaced, _) = self.replace_unsynced(place, name, seen, bytes, &swap_name)?;
            Ok(replaced)
        });
        let names = files.iter().map(|(name, ..)| name.as_str());
        self.sync_folders_of(place, names.zip(&mut replaced), |_| {});
        replaced
    }

    fn replace(
        &self,
        place: Place,
        name: &str,
        seen: &Version,
        bytes: &[u8],
    ) -> Result<Replaced, FilesError> {
        let swap_name = SwapName::new(name, shard_of(name), seen.hash, content_hash(bytes));
        self.replace_as(place, name, seen, bytes, &swap_name)
    }

    fn replace_and_keep(
        &self,
        place: Place,
        name: &str,
        seen: &Version,
        bytes: &[u8],
    ) -> Result<Replaced, FilesError> {
        let swap_name = SwapName::new(name, shard_of(name), seen.hash, content_hash(bytes));
        self.replace_as(place, name, seen, bytes, &swap_name.keeping())
    }

    fn remove(&self, place: Place, name: &str, seen: &Version) -> Result<Replaced, FilesError> {
        self.check_note(place, name)?;
        let _lock = self.lock(name)?;
        let current = self.folder_reader(place).read(name, u64::MAX)?;
        if current.hash != seen.hash {
            return Ok(Replaced::Stale);
        }
        let swap_name = SwapName::new(name, shard_of(name), seen.hash, seen.hash);
        let (folder, file) = self.holder(place, name)?;
        Ok(match swap::take_away(&folder, file, &swap_name)? {
            Swapped::Done => Replaced::Done,
            Swapped::KeptOther => Replaced::KeptOther,
        })
    }

    fn put_beside(
        &self,
        path: &str,
        seen: Option<&Version>,
        bytes: Option<&[u8]>,
    ) -> Result<Replaced, FilesError> {
        let _lock = self.lock(path)?;
        let target = self.root.join(path);
        let current = match self.folder_beside().read(path, u64::MAX) {
            Err(FilesError::Missing { .. }) => None,
            other => Some(other?.hash),
        };
        if current != seen.map(|seen| seen.hash) {
            return Ok(Replaced::Stale);
        }
        if bytes.is_none() && current.is_none() {
            return Ok(Replaced::Done);
        }
        let (below, file) = split(path);
        let folder = Folder::open(&self.root).and_then(|root| root.create_below(below));
        let folder = folder.at("create", &self.root.join(below))?;
        match bytes {
            None => disk::uninterrupted(|| disk::remove(&folder, file)).at("remove", &target)?,
            Some(bytes) => {
                let temp = disk::uninterrupted(|| disk::write_temp(&folder, bytes));
                let mut temp = temp.at("write", &target)?;
                if let Ok(facts) = folder.facts(file) {
                    let permissions = temp.file.set_permissions(facts.permissions());
                    permissions.at("write", &target)?;
                }
                let how = match current {
                    None => Target::Keep,
                    Some(_) => Target::Replace,
                };
                temp.rename(file, how).at("write", &target)?;
            }
        }
        disk::uninterrupted(|| folder.sync()).at("sync", folder.path())?;
        Ok(Replaced::Done)
    }

    fn rename(&self, from: (Place, &str), to: (Place, &str)) -> Result<(), FilesError> {
        self.rename_unsynced(from, to)?;
        // The new name first: a power cut in between leaves two names, never none.
        self.sync_folder(to.0, folder_of(to.1))?;
        self.sync_folder(from.0, folder_of(from.1))
    }
}

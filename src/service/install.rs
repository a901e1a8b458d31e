//! Installing and removing the service of a store.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::definition::Definition;
use super::error::ServiceError;
use super::manager::Manager;
use super::{launchd, systemd};
use crate::files;

/// Folders of the user.
#[derive(Debug, Clone, Default)]
pub struct Folders {
    /// The home folder.
    pub home: Option<PathBuf>,
    /// The folder of settings of all programs, such as `~/.config`.
    pub config: Option<PathBuf>,
}

/// The service of one store.
#[derive(Debug, Clone)]
pub struct Service {
    manager: Manager,
    /// Name as its manager knows it: `memdir.service`, `memdir`.
    pub name: String,
    /// Path of its file.
    pub path: PathBuf,
    /// Content of its file.
    pub text: String,
}

/// State of the service of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Name as its manager knows it.
    pub name: String,
    /// Path of its file.
    pub path: PathBuf,
    /// Whether it runs.
    pub runs: bool,
}

impl Service {
    /// Returns the service that `definition` describes, for `manager`. Nothing is looked at or changed.
    ///
    /// # Errors
    ///
    /// Fails if a folder is not known, or a text cannot stand in the file.
    pub fn of(
        definition: &Definition,
        manager: Manager,
        folders: &Folders,
    ) -> Result<Service, ServiceError> {
        let store = definition.store.to_string_lossy();
        let variables = definition.variables.iter().map(|(_, value)| value.as_str());
        let words = definition.command.iter().map(String::as_str);
        let mut texts = words.chain(variables).chain([store.as_ref()]);
        if let Some(odd) = texts.find(|text| text.contains(char::is_control)) {
            return Err(ServiceError::ControlCharacter(odd.to_owned()));
        }
        let known = |folder: &Option<PathBuf>| folder.clone().ok_or(ServiceError::NoHome);
        Ok(match manager {
            Manager::Systemd => {
                let name = format!("{}.service", definition.name());
                Service {
                    manager,
                    path: known(&folders.config)?.join("systemd/user").join(&name),
                    name,
                    text: systemd::unit(definition),
                }
            }
            Manager::Launchd => {
                let (home, name) = (known(&folders.home)?, definition.name());
                let log = home.join(format!("Library/Logs/{name}.log"));
                Service {
                    manager,
                    path: home.join(format!("Library/LaunchAgents/{name}.plist")),
                    name,
                    text: launchd::agent(definition, &log.to_string_lossy()),
                }
            }
        })
    }

    /// Returns the state of the service; `None` if memdir has not installed it.
    pub fn installed(&self) -> Option<Installed> {
        let text = fs::read_to_string(&self.path).ok()?;
        self.is_ours(&text).then(|| Installed {
            name: self.name.clone(),
            path: self.path.clone(),
            runs: self.manager.runs(&self.name),
        })
    }

    /// Writes the file and starts the service, now and with every session of the user.
    ///
    /// # Errors
    ///
    /// Fails if the file is another's, if the service manager does not answer, or if the service does not
    /// start. The file is then as it was before.
    pub fn install(&self) -> Result<(), ServiceError> {
        let former = self.former()?;
        self.manager.check()?;
        if former.as_deref() != Some(self.text.as_str()) {
            self.write(&self.text)?;
        }
        let Err(error) = self.manager.start(&self.name, &self.path.to_string_lossy()) else {
            return Ok(());
        };
        match &former {
            // It served with the former options, and may do so again.
            Some(former) => {
                self.write(former)?;
                let _ = self.manager.start(&self.name, &self.path.to_string_lossy());
            }
            None => {
                let _ = self.manager.stop(&self.name);
                self.remove()?;
                self.manager.forget();
            }
        }
        Err(error)
    }

    /// Stops the service and removes its file. Returns whether there was one.
    ///
    /// # Errors
    ///
    /// Fails if the file is another's, if the service cannot be stopped, or if the file cannot be removed.
    pub fn uninstall(&self) -> Result<bool, ServiceError> {
        if self.former()?.is_none() {
            return Ok(false);
        }
        match self.manager.check() {
            Ok(()) => self.manager.stop(&self.name)?,
            // Without a manager nothing runs; at the next session it would be started.
            Err(error) => tracing::warn!("{error}"),
        }
        self.remove()?;
        self.manager.forget();
        Ok(true)
    }

    /// Returns the text of the file; `None` if there is none.
    fn former(&self) -> Result<Option<String>, ServiceError> {
        match fs::read_to_string(&self.path) {
            Ok(text) if self.is_ours(&text) => Ok(Some(text)),
            Ok(_) => Err(ServiceError::Foreign(self.path.clone())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed("read")(error)),
        }
    }

    fn is_ours(&self, text: &str) -> bool {
        match self.manager {
            Manager::Systemd => text.starts_with(systemd::MARK),
            Manager::Launchd => text.contains(launchd::MARK),
        }
    }

    fn write(&self, text: &str) -> Result<(), ServiceError> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        files::create_private_folder(folder).map_err(self.failed("make the folder of"))?;
        files::write_synced(&self.path, text.as_bytes()).map_err(self.failed("write"))
    }

    fn remove(&self) -> Result<(), ServiceError> {
        if self.manager == Manager::Systemd
            && let Some(folder) = self.path.parent()
        {
            // Left where no manager answered; with one it is gone already.
            let wanted = folder.join("default.target.wants").join(&self.name);
            files::remove_derived(&wanted).map_err(self.failed("remove the link to"))?;
        }
        files::remove_derived(&self.path).map_err(self.failed("remove"))
    }

    fn failed(&self, action: &'static str) -> impl Fn(io::Error) -> ServiceError + use<> {
        let path = self.path.clone();
        move |source| ServiceError::File {
            action,
            path: path.clone(),
            source,
        }
    }
}

//! The service manager of the user's session: its programs, and what they are told.

use std::process::Command;

use super::error::ServiceError;

/// A service manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    /// `systemctl --user`, on Linux.
    Systemd,
    /// `launchctl`, on macOS.
    Launchd,
}

impl Manager {
    /// Returns the manager of this system.
    ///
    /// # Errors
    ///
    /// Fails on a system without a known one.
    pub fn of_system() -> Result<Manager, ServiceError> {
        match std::env::consts::OS {
            "linux" => Ok(Manager::Systemd),
            "macos" => Ok(Manager::Launchd),
            _ => Err(ServiceError::Unsupported),
        }
    }

    /// Checks that it answers.
    pub(super) fn check(self) -> Result<(), ServiceError> {
        let asked = match self {
            Manager::Systemd => systemctl(&["show-environment"]),
            Manager::Launchd => launchctl(&["print", &domain()?]),
        };
        asked.map_err(|error| match error {
            ServiceError::Command { message, .. } => ServiceError::NoManager(message),
            other => other,
        })
    }

    /// Starts the service `name`, whose file is at `path`, now and with every session.
    pub(super) fn start(self, name: &str, path: &str) -> Result<(), ServiceError> {
        match self {
            Manager::Systemd => {
                systemctl(&["daemon-reload"])?;
                systemctl(&["enable", name])?;
                systemctl(&["restart", name])
            }
            Manager::Launchd => {
                let domain = domain()?;
                // One of former options.
                let _ = launchctl(&["bootout", &format!("{domain}/{name}")]);
                launchctl(&["bootstrap", &domain, path])
            }
        }
    }

    /// Stops the service and starts it with no session any more.
    pub(super) fn stop(self, name: &str) -> Result<(), ServiceError> {
        match self {
            Manager::Systemd => systemctl(&["disable", "--now", name]),
            Manager::Launchd => {
                let target = format!("{}/{name}", domain()?);
                match is_loaded(&target) {
                    true => launchctl(&["bootout", &target]),
                    false => Ok(()),
                }
            }
        }
    }

    /// Lets the manager notice that a file is gone.
    pub(super) fn forget(self) {
        if self == Manager::Systemd {
            let _ = systemctl(&["daemon-reload"]); // It notices at its next start, too.
        }
    }

    /// Returns whether the service runs.
    pub(super) fn runs(self, name: &str) -> bool {
        match self {
            Manager::Systemd => systemctl(&["is-active", "--quiet", name]).is_ok(),
            Manager::Launchd => domain().is_ok_and(|domain| is_loaded(&format!("{domain}/{name}"))),
        }
    }
}

fn is_loaded(target: &str) -> bool {
    launchctl(&["print", target]).is_ok()
}

/// Returns the domain of launchd in which agents of this user's session run.
fn domain() -> Result<String, ServiceError> {
    let uid = run("id", &["-u"])?;
    Ok(format!("gui/{}", uid.trim()))
}

fn systemctl(words: &[&str]) -> Result<(), ServiceError> {
    let words: Vec<&str> = ["--user"].iter().chain(words).copied().collect();
    run("systemctl", &words).map(drop)
}

fn launchctl(words: &[&str]) -> Result<(), ServiceError> {
    run("launchctl", words).map(drop)
}

/// Runs a program of the system and returns what it printed.
fn run(program: &str, words: &[&str]) -> Result<String, ServiceError> {
    let failed = |message: String| ServiceError::Command {
        command: format!("{program} {}", words.join(" ")),
        message,
    };
    let output = Command::new(program)
        .args(words)
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim();
        return Err(failed(match said {
            "" => output.status.to_string(),
            said => said.to_owned(),
        }));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

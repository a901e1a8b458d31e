//! A client as data: what shows that it is installed, and which files it reads.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::style::{HookStyle, ServerStyle};

/// A program that uses memdir for its agents.
#[derive(Debug)]
pub struct Client {
    /// Name on the command line, and of `--client` in the hooks.
    pub name: &'static str,
    /// Name as its makers write it.
    pub title: &'static str,
    /// Signs of an installation, the most telling first.
    pub signs: &'static [Sign],
    /// The client is started from a desktop, and so does not have the PATH of a shell.
    pub is_windowed: bool,
    pub server: Server,
    /// `None` where the format of its hooks is not known, or there are none.
    pub hooks: Option<Hooks>,
    pub instructions: Files,
    pub skill: Files,
    /// The program whose `mcp list` shows the servers that the client has.
    pub list: Option<&'static str>,
}

/// Sign of an installation.
#[derive(Debug)]
pub enum Sign {
    /// A program on the PATH.
    Program(&'static str),
    /// A file or folder.
    Exists(Place),
}

/// The file that lists servers.
#[derive(Debug)]
pub struct Server {
    pub files: Files,
    pub style: ServerStyle,
}

/// The file that lists hooks.
#[derive(Debug)]
pub struct Hooks {
    pub files: Files,
    pub style: HookStyle,
}

/// One kind of file, for the user and for a project; `None` where the client reads none.
#[derive(Debug)]
pub struct Files {
    pub user: Option<Place>,
    pub project: Option<Place>,
}

/// Reach of a configuration: each project of the user, or one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    User,
    Project,
}

impl Files {
    pub const NONE: Files = Files {
        user: None,
        project: None,
    };

    pub fn at(&self, scope: Scope) -> Option<&Place> {
        match scope {
            Scope::User => self.user.as_ref(),
            Scope::Project => self.project.as_ref(),
        }
    }
}

/// A file by its path below a folder that differs between systems and users. Of several paths, the first
/// that exists counts, else the first.
#[derive(Debug)]
pub struct Place {
    pub base: Base,
    pub paths: &'static [&'static str],
}

/// The folder that the path of a [`Place`] starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    Home,
    /// Settings of applications as the system has them: `~/.config`, `~/Library/Application Support`,
    /// `%APPDATA%`.
    Application,
    /// `XDG_CONFIG_HOME` or `~/.config` on every system but Windows; `%APPDATA%` there.
    Config,
    /// `CLAUDE_CONFIG_DIR` or `~/.claude`.
    Claude,
    /// The folder of Claude Code's `.claude.json`: `CLAUDE_CONFIG_DIR` or the home.
    ClaudeState,
    /// `CODEX_HOME` or `~/.codex`.
    Codex,
    /// `COPILOT_HOME` or `~/.copilot`.
    Copilot,
    Project,
}

/// The folders of one user and project.
#[derive(Debug, Clone)]
pub struct Folders {
    home: PathBuf,
    application: PathBuf,
    config: PathBuf,
    claude: Option<PathBuf>,
    codex: PathBuf,
    copilot: PathBuf,
    project: PathBuf,
    /// Folders of the PATH.
    programs: Vec<PathBuf>,
}

impl Folders {
    /// Returns the folders that the variables of the environment name; `None` without a home.
    pub fn new(variables: &HashMap<String, String>, project: &Path) -> Option<Folders> {
        let variable = |name: &str| {
            let value = variables.get(name).filter(|value| !value.is_empty())?;
            Some(PathBuf::from(value))
        };
        let is_windows = cfg!(windows);
        let home = match is_windows {
            true => variable("USERPROFILE")?,
            false => variable("HOME")?,
        };
        let xdg = variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let roaming = variable("APPDATA").unwrap_or_else(|| home.join("AppData/Roaming"));
        let application = match std::env::consts::OS {
            "macos" => home.join("Library/Application Support"),
            "windows" => roaming.clone(),
            _ => xdg.clone(),
        };
        let programs = variables
            .get("PATH")
            .map(String::as_str)
            .unwrap_or_default();
        Some(Folders {
            application,
            config: if is_windows { roaming } else { xdg },
            claude: variable("CLAUDE_CONFIG_DIR"),
            codex: variable("CODEX_HOME").unwrap_or_else(|| home.join(".codex")),
            copilot: variable("COPILOT_HOME").unwrap_or_else(|| home.join(".copilot")),
            home,
            project: project.to_owned(),
            programs: std::env::split_paths(programs).collect(),
        })
    }

    /// Returns the path of a file.
    pub fn path(&self, place: &Place) -> PathBuf {
        let base = match place.base {
            Base::Home => &self.home,
            Base::Application => &self.application,
            Base::Config => &self.config,
            Base::Claude => &self
                .claude
                .clone()
                .unwrap_or_else(|| self.home.join(".claude")),
            Base::ClaudeState => self.claude.as_ref().unwrap_or(&self.home),
            Base::Codex => &self.codex,
            Base::Copilot => &self.copilot,
            Base::Project => &self.project,
        };
        let paths = || place.paths.iter().map(|path| base.join(path));
        let found = paths().find(|path| path.symlink_metadata().is_ok());
        found
            .or_else(|| paths().next())
            .expect("a place has a path")
    }

    /// Returns the path of a program on the PATH, as it is found there.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        let mut paths = self.programs.iter().map(|folder| folder.join(&name));
        paths.find(|path| is_program(path))
    }

    /// Returns the file, folder or program that shows that a client is installed.
    pub fn find(&self, client: &Client) -> Option<PathBuf> {
        client.signs.iter().find_map(|sign| match sign {
            Sign::Program(name) => self.program(name),
            Sign::Exists(place) => Some(self.path(place)).filter(|path| path.exists()),
        })
    }

    /// Returns a path as people write it: below the home with `~`.
    pub fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(rest) if !rest.as_os_str().is_empty() => format!("~/{}", rest.display()),
            _ => path.display().to_string(),
        }
    }
}

fn is_program(path: &Path) -> bool {
    let Ok(metadata) = path.metadata() else {
        return false;
    };
    #[cfg(unix)]
    let may_run = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let may_run = true;
    metadata.is_file() && may_run
}

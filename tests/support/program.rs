//! The program as people run it: the real binary in a home of its own.
//!
//! Nothing of the machine gets in: no variable of the caller's, no settings, no time zone.
//!
//! In a suite that runs on rows, the store of a home is a workspace. `memdir mcp` is then a server of workspaces, and
//! `memdir mcp --connect` in front of it: what a test sends and reads is the same.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::{fmt, fs};

use serde_json::Value;
use tempfile::TempDir;

use super::memdir_server::Server;
use super::workspace::{self, Workspace};
use super::{TestStore, real};

/// A home folder with an empty store in it, gone with the value.
pub struct Home {
    folder: TempDir,
    /// The store, where it lies in rows.
    workspace: Option<Workspace>,
    /// Servers of the workspace.
    servers: Mutex<Vec<Server>>,
}

/// How a command ended.
pub struct Ran {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Home {
    pub fn new() -> Home {
        match workspace::workspace() {
            None => Home::of_folder(),
            workspace => Home {
                folder: tempfile::tempdir().unwrap(),
                workspace,
                servers: Mutex::default(),
            },
        }
    }

    /// A home with a store in a folder, for the reason `why`, whatever the suite runs on.
    pub fn in_folder(why: &str) -> Home {
        workspace::needs_a_folder(why);
        Home::of_folder()
    }

    fn of_folder() -> Home {
        let home = Home {
            folder: tempfile::tempdir().unwrap(),
            workspace: None,
            servers: Mutex::default(),
        };
        fs::create_dir_all(home.files()).unwrap();
        home
    }

    /// The folder without links in its path.
    pub fn root(&self) -> PathBuf {
        real(self.folder.path())
    }

    #[track_caller]
    pub fn store(&self) -> PathBuf {
        let is_folder = self.workspace.is_none();
        assert!(is_folder, "this store lies in rows: Home::in_folder");
        self.root().join("store")
    }

    #[track_caller]
    pub fn files(&self) -> PathBuf {
        self.store().join("files")
    }

    /// Makes a folder in the home.
    pub fn make(&self, name: &str) -> PathBuf {
        let folder = self.root().join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Makes a file in the home, and the folders it needs.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes a memory file as another program does: into place, in one step.
    pub fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        if let Some(workspace) = &self.workspace {
            return workspace.put(name, text.as_ref());
        }
        let draft = self.write("draft", text);
        fs::rename(draft, self.files().join(name)).unwrap();
    }

    /// The bytes of the one memory file that `id` names.
    #[track_caller]
    pub fn text_of(&self, id: &str) -> String {
        let bytes = match &self.workspace {
            None => fs::read(self.file_of(id)).unwrap(),
            Some(workspace) => {
                let end = format!("_{id}.md");
                let names = workspace.names();
                let name = names.iter().find(|name| name.ends_with(&end));
                workspace.read(name.expect("the memory has a row"))
            }
        };
        String::from_utf8(bytes).unwrap()
    }

    /// The names of the live memories, sorted.
    pub fn names(&self) -> Vec<String> {
        match &self.workspace {
            None => names(&self.files()),
            Some(workspace) => workspace.names(),
        }
    }

    #[track_caller]
    pub fn file_of(&self, id: &str) -> PathBuf {
        let end = format!("_{id}.md");
        fs::read_dir(self.files())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.to_str().unwrap().ends_with(&end))
            .expect("the memory has a file")
    }

    /// The program, to be run in the home folder on no store in particular.
    pub fn bare(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_memdir"));
        self.surround(&mut command);
        command
    }

    /// Gives `command` this home and nothing else of the machine's but its programs.
    pub fn surround(&self, command: &mut Command) {
        let root = self.root();
        command.env_clear().current_dir(&root).env("TZ", "UTC");
        for name in ["PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        for name in ["HOME", "USERPROFILE"] {
            command.env(name, &root);
        }
        for (name, folder) in [
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_STATE_HOME", "state"),
            ("APPDATA", "config"),
            ("LOCALAPPDATA", "cache"),
        ] {
            command.env(name, root.join(folder));
        }
        // Git looks at no settings but those of the repository.
        command.env("GIT_CONFIG_NOSYSTEM", "1");
    }

    /// The program on this home's store.
    #[track_caller]
    pub fn command(&self, arguments: &[&str]) -> Command {
        if let (Some(workspace), ["mcp", more @ ..]) = (&self.workspace, arguments) {
            return self.connected(workspace, more);
        }
        let mut command = self.bare();
        command.env("MEMDIR_STORE", self.store()).args(arguments);
        command
    }

    /// A client on standard input of a new server of the workspace.
    fn connected(&self, workspace: &Workspace, arguments: &[&str]) -> Command {
        let served = TestStore::of_folder();
        let cache = served.root().join("cache");
        let mut server = self.bare();
        server
            .args(["serve", "--listen", "127.0.0.1:0", "--database", "--cache"])
            .arg(&cache)
            .args(["--reads-per-second", "0", "--writes-per-second", "0"])
            .args(arguments)
            .env("MEMDIR_DATABASE", workspace::address())
            .env("MEMDIR_DRAIN", "0");
        let server = Server::run(served, &mut server);
        let tokens = fs::read_to_string(cache.join("tokens")).unwrap();
        let token = tokens.split_whitespace().last().unwrap();
        let mut client = self.bare();
        client
            .args(["mcp", "--connect"])
            .env(
                "MEMDIR_CONNECT",
                format!("http://{}/w/{}", server.address, workspace.name),
            )
            .env("MEMDIR_TOKEN", token);
        self.servers.lock().unwrap().push(server);
        client
    }

    /// Runs the program on this home's store, without input.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> Ran {
        run(&mut self.command(arguments))
    }

    /// As [`Home::run`], with `input` on standard input.
    pub fn run_with(&self, arguments: &[&str], input: &[u8]) -> Ran {
        run_with(&mut self.command(arguments), input)
    }

    /// Stores a text and returns its id.
    #[track_caller]
    pub fn remember(&self, arguments: &[&str]) -> String {
        let all = [&["remember"], arguments].concat();
        let Some(workspace) = &self.workspace else {
            return self.run(&all).done().trim().to_owned();
        };
        // Into a folder, which is copied then.
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("files")).unwrap();
        let mut command = self.bare();
        command.env("MEMDIR_STORE", folder.path()).args(all);
        let id = run(&mut command).done().trim().to_owned();
        let mut copy = self.bare();
        copy.args(["team", "import", &workspace.name])
            .arg(folder.path())
            .env("MEMDIR_DATABASE", workspace::address());
        let copied = run(&mut copy);
        assert_eq!(copied.code, 0, "{copied:?}");
        id
    }
}

pub fn run(command: &mut Command) -> Ran {
    Ran::from(command.stdin(Stdio::null()).output().unwrap())
}

pub fn run_with(command: &mut Command, input: &[u8]) -> Ran {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || {
        // A program that does not read its input is a fault that other checks show.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Ran::from(output)
}

impl fmt::Debug for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stdout = String::from_utf8_lossy(&self.stdout);
        write!(f, "code {}\n{stdout}{}", self.code, self.stderr)
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code().expect("the program ends by itself"),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).expect("messages are UTF-8"),
        }
    }
}

impl Ran {
    /// What was printed, if all went well and nothing was complained about.
    #[track_caller]
    pub fn done(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""));
        self.text()
    }

    #[track_caller]
    pub fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).expect("the answer is UTF-8")
    }

    pub fn lines(&self) -> Vec<String> {
        self.text().lines().map(str::to_owned).collect()
    }

    /// The one JSON document that was printed.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Fails unless the command ended with `code` and complained of all of `parts`, with slashes in paths on all systems.
    #[track_caller]
    pub fn complains(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        let missing: Vec<_> = parts
            .iter()
            .filter(|part| !with_slashes(&self.stderr).contains(&*with_slashes(part)))
            .collect();
        assert!(missing.is_empty(), "{missing:?} not in: {}", self.stderr);
    }
}

fn with_slashes(text: &str) -> String {
    text.replace(std::path::MAIN_SEPARATOR, "/")
}

/// The names of the files in `folder`, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

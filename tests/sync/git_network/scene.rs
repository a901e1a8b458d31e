//! A home of its own, repositories in it, and a [`Network`] that sees nothing else.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use memdir::git::{
    Address, GitProgram, Honoured, Limits, Means, Network, NetworkError, NetworkSettings, Pushed,
};
use tempfile::TempDir;

/// Where a fetched branch is kept.
pub const FETCHED: &str = "refs/memdir/remote/main";

/// Which of the two means a test is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Program,
    Library,
}

/// A folder with a home in it, gone with the value.
pub struct Scene {
    folder: TempDir,
    variables: Vec<(String, OsString)>,
    limits: Limits,
    by: By,
}

impl Scene {
    pub fn new(by: By) -> Scene {
        let scene = Scene {
            folder: tempfile::tempdir().unwrap(),
            variables: Vec::new(),
            limits: Limits {
                silence: Duration::from_secs(30),
                total: Duration::from_secs(60),
                ..Limits::default()
            },
            by,
        };
        fs::create_dir(scene.root().join("home")).unwrap();
        scene.write(
            "home/.gitconfig",
            "[user]\nname = Anna\nemail = anna@example.org\n",
        );
        scene
    }

    /// Sets a variable of the environment.
    pub fn with(mut self, name: &str, value: impl Into<OsString>) -> Scene {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// Gives up after this time without a word.
    pub fn patient_for(mut self, silence: Duration) -> Scene {
        self.limits.silence = silence;
        self
    }

    /// Takes no more than this.
    pub fn at_most(mut self, bytes: u64) -> Scene {
        self.limits.largest = bytes;
        self
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Makes a repository without a work folder.
    pub fn bare(&self, name: &str) -> PathBuf {
        let path = self.root().join(name);
        self.git(&self.root(), &["init", "-q", "--bare", "-b", "main", name]);
        self.git(&path, &["config", "http.receivepack", "true"]);
        path
    }

    /// Makes a repository to work in.
    pub fn work(&self, name: &str) -> PathBuf {
        self.git(&self.root(), &["init", "-q", "-b", "main", name]);
        self.root().join(name)
    }

    /// Writes a file, commits it, and returns the commit.
    pub fn commit(&self, work: &Path, name: &str, text: &str) -> String {
        fs::write(work.join(name), text).unwrap();
        self.git(work, &["add", name]);
        self.git(work, &["commit", "-q", "-m", name]);
        self.git(work, &["rev-parse", "HEAD"])
    }

    /// Runs git by hand, and returns what it says.
    #[track_caller]
    pub fn git(&self, folder: &Path, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .envs(self.base())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// What every program of the scene sees.
    pub fn base(&self) -> Vec<(OsString, OsString)> {
        vec![
            ("PATH".into(), env::var_os("PATH").unwrap()),
            ("HOME".into(), self.root().join("home").into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ]
    }

    pub fn network(&self) -> Network {
        let mut environment = self.base();
        let own = self.variables.iter();
        environment.extend(own.map(|(name, value)| (name.into(), value.clone())));
        let network = Network::new(NetworkSettings {
            honoured: Honoured::default(),
            allow_local: true,
            program: match self.by {
                By::Program => GitProgram::Search,
                By::Library => GitProgram::Never,
            },
            environment,
            askpass: Some(env!("CARGO_BIN_EXE_memdir").into()),
            limits: self.limits.clone(),
        });
        assert_eq!(network.means() == Means::Library, self.by == By::Library);
        network
    }

    /// Fetches `main`.
    pub fn fetch(&self, to: &Path, address: &Address) -> Result<Option<String>, NetworkError> {
        self.network()
            .fetch(to, address, "main", FETCHED, &|| false)
    }

    /// Pushes a commit to `main`.
    pub fn push(&self, of: &Path, address: &Address, id: &str) -> Result<Pushed, NetworkError> {
        self.network().push(of, address, id, "main", &|| false)
    }

    /// Asserts that a repository is whole.
    #[track_caller]
    pub fn is_sound(&self, repository: &Path) {
        self.git(repository, &["fsck", "--full", "--strict"]);
    }
}

pub fn address(text: &str) -> Address {
    Address::parse(text, true).unwrap()
}

pub fn path_address(path: &Path) -> Address {
    address(path.to_str().unwrap())
}

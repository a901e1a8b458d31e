//! Git as people run it, in the home of a test.

use std::path::PathBuf;
use std::process::Command;

use super::program::{Home, Ran, run, run_with};
use super::until;

/// The git program in one folder of a home.
pub struct Git<'a> {
    home: &'a Home,
    folder: PathBuf,
}

impl<'a> Git<'a> {
    /// In the store of `home`.
    pub fn of(home: &'a Home) -> Git<'a> {
        Git::at(home, home.store())
    }

    pub fn at(home: &'a Home, folder: PathBuf) -> Git<'a> {
        Git { home, folder }
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        let mut command = Command::new("git");
        self.home.surround(&mut command);
        command
            .current_dir(&self.folder)
            .args(["-c", "user.name=Test", "-c", "user.email=test@example.org"])
            .args(arguments);
        run(&mut command)
    }

    /// What the command prints; it must succeed. A server that commits beside it holds git's index for a moment:
    /// that is waited for.
    #[track_caller]
    pub fn says(&self, arguments: &[&str]) -> String {
        let mut ran = self.run(arguments);
        until("git's index is free", || {
            let is_held = ran.code != 0 && ran.stderr.contains("index.lock': File exists");
            if is_held {
                ran = self.run(arguments);
            }
            !is_held
        });
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.stderr);
        ran.text()
    }

    /// What git prints, if it does not fail.
    pub fn tries(&self, arguments: &[&str]) -> Option<String> {
        let ran = self.run(arguments);
        (ran.code == 0).then(|| ran.text())
    }

    /// As [`Git::says`], with `input` to read.
    #[track_caller]
    pub fn says_with(&self, arguments: &[&str], input: &[u8]) -> String {
        let mut command = Command::new("git");
        self.home.surround(&mut command);
        command.current_dir(&self.folder).args(arguments);
        let ran = run_with(&mut command, input);
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.stderr);
        ran.text()
    }

    /// The subjects of all commits, newest first.
    #[track_caller]
    pub fn subjects(&self) -> Vec<String> {
        let log = self.says(&["log", "--format=%s"]);
        log.lines().map(str::to_owned).collect()
    }

    /// What git holds against the repository, and what differs from the newest commit.
    #[track_caller]
    pub fn assert_sound(&self) {
        let checked = self.run(&["fsck", "--strict", "--no-dangling"]);
        assert_eq!(
            (checked.code, checked.text().trim()),
            (0, ""),
            "{}",
            checked.stderr
        );
        assert_eq!(self.says(&["status", "--porcelain"]), "");
    }
}

//! Remotes by the `git` program.
//!
//! Every call is one argument vector, with the address after `--`; settings that could run a command,
//! prompt, or allow another protocol are overridden. A repository's own configuration is not read
//! (`quarantine`), except for the settings that the user agreed to. The user's settings for hosts –
//! proxies, certificates, credential helpers, ssh – stay.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fs, io};

use crate::git::network::address::{Address, Scheme};
use crate::git::network::child::{Ended, Limits};
use crate::git::network::failure::{Failure, Kind, classify};
use crate::git::network::job::{Job, Pushed, RemoteBranches};
use crate::git::network::network_settings::{GitProgram, NetworkSettings};
use crate::git::network::quarantine::Quarantine;
use crate::git::network::{child, credentials};

/// First version with all the flags that are used here.
const OLDEST: (u32, u32) = (2, 30);

/// Variables of git that are kept: paths of programs and settings, and settings for hosts. All others
/// point at a repository, write logs that could hold secrets, or weaken TLS.
const KEPT: &[&str] = &[
    "GIT_EXEC_PATH",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_SSL_CERT",
    "GIT_SSL_KEY",
    "GIT_HTTP_USER_AGENT",
    "GIT_PROXY_SSL_CAINFO",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_COUNT",
];

/// Settings that are overridden in every call.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    // Power may fail in the middle.
    "core.fsync=all",
    "protocol.allow=never",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    "transfer.credentialsInUrl=die",
    "transfer.fsckObjects=true",
    "transfer.bundleURI=false",
    "fetch.fsckObjects=true",
    // Bad names and special files of git are no reason to refuse everything: no work tree is checked
    // out, and what git would act on is left out (`inspect`).
    "fetch.fsck.hasDot=ignore",
    "fetch.fsck.hasDotdot=ignore",
    "fetch.fsck.hasDotgit=ignore",
    "fetch.fsck.largePathname=ignore",
    "fetch.fsck.gitmodulesBlob=ignore",
    "fetch.fsck.gitmodulesLarge=ignore",
    "fetch.fsck.gitmodulesMissing=ignore",
    "fetch.fsck.gitmodulesName=ignore",
    "fetch.fsck.gitmodulesParse=ignore",
    "fetch.fsck.gitmodulesPath=ignore",
    "fetch.fsck.gitmodulesSymlink=ignore",
    "fetch.fsck.gitmodulesUpdate=ignore",
    "fetch.fsck.gitmodulesUrl=ignore",
    "fetch.fsck.gitattributesBlob=ignore",
    "fetch.fsck.gitattributesLarge=ignore",
    "fetch.fsck.gitattributesLineLength=ignore",
    "fetch.fsck.gitattributesMissing=ignore",
    "fetch.fsck.gitattributesSymlink=ignore",
    "fetch.fsck.gitignoreSymlink=ignore",
    "fetch.fsck.mailmapSymlink=ignore",
    "fetch.fsck.symlinkTargetLength=ignore",
    "fetch.fsck.symlinkTargetBlob=ignore",
    "fetch.prune=false",
    "fetch.pruneTags=false",
    "fetch.writeCommitGraph=false",
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    "push.gpgSign=false",
    "push.followTags=false",
    "push.recurseSubmodules=no",
    "push.pushOption=",
    "gc.auto=0",
    "maintenance.auto=false",
    "http.followRedirects=initial",
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
    "color.ui=never",
];

/// Path in place of a repository, so that the one of the working folder is not used.
const NO_REPOSITORY: &str = "/dev/null/none";

/// Command of ssh: with time limits, and without prompts.
pub(in crate::git) const SSH: &str = "ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15 \
                   -o ServerAliveCountMax=4 -o ControlMaster=no";

/// A git program that was found to work.
#[derive(Debug)]
pub(in crate::git) struct Program {
    path: PathBuf,
    version: String,
}

impl Program {
    /// Finds the program and runs `git --version`. `None` if there is none, or an old one.
    pub(in crate::git) fn find(settings: &NetworkSettings) -> Option<Program> {
        let path = match &settings.program {
            GitProgram::Never => return None,
            GitProgram::At(path) => path.clone(),
            GitProgram::Search => in_path(settings)?,
        };
        let mut command = Command::new(&path);
        command.arg("--version");
        set_environment(&mut command, settings);
        let limits = Limits {
            silence: Duration::from_secs(10),
            ..Limits::default()
        };
        let ended = child::run(&mut command, &limits, &|| false, |_| None).ok()?;
        let (version, number) = version_in(&ended.stdout)?;
        (ended.status.success() && number >= OLDEST).then_some(Program { path, version })
    }

    /// Returns the version, like `git 2.47.3`.
    pub(in crate::git) fn version(&self) -> &str {
        &self.version
    }

    /// Fetches a branch, and sets `to_ref` to it. Returns whether the remote has it.
    pub(in crate::git) fn fetch(
        &self,
        job: &Job<'_>,
        branch: &str,
        to_ref: &str,
    ) -> Result<bool, Failure> {
        let quarantine = job.quarantine()?;
        let mut command = self.command(job, quarantine.as_ref())?;
        command.args([
            "fetch",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            "--no-write-fetch-head",
            "--refmap=",
            "--progress",
            "--",
            job.address.for_git(),
            &format!("+{branch}:{to_ref}"),
        ]);
        let ended = run(&mut command, job)?;
        if ended.status.success() {
            let fetched = quarantine.and_then(|quarantine| quarantine.reference(to_ref));
            let fetched = fetched.ok_or_else(|| Failure::other("git fetched nothing"))?;
            set_reference(job, to_ref, fetched)?;
            return Ok(true);
        }
        let missing = format!("couldn't find remote ref {branch}");
        if ended.stderr.lines().any(|line| line.ends_with(&missing)) {
            return Ok(false);
        }
        if let Some(folder) = job.repository {
            remove_truncated(folder, job.settings.limits.largest);
        }
        if died_in_silence(&ended.stderr) {
            let reason = "its pack is too large, or git was killed while it came in";
            return Err(Failure::new(Kind::TooLarge, reason));
        }
        Err(classify(&ended.stderr))
    }

    /// Pushes the commit `from` to a branch of the remote.
    pub(in crate::git) fn push(
        &self,
        job: &Job<'_>,
        from: &str,
        branch: &str,
    ) -> Result<Pushed, Failure> {
        let quarantine = job.quarantine()?;
        let mut command = self.command(job, quarantine.as_ref())?;
        command.args([
            "push",
            "--porcelain",
            "--no-verify",
            "--no-follow-tags",
            "--no-signed",
            "--recurse-submodules=no",
            "--progress",
            "--",
            job.address.for_git(),
            &format!("{from}:{branch}"),
        ]);
        let ended = run(&mut command, job)?;
        if ended.status.success() {
            return Ok(Pushed::Done);
        }
        let refused = ended.stdout.lines().find_map(|line| {
            let mut parts = line.split('\t');
            (parts.next() == Some("!")).then(|| parts.nth(1).unwrap_or_default())
        });
        match refused {
            Some(summary) if is_overtaken(summary) => Ok(Pushed::Rejected),
            Some(summary) => Err(Failure::other(match said_by_remote(&ended.stderr) {
                Some(said) => format!("{summary}: {said}"),
                None => summary.to_owned(),
            })),
            None => Err(classify(&ended.stderr)),
        }
    }

    /// Lists the branches of the remote.
    pub(in crate::git) fn look(&self, job: &Job<'_>) -> Result<RemoteBranches, Failure> {
        let mut command = self.command(job, None)?;
        command.args([
            "ls-remote",
            "--symref",
            "--",
            job.address.for_git(),
            "HEAD",
            "refs/heads/*",
        ]);
        let ended = run(&mut command, job)?;
        if !ended.status.success() {
            return Err(classify(&ended.stderr));
        }
        Ok(branches_in(&ended.stdout))
    }

    /// Returns the command with the arguments and environment of all operations.
    fn command(&self, job: &Job<'_>, quarantine: Option<&Quarantine>) -> Result<Command, Failure> {
        let settings = job.settings;
        let mut command = Command::new(&self.path);
        let mut folder = OsString::from("--git-dir=");
        folder.push(quarantine.map_or(Path::new(NO_REPOSITORY), Quarantine::folder));
        command.arg(folder);
        let mut set = |setting: &str| {
            command.args(["-c", setting]);
        };
        SETTINGS.iter().for_each(|setting| set(setting));
        if settings.allow_local {
            set("protocol.file.allow=always");
            set("protocol.http.allow=always");
        }
        if job.address.scheme() == Scheme::Https {
            // The most exact pattern wins, so this overrides the user's setting.
            set(&format!("http.{}.sslVerify=true", job.address));
        }
        let variables = |name: &str| settings.variable(name);
        let has_token = credentials::for_address(job.address, &variables).is_some();
        if has_token {
            // Otherwise git would hand the token to the user's helper, which stores it.
            set("credential.helper=");
        }
        set_environment(&mut command, settings);
        let protocols = if settings.allow_local {
            "https:ssh:file:http"
        } else {
            "https:ssh"
        };
        command.env("GIT_ALLOW_PROTOCOL", protocols);
        set_answers(&mut command, settings, job.address);
        if job.address.scheme() == Scheme::Ssh && !self.has_ssh_of_its_own(job)? {
            command.env("GIT_SSH_COMMAND", SSH);
        }
        if let Some(quarantine) = quarantine {
            quarantine.apply(&mut command);
        }
        Ok(command)
    }

    /// Returns whether the user has set the ssh command of git.
    fn has_ssh_of_its_own(&self, job: &Job<'_>) -> Result<bool, Failure> {
        let is_set = |name| job.settings.variable_os(name).is_some();
        if is_set("GIT_SSH_COMMAND") || is_set("GIT_SSH") {
            return Ok(true);
        }
        let mut command = Command::new(&self.path);
        command.arg("--git-dir").arg(NO_REPOSITORY);
        command.args(["config", "--get", "core.sshCommand"]);
        set_environment(&mut command, job.settings);
        Ok(run(&mut command, job)?.status.success())
    }
}

fn run(command: &mut Command, job: &Job<'_>) -> Result<Ended, Failure> {
    let limits = &job.settings.limits;
    child::run(command, limits, job.stop, received).map_err(|cut| (cut, limits).into())
}

/// Sets the environment: without variables that point at repositories or write logs, and with those
/// that keep git from prompting and translating.
pub(in crate::git) fn set_environment(command: &mut Command, settings: &NetworkSettings) {
    command.env_clear();
    for (name, value) in &settings.environment {
        let text = name.to_string_lossy().to_ascii_uppercase();
        let is_kept = !text.starts_with("GIT_")
            || KEPT.contains(&text.as_str())
            || text.starts_with("GIT_CONFIG_KEY_")
            || text.starts_with("GIT_CONFIG_VALUE_");
        if is_kept {
            command.env(name, value);
        }
    }
    for (name, value) in [
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GCM_INTERACTIVE", "never"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("LC_ALL", "C"),
    ] {
        command.env(name, value);
    }
    command.env_remove("LANGUAGE");
    set_honoured(command, settings);
}

/// Adds the settings of the repository that the user agreed to, after those in the environment. They
/// are not in the argument vector, which every user of the machine can read.
fn set_honoured(command: &mut Command, settings: &NetworkSettings) {
    let given = settings.variable("GIT_CONFIG_COUNT");
    let first: usize = given.and_then(|count| count.parse().ok()).unwrap_or(0);
    let honoured = settings.honoured.0.iter();
    let honoured = honoured.filter(|setting| setting.is_for_network());
    let mut count = first;
    for setting in honoured {
        command.env(format!("GIT_CONFIG_KEY_{count}"), &setting.key);
        command.env(format!("GIT_CONFIG_VALUE_{count}"), &setting.value);
        count += 1;
    }
    if count > first {
        command.env("GIT_CONFIG_COUNT", count.to_string());
    }
}

/// Sets a reference of the repository to the fetched commit.
fn set_reference(job: &Job<'_>, name: &str, id: git2::Oid) -> Result<(), Failure> {
    let set = git2::Repository::open(job.repository.unwrap_or(Path::new(""))).and_then(|opened| {
        opened
            .reference(name, id, true, "memdir: fetched")
            .map(drop)
    });
    set.map_err(|error| Failure::other(error.message()))
}

/// Sets memdir as the program that answers prompts, with the token for this remote if there is one.
pub(in crate::git) fn set_answers(
    command: &mut Command,
    settings: &NetworkSettings,
    address: &Address,
) {
    let variables = |name: &str| settings.variable(name);
    if credentials::for_address(address, &variables).is_none() {
        command.env_remove("MEMDIR_GIT_TOKEN");
    }
    let origin = address.origin();
    command.env(credentials::ASKPASS, origin.as_deref().unwrap_or("-"));
    let askpass = settings.askpass.as_deref().unwrap_or(Path::new("false"));
    command.env("GIT_ASKPASS", askpass);
    command.env("SSH_ASKPASS", askpass);
    // `never` would let ssh ask at the terminal.
    command.env("SSH_ASKPASS_REQUIRE", "force");
}

/// Returns the first git in `PATH`. Relative folders are skipped: they depend on the working folder.
fn in_path(settings: &NetworkSettings) -> Option<PathBuf> {
    let name = if cfg!(windows) { "git.exe" } else { "git" };
    let path = std::env::split_paths(settings.variable_os("PATH")?)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|path| is_program(path).unwrap_or(false))?;
    // Without Apple's tools, this one opens a window that offers to install them.
    let is_stub = cfg!(target_os = "macos")
        && path == Path::new("/usr/bin/git")
        && !Path::new("/Library/Developer/CommandLineTools").exists()
        && !Path::new("/Applications/Xcode.app").exists();
    (!is_stub).then_some(path)
}

fn is_program(path: &Path) -> io::Result<bool> {
    let metadata = path.metadata()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        Ok(metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    Ok(metadata.is_file())
}

/// Parses the output of `git --version` to `git 2.47.3` and (2, 47).
fn version_in(text: &str) -> Option<(String, (u32, u32))> {
    let version = text
        .strip_prefix("git version ")?
        .split_whitespace()
        .next()?;
    let mut numbers = version.split('.');
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next()?.parse().ok()?;
    Some((format!("git {version}"), (major, minor)))
}

/// Parses the number of bytes received from a line of git's progress:
/// `Receiving objects:  45% (9/20), 12.34 MiB | 1.20 MiB/s`.
fn received(line: &str) -> Option<u64> {
    let is_receipt = ["Receiving objects:", "Unpacking objects:"];
    if !is_receipt.iter().any(|begin| line.starts_with(begin)) {
        return None;
    }
    let amount = line.split_once("), ")?.1.split(['|', ',']).next()?.trim();
    let (number, unit) = amount.split_once(' ')?;
    let scale = match unit {
        "bytes" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return None,
    };
    let whole: u64 = number.split('.').next()?.parse().ok()?;
    whole.checked_mul(1 << scale)
}

/// Removes temporary files that git left when the limit for files killed it. They have exactly the
/// largest size, unlike those of other processes at work.
fn remove_truncated(repository: &Path, largest: u64) {
    let Ok(repository) = git2::Repository::open(repository) else {
        return;
    };
    let entries_of = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    for folder in entries_of(&repository.commondir().join("objects")) {
        for entry in entries_of(&folder.path()) {
            let is_temporary = entry.file_name().to_string_lossy().starts_with("tmp_");
            if is_temporary
                && entry
                    .metadata()
                    .is_ok_and(|m| m.is_file() && m.len() == largest)
            {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Returns whether the process that stores a pack ended without a reason, as after the limit for files:
/// the system kills it, and git reports only that its output is missing.
fn died_in_silence(stderr: &str) -> bool {
    let mut errors = stderr
        .split(['\n', '\r'])
        .filter(|line| line.starts_with("fatal: ") || line.starts_with("error: "));
    errors.next() == Some("fatal: fetch-pack: invalid index-pack output") && errors.next().is_none()
}

/// Returns whether the message of git or the remote means that a push came too late.
pub(in crate::git) fn is_overtaken(summary: &str) -> bool {
    let summary = summary.to_ascii_lowercase();
    let by_git = summary.starts_with("[rejected]");
    let races = [
        "cannot lock ref",
        "failed to update ref",
        "failed to lock",
        "incorrect old value",
        "reference already exists",
        "non-fast-forward",
        "fetch first",
    ];
    by_git || races.iter().any(|words| summary.contains(words))
}

/// Returns the first line of a hook or a forge.
fn said_by_remote(stderr: &str) -> Option<&str> {
    stderr
        .split(['\n', '\r'])
        .filter_map(|line| line.strip_prefix("remote: "))
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.contains('%') && !line.starts_with("Resolving"))
}

fn branches_in(stdout: &str) -> RemoteBranches {
    let mut seen = RemoteBranches::default();
    for line in stdout.lines() {
        let Some((value, name)) = line.split_once('\t') else {
            continue;
        };
        let target = value.strip_prefix("ref: refs/heads/");
        match (target, name.strip_prefix("refs/heads/")) {
            (Some(target), _) if name == "HEAD" => seen.head = Some(target.to_owned()),
            (None, Some(branch)) => seen.branches.push((branch.to_owned(), value.to_owned())),
            _ => {}
        }
    }
    seen.branches.sort();
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        let read = |text: &str| version_in(text).map(|(text, _)| text);
        assert_eq!(read("git version 2.47.3\n").as_deref(), Some("git 2.47.3"));
        assert_eq!(
            version_in("git version 2.39.5 (Apple Git-154)\n")
                .unwrap()
                .1,
            (2, 39)
        );
        assert_eq!(
            read("git version 2.50.0.windows.1").as_deref(),
            Some("git 2.50.0.windows.1")
        );
        assert_eq!(read("hub version 1"), None);
    }

    #[test]
    fn progress_tells_how_much_came_in() {
        for (line, expected) in [
            (
                "Receiving objects:  45% (9/20), 12.34 MiB | 1.20 MiB/s",
                Some(12 << 20),
            ),
            (
                "Receiving objects: 100% (9/9), 1.50 GiB | 1.20 MiB/s, done.",
                Some(1 << 30),
            ),
            (
                "Unpacking objects: 100% (3/3), 234 bytes | 234.00 KiB/s, done.",
                Some(234),
            ),
            ("Receiving objects:  45% (9/20)", None),
            ("remote: Receiving objects: 1% (1/9), 9.00 GiB | x", None),
            ("", None),
        ] {
            assert_eq!(received(line), expected, "{line}");
        }
    }

    #[test]
    fn a_late_push_is_told_from_a_refused_one() {
        assert!(is_overtaken("[rejected] (fetch first)"));
        assert!(is_overtaken("[rejected] (non-fast-forward)"));
        assert!(is_overtaken(
            "[remote rejected] (cannot lock ref 'refs/heads/main': is at 1)"
        ));
        assert!(!is_overtaken(
            "[remote rejected] (pre-receive hook declined)"
        ));
        assert!(!is_overtaken(
            "[remote rejected] (branch is currently checked out)"
        ));
    }

    #[test]
    fn branches_are_read() {
        let stdout = "ref: refs/heads/main\tHEAD\n11\tHEAD\n22\trefs/heads/side/a\n\
                      11\trefs/heads/main\n33\trefs/remotes/o/refs/heads/x\nrubbish\n";
        let seen = branches_in(stdout);
        assert_eq!(seen.head.as_deref(), Some("main"));
        let names: Vec<&str> = seen
            .branches
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["main", "side/a"]);
        assert_eq!(branches_in(""), RemoteBranches::default());
    }
}

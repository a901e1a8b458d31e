//! A child process that is ended at its limits, with all its children.
//!
//! Guarantees: the child cannot prompt, because standard input is empty and it leads a process group of
//! its own; its output is read in bounded memory; after too long a silence or run time, or when the
//! caller stops it, the whole group is killed and reaped. The output is not interpreted here.

use std::collections::VecDeque;
use std::io::Read;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};
use std::{io, process, thread};

#[cfg(unix)]
use rustix::process::Pid;

/// Process groups are not tracked on this system.
#[cfg(not(unix))]
type Pid = std::convert::Infallible;

/// Interval at which `stop` is called.
pub(in crate::git) const TICK: Duration = Duration::from_millis(50);

/// Time between TERM and KILL: git removes its temporary files.
const GRACE: Duration = Duration::from_millis(400);

/// Maximum wait for a pipe that a background process holds open after the child has ended.
const AFTERWARDS: Duration = Duration::from_millis(200);

/// Maximum number of bytes of standard output: a list of some 80,000 branches.
const MAX_OUTPUT: usize = 8 << 20;

/// Number of bytes kept of the beginning and of the end of standard error.
const KEPT: usize = 16 << 10;

/// Limits for a remote: time to wait, and bytes to receive.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Maximum time without progress.
    pub silence: Duration,
    /// Maximum time of the whole operation.
    pub total: Duration,
    /// Maximum number of bytes received.
    pub largest: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            // Longer than a busy forge needs to prepare a pack.
            silence: Duration::from_secs(120),
            total: Duration::from_secs(60 * 60),
            largest: 1 << 30,
        }
    }
}

/// Reason why an operation was ended before it was done.
#[derive(Debug)]
pub(in crate::git) enum Cut {
    Start(io::Error),
    Silent,
    TooLong,
    TooLarge,
    Stopped,
}

/// The exit of a child process, with its output.
#[derive(Debug)]
pub(in crate::git) struct Ended {
    /// Exit status.
    pub(in crate::git) status: ExitStatus,
    /// Standard output.
    pub(in crate::git) stdout: String,
    /// Beginning and end of standard error.
    pub(in crate::git) stderr: String,
}

/// Leaders of all running groups.
static RUNNING: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<Pid>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills all programs that this process has started for the network, with their children. To be called
/// at exit: they would wait for a silent remote for minutes.
pub fn end_children() {
    #[cfg(unix)]
    end_groups(&running(), GRACE);
}

/// Kills groups whose leaders are not reaped: sends TERM, and KILL after `grace`.
#[cfg(unix)]
fn end_groups(leaders: &[Pid], grace: Duration) {
    use rustix::process::Signal;
    let signal = |signal: Signal| {
        for pid in leaders {
            let _ = rustix::process::kill_process_group(*pid, signal);
        }
    };
    signal(Signal::TERM);
    let begun = Instant::now();
    // There is no single event for the end of several.
    while !leaders.iter().all(|pid| has_ended(*pid)) && begun.elapsed() < grace {
        thread::sleep(Duration::from_millis(5));
    }
    // None of them is reaped yet, so the numbers still stand for these groups.
    signal(Signal::KILL);
}

/// Returns whether the leader of a group has ended, without reaping it.
#[cfg(unix)]
fn has_ended(pid: Pid) -> bool {
    use rustix::process::{WaitId, WaitIdOptions};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(rustix::process::waitid(WaitId::Pid(pid), options), Ok(None))
}

/// A child process and its children, killed when the value is dropped.
#[derive(Debug)]
pub(in crate::git) struct Group {
    child: process::Child,
    is_reaped: bool,
}

impl Group {
    /// Starts a program as the leader of a new process group, so that it cannot read from the
    /// terminal, and can be ended with its children.
    pub(in crate::git) fn start(command: &mut Command) -> io::Result<Group> {
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt;
            command.process_group(0);
        }
        #[cfg(windows)]
        {
            use std::os::windows::process::CommandExt;
            // CREATE_NO_WINDOW: no console appears, and none can be asked.
            command.creation_flags(0x0800_0000);
        }
        let mut running = running();
        let group = Group {
            child: command.spawn()?,
            is_reaped: false,
        };
        running.extend(group.pid());
        Ok(group)
    }

    /// Returns the child, for its pipes.
    pub(in crate::git) fn pipes(&mut self) -> &mut process::Child {
        &mut self.child
    }

    /// Limits the size of files that the child and its children write. Linux only.
    pub(in crate::git) fn limit_files(&self, largest: u64) {
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{Resource, Rlimit};
            let limit = Rlimit {
                current: Some(largest),
                maximum: Some(largest),
            };
            let _ = rustix::process::prlimit(self.pid(), Resource::Fsize, limit);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = largest;
    }

    /// Returns the exit status of the child; `None` while it runs.
    pub(in crate::git) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        let mut running = running();
        let status = self.child.try_wait()?;
        if status.is_some() {
            self.is_reaped = true;
            running.retain(|pid| Some(*pid) != self.pid());
        }
        Ok(status)
    }

    /// Kills the child and its children: sends TERM, and KILL after `grace`.
    pub(in crate::git) fn end(&mut self, grace: Duration) {
        if self.is_reaped {
            return;
        }
        #[cfg(unix)]
        end_groups(self.pid().as_slice(), grace);
        #[cfg(not(unix))]
        let _ = (self.child.kill(), grace);
        let mut running = running();
        let _ = self.child.wait();
        self.is_reaped = true;
        running.retain(|pid| Some(*pid) != self.pid());
    }

    #[cfg(not(unix))]
    fn pid(&self) -> Option<Pid> {
        None
    }

    #[cfg(unix)]
    fn pid(&self) -> Option<Pid> {
        let id = i32::try_from(self.child.id()).ok()?;
        Pid::from_raw(id)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end(GRACE);
    }
}

/// Runs a program to its end. `received` parses the number of bytes received from a line of standard
/// error.
///
/// # Errors
///
/// Fails if it cannot be started, and if it was ended for one of the limits or by `stop`.
pub(in crate::git) fn run(
    command: &mut Command,
    limits: &Limits,
    stop: &dyn Fn() -> bool,
    received: fn(&str) -> Option<u64>,
) -> Result<Ended, Cut> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let begun = Instant::now();
    let mut group = Group::start(command).map_err(Cut::Start)?;
    group.limit_files(limits.largest);
    // A bounded channel: a reader that is ahead blocks, and with it the child.
    let (sender, pieces) = mpsc::sync_channel(4);
    let pipes = group.pipes();
    let stdout = pipes.stdout.take().expect("standard output is a pipe");
    let stderr = pipes.stderr.take().expect("standard error is a pipe");
    start_reader(stdout, sender.clone(), Piece::Stdout).map_err(Cut::Start)?;
    start_reader(stderr, sender, Piece::Stderr).map_err(Cut::Start)?;

    let mut stdout = Vec::new();
    let mut said = OutputExcerpt::default();
    let mut heard = Instant::now();
    let mut ended: Option<(ExitStatus, Instant)> = None;
    let mut is_open = true;
    loop {
        match is_open.then(|| pieces.recv_timeout(TICK)) {
            Some(Ok(Piece::Stdout(bytes))) => {
                heard = Instant::now();
                stdout.extend(bytes);
            }
            Some(Ok(Piece::Stderr(bytes))) => {
                heard = Instant::now();
                said.add(&bytes);
            }
            Some(Err(RecvTimeoutError::Timeout)) => {}
            Some(Err(RecvTimeoutError::Disconnected)) => is_open = false,
            // Both pipes are closed, and the child is about to end.
            None => thread::sleep(Duration::from_millis(1)),
        }
        if let Some((status, since)) = ended {
            if !is_open || since.elapsed() > AFTERWARDS {
                return Ok(Ended {
                    status,
                    stdout: String::from_utf8_lossy(&stdout).into_owned(),
                    stderr: said.text(),
                });
            }
            continue;
        }
        let cut = if stop() {
            Cut::Stopped
        } else if heard.elapsed() > limits.silence {
            Cut::Silent
        } else if begun.elapsed() > limits.total {
            Cut::TooLong
        } else if stdout.len() > MAX_OUTPUT
            || received(&said.last_line()).is_some_and(|bytes| bytes > limits.largest)
        {
            Cut::TooLarge
        } else {
            let status = group.try_wait().map_err(Cut::Start)?;
            ended = status.map(|status| (status, Instant::now()));
            continue;
        };
        group.end(GRACE);
        return Err(cut);
    }
}

enum Piece {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
}

/// Reads a pipe in a thread of its own, until the pipe or the channel is closed.
fn start_reader(
    mut pipe: impl Read + Send + 'static,
    sender: mpsc::SyncSender<Piece>,
    piece: fn(Vec<u8>) -> Piece,
) -> io::Result<()> {
    thread::Builder::new()
        .name("memdir-git-pipe".to_owned())
        .spawn(move || {
            let mut buffer = [0; 8192];
            loop {
                match pipe.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(length) => {
                        if sender.send(piece(buffer[..length].to_vec())).is_err() {
                            return;
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
            }
        })
        .map(|_| ())
}

/// Beginning and end of an output.
#[derive(Debug, Default)]
pub(in crate::git) struct OutputExcerpt {
    first: Vec<u8>,
    last: VecDeque<u8>,
}

impl OutputExcerpt {
    /// Appends bytes of the output.
    pub(in crate::git) fn add(&mut self, bytes: &[u8]) {
        let room = KEPT.saturating_sub(self.first.len()).min(bytes.len());
        let (first, last) = bytes.split_at(room);
        self.first.extend(first);
        self.last.extend(last);
        let over = self.last.len().saturating_sub(KEPT);
        self.last.drain(..over);
    }

    /// Returns beginning and end as one text.
    pub(in crate::git) fn text(&self) -> String {
        let (a, b) = self.last.as_slices();
        let all = [self.first.as_slice(), a, b].concat();
        String::from_utf8_lossy(&all).into_owned()
    }

    /// Returns the last complete line; a carriage return ends a line, too.
    fn last_line(&self) -> String {
        let (a, b) = self.last.as_slices();
        let end = [a, b].concat();
        let bytes = if end.is_empty() { &self.first } else { &end };
        let is_end = |b: &u8| matches!(b, b'\n' | b'\r');
        let Some(end) = bytes.iter().rposition(is_end) else {
            return String::new();
        };
        let begin = bytes[..end].iter().rposition(is_end).map_or(0, |at| at + 1);
        String::from_utf8_lossy(&bytes[begin..end]).into_owned()
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    fn limits(silence_ms: u64) -> Limits {
        Limits {
            silence: Duration::from_millis(silence_ms),
            ..Limits::default()
        }
    }

    fn bytes_in(line: &str) -> Option<u64> {
        line.parse().ok()
    }

    #[test]
    fn a_child_is_heard_to_its_end() {
        let ended = run(
            &mut shell("echo out; echo err >&2; read x || exit 3"),
            &Limits::default(),
            &|| false,
            bytes_in,
        )
        .unwrap();
        assert_eq!(ended.stdout, "out\n");
        assert_eq!(ended.stderr, "err\n");
        assert_eq!(ended.status.code(), Some(3));
    }

    #[test]
    fn a_silent_child_is_ended_with_its_children() {
        let begun = Instant::now();
        let script = "trap '' TERM; sleep 60 & wait; sleep 60";
        let cut = run(&mut shell(script), &limits(100), &|| false, |_| None);
        assert!(matches!(cut, Err(Cut::Silent)), "{cut:?}");
        assert!(begun.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn a_child_that_says_too_much_is_ended() {
        let script = "while :; do echo 0123456789012345678901234567890123456789; done";
        let cut = run(&mut shell(script), &Limits::default(), &|| false, bytes_in);
        assert!(matches!(cut, Err(Cut::TooLarge)), "{cut:?}");
        let script = "printf '5\\r2000000000\\r' >&2; sleep 60";
        let cut = run(&mut shell(script), &Limits::default(), &|| false, bytes_in);
        assert!(matches!(cut, Err(Cut::TooLarge)), "{cut:?}");
    }

    #[test]
    fn a_caller_can_stop_a_child() {
        let begun = Instant::now();
        let stop = || begun.elapsed() > Duration::from_millis(50);
        let cut = run(&mut shell("sleep 60"), &Limits::default(), &stop, bytes_in);
        assert!(matches!(cut, Err(Cut::Stopped)), "{cut:?}");
        assert!(begun.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn a_background_process_does_not_keep_the_caller() {
        let begun = Instant::now();
        let ended = run(
            &mut shell("sleep 3 & echo done"),
            &Limits::default(),
            &|| false,
            bytes_in,
        );
        assert_eq!(ended.unwrap().stdout, "done\n");
        assert!(begun.elapsed() < Duration::from_secs(2));
    }

    #[test]
    fn beginning_and_end_are_kept_of_a_long_speech() {
        let mut said = OutputExcerpt::default();
        said.add(b"first\n");
        for _ in 0..10_000 {
            said.add(b"0123456789\n");
        }
        said.add(b"last\rhalf");
        let text = said.text();
        assert!(text.starts_with("first\n") && text.ends_with("last\rhalf"));
        assert!(text.len() <= 2 * KEPT);
        assert_eq!(said.last_line(), "last");
    }
}

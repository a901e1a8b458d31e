//! git's protocol over the `ssh` program, for libgit2.
//!
//! ssh has the user's keys, settings and known hosts. It gets one argument vector, with the host after
//! `--`, and one of two commands with a quoted path.

use std::io::{Read, Write};
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use std::{io, thread};

use git2::transport::Service;

use crate::git::network::child::{Group, OutputExcerpt};
use crate::git::network::connection::Connection;
use crate::git::network::failure::{Failure, Kind, classify};
use crate::git::network::program;

/// A running ssh.
pub(in crate::git) struct Channel {
    connection: Arc<Connection>,
    input: ChildStdin,
    output: ChildStdout,
    /// Standard error of ssh, once it is closed.
    said: mpsc::Receiver<String>,
}

impl Channel {
    /// Starts ssh for a service of the remote.
    pub(in crate::git) fn open(
        connection: Arc<Connection>,
        service: Service,
    ) -> Result<Channel, Failure> {
        let mut command = command(&connection, service)?;
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let cannot = |error: io::Error| Failure::other(format!("ssh cannot be run: {error}"));
        let mut group = Group::start(&mut command).map_err(cannot)?;
        let pipes = group.pipes();
        let input = pipes.stdin.take().expect("standard input is a pipe");
        let output = pipes.stdout.take().expect("standard output is a pipe");
        let error = pipes.stderr.take().expect("standard error is a pipe");
        let said = listen(error).map_err(cannot)?;
        connection
            .uses_ssh(group)
            .map_err(|_| Failure::new(Kind::Stopped, "stopped"))?;
        Ok(Channel {
            connection,
            input,
            output,
            said,
        })
    }

    /// Records ssh's standard error as the reason of a failure.
    fn ended(&self) {
        let said = self
            .said
            .recv_timeout(Duration::from_secs(1))
            .unwrap_or_default();
        let failure = if said.trim().is_empty() {
            Failure::new(Kind::Offline, "the connection ended")
        } else {
            classify(&said)
        };
        self.connection.fails(failure);
    }
}

impl Read for Channel {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.connection.goes_on()?;
        let length = self.output.read(buffer)?;
        if length == 0 && !buffer.is_empty() {
            self.ended();
        }
        self.connection.receives(length)?;
        Ok(length)
    }
}

impl Write for Channel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.connection.goes_on()?;
        let written = self.input.write(bytes);
        match &written {
            Ok(_) => self.connection.hears(),
            Err(_) => self.ended(),
        }
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.input.flush()
    }
}

fn command(connection: &Connection, service: Service) -> Result<Command, Failure> {
    let settings = connection.settings();
    let address = connection.address();
    let set = settings.variable("GIT_SSH_COMMAND");
    let set = set.or_else(|| connection.ssh_command().map(str::to_owned));
    let words = match (set, settings.variable("GIT_SSH")) {
        (Some(text), _) => shlex::split(&text).unwrap_or_default(),
        (None, Some(program)) => vec![program],
        (None, None) => program::SSH.split(' ').map(str::to_owned).collect(),
    };
    let Some((ssh, options)) = words.split_first() else {
        return Err(Failure::other("the ssh command that is set cannot be read"));
    };
    let mut command = Command::new(ssh);
    command.args(options);
    if let Some(port) = address.port() {
        command.arg("-p").arg(port.to_string());
    }
    let host = address.host().unwrap_or_default();
    let place = match address.user() {
        Some(user) => format!("{user}@{host}"),
        None => host.to_owned(),
    };
    command.arg("--").arg(place);
    let name = match service {
        Service::UploadPackLs | Service::UploadPack => "git-upload-pack",
        Service::ReceivePackLs | Service::ReceivePack => "git-receive-pack",
    };
    command.arg(format!("{name} {}", quoted(address.path())));
    program::set_environment(&mut command, settings);
    program::set_answers(&mut command, settings, address);
    Ok(command)
}

/// Quotes a path for the shell of the server. git's programs there resolve a home folder at its
/// beginning.
fn quoted(path: &str) -> String {
    format!("'{}'", path.replace('\'', r"'\''").replace('!', r"'\!'"))
}

/// Collects the standard error of ssh, in a thread that ends with it.
fn listen(mut pipe: ChildStderr) -> io::Result<mpsc::Receiver<String>> {
    let (sender, said) = mpsc::channel();
    thread::Builder::new()
        .name("memdir-ssh-pipe".to_owned())
        .spawn(move || {
            let mut all = OutputExcerpt::default();
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = pipe.read(&mut buffer) {
                all.add(&buffer[..length]);
            }
            let _ = sender.send(all.text());
        })?;
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_to_a_shell() {
        assert_eq!(quoted("/srv/x.git"), "'/srv/x.git'");
        assert_eq!(quoted("a b;c$(d)"), "'a b;c$(d)'");
        assert_eq!(quoted("a'b!c"), r"'a'\''b'\!'c'");
    }
}

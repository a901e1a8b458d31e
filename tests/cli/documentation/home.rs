//! The home in which the commands of a block run, and the programs that stand in for others.

use std::fs;
use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rcgen::KeyPair;
use tempfile::TempDir;

use super::compare::Names;
use crate::support::make_executable;

/// Longer than a command takes on the busiest machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client's first line, for servers on standard input.
const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"documentation","version":"1"}}}"#,
    "\n"
);

/// What scenes use to give ids the names that they have in the pages.
const CALLED: &str = r#"set -e
note() {
    local id=${1##*_} day=${1:0:4}-${1:4:2}-${1:6:2} time=${1:9:2}:${1:11:2}:${1:13:2}
    printf -- '---\nid: %s\ntimestamp: %s\nagent: cli\nuser: mira\ntopics: []\n---\n\n%s' \
        $id ${day}T$time+00:00 "$2" > files/$1.md
}
called() { local name=$1; shift; echo $name $("$@") >> $ROOT/called; }
of() { grep "^$1 " $ROOT/called | cut -d ' ' -f 2; }
"#;

/// A home called `/home/mira` in what the pages show, gone with the value.
pub struct Home {
    folder: TempDir,
    port: u16,
    server: Option<Child>,
    pub names: Names,
}

/// How a command ended, and what it said.
#[derive(Debug)]
pub struct Ran {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Home {
    pub fn new(checkout: &Path) -> Home {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for below in ["home/mira", "bin", "media", "run", "remotes"] {
            fs::create_dir_all(root.join(below)).unwrap();
        }
        let home = Home {
            folder,
            port: TcpListener::bind("127.0.0.1:0")
                .and_then(|free| free.local_addr())
                .unwrap()
                .port(),
            server: None,
            names: Names::default(),
        };
        let bin = root.join("bin");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_memdir"), bin.join("memdir")).unwrap();
        for (name, script) in super::scenes::STAND_INS {
            let path = bin.join(name);
            fs::write(&path, format!("#!/usr/bin/env bash\nset -e\n{script}\n")).unwrap();
            make_executable(&path);
        }
        fs::write(home.root().join("cwd"), home.mira().to_str().unwrap()).unwrap();
        fs::write(home.root().join("hello"), HELLO).unwrap();
        fs::write(home.root().join("checkout"), checkout.to_str().unwrap()).unwrap();
        home
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn mira(&self) -> PathBuf {
        self.root().join("home/mira")
    }

    /// Sets the scene; what it calls `called ID …` stands for that id from now on.
    pub fn set(&mut self, script: &str) {
        let certificate = ["notes.lan".to_owned(), "localhost".to_owned()];
        let key = KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(certificate).unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        for (name, text) in [
            ("cert.pem", pem.as_str()),
            ("notes.pem", &pem),
            ("key.pem", &key.serialize_pem()),
        ] {
            fs::write(self.root().join(name), text).unwrap();
        }
        let (script, server) = script.split_once("\nmemdir serve").unwrap_or((script, ""));
        let ran = self.run(&format!("{CALLED}{script}"));
        assert!(ran.status.success(), "the scene fails: {ran:?}\n{script}");
        let called = fs::read_to_string(self.root().join("called")).unwrap_or_default();
        for line in called.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            assert!(
                words.len() == 2 && self.names.bind(words[0], words[1]),
                "{line}"
            );
        }
        if !server.is_empty() {
            let ran = self.run(&format!("memdir serve{server}"));
            assert!(ran.status.success(), "{ran:?}");
        }
    }

    /// Runs a command as the page shows it, in the folder where the one before ended.
    pub fn run(&mut self, command: &str) -> Ran {
        let command = self.names.put_into(command);
        let command = self.here(&command);
        if command.starts_with("memdir serve") {
            return self.serve(&command);
        }
        let script = format!(
            "[ -f $ROOT/env ] && . $ROOT/env\n{command}\nstatus=$?; pwd > $ROOT/cwd; exit $status"
        );
        let mut child = self.spawn(&script);
        let started = Instant::now();
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return self.ran(status);
            }
            if started.elapsed() > PATIENCE {
                child.kill().unwrap();
                panic!(
                    "`{command}` does not end: {:?}",
                    self.ran(ExitStatus::default())
                );
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Starts a server in the place of the one before, and waits until it serves or ends.
    fn serve(&mut self, command: &str) -> Ran {
        self.stop();
        let (command, _) = command.split_once(" #").unwrap_or((command, ""));
        let port = format!(" --listen 127.0.0.1:{}", self.port);
        let is_named = command.contains("--listen") || command.contains("--socket");
        let port = if is_named { "" } else { &port };
        let mut child = self.spawn(&format!("exec {}{port}", command.trim_end()));
        let started = Instant::now();
        let status = loop {
            if self.said("stderr").contains("serving ") {
                break ExitStatus::default();
            }
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            assert!(started.elapsed() < PATIENCE, "`{command}` serves nothing");
            std::thread::sleep(Duration::from_millis(2));
        };
        self.server = Some(child);
        self.ran(status)
    }

    fn ran(&self, status: ExitStatus) -> Ran {
        let (stdout, stderr) = (self.said("stdout"), self.said("stderr"));
        Ran {
            status,
            stdout,
            stderr,
        }
    }

    fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }

    fn spawn(&self, script: &str) -> Child {
        let root = self.root();
        let stream = |name: &str| File::create(root.join(name)).unwrap();
        let path = std::env::var("PATH").unwrap();
        // Servers on standard input get a client's first line, all others nothing.
        let input = if script.contains("mcp") && !script.contains("printf") {
            File::open(root.join("hello")).unwrap()
        } else {
            File::open("/dev/null").unwrap()
        };
        Command::new("bash")
            .args(["-c", script])
            .env_clear()
            .current_dir(fs::read_to_string(root.join("cwd")).unwrap().trim_end())
            .env("ROOT", &root)
            .env("HOME", self.mira())
            .env("USER", "mira")
            .env("TZ", "UTC")
            .env("PATH", format!("{}:{path}", root.join("bin").display()))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("NO_PROXY", "*")
            .stdin(input)
            .stderr(stream("stderr"))
            .stdout(stream("stdout"))
            .spawn()
            .unwrap()
    }

    /// What the running command said, as it is called in the pages.
    fn said(&self, stream: &str) -> String {
        let said = fs::read(self.root().join(stream)).unwrap();
        let mut said = String::from_utf8_lossy(&said).into_owned();
        for (shown, here) in self.stands() {
            said = said.replace(&here, shown);
        }
        said
    }

    fn here(&self, command: &str) -> String {
        let mut command = command.to_owned();
        for (shown, here) in self.stands() {
            command = command.replace(shown, &here);
        }
        command
    }

    /// What stands here for the places that pages name.
    fn stands(&self) -> [(&'static str, String); 5] {
        let below = |name: &str| self.root().join(name).to_str().unwrap().to_owned();
        [
            ("/home/mira", below("home/mira")),
            ("/media/stick", below("media/stick")),
            ("/run/memdir", below("run/memdir")),
            (":9077", format!(":{}", self.port)),
            ("//notes.lan", "//localhost".to_owned()),
        ]
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.stop();
    }
}

//! An ssh server with keys of its own, that hands repositories out to whoever runs the tests.

use std::fs;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::thread;
use std::thread::JoinHandle;

use crate::git_network::scene::Scene;

/// Starts one `sshd` for each connection, as inetd would: nothing stays, and no port is guessed.
pub struct SshServer {
    place: SocketAddr,
    folder: PathBuf,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl SshServer {
    /// `None` where there is no sshd that could be run; the reason is printed.
    pub fn start(scene: &Scene) -> Option<SshServer> {
        let program = ["/usr/sbin/sshd", "/usr/bin/sshd", "/usr/local/sbin/sshd"]
            .iter()
            .find(|path| Path::new(path).exists());
        let Some(program) = program else {
            eprintln!("skipped: git over ssh: sshd is not installed");
            return None;
        };
        let folder = scene.root().join("ssh");
        fs::create_dir(&folder).unwrap();
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f", key])
                .current_dir(&folder)
                .status();
            assert!(made.unwrap().success());
        }
        fs::copy(folder.join("user.pub"), folder.join("authorized_keys")).unwrap();
        let path = std::env::var("PATH").unwrap();
        let shown = folder.display();
        let config = format!(
            "HostKey {shown}/host\n\
             AuthorizedKeysFile {shown}/authorized_keys\n\
             PidFile none\n\
             StrictModes no\n\
             UsePAM no\n\
             PermitRootLogin yes\n\
             PasswordAuthentication no\n\
             KbdInteractiveAuthentication no\n\
             SetEnv PATH={path} GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null\n"
        );
        fs::write(folder.join("sshd_config"), config).unwrap();
        let checked = Command::new(program)
            .arg("-t")
            .arg("-f")
            .arg(folder.join("sshd_config"))
            .output()
            .unwrap();
        if !checked.status.success() {
            let said = String::from_utf8_lossy(&checked.stderr);
            eprintln!("skipped: git over ssh: {}", said.trim());
            return None;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let for_thread = Arc::clone(&is_over);
        let config = folder.join("sshd_config");
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if for_thread.load(Ordering::SeqCst) {
                    return;
                }
                let socket = OwnedFd::from(stream.unwrap());
                let mut child = Command::new(program)
                    .args(["-i", "-e", "-f"])
                    .arg(&config)
                    .stdin(socket.try_clone().unwrap())
                    .stdout(socket)
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap();
                thread::spawn(move || child.wait());
            }
        });
        Some(SshServer {
            place,
            folder,
            is_over,
            thread: Some(thread),
        })
    }

    /// The address of a repository for the user that runs the tests.
    pub fn url(&self, repository: &Path) -> String {
        let user = Command::new("id").arg("-un").output().unwrap();
        let user = String::from_utf8(user.stdout).unwrap();
        format!(
            "ssh://{}@{}{}",
            user.trim(),
            self.place,
            repository.display()
        )
    }

    /// Lets `ssh_command` know the server.
    pub fn is_known(&self) {
        let key = fs::read_to_string(self.folder.join("host.pub")).unwrap();
        let line = format!("[127.0.0.1]:{} {key}", self.place.port());
        fs::write(self.folder.join("known_hosts"), line).unwrap();
    }

    /// An ssh that sees nothing of the user's, and asks nobody.
    pub fn ssh_command(&self) -> String {
        let folder = self.folder.display();
        format!(
            "ssh -F none -o BatchMode=yes -o IdentitiesOnly=yes -o IdentityAgent=none \
             -o IdentityFile={folder}/user -o UserKnownHostsFile={folder}/known_hosts \
             -o GlobalKnownHostsFile=none -o StrictHostKeyChecking=yes"
        )
    }

    /// Lets nobody in.
    pub fn forgets_users(&self) {
        fs::write(self.folder.join("authorized_keys"), "").unwrap();
    }
}

impl Drop for SshServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.place);
        self.thread.take().unwrap().join().unwrap();
    }
}

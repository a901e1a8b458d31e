//! An ssh server with keys of its own, that hands repositories out to whoever runs the tests.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::git_network::scene::Scene;
use crate::support::listener::Listener;
use crate::support::skip;

/// Starts one `sshd` for each connection, as inetd would: nothing stays, and no port is guessed.
pub struct SshServer {
    listener: Listener,
    folder: PathBuf,
}

impl SshServer {
    /// `None` where there is no sshd that could be run; the reason is printed.
    pub fn start(scene: &Scene) -> Option<SshServer> {
        let program = ["/usr/sbin/sshd", "/usr/bin/sshd", "/usr/local/sbin/sshd"]
            .iter()
            .find(|path| Path::new(path).exists());
        let Some(program) = program else {
            skip("git over ssh: sshd is not installed");
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
            skip(&format!("git over ssh: {}", said.trim()));
            return None;
        }
        let config = folder.join("sshd_config");
        let listener = Listener::start(move |stream| {
            let socket = OwnedFd::from(stream);
            let mut child = Command::new(program)
                .args(["-i", "-e", "-f"])
                .arg(&config)
                .stdin(socket.try_clone().unwrap())
                .stdout(socket)
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            child.wait().unwrap();
        });
        Some(SshServer { listener, folder })
    }

    /// The address of a repository for the user that runs the tests.
    pub fn url(&self, repository: &Path) -> String {
        let user = Command::new("id").arg("-un").output().unwrap();
        let user = String::from_utf8(user.stdout).unwrap();
        format!(
            "ssh://{}@{}{}",
            user.trim(),
            self.listener.address,
            repository.display()
        )
    }

    /// Lets `ssh_command` know the server.
    pub fn is_known(&self) {
        let key = fs::read_to_string(self.folder.join("host.pub")).unwrap();
        let line = format!("[127.0.0.1]:{} {key}", self.listener.address.port());
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

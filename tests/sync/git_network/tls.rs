//! Web servers that cannot prove who they are.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use memdir::git::NetworkError;

use crate::git_network::by_both;
use crate::git_network::scene::{By, Scene, address};
use crate::support::skip;

by_both! {
    a_certificate_is_always_verified,
}

/// An https server whose certificate nobody vouches for.
struct TlsServer {
    child: Child,
    place: String,
}

impl TlsServer {
    /// `None` where there is no openssl; the reason is printed.
    fn start(scene: &Scene) -> Option<TlsServer> {
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt"])
            .args(["ec_paramgen_curve:P-256", "-nodes", "-days", "2"])
            .args(["-keyout", "key.pem", "-out", "certificate.pem"])
            .args(["-subj", "/CN=localhost"])
            .args(["-addext", "subjectAltName=IP:127.0.0.1"])
            .args(["-addext", "basicConstraints=critical,CA:FALSE"])
            .current_dir(scene.root())
            .output();
        if !made.is_ok_and(|made| made.status.success()) {
            skip("certificates of git servers: no openssl that makes one");
            return None;
        }
        let mut child = Command::new("openssl")
            .args(["s_server", "-accept", "127.0.0.1:0", "-www"])
            .args(["-cert", "certificate.pem", "-key", "key.pem"])
            .current_dir(scene.root())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        let place = lines.find_map(|line| line.strip_prefix("ACCEPT ").map(str::to_owned));
        let place = place.unwrap();
        // Nobody reads any more, and it says nothing any more.
        Some(TlsServer { child, place })
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn a_certificate_is_always_verified(by: By) {
    let scene = Scene::new(by).with("GIT_SSL_NO_VERIFY", "1");
    let Some(server) = TlsServer::start(&scene) else {
        return;
    };
    let url = format!("https://{}/x", server.place);
    let work = scene.work("work");
    let looser = format!("[http]\nsslVerify=false\n[http \"{url}\"]\nsslVerify=false\n");
    scene.write("home/.gitconfig", &looser);
    let refused = scene.fetch(&work, &address(&url)).unwrap_err();
    assert!(
        matches!(refused, NetworkError::HostKey { .. }),
        "{refused:?}"
    );

    // Vouched for, it is listened to; it is no git server.
    let scene = scene.with(
        "GIT_SSL_CAINFO",
        work.parent().unwrap().join("certificate.pem"),
    );
    let refused = scene.fetch(&work, &address(&url)).unwrap_err();
    assert!(
        !matches!(refused, NetworkError::HostKey { .. }),
        "{refused:?}"
    );
}

//! Other ways in than plain HTTP: a socket of the owner's, and TLS.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use serde_json::json;

use crate::support::TestStore;
use crate::support::memdir_server::{memdir, token};
use crate::support::session::Session;

/// A server that says where it is by itself.
struct Served {
    child: Child,
    /// What it says of where it listens.
    names: Vec<String>,
}

impl Served {
    /// Starts `command` and waits until it serves.
    fn start(command: &mut Command) -> Served {
        let mut child = command
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        while !said.ends_with('\n') || !said.contains("serving ") {
            assert_ne!(lines.read_line(&mut said).unwrap(), 0, "{said}");
        }
        // Whatever else it says goes nowhere, but it goes.
        std::thread::spawn(move || lines.read_to_end(&mut Vec::new()));
        let (_, names) = said.trim().rsplit_once(" at ").unwrap();
        let names = names.split(" and ").map(str::to_owned).collect();
        Served { child, names }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill(); // It may have ended.
        let _ = self.child.wait();
    }
}

fn serve(root: &Path, arguments: &[&str]) -> Command {
    let mut command = memdir(root);
    command.arg("serve").args(arguments);
    command
}

fn bridge(root: &Path, arguments: &[&str]) -> Command {
    let mut command = memdir(root);
    command.args(["mcp", "--connect"]).args(arguments);
    command
}

#[cfg(unix)]
mod sockets {
    use std::fs;
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::support::session::meta;

    /// The socket of a server whose user lets everybody do everything.
    fn start(root: &Path, socket: &Path) -> Served {
        let served = serve(root, &["--socket", socket.to_str().unwrap()]);
        let mut command = Command::new("sh");
        command.args(["-c", "umask 000 && exec \"$0\" \"$@\""]);
        command.arg(served.get_program()).args(served.get_args());
        for (name, value) in served.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Served::start(&mut command)
    }

    fn mode(path: &Path) -> u32 {
        let meta = fs::symlink_metadata(path).unwrap();
        assert!(meta.file_type().is_socket());
        meta.permissions().mode() & 0o777
    }

    #[test]
    fn only_its_owner_can_open_it_and_a_dead_one_is_replaced() {
        let store = TestStore::new();
        let socket = store.root().join("s");
        let name = format!("unix:{}", socket.display());
        let mut killed = start(store.root(), &socket);
        assert_eq!(killed.names, [name.as_str()]);
        assert_eq!(mode(&socket), 0o600);
        killed.child.kill().unwrap();
        killed.child.wait().unwrap();
        assert_eq!(mode(&socket), 0o600);

        let mut served = start(store.root(), &socket);
        assert_eq!(mode(&socket), 0o600);
        // No token: who can open the socket owns the store.
        let mut session = Session::open_on(bridge(store.root(), &[&name]));
        session.tool("think", json!({"query": "heron"}));

        // One that lives stays, and serves on.
        let path = socket.to_str().unwrap();
        let output = serve(store.root(), &["--socket", path]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(path), "{said}");
        session.tool("think", json!({"query": "heron"}));
        // By the note of the one that lives, if the other has left it.
        drop(session);
        let id = served.child.id().to_string();
        assert!(Command::new("kill").arg(&id).status().unwrap().success());
        assert_eq!(served.child.wait().unwrap().code(), Some(0));
        assert!(!socket.exists());
    }

    #[test]
    fn it_is_found_by_the_note_and_serves_both_eras() {
        let store = TestStore::new();
        let socket = store.root().join("s");
        let _served = start(store.root(), &socket);
        let mut session = Session::open_on(bridge(store.root(), &[]));
        let memory = json!({"agent": "a", "user": "u", "topics": "t", "content": "Über 日本 😀"});
        let stored = session.tool("remember", memory);
        let id = &stored["structuredContent"]["memory_id"];
        let recalled = session.tool("recall", json!({"memory_ids": [id]}));
        let found = &recalled["structuredContent"]["results"][0]["content"];
        assert_eq!(found, "Über 日本 😀");
        session.request("n", "tools/list", meta());
        assert!(session.answer("n")["result"]["tools"].is_array());
        assert_eq!(session.log(), "");
    }

    #[test]
    fn what_is_no_socket_is_left_alone() {
        let store = TestStore::new();
        let file = store.root().join("notes.txt");
        fs::write(&file, "mine").unwrap();
        let link = store.root().join("link");
        let target = store.root().join("target");
        drop(UnixListener::bind(&target).unwrap());
        std::os::unix::fs::symlink(&target, &link).unwrap();
        for path in [&file, &link] {
            let arguments = ["--socket", path.to_str().unwrap()];
            let output = serve(store.root(), &arguments).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{output:?}");
        }
        assert_eq!(fs::read(&file).unwrap(), b"mine");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}

/// A certificate that signed itself, with its key.
struct Identity {
    certificate: PathBuf,
    key: PathBuf,
    der: Vec<u8>,
}

impl Identity {
    fn new(store: &TestStore, name: &str, host: &str, is_ca: IsCa) -> Identity {
        let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        params.is_ca = is_ca;
        let key = KeyPair::generate().unwrap();
        let signed = params.self_signed(&key).unwrap();
        let write = |end: &str, text: String| {
            let path = store.root().join(format!("{name}.{end}"));
            std::fs::write(&path, text).unwrap();
            path
        };
        Identity {
            certificate: write("crt", signed.pem()),
            key: write("key", key.serialize_pem()),
            der: signed.der().to_vec(),
        }
    }

    fn serve(&self, store: &TestStore) -> Served {
        let certificate = self.certificate.to_str().unwrap();
        let key = self.key.to_str().unwrap();
        let arguments = [
            "--listen",
            "127.0.0.1:0",
            "--tls-cert",
            certificate,
            "--tls-key",
            key,
        ];
        Served::start(&mut serve(store.root(), &arguments))
    }
}

fn port(served: &Served) -> &str {
    served.names[0].rsplit(':').next().unwrap()
}

#[test]
fn over_tls_a_stranger_s_client_is_served_and_plain_text_is_not() {
    use ureq::tls::{Certificate, RootCerts, TlsConfig};
    let store = TestStore::new();
    let identity = Identity::new(&store, "own", "localhost", IsCa::NoCa);
    let served = identity.serve(&store);
    assert!(
        served.names[0].starts_with("https://127.0.0.1:"),
        "{:?}",
        served.names
    );
    let trusted = Certificate::from_der(&identity.der).to_owned();
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(vec![trusted])))
        .build();
    let agent = ureq::Agent::config_builder()
        .tls_config(tls)
        .proxy(None)
        .build()
        .new_agent();
    let address = format!("https://localhost:{}/api/v1/stats", port(&served));
    let bearer = format!("Bearer {}", token(store.root(), &["show"]));
    let answer = agent.get(&address).header("Authorization", &bearer).call();
    assert_eq!(answer.unwrap().status(), 200);
    let refused = agent.get(&address).call().unwrap_err();
    assert!(matches!(refused, ureq::Error::StatusCode(401)), "{refused}");
    let mistrusts = ureq::Agent::config_builder()
        .proxy(None)
        .build()
        .new_agent();
    assert!(mistrusts.get(&address).call().is_err());
    // Who speaks no TLS gets no HTTP.
    let mut plain = TcpStream::connect(("127.0.0.1", port(&served).parse().unwrap())).unwrap();
    std::io::Write::write_all(
        &mut plain,
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    )
    .unwrap();
    let mut said = Vec::new();
    let _ = plain.read_to_end(&mut said); // It may be cut off.
    assert!(!said.starts_with(b"HTTP"), "{said:?}");
}

#[test]
fn over_tls_a_bridge_trusts_what_it_is_told_to_and_nothing_else() {
    let store = TestStore::new();
    let authority = IsCa::Ca(BasicConstraints::Unconstrained);
    for (name, is_ca) in [("plain", IsCa::NoCa), ("authority", authority)] {
        let identity = Identity::new(&store, name, "localhost", is_ca);
        let served = identity.serve(&store);
        let address = format!("https://localhost:{}", port(&served));
        let trusted = identity.certificate.to_str().unwrap();
        let mut session =
            Session::open_on(bridge(store.root(), &[&address, "--connect-ca", trusted]));
        session.tool("think", json!({"query": "heron"}));
        session.is_alive_and_quiet();
        drop(session);

        let refused = |address: &str, trusted: &str| {
            let mut session = Session::of(&mut bridge(
                store.root(),
                &[address, "--connect-ca", trusted],
            ));
            let said = session.initialize("2025-11-25");
            let message = said["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.contains("certificate"), "{message}");
        };
        let other = Identity::new(&store, "other", "localhost", IsCa::NoCa);
        refused(&address, other.certificate.to_str().unwrap());
        // The right certificate for another name.
        refused(&address.replace("localhost", "127.0.0.1"), trusted);
    }
}

#[test]
fn certificates_and_keys_that_do_not_serve_are_named() {
    let store = TestStore::new();
    let identity = Identity::new(&store, "own", "localhost", IsCa::NoCa);
    let other = Identity::new(&store, "other", "localhost", IsCa::NoCa);
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (certificate, key) = (text(&identity.certificate), text(&identity.key));
    let ended = |certificate: &str, key: &str| {
        let arguments = [
            "--listen",
            "127.0.0.1:0",
            "--tls-cert",
            certificate,
            "--tls-key",
            key,
        ];
        let output = serve(store.root(), &arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(ended("missing.crt", &key).contains("missing.crt"));
    assert!(ended(&certificate, "missing.key").contains("missing.key"));
    assert!(ended(&key, &key).contains("it holds none"));
    let said = ended(&certificate, &text(&other.key));
    assert!(said.contains("certificate and key do not serve"), "{said}");
}

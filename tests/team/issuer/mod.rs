//! A real issuer of OpenID Connect: the package `oidc-provider` of npm, in `issuer.mjs`.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::support;
use crate::support::memdir_server::{answer, request};

/// An issuer, ended with the value.
pub struct Issuer {
    child: Child,
    /// Its address, which is its name.
    pub name: String,
}

/// Returns the folder with the script and its packages, installed once for all tests and kept beside the program; `None`,
/// loudly, where they cannot be installed.
fn folder() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/team/issuer");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("issuer");
        std::fs::create_dir_all(&folder).unwrap();
        let copy = |name: &str| std::fs::copy(own.join(name), folder.join(name)).unwrap();
        copy("issuer.mjs");
        // Copied last: a folder with it is whole.
        let wanted = std::fs::read(own.join("package.json")).unwrap();
        let there = std::fs::read(folder.join("installed.json"));
        if there.is_ok_and(|there| there == wanted) {
            return Some(folder);
        }
        copy("package.json");
        let installed = Command::new("npm")
            .args(["install", "--ignore-scripts", "--no-audit", "--no-fund"])
            .arg("--loglevel=error")
            .current_dir(&folder)
            .stdout(Stdio::null())
            .status();
        if !installed.is_ok_and(|status| status.success()) {
            return None;
        }
        std::fs::write(folder.join("installed.json"), wanted).unwrap();
        Some(folder)
    });
    if folder.is_none() {
        support::skip("a test of OpenID Connect: npm does not install `oidc-provider`");
    }
    folder.as_deref()
}

impl Issuer {
    /// Starts an issuer with keys of its own; `None`, loudly, where there can be none.
    pub fn start() -> Option<Issuer> {
        Issuer::at(0, "openid")
    }

    /// The same, with the configuration of OAuth alone.
    pub fn of_oauth() -> Option<Issuer> {
        Issuer::at(0, "oauth")
    }

    fn at(port: u16, kind: &str) -> Option<Issuer> {
        let mut child = Command::new("node")
            .args(["issuer.mjs", &port.to_string(), kind])
            .current_dir(folder()?)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut name = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        lines.read_line(&mut name).unwrap();
        let name = name.trim_end().to_owned();
        assert!(name.starts_with("http://"), "the issuer does not start");
        Some(Issuer { child, name })
    }

    fn host(&self) -> &str {
        self.name.strip_prefix("http://").unwrap()
    }

    /// Ends it.
    pub fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Ends it and starts it at the same address, with other keys.
    pub fn restart(&mut self) {
        self.end();
        let (_, port) = self.name.rsplit_once(':').unwrap();
        *self = Issuer::at(port.parse().unwrap(), "openid").unwrap();
    }

    fn post(&self, path: &str, headers: &[&str], body: &str) -> String {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        let sent = request("POST", path, self.host(), headers, body.as_bytes());
        std::io::Write::write_all(&mut stream, &sent).unwrap();
        let answered = answer(&mut stream);
        assert_eq!(answered.status, 200, "{answered:?}");
        answered.text()
    }

    /// A token for `resource` that the client `NAME.ALGORITHM` gets by its credentials.
    pub fn token(&self, client: &str, resource: &str) -> String {
        let headers = ["Content-Type: application/x-www-form-urlencoded"];
        let body = form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "client_credentials")
            .append_pair("client_id", client)
            .append_pair("client_secret", "secret")
            .append_pair("resource", resource)
            .finish();
        let answered: Value = serde_json::from_str(&self.post("/token", &headers, &body)).unwrap();
        answered["access_token"].as_str().unwrap().to_owned()
    }

    /// A token with members of a header and claims that an issuer would not give, signed by `key`.
    pub fn forge(&self, header: Value, claims: Value, key: &str) -> String {
        let body = json!({"header": header, "claims": claims, "key": key});
        self.post(
            "/forge",
            &["Content-Type: application/json"],
            &body.to_string(),
        )
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.end();
    }
}

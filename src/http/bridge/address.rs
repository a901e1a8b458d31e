//! The address of a server: one that was given, or one in the note that the server left in its store.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ::http::Uri;

use crate::http::is_loopback;

/// Path of MCP below an address.
const MCP: &str = "/mcp";

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerAddress {
    Network {
        host: String,
        port: u16,
        /// Path of MCP, with the prefix of a proxy if the address has one.
        path: String,
        is_encrypted: bool,
    },
    Socket(PathBuf),
}

/// Error for a text that is no address of a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no address of a server: give http://HOST:PORT, https://HOST:PORT or unix:/PATH, without a name, password or question in it"
)]
pub struct BadPlace(String);

impl FromStr for ServerAddress {
    type Err = BadPlace;

    fn from_str(text: &str) -> Result<ServerAddress, BadPlace> {
        parse(text).ok_or_else(|| BadPlace(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<ServerAddress> {
    if let Some(path) = text.strip_prefix("unix:") {
        // With `//` before the path it is the same.
        let path = path.strip_prefix("//").unwrap_or(path);
        return (!path.is_empty()).then(|| ServerAddress::Socket(PathBuf::from(path)));
    }
    let uri: Uri = text.parse().ok()?;
    let is_encrypted = match uri.scheme_str()? {
        "http" => false,
        "https" => true,
        _ => return None,
    };
    let authority = uri.authority()?;
    if authority.as_str().contains('@') || uri.query().is_some() || authority.host().is_empty() {
        return None;
    }
    // A port that is no number would be taken for the scheme's.
    let port = match authority.as_str().rsplit_once(':') {
        Some((_, port)) if !port.ends_with(']') => port.parse().ok()?,
        _ if is_encrypted => 443,
        _ => 80,
    };
    let path = uri.path().trim_end_matches('/');
    let path = match path.ends_with(MCP) {
        true => path.to_owned(),
        false => format!("{path}{MCP}"),
    };
    Some(ServerAddress::Network {
        host: reachable(authority.host()),
        port,
        path,
        is_encrypted,
    })
}

/// Returns the host to connect to: the loopback address for a server that listens at every address.
fn reachable(host: &str) -> String {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse() {
        Ok(IpAddr::V4(it)) if it.is_unspecified() => "127.0.0.1".to_owned(),
        Ok(IpAddr::V6(it)) if it.is_unspecified() => "[::1]".to_owned(),
        _ => host.to_owned(),
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerAddress::Network {
                host,
                port,
                is_encrypted,
                ..
            } => {
                let scheme = if *is_encrypted { "https" } else { "http" };
                write!(f, "{scheme}://{host}:{port}")
            }
            ServerAddress::Socket(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl ServerAddress {
    /// Returns whether requests stay on this machine.
    pub fn is_local(&self) -> bool {
        match self {
            ServerAddress::Network { host, .. } => is_loopback(host),
            ServerAddress::Socket(_) => true,
        }
    }

    /// Returns whether requests cannot be read on the way: over TLS, or on this machine.
    pub fn is_secret(&self) -> bool {
        matches!(
            self,
            ServerAddress::Network {
                is_encrypted: true,
                ..
            }
        ) || self.is_local()
    }

    /// Returns the value of the header `Host`.
    pub fn host(&self) -> String {
        match self {
            ServerAddress::Network { host, port, .. } => format!("{host}:{port}"),
            ServerAddress::Socket(_) => "localhost".to_owned(),
        }
    }

    /// Returns the path of MCP.
    pub fn path(&self) -> &str {
        match self {
            ServerAddress::Network { path, .. } => path,
            ServerAddress::Socket(_) => MCP,
        }
    }

    /// Returns the order of trial: sockets first, which need no token, then plain HTTP, then TLS.
    fn effort(&self) -> u8 {
        match self {
            ServerAddress::Socket(_) => 0,
            ServerAddress::Network { is_encrypted, .. } => 1 + u8::from(*is_encrypted),
        }
    }
}

/// Location of the server: an address, or a note with addresses.
#[derive(Debug, Clone)]
pub enum Whereabouts {
    At(ServerAddress),
    /// A file with an address of the server in each line; see [`NOTE`](crate::http::NOTE).
    Noted(PathBuf),
}

impl Whereabouts {
    /// Returns the addresses to try now, the cheapest first.
    pub fn places(&self) -> Vec<ServerAddress> {
        match self {
            Whereabouts::At(place) => vec![place.clone()],
            Whereabouts::Noted(note) => noted(note),
        }
    }
}

fn noted(note: &Path) -> Vec<ServerAddress> {
    let names = crate::http::noted(note);
    let mut places: Vec<ServerAddress> = names.iter().filter_map(|name| parse(name)).collect();
    places.sort_by_key(ServerAddress::effort);
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_people_write_them() {
        check("http://127.0.0.1:9077", "http://127.0.0.1:9077", "/mcp");
        check("http://localhost:9077/", "http://localhost:9077", "/mcp");
        check("http://[::1]:9077/mcp", "http://[::1]:9077", "/mcp");
        check("http://0.0.0.0:9077", "http://127.0.0.1:9077", "/mcp");
        check("http://[::]:9077", "http://[::1]:9077", "/mcp");
        check("http://notes.lan", "http://notes.lan:80", "/mcp");
        check("https://notes.example", "https://notes.example:443", "/mcp");
        check(
            "https://notes.example/memories/",
            "https://notes.example:443",
            "/memories/mcp",
        );
        check("unix:/run/memdir.sock", "unix:/run/memdir.sock", "/mcp");
        check("unix:///run/memdir.sock", "unix:/run/memdir.sock", "/mcp");
        check("unix:memdir.sock", "unix:memdir.sock", "/mcp");
    }

    #[track_caller]
    fn check(text: &str, shown: &str, path: &str) {
        let place: ServerAddress = text.parse().unwrap();
        assert_eq!((place.to_string().as_str(), place.path()), (shown, path));
    }

    #[test]
    fn what_is_no_address_or_holds_a_secret() {
        for text in [
            "",
            "unix:",
            "127.0.0.1:9077",
            "ftp://127.0.0.1",
            "http://",
            "http://mira:secret@127.0.0.1:9077",
            "http://127.0.0.1:9077/?token=secret",
            "http://127.0.0.1:90770",
            "https://notes.lan:abc",
            "http://[::1]:",
            "/run/memdir.sock",
        ] {
            assert!(text.parse::<ServerAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_note_of_a_server_that_lives_is_read_the_simplest_way_first() {
        let folder = tempfile::tempdir().unwrap();
        let note = folder.path().join("serving");
        let found = Whereabouts::Noted(note.clone());
        std::fs::write(&note, "https://[::1]:1\nhttp://127.0.0.1:2\nx\nunix:/s\n").unwrap();
        assert_eq!(found.places(), []);
        let _lock = crate::files::Lock::try_take(&crate::http::lock_of(&note)).unwrap();
        let places = found.places();
        let shown: Vec<_> = places.iter().map(ServerAddress::to_string).collect();
        assert_eq!(shown, ["unix:/s", "http://127.0.0.1:2", "https://[::1]:1"]);
    }

    #[test]
    fn what_leaves_this_machine_is_known() {
        let is_secret = |text: &str| text.parse::<ServerAddress>().unwrap().is_secret();
        assert!(is_secret("unix:/s") && is_secret("http://localhost:1"));
        assert!(is_secret("https://notes.lan") && !is_secret("http://notes.lan"));
    }
}

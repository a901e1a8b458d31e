//! Checks the headers `Host` and `Origin` of requests.
//!
//! A page in a browser can reach a server on the same machine, by a name of its own that leads there
//! (DNS rebinding) or straight from another site. It cannot choose the headers `Host` and `Origin`.
//! A page of our own is one whose origin is the very name and port that the request calls, and that
//! name this machine's.

use std::net::{IpAddr, Ipv6Addr};

/// Permitted hosts and origins.
#[derive(Debug, Clone, Default)]
pub struct Names {
    hosts: Vec<String>,
    origins: Vec<String>,
    has_tls: bool,
}

impl Names {
    /// Permits this machine's own names and `hosts`; pages of `origins`, such as
    /// `https://notes.example`, and the server's own.
    pub fn new(hosts: &[String], origins: &[String], has_tls: bool) -> Names {
        let lower = |names: &[String]| names.iter().map(|name| name.to_ascii_lowercase()).collect();
        Names {
            hosts: lower(hosts),
            origins: lower(origins),
            has_tls,
        }
    }

    /// Returns whether `host`, with or without a port, is permitted as `Host`.
    pub fn is_host(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let Some(name) = without_port(&host) else {
            return false;
        };
        let is_ours = |allowed: &String| *allowed == host || allowed == name;
        is_loopback(name) || self.hosts.iter().any(is_ours)
    }

    /// Returns whether `origin` is permitted in a request whose `Host` is `host`.
    pub fn is_origin(&self, origin: &str, host: Option<&str>) -> bool {
        let origin = origin.to_ascii_lowercase();
        self.origins.contains(&origin) || host.is_some_and(|host| self.is_own(&origin, host))
    }

    /// Returns whether `origin`, in lower case, is this server's. Another program's page on this machine
    /// has another port, and a page with a name of its own that leads here has another host.
    fn is_own(&self, origin: &str, host: &str) -> bool {
        let scheme = if self.has_tls { "https://" } else { "http://" };
        let host = host.to_ascii_lowercase();
        origin.strip_prefix(scheme) == Some(host.as_str())
            && without_port(&host).is_some_and(is_loopback)
    }
}

/// Returns whether a name without a port is a loopback name or address; resolves nothing.
pub fn is_loopback(name: &str) -> bool {
    let bare = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    match bare {
        Some(bare) => bare.parse::<Ipv6Addr>().is_ok_and(|it| it.is_loopback()),
        None => name == "localhost" || name.parse::<IpAddr>().is_ok_and(|it| it.is_loopback()),
    }
}

/// Returns the name in `NAME` or `NAME:PORT`; `None` if it is neither.
fn without_port(host: &str) -> Option<&str> {
    let end = match host.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (name, port) = host.split_at(end);
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    let is_well = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    (is_well && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_s_names_and_those_that_were_added() {
        let names = Names::new(
            &["Notes.example".to_owned(), "proxy:8443".to_owned()],
            &[],
            false,
        );
        for host in [
            "localhost",
            "LOCALHOST:9077",
            "127.0.0.1:9077",
            "127.1.2.3",
            "[::1]",
            "[::1]:9077",
            "notes.example",
            "notes.example:443",
            "proxy:8443",
        ] {
            assert!(names.is_host(host), "{host}");
        }
        for host in [
            "",
            ":9077",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "notes.example.evil",
            "localhost:port",
            "localhost:99999",
            "proxy",
            "[::1",
            "[::2]:9077",
            "0.0.0.0:9077",
            "10.0.0.1",
            "evil@localhost",
        ] {
            assert!(!names.is_host(host), "{host}");
        }
    }

    #[test]
    fn pages_are_foreign_unless_they_were_named() {
        let names = Names::new(&[], &["https://notes.example".to_owned()], false);
        assert!(names.is_origin("https://Notes.example", None));
        for origin in [
            "null",
            "",
            "http://notes.example",
            "https://notes.example:444",
            "https://notes.example.evil",
            "http://localhost:9077",
        ] {
            for host in [None, Some("localhost"), Some("notes.example")] {
                assert!(!names.is_origin(origin, host), "{origin} {host:?}");
            }
        }
        assert!(!Names::default().is_origin("null", Some("null")));
    }

    #[test]
    fn a_page_is_our_own_if_it_is_of_the_very_name_that_is_called() {
        let names = Names::new(&["notes.example".to_owned()], &[], false);
        let is_own = |origin: &str, host: &str| names.is_origin(origin, Some(host));
        assert!(is_own("http://127.0.0.1:9077", "127.0.0.1:9077"));
        assert!(is_own("http://LOCALHOST:9077", "localhost:9077"));
        assert!(is_own("http://[::1]:9077", "[::1]:9077"));
        for (origin, host) in [
            ("https://127.0.0.1:9077", "127.0.0.1:9077"),
            ("http://127.0.0.1:3000", "127.0.0.1:9077"),
            ("http://127.0.0.1", "127.0.0.1:9077"),
            ("http://localhost:9077", "127.0.0.1:9077"),
            ("http://localhost:9077/", "localhost:9077"),
            ("localhost:9077", "localhost:9077"),
            // What else a proxy shows under its name is not ours.
            ("http://notes.example", "notes.example"),
            ("http://evil.example", "evil.example"),
            ("http://localhost:9077.evil", "localhost:9077.evil"),
        ] {
            assert!(!is_own(origin, host), "{origin} {host}");
        }
        let names = Names::new(&[], &[], true);
        assert!(names.is_origin("https://localhost:9077", Some("localhost:9077")));
        assert!(!names.is_origin("http://localhost:9077", Some("localhost:9077")));
    }
}

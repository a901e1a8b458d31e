//! Addresses, and which of them lead where.

use std::fmt;
use std::net::IpAddr;

use ureq::http::Uri;

use super::error::{FetchError, Why};

/// An address over http or https, without user name and password.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    uri: Uri,
}

impl Url {
    /// Reads an address that the user gave, so that plain http is his wish.
    ///
    /// # Errors
    ///
    /// Fails if it is no address of a web server, or holds a password.
    pub fn parse(text: &str) -> Result<Url, FetchError> {
        let bad = |what: &str| FetchError::BadAddress {
            // Nobody knows what stands behind an `@`.
            address: match text.contains('@') {
                true => "what was given".to_owned(),
                false => text.split(['?', '#']).next().unwrap_or(text).to_owned(),
            },
            source: Why(what.to_owned()),
        };
        let uri: Uri = text.trim().parse().map_err(|_| bad("it is no URL"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(bad("it begins with neither https:// nor http://"));
        }
        let authority = uri.authority().ok_or_else(|| bad("it names no host"))?;
        if authority.host().is_empty() {
            return Err(bad("it names no host"));
        }
        if authority.as_str().contains('@') {
            return Err(bad("it may not hold a user name or a password"));
        }
        Ok(Url { uri })
    }

    /// Returns the same with `rest` at the end of its path.
    ///
    /// # Errors
    ///
    /// Fails if that is no address.
    pub fn join(&self, rest: &str) -> Result<Url, FetchError> {
        let base = self.to_string();
        Url::parse(&format!("{}/{rest}", base.trim_end_matches('/')))
    }

    /// Returns the host's name, in small letters.
    pub fn host(&self) -> String {
        self.uri.host().unwrap_or_default().to_ascii_lowercase()
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> String {
        let port = self.uri.port_u16();
        let is_default = matches!(
            (self.is_encrypted(), port),
            (_, None) | (true, Some(443)) | (false, Some(80))
        );
        let port = port.filter(|_| !is_default);
        let port = port.map_or_else(String::new, |port| format!(":{port}"));
        let scheme = if self.is_encrypted() { "https" } else { "http" };
        format!("{scheme}://{}{port}", self.host())
    }

    /// Returns the path alone.
    pub fn path(&self) -> &str {
        self.uri.path()
    }

    /// Returns whether others on the way can read what is said.
    pub fn is_encrypted(&self) -> bool {
        self.uri.scheme_str() == Some("https")
    }

    /// Returns whether it names this machine.
    pub fn is_loopback(&self) -> bool {
        let host = self.host();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost"
            || bare
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    }

    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Returns the address to which a server that was asked at this address sends on.
    ///
    /// # Errors
    ///
    /// Fails if that is no address, or speaks without encryption to a host that the user did not
    /// ask for so.
    pub(super) fn follow(&self, location: &str) -> Result<Url, FetchError> {
        let text = if location.contains("://") {
            location.to_owned()
        } else if location.starts_with("//") {
            format!("{}:{location}", self.uri.scheme_str().unwrap_or("https"))
        } else if location.starts_with('/') {
            format!("{}{location}", self.origin())
        } else {
            let folder = self
                .path()
                .rsplit_once('/')
                .map_or("", |(folder, _)| folder);
            format!("{}{folder}/{location}", self.origin())
        };
        let distrusted =
            |what: &str| FetchError::distrusted(self, format!("it sends on to {what}"));
        let text = text.split('#').next().unwrap_or_default();
        let next = Url::parse(text).map_err(|_| distrusted("what is no address"))?;
        let may_be_plain = next.is_loopback() || next.host() == self.host();
        if !next.is_encrypted() && (self.is_encrypted() || !may_be_plain) {
            return Err(distrusted(&format!("{} without encryption", next.host())));
        }
        Ok(next)
    }
}

/// Without the query, which may hold a signature.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.path())
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_secrets() {
        let shown = |text: &str| match Url::parse(text) {
            Ok(address) => address.to_string(),
            Err(error) => error.in_one_line(),
        };
        assert_eq!(
            shown("https://Hub.example:443/a?X-Sig=1"),
            "https://hub.example/a"
        );
        assert_eq!(shown("http://[::1]:8080"), "http://[::1]:8080/");
        for bad in [
            "https://me:secret@hub.example/",
            "ftp://hub.example/?secret",
            "hub.example?secret",
            "https:///secret",
        ] {
            let said = shown(bad);
            assert!(said.contains("is no address to fetch from: it"), "{said}");
        }
        assert!(!shown("https://me:secret@hub.example/").contains("secret"));
    }

    #[test]
    fn this_machine_is_known_by_its_names() {
        let is_loopback = |text: &str| Url::parse(text).unwrap().is_loopback();
        for here in ["http://localhost:1/", "http://127.8.0.1/", "http://[::1]/"] {
            assert!(is_loopback(here), "{here}");
        }
        for there in [
            "http://localhost.example/",
            "http://10.0.0.1/",
            "http://128.0.0.1/",
        ] {
            assert!(!is_loopback(there), "{there}");
        }
    }

    #[test]
    fn a_redirect_is_followed_where_it_is_safe() {
        let follow = |from: &str, to: &str| {
            let followed = Url::parse(from).unwrap().follow(to);
            followed.map_or_else(|error| error.in_one_line(), |to| to.to_string())
        };
        let hub = "https://hub.example/a/b?c";
        assert_eq!(follow(hub, "/d?e#f"), "https://hub.example/d");
        assert_eq!(follow(hub, "d"), "https://hub.example/a/d");
        assert_eq!(follow(hub, "//cdn.example/d"), "https://cdn.example/d");
        assert_eq!(
            follow(hub, "https://cdn.example/d"),
            "https://cdn.example/d"
        );
        let lan = "http://lan.example:8080/a";
        assert_eq!(
            follow(lan, "http://lan.example/d"),
            "http://lan.example/d",
            "the user asked that host without encryption"
        );
        for (from, to) in [
            (hub, "http://hub.example/"),
            (hub, "http://127.0.0.1/"),
            (lan, "http://other.example/"),
            (hub, "file:///etc/passwd"),
        ] {
            let said = follow(from, to);
            assert!(said.contains("it sends on to"), "{from} {to}: {said}");
        }
    }
}

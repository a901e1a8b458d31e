//! Finds the proxy to a host, by the variables that every program reads.

use std::collections::HashMap;

use super::address::Url;

/// The proxies that the environment names.
#[derive(Default)]
pub(super) struct Proxies {
    https: Option<String>,
    http: Option<String>,
    direct: Vec<String>,
}

impl Proxies {
    pub fn new(variables: &HashMap<String, String>) -> Proxies {
        let first = |names: &[&str]| {
            let values = names.iter().filter_map(|name| variables.get(*name));
            values
                .map(|value| value.trim().to_owned())
                .find(|value| !value.is_empty())
        };
        let list = first(&["no_proxy", "NO_PROXY"]).unwrap_or_default();
        let is_gap = |c: char| c == ',' || c.is_whitespace();
        Proxies {
            https: first(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
            http: first(&["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]),
            direct: list
                .split(is_gap)
                .filter(|entry| !entry.is_empty())
                .map(str::to_ascii_lowercase)
                .collect(),
        }
    }

    /// Returns the proxy on the way to `address`.
    pub fn to(&self, address: &Url) -> Option<&str> {
        let proxy = if address.is_encrypted() {
            &self.https
        } else {
            &self.http
        };
        let is_direct = address.is_loopback() || self.is_direct(&address.host());
        proxy.as_deref().filter(|_| !is_direct)
    }

    fn is_direct(&self, host: &str) -> bool {
        self.direct.iter().any(|entry| {
            let domain = entry.trim_start_matches(['*', '.']);
            let ends = || host.ends_with(&format!(".{domain}"));
            entry == "*" || host == domain || (!domain.is_empty() && ends())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_name_a_proxy() {
        check("https://hub.example/", Some("http://p:1"));
        check("http://hub.example/", Some("socks5://q:2"));
        check("https://near.example/", None);
        check("https://deep.near.example/", None);
        check("https://notnear.example/", Some("http://p:1"));
        check("http://127.0.0.1:9/", None);
    }

    #[track_caller]
    fn check(address: &str, expected: Option<&str>) {
        let variables = [
            ("HTTPS_PROXY", "http://p:1"),
            ("ALL_PROXY", "socks5://q:2"),
            ("NO_PROXY", "10.0.0.1, .near.example"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let proxies = Proxies::new(&variables.into_iter().collect());
        assert_eq!(proxies.to(&Url::parse(address).unwrap()), expected);
    }
}

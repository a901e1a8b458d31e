//! The policy for credentials in texts that are about to be written.

use std::fmt;
use std::str::FromStr;

/// The treatment of a credential in a text that is to be written, the least strict first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Policy {
    /// Nothing: it does not look.
    Off,
    /// Writes it as given, and says so.
    #[default]
    Warn,
    /// Writes a mark in its place, and says so.
    Redact,
    /// Writes nothing.
    Refuse,
}

impl Policy {
    const ALL: [(Policy, &'static str); 4] = [
        (Policy::Off, "off"),
        (Policy::Warn, "warn"),
        (Policy::Redact, "redact"),
        (Policy::Refuse, "refuse"),
    ];
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Policy::ALL.iter().find(|(policy, _)| policy == self);
        f.write_str(named.map_or("", |(_, name)| name))
    }
}

impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Policy, String> {
        let name = match text.trim().to_lowercase().as_str() {
            "false" | "no" => "off".to_owned(), // What TOML calls so.
            other => other.to_owned(),
        };
        let named = Policy::ALL.iter().find(|(_, known)| *known == name);
        named
            .map(|(policy, _)| *policy)
            .ok_or_else(|| format!("is `{text}`, which is none of off, warn, redact, refuse"))
    }
}

//! Rules that keep memories on the user's machines.

use super::{Memory, Problem, Scope, normalized_namespace};

/// Rules by which memories are private: they never leave for a team's server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PrivateRules {
    rules: Vec<PrivateRule>,
    /// Texts that are no rules. Nobody knows what they are to keep, so every memory is private.
    unknown: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PrivateRule {
    /// A namespace with those below it, in small letters.
    Namespace(String),
    Scope(Scope),
    /// A topic, in small letters.
    Topic(String),
}

impl PrivateRules {
    /// Reads rules, separated by commas: `scope:WORD`, `topic:NAME`, and `namespace:NAME` or a name alone.
    pub fn read(text: &str) -> PrivateRules {
        let mut all = PrivateRules::default();
        let entries = text.split(',').map(str::trim);
        for entry in entries.filter(|entry| !entry.is_empty()) {
            let (kind, name) = entry.split_once(':').unwrap_or(("namespace", entry));
            let rule = match kind.trim() {
                "scope" => name.parse().ok().map(PrivateRule::Scope),
                "topic" => Some(PrivateRule::Topic(name.trim().to_lowercase())),
                "namespace" => Some(PrivateRule::Namespace(comparable(name))),
                _ => None,
            };
            match rule {
                Some(rule) => all.rules.push(rule),
                None => all.unknown.push(entry.to_owned()),
            }
        }
        all
    }

    /// Checks that all rules are known.
    ///
    /// # Errors
    ///
    /// Fails with a sentence about one that is not.
    pub fn check(&self) -> Result<(), String> {
        let Some(unknown) = self.unknown.first() else {
            return Ok(());
        };
        let scopes = Scope::WORDS.join(", scope:");
        Err(format!(
            "`{unknown}` is no rule of what is private: it is NAME, namespace:NAME, topic:NAME, scope:{scopes}"
        ))
    }

    /// Returns whether `memory` is private. Where there are rules, a memory whose frontmatter cannot be read whole is;
    /// where one of them is unknown, every memory is.
    pub fn matches(&self, memory: &Memory) -> bool {
        let namespace = comparable(memory.namespace_or_global());
        let is_unread = |problem: &Problem| {
            matches!(
                problem,
                Problem::FrontmatterNotClosed
                    | Problem::FrontmatterTooLarge { .. }
                    | Problem::NotUtf8
                    | Problem::HasNul
                    | Problem::Key { .. }
                    | Problem::DuplicateKey(_)
                    | Problem::RefusedYaml(_)
            )
        };
        let matches = |rule: &PrivateRule| match rule {
            PrivateRule::Namespace(name) => {
                let below = namespace.strip_prefix(name.as_str());
                below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
            }
            PrivateRule::Scope(scope) => memory.scope_or_usual() == *scope,
            PrivateRule::Topic(name) => memory.topics.iter().any(|one| one.to_lowercase() == *name),
        };
        let is_unread = || memory.problems.iter().any(is_unread);
        !self.unknown.is_empty()
            || !self.rules.is_empty() && (is_unread() || self.rules.iter().any(matches))
    }
}

fn comparable(namespace: &str) -> String {
    normalized_namespace(namespace).to_lowercase()
}

//! Rules that keep memories on the user's machines.

use super::{GLOBAL, Memory, Problem, normalized_namespace};

/// Rules by which memories are private: they never leave for a team's server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PrivateRules(Vec<PrivateRule>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum PrivateRule {
    /// A namespace with those below it, in small letters.
    Namespace(String),
    /// A scope, by its word.
    Scope(String),
    /// A topic, in small letters.
    Topic(String),
}

impl PrivateRules {
    /// Reads rules, separated by commas: `scope:WORD`, `topic:NAME`, and `namespace:NAME` or a name alone.
    pub fn read(text: &str) -> PrivateRules {
        let entries = text.split(',').map(str::trim);
        let rules = entries.filter(|entry| !entry.is_empty()).map(|entry| {
            let (kind, name) = entry.split_once(':').unwrap_or(("namespace", entry));
            match kind.trim() {
                "scope" => PrivateRule::Scope(name.trim().to_lowercase()),
                "topic" => PrivateRule::Topic(name.trim().to_lowercase()),
                "namespace" => PrivateRule::Namespace(comparable(name)),
                _ => PrivateRule::Namespace(comparable(entry)),
            }
        });
        PrivateRules(rules.collect())
    }

    /// Returns whether `memory` is private. `usual` is the namespace of memories that state none. Where there are
    /// rules, a memory whose frontmatter cannot be read whole is private.
    pub fn matches(&self, memory: &Memory, usual: Option<&str>) -> bool {
        let namespace = memory.namespace.as_deref().or(usual).unwrap_or(GLOBAL);
        let namespace = comparable(namespace);
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
            PrivateRule::Scope(word) => memory.scope_or_usual().as_str() == word,
            PrivateRule::Topic(name) => memory.topics.iter().any(|one| one.to_lowercase() == *name),
        };
        !self.0.is_empty() && (memory.problems.iter().any(is_unread) || self.0.iter().any(matches))
    }
}

fn comparable(namespace: &str) -> String {
    normalized_namespace(namespace).to_lowercase()
}

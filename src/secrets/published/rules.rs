//! The published rules of gitleaks, read from `gitleaks.txt`, which holds their origin and licence.

use std::sync::{LazyLock, OnceLock};

use regex::bytes::Regex;

use crate::literals::{blank_separated, lines};

/// One published rule: where it runs, and what it takes for a secret.
#[derive(Default)]
pub(in crate::secrets) struct Rule {
    id: &'static str,
    /// Written when something is found for the first time.
    kind: OnceLock<String>,
    /// The rule runs where one of these stands, in letters of either case.
    pub marks: Vec<&'static str>,
    /// The secret's entropy is higher, in bits a byte; 0: any will do.
    pub(super) entropy: f32,
    /// The group of the expression that is the secret; 0: the first that is not empty, or the match.
    pub(super) group: usize,
    /// A secret that one of these matches is none.
    pub(super) allowed: Vec<&'static str>,
    pub(super) shape: &'static str,
    /// Compiled when it is first needed: most texts need none.
    pub(super) compiled: OnceLock<Regex>,
}

impl Rule {
    /// Returns the name of what it finds, with the rule's id: `a credential (adafruit-api-key)`.
    pub fn kind(&'static self) -> &'static str {
        self.kind
            .get_or_init(|| format!("a credential ({})", self.id))
    }
}

/// All rules, in the order of the file.
pub(in crate::secrets) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let mut rules: Vec<Rule> = Vec::new();
    for line in lines(include_str!("gitleaks.txt")) {
        if let Some(id) = line.strip_prefix('[') {
            rules.push(Rule {
                id: id.trim_end_matches(']'),
                ..Rule::default()
            });
        }
        let blank = memchr::memchr(b' ', line.as_bytes());
        let (Some(rule), Some(blank)) = (rules.last_mut(), blank) else {
            continue;
        };
        let (field, value) = (&line[..blank], &line[blank + 1..]);
        match field {
            "keywords" => rule.marks = blank_separated(value).collect(),
            "entropy" => rule.entropy = value.parse().expect("an entropy is a number"),
            "group" => rule.group = value.parse().expect("a group is a number"),
            "allow" => rule.allowed.push(value),
            "find" => rule.shape = value,
            _ => unreachable!("a rule has no field `{field}`"),
        }
    }
    rules
});

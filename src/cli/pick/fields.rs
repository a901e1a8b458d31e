//! The conditions of a list: words, fields, spans of time.

/// A field by whose values the list can be filtered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Key that is pressed after Ctrl-F.
    pub key: char,
    /// Name of the facet and of the frontmatter key.
    pub name: &'static str,
    /// Name for people.
    pub label: &'static str,
}

/// The fields, in the order in which they are offered.
pub const FIELDS: [Field; 6] = [
    Field {
        key: 'n',
        name: "namespace",
        label: "namespace",
    },
    Field {
        key: 't',
        name: "topics",
        label: "topic",
    },
    Field {
        key: 'k',
        name: "kind",
        label: "kind",
    },
    Field {
        key: 'g',
        name: "agent",
        label: "agent",
    },
    Field {
        key: 'u',
        name: "user",
        label: "user",
    },
    Field {
        key: 'i',
        name: "tier",
        label: "tier",
    },
];

/// Spans of time by which the list can be filtered: name, and days.
pub const SPANS: [(&str, i64); 4] = [("day", 1), ("week", 7), ("month", 30), ("year", 365)];

/// Conditions chosen by keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Fields with their values; all must hold.
    pub equals: Vec<(Field, String)>,
    /// Place in [`SPANS`]: only memories of the last day, week, month or year.
    pub span: Option<usize>,
    /// Expired and superseded memories and talks, too.
    pub everything: bool,
}

/// The text of the search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    pub words: String,
    pub chosen: Chosen,
}

//! Result of a check.

use serde_json::{Value, json};

use crate::cli::terminal::fail::Failure;

/// Result of one check.
pub struct Check {
    /// Name of the part: `store`, `server`, …
    pub name: &'static str,
    pub finding: Finding,
}

/// State of a part.
pub enum Finding {
    /// It is well; the text says how it is.
    Well(String),
    /// It was wrong, and is well now; the text says what was done.
    Fixed(String),
    /// It is wrong.
    Wrong {
        what: String,
        /// Remedy.
        hint: String,
    },
}

impl Check {
    pub fn well(name: &'static str, what: impl Into<String>) -> Check {
        let finding = Finding::Well(what.into());
        Check { name, finding }
    }

    pub fn fixed(name: &'static str, what: impl Into<String>) -> Check {
        let finding = Finding::Fixed(what.into());
        Check { name, finding }
    }

    pub fn wrong(name: &'static str, what: impl Into<String>, hint: impl Into<String>) -> Check {
        let (what, hint) = (what.into(), hint.into());
        Check {
            name,
            finding: Finding::Wrong { what, hint },
        }
    }

    /// Returns the check that found an error.
    pub fn of_failure(name: &'static str, failure: &Failure) -> Check {
        let causes = failure.causes.iter().map(String::as_str);
        let what: Vec<&str> = [failure.what.as_str()].into_iter().chain(causes).collect();
        let hint = failure.hint.clone().unwrap_or_default();
        Check::wrong(name, what.join(": "), hint)
    }

    pub fn is_well(&self) -> bool {
        !matches!(self.finding, Finding::Wrong { .. })
    }

    pub fn as_json(&self) -> Value {
        let (what, hint, is_fixed) = match &self.finding {
            Finding::Well(what) => (what, None, false),
            Finding::Fixed(what) => (what, None, true),
            Finding::Wrong { what, hint } => (what, Some(hint), false),
        };
        json!({
            "name": self.name,
            "well": self.is_well(),
            "fixed": is_fixed,
            "what": what,
            "hint": hint,
        })
    }
}

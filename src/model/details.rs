//! The usual metadata of each kind of memory, by key. Any other key holds anything.

use chrono::NaiveDate;

use super::{Kind, MetaValue};

/// Condition on the value of a key.
struct Rule {
    kind: Kind,
    key: &'static str,
    wanted: &'static str,
    fits: fn(&MetaValue) -> bool,
}

const fn rule(
    kind: Kind,
    key: &'static str,
    wanted: &'static str,
    fits: fn(&MetaValue) -> bool,
) -> Rule {
    Rule {
        kind,
        key,
        wanted,
        fits,
    }
}

const RULES: [Rule; 12] = [
    rule(
        Kind::Episodic,
        "event_date",
        "a date such as 2026-02-21",
        is_date,
    ),
    rule(Kind::Episodic, "session_id", "a text", is_text),
    rule(Kind::Episodic, "summary", "true or false", is_bool),
    rule(Kind::Semantic, "category", "a text", is_text),
    rule(Kind::Semantic, "subject", "a text", is_text),
    rule(Kind::Procedural, "trigger", "a text", is_text),
    rule(Kind::Procedural, "steps", "a list of texts", are_texts),
    rule(Kind::Procedural, "version", "a whole number", is_int),
    rule(Kind::Entity, "entity_type", "a text", is_text),
    rule(Kind::Entity, "name", "a text", is_text),
    rule(Kind::Entity, "aliases", "a list of texts", are_texts),
    rule(Kind::Entity, "properties", "a map", is_map),
];

/// Returns the first key of the metadata whose value does not suit a memory of this kind, and the
/// value it should have.
pub fn misfit(
    kind: Kind,
    metadata: &[(String, MetaValue)],
) -> Option<(&'static str, &'static str)> {
    let rules = RULES.iter().filter(|rule| rule.kind == kind);
    rules
        .filter(|rule| {
            let mut values = metadata.iter().filter(|(key, _)| key == rule.key);
            values.any(|(_, value)| !(rule.fits)(value))
        })
        .map(|rule| (rule.key, rule.wanted))
        .next()
}

fn is_text(value: &MetaValue) -> bool {
    matches!(value, MetaValue::Text(_))
}

fn is_date(value: &MetaValue) -> bool {
    match value {
        // A moment is on a date.
        MetaValue::Text(text) => {
            let day = text.get(..10).unwrap_or_default();
            day.parse::<NaiveDate>().is_ok()
        }
        _ => false,
    }
}

fn is_bool(value: &MetaValue) -> bool {
    matches!(value, MetaValue::Bool(_))
}

fn is_int(value: &MetaValue) -> bool {
    matches!(value, MetaValue::Int(_))
}

fn are_texts(value: &MetaValue) -> bool {
    matches!(value, MetaValue::List(values) if values.iter().all(is_text))
}

fn is_map(value: &MetaValue) -> bool {
    matches!(value, MetaValue::Map(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> MetaValue {
        MetaValue::Text(text.to_owned())
    }

    #[track_caller]
    fn check(kind: Kind, key: &str, value: MetaValue, wanted: Option<&str>) {
        let found = misfit(kind, &[(key.to_owned(), value)]);
        assert_eq!(found.map(|(key, _)| key), wanted);
    }

    #[test]
    fn the_usual_keys_of_a_kind_hold_what_they_say() {
        let texts = || MetaValue::List(vec![text("a"), text("b")]);
        check(Kind::Episodic, "event_date", text("2026-02-21"), None);
        check(
            Kind::Episodic,
            "event_date",
            text("2026-02-21T10:00:00Z"),
            None,
        );
        check(
            Kind::Episodic,
            "event_date",
            text("2026-02-31"),
            Some("event_date"),
        );
        check(
            Kind::Episodic,
            "event_date",
            MetaValue::Int(2026),
            Some("event_date"),
        );
        check(Kind::Episodic, "summary", text("yes"), Some("summary"));
        check(Kind::Semantic, "subject", texts(), Some("subject"));
        check(Kind::Procedural, "steps", texts(), None);
        check(Kind::Procedural, "steps", text("a"), Some("steps"));
        check(Kind::Procedural, "version", MetaValue::Int(2), None);
        check(
            Kind::Procedural,
            "version",
            MetaValue::Float(2.5),
            Some("version"),
        );
        check(
            Kind::Entity,
            "aliases",
            MetaValue::List(vec![MetaValue::Int(1)]),
            Some("aliases"),
        );
        check(Kind::Entity, "properties", MetaValue::Map(Vec::new()), None);
        // Each kind has its own, and anything else is free.
        check(Kind::Semantic, "steps", text("a"), None);
        check(Kind::Entity, "weight", MetaValue::Null, None);
    }
}

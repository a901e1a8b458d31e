//! Filters of a list: from the parameters of an address to conditions, and back to chips.

use std::str::FromStr;

use maud::{Markup, html};

use super::error::PageError;
use super::parameters::Parameters;
use super::visit::Visit;
use super::{entry, texts};
use crate::engine::ops;
use crate::model::{Filter, Kind, Talks, Tier};

/// Parameters that narrow a list, each with the field of the index that holds its values.
pub(in crate::page) const KEYS: [(&str, &str); 7] = [
    ("namespace", "namespace"),
    ("topic", "topics"),
    ("kind", "kind"),
    ("agent", "agent"),
    ("user", "user"),
    ("tier", "tier"),
    ("source", "source"),
];

/// Number of values of a field that are offered.
const MOST_OFFERED: usize = 14;

/// Returns the conditions of an address.
pub(in crate::page) fn filter(parameters: &Parameters) -> Result<Filter, PageError> {
    let texts = |key: &str| -> Vec<String> { parameters.all(key).map(str::to_owned).collect() };
    let mut equals: Vec<(String, String)> = Vec::new();
    for source in parameters.all("source") {
        equals.push(("source".to_owned(), source.to_owned()));
    }
    let has_talks = parameters.get("talks").is_some();
    Ok(Filter {
        namespaces: texts("namespace"),
        topics: texts("topic"),
        agents: texts("agent"),
        users: texts("user"),
        kinds: words::<Kind>(parameters, "kind")?,
        tiers: words::<Tier>(parameters, "tier")?,
        equals,
        talks: if has_talks {
            Talks::Everywhere
        } else {
            Talks::Answers
        },
        ..Filter::default()
    })
}

fn words<T: FromStr<Err: std::fmt::Display>>(
    parameters: &Parameters,
    key: &str,
) -> Result<Vec<T>, PageError> {
    let words = parameters.all(key).map(str::parse);
    let words: Result<Vec<T>, _> = words.collect();
    words.map_err(|error: T::Err| PageError::Bad(error.to_string()))
}

/// Returns the filters of an address as chips that remove them, and the values that narrow it further.
pub(in crate::page) fn chips(visit: &Visit<'_>, path: &str) -> Result<Markup, PageError> {
    let names = KEYS.map(|(name, _)| name);
    let kept = visit
        .parameters
        .only(&[&names[..], &["q", "by", "talks"]].concat());
    let mut offered = Vec::new();
    for (name, field) in KEYS {
        let chosen = kept.all(name).count();
        let mut values = ops::frequent(visit.engine, field, MOST_OFFERED + chosen)?;
        values.retain(|(value, _)| !kept.all(name).any(|known| known == value));
        values.truncate(MOST_OFFERED);
        if !values.is_empty() {
            offered.push((name, values));
        }
    }
    let chosen: Vec<&(String, String)> = kept
        .pairs()
        .iter()
        .filter(|(name, _)| names.contains(&name.as_str()))
        .collect();
    Ok(html! {
        @if !chosen.is_empty() {
            p.chosen {
                @for (name, value) in chosen {
                    a.chip.(name) href=(kept.without(name, value.trim()).address(path))
                        aria-label={ (texts::REMOVE_FILTER) ": " (name) " " (entry::cut(value, 40)) } {
                        (name) ": " bdi { (entry::cut(value, 40)) } " ×"
                    }
                }
            }
        }
        @if !offered.is_empty() {
            details.filter {
                summary { (texts::FILTER) }
                @for (name, values) in offered {
                    p {
                        span.key { (name) } " "
                        @for (value, count) in values {
                            a.chip.(name) href=(kept.and(name, &value).address(path)) {
                                bdi { (entry::cut(&value, 40)) } " " span.count { (count) }
                            } " "
                        }
                    }
                }
            }
        }
    })
}

//! Compares an answer with the one that a page shows.
//!
//! Times, versions and sizes may be others. So may ids and commits, but the same ones throughout:
//! what stands for `42b49cc5` once does so in all later commands and answers of that home. A `…`
//! stands for whatever is there. In JSON, line breaks of the page count for nothing.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// What stands for the ids that the page shows.
#[derive(Default)]
pub struct Names {
    actual: BTreeMap<String, String>,
}

/// What of a page is another each time.
static VARIES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?<stem>\d{8}_\d{6}_[0-9a-f]{8})",
        r"|(?<moment>\d{8}T\d{6}Z)",
        r"|(?<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?)",
        r#"|(?<number>"(bytes|index_bytes|committed_at|tried_at|in_step_at|relevance_score)":[0-9.]+)"#,
        r"|\b(?<id>[0-9a-f]{40}|[0-9a-f]{10}|[0-9a-f]{8})\b",
        r"|(?<git>git \d+\.\d+(\.\d+)?)",
        r"|(?<rest>[\s,]*…[\s,]*)",
    ))
    .unwrap()
});

static IDS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\d{8}_\d{6}_([0-9a-f]{8})|\d{8}T\d{6}Z|\b[0-9a-f]{10}\b|\b[0-9a-f]{8}\b").unwrap()
});

impl Names {
    /// Notes that `actual` stands for `shown`; false if something else does already.
    pub fn bind(&mut self, shown: &str, actual: &str) -> bool {
        let known = self.actual.entry(shown.to_owned());
        known.or_insert_with(|| actual.to_owned()) == actual
    }

    /// `command` with what stands for the ids in it. A file whose time is not known yet is named
    /// by a pattern.
    pub fn put_into(&self, command: &str) -> String {
        let put = |found: &Captures| {
            let shown = &found[0];
            let id = found.get(1).and_then(|id| self.actual.get(id.as_str()));
            match (self.actual.get(shown), id) {
                (Some(actual), _) => actual.clone(),
                (None, Some(id)) => format!("????????_??????_{id}"),
                (None, None) => shown.to_owned(),
            }
        };
        IDS.replace_all(command, put).into_owned()
    }

    /// Why `actual` is not the answer that the page shows; `None` if it is.
    pub fn differs(&mut self, shown: &str, actual: &str) -> Option<String> {
        let (shown, actual) = (in_one(shown), in_one(actual));
        let (pattern, names) = pattern(&shown);
        let differs = || Some(format!("shown:\n{shown}\nbut it is:\n{actual}"));
        let Some(found) = Regex::new(&pattern).unwrap().captures(&actual) else {
            return differs();
        };
        for (number, name) in names.iter().enumerate() {
            let stands = &found[number + 1];
            // A commit is named whole, or by its beginning.
            let begins = (name.len() == 40).then(|| (&name[..10], &stands[..10]));
            let id = (name.len() == 24).then(|| (&name[16..], &stands[16..]));
            for (name, stands) in [Some((name.as_str(), stands)), begins, id]
                .into_iter()
                .flatten()
            {
                if !self.bind(name, stands) {
                    let other = &self.actual[name];
                    return Some(format!(
                        "`{name}` was {other}, and is {stands} now:\n{actual}"
                    ));
                }
            }
        }
        None
    }
}

/// The expression that the answer must match, and what its groups stand for.
fn pattern(shown: &str) -> (String, Vec<String>) {
    let mut pattern = "(?s)^".to_owned();
    let mut names = Vec::new();
    let mut end = 0;
    for found in VARIES.captures_iter(shown) {
        let whole = found.get(0).unwrap();
        pattern += &regex::escape(&shown[end..whole.start()]);
        end = whole.end();
        let text = whole.as_str();
        let is = |name| found.name(name).is_some();
        if is("stem") {
            pattern += r"(\d{8}_\d{6}_[0-9a-f]{8})";
            names.push(text.to_owned());
        } else if is("moment") {
            pattern += r"(\d{8}T\d{6}Z)";
            names.push(text.to_owned());
        } else if is("id") {
            write!(pattern, "([0-9a-f]{{{}}})", text.len()).unwrap();
            names.push(text.to_owned());
        } else if is("time") {
            pattern += r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)?";
        } else if is("number") {
            let key = text.split(':').next().unwrap();
            write!(pattern, r"{key}:[0-9.]+").unwrap();
        } else if is("git") {
            pattern += r"git \d+\.\d+(?:\.\d+)?";
        } else {
            pattern += ".*?";
        }
    }
    pattern += &regex::escape(&shown[end..]);
    pattern += "$";
    (pattern, names)
}

/// The text without the line breaks that mean nothing.
fn in_one(text: &str) -> String {
    let text = text.trim_end();
    if !text.starts_with(['{', '[']) {
        return text.to_owned();
    }
    text.lines().map(str::trim).collect()
}

#[test]
fn ids_stand_for_the_same_throughout() {
    let mut names = Names::default();
    let shown = "42b49cc5  A title  2026-11-21T15:15:59.336869+00:00";
    let actual = "0a1b2c3d  A title  2027-01-01T00:00:00.5+00:00\n";
    assert_eq!(names.differs(shown, actual), None);
    assert_eq!(
        names.put_into("memdir recall 42b49cc5 files/20261121_151559_42b49cc5.md"),
        "memdir recall 0a1b2c3d files/????????_??????_0a1b2c3d.md"
    );
    assert!(names.differs("42b49cc5", "ffffffff").is_some());
    assert_eq!(names.differs("42b49cc5", "0a1b2c3d"), None);
}

#[test]
fn what_a_page_shows_wrongly_is_found() {
    let differs = |shown, actual| Names::default().differs(shown, actual).is_some();
    let json = "{\"a\":1,\n \"bytes\":7,\"b\":[…]}";
    assert!(!differs(json, "{\"a\":1,\"bytes\":900,\"b\":[1,2]}\n"));
    assert!(differs(json, "{\"a\":1,\"bytes\":900,\"c\":[1,2]}"));
    assert!(differs(json, "{\"a\":2,\"bytes\":900,\"b\":[1,2]}"));
    assert!(differs("updated 42b49cc5", "updated 42b49cc5\nand more"));
    assert!(differs("updated 42b49cc5", ""));
    assert!(!differs("one\n…", "one\ntwo\nthree"));
}

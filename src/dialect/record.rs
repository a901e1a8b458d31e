//! Records of calls, for whoever keeps an audit of them.

use std::collections::HashSet;

use serde_json::Value;

use crate::dialect::Reply;

/// Result of a call, as an audit keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallOutcome {
    /// Whether it succeeded.
    pub is_done: bool,
    /// Ids of the memories in its reply, each once, in the order of the reply.
    pub ids: Vec<String>,
}

impl CallOutcome {
    /// Returns the outcome of a call with a text as its reply; only whole ids are seen in it.
    pub fn of(is_done: bool, text: &str) -> CallOutcome {
        let mut ids = Ids::default();
        ids.of_text(text);
        CallOutcome {
            is_done,
            ids: ids.all,
        }
    }

    /// Returns the outcome of a call with this reply: ids are as it shows them, whole or short.
    pub fn of_reply(reply: &Reply) -> CallOutcome {
        let mut ids = Ids::default();
        for (name, value) in &reply.structured {
            ids.of_value(name, value);
        }
        if ids.all.is_empty() {
            ids.of_text(&reply.text);
        }
        CallOutcome {
            is_done: !reply.is_error,
            ids: ids.all,
        }
    }
}

/// Makes the records of one request.
pub trait Recorder: Send + Sync {
    /// Returns the record of a call of `action`, such as the name of a tool.
    fn record(&self, action: &str) -> Box<dyn CallRecord>;
}

/// Record of one call.
pub trait CallRecord: Send {
    /// Runs `call` once, on this thread, and keeps its outcome, also if it panics. What it changes is recorded with its
    /// identity.
    fn run(&self, call: &mut dyn FnMut() -> CallOutcome);

    /// Keeps that the call was not admitted.
    fn refuse(&self);
}

/// Length of a memory's id: `20260114_091500_1f3a9c02`.
const ID: usize = 24;

/// Maximum length of an id or a file's name, in bytes.
const MAX_ID: usize = 255;

/// Ids that were found, each once.
#[derive(Default)]
struct Ids {
    all: Vec<String>,
    known: HashSet<String>,
}

impl Ids {
    /// Adds `id`, if it could be one of a memory or the name of a file: an audit keeps no other texts.
    fn add(&mut self, id: &str) {
        if id.len() > MAX_ID || id.chars().any(char::is_control) {
            return;
        }
        if self.known.insert(id.to_owned()) {
            self.all.push(id.to_owned());
        }
    }

    /// Adds the ids in the member `name` of an object: texts that are called so, and texts that are whole ids. Metadata
    /// may call anything an id.
    fn of_value(&mut self, name: &str, value: &Value) {
        match value {
            Value::String(text) if name == "id" || is_id(text.as_bytes()) => self.add(text),
            Value::Array(values) => values.iter().for_each(|value| self.of_value(name, value)),
            Value::Object(members) if name != "metadata" => {
                let members = members.iter();
                members.for_each(|(name, value)| self.of_value(name, value));
            }
            _ => {}
        }
    }

    fn of_text(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at + ID <= bytes.len() {
            let is_found = is_id(&bytes[at..at + ID]);
            if is_found {
                self.add(&text[at..at + ID]);
            }
            at += if is_found { ID } else { 1 };
        }
    }
}

fn is_id(part: &[u8]) -> bool {
    part.len() == ID
        && part[..8].iter().all(u8::is_ascii_digit)
        && part[8] == b'_'
        && part[9..15].iter().all(u8::is_ascii_digit)
        && part[15] == b'_'
        && part[16..].iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_are_found_in_any_text() {
        let text = "é files/20260114_091500_1f3a9c02.md {\"id\":\"20260114_091500_1f3a9c03\"} \
            20260114_091500_1f3a9c02 20260114_091500_1f3a9c0 x20260114-091500_1f3a9c02";
        let found = CallOutcome::of(true, text).ids;
        assert_eq!(
            found,
            ["20260114_091500_1f3a9c02", "20260114_091500_1f3a9c03"]
        );
        assert!(CallOutcome::of(true, "").ids.is_empty());
    }

    #[test]
    fn short_ids_are_found_where_a_reply_names_them() {
        let hits = json!({"hits": [{"id": "1f3a9c02", "title": "id"}, {"id": "1f3a9c03"}],
            "links": ["20260114_091500_1f3a9c04"], "total": 2});
        let found = CallOutcome::of_reply(&Reply::json(hits));
        assert_eq!(
            found.ids,
            ["1f3a9c02", "1f3a9c03", "20260114_091500_1f3a9c04"]
        );
        assert!(found.is_done);
        let odd = json!({"metadata": {"id": "a secret"}, "hits": [{"id": "a\u{0}b"}, {"id": "a\nb"},
            {"id": "x".repeat(256)}, {"id": "notes/A plan.md"}]});
        let found = CallOutcome::of_reply(&Reply::json(odd));
        assert_eq!(found.ids, ["notes/A plan.md"]);
        let text = Reply::text("stored 20260114_091500_1f3a9c04").failed();
        let found = CallOutcome::of_reply(&text);
        assert_eq!((found.is_done, found.ids.len()), (false, 1));
    }
}

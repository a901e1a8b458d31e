//! Every kind of reply, byte for byte: files of calls and what they are answered.
//!
//! A line `> NAME {arguments}` calls a tool, or the address of that name; `< ` begins each line of the
//! answer. `$1` is the first id that an answer held, `$2` the second. A minute passes with each call.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use memdir::clock::Clock;
use memdir::dialect;
use memdir::dialect::{Call, Caller, Dialect, JsonObject, Preferences};
use memdir::engine::Engine;
use serde_json::Value;

use crate::support::{TestStore, noon};

/// A clock that is set by hand.
struct SteppedClock(Arc<AtomicI64>);

impl Clock for SteppedClock {
    fn now(&self) -> DateTime<Utc> {
        noon() + TimeDelta::minutes(self.0.load(Ordering::Relaxed))
    }
}

/// A store that is asked, and the ids that it gave.
struct Script {
    engine: Engine,
    minutes: Arc<AtomicI64>,
    dialect: Arc<dyn Dialect>,
    ids: Vec<String>,
    _store: TestStore,
}

impl Script {
    fn of(dialect: &str) -> Script {
        let store = TestStore::new();
        let minutes = Arc::new(AtomicI64::new(0));
        let clock = SteppedClock(Arc::clone(&minutes));
        Script {
            engine: Engine::open(store.options(), Box::new(clock)).unwrap(),
            minutes,
            dialect: dialect::named(dialect).unwrap(),
            ids: Vec::new(),
            _store: store,
        }
    }

    fn ask(&mut self, name: &str, arguments: &str) -> String {
        self.minutes.fetch_add(1, Ordering::Relaxed);
        let mut arguments = arguments.to_owned();
        for (at, id) in self.ids.iter().enumerate().rev() {
            arguments = arguments.replace(&format!("${}", at + 1), id);
        }
        let arguments: JsonObject = serde_json::from_str(&arguments).unwrap();
        let caller = Caller {
            client: Some("probe".to_owned()),
            version: None,
        };
        let preferences = Preferences::default();
        let call = Call {
            engine: &self.engine,
            caller: &caller,
            preferences: &preferences,
            stores: &[],
        };
        let tool = self.dialect.tools().iter().find(|tool| tool.name == name);
        let text = match tool {
            Some(tool) => {
                let reply = tool.call(&call, arguments);
                if !reply.structured.is_empty() {
                    let structured = Value::Object(reply.structured).to_string();
                    assert_eq!(structured, reply.text, "{name}");
                }
                match reply.is_error {
                    true => format!("error {}", reply.text),
                    false => reply.text,
                }
            }
            None => {
                let endpoint = dialect::endpoints().find(|endpoint| endpoint.name == name);
                let endpoint = endpoint.unwrap_or_else(|| panic!("nothing is called {name}"));
                endpoint.call(&call, arguments).unwrap().text
            }
        };
        self.without_ids(text)
    }

    /// The text with the place of each id instead of it.
    fn without_ids(&mut self, text: String) -> String {
        let cursors = regex::Regex::new("[0-9a-f]{40,}").unwrap();
        let text = cursors.replace_all(&text, "…").into_owned();
        let ids = regex::Regex::new(r#"["/_-]([0-9a-f]{8})["._]"#).unwrap();
        for found in ids.captures_iter(&text) {
            let is_day = found[1] == noon().format("%Y%m%d").to_string();
            if !is_day && !self.ids.contains(&found[1].to_owned()) {
                self.ids.push(found[1].to_owned());
            }
        }
        let ids = self.ids.iter().enumerate();
        ids.fold(text, |text, (at, id)| {
            text.replace(id, &format!("${}", at + 1))
        })
    }
}

/// Asks all that the file of `name` asks, and compares the answers.
#[track_caller]
fn check(name: &str, dialect: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/dialects")
        .join(format!("{name}.replies.txt"));
    let kept = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    let mut script = Script::of(dialect);
    let mut said = String::new();
    for line in kept.lines().filter(|line| !line.starts_with('<')) {
        said.push_str(&format!("{line}\n"));
        if let Some(call) = line.strip_prefix("> ") {
            let (name, arguments) = call.split_once(' ').unwrap();
            for answer in script.ask(name, arguments).lines() {
                said.push_str(&format!("< {answer}\n"));
            }
        }
    }
    if std::env::var_os("MEMDIR_RENEW").is_some() {
        fs::write(&path, &said).unwrap();
    }
    assert!(
        kept == said,
        "the replies are not those of {}: if that is meant, run it with MEMDIR_RENEW=1 and look at \
         what changed",
        path.display()
    );
}

#[test]
fn the_replies_of_the_prefixed_set_keep_to_their_bytes() {
    check("ai-memory", "ai-memory");
}

#[test]
fn the_answers_of_the_rest_interface_keep_to_their_bytes() {
    check("rest", "ai-memory");
}

#[test]
fn the_replies_of_the_typed_set_keep_to_their_bytes() {
    check("loci", "loci");
}

#[test]
fn the_replies_of_the_category_set_keep_to_their_bytes() {
    check("i-am", "i-am");
}

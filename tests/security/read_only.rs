//! `--read-only`: a server that changes no memory, whatever tool is called.

use serde_json::json;

use super::{SETS, home_of_one, session, texts, tools};
use crate::support::session::Session;

/// These answer all the same, as they leave the store as it is: one tells what a session begins
/// with and counts it nowhere, the other one finds nothing that it could clear.
const HARMLESS: [&str; 2] = ["session_start", "memory_namespace_clear_standard"];

#[test]
fn a_server_that_may_only_read_refuses_every_tool_that_writes() {
    for set in SETS {
        let (home, id) = home_of_one();
        let before = texts(&home);
        let mut session = session(&home, set, &["--read-only"]);
        let writing = tools(&mut session).into_iter().filter(|t| !t.reads_only);
        let mut refused = 0;
        for tool in writing {
            session.call("write", &tool.name, tool.plain(&id));
            let answer = session.answer("write");
            let is_error = answer["result"]["isError"] == true;
            assert!(
                is_error || HARMLESS.contains(&tool.name.as_str()),
                "{set:?} {}: {answer}",
                tool.name
            );
            refused += usize::from(is_error);
        }
        assert!(refused > 0, "{set:?}");
        assert_eq!(texts(&home), before, "{set:?}");
        // Reading goes on, and counts nothing.
        for tool in tools(&mut session).iter().filter(|tool| tool.reads_only) {
            session.call("read", &tool.name, tool.plain(&id));
            session.answer("read");
        }
        drop(session);
        assert_eq!(texts(&home), before, "{set:?}");
    }
}

/// The proof that the test above can fail: what it calls does change a store that may be written.
#[test]
fn the_same_calls_change_a_store_that_may_be_written() {
    for set in SETS {
        let (home, id) = home_of_one();
        let before = texts(&home);
        let mut session = session(&home, set, &[]);
        for tool in tools(&mut session).iter().filter(|tool| !tool.reads_only) {
            session.call("write", &tool.name, tool.plain(&id));
            session.answer("write");
        }
        assert_ne!(texts(&home), before, "{set:?}");
    }
}

#[test]
fn what_destroys_says_so_and_what_reads_says_so() {
    for set in SETS {
        let (home, _) = home_of_one();
        for tool in tools(&mut session(&home, set, &[])) {
            assert!(!(tool.reads_only && tool.destroys), "{}", tool.name);
            let destroys = ["forget", "delete", "purge"];
            let is_named_so = destroys.iter().any(|word| tool.name.contains(word));
            assert_eq!(tool.destroys, is_named_so, "{set:?} {}", tool.name);
        }
    }
}

#[test]
fn what_reads_only_changes_no_memory() {
    for set in SETS {
        let (home, id) = home_of_one();
        let memories = |home| {
            let mut kept = texts(home);
            // Uses are counted, beside the memories.
            kept.retain(|path, _| !path.to_string_lossy().contains("journal"));
            kept
        };
        let before = memories(&home);
        let mut session: Session = session(&home, set, &[]);
        for tool in tools(&mut session).iter().filter(|tool| tool.reads_only) {
            session.request(
                "read",
                "tools/call",
                json!({"name": tool.name, "arguments": tool.plain(&id)}),
            );
            session.answer("read");
        }
        drop(session);
        assert_eq!(memories(&home), before, "{set:?}");
    }
}

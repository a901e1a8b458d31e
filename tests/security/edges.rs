//! Every argument of every tool, as its own schema names it, with what careless and malicious
//! clients send: an answer each time, never a panic, never anything beside the store.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{SETS, home_of_one, session, tools};
use crate::support::memory_text;
use crate::support::program::{Home, names};
use crate::support::session::Session;

/// What careless and malicious clients send.
pub fn hostile_values() -> Vec<Value> {
    let deep = (0..100).fold(json!(1), |value, _| json!([value]));
    vec![
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(9_223_372_036_854_775_807_i64),
        json!(9_223_372_036_854_775_808_u64),
        json!(u64::MAX),
        json!(1e300),
        json!(-1e300),
        json!("NaN"),
        json!("Infinity"),
        json!("-0"),
        json!("9999-12-31T23:59:59Z"),
        json!("9999-12-31T23:59:59-23:59"),
        json!("0000-01-01T00:00:00+23:59"),
        json!("-9999-01-01"),
        json!(""),
        json!(" "),
        json!("x".repeat(10_240)),
        json!("é😀".repeat(2_000)),
        json!("../../etc/passwd"),
        json!("/etc/passwd"),
        json!("..%2f..%2fetc%2fpasswd"),
        json!("．．／．．／etc／passwd"),
        json!("*"),
        json!("?[a-z]*"),
        json!("CON"),
        json!("a\u{0}b"),
        json!("\u{1b}]52;c;x\u{7}\u{9b}2J\u{202e}"),
        json!("a\nid: evil\n---\n"),
        json!("{\"a\":"),
        json!("[[\"a\"]]"),
        json!([]),
        json!({}),
        json!([null]),
        json!([[], {}]),
        json!({"a": {"b": []}}),
        json!([1e300, "../../etc/passwd", "a\u{0}b"]),
        json!(["x".repeat(10_240)]),
        json!(vec!["x"; 2_000]),
        deep,
    ]
}

/// Numbers and moments at the edges of what types and calendars hold.
fn edges() -> Vec<Value> {
    vec![
        json!(i64::MIN),
        json!(u32::MAX),
        json!(1.844_674_407_370_955_2e19),
        json!(-0.0),
        json!(f64::MIN_POSITIVE),
        json!("18446744073709551616"),
        json!("-9223372036854775809"),
        json!("1e309"),
        json!("10000-01-01"),
        json!("+262143-12-31T23:59:59Z"),
        json!("-0001-01-01T00:00:00Z"),
        json!("2026-02-30"),
        json!("2026-01-01T24:00:00Z"),
        json!("2016-12-31T23:59:60Z"),
        json!("2026-01-01T00:00:00+24:00"),
        json!("2026-01-01T00:00:00-24:00"),
        json!("2026-01-01T00:00:00+99:99"),
        json!("99999999999999999999d"),
        json!("-1h"),
    ]
}

#[test]
fn every_argument_of_every_tool_meets_the_edges() {
    let mut tried = BTreeSet::new();
    let mut calls = 0;
    for set in SETS {
        let (home, id) = home_of_one();
        let mut session = session(&home, set, &[]);
        for tool in tools(&mut session) {
            let plain = tool.plain(&id);
            for name in tool.parameters.keys() {
                // The usual tools are tried once, and not again beside the further ones.
                if !tried.insert((set.0, tool.name.clone(), name.clone())) {
                    continue;
                }
                for value in hostile_values().into_iter().chain(edges()) {
                    let mut arguments = plain.clone();
                    arguments[name] = value.clone();
                    check(&mut session, &tool.name, arguments, name, &value);
                    calls += 1;
                }
            }
        }
        session.is_alive_and_quiet();
        // Nothing was written but memories and what belongs to them.
        assert_eq!(names(&home.root()), ["store"], "{set:?}");
        let known = [
            ".git",
            ".memdir",
            "archive",
            "files",
            "journal",
            "tombstones",
        ];
        let made = names(&home.store());
        let foreign = made.iter().find(|name| !known.contains(&name.as_str()));
        assert_eq!(foreign, None, "{set:?}");
        let log = session.log();
        assert!(!log.contains("panicked"), "{set:?}: {log}");
        let verified = home.run(&["verify", "--json"]).json();
        assert_eq!(verified["index_faults"], json!([]), "{set:?}");
        // A content is kept as it came, NUL too, and `verify` points that out.
        let problems = verified["problems"].as_array().unwrap();
        assert!(problems.iter().all(|p| p["code"] == "nul"), "{verified}");
    }
    eprintln!("{calls} calls");
    assert!(calls > 8_000, "{calls} calls");
}

#[track_caller]
fn check(session: &mut Session, tool: &str, arguments: Value, name: &str, value: &Value) {
    let value: String = value.to_string().chars().take(200).collect();
    session.call("edge", tool, arguments);
    let answer = session.answer("edge").to_string();
    assert!(
        !answer.contains("internal error"),
        "{tool} {name} {value}: {answer}"
    );
    assert!(!answer.contains("root:"), "{tool} {name} {value}: {answer}");
}

#[test]
fn no_tool_takes_a_path_for_an_id() {
    for set in SETS {
        let home = Home::new();
        let secret = memory_text("1f3a9c02", "2026-01-14T09:15:00Z", "kestrel");
        let outside = home.write("secret_1f3a9c02.md", secret);
        let mut session = session(&home, set, &[]);
        let paths = [
            "../../secret_1f3a9c02",
            "../secret_1f3a9c02.md",
            "..\\..\\secret_1f3a9c02",
            "files/../../secret_1f3a9c02",
            "..%2f..%2fsecret_1f3a9c02",
            "．．／．．／secret_1f3a9c02",
            "secret_1f3a9c02\u{0}.md",
            "*",
            "[[../../secret_1f3a9c02]]",
            "memory://../../secret_1f3a9c02",
            outside.to_str().unwrap(),
        ];
        for tool in tools(&mut session) {
            for path in paths {
                session.call("path", &tool.name, tool.plain(path));
                let answer = session.answer("path").to_string();
                assert!(!answer.contains("kestrel"), "{}: {answer}", tool.name);
            }
        }
        let kept = std::fs::read_to_string(&outside).unwrap();
        assert!(kept.contains("kestrel"), "{set:?}");
        assert_eq!(
            names(&home.root()),
            ["secret_1f3a9c02.md", "store"],
            "{set:?}"
        );
    }
}

//! A session of a tool set, and what its tools answer.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::program::Home;
use super::session::Session;

/// A session of a dialect on the store of `home`.
pub fn open(home: &Home, dialect: &str, more: &[&str]) -> Session {
    let arguments = [&["mcp", "--dialect", dialect], more].concat();
    Session::open_on(home.command(&arguments))
}

/// What a tool answered, after checking that text and structured content say the same and that it
/// is no error.
#[track_caller]
pub fn done(session: &mut Session, tool: &str, arguments: Value) -> Value {
    let result = session.tool(tool, arguments);
    assert!(result["isError"].is_null(), "{result}");
    said(&result)
}

/// The error of a call that must fail.
#[track_caller]
pub fn refused(session: &mut Session, tool: &str, arguments: Value) -> String {
    let result = session.tool(tool, arguments);
    assert_eq!(result["isError"], true, "{result}");
    let said = said(&result);
    assert_eq!(said.as_object().unwrap().len(), 1, "{said}");
    said["error"]
        .as_str()
        .expect("there is an error")
        .to_owned()
}

#[track_caller]
pub fn said(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().expect("a text");
    let said: Value = serde_json::from_str(text).expect("the text is JSON");
    assert_eq!(said, result["structuredContent"]);
    said
}

/// The list of tools as it was sent.
pub fn listed(session: &mut Session) -> String {
    session.request("list", "tools/list", json!({}));
    let answer: Value = serde_json::from_str(&session.line()).unwrap();
    serde_json::to_string_pretty(&answer["result"]["tools"]).unwrap() + "\n"
}

/// Compares a dialect's list of tools with the file that holds it, byte for byte.
#[track_caller]
pub fn check_tools(dialect: &str, listed: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/dialects")
        .join(format!("{dialect}.tools.json"));
    if std::env::var_os("MEMDIR_RENEW").is_some() {
        fs::write(&path, listed).unwrap();
    }
    let kept = fs::read_to_string(&path)
        .unwrap_or_default()
        .replace("\r\n", "\n");
    let compact: Value = serde_json::from_str(listed).unwrap();
    eprintln!(
        "{dialect}: tools/list has {} bytes",
        compact.to_string().len()
    );
    assert!(
        kept == listed,
        "the tools are not those of {}: if that is meant, run it with MEMDIR_RENEW=1 and look at \
         what changed",
        path.display()
    );
}

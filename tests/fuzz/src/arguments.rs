//! JSON arguments of the tools.

use arbitrary::Arbitrary;
use memdir::dialect::{Caller, Dialect};
use memdir::dialect::core::Core;
use serde_json::{Map, Value};

/// A tool with names of arguments, known or not, and values: JSON, or texts if they are none.
#[derive(Debug, Arbitrary)]
pub struct Arguments<'a> {
    tool: bool,
    known: Vec<(u8, &'a str)>,
    unknown: Option<(&'a str, &'a str)>,
}

/// Every call is answered with an object and with JSON as text; a failed one says why.
pub fn arguments(input: Arguments<'_>) {
    // `remember` would fill the disk; what it checks, others check, too.
    let tools: Vec<_> = Core
        .tools()
        .iter()
        .filter(|t| t.name != "remember")
        .collect();
    let tool = tools[usize::from(input.tool)];
    let schema = (tool.arguments)();
    let names: Vec<&String> = schema["properties"]
        .as_object()
        .expect("a schema lists properties")
        .keys()
        .collect();
    let value =
        |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    let mut arguments: Map<String, Value> = input
        .known
        .iter()
        .map(|(at, text)| (names[usize::from(*at) % names.len()].clone(), value(text)))
        .collect();
    if let Some((name, text)) = input.unknown {
        arguments.insert(name.to_owned(), value(text));
    }
    let reply = (tool.run)(crate::engine(), &Caller::default(), arguments);
    let text: Value = serde_json::from_str(&reply.text).expect("the text is JSON");
    assert!(!reply.is_error || !text.is_null());
}

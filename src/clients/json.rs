//! Changes members and elements of a JSON text, with comments or without, by splices of its bytes.
//!
//! Promises: a change inserts or removes the text of one member, its comma and the blanks before it; every
//! other byte stays. It is proven by reading the new text: whatever else it says must be what the old one
//! said. Comments and trailing commas are read; unquoted names, single quotes and missing commas are not.

use std::fmt::Write as _;
use std::ops::Range;

use jsonc_parser::ast::{self, ObjectProp};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions};
use serde_json::{Map, Value};

use super::error::EditError;

/// A step from a value to one below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// Returns the value of a text; an empty object for one without any.
///
/// # Errors
///
/// Fails if the text is no JSON, even with comments and trailing commas allowed.
pub fn value(text: &str) -> Result<Value, EditError> {
    let parsed = parse(without_mark(text).1)?;
    Ok(parsed.map_or_else(|| Value::Object(Map::new()), Value::from))
}

/// Returns the text with the member at `path` set; the objects on the way are made where they are missing.
///
/// # Errors
///
/// Fails if the text cannot be read, or something on the way is no object.
pub fn set(text: &str, path: &[&str], new: &Value) -> Result<String, EditError> {
    let steps: Vec<Step<'_>> = path.iter().copied().map(Step::Key).collect();
    changed(text, &steps, Change::Set(new))
}

/// Returns the text with an element added to the end of the array at `path`, which is made where it is
/// missing.
///
/// # Errors
///
/// Fails if the text cannot be read, something on the way is no object, or `path` leads to no array.
pub fn push(text: &str, path: &[&str], new: &Value) -> Result<String, EditError> {
    let mut present = &value(text)?;
    let is_there = path.iter().all(|key| match present.get(key) {
        Some(below) => {
            present = below;
            true
        }
        None => false,
    });
    if !is_there {
        return set(text, path, &Value::Array(vec![new.clone()]));
    }
    let steps: Vec<Step<'_>> = path.iter().copied().map(Step::Key).collect();
    changed(text, &steps, Change::Push(new))
}

/// Returns the text without the member or element at `path`; as it is if there is none.
///
/// # Errors
///
/// Fails if the text cannot be read.
pub fn remove(text: &str, path: &[Step<'_>]) -> Result<String, EditError> {
    match at(&value(text)?, path) {
        None => Ok(text.to_owned()),
        Some(_) => changed(text, path, Change::Remove),
    }
}

/// Returns the value at `path`.
pub fn at<'v>(value: &'v Value, path: &[Step<'_>]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(index),
    })
}

/// Returns a value as a text of its own, with two blanks for each level.
pub fn pretty(value: &Value) -> String {
    let layout = Layout {
        newline: "\n",
        unit: "  ".to_owned(),
        has_blanks: true,
    };
    layout.lines(value, "")
}

#[derive(Clone, Copy)]
enum Change<'a> {
    Set(&'a Value),
    Push(&'a Value),
    Remove,
}

fn changed(text: &str, path: &[Step<'_>], change: Change<'_>) -> Result<String, EditError> {
    let old = value(text)?;
    let wanted = changed_value(&old, path, change);
    if wanted.as_ref() == Some(&old) {
        return Ok(text.to_owned());
    }
    let (mark, body) = without_mark(text);
    let new = match parse(body)? {
        Some(root) => spliced(body, &root, path, change)?,
        // Blanks, or comments.
        None => {
            let Some(wanted) = &wanted else {
                return Err(not_alone(path));
            };
            let layout = Layout::of(body, None);
            let gap = match body.is_empty() || body.ends_with('\n') {
                true => "",
                false => layout.newline,
            };
            format!("{body}{gap}{}{}", layout.lines(wanted, ""), layout.newline)
        }
    };
    let new = format!("{mark}{new}");
    match value(&new) {
        Ok(value) if Some(&value) == wanted.as_ref() => Ok(new),
        _ => Err(not_alone(path)),
    }
}

fn not_alone(path: &[Step<'_>]) -> EditError {
    EditError::NotAlone(shown(path))
}

fn shown(path: &[Step<'_>]) -> String {
    let parts = path.iter().map(|step| match step {
        Step::Key(key) => (*key).to_owned(),
        Step::Index(index) => index.to_string(),
    });
    parts.collect::<Vec<_>>().join(".")
}

/// Applies a change to the value instead of the text; `None` where `path` leads nowhere.
fn changed_value(value: &Value, path: &[Step<'_>], change: Change<'_>) -> Option<Value> {
    let Some((step, rest)) = path.split_first() else {
        return match change {
            Change::Set(new) => Some(new.clone()),
            Change::Push(new) => {
                let mut elements = value.as_array()?.clone();
                elements.push(new.clone());
                Some(Value::Array(elements))
            }
            Change::Remove => None,
        };
    };
    let mut value = value.clone();
    let is_end = rest.is_empty() && matches!(change, Change::Remove);
    match (step, &mut value) {
        (Step::Key(key), Value::Object(members)) => {
            if is_end {
                members.shift_remove(*key);
            } else {
                let empty = Value::Object(Map::new());
                let below = changed_value(members.get(*key).unwrap_or(&empty), rest, change)?;
                members.insert((*key).to_owned(), below);
            }
        }
        (Step::Index(index), Value::Array(elements)) => {
            if is_end {
                elements.remove(*index);
            } else {
                let element = elements.get_mut(*index)?;
                *element = changed_value(element, rest, change)?;
            }
        }
        _ => return None,
    }
    Some(value)
}

/// Splits off a byte order mark, which parsers of JSON refuse.
fn without_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with('\u{feff}') { 3 } else { 0 })
}

fn parse(text: &str) -> Result<Option<ast::Value<'_>>, EditError> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &options);
    let parsed = parsed.map_err(|error| EditError::Unreadable {
        format: "JSON",
        reason: error.to_string(),
    })?;
    Ok(parsed.value)
}

/// An object or array with its members or elements.
struct Container {
    range: Range<usize>,
    items: Vec<Range<usize>>,
}

fn range(of: &impl Ranged) -> Range<usize> {
    of.start()..of.end()
}

impl Container {
    fn of(value: &ast::Value<'_>) -> Option<Container> {
        let (range, items) = match value {
            ast::Value::Object(object) => {
                (range(object), object.properties.iter().map(range).collect())
            }
            ast::Value::Array(array) => (range(array), array.elements.iter().map(range).collect()),
            _ => return None,
        };
        Some(Container { range, items })
    }

    /// Returns the place of the closing bracket.
    fn close(&self) -> usize {
        self.range.end - 1
    }
}

/// Returns the one member called `key`.
fn member<'v, 'a>(
    object: &'v ast::Object<'a>,
    key: &str,
) -> Result<Option<&'v ObjectProp<'a>>, EditError> {
    let is_named = |member: &&ObjectProp<'_>| match &member.name {
        ast::ObjectPropName::String(name) => name.value == key,
        ast::ObjectPropName::Word(name) => name.value == key,
    };
    let mut found = object.properties.iter().filter(is_named);
    let first = found.next();
    match found.next() {
        // Parsers differ in which of them counts.
        Some(_) => Err(EditError::Twice(key.to_owned())),
        None => Ok(first),
    }
}

fn spliced(
    text: &str,
    root: &ast::Value<'_>,
    path: &[Step<'_>],
    change: Change<'_>,
) -> Result<String, EditError> {
    let layout = Layout::of(text, Some(root));
    let mut value = root;
    for (depth, step) in path.iter().enumerate() {
        let rest = &path[depth + 1..];
        let is_end = rest.is_empty();
        let wrong = |wanted| {
            let name = match depth {
                0 => "the document".to_owned(),
                _ => shown(&path[..depth]),
            };
            EditError::WrongKind { name, wanted }
        };
        let found = match (step, value) {
            (Step::Key(key), ast::Value::Object(object)) => {
                member(object, key)?.map(|member| (range(member), &member.value))
            }
            (Step::Index(index), ast::Value::Array(array)) => {
                let element = array.elements.get(*index);
                element.map(|element| (range(element), element))
            }
            (Step::Key(_), _) => return Err(wrong("object")),
            (Step::Index(_), _) => return Err(wrong("array")),
        };
        let container = Container::of(value).expect("it has members or elements");
        match (found, change, step) {
            (Some((range, _)), Change::Remove, _) if is_end => {
                return Ok(removed(text, &container, &range));
            }
            (Some((_, below)), ..) => value = below,
            (None, Change::Set(new), Step::Key(key)) => {
                let new = rest.iter().rev().fold(new.clone(), |below, step| {
                    let Step::Key(key) = step else {
                        unreachable!("only members are set");
                    };
                    Value::Object(Map::from_iter([((*key).to_owned(), below)]))
                });
                return Ok(layout.inserted(text, &container, Some(key), &new));
            }
            (None, ..) => return Err(not_alone(path)),
        }
    }
    match change {
        Change::Set(new) => {
            let range = range(value);
            let is_line = !text[range.clone()].contains('\n') && text[range.clone()].len() > 2;
            let new = match is_line && Container::of(value).is_some() {
                true => layout.line(new),
                false => layout.lines(new, indentation(text, range.start)),
            };
            Ok(replaced(text, &[(range, new)]))
        }
        Change::Push(new) => match Container::of(value) {
            Some(container) if matches!(value, ast::Value::Array(_)) => {
                Ok(layout.inserted(text, &container, None, new))
            }
            _ => Err(EditError::WrongKind {
                name: shown(path),
                wanted: "array",
            }),
        },
        Change::Remove => Err(not_alone(path)),
    }
}

/// Returns the text with each range replaced; they are sorted and apart.
fn replaced(text: &str, splices: &[(Range<usize>, String)]) -> String {
    let mut new = String::with_capacity(text.len() + 512);
    let mut from = 0;
    for (range, with) in splices {
        new.push_str(&text[from..range.start]);
        new.push_str(with);
        from = range.end;
    }
    new.push_str(&text[from..]);
    new
}

/// Returns the text without the item at `item` of a container, its comma, and the blanks before it.
fn removed(text: &str, container: &Container, item: &Range<usize>) -> String {
    let before = container
        .items
        .iter()
        .rfind(|other| other.end <= item.start);
    let from = before.map_or(container.range.start + 1, |before| before.end);
    let blanks = text[from..item.start].trim_end().len() + from;
    let mut splices = vec![(blanks..item.end, String::new())];
    if let Some(comma) = comma(text, item.end..container.close()) {
        splices.push((comma..comma + 1, String::new()));
    } else if let Some(comma) = before.and_then(|_| comma(text, from..item.start)) {
        splices.insert(0, (comma..comma + 1, String::new()));
    }
    // An emptied container has no blanks either.
    if container.items.len() == 1 {
        let inside = container.range.start + 1..container.close();
        let rest = replaced(text, &splices);
        let kept = &rest[inside.start..rest.len() - (text.len() - inside.end)];
        if kept.trim().is_empty() {
            return replaced(text, &[(inside, String::new())]);
        }
    }
    replaced(text, &splices)
}

/// Returns the place of the first comma that stands in no comment.
fn comma(text: &str, within: Range<usize>) -> Option<usize> {
    let mut at = within.start;
    while at < within.end {
        let rest = &text[at..within.end];
        if rest.starts_with(',') {
            return Some(at);
        }
        at += match rest {
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
    }
    None
}

/// Returns the blanks at the beginning of the line that holds the byte at `at`.
fn indentation(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let rest = &text[line..at];
    &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
}

/// Layout of a text.
struct Layout {
    newline: &'static str,
    /// Blanks of one level.
    unit: String,
    /// Blanks stand after colons and commas within a line.
    has_blanks: bool,
}

impl Layout {
    fn of(text: &str, root: Option<&ast::Value<'_>>) -> Layout {
        let newline = match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let members = root.and_then(ast::Value::as_object);
        let first = members.and_then(|object| object.properties.first());
        let unit = first.map(|first| indentation(text, first.start()));
        let unit = unit.filter(|unit| !unit.is_empty()).unwrap_or("  ");
        let has_blanks = first.is_none_or(|first| {
            let colon = &text[first.name.end()..first.value.start()];
            colon.ends_with(char::is_whitespace)
        });
        Layout {
            newline,
            unit: unit.to_owned(),
            has_blanks,
        }
    }

    fn inserted(
        &self,
        text: &str,
        container: &Container,
        key: Option<&str>,
        new: &Value,
    ) -> String {
        let (open, close) = (container.range.start, container.close());
        let inside = &text[open + 1..close];
        let name = key.map_or(String::new(), |key| {
            let colon = if self.has_blanks { ": " } else { ":" };
            format!("{}{colon}", Value::from(key))
        });
        // After whatever stands there, also comments.
        let tail = text[..close].trim_end().len();
        let Some(last) = container.items.last() else {
            let outer = indentation(text, open);
            let inner = format!("{outer}{}", self.unit);
            let has_line = text[tail..close].contains('\n');
            let end = match has_line {
                true => String::new(),
                false => format!("{}{outer}", self.newline),
            };
            let is_one_line = !text.trim().contains('\n') && open > 0;
            if is_one_line && inside.trim().is_empty() {
                let item = format!("{name}{}", self.line(new));
                return replaced(text, &[(open + 1..close, item)]);
            }
            let item = format!(
                "{}{inner}{name}{}{end}",
                self.newline,
                self.lines(new, &inner)
            );
            let over = if has_line { tail } else { close };
            return replaced(text, &[(tail..over, item)]);
        };
        let trailing = comma(text, last.end..close);
        let (separator, end) = match trailing {
            Some(_) => ("", ","),
            None => (",", ""),
        };
        let item = match inside.contains('\n') {
            true => {
                let first = &container.items[0];
                let own = indentation(text, first.start);
                let begins_line = text[..first.start]
                    .trim_end_matches([' ', '\t'])
                    .ends_with('\n');
                let indent = match begins_line {
                    true => own.to_owned(),
                    false => format!("{}{}", indentation(text, open), self.unit),
                };
                let new = self.lines(new, &indent);
                format!("{}{indent}{name}{new}{end}", self.newline)
            }
            false => {
                let blank = if self.has_blanks { " " } else { "" };
                format!("{blank}{name}{}{end}", self.line(new))
            }
        };
        // A trailing comma may stand behind a comment.
        let separated = (last.end..last.end, separator.to_owned());
        replaced(text, &[separated, (tail..tail, item)])
    }

    /// Returns a value over several lines, those after the first indented; arrays of plain values on one.
    fn lines(&self, value: &Value, indent: &str) -> String {
        let inner = format!("{indent}{}", self.unit);
        let items: Vec<String> = match value {
            Value::Object(members) => members
                .iter()
                .map(|(key, value)| {
                    format!("{}: {}", Value::from(&**key), self.lines(value, &inner))
                })
                .collect(),
            Value::Array(elements)
                if elements.iter().any(|one| one.is_object() || one.is_array()) =>
            {
                elements.iter().map(|one| self.lines(one, &inner)).collect()
            }
            _ => return self.line(value),
        };
        if items.is_empty() {
            return self.line(value);
        }
        let (open, close) = if value.is_object() {
            ('{', '}')
        } else {
            ('[', ']')
        };
        let newline = self.newline;
        let mut text = String::from(open);
        for (number, item) in items.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            let _ = write!(text, "{comma}{newline}{inner}{item}");
        }
        let _ = write!(text, "{newline}{indent}{close}");
        text
    }

    /// Returns a value on one line.
    fn line(&self, value: &Value) -> String {
        let blank = if self.has_blanks { " " } else { "" };
        let separator = format!(",{blank}");
        match value {
            Value::Object(members) => {
                let members = members.iter().map(|(key, value)| {
                    format!("{}:{blank}{}", Value::from(&**key), self.line(value))
                });
                format!("{{{}}}", members.collect::<Vec<_>>().join(&separator))
            }
            Value::Array(elements) => {
                let elements = elements.iter().map(|one| self.line(one));
                format!("[{}]", elements.collect::<Vec<_>>().join(&separator))
            }
            plain => plain.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PATH: [&str; 2] = ["servers", "memdir"];

    /// The text with a member set, after it was proven that this happens once, and is undone.
    #[track_caller]
    fn with(text: &str) -> String {
        let new = set(text, &PATH, &json!({"a": [1, "b"]})).unwrap();
        assert_eq!(set(&new, &PATH, &json!({"a": [1, "b"]})).unwrap(), new);
        assert_eq!(
            value(&new).unwrap()["servers"]["memdir"],
            json!({"a": [1, "b"]})
        );
        let again = remove(&new, &PATH.map(Step::Key)).unwrap();
        let rest = value(text).unwrap();
        let rest = rest.get("servers").cloned().unwrap_or_else(|| json!({}));
        assert_eq!(value(&again).unwrap()["servers"], rest, "{again}");
        new
    }

    #[test]
    fn a_member_is_added_as_the_others_are_written() {
        let entry = "\"memdir\": {\n      \"a\": [1, \"b\"]\n    }";
        assert_eq!(
            with(""),
            format!("{{\n  \"servers\": {{\n    {entry}\n  }}\n}}\n")
        );
        assert_eq!(
            with("{}"),
            format!("{{\n  \"servers\": {{\n    {entry}\n  }}\n}}")
        );
        assert_eq!(
            with("{\n  \"servers\": {\n    \"x\": {} // mine\n  }\n}\n"),
            format!("{{\n  \"servers\": {{\n    \"x\": {{}}, // mine\n    {entry}\n  }}\n}}\n")
        );
        assert_eq!(
            with("{\n  \"servers\": {\n    \"x\": {}, /* a, b */\n    // end\n  },\n}\n"),
            format!(
                "{{\n  \"servers\": {{\n    \"x\": {{}}, /* a, b */\n    // end\n    {entry},\n  }},\n}}\n"
            )
        );
        assert_eq!(
            with("{\r\n\t\"a\": 1\r\n}\r\n"),
            "{\r\n\t\"a\": 1,\r\n\t\"servers\": {\r\n\t\t\"memdir\": {\r\n\t\t\t\"a\": [1, \"b\"]\r\n\t\t}\r\n\t}\r\n}\r\n"
        );
        assert_eq!(
            with("{\"a\":1,\"servers\":{\"x\":{}}}"),
            "{\"a\":1,\"servers\":{\"x\":{},\"memdir\":{\"a\":[1,\"b\"]}}}"
        );
        assert_eq!(
            with("{\"a\": 1, \"servers\": {}}"),
            "{\"a\": 1, \"servers\": {\"memdir\": {\"a\": [1, \"b\"]}}}"
        );
        assert_eq!(
            with("// mine\n"),
            format!("// mine\n{{\n  \"servers\": {{\n    {entry}\n  }}\n}}\n")
        );
        assert_eq!(
            with("\u{feff}{\"a\":1}"),
            "\u{feff}{\"a\":1,\"servers\":{\"memdir\":{\"a\":[1,\"b\"]}}}"
        );
        assert_eq!(
            with("{\n  \"servers\": {\n    // none yet\n  }\n}"),
            format!("{{\n  \"servers\": {{\n    // none yet\n    {entry}\n  }}\n}}")
        );
    }

    #[test]
    fn a_member_is_replaced_where_it_stands() {
        let text = "{\"servers\": {\n  \"memdir\": { \"a\": 1 }, // why\n  \"x\": 2\n}}";
        assert_eq!(
            set(text, &["servers", "memdir", "a"], &json!(2)).unwrap(),
            text.replace("1 }", "2 }")
        );
        assert_eq!(
            set(text, &["servers", "memdir", "a"], &json!(1)).unwrap(),
            text
        );
    }

    #[test]
    fn elements_come_and_go() {
        let text = "{\n  \"a\": [\n    1 // one\n  ]\n}\n";
        let with = push(text, &["a"], &json!({"b": 2})).unwrap();
        assert_eq!(
            with,
            "{\n  \"a\": [\n    1, // one\n    {\n      \"b\": 2\n    }\n  ]\n}\n"
        );
        assert_eq!(
            remove(&with, &[Step::Key("a"), Step::Index(1)]).unwrap(),
            text
        );
        let first = remove(&with, &[Step::Key("a"), Step::Index(0)]).unwrap();
        assert_eq!(value(&first).unwrap(), json!({"a": [{"b": 2}]}));
        assert_eq!(push("{}", &["a"], &json!(1)).unwrap(), "{\n  \"a\": [1]\n}");
        assert_eq!(
            remove("{\"a\":[1]}", &[Step::Key("a"), Step::Index(0)]).unwrap(),
            "{\"a\":[]}"
        );
        assert_eq!(remove(text, &[Step::Key("b")]).unwrap(), text);
    }

    #[test]
    fn what_would_change_something_else_is_refused() {
        let new = json!(1);
        let refused = |text: &str| set(text, &PATH, &new).unwrap_err();
        let nested = "[".repeat(100_000);
        for text in [
            "{",
            "{]",
            "{'a': 1}",
            "{a: 1}",
            "{\"a\" 1}",
            "{\"a\": 1} x",
            "{\"a\": 1 \"b\": 2}",
            &nested,
        ] {
            assert!(
                matches!(refused(text), EditError::Unreadable { .. }),
                "{text:.20}"
            );
        }
        for text in [
            "[]",
            "1",
            "{\"servers\": null}",
            "{\"servers\": []}",
            "{\"servers\": \"x\"}",
        ] {
            assert!(
                matches!(refused(text), EditError::WrongKind { .. }),
                "{text}"
            );
        }
        let twice = "{\"servers\": {}, \"servers\": {}}";
        assert!(matches!(refused(twice), EditError::Twice(_)));
        let push = |text| push(text, &["servers"], &new).unwrap_err();
        assert!(matches!(
            push("{\"servers\": {}}"),
            EditError::WrongKind { .. }
        ));
    }
}

//! Changes a table of a TOML text; comments, order and blanks of everything else stay.
//!
//! Promises: a new table is added at the end, and one that memdir added is cut out by its lines, so that
//! every other byte stays. What cannot be done by lines is done on the syntax tree. Each change is proven:
//! whatever else the new text says must be what the old one said.

use std::ops::Range;

use serde_json::Value;
use toml_edit::{DocumentMut, InlineTable, Item, Table};

use super::error::EditError;

/// Returns the value of the table at `path`; `None` if there is none.
///
/// # Errors
///
/// Fails if the text is no TOML.
pub fn table(text: &str, path: [&str; 2]) -> Result<Option<Value>, EditError> {
    let document = parse(text)?;
    let item = document.get(path[0]).and_then(|above| above.get(path[1]));
    Ok(item.map(json_of))
}

/// Returns the text with the keys of `new`, an object, set in the table at `path`; other keys of it stay.
///
/// # Errors
///
/// Fails if the text is no TOML, or something at `path` is no table.
pub fn set(text: &str, path: [&str; 2], new: &Value) -> Result<String, EditError> {
    let old = parse(text)?;
    let mut wanted = old.clone();
    put(&mut wanted, path, new)?;
    let wanted = json_of(wanted.as_item());
    if wanted == json_of(old.as_item()) {
        return Ok(text.to_owned());
    }
    let added = added(text, path, new);
    if parse(&added).is_ok_and(|added| json_of(added.as_item()) == wanted) {
        return Ok(added);
    }
    // The table is there already, or the one above it is written on one line.
    let mut tree = old;
    put(&mut tree, path, new)?;
    proven(with_line_ends_of(text, tree.to_string()), &wanted, path)
}

/// Returns a text that the syntax tree wrote, which ends lines with a line feed outside of texts, with the
/// line ends of `old`.
fn with_line_ends_of(old: &str, new: String) -> String {
    match old.matches('\n').count() == old.matches("\r\n").count() {
        true => new.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => new,
    }
}

/// Returns the text without the table at `path`; as it is if there is none.
///
/// # Errors
///
/// Fails if the text is no TOML.
pub fn remove(text: &str, path: [&str; 2]) -> Result<String, EditError> {
    let mut tree = parse(text)?;
    let Some(above) = tree.get_mut(path[0]).and_then(Item::as_table_like_mut) else {
        return Ok(text.to_owned());
    };
    if above.remove(path[1]).is_none() {
        return Ok(text.to_owned());
    }
    let is_empty = above.is_empty() && is_implicit(&tree, path[0]);
    let mut wanted = json_of(tree.as_item());
    if let (true, Value::Object(members)) = (is_empty, &mut wanted) {
        members.shift_remove(path[0]);
    }
    // A line of a text may look like the header.
    for lines in lines_of(text, path).into_iter().rev() {
        let mut cut = text.to_owned();
        cut.replace_range(lines, "");
        if parse(&cut).is_ok_and(|cut| json_of(cut.as_item()) == wanted) {
            return Ok(cut);
        }
    }
    if is_empty {
        tree.remove(path[0]);
    }
    // Comments hang on what they stand before.
    let cut = with_line_ends_of(text, tree.to_string());
    match cut.matches('#').count() == text.matches('#').count() {
        true => proven(cut, &wanted, path),
        false => Err(EditError::NotAlone(path.join("."))),
    }
}

/// Returns the table as a text of its own.
pub fn pretty(path: [&str; 2], new: &Value) -> String {
    added("", path, new)
}

fn parse(text: &str) -> Result<DocumentMut, EditError> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let line = error.span().map_or(0, |span| {
            let end = span.start.min(text.len());
            text.as_bytes()[..end]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count()
                + 1
        });
        let message = error
            .message()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned();
        EditError::Unreadable {
            format: "TOML",
            reason: format!("{message} on line {line}"),
        }
    })
}

fn proven(text: String, wanted: &Value, path: [&str; 2]) -> Result<String, EditError> {
    match parse(&text) {
        Ok(new) if json_of(new.as_item()) == *wanted => Ok(text),
        _ => Err(EditError::NotAlone(path.join("."))),
    }
}

/// Returns whether the table `name` has no header of its own.
fn is_implicit(document: &DocumentMut, name: &str) -> bool {
    document
        .get(name)
        .and_then(Item::as_table)
        .is_some_and(Table::is_implicit)
}

/// Sets keys on the syntax tree.
fn put(document: &mut DocumentMut, path: [&str; 2], new: &Value) -> Result<(), EditError> {
    let mut above = Table::new();
    above.set_implicit(true);
    let item = document.entry(path[0]).or_insert(Item::Table(above));
    let wrong = |name: String| EditError::WrongKind {
        name,
        wanted: "table",
    };
    let is_inline = item.is_inline_table();
    let above = item
        .as_table_like_mut()
        .ok_or_else(|| wrong(path[0].to_owned()))?;
    if above.get(path[1]).is_none() {
        let table = match is_inline {
            true => Item::Value(InlineTable::new().into()),
            false => Item::Table(Table::new()),
        };
        above.insert(path[1], table);
    }
    let table = above.get_mut(path[1]).and_then(Item::as_table_like_mut);
    let table = table.ok_or_else(|| wrong(path.join(".")))?;
    for (key, value) in new.as_object().into_iter().flatten() {
        let new = toml_of(value);
        match table.get_mut(key) {
            Some(old) if json_of(old) == *value => {}
            // The comment behind a value belongs to the line, not to the value.
            Some(Item::Value(old)) => {
                let around = old.decor().clone();
                *old = new;
                *old.decor_mut() = around;
            }
            _ => drop(table.insert(key, Item::Value(new))),
        }
    }
    Ok(())
}

/// Returns the text with the table at its end.
fn added(text: &str, path: [&str; 2], new: &Value) -> String {
    let newline = match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    };
    let mut added = text.to_owned();
    if !added.is_empty() && !added.ends_with('\n') {
        added.push_str(newline);
    }
    if !added.trim().is_empty() {
        added.push_str(newline);
    }
    added.push_str(&format!("[{}.{}]{newline}", path[0], path[1]));
    for (key, value) in new.as_object().into_iter().flatten() {
        let value = toml_of(value).to_string();
        added.push_str(&format!("{key} = {}{newline}", value.trim()));
    }
    added
}

/// Returns the lines from each line that looks like the header of the table at `path` to its last key, also
/// of tables in it, with the blank line before.
fn lines_of(text: &str, path: [&str; 2]) -> Vec<Range<usize>> {
    let header = format!("[{}.{}]", path[0], path[1]);
    let inner = format!("[{}.{}.", path[0], path[1]);
    let (mut found, mut current) = (Vec::new(), None);
    let (mut place, mut gap) = (0, 0);
    for line in text.split_inclusive('\n') {
        let (words, end) = (line.trim(), place + line.len());
        if words == header {
            found.extend(current.replace(place - gap..end));
        } else if words.starts_with('[') && !words.starts_with(&inner) {
            found.extend(current.take());
        } else if let (Some(range), false) =
            (&mut current, words.is_empty() || words.starts_with('#'))
        {
            // Blank lines and comments at the end belong to what follows.
            range.end = end;
        }
        gap = if words.is_empty() { line.len() } else { 0 };
        place = end;
    }
    found.extend(current);
    found
}

fn toml_of(value: &Value) -> toml_edit::Value {
    match value {
        Value::Bool(is_so) => (*is_so).into(),
        Value::Number(number) => number.as_i64().unwrap_or_default().into(),
        Value::Array(elements) => toml_edit::Value::Array(elements.iter().map(toml_of).collect()),
        Value::String(text) => text.as_str().into(),
        // No entry holds anything else.
        other => other.to_string().into(),
    }
}

fn json_of(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        let members = table
            .iter()
            .map(|(key, item)| (key.to_owned(), json_of(item)));
        return Value::Object(members.collect());
    }
    match item {
        Item::ArrayOfTables(tables) => {
            let tables = tables
                .iter()
                .map(|table| json_of(&Item::Table(table.clone())));
            Value::Array(tables.collect())
        }
        Item::Value(toml_edit::Value::Array(elements)) => {
            let elements = elements
                .iter()
                .map(|one| json_of(&Item::Value(one.clone())));
            Value::Array(elements.collect())
        }
        Item::Value(toml_edit::Value::String(text)) => Value::String(text.value().clone()),
        Item::Value(toml_edit::Value::Integer(number)) => Value::from(*number.value()),
        Item::Value(toml_edit::Value::Boolean(is_so)) => Value::Bool(*is_so.value()),
        // As it is written: NaN equals itself, and a date stays what it is.
        other => Value::String(other.to_string().trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PATH: [&str; 2] = ["mcp_servers", "memdir"];

    fn entry() -> Value {
        json!({"command": "memdir", "args": ["mcp"]})
    }

    const TABLE: &str = "[mcp_servers.memdir]\ncommand = \"memdir\"\nargs = [\"mcp\"]\n";

    #[track_caller]
    fn with(text: &str) -> String {
        let new = set(text, PATH, &entry()).unwrap();
        assert_eq!(set(&new, PATH, &entry()).unwrap(), new);
        assert_eq!(table(&new, PATH).unwrap(), Some(entry()));
        let again = remove(&new, PATH).unwrap();
        let end = if text.ends_with('\n') || text.is_empty() {
            ""
        } else {
            "\n"
        };
        assert_eq!(again, format!("{text}{end}"));
        new
    }

    #[test]
    fn a_table_is_added_at_the_end_and_cut_out_again() {
        assert_eq!(with(""), TABLE);
        assert_eq!(with("# mine\n"), format!("# mine\n\n{TABLE}"));
        assert_eq!(
            with("model = 'x' # old"),
            format!("model = 'x' # old\n\n{TABLE}")
        );
        let text = "a=1\n[mcp_servers.x] # other\ncommand = \"x\"\n\n[projects.\"/home\"]\ntrust = 1979-05-27\n# end\n";
        assert_eq!(with(text), format!("{text}\n{TABLE}"));
        let text = "a = 1\r\n";
        assert_eq!(
            with(text),
            format!("{text}\r\n{}", TABLE.replace('\n', "\r\n"))
        );
    }

    #[test]
    fn a_table_with_others_behind_it_is_cut_out_alone() {
        let text = format!(
            "# mine\n[mcp_servers.a]\nx = 1\n\n{TABLE}\n# about b\n[mcp_servers.b]\ny = 1\n"
        );
        assert_eq!(
            remove(&text, PATH).unwrap(),
            "# mine\n[mcp_servers.a]\nx = 1\n\n# about b\n[mcp_servers.b]\ny = 1\n"
        );
        let with_more =
            format!("{TABLE}\n[mcp_servers.memdir.env]\nA = \"b\"\n\n[tui]\nx = 1 # y\n");
        let rest = remove(&with_more, PATH).unwrap();
        assert_eq!(rest.trim(), "[tui]\nx = 1 # y");
    }

    #[test]
    fn keys_of_a_table_are_set_and_others_stay() {
        let text =
            "[mcp_servers.memdir] # mine\ncommand = \"old\" # why\nenabled = false\n\n[tui]\n";
        assert_eq!(
            set(text, PATH, &entry()).unwrap(),
            "[mcp_servers.memdir] # mine\ncommand = \"memdir\" # why\nenabled = false\nargs = [\"mcp\"]\n\n[tui]\n"
        );
        let inline = "mcp_servers = { x = { command = \"x\" } } # one line\n[tui]\na = 1\n";
        let new = set(inline, PATH, &entry()).unwrap();
        assert_eq!(table(&new, PATH).unwrap(), Some(entry()));
        assert!(new.ends_with("# one line\n[tui]\na = 1\n"), "{new}");
        assert_eq!(
            table(&remove(&new, PATH).unwrap(), ["mcp_servers", "x"]).unwrap(),
            Some(json!({"command": "x"}))
        );
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for text in ["a = ", "[a\n", "a = 1\na = 2\n", "\u{0}"] {
            assert!(
                matches!(set(text, PATH, &entry()), Err(EditError::Unreadable { .. })),
                "{text}"
            );
        }
        for text in [
            "mcp_servers = 1\n",
            "[mcp_servers]\nmemdir = 1\n",
            "[[mcp_servers]]\n",
        ] {
            assert!(
                matches!(set(text, PATH, &entry()), Err(EditError::WrongKind { .. })),
                "{text}"
            );
        }
    }
}

//! TOON: lists of objects for language models, each field's name once.
//!
//! A line of `key:value` pairs for single values, a header with the columns, a row for each object.
//! Guarantees: a row has as many values as the header has columns, and a reader that follows the
//! format's four steps gets back every text, with two exceptions that the format cannot express: a text
//! that holds `\n` as two characters is read as a line break, and one that ends with a backslash gets a
//! blank at its end. The caller chooses the format.

use serde_json::Value;

use super::json::JsonObject;

/// Columns of the full form.
pub const FULL: [&str; 12] = [
    "id",
    "title",
    "tier",
    "namespace",
    "priority",
    "confidence",
    "score",
    "access_count",
    "tags",
    "source",
    "created_at",
    "updated_at",
];

/// Columns of the compact form.
pub const COMPACT: [&str; 7] = [
    "id",
    "title",
    "tier",
    "namespace",
    "priority",
    "score",
    "tags",
];

/// Name of the list in the header, whatever its key in the object is.
const NAME: &str = "memories";
/// Keys that the list may have in the object.
const KEYS: [&str; 2] = ["memories", "results"];

/// Returns an answer with a list of memories as TOON, with a line end at its end.
pub fn toon(answer: &JsonObject, columns: &[&str]) -> String {
    let mut text = String::new();
    let is_single = |value: &Value| !value.is_array() && !value.is_object();
    let singles = answer.iter().filter(|(_, value)| is_single(value));
    let pairs: Vec<String> = singles
        .map(|(key, value)| format!("{key}:{}", cell(Some(value))))
        .collect();
    if !pairs.is_empty() {
        text.push_str(&pairs.join("|"));
        text.push('\n');
    }
    text.push_str(&format!("{NAME}[{}]:\n", columns.join("|")));
    let rows = KEYS.iter().find_map(|key| answer.get(*key)?.as_array());
    for row in rows.into_iter().flatten() {
        let cells: Vec<String> = columns.iter().map(|column| cell(row.get(column))).collect();
        text.push_str(&cells.join("|"));
        text.push('\n');
    }
    text
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::Bool(value)) => u8::from(*value).to_string(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::String(text)) => escaped(text),
        Some(Value::Array(items)) => {
            let items = items.iter().map(|item| match item {
                Value::String(text) => text.clone(),
                other => cell(Some(other)),
            });
            escaped(&items.collect::<Vec<_>>().join(","))
        }
        Some(Value::Object(_)) => "[object]".to_owned(),
    }
}

/// Escapes the characters that end a value or a row.
fn escaped(text: &str) -> String {
    let mut escaped = text.replace('|', "\\|").replace('\n', "\\n");
    // With nothing between, it would make the delimiter a part of the value.
    if escaped.ends_with('\\') {
        escaped.push(' ');
    }
    escaped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::dialect::reply::object;

    /// Content of a text in this format: pairs, columns and rows.
    type Said = (Vec<(String, String)>, Vec<String>, Vec<Vec<String>>);

    /// Reads by the four steps of the format's description.
    fn read(text: &str) -> Said {
        let mut lines = text.split('\n').peekable();
        let mut pairs = Vec::new();
        let is_header = |line: &str| line.starts_with("memories[");
        if let Some(line) = lines.next_if(|line| !is_header(line)) {
            for pair in values(line) {
                let (key, value) = pair.split_once(':').unwrap();
                pairs.push((key.to_owned(), value.to_owned()));
            }
        }
        let header = lines.next().unwrap().strip_suffix(':').unwrap();
        let inner = header.split_once('[').unwrap().1.strip_suffix(']').unwrap();
        let columns = inner.split('|').map(str::to_owned).collect();
        let rows = lines.filter(|line| !line.is_empty()).map(values).collect();
        (pairs, columns, rows)
    }

    /// Returns the values of a line: split at each `|` that is not escaped, then freed of escapes.
    fn values(line: &str) -> Vec<String> {
        let mut values = vec![String::new()];
        let mut rest = line.chars().peekable();
        while let Some(character) = rest.next() {
            let value = values.last_mut().unwrap();
            match (character, rest.peek()) {
                ('\\', Some('|')) => value.extend(rest.next()),
                ('\\', Some('n')) => {
                    rest.next();
                    value.push('\n');
                }
                ('|', _) => values.push(String::new()),
                _ => value.push(character),
            }
        }
        values
    }

    fn example() -> JsonObject {
        object(json!({
            "memories": [
                {"id": "abc-123", "title": "PostgreSQL config", "tier": "long", "namespace": "infra", "priority": 9, "score": 0.763, "tags": ["postgres", "db"]},
                {"id": "def-456", "title": "Redis cache", "tier": "long", "namespace": "infra", "priority": 8, "score": 0.541, "tags": ["redis"]},
                {"id": "ghi-789", "title": "Deploy notes", "tier": "mid", "namespace": "infra", "priority": 5, "score": 0.320, "tags": []}
            ],
            "count": 3,
            "mode": "hybrid",
        }))
    }

    #[test]
    fn the_complete_example_is_written_to_the_letter() {
        let expected = "count:3|mode:hybrid\n\
            memories[id|title|tier|namespace|priority|score|tags]:\n\
            abc-123|PostgreSQL config|long|infra|9|0.763|postgres,db\n\
            def-456|Redis cache|long|infra|8|0.541|redis\n\
            ghi-789|Deploy notes|mid|infra|5|0.32|\n";
        assert_eq!(toon(&example(), &COMPACT), expected);
    }

    #[test]
    fn the_full_form_has_twelve_columns() {
        let answer = object(json!({"memories": [{
            "id": "abc-123", "title": "PostgreSQL 16 config", "tier": "long", "namespace": "infra",
            "priority": 9, "confidence": 1.0, "score": 0.763, "access_count": 2,
            "tags": ["postgres", "database"], "source": "claude", "content": "not shown",
            "created_at": "2026-04-03T15:00:00+00:00", "updated_at": "2026-04-03T15:00:00+00:00",
        }]}));
        let expected = "memories[id|title|tier|namespace|priority|confidence|score|access_count|tags|source|created_at|updated_at]:\n\
            abc-123|PostgreSQL 16 config|long|infra|9|1.0|0.763|2|postgres,database|claude|2026-04-03T15:00:00+00:00|2026-04-03T15:00:00+00:00\n";
        assert_eq!(toon(&answer, &FULL), expected);
    }

    #[test]
    fn a_search_is_written_with_the_same_header() {
        let answer = object(json!({"results": [{"id": "a"}], "count": 1, "query": "a:b|c"}));
        let written = toon(&answer, &COMPACT);
        assert!(written.starts_with("count:1|query:a:b\\|c\nmemories[id|"));
        let (pairs, _, rows) = read(&written);
        assert_eq!(pairs[1], ("query".to_owned(), "a:b|c".to_owned()));
        assert_eq!(rows, [["a", "", "", "", "", "", ""]]);
    }

    #[test]
    fn every_sort_of_value_is_written_as_described() {
        let row = |value: Value| {
            let answer = object(json!({"memories": [{"id": value, "title": "end"}]}));
            let written = toon(&answer, &["id", "title"]);
            written.lines().nth(1).unwrap().to_owned()
        };
        assert_eq!(row(json!(true)), "1|end");
        assert_eq!(row(json!(false)), "0|end");
        assert_eq!(row(json!(null)), "|end");
        assert_eq!(row(json!({"a": 1})), "[object]|end");
        assert_eq!(row(json!(["a", "b|c", 3])), "a,b\\|c,3|end");
        assert_eq!(row(json!("A|B")), "A\\|B|end");
        assert_eq!(row(json!("A\nB")), "A\\nB|end");
        // Nothing else is touched, but for what would eat the delimiter.
        assert_eq!(row(json!("C:\\new \"x\"\t")), "C:\\new \"x\"\t|end");
        assert_eq!(row(json!("a\\")), "a\\ |end");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_written_is_read_back(
            texts in prop::collection::vec("[a-c|\\\\n\n:,é ]{0,12}", 1..20),
            query in "[a-c|\\\\n\n:]{0,12}",
        ) {
            let rows: Vec<Value> = texts.iter().map(|text| json!({"id": "x", "title": text, "tags": [text]})).collect();
            let answer = object(json!({"memories": rows, "query": query}));
            let (pairs, columns, rows) = read(&toon(&answer, &["id", "title", "tags"]));
            // The two texts that the format has no spelling of.
            let known = |text: &str| {
                let end = if text.ends_with('\\') { " " } else { "" };
                format!("{text}{end}").replace("\\n", "\n")
            };
            prop_assert_eq!(columns, ["id", "title", "tags"]);
            prop_assert_eq!(&pairs[0].1, &known(&query));
            prop_assert_eq!(rows.len(), texts.len());
            for (row, text) in rows.iter().zip(&texts) {
                prop_assert_eq!(row, &["x".to_owned(), known(text), known(text)]);
            }
        }
    }
}

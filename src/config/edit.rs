//! Changes single settings in the text of the user's settings file; everything else stays.

use toml_edit::DocumentMut;
use toml_edit::Item;
use toml_edit::Table;
use toml_edit::value;

/// `text`, the user's `config.toml`, with these keys of `[embedding]` changed; `None` removes
/// one. Comments, order and everything else stay.
///
/// # Errors
///
/// Fails, saying why, if the text is no TOML or `embedding` is no table.
pub fn with_embedding(text: &str, changes: &[(&str, Option<&str>)]) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        let lines = error.message().lines().next();
        lines.unwrap_or("it is no TOML").to_owned()
    })?;
    let entry = document
        .entry("embedding")
        .or_insert(Item::Table(Table::new()));
    let table = entry.as_table_like_mut();
    let table = table.ok_or_else(|| "`embedding` is no table".to_owned())?;
    for (key, text) in changes {
        match (text, table.get_mut(key)) {
            (None, _) => {
                table.remove(key);
            }
            // The comment behind a value belongs to the line, not to the value.
            (Some(text), Some(Item::Value(old))) => {
                let around = old.decor().clone();
                *old = (*text).into();
                *old.decor_mut() = around;
            }
            (Some(text), _) => {
                table.insert(key, value(*text));
            }
        }
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_keys_that_are_meant_change() {
        check("", &[("model", Some("a"))], "[embedding]\nmodel = \"a\"\n");
        let text = "# mine\nlimit = 7 # few\n\n[embedding] # how\nmodel = 'a' # old\n\
            pooling = \"cls\"\n# end\n";
        check(
            text,
            &[
                ("model", Some("b")),
                ("pooling", None),
                ("provider", Some("local")),
            ],
            "# mine\nlimit = 7 # few\n\n[embedding] # how\nmodel = \"b\" # old\n\
            provider = \"local\"\n# end\n",
        );
        check(
            "embedding = { model = \"a\" }\n",
            &[("model", Some("C:\\b \"c\""))],
            "embedding = { model = 'C:\\b \"c\"' }\n",
        );
        assert!(with_embedding("embedding = 1", &[]).is_err());
        assert!(with_embedding("limit = ", &[]).is_err());
    }

    #[track_caller]
    fn check(text: &str, changes: &[(&str, Option<&str>)], expected: &str) {
        assert_eq!(with_embedding(text, changes).unwrap(), expected);
    }
}

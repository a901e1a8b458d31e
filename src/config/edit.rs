//! Changes single settings in the text of a settings file; everything else stays.

use toml_edit::{DocumentMut, Item, Table};

/// The value of a setting.
#[derive(Debug, Clone)]
pub struct NewValue(toml_edit::Value);

impl NewValue {
    /// Reads what somebody typed: a number, `true`, a list in brackets or a text in quotes as TOML
    /// has them, and anything else as a text.
    pub fn typed(text: &str) -> NewValue {
        NewValue(text.parse().unwrap_or_else(|_| text.into()))
    }

    /// Returns a value of type text, whatever it looks like.
    pub fn text(text: &str) -> NewValue {
        NewValue(text.into())
    }
}

/// `text`, a settings file, with these settings changed; `None` removes one. A setting is named
/// `limit`, or `embedding.model` in a table. Comments, order and everything else stay.
///
/// # Errors
///
/// Fails, saying why, if the text is no TOML or what should be a table is none.
pub fn with_settings(text: &str, changes: &[(&str, Option<NewValue>)]) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        let lines = error.message().lines().next();
        lines.unwrap_or("it is no TOML").to_owned()
    })?;
    for (name, new) in changes {
        let (table, key) = match name.split_once('.') {
            None => (document.as_item_mut(), *name),
            Some((name, _)) if new.is_none() && !document.contains_key(name) => continue,
            Some((name, key)) => {
                let table = document.entry(name).or_insert(Item::Table(Table::new()));
                (table, key)
            }
        };
        let table = table.as_table_like_mut();
        let table = table.ok_or_else(|| {
            let name = name.split('.').next().unwrap_or_default();
            format!("`{name}` is no table")
        })?;
        match (new, table.get_mut(key)) {
            (None, _) => drop(table.remove(key)),
            // The comment behind a value belongs to the line, not to the value.
            (Some(NewValue(new)), Some(Item::Value(old))) => {
                let around = old.decor().clone();
                *old = new.clone();
                *old.decor_mut() = around;
            }
            (Some(NewValue(new)), _) => drop(table.insert(key, Item::Value(new.clone()))),
        }
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_keys_that_are_meant_change() {
        check(
            "",
            &[("embedding.model", Some("a"))],
            "[embedding]\nmodel = \"a\"\n",
        );
        check("", &[("embedding.model", None), ("limit", None)], "");
        check(
            "# few\nlimit = 7 # so\n[life]\n",
            &[("limit", Some("9")), ("git", Some("false"))],
            "# few\nlimit = 9 # so\ngit = false\n[life]\n",
        );
        let text = "# mine\nlimit = 7 # few\n\n[embedding] # how\nmodel = 'a' # old\n\
            pooling = \"cls\"\n# end\n";
        check(
            text,
            &[
                ("embedding.model", Some("b")),
                ("embedding.pooling", None),
                ("embedding.provider", Some("local")),
            ],
            "# mine\nlimit = 7 # few\n\n[embedding] # how\nmodel = \"b\" # old\n\
            provider = \"local\"\n# end\n",
        );
        check(
            "embedding = { model = \"a\" }\n",
            &[("embedding.model", Some("C:\\b \"c\""))],
            "embedding = { model = 'C:\\b \"c\"' }\n",
        );
        let change = [("embedding.model", Some(NewValue::text("a")))];
        assert!(with_settings("embedding = 1", &change).is_err());
        assert!(with_settings("limit = ", &[]).is_err());
    }

    #[test]
    fn what_is_no_value_of_toml_is_a_text() {
        for (typed, written) in [
            ("7", "7"),
            ("true", "true"),
            ("[\"a\"]", "[\"a\"]"),
            ("nvim -f", "\"nvim -f\""),
            ("\"7\"", "\"7\""),
        ] {
            assert_eq!(NewValue::typed(typed).0.to_string(), written);
        }
    }

    #[track_caller]
    fn check(text: &str, changes: &[(&str, Option<&str>)], expected: &str) {
        let changes: Vec<(&str, Option<NewValue>)> = changes
            .iter()
            .map(|(name, text)| (*name, text.map(NewValue::typed)))
            .collect();
        assert_eq!(with_settings(text, &changes).unwrap(), expected);
    }
}

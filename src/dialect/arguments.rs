//! Reads a tool's arguments, forgivingly in form and strictly in meaning.
//!
//! Models send lists as arrays, as JSON in a string, or with commas; numbers as text; absent
//! values as null. All that is read. What cannot be meant gets a message that says how to call.

use serde_json::Value;

use super::JsonObject;
use crate::model::Timestamp;

/// What is wrong with a call, for the model to correct itself by.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadArgument(String);

/// The arguments of one call.
#[derive(Debug)]
pub struct Arguments {
    values: JsonObject,
}

impl Arguments {
    /// Takes the arguments of a tool that knows the names `known`.
    ///
    /// # Errors
    ///
    /// Fails on a name that is none of them: it was meant to do something.
    pub fn new(values: JsonObject, known: &[&str]) -> Result<Arguments, BadArgument> {
        if let Some(name) = values.keys().find(|name| !known.contains(&name.as_str())) {
            let near = known.iter().find(|known| is_near(known, name));
            let hint = near
                .map(|near| format!(" Did you mean `{near}`?"))
                .unwrap_or_default();
            let shown: String = name.chars().take(40).collect();
            return Err(BadArgument(format!(
                "there is no argument `{shown}`.{hint} The arguments are: {}",
                known.join(", ")
            )));
        }
        Ok(Arguments { values })
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name).filter(|value| !value.is_null())
    }

    /// A text; numbers and booleans count as their text.
    ///
    /// # Errors
    ///
    /// Fails if it is a list or an object.
    pub fn text(&self, name: &str) -> Result<Option<String>, BadArgument> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(Some(value.to_string())),
            Some(_) => Err(BadArgument(format!("`{name}` must be a text"))),
        }
    }

    /// As [`Arguments::text`], where the call makes no sense without it.
    ///
    /// # Errors
    ///
    /// Fails if it is absent, too.
    pub fn required_text(&self, name: &str) -> Result<String, BadArgument> {
        self.text(name)?
            .ok_or_else(|| BadArgument(format!("`{name}` is missing: give a text")))
    }

    /// A list of texts: an array, JSON in a text, or texts with commas between.
    ///
    /// # Errors
    ///
    /// Fails if an item is no text or number.
    pub fn list(&self, name: &str) -> Result<Option<Vec<String>>, BadArgument> {
        let bad = || {
            BadArgument(format!(
                "`{name}` must be a list of texts, such as [\"one\", \"two\"]"
            ))
        };
        let items = match self.value(name) {
            None => return Ok(None),
            Some(Value::Array(items)) => items.clone(),
            Some(Value::String(text)) => match serde_json::from_str(text) {
                Ok(Value::Array(items)) => items,
                _ => text
                    .split(',')
                    .map(|item| Value::String(item.to_owned()))
                    .collect(),
            },
            Some(value @ Value::Number(_)) => vec![value.clone()],
            Some(_) => return Err(bad()),
        };
        let texts: Vec<String> = items
            .into_iter()
            .map(|item| match item {
                Value::String(text) => Ok(text.trim().to_owned()),
                Value::Number(number) => Ok(number.to_string()),
                _ => Err(bad()),
            })
            .collect::<Result<_, _>>()?;
        Ok(Some(
            texts.into_iter().filter(|text| !text.is_empty()).collect(),
        ))
    }

    /// A whole number from `low` to `high`.
    ///
    /// # Errors
    ///
    /// Fails if it is anything else.
    pub fn number(&self, name: &str, low: u64, high: u64) -> Result<Option<u64>, BadArgument> {
        let number = match self.value(name) {
            None => return Ok(None),
            Some(Value::Number(number)) => {
                let whole = number
                    .as_f64()
                    .filter(|float| float.fract() == 0.0 && *float >= 0.0);
                number.as_u64().or_else(|| whole.map(|float| float as u64))
            }
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(_) => None,
        };
        match number {
            Some(number) if (low..=high).contains(&number) => Ok(Some(number)),
            _ if high == u64::MAX => Err(BadArgument(format!(
                "`{name}` must be a whole number, at least {low}"
            ))),
            _ => Err(BadArgument(format!(
                "`{name}` must be a whole number from {low} to {high}"
            ))),
        }
    }

    /// A moment in ISO 8601.
    ///
    /// # Errors
    ///
    /// Fails if it is none.
    pub fn moment(&self, name: &str) -> Result<Option<Timestamp>, BadArgument> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        Timestamp::parse(&text).map(Some).ok_or_else(|| {
            BadArgument(format!(
                "`{name}` must be a date or time such as 2026-01-31 or 2026-01-31T09:00:00Z"
            ))
        })
    }

    /// One word of several.
    ///
    /// # Errors
    ///
    /// Fails if it is none of them.
    pub fn word<T: std::str::FromStr<Err: ToString>>(
        &self,
        name: &str,
    ) -> Result<Option<T>, BadArgument> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        text.parse()
            .map(Some)
            .map_err(|error: T::Err| BadArgument(error.to_string()))
    }
}

impl From<&str> for BadArgument {
    fn from(message: &str) -> BadArgument {
        BadArgument(message.to_owned())
    }
}

/// Whether one name is a likely slip for another: the singular, or one that begins alike.
fn is_near(known: &str, name: &str) -> bool {
    let fold = |text: &str| {
        text.to_lowercase()
            .replace(['-', '_'], "")
            .trim_end_matches('s')
            .to_owned()
    };
    let (known, name) = (fold(known), fold(name));
    known == name || (name.len() >= 2 && (known.ends_with(&name) || known.starts_with(&name)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arguments(value: Value) -> Arguments {
        let Value::Object(values) = value else {
            panic!("an object is given")
        };
        Arguments { values }
    }

    #[test]
    fn lists_are_read_in_every_form() {
        for form in [
            json!(["a", "b"]),
            json!("[\"a\", \"b\"]"),
            json!("a, b"),
            json!("a,b,"),
        ] {
            let read = arguments(json!({"x": form})).list("x").unwrap();
            assert_eq!(read, Some(vec!["a".to_owned(), "b".to_owned()]));
        }
        assert_eq!(arguments(json!({"x": null})).list("x").unwrap(), None);
        assert_eq!(
            arguments(json!({"x": [1, "b"]}))
                .list("x")
                .unwrap()
                .unwrap()[0],
            "1"
        );
        assert!(arguments(json!({"x": [["a"]]})).list("x").is_err());
        assert!(arguments(json!({"x": {"a": 1}})).list("x").is_err());
    }

    #[test]
    fn numbers_outside_their_range_are_refused() {
        for good in [json!(5), json!("5"), json!(5.0)] {
            assert_eq!(
                arguments(json!({"x": good})).number("x", 1, 25).unwrap(),
                Some(5)
            );
        }
        for bad in [
            json!(0),
            json!(-1),
            json!(26),
            json!(1.5),
            json!("many"),
            json!([1]),
            json!(1e300),
            json!(true),
        ] {
            assert!(
                arguments(json!({"x": bad})).number("x", 1, 25).is_err(),
                "{bad}"
            );
        }
    }

    #[test]
    fn a_misspelt_argument_is_answered_with_the_right_one() {
        let Value::Object(values) = json!({"keyword": "x"}) else {
            unreachable!()
        };
        let error = Arguments::new(values, &["keywords", "query"])
            .unwrap_err()
            .to_string();
        assert!(error.contains("Did you mean `keywords`?"), "{error}");
    }
}

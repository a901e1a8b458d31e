//! Reads a tool's arguments, tolerant of form and strict in meaning.
//!
//! Models send lists as arrays, as JSON in a string, or with commas; numbers as text; absent
//! values as null. All of these are accepted. An invalid value gets an error that explains the call.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::Value;

use super::json::JsonObject;
use super::parameter::{Form, Parameter};
use crate::engine::{BadEnd, END_FORMS, Toward, read_end, read_moment};
use crate::model::{POSSIBLE_TIMES, Timestamp};

/// Error in a call's arguments, worded so that the model can correct the call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadArgument(String);

/// Name of the parameter by which a call only says what it would do.
const DRY_RUN: &str = "dry_run";

/// The arguments of one call.
#[derive(Debug)]
pub struct Arguments {
    values: JsonObject,
    parameters: &'static [Parameter],
}

impl Arguments {
    /// Takes the arguments of a tool with `parameters`.
    ///
    /// # Errors
    ///
    /// Fails on an unknown name.
    pub fn new(
        values: JsonObject,
        parameters: &'static [Parameter],
    ) -> Result<Arguments, BadArgument> {
        let arguments = Arguments { values, parameters };
        let is_open = arguments.is_known(Parameter::REST.name);
        let mut names = arguments.values.keys();
        match names.find(|name| !is_open && !arguments.is_known(name)) {
            None => Ok(arguments),
            Some(name) => Err(arguments.unknown(name)),
        }
    }

    fn is_known(&self, name: &str) -> bool {
        self.parameters.iter().any(|known| known.name == name)
    }

    fn unknown(&self, name: &str) -> BadArgument {
        let offered = self.parameters.iter().filter(|known| !known.is_hidden);
        let known: Vec<&str> = offered.map(|known| known.name).collect();
        let shown: String = name.chars().take(40).collect();
        if known.is_empty() {
            return BadArgument(format!("there is no argument `{shown}`: it takes none"));
        }
        let near = known.iter().find(|known| is_near(known, name));
        let hint = near
            .map(|near| format!(" Did you mean `{near}`?"))
            .unwrap_or_default();
        BadArgument(format!(
            "there is no argument `{shown}`.{hint} The arguments are: {}",
            known.join(", ")
        ))
    }

    /// Returns all arguments, as they were given.
    pub fn values(&self) -> &JsonObject {
        &self.values
    }

    /// Returns the names of given values that are no parameters, of a tool that accepts any.
    pub fn others(&self) -> impl Iterator<Item = &str> {
        let given = self.values.iter().filter(|(_, value)| !value.is_null());
        given
            .map(|(name, _)| name.as_str())
            .filter(|name| !self.is_known(name))
    }

    /// Returns whether anything but null was given.
    pub fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    fn value(&self, name: &str) -> Option<&Value> {
        debug_assert!(self.is_known(name), "`{name}` is in no table");
        self.values.get(name).filter(|value| !value.is_null())
    }

    /// Returns the bounds of a whole number.
    fn bounds(&self, name: &str) -> (u64, u64) {
        let mut parameters = self.parameters.iter();
        match parameters
            .find(|known| known.name == name)
            .map(|known| known.form)
        {
            Some(Form::Whole { low, high }) => (low, high),
            _ => (0, u64::MAX),
        }
    }

    /// Reads a text; numbers and booleans count as their text.
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

    /// Reads as [`Arguments::text`]; an empty text counts as absent: models send it for "none".
    ///
    /// # Errors
    ///
    /// As for [`Arguments::text`].
    pub fn set_text(&self, name: &str) -> Result<Option<String>, BadArgument> {
        let text = self.text(name)?;
        Ok(text.filter(|text| !text.trim().is_empty()))
    }

    /// Reads as [`Arguments::set_text`], on one line: a line break between words counts as a blank.
    ///
    /// # Errors
    ///
    /// As for [`Arguments::text`].
    pub fn line(&self, name: &str) -> Result<Option<String>, BadArgument> {
        let text = self.set_text(name)?;
        Ok(text.map(|text| match text.contains(['\n', '\r']) {
            true => text.split_whitespace().collect::<Vec<_>>().join(" "),
            false => text,
        }))
    }

    /// Reads a required text, as [`Arguments::text`].
    ///
    /// # Errors
    ///
    /// Fails if it is absent, too.
    pub fn required_text(&self, name: &str) -> Result<String, BadArgument> {
        self.text(name)?
            .ok_or_else(|| BadArgument(format!("`{name}` is missing: give a text")))
    }

    /// Reads a list of texts: an array, JSON in a text, or texts separated by commas.
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

    /// Reads as [`Arguments::list`], under either of two names; items of both count once.
    ///
    /// # Errors
    ///
    /// As for [`Arguments::list`].
    pub fn list_of_either(
        &self,
        name: &str,
        other: &str,
    ) -> Result<Option<Vec<String>>, BadArgument> {
        let (one, other) = (self.list(name)?, self.list(other)?);
        let (Some(mut all), Some(more)) = (one.clone(), other.clone()) else {
            return Ok(one.or(other));
        };
        for item in more {
            if !all.contains(&item) {
                all.push(item);
            }
        }
        Ok(Some(all))
    }

    /// Reads as [`Arguments::list`]; each word of a text without commas is an item.
    ///
    /// # Errors
    ///
    /// As for [`Arguments::list`].
    pub fn words(&self, name: &str) -> Result<Option<Vec<String>>, BadArgument> {
        let text = self.value(name).and_then(Value::as_str);
        let is_list = |text: &str| text.contains(',') || text.trim_start().starts_with('[');
        match text.filter(|text| !is_list(text)) {
            Some(text) => Ok(Some(text.split_whitespace().map(str::to_owned).collect())),
            None => self.list(name),
        }
    }

    /// Reads a whole number within the bounds of its parameter.
    ///
    /// # Errors
    ///
    /// Fails if it is anything else.
    pub fn number(&self, name: &str) -> Result<Option<u64>, BadArgument> {
        let (low, high) = self.bounds(name);
        match self.whole(name) {
            None => Ok(None),
            Some(Some(number)) if (low..=high).contains(&number) => Ok(Some(number)),
            Some(_) if high == u64::MAX => Err(BadArgument(format!(
                "`{name}` must be a whole number, at least {low}"
            ))),
            Some(_) => Err(BadArgument(format!(
                "`{name}` must be a whole number from {low} to {high}"
            ))),
        }
    }

    /// Reads as [`Arguments::number`]; a greater number than `most` counts as `most`.
    ///
    /// # Errors
    ///
    /// Fails if it is no whole number, or too small.
    pub fn at_most(&self, name: &str, most: u64) -> Result<Option<u64>, BadArgument> {
        let (low, _) = self.bounds(name);
        match self.whole(name) {
            None => Ok(None),
            Some(Some(number)) if number >= low => Ok(Some(number.min(most))),
            Some(_) => Err(BadArgument(format!(
                "`{name}` must be a whole number, at least {low}"
            ))),
        }
    }

    /// Reads as [`Arguments::number`]; a number outside of the bounds counts as the nearest bound.
    ///
    /// # Errors
    ///
    /// Fails if it is no number.
    pub fn clamped(&self, name: &str) -> Result<Option<u64>, BadArgument> {
        let (low, high) = self.bounds(name);
        match self.float(name) {
            None => Ok(None),
            // A cast keeps to what fits.
            Some(Some(number)) => Ok(Some((number.round() as u64).clamp(low, high))),
            Some(None) => Err(BadArgument(format!("`{name}` must be a number"))),
        }
    }

    /// Reads a number from 0 to 1.
    ///
    /// # Errors
    ///
    /// Fails if it is anything else.
    pub fn share(&self, name: &str) -> Result<Option<f64>, BadArgument> {
        match self.float(name) {
            None => Ok(None),
            Some(Some(number)) if (0.0..=1.0).contains(&number) => Ok(Some(number)),
            Some(_) => Err(BadArgument(format!(
                "`{name}` must be a number from 0.0 to 1.0"
            ))),
        }
    }

    /// Reads a boolean. An empty one counts as absent, but for `dry_run`: what was only to be tried would be done.
    ///
    /// # Errors
    ///
    /// Fails if it is neither.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, BadArgument> {
        match self.text(name)?.as_deref().map(str::trim) {
            None => Ok(None),
            Some("") if name != DRY_RUN => Ok(None),
            Some("true" | "True" | "1") => Ok(Some(true)),
            Some("false" | "False" | "0") => Ok(Some(false)),
            Some(_) => Err(BadArgument(format!("`{name}` must be true or false"))),
        }
    }

    /// Reads an object, or one as JSON in a text.
    ///
    /// # Errors
    ///
    /// Fails if it is anything else.
    pub fn object(&self, name: &str) -> Result<Option<JsonObject>, BadArgument> {
        let object = match self.value(name) {
            None => return Ok(None),
            Some(Value::Object(object)) => Some(object.clone()),
            Some(Value::String(text)) => serde_json::from_str(text).ok(),
            Some(_) => None,
        };
        object.map(Some).ok_or_else(|| {
            BadArgument(format!(
                "`{name}` must be an object, such as {{\"key\": \"value\"}}"
            ))
        })
    }

    /// Reads as [`Arguments::object`]; any other value becomes an object with the key `note`, and the second
    /// result is a warning about that.
    pub fn object_or_note(&self, name: &str) -> (Option<JsonObject>, Option<String>) {
        match (self.object(name), self.value(name)) {
            (Err(_), Some(plain)) => {
                let object = JsonObject::from_iter([("note".to_owned(), plain.clone())]);
                let told = format!("`{name}` is no object and was kept as {{\"note\": …}}");
                (Some(object), Some(told))
            }
            (object, _) => (object.ok().flatten(), None),
        }
    }

    /// Reads a list of objects, or one as JSON in a text; a single object is a list of it. Each item is read
    /// by itself, so that a bad one does not affect the others.
    ///
    /// # Errors
    ///
    /// Fails if it is no list, or longer than its parameter allows.
    pub fn objects(
        &self,
        name: &str,
    ) -> Result<Option<Vec<Result<JsonObject, BadArgument>>>, BadArgument> {
        let items = match self.value(name) {
            None => return Ok(None),
            Some(Value::Array(items)) => Some(items.clone()),
            Some(object @ Value::Object(_)) => Some(vec![object.clone()]),
            Some(Value::String(text)) => serde_json::from_str(text).ok(),
            Some(_) => None,
        };
        let what = || format!("`{name}` must be a list of objects");
        let items = items.ok_or_else(|| BadArgument(what()))?;
        let most = self.most_objects(name);
        if items.len() > most {
            let count = items.len();
            return Err(BadArgument(format!(
                "`{name}` must have at most {most} items, not {count}: send them in parts"
            )));
        }
        let no_object = || BadArgument("it is no object".to_owned());
        let object = |item: Value| match item {
            Value::Object(object) => Ok(object),
            Value::String(text) => serde_json::from_str(&text).map_err(|_| no_object()),
            _ => Err(no_object()),
        };
        Ok(Some(items.into_iter().map(object).collect()))
    }

    fn most_objects(&self, name: &str) -> usize {
        let mut parameters = self.parameters.iter();
        let form = parameters.find(|known| known.name == name);
        match form.map(|known| known.form) {
            Some(Form::Objects { most, .. }) => most,
            _ => usize::MAX,
        }
    }

    /// Returns the whole number that was given; `Some(None)` for another value.
    fn whole(&self, name: &str) -> Option<Option<u64>> {
        Some(match self.value(name)? {
            Value::Number(number) => {
                let whole = number
                    .as_f64()
                    .filter(|float| float.fract() == 0.0 && *float >= 0.0);
                number.as_u64().or_else(|| whole.map(|float| float as u64))
            }
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        })
    }

    /// Returns the number that was given; `Some(None)` for another value.
    fn float(&self, name: &str) -> Option<Option<f64>> {
        let number = match self.value(name)? {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        Some(number.filter(|number| number.is_finite()))
    }

    /// Reads a moment as people and agents write it: ISO 8601, which stays as it is written, `yesterday`,
    /// `3d`, `last week`.
    ///
    /// # Errors
    ///
    /// Fails if it is none.
    pub fn when(
        &self,
        name: &str,
        now: DateTime<Utc>,
        toward: Toward,
    ) -> Result<Option<Timestamp>, BadArgument> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let read = || read_moment(&text, now, toward).map(Timestamp::from_utc);
        Timestamp::parse(&text).or_else(read).map(Some).ok_or_else(|| {
            BadArgument(format!(
                "`{name}` must be a date or time {POSSIBLE_TIMES}, such as 2026-01-31 or 2026-01-31T09:00:00Z, or one seen from now, such as yesterday, 3d, last week"
            ))
        })
    }

    /// Reads the expiry of a memory, in any form that [`read_end`] takes.
    ///
    /// # Errors
    ///
    /// Fails if it is no time, and if it is over.
    pub fn end(&self, name: &str, now: DateTime<Utc>) -> Result<Option<Timestamp>, BadArgument> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        read_end(&text, now, now).map(Some).map_err(|bad| {
            BadArgument(match bad {
                BadEnd::Unreadable => format!(
                    "`{name}` must be a time to come {POSSIBLE_TIMES}: {END_FORMS}; not `{text}`"
                ),
                BadEnd::Past(end) => format!(
                    "`{name}` is already past ({}): the memory would be found no more. Give {END_FORMS}, or leave it out",
                    end.to_rfc3339_opts(SecondsFormat::Secs, true)
                ),
            })
        })
    }

    /// Reads a moment in ISO 8601.
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
                "`{name}` must be a date or time {POSSIBLE_TIMES}, such as 2026-01-31 or 2026-01-31T09:00:00Z"
            ))
        })
    }

    /// Reads a word of a fixed set.
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

/// Returns whether one name is a likely mistake for another: the singular, a prefix or a suffix.
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

    const ONE: &[Parameter] = &[Parameter::whole("x", 1, 25, "")];

    fn arguments(value: Value) -> Arguments {
        let Value::Object(values) = value else {
            panic!("an object is given")
        };
        Arguments::new(values, ONE).unwrap()
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
    fn a_list_of_objects_is_read_item_by_item() {
        const MANY: &[Parameter] = &[Parameter::new(
            "x",
            Form::Objects {
                members: ONE,
                most: 2,
            },
            "",
        )];
        let read = |value: Value| {
            let Value::Object(values) = json!({"x": value}) else {
                unreachable!()
            };
            Arguments::new(values, MANY).unwrap().objects("x")
        };
        let items = read(json!([{"x": 1}, 7])).unwrap().unwrap();
        assert_eq!(items[0].as_ref().unwrap()["x"], 1);
        assert_eq!(
            items[1].as_ref().unwrap_err().to_string(),
            "it is no object"
        );
        assert_eq!(read(json!("[{}]")).unwrap().unwrap().len(), 1);
        assert_eq!(read(json!({"x": 1})).unwrap().unwrap().len(), 1);
        assert_eq!(read(json!(null)).unwrap().map(|items| items.len()), None);
        assert!(read(json!("x")).is_err() && read(json!(1)).is_err());
        let error = read(json!([{}, {}, {}])).unwrap_err().to_string();
        assert!(error.contains("at most 2 items, not 3"), "{error}");
    }

    #[test]
    fn numbers_outside_their_range_are_refused() {
        for good in [json!(5), json!("5"), json!(5.0)] {
            assert_eq!(arguments(json!({"x": good})).number("x").unwrap(), Some(5));
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
            assert!(arguments(json!({"x": bad})).number("x").is_err(), "{bad}");
        }
    }

    #[test]
    fn bounds_are_kept_as_the_tool_wants_it() {
        let one = |value: Value| arguments(json!({"x": value}));
        assert_eq!(one(json!(80)).at_most("x", 25).unwrap(), Some(25));
        assert!(one(json!(0)).at_most("x", 25).is_err());
        for (given, kept) in [
            (json!(0), 1),
            (json!(-3), 1),
            (json!(7.6), 8),
            (json!(99), 25),
        ] {
            assert_eq!(one(given).clamped("x").unwrap(), Some(kept));
        }
        assert!(one(json!("high")).clamped("x").is_err());
        assert_eq!(one(json!("0.5")).share("x").unwrap(), Some(0.5));
        assert!(one(json!(1.01)).share("x").is_err());
        assert!(one(json!("nan")).share("x").is_err());
        assert_eq!(one(json!("true")).flag("x").unwrap(), Some(true));
        assert!(one(json!("maybe")).flag("x").is_err());
        assert!(one(json!([1])).object("x").is_err());
        let object = one(json!("{\"a\": 1}")).object("x").unwrap().unwrap();
        assert_eq!(object["a"], 1);
    }

    #[test]
    fn a_misspelt_argument_is_answered_with_the_right_one() {
        let Value::Object(values) = json!({"keyword": "x"}) else {
            unreachable!()
        };
        const TWO: &[Parameter] = &[
            Parameter::texts("keywords", ""),
            Parameter::text("query", ""),
        ];
        let error = Arguments::new(values, TWO).unwrap_err().to_string();
        assert!(error.contains("Did you mean `keywords`?"), "{error}");
    }
}

//! Values of foreign JSON, read without trust in their types: what is no text is no text, and no error.

use std::fmt;
use std::marker::PhantomData;

use chrono::{DateTime, NaiveDateTime, Utc};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::model::is_possible_time;

/// A text, or a number as text; `None` for anything else.
#[derive(Debug, Default, Clone)]
pub(super) struct Text(pub Option<String>);

impl Text {
    /// Returns the text, if there is one that says something.
    pub fn get(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.trim().is_empty())
    }

    /// Returns whether it is `text`.
    pub fn is(&self, text: &str) -> bool {
        self.0.as_deref() == Some(text)
    }
}

/// A truth value; anything but `true` is false.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Flag(pub bool);

/// A moment: ISO 8601, or seconds, milliseconds or microseconds since 1970 as a number or a text.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Moment(pub Option<DateTime<Utc>>);

impl Moment {
    /// Reads a text.
    pub fn parse(text: &str) -> Moment {
        let text = text.trim();
        if let Ok(number) = text.parse::<f64>() {
            return Moment::of_number(number);
        }
        let at = DateTime::parse_from_rfc3339(text).map(|at| at.to_utc());
        let naive = || {
            [
                "%Y-%m-%dT%H:%M:%S%.f",
                "%Y-%m-%d %H:%M:%S%.f",
                "%Y-%m-%d %H:%M",
            ]
            .iter()
            .find_map(|form| NaiveDateTime::parse_from_str(text, form).ok())
            .map(|naive| naive.and_utc())
        };
        let at = at.ok().or_else(naive);
        Moment(at.filter(|at| is_possible_time(*at)))
    }

    fn of_number(number: f64) -> Moment {
        let micros = match number {
            // Seconds up to the year 5138, milliseconds, microseconds.
            number if number < 1e11 => number * 1e6,
            number if number < 1e14 => number * 1e3,
            number => number,
        };
        // Zero is how some programs write that there is no time.
        let is_time = (1.0..9e18).contains(&micros);
        #[allow(clippy::cast_possible_truncation, reason = "the range was checked")]
        let at = is_time.then(|| DateTime::from_timestamp_micros(micros.round() as i64));
        Moment(at.flatten().filter(|at| is_possible_time(*at)))
    }
}

/// A list; anything else is an empty one.
#[derive(Debug, Clone)]
pub(super) struct List<T>(pub Vec<T>);

impl<T> Default for List<T> {
    fn default() -> List<T> {
        List(Vec::new())
    }
}

/// Makes a value of whatever kind of JSON there is.
pub(super) trait FromAny: Sized + Default {
    fn text(_: &str) -> Self {
        Self::default()
    }
    fn number(_: f64) -> Self {
        Self::default()
    }
    fn flag(_: bool) -> Self {
        Self::default()
    }
    fn list<'de, A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
    fn map<'de, A: MapAccess<'de>>(mut entries: A) -> Result<Self, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

struct Any<T>(PhantomData<T>);

impl<'de, T: FromAny> Visitor<'de> for Any<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::text(text))
    }
    #[allow(clippy::cast_precision_loss, reason = "moments have fewer digits")]
    fn visit_i64<E>(self, number: i64) -> Result<T, E> {
        Ok(T::number(number as f64))
    }
    #[allow(clippy::cast_precision_loss, reason = "moments have fewer digits")]
    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(T::number(number as f64))
    }
    fn visit_f64<E>(self, number: f64) -> Result<T, E> {
        Ok(T::number(number))
    }
    fn visit_bool<E>(self, flag: bool) -> Result<T, E> {
        Ok(T::flag(flag))
    }
    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<T, A::Error> {
        T::list(items)
    }
    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<T, A::Error> {
        T::map(entries)
    }
}

/// Reads any JSON value as a `T`.
pub(super) fn any<'de, T: FromAny, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_any(Any(PhantomData))
}

macro_rules! read_from_any {
    ($($type:ty),*) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::talks::loose::any(from)
            }
        }
    )*};
}
pub(super) use read_from_any;

read_from_any!(Text, Flag, Moment);

impl FromAny for Text {
    fn text(text: &str) -> Text {
        Text(Some(text.to_owned()))
    }
    fn number(number: f64) -> Text {
        Text(Some(number.to_string()))
    }
}

impl FromAny for Flag {
    fn flag(flag: bool) -> Flag {
        Flag(flag)
    }
}

impl FromAny for Moment {
    fn text(text: &str) -> Moment {
        Moment::parse(text)
    }
    fn number(number: f64) -> Moment {
        Moment::of_number(number)
    }
}

impl<T: for<'a> Deserialize<'a>> FromAny for List<T> {
    fn list<'de, A: SeqAccess<'de>>(mut items: A) -> Result<List<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(List(list))
    }
}

impl<'de, T: for<'a> Deserialize<'a>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<List<T>, D::Error> {
        any(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_form_that_exports_use() {
        let at = "2024-06-09T08:29:11.500+00:00";
        for json in [
            "1717921751.5",
            "1717921751500",
            "1717921751500000",
            "\"1717921751.5\"",
            "\"2024-06-09T08:29:11.5Z\"",
            "\"2024-06-09T10:29:11.500+02:00\"",
            "\"2024-06-09 08:29:11.5\"",
        ] {
            let Moment(read) = serde_json::from_str(json).unwrap();
            let read = read.map(|at| at.to_rfc3339_opts(chrono::SecondsFormat::Millis, false));
            assert_eq!(read.as_deref(), Some(at), "{json}");
        }
        for json in ["null", "0", "-1", "1e300", "\"soon\"", "[1]", "{}", "true"] {
            let Moment(read) = serde_json::from_str(json).unwrap();
            assert_eq!(read, None, "{json}");
        }
    }
}

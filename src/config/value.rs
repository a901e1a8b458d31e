//! The types of settings: which texts are values of each, and how a value is written.

use std::fmt;

use chrono::TimeDelta;

use super::units::{span, written};
use crate::model::OtherNames;
use crate::words::Language;

/// The type of a setting.
#[derive(Debug, Clone, Copy)]
pub enum SettingType {
    /// Any text; an empty one says nothing.
    Text,
    /// Any text, also an empty one, with its blanks.
    Verbatim,
    /// A text that can stand in the frontmatter of every new memory.
    Name,
    Path,
    /// Words, separated by commas.
    List,
    Switch,
    Whole {
        least: usize,
        most: usize,
    },
    /// The number of things that are a group: 0, or from 2 on.
    Group,
    /// From 0 to 1.
    Share,
    Span,
    /// A span of at least this many seconds, or the word that stands for none.
    SpanOr {
        none: &'static str,
        least: i64,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Names of languages, separated by commas.
    Languages,
    /// A table of users with their other names.
    OtherNames,
}

/// The value of a setting.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SettingValue {
    Unset,
    Text(String),
    Switch(bool),
    Whole(usize),
    Share(f64),
    Span(TimeDelta),
    /// No span; the word for that.
    Never(&'static str),
}

const LONGEST_NAME: usize = 256;
const LARGEST_GROUP: usize = 10_000;

impl SettingType {
    /// Parses `text` as a value.
    ///
    /// # Errors
    ///
    /// Says what is wrong with it, as the end of a sentence that begins with the setting.
    pub(super) fn read(self, text: &str) -> Result<SettingValue, String> {
        let word = text.trim();
        let read = match self {
            SettingType::Verbatim => Ok(SettingValue::Text(text.to_owned())),
            SettingType::Name => return name(text),
            SettingType::Text | SettingType::Path | SettingType::List | SettingType::OtherNames
                if word.is_empty() =>
            {
                Ok(SettingValue::Unset)
            }
            SettingType::Text | SettingType::Path => Ok(SettingValue::Text(word.to_owned())),
            SettingType::List => Ok(SettingValue::Text(list(word, str::to_owned).join(","))),
            SettingType::Switch => switch(word)
                .map(SettingValue::Switch)
                .ok_or_else(not_a_switch),
            SettingType::Whole { least, most } => whole(word, least, most).map(SettingValue::Whole),
            SettingType::Group => match whole(word, 0, LARGEST_GROUP) {
                Ok(1) => Err("no group".to_owned()),
                other => other.map(SettingValue::Whole),
            },
            SettingType::Share => share(word).map(SettingValue::Share),
            SettingType::Span => span(word).map(SettingValue::Span),
            SettingType::SpanOr { none, .. } if word == none || none == "off" && is_off(word) => {
                Ok(SettingValue::Never(none))
            }
            SettingType::SpanOr { none, least } => match span(word) {
                Ok(span) if span.num_seconds() < least => {
                    Err(format!("less than {}", written(TimeDelta::seconds(least))))
                }
                Ok(span) => Ok(SettingValue::Span(span)),
                Err(why) => Err(format!("{why}; `{none}` is none")),
            },
            SettingType::Choice(words) => choice(word, words),
            SettingType::Languages => languages(word),
            SettingType::OtherNames => word
                .parse()
                .map(|names: OtherNames| SettingValue::Text(names.to_string())),
        };
        read.map_err(|what| format!("is `{text}`, which is {what}"))
    }
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingValue::Unset => Ok(()),
            SettingValue::Text(text) => f.write_str(text),
            SettingValue::Switch(is_on) => f.write_str(if *is_on { "on" } else { "off" }),
            SettingValue::Whole(number) => write!(f, "{number}"),
            SettingValue::Share(number) => write!(f, "{number}"),
            SettingValue::Span(span) => f.write_str(&written(*span)),
            SettingValue::Never(word) => f.write_str(word),
        }
    }
}

fn name(text: &str) -> Result<SettingValue, String> {
    if text.trim().is_empty() {
        Err("is empty".to_owned())
    } else if text.chars().any(char::is_control) {
        Err("holds a control character".to_owned())
    } else if text.len() > LONGEST_NAME {
        Err(format!("has more than {LONGEST_NAME} bytes"))
    } else {
        Ok(SettingValue::Text(text.to_owned()))
    }
}

fn is_off(word: &str) -> bool {
    ["off", "false", "no", "none", "0"].contains(&word.to_lowercase().as_str())
}

fn switch(word: &str) -> Option<bool> {
    match word.to_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

fn not_a_switch() -> String {
    "neither on nor off".to_owned()
}

fn whole(word: &str, least: usize, most: usize) -> Result<usize, String> {
    let number = word.parse().ok();
    let number = number.filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("no whole number from {least} to {most}"))
}

fn share(word: &str) -> Result<f64, String> {
    let number: Option<f64> = word.parse().ok();
    let number = number.filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "no number from 0 to 1".to_owned())
}

fn choice(word: &str, words: &'static [&'static str]) -> Result<SettingValue, String> {
    let small = word.to_lowercase();
    let meant = match is_off(&small) {
        true if words.contains(&"off") => "off",
        _ => small.as_str(),
    };
    match words.contains(&meant) {
        true => Ok(SettingValue::Text(meant.to_owned())),
        false => Err(format!("none of {}", words.join(", "))),
    }
}

fn languages(text: &str) -> Result<SettingValue, String> {
    let languages: Result<Vec<Language>, String> = list(text, str::parse).into_iter().collect();
    let languages = languages.map_err(|what| format!("wrong: {what}"))?;
    match languages.is_empty() {
        true => Err("no language".to_owned()),
        false => {
            let names: Vec<&str> = languages.into_iter().map(Language::name).collect();
            Ok(SettingValue::Text(names.join(",")))
        }
    }
}

/// Returns the words between commas.
pub(super) fn list<T>(text: &str, make: impl Fn(&str) -> T) -> Vec<T> {
    let words = text.split(',').map(str::trim);
    words.filter(|word| !word.is_empty()).map(make).collect()
}

//! Judges a value by itself: whether it could be a secret, by its length, its characters and their
//! entropy. What rather is a word, or is there instead of a secret (`placeholder`), is none.

use super::randomness::{entropy, is_jumbled, is_word_and_number, is_wordy};
use super::{base64, placeholder};

/// Kind of name in front of a value, which decides how much the value has to look like a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    /// People choose passwords: short ones count, and words with a digit.
    Password,
    /// Machines make tokens: they are long and without an order.
    Token,
}

/// The way in which a value is set apart from the text around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delimiting {
    /// In quotation marks.
    Quoted,
    /// The rest of a line of settings: `NAME=value`, `name: value`.
    Line,
    /// In the middle of a line.
    Bare,
}

/// Returns whether the value of a named field is a secret.
pub(super) fn is_secret(value: &str, name: NameKind, setting: Delimiting) -> bool {
    let is_one_word = !value.contains(|c: char| c.is_whitespace() || c.is_control());
    let looks_made = is_one_word
        && value.len() <= MAX_LEN
        && match name {
            NameKind::Password => is_password(value, setting),
            NameKind::Token => is_token(value, setting),
        };
    looks_made
        && !placeholder::is_example(value)
        && !placeholder::is_placeholder(value)
        && !placeholder::is_reference(value)
        && !placeholder::is_common_shape(value)
        && (setting == Delimiting::Quoted || !placeholder::is_code(value))
}

/// Longer values are data.
pub(super) const MAX_LEN: usize = 4096;

fn is_password(value: &str, setting: Delimiting) -> bool {
    let classes = Classes::of(value);
    let has_sign = |text: &str| text.contains(|c: char| "!@#$%^&*+=?~|".contains(c));
    // A sign at the end may be the sentence's.
    let inner = value.trim_end_matches(|c: char| c.is_ascii_punctuation());
    let is_signed = has_sign(inner) || (setting != Delimiting::Bare && has_sign(value));
    let is_cased = classes.upper > 0 && classes.lower > 0;
    match (classes.letters(), classes.digits) {
        _ if value.chars().count() < 6 => false,
        (0, digits) => digits >= 6 && setting == Delimiting::Quoted && digits == value.len(),
        (_, 0) => {
            is_jumbled(value)
                || (has_sign(inner) && value.len() >= 8 && is_cased)
                || is_padded(value)
        }
        _ => is_signed || !is_wordy(value) || is_word_and_number(value),
    }
}

/// Base64 that ends in its padding: a secret of Kubernetes, for one.
fn is_padded(value: &str) -> bool {
    value.len() >= 8 && value.ends_with('=') && base64::decode(value).is_some()
}

fn is_token(value: &str, setting: Delimiting) -> bool {
    let classes = Classes::of(value);
    let is_mixed = classes.letters() > 0 && classes.digits > 0;
    match value.len() {
        0..10 => false,
        10..16 => {
            is_mixed
                && classes.upper > 0
                && classes.lower > 0
                && !is_wordy(value)
                && entropy(value) >= 3.0
        }
        _ => {
            // In the middle of a line of code, letters alone are a name.
            (is_mixed && !is_wordy(value) && entropy(value) >= 2.8)
                || (setting != Delimiting::Bare && is_jumbled(value))
        }
    }
}

/// Returns whether it is made of more than words and short numbers, with little repetition.
pub(super) fn is_random(value: &str) -> bool {
    value.len() >= 16 && entropy(value) >= 3.0 && !is_wordy(value)
}

/// Number of characters of each class in a text.
struct Classes {
    lower: usize,
    upper: usize,
    digits: usize,
}

impl Classes {
    fn of(text: &str) -> Classes {
        let count = |is: fn(char) -> bool| text.chars().filter(|c| is(*c)).count();
        Classes {
            lower: count(|c| c.is_alphabetic() && !c.is_uppercase()),
            upper: count(char::is_uppercase),
            digits: count(|c| c.is_ascii_digit()),
        }
    }

    fn letters(&self) -> usize {
        self.lower + self.upper
    }
}

/// Returns whether a word can begin at `at`: after a blank, a quotation mark, an escaped line break, …
pub(super) fn begins_word(text: &str, at: usize) -> bool {
    let before = &text.as_bytes()[..at];
    match before {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => true,
        [.., byte] => !(byte.is_ascii_alphanumeric() || *byte == b'_'),
        [] => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_paths_and_references_are_no_secrets() {
        for value in [
            "changeme",
            "<password>",
            "${DB_PASSWORD}",
            "$PASSWORD",
            "{{ password }}",
            "os.environ[\"X\"]",
            "process.env.TOKEN",
            "null",
            "none",
            "required",
            "/run/secrets/db",
            "./key.pem",
            "secret123",
            "prod-db-password",
            "https://example.org/login",
            "20260101_000000_1f3a9c02",
            "2026-01-01",
            "v1.2.3",
            "4096",
            "300ms",
            "String",
            "UserPasswordHash",
            "me@example.org",
            "sha256:ab12",
            "***",
            "…",
        ] {
            assert!(
                !is_secret(value, NameKind::Password, Delimiting::Quoted),
                "{value}"
            );
            assert!(
                !is_secret(value, NameKind::Token, Delimiting::Quoted),
                "{value}"
            );
        }
    }

    #[test]
    fn an_expression_is_no_secret_unless_it_is_quoted() {
        for value in [
            "get_password(1)",
            "user.password2",
            "Some(x1)",
            "&token1",
            "vec![0;32]",
            "a::b1",
        ] {
            assert!(
                !is_secret(value, NameKind::Password, Delimiting::Bare),
                "{value}"
            );
        }
    }

    #[test]
    fn people_choose_short_passwords() {
        for value in [
            "hunter2",
            "Tr0ub4dor&3",
            "p@ssw0rd!",
            "Sommer2024",
            "k9$Lm2",
            "fünf5Äpfel",
        ] {
            assert!(
                is_secret(value, NameKind::Password, Delimiting::Quoted),
                "{value}"
            );
        }
    }

    #[test]
    fn tokens_are_long_and_without_order() {
        for value in [
            "9f8b2c4d7e1a6053",
            "kJhGfDsAqWeRtYuIoP",
            "550e8400-e29b-41d4-a716-446655440000",
            "Zx81Lq0pTv",
        ] {
            assert!(
                is_secret(value, NameKind::Token, Delimiting::Line),
                "{value}"
            );
        }
        for value in [
            "abc123",
            "session2",
            "refresh_token_v2",
            "aaaaaaaaaaaaaaaa1",
        ] {
            assert!(
                !is_secret(value, NameKind::Token, Delimiting::Line),
                "{value}"
            );
        }
    }
}

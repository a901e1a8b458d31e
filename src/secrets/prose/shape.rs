//! The shapes of words in a sentence: one that links a noun to a value, a password, a token, a code.

use crate::secrets::words::WORDS;
use crate::secrets::{placeholder, randomness, value};

/// The link between a noun and a value, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// A colon, or a word for *is*.
    Is,
    /// *changed to …*; or nothing at all.
    Beside,
}

/// Returns the link that a word makes between a noun and a value, if it makes one.
pub(super) fn link_of(word: &str) -> Option<Link> {
    match word.trim_end_matches(':') {
        "" => Some(Link::Is).filter(|_| !word.is_empty()),
        "is" | "are" | "was" | "reads" | "equals" | "now" | "ist" | "sind" | "lautet"
        | "lauten" | "war" | "heißt" | "jetzt" | "nun" | "est" | "sont" | "désormais" | "es"
        | "son" | "ahora" | "=" | "->" | "=>" | "→" | ":=" | "-" | "–" | "—" => {
            Some(Link::Is)
        }
        "to" | "auf" | "en" | "à" | "a" | "zu" => Some(Link::Beside),
        _ => None,
    }
}

/// Returns whether somebody could have chosen it for a password and not for a word of the sentence.
pub(super) fn is_password(value: &str, link: Link) -> bool {
    let count = value.chars().count();
    let has = |is: fn(char) -> bool| value.contains(is);
    let inner = value.trim_matches(|c: char| c.is_ascii_punctuation());
    let has_sign = inner.contains(|c: char| "!@#$%^&*+=?~|".contains(c)) || value.ends_with('!');
    let (digits, letters) = (has(|c| c.is_ascii_digit()), has(char::is_alphabetic));
    let is_cased = has(char::is_uppercase) && has(char::is_lowercase);
    let is_odd = digits && letters || (has_sign && is_cased && inner.len() > 6);
    (7..=64).contains(&count)
        && is_odd
        && !value.contains(|c: char| c.is_whitespace() || "()[]{}<>|\\\"`".contains(c))
        && !value.contains("::")
        && !value.contains("//")
        && !is_setting(value)
        && !value.starts_with(['/', '-', '.', '#', '@', '~', '&'])
        && !placeholder::is_example(value)
        && !placeholder::is_placeholder(value)
        && !placeholder::is_reference(value)
        && !placeholder::is_common_shape(value)
        && !describes(value)
        && (link == Link::Is || !randomness::is_wordy(value) || has_sign || is_long_name(inner))
}

/// `regenbogen4711`: a long word and two digits or more, as no name has them.
pub(super) fn is_long_name(value: &str) -> bool {
    let word = value.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = value.len() - word.len();
    (2..=6).contains(&digits) && word.len() >= 8 && word.chars().all(char::is_alphabetic)
}

/// `stream=None`, `1:4.13+dfsg1`: another setting, a version.
pub(super) fn is_setting(value: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphabetic() || c == '_';
    let rest = value.trim_start_matches(is_name);
    let is_assigned = rest.len() < value.len() && rest.starts_with('=') && rest.len() > 1;
    let is_version = value
        .as_bytes()
        .windows(3)
        .any(|three| three[0].is_ascii_digit() && three[1] == b'.' && three[2].is_ascii_digit());
    is_assigned || is_version
}

/// `12-character`, `90days`, `v2-beta`.
pub(super) fn is_measure(value: &str) -> bool {
    let rest = value.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = rest.trim_start_matches(['-', '–']);
    let digits = value.len() - rest.len();
    let is_version = value.starts_with('v') && value[1..].starts_with(|c: char| c.is_ascii_digit());
    is_version || (digits > 0 && digits <= 5 && rest.chars().all(|c| c.is_lowercase()))
}

/// Returns whether a value says how a credential is made or how long it is.
pub(in crate::secrets) fn describes(value: &str) -> bool {
    is_measure(value) || names_method(value)
}

pub(super) fn names_method(value: &str) -> bool {
    let methods = WORDS.list("methods");
    value
        .split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .any(|piece| methods.iter().any(|method| piece.starts_with(&**method)))
}

/// Several words in quotation marks, of which none joins a sentence.
pub(super) fn is_phrase(value: &str) -> bool {
    let words: Vec<&str> = value.split(' ').collect();
    let is_word = |word: &&str| {
        !word.is_empty()
            && word.chars().all(char::is_alphanumeric)
            && !WORDS.has("function words", &word.to_lowercase())
    };
    (4..=10).contains(&words.len())
        && words.iter().all(is_word)
        && (value.contains(|c: char| c.is_ascii_digit()) || words.len() <= 6)
}

/// Returns whether a machine made it.
pub(super) fn is_token(value: &str) -> bool {
    let value = value.strip_prefix("0x").unwrap_or(value);
    let has = |is: fn(u8) -> bool| value.bytes().any(is);
    let is_mixed = has(|byte| byte.is_ascii_digit()) && has(|byte| byte.is_ascii_alphabetic());
    value.len() >= 16
        && (is_mixed || value.len() >= 24)
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_+/=.~:!%".contains(&byte))
        && value.bytes().filter(|byte| *byte == b':').count() <= 1
        && value::is_random(value)
        && !placeholder::is_example(value)
        && !placeholder::is_placeholder(value)
        && !placeholder::is_reference(value)
        && !placeholder::is_common_shape(value)
        && !value.starts_with(['/', '-', '.'])
        && !names_hash(value)
}

/// `sha256:…`, `SHA256:…`, `md5=…`
pub(super) fn names_hash(value: &str) -> bool {
    let small = value.to_ascii_lowercase();
    ["sha", "md5", "blake", "crc"]
        .iter()
        .any(|name| small.starts_with(name))
}

pub(super) fn is_base32(value: &str) -> bool {
    let is_upper = value
        .bytes()
        .all(|byte| byte.is_ascii_uppercase() || (b'2'..=b'7').contains(&byte));
    let is_lower = value
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte));
    is_upper || is_lower
}

/// Returns whether it is a seed of one-time passwords, written without groups.
pub(super) fn is_seed(value: &str) -> bool {
    let value = value.trim_end_matches('=');
    (16..=128).contains(&value.len())
        && is_base32(value)
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && randomness::entropy(value) >= 2.8
}

/// `a1b2c-3d4e5`, `48213377`, `k3f9w2xq`.
pub(super) fn is_recovery_code(value: &str) -> bool {
    let groups: Vec<&str> = value.split('-').collect();
    let is_group = |group: &&str| {
        (3..=8).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let is_mixed = has_digit && value.bytes().any(|byte| byte.is_ascii_alphabetic());
    let is_grouped = (2..=6).contains(&groups.len())
        && groups.iter().all(is_group)
        && has_digit
        && !placeholder::is_common_shape(value)
        && (groups.iter().any(|group| group.len() >= 4) && !randomness::is_wordy(value)
            || groups.iter().all(|group| group.len() == groups[0].len()));
    let is_single = groups.len() == 1
        && is_group(&value)
        && (value.len() == 8 || value.len() == 6 && !is_mixed)
        && has_digit
        && !placeholder::is_placeholder(value);
    let is_long = groups.len() == 1
        && (9..=20).contains(&value.len())
        && is_mixed
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && !randomness::is_wordy(value);
    is_grouped || is_single || is_long
}

//! Secrets that show by how they are built: private keys in blocks of text, and JSON web tokens.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::secret::{Judged, Secret};
use super::value::begins_word;
use super::{base64, randomness};

const PRIVATE_KEY: &str = "a private key";
const WEB_TOKEN: &str = "a JSON web token";

/// Kinds of credentials that are found here.
pub(super) const KINDS: [&str; 2] = [PRIVATE_KEY, WEB_TOKEN];

/// Beginnings of these credentials.
pub(super) const MARKS: [&str; 4] = ["-----BEGIN ", "---- BEGIN ", "Private-Lines: ", "eyJ"];

/// Judges the text that begins at `at`, if it begins as one of these.
pub(super) fn at(text: &str, at: usize) -> Option<Judged> {
    let rest = &text[at..];
    let (kind, range) = if rest.starts_with("eyJ") {
        (WEB_TOKEN, web_token(text, at)?)
    } else if rest.starts_with("Private-Lines: ") {
        (PRIVATE_KEY, putty_lines(text, at)?)
    } else {
        (PRIVATE_KEY, block(text, at)?)
    };
    Some(Judged {
        end: range.end,
        secret: Some(Secret { kind, range }),
    })
}

/// Longer than any key that people write: a PGP key with many parts has about half of this.
const MAX_BLOCK: usize = 64 * 1024;

/// Lines of base64 below a header, also where line breaks are written as `\n` or lines are quoted.
const LINES: &str = r#"(?:[ \t>"'+]{0,40}(?:\\r)?(?:\\n|\r?\n|[ \t])[ \t>"'+#/*]{0,40}(?:[A-Za-z0-9+/=]{16,}|(?:Proc-Type|DEK-Info|Version|Comment|Subject)[^\\\n]{0,200})?)*"#;

/// Returns the whole of a private key between its `BEGIN` and `END` lines (RFC 7468, RFC 4880, RFC 4716);
/// of one whose end is missing, the lines that are there.
fn block(text: &str, at: usize) -> Option<Range<usize>> {
    static HEADER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^-----? ?BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)? ?-----?")
            .expect("it is valid")
    });
    static FOOTER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^-----? ?END (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?(?: ?-----?)?")
            .expect("it is valid")
    });
    static TORN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(&format!("^{LINES}")).expect("it is valid"));

    let near = &text[at..text.floor_char_boundary(at + MAX_BLOCK)];
    let body = HEADER.find(&near[..near.floor_char_boundary(100)])?.end();
    // The header of the next block ends this one, so that headers in a row cost no more.
    let dashes = near[body..].find("----").map_or(near.len(), |at| body + at);
    let footer = FOOTER.find(&near[dashes..near.floor_char_boundary(dashes + 100)]);
    let end = match footer {
        Some(footer) => dashes + footer.end(),
        None => body + TORN.find(&near[body..dashes])?.end(),
    };
    let is_margin = |c: char| c.is_ascii_whitespace() || "\"'+>#/*".contains(c);
    let end = near[..end].trim_end_matches(is_margin).len();
    (end > body && holds_key(&near[body..end])).then_some(at..at + end)
}

/// Returns whether there is a line that looks like a part of a key, not dots and words in its place.
fn holds_key(body: &str) -> bool {
    // `\n` between lines would lend its `n` to the next one.
    body.replace("\\n", "\n")
        .split(|c: char| !u8::try_from(c).is_ok_and(is_base64))
        .any(|line| line.len() >= 32 && randomness::entropy(line) >= 3.5)
}

/// Returns the lines of a PuTTY key file that hold the private part.
fn putty_lines(text: &str, at: usize) -> Option<Range<usize>> {
    static HEADER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^Private-Lines: [0-9]{1,4}\r?\n").expect("it is valid"));
    let rest = &text[at..text.floor_char_boundary(at + MAX_BLOCK)];
    let start = HEADER.find(&rest[..rest.floor_char_boundary(40)])?.end();
    let is_line = |line: &&str| {
        let line = line.trim_end();
        !line.is_empty() && line.bytes().all(is_base64)
    };
    let lines = rest[start..].split_inclusive('\n').take_while(is_line);
    let end = start + lines.map(str::len).sum::<usize>();
    let end = rest[..end].trim_end().len();
    (end > start && holds_key(&rest[start..end])).then_some(at + start..at + end)
}

/// Returns whether the common alphabet of base64 has this byte.
fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Returns a JSON web token in its compact form (RFC 7519): three parts, of which the first decodes to a
/// JSON object that names an algorithm.
fn web_token(text: &str, at: usize) -> Option<Range<usize>> {
    // A part is looked through once only if none can begin inside of it.
    if !begins_word(text, at) || text[..at].ends_with('-') {
        return None;
    }
    let header = part(text, at)?;
    let claims = part(text, after_dot(text, header.end)?)?;
    let signature = part(text, after_dot(text, claims.end)?)?;
    let decoded = base64::decode(&text[header])?;
    let names_algorithm = serde_json::from_slice::<serde_json::Value>(&decoded)
        .is_ok_and(|header| header.get("alg").is_some());
    (names_algorithm && text[claims.clone()].starts_with("ey") && signature.len() >= 16)
        .then_some(at..signature.end)
}

/// The longest piece of base64 in the URL alphabet from `at` on, unless there is none.
fn part(text: &str, at: usize) -> Option<Range<usize>> {
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let len = text.as_bytes()[at..].iter().take_while(is_part).count();
    (len > 0).then_some(at..at + len)
}

fn after_dot(text: &str, at: usize) -> Option<usize> {
    text[at..].starts_with('.').then_some(at + 1)
}

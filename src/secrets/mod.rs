//! Finds credentials in a text: keys, tokens, passwords that someone wrote down.
//!
//! Three ways lead to a finding. A token of a known service shows by its prefix and shape
//! (`tokens`, from the table in `patterns`); a private key or a JSON web token by how it is built
//! (`keys`); anything else by the name in front of it – `password = …`, a header, the user part of
//! a URL – and by a value that looks like nobody's words (`fields`, judged by `value` and
//! `placeholder`). Being right matters more than being complete: placeholders, references to the
//! environment, words, paths, ids and checksums are no findings.
//!
//! Time is linear in the length of the text. A [`Secret`] is a place and a kind, so nothing made
//! here but the text itself tells what the secret is. What to do about one is left to the caller.

mod base64;
mod fields;
mod keys;
mod patterns;
mod placeholder;
mod policy;
mod tokens;
mod value;

pub use policy::Policy;

use std::ops::Range;

/// A credential in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// What it is, in words that fit into a message: `a GitHub token`.
    pub kind: &'static str,
    /// The bytes of the secret part itself: the password, without the URL around it.
    pub range: Range<usize>,
}

/// Finds the credentials of a text, in order, not overlapping.
///
/// What stands in a mark of [`redact`] is none.
pub fn find(text: &str) -> Vec<Secret> {
    let marks = redacted(text);
    let mut found = tokens::find(text);
    found.retain(|secret| !overlaps(&marks, &secret.range));

    // A field that holds a known token is that token; nothing is found twice.
    let taken: Vec<Range<usize>> = found.iter().map(|secret| secret.range.clone()).collect();
    let mut named = fields::find(text);
    named.retain(|secret| !overlaps(&marks, &secret.range) && !overlaps(&taken, &secret.range));
    named.sort_by_key(|secret| secret.range.start);
    let mut end = 0;
    named.retain(|secret| {
        let is_free = secret.range.start >= end;
        if is_free {
            end = secret.range.end;
        }
        is_free
    });

    found.extend(named);
    found.sort_by_key(|secret| secret.range.start);
    found
}

/// The text with each secret replaced by a mark such as `[redacted: a GitHub token]`; every other
/// byte stays. Nothing is found in the result.
pub fn redact(text: &str) -> String {
    let mut text = text.to_owned();
    // A mark can set free what was no finding before, as it ends a word. Every round takes bytes
    // that stand outside of marks, so there is a last one.
    loop {
        let found = find(&text);
        if found.is_empty() {
            return text;
        }
        let mut out = String::with_capacity(text.len());
        let mut copied = 0;
        for secret in found {
            out.push_str(&text[copied..secret.range.start]);
            out.push_str(&secret.mark());
            copied = secret.range.end;
        }
        out.push_str(&text[copied..]);
        text = out;
    }
}

impl Secret {
    /// Names this secret of `text` without telling it: 16 hexadecimal digits of the BLAKE3 hash of
    /// its bytes. The same secret has the same name in every text.
    pub fn fingerprint(&self, text: &str) -> String {
        let hash = blake3::hash(&text.as_bytes()[self.range.clone()]);
        hash.to_hex()[..16].to_owned()
    }

    /// What [`redact`] writes in its place.
    pub fn mark(&self) -> String {
        format!("{MARK}{}]", self.kind)
    }

    /// The line of `text` on which the secret begins, from 1.
    pub fn line(&self, text: &str) -> usize {
        memchr::memchr_iter(b'\n', &text.as_bytes()[..self.range.start]).count() + 1
    }
}

/// How the mark begins that stands in a secret's place.
const MARK: &str = "[redacted: ";

/// Where the marks of [`redact`] stand in a text, in order. Only what [`redact`] itself writes is
/// one, so that nobody hides a secret in brackets.
fn redacted(text: &str) -> Vec<Range<usize>> {
    let kinds = || patterns::kinds().chain(keys::KINDS).chain(fields::KINDS);
    text.match_indices(MARK)
        .filter_map(|(start, _)| {
            let rest = &text[start + MARK.len()..];
            let kind = kinds().find(|kind| {
                rest.strip_prefix(*kind)
                    .is_some_and(|after| after.starts_with(']'))
            })?;
            Some(start..start + MARK.len() + kind.len() + 1)
        })
        .collect()
}

/// Whether `range` shares a byte with one of `ranges`, which are in order and do not overlap.
fn overlaps(ranges: &[Range<usize>], range: &Range<usize>) -> bool {
    let next = ranges.partition_point(|other| other.end <= range.start);
    ranges
        .get(next)
        .is_some_and(|other| other.start < range.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nobody's token, in two pieces so that no scanner takes this file for a leak.
    fn token() -> String {
        format!("{}{}", "gh", "p_R7mQ2vX9kLw4TzB8nYc1JfHd6sPa3GuE5oKi")
    }

    #[test]
    fn a_mark_stands_where_a_secret_stood() {
        let text = format!("use {} for pushing", token());
        assert_eq!(redact(&text), "use [redacted: a GitHub token] for pushing");
    }

    #[test]
    fn a_text_without_secrets_stays() {
        let text = "The token is in the vault; password: see there.\n";
        assert_eq!(redact(text), text);
    }

    #[test]
    fn a_mark_hides_nothing_that_redact_did_not_write() {
        assert_eq!(find(&format!("[redacted: {}]", token())).len(), 1);
        assert_eq!(find("password = \"[redacted: a password]\"").len(), 0);
    }

    #[test]
    fn a_known_token_in_a_named_field_is_found_once() {
        let text = format!("line\nGITHUB_TOKEN={}\n", token());
        let found = find(&text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].kind, "a GitHub token");
        assert_eq!(text[found[0].range.clone()], token());
        assert_eq!(found[0].line(&text), 2);
    }

    #[test]
    fn a_fingerprint_is_the_same_in_every_text_and_tells_nothing() {
        let (here, there) = (token(), format!("so: {}", token()));
        let fingerprint = find(&here)[0].fingerprint(&here);
        assert_eq!(fingerprint, find(&there)[0].fingerprint(&there));
        assert_eq!(fingerprint.len(), 16);
        assert!(!here.contains(&fingerprint));
        assert!(!format!("{:?}", find(&here)).contains("R7mQ"));
    }
}

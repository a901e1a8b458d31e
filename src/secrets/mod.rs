//! Finds credentials in a text: keys, tokens, passwords that someone wrote down.
//!
//! A token of a known service shows by its prefix and shape (`tokens`, from the table in
//! `patterns`); a private key or a JSON web token by how it is built (`keys`); a card number by its
//! digits (`cards`). Anything else shows by what stands in front of it: a name such as
//! `password = …`, a header, the user part of a URL (`fields`); a sentence in one of four languages
//! (`prose`); a program's option, a file's or a header's form (`commands`). The published rules of
//! gitleaks name more services (`published`). There the value decides
//! as well, which has to look like nobody's words (`value`, `placeholder`). Being right matters
//! more than being complete: placeholders, references to the environment, words, paths, ids and
//! checksums are no findings.
//!
//! The text is read as a person sees it (`visible`). One pass finds the words that rules need
//! (`marks`); rules without one do not run. Time is linear in the length of the text. A [`Secret`] is a place and a kind, so nothing made
//! here but the text itself tells what the secret is. What to do about one is left to the caller.

mod base64;
mod cards;
mod commands;
mod fields;
mod formats;
mod keys;
mod mark;
mod marks;
mod nouns;
mod patterns;
mod placeholder;
mod policy;
mod prose;
mod published;
mod randomness;
mod secret;
mod tokens;
mod value;
mod visible;
mod words;

use std::ops::Range;

pub use policy::Policy;
pub use secret::Secret;

use secret::MARK;

/// Finds the credentials of a text, in order, not overlapping.
///
/// Text in a mark of [`redact`] is no credential.
pub fn find(text: &str) -> Vec<Secret> {
    let Some(visible) = visible::of(text) else {
        return find_visible(text);
    };
    let mut found = find_visible(&visible.text);
    for secret in &mut found {
        secret.range = visible.written(&secret.range);
    }
    found
}

fn find_visible(text: &str) -> Vec<Secret> {
    let small = text.to_ascii_lowercase();
    let redacted = redacted(text);
    let mut marks = marks::find(text, &small);
    marks.retain(|mark| !overlaps(&redacted, &(mark.start..mark.end)));
    let mut found = tokens::find(text, &marks);
    cards::find(text, &small, &mut found);
    found.retain(|secret| !overlaps(&redacted, &secret.range));
    found.sort_by_key(|secret| secret.range.start);
    keep_first(&mut found);

    // A field that holds a known token is that token; nothing is found twice.
    let mut named = fields::find(text, &small);
    commands::find(text, &marks, &mut named);
    prose::find(text, &small, &marks, &mut named);
    add_free(&mut found, named, &redacted);
    let mut published = Vec::new();
    published::find(text, &marks, &mut published);
    add_free(&mut found, published, &redacted);
    found
}

/// Adds those of `more` that overlap neither what was found, nor a mark of [`redact`], nor each
/// other. `found` is in order before and after.
fn add_free(found: &mut Vec<Secret>, mut more: Vec<Secret>, redacted: &[Range<usize>]) {
    let taken: Vec<Range<usize>> = found.iter().map(|secret| secret.range.clone()).collect();
    more.retain(|secret| !overlaps(redacted, &secret.range) && !overlaps(&taken, &secret.range));
    more.sort_by_key(|secret| secret.range.start);
    keep_first(&mut more);
    found.extend(more);
    found.sort_by_key(|secret| secret.range.start);
}

/// Removes what overlaps an earlier finding.
fn keep_first(found: &mut Vec<Secret>) {
    let mut end = 0;
    found.retain(|secret| {
        let is_free = secret.range.start >= end;
        if is_free {
            end = secret.range.end;
        }
        is_free
    });
}

/// Returns the text with each secret replaced by a mark such as `[redacted: a GitHub token]`; every other
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

/// Returns the places of the marks of [`redact`] in a text, in order. Only what [`redact`] itself
/// writes is one, so that nobody hides a secret in brackets.
fn redacted(text: &str) -> Vec<Range<usize>> {
    let kinds = || {
        let by_form = patterns::kinds().chain(keys::KINDS).chain([cards::KIND]);
        let by_name = fields::KINDS.into_iter().chain(prose::KINDS);
        let ours = by_form.chain(by_name).chain(commands::KINDS);
        ours.chain(published::kinds())
    };
    memchr::memmem::find_iter(text.as_bytes(), MARK)
        .filter_map(|start| {
            let rest = &text[start + MARK.len()..];
            let kind = kinds().find(|kind| {
                rest.strip_prefix(*kind)
                    .is_some_and(|after| after.starts_with(']'))
            })?;
            Some(start..start + MARK.len() + kind.len() + 1)
        })
        .collect()
}

/// Returns whether `range` shares a byte with one of `ranges`, which are in order and do not overlap.
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

//! Repairs JSON with lone surrogates in strings.
//!
//! JavaScript may cut a string between the two halves of a surrogate pair and writes the lone half as
//! `\ud83d`. A JSON parser refuses the whole line for it, and the client would get no answer, because the
//! id of its request was not read.

/// The replacement character, of the same length as an escaped surrogate.
const REPLACEMENT: &[u8; 6] = b"\\ufffd";

/// Returns `json` with U+FFFD for each lone surrogate; `None` if it has none.
///
/// Only escapes are changed, which JSON has in strings alone.
pub(super) fn mend(json: &[u8]) -> Option<Vec<u8>> {
    let mut mended = json.to_vec();
    let mut found = false;
    let mut at = 0;
    while at < json.len() {
        if json[at] != b'\\' {
            at += 1;
            continue;
        }
        match (escaped_unit(json, at), escaped_unit(json, at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at += 12,
            (Some(0xd800..=0xdfff), _) => {
                mended[at..at + 6].copy_from_slice(REPLACEMENT);
                found = true;
                at += 6;
            }
            (Some(_), _) => at += 6,
            // Another escape: the next character belongs to it, be it a backslash.
            (None, _) => at += 2,
        }
    }
    found.then_some(mended)
}

/// Reads the UTF-16 unit of the `\uXXXX` that begins at `at`, if one does.
fn escaped_unit(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let digits = std::str::from_utf8(digits).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_half_becomes_the_replacement_character() {
        check(r#"{"a":"x\ud83d"}"#, Some(r#"{"a":"x\ufffd"}"#));
        check(r#"{"a":"\uDE00x"}"#, Some(r#"{"a":"\ufffdx"}"#));
        check(
            r#"["\ud83d\ud83d\ude00"]"#,
            Some(r#"["\ufffd\ud83d\ude00"]"#),
        );
    }

    #[test]
    fn whole_pairs_and_escaped_backslashes_stay() {
        check(r#"["\ud83d\ude00"]"#, None);
        check(r#"["\\ud83d"]"#, None);
        check(r#"["\u00e9\n"]"#, None);
    }

    #[test]
    fn a_torn_escape_is_left_to_the_parser() {
        check(r#"["\ud8"#, None);
        check("\\", None);
    }

    #[track_caller]
    fn check(json: &str, expected: Option<&str>) {
        let mended = mend(json.as_bytes());
        assert_eq!(mended.as_deref(), expected.map(str::as_bytes));
    }
}

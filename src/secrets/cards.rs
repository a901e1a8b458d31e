//! Finds the numbers of payment cards: as many digits as the issuer uses, grouped as on a card or
//! not at all, with the check digit of ISO/IEC 7812 (Luhn).
//!
//! One number in ten passes the check by chance, so what is written around it counts, too.

use std::ops::Range;

use super::secret::Secret;
use super::words::WORDS;

pub(super) const KIND: &str = "a card number";

/// Distance of the places that are looked at: one of the 13 digits that the shortest number has
/// stands at each multiple of it or behind it, grouped or not.
const STRIDE: usize = 8;

/// Adds the card numbers of `text`; `small` is the text in small ASCII letters.
pub(super) fn find(text: &str, small: &str, found: &mut Vec<Secret>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at + 1 < bytes.len() {
        if !bytes[at].is_ascii_digit() && !bytes[at + 1].is_ascii_digit() {
            at += STRIDE;
            continue;
        }
        let middle = at + usize::from(!bytes[at].is_ascii_digit());
        let before = bytes[..middle].iter().rev().take(STRIDE * 2);
        let start = middle - before.take_while(|byte| is_part(**byte)).count();
        let len = bytes[start..].iter().take_while(|byte| is_part(**byte));
        let end = start + len.count();
        for range in numbers(text, start, end) {
            if is_card(text, small, &range) {
                found.push(Secret { kind: KIND, range });
            }
        }
        at = (end / STRIDE + 1) * STRIDE;
    }
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b' ' | b'-')
}

/// Returns the numbers in a run of digits, blanks and hyphens that are grouped as those of cards, or not at
/// all, and that no further group makes longer.
fn numbers(text: &str, start: usize, end: usize) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let is_word = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_/+%#.".contains(byte))
    };
    let first_digit = bytes[start..end].iter().position(u8::is_ascii_digit);
    let first_digit = start + first_digit.unwrap_or_default();
    // `a4929` and `a-4929` are names.
    let begins = first_digit.checked_sub(1).and_then(|at| bytes.get(at));
    let is_named = match begins {
        Some(b'-') => first_digit >= 2 && is_word(bytes.get(first_digit - 2)),
        byte => is_word(byte),
    };
    let after = (bytes.get(end), bytes.get(end + 1));
    let goes_on = match after {
        (Some(b'.' | b',' | b':'), next) => next.is_some_and(u8::is_ascii_digit),
        (byte, _) => is_word(byte) && !bytes[end - 1].is_ascii_whitespace(),
    };
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut at = start;
    for group in text[start..end].split([' ', '-']) {
        groups.push(at..at + group.len());
        at += group.len() + 1;
    }
    let len = |group: Option<&Range<usize>>| group.map_or(0, Range::len);
    let mut found = Vec::new();
    for first in 0..groups.len() {
        let lens = [0, 1, 2, 3].map(|next| len(groups.get(first + next)));
        let count = match lens {
            [4, 4, 4, 4] => 4,
            [4, 6, 4 | 5, _] => 3,
            [13..=16, ..] => 1,
            _ => continue,
        };
        let last = first + count - 1;
        let is_first = first
            .checked_sub(1)
            .is_none_or(|at| len(groups.get(at)) < 4);
        let is_longer = !is_first || len(groups.get(last + 1)) >= 4;
        let range = groups[first].start..groups[last].end;
        let is_part = (range.start == first_digit && is_named) || (range.end == end && goes_on);
        if !is_longer && !is_part {
            found.push(range);
        }
    }
    found
}

fn is_card(text: &str, small: &str, range: &Range<usize>) -> bool {
    let written = &text[range.clone()];
    let groups: Vec<usize> = written.split([' ', '-']).map(str::len).collect();
    let digits: String = written.chars().filter(char::is_ascii_digit).collect();
    let is_grouped = matches!(groups[..], [4, 4, 4, 4] | [4, 6, 4 | 5]);
    if !(is_grouped || groups.len() == 1)
        || !is_issued(&digits)
        || !passes_check(&digits)
        || WORDS.has("test cards", &digits)
    {
        return false;
    }
    let before = &small[small.ceil_char_boundary(range.start.saturating_sub(64))..range.start];
    let after = &small[range.end..small.floor_char_boundary(range.end + 48)];
    let before = before.rsplit('\n').next().unwrap_or(before);
    let after = after.split('\n').next().unwrap_or(after);
    // `DE89 3704 …`
    let words = text[..range.start].trim_end_matches([' ', '-']).as_bytes();
    let is_account = matches!(
        words,
        [.., b'A'..=b'Z', b'A'..=b'Z', b'0'..=b'9', b'0'..=b'9']
    );
    if is_account {
        return false;
    }
    let near = &before[before.ceil_char_boundary(before.len().saturating_sub(24))..];
    if WORDS.stand_in("beside cards", near) && !near.contains("test") {
        return true;
    }
    let is_beside = [before, after].map(|side| WORDS.stand_in("beside cards", side));
    let (is_beside, is_other) = (
        is_beside.contains(&true),
        WORDS.stand_in("other numbers", before),
    );
    match is_grouped {
        true => is_beside || !is_other,
        false => is_beside && !is_other,
    }
}

/// Returns whether an issuer has numbers of this length that begin so.
fn is_issued(digits: &str) -> bool {
    let first = |len: usize| digits[..len].parse::<u32>().unwrap_or_default();
    match digits.len() {
        16 => {
            digits.starts_with('4')
                || (51..=55).contains(&first(2))
                || (2221..=2720).contains(&first(4))
                || matches!(first(2), 35 | 62 | 65)
                || first(4) == 6011
                || (644..=649).contains(&first(3))
        }
        15 => matches!(first(2), 34 | 37),
        14 => matches!(first(2), 30 | 36 | 38 | 39),
        13 => digits.starts_with('4'),
        _ => false,
    }
}

fn passes_check(digits: &str) -> bool {
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(place, digit)| {
            let digit = u32::from(digit - b'0');
            match place % 2 {
                0 => digit,
                _ => digit * 2 / 10 + digit * 2 % 10,
            }
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        find(text, &text.to_ascii_lowercase(), &mut found);
        let written = |secret: &Secret| text[secret.range.clone()].to_owned();
        found.iter().map(written).collect()
    }

    #[test]
    fn a_card_is_found_grouped_or_beside_its_name() {
        for number in ["4929 4212 3460 0821", "4929-4212-3460-0821"] {
            for lead in 0..20 {
                let text = format!("{}{number} is Ada's", "- ".repeat(lead));
                assert_eq!(found(&text), [number], "{text}");
            }
        }
        assert_eq!(
            found("Visa 4929 4212 3460 0821 08/29, 123"),
            ["4929 4212 3460 0821"]
        );
        assert_eq!(found("visa 4929421234600821"), ["4929421234600821"]);
    }

    #[test]
    fn other_numbers_are_no_cards() {
        for text in [
            "4929421234600821",
            "order 4929 4212 3460 0821",
            "card 4929 4212 3460 0822",
            "DE89 4929 4212 3460 0821",
            "card 4929 4212 3460 0821 1744",
            "card 4242 4242 4242 4242",
            "card 1.4929421234600821",
            "card x4929421234600821",
        ] {
            assert_eq!(found(text), Vec::<String>::new(), "{text}");
        }
    }
}

//! Cuts long texts into overlapping pieces, by characters.

/// Returns the pieces of `text`, of at most `most` characters each, in its order: one of a short text,
/// none of a text without a letter or a digit. Neighbours have an eighth in common, so that a
/// sentence at an end is whole in one of them. Cuts are made at blanks where there are some.
pub(super) fn pieces(text: &str, most: usize) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while has_words(rest) {
        let Some((end, _)) = rest.char_indices().nth(most.max(1)) else {
            found.push(rest);
            break;
        };
        let cut = last_blank(&rest[..end]).unwrap_or(end);
        let piece = rest[..cut].trim_end();
        if has_words(piece) {
            found.push(piece);
        }
        rest = rest[overlap(&rest[..cut], most / 8)..].trim_start();
    }
    found
}

/// Returns whether there is something to find a text by.
fn has_words(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

/// Returns the last blank in the second half.
fn last_blank(text: &str) -> Option<usize> {
    let blank = text.rfind(char::is_whitespace)?;
    (blank > text.len() / 2).then_some(blank)
}

/// Returns the place at which the next piece begins: about `length` characters before the end,
/// after a blank if there is one.
fn overlap(piece: &str, length: usize) -> usize {
    let Some((start, _)) = piece.char_indices().rev().take(length).last() else {
        return piece.len();
    };
    let start = match piece[start..].find(char::is_whitespace) {
        Some(blank) => start + blank,
        // Half a word is of no use.
        None if piece.contains(char::is_whitespace) => piece.len(),
        None => start,
    };
    // There is always some progress.
    if start == 0 { piece.len() } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_is_cut_at_blanks_with_an_overlap() {
        assert_eq!(
            pieces("one two three four five six", 16),
            ["one two three", "four five six"]
        );
        let words: Vec<String> = (0..40).map(|n| format!("w{n:02}")).collect();
        let text = words.join(" ");
        let found = pieces(&text, 40);
        assert_eq!(found[0], &text[..39]);
        assert!(found[1].starts_with("w09 w10"), "{found:?}");
    }

    #[test]
    fn a_text_without_words_has_no_piece() {
        for text in ["", "   ", "--- *** …", "\u{200b}\n"] {
            assert!(pieces(text, 10).is_empty(), "{text:?}");
        }
        assert_eq!(pieces(" 日本語 ", 10), ["日本語"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
        #[test]
        fn nothing_is_left_out(text in "[a-zß日 \\n.]{0,300}", most in 1_usize..40) {
            let found = pieces(&text, most);
            for piece in &found {
                prop_assert!(piece.chars().count() <= most);
                prop_assert!(text.contains(piece));
            }
            for word in text.split(|c: char| !c.is_alphanumeric()).filter(|w| w.chars().count() == 1) {
                prop_assert!(found.iter().any(|piece| piece.contains(word)));
            }
            let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
            let in_pieces: usize = found.iter().map(|piece| letters(piece)).sum();
            prop_assert!(in_pieces >= letters(&text));
        }
    }
}

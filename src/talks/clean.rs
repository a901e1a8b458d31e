//! Takes out of a text what no memory may hold, and cuts what is too long.

use crate::secrets;

/// Maximum size of one message; the rest of a longer one is left out, and a line says so.
pub const MAX_MESSAGE_BYTES: usize = 32 << 10;

/// Maximum size of one code block; lines beyond it are left out, and a line says how many.
pub const MAX_CODE_BLOCK_BYTES: usize = 8 << 10;

/// Text between these tags is left out.
const PRIVATE: (&str, &str) = ("<private>", "</private>");

/// Private characters by which ChatGPT encloses references to its sources.
const CITATION: (char, char) = ('\u{e200}', '\u{e201}');

/// Returns the text without private parts, credentials and control characters; code blocks and the whole
/// are cut to their limits.
pub(super) fn cleaned(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let text = without_private(&text);
    let text = without_citations(&text);
    let text: String = text
        .chars()
        .filter(|character| !character.is_control() || matches!(character, '\n' | '\t'))
        .collect();
    let text = secrets::redact(&with_short_blocks(&text));
    match cut(text.trim()) {
        None => text.trim().to_owned(),
        // The cut may end a word that is a credential by itself.
        Some(cut) => secrets::redact(&cut),
    }
}

/// Returns a text as one line without private parts, credentials and control characters.
pub(super) fn one_line(text: &str) -> String {
    let text = without_private(text);
    let words: Vec<&str> = text
        .split(|character: char| character.is_whitespace() || character.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    secrets::redact(&words.join(" "))
}

/// Returns the text without what stands between the tags, which may stand in each other; what is not closed is private
/// to the end.
fn without_private(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let (open, close) = PRIVATE;
    if !lower.contains(open) {
        return text.to_owned();
    }
    let (mut kept, mut at) = (String::with_capacity(text.len()), 0);
    while let Some(found) = lower[at..].find(open) {
        kept.push_str(&text[at..at + found]);
        at += found + open.len();
        let mut depth = 1;
        while depth > 0 {
            let opens = lower[at..].find(open).unwrap_or(usize::MAX);
            match lower[at..].find(close) {
                Some(closes) if closes < opens => {
                    depth -= 1;
                    at += closes + close.len();
                }
                Some(_) => {
                    depth += 1;
                    at += opens + open.len();
                }
                None => return kept,
            }
        }
    }
    kept.push_str(&text[at..]);
    kept
}

/// Returns the text without the elements of this name; one that is not closed stays.
pub(super) fn without_element(text: &str, element: &str) -> String {
    let (open, close) = (format!("<{element}>"), format!("</{element}>"));
    let (mut kept, mut rest) = (String::new(), text);
    while let Some((before, inside)) = rest.split_once(&open) {
        let Some((_, after)) = inside.split_once(&close) else {
            break;
        };
        kept.push_str(before);
        rest = after;
    }
    kept + rest
}

fn without_citations(text: &str) -> String {
    let (open, close) = CITATION;
    if !text.contains(open) {
        return text.to_owned();
    }
    let mut is_inside = false;
    let is_kept = |character: &char| {
        is_inside = (is_inside || *character == open) && *character != close;
        !is_inside && *character != close
    };
    text.chars().filter(is_kept).collect()
}

/// Returns the text with its code blocks cut, and lines that look like marks of a merge indented.
fn with_short_blocks(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    let mut fence: Option<String> = None;
    let (mut bytes, mut left_out) = (0, 0_usize);
    for line in text.split('\n') {
        let start = line.trim_start();
        let mark: String = start
            .chars()
            .take_while(|one| matches!(one, '`' | '~'))
            .collect();
        let closes = fence.as_ref().is_some_and(|fence| {
            mark.starts_with(fence.as_str()) && start[mark.len()..].trim().is_empty()
        });
        if closes {
            if left_out > 0 {
                short.push_str(&format!("[… {left_out} lines left out]\n"));
            }
            (fence, bytes, left_out) = (None, 0, 0);
        } else if fence.is_some() {
            bytes += line.len() + 1;
            if bytes > MAX_CODE_BLOCK_BYTES {
                left_out += 1;
                continue;
            }
        } else if mark.len() >= 3 && !start[mark.len()..].contains('`') {
            // A mark within a line would end it there.
            fence = Some(mark);
        }
        if ["<<<<<<< ", "=======", ">>>>>>> "]
            .iter()
            .any(|mark| line.starts_with(mark))
        {
            short.push(' ');
        }
        short.push_str(line);
        short.push('\n');
    }
    if left_out > 0 {
        short.push_str(&format!("[… {left_out} lines left out]\n"));
    }
    // Else what follows would be code, too.
    if let Some(fence) = fence {
        short.push_str(&fence);
    }
    short
}

/// Returns the beginning of a text that is too long, with a line that says so; `None` of one that is not.
fn cut(text: &str) -> Option<String> {
    if text.len() <= MAX_MESSAGE_BYTES {
        return None;
    }
    // Room for that line, and for the end of a code block.
    let mut end = MAX_MESSAGE_BYTES - 128;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let kept = &text[..end];
    let left_out = text.len() - end;
    let kept = with_short_blocks(kept.trim_end());
    Some(format!(
        "{}\n[… {left_out} bytes left out]",
        kept.trim_end()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_private_is_left_out() {
        assert_eq!(cleaned("a <private>b\nc</private> d"), "a  d");
        assert_eq!(cleaned("a <PRIVATE>b</private>"), "a");
        assert_eq!(cleaned("a <private>never closed"), "a");
        assert_eq!(
            cleaned("a <private>b <private>c</private> d</private> e"),
            "a  e"
        );
        assert_eq!(cleaned("a <private>b <private>c</private> d"), "a");
        assert_eq!(cleaned("<private>all</private>"), "");
    }

    #[test]
    fn a_code_block_is_whole_up_to_its_limit() {
        let block = |lines: usize| format!("```rust\n{}```\nafter", "let a = 1;\n".repeat(lines));
        assert_eq!(cleaned(&block(100)), block(100));
        let cut = cleaned(&block(1_000));
        assert!(cut.len() < MAX_CODE_BLOCK_BYTES + 200);
        assert!(cut.contains("[… 256 lines left out]\n```\nafter"), "{cut}");
    }

    #[test]
    fn code_within_a_line_begins_no_block() {
        let text = format!("```ls```\n{}", "It lists what is there.\n".repeat(500));
        assert_eq!(cleaned(&text), text.trim());
    }

    #[test]
    fn a_long_message_is_cut_and_says_so() {
        let text = cleaned(&"wörd ".repeat(20_000));
        assert!(text.len() <= MAX_MESSAGE_BYTES);
        assert!(text.ends_with("bytes left out]"));
        let code = cleaned(&format!("```\n{}", "x\n".repeat(50_000)));
        assert!(
            code.contains("left out]\n```"),
            "{}",
            &code[code.len() - 60..]
        );
    }

    #[test]
    fn control_characters_citations_and_marks_of_merges_are_no_text() {
        assert_eq!(cleaned("a\0b\u{1b}[1m\r\nc"), "ab[1m\nc");
        assert_eq!(cleaned("so\u{e200}cite\u{e202}turn0\u{e201}."), "so.");
        assert_eq!(cleaned("x\n<<<<<<< HEAD\n"), "x\n <<<<<<< HEAD");
    }
}

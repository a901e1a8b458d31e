//! The piece of a text that shows why it was found.

/// A piece of a content, on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    pub text: String,
    /// Whether anything of the content is missing.
    pub truncated: bool,
}

/// Returns about `length` characters of `content`: its beginning, or the surroundings of the
/// first of `words` (lower case) if that lies further down. Blanks and line breaks are one space
/// each; what is left out is marked by `…`.
pub fn preview(content: &str, words: &[String], length: usize) -> Preview {
    if content.chars().count() <= length {
        // All of it, as it is: a second call can be spared.
        return Preview {
            text: content.to_owned(),
            truncated: false,
        };
    }
    let flat: Vec<char> = flatten(content);
    let lower: String = flat.iter().flat_map(|c| c.to_lowercase().next()).collect();
    let first = words
        .iter()
        .filter_map(|word| {
            lower
                .find(word.as_str())
                .map(|at| lower[..at].chars().count())
        })
        .min()
        .unwrap_or(0);
    // A third of the piece stands before the word, so that its sentence is understood.
    let start = if first + length / 3 <= length {
        0
    } else {
        first.saturating_sub(length / 3)
    };
    let start = word_start(&flat, start);
    let end = word_end(&flat, (start + length).min(flat.len()), start);
    let mut text: String = flat[start..end].iter().collect();
    if start > 0 {
        text.insert(0, '…');
    }
    if end < flat.len() {
        text.push('…');
    }
    Preview {
        text,
        truncated: true,
    }
}

fn flatten(content: &str) -> Vec<char> {
    let mut flat = Vec::with_capacity(content.len().min(64 * 1024));
    for word in content.split_whitespace() {
        if !flat.is_empty() {
            flat.push(' ');
        }
        flat.extend(word.chars());
    }
    flat
}

/// The beginning of the word around `at`, if it is near.
fn word_start(text: &[char], at: usize) -> usize {
    (at.saturating_sub(20)..at)
        .rev()
        .find(|&i| text[i] == ' ')
        .map_or(at, |space| space + 1)
}

/// The end of the last whole word before `at`, if it is near.
fn word_end(text: &[char], at: usize, start: usize) -> usize {
    if at == text.len() || text[at] == ' ' {
        return at;
    }
    let least = at.saturating_sub(20).max(start + 1);
    (least..at).rev().find(|&i| text[i] == ' ').unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_content_is_shown_whole() {
        let shown = preview("Two\nlines.", &[], 20);
        assert_eq!(
            shown,
            Preview {
                text: "Two\nlines.".to_owned(),
                truncated: false
            }
        );
    }

    #[test]
    fn a_long_content_is_shown_where_the_word_is() {
        let content = format!(
            "{} the needle lies here {}",
            "hay ".repeat(100),
            "hay ".repeat(100)
        );
        let shown = preview(&content, &["needle".to_owned()], 60);
        assert!(
            shown.truncated && shown.text.contains("needle"),
            "{}",
            shown.text
        );
        assert!(shown.text.chars().count() <= 62 && shown.text.starts_with('…'));
        let start = preview(&content, &[], 60);
        assert!(start.text.starts_with("hay") && start.text.ends_with('…'));
    }

    #[test]
    fn no_character_is_cut_in_two() {
        for length in 1..40 {
            preview(
                "日本語のテキスト😀です。İstanbul ß ǆ und so weiter bis ans Ende",
                &["ß".to_owned()],
                length,
            );
        }
    }
}

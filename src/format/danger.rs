//! Refuses YAML that costs more than it says, before any parser sees it.
//!
//! 304 bytes of nested aliases cost a common parser 2 GB, 32,000 levels of nesting another one
//! five seconds. A memory needs neither anchors nor tags nor depth, so they are refused whole.

use super::limits::MAX_DEPTH;

/// Characters at which the parser ends a line; a comment ends at any of them.
const LINE_ENDS: [char; 5] = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];

/// Says what is dangerous about a piece of YAML, if anything: the value of one key as it stands
/// after its colon, with the lines below, or a whole block of keys.
///
/// Errs on the side of refusal: a plain scalar that merely begins like an anchor is refused too,
/// as YAML itself would not read it as text.
pub fn find(yaml: &str) -> Option<&'static str> {
    let mut scanner = Scanner::default();
    for (number, line) in yaml.split(LINE_ENDS).enumerate() {
        if let Some(found) = scanner.line(line, number == 0) {
            return Some(found);
        }
    }
    None
}

/// State that a line leaves for the next one.
#[derive(Default)]
struct Scanner {
    /// The quotation mark of a scalar that goes on.
    quote: Option<char>,
    /// Open `[` and `{`.
    flow: usize,
    /// Columns of the open block collections.
    indents: Vec<usize>,
    /// The column that the text of a block scalar (`|`, `>`) must be further in than.
    block_scalar: Option<usize>,
}

impl Scanner {
    fn line(&mut self, line: &str, is_first: bool) -> Option<&'static str> {
        if self.quote.is_some() {
            return match self.end_of_quote(line) {
                None => None,
                Some(end) => self.tokens(&line[end..], end, 0, false),
            };
        }
        let text = line.trim_start_matches([' ', '\t']);
        // The first line follows its key, which stands at the margin.
        let indent = if is_first { 0 } else { line.len() - text.len() };
        if text.is_empty() {
            return None;
        }
        if let Some(outer) = self.block_scalar {
            if indent > outer {
                return None; // Text, not YAML.
            }
            self.block_scalar = None;
        }
        if text.starts_with('#') {
            return None;
        }
        if line.starts_with("---") || line.starts_with("...") {
            return Some("a second document");
        }
        if self.flow == 0 {
            while self.indents.last().is_some_and(|&outer| outer >= indent) {
                self.indents.pop();
            }
            self.indents.push(indent);
        }
        self.tokens(text, line.len() - text.len(), indent, true)
    }

    /// Walks `text`, which begins at byte `offset` of its line, outside of quotes. `column` is
    /// that of the collection that the line belongs to; a node may begin here if `at_node`.
    fn tokens(
        &mut self,
        text: &str,
        offset: usize,
        mut column: usize,
        mut at_node: bool,
    ) -> Option<&'static str> {
        let mut at = 0;
        while let Some(character) = text[at..].chars().next() {
            let rest = &text[at + character.len_utf8()..];
            let is_alone = rest.is_empty() || rest.starts_with([' ', '\t']);
            let mut begins_node = false;
            match character {
                ' ' | '\t' => begins_node = at_node,
                '#' if at == 0 || text[..at].ends_with([' ', '\t']) => return None,
                '&' if at_node => return Some("an anchor"),
                '*' if at_node => return Some("an alias"),
                '!' if at_node => return Some("a tag"),
                '%' if at + offset == 0 => return Some("a directive"),
                '<' if at_node && rest.starts_with('<') => return Some("a merge key"),
                '|' | '>' if at_node && self.flow == 0 => {
                    self.block_scalar = Some(column);
                    return None;
                }
                '"' | '\'' if at_node => {
                    self.quote = Some(character);
                    at += 1;
                    at += self.end_of_quote(&text[at..])?;
                    at_node = false;
                    continue;
                }
                '-' if at_node && is_alone && self.flow == 0 => {
                    column = offset + at;
                    self.indents.push(column + 1);
                    begins_node = true;
                }
                '?' | ':' if at_node && is_alone => return Some("a complex key"),
                ':' if is_alone || self.flow > 0 => begins_node = true,
                '[' | '{' => {
                    self.flow += 1;
                    begins_node = true;
                }
                ']' | '}' => self.flow = self.flow.saturating_sub(1),
                ',' if self.flow > 0 => begins_node = true,
                _ if at_node && self.flow == 0 => column = column.max(offset + at),
                _ => {}
            }
            if self.flow + self.indents.len() > MAX_DEPTH {
                return Some("nesting deeper than 16 levels");
            }
            at_node = begins_node;
            at += character.len_utf8();
        }
        None
    }

    /// Looks for the end of the open quote; returns where what follows it begins. `None`: it goes
    /// on in the next line.
    fn end_of_quote(&mut self, text: &str) -> Option<usize> {
        let quote = self.quote?;
        let mut chars = text.char_indices().peekable();
        while let Some((at, character)) = chars.next() {
            if character == '\\' && quote == '"' {
                chars.next();
            } else if character == quote {
                // Two single quotes are one of the text.
                if quote == '\'' && chars.next_if(|&(_, next)| next == quote).is_some() {
                    continue;
                }
                self.quote = None;
                return Some(at + 1);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_explode_is_refused() {
        for (yaml, what) in [
            (" &a [x,x]", "an anchor"),
            ("\n  b: *a", "an alias"),
            (" !!python/object x", "a tag"),
            ("\n  <<: *a", "a merge key"),
            ("\n  - &x 1", "an anchor"),
            (" [*a, *a]", "an alias"),
            ("\n  {a: !t 1}", "a tag"),
        ] {
            assert_eq!(find(yaml), Some(what), "{yaml}");
        }
        for hidden in [
            " [\"x\n  \", &a [x,x]]",
            " [\"x\n  # \", *a, *a]",
            "\n  t: |\n    \"\n  b: &a [x]",
            "\n  - k: |\n      text\n    other: *a",
            " ['it''s', &a x]",
            " ['x'', ', &a [1], ', y']",
            "\n  # x\r  b: &a [x]",
            "\n  # x\u{85}  b: &a [x]",
            "\n  # x\u{2028}  b: &a [x]",
            "\n  # x\u{2029}  b: &a [x]",
        ] {
            assert!(find(hidden).is_some(), "{hidden}");
        }
        assert_eq!(find(&": ".repeat(8_000)), Some("a complex key"));
        assert_eq!(find(&"? ".repeat(8_000)), Some("a complex key"));
        assert_eq!(
            find(&format!("\n{}", "- ".repeat(8_000))),
            Some("nesting deeper than 16 levels")
        );
        let deep = format!(" {}{}", "[".repeat(32_000), "]".repeat(32_000));
        assert_eq!(find(&deep), Some("nesting deeper than 16 levels"));
        let steps: String = (0..40)
            .map(|n| format!("{}a:\n", " ".repeat(n + 1)))
            .collect();
        assert_eq!(
            find(&format!("\n{steps}")),
            Some("nesting deeper than 16 levels")
        );
    }

    #[test]
    fn ordinary_values_pass() {
        for yaml in [
            " {\"a\": \"*b &c !d\", \"n\": 1.5}",
            "\n  - {to: 20260114_091500_1f3a9c02, type: related-to}\n  - {to: x, type: y}",
            "\n  name: a * b & c ! d\n  list: [1, 2]",
            " 'it''s *fine*'",
            "\n  text: |\n    &a *b !c\n    \"half\n  next: 1",
            " \"two\n  lines *x &y\"",
        ] {
            assert_eq!(find(yaml), None, "{yaml}");
        }
    }
}

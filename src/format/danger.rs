//! Refuses YAML that costs more than it says, before any parser sees it.
//!
//! 304 bytes of nested aliases cost a common parser 2 GB, 32,000 levels of nesting another one
//! five seconds. A memory needs neither anchors nor tags nor depth, so they are refused whole.

use super::limits::MAX_DEPTH;

/// Says what is dangerous about the YAML of one key's value, if anything.
///
/// Errs on the side of refusal: a plain scalar that merely begins like an anchor is refused too,
/// as YAML itself would not read it as text.
pub fn find(yaml: &str) -> Option<&'static str> {
    let mut depth = 0_usize;
    let mut indents: Vec<usize> = Vec::new();
    for line in yaml.lines() {
        let text = line.trim_start_matches([' ', '\t']);
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if line.starts_with("---") || line.starts_with("...") {
            return Some("a second document");
        }
        let indent = line.len() - text.len();
        while indents.last().is_some_and(|&outer| outer >= indent) {
            indents.pop();
        }
        indents.push(indent);
        if let Some(found) = scan_line(text, &mut depth, &mut indents, indent) {
            return Some(found);
        }
        if depth + indents.len() > MAX_DEPTH {
            return Some("nesting deeper than 16 levels");
        }
    }
    None
}

/// Walks one line outside of quotes. `depth` is the flow nesting, carried over lines.
fn scan_line(
    text: &str,
    depth: &mut usize,
    indents: &mut Vec<usize>,
    indent: usize,
) -> Option<&'static str> {
    let mut chars = text.char_indices().peekable();
    // A node may begin here: at the start, after `- `, `: `, `[`, `{`, `,`.
    let mut at_node = true;
    while let Some((at, character)) = chars.next() {
        let next_is_blank = chars.peek().is_none_or(|&(_, c)| c == ' ' || c == '\t');
        match character {
            ' ' | '\t' => continue,
            '#' if at == 0 || text[..at].ends_with([' ', '\t']) => return None,
            '&' if at_node => return Some("an anchor"),
            '*' if at_node => return Some("an alias"),
            '!' if at_node => return Some("a tag"),
            '%' if at == 0 => return Some("a directive"),
            '|' | '>' if at_node => return None, // The text below is indented; it is no YAML.
            '<' if at_node && text[at..].starts_with("<<") => return Some("a merge key"),
            '"' | '\'' if at_node => skip_quoted(&mut chars, character),
            '-' if at_node && next_is_blank => {
                indents.push(indent + at + 1);
                continue;
            }
            '[' | '{' => {
                *depth += 1;
                if *depth + indents.len() > MAX_DEPTH {
                    return Some("nesting deeper than 16 levels");
                }
                at_node = true;
                continue;
            }
            ']' | '}' => *depth = depth.saturating_sub(1),
            ',' if *depth > 0 => {
                at_node = true;
                continue;
            }
            ':' | '?' if next_is_blank || *depth > 0 => {
                at_node = true;
                continue;
            }
            _ => {}
        }
        at_node = false;
    }
    None
}

fn skip_quoted(chars: &mut std::iter::Peekable<std::str::CharIndices<'_>>, quote: char) {
    while let Some((_, character)) = chars.next() {
        if character == '\\' && quote == '"' {
            chars.next();
        } else if character == quote {
            return;
        }
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
        ] {
            assert_eq!(find(yaml), None, "{yaml}");
        }
    }
}

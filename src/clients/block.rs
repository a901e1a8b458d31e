//! Puts a block of lines between two marker lines into a text, and takes it out again.
//!
//! Promises: every byte outside of the markers stays, but one blank line before the block, which comes and
//! goes with it.

use super::error::EditError;

pub const BEGIN: &str = "<!-- memdir:begin -->";
pub const END: &str = "<!-- memdir:end -->";

/// Returns the text with `lines` between the markers: in place of those that are there, else at the end.
///
/// # Errors
///
/// Fails if the markers do not stand there once each, or not in their order.
pub fn set(text: &str, lines: &str) -> Result<String, EditError> {
    let newline = newline(text);
    let block = format!("{BEGIN}\n{}\n{END}\n", lines.trim_end()).replace('\n', newline);
    if let Some((from, to)) = find(text)? {
        let block = match text[from..to].ends_with('\n') {
            true => &block,
            false => block.trim_end(),
        };
        return Ok(format!("{}{block}{}", &text[..from], &text[to..]));
    }
    let mut new = text.to_owned();
    if !new.is_empty() && !new.ends_with('\n') {
        new.push_str(newline);
    }
    if !new.trim().is_empty() {
        new.push_str(newline);
    }
    new.push_str(&block);
    Ok(new)
}

/// Returns the text without the block and the blank line before it; as it is if there is none.
///
/// # Errors
///
/// Fails if the markers do not stand there once each, or not in their order.
pub fn remove(text: &str) -> Result<String, EditError> {
    let Some((from, to)) = find(text)? else {
        return Ok(text.to_owned());
    };
    let before = &text[..from];
    let newline = newline(text);
    let blank = format!("{newline}{newline}");
    let before = match before.ends_with(&blank) {
        true => &before[..before.len() - newline.len()],
        false => before,
    };
    Ok(format!("{before}{}", &text[to..]))
}

/// Returns where the block begins and ends, with the line end behind it.
fn find(text: &str) -> Result<Option<(usize, usize)>, EditError> {
    let damaged = EditError::Markers {
        begin: BEGIN,
        end: END,
    };
    match (text.matches(BEGIN).count(), text.matches(END).count()) {
        (0, 0) => return Ok(None),
        (1, 1) => {}
        _ => return Err(damaged),
    }
    let (Some(from), Some(end)) = (text.find(BEGIN), text.find(END)) else {
        return Err(damaged);
    };
    if end < from {
        return Err(damaged);
    }
    let end = end + END.len();
    let rest = &text[end..];
    let line_end = match rest {
        _ if rest.starts_with("\r\n") => 2,
        _ if rest.starts_with('\n') => 1,
        _ => 0,
    };
    Ok(Some((from, end + line_end)))
}

fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_comes_out_again() {
        for text in ["", "# Mine\n", "# Mine\r\n\r\nText.\r\n", "one\n\n", "\n"] {
            let with = set(text, "a\nb").unwrap();
            assert_eq!(set(&with, "a\nb").unwrap(), with);
            assert_eq!(remove(&with).unwrap(), text, "{with:?}");
            let other = set(&with, "c").unwrap();
            assert!(!other.contains("a"), "{other}");
            assert_eq!(remove(&other).unwrap(), text);
        }
    }

    #[test]
    fn what_others_wrote_around_it_stays() {
        let with = set("# Mine\n", "a").unwrap();
        let text = format!("before\n{with}after\n");
        assert_eq!(remove(&text).unwrap(), "before\n# Mine\nafter\n");
        let new = set(&text, "b").unwrap();
        assert_eq!(new, text.replace("\na\n", "\nb\n"));
    }

    #[test]
    fn damaged_markers_are_left_alone() {
        let both = format!("{END}\n{BEGIN}\n");
        let twice = format!("{BEGIN}\n{BEGIN}\n{END}\n");
        for text in [BEGIN, END, &both, &twice] {
            assert!(matches!(set(text, "a"), Err(EditError::Markers { .. })));
            assert!(matches!(remove(text), Err(EditError::Markers { .. })));
        }
    }
}

//! Characters that are not seen and say something all the same.

const INVISIBLE: &str = "holds a message in characters that are not shown";
const TURNED: &str = "shows its characters in another order";

/// Minimum run of invisible characters that is reported: emoji and the scripts that need them have
/// one between two letters, or two.
const LONGEST_RUN: usize = 3;

/// Says what is hidden, if anything.
pub(super) fn find(text: &str) -> Option<&'static str> {
    if text.is_ascii() {
        return None;
    }
    let mut run = 0;
    let mut between_latin = 0;
    let mut is_flag = false;
    let mut before = ' ';
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| !byte.is_ascii()) {
        if let Some(&byte) = rest.as_bytes()[..at].last() {
            (run, is_flag, before) = (0, false, char::from(byte));
        }
        let mut behind = rest[at..].chars();
        let Some(character) = behind.next() else {
            break;
        };
        rest = behind.as_str();
        match character {
            // Overrides. What isolates or embeds stands in every text of two directions.
            '\u{202d}' | '\u{202e}' => return Some(TURNED),
            // The tags of a flag: England, Scotland, Wales.
            '\u{e0020}'..='\u{e007f}' if is_flag => continue,
            '\u{e0000}'..='\u{e007f}' => return Some(INVISIBLE),
            c if is_invisible(c) => {
                run += 1;
                // A word with such a character in it was cut to be overlooked.
                between_latin += usize::from(before.is_ascii_alphabetic());
                if run >= LONGEST_RUN || between_latin >= LONGEST_RUN {
                    return Some(INVISIBLE);
                }
            }
            _ => run = 0,
        }
        is_flag = character == '\u{1f3f4}' || (is_flag && is_invisible(character));
        before = character;
    }
    None
}

fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{180e}' | '\u{feff}'
            // Selectors of variants that no font has: a byte each for who hides a message.
            | '\u{e0100}'..='\u{e01ef}'
    )
}

/// Returns whether a character is passed over when words are read.
pub(super) fn is_unseen(character: char) -> bool {
    is_invisible(character) || matches!(character, '\u{ad}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_scripts_and_emoji_need_is_nothing_hidden() {
        let check = |text: &str| assert_eq!(find(text), None, "{text}");
        check("👩\u{200d}💻 👨\u{200d}👩\u{200d}👧 🏳\u{fe0f}\u{200d}🌈");
        check("می\u{200c}خواهم");
        check("\u{feff}a,b");
        check("🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} flag");
        check("\u{2067}שלום\u{2069} \u{200f}");
    }

    #[test]
    fn messages_in_invisible_characters_are_seen() {
        let check = |text: &str, reason| assert_eq!(find(text), Some(reason), "{text:?}");
        check("x\u{e0049}\u{e0067}", INVISIBLE);
        check("x\u{200b}\u{200c}\u{200b}", INVISIBLE);
        check("i\u{200b}g\u{200b}n\u{200b}ore", INVISIBLE);
        check("😀\u{e0100}\u{e0120}\u{e0131}", INVISIBLE);
        check("\u{202e}abc", TURNED);
    }
}

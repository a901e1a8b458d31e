//! The text of a talk → its turns: the reverse of `part`, with the lines of each.

use std::ops::Range;

use chrono::{DateTime, NaiveDateTime, Utc};

use super::Format;
use super::session::USER;

/// Maximum size of a turn; a longer one is several, cut between paragraphs.
const MAX_TURN_BYTES: usize = 6 << 10;

/// The words of one speaker until another one does, or until the time is written again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn<'a> {
    /// Name of the speaker as the talk has it; empty before the first.
    pub who: &'a str,
    /// Role of the speaker in a chat with an assistant: `user` or `assistant`; `None` among people.
    pub role: Option<&'static str>,
    /// Time that is written at its beginning.
    pub at: Option<DateTime<Utc>>,
    /// Its text, without the head.
    pub text: &'a str,
    /// Its lines in the talk, counted from 1, with the head and without blank lines behind it.
    pub lines: Range<usize>,
}

/// Returns the turns of the text of a talk from a source of this format, in order.
pub fn turns(content: &str, format: Option<Format>) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    let mut open = Turn {
        who: "",
        role: None,
        at: None,
        text: "",
        lines: 1..1,
    };
    // Where the text of the open turn begins, and where the line that is read does.
    let (mut start, mut at, mut is_after_blank) = (0, 0, true);
    for (number, line) in (1..).zip(content.split_inclusive('\n')) {
        let head = head(line.trim_end(), format).filter(|_| is_after_blank);
        let is_long = at - start > MAX_TURN_BYTES && is_after_blank;
        if head.is_some() || is_long {
            let next = Turn {
                at: None,
                lines: number..number,
                ..open.clone()
            };
            open.text = content[start..at].trim();
            turns.push(open);
            open = next;
            start = at;
        }
        if let Some((who, moment)) = head {
            (open.who, open.at, open.role) = (who, moment, role(who, format));
            start = at + line.len();
        }
        is_after_blank = line.trim().is_empty();
        at += line.len();
        if !is_after_blank {
            open.lines.end = number + 1;
        }
    }
    open.text = content[start..].trim();
    turns.push(open);
    turns.retain(|turn| !turn.text.is_empty());
    turns
}

/// Reads a line that names a speaker: `**User**`, or `**User** · 2026-03-04 10:00 UTC`. In a chat with an
/// assistant there are two; another bold line is the text's own.
fn head(line: &str, format: Option<Format>) -> Option<(&str, Option<DateTime<Utc>>)> {
    let (who, rest) = line.strip_prefix("**")?.split_once("**")?;
    let is_name = !who.is_empty() && (is_among_people(format) || role(who, format).is_some());
    let moment = match rest.strip_prefix(" · ") {
        Some(moment) => Some(
            NaiveDateTime::parse_from_str(moment, "%Y-%m-%d %H:%M UTC")
                .ok()?
                .and_utc(),
        ),
        None => None,
    };
    (is_name && (rest.is_empty() || moment.is_some())).then_some((who, moment))
}

/// Returns whether the talks of a format are talks of people, who have any name.
fn is_among_people(format: Option<Format>) -> bool {
    matches!(format, None | Some(Format::Slack))
}

fn role(who: &str, format: Option<Format>) -> Option<&'static str> {
    let format = format.filter(|_| !is_among_people(format))?;
    match who {
        USER => Some("user"),
        // A plain transcript has the name that was written in it.
        _ if who == format.assistant() || format == Format::Plain => Some("assistant"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::talks::{Message, cut};

    #[test]
    fn the_turns_of_a_talk_are_those_it_was_made_of() {
        let message = |who: &str, minute: i64, text: &str| Message {
            who: who.to_owned(),
            at: DateTime::from_timestamp(1_772_000_000 + minute * 60, 0),
            text: text.to_owned(),
            is_tool_call: false,
        };
        let messages = [
            message("User", 0, "Why is it slow?\n\n**Note**\n\nIt was not."),
            message("Claude", 1, "I look."),
            message("Claude", 1, "It sorts twice."),
            message("User", 60, "And now?"),
        ];
        let text = &cut(&messages, 0, None)[0].text;
        // The bold line of the first message is indented, because it could be the name of a speaker.
        let turns = turns(text, Some(Format::ClaudeCode));
        let shown: Vec<(&str, &str, Range<usize>)> = turns
            .iter()
            .map(|turn| (turn.role.unwrap(), turn.text, turn.lines.clone()))
            .collect();
        assert_eq!(
            shown,
            [
                ("user", "Why is it slow?\n\n **Note**\n\nIt was not.", 1..8),
                ("assistant", "I look.\n\nIt sorts twice.", 9..14),
                ("user", "And now?", 15..18),
            ]
        );
        assert_eq!(turns[2].at, DateTime::from_timestamp(1_772_003_580, 0));
        assert_eq!(turns[1].at, None);
    }

    #[test]
    fn people_have_any_name() {
        let turns = turns(
            "**Mira**\n\nHi.\n\n**Jonas P**\n\nHello.\n",
            Some(Format::Slack),
        );
        let who: Vec<_> = turns.iter().map(|turn| (turn.who, turn.role)).collect();
        assert_eq!(who, [("Mira", None), ("Jonas P", None)]);
    }

    #[test]
    fn a_long_turn_is_cut_between_paragraphs() {
        let paragraph = format!("{}\n\n", "word ".repeat(400));
        let text = format!("**User**\n\n{}", paragraph.repeat(10));
        let turns = turns(&text, Some(Format::Codex));
        assert_eq!(turns.len(), 3);
        assert!(turns.iter().all(|turn| turn.role == Some("user")));
        assert!(turns[0].lines.end < turns[1].lines.start);
    }
}

//! The text of a talk → its turns: who said which lines.

use crate::model::speaker;

/// Speaker of what a person says to an assistant, in talks.
const PERSON: &str = "User";

/// Speaker of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Company {
    /// One person and an assistant.
    WithAssistant,
    /// People among themselves.
    People,
}

/// The lines that one speaker says before another one does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Turn<'a> {
    /// Whether a person speaks.
    pub is_person: bool,
    /// The lines with their numbers, from 1.
    pub lines: Vec<(usize, &'a str)>,
}

/// Returns the turns of a talk's text. What stands before the first speaker is no turn.
pub(super) fn turns(content: &str, company: Company) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (number, line) in content.lines().enumerate() {
        match (speaker(line), turns.last_mut()) {
            (Some(who), _) => turns.push(Turn {
                is_person: company == Company::People || who == PERSON,
                lines: Vec::new(),
            }),
            (None, Some(turn)) => turn.lines.push((number + 1, line)),
            (None, None) => {}
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_turn_has_its_lines_with_their_numbers() {
        let text = "**User** · 2026-03-04 10:00 UTC\n\nWhy?\n\n**Claude**\n\nI look.\n";
        let turns = turns(text, Company::WithAssistant);
        let people: Vec<bool> = turns.iter().map(|turn| turn.is_person).collect();
        assert_eq!(people, [true, false]);
        assert_eq!(turns[0].lines, [(2, ""), (3, "Why?"), (4, "")]);
        assert_eq!(turns[1].lines, [(6, ""), (7, "I look.")]);
    }
}

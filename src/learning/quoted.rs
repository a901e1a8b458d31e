//! A quotation of a talk → the lines where a person says it.

use super::sentences::paragraphs;
use super::turns::{Company, turns};

/// Letters and digits from which a quotation tells where it is from.
const LEAST_LETTERS: usize = 6;

/// Returns the first and last line in which a person says `quote`, whatever its blanks and line breaks; `None`
/// if none does, or if it is too short to tell. Code, quotations and tables are no person's words.
pub fn lines_of_quote(content: &str, company: Company, quote: &str) -> Option<(usize, usize)> {
    let letters = quote.chars().filter(|one| one.is_alphanumeric()).count();
    if letters < LEAST_LETTERS {
        return None;
    }
    let quote: String = quote.split_whitespace().collect();
    let turns = turns(content, company);
    let mut of_people = turns.iter().filter(|turn| turn.is_person);
    of_people.find_map(|turn| {
        let mut said = String::new();
        // Each line with the place behind it.
        let mut ends = Vec::new();
        for (line, text) in paragraphs(turn).into_iter().flatten() {
            said.extend(text.split_whitespace());
            ends.push((said.len(), line));
        }
        let start = said.find(&quote)?;
        let line_of = |at: usize| {
            ends.iter()
                .find(|(end, _)| at < *end)
                .map(|(_, line)| *line)
        };
        Some((line_of(start)?, line_of(start + quote.len() - 1)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_s_words_are_found_whatever_their_blanks() {
        let talk = "**User**\n\nWe use\n  Postgres 16 now. Ok?\n\n```\nWe use MySQL\n```\n\n\
                    **Claude**\n\nWe use SQLite.\n";
        let lines = |quote: &str| lines_of_quote(talk, Company::WithAssistant, quote);
        assert_eq!(lines("We use Postgres\n16 now."), Some((3, 4)));
        assert_eq!(lines("Postgres 16"), Some((4, 4)));
        for other in ["Ok?", "", "We use MySQL", "We use SQLite.", "postgres 16"] {
            assert_eq!(lines(other), None, "{other}");
        }
        let among_people = lines_of_quote(talk, Company::People, "We use SQLite.");
        assert_eq!(among_people, Some((12, 12)));
    }
}

//! A talk → its candidates for lasting memories.

use std::collections::HashSet;

use super::judge::{Context, Judged, content_words, judge, tells_of_trouble};
use super::kind::CandidateKind;
use super::sentences::{Sentence, sentences};
use super::turns::{Company, turns};

/// Maximum number of candidates of one talk: nobody reviews more of it.
pub const MOST_OF_A_TALK: usize = 12;

/// Number of first bytes of a question that stand before its answer.
const MAX_QUESTION: usize = 300;

/// A sentence of a talk that may be worth keeping.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Its sort.
    pub kind: CandidateKind,
    /// Text that would be kept: the sentence, after the question that it answers.
    pub text: String,
    /// The sentence as it stands in the talk.
    pub quote: String,
    /// First and last line of its passage, from 1.
    pub lines: (usize, usize),
    /// Its place among the candidates of the talk, from 1.
    pub number: usize,
    /// Estimated probability that it is worth keeping, 0–1.
    pub confidence: f32,
    /// Name of the rule that found it.
    pub rule: &'static str,
}

/// Returns the candidates of a talk with the text `content`, in its order: at most [`MOST_OF_A_TALK`], the
/// most likely ones.
pub fn candidates(content: &str, company: Company) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    let mut seen = HashSet::new();
    let (mut before, mut turns_of_people): (Vec<Sentence<'_>>, usize) = (Vec::new(), 0);
    for turn in turns(content, company) {
        let said = sentences(&turn);
        if turn.is_person {
            turns_of_people += 1;
            let asked = before.last().filter(|last| last.text.ends_with('?'));
            let words = before.iter().flat_map(|one| content_words(one.text));
            let said_before: HashSet<String> = words.collect();
            let is_trouble = said.iter().any(|one| tells_of_trouble(one.text));
            for (at, sentence) in said.iter().enumerate() {
                let context = Context {
                    company,
                    is_reply: turns_of_people > 1,
                    is_first: at == 0,
                    asked: asked.map(|asked| asked.text),
                    said_before: &said_before,
                    is_trouble,
                };
                if let Some(judged) = judge(sentence.text, &context)
                    && seen.insert(judged.statement.to_lowercase())
                {
                    let number = found.len() + 1;
                    found.push(candidate(&judged, sentence, asked.copied(), number));
                }
            }
        }
        if !said.is_empty() {
            before = said;
        }
    }
    most_likely(found)
}

fn candidate(
    judged: &Judged<'_>,
    sentence: &Sentence<'_>,
    asked: Option<Sentence<'_>>,
    number: usize,
) -> Candidate {
    let asked = asked.filter(|asked| judged.answers && asked.text.len() <= MAX_QUESTION);
    let text = match asked {
        Some(asked) => format!("{} {}", asked.text, judged.statement),
        None => judged.statement.to_owned(),
    };
    Candidate {
        kind: judged.kind,
        text,
        quote: sentence.text.to_owned(),
        lines: (
            asked.map_or(sentence.line, |asked| asked.line),
            sentence.line,
        ),
        number,
        confidence: judged.confidence,
        rule: judged.rule,
    }
}

/// Returns the most likely candidates, in the order in which they came.
fn most_likely(found: Vec<Candidate>) -> Vec<Candidate> {
    if found.len() <= MOST_OF_A_TALK {
        return found;
    }
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by(|one, other| found[*other].confidence.total_cmp(&found[*one].confidence));
    let taken: HashSet<usize> = order.into_iter().take(MOST_OF_A_TALK).collect();
    let numbered = found.into_iter().enumerate();
    numbered
        .filter(|(at, _)| taken.contains(at))
        .map(|(_, one)| one)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_stands_behind_its_question() {
        let text = "**User**\n\nWrite me a command line.\n\n**Claude**\n\nDone. Which Python do the nodes have?\n\n\
                    **User**\n\n3.9 on the nodes.\n";
        let found = candidates(text, Company::WithAssistant);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            found[0].text,
            "Which Python do the nodes have? 3.9 on the nodes."
        );
        assert_eq!(found[0].quote, "3.9 on the nodes.");
        assert_eq!(found[0].lines, (7, 11));
    }

    #[test]
    fn what_an_assistant_says_is_no_candidate() {
        let text = "**User**\n\nhi\n\n**Claude**\n\nWe decided to use Postgres. I prefer tabs.\n";
        assert_eq!(candidates(text, Company::WithAssistant), []);
        assert_eq!(candidates(text, Company::People).len(), 2);
    }

    #[test]
    fn the_most_likely_ones_of_many_are_kept_in_order() {
        let sentence = |at: usize| match at % 2 {
            0 => format!("We decided to use plan {at}. "),
            _ => format!("Our server {at} runs on port {at}. "),
        };
        let said: String = (0..30).map(sentence).collect();
        let text = format!("**User**\n\nhi there\n\n**Claude**\n\nHello.\n\n**User**\n\n{said}\n");
        let found = candidates(&text, Company::WithAssistant);
        assert_eq!(found.len(), MOST_OF_A_TALK);
        assert!(
            found.iter().all(|one| one.kind == CandidateKind::Decision),
            "{found:?}"
        );
        assert_eq!(found[1].text, "We decided to use plan 2.");
    }
}

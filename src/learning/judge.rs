//! A sentence that a person says in a talk → whether it is worth keeping, as what, and how likely.
//!
//! The rules, in the order in which they count. The confidences say how the rules compare; they are not
//! measured one by one, since the labelled talks are too few for that.
//!
//! | rule | kind | confidence |
//! | --- | --- | --- |
//! | `asked-for-good` "could you keep answers short in general?" | preference | 0.75 |
//! | `open` "I still need to …", "let me check with …", "has to approve" | open | 0.80 |
//! | `intention` "I'll print it on Monday" | open | 0.75 |
//! | `manner` an order in a reply with "…, not …", or "only" | preference | 0.70 |
//! | `decided` "we decided", "I'll go with" | decision | 0.95 |
//! | `instruction` "always …", "from now on …", as questions are told from standing instructions | preference | 0.90 |
//! | `for-good` "please no …", "we never …", "… is forbidden" | preference | 0.85 |
//! | `liking` "I prefer", "dad hates" | preference | 0.80 |
//! | `lets` "let's use …" | decision | 0.90 |
//! | `choice` "go with …", "both: …", "plain workspaces then" | decision | 0.85 |
//! | `wanted` "I don't want another …" | decision | 0.75 |
//! | `contrast` in a reply: "…, not main", "it's called …" | correction | 0.80 |
//! | `pick` a reply of one or two words that the assistant had said | decision | 0.65 |
//! | `answer` the first sentence after a question of the assistant | decision or fact | 0.70 |
//! | `rejection` in a reply: "no, …", with a statement behind it | correction | 0.80 |
//! | `mine` "my daughter is …" | fact | 0.70 |
//! | `we` "we have …", "I work …" | fact | 0.70 |
//! | `we-do` in a reply: "we" with any verb | fact | 0.65 |
//! | `others` "he weighs …", "it's our own …" | fact | 0.60 |
//! | `named` in a reply: a statement about something specific | fact | 0.65 |
//!
//! The rules about facts look at each clause by itself, and at none of a turn that tells of troubles of the day.
//! Questions, conditions, hypotheses, orders about the work at hand, thanks and praise are left out.

use std::collections::HashSet;

use super::kind::CandidateKind;
use super::patterns::{
    ACKNOWLEDGEMENT, AGREEMENT, ASKS_FACT, CHOICE, CHOICE_THEN, CLAUSE_END, CONDITION, CONTRAST,
    DECIDED, DEICTIC, ENDEAVOUR, FILLER, FOR_GOOD, HABIT, HEARSAY, HYPOTHESIS, INTENTION, LATER,
    LETS, LIKING, LONG_SO, MINE, NAMED_FIRST, OF_OTHERS, OPEN, ORDER, ORDER_OF_MANNER, PAST_ANSWER,
    PRAISE, Pattern, QUESTION, QUESTION_BEHIND, REJECTION, REQUEST, SPECIFIC, THANKS, TIME,
    TROUBLE, WANTED, WE, WE_DO,
};
use super::turns::Company;
use crate::ranking::instructs;
use crate::words::is_stop_word;

/// Maximum length of a sentence in bytes: a longer one is no sentence.
const MAX_SENTENCE: usize = 600;

/// Number of words that a statement has at least which is kept before the question behind it.
const LEAST_BEFORE_QUESTION: usize = 4;

/// Words that a statement about something specific does not begin with: they name it not, or nothing.
const NAMELESS: [&str; 66] = [
    "i",
    "you",
    "your",
    "you're",
    "it",
    "it's",
    "its",
    "this",
    "that",
    "that's",
    "these",
    "those",
    "there",
    "there's",
    "they",
    "they're",
    "them",
    "we",
    "me",
    "here",
    "below",
    "above",
    "what",
    "who",
    "which",
    "how",
    "why",
    "when",
    "where",
    "he",
    "his",
    "her",
    "their",
    "being",
    "having",
    "seeing",
    "so",
    "such",
    "words",
    "people",
    "winning",
    "meeting",
    "i'm",
    "i've",
    "i'll",
    "i'd",
    "we're",
    "we've",
    "we'll",
    "he's",
    "she's",
    "sounds",
    "looks",
    "can't",
    "had",
    "not",
    "nothing",
    "something",
    "anything",
    "someone",
    "let's",
    "hope",
    "hopefully",
    "plus",
    "thanks",
    "just",
];

/// Verbs behind "we" by which a statement says how somebody feels, or what is not so.
const NO_CUSTOM: [&str; 44] = [
    "could",
    "should",
    "might",
    "may",
    "would",
    "will",
    "want",
    "wanna",
    "think",
    "guess",
    "see",
    "know",
    "mean",
    "hope",
    "was",
    "were",
    "did",
    "do",
    "does",
    "am",
    "are",
    "wonder",
    "wish",
    "feel",
    "felt",
    "thought",
    "need",
    "needed",
    "like",
    "love",
    "hate",
    "can't",
    "cannot",
    "can",
    "just",
    "really",
    "get",
    "got",
    "said",
    "say",
    "went",
    "agree",
    "understand",
    "appreciate",
];

/// Place of a sentence in its talk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    pub company: Company,
    /// Whether a person has spoken before this turn.
    pub is_reply: bool,
    /// Whether it is the first sentence of its turn.
    pub is_first: bool,
    /// The last sentence before its turn, if that is a question.
    pub asked: Option<&'a str>,
    /// Words of the turn before it.
    pub said_before: &'a HashSet<String>,
    /// Whether its turn tells of troubles of the day.
    pub is_trouble: bool,
}

/// Judgement of a sentence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Judged<'a> {
    pub kind: CandidateKind,
    pub confidence: f32,
    pub rule: &'static str,
    /// The sentence without the question behind it.
    pub statement: &'a str,
    /// Whether it needs the question that it answers to be understood.
    pub answers: bool,
}

/// Returns what a sentence of a person is worth; `None` if it is not worth keeping.
pub(super) fn judge<'a>(sentence: &'a str, context: &Context<'_>) -> Option<Judged<'a>> {
    if sentence.len() > MAX_SENTENCE || ACKNOWLEDGEMENT.is_match(&plain(sentence)) {
        return None;
    }
    let statement = match sentence.ends_with('?') {
        false => sentence,
        true if HEARSAY.is_match(&plain(sentence)) => return None,
        true => match before_question(sentence) {
            Some(statement) => statement,
            None => return asked_for_good(sentence),
        },
    };
    let (kind, confidence, rule) = Said::of(statement).judge(context)?;
    Some(Judged {
        kind,
        confidence,
        rule,
        statement,
        answers: rule == "answer",
    })
}

/// Returns a request for good in the form of a question.
fn asked_for_good(sentence: &str) -> Option<Judged<'_>> {
    let plain = plain(sentence);
    let plain = plain.trim_end_matches('?');
    let is_for_good = REQUEST.is_match(plain) && FOR_GOOD.is_match(plain) && !HABIT.is_match(plain);
    is_for_good.then_some(Judged {
        kind: CandidateKind::Preference,
        confidence: 0.75,
        rule: "asked-for-good",
        statement: sentence,
        answers: false,
    })
}

/// Returns the statement before the question with which a sentence ends.
fn before_question(sentence: &str) -> Option<&str> {
    // As long as the sentence, byte by byte.
    let lower = sentence.to_ascii_lowercase();
    let statement = &sentence[..QUESTION_BEHIND.find(&lower)?.start()];
    let is_question = || QUESTION.is_match(&FILLER.replace(&lower, ""));
    let count = statement.split_whitespace().count();
    (count >= LEAST_BEFORE_QUESTION && !is_question()).then_some(statement)
}

/// Returns a sentence in lower case, with straight apostrophes, and without what is quoted in it.
fn plain(sentence: &str) -> String {
    let mut plain = String::with_capacity(sentence.len());
    let mut is_quoted = false;
    for letter in sentence.chars() {
        match letter {
            '"' | '“' | '”' | '„' => {
                is_quoted = !is_quoted;
                plain.push('"');
            }
            _ if is_quoted => {}
            '’' | '‘' => plain.push('\''),
            letter => plain.extend(letter.to_lowercase()),
        }
    }
    plain.trim().to_owned()
}

/// Returns the words of a text, in lower case, that say something by themselves.
pub(super) fn content_words(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !(letter.is_alphanumeric() || ".'+#-_".contains(letter)));
    let words = words.map(|word| word.trim_matches(['.', '\'', '-']).to_lowercase());
    words
        .filter(|word| !word.is_empty() && !is_stop_word(word))
        .collect()
}

/// Returns whether a sentence tells of troubles of the day.
pub(super) fn tells_of_trouble(sentence: &str) -> bool {
    TROUBLE.is_match(&plain(sentence))
}

/// Returns the clauses of a plain sentence.
fn clauses(plain: &str) -> Vec<&str> {
    let (mut clauses, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some(found) = CLAUSE_END.captures_at(plain, at) {
        let whole = found.get(0).expect("it is the match");
        clauses.push(&plain[from..whole.start()]);
        from = found.get(1).map_or(whole.end(), |next| next.start());
        at = whole.end();
    }
    clauses.push(&plain[from..]);
    clauses
}

/// A statement as the rules look at it.
struct Said<'a> {
    /// As it is written.
    written: &'a str,
    /// In lower case.
    plain: String,
    /// In lower case, without fillers before it and marks behind it.
    body: String,
    /// Number of words of the body.
    words: usize,
}

type Verdict = (CandidateKind, f32, &'static str);

impl<'a> Said<'a> {
    fn of(written: &'a str) -> Said<'a> {
        let plain = plain(written);
        let body = FILLER.replace(&plain, "");
        let body = body.trim_end_matches([' ', '.', '!', ',']).to_owned();
        Said {
            written,
            words: body.split_whitespace().count(),
            plain,
            body,
        }
    }

    fn has(&self, pattern: &Pattern) -> bool {
        pattern.is_match(&self.body)
    }

    /// Applies the rules in their order.
    fn judge(&self, context: &Context<'_>) -> Option<Verdict> {
        if HEARSAY.is_match(&self.plain) {
            return None;
        }
        let verdict = self.wish_or_reply(context);
        verdict.or_else(|| self.facts(context))
    }

    /// Applies the rules about the whole sentence.
    fn wish_or_reply(&self, context: &Context<'_>) -> Option<Verdict> {
        let is_question = self.has(&QUESTION);
        let is_condition = self.has(&CONDITION);
        if self.words >= 5 && !is_condition && self.has(&OPEN) {
            return Some((CandidateKind::OpenEnd, 0.8, "open"));
        }
        let answers = context.is_first && context.asked.is_some();
        if is_question && !answers {
            return None;
        }
        if self.words >= 4 && !is_condition && self.has(&INTENTION) && self.has(&LATER) {
            return Some((CandidateKind::OpenEnd, 0.75, "intention"));
        }
        if is_condition || self.has(&HYPOTHESIS) {
            return None;
        }
        if let Some(verdict) = self.wish(context) {
            return Some(verdict);
        }
        if self.has(&THANKS) || THANKS.is_match(&self.plain) {
            return None;
        }
        self.reply(context, is_question)
    }

    /// Applies the rules about what somebody decides or wants.
    fn wish(&self, context: &Context<'_>) -> Option<Verdict> {
        use CandidateKind::{Decision, Preference};
        let is_praise = self.has(&PRAISE);
        let is_order = self.has(&ORDER);
        let is_sentence = self.words >= 3;
        let is_people = context.company == Company::People;
        if is_order && context.is_reply && self.words >= 4 && self.has(&ORDER_OF_MANNER) {
            return Some((Preference, 0.7, "manner"));
        }
        if self.has(&DEICTIC) {
            return None;
        }
        if is_sentence && self.has(&DECIDED) {
            return Some((Decision, 0.95, "decided"));
        }
        if is_sentence && !self.has(&HABIT) && !self.has(&LONG_SO) {
            if instructs(self.written) {
                return Some((Preference, 0.9, "instruction"));
            }
            // "No …" is a filler in other sentences.
            if self.has(&FOR_GOOD) || FOR_GOOD.is_match(&self.plain) {
                return Some((Preference, 0.85, "for-good"));
            }
        }
        if is_sentence && self.has(&LIKING) {
            return Some((Preference, 0.8, "liking"));
        }
        if is_sentence && !is_praise && !self.plain.ends_with('!') && self.has(&LETS) {
            return Some((Decision, 0.9, "lets"));
        }
        let is_then =
            || (2..9).contains(&self.words) && !is_order && !is_praise && self.has(&CHOICE_THEN);
        let is_exclaimed = self.body.starts_with("see ") || self.body.contains("how ");
        if !is_exclaimed && (self.has(&CHOICE) || is_then()) {
            return Some((Decision, 0.85, "choice"));
        }
        (!is_people && self.has(&WANTED)).then_some((Decision, 0.75, "wanted"))
    }

    /// Applies the rules about replies to an assistant, or to somebody else.
    fn reply(&self, context: &Context<'_>, is_question: bool) -> Option<Verdict> {
        use CandidateKind::Correction;
        let is_people = context.company == Company::People;
        let is_praise = self.has(&PRAISE);
        let (is_order, is_endeavour) = (self.has(&ORDER), self.has(&ENDEAVOUR));
        let is_statement = context.is_reply && !is_question && !is_order && self.words >= 4;
        if is_statement && !is_endeavour && !(is_people && is_praise) && self.has(&CONTRAST) {
            return Some((Correction, 0.8, "contrast"));
        }
        if is_praise && !self.has_digit() {
            return None;
        }
        if context.is_first && context.is_reply && !is_people {
            let answer = self.answer(context, is_order, is_question);
            if answer.is_some() {
                return answer;
            }
        }
        let is_rejection = context.is_first && REJECTION.is_match(&self.plain);
        let is_plain = !is_question && !is_order && !is_endeavour && self.words >= 4;
        let is_plain = is_plain && !self.has(&TROUBLE);
        (is_plain && is_rejection).then_some((Correction, 0.8, "rejection"))
    }

    /// Applies the rules about answers to an assistant.
    fn answer(&self, context: &Context<'_>, is_order: bool, is_question: bool) -> Option<Verdict> {
        use CandidateKind::{Decision, Fact};
        let own = content_words(&self.body);
        let is_said = |word: &String| context.said_before.contains(word);
        let Some(asked) = context.asked else {
            let is_pick =
                !own.is_empty() && self.words <= 2 && !is_order && own.iter().all(is_said);
            return is_pick.then_some((Decision, 0.65, "pick"));
        };
        let says_enough = self.words >= 3 || self.has_digit() || own.iter().any(is_said);
        let is_order = is_order && self.words < 4;
        let evades = is_question || self.has(&AGREEMENT) || self.has(&PAST_ANSWER);
        if own.is_empty() || !says_enough || is_order || evades {
            return None;
        }
        let kind = match ASKS_FACT.is_match(&asked.to_lowercase()) {
            true => Fact,
            false => Decision,
        };
        Some((kind, 0.7, "answer"))
    }

    /// Applies the rules about what is so, clause by clause.
    fn facts(&self, context: &Context<'_>) -> Option<Verdict> {
        let is_exclaimed = self.plain.ends_with('!') && self.plain.split_whitespace().count() > 3;
        if context.is_trouble || is_exclaimed || THANKS.is_match(&self.plain) {
            return None;
        }
        let is_specific = self.is_specific();
        let clauses = clauses(&self.plain);
        let mut clauses = clauses.iter().map(|clause| Said::of(clause));
        clauses.find_map(|clause| clause.fact(context, is_specific))
    }

    /// Applies the rules about what is so to a clause.
    fn fact(&self, context: &Context<'_>, is_specific: bool) -> Option<Verdict> {
        use CandidateKind::Fact;
        let is_people = context.company == Company::People;
        let leaves_out = [
            &QUESTION,
            &HYPOTHESIS,
            &CONDITION,
            &ENDEAVOUR,
            &ORDER,
            &THANKS,
            &HABIT,
        ];
        let is_praise = self.has(&PRAISE) && !self.has_digit();
        let is_left_out = leaves_out.iter().any(|pattern| self.has(pattern));
        let has_time = self.has_digit() || self.has(&TIME);
        let is_vague = is_people && !has_time && !is_specific;
        if self.words < 4 || is_praise || is_left_out || is_vague || CONDITION.is_match(&self.plain)
        {
            return None;
        }
        if self.words >= 5 && self.has(&MINE) {
            return Some((Fact, 0.7, "mine"));
        }
        if self.words >= 5 && self.has(&WE) {
            return Some((Fact, 0.7, "we"));
        }
        if context.is_reply
            && let Some(found) = WE_DO.captures(&self.body)
            && !NO_CUSTOM.contains(&&found[1])
        {
            return Some((Fact, 0.65, "we-do"));
        }
        if self.words >= 5 && !is_people && self.has(&OF_OTHERS) {
            return Some((Fact, 0.6, "others"));
        }
        let is_named = has_time || (!is_people && (is_specific || self.words >= 7));
        let first = self.body.split_whitespace().next().unwrap_or_default();
        let names = !NAMELESS.contains(&first.trim_matches([',', ':', '"']));
        let is_statement = context.is_reply && names && is_named;
        (is_statement && self.has(&NAMED_FIRST)).then_some((Fact, 0.65, "named"))
    }

    fn has_digit(&self) -> bool {
        self.written.bytes().any(|one| one.is_ascii_digit())
    }

    /// Returns whether it names one thing among others behind its first letter.
    fn is_specific(&self) -> bool {
        let mut letters = self.written.chars();
        letters.next();
        let rest = letters.as_str().replace(" I ", " ").replace(" I'", " ");
        SPECIFIC.is_match(&rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(sentence: &str) -> Option<Judged<'_>> {
        let context = Context {
            company: Company::WithAssistant,
            is_reply: true,
            is_first: true,
            asked: None,
            said_before: &HashSet::new(),
            is_trouble: tells_of_trouble(sentence),
        };
        judge(sentence, &context)
    }

    #[track_caller]
    fn check(rule: &str, sentences: &[&str]) {
        let wrong = sentences
            .iter()
            .filter(|sentence| judged(sentence).map_or("", |judged| judged.rule) != rule);
        assert_eq!(wrong.collect::<Vec<_>>(), [&""; 0]);
    }

    #[test]
    fn each_rule_finds_what_it_is_for() {
        check(
            "open",
            &[
                "we still need a certificate for the proxy",
                "Let me ask Ruth about the keys.",
            ],
        );
        check("intention", &["I'll print the forms on Monday."]);
        check("manner", &["use Spanish of Spain, not Latin American"]);
        check(
            "decided",
            &[
                "We decided to keep Postgres.",
                "ok I'll go with the smaller one",
            ],
        );
        check("instruction", &["Always format dates as 2026-01-31."]);
        check(
            "for-good",
            &[
                "we never deploy from laptops",
                "please no emojis in commits",
            ],
        );
        check("liking", &["I prefer tabs over spaces."]);
        check("lets", &["so let's use the queue"]);
        check("choice", &["plain workspaces then", "both: flag and file"]);
        check("contrast", &["deploys happen from `site`, not main"]);
        check("rejection", &["no, the ledger has its own backup"]);
        check("mine", &["my sister is a nurse in Graz"]);
        check("we", &["we have two clusters in Frankfurt"]);
        check("we-do", &["we stopped shipping to Norway"]);
        check("others", &["he weighs 31 kilos by now"]);
        check("named", &["The gateway cuts at 8 MB"]);
    }

    #[test]
    fn what_is_not_worth_keeping_is_left_out() {
        check(
            "",
            &[
                "ok, thanks",
                "What happens when the cache is full?",
                "if it fails we decided to retry",
                "maybe we should use Postgres",
                "I wonder whether Postgres is faster.",
                "fix the failing test in src/main.rs",
                "the build fails with an error since Monday",
                "That sounds like a great plan!",
                "I always forget how that works",
                "Let's go with this approach.",
                "He wrote \"we decided to use Redis\" there",
            ],
        );
    }

    #[test]
    fn a_statement_is_kept_without_the_question_behind_it() {
        let trains = judged("I prefer trains over planes, can you plan the trip accordingly?");
        assert_eq!(trains.unwrap().statement, "I prefer trains over planes");
        let short = judged("Could you keep answers that short in general?");
        assert_eq!(short.unwrap().rule, "asked-for-good");
    }
}

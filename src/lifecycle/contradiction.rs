//! Whether two memories contradict each other: evidence, or nothing.
//!
//! A function of two texts, by words alone; no model, no index. It compares what each says first in
//! its sentences, claim by claim, and sees one difference in what is the same otherwise: another
//! number, another value of something that has one, a "not", an opposite, an order turned round.
//! Promises: what elaborates, speaks of something else, or says that something has changed is no
//! evidence; it would rather miss a contradiction than see one that is none, because every hint
//! costs an agent's attention. Which memories are compared is left to `engine`.

mod claims;
mod vocabulary;

use std::fmt;

use self::claims::{Claim, Word};
use self::vocabulary::List;
use crate::model::{Kind, Memory};

/// Evidence that two memories are not both right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    pub difference: ContradictionKind,
    /// The words of the older memory.
    pub older: String,
    /// The words of the newer one in their place.
    pub newer: String,
}

/// In what two claims differ that are the same otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContradictionKind {
    Number,
    Value,
    Negation,
    Opposite,
    Order,
}

impl ContradictionKind {
    pub fn word(self) -> &'static str {
        match self {
            ContradictionKind::Number => "number",
            ContradictionKind::Value => "value",
            ContradictionKind::Negation => "negation",
            ContradictionKind::Opposite => "opposite",
            ContradictionKind::Order => "order",
        }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there \"{}\", here \"{}\"", self.older, self.newer)
    }
}

/// The claims of a memory, cut into words once, to be compared with many others.
#[derive(Debug, Clone)]
pub struct Claims {
    namespace: String,
    user: String,
    /// The title's words that say something.
    title: Vec<Word>,
    /// The whole text, where it is a value and no sentence: what the title says is so.
    value: Vec<Word>,
    is_episodic: bool,
    /// It says that something is not as it was.
    tells_of_change: bool,
    claims: Vec<Claim>,
}

/// Minimum number of content words that two claims about the same subject share.
const SHARED: usize = 2;
/// The same number where less speaks for it.
const MUCH_SHARED: usize = 3;
const VERY_MUCH_SHARED: usize = 4;
/// The words of which a value consists at most.
const MOST_VALUE_WORDS: usize = 4;
/// The words by which one of two claims, but for a "not", may say more.
const MOST_EXTRA_WORDS: usize = 4;

impl Claims {
    pub fn of(memory: &Memory) -> Claims {
        let mut claims = Claims {
            namespace: memory.namespace_or_global().to_owned(),
            user: memory.user.clone(),
            title: memory
                .title
                .as_deref()
                .map_or_else(Vec::new, claims::subject),
            is_episodic: memory.kind == Some(Kind::Episodic),
            tells_of_change: false,
            value: claims::value(&memory.content),
            claims: claims::of(&memory.content),
        };
        claims.tells_of_change = !claims.says_nothing() && claims::tells_of_change(&memory.content);
        claims
    }

    /// Returns whether nothing that the memory says can contradict another one, as of a long text.
    pub fn says_nothing(&self) -> bool {
        self.value.is_empty() && self.claims.is_empty()
    }

    /// Returns the words that another memory must share to be compared with this one, those that say most
    /// first, each once.
    pub fn subject_words(&self, limit: usize) -> Vec<String> {
        let mut words: Vec<&Word> = Vec::new();
        // A value says nothing of what it is of; the title does.
        let titled = match self.value.is_empty() {
            true => [].as_slice(),
            false => &self.title,
        };
        let said = self.claims.iter().flat_map(|claim| &claim.words);
        for word in said.chain(titled) {
            if word.is_content && !words.iter().any(|known| known.stem == word.stem) {
                words.push(word);
            }
        }
        // Long words are rare ones, as a rule.
        words.sort_by_key(|word| std::cmp::Reverse(word.text.chars().count().min(12)));
        let words = words.into_iter().take(limit);
        words.map(|word| word.text.clone()).collect()
    }

    /// Returns whether a claim of this memory shares enough with one of the other to be compared.
    pub fn may_contradict(&self, other: &Claims) -> bool {
        self.is_comparable(other)
            && (self.claims.iter().any(|one| {
                let shared = |claim: &Claim| one.shared_content(claim) >= SHARED;
                other.claims.iter().any(shared)
            }) || are_titled_alike(&self.title, &other.title))
    }

    fn is_comparable(&self, other: &Claims) -> bool {
        // Two events may differ in everything.
        self.namespace == other.namespace && !(self.is_episodic && other.is_episodic)
    }

    /// Returns evidence that `self`, the older memory, and `newer` are not both right.
    pub fn contradicted_by(&self, newer: &Claims) -> Option<Evidence> {
        if !self.is_comparable(newer) || newer.tells_of_change {
            return None;
        }
        let is_titled_alike = are_titled_alike(&self.title, &newer.title);
        let is_same_user = self.user == newer.user;
        if is_titled_alike && let Some(evidence) = between_values(&self.value, &newer.value) {
            return Some(evidence);
        }
        newer.claims.iter().find_map(|here| {
            let comparable = self
                .claims
                .iter()
                .filter(|there| is_same_user || !(there.is_personal || here.is_personal));
            comparable
                .filter_map(|there| between(there, here, is_titled_alike))
                .next()
        })
    }
}

/// Returns evidence that two memories are not both right.
pub fn contradiction(older: &Memory, newer: &Memory) -> Option<Evidence> {
    Claims::of(older).contradicted_by(&Claims::of(newer))
}

/// Returns whether one title names the subject of the other, with at most one word more: "Log retention" and
/// "Retention of logs", "Indentation" and "Indentation style".
fn are_titled_alike(one: &[Word], other: &[Word]) -> bool {
    let (short, long) = match one.len() <= other.len() {
        true => (one, other),
        false => (other, one),
    };
    let is_there = |word: &Word| long.iter().any(|known| known.stem == word.stem);
    !short.is_empty() && long.len() <= short.len() + 1 && short.iter().all(is_there)
}

/// Compares two values of one thing: "port 8080" and "port 9090".
fn between_values(there: &[Word], here: &[Word]) -> Option<Evidence> {
    let prefix = common(there.iter(), here.iter());
    let suffix = common(there[prefix..].iter().rev(), here[prefix..].iter().rev());
    let older = &there[prefix..there.len() - suffix];
    let newer = &here[prefix..here.len() - suffix];
    let ([one], [other]) = (older, newer) else {
        return None;
    };
    let difference = if one.is_number && other.is_number {
        ContradictionKind::Number
    } else if vocabulary::are_opposites(&one.plain, &other.plain) {
        ContradictionKind::Opposite
    } else if one.is_name && other.is_name && prefix + suffix > 0 {
        ContradictionKind::Value
    } else {
        return None;
    };
    Some(Evidence {
        difference,
        older: joined(there),
        newer: joined(here),
    })
}

/// Compares two claims. If the memories of which they are bear one title, they have the same
/// subject.
fn between(there: &Claim, here: &Claim, is_titled_alike: bool) -> Option<Evidence> {
    let difference = |difference, older: &[Word], newer: &[Word]| {
        Some(Evidence {
            difference,
            older: joined(older),
            newer: joined(newer),
        })
    };
    if is_negated(there, here) {
        // Without their "not" both are one sentence.
        return Some(Evidence {
            difference: ContradictionKind::Negation,
            older: there.text.clone(),
            newer: here.text.clone(),
        });
    }
    if there.negations != here.negations {
        return None;
    }
    let (ours, theirs) = (there.words.as_slice(), here.words.as_slice());
    if is_turned_round(ours, theirs) {
        return difference(ContradictionKind::Order, ours, theirs);
    }
    let prefix = common(ours.iter(), theirs.iter());
    let suffix = common(ours[prefix..].iter().rev(), theirs[prefix..].iter().rev());
    let older = &ours[prefix..ours.len() - suffix];
    let newer = &theirs[prefix..theirs.len() - suffix];
    // One that says more elaborates.
    if older.is_empty() || newer.is_empty() {
        return None;
    }
    let frame = Frame {
        before: &ours[..prefix],
        after: &ours[ours.len() - suffix..],
        claim: there,
        is_titled_alike,
    };
    if frame.is_opposite(older, newer) {
        return difference(ContradictionKind::Opposite, older, newer);
    }
    if are_two_answers(older, newer) || frame.are_of_two_things(older, newer) {
        return None;
    }
    if frame.is_other_number(older, newer) {
        return difference(ContradictionKind::Number, older, newer);
    }
    if frame.is_other_value(older, newer) || frame.is_other_definition(older, newer) {
        return difference(ContradictionKind::Value, older, newer);
    }
    None
}

/// The common words of two claims, around those in which they differ.
struct Frame<'a> {
    before: &'a [Word],
    after: &'a [Word],
    claim: &'a Claim,
    is_titled_alike: bool,
}

impl Frame<'_> {
    fn shared(&self) -> usize {
        content(self.before) + content(self.after)
    }

    fn is_opposite(&self, older: &[Word], newer: &[Word]) -> bool {
        let ([one], [other]) = (older, newer) else {
            return false;
        };
        // "Dark mode is the default": what is so has one side only.
        let is_one_thing = || {
            let mut after = self.after.windows(2);
            after.any(|pair| pair[0].is_copula() && pair[1].lists.has(List::Definite))
        };
        vocabulary::are_opposites(&one.plain, &other.plain)
            && (!self.before.is_empty() || is_one_thing())
            && (self.shared() >= MUCH_SHARED
                || content(self.before) > 0 && self.shared() >= SHARED
                || self.is_of_one_thing() && self.after.is_empty()
                || self.is_all_that_is_said())
            || self.is_of_a_weekday(one, other)
    }

    /// "Caching is …": a name and what it is, nothing else.
    fn is_all_that_is_said(&self) -> bool {
        self.before.last().is_some_and(Word::is_copula)
            && (2..=4).contains(&self.before.len())
            && content(self.before) > 0
            && self.after.is_empty()
            && !self.claim.is_past
    }

    /// "We deploy on …": what is done on one day of the week, as a rule.
    fn is_of_a_weekday(&self, one: &Word, other: &Word) -> bool {
        let is_on = |word: &Word| word.lists.has(List::Preposition);
        vocabulary::are_weekdays(&one.plain, &other.plain)
            && self.before.last().is_some_and(is_on)
            && content(self.before) > 0
            && self.after.is_empty()
            && !self.claim.is_past
    }

    /// "runs Kubernetes 1.28" and "runs Prometheus 2.53": numbers of two things.
    fn are_of_two_things(&self, older: &[Word], newer: &[Word]) -> bool {
        let is_of_a_thing = |value: &[Word]| {
            value.iter().any(|word| word.is_number)
                && value.iter().any(|word| word.is_content && !word.is_number)
        };
        let is_object = |word: &Word| word.is_content || word.is_stative() && !word.is_copula();
        self.before.last().is_some_and(is_object) && is_of_a_thing(older) && is_of_a_thing(newer)
    }

    /// Returns whether both say the same but for a number, of something that is so and did not just happen.
    fn is_other_number(&self, older: &[Word], newer: &[Word]) -> bool {
        let is_number = |value: &[Word]| {
            value.len() <= MOST_VALUE_WORDS && value.iter().any(|word| word.is_number)
        };
        if !is_number(older) || !is_number(newer) || share_words(older, newer) {
            return false;
        }
        // "Step 3 is …", "Version 4.1 of …": the number says what it is about.
        let has_verb = self.before.iter().any(Word::is_stative);
        let follows_subject = content(self.before) > 0;
        let is_timeless = !self.claim.is_past;
        follows_subject
            && is_timeless
            && ((has_verb && self.shared() >= SHARED)
                || (self.is_titled_alike && self.shared() >= SHARED)
                || (self.shared() >= VERY_MUCH_SHARED && self.verb_before().is_some()))
    }

    /// The same but for the value of what has one value at a time.
    fn is_other_value(&self, older: &[Word], newer: &[Word]) -> bool {
        let is_short = |value: &[Word]| value.len() <= MOST_VALUE_WORDS;
        let is_said = !self.claim.is_past && !self.claim.is_heading;
        if !is_short(older) || !is_short(newer) || share_words(older, newer) || !is_said {
            return false;
        }
        if self.before.is_empty() {
            return self.is_other_holder(older, newer);
        }
        let named = |value: &[Word]| value.iter().any(|word| word.is_name);
        let (both, either) = (named(older) && named(newer), named(older) || named(newer));
        let Some(verb) = self.verb_before() else {
            let all = |value: &[Word]| value.iter().all(|word| word.is_name);
            if self.is_habit_of_one_thing() && all(older) && all(newer) {
                return true;
            }
            // Under one title, and with much in common, the subject is the same.
            return both
                && !self.has_value_after(0)
                && (self.is_titled_alike && self.shared() >= SHARED
                    || self.shared() >= VERY_MUCH_SHARED);
        };
        let between = &self.before[verb + 1..];
        let subject = content(&self.before[..verb]);
        let is_free = !self.has_value_after(verb + 1) && !self.before[verb].has_many();
        let are_words = older.len() == 1 && newer.len() == 1;
        if self.before[verb].is_copula() {
            // "is proud of Ann" and "is proud of Tom" can both be.
            let all = |value: &[Word]| value.iter().all(|word| word.is_name);
            let are_all_names = all(older) && all(newer);
            // "is based on X" says one thing, as "is X" does.
            let is_how = |word: &&Word| {
                ["ed", "able", "ible"]
                    .iter()
                    .any(|ending| word.plain.len() > 4 && word.plain.ends_with(ending))
            };
            let how = usize::from(between.first().is_some_and(|word| is_how(&word)));
            // "is friendly" and "is from Kenya", "is public" and "is hosted by us": of two kinds.
            let is_phrase = |value: &[Word]| {
                let first = &value[0];
                !(first.is_content || first.is_name) || value.len() > 1 && is_how(&first)
            };
            return content(&between[how..]) == 0
                && is_phrase(older) == is_phrase(newer)
                && (either && subject >= SHARED
                    || are_words && subject >= MUCH_SHARED
                    || are_all_names && self.is_of_one_thing() && self.after.is_empty());
        }
        // "runs on web-1" and "runs on web-2" can both be, unless it is one thing that runs.
        let least = match self.before[verb].lists.has(List::Runs) {
            true => SHARED,
            false => 1,
        };
        let is_with = between.iter().any(|word| word.lists.has(List::With));
        let works_with = is_with && !self.before[..verb].iter().any(Word::is_copula);
        let plays_a_part = self
            .after
            .first()
            .is_none_or(|word| word.lists.has(List::RoleMarker));
        let is_single = older.len() <= 2 && newer.len() <= 2;
        // "We use X for Z": the part says what it is about.
        let has_part = || {
            let mut after = self.after.iter();
            after.any(|word| word.lists.has(List::RoleMarker))
        };
        is_free
            && !works_with
            && (subject >= least || self.claim.is_personal && both && has_part())
            && (both && self.shared() >= SHARED
                || either && self.shared() >= SHARED && content(between) == 0
                || are_words
                    && self.shared() >= MUCH_SHARED
                    && content(between) == 0
                    && plays_a_part
                || is_single && self.shared() >= VERY_MUCH_SHARED && plays_a_part)
    }

    /// "The bot answers in …", "The rotation changes on …".
    fn is_habit_of_one_thing(&self) -> bool {
        let [article, subject @ .., verb, place] = self.before else {
            return false;
        };
        article.lists.has(List::Definite)
            && (1..=3).contains(&subject.len())
            && verb.plain.len() > 3
            && verb.plain.ends_with('s')
            && place.lists.has(List::Preposition)
            && self.after.is_empty()
    }

    /// "The gateway is …", "The user's dog is …": there is one of it.
    fn is_of_one_thing(&self) -> bool {
        let verb = self.before.iter().position(Word::is_copula);
        let is_one = |word: &Word| word.lists.has(List::Definite);
        self.before.first().is_some_and(is_one) && verb.is_some_and(|verb| (2..=4).contains(&verb))
    }

    /// "X is the owner of Z" and "Y is the owner of Z", "X leads Z", "X is used as the Z".
    fn is_other_holder(&self, older: &[Word], newer: &[Word]) -> bool {
        let are_names = |value: &[Word]| value.len() <= 2 && value.iter().all(Word::is_capital);
        let is_the = matches!(self.after, [verb, article, ..]
            if (verb.is_copula() || verb.lists.has(List::HeldByOne))
                && article.lists.has(List::Definite));
        let is_the_part = matches!(self.after, [verb, used, part, article, ..]
            if verb.is_copula()
                && used.is_stative()
                && part.lists.has(List::RoleMarker)
                && article.lists.has(List::Definite));
        are_names(older)
            && are_names(newer)
            && (is_the || is_the_part)
            && content(self.after) >= SHARED
    }

    /// "The API of Z is X, with …" and "The API of Z is Y, with …": what follows the value may
    /// differ as well.
    fn is_other_definition(&self, older: &[Word], newer: &[Word]) -> bool {
        let is_preposition = |word: &&Word| !word.is_content && !word.is_copula();
        let prepositions = self.before.iter().rev().take_while(is_preposition).count();
        let before = &self.before[..self.before.len() - prepositions];
        let Some((verb, subject)) = before.split_last() else {
            return false;
        };
        let (Some(one), Some(other)) = (older.first(), newer.first()) else {
            return false;
        };
        let names_a_thing = subject
            .iter()
            .any(|word| word.is_content && !word.is_capital());
        verb.is_copula()
            && !self.claim.is_past
            && !self.claim.is_heading
            && content(subject) >= SHARED
            && names_a_thing
            && one.is_name
            && other.is_name
            && !(one.is_number || other.is_number)
    }

    /// Returns the place of the last verb of a state before the difference.
    fn verb_before(&self) -> Option<usize> {
        self.before.iter().rposition(Word::is_stative)
    }

    /// Returns whether there is a value already, so that what differs is where or when it counts.
    fn has_value_after(&self, at: usize) -> bool {
        let is_value = |(place, word): (usize, &Word)| {
            word.is_number || (word.is_name && place > 0 && word.is_identifier())
        };
        self.before[at..]
            .iter()
            .enumerate()
            .any(|(place, word)| is_value((at + place, word)))
    }
}

/// "in the cellar" and "for 30 days", "from main" and "with Ansible": they answer two questions.
fn are_two_answers(older: &[Word], newer: &[Word]) -> bool {
    let (one, other) = (&older[0], &newer[0]);
    let opens = |word: &Word| !(word.is_content || word.is_name || word.lists.has(List::Definite));
    older.len() > 1
        && newer.len() > 1
        && opens(one)
        && opens(other)
        && !vocabulary::are_opposites(&one.plain, &other.plain)
}

/// Returns whether the claims say the same, one of them with a "not". The one without may say more.
fn is_negated(one: &Claim, other: &Claim) -> bool {
    let (with, without) = match (one.negations, other.negations) {
        (1, 0) => (one, other),
        (0, 1) => (other, one),
        _ => return false,
    };
    let words = |claim: &Claim| -> Vec<String> {
        let words = claim.words.iter();
        let words = words.filter(|word| word.is_content && !word.lists.has(List::Always));
        words.map(|word| word.stem.clone()).collect()
    };
    let (with, without) = (words(with), words(without));
    let least = match with == without {
        true => SHARED,
        false => MUCH_SHARED,
    };
    let mut rest = without.iter();
    let is_part = with.iter().all(|word| rest.any(|other| other == word));
    with.len() >= least
        && without.len() <= with.len() + MOST_EXTRA_WORDS
        && with.first() == without.first()
        && is_part
}

/// Returns whether both have the same words in another order, around a word that compares.
fn is_turned_round(ours: &[Word], theirs: &[Word]) -> bool {
    let stems =
        |words: &[Word]| -> Vec<String> { words.iter().map(|word| word.stem.clone()).collect() };
    let place = |words: &[Word]| {
        let place = words
            .iter()
            .position(|word| word.lists.has(List::Comparator))?;
        (0 < place && place + 1 < words.len()).then_some(place)
    };
    let (Some(at), Some(same)) = (place(ours), place(theirs)) else {
        return false;
    };
    let (mut one, mut other) = (stems(ours), stems(theirs));
    let is_swapped = at == same
        && one[..at - 1] == other[..at - 1]
        && one[at - 1] == other[at + 1]
        && one[at + 1] == other[at - 1]
        && one[at - 1] != one[at + 1];
    one.sort_unstable();
    other.sort_unstable();
    let is_preference = ours.len() == 3 && ours[1].plain == "over";
    is_swapped && one == other && (content(ours) >= MUCH_SHARED || is_preference)
}

fn common<'a>(
    ours: impl Iterator<Item = &'a Word>,
    theirs: impl Iterator<Item = &'a Word>,
) -> usize {
    ours.zip(theirs)
        .take_while(|(one, other)| one.stem == other.stem)
        .count()
}

fn share_words(one: &[Word], other: &[Word]) -> bool {
    one.iter()
        .any(|word| other.iter().any(|known| known.stem == word.stem))
}

fn content(words: &[Word]) -> usize {
    words.iter().filter(|word| word.is_content).count()
}

fn joined(words: &[Word]) -> String {
    let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests;

//! The words by which claims are understood: English first, and what German and French need.
//!
//! They stand in `vocabulary.txt`. A word that is missing costs a hint; one too many may cost a
//! false one.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::literals::WordLists;

/// A list of `vocabulary.txt`, which has them in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    /// Verbs that say that something is, not what it does.
    Copula,
    /// Verbs of states: they say how something is, and for long, with one value at a time.
    Stative,
    /// Verbs whose subject may have many values at a time: another value is no contradiction, another
    /// number is.
    Multivalued,
    /// Verbs of a role that one holds alone, as a rule: "leads the team".
    HeldByOne,
    /// Verbs of something that may be done in many places at a time.
    Runs,
    /// Words for "with".
    With,
    /// Words before the role that a value plays: "as", "for".
    RoleMarker,
    /// Words that make a participle behind them a state: "remains limited", "to be approved".
    StateMarker,
    /// Verbs in the past tense.
    Past,
    /// Articles and other words before something of which there is one.
    Definite,
    /// Words that negate a claim.
    Negation,
    /// Verbs that only help another one to be negated.
    Auxiliary,
    /// Words that change nothing about what is claimed.
    Filler,
    /// Words for "always" and "one".
    Always,
    /// Words that make a negation behind them say more, not less: "not only".
    Only,
    /// Words of somebody who speaks of himself, or to the reader.
    Personal,
    /// Words that begin a sentence which claims nothing by itself.
    ConditionOpener,
    /// Words that begin a clause which gives a reason.
    ReasonOpener,
    /// Words for times that hold for a day only.
    OfADay,
    /// Words between two things of which one comes first.
    Comparator,
    /// Function words of other languages than English.
    FunctionWord,
    /// Numbers in words.
    NumberWord,
    /// Words before a place, a time or a language, of which there is one.
    Preposition,
    /// Words for how often something is done: only one of them is so.
    Frequency,
    /// Colours: only one of them is so.
    Colour,
    /// Words that make a participle behind them a habit: "is changed", "wird … gewechselt".
    Habitual,
    /// Words that say that something is not as it was.
    Change,
}

/// All lists: those of [`List`], then the days of the week and the lists of pairs.
static LISTS: LazyLock<WordLists> =
    LazyLock::new(|| WordLists::read(include_str!("vocabulary.txt")));

/// Each word with a bit for every list that holds it.
static WORDS: LazyLock<FxHashMap<&str, u32>> = LazyLock::new(|| {
    let all = LISTS.iter().map(|(_, list)| list.len()).sum();
    let mut words = FxHashMap::with_capacity_and_hasher(all, Default::default());
    for (number, (_, list)) in LISTS.iter().take(List::Change as usize + 1).enumerate() {
        for word in list {
            *words.entry(word.as_ref()).or_default() |= 1 << number;
        }
    }
    words
});

impl List {
    /// Returns whether the list holds `word`, which is in small letters.
    pub fn has(self, word: &str) -> bool {
        Lists::of(word).has(self)
    }
}

/// Lists that hold a word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lists(u32);

impl Lists {
    /// Returns the lists that hold `word`, which is in small letters.
    pub fn of(word: &str) -> Lists {
        Lists(WORDS.get(word).copied().unwrap_or_default())
    }

    /// Returns whether `list` is among them.
    pub fn has(self, list: List) -> bool {
        self.0 & (1 << list as u32) != 0
    }
}

/// Returns whether a list of pairs holds these two, in this order.
fn has_pair(name: &str, one: &str, other: &str) -> bool {
    let rest = |pair: &'static str| pair.strip_prefix(one)?.strip_prefix(' ');
    let mut pairs = LISTS.list(name).iter();
    pairs.any(|pair| rest(pair) == Some(other))
}

/// Returns whether a word makes a participle behind it a state: "is limited", "must be approved".
pub(super) fn makes_a_state(word: &str) -> bool {
    List::Copula.has(word) || List::StateMarker.has(word)
}

/// `isn't` → `is`; `None` if there is no "not" at its end.
pub(super) fn without_not(word: &str) -> Option<&str> {
    match word {
        "can't" => Some("can"),
        "won't" => Some("will"),
        "cannot" => Some("can"),
        _ => word.strip_suffix("n't"),
    }
}

/// Returns whether words hold for a day only.
pub(super) fn is_of_a_day(words: &[String]) -> bool {
    words.iter().any(|word| List::OfADay.has(word))
}

/// Returns whether both are days of the week, and not the same.
pub(super) fn are_weekdays(one: &str, other: &str) -> bool {
    let day = |word: &str| {
        let mut days = LISTS.list("Weekday").iter();
        days.position(|day| word == day || word.strip_suffix('s') == Some(day))
    };
    matches!((day(one), day(other)), (Some(one), Some(other)) if one != other)
}

/// Returns whether only one of two words can be so.
pub(super) fn are_opposites(one: &str, other: &str) -> bool {
    let is_turned = |a: &str, b: &str| {
        let prefixes = ["un", "in", "im", "dis", "non", "non-", "a", "ir", "un-"];
        a.chars().count() > 4
            && prefixes
                .iter()
                .any(|prefix| b.strip_prefix(prefix) == Some(a))
    };
    let are_of = |list: List| one != other && list.has(one) && list.has(other);
    are_of(List::Frequency)
        || are_of(List::Colour)
        || has_pair("Opposites", one, other)
        || has_pair("Opposites", other, one)
        || is_turned(one, other)
        || is_turned(other, one)
}

/// Returns whether words say that something is not as it was.
pub(super) fn tells_of_change(words: &[String]) -> bool {
    words.iter().enumerate().any(|(place, word)| {
        // "Changes must be approved" and "the key is changed every month" tell of none.
        let before = &words[place.saturating_sub(PASSIVE)..place];
        let is_habit = || before.iter().any(|word| List::Habitual.has(word));
        let is_it = List::Change.has(word) && word != "changes" && !is_habit();
        let next = words.get(place + 1).map_or("", String::as_str);
        is_it || has_pair("ChangePhrases", word, next)
    })
}

/// Maximum distance, in words, between a participle and the word before it that makes it a habit.
const PASSIVE: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_those_of_the_file_in_its_order() {
        let all = [
            List::Copula,
            List::Stative,
            List::Multivalued,
            List::HeldByOne,
            List::Runs,
            List::With,
            List::RoleMarker,
            List::StateMarker,
            List::Past,
            List::Definite,
            List::Negation,
            List::Auxiliary,
            List::Filler,
            List::Always,
            List::Only,
            List::Personal,
            List::ConditionOpener,
            List::ReasonOpener,
            List::OfADay,
            List::Comparator,
            List::FunctionWord,
            List::NumberWord,
            List::Preposition,
            List::Frequency,
            List::Colour,
            List::Habitual,
            List::Change,
        ];
        let names: Vec<String> = all.iter().map(|list| format!("{list:?}")).collect();
        let written: Vec<&str> = LISTS.iter().map(|(name, _)| *name).collect();
        assert_eq!(written[..names.len()], names);
        assert_eq!(
            written[names.len()..],
            ["Weekday", "Opposites", "ChangePhrases"]
        );
    }
}

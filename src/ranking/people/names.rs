//! Names of users in texts.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::named::{NamedBy, NamedPerson};
use crate::model::OtherNames;
use crate::words::without_marks;

/// Users of a store by the words of their names.
#[derive(Debug, Default)]
pub struct Names {
    /// Numbers of the user fields that hold a name, by the name's lower-case words.
    users_by_name: HashMap<Vec<String>, Vec<u32>>,
    /// Users whose other names the settings state, by the words of these names.
    stated: HashMap<Vec<String>, String>,
}

/// User fields that are roles, not people.
const ROLES: [&str; 12] = [
    "user",
    "assistant",
    "agent",
    "system",
    "human",
    "ai",
    "bot",
    "chat",
    "model",
    "tool",
    "me",
    "unknown",
];
/// Maximum number of words of a name that is searched for.
const MAX_NAME_WORDS: usize = 4;
/// Minimum number of letters of a name that is recognised in another spelling.
const MIN_MISSPELT: usize = 4;

impl Names {
    /// Reads the names in `user_fields`; one field may hold several people (`Ana+Ben`). Roles and the names
    /// of `agents` (lower case) are not people, but may have `others`.
    pub fn of(user_fields: &[String], agents: &HashSet<String>, others: &OtherNames) -> Names {
        let mut names = Names::default();
        for (number, field) in user_fields.iter().enumerate() {
            for person in people(field) {
                for other in others.of(&person) {
                    let words = lower_words(other);
                    names
                        .stated
                        .entry(words.clone())
                        .or_insert_with(|| person.clone());
                    names.add(words, number as u32);
                }
                let words = lower_words(&person);
                let lower = person.to_lowercase();
                if words.is_empty() || ROLES.contains(&lower.as_str()) || agents.contains(&lower) {
                    continue;
                }
                // The first word of a longer name is a name, too.
                if words.len() > 1 {
                    names.add(words[..1].to_vec(), number as u32);
                }
                names.add(words, number as u32);
            }
        }
        names
    }

    /// Returns whether the user field `field` holds a name, and not only a role.
    pub fn are_in(field: &str) -> bool {
        let names = Names::of(&[field.to_owned()], &HashSet::new(), &OtherNames::default());
        !names.users_by_name.is_empty()
    }

    /// Returns `text` without the names and their possessive endings.
    pub fn strip(&self, text: &str) -> String {
        self.take_out(text, |_, _, _| {})
    }

    /// Does as [`Names::strip`]; calls `each` with every name, as written and in lower-case words, and the
    /// numbers of the user fields that hold it.
    pub fn take_out(&self, text: &str, mut each: impl FnMut(&str, &[String], &[u32])) -> String {
        let found: Vec<(usize, &str)> = words(text).collect();
        let lower: Vec<String> = found.iter().map(|(_, word)| small(word)).collect();
        let mut left = String::new();
        let (mut at, mut copied) = (0, 0);
        while at < found.len() {
            let longest = MAX_NAME_WORDS.min(found.len() - at);
            let name = (1..=longest).rev().find_map(|count| {
                let name = &lower[at..at + count];
                self.users_by_name.get(name).map(|users| (name, users))
            });
            let Some((name, of)) = name else {
                at += 1;
                continue;
            };
            left.push_str(&text[copied..found[at].0]);
            let (start, last) = found[at + name.len() - 1];
            copied = start + last.len();
            each(&text[found[at].0..copied], name, of);
            copied += possessive(&text[copied..]);
            at += name.len();
            while at < found.len() && found[at].0 < copied {
                at += 1;
            }
        }
        left.push_str(&text[copied..]);
        left
    }

    /// Returns the capitalised words of `text` that are one letter away from one name of the store, and
    /// from no other, with that name in lower case; in the order of the text.
    pub fn misspelt(&self, text: &str) -> Vec<(Range<usize>, &str)> {
        let near = |(at, word): (usize, &str)| {
            if word.chars().count() < MIN_MISSPELT || !word.starts_with(char::is_uppercase) {
                return None;
            }
            let lower = small(word);
            let names = self.users_by_name.keys().filter(|name| name.len() == 1);
            let names = names.map(|name| name[0].as_str());
            let long = names.filter(|name| name.chars().count() >= MIN_MISSPELT);
            let mut near = long.filter(|name| strsim::osa_distance(name, &lower) <= 1);
            match (near.next(), near.next()) {
                (Some(name), None) if name != lower => Some((at..at + word.len(), name)),
                _ => None,
            }
        };
        words(text).filter_map(near).collect()
    }

    /// Returns the names of `text` that the settings state, with the users.
    pub fn stated(&self, text: &str) -> Vec<NamedPerson> {
        let mut people = Vec::new();
        if !self.stated.is_empty() {
            self.take_out(text, |word, name, _| {
                let user = self.stated.get(name);
                people.extend(user.map(|user| NamedPerson {
                    word: word.to_owned(),
                    user: user.clone(),
                    by: NamedBy::Setting,
                }));
            });
        }
        people
    }

    /// Returns the users called `name`, a word in lower case, as `user_fields` and the settings have them.
    pub fn called(&self, name: &str, user_fields: &[String]) -> String {
        let words = [name.to_owned()];
        if let Some(user) = self.stated.get(&words[..]) {
            return user.clone();
        }
        let fields = self.users(&words).iter();
        let people = fields.flat_map(|user| people(&user_fields[*user as usize]));
        let mut called: Vec<String> = people
            .filter(|person| {
                lower_words(person)
                    .first()
                    .is_some_and(|first| first == name)
            })
            .collect();
        called.sort_unstable();
        called.dedup();
        called.join(", ")
    }

    /// Returns the numbers of the user fields that hold a name, given in lower-case words.
    pub fn users(&self, name: &[String]) -> &[u32] {
        self.users_by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns the lower-case words of the name in a user field; `None` if it holds several, a role or
    /// an agent.
    pub fn person(&self, field: &str) -> Option<Vec<String>> {
        let [person] = &people(field)[..] else {
            return None;
        };
        let words = lower_words(person);
        self.users_by_name.contains_key(&words).then_some(words)
    }

    fn add(&mut self, words: Vec<String>, user: u32) {
        let users = self.users_by_name.entry(words).or_default();
        if users.last() != Some(&user) {
            users.push(user);
        }
    }
}

fn people(field: &str) -> Vec<String> {
    field
        .split(['+', ',', ';', '&', '/', '|'])
        .flat_map(|part| part.split(" and "))
        .map(|person| person.trim().to_owned())
        .filter(|person| !person.is_empty())
        .collect()
}

/// Returns the words of a name in lower case, without marks.
fn lower_words(name: &str) -> Vec<String> {
    words(name).map(|(_, word)| small(word)).collect()
}

/// Returns a word in lower case, without marks, as names are compared.
fn small(word: &str) -> String {
    without_marks(&word.to_lowercase()).into_owned()
}

/// Returns runs of letters and digits with their byte offsets.
pub fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// Returns the length of a possessive ending at the start of `rest`, in bytes.
pub fn possessive(rest: &str) -> usize {
    ["'s", "’s", "'", "’"]
        .iter()
        .find(|ending| {
            rest.strip_prefix(**ending)
                .is_some_and(|after| !after.starts_with(char::is_alphanumeric))
        })
        .map_or(0, |ending| ending.len())
}

#[cfg(test)]
impl Names {
    /// Returns the names of three persons for tests.
    pub fn sample() -> Names {
        let users = ["Caroline", "Caroline+Melanie", "John Smith", "user"].map(str::to_owned);
        let agents = HashSet::from(["claude".to_owned()]);
        Names::of(&users, &agents, &OtherNames::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_recognised_in_a_spelling_of_one_other_letter() {
        let names = Names::sample();
        for (query, found) in [
            ("What did Karoline say?", vec!["caroline"]),
            ("What did Carolina say?", vec!["caroline"]),
            ("Meloney's or Melanei's dog", vec!["melanie"]),
            ("What did Caroline say?", Vec::new()),
            ("the carolina house", Vec::new()),
            ("Joan", vec!["john"]),
        ] {
            let near = names.misspelt(query).into_iter().map(|(_, name)| name);
            assert_eq!(near.collect::<Vec<_>>(), found, "{query}");
        }
        let users = ["Marie", "Maria"].map(str::to_owned);
        let names = Names::of(&users, &HashSet::new(), &OtherNames::default());
        assert!(names.misspelt("Mario and Marie").is_empty());
    }
}

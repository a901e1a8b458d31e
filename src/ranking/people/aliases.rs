//! Words by which the memories of a namespace call a user: what others address the user by, and
//! what the user signs with.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use super::named::{NamedBy, NamedPerson};
use super::names::{Names, possessive, words};
use crate::ranking::collection::Collection;
use crate::ranking::postings::Postings;
use crate::ranking::text::Calling;

/// A word that means a user in the memories of one namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    /// The word, as the text has it.
    pub word: String,
    /// Number of the namespace.
    pub namespace: u32,
    /// The user, as its memories have it.
    pub user: String,
    /// Numbers of the user fields that hold the user.
    pub users: Vec<u32>,
    /// Kind of most of the evidence.
    pub by: NamedBy,
    /// A row of the namespace.
    pub row: u32,
}

impl Alias {
    /// Returns whom its word was taken for.
    pub fn person(&self) -> NamedPerson {
        NamedPerson {
            word: self.word.clone(),
            user: self.user.clone(),
            by: self.by,
        }
    }
}

/// Minimum number of memories that call a user so.
const MIN_EVIDENCE: u32 = 2;
/// Maximum number of memories between a vocative and the reply of whom it addresses.
const REPLY_WITHIN: u32 = 10;
/// Maximum number of words of a text that may be aliases; a question has two or three.
const MAX_WORDS: usize = 16;

/// Numbers of memories that call a user by a word.
struct Calls {
    addressed: u32,
    signed: u32,
    /// Number of the user field.
    user: u32,
    /// One of the memories.
    row: u32,
}

impl Calls {
    fn count(&self) -> u32 {
        self.addressed + self.signed
    }
}

/// Returns the aliases among the capitalised words of `text`.
///
/// A word is one if at least two memories of talks of a namespace call somebody so, three quarters of them
/// the same user, and it is no user of that namespace.
///
/// # Errors
///
/// Fails if the postings do.
pub fn aliases<P: Postings>(
    text: &str,
    names: &Names,
    collection: &Collection,
    postings: &P,
) -> Result<Vec<Alias>, P::Error> {
    let mut aliases = Vec::new();
    let mut asked = HashSet::new();
    for range in single_words(text) {
        let word = &text[range];
        if !word.starts_with(char::is_uppercase) || !asked.insert(word) {
            continue;
        }
        if asked.len() > MAX_WORDS {
            break;
        }
        let name = word.to_lowercase();
        let calls = calls(&name, names, collection, postings)?;
        for (namespace, users) in calls {
            let all: u32 = users.values().map(Calls::count).sum();
            let most = users.into_iter().max_by_key(|(_, calls)| calls.count());
            let Some((person, most)) = most else { continue };
            let is_clear = most.count() >= MIN_EVIDENCE && most.count() * 4 >= all * 3;
            if !is_clear || is_user_beside(&name, names, collection, most.row) {
                continue;
            }
            let user = collection.user_names()[most.user as usize].clone();
            aliases.push(Alias {
                word: word.to_owned(),
                namespace,
                row: most.row,
                user,
                users: names.users(&person).to_vec(),
                by: match most.addressed >= most.signed {
                    true => NamedBy::Vocative,
                    false => NamedBy::Signature,
                },
            });
        }
    }
    Ok(aliases)
}

/// Returns `text` without the single word `word` and its possessive ending.
pub fn without(text: &str, word: &str) -> String {
    let mut left = text.to_owned();
    let ranges: Vec<Range<usize>> = single_words(text)
        .filter(|at| &text[at.clone()] == word)
        .collect();
    for Range { start, end } in ranges.into_iter().rev() {
        let end = end + possessive(&text[end..]);
        left.replace_range(start..end, "");
    }
    left
}

/// Returns the places of the words of a text that are no parts of identifiers, such as `a.b`.
fn single_words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let is_part = |near: &str| {
        let mut near = near.chars();
        let (mark, behind) = (near.next(), near.next());
        let joins = mark.is_some_and(|mark| !mark.is_whitespace() && !['\'', '’'].contains(&mark));
        joins && behind.is_some_and(char::is_alphanumeric)
    };
    let ranges = words(text).map(|(at, word)| at..at + word.len());
    ranges.filter(move |range| {
        let before: String = text[..range.start].chars().rev().take(2).collect();
        !is_part(&before) && !is_part(&text[range.end..])
    })
}

/// Calls by the lower-case words of a user's name.
type ByPerson = BTreeMap<Vec<String>, Calls>;

/// Returns the numbers of memories that call somebody `name`, by namespace and by the words of the user's name.
fn calls<P: Postings>(
    name: &str,
    names: &Names,
    collection: &Collection,
    postings: &P,
) -> Result<BTreeMap<u32, ByPerson>, P::Error> {
    let mut found: BTreeMap<u32, ByPerson> = BTreeMap::new();
    for calling in [Calling::Addressee, Calling::Author] {
        for row in postings.called(calling, name)? {
            let Some(user) = called(calling, collection, row) else {
                continue;
            };
            let Some(person) = names.person(&collection.user_names()[user as usize]) else {
                continue;
            };
            let users = found.entry(collection.namespace(row)).or_default();
            let calls = users.entry(person).or_insert(Calls {
                addressed: 0,
                signed: 0,
                user,
                row,
            });
            match calling {
                Calling::Addressee => calls.addressed += 1,
                Calling::Author => calls.signed += 1,
            }
        }
    }
    Ok(found)
}

/// Returns the number of the user whom a memory of a talk calls by a name: the next other author, or its own.
fn called(calling: Calling, collection: &Collection, row: u32) -> Option<u32> {
    let episodes = collection.episodes();
    let episode = episodes.get(episodes.of(row));
    if !episode.is_context {
        return None;
    }
    let users = collection.users();
    let own = users.get(row);
    let behind = row + 1..episode.end.min(row + 1 + REPLY_WITHIN);
    let mut others = behind.map(|row| users.get(row)).filter(|user| *user != own);
    match calling {
        Calling::Addressee => others.next(),
        Calling::Author => {
            let before = episode.start.max(row.saturating_sub(REPLY_WITHIN))..row;
            let is_talk =
                others.next().is_some() || before.into_iter().any(|row| users.get(row) != own);
            is_talk.then_some(own)
        }
    }
}

/// Returns whether `name` is a user of the namespace of `row`.
fn is_user_beside(name: &str, names: &Names, collection: &Collection, row: u32) -> bool {
    let known = names.users(&[name.to_owned()]);
    let mut rows = rows_beside(collection, row);
    !known.is_empty() && rows.any(|row| known.contains(&collection.users().get(row)))
}

/// Returns the rows of the namespace of `row`.
pub fn rows_beside(collection: &Collection, row: u32) -> impl Iterator<Item = u32> {
    let namespace = collection.namespace(row);
    let is_beside = move |row: &u32| collection.namespace(*row) == namespace;
    let before = (0..row).rev().take_while(is_beside);
    before.chain((row..collection.len() as u32).take_while(is_beside))
}

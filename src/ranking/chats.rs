//! Chats between a person and an assistant: which namespaces are chats, and who wrote each memory.
//!
//! A namespace is a chat if memories of both roles lie in it. There short messages of the person are
//! mostly what answers a question, while long replies of the assistant hold every word somewhere; so
//! chats are ranked by other parts (see [`Parts`](super::Parts)). Lengths that differ much are no sign
//! of a chat: talks of people and folders of documents have them, too.

use super::collection::Collection;
use super::row_set::RowSet;
use super::text::Role;

/// Chats of a collection.
#[derive(Debug, Default)]
pub(super) struct Chats {
    /// Rows of namespaces that are chats; empty if there is none.
    rows: RowSet,
    /// Role of each user, by number; empty if there is no chat.
    roles: Vec<Option<Role>>,
}

impl Chats {
    /// Finds the chats. Takes time in proportion to the rows where users of both roles exist, and none
    /// elsewhere.
    pub fn of(collection: &Collection) -> Chats {
        let names = collection.user_names();
        let roles: Vec<Option<Role>> = names.iter().map(|name| Role::of(name)).collect();
        let is_there = |role| roles.contains(&Some(role));
        if !is_there(Role::Person) || !is_there(Role::Assistant) {
            return Chats::default();
        }
        let count = collection.len();
        let mut rows = RowSet::none(count);
        let users = collection.users();
        let mut first = 0;
        while first < count as u32 {
            // Rows are in the order of their namespaces.
            let namespace = collection.namespace(first);
            let mut end = first;
            let mut seen = [false; 2];
            while end < count as u32 && collection.namespace(end) == namespace {
                if let Some(role) = roles[users.get(end) as usize] {
                    seen[role as usize] = true;
                }
                end += 1;
            }
            if seen == [true; 2] {
                (first..end).for_each(|row| rows.put_in(row));
            }
            first = end;
        }
        Chats { rows, roles }
    }

    /// Returns whether there is no chat.
    pub fn is_empty(&self) -> bool {
        self.roles.is_empty()
    }

    /// Returns whether a row's namespace is a chat.
    pub fn contains(&self, row: u32) -> bool {
        !self.is_empty() && self.rows.contains(row)
    }

    /// Returns the rows of all chats, ascending.
    pub fn rows(&self) -> impl Iterator<Item = u32> {
        self.rows.iter()
    }

    /// Returns whether a row of a chat was written by its person; `user` is the number of its user.
    pub fn is_by_person(&self, user: u32) -> bool {
        self.roles.get(user as usize) == Some(&Some(Role::Person))
    }
}

/// Returns whether a word of a question speaks of a talk, not of what it was about: "mention",
/// "discuss", "order". `word` is in lower case.
pub(super) fn is_about_talking(word: &str) -> bool {
    ABOUT_TALKING.binary_search(&word).is_ok()
}

/// Words of questions about talks, sorted.
#[rustfmt::skip]
const ABOUT_TALKING: [&str; 102] = [
    "across", "advise", "advised", "advising", "answer", "answered", "answers", "aspect", "aspects",
    "base", "based", "bring", "bringing", "brings", "brought", "chat", "chats", "chatted",
    "chatting", "clear", "clearly", "comprehensive", "consider", "considered", "considering",
    "conversation", "conversations", "develop", "developed", "developing", "different", "discuss",
    "discussed", "discusses", "discussing", "discussion", "discussions", "evolve", "evolved",
    "evolving", "explain", "explained", "give", "given", "gives", "item", "items", "list", "listed",
    "lists", "mention", "mentioned", "mentioning", "mentions", "message", "messages", "order",
    "ordered", "orders", "overview", "progress", "progressed", "progressing", "provide", "provided",
    "recap", "recommend", "recommended", "recommends", "said", "say", "saying", "says", "session",
    "sessions", "show", "showed", "shown", "shows", "suggest", "suggested", "suggests", "summaries",
    "summarise", "summarised", "summarize", "summarized", "summary", "talk", "talked", "talking",
    "talks", "tell", "telling", "tells", "throughout", "time", "timeline", "told", "total", "walk",
    "walked",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_sorted() {
        assert!(ABOUT_TALKING.is_sorted());
        assert!(is_about_talking("mentioned") && !is_about_talking("triangle"));
    }
}

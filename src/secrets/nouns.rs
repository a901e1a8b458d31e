//! Nouns by which sentences call a credential, in the languages that are read.

use super::words::WORDS;

/// The kind of credential that a noun names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Noun {
    /// People choose it.
    Password,
    /// A password only behind the name of a user.
    Pass,
    /// Several words, maybe.
    Passphrase,
    Token,
    Secret,
    Key,
    /// The password of a wireless network; digits alone, maybe.
    Wifi,
    Pin,
    /// Digits that open a door.
    Code,
    /// The same, if the sentence names a door.
    CodeOf,
    /// A wireless network, whose key may be named behind it.
    Network,
    Recovery,
    /// The seed that one-time passwords are computed from.
    OneTime,
    /// A wallet's words.
    Phrase,
    /// A user and a password, with a slash between them.
    Login,
}

/// The nouns in the order of their lists in `words.txt`.
const ALL: [Noun; 15] = [
    Noun::Password,
    Noun::Pass,
    Noun::Passphrase,
    Noun::Token,
    Noun::Secret,
    Noun::Key,
    Noun::Wifi,
    Noun::Pin,
    Noun::Code,
    Noun::CodeOf,
    Noun::Network,
    Noun::Recovery,
    Noun::OneTime,
    Noun::Phrase,
    Noun::Login,
];

/// All words of all nouns, in small letters. Longer words that end in one of these mean the same.
pub(super) fn words() -> impl Iterator<Item = (&'static str, Noun)> {
    let lists = ALL.into_iter().zip(WORDS.iter());
    lists.flat_map(|(noun, (_, words))| words.iter().map(move |word| (word.as_ref(), noun)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_noun_has_its_list() {
        let names = WORDS.iter().map(|(name, _)| (*name).to_owned());
        assert!(
            names
                .take(ALL.len())
                .eq(ALL.map(|noun| format!("{noun:?}")))
        );
    }
}

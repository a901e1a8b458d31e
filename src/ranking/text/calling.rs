//! Names by which a message calls its reader or its author: vocatives, signatures, introductions.
//!
//! English. What is quoted calls nobody.

use super::role::Role;

/// Person whom a message calls by a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Calling {
    /// The one whom it addresses: "Hey Kate, …".
    Addressee,
    /// Its author: "I'm Kate", "— Kate".
    Author,
}

/// Maximum length of a message; longer texts are documents.
const MAX_MESSAGE_BYTES: usize = 2_000;
/// Maximum number of words of a sentence that ends with a vocative.
const MAX_CALL_WORDS: usize = 14;
/// Number of words after a vocative among which the reader is meant: "Kate, can you".
const YOU_WITHIN: usize = 4;
/// Length of a sentence that is always looked at: it may be a greeting.
const SHORT_SENTENCE: usize = 16;
/// Marks around what is quoted.
const QUOTES: [char; 3] = ['"', '“', '”'];
/// Maximum number of bytes of a name.
const MAX_NAME_BYTES: usize = 24;

/// Words of a greeting, which a name may follow at once.
const GREETINGS: [&str; 16] = [
    "hey",
    "hi",
    "hello",
    "hiya",
    "heya",
    "dear",
    "thanks",
    "thx",
    "bye",
    "goodbye",
    "congrats",
    "congratulations",
    "sorry",
    "welcome",
    "morning",
    "please",
];
/// Words that open a sentence which may end with a vocative, besides the greetings.
const OPENERS: [&str; 36] = [
    "absolutely",
    "agreed",
    "amazing",
    "awesome",
    "cool",
    "definitely",
    "exactly",
    "glad",
    "good",
    "great",
    "haha",
    "happy",
    "love",
    "lovely",
    "nice",
    "no",
    "nope",
    "of",
    "oh",
    "ok",
    "okay",
    "right",
    "so",
    "sounds",
    "sure",
    "take",
    "thank",
    "that",
    "that's",
    "true",
    "well",
    "what",
    "wow",
    "yeah",
    "yep",
    "yes",
];
/// Words before a signature on its line.
const CLOSINGS: [&str; 7] = [
    "best",
    "hugs",
    "love",
    "regards",
    "sincerely",
    "xoxo",
    "yours",
];
/// Words that mean the reader.
const YOU: [&str; 7] = [
    "you", "your", "you're", "you've", "you'll", "you'd", "yours",
];

/// A word of a sentence.
#[derive(Clone, Copy)]
struct Token<'a> {
    /// The word without what follows it.
    word: &'a str,
    /// True if a comma or a dash follows it.
    pauses: bool,
}

impl Token<'_> {
    fn is_one_of(&self, words: &[&str]) -> bool {
        let is = |own: &str| words.iter().any(|word| own.eq_ignore_ascii_case(word));
        // An apostrophe may be a typographic one.
        is(self.word) || !self.word.is_ascii() && is(&self.word.replace('’', "'"))
    }

    /// Returns the word in lower case if it may be a name.
    fn name(&self) -> Option<String> {
        let mut letters = self.word.chars();
        let is_capital = letters.next().is_some_and(char::is_uppercase);
        let is_name = is_capital
            && self.word.len() <= MAX_NAME_BYTES
            && letters.clone().any(char::is_lowercase)
            && letters.all(char::is_alphabetic)
            && ![&GREETINGS[..], &OPENERS, &CLOSINGS]
                .into_iter()
                .any(|words| self.is_one_of(words));
        is_name.then(|| self.word.to_lowercase())
    }
}

/// Returns the names, in lower case and each once, by which the message `content` of `user` calls
/// somebody; none of one in a chat with an assistant.
pub fn callings(content: &str, user: &str) -> Vec<(Calling, String)> {
    let mut found = Vec::new();
    if content.len() > MAX_MESSAGE_BYTES || Role::of(user).is_some() {
        return found;
    }
    let mut add = |calling, name: Option<String>| {
        if let Some(name) = name.filter(|name| !found.iter().any(|(_, known)| known == name)) {
            found.push((calling, name));
        }
    };
    let lines = content.lines().map(str::trim);
    let is_own = |line: &&str| !line.is_empty() && !line.starts_with('>');
    let lines: Vec<&str> = lines.filter(is_own).collect();
    let signature = signature(&lines);
    let is_signed = signature.is_some();
    add(Calling::Author, signature);
    // 0xE2 begins the typographic ones.
    let has_quotes = memchr::memchr2(b'"', 0xE2, content.as_bytes()).is_some();
    let (mut is_quoted, mut has_greeted) = (false, false);
    for (number, line) in lines.iter().enumerate() {
        for sentence in sentences(line) {
            let was_quoted = is_quoted;
            if has_quotes {
                is_quoted ^= sentence.matches(QUOTES).count() % 2 == 1;
            }
            let is_signature = is_signed && number + 1 == lines.len();
            if was_quoted || is_signature || !may_call(sentence) {
                has_greeted = false;
                continue;
            }
            let tokens = tokens(sentence);
            add(Calling::Author, introduced(&tokens, has_greeted));
            // "Thanks, Kate" below a letter is its signature.
            let is_last = lines.len() > 1 && number + 1 == lines.len();
            if !(is_last && sentence.ends_with(char::is_alphabetic)) {
                add(Calling::Addressee, addressed(&tokens));
            }
            has_greeted =
                tokens.len() < 3 && tokens.first().is_some_and(|one| one.is_one_of(&GREETINGS));
        }
    }
    found
}

/// Returns the sentences of a line, with the marks at their ends.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let end = memchr::memchr3(b'.', b'!', b'?', rest.as_bytes());
        let (sentence, behind) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
        rest = behind;
        (!sentence.is_empty()).then_some(sentence)
    })
}

/// Returns whether a sentence may hold a name or a greeting alone: most do not, and cost little so.
fn may_call(sentence: &str) -> bool {
    let bytes = sentence.trim_start().as_bytes();
    let begins_name = |pair: &[u8]| {
        let is_capital = pair[0].is_ascii_uppercase() || !pair[0].is_ascii();
        is_capital && (pair[1].is_ascii_lowercase() || !pair[1].is_ascii())
    };
    let is_inside = |three: &[u8]| three[0] == b' ' && begins_name(&three[1..]);
    let pauses = || {
        let end = memchr::memchr(b' ', bytes).unwrap_or(0);
        let around = bytes.get(end.saturating_sub(1)..end + 2).unwrap_or(&[]);
        !around
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b' ')
    };
    bytes.len() <= SHORT_SENTENCE || bytes.windows(3).any(is_inside) || pauses()
}

/// Returns the words of a sentence, without emojis and the like at its end.
fn tokens(sentence: &str) -> Vec<Token<'_>> {
    let is_mark = |c: char| !c.is_alphanumeric();
    let words = sentence.split_whitespace().map(|written| {
        let word = written.trim_end_matches(is_mark);
        let pauses = written[word.len()..].starts_with([',', '-', '–', '—', ';', ':']);
        Token { word, pauses }
    });
    let mut tokens: Vec<Token<'_>> = Vec::new();
    for token in words {
        match (token.word.is_empty(), tokens.last_mut()) {
            // A dash or an emoji between words.
            (true, Some(last)) => last.pauses = true,
            (true, None) => {}
            (false, _) => tokens.push(token),
        }
    }
    if let Some(last) = tokens.last_mut() {
        last.pauses = true;
    }
    tokens
}

/// Returns the name of whom a sentence addresses.
fn addressed(tokens: &[Token<'_>]) -> Option<String> {
    let first = tokens.first()?;
    let is_you = |token: &Token<'_>| token.is_one_of(&YOU);
    let greets = first.is_one_of(&GREETINGS);
    if greets && let Some(second) = tokens.get(1).filter(|second| second.pauses) {
        return second.name();
    }
    let mut followed = tokens.iter().skip(1).take(YOU_WITHIN);
    if first.pauses
        && followed.any(is_you)
        && let Some(name) = first.name()
    {
        return Some(name);
    }
    let [.., before, last] = tokens else {
        return None;
    };
    // Not after a capital: "Toulouse, France."
    let is_vocative = tokens.len() > 2
        && tokens.len() <= MAX_CALL_WORDS
        && before.pauses
        && before.word.starts_with(char::is_lowercase)
        && (greets || first.is_one_of(&OPENERS) || tokens.iter().any(is_you));
    is_vocative.then(|| last.name())?
}

/// Returns the name of the author who introduces himself in a sentence; "I'm" alone is no
/// introduction, because of "I'm German".
fn introduced(tokens: &[Token<'_>], has_greeted: bool) -> Option<String> {
    let greets = has_greeted || tokens.first().is_some_and(|one| one.is_one_of(&GREETINGS));
    let is = |at: usize, words: &[&str]| tokens.get(at).is_some_and(|one| one.is_one_of(words));
    (0..tokens.len()).find_map(|at| {
        let name = if is(at, &["my"]) && is(at + 1, &["name"]) && is(at + 2, &["is"]) {
            at + 3
        } else if is(at, &["my"]) && is(at + 1, &["name's"])
            || is(at, &["call"]) && is(at + 1, &["me"])
            || greets && is(at, &["i", "this", "it"]) && is(at + 1, &["am", "is"])
        {
            at + 2
        } else if greets && is(at, &["i'm", "it's"]) {
            at + 1
        } else {
            return None;
        };
        let ends = tokens.get(name)?.pauses || is(name + 1, &["and", "from", "by"]);
        tokens.get(name).filter(|_| ends)?.name()
    })
}

/// Returns the name in the last line of a letter of several `lines`: "Kate", "— Kate", "Love, Kate".
/// After a dash it may also stand behind the text.
fn signature(lines: &[&str]) -> Option<String> {
    let (last, above) = lines.split_last()?;
    let dashes = ['—', '–', '-', '~'];
    let behind_dash = last
        .rsplit_once(['—', '–'])
        .map(|(before, name)| (before.trim(), name));
    if let Some((before, name)) = behind_dash
        && (!before.is_empty() || !above.is_empty())
        && !before.ends_with(char::is_alphanumeric)
    {
        return single(&tokens(name))?.name();
    }
    let before = above.last()?;
    // Neither a list nor one word a line.
    if before.starts_with(dashes)
        || before.split_whitespace().nth(1).is_none() && !before.ends_with(',')
    {
        return None;
    }
    let tokens = tokens(last.trim_start_matches(dashes));
    match tokens.as_slice() {
        [closing, name] if closing.pauses && closing.is_one_of(&CLOSINGS) => name.name(),
        _ if last.ends_with(['!', '?']) => None,
        tokens => single(tokens)?.name(),
    }
}

fn single<'a>(tokens: &[Token<'a>]) -> Option<Token<'a>> {
    match tokens {
        [one] => Some(*one),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, calling: Calling, expected: &[&str]) {
        let found = callings(text, "emi");
        let found = found.iter().filter(|(known, _)| *known == calling);
        let found: Vec<&str> = found.map(|(_, name)| name.as_str()).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_vocative_names_the_reader() {
        for text in [
            "Hey Kate, how are you?",
            "Hi Kate! 😊 It rains.",
            "Thanks, Kate!",
            "Thanks, Kate, that helps a lot.",
            "Good to see you, Kate!",
            "It rained. That's a great idea, Kate 😊",
            "What do you think, Kate?",
            "Kate, can you bring the tent?",
            "Kate — could you call me?",
            "Hello Kate\nIt rains.",
        ] {
            check(text, Calling::Addressee, &["kate"]);
        }
        for text in [
            "Hey Kate and Tom",
            "Kate, who is ill, came late.",
            "I went to Toulouse, France.",
            "Have you been to Toulouse, France?",
            "We drove to the coast, Kate drove back.",
            "She shouted \"Hey Kate, wait!\" and ran.",
            "He wrote: \"I am late. Hey Kate, wait.\"",
            "> Hey Kate, wait",
            "Thanks, I needed that.",
            "Hey there, what's up?",
            "Nice, OK!",
            "I saw it.\nThanks, Kate",
        ] {
            check(text, Calling::Addressee, &[]);
        }
        check("Hey Paris, here we come!", Calling::Addressee, &["paris"]);
        assert!(callings("Hey Kate, hello.", "assistant").is_empty());
        assert!(callings(&"Hey Kate, hello. ".repeat(200), "emi").is_empty());
    }

    #[test]
    fn a_signature_or_an_introduction_names_the_author() {
        for text in [
            "See you on Monday.\nKate",
            "See you on Monday.\n\n— Kate",
            "See you on Monday. — Kate",
            "See you on Monday.\n- Kate",
            "See you,\nKate",
            "See you on Monday.\nLove, Kate",
            "Hi, I'm Kate!",
            "Hello! I’m Kate and I like tents.",
            "Hey, this is Kate.",
            "My name is Kate.",
            "My friends call me Kate, by the way.",
        ] {
            check(text, Calling::Author, &["kate"]);
        }
        for text in [
            "Kate",
            "I'm German.",
            "We need:\n- Milk\n- Bread",
            "Milk\nBread",
            "We left the car at home — Kate drove.",
            "See you on Monday.\nKate!",
            "They call me names.",
        ] {
            check(text, Calling::Author, &[]);
        }
    }
}

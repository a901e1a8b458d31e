//! Lists of words, read from a text that holds nothing else.
//!
//! Commands that take milliseconds read such texts, so each is cut in fewer instructions than by the
//! methods of `str`.

use std::borrow::Cow;

/// Returns the lines of a text of the program, of which each ends in a line feed.
pub fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    let mut begin = 0;
    memchr::memchr_iter(b'\n', text.as_bytes()).map(move |end| {
        let line = &text[begin..end];
        begin = end + 1;
        line
    })
}

/// Returns the texts between the blanks of a line, and all of a line without one.
pub fn blank_separated(line: &'static str) -> impl Iterator<Item = &'static str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest?;
        // Texts are short: SIMD would cost more than it saves.
        let end = text.bytes().position(|byte| byte == b' ');
        rest = end.map(|end| &text[end + 1..]);
        Some(&text[..end.unwrap_or(text.len())])
    })
}

/// Named lists of words.
pub struct WordLists(Vec<(&'static str, Vec<Cow<'static, str>>)>);

impl WordLists {
    /// Reads lists: a line `[name]` begins one, its words stand below, separated by blanks and line
    /// feeds; `_` stands for a blank in a word. A line that begins with `#` is a comment.
    pub fn read(text: &'static str) -> WordLists {
        let mut lists: Vec<(&str, Vec<Cow<'static, str>>)> = Vec::new();
        for line in lines(text).filter(|line| !line.starts_with('#')) {
            let name = line
                .strip_prefix('[')
                .and_then(|line| line.strip_suffix(']'));
            match (name, lists.last_mut()) {
                (Some(name), _) => lists.push((name, Vec::new())),
                (None, Some((_, words))) => {
                    let written = blank_separated(line).filter(|word| !word.is_empty());
                    match line.contains('_') {
                        true => words.extend(written.map(word)),
                        false => words.extend(written.map(Cow::Borrowed)),
                    }
                }
                (None, None) => {}
            }
        }
        WordLists(lists)
    }

    /// Returns the lists with their names, in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = &(&'static str, Vec<Cow<'static, str>>)> {
        self.0.iter()
    }

    /// Returns the words of the list called `name`.
    ///
    /// # Panics
    ///
    /// Panics if the text has no such list.
    pub fn list(&self, name: &str) -> &[Cow<'static, str>] {
        let mut lists = self.0.iter();
        let list = lists.find_map(|(known, words)| (*known == name).then_some(words));
        list.unwrap_or_else(|| panic!("there is no list `{name}`"))
    }

    /// Returns whether the list called `name` holds `word`.
    ///
    /// # Panics
    ///
    /// Panics if the text has no such list.
    pub fn has(&self, name: &str, word: &str) -> bool {
        self.list(name).iter().any(|known| known == word)
    }

    /// Returns whether a word of the list called `name` stands in `text`, also as a part of a longer word.
    ///
    /// # Panics
    ///
    /// Panics if the text of the lists has no such list.
    pub fn stand_in(&self, name: &str, text: &str) -> bool {
        let mut words = self.list(name).iter();
        words.any(|word| text.contains(word.as_ref()))
    }
}

fn word(written: &'static str) -> Cow<'static, str> {
    match written.contains('_') {
        true => Cow::Owned(written.replace('_', " ")),
        false => Cow::Borrowed(written),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_by_name() {
        let lists = WordLists::read("# all\n[one]\na b_c\n# more\nd_\n\n[two]\n");
        assert_eq!(lists.list("one"), ["a", "b c", "d "]);
        assert!(lists.list("two").is_empty());
        assert!(lists.has("one", "b c") && !lists.has("two", "a"));
        assert!(lists.stand_in("one", "xa") && !lists.stand_in("two", "xa"));
    }
}

//! The lists of words by which credentials are found, read from `words.txt`.

use std::sync::LazyLock;

use crate::literals::WordLists;

pub(super) static WORDS: LazyLock<WordLists> =
    LazyLock::new(|| WordLists::read(include_str!("words.txt")));

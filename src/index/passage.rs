//! Passages of a memory that are embedded, and the keys of their vectors.
//!
//! Two passages a memory: its *own* text, and the *window* of it together with the memory before
//! it in its context. The keys follow from the texts alone, so that a memory that was moved,
//! renamed or given other topics keeps its vectors, and a rebuild finds them again.

use std::collections::HashSet;

use crate::model::{Memory, OtherNames};
use crate::ranking::{Excerpts, LONG_WORDS, Names, PIECE_WORDS, condition};
use crate::vectors::VectorKey;

const MAX_PIECES: usize = 500;

/// Returns the memory's own passage: user, title, and text.
pub fn own(memory: &Memory) -> String {
    head(memory) + &memory.content
}

fn head(memory: &Memory) -> String {
    let title = memory.title.as_deref().unwrap_or("");
    let mut passage = String::with_capacity(memory.content.len() + title.len() + 32);
    if Names::are_in(&memory.user) {
        passage += &memory.user;
        passage += ": ";
    }
    if !title.is_empty() {
        passage += title;
        passage += ". ";
    }
    passage
}

/// Cuts a passage into the pieces that are embedded one by one. A short passage is one piece; a long
/// one is cut into whole lines, or sentences of long lines, of about forty words: mostly one of them
/// answers a question, and its vector would be lost in the mean of all. A standing instruction has a
/// second piece, its condition: it is as near to a question as what it is about.
pub fn pieces(passage: &str) -> Vec<&str> {
    if is_short(passage) {
        return [passage].into_iter().chain(condition(passage)).collect();
    }
    let mut pieces = cut(passage);
    pieces.retain(|piece| !piece.trim().is_empty());
    // Of a book the beginning is searched by meaning, all of it by words.
    pieces.truncate(MAX_PIECES);
    pieces
}

/// Cuts a text into whole lines, or sentences of long lines, of about forty words.
fn cut(passage: &str) -> Vec<&str> {
    let count = |text: &str| text.split_whitespace().count();
    let mut pieces = Vec::new();
    let (mut start, mut words, mut end) = (0, 0, 0);
    for part in passage.split_inclusive('\n').flat_map(sentences) {
        let more = count(part);
        if words > 0 && words + more > PIECE_WORDS as usize {
            pieces.push(&passage[start..end]);
            (start, words) = (end, 0);
        }
        words += more;
        end += part.len();
    }
    pieces.push(&passage[start..end]);
    pieces
}

/// Returns whether a passage is one piece.
pub fn is_short(passage: &str) -> bool {
    let mut words = passage.split_whitespace();
    words.nth(usize::from(LONG_WORDS)).is_none()
}

/// Returns the text of a memory in pieces, for the search of words in them.
pub(super) fn texts_of(memory: &Memory) -> Vec<String> {
    let pieces = pieces(&memory.content).into_iter();
    pieces.map(str::to_owned).collect()
}

/// Returns the text of a memory for a cross-encoder.
pub(super) fn excerpts(memory: &Memory) -> Excerpts {
    let pieces = cut(&memory.content).into_iter().take(MAX_PIECES);
    Excerpts {
        head: head(memory),
        pieces: pieces.map(str::to_owned).collect(),
    }
}

/// Returns a line, or its sentences if it is longer than a piece.
fn sentences(line: &str) -> Vec<&str> {
    if line.split_whitespace().count() <= PIECE_WORDS as usize {
        return vec![line];
    }
    let mut parts = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find(['.', '!', '?', '。', '！', '？', ';']) {
        let mark = rest[at..].chars().next().map_or(1, char::len_utf8);
        let (part, after) = rest.split_at(at + mark);
        parts.push(part);
        rest = after;
    }
    parts.push(rest);
    parts
}

/// Returns the passage of a memory and the one before it, without the users' names, which would stand
/// in every passage of a conversation.
pub fn window(previous: &Memory, memory: &Memory) -> String {
    let users = [previous.user.clone(), memory.user.clone()];
    let names = Names::of(&users, &HashSet::new(), &OtherNames::default());
    let text = format!("{}\n{}", previous.content, memory.content);
    names.strip(&text)
}

/// Returns the vector key of the own passage `passage`.
pub fn own_key(passage: &str) -> VectorKey {
    let kind: &[u8] = match is_short(passage) && condition(passage).is_some() {
        true => b"own, condition",
        false => b"own",
    };
    key(kind, &[passage.as_bytes()])
}

/// Returns the vector key of a window, from the keys of its two memories.
pub fn window_key(previous: VectorKey, own: VectorKey) -> VectorKey {
    key(b"window", &[&previous.to_le_bytes(), &own.to_le_bytes()])
}

fn key(kind: &[u8], parts: &[&[u8]]) -> VectorKey {
    let mut hasher = blake3::Hasher::new();
    hasher.update(kind);
    for part in parts {
        hasher.update(&[0]);
        hasher.update(part);
    }
    let bytes = hasher.finalize();
    VectorKey::from_le_bytes(bytes.as_bytes()[..16].try_into().expect("sixteen bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_passage_is_cut_at_lines_and_loses_nothing() {
        let short = "word ".repeat(200);
        assert_eq!(pieces(&short), [short.as_str()]);
        let instruction = "Always use euros when I talk about money.";
        assert_eq!(pieces(instruction), [instruction, "money"]);
        let lines = "one line of seven words or so\n".repeat(60);
        let cut = pieces(&lines);
        assert_eq!(cut.concat(), lines);
        assert!(
            cut.iter()
                .all(|piece| piece.split_whitespace().count() <= PIECE_WORDS as usize)
        );
        assert!(cut.iter().all(|piece| piece.ends_with('\n')));
        let sentences = "A sentence of five words. ".repeat(60);
        assert_eq!(pieces(&sentences).concat(), sentences);
        assert_eq!(pieces(&sentences).len(), 8);
        assert_eq!(
            pieces(&"long ".repeat(1000)).len(),
            1,
            "it has no end to be cut at"
        );
    }
}

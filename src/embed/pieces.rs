//! Texts to pieces of tokens that a model takes whole.
//!
//! Promises: a piece has at most the given number of tokens, with the prefix and the special
//! tokens; pieces begin and end between words where they can, and overlap, so that a sentence at a
//! border is whole in one of them; a piece is what its own text would give alone. Of an endless
//! text only the beginning is read.

use std::ops::Range;
use std::path::Path;

use tokenizers::{EncodeInput, Encoding, Tokenizer, TruncationParams};

use super::EmbedError;
use super::guard::guarded;

/// Cuts texts for one model.
pub(super) struct Cutter {
    tokenizer: Tokenizer,
    max_tokens: usize,
    unknown: Option<u32>,
}

/// The tokens of one piece, as a model takes them.
#[derive(Debug, PartialEq, Clone)]
pub(super) struct Piece {
    pub ids: Vec<i64>,
    pub types: Vec<i64>,
    /// Place of each token in the text after the prefix, in bytes; empty of one that holds no letter or
    /// digit of it, such as a special one.
    pub places: Vec<Range<usize>>,
}

/// Maximum number of pieces of a text, which is some forty pages; the rest is not looked at.
pub(super) const MAX_PIECES: usize = 64;
/// Tokens are shorter on average, in every language, so no piece is lost to it: English has 4 to 5
/// bytes a token.
const BYTES_A_TOKEN: usize = 16;
/// An eighth of a piece stands in the next one, too: a sentence or two.
const OVERLAP: usize = 8;

impl Cutter {
    /// Reads a `tokenizer.json`. Padding and truncation that it asks for do not count.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or is no tokenizer, or leaves no room beside a prefix.
    pub fn load(file: &Path, max_tokens: usize, prefixes: [&str; 2]) -> Result<Cutter, EmbedError> {
        let unusable = |why: String| {
            EmbedError::Unusable(format!(
                "the tokenizer {} cannot be used: {why}",
                file.display()
            ))
        };
        let mut tokenizer = guarded(|| Tokenizer::from_file(file))
            .and_then(|read| read.map_err(|error| error.to_string()))
            .map_err(unusable)?;
        tokenizer.with_padding(None);
        tokenizer
            .with_truncation(None)
            .map_err(|error| unusable(error.to_string()))?;
        let names = ["[UNK]", "<unk>", "<UNK>", "[unk]"];
        let unknown = names.iter().find_map(|name| tokenizer.token_to_id(name));
        let cutter = Cutter {
            tokenizer,
            max_tokens,
            unknown,
        };
        for prefix in prefixes {
            let taken = cutter.encode(prefix, true)?.len();
            if taken + max_tokens / 2 > max_tokens {
                return Err(unusable(format!(
                    "the prefix {prefix:?} takes {taken} of a piece's {max_tokens} tokens"
                )));
            }
        }
        Ok(cutter)
    }

    /// As [`Cutter::load`], for [`Cutter::pair`].
    ///
    /// # Errors
    ///
    /// As for [`Cutter::load`].
    pub fn for_pairs(file: &Path, max_tokens: usize) -> Result<Cutter, EmbedError> {
        let mut cutter = Cutter::load(file, max_tokens, ["", ""])?;
        // By default the longer one of the two is cut.
        let truncation = TruncationParams {
            max_length: max_tokens,
            ..TruncationParams::default()
        };
        let set = cutter.tokenizer.with_truncation(Some(truncation));
        set.map_err(|error| EmbedError::Unusable(error.to_string()))?;
        Ok(cutter)
    }

    /// Returns a question and a text as one piece. If they are too long together, the longer one is
    /// cut at its end.
    ///
    /// # Errors
    ///
    /// Fails if the tokenizer does.
    pub fn pair(&self, question: &str, text: &str) -> Result<Piece, EmbedError> {
        let most = self.max_tokens * BYTES_A_TOKEN;
        let pair = (beginning(question, most), beginning(text, most));
        Ok(Piece::of(&self.encode(pair, true)?, "", 0))
    }

    /// Returns the first `limit` pieces of `text`, each after `prefix`; none if the tokenizer knows no word
    /// of it.
    ///
    /// # Errors
    ///
    /// Fails if the tokenizer does.
    pub fn cut(&self, prefix: &str, text: &str, limit: usize) -> Result<Vec<Piece>, EmbedError> {
        let limit = limit.min(MAX_PIECES);
        let text = beginning(text, limit * self.max_tokens * BYTES_A_TOKEN);
        let prefixed = format!("{prefix}{text}");
        let whole = self.encode(prefixed.as_str(), true)?;
        // The prefix is made of words, too.
        let has_words = match prefix.is_empty() {
            true => self.has_words(&whole),
            false => self.has_words(&self.encode(text, false)?),
        };
        if !has_words {
            return Ok(Vec::new());
        }
        if whole.len() <= self.max_tokens {
            return Ok(vec![Piece::of(&whole, &prefixed, prefix.len())]);
        }
        let tokens = self.encode(text, false)?;
        let room = self.max_tokens - self.encode(prefix, true)?.len();
        let mut pieces = Vec::new();
        let mut start = 0;
        while start < tokens.len() && pieces.len() < limit {
            let mut end =
                between_words(&tokens, (start + room).min(tokens.len()), start + room / 2);
            let (piece, has_words) = loop {
                let [from, to] = [
                    tokens.get_offsets()[start].0,
                    tokens.get_offsets()[end - 1].1,
                ];
                let inside = text.get(from..to).unwrap_or_default();
                let prefixed = format!("{prefix}{inside}");
                let encoding = self.encode(prefixed.as_str(), true)?;
                let piece = Piece::of(&encoding, &prefixed, prefix.len());
                let over = piece.len().saturating_sub(self.max_tokens);
                // A word that was cut may be more tokens than its parts were.
                if over == 0 || end - start <= over {
                    break (piece, self.has_words(&encoding));
                }
                end -= over;
            };
            if piece.len() <= self.max_tokens && has_words {
                pieces.push(piece);
            }
            if end == tokens.len() {
                break;
            }
            let next = end.saturating_sub(room / OVERLAP).max(start + 1);
            start = between_words(&tokens, next, start + 1);
        }
        Ok(pieces)
    }

    fn encode<'a>(
        &self,
        text: impl Into<EncodeInput<'a>> + Send,
        with_special: bool,
    ) -> Result<Encoding, EmbedError> {
        guarded(|| self.tokenizer.encode(text, with_special))
            .and_then(|encoded| encoded.map_err(|error| error.to_string()))
            .map_err(|why| EmbedError::Unusable(format!("the tokenizer cannot cut a text: {why}")))
    }

    fn has_words(&self, encoding: &Encoding) -> bool {
        let special = encoding.get_special_tokens_mask();
        let mut tokens = encoding.get_ids().iter().zip(special);
        tokens.any(|(id, special)| *special == 0 && Some(*id) != self.unknown)
    }
}

impl Piece {
    /// Returns the piece of an encoded text, whose first `prefix` bytes are no part of it.
    fn of(encoding: &Encoding, text: &str, prefix: usize) -> Piece {
        let wide = |numbers: &[u32]| numbers.iter().map(|&number| i64::from(number)).collect();
        let special = encoding.get_special_tokens_mask();
        let places = encoding.get_offsets().iter().zip(special);
        let place = |(&(start, end), &special): (&(usize, usize), &u32)| {
            let token = text.get(start..end).unwrap_or_default();
            let is_word = special == 0 && start >= prefix && token.contains(char::is_alphanumeric);
            match is_word {
                true => start - prefix..end - prefix,
                false => 0..0,
            }
        };
        Piece {
            ids: wide(encoding.get_ids()),
            types: wide(encoding.get_type_ids()),
            places: places.map(place).collect(),
        }
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }
}

/// Returns the last place up to `at`, but not before `least`, where no word is cut; else `at`.
fn between_words(tokens: &Encoding, at: usize, least: usize) -> usize {
    let words = tokens.get_word_ids();
    let is_between = |at: usize| {
        at == 0 || at >= words.len() || words[at].is_none() || words[at] != words[at - 1]
    };
    (least..=at).rev().find(|&at| is_between(at)).unwrap_or(at)
}

fn beginning(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cutter(max_tokens: usize, prefix: &str) -> Cutter {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/models/tiny");
        Cutter::load(&folder.join("tokenizer.json"), max_tokens, ["", prefix]).unwrap()
    }

    /// Returns the words of a piece.
    fn words(cutter: &Cutter, piece: &Piece) -> String {
        let ids: Vec<u32> = piece
            .ids
            .iter()
            .map(|&id| u32::try_from(id).unwrap())
            .collect();
        cutter.tokenizer.decode(&ids, true).unwrap()
    }

    #[test]
    fn a_text_that_fits_is_one_piece_with_its_special_tokens() {
        let cutter = cutter(16, "");
        let pieces = cutter.cut("", "the cat", MAX_PIECES).unwrap();
        assert_eq!(pieces.len(), 1);
        assert_eq!(pieces[0].len(), 4);
        let fourteen = "cat ".repeat(14);
        assert_eq!(cutter.cut("", &fourteen, MAX_PIECES).unwrap().len(), 1);
        let fifteen = "cat ".repeat(15);
        assert_eq!(cutter.cut("", &fifteen, MAX_PIECES).unwrap().len(), 2);
    }

    #[test]
    fn pieces_overlap_and_hold_every_word_after_the_prefix() {
        let cutter = cutter(24, "query: ");
        let names = ["city", "milk", "rain", "tree", "door", "song", "road"];
        let text: Vec<String> = (0..90)
            .map(|n| names[(n * n + n / 7) % names.len()].to_owned())
            .collect();
        let pieces = cutter.cut("query: ", &text.join(" "), MAX_PIECES).unwrap();
        let mut rebuilt: Vec<String> = Vec::new();
        for piece in &pieces {
            assert!(piece.len() <= 24);
            let said = words(&cutter, piece);
            let said = said
                .strip_prefix("query : ")
                .or_else(|| said.strip_prefix("query: "));
            let said: Vec<String> = said.unwrap().split(' ').map(str::to_owned).collect();
            let overlap = if rebuilt.is_empty() { 0 } else { 2 };
            assert_eq!(rebuilt[rebuilt.len() - overlap..], said[..overlap]);
            rebuilt.extend_from_slice(&said[overlap..]);
        }
        assert_eq!(rebuilt, text);
    }

    #[test]
    fn words_are_not_cut_where_pieces_end() {
        let cutter = cutter(16, "");
        // Four tokens each.
        let text = "zxqv ".repeat(30);
        for piece in cutter.cut("", &text, MAX_PIECES).unwrap() {
            let said = words(&cutter, &piece);
            assert!(said.split(' ').all(|word| word == "zxqv"), "{said}");
        }
    }

    #[test]
    fn a_piece_is_what_its_own_text_gives() {
        let cutter = cutter(16, "");
        let text = "the agent has zxqv question about the index of postgres ".repeat(5);
        for piece in cutter.cut("", &text, MAX_PIECES).unwrap() {
            let own = cutter.cut("", &words(&cutter, &piece), MAX_PIECES).unwrap();
            assert_eq!(own, [piece]);
        }
    }

    #[test]
    fn words_longer_than_a_piece_are_cut() {
        let cutter = cutter(16, "");
        let pieces = cutter.cut("", &"q1z".repeat(33), MAX_PIECES).unwrap();
        assert!(pieces.len() > 5, "{}", pieces.len());
        assert!(pieces.iter().all(|piece| piece.len() <= 16));
    }

    #[test]
    fn no_more_pieces_than_asked_for() {
        let cutter = cutter(16, "");
        let text = "cat ".repeat(1000);
        assert_eq!(cutter.cut("", &text, 1).unwrap().len(), 1);
        assert_eq!(cutter.cut("", &text, 1000).unwrap().len(), MAX_PIECES);
    }

    #[test]
    fn the_beginning_ends_between_characters() {
        assert_eq!(beginning("aé", 2), "a");
        assert_eq!(beginning("aé", 3), "aé");
        assert_eq!(beginning("", 5), "");
    }
}

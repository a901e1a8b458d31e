//! Vectors of words, compiled into the program: what a text is about where no model is set up.
//!
//! The table holds a vector for each word piece of a sentence model. `vectors/make.py` fits them so that
//! the sum over a text's pieces points where the model's own vector of the text does
//! (docs/RETRIEVAL.md, "Vectors of words"). The sum knows neither order nor context. Nothing is loaded,
//! and no text leaves the program.

use half::f16;

/// Number of dimensions of a vector.
const DIMENSIONS: usize = 256;

/// The number of pieces (32 bits). Then, each for all pieces in the order of their hashes: hashes (32
/// bits), scales (16-bit floats), and vectors (four bits a number, the even one in the low half). Little
/// endian.
static TABLE: &[u8] = include_bytes!("vectors/table.bin");

/// Number that stands for 0 in four bits.
const ZERO: i8 = 8;
/// Factor of the numbers of a text's vector in four bits: those beyond ±¼ are rare, and are cut.
const STEPS: f32 = 28.0;
/// Maximum number of bytes of a word that is cut into pieces: longer ones are data, not language.
const MAX_WORD: usize = 40;

/// Vector of a text, in four bits a number: of length 1, or 0 if the table holds none of its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextVector(pub [u8; TextVector::BYTES]);

impl TextVector {
    /// Size of a vector, in bytes.
    pub const BYTES: usize = DIMENSIONS / 2;
    /// The vector of a text without words.
    pub const ZERO: TextVector = TextVector([(ZERO as u8) << 4 | ZERO as u8; TextVector::BYTES]);
}

/// Sum of the vectors of words.
#[derive(Debug, Clone)]
pub struct WordVectors {
    sum: [f32; DIMENSIONS],
    words: u32,
    whole: u32,
}

impl Default for WordVectors {
    fn default() -> WordVectors {
        WordVectors {
            sum: [0.0; DIMENSIONS],
            words: 0,
            whole: 0,
        }
    }
}

impl WordVectors {
    /// Adds a lower-case word. One that the table does not hold is cut into the longest pieces from the
    /// left that it holds (WordPiece; Schuster and Nakajima 2012); one that cannot be cut so adds nothing.
    pub fn add(&mut self, word: &str, weight: f32) {
        self.words += 1;
        let word = word.as_bytes();
        if word.is_empty() || word.len() > MAX_WORD || !word.is_ascii() {
            return;
        }
        if let Some(piece) = find(hash(HASH_START, word)) {
            self.whole += 1;
            return self.add_piece(piece, weight);
        }
        let mut pieces = [0; MAX_WORD];
        let (mut count, mut from) = (0, 0);
        while from < word.len() {
            let Some((piece, end)) = longest(word, from) else {
                return;
            };
            pieces[count] = piece;
            (count, from) = (count + 1, end);
        }
        for &piece in &pieces[..count] {
            self.add_piece(piece, weight);
        }
    }

    fn add_piece(&mut self, piece: usize, weight: f32) {
        let table = Table::new();
        let scale = weight * table.scale(piece);
        for (pair, byte) in self.sum.chunks_exact_mut(2).zip(table.vector(piece)) {
            pair[0] += scale * f32::from((byte & 15) as i8 - ZERO);
            pair[1] += scale * f32::from((byte >> 4) as i8 - ZERO);
        }
    }

    /// Returns whether the table holds at least half of the words whole: else they are of another
    /// language, or names, and their pieces say little.
    pub fn are_known(&self) -> bool {
        self.whole > 0 && 2 * self.whole >= self.words
    }

    /// Returns the sum, of length 1; `None` if it is 0.
    pub fn unit(&self) -> Option<[f32; DIMENSIONS]> {
        let length = self
            .sum
            .iter()
            .map(|value| value * value)
            .sum::<f32>()
            .sqrt();
        (length > 0.0).then(|| self.sum.map(|value| value / length))
    }

    /// Returns the vector of the text that has these words.
    pub fn pack(&self) -> TextVector {
        let Some(unit) = self.unit() else {
            return TextVector::ZERO;
        };
        let small = |value: f32| ((value * STEPS).round().clamp(-7.0, 7.0) as i8 + ZERO) as u8;
        TextVector(std::array::from_fn(|at| {
            small(unit[2 * at]) | small(unit[2 * at + 1]) << 4
        }))
    }
}

/// The parts of [`TABLE`].
struct Table {
    hashes: &'static [[u8; 4]],
    scales: &'static [[u8; 2]],
    vectors: &'static [[u8; TextVector::BYTES]],
}

impl Table {
    fn new() -> Table {
        let (count, rest) = TABLE.split_first_chunk().expect("the table is not empty");
        let count = u32::from_le_bytes(*count) as usize;
        let (hashes, rest) = rest.split_at(4 * count);
        let (scales, vectors) = rest.split_at(2 * count);
        Table {
            hashes: hashes.as_chunks().0,
            scales: scales.as_chunks().0,
            vectors: vectors.as_chunks().0,
        }
    }

    fn scale(&self, piece: usize) -> f32 {
        f16::from_le_bytes(self.scales[piece]).to_f32()
    }

    fn vector(&self, piece: usize) -> &'static [u8; TextVector::BYTES] {
        &self.vectors[piece]
    }
}

/// Returns the number of the piece with this hash.
///
/// The hashes of all pieces differ. Another text has the hash of one in one of 150,000 cases; it then
/// counts as that piece.
fn find(hash: u32) -> Option<usize> {
    let hashes = Table::new().hashes;
    hashes
        .binary_search_by_key(&hash, |bytes| u32::from_le_bytes(*bytes))
        .ok()
}

/// Returns the longest piece of a word that begins at a byte, and its end. All but the first piece of a
/// word have a mark.
fn longest(word: &[u8], from: usize) -> Option<(usize, usize)> {
    let start = match from {
        0 => HASH_START,
        _ => hash(HASH_START, b"##"),
    };
    let mut longest = None;
    let mut running = start;
    for (at, byte) in word.iter().enumerate().skip(from) {
        running = hash(running, &[*byte]);
        if let Some(piece) = find(running) {
            longest = Some((piece, at + 1));
        }
    }
    longest
}

/// The hash of an empty text.
const HASH_START: u32 = 0x811c_9dc5;

/// Continues a hash with more bytes (FNV-1a, 32 bits).
fn hash(start: u32, bytes: &[u8]) -> u32 {
    let step = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    bytes.iter().fold(start, step)
}

/// Vector of a query, to compare with those of texts.
pub struct QueryVector {
    /// Numbers of the even dimensions, and of the odd ones.
    halves: [[i16; TextVector::BYTES]; 2],
    /// Scalar product with [`ZERO`] in all dimensions.
    zero: i32,
    scale: f32,
}

impl QueryVector {
    /// Returns the vector of the sum of a query's words; `None` if the table knows few of them.
    pub fn of(words: &WordVectors) -> Option<QueryVector> {
        let unit = words.unit().filter(|_| words.are_known())?;
        let most = unit
            .iter()
            .fold(0.0, |most: f32, value| most.max(value.abs()));
        let numbers = unit.map(|value| (value / most * 127.0).round() as i16);
        let half = |of: usize| std::array::from_fn(|at| numbers[2 * at + of]);
        Some(QueryVector {
            halves: [half(0), half(1)],
            zero: numbers.iter().map(|number| i32::from(*number)).sum::<i32>() * i32::from(ZERO),
            scale: most / 127.0 / STEPS,
        })
    }

    /// Returns the cosine of the query and a text, to about two digits.
    pub fn cosine(&self, text: &[u8; TextVector::BYTES]) -> f32 {
        let mut sum = 0;
        for ((byte, even), odd) in text.iter().zip(&self.halves[0]).zip(&self.halves[1]) {
            sum += i32::from(i16::from(byte & 15)) * i32::from(*even);
            sum += i32::from(i16::from(byte >> 4)) * i32::from(*odd);
        }
        (sum - self.zero) as f32 * self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> WordVectors {
        let mut words = WordVectors::default();
        text.split(' ').for_each(|word| words.add(word, 1.0));
        words
    }

    #[test]
    fn texts_of_one_matter_are_near_without_a_common_word() {
        let texts = [
            "lena allergic peanuts",
            "nightly backup job server",
            "violin concert orchestra",
        ];
        let texts = texts.map(|text| words(text).pack());
        for (query, nearest) in [("food makes ill", 0), ("scheduled batch", 1), ("music", 2)] {
            let query = QueryVector::of(&words(query)).expect("its words are known");
            let cosines = texts.map(|text| query.cosine(&text.0));
            let best = (0..3).max_by(|a, b| cosines[*a].total_cmp(&cosines[*b]));
            assert_eq!(best, Some(nearest), "{cosines:?}");
        }
    }

    #[test]
    fn a_packed_text_is_nearest_to_itself() {
        for text in ["database migration", "hockey", "my grandmother's house"] {
            let cosine =
                QueryVector::of(&words(text)).map(|query| query.cosine(&words(text).pack().0));
            assert!(
                cosine.is_some_and(|cosine| (0.95..1.05).contains(&cosine)),
                "{cosine:?}"
            );
        }
    }

    #[test]
    fn words_that_the_table_lacks_are_cut_into_pieces_or_say_nothing() {
        let cut = words("blockchainification");
        assert!(!cut.are_known());
        assert!(cut.unit().is_some());
        for unknown in ["überraschung", "東京", "", &"x".repeat(500)] {
            assert!(words(unknown).unit().is_none(), "{unknown}");
            assert_eq!(words(unknown).pack(), TextVector::ZERO);
        }
        let query = QueryVector::of(&words("music")).expect("it is known");
        assert_eq!(query.cosine(&TextVector::ZERO.0), 0.0);
    }

    #[test]
    fn the_table_is_as_its_head_says() {
        let table = Table::new();
        assert_eq!(table.hashes.len(), table.scales.len());
        assert_eq!(table.hashes.len(), table.vectors.len());
        assert!(TABLE.len() <= 5_000_000);
        let hash = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
        assert!(
            table
                .hashes
                .windows(2)
                .all(|two| hash(&two[0]) < hash(&two[1]))
        );
    }
}

//! Vectors of words, compiled into the program: what a text is about where no model is set up.
//!
//! `vectors/make.py` fits them so that the sum over a text's words points where a sentence model's vector
//! of the text does (docs/RETRIEVAL.md, "Vectors of words"). The sum knows neither order nor context.
//! The table is a part of the program: it is not loaded, and texts stay on this machine.

use std::sync::LazyLock;

use half::f16;

use crate::simd::{WideLoop, widest};

/// Number of dimensions of a vector.
const DIMENSIONS: usize = 256;

/// The number of words and pieces of words (32 bits). Then, each for all of them in the order of their
/// hashes: hashes (32 bits), scales (16-bit floats), and vectors (four bits a number, the even one in the
/// low half). Little endian.
static TABLE: &[u8] = include_bytes!("vectors/table.bin");

/// Number that stands for 0 in four bits.
const ZERO: i8 = 8;
/// Factor of the numbers of a text's vector in four bits: those beyond ±¼ are rare, and are cut.
const STEPS: f32 = 28.0;
/// Maximum number of bytes of a word that is cut into pieces: longer ones are data, not language.
const MAX_WORD: usize = 40;
/// Number of vectors after which no word is added: what a longer text is about shows in these.
const MAX_VECTORS: u32 = 10_000;
/// Factor of the scale and weight of a vector that is added, and its maximum: fifteen times it is a
/// number of sixteen bits.
const FACTOR: f32 = 800.0;
const MAX_FACTOR: f32 = 2_000.0;

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
    /// Sums of the even dimensions, and of the odd ones, of numbers that are [`ZERO`] too large.
    halves: [[i32; TextVector::BYTES]; 2],
    /// Sum of the factors of all vectors.
    factors: i32,
    /// Number of vectors that were added: a word has one for each of its pieces.
    vectors: u32,
    /// Number of words that were added.
    words: u32,
    /// Number of words that the table holds.
    known: u32,
}

impl Default for WordVectors {
    fn default() -> WordVectors {
        WordVectors {
            halves: [[0; TextVector::BYTES]; 2],
            factors: 0,
            vectors: 0,
            words: 0,
            known: 0,
        }
    }
}

impl WordVectors {
    /// Adds a lower-case word. One of ASCII letters that the table does not hold is cut into the longest
    /// pieces from the left that it holds (WordPiece; Schuster and Nakajima 2012). Words that cannot be cut
    /// so add nothing.
    pub fn add(&mut self, word: &str, weight: f32) {
        if self.vectors >= MAX_VECTORS {
            return;
        }
        self.words += 1;
        let word = word.as_bytes();
        if let Some(number) = find(hash(HASH_START, word)) {
            self.known += 1;
            return self.add_vector(number, weight);
        }
        if word.len() > MAX_WORD || !word.iter().all(u8::is_ascii_lowercase) {
            return;
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
            self.add_vector(piece, weight);
        }
    }

    /// Adds a vector. Products take sixteen bits, and sums wrap, so that the compiler makes wide
    /// instructions of them. No sum does wrap: see [`MAX_VECTORS`].
    fn add_vector(&mut self, number: usize, weight: f32) {
        let table = Table::new();
        let factor = (table.scale(number) * weight * FACTOR).min(MAX_FACTOR) as i16;
        self.factors += i32::from(factor);
        self.vectors += 1;
        widest(Addition {
            sums: &mut self.halves,
            vector: table.vector(number),
            factor,
        });
    }

    /// Returns whether the table holds at least half of the words whole: else they are of another language, or
    /// names and codes.
    pub fn are_known(&self) -> bool {
        self.known > 0 && 2 * self.known >= self.words
    }

    /// Returns the sums of the even dimensions and of the odd ones, of length 1; `None` if they are 0.
    fn unit(&self) -> Option<[[f32; TextVector::BYTES]; 2]> {
        let zero = i32::from(ZERO) * self.factors;
        let halves = self.halves.map(|half| half.map(|sum| (sum - zero) as f32));
        let squares = halves.as_flattened().iter().map(|value| value * value);
        let length = squares.sum::<f32>().sqrt();
        (length > 0.0).then(|| halves.map(|half| half.map(|value| value / length)))
    }

    /// Returns the vector of the text that has these words.
    pub fn pack(&self) -> TextVector {
        let Some(unit) = self.unit() else {
            return TextVector::ZERO;
        };
        let small = |value: f32| ((value * STEPS).round().clamp(-7.0, 7.0) as i8 + ZERO) as u8;
        let [even, odd] = unit;
        TextVector(std::array::from_fn(|at| {
            small(even[at]) | small(odd[at]) << 4
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

/// Number of bits of a hash by which most texts that the table lacks are known.
const FILTER_BITS: u32 = 19;

/// A bit for each value of the first bits of the table's hashes.
static FILTER: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let mut filter = vec![0; 1 << (FILTER_BITS - 6)];
    for bytes in Table::new().hashes {
        let bit = u32::from_le_bytes(*bytes) >> (32 - FILTER_BITS);
        filter[(bit >> 6) as usize] |= 1 << (bit & 63);
    }
    filter
});

/// Number of the first bits of a hash by which its place in the table is known, but for a few places.
const PLACE_BITS: u32 = 13;

/// For each value of the first bits of a hash, the number of hashes in the table that begin with a smaller one;
/// then the number of all. A search in all of the table would wait for memory at most of its steps.
static PLACES: LazyLock<Vec<u32>> = LazyLock::new(|| {
    let mut places = vec![0; (1 << PLACE_BITS) + 1];
    for bytes in Table::new().hashes {
        places[first_bits(u32::from_le_bytes(*bytes)) + 1] += 1;
    }
    for value in 1..places.len() {
        places[value] += places[value - 1];
    }
    places
});

fn first_bits(hash: u32) -> usize {
    (hash >> (32 - PLACE_BITS)) as usize
}

/// Returns the number of the word or piece with this hash.
///
/// The hashes of the table differ. Another text has the hash of one of them in one of 115,000 cases, and
/// counts as that.
fn find(hash: u32) -> Option<usize> {
    let bit = hash >> (32 - FILTER_BITS);
    if FILTER[(bit >> 6) as usize] >> (bit & 63) & 1 == 0 {
        return None;
    }
    let value = first_bits(hash);
    let (from, to) = (PLACES[value] as usize, PLACES[value + 1] as usize);
    let mut hashes = Table::new().hashes[from..to].iter();
    let place = hashes.position(|bytes| u32::from_le_bytes(*bytes) == hash)?;
    Some(from + place)
}

/// Returns the longest piece of a word that begins at a byte, and its end. All but the first piece of a
/// word begin with a mark.
fn longest(word: &[u8], from: usize) -> Option<(usize, usize)> {
    let mut running = match from {
        0 => HASH_START,
        _ => hash(HASH_START, b"##"),
    };
    let mut longest = None;
    for (end, byte) in (from + 1..).zip(&word[from..]) {
        running = hash(running, &[*byte]);
        if let Some(piece) = find(running) {
            longest = Some((piece, end));
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
        let values = unit.as_flattened().iter();
        let most = values.fold(0.0, |most: f32, value| most.max(value.abs()));
        let halves = unit.map(|half| half.map(|value| (value / most * 127.0).round() as i16));
        let numbers = halves.as_flattened().iter();
        Some(QueryVector {
            halves,
            zero: numbers.map(|number| i32::from(*number)).sum::<i32>() * i32::from(ZERO),
            scale: most / 127.0 / STEPS,
        })
    }

    /// Returns the cosine of the query and a text, to about two digits.
    #[inline(always)]
    pub fn cosine(&self, text: &[u8; TextVector::BYTES]) -> f32 {
        (product(text, &self.halves) - self.zero) as f32 * self.scale
    }

    /// Puts the cosine of the query and each text into `cosines`, in the order of the texts.
    pub fn cosines(&self, texts: &[[u8; TextVector::BYTES]], cosines: &mut [f32]) {
        widest(Comparison {
            query: self,
            texts,
            cosines,
        });
    }
}

/// Adds a vector, `factor` times, to sums of the even and of the odd dimensions.
struct Addition<'a> {
    sums: &'a mut [[i32; TextVector::BYTES]; 2],
    vector: &'a [u8; TextVector::BYTES],
    factor: i16,
}

impl WideLoop for Addition<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let product = |number: u8| i32::from(self.factor.wrapping_mul(i16::from(number)));
        let [even, odd] = self.sums;
        for (sum, byte) in even.iter_mut().zip(self.vector) {
            *sum = sum.wrapping_add(product(byte & 15));
        }
        for (sum, byte) in odd.iter_mut().zip(self.vector) {
            *sum = sum.wrapping_add(product(byte >> 4));
        }
    }
}

/// Puts the cosine of a query and each text into a list.
struct Comparison<'a> {
    query: &'a QueryVector,
    texts: &'a [[u8; TextVector::BYTES]],
    cosines: &'a mut [f32],
}

impl WideLoop for Comparison<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (cosine, text) in self.cosines.iter_mut().zip(self.texts) {
            *cosine = self.query.cosine(text);
        }
    }
}

/// Returns the scalar product of a text's numbers and those of a query.
///
/// Written so that the compiler makes wide instructions of it: first all products, then one sum a lane. A sum has
/// sixteen bits and does not wrap: it is that of sixteen products of at most 15 · 127.
#[inline(always)]
fn product(text: &[u8; TextVector::BYTES], [even, odd]: &[[i16; TextVector::BYTES]; 2]) -> i32 {
    const LANES: usize = 16;
    let mut products = [0_i16; TextVector::BYTES];
    for (at, sum) in products.iter_mut().enumerate() {
        let low = i16::from(text[at] & 15).wrapping_mul(even[at]);
        let high = i16::from(text[at] >> 4).wrapping_mul(odd[at]);
        *sum = low.wrapping_add(high);
    }
    let mut sums = [0_i16; LANES];
    for of_lanes in products.as_chunks::<LANES>().0 {
        for (sum, product) in sums.iter_mut().zip(of_lanes) {
            *sum = sum.wrapping_add(*product);
        }
    }
    sums.into_iter().map(i32::from).sum()
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
    fn many_texts_have_the_cosines_that_each_has() {
        let query = QueryVector::of(&words("music")).expect("the word is known");
        let texts = ["violin concert", "server", "orchestra", ""];
        let texts = texts.map(|text| words(text).pack().0);
        let mut all = [0.0; 4];
        query.cosines(&texts, &mut all);
        assert_eq!(all, texts.map(|text| query.cosine(&text)));
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
    fn every_hash_of_the_table_has_its_number() {
        let hashes = Table::new().hashes;
        for (number, bytes) in hashes.iter().enumerate() {
            assert_eq!(find(u32::from_le_bytes(*bytes)), Some(number));
        }
        let all: std::collections::HashSet<_> = hashes.iter().copied().collect();
        let others = (0..u32::MAX).step_by(9_973);
        let mut others = others.filter(|hash| !all.contains(&hash.to_le_bytes()));
        assert!(others.all(|hash| find(hash).is_none()));
    }

    #[test]
    fn words_that_the_table_lacks_are_cut_into_pieces_or_say_nothing() {
        let cut = words("blockchainification");
        assert!(cut.unit().is_some() && !cut.are_known());
        assert!(words("music 4711x").are_known());
        assert!(!words("music 4711x 0a1b2c").are_known());
        assert_eq!(words("music 4711x").pack(), words("music").pack());
        for unknown in ["überraschung", "東京", "", "0a1b2c", &"x".repeat(500)] {
            assert!(words(unknown).unit().is_none(), "{unknown}");
            assert_eq!(words(unknown).pack(), TextVector::ZERO);
        }
        let query = QueryVector::of(&words("music")).expect("it is known");
        assert_eq!(query.cosine(&TextVector::ZERO.0), 0.0);
        // The greatest sums have their bits.
        let greatest = [[127; TextVector::BYTES]; 2];
        let all = 2 * TextVector::BYTES as i32 * 15 * 127;
        assert_eq!(product(&[0xff; TextVector::BYTES], &greatest), all);
        // Of a text of any length the sums stay within their bits.
        let mut long = WordVectors::default();
        (0..2 * MAX_VECTORS).for_each(|_| long.add("music", 1.0));
        assert_eq!(long.pack(), words("music").pack());
        // Forty pieces a word, and as heavy as a vector can be.
        let mut pieces = WordVectors::default();
        (0..2 * MAX_VECTORS).for_each(|_| pieces.add(&"zq".repeat(20), 100.0));
        assert!(pieces.vectors < MAX_VECTORS + 40 && pieces.unit().is_some());
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

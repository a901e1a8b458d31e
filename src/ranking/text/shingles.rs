//! Resemblance of two texts by their shingles: runs of three words.

use std::collections::HashSet;
use std::ops::Range;

/// Number of consecutive words in a shingle.
const WORDS: usize = 3;

/// Returns the Jaccard resemblance of two texts' runs of three words (Broder 1997): 1 for texts of the
/// same words, also in other case and punctuation, 0 for texts that share no run. Texts of fewer words
/// are one run.
pub fn resemblance(one: &str, other: &str) -> f32 {
    let (one, other) = (shingles(one), shingles(other));
    let common = one.intersection(&other).count();
    let all = one.len() + other.len() - common;
    if all == 0 {
        return 0.0;
    }
    common as f32 / all as f32
}

fn shingles(text: &str) -> HashSet<Vec<String>> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    match words.len() {
        0 => HashSet::new(),
        1..WORDS => HashSet::from([words]),
        _ => words.windows(WORDS).map(<[String]>::to_vec).collect(),
    }
}

/// Number of hashes that represent a text.
const OUTLINED: usize = 64;
/// Number of bytes of a text that are hashed.
const OUTLINED_BYTES: usize = 16 * 1024;

/// Sketch of a text for comparison with many others: the smallest hashes of its runs (Broder's bottom
/// sketch). Takes a fraction of the text's memory, and estimates the resemblance to about a tenth.
#[derive(Debug, Clone, PartialEq, Eq)]
// Invariant: sorted, free of duplicates, and at most `OUTLINED`.
pub struct ShingleSet(Box<[u64]>);

impl ShingleSet {
    /// Makes the sketch of the first 16 KiB of `text`.
    pub fn of(text: &str) -> ShingleSet {
        let end = text.floor_char_boundary(OUTLINED_BYTES);
        let words = hashed_words(&text[..end]);
        let runs: Vec<u64> = match words.len() {
            0 => Vec::new(),
            1..WORDS => vec![hashed_run(&words)],
            _ => words.windows(WORDS).map(hashed_run).collect(),
        };
        // Many are kept, so none has spare capacity.
        ShingleSet(smallest(runs).into_boxed_slice())
    }

    /// Estimates the [`resemblance`] of the two texts.
    #[cfg(test)]
    fn resemblance(&self, other: &ShingleSet) -> f32 {
        let (common, all) = self.shared(other, OUTLINED);
        match all {
            0 => 0.0,
            all => common as f32 / all as f32,
        }
    }

    /// Returns whether the estimated resemblance of the two texts is at least `share`.
    pub fn is_like(&self, other: &ShingleSet, share: f32) -> bool {
        // With more runs than this in one text only, the share cannot be reached.
        let most_apart = ((1.0 - share) * OUTLINED as f32).ceil() as usize;
        let (common, all) = self.shared(other, most_apart);
        all > 0 && common as f32 / all as f32 >= share
    }

    /// Takes the smallest hashes of both together, a sample of the union, and returns the number of those
    /// in both and the size of the sample. Stops once more than `most_apart` are in one only.
    fn shared(&self, other: &ShingleSet, most_apart: usize) -> (usize, usize) {
        let (one, two) = (&*self.0, &*other.0);
        let (mut at, mut beside) = (0, 0);
        let (mut common, mut all) = (0, 0);
        while all < OUTLINED && all - common <= most_apart {
            let (Some(a), Some(b)) = (one.get(at), two.get(beside)) else {
                let rest = (one.len() - at) + (two.len() - beside);
                all = OUTLINED.min(all + rest);
                break;
            };
            // The smaller one is random: branches would be mispredicted.
            at += usize::from(a <= b);
            beside += usize::from(b <= a);
            common += usize::from(a == b);
            all += 1;
        }
        (common, all)
    }
}

/// Bloom filter of many sketches: at the cost of one comparison it excludes that another sketch is like
/// one of them.
pub struct ShingleFilter {
    /// Bits of the slots that the hashes fall into.
    slots: Vec<u64>,
}

/// Number of slots for each hash: of the hashes that are not in it, at most one in this many
/// collides.
const SLOTS_FOR_ONE: usize = 8;

impl ShingleFilter {
    /// Returns an empty filter with room for `outlines` sketches.
    pub fn with_room(outlines: usize) -> ShingleFilter {
        let bits = (outlines * OUTLINED * SLOTS_FOR_ONE).next_power_of_two();
        ShingleFilter {
            slots: vec![0; bits.div_ceil(64)],
        }
    }

    /// Returns whether `outline` may be like one of them ([`ShingleSet::is_like`]); false positives are
    /// rare.
    pub fn may_hold_one_like(&self, outline: &ShingleSet, share: f32) -> bool {
        // The intersection with one of them is at most that with all of them, and the union is at least
        // as large as `outline`.
        let met = outline.0.iter().filter(|hash| {
            let (word, bit) = self.slot(**hash);
            self.slots[word] & bit != 0
        });
        met.count() as f32 >= share * outline.0.len() as f32
    }

    /// Adds a sketch.
    pub fn add(&mut self, outline: &ShingleSet) {
        for hash in &*outline.0 {
            let (word, bit) = self.slot(*hash);
            self.slots[word] |= bit;
        }
    }

    /// Returns the word and bit of a hash, from its low bits: the smallest hashes share their high bits.
    fn slot(&self, hash: u64) -> (usize, u64) {
        let word = (hash >> 6) as usize & (self.slots.len() - 1);
        (word, 1 << (hash & 63))
    }
}

/// Returns the hash of each word in lower case, in their order.
fn hashed_words(text: &str) -> Vec<u64> {
    let mut words = Vec::with_capacity(text.len() / 5 + 1);
    if text.is_ascii() {
        let bytes = text.as_bytes();
        each_word(bytes, |word| words.push(hashed_ascii(bytes, word)));
        return words;
    }
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        if word.is_ascii() {
            words.extend((!word.is_empty()).then(|| hashed_word(word.as_bytes())));
        } else {
            words.push(hashed_word(word.to_lowercase().as_bytes()));
        }
    }
    words
}

/// Multiplier of the hash: odd, from the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Calls `each` with the range of every run of letters and digits in an ASCII text.
fn each_word(text: &[u8], mut each: impl FnMut(Range<usize>)) {
    let mut start = None;
    let mut is_inside = 0;
    for (block, bytes) in text.chunks(64).enumerate() {
        // A bit for each byte that belongs to a word, so that the work grows with the words and
        // not with the bytes.
        let mut inside = 0;
        for (at, eight) in bytes.chunks(8).enumerate() {
            let mut padded = [0; 8];
            match eight.try_into() {
                Ok(whole) => padded = whole,
                Err(_) => padded[..eight.len()].copy_from_slice(eight),
            }
            inside |= letters_and_digits(u64::from_le_bytes(padded)) << (at * 8);
        }
        let mut edges = inside ^ (inside << 1 | is_inside);
        is_inside = inside >> 63;
        while edges != 0 {
            let at = block * 64 + edges.trailing_zeros() as usize;
            edges &= edges - 1;
            match start.take() {
                Some(start) => each(start..at),
                None => start = Some(at),
            }
        }
    }
    if let Some(start) = start {
        each(start..text.len());
    }
}

/// Bits that make eight ASCII letters lower case. Digits have them already.
const SMALL: u64 = 0x2020_2020_2020_2020;

/// Returns a bit for each of eight ASCII bytes that is a letter or a digit, the first one's the lowest.
fn letters_and_digits(bytes: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // No sum is carried into the next byte: of the bytes, none has its highest bit set.
    let lies_in = |bytes: u64, first: u8, last: u8| {
        let from = bytes.wrapping_add(EACH * u64::from(0x80 - first));
        let beyond = bytes.wrapping_add(EACH * u64::from(0x7f - last));
        from & !beyond
    };
    let found = lies_in(bytes | SMALL, b'a', b'z') | lies_in(bytes, b'0', b'9');
    // Brings the highest bits of all bytes together in the highest byte.
    ((found >> 7) & EACH).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Returns the [`hashed_word`] of the letters and digits at `word` in an ASCII text.
fn hashed_ascii(text: &[u8], word: Range<usize>) -> u64 {
    let (eights, rest) = text[word.clone()].as_chunks::<8>();
    let mut hash = word.len() as u64;
    for eight in eights {
        hash = mixed(hash ^ (u64::from_be_bytes(*eight) | SMALL));
    }
    if !rest.is_empty() {
        // The last bytes are the word's; the mask removes those before.
        let end = text[..word.end].last_chunk::<8>();
        let eight = match end {
            Some(end) => u64::from_be_bytes(*end),
            None => rest
                .iter()
                .fold(0, |eight, byte| (eight << 8) | u64::from(*byte)),
        };
        let mask = u64::MAX >> (64 - 8 * rest.len());
        hash = mixed(hash ^ ((eight | SMALL) & mask));
    }
    hash
}

/// Returns the hash of a word whose letters beyond ASCII are lower case.
fn hashed_word(word: &[u8]) -> u64 {
    let mut hash = word.len() as u64;
    for part in word.chunks(8) {
        let eight = part.iter().fold(0, |eight, byte| {
            (eight << 8) | u64::from(byte.to_ascii_lowercase())
        });
        hash = mixed(hash ^ eight);
    }
    hash
}

fn hashed_run(words: &[u64]) -> u64 {
    words.iter().fold(words.len() as u64, |hash, word| {
        mixed(hash.rotate_left(29) ^ word)
    })
}

fn mixed(bits: u64) -> u64 {
    let bits = bits.wrapping_mul(SPREAD);
    (bits ^ (bits >> 32)).wrapping_mul(SPREAD)
}

/// Returns the smallest of `hashes`, sorted, each once.
fn smallest(mut hashes: Vec<u64>) -> Vec<u64> {
    let count = hashes.len() as u64;
    if count > 2 * OUTLINED as u64 {
        // Hashes are uniform: below this bound there are about half as many again as needed, and
        // hardly ever too few. Sorting these alone is a fraction of the work.
        let bound = u64::MAX / count * (OUTLINED + OUTLINED / 2) as u64;
        let mut low = vec![0; hashes.len()];
        let mut length = 0;
        for &hash in &hashes {
            // Without a branch, which would be mispredicted.
            low[length] = hash;
            length += usize::from(hash < bound);
        }
        low.truncate(length);
        low.sort_unstable();
        low.dedup();
        if low.len() >= OUTLINED {
            low.truncate(OUTLINED);
            return low;
        }
    }
    hashes.sort_unstable();
    hashes.dedup();
    hashes.truncate(OUTLINED);
    hashes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_compared_run_by_run() {
        let text = "We deploy atlas with a tag on Tuesdays.";
        assert_eq!(
            resemblance(text, "we deploy ATLAS with a tag, on tuesdays"),
            1.0
        );
        let near = resemblance(text, "We deploy atlas with a tag on Mondays.");
        assert!((0.6..0.9).contains(&near), "{near}");
        assert_eq!(
            resemblance(text, "on Tuesdays a tag with atlas deploy we"),
            0.0
        );
        assert_eq!(resemblance("two words", "Two words!"), 1.0);
        assert_eq!(resemblance("", "..."), 0.0);
    }

    #[test]
    fn an_outline_tells_about_the_same_as_the_texts() {
        let text =
            |from: u32| -> String { (from..from + 300).map(|n| format!("word{n} ")).collect() };
        for shift in [0, 10, 50, 150, 300] {
            let (one, other) = (text(0), text(shift));
            let told = ShingleSet::of(&one).resemblance(&ShingleSet::of(&other));
            let real = resemblance(&one, &other);
            assert!((told - real).abs() < 0.15, "{shift}: {told} for {real}");
        }
        assert_eq!(ShingleSet::of("").resemblance(&ShingleSet::of("")), 0.0);
        assert_eq!(
            ShingleSet::of("One word").resemblance(&ShingleSet::of("one WORD!")),
            1.0
        );
    }

    #[test]
    fn a_crowd_of_other_texts_holds_none_like_this_one() {
        let text = |number: u32| -> String {
            (0..300)
                .map(|at| format!("word{} ", number * 1_000 + at))
                .collect()
        };
        let outlines: Vec<ShingleSet> = (0..100)
            .map(|number| ShingleSet::of(&text(number)))
            .collect();
        let mut crowd = ShingleFilter::with_room(outlines.len());
        for outline in &outlines {
            assert!(!crowd.may_hold_one_like(outline, 0.6));
            crowd.add(outline);
        }
        assert!(
            outlines
                .iter()
                .all(|outline| crowd.may_hold_one_like(outline, 1.0))
        );
    }

    proptest! {
        #[test]
        fn words_of_ascii_are_found_and_hashed_as_any_others(text in "([ -~\\n]|[a-zA-Z0-9]{1,20}){0,60}") {
            let parts = text.split(|c: char| !c.is_alphanumeric());
            let words: Vec<&str> = parts.filter(|word| !word.is_empty()).collect();
            let hashes: Vec<u64> = words.iter().map(|word| hashed_word(word.as_bytes())).collect();
            prop_assert_eq!(hashed_words(&text), hashes);
        }

        /// An outline is what all runs come to, whatever the shortcuts; and what is told early is
        /// what counting to the end tells.
        #[test]
        fn outlines_of_any_texts_are_those_of_all_their_runs(
            one in "([a-cA-C\u{e4}\u{c4}]{1,2}[ .\u{2026}]){0,400}",
            tail in "([a-c]{1,9} ){0,200}",
            cut in 0..2_000_usize,
        ) {
            let other = format!("{}{tail}", &one[..one.floor_char_boundary(cut)]);
            let (a, b) = (ShingleSet::of(&one), ShingleSet::of(&other));
            for (text, outline) in [(&one, &a), (&other, &b)] {
                let runs = shingles(text).len();
                prop_assert_eq!(outline.0.len(), runs.min(OUTLINED));
                prop_assert!(outline.0.is_sorted_by(|a, b| a < b));
                let again = text.to_uppercase().to_lowercase();
                if again == text.to_lowercase() {
                    prop_assert_eq!(outline, &ShingleSet::of(&again));
                }
            }
            let mut crowd = ShingleFilter::with_room(1);
            crowd.add(&b);
            for share in [0.1, 0.5, 0.6, 0.9, 1.0] {
                prop_assert_eq!(a.is_like(&b, share), a.resemblance(&b) >= share);
                prop_assert!(crowd.may_hold_one_like(&a, share) || !a.is_like(&b, share));
            }
            if shingles(&one).len() + shingles(&other).len() <= OUTLINED {
                prop_assert_eq!(a.resemblance(&b), resemblance(&one, &other));
            }
        }
    }
}

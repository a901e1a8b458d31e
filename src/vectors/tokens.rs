//! Tokens in 64 bytes each, and how near a question is to a text by them: late interaction (Khattab and
//! Zaharia 2020), with one bit a direction (RaBitQ: Gao and Long 2024).
//!
//! A state of a model is turned by a fixed rotation, and the sign of each of 512 of its numbers is kept. The
//! scalar product of the signs and of a turned vector of length 1 estimates the cosine of both, with a
//! standard error of about 0.03; of fewer than 384 numbers more.

/// Bytes of one token.
pub const TOKEN_BYTES: usize = 64;

/// Number of signs of a token.
const SIGNS: usize = TOKEN_BYTES * 8;

/// Returns the code of a state, whatever its length.
pub fn token_code(state: &[f32]) -> [u8; TOKEN_BYTES] {
    let mut code = [0; TOKEN_BYTES];
    for (byte, numbers) in code.iter_mut().zip(rotated(state).chunks_exact(8)) {
        for (bit, number) in numbers.iter().enumerate() {
            *byte |= u8::from(*number >= 0.0) << bit;
        }
    }
    code
}

/// A token of a question, ready to be compared with codes.
pub struct AskedToken {
    /// For each byte of a code the sums of its eight numbers, by the byte's value, as shares of a cosine.
    sums: Vec<[f32; 256]>,
}

impl AskedToken {
    /// Returns the token with a state of length 1.
    pub fn of(state: &[f32]) -> AskedToken {
        let rotated = rotated(state);
        let length: f32 = rotated.iter().map(|number| number * number).sum();
        // The mean of |x| is √(2/π) for a normal x of variance 1.
        let unit = std::f32::consts::FRAC_2_PI.sqrt() * (length * SIGNS as f32).sqrt();
        let sums = rotated.chunks_exact(8).map(|numbers| {
            let mut sums = [0.0; 256];
            for (byte, sum) in sums.iter_mut().enumerate() {
                let signed = numbers.iter().enumerate().map(|(bit, number)| {
                    let is_positive = byte >> bit & 1 == 1;
                    if is_positive { *number } else { -*number }
                });
                *sum = signed.sum::<f32>() / unit;
            }
            sums
        });
        AskedToken {
            sums: sums.collect(),
        }
    }

    /// Returns the greatest cosine with one of the tokens in `codes`; `None` if there are none.
    pub fn nearest(&self, codes: &[u8]) -> Option<f32> {
        let cosine = |code: &[u8]| -> f32 {
            let bytes = code.iter().zip(&self.sums);
            bytes.map(|(byte, sums)| sums[usize::from(*byte)]).sum()
        };
        codes.chunks_exact(TOKEN_BYTES).map(cosine).reduce(f32::max)
    }
}

/// Returns [`SIGNS`] numbers of a vector after a rotation: random signs, then the Walsh–Hadamard transform
/// of as many numbers as the next power of two.
fn rotated(vector: &[f32]) -> Vec<f32> {
    let size = vector.len().next_power_of_two().max(SIGNS);
    let mut numbers = Vec::with_capacity(size);
    let mut random = 0_u64;
    for number in vector {
        // SplitMix64.
        random = random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = (random ^ (random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        numbers.push(if mixed >> 63 == 1 { *number } else { -*number });
    }
    numbers.resize(size, 0.0);
    let mut half = 1;
    while half < size {
        for pair in numbers.chunks_exact_mut(2 * half) {
            let (left, right) = pair.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
    numbers.truncate(SIGNS);
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a vector of length 1 at an angle, in radians, from the one at angle 0.
    fn at(angle: f32, dimensions: usize, seed: usize) -> Vec<f32> {
        let wave = |phase: f32| -> Vec<f32> {
            let numbers = (0..dimensions).map(|n| ((n * n + 7 * n * seed) as f32 + phase).sin());
            numbers.collect()
        };
        let unit = |vector: Vec<f32>| -> Vec<f32> {
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            vector.iter().map(|x| x / length).collect()
        };
        let base = unit(wave(0.3));
        let other = wave(1.7);
        let along: f32 = base.iter().zip(&other).map(|(a, b)| a * b).sum();
        let across = unit(
            other
                .iter()
                .zip(&base)
                .map(|(o, b)| o - along * b)
                .collect(),
        );
        let turned = base.iter().zip(&across);
        turned
            .map(|(b, a)| b * angle.cos() + a * angle.sin())
            .collect()
    }

    #[test]
    fn cosines_are_estimated_for_models_of_every_width() {
        for dimensions in [384, 768, 1024] {
            let mut squares = 0.0;
            let mut count = 0.0;
            for seed in 1..40 {
                let asked = AskedToken::of(&at(0.0, dimensions, seed));
                for angle in [0.0_f32, 0.4, 0.9, 1.57, 2.5] {
                    let found = asked.nearest(&token_code(&at(angle, dimensions, seed)));
                    squares += (found.unwrap() - angle.cos()).powi(2);
                    count += 1.0_f32;
                }
            }
            let error = (squares / count).sqrt();
            assert!(error < 0.05, "{dimensions} dimensions: {error}");
        }
    }

    #[test]
    fn the_nearest_token_counts() {
        let asked = AskedToken::of(&at(0.0, 384, 1));
        let [far, near] = [1.2, 0.2].map(|angle| token_code(&at(angle, 384, 1)));
        assert_eq!(
            asked.nearest(&[far, near, far].concat()),
            asked.nearest(&near)
        );
        assert_eq!(asked.nearest(&[]), None);
    }
}

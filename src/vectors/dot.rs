//! Scalar products, and how vectors become small numbers.

use half::f16;

use crate::simd::{WideLoop, widest};

/// A vector in eight bits a number: `value ≈ scale · number`.
#[derive(Debug, Clone)]
pub(super) struct Small {
    pub numbers: Vec<i8>,
    pub scale: f32,
}

impl Small {
    pub fn of(vector: &[f32]) -> Small {
        let most = vector
            .iter()
            .fold(0.0_f32, |most, value| most.max(value.abs()));
        let scale = if most > 0.0 { most / 127.0 } else { 1.0 };
        Small {
            numbers: vector
                .iter()
                .map(|value| (value / scale).round() as i8)
                .collect(),
            scale,
        }
    }
}

/// The query that vectors in eight bits are compared with: its numbers in two bytes, so that they
/// need not be widened for each vector.
pub(super) struct Wide {
    pub numbers: Vec<i16>,
    pub scale: f32,
}

impl Wide {
    pub fn of(vector: &[f32]) -> Wide {
        let small = Small::of(vector);
        Wide {
            numbers: small.numbers.iter().copied().map(i16::from).collect(),
            scale: small.scale,
        }
    }
}

/// Returns the scalar product of two vectors of numbers that have eight bits, the first given as bytes.
pub(super) fn dot_small(bytes: &[u8], query: &[i16]) -> i32 {
    widest(SmallProduct { bytes, query })
}

/// The scalar product of two vectors of numbers that have eight bits.
struct SmallProduct<'a> {
    bytes: &'a [u8],
    query: &'a [i16],
}

impl WideLoop for SmallProduct<'_> {
    type Output = i32;

    #[inline(always)]
    fn run(self) -> i32 {
        dot_small_plain(self.bytes, self.query)
    }
}

/// Written so that the compiler makes wide instructions of it: one sum a lane, and sums that wrap,
/// which may be added in any order. None does wrap: a product takes fourteen bits, and a vector
/// has far fewer than 2¹⁷ numbers.
#[inline(always)]
fn dot_small_plain(bytes: &[u8], query: &[i16]) -> i32 {
    const LANES: usize = 32;
    let product = |a: u8, b: i16| i32::from(a as i8).wrapping_mul(i32::from(b));
    let (here, there) = (bytes.chunks_exact(LANES), query.chunks_exact(LANES));
    let rest = here.remainder().iter().zip(there.remainder());
    let rest = rest.fold(0, |sum: i32, (a, b)| sum.wrapping_add(product(*a, *b)));
    let mut sums = [0_i32; LANES];
    for (a, b) in here.zip(there) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum = sum.wrapping_add(product(*a, *b));
        }
    }
    sums.iter().fold(rest, |sum, lane| sum.wrapping_add(*lane))
}

/// Returns the scalar product of a vector of sixteen-bit numbers, given as bytes, and another.
pub(super) fn dot_exact(bytes: &[u8], query: &[f32]) -> f32 {
    bytes
        .chunks_exact(2)
        .zip(query)
        .map(|(bytes, value)| f16::from_le_bytes([bytes[0], bytes[1]]).to_f32() * value)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(seed: u32, length: usize) -> Vec<f32> {
        let mut state = seed;
        let raw: Vec<f32> = (0..length)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as f32 / (1 << 24) as f32 - 0.5
            })
            .collect();
        let norm = raw.iter().map(|v| v * v).sum::<f32>().sqrt();
        raw.iter().map(|v| v / norm).collect()
    }

    #[test]
    fn small_numbers_give_nearly_the_product() {
        for length in [1, 31, 32, 33, 384, 1024] {
            let (a, b) = (vector(1, length), vector(2, length));
            let exact: f32 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
            let (small_a, wide_b) = (Small::of(&a), Wide::of(&b));
            let bytes: Vec<u8> = small_a.numbers.iter().map(|n| *n as u8).collect();
            let product = dot_small(&bytes, &wide_b.numbers);
            assert_eq!(product, dot_small_plain(&bytes, &wide_b.numbers));
            let near = product as f32 * small_a.scale * wide_b.scale;
            assert!((near - exact).abs() < 0.006, "{length}: {near} for {exact}");
        }
        assert_eq!(Small::of(&[0.0; 4]).numbers, [0; 4]);
    }

    #[test]
    fn half_numbers_give_the_product_to_four_digits() {
        let (a, b) = (vector(3, 384), vector(4, 384));
        let exact: f32 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
        let bytes: Vec<u8> = a
            .iter()
            .flat_map(|v| f16::from_f32(*v).to_le_bytes())
            .collect();
        assert!((dot_exact(&bytes, &b) - exact).abs() < 1e-4);
    }
}

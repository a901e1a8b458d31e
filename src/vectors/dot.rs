//! Scalar products, and how vectors become small numbers.

use half::f16;

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

/// The scalar product of two vectors of eight-bit numbers, given as bytes.
pub(super) fn dot_small(bytes: &[u8], query: &[i8]) -> i32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as was just asked; the function needs nothing else.
        #[allow(unsafe_code, reason = "the wider instructions are four times as fast")]
        return unsafe { dot_small_avx2(bytes, query) };
    }
    dot_small_plain(bytes, query)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dot_small_avx2(bytes: &[u8], query: &[i8]) -> i32 {
    dot_small_plain(bytes, query)
}

/// The compiler makes wide instructions of this, as wide as it may.
#[inline(always)]
fn dot_small_plain(bytes: &[u8], query: &[i8]) -> i32 {
    const LANES: usize = 32;
    let (here, there) = (bytes.chunks_exact(LANES), query.chunks_exact(LANES));
    let product = |(a, b): (&u8, &i8)| i32::from(i16::from(*a as i8) * i16::from(*b));
    let rest: i32 = here
        .remainder()
        .iter()
        .zip(there.remainder())
        .map(product)
        .sum();
    let whole: i32 = here
        .zip(there)
        .map(|(a, b)| a.iter().zip(b).map(product).sum::<i32>())
        .sum();
    whole + rest
}

/// The scalar product of a vector of sixteen-bit numbers, given as bytes, and another.
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
            let (small_a, small_b) = (Small::of(&a), Small::of(&b));
            let bytes: Vec<u8> = small_a.numbers.iter().map(|n| *n as u8).collect();
            let product = dot_small(&bytes, &small_b.numbers);
            assert_eq!(product, dot_small_plain(&bytes, &small_b.numbers));
            let near = product as f32 * small_a.scale * small_b.scale;
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

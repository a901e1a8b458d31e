//! The hashes that tell whether two texts are the same.

/// A digest of some bytes, for names that follow from them.
pub fn digest(bytes: &[u8]) -> u128 {
    content_hash(bytes)
}

/// The hash that tells whether two texts are the same.
pub(super) fn content_hash(bytes: &[u8]) -> u128 {
    short_hash(&blake3::hash(bytes))
}

pub(super) fn short_hash(hash: &blake3::Hash) -> u128 {
    u128::from_le_bytes(
        hash.as_bytes()[..16]
            .try_into()
            .expect("a hash has 32 bytes"),
    )
}

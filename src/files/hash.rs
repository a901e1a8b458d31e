//! Hashes of texts.

/// Returns a digest of bytes, for names.
pub fn digest(bytes: &[u8]) -> u128 {
    content_hash(bytes)
}

/// Returns the hash by which texts are compared.
pub(super) fn content_hash(bytes: &[u8]) -> u128 {
    short_hash(&blake3::hash(bytes))
}

/// Returns the first 16 bytes of a hash.
pub(super) fn short_hash(hash: &blake3::Hash) -> u128 {
    u128::from_le_bytes(
        hash.as_bytes()[..16]
            .try_into()
            .expect("a hash has 32 bytes"),
    )
}

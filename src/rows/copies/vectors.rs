//! Vectors in the database: [`SharedVectors`] over rows.
//!
//! Promises: a vector that cannot be read as it was written is made again; a claim ends after [`CLAIM`]'s time, so that
//! a server that died holds up nobody. Two servers that make the same vector after all keep the first one.

use std::collections::HashSet;
use std::io;

use super::ask;
use crate::rows::server::Value;
use crate::rows::workspace::Rows;
use crate::vectors::{SharedAnswer, SharedVectors, VectorEntry, VectorKey};

/// Number of vectors in one question or statement: 3 MB of the largest that are usual.
const AT_ONCE: usize = 256;

const MADE: &str = "SELECT key, bytes FROM vector \
     WHERE workspace = $1 AND model = $2 AND key = ANY($3) AND bytes IS NOT NULL";

/// Claims what nobody makes, or somebody began to make five minutes ago. In the order of the keys, so that two servers
/// do not wait for each other.
const CLAIM: &str = "INSERT INTO vector AS v (workspace, model, key) \
     SELECT name, $2, wanted FROM workspace, unnest($3) AS wanted WHERE name = $1 ORDER BY wanted \
     ON CONFLICT (workspace, model, key) DO UPDATE SET claimed = now() \
     WHERE v.bytes IS NULL AND v.claimed < now() - interval '5 minutes' RETURNING key";

/// Stores the vectors that were claimed and not erased meanwhile.
const KEEP: &str = "UPDATE vector v SET bytes = made.bytes FROM unnest($3, $4) AS made (key, bytes) \
     WHERE v.workspace = $1 AND v.model = $2 AND v.key = made.key AND v.bytes IS NULL";

/// A damaged vector is claimed like a missing one.
const DISCARD: &str = "DELETE FROM vector WHERE workspace = $1 AND model = $2 AND key = ANY($3)";

const TIDY: &str = "WITH others AS (DELETE FROM vector WHERE workspace = $1 AND model <> $2 \
     AND claimed < now() - interval '30 days') \
     DELETE FROM vector v WHERE workspace = $1 AND model = $2 AND claimed < now() - interval '1 day' \
     AND NOT EXISTS (SELECT FROM unnest($3) AS wanted WHERE wanted = v.key)";

impl SharedVectors for Rows {
    fn fetch_or_claim(&self, model: &str, keys: &[VectorKey]) -> io::Result<SharedAnswer> {
        let mut answer = SharedAnswer::default();
        for some in keys.chunks(AT_ONCE) {
            let values = |keys: Vec<Vec<u8>>| [Value::from(model), Value::ManyBytes(keys)];
            let mut missing: HashSet<VectorKey> = some.iter().copied().collect();
            let mut damaged = Vec::new();
            for row in ask(self, MADE, values(bytes_of_all(some)))? {
                let (key, bytes): (Vec<u8>, &[u8]) = (row.get(0), row.get(1));
                match key_in(&key).and_then(|key| entry_in(key, bytes)) {
                    Some(entry) => {
                        missing.remove(&entry.key);
                        answer.made.push(entry);
                    }
                    None => damaged.push(key),
                }
            }
            if !damaged.is_empty() {
                ask(self, DISCARD, values(damaged))?;
            }
            if !missing.is_empty() {
                let missing: Vec<VectorKey> = missing.into_iter().collect();
                let claimed = ask(self, CLAIM, values(bytes_of_all(&missing)))?;
                let keys = claimed.iter().filter_map(|row| key_in(row.get(0)));
                answer.claimed.extend(keys);
            }
        }
        Ok(answer)
    }

    fn keep(&self, model: &str, entries: &[VectorEntry]) -> io::Result<()> {
        for some in entries.chunks(AT_ONCE) {
            let keys: Vec<VectorKey> = some.iter().map(|entry| entry.key).collect();
            let values = [
                Value::from(model),
                Value::ManyBytes(bytes_of_all(&keys)),
                Value::ManyBytes(some.iter().map(bytes_of).collect()),
            ];
            ask(self, KEEP, values)?;
        }
        Ok(())
    }

    fn tidy(&self, model: &str, wanted: &HashSet<VectorKey>) -> io::Result<()> {
        let wanted: Vec<VectorKey> = wanted.iter().copied().collect();
        let values = [Value::from(model), Value::ManyBytes(bytes_of_all(&wanted))];
        ask(self, TIDY, values).map(drop)
    }
}

fn bytes_of_all(keys: &[VectorKey]) -> Vec<Vec<u8>> {
    keys.iter().map(|key| key.to_be_bytes().to_vec()).collect()
}

fn key_in(bytes: &[u8]) -> Option<VectorKey> {
    bytes.try_into().ok().map(VectorKey::from_be_bytes)
}

/// Returns an entry as it is kept: the number of pieces, their length, their numbers, all little-endian in 4 bytes; then
/// the codes of the tokens.
fn bytes_of(entry: &VectorEntry) -> Vec<u8> {
    let length = entry.pieces.first().map_or(0, Vec::len);
    let sizes = [entry.pieces.len() as u32, length as u32];
    let mut bytes: Vec<u8> = sizes.iter().flat_map(|size| size.to_le_bytes()).collect();
    let numbers = entry.pieces.iter().flatten();
    bytes.extend(numbers.flat_map(|number| number.to_le_bytes()));
    bytes.extend(&entry.tokens);
    bytes
}

/// Returns the entry in `bytes`; `None` if they are damaged.
fn entry_in(key: VectorKey, bytes: &[u8]) -> Option<VectorEntry> {
    let (sizes, rest) = bytes.split_first_chunk::<8>()?;
    let size = |at: usize| {
        let four: [u8; 4] = sizes[at..at + 4].try_into().ok()?;
        usize::try_from(u32::from_le_bytes(four)).ok()
    };
    let (count, length) = (size(0)?, size(4)?);
    let (numbers, tokens) = rest.split_at_checked(count.checked_mul(length)?.checked_mul(4)?)?;
    let (numbers, _) = numbers.as_chunks::<4>();
    let numbers: Vec<f32> = numbers
        .iter()
        .map(|four| f32::from_le_bytes(*four))
        .collect();
    let is_whole = numbers.iter().all(|number| number.is_finite());
    let pieces = match length {
        0 if count > 0 => return None,
        0 => Vec::new(),
        length => numbers.chunks(length).map(<[f32]>::to_vec).collect(),
    };
    is_whole.then(|| VectorEntry {
        key,
        pieces,
        tokens: tokens.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_as_it_was_written_and_a_damaged_one_is_not() {
        let entry = |pieces: &[&[f32]], tokens: &[u8]| VectorEntry {
            key: 7,
            pieces: pieces.iter().map(|piece| piece.to_vec()).collect(),
            tokens: tokens.to_vec(),
        };
        let two = entry(&[&[0.6, 0.8], &[1.0, -0.0]], &[1, 2, 3]);
        for entry in [&two, &entry(&[], &[]), &entry(&[&[1.0]], &[])] {
            assert_eq!(entry_in(7, &bytes_of(entry)).as_ref(), Some(entry));
        }
        let bytes = bytes_of(&two);
        for length in 0..24 {
            assert_eq!(entry_in(7, &bytes[..length]), None, "{length}");
        }
        let mut infinite = bytes.clone();
        infinite[8..12].copy_from_slice(&f32::INFINITY.to_le_bytes());
        assert_eq!(entry_in(7, &infinite), None);
        let mut endless = bytes;
        endless[..8].fill(0xff);
        assert_eq!(entry_in(7, &endless), None);
    }
}

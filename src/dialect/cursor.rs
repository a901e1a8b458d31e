//! Cursors: opaque texts with which clients request the next page of a list.
//!
//! A cursor holds the last shown position, so that memories which are added or removed meanwhile make no
//! page skip or repeat anything, and a checksum of its list. It is no secret, and the server stores
//! nothing for it.

use chrono::DateTime;

use super::reply::ToolError;
use crate::model::Position;

/// First byte: the version of the format.
const VERSION: u8 = 1;
/// Length of the version, the checksum and the moment, in bytes.
const HEAD: usize = 1 + 8 + 8;

/// Returns the cursor after `position` in the list that `list` describes: its kind and its filters.
pub(super) fn written(list: &str, position: &Position) -> String {
    let place = place_of(position);
    let sum = sum(list, &place).to_be_bytes();
    let bytes = [&[VERSION][..], &sum, &place].concat();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads the position in `cursor`, if it was made for this list.
///
/// # Errors
///
/// Fails if it was not.
pub(super) fn read(list: &str, cursor: &str) -> Result<Position, ToolError> {
    let position = bytes_of(cursor).and_then(|bytes| position_in(list, &bytes));
    position.ok_or_else(|| {
        ToolError::refused(
            "`cursor` is not of this list with these filters: send it as it was given, or begin without one",
        )
    })
}

fn place_of(position: &Position) -> Vec<u8> {
    let moment = position.at.timestamp_micros().to_be_bytes();
    [&moment[..], position.name.as_bytes()].concat()
}

fn position_in(list: &str, bytes: &[u8]) -> Option<Position> {
    let [VERSION, rest @ ..] = bytes else {
        return None;
    };
    let (known, place) = rest.split_first_chunk::<8>()?;
    if u64::from_be_bytes(*known) != sum(list, place) {
        return None;
    }
    let (moment, name) = place.split_first_chunk::<8>()?;
    Some(Position {
        at: DateTime::from_timestamp_micros(i64::from_be_bytes(*moment))?,
        name: std::str::from_utf8(name).ok()?.to_owned(),
    })
}

fn bytes_of(cursor: &str) -> Option<Vec<u8>> {
    let digits = cursor.trim().as_bytes();
    if !digits.len().is_multiple_of(2) || digits.len() < 2 * HEAD {
        return None;
    }
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let byte = |pair: &[u8]| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8);
    digits.chunks_exact(2).map(byte).collect()
}

/// Returns the FNV-1a checksum, which is the same in every build: cursors stay valid after an update.
fn sum(list: &str, place: &[u8]) -> u64 {
    let bytes = list.as_bytes().iter().chain(&[0]).chain(place);
    bytes.fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn position(micros: i64, name: &str) -> Position {
        Position {
            at: DateTime::from_timestamp_micros(micros).unwrap(),
            name: name.to_owned(),
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_and_every_other_text_is_refused(
            list in ".{0,20}",
            other in ".{0,20}",
            name in "[a-z0-9_/ü]{0,40}",
            micros in -1_000_000_000_000_000_i64..4_000_000_000_000_000,
            place in 0..100_usize,
            garbage in ".{0,80}",
        ) {
            let position = position(micros, &name);
            let cursor = written(&list, &position);
            prop_assert!(cursor.bytes().all(|digit| digit.is_ascii_alphanumeric()));
            prop_assert_eq!(read(&list, &cursor).unwrap(), position);
            if other != list {
                prop_assert!(read(&other, &cursor).is_err());
            }
            let mut broken = cursor.into_bytes();
            let place = place % broken.len();
            broken[place] = if broken[place] == b'0' { b'1' } else { b'0' };
            prop_assert!(read(&list, std::str::from_utf8(&broken).unwrap()).is_err());
            prop_assert!(read(&list, &garbage).is_err());
        }
    }

    #[test]
    fn a_cursor_stays_as_it_is_written() {
        let cursor = written("memories", &position(1_767_225_600_000_000, "a.md"));
        // Computed by hand: a program of another build has to read it.
        assert_eq!(cursor, "01824fd90724e527730006474846204000612e6d64");
    }
}

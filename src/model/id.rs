//! Names of memories: the stem of the file, and the eight hex digits at its end.

use std::fmt;

use chrono::{DateTime, NaiveDate, Utc};

/// Eight lower-case hex digits: the short handle of a memory, what agents pass around.
///
/// Two memories may share a handle (1 % of stores with 10,000 memories); their stems differ.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle([u8; 8]);

impl Handle {
    /// Draws a random handle that no YAML reader takes for a number.
    ///
    /// One in ten random ids is drawn again, because `12345678` and `1234e567` are numbers to
    /// some reader; an id holding one of `a c d f` is a number to none.
    pub fn draw() -> Handle {
        loop {
            let hex = uuid::Uuid::new_v4().simple().to_string();
            let handle = Handle::parse(&hex[..8]).expect("a UUID is written in hex digits");
            if handle.as_str().contains(['a', 'c', 'd', 'f']) {
                return handle;
            }
        }
    }

    /// Reads exactly eight lower-case hex digits.
    pub fn parse(text: &str) -> Option<Handle> {
        let bytes: [u8; 8] = text.as_bytes().try_into().ok()?;
        bytes
            .iter()
            .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
            .then_some(Handle(bytes))
    }

    /// Returns the digits as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("hex digits are ASCII")
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The identity of a memory: its file name without `.md`.
///
/// The program's own are `YYYYMMDD_HHMMSS_<8 hex>` in UTC ([`Stem::is_canonical`]); a file that
/// somebody else named keeps its name and is found by it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Stem(String);

impl Stem {
    /// Returns the stem for a memory made at `time` with `handle`.
    pub fn new(time: DateTime<Utc>, handle: Handle) -> Stem {
        Stem(format!("{}_{handle}", time.format("%Y%m%d_%H%M%S")))
    }

    /// Takes a file name's stem as it is found.
    pub fn from_file_name(stem: &str) -> Stem {
        Stem(stem.to_owned())
    }

    /// Reads a canonical stem; `None` for every other text.
    pub fn parse(text: &str) -> Option<Stem> {
        canonical_parts(text).map(|_| Stem(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_canonical(&self) -> bool {
        canonical_parts(&self.0).is_some()
    }

    /// Returns whether the archive keeps a text under this name that a memory had before.
    pub fn is_of_replaced_text(&self) -> bool {
        self.replaced_of().is_some()
    }

    /// Returns the stem of the memory whose former text the archive keeps under this name:
    /// `STEM.replaced-<16 hex>`.
    pub fn replaced_of(&self) -> Option<&str> {
        let (of, hash) = self.0.rsplit_once(".replaced-")?;
        let is_hash = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then_some(of)
    }

    /// Returns whether it is that of one memory in every folder: canonical, or of a former text of such a memory.
    pub fn is_of_one_memory(&self) -> bool {
        self.is_canonical()
            || self
                .replaced_of()
                .is_some_and(|of| canonical_parts(of).is_some())
    }

    /// Returns the eight hex digits, if the stem is canonical.
    pub fn handle(&self) -> Option<Handle> {
        canonical_parts(&self.0).map(|(_, handle)| handle)
    }

    /// Returns the second in UTC that the name states, if the stem is canonical.
    pub fn time(&self) -> Option<DateTime<Utc>> {
        canonical_parts(&self.0).map(|(time, _)| time)
    }

    /// Returns the id that people and agents are shown: the handle, or the whole stem of a foreign
    /// name.
    pub fn short(&self) -> &str {
        if self.is_canonical() {
            &self.0[16..]
        } else {
            &self.0
        }
    }
}

impl fmt::Display for Stem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads `YYYYMMDD_HHMMSS_<8 hex>` with a real date and time.
fn canonical_parts(text: &str) -> Option<(DateTime<Utc>, Handle)> {
    let bytes = text.as_bytes();
    if bytes.len() != 24 || bytes[8] != b'_' || bytes[15] != b'_' {
        return None;
    }
    let handle = Handle::parse(text.get(16..)?)?;
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0_u32, |sum, digit| {
            digit
                .is_ascii_digit()
                .then(|| sum * 10 + u32::from(digit - b'0'))
        })
    };
    let (year, month, day) = (
        number(&bytes[..4])?,
        number(&bytes[4..6])?,
        number(&bytes[6..8])?,
    );
    let (hour, minute, second) = (
        number(&bytes[9..11])?,
        number(&bytes[11..13])?,
        number(&bytes[13..15])?,
    );
    let date = NaiveDate::from_ymd_opt(year.try_into().ok()?, month, day)?;
    Some((date.and_hms_opt(hour, minute, second)?.and_utc(), handle))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_handle_is_no_number_to_any_yaml_reader() {
        assert!((0..10_000).all(|_| Handle::draw().as_str().contains(['a', 'c', 'd', 'f'])));
    }

    #[test]
    fn only_real_dates_with_eight_lower_case_digits_are_canonical() {
        assert!(Stem::parse("20260114_091500_1f3a9c02").is_some());
        assert!(Stem::parse("20260114_091500_12345678").is_some());
        for foreign in [
            "20261314_091500_1f3a9c02",
            "20260114_256000_1f3a9c02",
            "20260114_091500_1F3A9C02",
            "20260114_091500_1f3a9c0",
            "20260114-091500-1f3a9c02",
            "../etc/passwd",
            "2026011４_091500_1f3a9c02",
            "notes",
            "",
        ] {
            assert!(Stem::parse(foreign).is_none(), "{foreign}");
        }
    }

    #[test]
    fn a_million_stems_of_one_day_do_not_collide_although_their_handles_do() {
        // Handles alone do (50 % at 77,163); the second in the name keeps them apart.
        let day = DateTime::parse_from_rfc3339("2026-01-14T00:00:00Z")
            .unwrap()
            .to_utc();
        let mut stems: Vec<String> = (0..1_000_000)
            .map(|i| Stem::new(day + chrono::Duration::seconds(i % 86_400), Handle::draw()).0)
            .collect();
        stems.sort_unstable();
        stems.dedup();
        // Twelve writes a second for a day: the expected number of collisions is 0.002.
        assert!(stems.len() >= 999_999, "{} distinct stems", stems.len());
        let mut handles: Vec<&str> = stems.iter().map(|stem| &stem[16..]).collect();
        handles.sort_unstable();
        handles.dedup();
        assert!(handles.len() < 999_999, "{} handles", handles.len());
    }
}

//! JSON records of a stream, one at a time: lines, or the elements of an array.
//!
//! No record is held as text: a value is made of it while it is read, and strings are cut at
//! [`MAX_STRING_BYTES`], so that a line of 100 MB costs no more memory than its values. After a damaged
//! record, reading goes on at the next one: with lines at the next line, in an array where a record begins
//! with the key that the first one began with.

use std::io::{BufRead, Read};
use std::{io, mem};

use serde::de::DeserializeOwned;
use serde_json::error::Category;

/// Maximum size of one string of a record; the rest of a longer one is left out.
pub const MAX_STRING_BYTES: usize = 1 << 20;

/// Bytes of the input that are looked through at once.
const CHUNK: usize = 16 << 10;

/// Maximum size of a key by which the next record is found after a damaged one.
const MAX_KEY_BYTES: usize = 64;

/// Arrangement of the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// One record a line.
    Lines,
    /// Elements of an array, or objects in a row.
    Objects,
}

/// A record that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BadRecord {
    /// Its place in the file, such as `line 12`.
    pub place: String,
    /// Reason in words.
    pub reason: String,
}

/// Reader of the records of a stream.
pub(super) struct Records<R> {
    input: Input<R>,
    shape: Shape,
    /// Number of the record, or of the line, that was read last.
    number: usize,
    /// First key of the first record, with its quotes.
    first_key: Vec<u8>,
    /// Whether the record follows a damaged one, and may be a part of it.
    is_after_damage: bool,
}

impl<R: Read> Records<R> {
    /// Returns the records of `input`. An array, or an object over several lines, is read as such.
    ///
    /// # Errors
    ///
    /// Fails if the beginning cannot be read.
    pub fn new(input: R) -> io::Result<Records<R>> {
        let mut input = Input::new(input);
        let mut shape = Shape::Lines;
        while let Some(byte) = input.peek()? {
            match byte {
                b'[' => shape = Shape::Objects,
                b'{' if input.first_line_is_open()? => shape = Shape::Objects,
                byte if byte.is_ascii_whitespace() || !byte.is_ascii() => {
                    input.take_byte();
                    continue;
                }
                _ => {}
            }
            break;
        }
        Ok(Records {
            input,
            shape,
            number: 0,
            first_key: Vec::new(),
            is_after_damage: false,
        })
    }

    /// Returns the place of the record that was read last.
    pub fn place(&self) -> String {
        match self.shape {
            Shape::Lines => format!("line {}", self.number),
            Shape::Objects => format!("record {}", self.number),
        }
    }

    /// Returns whether the last record may be a part of a damaged one.
    pub fn is_after_damage(&self) -> bool {
        self.is_after_damage
    }

    /// Returns the number of bytes that were read.
    pub fn bytes(&self) -> u64 {
        self.input.bytes
    }

    /// Reads the next record; `None` at the end.
    ///
    /// # Errors
    ///
    /// [`BadRecord`] if the record is damaged, or the input cannot be read; the next call goes on behind it.
    pub fn next<T: DeserializeOwned>(&mut self) -> Option<Result<T, BadRecord>> {
        match self.go_to_record() {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some(Err(self.broken_off(&error))),
        }
        let mut record = Record::new(&mut self.input, self.shape);
        let mut json = serde_json::Deserializer::from_reader(&mut record);
        let value = T::deserialize(&mut json);
        let value = match (value, self.shape) {
            (Ok(value), Shape::Lines) => json.end().map(|()| value),
            (value, _) => value,
        };
        drop(json);
        match value {
            Ok(value) => match record.skip() {
                Ok(()) => Some(Ok(value)),
                Err(error) => Some(Err(self.broken_off(&error))),
            },
            Err(error) if error.is_io() => {
                Some(Err(self.broken_off(&io::Error::other(error.to_string()))))
            }
            Err(error) => {
                let reason = in_words(&error);
                let skipped = match self.shape {
                    Shape::Lines => record.skip(),
                    // What follows may be more than the rest of the record: brackets may be missing.
                    Shape::Objects => {
                        let unread = record.into_unread(self.first_key.len());
                        self.input.put_back(&unread);
                        self.is_after_damage = true;
                        self.go_to_first_key()
                    }
                };
                let bad = BadRecord {
                    place: self.place(),
                    reason,
                };
                if let Err(error) = skipped {
                    return Some(Err(self.broken_off(&error)));
                }
                Some(Err(bad))
            }
        }
    }

    /// Notes that the last record was a whole one.
    pub fn note_whole(&mut self) {
        self.is_after_damage = false;
    }

    /// Notes that the last record was a part of a damaged one, which does not count.
    pub fn note_fragment(&mut self) {
        self.number = self.number.saturating_sub(1);
    }

    /// Returns the error of an input that cannot be read any further.
    fn broken_off(&mut self, error: &io::Error) -> BadRecord {
        self.input.is_over = true;
        self.input.clear();
        BadRecord {
            place: format!("behind {}", self.place()),
            reason: format!("it cannot be read: {error}"),
        }
    }

    /// Goes to the first byte of the next record; returns whether there is one.
    fn go_to_record(&mut self) -> io::Result<bool> {
        if self.shape == Shape::Lines && self.number == 0 {
            self.number = 1;
        } else if self.shape == Shape::Lines {
            self.number += 1;
        }
        while let Some(byte) = self.input.peek()? {
            match (self.shape, byte) {
                (Shape::Lines, b'\n') => self.number += 1,
                (Shape::Lines, byte) if byte.is_ascii_whitespace() => {}
                (Shape::Lines, _) | (_, b'{') => {
                    if self.shape == Shape::Objects {
                        self.number += 1;
                        if self.number == 1 {
                            self.first_key = self.input.first_key()?;
                        }
                    }
                    return Ok(true);
                }
                _ => {}
            }
            self.input.take_byte();
        }
        Ok(false)
    }

    /// Goes to where a record may begin: before the key that the first one began with.
    fn go_to_first_key(&mut self) -> io::Result<()> {
        if self.first_key.is_empty() {
            return Ok(());
        }
        let mut matched = 0;
        while let Some(byte) = self.input.peek()? {
            self.input.take_byte();
            matched = match byte {
                byte if byte == self.first_key[matched] => matched + 1,
                byte if byte == self.first_key[0] => 1,
                _ => 0,
            };
            if matched == self.first_key.len() {
                let again = [b"{", self.first_key.as_slice()].concat();
                self.input.put_back(&again);
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Returns a reason without the line and column within the record, which say nothing to a reader.
fn in_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    match error.classify() {
        Category::Eof => "it is cut off".to_owned(),
        _ => text[..end].to_owned(),
    }
}

/// Bytes of a stream, of which some can be put back.
struct Input<R> {
    from: R,
    buffer: Vec<u8>,
    at: usize,
    bytes: u64,
    is_over: bool,
}

impl<R: Read> Input<R> {
    fn new(from: R) -> Input<R> {
        Input {
            from,
            buffer: Vec::new(),
            at: 0,
            bytes: 0,
            is_over: false,
        }
    }

    /// Returns the bytes that were read and not taken; reads more if there are none. Empty at the end.
    fn chunk(&mut self) -> io::Result<&[u8]> {
        if self.at == self.buffer.len() && !self.is_over {
            self.read_more()?;
        }
        Ok(&self.buffer[self.at..])
    }

    fn read_more(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.at);
        self.at = 0;
        let known = self.buffer.len();
        self.buffer.resize(known + CHUNK, 0);
        let read = loop {
            match self.from.read(&mut self.buffer[known..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        let read = match read {
            Ok(read) => read,
            Err(error) => {
                self.buffer.truncate(known);
                return Err(error);
            }
        };
        self.buffer.truncate(known + read);
        self.bytes += read as u64;
        self.is_over = read == 0;
        Ok(())
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        Ok(self.chunk()?.first().copied())
    }

    fn take_byte(&mut self) {
        self.at += 1;
    }

    fn put_back(&mut self, bytes: &[u8]) {
        let mut buffer = bytes.to_vec();
        buffer.extend_from_slice(&self.buffer[self.at..]);
        self.buffer = buffer;
        self.at = 0;
    }

    fn clear(&mut self) {
        self.buffer.clear();
        self.at = 0;
    }

    /// Returns whether the line ends behind its `{`, as in an object over several lines.
    fn first_line_is_open(&mut self) -> io::Result<bool> {
        let mut next = 1;
        loop {
            match self.look_ahead(next)? {
                Some(b'\n') => return Ok(true),
                Some(byte) if byte.is_ascii_whitespace() => next += 1,
                _ => return Ok(false),
            }
        }
    }

    /// Returns the first key of the object that begins here, with its quotes; empty if it has none.
    fn first_key(&mut self) -> io::Result<Vec<u8>> {
        let mut next = 1;
        while self
            .look_ahead(next)?
            .is_some_and(|byte| byte.is_ascii_whitespace())
        {
            next += 1;
        }
        let mut key = Vec::new();
        while let Some(byte) = self.look_ahead(next)?
            && key.len() < MAX_KEY_BYTES
            && (byte == b'"') == key.is_empty()
        {
            key.push(byte);
            next += 1;
        }
        let is_whole = self.look_ahead(next)? == Some(b'"') && !key.is_empty();
        key.push(b'"');
        Ok(if is_whole { key } else { Vec::new() })
    }

    /// Returns the byte `ahead` of the next one, without taking any.
    fn look_ahead(&mut self, ahead: usize) -> io::Result<Option<u8>> {
        while self.at + ahead >= self.buffer.len() && !self.is_over {
            self.read_more()?;
        }
        Ok(self.buffer.get(self.at + ahead).copied())
    }
}

/// Bytes of one record: up to the end of its line, or to the bracket that closes it. Long strings are
/// cut, and halves of surrogate pairs replaced, which no text can hold.
struct Record<'a, R> {
    input: &'a mut Input<R>,
    shape: Shape,
    ready: Vec<u8>,
    at: usize,
    depth: usize,
    string: Option<OpenString>,
    is_over: bool,
    /// Last bytes that were read.
    tail: Vec<u8>,
    /// Number of bytes that were read.
    count: usize,
}

/// A string whose end was not read yet.
#[derive(Default)]
struct OpenString {
    bytes: usize,
    /// An escape whose end was not read yet.
    escape: Vec<u8>,
    /// The first half of a surrogate pair.
    half: Option<[u8; 6]>,
}

/// Escape in the place of half a surrogate pair.
const REPLACEMENT: &[u8] = b"\\ufffd";

impl OpenString {
    /// Takes the bytes up to the next that means something, if they are far from the limit; returns their
    /// number.
    fn take_plain(&mut self, bytes: &[u8]) -> usize {
        let is_amid = !self.escape.is_empty() || self.half.is_some();
        if is_amid || self.bytes + bytes.len() >= MAX_STRING_BYTES {
            return 0;
        }
        let plain = memchr::memchr3(b'"', b'\\', b'\n', bytes).unwrap_or(bytes.len());
        self.bytes += plain;
        plain
    }

    /// Adds a byte of the string to `out`; returns whether the string is over.
    fn take(&mut self, byte: u8, out: &mut Vec<u8>) -> bool {
        if !self.escape.is_empty() {
            self.escape.push(byte);
            let is_whole = match self.escape[1] {
                b'u' => self.escape.len() == 6,
                _ => true,
            };
            if is_whole {
                self.end_escape(out);
            }
            return false;
        }
        match byte {
            b'\\' => self.escape.push(byte),
            b'"' => {
                self.end_half(out);
                out.push(byte);
                return true;
            }
            byte => {
                self.end_half(out);
                // Cut only between characters.
                let is_cut = self.bytes >= MAX_STRING_BYTES;
                if !is_cut || (byte & 0xc0 == 0x80 && self.bytes < MAX_STRING_BYTES + 4) {
                    out.push(byte);
                }
                self.bytes += 1;
                if is_cut && byte & 0xc0 != 0x80 {
                    self.bytes = self.bytes.max(MAX_STRING_BYTES + 4);
                }
            }
        }
        false
    }

    fn end_escape(&mut self, out: &mut Vec<u8>) {
        let escape = mem::take(&mut self.escape);
        let code = std::str::from_utf8(&escape[2..]).ok();
        let code = code.and_then(|hex| u16::from_str_radix(hex, 16).ok());
        let is_cut = self.bytes >= MAX_STRING_BYTES;
        self.bytes += escape.len();
        match (code.filter(|_| escape.len() == 6), self.half.take()) {
            (Some(0xdc00..=0xdfff), Some(half)) => {
                if !is_cut {
                    out.extend_from_slice(&half);
                    out.extend_from_slice(&escape);
                }
            }
            (code, half) => {
                if half.is_some() && !is_cut {
                    out.extend_from_slice(REPLACEMENT);
                }
                match code {
                    Some(0xd800..=0xdbff) => self.half = escape.try_into().ok(),
                    Some(0xdc00..=0xdfff) if !is_cut => out.extend_from_slice(REPLACEMENT),
                    _ if !is_cut => out.extend_from_slice(&escape),
                    _ => {}
                }
            }
        }
    }

    fn end_half(&mut self, out: &mut Vec<u8>) {
        if self.half.take().is_some() && self.bytes <= MAX_STRING_BYTES {
            out.extend_from_slice(REPLACEMENT);
        }
    }
}

impl<'a, R: Read> Record<'a, R> {
    fn new(input: &'a mut Input<R>, shape: Shape) -> Record<'a, R> {
        Record {
            input,
            shape,
            ready: Vec::new(),
            at: 0,
            depth: 0,
            string: None,
            is_over: false,
            tail: Vec::new(),
            count: 0,
        }
    }

    /// Reads to the end of the record.
    fn skip(&mut self) -> io::Result<()> {
        while !self.is_over {
            self.read_more()?;
        }
        Ok(())
    }

    /// Returns what was taken from the input and not read, and up to `back` bytes before it, but not the
    /// beginning of the record: an open string may have swallowed the beginning of the next one.
    fn into_unread(mut self, back: usize) -> Vec<u8> {
        let unread = self.ready.split_off(self.at);
        self.keep_tail();
        let back = back
            .min(self.count.saturating_sub(back + 1))
            .min(self.tail.len());
        let mut bytes = self.tail.split_off(self.tail.len() - back);
        bytes.extend_from_slice(&unread);
        bytes
    }

    /// Adds the ready bytes, which were read, to the tail.
    fn keep_tail(&mut self) {
        self.count += self.ready.len();
        self.tail.append(&mut self.ready);
        let long = self.tail.len().saturating_sub(MAX_KEY_BYTES + 2);
        self.tail.drain(..long);
    }

    /// Makes the next bytes of the record ready.
    fn read_more(&mut self) -> io::Result<()> {
        self.keep_tail();
        self.at = 0;
        let chunk = self.input.chunk()?;
        if chunk.is_empty() {
            self.is_over = true;
            return Ok(());
        }
        let mut taken = 0;
        while let Some(&byte) = chunk.get(taken) {
            if let Some(string) = &mut self.string {
                let plain = string.take_plain(&chunk[taken..]);
                if plain > 0 {
                    self.ready.extend_from_slice(&chunk[taken..taken + plain]);
                    taken += plain;
                    continue;
                }
            }
            taken += 1;
            if byte == b'\n' {
                // A string holds none: an open one is damaged.
                self.string = None;
                if self.shape == Shape::Lines {
                    self.is_over = true;
                    break;
                }
            }
            if let Some(string) = &mut self.string {
                if string.take(byte, &mut self.ready) {
                    self.string = None;
                }
                continue;
            }
            self.ready.push(byte);
            match byte {
                b'"' => self.string = Some(OpenString::default()),
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 && self.shape == Shape::Objects {
                        self.is_over = true;
                        break;
                    }
                }
                _ => {}
            }
        }
        self.input.at += taken;
        Ok(())
    }
}

impl<R: Read> Read for Record<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let ready = self.fill_buf()?;
        let count = ready.len().min(out.len());
        out[..count].copy_from_slice(&ready[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl<R: Read> BufRead for Record<'_, R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.at == self.ready.len() && !self.is_over {
            self.read_more()?;
        }
        Ok(&self.ready[self.at..])
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Gives one byte at a time, as a slow source may.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(out.len()).min(1);
            out[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn read(text: &str) -> Vec<String> {
        let quick = read_from(text.as_bytes());
        assert_eq!(read_from(Slow(text.as_bytes())), quick);
        quick
    }

    fn read_from(input: impl Read) -> Vec<String> {
        let mut records = Records::new(input).unwrap();
        let mut all = Vec::new();
        while let Some(record) = records.next::<Value>() {
            all.push(match record {
                Ok(value) => value.to_string(),
                Err(bad) => format!("{}: {}", bad.place, bad.reason),
            });
        }
        all
    }

    #[test]
    fn arrays_lines_and_single_objects_are_read() {
        let both = [r#"{"a":"}]"}"#, r#"{"a":[{"b":2}]}"#];
        assert_eq!(read("[{\"a\":\"}]\"},\n {\"a\":[{\"b\":2}]}\n]"), both);
        assert_eq!(read("{\"a\":\"}]\"}\n\n{\"a\":[{\"b\":2}]}"), both);
        assert_eq!(read("{\n \"a\": \"}]\"\n}"), both[..1]);
        assert_eq!(read("\u{feff}[{\"a\":\"}]\"}]"), both[..1]);
        assert!(read("").is_empty() && read("[]").is_empty());
    }

    #[test]
    fn a_damaged_line_is_named_and_the_next_one_read() {
        let read = read("{\"a\":1}\n{\"a\":\"open\n{\"a\":3}\nnothing\n{\"a\":5}x\n{\"a\":6");
        assert_eq!(read[0], r#"{"a":1}"#);
        assert!(read[1].starts_with("line 2: "), "{read:?}");
        assert_eq!(read[2], r#"{"a":3}"#);
        assert!(read[3].starts_with("line 4: "), "{read:?}");
        assert!(read[4].starts_with("line 5: "), "{read:?}");
        assert_eq!(read[5], "line 6: it is cut off");
        assert_eq!(read.len(), 6);
    }

    #[test]
    fn after_a_damaged_element_the_next_ones_are_read() {
        for damage in [
            r#"{"id":2,"t":"a "quote" inside"}"#,
            r#"{"id":2,"t":{"x":1}"#,
            r#"{"id":2,"t":nul}"#,
            r#"{"id":2,,"t":1}"#,
            r#"{"id":2"t":1}}}}}]"#,
            r#"{"id":2,"t":"open"#,
            r#"{"id"2"#,
            r#"{"id"   2"#,
        ] {
            let read = read(&format!(
                "[{{\"id\":1}},{damage},{{\"id\":3}},{{\"id\":4}}]"
            ));
            assert_eq!(read[0], r#"{"id":1}"#, "{damage}");
            assert!(read[1].starts_with("record 2: "), "{damage}: {read:?}");
            assert!(
                read.ends_with(&[r#"{"id":3}"#.into(), r#"{"id":4}"#.into()]),
                "{read:?}"
            );
        }
    }

    #[test]
    fn long_strings_are_cut_between_characters() {
        for unit in ["é", "\\n", "\\ud83d\\ude00", "x"] {
            let long = unit.repeat(MAX_STRING_BYTES / unit.len() + 999);
            let read = read_from(format!("{{\"a\":\"{long}\",\"b\":1}}").as_bytes());
            let value: Value = serde_json::from_str(&read[0]).unwrap();
            let text = value["a"].as_str().unwrap();
            assert!(text.len() <= MAX_STRING_BYTES + 4 && text.len() > MAX_STRING_BYTES / 12);
            assert_eq!(value["b"], 1);
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_replaced() {
        assert_eq!(
            read(r#"["x",{"a":"\ud83d"},{"a":"\ude00!"},{"a":"\ud83dA\ud83d\ude00"}]"#),
            [
                "{\"a\":\"\u{fffd}\"}",
                "{\"a\":\"\u{fffd}!\"}",
                "{\"a\":\"\u{fffd}A😀\"}",
            ]
        );
    }
}

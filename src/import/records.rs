//! Cuts a JSON input into the objects in it, without reading it whole.
//!
//! An object is on a line of its own, in a list, in the list `memories` of one object, or in several
//! lists of one object, in any order. One record is in memory at a time; one that is too long is skipped
//! with a fault.

use std::io;
use std::io::BufRead;

/// Maximum size of a record, in bytes: eight times the longest memory, for escaped characters.
pub(super) const MAX_RECORD_BYTES: usize = 8 * 1024 * 1024;

/// Reason why other sources refuse an export of Loci.
pub(super) const OF_LOCI: &str = "this looks like an export of Loci: use `--from loci`";

/// Form of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputForm {
    Lines,
    /// The elements of an array that is the whole input.
    List,
    /// The elements of an array in an object; the text after the array is ignored.
    WrappedList,
    /// Between the values of an object that has several lists.
    Object,
    /// The elements of one of them.
    ListOfObject,
    AfterList,
    EndReason,
}

impl InputForm {
    /// Detects the form by the first bytes, and returns the offset of the first line or element.
    pub fn of(head: &[u8]) -> (InputForm, usize) {
        let bom = if head.starts_with(b"\xef\xbb\xbf") {
            3
        } else {
            0
        };
        let start = skip_blanks(head, bom);
        match head.get(start) {
            Some(b'[') => {
                // A line that is no JSON may begin with a bracket, too.
                let inside = skip_blanks(head, start + 1);
                match head.get(inside) {
                    Some(b'{' | b']') => (InputForm::List, start + 1),
                    _ => (InputForm::Lines, bom),
                }
            }
            Some(b'{') => match wrapped_list(head, start, &["memories"]) {
                Some(inside) => (InputForm::WrappedList, inside),
                None => (InputForm::Lines, bom),
            },
            _ => (InputForm::Lines, bom),
        }
    }

    /// Detects as [`InputForm::of`], of an input that may be an object with the lists `names`.
    pub fn of_lists(head: &[u8], names: &[&str]) -> (InputForm, usize) {
        match InputForm::of(head) {
            (InputForm::Lines | InputForm::WrappedList, _) => {}
            list => return list,
        }
        let bom = usize::from(head.starts_with(b"\xef\xbb\xbf")) * 3;
        let start = skip_blanks(head, bom);
        let is_object = head.get(start) == Some(&b'{');
        match is_object && wrapped_list(head, start, names).is_some() {
            true => (InputForm::Object, start + 1),
            false => (InputForm::Lines, bom),
        }
    }
}

fn skip_blanks(bytes: &[u8], from: usize) -> usize {
    from + bytes[from..]
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace())
        .count()
}

/// Finds the first list with one of these names among the values of the object that begins at
/// `start`.
fn wrapped_list(head: &[u8], start: usize, names: &[&str]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = start;
    while at < head.len() {
        match head[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return None,
            b'}' | b']' => depth -= 1,
            b'"' => {
                let end = string_end(head, at)?;
                let colon = skip_blanks(head, end);
                let name = &head[at + 1..end - 1];
                let is_key = depth == 1 && head.get(colon) == Some(&b':');
                if is_key && names.iter().any(|known| known.as_bytes() == name) {
                    let open = skip_blanks(head, colon + 1);
                    if head.get(open) == Some(&b'[') {
                        return Some(open + 1);
                    }
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Returns the offset after the string that begins at `start`; JSON allows no line feed in it.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\n' => return None,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Bytes of one object, or the fault in its place.
pub(super) struct RawRecord {
    pub line: usize,
    /// Bytes of the object.
    pub bytes: Result<Vec<u8>, RecordFault>,
}

impl RawRecord {
    fn fault(line: usize, fault: RecordFault) -> RawRecord {
        RawRecord {
            line,
            bytes: Err(fault),
        }
    }
}

/// Fault of an input in place of an object.
pub(super) enum RecordFault {
    TooLong,
    ListNotClosed,
    ObjectNotClosed,
    NoKey,
    TextAfterList,
    /// A list of objects that the source does not have.
    UnknownList(String),
}

/// Reader of records, with one of them in memory at a time.
pub(super) struct RecordReader<R> {
    /// The input.
    pub input: R,
    /// Form of the input at this point.
    pub form: InputForm,
    pub line: usize,
    /// Names of the lists that are read of an object with several.
    pub names: &'static [&'static str],
    /// Name of the last record's list; the first name where there is only one list.
    pub list: &'static str,
}

impl<R: BufRead> RecordReader<R> {
    pub fn next(&mut self) -> io::Result<Option<RawRecord>> {
        match self.form {
            InputForm::Lines => self.next_line(),
            InputForm::List | InputForm::WrappedList | InputForm::ListOfObject => {
                self.next_element()
            }
            InputForm::Object => self.next_list(),
            InputForm::AfterList => self.after_list(),
            InputForm::EndReason => Ok(None),
        }
    }

    fn next_line(&mut self) -> io::Result<Option<RawRecord>> {
        loop {
            let mut line = Bounded::default();
            let mut is_end = true;
            loop {
                let chunk = self.input.fill_buf()?;
                if chunk.is_empty() {
                    break;
                }
                is_end = false;
                let newline = memchr::memchr(b'\n', chunk);
                let length = newline.map_or(chunk.len(), |at| at + 1);
                line.extend(&chunk[..length]);
                self.input.consume(length);
                if newline.is_some() {
                    break;
                }
            }
            if is_end {
                return Ok(None);
            }
            self.line += 1;
            if !line.is_blank {
                return Ok(Some(line.record(self.line - 1)));
            }
        }
    }

    fn next_element(&mut self) -> io::Result<Option<RawRecord>> {
        let mut element = Bounded::default();
        let mut first_line = self.line;
        let mut nesting = Nesting::default();
        loop {
            let Some(byte) = self.next_byte()? else {
                if nesting.is_outside() && !element.is_blank {
                    return Ok(Some(element.record(first_line)));
                }
                self.form = InputForm::EndReason;
                return Ok(Some(RawRecord::fault(
                    first_line,
                    RecordFault::ListNotClosed,
                )));
            };
            if nesting.is_outside() && matches!(byte, b',' | b']') {
                if byte == b']' {
                    self.form = match self.form {
                        InputForm::List => InputForm::AfterList,
                        InputForm::ListOfObject => InputForm::Object,
                        _ => InputForm::EndReason,
                    };
                }
                if !element.is_blank {
                    return Ok(Some(element.record(first_line)));
                }
                if byte == b']' {
                    return self.next();
                }
                continue;
            }
            if element.is_blank {
                first_line = self.line;
            }
            if byte == b'\n' {
                self.line += 1;
                if nesting.in_string {
                    // JSON allows no line feed in a string: its object is broken, and the next
                    // one may begin here.
                    return Ok(Some(element.record(first_line)));
                }
            }
            if !(element.is_blank && byte.is_ascii_whitespace()) {
                nesting.step(byte);
                element.extend(&[byte]);
            }
        }
    }

    /// Reads the first record of the next list; skips other values.
    fn next_list(&mut self) -> io::Result<Option<RawRecord>> {
        loop {
            match self.peek_byte()? {
                Some(b',') => drop(self.next_byte()?),
                Some(b'}') => {
                    self.next_byte()?;
                    return self.after_list();
                }
                Some(b'"') => {
                    let key = self.value()?;
                    if self.peek_byte()? != Some(b':') {
                        return Ok(self.broken(RecordFault::NoKey));
                    }
                    self.next_byte()?;
                    let mut names = self.names.iter();
                    let name = names.find(|name| key == format!("\"{name}\"").as_bytes());
                    match (name, self.peek_byte()?) {
                        (Some(name), Some(b'[')) => {
                            self.next_byte()?;
                            self.list = name;
                            self.form = InputForm::ListOfObject;
                            return self.next();
                        }
                        _ => {
                            let (line, value) = (self.line, self.value()?);
                            let inside = value.strip_prefix(b"[").unwrap_or_default();
                            if name.is_none() && inside.trim_ascii_start().starts_with(b"{") {
                                let name = String::from_utf8_lossy(&key).replace('"', "");
                                return Ok(Some(RawRecord::fault(
                                    line,
                                    RecordFault::UnknownList(name),
                                )));
                            }
                        }
                    }
                }
                Some(_) => return Ok(self.broken(RecordFault::NoKey)),
                None => return Ok(self.broken(RecordFault::ObjectNotClosed)),
            }
        }
    }

    /// Ends the input with a fault: the rest cannot be parsed.
    fn broken(&mut self, fault: RecordFault) -> Option<RawRecord> {
        self.form = InputForm::EndReason;
        Some(RawRecord::fault(self.line, fault))
    }

    /// Reads the value here, and returns at most 256 bytes of it.
    fn value(&mut self) -> io::Result<Vec<u8>> {
        const KEY_BYTES: usize = 256;
        let mut start = Vec::new();
        let mut nesting = Nesting::default();
        while let Some(byte) = self.input.fill_buf()?.first().copied() {
            let is_start = start.is_empty();
            if nesting.is_outside() && !is_start && matches!(byte, b':' | b',' | b'}') {
                break;
            }
            self.input.consume(1);
            self.line += usize::from(byte == b'\n');
            nesting.step(byte);
            let is_blank = nesting.is_outside() && byte.is_ascii_whitespace();
            if start.len() < KEY_BYTES && !is_blank {
                start.push(byte);
            }
        }
        Ok(start)
    }

    /// Returns the next byte that is no blank, without consuming it.
    fn peek_byte(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.input.fill_buf()?.first().copied() {
                Some(byte) if byte.is_ascii_whitespace() => {
                    self.input.consume(1);
                    self.line += usize::from(byte == b'\n');
                }
                other => return Ok(other),
            }
        }
    }

    fn after_list(&mut self) -> io::Result<Option<RawRecord>> {
        self.form = InputForm::EndReason;
        while let Some(byte) = self.next_byte()? {
            if !byte.is_ascii_whitespace() {
                return Ok(Some(RawRecord::fault(
                    self.line,
                    RecordFault::TextAfterList,
                )));
            }
            self.line += usize::from(byte == b'\n');
        }
        Ok(None)
    }

    fn next_byte(&mut self) -> io::Result<Option<u8>> {
        let byte = self.input.fill_buf()?.first().copied();
        self.input.consume(usize::from(byte.is_some()));
        Ok(byte)
    }
}

/// Bytes up to [`MAX_RECORD_BYTES`], and whether there were more.
struct Bounded {
    bytes: Vec<u8>,
    is_blank: bool,
    is_too_long: bool,
}

impl Default for Bounded {
    fn default() -> Bounded {
        Bounded {
            bytes: Vec::new(),
            is_blank: true,
            is_too_long: false,
        }
    }
}

impl Bounded {
    fn extend(&mut self, more: &[u8]) {
        self.is_blank = self.is_blank && more.iter().all(u8::is_ascii_whitespace);
        let room = MAX_RECORD_BYTES - self.bytes.len();
        self.is_too_long = self.is_too_long || more.len() > room;
        self.bytes.extend_from_slice(&more[..more.len().min(room)]);
    }

    fn record(self, line: usize) -> RawRecord {
        let bytes = if self.is_too_long {
            Err(RecordFault::TooLong)
        } else {
            Ok(self.bytes)
        };
        RawRecord { line, bytes }
    }
}

/// Parser state: open brackets and strings.
#[derive(Default)]
struct Nesting {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl Nesting {
    fn is_outside(&self) -> bool {
        self.depth == 0 && !self.in_string
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            let ends = byte == b'"' && !self.is_escaped;
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            self.in_string = !ends;
            return;
        }
        match byte {
            b'"' => (self.in_string, self.is_escaped) = (true, false),
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

impl RecordFault {
    /// Returns the message of the fault.
    pub fn what(&self) -> String {
        match self {
            RecordFault::TooLong => {
                format!("it has more than {MAX_RECORD_BYTES} bytes. Split the memory first.")
            }
            RecordFault::ListNotClosed => {
                "the list has no closing `]`. The file may have been cut off here.".to_owned()
            }
            RecordFault::ObjectNotClosed => {
                "the object has no closing `}`. The file may have been cut off here.".to_owned()
            }
            RecordFault::NoKey => {
                "here a key should stand; what follows was not read. Mend the JSON.".to_owned()
            }
            RecordFault::TextAfterList => "what follows the list was not read".to_owned(),
            // Loci is the one source that has both `memories` and `relations`.
            RecordFault::UnknownList(name) if name == "relations" => OF_LOCI.to_owned(),
            RecordFault::UnknownList(name) => {
                format!("this source has no list `{name}`. Use --from with the one it is from.")
            }
        }
    }
}

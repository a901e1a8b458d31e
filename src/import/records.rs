//! Cuts a JSON input into the objects in it, without reading it whole.
//!
//! An object stands on a line of its own, in a list, or in the list `memories` of one object. One
//! record is held at a time, and of a longer one than fits nothing but the fact.

use std::io;
use std::io::BufRead;

/// Eight times the longest memory: room for every character to be escaped.
pub(super) const MAX_RECORD_BYTES: usize = 8 * 1024 * 1024;

/// How the objects of an input are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Lines,
    /// The elements of an array that is the whole input.
    List,
    /// The elements of an array in an object; what follows the array is not looked at.
    WrappedList,
    AfterList,
    Ended,
}

impl Form {
    /// Tells the form by the first bytes, and where the first line or element begins.
    pub fn of(head: &[u8]) -> (Form, usize) {
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
                    Some(b'{' | b']') => (Form::List, start + 1),
                    _ => (Form::Lines, bom),
                }
            }
            Some(b'{') => match wrapped_list(head, start) {
                Some(inside) => (Form::WrappedList, inside),
                None => (Form::Lines, bom),
            },
            _ => (Form::Lines, bom),
        }
    }
}

fn skip_blanks(bytes: &[u8], from: usize) -> usize {
    from + bytes[from..]
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace())
        .count()
}

/// Finds `"memories": [` among the keys of the object that begins at `start`.
fn wrapped_list(head: &[u8], start: usize) -> Option<usize> {
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
                if depth == 1 && &head[at..end] == b"\"memories\"" && head.get(colon) == Some(&b':')
                {
                    let open = skip_blanks(head, colon + 1);
                    return (head.get(open) == Some(&b'[')).then_some(open + 1);
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

/// Where the string that begins at `start` has ended; JSON allows no line feed in it.
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

/// One object's bytes with the line they begin at, or what stands there instead.
pub(super) struct Record {
    pub line: usize,
    pub bytes: Result<Vec<u8>, Fault>,
}

impl Record {
    fn fault(line: usize, fault: Fault) -> Record {
        Record {
            line,
            bytes: Err(fault),
        }
    }
}

pub(super) enum Fault {
    TooLong,
    ListNotClosed,
    TextAfterList,
}

/// Cuts an input into records, holding one of them at a time.
pub(super) struct Records<R> {
    pub input: R,
    pub form: Form,
    pub line: usize,
}

impl<R: BufRead> Records<R> {
    pub fn next(&mut self) -> io::Result<Option<Record>> {
        match self.form {
            Form::Lines => self.next_line(),
            Form::List | Form::WrappedList => self.next_element(),
            Form::AfterList => self.after_list(),
            Form::Ended => Ok(None),
        }
    }

    fn next_line(&mut self) -> io::Result<Option<Record>> {
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

    fn next_element(&mut self) -> io::Result<Option<Record>> {
        let mut element = Bounded::default();
        let mut first_line = self.line;
        let mut nesting = Nesting::default();
        loop {
            let Some(byte) = self.next_byte()? else {
                if nesting.is_outside() && !element.is_blank {
                    return Ok(Some(element.record(first_line)));
                }
                self.form = Form::Ended;
                return Ok(Some(Record::fault(first_line, Fault::ListNotClosed)));
            };
            if nesting.is_outside() && matches!(byte, b',' | b']') {
                if byte == b']' {
                    self.form = match self.form {
                        Form::List => Form::AfterList,
                        _ => Form::Ended,
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

    fn after_list(&mut self) -> io::Result<Option<Record>> {
        self.form = Form::Ended;
        while let Some(byte) = self.next_byte()? {
            if !byte.is_ascii_whitespace() {
                return Ok(Some(Record::fault(self.line, Fault::TextAfterList)));
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

/// Bytes up to [`MAX_RECORD_BYTES`]; what comes after them is only noticed.
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

    fn record(self, line: usize) -> Record {
        let bytes = if self.is_too_long {
            Err(Fault::TooLong)
        } else {
            Ok(self.bytes)
        };
        Record { line, bytes }
    }
}

/// Whether the bytes so far have left every bracket and string they opened.
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

impl Fault {
    pub fn what(&self) -> String {
        match self {
            Fault::TooLong => {
                format!("it has more than {MAX_RECORD_BYTES} bytes. Split the memory first.")
            }
            Fault::ListNotClosed => {
                "the list has no closing `]`. The file may have been cut off here.".to_owned()
            }
            Fault::TextAfterList => "what follows the list was not read".to_owned(),
        }
    }
}

//! Reads a response: one JSON text, or server-sent events whose data are JSON texts.

use ::http::HeaderMap;
use ::http::header;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::connection::Open;
use super::failure::RequestFailure;
use super::timeouts::SILENCE;

/// Maximum length of a message in bytes: a server that never ends one must not fill the memory.
const MOST_MESSAGE: usize = 64 << 20;

/// Messages of a response, one after the other.
pub struct Messages {
    body: Incoming,
    is_stream: bool,
    parser: EventParser,
    /// Connection, kept open while messages are read.
    _open: Open,
}

impl Messages {
    /// Returns the messages of a body; its content type determines whether it is an event stream.
    pub fn of(headers: &HeaderMap, body: Incoming, open: Open) -> Messages {
        let kind = headers.get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        Messages {
            body,
            is_stream: kind.starts_with("text/event-stream"),
            parser: EventParser::default(),
            _open: open,
        }
    }

    /// Reads the next message; `None` at the end.
    ///
    /// # Errors
    ///
    /// Fails if the connection breaks off, or is silent for longer than a live server, or if the message has no end.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, RequestFailure> {
        loop {
            if self.is_stream
                && let Some(data) = self.parser.take()
            {
                return Ok(Some(data));
            }
            let frame = tokio::time::timeout(SILENCE, self.body.frame()).await;
            let frame = frame.map_err(|_| RequestFailure::Silent)?;
            match frame
                .transpose()
                .map_err(|error| RequestFailure::gone(&error))?
            {
                Some(frame) => {
                    if let Ok(data) = frame.into_data() {
                        self.parser.put(&data);
                    }
                    if self.parser.length() > MOST_MESSAGE {
                        let reason = format!("its answer is longer than {MOST_MESSAGE} bytes");
                        return Err(RequestFailure::Odd(reason));
                    }
                }
                None if self.is_stream => return Ok(None),
                None => {
                    let whole = std::mem::take(&mut self.parser.bytes);
                    return Ok(Some(whole).filter(|whole| !whole.is_empty()));
                }
            }
        }
    }
}

/// Parser that splits a byte stream into events.
#[derive(Default)]
struct EventParser {
    bytes: Vec<u8>,
    /// Number of bytes that were searched and hold no line feed.
    searched: usize,
    data: Option<Vec<u8>>,
}

impl EventParser {
    /// Returns the number of bytes that are kept.
    fn length(&self) -> usize {
        self.bytes.len() + self.data.as_ref().map_or(0, Vec::len)
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes the data of the next complete event that has any.
    fn take(&mut self) -> Option<Vec<u8>> {
        let mut begin = 0;
        let mut found = None;
        while found.is_none() {
            let rest = &self.bytes[self.searched.max(begin)..];
            let Some(at) = memchr::memchr(b'\n', rest) else {
                self.searched = self.bytes.len();
                break;
            };
            let end = self.searched.max(begin) + at;
            let line = &self.bytes[begin..end];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            begin = end + 1;
            if line.is_empty() {
                found = self.data.take().filter(|data| !data.is_empty());
            } else if let Some(more) = line.strip_prefix(b"data:") {
                let more = more.strip_prefix(b" ").unwrap_or(more);
                match &mut self.data {
                    None => self.data = Some(more.to_vec()),
                    Some(data) => {
                        data.push(b'\n');
                        data.extend_from_slice(more);
                    }
                }
            }
        }
        self.bytes.drain(..begin);
        self.searched = self.searched.saturating_sub(begin);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = ": hello\nid: 0\nretry: 3000\ndata:\n\ndata: {\"a\":1}\n\n\
        event: message\r\ndata: {\r\ndata: }\r\n\r\n:\n\ndata:{\"é\":2}\n\ndata: cut";

    const EXPECTED: [&str; 3] = ["{\"a\":1}", "{\n}", "{\"é\":2}"];

    fn all(portions: &mut dyn Iterator<Item = &[u8]>) -> Vec<String> {
        let mut events = EventParser::default();
        let mut found = Vec::new();
        for portion in portions {
            events.put(portion);
            while let Some(data) = events.take() {
                found.push(String::from_utf8(data).unwrap());
            }
        }
        found
    }

    #[test]
    fn events_are_the_same_however_they_are_cut() {
        for size in 1..=TEXT.len() {
            assert_eq!(all(&mut TEXT.as_bytes().chunks(size)), EXPECTED, "{size}");
        }
    }
}

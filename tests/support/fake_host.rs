//! A web server that does what a test tells it to, request by request.

use std::collections::HashMap;
use std::io;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::listener::Listener;

/// What somebody asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// How many requests came before.
    pub nth: usize,
    pub method: String,
    pub path: String,
    /// By their names in small letters.
    pub headers: HashMap<String, String>,
    pub body: Vec<u8>,
}

/// What the server answers.
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    end: End,
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// As it says before.
    Whole,
    /// The connection breaks off after so many bytes of the body.
    Cut(usize),
    /// Nothing more comes after so many bytes.
    Silent(usize),
    /// In chunks, without saying how much comes.
    Chunked,
    /// The body comes again and again, in chunks.
    Endless,
}

/// Serves until it is dropped.
pub struct Server {
    listener: Listener,
    shared: Arc<Shared>,
}

type Answer = dyn Fn(&Request) -> Reply + Send + Sync;

struct Shared {
    answer: Box<Answer>,
    asked: Mutex<Vec<Request>>,
}

impl Request {
    /// Where the wanted part begins.
    pub fn start(&self) -> Option<usize> {
        let range = self.headers.get("range")?.strip_prefix("bytes=")?;
        range.strip_suffix('-')?.parse().ok()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl Reply {
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Reply {
        Reply {
            status,
            headers: Vec::new(),
            body: body.into(),
            end: End::Whole,
        }
    }

    /// The file, or the wanted end of it, as a server that knows ranges and tags.
    pub fn file(request: &Request, bytes: &[u8]) -> Reply {
        let tag = "\"v1\"".to_owned();
        let is_same = request
            .headers
            .get("if-range")
            .is_none_or(|asked| *asked == tag);
        match request.start().filter(|_| is_same) {
            None => Reply::new(200, bytes).with("ETag", tag),
            Some(start) if start >= bytes.len() => {
                Reply::new(416, "").with("Content-Range", format!("bytes */{}", bytes.len()))
            }
            Some(start) => Reply::new(206, &bytes[start..]).with("ETag", tag).with(
                "Content-Range",
                format!("bytes {start}-{}/{}", bytes.len() - 1, bytes.len()),
            ),
        }
    }

    pub fn json(value: &Value) -> Reply {
        Reply::new(200, value.to_string()).with("Content-Type", "application/json")
    }

    pub fn redirect(to: impl Into<String>) -> Reply {
        Reply::new(302, "").with("Location", to)
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Reply {
        self.headers.push((name, value.into()));
        self
    }

    pub fn cut(self, bytes: usize) -> Reply {
        Reply {
            end: End::Cut(bytes),
            ..self
        }
    }

    pub fn silent(self, bytes: usize) -> Reply {
        Reply {
            end: End::Silent(bytes),
            ..self
        }
    }

    pub fn chunked(self) -> Reply {
        Reply {
            end: End::Chunked,
            ..self
        }
    }

    pub fn endless(self) -> Reply {
        Reply {
            end: End::Endless,
            ..self
        }
    }

    fn send(&self, stream: &mut TcpStream) -> io::Result<()> {
        write!(
            stream,
            "HTTP/1.1 {} Said\r\nConnection: close\r\n",
            self.status
        )?;
        for (name, value) in &self.headers {
            write!(stream, "{name}: {value}\r\n")?;
        }
        let body = &self.body;
        match self.end {
            End::Chunked | End::Endless => {
                write!(stream, "Transfer-Encoding: chunked\r\n\r\n")?;
                for _ in 0..if self.end == End::Endless {
                    usize::MAX
                } else {
                    1
                } {
                    write!(stream, "{:x}\r\n", body.len())?;
                    stream.write_all(body)?;
                    write!(stream, "\r\n")?;
                }
                write!(stream, "0\r\n\r\n")
            }
            End::Whole | End::Cut(_) | End::Silent(_) => {
                write!(stream, "Content-Length: {}\r\n\r\n", body.len())?;
                let bytes = match self.end {
                    End::Cut(bytes) | End::Silent(bytes) => bytes,
                    _ => body.len(),
                };
                stream.write_all(&body[..bytes])?;
                if let End::Silent(_) = self.end {
                    // Until the client hangs up.
                    io::copy(stream, &mut io::sink())?;
                }
                Ok(())
            }
        }
    }
}

impl Server {
    pub fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Server {
        let shared = Arc::new(Shared {
            answer: Box::new(answer),
            asked: Mutex::new(Vec::new()),
        });
        let serving = Arc::clone(&shared);
        // A client may break off.
        let listener = Listener::start(move |stream| drop(serving.serve(stream)));
        Server { listener, shared }
    }

    /// The address of `path`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.listener.address)
    }

    /// Every request so far.
    pub fn asked(&self) -> Vec<Request> {
        self.shared.asked.lock().unwrap().clone()
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream);
        let mut request = self.read_request(&mut reader)?;
        if request.method == "CONNECT" {
            // As a proxy that leads to this very server.
            reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
            request = self.read_request(&mut reader)?;
        }
        (self.answer)(&request).send(&mut reader.into_inner())
    }

    fn read_request(&self, reader: &mut BufReader<TcpStream>) -> io::Result<Request> {
        let first = read_line(reader)?;
        let mut words = first.split(' ').map(str::to_owned);
        let mut request = Request {
            nth: 0,
            method: words.next().unwrap_or_default(),
            path: words.next().unwrap_or_default(),
            headers: HashMap::new(),
            body: Vec::new(),
        };
        while let Some((name, value)) = read_line(reader)?.split_once(':') {
            let name = name.to_ascii_lowercase();
            request.headers.insert(name, value.trim().to_owned());
        }
        if let Some(length) = request.headers.get("content-length") {
            let length = length.parse().unwrap();
            reader.take(length).read_to_end(&mut request.body)?;
        }
        let mut asked = self.asked.lock().unwrap();
        request.nth = asked.len();
        asked.push(request.clone());
        Ok(request)
    }
}

/// A line without its end.
pub fn read_line(reader: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end().to_owned())
}

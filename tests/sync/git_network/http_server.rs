//! A web server that hands repositories out through `git http-backend`, and misbehaves on demand.

use std::collections::HashMap;
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::{io, thread};

use crate::git_network::scene::Scene;
use crate::support::fake_host::read_line;
use crate::support::listener::Listener;

/// What the server does.
#[derive(Clone)]
pub enum Manner {
    /// Serves everybody.
    Open,
    /// Serves whoever sends this header value.
    Password(String),
    /// Sends everybody elsewhere.
    Redirect(String),
    /// Serves whoever sends the password, and sends from one path to another.
    Renamed {
        from: String,
        to: String,
        password: String,
    },
    /// Answers with this number.
    Status(u16),
    /// Accepts and says nothing.
    Silent,
    /// Breaks off after so many bytes of a pack.
    Cut(usize),
}

/// What somebody asked.
#[derive(Clone, Debug)]
pub struct Asked {
    pub authorization: Option<String>,
}

/// Serves the repositories below a folder until it is dropped.
pub struct HttpServer {
    listener: Listener,
    shared: Arc<Shared>,
}

struct Shared {
    root: PathBuf,
    environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    manner: Mutex<Manner>,
    asked: Mutex<Vec<Asked>>,
    has_asked: Condvar,
}

impl HttpServer {
    pub fn start(scene: &Scene, manner: Manner) -> HttpServer {
        let shared = Arc::new(Shared {
            root: scene.root(),
            environment: scene.base(),
            manner: Mutex::new(manner),
            asked: Mutex::new(Vec::new()),
            has_asked: Condvar::new(),
        });
        let serving = Arc::clone(&shared);
        // A client may break off.
        let listener = Listener::start(move |stream| drop(serving.serve(stream)));
        HttpServer { listener, shared }
    }

    /// The address of a repository.
    pub fn url(&self, name: &str) -> String {
        format!("http://{}/{name}", self.listener.address)
    }

    pub fn host(&self) -> String {
        self.listener.address.to_string()
    }

    pub fn becomes(&self, manner: Manner) {
        *self.shared.manner.lock().unwrap() = manner;
    }

    /// Every request so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap().clone()
    }

    /// Waits for the first request.
    pub fn wait(&self) {
        let asked = self.shared.asked.lock().unwrap();
        drop(
            self.shared
                .has_asked
                .wait_while(asked, |asked| asked.is_empty()),
        );
    }
}

/// `Basic` with a user name and a password.
pub fn basic(user: &str, password: &str) -> String {
    let mut coded = String::new();
    for three in format!("{user}:{password}").as_bytes().chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            let value = alphabet[(bits >> (18 - 6 * digit) & 63) as usize];
            coded.push(if digit <= three.len() {
                value.into()
            } else {
                '='
            });
        }
    }
    format!("Basic {coded}")
}

struct Request {
    method: String,
    path: String,
    query: String,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

impl Shared {
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream);
        let request = read_request(&mut reader)?;
        let authorization = request.headers.get("authorization").cloned();
        self.asked.lock().unwrap().push(Asked {
            authorization: authorization.clone(),
        });
        self.has_asked.notify_all();
        let mut stream = reader.into_inner();
        let manner = self.manner.lock().unwrap().clone();
        match manner {
            Manner::Silent => {
                // Until the client hangs up.
                io::copy(&mut stream, &mut io::sink())?;
                Ok(())
            }
            Manner::Status(code) => respond(&mut stream, &format!("{code} No"), "", b"no\n"),
            Manner::Redirect(to) => {
                let to = format!("Location: {to}{}?{}\r\n", request.path, request.query);
                respond(&mut stream, "302 Found", &to, b"")
            }
            Manner::Renamed { from, to, .. } if request.path.starts_with(&from) => {
                let path = request.path.replacen(&from, &to, 1);
                let to = format!("Location: {path}?{}\r\n", request.query);
                respond(&mut stream, "301 Moved", &to, b"")
            }
            Manner::Password(password) | Manner::Renamed { password, .. }
                if authorization.as_deref() != Some(&password) =>
            {
                respond(
                    &mut stream,
                    "401 Unauthorized",
                    "WWW-Authenticate: Basic realm=\"git\"\r\n",
                    b"who?\n",
                )
            }
            Manner::Cut(bytes) if request.method == "POST" => {
                let (status, headers, body) = self.backend(&request)?;
                assert!(body.len() > bytes, "the pack has {} bytes", body.len());
                let length = format!("Content-Length: {}\r\n", body.len());
                write!(stream, "HTTP/1.1 {status}\r\n{headers}{length}\r\n")?;
                stream.write_all(&body[..bytes])
            }
            Manner::Open | Manner::Password(_) | Manner::Renamed { .. } | Manner::Cut(_) => {
                let (status, headers, body) = self.backend(&request)?;
                respond(&mut stream, &status, &headers, &body)
            }
        }
    }

    /// Runs `git http-backend` and returns status, header lines and body.
    fn backend(&self, request: &Request) -> io::Result<(String, String, Vec<u8>)> {
        let header = |name: &str| request.headers.get(name).map_or("", String::as_str);
        let mut child = Command::new("git")
            .arg("http-backend")
            .env_clear()
            .envs(self.environment.iter().cloned())
            .env("GIT_PROJECT_ROOT", &self.root)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("PATH_INFO", &request.path)
            .env("QUERY_STRING", &request.query)
            .env("REQUEST_METHOD", &request.method)
            .env("CONTENT_TYPE", header("content-type"))
            .env("CONTENT_LENGTH", request.body.len().to_string())
            .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
            .env("GIT_PROTOCOL", header("git-protocol"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut stdin = child.stdin.take().unwrap();
        let body = request.body.clone();
        let writer = thread::spawn(move || {
            let _ = stdin.write_all(&body);
        });
        let output = child.wait_with_output()?.stdout;
        writer.join().unwrap();
        let end = output
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap();
        let mut status = "200 OK".to_owned();
        let mut headers = String::new();
        for line in String::from_utf8_lossy(&output[..end]).lines() {
            match line.strip_prefix("Status: ") {
                Some(text) => status = text.to_owned(),
                None => headers += &format!("{line}\r\n"),
            }
        }
        Ok((status, headers, output[end + 4..].to_vec()))
    }
}

fn respond(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) -> io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(body)
}

fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<Request> {
    let first = read_line(reader)?;
    let mut words = first.split(' ');
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut headers = HashMap::new();
    loop {
        let line = read_line(reader)?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    if headers.contains_key("expect") {
        reader
            .get_mut()
            .write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let mut body = Vec::new();
    if headers
        .get("transfer-encoding")
        .is_some_and(|v| v == "chunked")
    {
        loop {
            let length = read_line(reader)?;
            let length = u64::from_str_radix(&length, 16).unwrap();
            reader.take(length).read_to_end(&mut body)?;
            read_line(reader)?;
            if length == 0 {
                break;
            }
        }
    } else if let Some(length) = headers.get("content-length") {
        reader
            .take(length.parse().unwrap())
            .read_to_end(&mut body)?;
    }
    Ok(Request {
        path: path.to_owned(),
        query: query.to_owned(),
        method,
        headers,
        body,
    })
}

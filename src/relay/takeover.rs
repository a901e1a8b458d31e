//! Going on with a session whose server is gone: its input with what has to be said again, and its output
//! without the answers that the client has already.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Value, json};

use super::event::Event;
use super::ledger::{INITIALIZE, Ledger, Opening, SUBSCRIBE, acknowledged, lined};

/// A session to go on with.
pub struct Takeover {
    /// Memories that the server was about to write, by the ids of their requests as JSON.
    pub earlier: Arc<HashMap<String, Vec<String>>>,
    /// What is read instead of standard input.
    pub input: ResumedInput,
    /// What is written to instead of standard output.
    pub output: ResumedOutput,
}

impl Takeover {
    /// Returns the session of `ledger`, where the client's next lines are those of `later`, then of `events`.
    pub(super) fn new(ledger: &Ledger, later: Vec<Event>, events: Receiver<Event>) -> Takeover {
        let (opened, is_open) = channel();
        let mut steps = VecDeque::new();
        let mut hidden = HashSet::new();
        for opening in ledger.openings() {
            match opening {
                Opening::Initialize(line) => {
                    hidden.insert(json!(INITIALIZE).to_string());
                    steps.extend([Step::Line(line), Step::AwaitOpen]);
                }
                Opening::Subscribe { uri, line } => {
                    hidden.insert(json!(format!("{SUBSCRIBE}{uri}")).to_string());
                    steps.push_back(Step::Line(line));
                }
                Opening::Notification(line) | Opening::Request(line) => {
                    steps.push_back(Step::Line(line));
                }
            }
        }
        let known = ledger.unanswered.iter().map(|known| known.id.clone());
        let acknowledged = known.filter(|id| ledger.is_acknowledged(id)).collect();
        for event in later {
            steps.push_back(match event {
                Event::Line(line) => Step::Line(line),
                _ => Step::End,
            });
        }
        let writes = ledger.unanswered.iter();
        let writes = writes.map(|known| (known.id.clone(), known.writes.clone()));
        Takeover {
            earlier: Arc::new(writes.collect()),
            input: ResumedInput {
                steps,
                events,
                is_open,
                line: Vec::new(),
                at: 0,
            },
            output: ResumedOutput {
                hidden,
                acknowledged,
                opened,
            },
        }
    }
}

/// Something to be read.
enum Step {
    Line(Vec<u8>),
    /// Nothing is read until `initialize` is answered: calls before it would be nobody's.
    AwaitOpen,
    End,
}

/// Lines that another server got and did not answer, then the client's next ones.
pub struct ResumedInput {
    steps: VecDeque<Step>,
    events: Receiver<Event>,
    is_open: Receiver<()>,
    line: Vec<u8>,
    /// Number of bytes of `line` that were read.
    at: usize,
}

impl Read for ResumedInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.line.len() {
            let step = match self.steps.pop_front() {
                Some(step) => step,
                None => match self.events.recv() {
                    Ok(Event::Line(line)) => Step::Line(line),
                    _ => Step::End,
                },
            };
            match step {
                Step::Line(line) => (self.line, self.at) = (line, 0),
                Step::AwaitOpen => {
                    let _ = self.is_open.recv(); // Or nobody answers any more.
                }
                Step::End => {
                    self.steps.push_front(Step::End);
                    return Ok(0);
                }
            }
        }
        let left = &self.line[self.at..];
        let count = left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&left[..count]);
        self.at += count;
        Ok(count)
    }
}

/// Standard output, but for answers to requests that the client has not made.
pub struct ResumedOutput {
    /// Ids, as JSON, of requests whose answers the client must not see.
    hidden: HashSet<String>,
    /// Ids, as JSON, of subscriptions of which the client knows that they have begun.
    acknowledged: HashSet<String>,
    /// Told when `initialize` is answered.
    opened: Sender<()>,
}

impl ResumedOutput {
    /// Returns what the client gets in place of `line`; `None` if that is nothing.
    fn shown(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        if self.hidden.is_empty() && self.acknowledged.is_empty() {
            return Some(line.to_owned());
        }
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return Some(line.to_owned());
        };
        if let Some(id) = acknowledged(&message)
            && self.acknowledged.remove(&id)
        {
            return None;
        }
        let id = message.get("id").map(Value::to_string).unwrap_or_default();
        if message.get("method").is_some() || !self.hidden.remove(&id) {
            return Some(line.to_owned());
        }
        let id = message["id"].as_str().unwrap_or_default();
        if id == INITIALIZE {
            let _ = self.opened.send(()); // Or nothing is read any more.
        }
        let uri = id.strip_prefix(SUBSCRIBE)?;
        // It may have changed while no server looked.
        let updated = json!({
            "jsonrpc": "2.0",
            "method": "notifications/resources/updated",
            "params": {"uri": uri},
        });
        message.get("result").map(|_| lined(&updated))
    }
}

impl Write for ResumedOutput {
    /// Writes all of `line`, which is whole.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Some(shown) = self.shown(line) {
            io::stdout().write_all(&shown)?;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}

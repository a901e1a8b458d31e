//! The first line of each side, and the lines of the server that are no messages.

use serde::{Deserialize, Serialize};

/// Maximum length of a first line, in bytes.
pub(super) const MAX_BYTES: u64 = 64 << 10;

/// Beginning of the server's lines that are no messages of the protocol.
pub(super) const ASIDE: u8 = b'!';

/// First line of a relay: what the server cannot know of its session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Fingerprint of all that decides about answers and rights.
    pub fingerprint: String,
    /// Namespace of new memories; `None` is `global`.
    pub namespace: Option<String>,
    /// Notice for the first reply of a tool.
    pub notice: Option<String>,
}

/// First line of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Welcome {
    /// Id of its process.
    pub process: u32,
}

/// Line of a server that is no message of the protocol, without its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Aside {
    /// The request with this id, as JSON, is about to write this memory.
    Writes { request: String, memory: String },
    /// The session ended in order: the relay's input did.
    End,
}

impl Aside {
    /// Returns it as a line, with its line feed.
    pub fn line(&self) -> Vec<u8> {
        let mut line = vec![ASIDE];
        let json = serde_json::to_vec(self).expect("it holds texts alone");
        line.extend_from_slice(&json);
        line.push(b'\n');
        line
    }

    /// Parses a line of a server; `None` for a message of the protocol.
    pub fn parse(line: &[u8]) -> Option<Aside> {
        serde_json::from_slice(line.strip_prefix(&[ASIDE])?).ok()
    }
}

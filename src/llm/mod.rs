//! Lets a language model write a text: one of this machine (Ollama), or any host with the protocol
//! of OpenAI.
//!
//! Off unless the user has named one: texts leave this program with it. Promises: an answer is a
//! text with words in it, or an error; every wait has an end; the key is in no error and no log
//! line. What is asked, and what becomes of the answer, is left to others; that texts hold no
//! credentials is theirs to see to, too.

mod questions;
mod suggestions;
mod summary;

use std::time::Duration;

use serde_json::{Value, json};

pub use suggestions::{Suggestion, suggest};
pub use summary::SourceNote;

use crate::fetch::{ApiKey, FetchClient, FetchError, Post, Url};

/// The protocol in which a model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LlmProtocol {
    /// `/api/chat`.
    Ollama,
    /// `/chat/completions`.
    OpenAi,
}

/// The model and its address.
#[derive(Debug, Clone)]
pub struct LlmSettings {
    /// Protocol of the provider.
    pub protocol: LlmProtocol,
    /// `None` for the usual one.
    pub endpoint: Option<Url>,
    /// Name of the model at the provider.
    pub model: String,
    /// Key of the provider.
    pub key: Option<ApiKey>,
    /// The most time for one answer.
    pub deadline: Duration,
}

/// A language model.
pub struct Llm {
    settings: LlmSettings,
    address: Url,
    client: FetchClient,
}

/// Error of a request to a language model.
#[derive(Debug, thiserror::Error)]
pub enum LlmError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("there is too much to send: {0} characters")]
    TooMuch(usize),
    #[error("{address} gives a wrong answer: {what}")]
    Wrong { address: String, what: &'static str },
}

/// More than any summary has.
const MAX_ANSWER_BYTES: u64 = 1 << 20;
/// Marks around what some models say to themselves before they answer.
const THOUGHTS: (&str, &str) = ("<think>", "</think>");

impl LlmProtocol {
    fn endpoint(self) -> &'static str {
        match self {
            LlmProtocol::Ollama => "http://127.0.0.1:11434",
            LlmProtocol::OpenAi => "https://api.openai.com/v1",
        }
    }

    fn path(self) -> &'static str {
        match self {
            LlmProtocol::Ollama => "api/chat",
            LlmProtocol::OpenAi => "chat/completions",
        }
    }
}

impl Llm {
    /// Returns the model that `settings` name, asked through `client`; asks nothing yet.
    ///
    /// # Errors
    ///
    /// Fails if the endpoint is no base of addresses.
    pub fn new(settings: LlmSettings, client: FetchClient) -> Result<Llm, LlmError> {
        let protocol = settings.protocol;
        let endpoint = match &settings.endpoint {
            Some(endpoint) => endpoint.clone(),
            None => Url::parse(protocol.endpoint()).expect("it is an address"),
        };
        let address = match endpoint.path().ends_with(protocol.path()) {
            true => endpoint,
            false => endpoint.join(protocol.path())?,
        };
        Ok(Llm {
            settings,
            address,
            client,
        })
    }

    /// Returns its provider's name for it.
    pub fn model(&self) -> &str {
        &self.settings.model
    }

    /// Returns the notice to show before the first text is sent: to whom texts go.
    pub fn notice(&self) -> String {
        format!("the texts of memories are sent to {}", self.receiver())
    }

    /// Returns who gets texts: the model, its host, and whether the way there can be read by others.
    pub fn receiver(&self) -> String {
        let plain = match self.address.is_encrypted() || self.address.is_loopback() {
            true => "",
            false => ", without encryption",
        };
        let (model, host) = (&self.settings.model, self.address.host());
        format!("{model} at {host}{plain}")
    }

    /// Returns the model's answer to `text`, which it is told to treat as `instructions` say.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be asked, or if its answer holds no text.
    pub fn answer(&self, instructions: &str, text: &str) -> Result<String, LlmError> {
        let answer = self.reply(instructions, text)?;
        match answer.chars().any(char::is_alphanumeric) {
            true => Ok(answer),
            false => Err(self.wrong("its message is empty")),
        }
    }

    /// Returns the model's answer, which may hold marks alone.
    fn reply(&self, instructions: &str, text: &str) -> Result<String, LlmError> {
        let messages = json!([
            {"role": "system", "content": instructions},
            {"role": "user", "content": text},
        ]);
        let mut body = json!({"model": self.settings.model, "messages": messages});
        match self.settings.protocol {
            LlmProtocol::Ollama => {
                body["stream"] = false.into();
                body["options"] = json!({"temperature": 0});
            }
            // Some models of theirs take no other temperature than their own.
            LlmProtocol::OpenAi => {}
        }
        let answer = self.client.ask(&Post {
            address: &self.address,
            key: self.settings.key.as_ref(),
            body: &body,
            deadline: self.settings.deadline,
            max_answer_bytes: MAX_ANSWER_BYTES,
        })?;
        let said = match self.settings.protocol {
            LlmProtocol::Ollama => &answer["message"]["content"],
            LlmProtocol::OpenAi => &answer["choices"][0]["message"]["content"],
        };
        text_of(said).map_err(|what| self.wrong(what))
    }

    fn wrong(&self, what: &'static str) -> LlmError {
        LlmError::Wrong {
            address: self.address.to_string(),
            what,
        }
    }
}

/// Returns a text that cannot end its own element.
fn element(name: &str, text: &str) -> String {
    let inner = text.replace(&format!("</{name}"), &format!("<\\/{name}"));
    format!("<{name}>\n{}\n</{name}>\n", inner.trim())
}

/// Returns the part of a message that is meant to be read by others.
fn text_of(said: &Value) -> Result<String, &'static str> {
    let said = said.as_str().ok_or("it holds no message")?.trim();
    match said.strip_prefix(THOUGHTS.0) {
        None => Ok(said.to_owned()),
        Some(thoughts) => match thoughts.split_once(THOUGHTS.1) {
            Some((_, text)) => Ok(text.trim().to_owned()),
            None => Err("it holds thoughts only"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_no_answer() {
        let text = |text: &str| text_of(&Value::from(text));
        assert_eq!(text(" A summary.\n"), Ok("A summary.".to_owned()));
        let thought = text("<think>\nwell\n</think>\n\nA summary.");
        assert_eq!(thought, Ok("A summary.".to_owned()));
        assert!(text("<think> for ever").is_err());
        assert!(text_of(&Value::Null).is_err());
    }
}

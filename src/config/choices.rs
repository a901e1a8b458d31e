//! Settings that choose one of a few words: who makes vectors and texts, and what is kept of sessions.

use crate::model::vocabulary;

vocabulary! {
    /// The maker of the vectors.
    Provider, "embedding.provider",
    /// A model on this machine.
    Local = "local",
    Voyage = "voyage",
    /// Any host with the protocol of OpenAI.
    OpenAi = "openai",
    /// Nobody: searches are by words and vectors of words.
    Off = "off"
}

vocabulary! {
    /// The provider of the language model.
    LlmProvider, "llm.provider",
    Ollama = "ollama",
    /// Any host with the protocol of OpenAI.
    OpenAi = "openai",
    /// Nobody: summaries are made of the memories' own sentences.
    Off = "off"
}

vocabulary! {
    /// The part of a session that is kept when it ends.
    Capture, "capture.keep",
    /// Nothing.
    Off = "off",
    /// The talk.
    Talks = "talks",
    /// The talk, and proposals of what it says.
    Proposals = "proposals"
}

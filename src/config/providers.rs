//! The providers of vectors and of language models.

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

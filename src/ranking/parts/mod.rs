//! Parts of the score of one memory, and the probability that it answers.

mod relevance;

use super::weights::Weights;
pub use relevance::Evidence;

/// Reason why a memory was found: the first that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FoundBy {
    /// Its title, user, topics or content hold a word of the query, or its user is named.
    #[default]
    Words,
    /// It is of a day, month or year in the query.
    Date,
    /// A memory of its context holds a word of the query.
    Context,
    /// It is a standing instruction of the chat, and holds no word.
    Instruction,
    /// Its vector is near; it holds no word.
    Meaning,
}

impl FoundBy {
    /// Returns the label of a hit that holds no word of the query; `None` of one that does.
    pub fn mark(self) -> Option<&'static str> {
        match self {
            FoundBy::Words => None,
            FoundBy::Date => Some("date"),
            FoundBy::Context => Some("context"),
            FoundBy::Instruction => Some("instruction"),
            FoundBy::Meaning => Some("meaning"),
        }
    }
}

/// Parts of a memory's score, before they are multiplied by their weights.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Parts {
    /// Reason why it was found.
    pub found_by: FoundBy,
    /// Lexical score, as a share of the greatest one of a candidate.
    pub words: f32,
    /// Share of the query's content words in the memory itself, 0 up to `coverage_from`, then to 1.
    pub coverage: f32,
    /// Share of the query's content words, by idf, in the best piece of a very long memory.
    pub passage: f32,
    /// Share of the query in the title, 0–1.
    pub title: f32,
    /// Date score, as a share of the greatest one of a candidate.
    pub date: f32,
    /// Cosine of the memory and the query, adjusted for the kind of query and the number of pieces.
    pub own: f32,
    /// The same of the memory together with the one before.
    pub window: f32,
    /// Nearness of the query's words to those of a memory, one by one, adjusted for the kind of query and
    /// of memory; 0 in chats and without a model.
    pub late: f32,
    /// Share of the query's words, by idf, that it lacks, each by the nearest word that it holds; 0 without a model.
    pub soft: f32,
    /// Nearness by the vectors of words, without a model, and where no memory holds the query's words by
    /// those of the model; weighted.
    pub nearness: f32,
    /// In a chat: cosine of the message and the query, adjusted as `own`, which is 0 then.
    pub message: f32,
    /// In a chat: ln(max(words, 50) / 50).
    pub length: f32,
    /// In a chat: 1 if the person wrote it; 0 if the query asks for a summary, −½ if it asks for what the
    /// assistant said.
    pub role: f32,
    /// In a chat: lexical score of the reply to a message of the person, as a share of the greatest one.
    pub replied: f32,
    /// In a chat: 1 if it is a standing instruction of the person.
    pub instruction: f32,
    /// In a chat: 1 if the person states a preference.
    pub preference: f32,
    /// In a chat: mean score of the ten best messages of the chat, less that of the best namespace; 0 with
    /// fewer than ten candidates.
    pub chat: f32,
    /// Elsewhere: the same of the memory's namespace.
    pub namespace: f32,
    /// 1 if a named person takes part in its context.
    pub participant: f32,
    /// Number of the named persons who wrote it.
    pub author: f32,
    /// 1 if the query asks about its author, who speaks of himself; less if it has more than two content words.
    pub of_author: f32,
    /// 1 if the query asks, and the memory ends with a question.
    pub asks: f32,
    /// 1 if the query asks, and the memory before it ends with a question.
    pub answers: f32,
    /// 1 if the query asks, and the memory names something.
    pub names: f32,
    /// 1 if the query asks when, and the memory has a time.
    pub tells_time: f32,
    /// 1 if it has the name, the place or the reason that the query asks for.
    pub wanted: f32,
    /// 1 if the query asks how many, and the memory has a number.
    pub number: f32,
    /// Share of the query that the memory before holds, which asks and is of another author.
    pub response: f32,
    /// Cosine of that memory and the query; 0 without a model.
    pub reply: f32,
    /// Score of a cross-encoder for one of the first hits, on the scale of their scores; 0 for the least of
    /// them and for all others.
    pub rerank: f32,
    /// Number at most 0 that ranks memories found by vectors alone below the others.
    pub behind: f32,
    /// Observations for its relevance, of a question and a ranking to which it is fitted; no part of the
    /// score.
    pub evidence: Option<Evidence>,
}

impl Parts {
    /// Returns each part's name and its contribution to the score, in the order of the documentation.
    #[inline]
    pub fn weighed(&self, weights: &Weights) -> [(&'static str, f32); 31] {
        [
            ("words", self.words),
            ("coverage", weights.coverage * self.coverage),
            ("passage", weights.passage * self.passage),
            ("title", weights.title * self.title),
            ("date", weights.date * self.date),
            ("own", weights.own * self.own),
            ("window", weights.window * self.window),
            ("late", weights.late * self.late),
            ("soft", weights.soft * self.soft),
            ("nearness", self.nearness),
            ("message", weights.message * self.message),
            ("length", weights.length * self.length),
            ("role", weights.role * self.role),
            ("replied", weights.replied * self.replied),
            ("instruction", weights.instruction * self.instruction),
            ("preference", weights.preference * self.preference),
            ("chat", weights.chat * self.chat),
            ("namespace", weights.namespace * self.namespace),
            ("participant", weights.participant * self.participant),
            ("author", weights.author * self.author),
            ("of_author", weights.of_author * self.of_author),
            ("asks", weights.asks * self.asks),
            ("answers", weights.answers * self.answers),
            ("names", weights.names * self.names),
            ("tells_time", weights.tells_time * self.tells_time),
            ("wanted", weights.wanted * self.wanted),
            ("number", weights.number * self.number),
            ("response", weights.response * self.response),
            ("reply", weights.reply * self.reply),
            ("rerank", weights.rerank * self.rerank),
            ("behind", self.behind),
        ]
    }

    /// Returns the score.
    pub fn total(&self, weights: &Weights) -> f32 {
        self.weighed(weights).iter().map(|(_, value)| value).sum()
    }
}

//! What the score of one memory is made of.

use super::weights::Weights;

/// What a memory was found by: the nearest to its own text that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FoundBy {
    /// A word of the query stands in its title, user, topics or content.
    #[default]
    Words,
    /// It is of a day, month or year that the query names.
    Date,
    /// A word of the query stands in what was written just before or after it.
    Context,
    /// It is near in meaning, by no word.
    Meaning,
}

impl FoundBy {
    /// What is said of a hit that holds no word of the query; `None` of one that does.
    pub fn mark(self) -> Option<&'static str> {
        match self {
            FoundBy::Words => None,
            FoundBy::Date => Some("date"),
            FoundBy::Context => Some("context"),
            FoundBy::Meaning => Some("meaning"),
        }
    }
}

/// How much of each part a memory has, before the parts are weighed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Parts {
    pub found_by: FoundBy,
    /// Its words and those of its context, of the most that a candidate has.
    pub words: f32,
    /// How far the query's words stand in the memory itself.
    pub coverage: f32,
    /// Of a very long one: the share of the query's words, by idf, that its best piece holds.
    pub passage: f32,
    pub title: f32,
    /// Of the most that a candidate has.
    pub date: f32,
    /// Cosine with the query.
    pub own: f32,
    /// Cosine of the memory together with the one before.
    pub window: f32,
    /// 1 if a named person takes part in its context.
    pub participant: f32,
    /// How many of the named persons wrote it.
    pub author: f32,
    pub asks: f32,
    pub answers: f32,
    pub names: f32,
    pub tells_time: f32,
    /// What is taken from memories that only their meaning found, below those that words found; never
    /// above 0.
    pub behind: f32,
}

impl Parts {
    /// Each part with its name and what it adds to the score, in the order of the documentation.
    pub fn weighed(&self, weights: &Weights) -> [(&'static str, f32); 14] {
        [
            ("words", self.words),
            ("coverage", weights.coverage * self.coverage),
            ("passage", weights.passage * self.passage),
            ("title", weights.title * self.title),
            ("date", weights.date * self.date),
            ("own", weights.own * self.own),
            ("window", weights.window * self.window),
            ("participant", weights.participant * self.participant),
            ("author", weights.author * self.author),
            ("asks", weights.asks * self.asks),
            ("answers", weights.answers * self.answers),
            ("names", weights.names * self.names),
            ("tells_time", weights.tells_time * self.tells_time),
            ("behind", self.behind),
        ]
    }

    pub fn total(&self, weights: &Weights) -> f32 {
        self.weighed(weights).iter().map(|(_, value)| value).sum()
    }
}

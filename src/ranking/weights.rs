//! Every constant of the ranking, in one table.

/// How memories are ranked for a text.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Ranking {
    pub method: Method,
    pub weights: Weights,
}

/// The formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// Words in their context, people, times, and meaning where there is a model.
    #[default]
    Fused,
    /// The same without meaning.
    Words,
    /// Reciprocal rank fusion of plain BM25 and of the cosine of each memory (Cormack, Clarke and
    /// Büttcher 2009): Σ 1 / (k + rank).
    ReciprocalRank,
    /// Plain BM25 over all words of the query.
    Bm25,
    /// Plain BM25, and what the memory is worth: importance, uses, confidence, tier, recency; with
    /// the cosine where there is a model.
    SixFactor,
    /// The same without meaning.
    SixFactorWords,
    /// The same without the tier, too.
    FiveFactor,
    /// What holds a word of the query by name, tags, importance and last use.
    Weighted,
}

impl Method {
    pub const ALL: [(&'static str, Method); 8] = [
        ("fused", Method::Fused),
        ("words", Method::Words),
        ("rrf", Method::ReciprocalRank),
        ("bm25", Method::Bm25),
        ("six-factor", Method::SixFactor),
        ("six-factor-words", Method::SixFactorWords),
        ("five-factor", Method::FiveFactor),
        ("weighted", Method::Weighted),
    ];

    /// The method called `name`.
    pub fn named(name: &str) -> Option<Method> {
        Method::ALL
            .into_iter()
            .find_map(|(known, method)| (known == name).then_some(method))
    }

    pub fn name(self) -> &'static str {
        Method::ALL
            .into_iter()
            .find_map(|(name, method)| (method == self).then_some(name))
            .expect("all of them have a name")
    }

    /// Whether words count as they stand, without their context, people and times.
    pub(super) fn is_plain(self) -> bool {
        !matches!(self, Method::Fused | Method::Words)
    }

    /// Whether it asks for vectors.
    pub fn uses_meaning(self) -> bool {
        matches!(
            self,
            Method::Fused | Method::ReciprocalRank | Method::SixFactor
        )
    }
}

macro_rules! weights {
    ($($(#[doc = $doc:literal])+ $name:ident = $value:literal,)+) => {
        /// Every constant of the formula. The defaults are round numbers that hold on all sets
        /// measured; 0 switches a part off.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct Weights {
            $($(#[doc = $doc])+ pub $name: f32,)+
        }

        impl Default for Weights {
            fn default() -> Weights {
                Weights::DEFAULT
            }
        }

        impl Weights {
            pub const DEFAULT: Weights = Weights { $($name: $value,)+ };

            /// Every constant with its name, in the order of the documentation.
            pub fn list(&self) -> Vec<(&'static str, f32)> {
                vec![$((stringify!($name), self.$name),)+]
            }

            /// Sets the constant called `name`; `false` if there is none.
            pub fn set(&mut self, name: &str, value: f32) -> bool {
                match name {
                    $(stringify!($name) => self.$name = value,)+
                    _ => return false,
                }
                true
            }
        }
    };
}

weights! {
    /// BM25: how soon repetition stops to count.
    k1 = 1.0,
    /// BM25: how much length counts.
    b = 0.6,
    /// What a function word is worth.
    stop_word = 0.2,
    /// A part of an identifier whose whole is known.
    identifier_part = 0.5,
    /// What a term is worth to the memory after it.
    before_1 = 0.7,
    /// To the second memory after it.
    before_2 = 0.4,
    /// To the memory before it.
    after_1 = 0.4,
    /// To the second memory before it.
    after_2 = 0.2,
    /// BM25 of the whole episode.
    episode = 0.3,
    /// Factor on neighbours and episode if the query is a list of words.
    keyword_context = 0.5,
    /// Factor on meaning if the query is a list of words.
    keyword_meaning = 0.4,
    /// What is taken off the cosine of a long memory for each doubling of its pieces: the best of
    /// many is near by chance.
    pieces = 0.015,
    /// The date is one that the query names.
    date = 1.3,
    /// A named person takes part in the episode.
    participant = 1.0,
    /// A named person wrote the memory.
    author = 0.2,
    /// The title is the query.
    title = 1.0,
    /// The memory holds all words of the query.
    coverage = 0.2,
    /// From which share of the query's words on that counts.
    coverage_from = 0.8,
    /// Of a very long memory, one piece holds the query's words.
    passage = 0.4,
    /// Memories of more words than this are very long.
    passage_words = 400.0,
    /// The memory's own meaning.
    own = 0.7,
    /// Its meaning together with what was said before.
    window = 0.9,
    /// For questions only: the memory asks, itself.
    asks = -0.2,
    /// For questions only: the memory follows one that asks.
    answers = 0.1,
    /// For questions only: the memory names something.
    names = 0.1,
    /// The query asks when, and the memory says when.
    tells_time = 0.3,
    /// Memories with more words than this get none of the last four, and are long.
    prior_words = 100.0,
    /// The k of reciprocal rank fusion.
    rrf_k = 60.0,
    /// How many of the nearest by each vector are candidates.
    nearest = 200.0,
}

impl Weights {
    /// Plain BM25 over all words, as it is mostly done.
    pub fn plain(&self) -> Weights {
        Weights {
            k1: 1.2,
            b: 0.75,
            stop_word: 1.0,
            identifier_part: 1.0,
            before_1: 0.0,
            before_2: 0.0,
            after_1: 0.0,
            after_2: 0.0,
            episode: 0.0,
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_constant_can_be_set_by_its_name() {
        let mut weights = Weights::default();
        for (name, value) in Weights::default().list() {
            assert!(weights.set(name, value + 1.0));
        }
        for ((_, before), (_, after)) in Weights::default().list().iter().zip(weights.list()) {
            assert_eq!(before + 1.0, after);
        }
        assert!(!weights.set("nothing", 1.0));
    }

    #[test]
    fn every_method_is_found_by_its_name() {
        for (name, method) in Method::ALL {
            assert_eq!((Method::named(name), method.name()), (Some(method), name));
        }
        assert_eq!(Method::named("best"), None);
    }
}

//! All constants of the ranking, in one table.

/// Ranking of memories for a text.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Ranking {
    /// Formula.
    pub method: Method,
    /// Constants of the formula.
    pub weights: Weights,
}

/// Formula of a ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// Words in their context, people, times, and meaning where there is a model.
    #[default]
    Fused,
    /// The same without meaning, and not re-ranked.
    Words,
    /// Reciprocal rank fusion of plain BM25 and of the cosine of each memory (Cormack, Clarke and
    /// Büttcher 2009): Σ 1 / (k + rank).
    ReciprocalRank,
    /// Plain BM25 over all words of the query.
    Bm25,
    /// Cosine of each memory; plain BM25 without a model.
    Cosine,
    /// Cosine of each memory together with the one before; plain BM25 without a model.
    WindowCosine,
    /// Plain BM25 plus importance, uses, confidence, tier and recency; with the cosine where there is a
    /// model.
    SixFactor,
    /// The same, re-ranked where there is a cross-encoder.
    SixFactorReranked,
    /// The same without meaning.
    SixFactorWords,
    /// The last without the tier.
    FiveFactor,
    /// Title, tags, importance and last use of memories that hold a word of the query.
    Weighted,
}

impl Method {
    /// All methods with their names.
    pub const ALL: [(&'static str, Method); 11] = [
        ("fused", Method::Fused),
        ("words", Method::Words),
        ("rrf", Method::ReciprocalRank),
        ("bm25", Method::Bm25),
        ("cosine", Method::Cosine),
        ("window-cosine", Method::WindowCosine),
        ("six-factor", Method::SixFactor),
        ("six-factor-reranked", Method::SixFactorReranked),
        ("six-factor-words", Method::SixFactorWords),
        ("five-factor", Method::FiveFactor),
        ("weighted", Method::Weighted),
    ];

    /// Returns the method called `name`.
    pub fn named(name: &str) -> Option<Method> {
        Method::ALL
            .into_iter()
            .find_map(|(known, method)| (known == name).then_some(method))
    }

    /// Returns the name of the method.
    pub fn name(self) -> &'static str {
        Method::ALL
            .into_iter()
            .find_map(|(name, method)| (method == self).then_some(name))
            .expect("all of them have a name")
    }

    /// Returns whether the query is only words, without context, people and times.
    pub(super) fn is_plain(self) -> bool {
        !matches!(self, Method::Fused | Method::Words)
    }

    /// Returns whether it uses vectors.
    pub fn uses_meaning(self) -> bool {
        matches!(
            self,
            Method::Fused
                | Method::ReciprocalRank
                | Method::Cosine
                | Method::WindowCosine
                | Method::SixFactor
                | Method::SixFactorReranked
        )
    }

    /// Returns whether a cross-encoder re-ranks the first hits.
    pub(super) fn reranks(self) -> bool {
        matches!(self, Method::Fused | Method::SixFactorReranked)
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
    /// BM25's k1: saturation of the term frequency.
    k1 = 1.0,
    /// BM25's b: normalization by length.
    b = 0.6,
    /// Weight of a function word.
    stop_word = 0.2,
    /// Weight of a part of an identifier that some memory holds as a whole.
    identifier_part = 0.5,
    /// Weight of a term for the memory after its own.
    before_1 = 0.7,
    /// Weight of a term for the second memory after its own.
    before_2 = 0.4,
    /// Weight of a term for the memory before its own.
    after_1 = 0.4,
    /// Weight of a term for the second memory before its own.
    after_2 = 0.2,
    /// Weight of the BM25 score of the whole episode.
    episode = 0.3,
    /// Factor on neighbours and episode if the query is a list of words.
    keyword_context = 0.5,
    /// Factor on meaning if the query is a list of words.
    keyword_meaning = 0.4,
    /// Number subtracted from the cosine of a long memory for each doubling of its pieces: the best of
    /// many is near by chance.
    pieces = 0.015,
    /// Weight of a date of the query.
    date = 1.3,
    /// Weight of a named person in the context.
    participant = 1.0,
    /// Weight of a named author.
    author = 0.2,
    /// Weight of a named author who speaks of himself, for questions of at most two content words; for
    /// others less.
    of_author = 0.15,
    /// Weight of a title that is the query.
    title = 1.0,
    /// Weight of a memory that holds all words of the query.
    coverage = 0.2,
    /// Minimum share of the query's words for `coverage`.
    coverage_from = 0.8,
    /// Weight of a piece of a very long memory that holds the query's words.
    passage = 0.4,
    /// Number of words above which a memory is very long.
    passage_words = 400.0,
    /// Weight of a word about talking in a chat.
    talk_word = 0.2,
    /// Weight, in a chat, of the cosine of the message.
    message = 1.5,
    /// Weight, in a chat, of the logarithm of the message's words above fifty, as a multiple of fifty.
    length = -0.15,
    /// Weight, in a chat, of a message of the person, for questions only.
    role = 0.2,
    /// Weight, in a chat, of the words of the reply to a message of the person, for questions only.
    replied = 0.2,
    /// Weight, in a chat, of a standing instruction of the person, for questions only.
    instruction = 0.3,
    /// Weight, in a chat, of a preference of the person, for questions only.
    preference = 0.2,
    /// Weight of the mean score of the ten best messages of a chat, for questions only.
    chat = 1.0,
    /// Weight of the mean score of the ten best memories of another namespace, for questions only.
    namespace = 1.0,
    /// Weight of the cosine of the memory itself.
    own = 0.7,
    /// Weight of the cosine of the memory together with the one before.
    window = 0.9,
    /// Weight of the nearness of the query's words to those of a memory, one by one.
    late = 1.4,
    /// Factor on `late` for a short memory in a talk, where what answers need not name what is asked: the memories
    /// around it do. Long ones have none there.
    talk_late = 0.5,
    /// Weight of the question's words that a memory lacks, each by the nearest word that it holds; with a model, for
    /// questions only.
    soft = 0.8,
    /// Weight of the nearness by vectors of words, without a model: of a standard deviation of the cosine
    /// of the memory, and of it together with the one before.
    nearness = 0.04,
    /// Number of words above which a memory's nearness counts less: its cube.
    near_words = 50.0,
    /// Number of words of a memory of which half of its nearness counts.
    near_short = 10.0,
    /// Weight of a standard deviation of the cosine, by either kind of vectors, of a memory without context
    /// if no memory holds a word of the query.
    uncovered = 2.0,
    /// Share of the query's words in one memory from which on nothing is added.
    covered_from = 0.9,
    /// Weight of a memory that asks, for questions only.
    asks = -0.2,
    /// Weight of a memory after one that asks, for questions only.
    answers = 0.1,
    /// Weight of a memory that names something, for questions only.
    names = 0.15,
    /// Weight of a memory with a time, for questions that ask when.
    tells_time = 0.3,
    /// Weight of what the question wants: a name, a place, a reason.
    wanted = 0.3,
    /// Weight of a number, for questions that ask how many.
    number = 0.2,
    /// Weight of the share of the question that the memory before holds, if it asks and is of another
    /// author; for questions only, but not for those that ask when.
    response = 0.25,
    /// Weight of the cosine of that memory before and the question.
    reply = 0.3,
    /// Factor on `of_author`, `names`, `wanted` and `response` without a model: there words must tell more.
    without_model = 0.5,
    /// Weight of a standard deviation of what a cross-encoder says of the first hits, as a multiple of
    /// that of their scores.
    rerank = 0.5,
    /// Maximum number of words of a memory for the last seven.
    prior_words = 100.0,
    /// The k of reciprocal rank fusion.
    rrf_k = 60.0,
    /// Number of the nearest by each vector that are candidates.
    nearest = 200.0,
}

impl Weights {
    /// Returns the weights of plain BM25 over all words, with the usual constants.
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

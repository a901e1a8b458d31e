//! The probability that a hit answers the query, from what is known of it.
//!
//! The scores of one query compare its hits; a relevance can be compared with a limit, so that "nothing is
//! known" is an answer. `benches/relevance.py` fits the coefficients, docs/RETRIEVAL.md says how well they
//! hold.

macro_rules! evidence {
    ($($(#[doc = $doc:literal])+ $name:ident = $weight:literal,)+) => {
        /// Observations on a hit by which its relevance is estimated.
        #[derive(Debug, Clone, Copy, PartialEq, Default)]
        pub struct Evidence {
            $($(#[doc = $doc])+ pub $name: f32,)+
        }

        impl Evidence {
            /// Returns every value with its name.
            pub fn list(&self) -> Vec<(&'static str, f32)> {
                vec![$((stringify!($name), self.$name),)+]
            }

            /// Returns the probability that the hit answers the query, 0–1: a logistic regression.
            pub fn relevance(&self) -> f32 {
                let sum = BIAS $(+ $weight * self.$name)+;
                1.0 / (1.0 + (-sum).exp())
            }
        }
    };
}

const BIAS: f32 = -4.7;

evidence! {
    /// The greatest share of the query's content words, by idf, that one candidate holds, 0–1.
    best_covered = -0.97,
    /// Lexical score, as a share of that of a memory that holds every content word once.
    held = 2.1,
    /// Score less that of the best hit; at most 0.
    gap = 0.8,
    /// Score of the best hit less that of the tenth, or 0 if there is none.
    lead = 0.5,
    /// Standard deviations of the cosine with the query above the mean of all memories.
    near = 0.33,
    /// 1 if the query names a person who does not take part.
    stranger = -2.2,
    /// Natural logarithm of the number of words of the memory.
    length = 0.2,
    /// Natural logarithm of the number of content words of the query.
    asked = 0.12,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_that_leads_and_holds_the_words_is_surer_than_one_far_behind() {
        let best = Evidence {
            best_covered: 1.0,
            held: 1.2,
            gap: 0.0,
            lead: 1.5,
            near: 4.0,
            stranger: 0.0,
            length: 3.0,
            asked: 1.1,
        };
        let behind = Evidence {
            gap: -1.2,
            held: 0.2,
            near: 0.5,
            ..best
        };
        assert!(best.relevance() > 0.3, "{}", best.relevance());
        assert!(behind.relevance() < 0.05, "{}", behind.relevance());
    }

    #[test]
    fn a_person_who_takes_no_part_makes_an_answer_unlikely() {
        let known = Evidence {
            lead: 1.5,
            held: 1.0,
            ..Evidence::default()
        };
        let stranger = Evidence {
            stranger: 1.0,
            ..known
        };
        assert!(stranger.relevance() < known.relevance() / 5.0);
    }
}

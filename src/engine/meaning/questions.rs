//! Cache of the vectors of questions that were asked before.
//!
//! Agents ask the same more than once, and people the same with another filter. Promises: a question is embedded
//! once by each model while it is among the last [`MAX_QUESTIONS`]; longer texts than
//! [`MAX_BYTES`] are not kept, so that the size is bounded; nothing is written to a disk.

use std::sync::Mutex;

use lru::LruCache;

use crate::engine::locked::locked;
use crate::index::Embedded;

/// Maximum number of questions.
const MAX_QUESTIONS: usize = 1_000;

/// Maximum size of a question, in bytes.
const MAX_BYTES: usize = 2_000;

/// Vectors of the last questions, by the name of the model and the text.
pub(in crate::engine::meaning) struct Questions(Mutex<LruCache<(String, String), Embedded>>);

impl Questions {
    pub fn new() -> Questions {
        // Room for all of them is not taken before they are asked.
        Questions(Mutex::new(LruCache::unbounded()))
    }

    /// Returns the vector that `model` made of `text`.
    pub fn get(&self, model: &str, text: &str) -> Option<Embedded> {
        let key = (model.to_owned(), text.to_owned());
        locked(&self.0).get(&key).cloned()
    }

    /// Keeps the vector of `text`.
    pub fn put(&self, text: &str, vector: &Embedded) {
        if text.len() > MAX_BYTES {
            return;
        }
        let mut known = locked(&self.0);
        known.put((vector.model.clone(), text.to_owned()), vector.clone());
        while known.len() > MAX_QUESTIONS {
            known.pop_lru();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(model: &str, number: f32) -> Embedded {
        Embedded {
            model: model.to_owned(),
            vector: vec![number],
            tokens: Vec::new(),
        }
    }

    #[test]
    fn the_question_that_was_not_asked_for_longest_goes_first() {
        let questions = Questions::new();
        for number in 0..MAX_QUESTIONS {
            questions.put(&number.to_string(), &vector("one", 1.0));
        }
        assert!(questions.get("one", "0").is_some());
        questions.put("a new one", &vector("one", 2.0));
        assert_eq!(questions.get("one", "1"), None);
        assert!(questions.get("one", "0").is_some());
        assert_eq!(questions.get("one", "a new one").unwrap().vector, [2.0]);
    }

    #[test]
    fn each_model_has_its_own_and_a_long_text_has_none() {
        let questions = Questions::new();
        questions.put("bread", &vector("one", 1.0));
        questions.put("bread", &vector("other", 2.0));
        assert_eq!(questions.get("one", "bread").unwrap().vector, [1.0]);
        assert_eq!(questions.get("other", "bread").unwrap().vector, [2.0]);
        let long = "x".repeat(MAX_BYTES + 1);
        questions.put(&long, &vector("one", 1.0));
        assert_eq!(questions.get("one", &long), None);
    }
}

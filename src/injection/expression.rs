//! Expressions that are compiled in half of the time that [`regex::Regex`] takes.
//!
//! A command judges 25 texts and ends: one automaton, whose states are made as texts need them, costs
//! less than the several engines between which `regex` chooses. Promises: the same answer as
//! `regex::Regex::is_match`. Where a match lies is left to others.

use regex_automata::Input;
use regex_automata::hybrid::BuildError;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::pool::Pool;

type MakeCache = Box<dyn Fn() -> Cache + Send + Sync>;

/// A compiled expression.
pub(super) struct Expression {
    automaton: DFA,
    /// States that were made so far, for each thread that searches at the same time.
    caches: Pool<Cache, MakeCache>,
}

impl Expression {
    /// Compiles `text`, which has no `\b` of Unicode.
    ///
    /// # Errors
    ///
    /// Fails if it is no expression.
    pub fn new(text: &str) -> Result<Expression, Box<BuildError>> {
        let automaton = DFA::builder()
            .configure(DFA::config().skip_cache_capacity_check(true))
            .thompson(thompson::Config::new().which_captures(WhichCaptures::None))
            .build(text)?;
        let of = automaton.clone();
        let make: MakeCache = Box::new(move || of.create_cache());
        Ok(Expression {
            automaton,
            caches: Pool::new(make),
        })
    }

    /// Returns whether the expression matches somewhere in `text`.
    pub fn is_match(&self, text: &str) -> bool {
        let input = Input::new(text).earliest(true);
        let found = self
            .automaton
            .try_search_fwd(&mut self.caches.get(), &input);
        found
            .expect("no byte ends the search, and the cache may be cleared as often as it is full")
            .is_some()
    }
}

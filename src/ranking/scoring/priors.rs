//! Preferences of a question, whatever its words are: memories of the persons it names, short messages of the person in
//! a chat, texts that have the kind of thing it asks for.

use super::{Scoring, flag};
use crate::ranking::parsed_query::Wanted;
use crate::ranking::parts::Parts;
use crate::ranking::row_reader::RowData;

/// Number of content words up to which a question about a person may be about all that he says of himself.
const ABOUT_AUTHOR: f32 = 2.0;
/// Number of words up to which a message of a chat is short.
const SHORT_MESSAGE: f32 = 50.0;

impl Scoring<'_> {
    /// Sets the parts of a message of a chat.
    pub(super) fn message(&self, here: &RowData, parts: &mut Parts) {
        (parts.message, parts.own, parts.window) = (parts.own, 0.0, 0.0);
        parts.length = (here.words().max(SHORT_MESSAGE) / SHORT_MESSAGE).ln();
        if !self.query.asks {
            return;
        }
        if !self.chats.is_by_person(self.rows.user(here.row)) {
            return;
        }
        parts.role = match (self.query.asks_what_you_said, self.query.asks_summary) {
            (true, _) => -0.5,
            (_, true) => 0.0,
            _ => 1.0,
        };
        let reply = here.row + 1;
        if reply < here.episode.end && self.best_words > 0.0 {
            parts.replied = self.words.scores[reply as usize] / self.best_words;
        }
        let traits = here.features();
        parts.instruction = flag(traits.instructs);
        parts.preference = flag(traits.prefers);
    }

    pub(super) fn people(&self, here: &RowData, parts: &mut Parts) {
        if self.with_named.is_empty() {
            return;
        }
        let author = self.named(here.row);
        let takes_part = if here.episode.is_context {
            self.with_named[here.number as usize]
        } else {
            author > 0
        };
        parts.author = author as f32;
        // Whom a text names it is about, whoever wrote it.
        parts.participant = flag(takes_part || self.naming.contains(here.row));
    }

    pub(super) fn priors(&self, here: &RowData, parts: &mut Parts) {
        if !self.query.asks {
            return;
        }
        if !self.is_short(here.words()) {
            return;
        }
        let traits = here.features();
        let share = match self.cosines {
            Some(_) => 1.0,
            None => self.weights.without_model,
        };
        let has_wanted = match self.query.wanted {
            Some(Wanted::Name) => traits.names,
            Some(Wanted::Place) => traits.has_place,
            Some(Wanted::Reason) => traits.has_reason,
            None => false,
        };
        parts.wanted = share * flag(has_wanted);
        parts.number = flag(self.query.asks_number && traits.has_number);
        if parts.author > 0.0 && traits.is_of_author {
            let asked = self.content.len().max(1) as f32;
            parts.of_author = share * (ABOUT_AUTHOR / asked).min(1.0);
        }
        let (row, episode) = (here.row, here.episode);
        if !episode.is_context {
            return;
        }
        if let Some(asked) = self.asked(row, episode.start) {
            parts.response = share * self.words.coverage[asked as usize];
            let cosines = self.cosines.as_ref();
            parts.reply = cosines.map_or(0.0, |cosines| cosines.own[asked as usize]);
        }
        parts.asks = flag(traits.asks);
        parts.answers = flag(row > episode.start && self.rows.features(row - 1).asks);
        parts.names = share * flag(traits.names);
        parts.tells_time = flag(self.query.asks_when && traits.tells_time);
    }

    /// Returns the most that [`Scoring::priors`] add to the score of a memory with a number of words, without a model and a
    /// named person.
    #[inline]
    pub(super) fn most_priors(&self, words: f32) -> f32 {
        match self.query.asks && self.is_short(words) {
            true => self.most_of_short(),
            false => 0.0,
        }
    }

    fn most_of_short(&self) -> f32 {
        let (query, weights) = (&self.query, &self.weights);
        let share = weights.without_model;
        let most = [
            (query.wanted.is_some(), weights.wanted * share),
            (query.asks_number, weights.number),
            (!query.asks_when, weights.response * share),
            (query.asks_when, weights.tells_time),
            (true, weights.asks),
            (true, weights.answers),
            (true, weights.names * share),
        ];
        most.iter()
            .map(|(is_asked, most)| flag(*is_asked) * most.max(0.0))
            .sum()
    }

    /// Returns the row before, if it asks and is of another author; none for a query that asks when.
    fn asked(&self, row: u32, first: u32) -> Option<u32> {
        if row == first || self.query.asks_when {
            return None;
        }
        let asked = row - 1;
        let is_asked =
            self.rows.features(asked).has_question && self.rows.user(asked) != self.rows.user(row);
        is_asked.then_some(asked)
    }
}

//! How much of the entries an answer has room for.

use crate::dialect::preview;
use crate::dialect::preview::Preview;
use crate::dialect::preview::PreviewWords;

/// One value takes no more than this part of an answer: else a single one could be all of it.
const PART: usize = 10;
/// Estimated number of characters of one token.
const CHARACTERS: usize = 4;

/// What is left of the tokens of an answer.
pub(super) struct TokenBudget {
    whole: usize,
    left: usize,
}

impl TokenBudget {
    pub fn of(tokens: usize) -> TokenBudget {
        TokenBudget {
            whole: tokens,
            left: tokens,
        }
    }

    /// As much of a value as one may take.
    pub fn value(&self, text: &str) -> Preview {
        preview(
            text,
            &PreviewWords::default(),
            self.whole / PART * CHARACTERS,
        )
    }

    /// Whether so many tokens have room; they are taken then.
    pub fn takes(&mut self, tokens: usize) -> bool {
        let has_room = tokens <= self.left;
        if has_room {
            self.left -= tokens;
        }
        has_room
    }
}

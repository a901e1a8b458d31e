//! Token budget of a reply.

use crate::dialect::preview;
use crate::dialect::preview::{Preview, PreviewWords};

/// Divisor of the budget for the maximum size of one value.
const PART: usize = 10;
/// Estimated number of characters of one token.
const CHARACTERS: usize = 4;

/// Number of tokens that remain for a reply.
pub(super) struct TokenBudget {
    whole: usize,
    left: usize,
}

impl TokenBudget {
    /// Returns a budget of `tokens`.
    pub fn of(tokens: usize) -> TokenBudget {
        TokenBudget {
            whole: tokens,
            left: tokens,
        }
    }

    /// Returns the beginning of a value, within the maximum size of one value.
    pub fn value(&self, text: &str) -> Preview {
        preview(
            text,
            &PreviewWords::default(),
            self.whole / PART * CHARACTERS,
        )
    }

    /// Takes tokens from the budget, if enough are left; returns whether they were.
    pub fn takes(&mut self, tokens: usize) -> bool {
        let has_room = tokens <= self.left;
        if has_room {
            self.left -= tokens;
        }
        has_room
    }
}

//! The signs found so far, and how much they weigh together.

/// Weight of one clear sign, which is enough.
pub(super) const CLEAR: u8 = 2;

/// The signs so far.
#[derive(Default)]
pub(super) struct FoundSigns {
    pub(super) weight: u8,
    pub(super) reasons: Vec<&'static str>,
}

impl FoundSigns {
    pub(super) fn add(&mut self, reason: &'static str, weight: u8) {
        self.weight = self.weight.saturating_add(weight);
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
    }

    pub(super) fn reasons(self) -> Vec<&'static str> {
        match self.weight >= CLEAR {
            true => self.reasons,
            false => Vec::new(),
        }
    }
}

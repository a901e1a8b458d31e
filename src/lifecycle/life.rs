//! The constants of a memory's life, as values: what differs between the tool sets is another
//! [`Life`], never a branch.

use chrono::TimeDelta;

use crate::model::Kind;

/// The lives of memories, and the effect of a use.
#[derive(Debug, Clone, PartialEq)]
pub struct Life {
    /// The life of a memory of the tier `short`, from the timestamp on, if no `expires` is stated.
    pub short_life: TimeDelta,
    /// The life of a memory of the tier `mid`.
    pub mid_life: TimeDelta,
    /// The time that a memory of the tier `short` lives after a use, at least.
    pub short_extension: TimeDelta,
    /// As above, of the tier `mid`.
    pub mid_extension: TimeDelta,
    /// When the tier `mid` becomes `long`.
    pub promotion: Promotion,
    /// The confidence that a use adds.
    pub confidence_per_use: f64,
    /// Number of uses that adds 1; 0 for never.
    pub uses_per_importance: u32,
    /// The fall of confidence with time; `None`: it does not fall.
    pub decay: Option<Decay>,
}

/// The condition for a longer life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promotion {
    Never,
    /// Uses on this many different days: what is asked for again and again, not often at once.
    Days(u32),
    /// Number of uses.
    Uses(u32),
}

/// Confidence falls by a factor in each interval, evenly in between.
#[derive(Debug, Clone, PartialEq)]
pub struct Decay {
    pub interval: TimeDelta,
    /// For episodic memories, which age faster.
    pub episodic: f64,
    pub others: f64,
}

impl Default for Life {
    fn default() -> Life {
        Life {
            short_life: TimeDelta::hours(6),
            mid_life: TimeDelta::days(7),
            short_extension: TimeDelta::hours(1),
            mid_extension: TimeDelta::days(1),
            promotion: Promotion::Days(5),
            confidence_per_use: 0.05,
            uses_per_importance: 10,
            decay: None,
        }
    }
}

impl Default for Decay {
    fn default() -> Decay {
        Decay {
            interval: TimeDelta::days(7),
            episodic: 0.95,
            others: 0.99,
        }
    }
}

impl Decay {
    /// Returns the factor of confidence when `elapsed` has gone by.
    pub fn factor(&self, kind: Option<Kind>, elapsed: TimeDelta) -> f64 {
        let factor = match kind {
            Some(Kind::Episodic) => self.episodic,
            _ => self.others,
        };
        let interval = self.interval.num_seconds().max(1) as f64;
        factor.powf(elapsed.num_seconds() as f64 / interval)
    }
}

//! What a memory is *as of now*: whether it lives, how long, how sure and how important it is.
//!
//! Functions of what the file states, of its uses and of a moment; nothing is stored, so reading a
//! memory never changes its file, and no run of any maintenance is needed for a value to be right.
//! Promises: a use never shortens a life and never lowers a value; the order in which uses become
//! known does not matter; what a [`Life`] does not ask for does not happen. Where uses are kept
//! is left to `journal`, what follows from a memory that no longer lives to whoever asks.

mod life;

use chrono::DateTime;
use chrono::NaiveTime;
use chrono::TimeDelta;
use chrono::Utc;

pub use life::Decay;
pub use life::Life;
pub use life::Promotion;

use crate::model::Kind;
use crate::model::Memory;
use crate::model::Tier;
use crate::model::Usage;

/// What counts of a memory's file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stated {
    pub timestamp: DateTime<Utc>,
    pub expires: Option<DateTime<Utc>>,
    pub tier: Option<Tier>,
    pub kind: Option<Kind>,
    pub importance: Option<u8>,
    pub confidence: Option<f64>,
}

impl Stated {
    pub fn of(memory: &Memory) -> Stated {
        Stated {
            timestamp: memory.timestamp.utc(),
            expires: memory.expires.as_ref().map(|expires| expires.utc()),
            tier: memory.tier,
            kind: memory.kind,
            // 0 is no importance of the scale.
            importance: memory.importance.filter(|importance| *importance > 0),
            confidence: memory.confidence,
        }
    }

    /// Whether it lives for ever, whatever its uses.
    pub fn is_permanent(&self) -> bool {
        self.expires.is_none() && matches!(self.tier, None | Some(Tier::Long))
    }
}

/// A memory at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct State {
    /// As stated, or the one that its uses have earned.
    pub tier: Option<Tier>,
    /// From then on it is not current; `None` for never.
    pub expires: Option<DateTime<Utc>>,
    /// 1–10.
    pub importance: u8,
    /// 0–1.
    pub confidence: f64,
}

impl State {
    pub fn is_expired(&self, now: DateTime<Utc>) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// What a memory that states none counts as.
pub const USUAL_IMPORTANCE: u8 = 5;
/// As above.
pub const USUAL_CONFIDENCE: f64 = 1.0;
const MOST_IMPORTANT: u8 = 10;

/// The memory at the moment `now`.
pub fn state(stated: &Stated, usage: &Usage, life: &Life, now: DateTime<Utc>) -> State {
    let tier = tier(stated, usage, life);
    State {
        tier,
        expires: expires(stated, tier, usage, life),
        importance: importance(stated, usage, life),
        confidence: confidence(stated, usage, life, now),
    }
}

fn tier(stated: &Stated, usage: &Usage, life: &Life) -> Option<Tier> {
    let is_earned = match life.promotion {
        Promotion::Never => false,
        Promotion::Days(days) => usage.days().count() >= days as usize,
        Promotion::Uses(uses) => usage.count() >= uses,
    };
    match stated.tier {
        Some(Tier::Mid) if is_earned => Some(Tier::Long),
        tier => tier,
    }
}

/// The later of what is stated, or follows from the tier, and of what the last use has earned.
fn expires(
    stated: &Stated,
    tier: Option<Tier>,
    usage: &Usage,
    life: &Life,
) -> Option<DateTime<Utc>> {
    let (span, extension) = match tier {
        None => return stated.expires,
        // Who has earned the long tier has left its end behind; who states both means both.
        Some(Tier::Long) if stated.tier == tier => return stated.expires,
        Some(Tier::Long) => return None,
        Some(Tier::Short) => (life.short_life, life.short_extension),
        Some(Tier::Mid) => (life.mid_life, life.mid_extension),
    };
    let first = stated.expires.or_else(|| later(stated.timestamp, span))?;
    let extended = usage.last().and_then(|last| later(last, extension));
    Some(extended.map_or(first, |extended| extended.max(first)))
}

/// `None` for later than there is a moment.
fn later(at: DateTime<Utc>, by: TimeDelta) -> Option<DateTime<Utc>> {
    at.checked_add_signed(by)
}

fn importance(stated: &Stated, usage: &Usage, life: &Life) -> u8 {
    let base = stated.importance.unwrap_or(USUAL_IMPORTANCE);
    let earned = match life.uses_per_importance {
        0 => 0,
        uses => usage.count() / uses,
    };
    let sum = u32::from(base).saturating_add(earned);
    // What a file states beyond the scale is left as it is.
    sum.min(u32::from(MOST_IMPORTANT.max(base))) as u8
}

/// Falls with the time, if the policy says so, and rises with each use, day by day.
fn confidence(stated: &Stated, usage: &Usage, life: &Life, now: DateTime<Utc>) -> f64 {
    let mut confidence = stated.confidence.unwrap_or(USUAL_CONFIDENCE);
    let mut since = stated.timestamp;
    let mut fall = |confidence: f64, until: DateTime<Utc>| {
        let elapsed = (until - since).max(TimeDelta::zero());
        since = since.max(until);
        match &life.decay {
            None => confidence,
            Some(decay) => confidence * decay.factor(stated.kind, elapsed),
        }
    };
    for (day, count) in usage.days() {
        confidence = fall(confidence, day.and_time(NaiveTime::MIN).and_utc());
        let risen = confidence + life.confidence_per_use * f64::from(count);
        confidence = risen.min(1.0).max(confidence);
    }
    fall(confidence, now)
}

#[cfg(test)]
mod tests;

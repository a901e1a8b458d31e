//! The state of a memory at one moment: its tier, its end, its importance and its confidence.

use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};

use super::life::{Life, Promotion};
use crate::model::{Kind, Memory, Tier, Usage};

/// The parts of a memory's file that its state depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stated {
    /// Time of the memory.
    pub timestamp: DateTime<Utc>,
    /// Stated time of the last change.
    pub updated: Option<DateTime<Utc>>,
    /// Stated end of life.
    pub expires: Option<DateTime<Utc>>,
    /// Stated tier.
    pub tier: Option<Tier>,
    /// Stated kind.
    pub kind: Option<Kind>,
    /// Stated importance.
    pub importance: Option<u8>,
    /// Stated confidence.
    pub confidence: Option<f64>,
}

impl Stated {
    /// Returns what a memory's file states.
    pub fn of(memory: &Memory) -> Stated {
        Stated {
            timestamp: memory.timestamp.utc(),
            updated: memory.updated().map(|updated| updated.utc()),
            expires: memory.expires.as_ref().map(|expires| expires.utc()),
            tier: memory.tier,
            kind: memory.kind,
            // 0 is no importance of the scale.
            importance: memory.importance.filter(|importance| *importance > 0),
            confidence: memory.confidence,
        }
    }

    /// Returns whether it lives for ever, whatever its uses.
    pub fn is_permanent(&self) -> bool {
        self.expires.is_none() && matches!(self.tier, None | Some(Tier::Long))
    }
}

/// State of a memory at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct State {
    /// Stated tier, or a longer one by its uses.
    pub tier: Option<Tier>,
    /// End, from which on it is not current; `None` for never.
    pub expires: Option<DateTime<Utc>>,
    /// Importance, 1–10.
    pub importance: u8,
    /// Confidence, 0–1.
    pub confidence: f64,
    /// Number of uses.
    pub uses: u32,
    /// Time of the last use.
    pub last_used: Option<DateTime<Utc>>,
    /// When its content was written or changed the last time: as the file states it, and as records of
    /// changes say. The file system's times are none of it: every copy has others.
    pub changed: DateTime<Utc>,
}

impl State {
    /// Returns whether its end has passed.
    pub fn is_expired(&self, now: DateTime<Utc>) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// The importance of a memory that states none.
pub const USUAL_IMPORTANCE: u8 = 5;
/// The confidence of a memory that states none.
pub const USUAL_CONFIDENCE: f64 = 1.0;
const MOST_IMPORTANT: u8 = 10;

/// Maximum distance into the future of an accepted time; a later one comes from a wrong clock.
const AHEAD: TimeDelta = TimeDelta::days(1);

/// Returns the state at the moment `now`. Uses in the future do not count.
pub fn state(stated: &Stated, usage: &Usage, life: &Life, now: DateTime<Utc>) -> State {
    let known = UsesUntil::of(usage, now);
    let tier = tier(stated, &known, life);
    State {
        tier,
        expires: expires(stated, tier, &known, life),
        importance: importance(stated, &known, life),
        confidence: confidence(stated, &known, life, now),
        uses: known.count(),
        last_used: known.last,
        changed: [stated.updated.filter(|at| *at <= most(now)), known.changed]
            .into_iter()
            .flatten()
            .fold(stated.timestamp, DateTime::max),
    }
}

/// The uses up to a moment.
struct UsesUntil {
    days: Vec<(NaiveDate, u32)>,
    last: Option<DateTime<Utc>>,
    restored: Option<DateTime<Utc>>,
    settled: Option<DateTime<Utc>>,
    changed: Option<DateTime<Utc>>,
    tiered: Option<DateTime<Utc>>,
}

/// Returns the latest accepted time.
fn most(now: DateTime<Utc>) -> DateTime<Utc> {
    later(now, AHEAD).unwrap_or(now)
}

impl UsesUntil {
    fn of(usage: &Usage, now: DateTime<Utc>) -> UsesUntil {
        let most = most(now);
        let is_past = |at: &DateTime<Utc>| *at <= most;
        UsesUntil {
            days: usage
                .days()
                .filter(|(day, _)| *day <= most.date_naive())
                .collect(),
            last: usage.last().filter(is_past),
            restored: usage.restored().filter(is_past),
            settled: usage.settled().filter(is_past),
            changed: usage.changed().filter(is_past),
            tiered: usage.tiered().filter(is_past),
        }
    }

    fn count(&self) -> u32 {
        let counts = self.days.iter();
        counts.fold(0, |sum: u32, (_, count)| sum.saturating_add(*count))
    }
}

/// As stated, or earned by uses since then: uses up to the day on which a tier was stated anew are
/// known to whoever stated it.
fn tier(stated: &Stated, known: &UsesUntil, life: &Life) -> Option<Tier> {
    let stated_on = known.tiered.map(|at| at.date_naive());
    let days = known.days.iter();
    let days = days.filter(|(day, _)| stated_on.is_none_or(|stated| stated < *day));
    let is_earned = match life.promotion {
        Promotion::Never => false,
        Promotion::Days(least) => days.count() >= least as usize,
        Promotion::Uses(least) => {
            days.fold(0, |sum: u32, (_, count)| sum.saturating_add(*count)) >= least
        }
    };
    match stated.tier {
        Some(Tier::Mid) if is_earned => Some(Tier::Long),
        tier => tier,
    }
}

/// The later of what is stated, or follows from the tier, and of what the last use has earned. Who
/// was brought back from the archive begins anew, without an end that was over by then.
fn expires(
    stated: &Stated,
    tier: Option<Tier>,
    known: &UsesUntil,
    life: &Life,
) -> Option<DateTime<Utc>> {
    let is_open = |end: &DateTime<Utc>| known.restored.is_none_or(|restored| restored < *end);
    let end = stated.expires.filter(is_open);
    let (span, extension) = match tier {
        None => return end,
        // Who has earned the long tier has left its end behind; who states both means both.
        Some(Tier::Long) if stated.tier == tier => return end,
        Some(Tier::Long) => return None,
        Some(Tier::Short) => (life.short_life, life.short_extension),
        Some(Tier::Mid) => (life.mid_life, life.mid_extension),
    };
    let began = known
        .restored
        .map_or(stated.timestamp, |restored| restored.max(stated.timestamp));
    let first = end.or_else(|| later(began, span))?;
    let extended = known.last.and_then(|last| later(last, extension));
    Some(extended.map_or(first, |extended| extended.max(first)))
}

/// `None` for later than there is a moment.
fn later(at: DateTime<Utc>, by: TimeDelta) -> Option<DateTime<Utc>> {
    at.checked_add_signed(by)
}

fn importance(stated: &Stated, known: &UsesUntil, life: &Life) -> u8 {
    let base = stated.importance.unwrap_or(USUAL_IMPORTANCE);
    let earned = match life.uses_per_importance {
        0 => 0,
        uses => known.count() / uses,
    };
    let sum = u32::from(base).saturating_add(earned);
    // What a file states beyond the scale is left as it is.
    sum.min(u32::from(MOST_IMPORTANT.max(base))) as u8
}

/// Falls with the time, if that is wanted, and rises with each use, day by day. What is stated holds
/// as of the timestamp, or as of when it was settled; uses up to that day are in it.
fn confidence(stated: &Stated, known: &UsesUntil, life: &Life, now: DateTime<Utc>) -> f64 {
    let mut confidence = stated.confidence.unwrap_or(USUAL_CONFIDENCE);
    let mut since = stated
        .timestamp
        .max(known.settled.unwrap_or(stated.timestamp));
    let mut fall = |confidence: f64, until: DateTime<Utc>| {
        let Some(decay) = &life.decay else {
            return confidence;
        };
        let elapsed = (until - since).max(TimeDelta::zero());
        since = since.max(until);
        confidence * decay.factor(stated.kind, elapsed)
    };
    let settled = known.settled.map(|settled| settled.date_naive());
    let days = known.days.iter();
    for (day, count) in days.filter(|(day, _)| settled.is_none_or(|settled| settled < *day)) {
        let day = day.and_time(NaiveTime::MIN).and_utc();
        confidence = fall(confidence, day.min(now));
        let risen = confidence + life.confidence_per_use * f64::from(*count);
        confidence = risen.min(1.0).max(confidence);
    }
    fall(confidence, now)
}

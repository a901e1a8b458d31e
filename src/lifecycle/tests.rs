use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use proptest::prelude::*;

use super::*;
use crate::model::{Kind, Tier, Usage};

fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

/// After all uses of the tests with a calendar.
fn late() -> DateTime<Utc> {
    at("2026-04-01T00:00:00Z")
}

const BORN: &str = "2026-03-01T12:00:00Z";

fn stated(tier: Option<Tier>) -> Stated {
    Stated {
        updated: None,
        timestamp: at(BORN),
        expires: None,
        tier,
        kind: None,
        importance: None,
        confidence: None,
    }
}

fn used(moments: &[&str]) -> Usage {
    let mut usage = Usage::default();
    moments.iter().for_each(|moment| usage.add(at(moment)));
    usage
}

/// Tier, stated end, uses, and when it ends.
type Row<'a> = (
    Option<Tier>,
    Option<&'a str>,
    &'a [&'a str],
    Option<&'a str>,
);

#[test]
fn lives_follow_from_tier_statement_and_use() {
    let table: &[Row<'_>] = &[
        // No tier and no end: for ever, used or not.
        (None, None, &[], None),
        (None, None, &["2026-03-02T00:00:00Z"], None),
        // An end without a tier is a date, and no use moves it.
        (
            None,
            Some("2026-03-05T00:00:00Z"),
            &["2026-03-04T23:00:00Z"],
            Some("2026-03-05T00:00:00Z"),
        ),
        (Some(Tier::Short), None, &[], Some("2026-03-01T18:00:00Z")),
        (Some(Tier::Mid), None, &[], Some("2026-03-08T12:00:00Z")),
        (Some(Tier::Long), None, &[], None),
        // An early use does not shorten the seven days to one.
        (
            Some(Tier::Mid),
            None,
            &["2026-03-01T13:00:00Z"],
            Some("2026-03-08T12:00:00Z"),
        ),
        (
            Some(Tier::Mid),
            None,
            &["2026-03-08T11:00:00Z"],
            Some("2026-03-09T11:00:00Z"),
        ),
        (
            Some(Tier::Short),
            None,
            &["2026-03-01T17:59:00Z"],
            Some("2026-03-01T18:59:00Z"),
        ),
        // A use after the end revives it.
        (
            Some(Tier::Short),
            None,
            &["2026-03-05T00:00:00Z"],
            Some("2026-03-05T01:00:00Z"),
        ),
        // A stated end counts in place of the tier's, and use moves it.
        (
            Some(Tier::Mid),
            Some("2026-03-02T00:00:00Z"),
            &[],
            Some("2026-03-02T00:00:00Z"),
        ),
        (
            Some(Tier::Mid),
            Some("2026-03-02T00:00:00Z"),
            &["2026-03-01T23:00:00Z"],
            Some("2026-03-02T23:00:00Z"),
        ),
        (
            Some(Tier::Long),
            Some("2026-03-02T00:00:00Z"),
            &["2026-03-01T23:00:00Z"],
            Some("2026-03-02T00:00:00Z"),
        ),
    ];
    for (tier, expires, uses, wanted) in table {
        let stated = Stated {
            expires: expires.map(at),
            ..stated(*tier)
        };
        // Long after all of it.
        let now = at("2026-04-01T00:00:00Z");
        let state = state(&stated, &used(uses), &Life::default(), now);
        assert_eq!(
            state.expires,
            wanted.map(at),
            "{tier:?} {expires:?} {uses:?}"
        );
    }
}

#[test]
fn use_on_five_days_earns_the_long_tier_and_hundreds_in_one_do_not() {
    let mid = stated(Some(Tier::Mid));
    let mut busy = Usage::default();
    busy.add_day(NaiveDate::from_ymd_opt(2026, 3, 2).unwrap(), 420);
    busy.at_last(at("2026-03-02T10:00:00Z"));
    let life = Life::default();
    assert_eq!(state(&mid, &busy, &life, late()).tier, Some(Tier::Mid));
    let plain = Life {
        promotion: Promotion::Uses(5),
        ..Life::default()
    };
    assert_eq!(state(&mid, &busy, &plain, late()).tier, Some(Tier::Long));
    let days: Vec<String> = (2..7)
        .map(|day| format!("2026-03-0{day}T10:00:00Z"))
        .collect();
    let days: Vec<&str> = days.iter().map(String::as_str).collect();
    assert_eq!(
        state(&mid, &used(&days[1..]), &life, late()).tier,
        Some(Tier::Mid)
    );
    let earned = state(&mid, &used(&days), &life, late());
    assert_eq!((earned.tier, earned.expires), (Some(Tier::Long), None));
    let never = Life {
        promotion: Promotion::Never,
        ..Life::default()
    };
    assert_eq!(
        state(&mid, &used(&days), &never, late()).tier,
        Some(Tier::Mid)
    );
    // Short is short.
    let short = stated(Some(Tier::Short));
    assert_eq!(
        state(&short, &used(&days), &life, late()).tier,
        Some(Tier::Short)
    );
}

#[test]
fn confidence_and_importance_rise_with_use() {
    let stated = Stated {
        confidence: Some(0.5),
        importance: Some(9),
        ..stated(None)
    };
    let mut usage = Usage::default();
    let values = |usage: &Usage| {
        let state = state(&stated, usage, &Life::default(), late());
        ((state.confidence * 100.0).round() / 100.0, state.importance)
    };
    assert_eq!(values(&usage), (0.5, 9));
    (0..3).for_each(|_| usage.add(at("2026-03-02T00:00:00Z")));
    assert_eq!(values(&usage), (0.65, 9));
    (0..7).for_each(|_| usage.add(at("2026-03-03T00:00:00Z")));
    assert_eq!(values(&usage), (1.0, 10));
    (0..90).for_each(|_| usage.add(at("2026-03-04T00:00:00Z")));
    assert_eq!(values(&usage), (1.0, 10));
}

#[test]
fn a_clock_that_is_ahead_changes_nothing() {
    let life = Life {
        decay: Some(Decay::default()),
        ..Life::default()
    };
    let ahead = used(&["2099-01-01T00:00:00Z", "9999-12-31T00:00:00Z"]);
    for tier in [None, Some(Tier::Short), Some(Tier::Mid)] {
        let stated = stated(tier);
        let wanted = state(&stated, &Usage::default(), &life, late());
        assert_eq!(state(&stated, &ahead, &life, late()), wanted);
    }
}

#[test]
fn who_is_brought_back_begins_anew() {
    let mut usage = Usage::default();
    usage.restored_at(at("2026-03-20T00:00:00Z"));
    let end = |stated: &Stated| state(stated, &usage, &Life::default(), late()).expires;
    assert_eq!(
        end(&stated(Some(Tier::Mid))),
        Some(at("2026-03-27T00:00:00Z"))
    );
    let until = |tier, end: &str| Stated {
        expires: Some(at(end)),
        ..stated(tier)
    };
    assert_eq!(end(&until(None, "2026-03-05T00:00:00Z")), None);
    let open = "2026-03-25T00:00:00Z";
    assert_eq!(end(&until(None, open)), Some(at(open)));
    let over = until(Some(Tier::Short), "2026-03-05T00:00:00Z");
    assert_eq!(end(&over), Some(at("2026-03-20T06:00:00Z")));
}

#[test]
fn confidence_falls_with_the_time_and_not_with_the_runs() {
    let life = Life {
        decay: Some(Decay::default()),
        ..Life::default()
    };
    let episodic = Stated {
        kind: Some(Kind::Episodic),
        ..stated(None)
    };
    let after = |stated: &Stated, days: i64, usage: &Usage| {
        let now = at(BORN) + TimeDelta::days(days);
        state(stated, usage, &life, now).confidence
    };
    let none = Usage::default();
    assert!((after(&episodic, 7, &none) - 0.95).abs() < 1e-9);
    assert!((after(&episodic, 14, &none) - 0.95 * 0.95).abs() < 1e-9);
    assert!((after(&stated(None), 7, &none) - 0.99).abs() < 1e-9);
    // Before it was written there was nothing to fall.
    assert!((after(&episodic, -7, &none) - 1.0).abs() < 1e-9);
    let usage = used(&["2026-03-08T12:00:00Z"]);
    let risen = after(&episodic, 8, &usage);
    assert!(risen > after(&episodic, 8, &none), "{risen}");
}

fn uses() -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec(0..60 * 86_400_i64, 0..40)
}

proptest! {
    /// In any order, and in any way of bringing them together.
    #[test]
    fn the_order_of_uses_does_not_matter(uses in uses(), split in 0..40_usize, days in 0..90_i64) {
        let moment = |seconds: &i64| at(BORN) + TimeDelta::seconds(*seconds);
        let mut one = Usage::default();
        uses.iter().for_each(|use_| one.add(moment(use_)));
        let (mut here, mut there) = (Usage::default(), Usage::default());
        for (place, use_) in uses.iter().enumerate().rev() {
            if place < split { here.add(moment(use_)) } else { there.add(moment(use_)) }
        }
        let (mut first, mut second) = (here.clone(), there.clone());
        first.add_all(&there);
        second.add_all(&here);
        prop_assert_eq!(&first, &one);
        prop_assert_eq!(&second, &one);
        // Summed up by day.
        let mut summed = Usage::default();
        one.days().for_each(|(day, count)| summed.add_day(day, count));
        one.last().into_iter().for_each(|last| summed.at_last(last));
        let life = Life { decay: Some(Decay::default()), ..Life::default() };
        let now = at(BORN) + TimeDelta::days(days);
        for tier in [None, Some(Tier::Short), Some(Tier::Mid), Some(Tier::Long)] {
            let stated = stated(tier);
            prop_assert_eq!(state(&stated, &summed, &life, now), state(&stated, &one, &life, now));
        }
    }

    /// A use never shortens a life and never lowers a value.
    #[test]
    fn a_use_costs_nothing(uses in uses(), more in 0..60 * 86_400_i64, tier in 0..4_usize, ends in prop::option::of(0..60_i64)) {
        let moment = |seconds: i64| at(BORN) + TimeDelta::seconds(seconds);
        let tier = [None, Some(Tier::Short), Some(Tier::Mid), Some(Tier::Long)][tier];
        let stated = Stated {
            expires: ends.map(|days| at(BORN) + TimeDelta::days(days)),
            confidence: Some(0.3),
            ..stated(tier)
        };
        let life = Life { decay: Some(Decay::default()), ..Life::default() };
        let mut usage = Usage::default();
        uses.iter().for_each(|use_| usage.add(moment(*use_)));
        let now = at(BORN) + TimeDelta::days(61);
        let before = state(&stated, &usage, &life, now);
        usage.add(moment(more));
        let after = state(&stated, &usage, &life, now);
        prop_assert!(after.confidence >= before.confidence - 1e-12);
        prop_assert!(after.importance >= before.importance);
        let for_ever = at("2999-01-01T00:00:00Z");
        let end = |state: &State| state.expires.unwrap_or(for_ever);
        prop_assert!(end(&after) >= end(&before));
    }
}

//! Spans of time, as settings and conditions write them.

use chrono::TimeDelta;

/// Returns a number of seconds, minutes, hours, days or weeks: `90m`, `6h`, `7d`.
///
/// # Errors
///
/// Says what the text is instead.
pub fn span(text: &str) -> Result<TimeDelta, String> {
    let wrong = || "no span of time such as 90m, 6h or 7d, up to 100 years".to_owned();
    let text = text.trim();
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return Err(wrong()),
    };
    let number: i64 = text[..text.len() - 1].trim().parse().map_err(|_| wrong())?;
    let total = number.checked_mul(seconds).ok_or_else(wrong)?;
    match total {
        1..=3_155_760_000 => Ok(TimeDelta::seconds(total)),
        _ => Err(wrong()),
    }
}

/// As [`span`] reads it, in the greatest unit that fits.
pub(super) fn written(span: TimeDelta) -> String {
    let seconds = span.num_seconds();
    let units = [(86_400, 'd'), (3_600, 'h'), (60, 'm')];
    let fits = units.iter().find(|(size, _)| seconds % size == 0);
    fits.map_or_else(
        || format!("{seconds}s"),
        |(size, unit)| format!("{}{unit}", seconds / size),
    )
}

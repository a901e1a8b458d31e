//! What values of tables are written as.

use chrono::TimeDelta;

use super::settings::ConfigError;

/// A number of seconds, minutes, hours, days or weeks: `90m`, `6h`, `7d`.
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

pub(super) fn number(text: &str, most: u32) -> Result<u32, String> {
    let number = text.trim().parse().ok().filter(|number| *number <= most);
    number.ok_or_else(|| format!("no whole number from 0 to {most}"))
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim().parse().ok();
    let number = number.filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "no number from 0 to 1".to_owned())
}

/// Says in which table a key stands.
pub(super) fn named(error: ConfigError, name: &'static str) -> ConfigError {
    match error {
        ConfigError::BadValue { origin, what, .. } => ConfigError::BadValue {
            origin,
            key: name,
            what,
        },
        other => other,
    }
}

/// The whole number that `text` is; else what is wrong with it.
pub(super) fn whole(text: &str, least: usize, most: usize) -> Result<usize, String> {
    let number = text.trim().parse().ok();
    let number = number.filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("no whole number from {least} to {most}"))
}

//! Which memories tell of a time that a text asks for.

use chrono::Local;
use chrono::NaiveDate;

use super::Engine;
use super::EngineError;
use super::reading::stem_of;
use crate::model::Filter;
use crate::model::Stem;
use crate::ranking::AskedTime;

/// Holds the day on which something happened that was written down later.
const EVENT_DATE: &str = "metadata.event_date";

impl Engine {
    /// The time that `text` asks for by words such as `last week`, in this machine's time zone.
    pub fn asked_time(&self, text: &str) -> Option<AskedTime> {
        crate::ranking::asked_time(text, &self.clock.now().with_timezone(&Local))
    }

    /// The memories that pass `filter` and are of a time: by their timestamps, or by the
    /// `event_date` in their metadata.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be read.
    pub fn of_time(&self, time: &AskedTime, filter: &Filter) -> Result<Vec<Stem>, EngineError> {
        self.mending(|| {
            let snapshot = self.snapshot()?;
            let written_then = Filter {
                since: filter.since.max(Some(time.since)),
                until: Some(
                    filter
                        .until
                        .map_or(time.until, |until| until.min(time.until)),
                ),
                ..filter.clone()
            };
            let mut names = self.names_of(snapshot.as_ref(), &written_then)?;
            let is_then = |date: &str| {
                let day = date.get(..10).and_then(|day| day.parse::<NaiveDate>().ok());
                day.is_some_and(|day| time.days.contains(&day))
            };
            let holders = snapshot.holders(EVENT_DATE)?.into_iter();
            let happened_then = holders.filter(|(date, _)| is_then(date));
            let mut stems: Vec<Stem> = happened_then.map(|(_, name)| stem_of(&name)).collect();
            if let Some(only) = &filter.stems {
                stems.retain(|stem| only.contains(stem));
            }
            let happened_then = Filter {
                stems: Some(stems),
                ..filter.clone()
            };
            names.extend(self.names_of(snapshot.as_ref(), &happened_then)?);
            names.sort_unstable();
            names.dedup();
            Ok(names.iter().map(|name| stem_of(name)).collect())
        })
    }
}

//! Every setting of the table with its value: of a variable, else of the store's file, else of the
//! user's, else the default.

use chrono::TimeDelta;

use super::environment::Environment;
use super::layer::SettingsLayer;
use super::setting::{ConfigError, Origin, Setting};
use super::table::SettingId;
use super::value::SettingValue;

/// The settings, each in the place of its [`SettingId`].
#[derive(Debug, Clone)]
pub(super) struct SettingValues(Vec<Setting<SettingValue>>);

impl SettingValues {
    /// Reads all of `layers`, best first.
    ///
    /// # Errors
    ///
    /// Fails if a variable has a value of no sense.
    pub fn read(
        environment: &Environment,
        layers: [&SettingsLayer; 2],
    ) -> Result<SettingValues, ConfigError> {
        let values = SettingId::ALL.into_iter().map(|id| {
            if let Some(stated) = of_variable(environment, id)? {
                return Ok(stated);
            }
            for layer in layers {
                if let Some(stated) = layer.stated(id)? {
                    return Ok(stated);
                }
            }
            Ok(usual(id))
        });
        let mut values = SettingValues(values.collect::<Result<_, ConfigError>>()?);
        values.one_promotion(layers);
        Ok(values)
    }

    /// Days and uses are two ways to say what makes a memory permanent: which file says one of them
    /// says both.
    fn one_promotion(&mut self, layers: [&SettingsLayer; 2]) {
        let both = [
            SettingId::LifePromoteAfterDays,
            SettingId::LifePromoteAfterUses,
        ];
        let says = |layer: &&SettingsLayer| both.iter().any(|id| layer.get(*id).is_some());
        if let Some(layer) = layers.into_iter().find(says) {
            for id in both {
                self.0[id as usize] = layer.get(id).unwrap_or_else(|| usual(id));
            }
        }
    }

    /// States another value, which follows from more than the setting itself.
    pub fn put(&mut self, id: SettingId, shown: String, origin: Origin) {
        self.0[id as usize] = Setting::new(SettingValue::Text(shown), origin);
    }

    /// Every setting with its value as text and its origin, in the order of the table.
    pub fn list(&self) -> impl Iterator<Item = (&'static str, String, &Origin)> {
        SettingId::ALL
            .into_iter()
            .zip(&self.0)
            .map(|(id, setting)| {
                let Setting { value, origin } = setting;
                (id.row().name, value.to_string(), origin)
            })
    }

    pub fn origin(&self, id: SettingId) -> Origin {
        self.0[id as usize].origin.clone()
    }

    /// Returns the value as a text, if the setting is set.
    pub fn text(&self, id: SettingId) -> Setting<Option<String>> {
        let setting = &self.0[id as usize];
        let value = match &setting.value {
            SettingValue::Unset => None,
            value => Some(value.to_string()),
        };
        Setting::new(value, setting.origin.clone())
    }

    /// Returns the value as its own type reads it, which takes every text that the table's type takes.
    pub fn parsed<T: std::str::FromStr>(&self, id: SettingId) -> Setting<T>
    where
        T::Err: std::fmt::Debug,
    {
        let text = self.text(id).map(Option::unwrap_or_default);
        text.map(|text| text.parse().expect("the table's type takes no other"))
    }

    pub fn switch(&self, id: SettingId) -> Setting<bool> {
        self.of(id, |value| match value {
            SettingValue::Switch(is_on) => Some(*is_on),
            _ => None,
        })
    }

    pub fn whole(&self, id: SettingId) -> Setting<usize> {
        self.of(id, a_whole)
    }

    /// Returns a whole number, if the setting is set.
    pub fn whole_if_set(&self, id: SettingId) -> Setting<Option<usize>> {
        let setting = &self.0[id as usize];
        Setting::new(a_whole(&setting.value), setting.origin.clone())
    }

    pub fn share(&self, id: SettingId) -> f64 {
        let share = self.of(id, |value| match value {
            SettingValue::Share(share) => Some(*share),
            _ => None,
        });
        share.value
    }

    /// Returns a share, if the setting is set.
    pub fn share_if_set(&self, id: SettingId) -> Option<f64> {
        match &self.0[id as usize].value {
            SettingValue::Share(share) => Some(*share),
            _ => None,
        }
    }

    pub fn span(&self, id: SettingId) -> TimeDelta {
        self.span_or_never(id)
            .expect("the table's type has no word for none")
    }

    /// Returns a span; `None` where the setting says the word for none.
    pub fn span_or_never(&self, id: SettingId) -> Option<TimeDelta> {
        let span = self.of(id, |value| match value {
            SettingValue::Span(span) => Some(Some(*span)),
            SettingValue::Never(_) => Some(None),
            _ => None,
        });
        span.value
    }

    fn of<T>(&self, id: SettingId, read: impl FnOnce(&SettingValue) -> Option<T>) -> Setting<T> {
        let setting = &self.0[id as usize];
        let value = read(&setting.value).expect("it is of the table's type");
        Setting::new(value, setting.origin.clone())
    }
}

fn a_whole(value: &SettingValue) -> Option<usize> {
    match value {
        SettingValue::Whole(number) => Some(*number),
        _ => None,
    }
}

/// Returns the value that a variable states.
///
/// # Errors
///
/// Fails if it has no sense.
pub(super) fn of_variable(
    environment: &Environment,
    id: SettingId,
) -> Result<Option<Setting<SettingValue>>, ConfigError> {
    let row = id.row();
    let Some(Setting { value, origin }) = environment.variable(row.variables) else {
        return Ok(None);
    };
    match row.kind.read(&value) {
        Ok(value) => Ok(Some(Setting::new(value, origin))),
        Err(what) => Err(ConfigError::BadValue {
            origin,
            key: row.name.to_owned(),
            what,
        }),
    }
}

fn usual(id: SettingId) -> Setting<SettingValue> {
    let row = id.row();
    let value = match row.default {
        "" => SettingValue::Unset,
        text => row.kind.read(text).expect("a default is of its type"),
    };
    Setting::new(value, Origin::Default)
}

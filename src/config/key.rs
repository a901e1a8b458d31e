//! The variable that holds a host's key, and its value: the key itself is no setting.

use std::collections::HashMap;

use super::environment::Environment;
use super::setting::{Origin, Setting};
use super::table::SettingId;
use super::values::SettingValues;

/// The settings that decide which variable holds the key.
pub(super) struct KeyVariable<'a> {
    /// The setting that names it.
    pub setting: SettingId,
    /// The provider's usual one.
    pub usual: Option<&'static str>,
    pub endpoint: &'a Setting<Option<String>>,
}

impl KeyVariable<'_> {
    /// Returns the variable; `values` show beside it whether it holds something.
    pub fn variable(
        &self,
        environment: &Environment,
        values: &mut SettingValues,
    ) -> Setting<Option<String>> {
        let mut variable = values.text(self.setting);
        // A key goes to another host than its own only if the user says so.
        if variable.value.is_none() && self.endpoint.value.is_none() {
            variable = Setting::new(self.usual.map(str::to_owned), Origin::Default);
        }
        if let Some(name) = &variable.value {
            let is_set = match held(&variable, &environment.variables) {
                Some(_) => "is set",
                None => "is not set",
            };
            let shown = format!("{name} ({is_set})");
            values.put(self.setting, shown, variable.origin.clone());
        }
        variable
    }
}

/// Returns the key, if the variable called so holds something.
pub(super) fn held(
    name: &Setting<Option<String>>,
    variables: &HashMap<String, String>,
) -> Option<String> {
    let key = variables.get(name.value.as_ref()?)?.trim();
    (!key.is_empty()).then(|| key.to_owned())
}

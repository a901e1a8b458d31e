//! The language model that writes summaries and proposes memories, if any: the user's table `[llm]`.
//!
//! Never from a store's `memdir.toml`: it would decide whom memories are sent to.

use std::collections::HashMap;
use std::time::Duration;

use super::choices::LlmProvider;
use super::environment::Environment;
use super::key::KeyVariable;
use super::setting::Setting;
use super::table::SettingId;
use super::values::SettingValues;

/// All settings of the language model.
#[derive(Debug, Clone)]
pub struct LlmSetting {
    /// Provider of the language model.
    pub provider: Setting<LlmProvider>,
    /// Name of the model.
    pub model: Setting<Option<String>>,
    /// Its address, if not the provider's own.
    pub endpoint: Setting<Option<String>>,
    /// The variable that holds the key.
    pub api_key_env: Setting<Option<String>>,
    /// Maximum time for one answer.
    pub timeout: Duration,
    /// Whether it proposes memories of sessions.
    pub proposals: bool,
}

impl LlmSetting {
    pub(super) fn read(environment: &Environment, values: &mut SettingValues) -> LlmSetting {
        let provider = values.parsed::<LlmProvider>(SettingId::LlmProvider);
        let endpoint = values.text(SettingId::LlmEndpoint);
        let usual = (provider.value == LlmProvider::OpenAi).then_some("OPENAI_API_KEY");
        let key = KeyVariable {
            setting: SettingId::LlmApiKeyEnv,
            usual,
            endpoint: &endpoint,
        };
        let timeout = values.span(SettingId::LlmTimeout);
        let seconds = format!("{}s", timeout.num_seconds());
        values.put(
            SettingId::LlmTimeout,
            seconds,
            values.origin(SettingId::LlmTimeout),
        );
        LlmSetting {
            model: values.text(SettingId::LlmModel),
            api_key_env: key.variable(environment, values),
            timeout: timeout.to_std().unwrap_or_default(),
            proposals: values.switch(SettingId::LlmProposals).value,
            provider,
            endpoint,
        }
    }

    /// Returns the provider's key, if the variable for it holds something. Not kept here, so that nothing
    /// that shows settings can show it.
    pub fn key(&self, variables: &HashMap<String, String>) -> Option<String> {
        super::key::held(&self.api_key_env, variables)
    }
}

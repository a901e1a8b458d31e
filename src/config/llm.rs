//! Which language model writes summaries, if any: the user's table `[llm]`.
//!
//! Never from a store's `memdir.toml`: it would decide whom memories are sent to.

use std::collections::HashMap;
use std::time::Duration;

use super::settings::ConfigError;
use super::settings::Environment;
use super::settings::Origin;
use super::settings::Setting;
use super::settings::optional;
use super::sources::Layer;
use super::sources::Sources;
use super::units::named;
use super::units::span;

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LlmProvider {
    /// Nobody: summaries are made of the memories' own sentences.
    Off,
    Ollama,
    /// Whatever speaks as OpenAI does.
    OpenAi,
}

/// Everything about it.
#[derive(Debug, Clone)]
pub struct LlmSetting {
    pub provider: Setting<LlmProvider>,
    pub model: Setting<Option<String>>,
    /// Where it is asked, if not at the provider's own address.
    pub endpoint: Setting<Option<String>>,
    /// The variable that holds the key.
    pub api_key_env: Setting<Option<String>>,
    /// The most time for one answer.
    pub timeout: Setting<Duration>,
    /// Whether the variable with the key holds something.
    has_key: bool,
}

const TABLE: &str = "llm";
const KEYS: [(&str, &str); 5] = [
    ("provider", "llm.provider"),
    ("model", "llm.model"),
    ("endpoint", "llm.endpoint"),
    ("api_key_env", "llm.api_key_env"),
    ("timeout", "llm.timeout"),
];
const USUAL_KEY: &str = "OPENAI_API_KEY";
const USUAL_TIMEOUT: Duration = Duration::from_secs(120);

impl LlmProvider {
    pub fn as_str(self) -> &'static str {
        match self {
            LlmProvider::Off => "off",
            LlmProvider::Ollama => "ollama",
            LlmProvider::OpenAi => "openai",
        }
    }
}

impl LlmSetting {
    pub(super) fn read(
        environment: &Environment,
        user: &Layer,
        warnings: &mut Vec<String>,
    ) -> Result<LlmSetting, ConfigError> {
        let layer = user.table(TABLE, &KEYS.map(|(key, _)| key), warnings)?;
        let nothing = Layer::default();
        let sources = Sources {
            environment,
            layers: [&layer, &nothing],
        };
        let text = |at: usize| {
            let (key, shown) = KEYS[at];
            let setting = sources.text(key, &[]);
            let setting = setting.map_err(|error| named(error, shown))?;
            Ok::<_, ConfigError>(setting.filter(|setting| !setting.value.trim().is_empty()))
        };
        let wrong = |at: usize, origin: &Origin, what: String| ConfigError::BadValue {
            origin: origin.clone(),
            key: KEYS[at].1,
            what,
        };
        let provider = match text(0)? {
            None => Setting {
                value: LlmProvider::Off,
                origin: Origin::Default,
            },
            Some(Setting { value, origin }) => {
                let all = [LlmProvider::Off, LlmProvider::Ollama, LlmProvider::OpenAi];
                let named = all
                    .into_iter()
                    .find(|one| one.as_str() == value.to_lowercase());
                let none = format!("is `{value}`, which is none of ollama, openai and off");
                let value = named.ok_or_else(|| wrong(0, &origin, none))?;
                Setting { value, origin }
            }
        };
        let endpoint = optional(text(2)?, |endpoint| endpoint);
        let named_key = optional(text(3)?, |name| name);
        let api_key_env = match named_key.value {
            Some(_) => named_key,
            None => Setting {
                // A key goes to another host than its own only if the user says so.
                value: (provider.value == LlmProvider::OpenAi && endpoint.value.is_none())
                    .then(|| USUAL_KEY.to_owned()),
                origin: Origin::Default,
            },
        };
        let timeout = match text(4)? {
            None => Setting {
                value: USUAL_TIMEOUT,
                origin: Origin::Default,
            },
            Some(Setting { value, origin }) => {
                let wrong = |what| wrong(4, &origin, format!("is `{value}`, which is {what}"));
                let time = span(&value).map_err(wrong)?.to_std().unwrap_or_default();
                Setting {
                    value: time,
                    origin,
                }
            }
        };
        Ok(LlmSetting {
            model: optional(text(1)?, |model| model.trim().to_owned()),
            has_key: key(&api_key_env, &environment.variables).is_some(),
            provider,
            endpoint,
            api_key_env,
            timeout,
        })
    }

    /// The provider's key, if the variable for it holds something. Not kept here, so that nothing
    /// that shows settings can show it.
    pub fn key(&self, variables: &HashMap<String, String>) -> Option<String> {
        key(&self.api_key_env, variables)
    }

    /// Every setting with its value as text and its origin; the key itself is none of them.
    pub(super) fn list(&self) -> [(&'static str, String, &Origin); 5] {
        let shown = |setting: &Option<String>| setting.clone().unwrap_or_default();
        let key = match &self.api_key_env.value {
            None => String::new(),
            Some(name) if self.has_key => format!("{name} (is set)"),
            Some(name) => format!("{name} (is not set)"),
        };
        let provider = self.provider.value.as_str().to_owned();
        let timeout = format!("{}s", self.timeout.value.as_secs());
        [
            (KEYS[0].1, provider, &self.provider.origin),
            (KEYS[1].1, shown(&self.model.value), &self.model.origin),
            (
                KEYS[2].1,
                shown(&self.endpoint.value),
                &self.endpoint.origin,
            ),
            (KEYS[3].1, key, &self.api_key_env.origin),
            (KEYS[4].1, timeout, &self.timeout.origin),
        ]
    }
}

fn key(name: &Setting<Option<String>>, variables: &HashMap<String, String>) -> Option<String> {
    let key = variables.get(name.value.as_ref()?)?.trim();
    (!key.is_empty()).then(|| key.to_owned())
}

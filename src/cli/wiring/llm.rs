//! From settings to a language model, and what it is asked for.

use std::cell::Cell;
use std::sync::Arc;

use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::Context;
use crate::config::LlmProvider;
use crate::dialect::Assistant;
use crate::engine::{Engine, Proposed, ops};
use crate::fetch::{ApiKey, FetchClient, RequestLimits, Url};
use crate::llm::{Llm, LlmError, LlmProtocol, LlmSettings, SourceNote};
use crate::model::Memory;
use crate::secrets;

/// Has the model of the settings write what new memories of the plan say, if the settings name
/// one. What it cannot write stays as it was proposed.
pub fn write_summaries(
    context: &mut Context,
    engine: &Engine,
    proposed: &mut Proposed,
) -> Result<(), Failure> {
    let Some(llm) = open(context)? else {
        return Ok(());
    };
    if !proposed.plan.proposals.iter().any(|one| one.is_summary) {
        return Ok(());
    }
    ops::check_plan(engine, proposed)?;
    context.output.note(llm.notice());
    let length = context.config.maintenance.compaction.budget;
    let is_gone = Cell::new(false);
    let failures = proposed.write_summaries(|_, sources| {
        // Nobody waits for a host again that has just not answered.
        if is_gone.get() {
            return Err(None);
        }
        let notes: Vec<SourceNote> = sources.iter().map(|memory| note(memory)).collect();
        llm.summarize(&notes, length).map_err(|error| {
            is_gone.set(matches!(error, LlmError::Fetch(_)));
            Some(error)
        })
    });
    if let Some(error) = failures.iter().flatten().next() {
        let what = match failures.len() {
            1 => "a summary was made of sentences of its sources".to_owned(),
            many => format!("{many} summaries were made of sentences of their sources"),
        };
        tracing::warn!("{what}: {error}");
    }
    Ok(())
}

/// Returns the model of the settings as tools use it, if the settings name one.
pub fn assistant(context: &Context) -> Result<Option<Arc<dyn Assistant>>, Failure> {
    let Some(llm) = open(context)? else {
        return Ok(None);
    };
    tracing::info!("{}", llm.notice());
    let length = context.config.maintenance.compaction.budget;
    Ok(Some(Arc::new(LlmAssistant { llm, length })))
}

/// Returns the model of the settings that proposes memories of sessions, if the settings want one to.
pub fn for_proposals(context: &Context) -> Result<Option<Llm>, Failure> {
    match context.config.llm.proposals {
        true => open(context),
        false => Ok(None),
    }
}

/// A language model that is asked while agents work. Texts are sent without credentials.
struct LlmAssistant {
    llm: Llm,
    /// Length of a summary in characters.
    length: usize,
}

impl Assistant for LlmAssistant {
    fn name(&self) -> String {
        self.llm.model().to_owned()
    }

    fn expand(&self, query: &str) -> Result<Vec<String>, String> {
        said(self.llm.expand(&secrets::redact(query)))
    }

    fn tags(&self, title: &str, text: &str) -> Result<Vec<String>, String> {
        let text = secrets::redact(&format!("{title}\n{text}"));
        said(self.llm.tags(&text))
    }

    fn contradict(&self, one: &str, other: &str) -> Result<(bool, String), String> {
        let (one, other) = (secrets::redact(one), secrets::redact(other));
        said(self.llm.contradict(&one, &other))
    }

    fn summarize(&self, texts: &[String]) -> Result<String, String> {
        let notes: Vec<SourceNote> = texts
            .iter()
            .map(|text| SourceNote {
                day: String::new(),
                text: secrets::redact(text),
            })
            .collect();
        said(self.llm.summarize(&notes, self.length))
    }
}

fn said<T>(answer: Result<T, LlmError>) -> Result<T, String> {
    answer.map_err(|error| error.to_string())
}

fn open(context: &Context) -> Result<Option<Llm>, Failure> {
    let settings = &context.config.llm;
    let protocol = match settings.provider.value {
        LlmProvider::Off => return Ok(None),
        LlmProvider::Ollama => LlmProtocol::Ollama,
        LlmProvider::OpenAi => LlmProtocol::OpenAi,
    };
    let provider = settings.provider.value.as_str();
    let unusable = || Failure::new(format!("{provider} cannot be used"));
    let Some(model) = settings.model.value.clone() else {
        return Err(unusable().hint("Name a model: `model` in [llm] of the settings."));
    };
    let endpoint = settings.endpoint.value.as_deref().map(Url::parse);
    let endpoint = endpoint
        .transpose()
        .map_err(|error| unusable().because(error))?;
    let key = settings.key(&context.environment.variables);
    if key.is_none() && endpoint.is_none() && protocol == LlmProtocol::OpenAi {
        let variable = settings.api_key_env.value.as_deref().unwrap_or_default();
        return Err(unusable().hint(format!("Its key is to be in the variable {variable}.")));
    }
    // A machine without a graphics card thinks long before its first word.
    let limits = RequestLimits {
        silence: settings.timeout,
        ..RequestLimits::default()
    };
    let client = FetchClient::new(&context.environment.variables, limits);
    let settings = LlmSettings {
        protocol,
        endpoint,
        model,
        key: key.map(ApiKey::new),
        deadline: settings.timeout,
    };
    let llm = Llm::new(settings, client).map_err(|error| unusable().because(error))?;
    Ok(Some(llm))
}

/// Returns the text of a memory that is sent: without credentials.
fn note(memory: &Memory) -> SourceNote {
    let title = memory.title.as_deref().map(|title| format!("{title}\n"));
    let text = title.unwrap_or_default() + &memory.content;
    SourceNote {
        day: memory.timestamp.date().to_string(),
        text: secrets::redact(&text),
    }
}

//! Converts a dialect's resources and prompts to the protocol's types.

use rmcp::model::{ErrorData, GetPromptResult};
use rmcp::model::{Prompt as ListedPrompt, Resource as ListedResource};
use rmcp::model::{PromptArgument, PromptMessage, ReadResourceResult};
use rmcp::model::{ResourceContents, ResourceTemplate, Role};
use serde_json::json;

use crate::dialect::{Arguments, Call, Dialect, JsonObject, Prompt, Resource, ToolError};

/// Lists the resources that stand for one thing each.
pub(super) fn listed(resources: &[Resource]) -> Vec<ListedResource> {
    let single = resources.iter().filter(|one| !one.is_template());
    let listed = single.map(|one| {
        ListedResource::new(one.uri, one.name)
            .with_title(one.title)
            .with_description(one.description)
            .with_mime_type(one.mime)
    });
    listed.collect()
}

/// Lists the templates, which stand for many resources each.
pub(super) fn templates(resources: &[Resource]) -> Vec<ResourceTemplate> {
    let many = resources.iter().filter(|one| one.is_template());
    let listed = many.map(|one| {
        ResourceTemplate::new(one.uri, one.name)
            .with_title(one.title)
            .with_description(one.description)
            .with_mime_type(one.mime)
    });
    listed.collect()
}

/// Returns the resource that `uri` names, and the id in it.
pub(super) fn named<'d, 'u>(
    dialect: &'d dyn Dialect,
    uri: &'u str,
) -> Option<(&'d Resource, &'u str)> {
    let resources = dialect.resources().iter();
    resources
        .filter_map(|one| one.id_in(uri).map(|id| (one, id)))
        .next()
}

/// Reads the resource that `uri` names, and returns its lifetime in milliseconds.
pub(super) fn read(
    dialect: &dyn Dialect,
    call: &Call<'_>,
    uri: &str,
) -> Result<(ReadResourceResult, u64), ErrorData> {
    let (resource, id) = named(dialect, uri).ok_or_else(|| missing(uri))?;
    let text = (resource.read)(call, id)
        .map_err(|error| ErrorData::internal_error(error.message(), None))?
        .ok_or_else(|| missing(uri))?;
    let contents = ResourceContents::text(text, uri).with_mime_type(resource.mime);
    Ok((ReadResourceResult::new(vec![contents]), resource.ttl_ms))
}

/// Returns the error for a `uri` that names no resource.
pub(super) fn missing(uri: &str) -> ErrorData {
    // Cut, because nothing else bounds what a client made up.
    let uri = format!("{uri:.200}");
    let message = format!("there is no resource {uri}");
    ErrorData::resource_not_found(message, Some(json!({"uri": uri})))
}

/// Lists the prompts.
pub(super) fn listed_prompts(prompts: &[Prompt]) -> Vec<ListedPrompt> {
    let listed = prompts.iter().map(|prompt| {
        let arguments = prompt.parameters.iter().map(|parameter| {
            PromptArgument::new(parameter.name)
                .with_description(parameter.about)
                .with_required(parameter.is_required)
        });
        let arguments: Vec<_> = arguments.collect();
        let arguments = Some(arguments).filter(|arguments| !arguments.is_empty());
        ListedPrompt::new(prompt.name, Some(prompt.description), arguments).with_title(prompt.title)
    });
    listed.collect()
}

/// Returns the text of the prompt called `name`.
pub(super) fn prompted(
    dialect: &dyn Dialect,
    call: &Call<'_>,
    name: &str,
    values: JsonObject,
) -> Result<GetPromptResult, ErrorData> {
    let prompts = dialect.prompts();
    let Some(prompt) = prompts.iter().find(|prompt| prompt.name == name) else {
        let names: Vec<_> = prompts.iter().map(|prompt| prompt.name).collect();
        let names = names.join(", ");
        let message = format!("there is no prompt `{name:.64}`, the prompts are: {names}");
        return Err(ErrorData::invalid_params(message, None));
    };
    let arguments = Arguments::new(values, prompt.parameters).map_err(ToolError::from);
    let text = arguments
        .and_then(|arguments| (prompt.run)(call, &arguments))
        .map_err(|error| match &error {
            ToolError::Engine(_) => ErrorData::internal_error(error.message(), None),
            _ => ErrorData::invalid_params(error.message(), None),
        })?;
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description(prompt.description))
}

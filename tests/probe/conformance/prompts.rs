//! The suite's prompts.

use rmcp::model::{
    ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult, InputRequiredResult,
};
use serde_json::{Value, json};

use super::fixtures::{typed, whole};
use super::lists::PNG;
use super::tools::elicitation;

pub fn prompt(request: GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    let arguments = request.arguments.unwrap_or_default();
    let argument = |name: &str| match arguments.get(name).and_then(Value::as_str) {
        Some(value) => Ok(value.to_owned()),
        None => Err(ErrorData::invalid_params(format!("no {name}"), None)),
    };
    let text = |text: &str| json!({"type": "text", "text": text});
    let contents = match request.name.as_str() {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1")?, argument("arg2")?);
            let said = format!("Prompt with arguments: arg1='{first}', arg2='{second}'");
            vec![text(&said)]
        }
        "test_prompt_with_embedded_resource" => {
            let resource = json!({
                "uri": argument("resourceUri")?,
                "mimeType": "text/plain",
                "text": "Embedded resource content for testing.",
            });
            vec![
                json!({"type": "resource", "resource": resource}),
                text("Please process the embedded resource above."),
            ]
        }
        "test_prompt_with_image" => vec![
            json!({"type": "image", "data": PNG, "mimeType": "image/png"}),
            text("Please analyze the image above."),
        ],
        "test_input_required_result_prompt" => {
            let answers = request.input_responses.unwrap_or_default();
            let context = answers.get("user_context");
            match context.and_then(|answer| answer["content"]["context"].as_str()) {
                Some(context) => vec![text(&format!("With the context {context}."))],
                None => {
                    let asked = elicitation("What context should the prompt use?", "context");
                    let asked = typed(json!({"user_context": asked}))?;
                    return Ok(InputRequiredResult::from_input_requests(asked).into());
                }
            }
        }
        other => {
            let message = format!("there is no prompt {other:.64}");
            return Err(ErrorData::invalid_params(message, None));
        }
    };
    let messages = contents.into_iter();
    let messages = messages.map(|content| json!({"role": "user", "content": content}));
    let messages: Vec<_> = messages.collect();
    let result: GetPromptResult = whole(json!({"messages": messages}))?;
    Ok(result.into())
}

//! [LoCoMo](https://github.com/snap-research/locomo): long conversations of two people, with
//! questions and the turns that answer them.

use std::collections::BTreeMap;

use chrono::{NaiveDateTime, TimeDelta};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{EvalQuestion, Loaded};

#[derive(Deserialize)]
struct Sample {
    sample_id: String,
    /// `session_1` with its turns, `session_1_date_time`, and more that is not needed.
    conversation: BTreeMap<String, Value>,
    qa: Vec<Qa>,
}

#[derive(Deserialize)]
struct Qa {
    question: String,
    #[serde(default)]
    evidence: Vec<String>,
    category: u8,
}

#[derive(Deserialize)]
struct Turn {
    speaker: String,
    dia_id: String,
    text: String,
    #[serde(default)]
    blip_caption: Option<String>,
}

/// Reads `locomo10.json`: every turn a memory, a minute after the one before; every question with
/// evidence a question.
///
/// # Errors
///
/// Fails if the text is no such file, and says where it is not.
pub fn locomo(text: &str) -> Result<Loaded, String> {
    let samples: Vec<Sample> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut loaded = Loaded::default();
    for sample in samples {
        let scope = &sample.sample_id;
        for (key, value) in &sample.conversation {
            if key.starts_with("session_") && value.is_array() {
                let at = sample.conversation.get(&format!("{key}_date_time"));
                let at = at.and_then(Value::as_str).unwrap_or_default();
                session(&mut loaded, scope, value, at)
                    .map_err(|error| format!("{scope}, {key}: {error}"))?;
            }
        }
        for (number, qa) in sample.qa.into_iter().enumerate() {
            // Some name several turns in one text.
            let evidence = qa
                .evidence
                .iter()
                .flat_map(|one| one.split([';', ' ', ',']));
            let relevant_ids: Vec<String> = evidence
                .filter(|id| !id.is_empty())
                .map(|id| format!("{scope}/{id}"))
                .filter(|id| loaded.ids.contains(id))
                .collect();
            if relevant_ids.is_empty() {
                continue;
            }
            loaded.questions.push(EvalQuestion {
                qid: format!("{scope}/q{number}"),
                query: qa.question,
                relevant_ids,
                kind: kind(qa.category).to_owned(),
                scope: Some(scope.clone()),
            });
        }
    }
    Ok(loaded)
}

fn session(loaded: &mut Loaded, scope: &str, turns: &Value, at: &str) -> Result<(), String> {
    let turns: Vec<Turn> = Deserialize::deserialize(turns).map_err(|e| e.to_string())?;
    let start = NaiveDateTime::parse_from_str(at, "%I:%M %P on %d %B, %Y")
        .map_err(|error| format!("`{at}` is no time: {error}"))?;
    for (minutes, turn) in (0_i64..).zip(turns) {
        let text = match turn.blip_caption {
            Some(caption) => format!("{} [shared image: {caption}]", turn.text),
            None => turn.text,
        };
        let id = format!("{scope}/{}", turn.dia_id);
        let timestamp = start + TimeDelta::minutes(minutes);
        loaded.add(
            &id,
            &json!({
                "id": id,
                "timestamp": timestamp.format("%Y-%m-%dT%H:%M:%S").to_string(),
                "user": turn.speaker,
                "agent": "chat",
                "text": text,
                "scope": scope,
            }),
        );
    }
    Ok(())
}

/// Returns the kind that a number stands for, by the paper's evaluation code.
fn kind(category: u8) -> &'static str {
    match category {
        1 => "multi-hop",
        2 => "temporal",
        3 => "open-domain",
        4 => "single-hop",
        5 => "adversarial",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_become_memories_and_evidence_becomes_answers() {
        let text = r#"[{"sample_id":"c1","conversation":{"speaker_a":"Ana","speaker_b":"Ben",
            "session_1_date_time":"1:56 pm on 8 May, 2023","session_1":[
              {"speaker":"Ana","dia_id":"D1:1","text":"Hi!"},
              {"speaker":"Ben","dia_id":"D1:2","text":"Look.","blip_caption":"a photo of a dog"}]},
            "qa":[{"question":"What did Ben show?","answer":"a dog","evidence":["D1:2; D1:1"],"category":4},
                  {"question":"Why?","answer":1,"evidence":[],"category":3}]}]"#;
        let loaded = locomo(text).unwrap();
        let lines: Vec<Value> = loaded
            .corpus
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect();
        assert_eq!(lines[1]["timestamp"], "2023-05-08T13:57:00");
        assert_eq!(lines[1]["text"], "Look. [shared image: a photo of a dog]");
        assert_eq!(lines[1]["user"], "Ben");
        let [question] = loaded.questions.as_slice() else {
            panic!("one question has evidence");
        };
        assert_eq!(question.relevant_ids, ["c1/D1:2", "c1/D1:1"]);
        assert_eq!(
            (question.kind.as_str(), question.scope.as_deref()),
            ("single-hop", Some("c1"))
        );
        assert!(locomo("{}").is_err());
        assert!(
            locomo(&text.replace("1:56 pm", "noon"))
                .unwrap_err()
                .contains("c1, session_1")
        );
    }
}

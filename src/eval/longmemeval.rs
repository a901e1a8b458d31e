//! [LongMemEval](https://github.com/xiaowu0162/LongMemEval): questions to an assistant, each with a
//! haystack of its own sessions.

use chrono::NaiveDateTime;
use serde::Deserialize;
use serde_json::json;

use super::{EvalQuestion, Loaded};

#[derive(Deserialize)]
struct Item {
    question_id: String,
    question_type: String,
    question: String,
    haystack_session_ids: Vec<String>,
    haystack_dates: Vec<String>,
    haystack_sessions: Vec<Vec<Turn>>,
    answer_session_ids: Vec<String>,
}

#[derive(Deserialize)]
struct Turn {
    role: String,
    content: String,
}

/// Reads `longmemeval_s.json` and its like: every session a memory in the namespace of its
/// question, so that only the scoped figures mean something. Questions without an answer in the
/// haystack (abstention) are left out, as they are in the published retrieval figures.
///
/// # Errors
///
/// Fails if the text is no such file, and says where it is not.
pub fn longmemeval(text: &str) -> Result<Loaded, String> {
    let items: Vec<Item> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut loaded = Loaded::default();
    for item in items {
        let scope = item.question_id;
        if scope.ends_with("_abs") {
            continue;
        }
        let sessions = item.haystack_session_ids.iter().zip(&item.haystack_dates);
        for ((session, date), turns) in sessions.zip(&item.haystack_sessions) {
            let at = NaiveDateTime::parse_from_str(date, "%Y/%m/%d (%a) %H:%M")
                .map_err(|error| format!("{scope}: `{date}` is no time: {error}"))?;
            let lines: Vec<String> = turns
                .iter()
                .map(|turn| format!("{}: {}", turn.role, turn.content))
                .collect();
            let id = format!("{scope}/{session}");
            // Some haystacks hold a session twice.
            if loaded.ids.contains(&id) {
                continue;
            }
            loaded.add(
                &id,
                &json!({
                    "id": id,
                    "timestamp": at.format("%Y-%m-%dT%H:%M:%S").to_string(),
                    "user": "user",
                    "agent": "assistant",
                    "text": lines.join("\n"),
                    "scope": scope,
                }),
            );
        }
        let ids = item.answer_session_ids.iter();
        loaded.questions.push(EvalQuestion {
            qid: scope.clone(),
            query: item.question,
            relevant_ids: ids.map(|session| format!("{scope}/{session}")).collect(),
            kind: item.question_type,
            scope: Some(scope),
        });
    }
    Ok(loaded)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn each_question_has_a_haystack_of_its_own() {
        let text = r#"[{"question_id":"q1","question_type":"single-session-user","question":"Which dog?",
            "answer":"x","question_date":"2023/05/30 (Tue) 23:40","haystack_session_ids":["s1","s2","s1"],
            "haystack_dates":["2023/05/20 (Sat) 02:21","2023/05/21 (Sun) 10:00","2023/05/20 (Sat) 02:21"],
            "haystack_sessions":[[{"role":"user","content":"A poodle.","has_answer":true},
              {"role":"assistant","content":"Nice."}],[{"role":"user","content":"Rain."}],[]],
            "answer_session_ids":["s1"]},
            {"question_id":"q2_abs","question_type":"x","question":"?","haystack_session_ids":[],
            "haystack_dates":[],"haystack_sessions":[],"answer_session_ids":[]}]"#;
        let loaded = longmemeval(text).unwrap();
        let lines: Vec<Value> = loaded
            .corpus
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["text"], "user: A poodle.\nassistant: Nice.");
        assert_eq!(
            (&lines[0]["timestamp"], &lines[0]["scope"]),
            (&json!("2023-05-20T02:21:00"), &json!("q1"))
        );
        assert_eq!(loaded.questions.len(), 1);
        assert_eq!(loaded.questions[0].relevant_ids, ["q1/s1"]);
        assert!(longmemeval(&text.replace("(Sat)", "(Mon)")).is_err());
    }
}

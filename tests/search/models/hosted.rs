//! A model on a host: what is sent, what comes back, and what never gets out.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use memdir::embed::{EmbedError, Embedder, EmbeddingProtocol, Hosted, HostedSettings};
use memdir::fetch::{ApiKey, FetchClient, RequestLimits, Url};
use serde_json::{Value, json};

use crate::support::fake_host::{Reply, Request, Server};

const KEY: &str = "sk-test-0123456789";

fn hosted(server: &Server) -> Hosted {
    with(server, |_| {})
}

fn with(server: &Server, change: impl FnOnce(&mut HostedSettings)) -> Hosted {
    let mut settings = HostedSettings {
        protocol: EmbeddingProtocol::OpenAi,
        endpoint: Some(Url::parse(&server.url("/v1")).unwrap()),
        model: "model-x".to_owned(),
        dimensions: Some(2),
        query_prefix: String::new(),
        passage_prefix: String::new(),
        max_tokens: 512,
        key: Some(ApiKey::new(KEY)),
    };
    change(&mut settings);
    let limits = RequestLimits {
        silence: Duration::from_secs(10),
        tries: 3,
        pause: Duration::from_millis(1),
        ..RequestLimits::default()
    };
    Hosted::new(settings, FetchClient::new(&HashMap::new(), limits)).unwrap()
}

/// The vector of a text in these tests: its length and its first letter.
fn vector(text: &Value) -> Value {
    let text = text.as_str().unwrap();
    let first = text.chars().next().map_or(0, |c| c as u32);
    json!([text.chars().count(), first])
}

/// What a host answers that does all right.
fn answer(request: &Request) -> Value {
    let texts = request.json()["input"].as_array().unwrap().clone();
    let data = texts
        .iter()
        .enumerate()
        .map(|(at, text)| json!({"object": "embedding", "index": at, "embedding": vector(text)}));
    json!({"object": "list", "data": data.collect::<Vec<_>>(), "model": "model-x"})
}

fn right(request: &Request) -> Reply {
    Reply::json(&answer(request))
}

#[track_caller]
fn points_at(vector: &[f32], x: f32, y: f32) {
    let length = x.hypot(y);
    let near = |a: f32, b: f32| (a - b).abs() < 1e-6;
    assert!(
        near(vector[0], x / length) && near(vector[1], y / length),
        "{vector:?}"
    );
}

#[track_caller]
fn unusable(error: EmbedError) -> String {
    match error {
        EmbedError::Unusable(said) => said,
        other => panic!("it may be better later: {other}"),
    }
}

#[track_caller]
fn failed(error: EmbedError) -> String {
    match error {
        EmbedError::Failed(said) => said,
        other => panic!("it will never be better: {other}"),
    }
}

#[test]
fn a_question_and_texts_are_asked_as_openai_wants_it() {
    let server = Server::start(right);
    let hosted = with(&server, |s| {
        s.query_prefix = "q: ".to_owned();
        s.passage_prefix = "p: ".to_owned();
    });
    points_at(&hosted.query("where?").unwrap(), 9.0, f32::from(b'q'));
    let found = hosted.passages(&["one", "", "three"]).unwrap();
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0, 1]);
    points_at(&found[2][0], 8.0, f32::from(b'p'));
    let asked = server.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(
        (asked[0].method.as_str(), asked[0].path.as_str()),
        ("POST", "/v1/embeddings")
    );
    assert_eq!(asked[0].headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(
        asked[1].json(),
        json!({"model": "model-x", "input": ["p: one", "p: three"], "dimensions": 2})
    );
}

#[test]
fn voyage_is_told_what_is_a_question() {
    let server = Server::start(right);
    let hosted = with(&server, |s| s.protocol = EmbeddingProtocol::Voyage);
    hosted.query("where?").unwrap();
    hosted.passages(&["here"]).unwrap();
    let asked: Vec<Value> = server.asked().iter().map(Request::json).collect();
    assert_eq!(
        asked,
        [
            json!({"model": "model-x", "input": ["where?"], "input_type": "query", "output_dimension": 2}),
            json!({"model": "model-x", "input": ["here"], "input_type": "document", "output_dimension": 2}),
        ]
    );
}

#[test]
fn nothing_is_sent_without_words() {
    let server = Server::start(right);
    let hosted = hosted(&server);
    assert_eq!(
        hosted.passages(&["", " - "]).unwrap(),
        [Vec::<Vec<f32>>::new(), vec![]]
    );
    assert_eq!(hosted.query("?!"), Err(EmbedError::NoWords));
    assert!(server.asked().is_empty());
}

#[test]
fn many_texts_are_asked_for_in_batches() {
    let server = Server::start(right);
    let texts: Vec<String> = (1..=200).map(|n| "x".repeat(n)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let found = hosted(&server).passages(&texts).unwrap();
    for (at, vectors) in found.iter().enumerate() {
        points_at(&vectors[0], (at + 1) as f32, f32::from(b'x'));
    }
    let count = |request: &Request| request.json()["input"].as_array().unwrap().len();
    assert_eq!(
        server.asked().iter().map(count).collect::<Vec<_>>(),
        [96, 96, 8]
    );
}

#[test]
fn a_long_text_goes_in_pieces_that_overlap() {
    let server = Server::start(right);
    let text: Vec<String> = (0..100).map(|n| format!("word{n:03}")).collect();
    let text = text.join(" ");
    let found = with(&server, |s| s.max_tokens = 100)
        .passages(&[&text, "short"])
        .unwrap();
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [3, 1]);
    let sent = server.asked()[0].json();
    let (first, second) = (
        sent["input"][0].as_str().unwrap(),
        sent["input"][1].as_str().unwrap(),
    );
    assert!(first.chars().count() <= 300);
    assert!(first.ends_with(second.split(' ').next().unwrap()) || first.contains(&second[..16]));
}

#[test]
fn shuffled_answers_are_put_in_order() {
    let server = Server::start(|request| {
        let mut answer = answer(request);
        answer["data"].as_array_mut().unwrap().reverse();
        Reply::json(&answer)
    });
    let found = hosted(&server).passages(&["a", "bb", "ccc"]).unwrap();
    for (at, letter) in b"abc".iter().enumerate() {
        points_at(&found[at][0], (at + 1) as f32, f32::from(*letter));
    }
}

#[test]
fn wrong_answers_are_not_taken() {
    type Change = fn(&mut Vec<Value>);
    let cases: [(Change, &str); 5] = [
        (|data| drop(data.pop()), "1 vectors for 2 texts"),
        (|data| data.push(data[0].clone()), "3 vectors for 2 texts"),
        (
            |data| data[1]["index"] = json!(0),
            "two vectors for one text",
        ),
        (
            |data| data[1]["index"] = json!(7),
            "an index that is no text's",
        ),
        (
            |data| data[1]["embedding"][0] = json!(null),
            "without a direction",
        ),
    ];
    for (change, expected) in cases {
        let server = Server::start(move |request| {
            let mut answer = answer(request);
            change(answer["data"].as_array_mut().unwrap());
            Reply::json(&answer)
        });
        let said = failed(hosted(&server).passages(&["a", "b"]).unwrap_err());
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn vectors_of_another_size_need_another_setting() {
    let server = Server::start(right);
    let hosted = with(&server, |s| s.dimensions = Some(3));
    let said = unusable(hosted.query("where?").unwrap_err());
    assert!(
        said.contains("2 numbers, not 3: set `dimensions`"),
        "{said}"
    );
}

#[test]
fn a_host_that_does_not_know_dimensions_is_asked_without() {
    let server = Server::start(|request| match request.json().get("dimensions") {
        Some(_) => {
            let error = json!({"error": {"message": "this model has no matryoshka Dimensions"}});
            Reply::new(400, error.to_string())
        }
        None => right(request),
    });
    let hosted = hosted(&server);
    hosted.query("where?").unwrap();
    hosted.query("when?").unwrap();
    let has_size = |request: &Request| request.json().get("dimensions").is_some();
    let asked: Vec<bool> = server.asked().iter().map(has_size).collect();
    assert_eq!(asked, [true, false, false], "it is remembered");
}

#[test]
fn a_busy_host_and_a_cut_answer_are_asked_again() {
    let server = Server::start(|request| match request.nth {
        0 => Reply::new(429, "").with("Retry-After", "0"),
        1 => right(request).cut(20),
        _ => right(request),
    });
    points_at(&hosted(&server).query("a").unwrap(), 1.0, f32::from(b'a'));
    assert_eq!(server.asked().len(), 3);
}

#[test]
fn a_host_that_stays_away_may_come_back() {
    let server = Server::start(|_| Reply::new(500, "oh"));
    let hosted = hosted(&server);
    let said = failed(hosted.query("a").unwrap_err());
    assert!(said.contains("answers 500"), "{said}");
    assert_eq!(server.asked().len(), 3);
    drop(server);
    failed(hosted.query("a").unwrap_err());
}

#[test]
fn an_answer_that_is_too_long_or_no_json_is_none() {
    let server = Server::start(|_| Reply::new(200, vec![b' '; 1 << 20]).endless());
    let said = unusable(hosted(&server).query("a").unwrap_err());
    assert!(said.contains("more than 16777216 bytes"), "{said}");
    let server = Server::start(|_| Reply::new(200, "<html>Please log in</html>"));
    let said = failed(hosted(&server).query("a").unwrap_err());
    assert!(said.contains("does not answer in JSON"), "{said}");
}

#[test]
fn a_key_is_sent_to_its_host_only() {
    let other = Server::start(right);
    let to = other.url("/v1/embeddings");
    let server = Server::start(move |_| Reply::redirect(to.clone()));
    let said = unusable(hosted(&server).query("a").unwrap_err());
    assert!(said.contains("it sends on to another address"), "{said}");
    assert!(other.asked().is_empty());
}

#[test]
fn a_refusal_says_why_and_not_the_key() {
    for status in [400, 401, 403, 404] {
        let server = Server::start(move |_| {
            let message = format!("no model for {KEY}\n\u{1b}[2J");
            Reply::new(status, json!({"error": {"message": message}}).to_string())
        });
        let hosted = hosted(&server);
        let said = unusable(hosted.query("a").unwrap_err());
        assert!(said.contains(&status.to_string()), "{said}");
        assert!(!said.contains(KEY) && !said.contains('\u{1b}'), "{said}");
        assert_eq!(
            said.contains("no model for"),
            !matches!(status, 401 | 403),
            "{said}"
        );
        assert_eq!(server.asked().len(), 1);
    }
}

#[test]
fn the_log_tells_once_where_texts_go() {
    let server = Server::start(|request| match request.nth {
        0 => Reply::new(429, "").with("Retry-After", "0"),
        _ => right(request),
    });
    let hosted = hosted(&server);
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        hosted.query("a").unwrap();
        hosted.passages(&["b"]).unwrap();
    });
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert_eq!(text.matches("are sent to 127.0.0.1").count(), 1, "{text}");
    assert!(!text.contains(KEY), "{text}");
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_provider_wants_a_key_and_a_size() {
    let make = |key: Option<ApiKey>, model: &str| {
        let settings = HostedSettings {
            protocol: EmbeddingProtocol::Voyage,
            endpoint: None,
            model: model.to_owned(),
            dimensions: None,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            max_tokens: 512,
            key,
        };
        Hosted::new(
            settings,
            FetchClient::new(&HashMap::new(), RequestLimits::default()),
        )
    };
    let key = || Some(ApiKey::new(KEY));
    let hosted = make(key(), "voyage-3.5").ok().unwrap();
    assert_eq!(hosted.dimensions(), 1024);
    assert_eq!(
        hosted.notice(),
        "the texts of memories and questions are sent to api.voyageai.com"
    );
    assert!(unusable(make(None, "voyage-3.5").err().unwrap()).contains("wants a key"));
    assert!(unusable(make(key(), "voyage-9").err().unwrap()).contains("`dimensions`"));
}

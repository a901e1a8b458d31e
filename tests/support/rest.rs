//! A client of the REST interface that holds every answer against the description: what is not
//! described is not answered.

use serde_json::Value;

use super::TestStore;
use super::memdir_server::{Answered, Server};

const BASE: &str = "/api/v1";

/// A server without a token and without a limit for how often.
pub struct Api {
    pub server: Server,
    document: Value,
}

/// What was answered.
#[derive(Debug)]
pub struct Said {
    pub status: u16,
    pub body: Value,
}

impl Api {
    pub fn start() -> Api {
        Api::on(TestStore::new())
    }

    pub fn on(store: TestStore) -> Api {
        Api::with(store, &[])
    }

    pub fn with(store: TestStore, more: &[&str]) -> Api {
        let mut arguments = vec![
            "--no-token",
            "--reads-per-second",
            "0",
            "--writes-per-second",
            "0",
        ];
        arguments.extend(more);
        Api {
            server: Server::on(store, &arguments),
            document: memdir::http::document(),
        }
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Said {
        self.ask("GET", path, b"")
    }

    /// Without a body.
    #[track_caller]
    pub fn delete(&self, path: &str) -> Said {
        self.ask("DELETE", path, b"")
    }

    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Said {
        self.ask("POST", path, body.to_string().as_bytes())
    }

    /// Without a body, and so without its type.
    #[track_caller]
    pub fn post_nothing(&self, path: &str) -> Said {
        self.ask("POST", path, b"")
    }

    #[track_caller]
    pub fn put(&self, path: &str, body: &Value) -> Said {
        self.ask("PUT", path, body.to_string().as_bytes())
    }

    /// Sends these bytes as JSON, and checks what is answered.
    #[track_caller]
    pub fn ask(&self, method: &str, path: &str, body: &[u8]) -> Said {
        let headers = match body {
            b"" => &[][..],
            _ => &["Content-Type: application/json"],
        };
        let answered = self
            .server
            .ask(method, &format!("{BASE}{path}"), headers, body);
        self.check(method, path, &answered)
    }

    /// Creates a memory; its id.
    #[track_caller]
    pub fn make(&self, body: &Value) -> String {
        self.post("/memories", body).done(201).id()
    }

    /// The memory called `id`.
    #[track_caller]
    pub fn memory(&self, id: &str) -> Value {
        self.get(&format!("/memories/{id}")).done(200).body["memory"].clone()
    }

    /// What was answered, if the description has it.
    #[track_caller]
    pub fn check(&self, method: &str, path: &str, answered: &Answered) -> Said {
        let kind = answered.header("content-type");
        assert_eq!(kind, Some("application/json"), "{answered:?}");
        let body = answered.value();
        let operation = self.operation(method, path);
        let response = &operation["responses"][answered.status.to_string()];
        let response = self.resolved(response);
        let schema = &response["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{method} {path}: {answered:?}");
        self.fits(schema, &body, &format!("{method} {path}"));
        Said {
            status: answered.status,
            body,
        }
    }

    #[track_caller]
    fn operation(&self, method: &str, path: &str) -> &Value {
        let path = path.split('?').next().unwrap();
        let parts: Vec<&str> = path.split('/').collect();
        let fits = |template: &str| {
            let template: Vec<&str> = template.split('/').collect();
            template.len() == parts.len()
                && template
                    .iter()
                    .zip(&parts)
                    .all(|(a, b)| a.starts_with('{') || a == b)
        };
        let paths = self.document["paths"].as_object().unwrap();
        let mut fitting: Vec<&String> = paths.keys().filter(|path| fits(path)).collect();
        // A word says more than a parameter.
        fitting.sort_by_key(|path| path.matches('{').count());
        let template = fitting.first().unwrap_or_else(|| panic!("no {path}"));
        &paths[*template][method.to_lowercase()]
    }

    fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(place) => self.document.pointer(&place[1..]).unwrap(),
            None => value,
        }
    }

    /// Fails where `value` is not as `schema` says, or has what it does not name.
    #[track_caller]
    fn fits(&self, schema: &Value, value: &Value, place: &str) {
        let schema = self.resolved(schema);
        let types: Vec<&str> = match &schema["type"] {
            Value::String(one) => vec![one],
            Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
            other => panic!("{place}: a schema of type {other}"),
        };
        let is_of = |name: &&str| match *name {
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "object" => value.is_object(),
            "array" => value.is_array(),
            "null" => value.is_null(),
            other => panic!("{place}: no type is called {other}"),
        };
        assert!(
            types.iter().any(is_of),
            "{place}: {value} is none of {types:?}"
        );
        if let Some(words) = schema["enum"].as_array() {
            assert!(
                words.contains(value),
                "{place}: {value} is not among {words:?}"
            );
        }
        if let Some(number) = value.as_f64() {
            let low = schema["minimum"].as_f64().unwrap_or(f64::MIN);
            let high = schema["maximum"].as_f64().unwrap_or(f64::MAX);
            assert!(
                (low..=high).contains(&number),
                "{place}: {number} from {low} to {high}"
            );
        }
        if let (Some("date-time"), Some(text)) = (schema["format"].as_str(), value.as_str()) {
            let parsed = chrono::DateTime::parse_from_rfc3339(text);
            assert!(parsed.is_ok(), "{place}: {text} is no time");
        }
        for (number, item) in value.as_array().into_iter().flatten().enumerate() {
            self.fits(&schema["items"], item, &format!("{place}[{number}]"));
        }
        for name in schema["required"].as_array().into_iter().flatten() {
            let name = name.as_str().unwrap();
            assert!(value.get(name).is_some(), "{place} lacks {name}: {value}");
        }
        for (name, member) in value.as_object().into_iter().flatten() {
            let (named, others) = (&schema["properties"][name], &schema["additionalProperties"]);
            let place = format!("{place}.{name}");
            match (named, others) {
                (Value::Object(_), _) => self.fits(named, member, &place),
                (_, Value::Object(_)) => self.fits(others, member, &place),
                // Such as metadata.
                _ if schema.get("properties").is_none() => {}
                _ => panic!("{place} is not described"),
            }
        }
    }
}

impl Said {
    /// That, if the request was done as it should be.
    #[track_caller]
    pub fn done(self, status: u16) -> Said {
        assert_eq!(self.status, status, "{}", self.body);
        self
    }

    #[track_caller]
    pub fn id(&self) -> String {
        self.body["id"].as_str().unwrap().to_owned()
    }

    /// What is listed under `list`, by one of its fields.
    #[track_caller]
    pub fn texts(&self, list: &str, field: &str) -> Vec<String> {
        let items = self.body[list].as_array().unwrap();
        let texts = items.iter().map(|item| item[field].as_str().unwrap());
        texts.map(str::to_owned).collect()
    }

    /// Fails unless the request was refused so, with a message that holds `part`.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str, part: &str) {
        assert_eq!(
            (self.status, &self.body["code"]),
            (status, &code.into()),
            "{}",
            self.body
        );
        let message = self.body["message"].as_str().unwrap();
        assert!(message.contains(part), "{message}");
        assert_eq!(self.body["error"], message);
    }

    /// Fails unless what was sent was wrong, with a message that holds `part`.
    #[track_caller]
    pub fn is_bad(&self, part: &str) {
        self.refused(400, "VALIDATION_FAILED", part);
    }

    #[track_caller]
    pub fn is_not_there(&self) {
        self.refused(404, "NOT_FOUND", "");
    }

    #[track_caller]
    pub fn is_conflict(&self, part: &str) {
        self.refused(409, "CONFLICT", part);
    }
}

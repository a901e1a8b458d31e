//! Lets a host make the vectors: Voyage, or whatever speaks as OpenAI does.
//!
//! Texts leave the machine with it, so it is off unless the user has named a provider, and the
//! first text that goes is told of. The key is in no log line, no error and no debug output. What
//! comes back is checked: as many vectors as texts, in their order, of the right size, of finite
//! numbers. Nothing is kept loaded, so there is nothing to let go of.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::cut::pieces;
use super::{EmbedError, Embedder, Vector};
use crate::fetch::{ApiKey, FetchClient, FetchError, Post, Url};

/// The protocol in which a host is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingProtocol {
    Voyage,
    OpenAi,
}

/// A model somewhere else.
#[derive(Debug, Clone)]
pub struct HostedSettings {
    /// Protocol of the provider.
    pub protocol: EmbeddingProtocol,
    /// Address up to `/embeddings`; `None` for the provider's own.
    pub endpoint: Option<Url>,
    /// Name of the model at the provider.
    pub model: String,
    /// Number of dimensions of a vector; `None` for those that the model gives by itself, where
    /// they are known.
    pub dimensions: Option<usize>,
    /// Text before each query.
    pub query_prefix: String,
    /// Text before each passage.
    pub passage_prefix: String,
    /// Maximum number of tokens of a text, by an estimate; longer texts are cut.
    pub max_tokens: usize,
    /// Key of the provider.
    pub key: Option<ApiKey>,
}

/// A model that a host runs.
pub struct Hosted {
    settings: HostedSettings,
    address: Url,
    client: FetchClient,
    id: String,
    dimensions: usize,
    /// The model gives another number of numbers by itself.
    is_shortened: bool,
    /// The host knows no `dimensions`.
    is_shortened_here: AtomicBool,
    has_told: AtomicBool,
}

/// Maximum number of tokens of a piece where no setting says it.
pub const HOSTED_MAX_TOKENS: usize = 512;

/// Maximum numbers of texts and tokens of one request: both providers take more, but an answer that
/// breaks off costs all of it.
const MAX_TEXTS: usize = 96;
const MAX_TOKENS: usize = 40_000;
/// Somebody waits for a question; texts are embedded in the background.
const QUERY_DEADLINE: Duration = Duration::from_secs(10);
const PASSAGES_DEADLINE: Duration = Duration::from_secs(120);
/// More than any answer to a batch has: 96 vectors of 4,096 numbers in 20 bytes each.
const MAX_ANSWER_BYTES: u64 = 16 << 20;

/// Numbers of dimensions that models give by themselves.
const KNOWN: [(&str, usize); 9] = [
    ("text-embedding-3-small", 1536),
    ("text-embedding-3-large", 3072),
    ("text-embedding-ada-002", 1536),
    ("voyage-3.5", 1024),
    ("voyage-3.5-lite", 1024),
    ("voyage-3-large", 1024),
    ("voyage-3", 1024),
    ("voyage-3-lite", 512),
    ("voyage-code-3", 1024),
];

impl EmbeddingProtocol {
    fn name(self) -> &'static str {
        match self {
            EmbeddingProtocol::Voyage => "voyage",
            EmbeddingProtocol::OpenAi => "openai",
        }
    }

    /// Returns the provider's own address.
    fn endpoint(self) -> &'static str {
        match self {
            EmbeddingProtocol::Voyage => "https://api.voyageai.com/v1",
            EmbeddingProtocol::OpenAi => "https://api.openai.com/v1",
        }
    }
}

impl Hosted {
    /// Returns the model that `settings` name, asked through `client`; asks nothing yet.
    ///
    /// # Errors
    ///
    /// Fails if the size of its vectors is not known, or if the provider wants a key and there
    /// is none.
    pub fn new(settings: HostedSettings, client: FetchClient) -> Result<Hosted, EmbedError> {
        let protocol = settings.protocol;
        let endpoint = match &settings.endpoint {
            Some(endpoint) => endpoint.clone(),
            None if settings.key.is_none() => {
                return Err(EmbedError::Unusable(format!(
                    "{} wants a key, and there is none",
                    protocol.name()
                )));
            }
            None => Url::parse(protocol.endpoint()).expect("it is an address"),
        };
        let address = match endpoint.path().ends_with("/embeddings") {
            true => endpoint,
            false => endpoint
                .join("embeddings")
                .map_err(|error| unusable(&error))?,
        };
        let known = KNOWN.iter().find(|(name, _)| *name == settings.model);
        let known = known.map(|(_, dimensions)| *dimensions);
        let Some(dimensions) = settings.dimensions.or(known) else {
            return Err(EmbedError::Unusable(format!(
                "it is not known how many numbers the vectors of {} have: set `dimensions`",
                settings.model
            )));
        };
        Ok(Hosted {
            id: id(&settings, &address, dimensions),
            is_shortened: known != Some(dimensions),
            settings,
            address,
            client,
            dimensions,
            is_shortened_here: AtomicBool::new(false),
            has_told: AtomicBool::new(false),
        })
    }

    /// Returns the host that is asked.
    pub fn host(&self) -> String {
        self.address.host()
    }

    /// Returns the notice to show before the first text is sent: to whom texts go.
    pub fn notice(&self) -> String {
        let plain = match self.address.is_encrypted() || self.address.is_loopback() {
            true => "",
            false => ", without encryption",
        };
        format!(
            "the texts of memories and questions are sent to {}{plain}",
            self.address.host()
        )
    }

    /// The vectors of texts, asked for in as few requests as is wise.
    fn vectors(
        &self,
        texts: &[String],
        kind: &str,
        deadline: Duration,
    ) -> Result<Vec<Vector>, EmbedError> {
        if !self.has_told.swap(true, Ordering::Relaxed) {
            tracing::warn!("{}", self.notice());
        }
        let mut found = Vec::with_capacity(texts.len());
        for batch in batches(texts) {
            found.extend(self.batch(batch, kind, deadline)?);
        }
        Ok(found)
    }

    fn batch(
        &self,
        texts: &[String],
        kind: &str,
        deadline: Duration,
    ) -> Result<Vec<Vector>, EmbedError> {
        let asks_for_size = self.is_shortened && !self.is_shortened_here.load(Ordering::Relaxed);
        let asked = self.ask(texts, kind, asks_for_size, deadline);
        let answer = match asked {
            // Some servers refuse the very word, others only know models of one size.
            Err(FetchError::Refused { status, source, .. })
                if asks_for_size
                    && matches!(status, 400 | 422)
                    && source.0.to_lowercase().contains("dimension") =>
            {
                let answer = self.ask(texts, kind, false, deadline);
                self.is_shortened_here
                    .store(answer.is_ok(), Ordering::Relaxed);
                answer
            }
            other => other,
        };
        let answer = answer.map_err(|error| self.failed(&error))?;
        read(&answer, texts.len(), self.dimensions).map_err(|fault| match fault {
            Fault::Size(found) => EmbedError::Unusable(format!(
                "{} gives vectors of {found} numbers, not {}: set `dimensions`",
                self.address, self.dimensions
            )),
            Fault::Other(what) => {
                EmbedError::Failed(format!("{} gives a wrong answer: {what}", self.address))
            }
        })
    }

    fn ask(
        &self,
        texts: &[String],
        kind: &str,
        asks_for_size: bool,
        deadline: Duration,
    ) -> Result<Value, FetchError> {
        let mut body = json!({"model": self.settings.model, "input": texts});
        let size = match self.settings.protocol {
            EmbeddingProtocol::Voyage => {
                body["input_type"] = kind.into();
                "output_dimension"
            }
            EmbeddingProtocol::OpenAi => "dimensions",
        };
        if asks_for_size {
            body[size] = self.dimensions.into();
        }
        self.client.ask(&Post {
            address: &self.address,
            key: self.settings.key.as_ref(),
            body: &body,
            deadline,
            max_answer_bytes: MAX_ANSWER_BYTES,
        })
    }

    fn failed(&self, error: &FetchError) -> EmbedError {
        let said = error.in_one_line();
        match error {
            FetchError::Refused { status: 401, .. } | FetchError::Refused { status: 403, .. } => {
                EmbedError::Unusable(format!("{said}; is the key right?"))
            }
            _ if error.is_passing() => EmbedError::Failed(said),
            _ => EmbedError::Unusable(said),
        }
    }

    fn piece_length(&self, prefix: &str) -> usize {
        // Tokens have three characters and more in most languages; hosts cut what is too long.
        let length = self.settings.max_tokens.max(16) * 3;
        length.saturating_sub(prefix.chars().count()).max(48)
    }
}

impl Embedder for Hosted {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn query(&self, text: &str) -> Result<Vector, EmbedError> {
        let prefix = &self.settings.query_prefix;
        let pieces = pieces(text, self.piece_length(prefix));
        let Some(first) = pieces.first() else {
            return Err(EmbedError::NoWords);
        };
        let texts = [format!("{prefix}{first}")];
        let mut found = self.vectors(&texts, "query", QUERY_DEADLINE)?;
        Ok(found.swap_remove(0))
    }

    fn passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vector>>, EmbedError> {
        let prefix = &self.settings.passage_prefix;
        let length = self.piece_length(prefix);
        let mut owners = Vec::new();
        let mut all = Vec::new();
        for (at, text) in texts.iter().enumerate() {
            for piece in pieces(text, length) {
                owners.push(at);
                all.push(format!("{prefix}{piece}"));
            }
        }
        let mut found = vec![Vec::new(); texts.len()];
        if all.is_empty() {
            return Ok(found);
        }
        let vectors = self.vectors(&all, "document", PASSAGES_DEADLINE)?;
        for (at, vector) in owners.into_iter().zip(vectors) {
            found[at].push(vector);
        }
        Ok(found)
    }

    fn rest(&self, _: Duration) {}

    fn host(&self) -> Option<String> {
        Some(self.host())
    }

    fn describe(&self) -> String {
        format!("{} at {}", self.settings.model, self.address.host())
    }
}

/// Returns a name that differs for all settings on which vectors depend.
fn id(settings: &HostedSettings, address: &Url, dimensions: usize) -> String {
    let mut hasher = blake3::Hasher::new();
    let numbers = format!("{dimensions} {}", settings.max_tokens);
    for part in [
        settings.protocol.name(),
        &address.to_string(),
        &settings.model,
        &settings.query_prefix,
        &settings.passage_prefix,
        &numbers,
    ] {
        // With its length before it, so that no two lists run together to the same bytes.
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || "-_.".contains(*c);
    let model: String = settings.model.chars().filter(is_plain).take(60).collect();
    let hash = hasher.finalize().to_hex();
    format!("{}-{model}-{}", settings.protocol.name(), &hash[..12])
}

/// Cuts texts into requests.
fn batches(texts: &[String]) -> Vec<&[String]> {
    let mut found = Vec::new();
    let (mut start, mut tokens) = (0, 0);
    for (at, text) in texts.iter().enumerate() {
        // More than there are, in any language.
        let more = text.len() / 3 + 1;
        if at > start && (at - start == MAX_TEXTS || tokens + more > MAX_TOKENS) {
            found.push(&texts[start..at]);
            (start, tokens) = (at, 0);
        }
        tokens += more;
    }
    found.push(&texts[start..]);
    found
}

#[derive(Debug, PartialEq)]
enum Fault {
    /// Number of dimensions of a vector.
    Size(usize),
    Other(String),
}

/// The vectors of an answer, in the order of what was asked, at length 1.
fn read(answer: &Value, count: usize, dimensions: usize) -> Result<Vec<Vector>, Fault> {
    let other = |what: String| Fault::Other(what);
    let data = answer["data"].as_array();
    let data = data.ok_or_else(|| other("it holds no list `data`".to_owned()))?;
    if data.len() != count {
        return Err(other(format!("{} vectors for {count} texts", data.len())));
    }
    let mut found: Vec<Vector> = vec![Vec::new(); count];
    for (at, entry) in data.iter().enumerate() {
        let index = match &entry["index"] {
            Value::Null => Some(at),
            index => index.as_u64().and_then(|index| usize::try_from(index).ok()),
        };
        let place = index.and_then(|index| found.get_mut(index));
        let place = place.ok_or_else(|| other("an index that is no text's".to_owned()))?;
        if !place.is_empty() {
            return Err(other("two vectors for one text".to_owned()));
        }
        let numbers = entry["embedding"].as_array();
        let numbers = numbers.ok_or_else(|| other("an entry without a vector".to_owned()))?;
        if numbers.len() != dimensions {
            return Err(Fault::Size(numbers.len()));
        }
        *place = unit(numbers).ok_or_else(|| other("a vector without a direction".to_owned()))?;
    }
    Ok(found)
}

/// Returns the same direction at length 1; none for what has no direction.
fn unit(numbers: &[Value]) -> Option<Vector> {
    let numbers: Option<Vec<f64>> = numbers.iter().map(Value::as_f64).collect();
    let numbers = numbers?;
    let length = numbers
        .iter()
        .map(|number| number * number)
        .sum::<f64>()
        .sqrt();
    let has_direction = length.is_finite() && length > f64::from(f32::MIN_POSITIVE);
    let scaled = numbers.iter().map(|number| (number / length) as f32);
    has_direction.then(|| scaled.collect())
}

fn unusable(error: &FetchError) -> EmbedError {
    EmbedError::Unusable(error.in_one_line())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_neither_too_many_nor_too_long() {
        let sizes = |texts: &[String]| -> Vec<usize> {
            batches(texts).iter().map(|batch| batch.len()).collect()
        };
        assert_eq!(sizes(&vec!["short".to_owned(); 200]), [96, 96, 8]);
        assert_eq!(sizes(&vec!["x".repeat(45_000); 5]), [2, 2, 1]);
        assert_eq!(sizes(&["x".repeat(1_000_000)]), [1]);
    }

    #[test]
    fn an_answer_is_taken_only_as_a_whole() {
        let entry = |index: Value, vector: Value| json!({"index": index, "embedding": vector});
        let read = |entries: &[Value]| read(&json!({"data": entries}), 2, 2);
        let (one, two) = (json!([3.0, 4.0]), json!([0, -2]));
        let right = vec![vec![0.6, 0.8], vec![0.0, -1.0]];
        let shuffled = [entry(json!(1), two.clone()), entry(json!(0), one.clone())];
        assert_eq!(read(&shuffled), Ok(right.clone()));
        let unnumbered = [json!({"embedding": one}), json!({"embedding": two})];
        assert_eq!(read(&unnumbered), Ok(right));
        let wrong = |entries: &[Value], what: &str| match read(entries) {
            Err(Fault::Other(said)) => assert!(said.contains(what), "{said}"),
            other => panic!("{other:?}"),
        };
        let with = |entry| [entry, json!({"index": 1, "embedding": two.clone()})];
        wrong(&[json!({"embedding": one})], "1 vectors for 2 texts");
        wrong(&with(entry(json!(1), one.clone())), "two vectors");
        wrong(&with(entry(json!(2), one.clone())), "no text's");
        wrong(&with(entry(json!(-1), one.clone())), "no text's");
        wrong(&with(entry(json!(0), json!("AAAA"))), "without a vector");
        wrong(&with(entry(json!(0), json!([0.0, 0.0]))), "direction");
        wrong(&with(entry(json!(0), json!([1.0, null]))), "direction");
        wrong(&with(entry(json!(0), json!([1e300, 1e300]))), "direction");
        let long = with(entry(json!(0), json!([1.0, 2.0, 3.0])));
        assert_eq!(read(&long), Err(Fault::Size(3)));
    }

    #[test]
    fn an_id_covers_whatever_changes_vectors() {
        let settings = HostedSettings {
            protocol: EmbeddingProtocol::OpenAi,
            endpoint: Some(Url::parse("http://127.0.0.1:1/v1").unwrap()),
            model: "org/m".to_owned(),
            dimensions: Some(8),
            query_prefix: String::new(),
            passage_prefix: String::new(),
            max_tokens: 512,
            key: None,
        };
        let id = |change: &dyn Fn(&mut HostedSettings)| {
            let mut settings = settings.clone();
            change(&mut settings);
            let client = FetchClient::new(&Default::default(), Default::default());
            let id = Hosted::new(settings, client).unwrap().id;
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            assert!(id.chars().all(is_plain), "{id}");
            id
        };
        let same = id(&|_| {});
        assert!(same.starts_with("openai-orgm-"), "{same}");
        assert_eq!(id(&|s| s.key = Some(ApiKey::new("k"))), same);
        let changes: [&dyn Fn(&mut HostedSettings); 6] = [
            &|s| s.protocol = EmbeddingProtocol::Voyage,
            &|s| s.endpoint = Some(Url::parse("http://127.0.0.1:1/v2").unwrap()),
            &|s| s.model = "org-m".to_owned(),
            &|s| s.dimensions = Some(9),
            &|s| s.query_prefix = "q".to_owned(),
            &|s| s.passage_prefix = "q".to_owned(),
        ];
        for change in changes {
            assert_ne!(id(change), same);
        }
    }
}

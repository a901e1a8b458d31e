//! Options → fields of a memory, changes, filters.

use std::io::Read;
use std::str::FromStr;

use chrono::{DateTime, Local, Utc};
use serde_json::Value;

use crate::cli::args::shared::{Fields, Filters};
use crate::cli::memories::when;
use crate::cli::memories::when::Direction;
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::Context;
use crate::engine::{BadEnd, END_FORMS, Engine, EngineError, live, read_end};
use crate::format::from_json;
use crate::model::{
    Change, Filter, Link, MetaValue, NewMemory, POSSIBLE_TIMES, Patch, Stem, Talks, Timestamp,
    TopicMatch, Visibility, is_global_namespace,
};

/// Returns the items of a comma list, or of a JSON array.
pub fn list(text: &str) -> Vec<String> {
    if let Ok(items) = serde_json::from_str::<Vec<String>>(text) {
        return items;
    }
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The change of topics that `update --topics` describes.
#[derive(Debug, PartialEq, Eq)]
pub enum Topics {
    /// These and no others.
    All(Vec<String>),
    /// Those that it has, with some more and without others.
    Changed {
        added: Vec<String>,
        removed: Vec<String>,
    },
}

/// Reads `a,b`, or `+a,-b`.
pub fn topics(text: &str) -> Result<Topics, Failure> {
    let topics = list(text);
    let signed = |topic: &String| topic.starts_with(['+', '-']);
    if !topics.iter().any(signed) {
        return Ok(Topics::All(topics));
    }
    if let Some(plain) = topics.iter().find(|topic| !signed(topic)) {
        return Err(
            Failure::new(format!("--topics: `{plain}` has no + or -")).hint(
                "Give each topic a sign, as in +a,-b, or none of them: a,b are all of its topics.",
            ),
        );
    }
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    for topic in topics {
        let (sign, name) = topic.split_at(1);
        let name = name.trim();
        if name.is_empty() {
            return Err(
                Failure::new(format!("--topics: no topic follows the `{sign}`"))
                    .hint("Write it without a blank, as in +a,-b."),
            );
        }
        match sign {
            "+" => added.push(name.to_owned()),
            _ => removed.push(name.to_owned()),
        }
    }
    Ok(Topics::Changed { added, removed })
}

/// Reads standard input whole, as text.
pub fn standard_input() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::new("cannot read standard input").because(error))?;
    String::from_utf8(bytes).map_err(|error| {
        Failure::new("standard input is not UTF-8")
            .because(error)
            .hint("Convert it first, for example with iconv.")
    })
}

fn word<T: FromStr<Err: ToString>>(option: &str, text: &str) -> Result<T, Failure> {
    text.parse()
        .map_err(|error: T::Err| Failure::new(format!("{option}: {}", error.to_string())))
}

fn number<T: FromStr>(option: &str, text: &str, range: &str) -> Result<T, Failure> {
    text.parse()
        .map_err(|_| Failure::new(format!("{option}: `{text}` is no number from {range}")))
}

/// Reads the end of a memory of the time `begin`.
fn expires(text: &str, now: DateTime<Utc>, begin: DateTime<Utc>) -> Result<Timestamp, Failure> {
    read_end(text, now, begin).map_err(|bad| match bad {
        BadEnd::Unreadable => Failure::new(format!("cannot read the time `{text}` of --expires"))
            .hint(format!("Write {END_FORMS}; {POSSIBLE_TIMES}.")),
        BadEnd::Past(end) => Failure::new(format!(
            "--expires: `{text}` is already past: it is {}",
            end.with_timezone(&Local).format("%Y-%m-%d %H:%M:%S %:z")
        ))
            .hint(format!("Such a memory would be found no more. Write {END_FORMS}. To end a memory now: memdir forget ID")),
    })
}

fn links(engine: &Engine, texts: &[String]) -> Result<Vec<Link>, Failure> {
    texts
        .iter()
        .map(|text| {
            let (id, relation) = text.split_once(':').unwrap_or((text, "related-to"));
            let (stem, _) = live::resolve(&engine.live, id)?;
            Ok(Link {
                to: stem.as_str().to_owned(),
                relation: relation.to_owned(),
            })
        })
        .collect()
}

fn metadata(texts: &[String]) -> Result<Vec<(String, MetaValue)>, Failure> {
    texts
        .iter()
        .map(|text| {
            let (key, value) = text.split_once('=').ok_or_else(|| {
                Failure::new(format!("--meta: `{text}` is no KEY=VALUE"))
                    .hint("Write for example --meta project=atlas")
            })?;
            // A number that would be written in another way is a text: a version, a phone, the digits of a parcel.
            let is_kept = |read: &Value| {
                let written = read.to_string();
                !read.is_number() || written == value.trim()
            };
            let read = serde_json::from_str(value).ok().filter(is_kept);
            let value = read.unwrap_or_else(|| Value::from(value));
            Ok((key.trim().to_owned(), from_json(value)))
        })
        .collect()
}

impl Fields {
    /// Sets the fields of a new memory.
    pub fn fill(
        &self,
        context: &Context,
        engine: &Engine,
        memory: &mut NewMemory,
    ) -> Result<(), Failure> {
        let begin = memory.timestamp.as_ref();
        let begin = begin.map_or(context.now(), Timestamp::utc);
        let given = self.plain(context, begin)?;
        memory.title = given.title.value();
        memory.kind = given.kind.value();
        // `global` is said, where nothing means the present one.
        memory.namespace = self.namespace.clone().filter(|text| !text.is_empty());
        memory.scope = given.scope.value();
        memory.tier = given.tier.value();
        memory.importance = given.importance.value();
        memory.confidence = given.confidence.value();
        memory.source = given.source.value();
        memory.status = given.status.value();
        memory.expires = given.expires.value();
        memory.supersedes = given.supersedes.value().unwrap_or_default();
        memory.links = links(engine, &self.links)?;
        memory.metadata = metadata(&self.metadata)?;
        Ok(())
    }

    /// The wanted change, without entries of the metadata; an empty text clears a field.
    pub fn change(&self, context: &Context, engine: &Engine) -> Result<Change, Failure> {
        let many = |texts: &[String]| texts.iter().any(|text| text.is_empty());
        Ok(Change {
            links: match self.links.as_slice() {
                [] => Patch::Keep,
                texts if many(texts) => Patch::Clear,
                texts => Patch::Set(links(engine, texts)?),
            },
            metadata: match many(&self.metadata) {
                true => Patch::Clear,
                false => Patch::Keep,
            },
            ..self.plain(context, context.now())?
        })
    }

    /// Returns the entries of the metadata to set; null for those to take out.
    pub fn entries(&self) -> Result<Vec<(String, MetaValue)>, Failure> {
        if self.metadata.iter().any(String::is_empty) {
            return Ok(Vec::new());
        }
        let is_none = |value: &MetaValue| matches!(value, MetaValue::Text(text) if text.is_empty());
        let mut entries = metadata(&self.metadata)?;
        for (_, value) in entries.iter_mut().filter(|(_, value)| is_none(value)) {
            *value = MetaValue::Null;
        }
        Ok(entries)
    }

    /// Returns the change of the fields that one option states whole; `begin` is the memory's time, from which
    /// an amount of time until its end counts.
    fn plain(&self, context: &Context, begin: DateTime<Utc>) -> Result<Change, Failure> {
        fn patch<T>(
            text: &Option<String>,
            read: impl FnOnce(&str) -> Result<T, Failure>,
        ) -> Result<Patch<T>, Failure> {
            match text.as_deref() {
                None => Ok(Patch::Keep),
                Some("") => Ok(Patch::Clear),
                Some(text) => read(text).map(Patch::Set),
            }
        }
        let text = |text: &Option<String>| patch(text, |text| Ok(text.to_owned()));
        Ok(Change {
            title: text(&self.title)?,
            kind: patch(&self.kind, |text| word("--kind", text))?,
            namespace: match self.namespace.as_deref() {
                Some(text) if is_global_namespace(text) => Patch::Clear,
                _ => text(&self.namespace)?,
            },
            scope: patch(&self.scope, |text| word("--scope", text))?,
            tier: patch(&self.tier, |text| word("--tier", text))?,
            importance: patch(&self.importance, |text| {
                number("--importance", text, "1 to 10")
            })?,
            confidence: patch(&self.confidence, |text| {
                number("--confidence", text, "0 to 1")
            })?,
            source: text(&self.source)?,
            status: text(&self.status)?,
            expires: patch(&self.expires, |text| expires(text, context.now(), begin))?,
            supersedes: patch(&self.supersedes, |text| Ok(list(text)))?,
            ..Change::default()
        })
    }
}

impl Filters {
    /// Returns the filter that the options describe.
    pub fn filter(&self, context: &Context, engine: &Engine) -> Result<Filter, Failure> {
        fn words<T: FromStr<Err: ToString>>(
            option: &str,
            text: &Option<String>,
        ) -> Result<Vec<T>, Failure> {
            let words = text.as_deref().map(list).unwrap_or_default();
            words.iter().map(|text| word(option, text)).collect()
        }
        let texts = |text: &Option<String>| text.as_deref().map(list).unwrap_or_default();
        let moment = |option, text: &Option<String>| {
            let read = |text: &String| when::moment(option, text, context.now(), Direction::Past);
            text.as_ref().map(read).transpose()
        };
        let equals = self.equals.iter().map(|text| {
            let (key, value) = text.split_once('=').ok_or_else(|| {
                Failure::new(format!("--where: `{text}` is no KEY=VALUE"))
                    .hint("Write for example --where status=open")
            })?;
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        });
        Ok(Filter {
            agents: texts(&self.agent),
            users: texts(&self.user),
            topics: texts(&self.topics),
            topic_match: match self.any_topic {
                true => TopicMatch::Any,
                false => TopicMatch::All,
            },
            namespaces: texts(&self.namespace),
            kinds: words("--kind", &self.kind)?,
            scopes: words("--scope", &self.scope)?,
            tiers: words("--tier", &self.tier)?,
            min_importance: self.min_importance,
            min_confidence: self.min_confidence,
            equals: equals.collect::<Result<_, Failure>>()?,
            since: moment("--since", &self.since)?,
            until: moment("--until", &self.until)?,
            stems: self
                .ids
                .as_deref()
                .map(|ids| stems(engine, &list(ids)))
                .transpose()?,
            visibility: match self.all {
                true => Visibility::Everything,
                false => Visibility::Current,
            },
            talks: match self.talks {
                true => Talks::Everywhere,
                false => Talks::default(),
            },
            ..Filter::default()
        })
    }
}

fn stems(engine: &Engine, ids: &[String]) -> Result<Vec<Stem>, Failure> {
    let mut stems = Vec::new();
    for id in ids {
        match live::resolve(&engine.live, id) {
            Ok((stem, _)) => stems.push(stem),
            Err(EngineError::Ambiguous { candidates, .. }) => {
                stems.extend(candidates.iter().map(|stem| Stem::from_file_name(stem)));
            }
            Err(EngineError::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(stems)
}

//! One conversation, as every format gives it.

use chrono::{DateTime, Utc};

use super::Format;
use super::clean::{cleaned, one_line};

/// Speaker of what a person wrote, where the source names no one.
pub(super) const USER: &str = "User";

/// Maximum number of characters of a title.
const MAX_TITLE: usize = 100;

/// One message of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Name of the speaker.
    pub who: String,
    /// Time of the message, where the source has it.
    pub at: Option<DateTime<Utc>>,
    /// Text, cleaned; never empty.
    pub text: String,
    /// Whether the text is one line about a call of a tool.
    pub is_tool_call: bool,
}

/// One conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Format of its source.
    pub format: Format,
    /// Id in its source, which never changes.
    pub id: String,
    /// Title that its source has; see [`Session::title`].
    pub named: Option<String>,
    /// Folder, project or channel in which it took place.
    pub folder: Option<String>,
    /// Time at which it began, for sessions whose messages have no times.
    pub began: Option<DateTime<Utc>>,
    /// Messages in order.
    pub messages: Vec<Message>,
}

impl Session {
    /// Returns a session without messages.
    pub(super) fn new(format: Format, id: String) -> Session {
        Session {
            format,
            id,
            named: None,
            folder: None,
            began: None,
            messages: Vec::new(),
        }
    }

    /// Adds a text, cleaned; one that is empty then is left out.
    pub(super) fn say(&mut self, who: &str, at: Option<DateTime<Utc>>, text: &str) {
        self.add(who, at, cleaned(text), false);
    }

    /// Adds a line about a call of a tool.
    pub(super) fn call(&mut self, who: &str, at: Option<DateTime<Utc>>, line: &str) {
        self.add(who, at, format!("- {}", one_line(line)), true);
    }

    fn add(&mut self, who: &str, at: Option<DateTime<Utc>>, text: String, is_tool_call: bool) {
        if !text.is_empty() {
            // Of names that come from a source, not of our own.
            let is_foreign = who != USER && who != self.format.assistant();
            self.messages.push(Message {
                who: if is_foreign {
                    one_line(who)
                } else {
                    who.to_owned()
                },
                at,
                text,
                is_tool_call,
            });
        }
    }

    /// Returns the time of the first message that has one, else that at which the session began.
    pub fn first(&self) -> Option<DateTime<Utc>> {
        self.messages.iter().find_map(|one| one.at).or(self.began)
    }

    /// Returns the latest time of a message, else that at which the session began.
    pub fn last(&self) -> Option<DateTime<Utc>> {
        let times = self.messages.iter().filter_map(|one| one.at);
        times.max().or(self.began)
    }

    /// Returns its title in one line: that of its source, else the beginning of the first request.
    pub fn title(&self) -> String {
        let named = self.named.as_deref().map(one_line);
        let named = named.filter(|title| !title.is_empty());
        let title = short(&named.unwrap_or_else(|| self.request()));
        match title.is_empty() {
            true => "A talk".to_owned(),
            false => title,
        }
    }

    /// Returns the first line of the first request that says something.
    fn request(&self) -> String {
        let spoken = || self.messages.iter().filter(|one| !one.is_tool_call);
        let assistant = self.format.assistant();
        let by_person = spoken().find(|one| one.who != assistant);
        let text = by_person.or_else(|| spoken().next());
        let mut lines = text.map_or("", |one| &one.text).lines();
        let line = lines.find(|line| line.chars().any(char::is_alphanumeric));
        one_line(
            line.unwrap_or_default()
                .trim_start_matches(['#', '>', '-', ' ']),
        )
    }

    /// Returns the name of the project: the last part of its folder.
    pub fn project(&self) -> Option<&str> {
        let folder = self.folder.as_deref()?.trim_end_matches(['/', '\\']);
        let name = folder.rsplit(['/', '\\']).next()?.trim();
        (!name.is_empty()).then_some(name)
    }
}

/// Returns the beginning of a line that is too long for a title, cut between words.
fn short(line: &str) -> String {
    let mut short: String = line.chars().take(MAX_TITLE).collect();
    if short.len() < line.len() {
        short.truncate(short.rfind(' ').unwrap_or(short.len()));
        short.push('…');
    }
    short
}

//! The export of Slack: a zip, or its folder, with `users.json`, `channels.json` and a file for each
//! channel and day.
//!
//! A session is what was said in a channel on one day, or a thread with all its replies. Joins, topics and
//! other notes of the service are left out.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;

use crate::talks::Format;
use crate::talks::archive::Archive;
use crate::talks::found::{Each, Found, report};
use crate::talks::loose::{List, Moment, Text};
use crate::talks::records::Records;
use crate::talks::session::Session;

/// Time without a reply after which a thread is complete. It balances memory against late replies, which
/// begin a session of their own.
const THREAD_QUIET: TimeDelta = TimeDelta::days(90);

#[derive(Deserialize, Default)]
#[serde(default)]
struct User {
    id: Text,
    name: Text,
    real_name: Text,
    profile: Option<Profile>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Profile {
    display_name: Text,
    real_name: Text,
}

/// A channel, a group or a conversation of a few.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Channel {
    id: Text,
    name: Text,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Message {
    r#type: Text,
    subtype: Text,
    user: Text,
    username: Text,
    user_profile: Option<Profile>,
    text: Text,
    ts: Text,
    thread_ts: Text,
    files: List<File>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct File {
    name: Text,
    title: Text,
}

/// Subtypes of messages that somebody wrote.
const WRITTEN: [&str; 5] = [
    "thread_broadcast",
    "me_message",
    "file_share",
    "bot_message",
    "file_comment",
];

/// Reads all channels of an export.
pub(in crate::talks) fn read(
    archive: &Archive,
    name: &str,
    each: &mut Each<'_>,
) -> ControlFlow<()> {
    let mut export = Export::default();
    export.read_names(archive, name, each)?;
    let mut days: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in archive.names() {
        let mut parts = file.rsplit('/');
        let (day, channel) = (parts.next().unwrap_or_default(), parts.next());
        if let Some(channel) = channel.filter(|_| is_day(day)) {
            days.entry(channel.to_owned()).or_default().push(file);
        }
    }
    for (channel, files) in days {
        let mut threads: BTreeMap<String, Session> = BTreeMap::new();
        for file in files {
            export.read_day(archive, &channel, &file, &mut threads, each)?;
        }
        for (_, thread) in threads {
            each(Found::Session(Box::new(thread)))?;
        }
    }
    ControlFlow::Continue(())
}

/// Returns whether a file of a channel holds a day, by its name: `2026-03-04.json`.
pub(in crate::talks) fn is_day(name: &str) -> bool {
    name.len() == 15
        && name.ends_with(".json")
        && name.starts_with(|one: char| one.is_ascii_digit())
}

/// Names in an export.
#[derive(Default)]
struct Export {
    /// Names of users by their ids.
    users: HashMap<String, String>,
    /// Ids of channels by their names, which may change.
    channels: HashMap<String, String>,
    /// Names of channels by their ids.
    channel_names: HashMap<String, String>,
}

impl Export {
    fn read_names(
        &mut self,
        archive: &Archive,
        name: &str,
        each: &mut Each<'_>,
    ) -> ControlFlow<()> {
        for file in archive.names() {
            let is_users = file.ends_with("users.json") && !file.ends_with("_users.json");
            let is_channels = ["channels.json", "groups.json", "dms.json", "mpims.json"]
                .iter()
                .any(|known| file == *known || file.ends_with(&format!("/{known}")));
            if !is_users && !is_channels {
                continue;
            }
            let mut records = match archive.read(&file).and_then(Records::new) {
                Ok(records) => records,
                Err(error) => {
                    report(each, &format!("{name}: {file}"), "", &error.to_string())?;
                    continue;
                }
            };
            loop {
                let bad = match is_users {
                    true => match records.next::<User>() {
                        None => break,
                        Some(Ok(user)) => {
                            self.add_user(user);
                            continue;
                        }
                        Some(Err(bad)) => bad,
                    },
                    false => match records.next::<Channel>() {
                        None => break,
                        Some(Ok(channel)) => {
                            self.add_channel(&channel);
                            continue;
                        }
                        Some(Err(bad)) => bad,
                    },
                };
                report(each, &format!("{name}: {file}"), &bad.place, &bad.reason)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn add_user(&mut self, user: User) {
        let profile = user.profile.unwrap_or_default();
        let names = [
            &profile.display_name,
            &profile.real_name,
            &user.real_name,
            &user.name,
        ];
        let name = names.into_iter().find_map(|name| name.get());
        if let (Some(id), Some(name)) = (user.id.get(), name) {
            self.users.insert(id.to_owned(), name.to_owned());
        }
    }

    fn add_channel(&mut self, channel: &Channel) {
        // A conversation of two has no name; its folder is called by its id.
        let Some(id) = channel.id.get() else { return };
        let name = channel.name.get().unwrap_or(id);
        self.channels.insert(name.to_owned(), id.to_owned());
        self.channel_names.insert(id.to_owned(), name.to_owned());
    }

    /// Reads one day of a channel; threads wait for replies of later days.
    fn read_day(
        &self,
        archive: &Archive,
        channel: &str,
        file: &str,
        threads: &mut BTreeMap<String, Session>,
        each: &mut Each<'_>,
    ) -> ControlFlow<()> {
        let mut records = match archive.read(file).and_then(Records::new) {
            Ok(records) => records,
            Err(error) => return report(each, file, "", &error.to_string()),
        };
        let id = self.channels.get(channel).map_or(channel, String::as_str);
        let day = file
            .rsplit('/')
            .next()
            .unwrap_or(file)
            .trim_end_matches(".json");
        let mut session = self.session(channel, format!("{id}:{day}"));
        session.named = Some(format!("#{channel}, {day}"));
        let mut messages = Vec::new();
        while let Some(message) = records.next::<Message>() {
            match message {
                Ok(message) => messages.push(message),
                Err(bad) => report(each, file, &bad.place, &bad.reason)?,
            }
        }
        each(Found::Bytes(records.bytes()))?;
        messages.sort_by_key(time_of);
        for message in messages {
            let is_written = message
                .subtype
                .get()
                .is_none_or(|kind| WRITTEN.contains(&kind));
            if !is_written || message.r#type.get().is_some_and(|kind| kind != "message") {
                continue;
            }
            match message.thread_ts.get() {
                Some(thread) => {
                    let id = format!("{id}:{thread}");
                    let new = || self.session(channel, id);
                    self.take(
                        threads.entry(thread.to_owned()).or_insert_with(new),
                        &message,
                    );
                }
                None => self.take(&mut session, &message),
            }
        }
        if !session.messages.is_empty() {
            let at = session.last();
            each(Found::Session(Box::new(session)))?;
            let is_quiet = |thread: &Session| at > thread.last().map(|last| last + THREAD_QUIET);
            let quiet = threads.iter().filter(|(_, thread)| is_quiet(thread));
            let quiet: Vec<String> = quiet.map(|(thread, _)| thread.clone()).collect();
            for thread in quiet.iter().filter_map(|thread| threads.remove(thread)) {
                each(Found::Session(Box::new(thread)))?;
            }
        }
        ControlFlow::Continue(())
    }

    fn session(&self, channel: &str, id: String) -> Session {
        let mut session = Session::new(Format::Slack, id);
        let name = self
            .channel_names
            .get(channel)
            .map_or(channel, String::as_str);
        session.folder = Some(name.to_owned());
        session
    }

    fn take(&self, session: &mut Session, message: &Message) {
        let at = time_of(message);
        let profile = message.user_profile.as_ref();
        let stated =
            profile.and_then(|profile| profile.display_name.get().or(profile.real_name.get()));
        let id = message.user.get();
        let known = id.and_then(|id| self.users.get(id)).map(String::as_str);
        let who = known.or(stated).or(message.username.get()).or(id);
        let who = who.unwrap_or("somebody");
        session.say(
            who,
            at,
            &self.readable(message.text.get().unwrap_or_default()),
        );
        for file in &message.files.0 {
            if let Some(name) = file.name.get().or(file.title.get()) {
                session.say(who, at, &format!("[file: {name}]"));
            }
        }
    }

    /// Returns a text with the names of users and channels, plain links, and the three escaped characters.
    fn readable(&self, text: &str) -> String {
        let (mut out, mut rest) = (String::with_capacity(text.len()), text);
        while let Some((before, inside)) = rest.split_once('<') {
            out.push_str(before);
            let Some((element, after)) = inside.split_once('>') else {
                out.push('<');
                rest = inside;
                continue;
            };
            out.push_str(&self.element(element));
            rest = after;
        }
        out.push_str(rest);
        out.replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&")
    }

    fn element(&self, element: &str) -> String {
        let (target, label) = match element.split_once('|') {
            Some((target, label)) => (target, Some(label).filter(|label| !label.is_empty())),
            None => (element, None),
        };
        let named = |mark: char, names: &HashMap<String, String>, id: &str| {
            let name = names.get(id).map(String::as_str).or(label);
            format!("{mark}{}", name.unwrap_or(id))
        };
        match target.split_at_checked(1) {
            Some(("@", id)) => named('@', &self.users, id),
            Some(("#", id)) => named('#', &self.channel_names, id),
            Some(("!", word)) => format!("@{}", label.unwrap_or(word).trim_start_matches('@')),
            _ => match label {
                Some(label) if label != target => format!("{label} ({target})"),
                _ => target.to_owned(),
            },
        }
    }
}

fn time_of(message: &Message) -> Option<DateTime<Utc>> {
    Moment::parse(message.ts.get()?).0
}

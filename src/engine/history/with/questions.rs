//! Questions of a store to a workspace: its state, its listing, and its texts.
//!
//! Promises: a listing is that of one state of the workspace, also while others write there. What was listed is kept beside
//! the index, and the next question is for what changed since, by a mark that the server checks. The server is not
//! trusted: a listing has an end, and texts have the hash of the listing.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::engine::error::EngineError;
use crate::engine::history::History;
use crate::engine::history::with::exchange::{
    ListedFile, ListingPage, ListingQuestion, MAX_FILES, MAX_TEXT, TextsAnswer, TextsQuestion,
    WorkspaceState, written_hash,
};
use crate::engine::history::with::workspace_note::{Listed, VERSION, read_listing, write_listing};
use crate::engine::workspace_clients::WorkspaceClient;

/// Maximum number of attempts at a listing while the workspace changes.
const ROUNDS: usize = 8;

/// Time in seconds for which a listing is kept.
const KEPT_FOR: i64 = 24 * 60 * 60;

/// A listing is written again if one of so many files has changed.
const WORTH_WRITING: usize = 50;

/// Maximum number of files of a workspace that are taken.
const MAX_FILES_OF_ALL: usize = 2_000_000;

/// Maximum size of the texts of one question or request in bytes, if they are more than one.
const BATCH: u64 = 1 << 20;

/// Returns the state of a workspace.
pub(in crate::engine) fn workspace_state(
    client: &dyn WorkspaceClient,
) -> Result<WorkspaceState, EngineError> {
    ask(client, "state", &Value::Object(serde_json::Map::new()))
}

/// Listing of a workspace.
pub(in crate::engine) struct Listing {
    /// State of the workspace.
    pub state: WorkspaceState,
    /// Memories and tombstones, by path.
    pub files: BTreeMap<String, ListedFile>,
    /// Whether most of it was kept since an earlier exchange.
    pub is_kept: bool,
}

/// Returns the listing of the workspace with the identity `workspace`: with `may_be_kept` what changed since an earlier one.
/// With `keeps`, it is kept for the next one.
pub(in crate::engine) fn listing(
    history: &History,
    client: &dyn WorkspaceClient,
    workspace: &str,
    (may_be_kept, keeps): (bool, bool),
) -> Result<Listing, EngineError> {
    let now = history.live.clock.now().timestamp();
    // Once in a while everything is listed: nothing that was kept counts for ever.
    let counts = |known: &Listed| may_be_kept && (0..KEPT_FOR).contains(&(now - known.at));
    let known = read_listing(history, workspace).filter(counts);
    let (listed, taken) = ask_for_listing(client, known, now)?;
    let count = listed.files.len();
    // One that is a little behind serves as well, and may be large.
    let is_worth_it = taken > 0 && taken * WORTH_WRITING >= count;
    if keeps && is_worth_it && !listed.mark.is_empty() {
        write_listing(history, &listed);
    }
    Ok(Listing {
        is_kept: taken < count,
        state: listed.state,
        files: listed.files,
    })
}

/// Returns the listing of a workspace at the time `now`, of which `known` was kept, and of how many files the server told.
fn ask_for_listing(
    client: &dyn WorkspaceClient,
    known: Option<Listed>,
    now: i64,
) -> Result<(Listed, usize), EngineError> {
    let (mut listed, mut taken) = (known, 0);
    for _ in 0..ROUNDS {
        let since = listed.as_ref().map(|listed| listed.mark.clone());
        let mut next = listed.take().unwrap_or_else(|| {
            taken = 0;
            Listed {
                version: VERSION,
                at: now,
                ..Listed::default()
            }
        });
        let Some(pages) = read_pages(client, &mut next, since.as_deref())? else {
            // The mark is unknown by now.
            continue;
        };
        taken += pages.taken;
        next.state = WorkspaceState {
            workspace: pages.first.workspace,
            number: pages.first.number,
            may_write: false,
        };
        next.mark = pages.first.mark;
        if pages.are_of_one_state {
            return Ok((next, taken));
        }
        // What changed after the first page makes them one. A server of an earlier version knows no marks.
        listed = Some(next).filter(|next| !next.mark.is_empty());
    }
    Err(distrusted(client, "it changes all the time; try again"))
}

/// Pages of a listing.
struct Pages {
    first: ListingPage,
    /// Whether all are of the state of the first one.
    are_of_one_state: bool,
    /// Number of files, and of removed ones.
    taken: usize,
}

/// Takes the pages of a listing, or of what changed after the mark `since`, into `listed`; `None` if they are not what was
/// asked for.
fn read_pages(
    client: &dyn WorkspaceClient,
    listed: &mut Listed,
    since: Option<&str>,
) -> Result<Option<Pages>, EngineError> {
    let mut question = ListingQuestion {
        since: since.map(str::to_owned),
        ..ListingQuestion::default()
    };
    let (mut first, mut are_of_one_state): (Option<ListingPage>, bool) = (None, true);
    let mut taken = 0;
    loop {
        let mut page: ListingPage = ask(client, "listing", &question)?;
        let workspace = match &first {
            Some(first) => &first.workspace,
            None if since.is_some() => &listed.state.workspace,
            None => &page.workspace,
        };
        if page.since.as_deref() != since || page.workspace != *workspace {
            return Ok(None);
        }
        let last = page.last().cloned();
        taken += page.files.len() + page.removed.len();
        for file in page.files.drain(..) {
            listed.files.insert(file.path.clone(), file);
        }
        for path in page.removed.drain(..) {
            listed.files.remove(&path);
        }
        let has_more = page.has_more;
        let state = (page.number, page.mark.clone());
        let first = first.get_or_insert(page);
        are_of_one_state &= state == (first.number, first.mark.clone());
        if !has_more {
            return Ok(Some(Pages {
                first: first.clone(),
                are_of_one_state,
                taken,
            }));
        }
        if last <= question.after || taken > MAX_FILES_OF_ALL {
            return Err(distrusted(client, "its listing has no end"));
        }
        question.after = last;
    }
}

/// Fetches the texts of `files`; those that are others by now are absent. Returns also whether there are such.
pub(in crate::engine) fn fetch(
    client: &dyn WorkspaceClient,
    files: &[ListedFile],
) -> Result<(HashMap<String, Vec<u8>>, bool), EngineError> {
    let (mut texts, mut are_others) = (HashMap::new(), false);
    let mut left = files;
    while !left.is_empty() {
        let count = batch(left, |file| file.bytes);
        let question = TextsQuestion {
            paths: left[..count].iter().map(|file| file.path.clone()).collect(),
        };
        let answer: TextsAnswer = ask(client, "texts", &question)?;
        if answer.texts.is_empty() || answer.texts.len() > count {
            return Err(distrusted(
                client,
                "it answers other texts than it was asked for",
            ));
        }
        let (asked, rest) = left.split_at(answer.texts.len());
        for (file, text) in asked.iter().zip(answer.texts) {
            let Some(text) = text else { continue };
            let hash = written_hash(crate::files::digest(text.as_bytes()));
            // More than it listed would not be counted, and a batch has a limit.
            if hash == file.hash && text.len() as u64 == file.bytes && file.bytes <= MAX_TEXT {
                texts.insert(file.path.clone(), text.into_bytes());
            } else {
                are_others = true;
            }
        }
        left = rest;
    }
    Ok((texts, are_others))
}

/// Returns the number of first items that are asked for together: at least one.
pub(in crate::engine) fn batch<T>(items: &[T], bytes: impl Fn(&T) -> u64) -> usize {
    let mut sum = 0;
    let fitting = items.iter().take(MAX_FILES).take_while(|item| {
        sum += bytes(item);
        sum <= BATCH
    });
    fitting.count().max(1)
}

pub(in crate::engine) fn distrusted(client: &dyn WorkspaceClient, what: &str) -> EngineError {
    EngineError::Invalid(format!(
        "cannot exchange memories with {}: {what}",
        client.address()
    ))
}

pub(in crate::engine) fn ask<A: DeserializeOwned>(
    client: &dyn WorkspaceClient,
    name: &str,
    question: &impl Serialize,
) -> Result<A, EngineError> {
    let body = serde_json::to_value(question).expect("texts and numbers are JSON");
    let answer = client.ask(name, &body)?;
    serde_json::from_value(answer).map_err(|error| {
        distrusted(
            client,
            &format!("it does not answer as a workspace does: {error}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::json;

    use super::*;
    use crate::engine::workspace_clients::WorkspaceError;

    /// A server that answers as it is written down, and what it was asked.
    struct Scripted {
        answers: Mutex<Vec<Value>>,
        asked: Mutex<Vec<Value>>,
    }

    impl WorkspaceClient for Scripted {
        fn address(&self) -> &str {
            "https://team.example/w/atlas"
        }

        fn ask(&self, _: &str, body: &Value) -> Result<Value, WorkspaceError> {
            self.asked.lock().unwrap().push(body.clone());
            Ok(self.answers.lock().unwrap().remove(0))
        }
    }

    fn path(name: &str) -> String {
        format!("files/{name}.md")
    }

    /// A page of the state `number`, with the texts 1, 2, … of files.
    fn page(number: u64, files: &[(&str, u64)], more: Value) -> Value {
        let file = |(name, text): &(&str, u64)| {
            let hash = format!("{text:032x}");
            json!({"path": path(name), "hash": hash, "bytes": text, "modified": 0})
        };
        let files: Vec<Value> = files.iter().map(file).collect();
        let mut page = json!({"workspace": "w", "number": number, "mark": format!("{number}.7"),
            "files": files, "has_more": false});
        for (name, value) in more.as_object().unwrap() {
            page[name] = value.clone();
        }
        page
    }

    /// Names and texts of a listing, the listing itself, and what was asked for it.
    struct Outcome {
        files: Vec<(String, u64)>,
        listed: Result<Listed, String>,
        asked: Vec<Value>,
    }

    /// Asks a server with these `answers`.
    fn listed(known: Option<Listed>, answers: Vec<Value>) -> Outcome {
        let server = Scripted {
            answers: Mutex::new(answers),
            asked: Mutex::default(),
        };
        let listed = ask_for_listing(&server, known, 0);
        let listed = listed.map(|(listed, _)| listed);
        let listed = listed.map_err(|error| error.to_string());
        let files = listed.iter().flat_map(|listed| listed.files.values());
        Outcome {
            files: files.map(|file| (file.path.clone(), file.bytes)).collect(),
            listed,
            asked: server.asked.into_inner().unwrap(),
        }
    }

    fn texts(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
        expected
            .iter()
            .map(|(name, text)| (path(name), *text))
            .collect()
    }

    #[test]
    fn what_changed_between_two_pages_is_asked_for() {
        // Between them `a` was changed, `b` removed and `e` added before the second page.
        let found = listed(
            None,
            vec![
                page(1, &[("a", 1), ("b", 1)], json!({"has_more": true})),
                page(4, &[("c", 1), ("d", 1), ("e", 1)], json!({})),
                page(
                    5,
                    &[("a", 2), ("e", 1)],
                    json!({"since": "1.7", "removed": [path("b")]}),
                ),
            ],
        );
        assert_eq!(
            found.files,
            texts(&[("a", 2), ("c", 1), ("d", 1), ("e", 1)])
        );
        assert_eq!(found.listed.unwrap().mark, "5.7");
        let expected = [
            json!({}),
            json!({"after": path("b")}),
            json!({"since": "1.7"}),
        ];
        assert_eq!(found.asked, expected);
    }

    #[test]
    fn pages_with_one_number_and_two_changes_are_of_two_states() {
        let found = listed(
            None,
            vec![
                page(2, &[("a", 1)], json!({"has_more": true})),
                page(2, &[("c", 1)], json!({"mark": "2.8"})),
                // The change of the first page was lost: everything is listed.
                page(2, &[("b", 1), ("c", 1)], json!({"mark": "2.8"})),
                page(2, &[("b", 1), ("c", 1)], json!({"mark": "2.8"})),
            ],
        );
        assert_eq!(found.files, texts(&[("b", 1), ("c", 1)]));
        assert_eq!(found.listed.unwrap().mark, "2.8");
    }

    #[test]
    fn of_a_listing_that_was_kept_only_changes_are_asked_for() {
        let first = listed(None, vec![page(1, &[("a", 1), ("b", 1)], json!({}))]);
        let known = first.listed.unwrap();
        let since = json!({"since": "1.7"});
        let next = listed(
            Some(known.clone()),
            vec![page(3, &[("b", 2)], since.clone())],
        );
        assert_eq!(next.files, texts(&[("a", 1), ("b", 2)]));
        assert_eq!(next.listed.unwrap().state.number, 3);
        assert_eq!(next.asked, [since]);
        // Another workspace has that name by now.
        let found = listed(
            Some(known),
            vec![
                page(1, &[], json!({"workspace": "x", "since": "1.7"})),
                page(1, &[("c", 1)], json!({"workspace": "x"})),
            ],
        );
        assert_eq!(found.files, texts(&[("c", 1)]));
    }

    #[test]
    fn a_server_without_marks_is_asked_until_all_pages_are_of_one_state() {
        let without = |number, files: &[(&str, u64)], more: bool| {
            page(number, files, json!({"mark": "", "has_more": more}))
        };
        let found = listed(
            None,
            vec![
                without(1, &[("a", 1)], true),
                without(2, &[("b", 1)], false),
                without(2, &[("a", 2)], true),
                without(2, &[("b", 1)], false),
            ],
        );
        assert_eq!(found.files, texts(&[("a", 2), ("b", 1)]));
    }

    #[test]
    fn a_listing_has_an_end() {
        let removed = |from: usize| -> Vec<String> {
            (from..from + 500_000)
                .map(|number| path(&format!("{number:09}")))
                .collect()
        };
        let pages = (0..5).map(|part| {
            let removed = removed(part * 500_000);
            page(1, &[], json!({"removed": removed, "has_more": true}))
        });
        let found = listed(None, pages.collect());
        assert!(found.listed.unwrap_err().contains("has no end"));
        assert_eq!(found.asked.len(), 5);
    }
}

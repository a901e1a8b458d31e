//! The data that the picker shows of a store: rows of a search, values of fields, versions of a memory.
//!
//! Promises: a page of rows reads the files of its rows and no others, and asks no model. Until the folder was
//! compared with the index, which happens in a thread of its own after the first list, pages come from the
//! committed index. Every text that is returned is clean: nothing in it is obeyed by a terminal.

use std::thread::JoinHandle;

use chrono::TimeDelta;

use super::fields::{Asked, Chosen, Field, SPANS};
use super::input::Input;
use super::panes::{DiffKind, HistoryPane, Values, VersionRow};
use super::state::Row;
use crate::cli::memories::{find, history};
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::visible;
use crate::cli::wiring::context::Context;
use crate::engine::{
    Engine, EngineError, Hit, Method, PastChange, Query, QueryKind, Ranking, Revision, live, ops,
};
use crate::git::{LineKind, compare_texts};
use crate::model::{Filter, Talks, Visibility};

/// Bytes of a content that are shown: more than anyone scrolls through.
const MOST_SHOWN: usize = 64 << 10;
/// Characters of the last word from which on it may be the beginning of a longer one.
const SHORTEST_BEGINNING: usize = 2;
/// Longer words that a beginning is taken for.
const MOST_COMPLETIONS: usize = 3;
/// Characters of the last word from which on it may be the middle of one: shorter parts stand in most texts, and
/// cost more than a key may.
const SHORTEST_PART: usize = 4;
/// Versions that the history lists.
const MOST_VERSIONS: usize = 500;
/// Equal lines around each difference.
const CONTEXT_LINES: u32 = 3;

/// A store, as the picker asks it.
pub struct Source {
    pub engine: Engine,
    /// Conditions of the command line.
    base: Filter,
    /// The comparison of the folder with the index, until it is done.
    comparison: Option<JoinHandle<()>>,
    has_compared: bool,
}

impl Source {
    /// Takes the store; nothing is read yet.
    pub fn new(engine: Engine, base: Filter) -> Source {
        Source {
            engine: engine.without_models(),
            base,
            comparison: None,
            has_compared: false,
        }
    }

    /// Compares the folder with the index in a thread of its own.
    pub fn compare(&mut self) {
        if self.has_compared || self.comparison.is_some() {
            return;
        }
        let engine = self.engine.clone();
        let work = move || {
            live::follow_events(&engine.live);
            if let Err(error) = ops::search(&engine, &Query::everything(Filter::default(), 0)) {
                tracing::info!("the folder was not compared with the index: {error}");
            }
        };
        self.comparison = Some(std::thread::spawn(work));
    }

    /// Returns whether the comparison has ended since this was asked last.
    pub fn compared_now(&mut self) -> bool {
        let is_done = self
            .comparison
            .as_ref()
            .is_some_and(JoinHandle::is_finished);
        if is_done {
            self.comparison = None;
            self.has_compared = true;
        }
        is_done
    }

    pub fn is_comparing(&self) -> bool {
        self.comparison.is_some()
    }

    /// Returns the rows from `top` on, at most `limit`, and the number of all memories that match.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub fn page(
        &self,
        context: &Context,
        asked: &Asked,
        (top, limit): (usize, usize),
    ) -> Result<(Vec<Row>, usize), Failure> {
        let mut filter = self.filter(context, &asked.chosen);
        let words = find::conditions(context, std::slice::from_ref(&asked.words), &mut filter)?;
        let mut query = Query {
            kind: QueryKind::Everything,
            filter,
            ranking: Ranking {
                method: Method::Words,
                ..Ranking::default()
            },
            limit,
            offset: top,
        };
        let longer = match words.last() {
            Some(last) if last.chars().count() >= SHORTEST_BEGINNING => {
                ops::completions(&self.engine, last, MOST_COMPLETIONS)?
            }
            _ => Vec::new(),
        };
        for kind in kinds(&words, &longer) {
            query.kind = kind;
            let results = self.search(&query)?;
            if results.1 > 0 {
                return Ok(results);
            }
        }
        Ok((Vec::new(), 0))
    }

    fn search(&self, query: &Query) -> Result<(Vec<Row>, usize), EngineError> {
        let committed = match self.has_compared {
            true => None,
            false => ops::search_committed(&self.engine, query)?,
        };
        // Nothing is said to be missing before the folder was looked at.
        let results = match committed.filter(|results| results.total > 0) {
            Some(results) => results,
            None => ops::search(&self.engine, query)?,
        };
        let rows = results.hits.iter().map(|hit| self.row(hit)).collect();
        Ok((rows, results.total))
    }

    fn filter(&self, context: &Context, chosen: &Chosen) -> Filter {
        let mut filter = self.base.clone();
        let equals = chosen.equals.iter();
        filter
            .equals
            .extend(equals.map(|(field, value)| (field.name.to_owned(), value.clone())));
        if let Some((_, days)) = chosen.span.and_then(|span| SPANS.get(span)) {
            filter.since = context.now().checked_sub_signed(TimeDelta::days(*days));
        }
        if chosen.everything {
            filter.visibility = Visibility::Everything;
            filter.talks = Talks::Everywhere;
        }
        filter
    }

    fn row(&self, hit: &Hit) -> Row {
        let memory = &hit.memory;
        let content = &memory.content;
        let mut end = content.len().min(MOST_SHOWN);
        while !content.is_char_boundary(end) {
            end -= 1;
        }
        let mut fields = vec![
            format!(
                "{} by {}, {}",
                memory.timestamp.as_str(),
                memory.agent,
                memory.user
            ),
            format!("namespace {}", memory.namespace_or_global()),
        ];
        let marks = [
            memory.kind.map(|kind| format!("kind {}", kind.as_str())),
            memory.tier.map(|tier| format!("tier {}", tier.as_str())),
            memory
                .importance
                .map(|importance| format!("importance {importance}")),
        ];
        let marks: Vec<String> = marks.into_iter().flatten().collect();
        if !marks.is_empty() {
            fields.push(marks.join(" · "));
        }
        if !memory.topics.is_empty() {
            fields.push(format!("topics {}", memory.topics.join(", ")));
        }
        Row {
            id: one_line(&live::shown_name(
                &self.engine.live,
                &memory.stem,
                &hit.name,
            )),
            day: memory.timestamp.date().to_string(),
            headline: one_line(memory.headline()),
            fields: fields.iter().map(|field| one_line(field)).collect(),
            content: visible(&content[..end]),
            left_out: content.len() - end,
        }
    }

    /// Returns the values of a field with their numbers of memories, the most frequent first.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub fn values(&self, field: Field) -> Result<Values, EngineError> {
        Ok(Values {
            field,
            values: ops::facet(&self.engine, field.name)?,
            typed: Input::default(),
            selected: 0,
        })
    }

    /// Returns the versions of a memory, newest first, without a difference.
    ///
    /// # Errors
    ///
    /// Fails if the store has no history.
    pub fn history(
        &self,
        context: &Context,
        id: String,
        headline: String,
    ) -> Result<HistoryPane, EngineError> {
        history::commit_first(&self.engine);
        let log = ops::log(&self.engine, Some(&id), MOST_VERSIONS)?;
        let versions = log
            .changes
            .iter()
            .map(|change| version_row(context, change));
        Ok(HistoryPane {
            id,
            headline,
            versions: versions.collect(),
            selected: 0,
            scroll: 0,
            difference: Vec::new(),
        })
    }

    /// Returns how the selected version differs from the one before it; of the first, all of it.
    ///
    /// # Errors
    ///
    /// Fails if the history cannot be read.
    pub fn difference(&self, pane: &HistoryPane) -> Result<Vec<(DiffKind, String)>, EngineError> {
        let Some((commit, earlier)) = pane.compared() else {
            return Ok(Vec::new());
        };
        let after = self.text_at(&pane.id, commit)?;
        let before = match earlier {
            Some(earlier) => self.text_at(&pane.id, earlier)?,
            None => Vec::new(),
        };
        let lines = compare_texts(&before, &after, CONTEXT_LINES)?;
        Ok(lines
            .iter()
            .map(|line| diff_line(line.kind, &line.text))
            .collect())
    }

    /// Returns the bytes that a memory had as of a commit; none where it was not there.
    fn text_at(&self, id: &str, commit: &str) -> Result<Vec<u8>, EngineError> {
        let revision = Revision {
            text: commit.to_owned(),
            at: None,
        };
        match ops::versions(&self.engine, id, Some(&revision)) {
            Ok(versions) => Ok(versions.before.map_or_else(Vec::new, |text| text.bytes)),
            // It was deleted in this commit.
            Err(EngineError::Past(_)) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

/// Returns the searches to try for these words, until one finds something. The last word may be half typed: it also
/// stands for the `longer` ones that begin with it, unless it is one itself, and then for a part of any word.
fn kinds(words: &[String], longer: &[String]) -> Vec<QueryKind> {
    let Some(last) = words.last() else {
        return vec![QueryKind::Everything];
    };
    let is_whole = longer.contains(&last.to_lowercase());
    let longer = longer.iter().filter(|_| !is_whole);
    let all: Vec<&str> = words.iter().chain(longer).map(String::as_str).collect();
    let mut kinds = vec![QueryKind::Text(all.join(" "))];
    if last.chars().count() >= SHORTEST_PART {
        kinds.push(QueryKind::Keywords(vec![last.clone()]));
    }
    kinds
}

fn version_row(context: &Context, change: &PastChange) -> VersionRow {
    let at = change
        .at
        .with_timezone(&chrono::Local)
        .format("%Y-%m-%d %H:%M");
    let what = change.what.split(" (").next().unwrap_or_default();
    let who = history::doers(&context.output, change);
    VersionRow {
        commit: change.commit.clone(),
        line: one_line(&format!("{at}  {}  {what}  {who}", change.short())),
    }
}

fn diff_line(kind: LineKind, text: &[u8]) -> (DiffKind, String) {
    let text = String::from_utf8_lossy(text);
    let text = visible(text.trim_end_matches(['\n', '\r']));
    match kind {
        LineKind::Place => (DiffKind::Place, text),
        LineKind::Same => (DiffKind::Same, format!(" {text}")),
        LineKind::Added => (DiffKind::Added, format!("+{text}")),
        LineKind::Removed => (DiffKind::Removed, format!("-{text}")),
        LineKind::NoEnd => (DiffKind::Same, text),
    }
}

/// Returns a text on one line, without what a terminal would obey.
pub fn one_line(text: &str) -> String {
    visible(&text.replace(['\n', '\t', '\r'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_word_stands_for_those_that_begin_with_it() {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let text = |text: &str| QueryKind::Text(text.to_owned());
        let check = |typed: &[&str], longer: &[&str], expected: &[QueryKind]| {
            assert_eq!(kinds(&words(typed), &words(longer)), expected);
        };
        check(&[], &[], &[QueryKind::Everything]);
        check(&["de"], &["deploy", "debug"], &[text("de deploy debug")]);
        let part = QueryKind::Keywords(words(&["Deploy"]));
        check(
            &["how", "Deploy"],
            &["deploy", "deployment"],
            &[text("how Deploy"), part],
        );
    }

    #[test]
    fn rows_hold_nothing_that_a_terminal_obeys() {
        assert_eq!(
            one_line("a\tb\nc\r\u{1b}[2J\u{202e}"),
            "a b c \\x1b[2J\\u{202e}"
        );
        let (_, line) = diff_line(LineKind::Added, b"x\x1b]0;t\x07\r\n");
        assert_eq!(line, "+x\\x1b]0;t\\x07");
    }
}

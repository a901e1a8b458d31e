//! The picker in plain lines: a numbered list and a line to answer, for screen readers and simple terminals.
//!
//! Promises: every line is written once and never changed, without colours; nothing moves the cursor. All of it goes
//! to standard error, so that standard output gets the id alone.

use std::io;

use super::actions::{self, as_line};
use super::draw::chips;
use super::fields::{Chosen, FIELDS, SPANS};
use super::input::Input;
use super::panes::HistoryPane;
use super::screen::failed;
use super::source::Source;
use super::state::{Picker, Purpose, Row};
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::Context;

/// Rows of a page.
const PAGE: usize = 10;
/// Versions that `h` lists.
const MOST_VERSIONS: usize = 10;
/// Answers, as `?` shows them.
const HELP: &str = "\
words        search for them; an empty line is the next page
NUMBER       choose that memory
v NUMBER     its text
e NUMBER     open it in the editor
f NUMBER     forget it, after a question
l NUMBER NUMBER [RELATION]   link the first to the second
h NUMBER     its history; h NUMBER VERSION the difference of a version
filter NAME VALUE, filter since day|week|month|year, filter all, filter none
             NAME is namespace, topic, kind, agent, user or tier
s WORDS      search for words that would be one of these answers
q            leave";

/// An answer to the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    NextPage,
    Search(String),
    Choose(usize),
    View(usize),
    Edit(usize),
    Forget(usize),
    Link(usize, usize, String),
    History(usize, Option<usize>),
    Filter(String),
    Help,
    Quit,
}

impl Answer {
    fn read(line: &str) -> Answer {
        let line = line.trim();
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<usize>().ok());
        let search = || Answer::Search(line.to_owned());
        match (words.as_slice(), number(0), number(1), number(2)) {
            ([], ..) => Answer::NextPage,
            ([_], Some(one), ..) => Answer::Choose(one),
            (["?" | "help"], ..) => Answer::Help,
            (["q" | "quit"], ..) => Answer::Quit,
            (["v", _], _, Some(one), _) => Answer::View(one),
            (["e", _], _, Some(one), _) => Answer::Edit(one),
            (["f", _], _, Some(one), _) => Answer::Forget(one),
            (["h", _], _, Some(one), _) => Answer::History(one, None),
            (["h", _, _], _, Some(one), Some(version)) => Answer::History(one, Some(version)),
            (["l", _, _], _, Some(from), Some(to)) => {
                Answer::Link(from, to, "related-to".to_owned())
            }
            (["l", _, _, relation], _, Some(from), Some(to)) => {
                Answer::Link(from, to, (*relation).to_owned())
            }
            (["filter", ..], ..) => Answer::Filter(words[1..].join(" ")),
            (["s", ..], ..) => Answer::Search(words[1..].join(" ")),
            _ => search(),
        }
    }
}

/// A picker that speaks in lines.
struct Lines<'a> {
    context: &'a Context,
    source: Source,
    picker: Picker,
    has_written: bool,
}

/// Lets a person choose by answering lines; also returns whether something was written.
pub fn choose(
    context: &Context,
    source: Source,
    mut picker: Picker,
) -> Result<(Vec<String>, bool), Failure> {
    picker.resize(PAGE);
    let mut lines = Lines {
        context,
        source,
        picker,
        has_written: false,
    };
    let chosen = lines.answer()?;
    Ok((chosen, lines.has_written))
}

impl Lines<'_> {
    fn answer(&mut self) -> Result<Vec<String>, Failure> {
        self.list()?;
        self.source.compare();
        loop {
            let prompt = match (&self.picker.link_from, self.picker.purpose) {
                (Some((from, _)), _) => format!("number of the memory that {from} is linked to"),
                (None, Purpose::Forget) => "number of the memory to forget".to_owned(),
                _ => "number, words, or ? for help".to_owned(),
            };
            self.say(&format!("{prompt}:"));
            let mut line = String::new();
            let read = io::stdin().read_line(&mut line);
            if read.map_err(failed)? == 0 {
                return Ok(Vec::new());
            }
            self.source.compared_now();
            match Answer::read(&line) {
                Answer::Quit => return Ok(Vec::new()),
                Answer::Choose(number) => {
                    if let Some(chosen) = self.choose(number)? {
                        return Ok(chosen);
                    }
                }
                answer => {
                    if let Err(failure) = self.perform(answer) {
                        self.say(&as_line(&failure));
                    }
                }
            }
        }
    }

    fn say(&self, text: &str) {
        self.context.output.note(text);
    }

    /// Returns the memory with this number in the list; says so if there is none.
    fn row(&self, number: usize) -> Option<Row> {
        let place = number.checked_sub(self.picker.top + 1);
        let row = place.and_then(|place| self.picker.rows.get(place)).cloned();
        if row.is_none() {
            self.say(&format!("there is no number {number} in the list"));
        }
        row
    }

    fn choose(&mut self, number: usize) -> Result<Option<Vec<String>>, Failure> {
        let Some(row) = self.row(number) else {
            return Ok(None);
        };
        match (self.picker.purpose, self.picker.link_from.take()) {
            (Purpose::LinkFrom, None) => {
                self.picker.link_from = Some((row.id, row.headline));
                Ok(None)
            }
            (Purpose::LinkFrom, Some((from, _))) => Ok(Some(vec![from, row.id])),
            (Purpose::Forget, _) => Ok(self.may_forget(&row)?.then(|| vec![row.id])),
            _ => Ok(Some(vec![row.id])),
        }
    }

    fn may_forget(&self, row: &Row) -> Result<bool, Failure> {
        self.say(&format!("forget {} {}? y or n:", row.id, row.headline));
        let mut line = String::new();
        io::stdin().read_line(&mut line).map_err(failed)?;
        Ok(matches!(line.trim(), "y" | "Y" | "yes"))
    }

    fn perform(&mut self, answer: Answer) -> Result<(), Failure> {
        match answer {
            Answer::Choose(_) | Answer::Quit => {}
            Answer::Help => self.say(HELP),
            Answer::NextPage => {
                if self.picker.top + PAGE >= self.picker.total {
                    self.say("that was the last page");
                    return Ok(());
                }
                self.picker.top += PAGE;
                self.list()?;
            }
            Answer::Search(words) => {
                self.picker.words = Input::of(&words);
                self.picker.search_anew();
                self.list()?;
            }
            Answer::Filter(text) => {
                self.filter(&text);
                self.picker.search_anew();
                self.list()?;
            }
            Answer::View(number) => {
                if let Some(row) = self.row(number) {
                    self.view(&row);
                }
            }
            Answer::Edit(number) => {
                if let Some(row) = self.row(number) {
                    let said = actions::edit(self.context, &self.source, &row.id)?;
                    self.wrote(&said);
                }
            }
            Answer::Forget(number) => {
                if let Some(row) = self.row(number)
                    && self.may_forget(&row)?
                {
                    let said = actions::forget(&self.source, &row.id)?;
                    self.wrote(&said);
                    self.list()?;
                }
            }
            Answer::Link(from, to, relation) => {
                if let (Some(from), Some(to)) = (self.row(from), self.row(to)) {
                    let ends = (from.id.as_str(), to.id.as_str());
                    let said = actions::link(&self.source, ends, &relation)?;
                    self.wrote(&said);
                }
            }
            Answer::History(number, version) => {
                if let Some(row) = self.row(number) {
                    let pane = self.source.history(self.context, row.id, row.headline)?;
                    self.tell_history(pane, version)?;
                }
            }
        }
        Ok(())
    }

    fn wrote(&mut self, said: &str) {
        self.has_written = true;
        self.say(said);
    }

    fn filter(&mut self, text: &str) {
        let chosen = &mut self.picker.chosen;
        let (name, value) = text.split_once(' ').unwrap_or((text, ""));
        let span = SPANS.iter().position(|(span, _)| *span == value);
        match (name, FIELDS.iter().find(|field| field.label == name)) {
            ("all", _) => chosen.everything = true,
            ("none", _) => *chosen = Chosen::default(),
            ("since", _) if span.is_some() => chosen.span = span,
            (_, Some(field)) if !value.is_empty() => {
                chosen.equals.retain(|(known, _)| known.name != field.name);
                chosen.equals.push((*field, value.to_owned()));
            }
            _ => self.say("filter by what? `?` shows how"),
        }
    }

    fn list(&mut self) -> Result<(), Failure> {
        let window = (self.picker.top, PAGE);
        let (rows, total) = self
            .source
            .page(self.context, &self.picker.asked(), window)?;
        self.picker.show(rows, total);
        let chips = chips(&self.picker.chosen);
        let of = match chips.is_empty() {
            true => String::new(),
            false => format!(", {}", chips.join(", ")),
        };
        let last = self.picker.top + self.picker.rows.len();
        match total {
            0 => self.say(&format!("nothing found{of}")),
            _ => self.say(&format!(
                "{} to {last} of {total} memories{of}",
                self.picker.top + 1
            )),
        }
        for (number, row) in self.picker.rows.iter().enumerate() {
            let number = self.picker.top + number + 1;
            self.say(&format!(
                "{number}. {} ({}, {})",
                row.headline, row.day, row.id
            ));
        }
        Ok(())
    }

    fn view(&self, row: &Row) {
        self.say(&row.headline);
        row.fields.iter().for_each(|field| self.say(field));
        self.say("");
        self.say(row.content.trim_end());
        if row.left_out > 0 {
            self.say(&format!(
                "{} more bytes: memdir recall {}",
                row.left_out, row.id
            ));
        }
    }

    fn tell_history(&self, mut pane: HistoryPane, version: Option<usize>) -> Result<(), Failure> {
        let Some(version) = version else {
            for (number, version) in pane.versions.iter().take(MOST_VERSIONS).enumerate() {
                self.say(&format!("version {}: {}", number + 1, version.line));
            }
            return Ok(());
        };
        if version == 0 || version > pane.versions.len() {
            self.say(&format!("there is no version {version}"));
            return Ok(());
        }
        pane.selected = version - 1;
        for (_, line) in self.source.difference(&pane)? {
            self.say(&line);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_number_a_letter_with_numbers_or_words() {
        let check = |line: &str, answer: Answer| assert_eq!(Answer::read(line), answer, "{line}");
        check("", Answer::NextPage);
        check(" 3 ", Answer::Choose(3));
        check("v 2", Answer::View(2));
        check("f 2", Answer::Forget(2));
        check("l 1 2", Answer::Link(1, 2, "related-to".to_owned()));
        check(
            "l 1 2 depends-on",
            Answer::Link(1, 2, "depends-on".to_owned()),
        );
        check("h 1 2", Answer::History(1, Some(2)));
        check("filter topic rust", Answer::Filter("topic rust".to_owned()));
        check("f is a letter", Answer::Search("f is a letter".to_owned()));
        check("s 2026", Answer::Search("2026".to_owned()));
        check("v two", Answer::Search("v two".to_owned()));
        check("q", Answer::Quit);
    }
}

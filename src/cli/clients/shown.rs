//! Output of `memdir setup`: the clients it found, the changes, and what it left alone.

use serde_json::{Value, json};

use crate::cli::terminal::difference;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::{BOLD, DIM, Output};
use crate::clients::{
    CLIENTS, Change, Client, Contents, Folders, LeftAlone, Part, Plan, Scope, Snippet,
};
use crate::git::compare_texts;

/// Lines around each difference.
const CONTEXT_LINES: u32 = 3;

/// Request of the user.
pub struct Report<'a> {
    pub folders: &'a Folders,
    pub clients: &'a [&'static Client],
    pub contents: &'a Contents,
    pub scope: Scope,
    pub is_uninstall: bool,
}

/// Says that no client was found, and which there are.
pub fn nothing_found(output: &mut Output) -> Result<(), Failure> {
    let names: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
    if output.json {
        output.json(&json!({"clients": [], "written": false, "files": [], "left": []}))?;
    } else {
        output.line("No client was found on this machine.")?;
        output.line(format!(
            "`memdir setup CLIENT` sets one up all the same: {}",
            names.join(", ")
        ))?;
    }
    Ok(())
}

/// Shows the clients with where they were found and which files would change.
pub fn table(
    output: &mut Output,
    folders: &Folders,
    clients: &[&'static Client],
    plan: &Plan,
) -> Result<(), Failure> {
    let rows: Vec<[String; 3]> = clients
        .iter()
        .map(|client| {
            let found = folders.find(client).map(|path| folders.shown(&path));
            let changed: Vec<String> = plan
                .changed()
                .filter(|change| change.parts.iter().any(|(of, _)| of.name == client.name))
                .map(|change| folders.shown(&change.path))
                .collect();
            let is_left = |left: &&LeftAlone| left.client.name == client.name;
            let left = plan.left.iter().chain(&plan.by_hand).filter(is_left);
            let left = left.map(|left| format!("by hand: {}", folders.shown(&left.path)));
            let changed: Vec<String> = changed.into_iter().chain(left).collect();
            let changed = match changed.is_empty() {
                true => "nothing".to_owned(),
                false => changed.join(", "),
            };
            [client.name.to_owned(), found.unwrap_or_default(), changed]
        })
        .collect();
    let head = ["client", "found", "would change"].map(str::to_owned);
    let width = |column: usize| {
        let cells = rows
            .iter()
            .chain([&head])
            .map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let (first, second) = (width(0), width(1));
    for (row, is_head) in [(&head, true)]
        .into_iter()
        .chain(rows.iter().map(|row| (row, false)))
    {
        let line = format!("{:first$}  {:second$}  {}", row[0], row[1], row[2]);
        let line = output.shown(line.trim_end());
        match is_head {
            true => output.line(format!("{BOLD}{line}{BOLD:#}"))?,
            false => output.line(line)?,
        }
    }
    Ok(())
}

/// Shows texts for pasting.
pub fn snippets(
    output: &mut Output,
    folders: &Folders,
    snippets: &[Snippet],
) -> Result<(), Failure> {
    if output.json {
        let all = snippets.iter().map(|snippet| {
            json!({
                "client": snippet.client.name, "part": snippet.part.name(),
                "path": snippet.path.display().to_string(), "text": snippet.text,
            })
        });
        output.json(&json!({"snippets": all.collect::<Vec<_>>()}))?;
        return Ok(());
    }
    for (number, snippet) in snippets.iter().enumerate() {
        if number > 0 {
            output.line("")?;
        }
        let heading = format!(
            "{}, {}: {}",
            snippet.client.title,
            snippet.part.name(),
            output.shown_name(&folders.shown(&snippet.path))
        );
        output.line(format!("{BOLD}# {heading}{BOLD:#}"))?;
        output.line(output.shown(snippet.text.trim_end()))?;
    }
    Ok(())
}

impl Report<'_> {
    /// Shows what a plan would change, as a unified diff.
    pub fn difference(&self, output: &mut Output, plan: &Plan) -> Result<(), Failure> {
        if output.json {
            return self.json(output, plan, false);
        }
        for change in plan.changed() {
            let path = output.shown_name(&change.path.display().to_string());
            let side = |text: &Option<String>| match text {
                Some(_) => path.clone(),
                None => "/dev/null".to_owned(),
            };
            output.line(format!("{BOLD}--- {}{BOLD:#}", side(&change.before)))?;
            output.line(format!("{BOLD}+++ {}{BOLD:#}", side(&change.after)))?;
            let [before, after] = [&change.before, &change.after]
                .map(|text| text.as_deref().unwrap_or_default().as_bytes());
            let lines = compare_texts(before, after, CONTEXT_LINES)
                .map_err(|error| Failure::new(format!("cannot compare {path}")).because(error))?;
            difference::show(output, &lines)?;
        }
        if plan.changed().next().is_none() {
            output.line("Nothing would change.")?;
        }
        self.by_hand(output, plan);
        Ok(())
    }

    /// Shows the files that a plan changes, a line each.
    pub fn changes(&self, output: &mut Output, plan: &Plan) -> Result<(), Failure> {
        for change in plan.changed() {
            let path = output.shown_name(&self.folders.shown(&change.path));
            let action = action(change);
            output.line(format!("{action:<7} {path}  {DIM}{}{DIM:#}", parts(change)))?;
        }
        Ok(())
    }

    /// Shows what was done, or would be, with what is left to the user.
    pub fn outcome(
        &self,
        output: &mut Output,
        plan: &Plan,
        is_written: bool,
    ) -> Result<(), Failure> {
        if output.json {
            return self.json(output, plan, is_written);
        }
        if !is_written {
            self.by_hand(output, plan);
            output.note("Nothing was written. `--yes` writes it, `--dry-run` shows it as a diff.");
            return Ok(());
        }
        self.changes(output, plan)?;
        if plan.changed().next().is_none() && plan.left.is_empty() {
            output.line(match self.is_uninstall {
                true => "Nothing of memdir is in the files of these clients.",
                false => "Everything is set up already.",
            })?;
        }
        self.by_hand(output, plan);
        for word in self.words(plan) {
            output.note(word);
        }
        Ok(())
    }

    /// Names what a person has to do, with the text to paste.
    fn by_hand(&self, output: &mut Output, plan: &Plan) {
        for left in plan.left.iter().chain(&plan.by_hand) {
            let path = output.shown_name(&self.folders.shown(&left.path));
            let (title, part) = (left.client.title, left.part.name());
            output.note(format!(
                "left alone: {path} ({title}, {part}): {}",
                left.why
            ));
            if !self.is_uninstall {
                let snippet = left.part.snippet(self.contents, left.client, self.scope);
                output.note(format!(
                    "Put this into it yourself:\n{}",
                    snippet.trim_end()
                ));
            } else {
                output.note("Take memdir out of it yourself.");
            }
        }
    }

    /// Returns what is good to know of what was written.
    fn words(&self, plan: &Plan) -> Vec<String> {
        let mut words = Vec::new();
        for (client, path) in &plan.kept {
            words.push(format!(
                "{}: the entry in {} runs a command of your own, which stays.",
                client.title,
                self.folders.shown(path)
            ));
        }
        if self.is_uninstall || plan.changed().next().is_none() {
            return words;
        }
        let program = &self.contents.launch.program;
        let path = program.path.display();
        let is_by_path = |client: &&&Client| {
            program.word(client, self.scope) != "memdir" && is_changed(plan, client)
        };
        let by_path: Vec<&str> = self
            .clients
            .iter()
            .filter(is_by_path)
            .map(|client| client.title)
            .collect();
        match (by_path.is_empty(), program.is_on_path) {
            (true, _) => {}
            (false, true) => words.push(format!(
                "{} is started from the desktop, without the PATH of your shell: the entry names {path}, so run `memdir setup` again if the program moves.",
                by_path.join(", ")
            )),
            (false, false) => words.push(format!(
                "memdir is not on the PATH, so the entries name {path}: run `memdir setup` again if the program moves."
            )),
        }
        let served = &self.contents.words;
        if let (Some(forget), "core") = (served.forget, served.dialect) {
            words.push(format!(
                "Agents get the tool `{forget}`, too: it moves memories to the archive, where `memdir restore` finds them."
            ));
        }
        let has_hooks = plan.changed().any(|change| {
            let mut parts = change.parts.iter();
            parts.any(|(client, part)| client.name == "codex" && *part == Part::Hooks)
        });
        if has_hooks {
            words
                .push("Codex runs new hooks after you approve them: type /hooks in it.".to_owned());
        }
        words.push("Start the clients anew.".to_owned());
        words
    }

    fn json(&self, output: &mut Output, plan: &Plan, is_written: bool) -> Result<(), Failure> {
        let clients = self.clients.iter().map(|client| {
            let found = self
                .folders
                .find(client)
                .map(|path| path.display().to_string());
            json!({"name": client.name, "title": client.title, "found": found})
        });
        let files = plan.changed().map(|change| {
            let parts = change
                .parts
                .iter()
                .map(|(client, part)| json!({"client": client.name, "part": part.name()}));
            json!({
                "path": change.path.display().to_string(),
                "action": action(change),
                "parts": parts.collect::<Vec<_>>(),
            })
        });
        let left = plan.left.iter().chain(&plan.by_hand).map(|left| {
            let snippet = match self.is_uninstall {
                true => Value::Null,
                false => json!(left.part.snippet(self.contents, left.client, self.scope)),
            };
            json!({
                "client": left.client.name, "part": left.part.name(),
                "path": left.path.display().to_string(), "reason": left.why, "snippet": snippet,
            })
        });
        output.json(&json!({
            "clients": clients.collect::<Vec<_>>(),
            "written": is_written,
            "files": files.collect::<Vec<_>>(),
            "left": left.collect::<Vec<_>>(),
        }))?;
        Ok(())
    }
}

fn is_changed(plan: &Plan, client: &Client) -> bool {
    let mut changed = plan.changed().flat_map(|change| &change.parts);
    changed.any(|(of, part)| of.name == client.name && matches!(part, Part::Server | Part::Hooks))
}

fn action(change: &Change) -> &'static str {
    match (&change.before, &change.after) {
        (None, _) => "make",
        (Some(_), Some(_)) => "change",
        (Some(_), None) => "remove",
    }
}

/// Returns the parts of a change as words: `Gemini CLI: server, hooks`.
fn parts(change: &Change) -> String {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for (client, part) in &change.parts {
        match all.iter_mut().find(|(title, _)| *title == client.title) {
            Some((_, parts)) => parts.push(part.name()),
            None => all.push((client.title, vec![part.name()])),
        }
    }
    let all = all
        .iter()
        .map(|(title, parts)| format!("{title}: {}", parts.join(", ")));
    all.collect::<Vec<_>>().join("; ")
}

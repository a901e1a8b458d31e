//! Lists of the frontmatter as sets of items, each with the text that it was written as.
//!
//! Promises: an item that is kept keeps its quotes, its comment and the lines above it; a list
//! that cannot be taken apart without loss is none.

use super::comment::comment_of;
use super::{scalar, value};
use crate::model::Link;

/// Kind of the items of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListKind {
    /// Texts, in every spelling that the format reads.
    Words,
    /// Relations to other memories.
    Links,
    /// Items of an unknown key, which are never interpreted.
    Any,
}

/// One list as it stands in a file.
#[derive(Debug)]
pub(super) struct List<'a> {
    form: ListForm<'a>,
    /// The rest of the key's own line.
    value: &'a str,
    pub items: Vec<ListItem>,
}

#[derive(Debug)]
enum ListForm<'a> {
    /// `[a, b]`, or words with commas; with the comment after it.
    Line { comment: String },
    /// `- a`, one below the other.
    Block { indent: &'a str },
}

/// An item of a list, and how it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListItem {
    /// Equal for items that say the same.
    meaning: String,
    text: ItemText,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ItemText {
    /// As between the commas of a flow list.
    Flow(String),
    /// All lines, from the dash on, with the comments above; without the list's indentation.
    Block(String),
}

impl ListItem {
    /// Returns the item that relates to another memory.
    pub fn of_link(link: &Link) -> ListItem {
        let lines = value::write_links(std::slice::from_ref(link), "\n");
        let text = lines.trim_start().trim_start_matches("- ");
        ListItem {
            meaning: link_meaning(link),
            text: ItemText::Flow(text.to_owned()),
        }
    }

    /// Returns the text between the commas of a flow list, if it can stand there.
    fn in_flow(&self) -> Option<&str> {
        match &self.text {
            ItemText::Flow(text) => Some(text),
            ItemText::Block(lines) => {
                let text = scalar::trim_blank(lines.strip_prefix('-')?);
                let is_whole = match scalar::unquote(text) {
                    Some((_, rest)) => rest.is_empty(),
                    None if text.starts_with('{') => !text.contains(['#', '\n']),
                    None => !text.contains([',', '[', ']', '{', '}', '#', ':', '\n']),
                };
                is_whole.then_some(text)
            }
        }
    }

    fn in_block(&self, indent: &str, newline: &str) -> String {
        match &self.text {
            ItemText::Flow(text) => format!("{indent}- {text}{newline}"),
            ItemText::Block(lines) => lines
                .split_inclusive('\n')
                .map(|line| match line.trim() {
                    "" => line.to_owned(),
                    _ => format!("{indent}{line}"),
                })
                .collect(),
        }
    }
}

impl<'a> List<'a> {
    /// Reads the list that follows a key's colon, with the lines below; `None` if it is none, or
    /// one that cannot be taken apart.
    pub fn read(kind: ListKind, value: &'a str, below: &'a str) -> Option<List<'a>> {
        let first = scalar::trim_blank(value);
        let list = if first.is_empty() || first.starts_with('#') {
            let (form, items) = block_items(kind, below)?;
            List { form, value, items }
        } else if first.starts_with('[') {
            let text = match below {
                "" => first.to_owned(),
                _ => format!("{first}\n{below}"),
            };
            let (items, comment) = flow_items(kind, &text)?;
            let form = ListForm::Line { comment };
            List { form, value, items }
        } else if kind == ListKind::Words && below.trim().is_empty() {
            let items = value::read_list(value, below);
            let items = items.into_iter().map(|meaning| ListItem {
                text: ItemText::Flow(scalar::quoted(&meaning)),
                meaning,
            });
            let comment = comment_of("topics", value);
            List {
                form: ListForm::Line { comment },
                value,
                items: items.collect(),
            }
        } else {
            return None;
        };
        // Where the two readers disagree, the lenient one of the format is right.
        let is_agreed = kind != ListKind::Words
            || value::read_list(value, below)
                .iter()
                .eq(list.items.iter().map(|item| &item.meaning));
        is_agreed.then_some(list)
    }

    /// Writes `items` in the form of this list, after `head`: the key and its colon.
    pub fn write(&self, kind: ListKind, head: &str, items: &[ListItem], newline: &str) -> String {
        let in_flow: Option<Vec<&str>> = items.iter().map(ListItem::in_flow).collect();
        match (&self.form, in_flow) {
            (ListForm::Line { comment }, _) if kind == ListKind::Words => {
                let words: Vec<String> = items.iter().map(|item| item.meaning.clone()).collect();
                let list = scalar::write_list(&words);
                format!("{head} {list}{comment}{newline}")
            }
            (ListForm::Line { comment }, Some(texts)) => {
                format!("{head} [{}]{comment}{newline}", texts.join(", "))
            }
            (ListForm::Line { comment }, None) => {
                format!("{head}{comment}{newline}{}", block(items, "  ", newline))
            }
            (ListForm::Block { .. }, _) if items.is_empty() => {
                format!("{head} []{}{newline}", comment_of("topics", self.value))
            }
            (ListForm::Block { indent }, _) => {
                let value = self.value;
                format!("{head}{value}{newline}{}", block(items, indent, newline))
            }
        }
    }

    /// Writes `links` in the form of this list, after `head`, each that is in it as it stands there; `None` if that would
    /// not be read as these links, or none of them stays.
    pub fn with_links(&self, links: &[Link], head: &str, newline: &str) -> Option<String> {
        let mut known: Vec<&ListItem> = self.items.iter().collect();
        let items = links.iter().map(|link| {
            let meaning = link_meaning(link);
            match known.iter().position(|item| item.meaning == meaning) {
                Some(at) => known.remove(at).clone(),
                None => ListItem::of_link(link),
            }
        });
        let items: Vec<ListItem> = items.collect();
        let keeps_any = known.len() < self.items.len();
        let written = self.write(ListKind::Links, head, &items, newline);
        let (value, below) = written[head.len()..].split_once('\n')?;
        let read = value::read_links(value, below).ok()?;
        (read == links && keeps_any).then_some(written)
    }

    fn find(&self, meaning: &str) -> Option<&ListItem> {
        self.items.iter().find(|item| item.meaning == meaning)
    }

    /// Returns whether it holds what `item` says.
    pub fn holds(&self, item: &ListItem) -> bool {
        self.find(&item.meaning).is_some()
    }
}

fn block(items: &[ListItem], indent: &str, newline: &str) -> String {
    items
        .iter()
        .map(|item| item.in_block(indent, newline))
        .collect()
}

/// Merges lists as sets: what stays of the base in its order, then what the loser added, then
/// what the winner did. A list that is not there is an empty one.
pub(super) fn merge(
    base: Option<&List<'_>>,
    winner: Option<&List<'_>>,
    loser: Option<&List<'_>>,
) -> Vec<ListItem> {
    let find = |list: Option<&List<'_>>, meaning: &str| list?.find(meaning).cloned();
    let items = |list: Option<&List<'_>>| list.map_or_else(Vec::new, |list| list.items.clone());
    let mut merged: Vec<ListItem> = Vec::new();
    for old in items(base) {
        let (ours, theirs) = (find(winner, &old.meaning), find(loser, &old.meaning));
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            merged.push(if ours.text == old.text { theirs } else { ours });
        }
    }
    for added in items(loser).into_iter().chain(items(winner)) {
        if find(base, &added.meaning).is_none() {
            merged.push(find(winner, &added.meaning).unwrap_or(added));
        }
    }
    let mut distinct: Vec<ListItem> = Vec::new();
    for item in merged {
        if distinct.iter().all(|known| known.meaning != item.meaning) {
            distinct.push(item);
        }
    }
    distinct
}

fn link_meaning(link: &Link) -> String {
    format!("{}\0{}", link.to, link.relation)
}

/// Returns the meaning of the one link in a list; `None` if there is not exactly one.
fn meaning_of_link(value: &str, below: &str) -> Option<String> {
    match value::read_links(value, below).ok()?.as_slice() {
        [link] => Some(link_meaning(link)),
        _ => None,
    }
}

fn block_items(kind: ListKind, below: &str) -> Option<(ListForm<'_>, Vec<ListItem>)> {
    let mut chunks: Vec<String> = Vec::new();
    let mut indent: Option<&str> = None;
    // Blank lines and comments belong to the item after them, or to the one they stand within.
    let mut pending: Vec<&str> = Vec::new();
    for line in below.split_inclusive('\n') {
        let text = line.trim_start_matches([' ', '\t']);
        let lead = &line[..line.len() - text.len()];
        let is_deeper =
            indent.is_some_and(|indent| lead.len() > indent.len() && lead.starts_with(indent));
        let is_item = text.starts_with("- ") || text.trim_end() == "-";
        if text.trim().is_empty() || (text.starts_with('#') && !is_deeper) {
            pending.push(line);
        } else if is_deeper {
            let chunk = chunks.last_mut()?;
            for line in pending.drain(..).chain([line]) {
                chunk.push_str(line.strip_prefix(indent?).unwrap_or(line));
            }
        } else if is_item && indent.is_none_or(|indent| indent == lead) {
            indent = Some(lead);
            let mut chunk: String = pending
                .drain(..)
                .map(|line| line.trim_start_matches(' '))
                .collect();
            chunk.push_str(text);
            chunks.push(chunk);
        } else {
            return None;
        }
    }
    if !pending.is_empty() {
        return None;
    }
    let items = chunks.into_iter().map(|chunk| block_item(kind, chunk));
    let form = ListForm::Block {
        indent: indent.unwrap_or("  "),
    };
    Some((form, items.collect::<Option<_>>()?))
}

fn block_item(kind: ListKind, chunk: String) -> Option<ListItem> {
    let lines: Vec<&str> = chunk
        .lines()
        .skip_while(|line| !line.starts_with('-'))
        .collect();
    let meaning = match (kind, lines.as_slice()) {
        (ListKind::Links, lines) => meaning_of_link("", &lines.join("\n"))?,
        (ListKind::Words | ListKind::Any, [line]) => {
            scalar::read(line.strip_prefix('-')?).into_owned()
        }
        (ListKind::Any, lines) => lines.join("\n"),
        (ListKind::Words, _) => return None,
    };
    let text = ItemText::Block(chunk);
    (!meaning.is_empty()).then_some(ListItem { meaning, text })
}

/// Takes a flow list apart; what follows it must be a comment.
fn flow_items(kind: ListKind, text: &str) -> Option<(Vec<ListItem>, String)> {
    let (texts, after) = value::split_flow(text)?;
    let after = after.trim_end();
    let is_comment = after.is_empty() || after.trim_start().starts_with('#');
    if !is_comment || after.contains('\n') {
        return None;
    }
    let count = texts.len();
    let mut items = Vec::new();
    for (at, text) in texts.into_iter().enumerate() {
        let text = text.trim();
        if text.is_empty() && at + 1 == count {
            continue; // `[]`, or a comma before the bracket.
        }
        let is_nested = text.starts_with(['[', '{']);
        let meaning = match kind {
            _ if text.is_empty()
                || text.contains(['\n', '#']) && !text.starts_with(['"', '\'']) =>
            {
                return None;
            }
            _ if text.contains('\n') => return None,
            ListKind::Links => meaning_of_link(&format!(" [{text}]"), "")?,
            ListKind::Words if is_nested => return None,
            ListKind::Any if is_nested => text.to_owned(),
            ListKind::Words | ListKind::Any => scalar::read(text).into_owned(),
        };
        let text = ItemText::Flow(text.to_owned());
        items.push(ListItem { meaning, text });
    }
    Some((items, after.to_owned()))
}

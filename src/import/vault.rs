//! Vaults of Obsidian and basic-memory → notes, with their relations.
//!
//! `markdown` reads the notes; this module adds relations from `[[links]]`. A link names a note by its
//! file name, or by the end of its path, without case; in basic-memory also by its title or permalink.
//! Links in code or in a comment are ignored.

use std::path::Path;

use super::draft::Draft;
use super::fields::ForeignFields;
use super::markdown::{Flavour, notes};
use super::{Defaults, ForeignMemories, ImportError, fields};
use crate::model::{Link, MENTIONED, MetaValue, code_length};

/// Maximum number of words before a link that are the name of a relation, not a sentence.
const MAX_RELATION_WORDS: usize = 4;
/// Extensions of files that are no notes.
const ATTACHMENTS: [&str; 20] = [
    "avif", "base", "bmp", "canvas", "csv", "flac", "gif", "jpeg", "jpg", "m4a", "mkv", "mov",
    "mp3", "mp4", "ogg", "pdf", "png", "svg", "wav", "webp",
];

/// Reads the notes of the Obsidian vault at `path`.
///
/// # Errors
///
/// Fails if there is nothing at `path`, or it cannot be listed.
pub fn obsidian(path: &Path, defaults: &Defaults) -> Result<ForeignMemories, ImportError> {
    notes(
        path,
        defaults,
        &Flavour {
            is_doubled: false,
            read_more: obsidian_note,
        },
    )
}

/// Reads the notes of the basic-memory project at `path`.
///
/// # Errors
///
/// Fails if there is nothing at `path`, or it cannot be listed.
pub fn basic_memory(path: &Path, defaults: &Defaults) -> Result<ForeignMemories, ImportError> {
    notes(
        path,
        defaults,
        &Flavour {
            is_doubled: true,
            read_more: basic_memory_note,
        },
    )
}

fn obsidian_note(draft: &mut Draft, fields: &mut ForeignFields, text: &str, path: &str) {
    draft.foreign.names = path_names(path);
    for (key, value) in &fields.0 {
        for text in texts(value) {
            links(text).for_each(|link| relate(draft, key, link));
        }
    }
    for line in lines(text) {
        links(&line).for_each(|link| relate(draft, MENTIONED, link));
    }
}

fn basic_memory_note(draft: &mut Draft, fields: &mut ForeignFields, text: &str, path: &str) {
    let permalink = fields.take(&["permalink"], fields::text);
    draft.foreign.names = path_names(path);
    for name in draft.foreign.memory.title.iter().chain(&permalink) {
        let name = name.trim().to_lowercase();
        if !draft.foreign.names.contains(&name) {
            draft.foreign.names.push(name);
        }
    }
    if permalink.is_some() {
        draft.called(permalink);
    }
    for line in lines(text) {
        let first = relation_of(&line).unwrap_or(MENTIONED);
        let relations = std::iter::once(first).chain(std::iter::repeat(MENTIONED));
        for (link, relation) in links(&line).zip(relations) {
            relate(draft, relation, link);
        }
    }
}

/// Returns the names by which a link may mean the note at `path`: each end of its path.
fn path_names(path: &str) -> Vec<String> {
    let path = path.to_lowercase();
    let path = path.strip_suffix(".md").unwrap_or(&path);
    let ends = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
    std::iter::once(path)
        .chain(ends)
        .map(str::to_owned)
        .collect()
}

/// Returns the texts in a value of the metadata.
fn texts(value: &MetaValue) -> Vec<&str> {
    match value {
        MetaValue::Text(text) => vec![text],
        MetaValue::List(items) => items.iter().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// Returns the lines outside of fenced code, without comments and inline code.
fn lines(text: &str) -> Vec<String> {
    let mut in_code = false;
    let mut lines = Lines {
        rest: text,
        in_comment: false,
        last_end: text.rfind("-->").map_or(usize::MAX, |at| text.len() - at),
    };
    std::iter::from_fn(|| {
        let start = lines.rest.trim_start_matches([' ', '\t']);
        let is_fence = start.starts_with("```") || start.starts_with("~~~");
        if lines.in_comment || !(is_fence || in_code) {
            return lines.next();
        }
        in_code ^= is_fence;
        lines.raw().map(|_| String::new())
    })
    .collect()
}

/// A text line by line.
struct Lines<'a> {
    rest: &'a str,
    in_comment: bool,
    /// Length of the text from the last end of a comment on.
    last_end: usize,
}

impl<'a> Lines<'a> {
    /// Returns the next line unchanged.
    fn raw(&mut self) -> Option<&'a str> {
        let line = self.rest.split_inclusive('\n').next()?;
        self.rest = &self.rest[line.len()..];
        Some(line)
    }

    /// Returns the visible part of the next line.
    fn next(&mut self) -> Option<String> {
        let mut line = self.raw()?;
        let mut seen = String::new();
        loop {
            if self.in_comment {
                let Some((_, after)) = line.split_once("-->") else {
                    return Some(seen);
                };
                self.in_comment = false;
                line = after;
            }
            let Some(at) = line.find(['`', '<']) else {
                return Some(seen + line);
            };
            let (before, here) = line.split_at(at);
            seen += before;
            if let Some(inside) = here.strip_prefix("<!--") {
                // What has no end is no comment.
                self.in_comment = inside.len() + self.rest.len() >= self.last_end;
                line = inside;
                continue;
            }
            let ticks = here.len() - here.trim_start_matches('`').len();
            let (mark, inside) = here.split_at(ticks.max(1));
            seen += mark;
            if ticks == 0 {
                line = inside;
                continue;
            }
            let length = code_length(here);
            if length > ticks {
                seen += mark;
            }
            line = &here[length..];
        }
    }
}

/// Returns the names in the `[[links]]` of a line, without display texts and anchors.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("[[").skip(1).filter_map(|inside| {
        let (inside, _) = inside.split_once("]]")?;
        let name = inside.split(['|', '#', '^']).next()?.trim();
        let name = name.trim_start_matches("./").trim_start_matches('/');
        (!name.is_empty()).then_some(name)
    })
}

/// Returns the relation in `- relation [[Target]]`; `None` of another line.
fn relation_of(line: &str) -> Option<&str> {
    let item = line.trim_start();
    let item = item
        .strip_prefix("- ")
        .or_else(|| item.strip_prefix("* "))?;
    let (before, _) = item.split_once("[[")?;
    let relation = before.trim().trim_matches(['"', '\'']);
    // `[category]` begins an observation, `[ ]` a task.
    let is_word = !relation.starts_with('[')
        && !relation.contains(['.', ':', '`'])
        && relation.split_whitespace().count() <= MAX_RELATION_WORDS;
    is_word.then_some(relation)
}

/// Adds a relation, once.
fn relate(draft: &mut Draft, relation: &str, link: &str) {
    let name = link.to_lowercase();
    if let Some((_, end)) = name.rsplit_once('.')
        && ATTACHMENTS.contains(&end)
    {
        const FILES: &str = "notes with files that are no notes";
        if !draft.foreign.not_carried.contains(&FILES) {
            draft.foreign.not_carried.push(FILES);
        }
        return;
    }
    let name = name.strip_suffix(".md").unwrap_or(&name);
    let is_known =
        |known: &Link| known.to == name && known.relation == fields::relation_word(relation);
    if !draft.foreign.relations.iter().any(is_known) {
        draft.relate(relation, name.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::import::Foreign;
    use crate::import::tests::defaults;

    /// Returns the one note with this text, and its relations.
    fn note(
        open: fn(&Path, &Defaults) -> Result<ForeignMemories, ImportError>,
        text: &str,
    ) -> (Foreign, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/B c.md");
        fs::create_dir_all(folder.path().join("a")).unwrap();
        fs::create_dir_all(folder.path().join(".obsidian")).unwrap();
        fs::create_dir_all(folder.path().join(".trash")).unwrap();
        fs::write(folder.path().join(".trash/old.md"), "gone").unwrap();
        fs::write(folder.path().join(".obsidian/x.md"), "settings").unwrap();
        fs::write(path, text).unwrap();
        let mut notes = open(folder.path(), &defaults()).unwrap();
        let note = notes.next().unwrap().unwrap();
        assert!(notes.next().is_none());
        let relations = note.relations.iter();
        let relations = relations.map(|link| format!("{} {}", link.relation, link.to));
        let relations = relations.collect();
        (note, relations)
    }

    #[test]
    fn links_of_an_obsidian_note_are_relations() {
        let text = "---\nup: \"[[Home]]\"\nsee: [\"[[x/Y.md|y]]\", plain]\n---\nTo [[Other Note#part|it]], ![[pic.PNG]], [[ ]] [[#own]] [[open\n```\n[[code]]\n```\n- rel [[Other note]] [[v1.2]]\n";
        let (note, relations) = note(obsidian, text);
        assert_eq!(
            relations,
            ["up home", "see x/y", "mentions other note", "mentions v1.2"]
        );
        assert_eq!(note.not_carried, ["notes with files that are no notes"]);
        assert_eq!(note.names, ["a/b c", "b c"]);
        assert_eq!(note.source_id.as_deref(), Some("a/B c.md"));
        assert!(note.memory.content.contains("![[pic.PNG]]"));
    }

    #[test]
    fn what_stands_in_code_or_a_comment_is_no_link() {
        let text = "`[[A]]` [[B]] ``x ` [[C]]`` <!-- [[D]] --> [[E]]\n<!--\n```\n[[F]]\n--> [[G]]\n```\n<!--\n[[H]]\n```\n`open [[I]] <b> [[J]]\n<!-- open [[K]]\n- uses `x` [[L]]\n";
        for open in [obsidian, basic_memory] {
            let (_, relations) = note(open, text);
            let expected = ["b", "e", "g", "i", "j", "k", "l"];
            assert_eq!(relations, expected.map(|name| format!("mentions {name}")));
        }
    }

    #[test]
    fn a_basic_memory_note_says_its_relations_in_lists() {
        let text = "---\ntitle: The Note\ntype: note\npermalink: a/the-note\ntags: [x]\n---\n\n---\ntags: [y]\nextra: 1\n---\n\n# H\n- [fact] one #tag [[Seen]]\n- implements [[Spec A]] (why) and [[Also]]\n- \"is part of\" [[Spec B]]\n- [[Bare]]\n- [ ] task [[Todo]]\n- a sentence that goes on to [[Far]]\n";
        let (note, relations) = note(basic_memory, text);
        assert_eq!(
            relations,
            [
                "mentions seen",
                "implements spec a",
                "mentions also",
                "is part of spec b",
                "related-to bare",
                "mentions todo",
                "mentions far"
            ]
        );
        assert_eq!(note.source_id.as_deref(), Some("a/the-note"));
        assert_eq!(note.names, ["a/b c", "b c", "the note", "a/the-note"]);
        assert_eq!(note.memory.title.as_deref(), Some("The Note"));
        assert_eq!(note.memory.topics, ["x"]);
        assert!(note.memory.content.starts_with("# H\n- [fact] one"));
        let extra = ("extra".to_owned(), MetaValue::Int(1));
        assert!(note.memory.metadata.contains(&extra));
    }
}

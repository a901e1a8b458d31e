//! Tells names of memories in the memory directory from others, and reads foreign names.

use crate::model::{Handle, Stem};

/// Kind of a directory entry, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileNameKind {
    /// A memory under the program's own kind of name.
    Memory(Stem),
    /// A markdown file that somebody else named: a memory all the same.
    Foreign(Stem),
    /// A sync service's second copy of a memory: searchable, to be reported.
    ConflictCopy { stem: Stem, of: Stem },
    /// Temporary files, editor leftovers, everything that is no markdown: passed over.
    Ignored,
}

/// Returns whether a file called `name` (without folders) is a memory, of whatever kind. Cheap: asked of
/// every name in the directory.
pub fn is_memory_name(name: &str) -> bool {
    name.len() > 3 && name.ends_with(".md") && !name.starts_with(['.', '#'])
}

/// Tells what a file called `name` (without folders) is.
pub fn classify(name: &str) -> FileNameKind {
    if !is_memory_name(name) {
        return FileNameKind::Ignored;
    }
    let stem = name.strip_suffix(".md").unwrap_or(name);
    if let Some(stem) = Stem::parse(stem) {
        return FileNameKind::Memory(stem);
    }
    match copied(stem) {
        Some(of) => FileNameKind::ConflictCopy {
            stem: Stem::from_file_name(stem),
            of: Stem::from_file_name(of),
        },
        None => FileNameKind::Foreign(Stem::from_file_name(stem)),
    }
}

/// Returns the name that `stem` is a second copy of, as sync services, file managers and memdir
/// itself name copies.
fn copied(stem: &str) -> Option<&str> {
    // After a memory's own stem anything that speaks of a copy is one; `(1)` and `2` may well be
    // part of a name that somebody chose.
    if let Some(own) = stem.get(..24).filter(|own| Stem::parse(own).is_some()) {
        let rest = stem[24..].to_lowercase();
        let is_numbered = rest
            .strip_prefix(' ')
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()));
        let is_copy = rest.contains("conflict") || rest.contains(" copy") || rest.ends_with(')');
        return (is_copy || is_numbered).then_some(own);
    }
    // Byte offsets are those of `stem`: only ASCII changes its case.
    let lower = stem.to_ascii_lowercase();
    let of = |at: usize| stem.get(..at).map(str::trim_end);
    let sync = lower
        .rfind(".sync-conflict-")
        .or_else(|| own_mark(&lower))
        .and_then(of);
    let in_brackets = || {
        let open = lower.rfind(" (").filter(|_| lower.ends_with(')'))?;
        let inside = &lower[open..];
        let is_conflict = ["conflicted copy", "case conflict", "sfconflict"]
            .iter()
            .any(|words| inside.contains(words));
        of(open).filter(|_| is_conflict)
    };
    sync.or_else(in_brackets).filter(|of| !of.is_empty())
}

/// Returns the place at which the ending of memdir's own conflict copies begins, `.conflict-<8
/// hex>`.
fn own_mark(stem: &str) -> Option<usize> {
    const MARK: &str = ".conflict-";
    let at = stem.rfind(MARK)?;
    Handle::parse(&stem[at + MARK.len()..]).map(|_| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_markdown_that_is_not_hidden_or_temporary_is_a_memory() {
        for name in [
            ".20260114_091500_1f3a9c02.md",
            "._x.md",
            ".#x.md",
            "#x.md",
            "#x#",
            "x.md~",
            "4913",
            ".x.md.swp",
            "x.tmp",
            ".DS_Store",
            "Thumbs.db",
            "x.md.icloud",
            "UPPER.MD",
            ".md",
        ] {
            assert_eq!(classify(name), FileNameKind::Ignored, "{name}");
        }
    }

    #[test]
    fn a_sync_services_copy_names_what_it_is_a_copy_of() {
        for rest in [
            " (conflicted copy 2026-01-15)",
            " (Mira's conflicted copy 2026-01-15)",
            ".sync-conflict-20260115-120000-ABCDEFG",
            ".conflict-0a1b2c3d",
            " (SFConflict mira@example.org 2026-01-15-12-00-00)",
            " (1)",
            " 2",
            " copy",
            " - Copy",
        ] {
            check_copy(
                &format!("20260114_091500_1f3a9c02{rest}.md"),
                "20260114_091500_1f3a9c02",
            );
        }
        check_copy("x (conflicted copy 2026-01-01).md", "x");
        check_copy(
            "größe (Ümits Conflicted Copy 2026-01-01 120000).md",
            "größe",
        );
        check_copy("a.b.sync-conflict-20260101-120000-ABCDEFG.md", "a.b");
        check_copy("notes.conflict-0a1b2c3d.md", "notes");
        check_copy("Notes (Case Conflict).md", "Notes");
    }

    #[track_caller]
    fn check_copy(name: &str, original: &str) {
        match classify(name) {
            FileNameKind::ConflictCopy { of, stem } => {
                assert_eq!(of.as_str(), original);
                assert_eq!(format!("{stem}.md"), name);
            }
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn names_that_people_choose_are_no_copies() {
        for name in [
            "notes.md",
            "notes (1).md",
            "chapter 2.md",
            "how to resolve a conflict.md",
            "a copy of the lease.md",
            "The Gaza conflict (history).md",
            ".sync-conflict-20260101-120000-ABCDEFG.md",
            "notes.conflict-résumé.md",
            "20260114_091500_1f3a9c02-annex.md",
        ] {
            assert!(
                !matches!(classify(name), FileNameKind::ConflictCopy { .. }),
                "{name}"
            );
        }
        assert!(matches!(
            classify("20260114_091500_1f3a9c02.md"),
            FileNameKind::Memory(_)
        ));
    }
}

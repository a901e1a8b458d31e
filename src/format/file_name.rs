//! Which names in the memory directory are memories, and what a foreign name says.

use crate::model::Stem;

/// What a directory entry's name makes it.
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

/// Whether a file called `name` (without folders) is a memory, of whatever kind. Cheap: asked of
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
    let own = stem.get(..24).and_then(Stem::parse);
    let lower = stem.to_lowercase();
    let is_copy = lower.contains("conflict") || lower.contains(" copy") || lower.ends_with(')');
    match own {
        Some(of) if is_copy => FileNameKind::ConflictCopy {
            stem: Stem::from_file_name(stem),
            of,
        },
        _ => FileNameKind::Foreign(Stem::from_file_name(stem)),
    }
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
        let of = Stem::parse("20260114_091500_1f3a9c02").unwrap();
        for name in [
            "20260114_091500_1f3a9c02 (conflicted copy 2026-01-15).md",
            "20260114_091500_1f3a9c02.sync-conflict-20260115-120000-ABCDEFG.md",
            "20260114_091500_1f3a9c02 (1).md",
        ] {
            match classify(name) {
                FileNameKind::ConflictCopy { of: found, .. } => assert_eq!(found, of),
                other => panic!("{name}: {other:?}"),
            }
        }
        assert!(matches!(classify("notes.md"), FileNameKind::Foreign(_)));
        assert!(matches!(
            classify("20260114_091500_1f3a9c02.md"),
            FileNameKind::Memory(_)
        ));
    }
}

//! What files and memories are called.

use arbitrary::Arbitrary;
use memdir::format::{FileNameKind, classify, is_memory_name};
use memdir::model::{Stem, Timestamp};

/// A name, an id, or a moment.
#[derive(Debug, Arbitrary)]
pub struct Names<'a>(&'a str);

/// Every name is of one kind, and its stem is the name; an id names a file of the store or none.
pub fn names(input: Names<'_>) {
    let name = input.0;
    let file = format!("{name}.md");
    match classify(&file) {
        FileNameKind::Ignored => assert!(!is_memory_name(&file)),
        FileNameKind::Memory(stem) => assert!(stem.as_str() == name && stem.time().is_some()),
        FileNameKind::Foreign(stem) => assert_eq!(stem.as_str(), name),
        FileNameKind::ConflictCopy { stem, of } => {
            assert_eq!(stem.as_str(), name);
            assert!(name.starts_with(of.as_str()) && of != stem && !of.as_str().is_empty());
        }
    }
    if let Some(stem) = Stem::parse(name) {
        let (time, handle) = (stem.time().expect("it has"), stem.handle().expect("it has"));
        assert_eq!(Stem::new(time, handle), stem);
    }
    if let Some(moment) = Timestamp::parse(name) {
        assert_eq!(moment.as_str(), name.trim());
    }
    if let Ok((stem, file)) = crate::engine().resolve(name) {
        assert_eq!(format!("{stem}.md"), file);
        assert!(crate::MEMORIES.iter().any(|(known, _)| *known == file));
    }
}

//! Texts of one store that its user has accepted, and texts that came from others.
//!
//! A line names a text by a digest of its memory's id, title and content, so that a decision holds for what
//! was read, and for nothing that the file says later. The file lies with the user's records: whoever writes
//! the store cannot accept a text for its reader.

use std::collections::HashSet;
use std::io;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::files;

/// Below the user's folder for state.
const FOLDER: &str = "reviews";
/// The largest file that is read, in bytes: a million texts.
const MAX_BYTES: u64 = 48 << 20;
/// Words before the digests.
const ACCEPTED: &str = "accepted";
const FOREIGN: &str = "foreign";

/// The reviews of one store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reviews {
    path: PathBuf,
}

/// What is known of the texts of a store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReviewedTexts {
    /// Digests of texts that the user has accepted.
    pub accepted: HashSet<u128>,
    /// Digests of texts that came from other copies of the store.
    pub foreign: HashSet<u128>,
}

/// Returns the digest of a memory's text.
pub fn text_digest(stem: &str, title: Option<&str>, content: &str) -> u128 {
    let text = format!("{stem}\0{}\0{}", title.unwrap_or_default(), content.trim());
    files::digest(text.as_bytes())
}

impl Reviews {
    /// Returns the reviews of the store at `store`, below the user's folder for state.
    pub(super) fn new(state_folder: &Path, store: &Path) -> Reviews {
        let store = store.canonicalize().unwrap_or_else(|_| store.to_owned());
        let digest = files::digest(store.as_os_str().as_encoded_bytes());
        Reviews {
            path: state_folder.join(FOLDER).join(format!("{digest:032x}.txt")),
        }
    }

    /// Returns what is known; nothing where the file cannot be read.
    pub fn read(&self) -> ReviewedTexts {
        let mut texts = ReviewedTexts::default();
        let Ok(file) = files::open_lines(&self.path) else {
            return texts;
        };
        let mut text = String::new();
        if let Err(error) = file.take(MAX_BYTES).read_to_string(&mut text) {
            tracing::warn!("{}: {error}; it is ignored", self.path.display());
        }
        for line in text.lines() {
            let Some((word, digest)) = line.split_once(' ') else {
                continue;
            };
            let Ok(digest) = u128::from_str_radix(digest, 16) else {
                continue;
            };
            match word {
                ACCEPTED => drop(texts.accepted.insert(digest)),
                FOREIGN => drop(texts.foreign.insert(digest)),
                _ => {}
            }
        }
        texts
    }

    /// Accepts texts.
    ///
    /// # Errors
    ///
    /// Fails as the system says.
    pub fn accept(&self, digests: &[u128]) -> io::Result<()> {
        self.add(ACCEPTED, digests)
    }

    /// Notes texts that came from another copy of the store.
    ///
    /// # Errors
    ///
    /// Fails as the system says.
    pub fn note_foreign(&self, digests: &[u128]) -> io::Result<()> {
        self.add(FOREIGN, digests)
    }

    fn add(&self, word: &str, digests: &[u128]) -> io::Result<()> {
        if digests.is_empty() {
            return Ok(());
        }
        let folder = self.path.parent().expect("it lies in a folder");
        files::create_private_folder(folder)?;
        let lines = digests
            .iter()
            .map(|digest| format!("{word} {digest:032x}\n"));
        files::append_lines(&self.path, lines.collect::<String>().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_accepted_is_a_text_of_one_memory() {
        let folder = tempfile::tempdir().unwrap();
        let reviews = Reviews::new(folder.path(), folder.path());
        assert_eq!(reviews.read(), ReviewedTexts::default());
        let digest = text_digest("a", None, "text\n");
        reviews.accept(&[digest]).unwrap();
        reviews.note_foreign(&[7]).unwrap();
        let texts = reviews.read();
        assert!(texts.accepted.contains(&text_digest("a", None, "text")));
        assert!(!texts.accepted.contains(&text_digest("b", None, "text")));
        assert!(
            !texts
                .accepted
                .contains(&text_digest("a", None, "other text"))
        );
        assert_eq!(texts.foreign, HashSet::from([7]));
    }
}

//! Description of a service: the store, the command, the variables.

use std::path::PathBuf;

use crate::files::digest;

/// A server of one store, as the service manager is to start it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Root folder of the store.
    pub store: PathBuf,
    /// Whether it is the store that is used where none is named.
    pub is_usual: bool,
    /// The program and its arguments, each absolute where it is a path.
    pub command: Vec<String>,
    /// Environment variables.
    pub variables: Vec<(String, String)>,
}

/// Maximum number of characters of a store's folder in the name of its service.
const LONGEST: usize = 24;

impl Definition {
    /// Returns the name of the service, without the ending of the system: `memdir` for the usual store,
    /// else `memdir-FOLDER-HASH`, where the hash tells two folders of one name apart.
    pub fn name(&self) -> String {
        if self.is_usual {
            return "memdir".to_owned();
        }
        let folder = self.store.file_name().unwrap_or_default().to_string_lossy();
        let plain = folder.chars().filter(|c| c.is_ascii_alphanumeric());
        let plain: String = plain.take(LONGEST).collect();
        let hash = digest(self.store.as_os_str().as_encoded_bytes());
        let hash = format!("{hash:032x}");
        match plain.is_empty() {
            true => format!("memdir-{}", &hash[..8]),
            false => format!("memdir-{plain}-{}", &hash[..8]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(store: &str, is_usual: bool) -> String {
        let definition = Definition {
            store: store.into(),
            is_usual,
            command: Vec::new(),
            variables: Vec::new(),
        };
        definition.name()
    }

    #[test]
    fn a_store_has_a_name_of_its_own() {
        assert_eq!(of("/home/mira/.local/share/memdir", true), "memdir");
        let name = of("/home/mira/work notes", false);
        assert!(name.starts_with("memdir-worknotes-"), "{name}");
        assert_eq!(name, of("/home/mira/work notes", false));
        assert_ne!(name, of("/home/mira/old/work notes", false));
        assert!(of("/home/mira/日記", false).starts_with("memdir-"));
    }
}

//! Notes that people wrote by hand, as memories of the first rank.

mod changing;

use std::fs;
use std::path::Path;

/// The texts below `folder` by their paths, without hidden folders.
pub fn texts(folder: &Path) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap();
            if path
                .file_name()
                .unwrap()
                .as_encoded_bytes()
                .starts_with(b".")
            {
                continue;
            }
            match path.is_dir() {
                true => folders.push(path),
                false => texts.push((name.to_owned(), fs::read_to_string(&path).unwrap())),
            }
        }
    }
    texts.sort();
    texts
}

//! Notes that people wrote by hand, as memories of the first rank.

mod adopting;
mod changing;
mod exporting;
mod in_place;

use std::fs;
use std::path::{MAIN_SEPARATOR, Path};

use crate::support::{at, touch};

/// The texts below `folder` by their paths, without hidden folders.
pub fn texts(folder: &Path) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap();
            let name = name.replace(MAIN_SEPARATOR, "/");
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
                false => texts.push((name, fs::read_to_string(&path).unwrap())),
            }
        }
    }
    texts.sort();
    texts
}

/// When the files of [`vault`] were written.
pub const WRITTEN: &str = "2024-03-05T06:07:08Z";

/// The notes of an Obsidian vault, as somebody has them.
pub const VAULT: [(&str, &str); 9] = [
    (
        "Home.md",
        "# Home\n\nSee [[Tulips]] and [[Garden/Roses|the roses]].\n\n![[bed.png]]\n",
    ),
    (
        "Garden/Tulips.md",
        "---\ntags:\n  - garden\naliases: [Tulipa]\n---\nRed ones, beside [[roses#Care]]. Back [home](../Home.md).\n",
    ),
    (
        "Garden/Roses.md",
        "Roses.\r\n\r\n## Care\r\nWater [them](<Tulips.md>).\r\n",
    ),
    (
        "Daily/2024-03-01.md",
        "---\ncreated: 2024-03-01T08:00:00Z\nup: \"[[Home]]\"\n---\n- [x] plant [[Tulips]]\n`[[Tulips]]`\n",
    ),
    ("Garden/bed.png", "no picture\n"),
    ("Board.canvas", "{}\n"),
    (".obsidian/app.json", "{}\n"),
    (".obsidian/plugins/note.md", "a hidden zebra\n"),
    (".trash/Old.md", "a thrown away zebra\n"),
];

/// Puts [`VAULT`] into `folder`.
pub fn vault(folder: &Path) {
    for (name, text) in VAULT {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        touch(&path, at(WRITTEN));
    }
}

//! Checks that every module uses only the modules below it, and that each outside library, and
//! each kind of side effect, is named only where it belongs.
//!
//! Rust lets the modules of one package use each other in circles, so the direction has to be
//! checked here. To permit a new arrow, add it to `LAYERS`, and to `docs/ARCHITECTURE.md`: the
//! change then shows up in review. Write one `use crate::module::…` per line; the grouped form
//! `crate::{…}` is reported, as is `super::super::`.

#[path = "layering/imports.rs"]
mod imports;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use imports::Program;
use imports::without_tests;

/// Each top-level module with the modules its files may name, lowest first.
/// A module may name only modules listed before it.
const LAYERS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("beneath", &[]),
    ("clock", &[]),
    ("words", &[]),
    ("columns", &["beneath"]),
    ("literals", &[]),
    ("secrets", &["literals"]),
    ("injection", &["literals"]),
    ("fetch", &[]),
    ("embed", &["fetch"]),
    ("llm", &["fetch"]),
    ("vectors", &["beneath", "columns"]),
    ("format", &["model"]),
    ("lifecycle", &["model", "words"]),
    ("ranking", &["model", "words", "columns"]),
    ("files", &["model", "beneath", "format"]),
    ("journal", &["model", "files"]),
    ("git", &[]),
    ("trust", &["files", "git"]),
    ("watch", &[]),
    ("import", &["model", "format"]),
    (
        "index",
        &[
            "model",
            "beneath",
            "words",
            "columns",
            "vectors",
            "ranking",
            "lifecycle",
        ],
    ),
    (
        "engine",
        &[
            "model",
            "clock",
            "words",
            "literals",
            "secrets",
            "embed",
            "vectors",
            "format",
            "lifecycle",
            "ranking",
            "files",
            "journal",
            "index",
            "git",
            "trust",
            "watch",
            "import",
        ],
    ),
    ("eval", &[]),
    ("dialect", &["model", "injection", "engine"]),
    ("mcp", &["engine", "dialect"]),
    ("http", &["files", "engine", "dialect", "mcp"]),
    (
        "config",
        &["model", "words", "secrets", "git", "trust", "lifecycle"],
    ),
    (
        "cli",
        &[
            "model",
            "clock",
            "words",
            "secrets",
            "injection",
            "fetch",
            "embed",
            "format",
            "lifecycle",
            "ranking",
            "files",
            "git",
            "trust",
            "import",
            "index",
            "llm",
            "engine",
            "eval",
            "dialect",
            "mcp",
            "http",
            "config",
        ],
    ),
];

/// The parts of the engine with the parts that their files may name, lowest first: a part is a file
/// or a folder of `src/engine`. `mod.rs` only lists what others may see.
const ENGINE_PARTS: &[(&str, &[&str])] = &[
    ("options", &[]),
    ("texts", &[]),
    ("error", &["options", "texts"]),
    ("live", &["options", "texts", "error"]),
    ("write", &["options", "texts", "error", "live"]),
    ("meaning", &["options", "texts", "error", "live"]),
    ("history", &["options", "texts", "error", "live", "write"]),
    (
        "parts",
        &["options", "error", "live", "write", "meaning", "history"],
    ),
    (
        "ops",
        &[
            "options", "texts", "error", "live", "write", "meaning", "history", "parts",
        ],
    ),
    (
        "upkeep",
        &["error", "live", "meaning", "history", "parts", "ops"],
    ),
];

/// Types whose methods stand in more than three files, as they were before the rule.
const SPREAD_TYPES: &[&str] = &["Repository"];

/// Text that may occur only in the files of the listed modules. Tests at the end of a file may
/// name anything: they set scenes that the module itself must not make.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("serde_yaml::", &["format"]),
    ("gray_matter::", &["import"]),
    ("rusqlite::", &["import"]),
    ("tempfile::", &["files", "git"]),
    ("tantivy::", &["index"]),
    ("git2::", &["git"]),
    ("libgit2_sys", &["git"]),
    ("libz_sys", &["git"]),
    ("ureq::", &["git", "fetch"]),
    ("sha2::", &["fetch"]),
    ("toml_edit::", &["config"]),
    ("ort::", &["embed"]),
    ("tract_onnx::", &["embed"]),
    ("tokenizers::", &["embed"]),
    ("notify::", &["watch"]),
    ("rmcp::", &["mcp"]),
    ("tokio::", &["mcp", "http"]),
    ("axum::", &["http"]),
    ("hyper::", &["http"]),
    ("rustls::", &["http"]),
    ("prometheus_client::", &["http"]),
    ("clap::", &["cli"]),
    ("libc::", &["columns", "embed"]),
    // Programs: git and ssh, and the user's editor.
    ("Command::new", &["git", "cli"]),
    ("println!", &["cli", "main"]),
    ("print!", &["cli", "main"]),
    ("eprintln!", &["cli", "main"]),
    ("eprint!", &["cli", "main"]),
    ("dbg!", &[]),
    ("Utc::now", &["clock"]),
    ("Local::now", &["clock"]),
    ("SystemTime::now", &["clock"]),
    // One call of git2, which registers a transport, and a source of objects for libgit2; mapping
    // files into memory, and the handler for maps whose file was cut; comparing vectors with wider
    // instructions; what the C library does with freed memory.
    ("unsafe", &["git", "columns", "vectors", "embed"]),
    ("super::super::", &[]),
    // Whatever changes a disk by a path. `git` does so inside `.git`; `fetch` has the file that it
    // downloads, and its `.part`. What lies below a store goes through `beneath`: memory files are
    // the business of `files`, and `index`, `columns` and `vectors` have their own folders below
    // `.memdir/`.
    ("fs::write", &["files", "git"]),
    ("fs::copy", &["files"]),
    ("fs::hard_link", &["files", "git"]),
    ("fs::create_dir", &["beneath"]),
    ("fs::create_dir_all", &["files", "git"]),
    ("fs::rename", &["beneath", "files", "git", "fetch"]),
    ("fs::remove_file", &["beneath", "git", "fetch"]),
    ("fs::remove_dir", &["beneath"]),
    ("fs::remove_dir_all", &["git"]),
    ("DirBuilder", &[]),
    // `git` only reads by it, without following a link or waiting for a pipe.
    ("OpenOptions", &["fetch", "git"]),
    ("File::create", &["git"]),
    ("File::create_new", &["files", "git"]),
];

#[test]
fn the_table_lists_lower_layers_first() {
    for (i, (module, may_use)) in LAYERS.iter().enumerate() {
        for used in *may_use {
            let below = LAYERS[..i].iter().any(|(lower, _)| lower == used);
            assert!(
                below,
                "`{module}` may use `{used}`, which is not listed above it"
            );
        }
    }
}

#[test]
fn modules_use_only_what_lies_below_them() {
    let violations = each_line(|module, line| {
        // These put the parts together and see all of them.
        if module == "main" || module == "lib" {
            return Vec::new();
        }
        let Some((_, may_use)) = LAYERS.iter().find(|(name, _)| *name == module) else {
            return vec![format!("`{module}` is missing from LAYERS")];
        };
        crate_paths(line.code)
            .filter(|used| *used != module && !may_use.contains(used))
            .map(|used| format!("`{module}` uses `{used}`"))
            .collect()
    });
    assert!(violations.is_empty(), "\n{}", violations.join("\n"));
}

#[test]
fn a_dialect_knows_no_other_dialect() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/dialect");
    let names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    assert!(names.iter().any(|name| name == "core"), "{names:?}");
    let mut violations = Vec::new();
    for name in &names {
        for file in rust_files(&folder.join(name)) {
            let text = fs::read_to_string(&file).unwrap();
            for other in names.iter().filter(|other| *other != name) {
                let path = format!("dialect::{other}::");
                let here = text.lines().filter(|line| names_path(line, &path));
                violations.extend(here.map(|line| format!("{}: {line}", file.display())));
            }
        }
    }
    assert!(violations.is_empty(), "\n{}", violations.join("\n"));
}

#[test]
fn parts_of_the_engine_use_only_what_lies_below_them() {
    for (i, (part, may_use)) in ENGINE_PARTS.iter().enumerate() {
        for used in *may_use {
            let below = ENGINE_PARTS[..i].iter().any(|(lower, _)| lower == used);
            assert!(below, "`{part}` may use `{used}`, which is not above it");
        }
    }
    let engine = source().join("engine");
    let mut violations = Vec::new();
    for file in rust_files(&engine) {
        let part = top_module(&engine, &file);
        if part == "mod" {
            continue;
        }
        let Some((_, may_use)) = ENGINE_PARTS.iter().find(|(name, _)| *name == part) else {
            violations.push(format!("`{part}` is missing from ENGINE_PARTS"));
            continue;
        };
        for path in paths_in(&file) {
            let Some(("engine", rest)) = path.split_once("::") else {
                continue;
            };
            let used = rest.split("::").next().unwrap();
            if used != part && !may_use.contains(&used) {
                violations.push(format!("{}: `{part}` uses `{used}`", file.display()));
            }
        }
    }
    assert!(violations.is_empty(), "\n{}", violations.join("\n"));
}

#[test]
fn no_two_files_import_each_other() {
    let src = source();
    let program = Program::read(&src, rust_files(&src));
    let imports = program.imports();
    let count: usize = imports.values().map(BTreeSet::len).sum();
    assert!(count > 2 * imports.len(), "only {count} imports are seen");
    let circles = imports::circles(&imports);
    let shown = circles.iter().map(|(module, imported)| {
        let file = program.file(module).display();
        format!("{file} imports {imported:?}")
    });
    let shown: Vec<_> = shown.collect();
    assert!(shown.is_empty(), "in circles:\n{}", shown.join("\n"));
}

#[test]
fn the_methods_of_a_type_stand_in_three_files_at_most() {
    let src = source();
    let mut homes: BTreeMap<(String, String), BTreeSet<PathBuf>> = BTreeMap::new();
    for file in rust_files(&src) {
        for line in code_of(&file).lines() {
            if let Some(name) = own_impl(line) {
                let of = (top_module(&src, &file), name.to_owned());
                homes.entry(of).or_default().insert(file.clone());
            }
        }
    }
    assert!(homes.len() > 100, "{}", homes.len());
    let spread = homes.iter().filter(|(_, files)| files.len() > 3);
    let spread: Vec<_> = spread
        .filter(|((_, name), _)| !SPREAD_TYPES.contains(&name.as_str()))
        .collect();
    assert!(spread.is_empty(), "{spread:#?}");
}

#[test]
fn a_folder_holds_twenty_files_at_most() {
    let src = source();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for file in rust_files(&src) {
        let folder = file.parent().unwrap().strip_prefix(&src).unwrap();
        *counts.entry(folder.display().to_string()).or_default() += 1;
    }
    counts.retain(|_, count| *count > 20);
    assert!(counts.is_empty(), "{counts:?}");
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The code of a file without its tests and comments; nothing of a file of tests.
fn code_of(file: &Path) -> String {
    if file.file_name().is_some_and(|name| name == "tests.rs") {
        return String::new();
    }
    without_tests(&fs::read_to_string(file).unwrap()).0
}

/// Every path that begins with `crate::`, without that; what is only shown to others, and who may
/// see something, is no use.
fn paths_in(file: &Path) -> Vec<String> {
    let code = code_of(file);
    let lines = code.lines().filter(|line| {
        let line = line.trim_start();
        !(line.starts_with("pub use ") || line.starts_with("pub(super) use "))
    });
    let mut paths = Vec::new();
    for line in lines {
        for rest in line.replace("(in crate::", "(in ").split("crate::").skip(1) {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
            paths.push(rest[..end.unwrap_or(rest.len())].to_owned());
        }
    }
    paths
}

/// The type whose own methods begin at this line.
fn own_impl(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let rest = match rest.strip_prefix('<') {
        Some(generic) => generic.split_once("> ")?.1,
        None => rest.strip_prefix(' ')?,
    };
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'))?;
    (!rest.contains(" for ")).then(|| &rest[..end])
}

fn names_path(line: &str, path: &str) -> bool {
    line.split("//").next().unwrap().contains(path)
}

#[test]
fn each_library_and_side_effect_has_its_home() {
    let violations = each_line(|module, line| {
        ONLY_IN
            .iter()
            .filter(|(text, homes)| {
                !line.is_test && names(line.code, text) && !homes.contains(&module)
            })
            .map(|(text, homes)| format!("`{text}` belongs in {homes:?}"))
            .collect()
    });
    assert!(violations.is_empty(), "\n{}", violations.join("\n"));
}

#[test]
fn a_name_is_found_only_as_a_whole() {
    assert!(names("let x = ort::run();", "ort::"));
    assert!(!names("port::run()", "ort::"));
    assert!(names("unsafe { x }", "unsafe"));
    assert!(!names("#![deny(unsafe_code)]", "unsafe"));
    assert!(!names("eprintln!()", "println!"));
    assert!(names("std::fs::write(a, b)", "fs::write"));
    assert!(!names("fs::create_dir_all(a)", "fs::create_dir"));
}

/// One line of a source file without its comment.
struct Line<'a> {
    code: &'a str,
    /// It stands in the tests at the end of its file.
    is_test: bool,
}

/// Collects what `check` has against each line of `src/`, with the place before it.
fn each_line(check: impl Fn(&str, &Line<'_>) -> Vec<String>) -> Vec<String> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut violations = Vec::new();
    for file in rust_files(&src) {
        let module = top_module(&src, &file);
        let text = fs::read_to_string(&file).unwrap();
        let mut is_test = file.file_name().is_some_and(|name| name == "tests.rs");
        for (number, line) in text.lines().enumerate() {
            is_test |= line == "#[cfg(test)]";
            let code = line.split("//").next().unwrap();
            let found = check(&module, &Line { code, is_test });
            let place = format!("{}:{}", file.display(), number + 1);
            violations.extend(found.into_iter().map(|what| format!("{place}: {what}")));
        }
    }
    violations
}

/// Whether `text` occurs in `code` as a name of its own: `ort::` is not in `port::`.
fn names(code: &str, text: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(text).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + text.len()..].chars().next();
        let ends_open = text.ends_with(is_word);
        let is_part = before.is_some_and(is_word) || (ends_open && after.is_some_and(is_word));
        !is_part
    })
}

/// Yields `x` for every `crate::x` in a line of code.
fn crate_paths(code: &str) -> impl Iterator<Item = &str> {
    code.split("crate::").skip(1).map(|rest| {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        &rest[..end.unwrap_or(rest.len())]
    })
}

/// Returns `index` for both `src/index.rs` and `src/index/writer.rs`.
fn top_module(src: &Path, file: &Path) -> String {
    let first = file.strip_prefix(src).unwrap().components().next().unwrap();
    let first = first.as_os_str().to_str().unwrap();
    first.trim_end_matches(".rs").to_owned()
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

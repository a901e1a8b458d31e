//! Checks that every module uses only the modules below it, and that each outside library, and
//! each kind of side effect, is named only where it belongs.
//!
//! Rust lets the modules of one package use each other in circles, so the direction has to be
//! checked here. To permit a new arrow, add it to `LAYERS`, and to `docs/ARCHITECTURE.md`: the
//! change then shows up in review. Names of one module may share a `use`: `use crate::model::{Memory,
//! Stem};`. A group of modules, `crate::{…}`, is reported, as is `super::super::`.

#[path = "layering/imports.rs"]
mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use imports::{Graph, Program, with_single_uses, without_tests};

/// Each top-level module with the modules its files may name, lowest first.
/// A module may name only modules listed before it.
const LAYERS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("beneath", &[]),
    ("clock", &[]),
    ("simd", &[]),
    ("words", &["simd"]),
    ("columns", &["beneath"]),
    ("literals", &[]),
    ("tls", &[]),
    ("secrets", &["literals"]),
    ("injection", &["literals"]),
    ("fetch", &[]),
    ("openid", &["fetch"]),
    ("embed", &["fetch"]),
    ("llm", &["fetch"]),
    ("vectors", &["beneath", "columns", "simd"]),
    ("format", &["model"]),
    ("lifecycle", &["model", "words", "literals"]),
    ("ranking", &["model", "words", "columns"]),
    ("learning", &["model", "words", "ranking"]),
    ("files", &["model", "beneath", "format"]),
    ("journal", &["model", "files"]),
    ("clients", &["files"]),
    ("git", &[]),
    ("trust", &["files", "git"]),
    ("sessions", &["files"]),
    ("service", &["files"]),
    ("sqlite", &[]),
    ("import", &["model", "format", "sqlite"]),
    ("talks", &["model", "secrets", "sqlite"]),
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
        "rows",
        &[
            "model", "tls", "files", "format", "journal", "vectors", "index",
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
            "injection",
            "embed",
            "vectors",
            "format",
            "lifecycle",
            "ranking",
            "learning",
            "files",
            "journal",
            "index",
            "git",
            "trust",
            "import",
            "talks",
        ],
    ),
    ("eval", &[]),
    ("dialect", &["model", "injection", "engine"]),
    ("mcp", &["engine", "dialect"]),
    ("relay", &["files", "dialect", "mcp"]),
    (
        "page",
        &[
            "model", "words", "files", "git", "import", "talks", "engine", "dialect",
        ],
    ),
    (
        "http",
        &["tls", "files", "engine", "dialect", "mcp", "page"],
    ),
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
            "tls",
            "secrets",
            "injection",
            "fetch",
            "openid",
            "embed",
            "format",
            "lifecycle",
            "ranking",
            "files",
            "git",
            "clients",
            "trust",
            "sessions",
            "service",
            "import",
            "talks",
            "index",
            "llm",
            "engine",
            "eval",
            "dialect",
            "mcp",
            "relay",
            "http",
            "config",
            "rows",
        ],
    ),
];

/// Each folder inside a module with what its files may name beside it: the folders and files of the
/// folder around it. `mod.rs` of that folder only lists what others may see.
const FOLDERS: &[(&str, &[&str])] = &[
    (
        "engine/live",
        &["call_scope", "error", "locked", "options", "texts"],
    ),
    (
        "engine/write",
        &["call_scope", "error", "live", "locked", "texts"],
    ),
    (
        "engine/meaning",
        &["error", "live", "locked", "options", "texts"],
    ),
    (
        "engine/history",
        &[
            "error",
            "live",
            "locked",
            "options",
            "texts",
            "workspace_clients",
            "write",
        ],
    ),
    (
        "engine/ops",
        &[
            "error", "history", "live", "locked", "meaning", "options", "parts", "texts", "write",
        ],
    ),
    (
        "engine/upkeep",
        &["error", "history", "live", "meaning", "ops", "parts"],
    ),
    (
        "engine/history/commits",
        &[
            "consent",
            "git_work",
            "merge_plan",
            "past_commits",
            "repair",
            "tidy",
        ],
    ),
    (
        "engine/history/remote",
        &[
            "commits",
            "consent",
            "git_work",
            "merge_plan",
            "repair",
            "tidy",
            "warn_once",
        ],
    ),
    (
        "engine/history/with",
        &["commits", "git_work", "merge_plan", "remote", "warn_once"],
    ),
    (
        "engine/ops/brief",
        &["import_export", "retrieval", "standards", "talks"],
    ),
    (
        "engine/ops/proposals",
        &["hints", "remember", "remembered", "retrieval"],
    ),
    ("engine/ops/retrieval", &["stats"]),
    ("engine/ops/relations", &["retrieval", "update"]),
    ("engine/ops/maintenance", &["forget", "retrieval", "update"]),
    (
        "engine/ops/past",
        &[
            "duplicates",
            "forget",
            "maintenance",
            "proposals",
            "relations",
            "retrieval",
        ],
    ),
    (
        "format/merge",
        &[
            "comment",
            "danger",
            "edit",
            "file_name",
            "layout",
            "limits",
            "lists",
            "mapping",
            "markers",
            "read",
            "render",
            "scalar",
            "value",
        ],
    ),
    (
        "secrets/published",
        &["mark", "placeholder", "randomness", "secret", "value"],
    ),
    ("git/repository", &["author", "error", "id", "settings"]),
    ("git/reading", &["error", "id", "repository"]),
    (
        "git/committing",
        &["author", "error", "id", "reading", "repository"],
    ),
    (
        "git/upkeep",
        &["committing", "error", "id", "reading", "repository"],
    ),
    ("git/network", &["repository", "settings"]),
    ("files/watch", &["disk", "storage"]),
    ("rows/copies", &["error", "server", "workspace"]),
    ("rows/presence", &["database", "error", "notices", "server"]),
    (
        "rows/access",
        &[
            "catalog",
            "database",
            "error",
            "notices",
            "schema",
            "server",
            "workspace",
        ],
    ),
    (
        "rows/writing",
        &[
            "access",
            "calls",
            "database",
            "error",
            "known",
            "notices",
            "server",
            "workspace",
        ],
    ),
    (
        "talks/formats",
        &[
            "archive", "clean", "format", "found", "loose", "records", "session",
        ],
    ),
    ("ranking/brief", &["lexical", "text"]),
    (
        "ranking/meaning",
        &["best", "collection", "lexical", "parsed_query", "weights"],
    ),
    ("ranking/parts", &["weights"]),
    ("ranking/people", &["collection", "postings", "text"]),
    ("ranking/text", &[]),
    ("ranking/times", &[]),
    (
        "index/embedded",
        &["copies", "facts", "filter", "passage", "query", "text"],
    ),
    (
        "index/embedded/rows",
        &["failure", "layers", "opened", "part", "schema"],
    ),
    ("index/embedded/folder", &["directory", "rows"]),
    (
        "index/scan",
        &["facts", "filter", "passage", "query", "text"],
    ),
    ("dialect/views", &["json", "metadata"]),
    (
        "dialect/core",
        &[
            "arguments",
            "budget",
            "call",
            "endpoint",
            "json",
            "metadata",
            "parameter",
            "passage",
            "preview",
            "reply",
            "stores",
            "tool_set",
            "views",
        ],
    ),
    (
        "dialect/loci",
        &[
            "arguments",
            "budget",
            "call",
            "json",
            "metadata",
            "parameter",
            "reply",
            "tool_set",
        ],
    ),
    (
        "dialect/i_am",
        &[
            "arguments",
            "call",
            "json",
            "parameter",
            "preview",
            "reply",
            "tool_set",
        ],
    ),
    (
        "dialect/ai_memory",
        &[
            "arguments",
            "call",
            "cursor",
            "endpoint",
            "json",
            "metadata",
            "parameter",
            "reply",
            "tool_set",
            "toon",
            "views",
        ],
    ),
    (
        "dialect/ai_memory/rest",
        &[
            "archive",
            "check",
            "consolidate",
            "find",
            "forget",
            "links",
            "one",
            "shape",
            "state",
            "titles",
            "write",
        ],
    ),
    (
        "http/bridge",
        &[
            "client", "listen", "names", "proof", "reading", "serve", "tokens",
        ],
    ),
    ("page/parts", &[]),
    (
        "http/workspaces",
        &[
            "admission",
            "answer",
            "client",
            "connection",
            "guard",
            "login",
            "metrics",
            "openapi",
            "page",
            "reading",
            "site",
            "tokens",
        ],
    ),
    ("http/answer", &["admission", "chunked_body", "concurrency"]),
    ("http/login", &["proof", "tokens"]),
    (
        "http/page",
        &[
            "admission",
            "answer",
            "client",
            "events",
            "login",
            "proof",
            "reading",
            "site",
            "tokens",
        ],
    ),
    ("cli/terminal", &[]),
    ("cli/args", &["terminal"]),
    ("cli/args/programs", &["sharing"]),
    ("cli/wiring", &["terminal"]),
    ("cli/sharing", &["args", "terminal", "wiring"]),
    (
        "cli/store",
        &["args", "complete", "sharing", "terminal", "wiring"],
    ),
    ("cli/clients", &["args", "store", "terminal", "wiring"]),
    ("cli/memories", &["args", "store", "terminal", "wiring"]),
    (
        "cli/serving",
        &["args", "sessions", "store", "terminal", "wiring"],
    ),
    (
        "cli/programs",
        &[
            "args", "memories", "serving", "sharing", "store", "terminal", "wiring",
        ],
    ),
    (
        "cli/shell",
        &["args", "complete", "programs", "terminal", "wiring"],
    ),
    ("cli/doctor", &["args", "terminal", "wiring"]),
    ("cli/pick", &["args", "memories", "terminal", "wiring"]),
    ("cli/sessions", &["args", "terminal", "wiring"]),
];

/// Text that may occur only in the files of the listed modules. Tests at the end of a file may
/// name anything: they set scenes that the module itself must not make.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("serde_yaml::", &["format"]),
    ("gray_matter::", &["import"]),
    ("rusqlite::", &["import", "sqlite", "talks"]),
    ("flate2::", &["git", "talks"]),
    ("tempfile::", &["files", "git"]),
    ("tantivy::", &["index"]),
    ("git2::", &["git"]),
    ("libgit2_sys", &["git"]),
    ("libz_sys", &["git"]),
    ("ureq::", &["git", "fetch"]),
    ("jsonwebtoken::", &["openid"]),
    ("ring::signature", &["openid"]),
    ("sha2::", &["fetch"]),
    ("toml_edit::", &["config", "clients"]),
    ("jsonc_parser::", &["clients"]),
    ("ort::", &["embed"]),
    ("tract_onnx::", &["embed"]),
    ("tokenizers::", &["embed"]),
    ("notify::", &["files"]),
    ("rmcp::", &["mcp"]),
    ("schemars::", &["dialect"]),
    ("tokio::", &["mcp", "http", "rows"]),
    ("tokio_postgres::", &["rows"]),
    ("deadpool_postgres::", &["rows"]),
    ("axum::", &["http"]),
    ("hyper::", &["http"]),
    ("rustls::", &["http", "tls"]),
    ("prometheus_client::", &["http"]),
    ("maud::", &["page"]),
    ("pulldown_cmark::", &["page"]),
    ("clap::", &["cli"]),
    ("rustyline::", &["cli"]),
    ("ratatui::", &["cli"]),
    ("libc::", &["columns", "embed"]),
    ("winapi_util::", &["files"]),
    // Programs: git and ssh, the user's editor, and the service manager.
    ("Command::new", &["git", "cli", "service"]),
    ("println!", &["cli", "main"]),
    ("print!", &["cli", "main"]),
    ("eprintln!", &["cli", "main"]),
    ("eprint!", &["cli", "main"]),
    ("dbg!", &[]),
    ("Utc::now", &["clock"]),
    ("Local::now", &["clock"]),
    ("SystemTime::now", &["clock"]),
    // One call of git2, which registers a transport, and a source of objects for libgit2; mapping
    // files into memory, and the handler for maps whose file was cut; loops with wider
    // instructions; what the C library does with freed memory; the priority of a thread.
    ("unsafe", &["git", "columns", "simd", "embed"]),
    ("super::super::", &[]),
    // Whatever changes a disk by a path. `git` does so inside `.git`; `fetch` has the file that it
    // downloads, and its `.part`. What lies below a store goes through `beneath`: memory files are
    // the business of `files`, and `index`, `columns` and `vectors` have their own folders below
    // `.memdir/`.
    ("fs::write", &["files", "git"]),
    ("fs::copy", &["files"]),
    ("fs::hard_link", &["beneath", "files", "git"]),
    ("fs::create_dir", &["beneath"]),
    ("fs::create_dir_all", &["files", "git"]),
    ("fs::rename", &["beneath", "files", "git", "fetch"]),
    ("fs::remove_file", &["beneath", "git", "fetch"]),
    // Folders of a client that memdir made, if they are empty.
    ("fs::remove_dir", &["beneath", "clients"]),
    ("fs::remove_dir_all", &["files", "git"]),
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
        // The types of replies that several of them show.
        .filter(|name| name != "views")
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
fn folders_use_only_what_lies_below_them() {
    let src = source();
    let program = Program::read(&src, rust_files(&src));
    let arrows = arrows_between_parts(&program.imports());
    let mut violations = Vec::new();
    for folder in folders_below(&src) {
        let Some((_, may_use)) = FOLDERS.iter().find(|(name, _)| *name == folder) else {
            violations.push(format!("`{folder}` is missing from FOLDERS"));
            continue;
        };
        let used = arrows.get(&folder).cloned().unwrap_or_default();
        let used: BTreeSet<&str> = used.iter().map(|part| last_part(part)).collect();
        let listed: BTreeSet<&str> = may_use.iter().copied().collect();
        for part in used.difference(&listed) {
            violations.push(format!("`{folder}` uses `{part}`"));
        }
    }
    for (folder, _) in FOLDERS {
        if !src.join(folder).is_dir() {
            violations.push(format!("`{folder}` of FOLDERS does not exist"));
        }
    }
    assert!(violations.is_empty(), "\n{}", violations.join("\n"));
}

#[test]
fn no_two_parts_of_a_folder_use_each_other() {
    let src = source();
    let program = Program::read(&src, rust_files(&src));
    let mut arrows = arrows_between_parts(&program.imports());
    let used: Vec<String> = arrows.values().flatten().cloned().collect();
    for part in used {
        arrows.entry(part).or_default();
    }
    let arrows: Graph<'_> = arrows
        .iter()
        .map(|(part, used)| (part.as_str(), used.iter().map(String::as_str).collect()))
        .collect();
    let circles = imports::circles(&arrows);
    assert!(circles.is_empty(), "{circles:#?}");
}

/// Which parts of each folder below a module use which: `engine/live` → `engine/error`. A part is a
/// file or a folder.
fn arrows_between_parts(imports: &Graph<'_>) -> BTreeMap<String, BTreeSet<String>> {
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, imported) in imports {
        let from: Vec<&str> = module.split("::").collect();
        for other in imported {
            let to: Vec<&str> = other.split("::").collect();
            let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            // A `mod.rs` and what lies below it are no neighbours; neither are two modules.
            if shared == 0 || shared == from.len() || shared == to.len() {
                continue;
            }
            let part = |path: &[&str]| path[..=shared].join("/");
            arrows.entry(part(&from)).or_default().insert(part(&to));
        }
    }
    arrows
}

/// Every folder inside a module, such as `engine/live`, but folders of tests.
fn folders_below(src: &Path) -> BTreeSet<String> {
    let files = rust_files(src).into_iter();
    let folders = files.map(|file| file.parent().unwrap().strip_prefix(src).unwrap().to_owned());
    let folders = folders.filter(|folder| folder.components().count() > 1);
    folders
        .map(|folder| folder.display().to_string())
        .filter(|folder| last_part(folder) != "tests" && src.join(folder).join("mod.rs").exists())
        .collect()
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

/// The two tables of `docs/ARCHITECTURE.md`, of `LAYERS` and `FOLDERS`, with the first sentence of each
/// module: `MEMDIR_RENEW=1 cargo test --test layering the_tables` writes them anew.
#[test]
fn the_tables_of_the_architecture_are_these() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ARCHITECTURE.md");
    let old = fs::read_to_string(&path).unwrap();
    let mut new = old.clone();
    for (name, rows) in [("modules", LAYERS), ("folders", FOLDERS)] {
        let (begin, end) = (format!("<!-- table: {name} -->\n"), "<!-- end of table -->");
        let from = new.find(&begin).expect("the page marks its tables") + begin.len();
        let to = from + new[from..].find(end).expect("a table ends");
        let mut table = "| module | what it is for | may use |\n| --- | --- | --- |\n".to_owned();
        for (module, may_use) in rows {
            let used: Vec<String> = may_use.iter().map(|used| format!("`{used}`")).collect();
            let used = if used.is_empty() {
                "–".to_owned()
            } else {
                used.join(", ")
            };
            let role = first_sentence(module);
            table.push_str(&format!("| `{module}` | {role} | {used} |\n"));
        }
        new.replace_range(from..to, &table);
    }
    if std::env::var_os("MEMDIR_RENEW").is_some() {
        return fs::write(&path, &new).unwrap();
    }
    let again = "MEMDIR_RENEW=1 cargo test --test layering the_tables writes them anew";
    assert!(
        old == new,
        "the tables of {} are old: {again}",
        path.display()
    );
}

/// What a module's doc comment says first.
fn first_sentence(module: &str) -> String {
    let file = source().join(module);
    let file = match file.is_dir() {
        true => file.join("mod.rs"),
        false => file.with_extension("rs"),
    };
    let text = fs::read_to_string(&file).unwrap();
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    let lines: Vec<&str> = lines
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let paragraph = lines.join(" ");
    let sentence = paragraph.split_inclusive(". ").next().unwrap().trim_end();
    assert!(sentence.ends_with('.'), "{}: {sentence}", file.display());
    sentence.replace('|', "\\|").replace(['[', ']'], "")
}

#[test]
fn the_files_and_functions_that_documents_name_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let code = regex::Regex::new(r"`((?:[\w-]+/)*[\w-]+\.rs)(?:::(\w+))?`").unwrap();
    let mut files = rust_files(&root.join("src"));
    files.extend(rust_files(&root.join("tests")));
    let mut missing = Vec::new();
    for page in ["docs/ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root.join(page)).unwrap();
        for named in code.captures_iter(&text) {
            let function = named.get(2).map(|name| format!("fn {}", name.as_str()));
            let is_meant = |file: &&PathBuf| file.ends_with(&named[1]);
            let exists = files.iter().filter(is_meant).any(|file| {
                let code = fs::read_to_string(file).unwrap();
                function.as_ref().is_none_or(|name| {
                    [format!("{name}("), format!("{name}<")]
                        .iter()
                        .any(|name| code.contains(name))
                })
            });
            if !exists {
                missing.push(format!("{page}: {}", &named[0]));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
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
    let spread: Vec<_> = spread.collect();
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

/// What changes files and belongs to a directory alone, so that `WritableStorage` does not name it.
const CHANGES_OF_A_DIRECTORY: &[&str] = &[
    "add_unsynced",
    "archive_replaced",
    "copy_mode",
    "put_growing",
    "release_replaced",
    "remove_if_empty",
    "rename",
    "rename_unsynced",
    "set_modified",
    "sync_folder",
];

/// Who opens a store's folder, or looks at one that is not opened, outside of `files`.
const OPENS_A_FOLDER: &[(&str, &[&str])] = &[
    ("Store::new(", &["engine/live/store.rs"]),
    (
        "Store::at(",
        &[
            // Whether it can be written, before it is known where its derived things lie.
            "engine/live/store.rs",
            // Backups.
            "engine/ops/past/reset.rs",
            // The other store of `sync --with`, and what is noted in both.
            "engine/history/with/two_stores.rs",
            "engine/history/with/record.rs",
            // A folder that is copied into a workspace, or from one.
            "cli/store/team.rs",
            // The shell's completion lists names and waits for nothing.
            "cli/complete.rs",
        ],
    ),
    ("LiveStore::open(", &["engine/parts.rs"]),
    ("Engine::open(", &["cli/wiring/context.rs"]),
];

/// Files outside of `files` and `engine/write` that name the contract of writing: one hands a backend to the
/// writer.
const HANDS_ON_A_BACKEND: &[&str] = &["engine/options.rs"];

/// A database, which implements the contract.
const IS_A_BACKEND: &str = "rows/";

#[test]
fn files_are_changed_by_the_writer_alone() {
    let src = source();
    let mut violations = Vec::new();
    for file in rust_files(&src) {
        let path = file.strip_prefix(&src).unwrap().display().to_string();
        let implements = ["files/", "engine/write/", IS_A_BACKEND];
        if implements.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        let code = code_of(&file);
        let code: String = code.lines().map(str::trim).collect();
        if names(&code, "WritableStorage") && !HANDS_ON_A_BACKEND.contains(&path.as_str()) {
            violations.push(format!("{path} names `WritableStorage`"));
        }
        for method in CHANGES_OF_A_DIRECTORY {
            for receiver in ["store", "directory", "backup"] {
                if names(&code, &format!("{receiver}.{method}(")) {
                    violations.push(format!("{path} calls `{receiver}.{method}`"));
                }
            }
        }
    }
    assert!(violations.is_empty(), "\n{}", violations.join("\n"));
}

#[test]
fn a_store_is_opened_in_one_place() {
    let src = source();
    for (call, homes) in OPENS_A_FOLDER {
        let callers = rust_files(&src).into_iter().filter(|file| {
            let code: String = code_of(file).lines().map(str::trim).collect();
            names(&code, call)
        });
        let callers = callers.map(|file| file.strip_prefix(&src).unwrap().display().to_string());
        let callers: BTreeSet<String> =
            callers.filter(|path| !path.starts_with("files/")).collect();
        let homes: BTreeSet<String> = homes.iter().map(ToString::to_string).collect();
        assert_eq!(callers, homes, "{call}");
    }
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
        for line in with_single_uses(&text).lines() {
            is_test |= line == "#[cfg(test)]";
            let code = line.split("//").next().unwrap();
            let found = check(&module, &Line { code, is_test });
            let place = format!("{}: `{}`", file.display(), line.trim());
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

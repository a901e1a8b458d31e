//! Which file of the program imports which.
//!
//! A file imports another one if its code, without tests, names something that the other defines:
//! by a path from `crate`, `super` or `self`, or from a name that a `use` or a `mod` of the file
//! made known. A name that a module only re-exports counts for the file that defines it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What a file says of others.
struct Imports {
    file: PathBuf,
    /// What names stand for, by `use` and `mod`, with what each names from the crate's root on.
    names: BTreeMap<String, String>,
    /// What the code names, from the crate's root on.
    paths: BTreeSet<String>,
}

/// Modules, each with others.
pub type Graph<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// The files of `src` by module, such as `engine::live::store`.
pub struct Program(BTreeMap<String, Imports>);

impl Program {
    pub fn read(src: &Path, files: Vec<PathBuf>) -> Program {
        let mut tests = BTreeSet::new();
        let mut codes = BTreeMap::new();
        for file in files {
            let module = module_path(src, &file);
            let (code, of_tests) = without_tests(&fs::read_to_string(&file).unwrap());
            tests.extend(of_tests.iter().map(|name| format!("{module}::{name}")));
            codes.insert(module, (file, code));
        }
        let is_of_tests = |path: &str| tests.iter().any(|test| is_within(path, test));
        codes.retain(|module, _| !is_of_tests(module));
        let of = |(module, (file, code)): (String, (PathBuf, String))| {
            let mut imports = imports(file, &module, &code);
            imports.paths.retain(|path| !is_of_tests(path));
            (module, imports)
        };
        let modules = codes.into_iter().map(of).collect();
        Program(modules)
    }

    /// Each module with those that its file imports.
    pub fn imports(&self) -> Graph<'_> {
        let of = |module: &str, imports: &Imports| {
            let found = imports.paths.iter().filter_map(|path| self.defining(path));
            found.filter(|other| *other != module).collect()
        };
        let modules = self.0.iter();
        let modules = modules.map(|(module, imports)| (module.as_str(), of(module, imports)));
        modules.collect()
    }

    /// The module whose file defines what `path` names.
    fn defining(&self, path: &str) -> Option<&str> {
        let mut path = path.to_owned();
        // Re-exports of re-exports are few.
        for _ in 0..8 {
            let (module, imports) = self.longest(&path)?;
            let Some(rest) = path[module.len()..].strip_prefix("::") else {
                return Some(module);
            };
            let (name, behind) = rest.split_once("::").unwrap_or((rest, ""));
            match imports.names.get(name) {
                Some(target) if behind.is_empty() => path = target.clone(),
                Some(target) => path = format!("{target}::{behind}"),
                None => return Some(module),
            }
        }
        panic!("{path} is re-exported in a circle");
    }

    /// The longest module that `path` begins with.
    fn longest(&self, path: &str) -> Option<(&str, &Imports)> {
        let mut module = path;
        loop {
            if let Some((module, imports)) = self.0.get_key_value(module) {
                return Some((module, imports));
            }
            module = module.rsplit_once("::")?.0;
        }
    }

    pub fn file(&self, module: &str) -> &Path {
        &self.0[module].file
    }
}

/// The modules that import themselves by way of others, each with those of its circles.
pub fn circles<'a>(imports: &Graph<'a>) -> Graph<'a> {
    let reached_from = |start: &'a str| {
        let mut reached = BTreeSet::new();
        let mut next = vec![start];
        while let Some(module) = next.pop() {
            let others = imports[module].iter().copied();
            next.extend(others.filter(|other| reached.insert(*other)));
        }
        reached
    };
    let modules = imports.keys();
    let reached: Graph<'a> = modules
        .map(|module| (*module, reached_from(module)))
        .collect();
    let in_circles = imports.iter().map(|(module, others)| {
        let leads_back = |other: &&&str| reached[**other].contains(module);
        (*module, others.iter().filter(leads_back).copied().collect())
    });
    in_circles
        .filter(|(_, others): &(_, BTreeSet<_>)| !others.is_empty())
        .collect()
}

/// Such as `engine::live::store`.
fn module_path(src: &Path, file: &Path) -> String {
    let path = file.strip_prefix(src).unwrap().with_extension("");
    let parts = path.iter().map(|part| part.to_str().unwrap());
    let parts: Vec<_> = parts.filter(|part| *part != "mod").collect();
    parts.join("::")
}

fn is_within(path: &str, module: &str) -> bool {
    let rest = path.strip_prefix(module);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// The code without comments and without what is for tests alone; with it the modules of tests that
/// have files of their own.
pub fn without_tests(text: &str) -> (String, Vec<String>) {
    let mut lines = text.lines().map(|line| line.split("//").next().unwrap());
    let (mut code, mut tests) = (String::new(), Vec::new());
    while let Some(line) = lines.next() {
        if line != "#[cfg(test)]" {
            code.push_str(line);
            code.push('\n');
            continue;
        }
        let item = lines.find(|line| !line.starts_with("#["));
        let Some(item) = item else { break };
        match item.strip_suffix(';') {
            Some(item) => tests.extend(item.split_once("mod ").map(|(_, name)| name.to_owned())),
            None => drop(lines.find(|line| *line == "}" || *line == "};")),
        }
    }
    (with_single_uses(&code), tests)
}

/// The code with each name of a group in a `use` of its own: `use a::{b, c as d};` is two lines.
pub fn with_single_uses(code: &str) -> String {
    let mut single = String::with_capacity(code.len());
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let is_group = item_in(line).1.starts_with("use ") && line.contains('{');
        if !is_group {
            single.push_str(line);
            single.push('\n');
            continue;
        }
        let mut group = line.to_owned();
        while !group.trim_end().ends_with(';') {
            group.push_str(
                lines
                    .next()
                    .expect("a group of names ends with a semicolon")
                    .trim(),
            );
        }
        let (before, names) = group.split_once('{').unwrap();
        let names = names
            .trim_end()
            .strip_suffix("};")
            .expect("one group a line, please");
        assert!(!names.contains('{'), "a group in a group: {group}");
        for name in names
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            let before = before
                .strip_suffix("::")
                .filter(|_| name == "self")
                .unwrap_or(before);
            let name = if name == "self" { "" } else { name };
            single.push_str(&format!("{before}{name};\n"));
        }
    }
    single
}

/// Whether others see the item of a line, and the item without the word on who does: that names
/// nothing.
fn item_in(line: &str) -> (bool, &str) {
    let line = line.trim_start();
    match line.strip_prefix("pub") {
        Some(item) if item.starts_with('(') => {
            (true, item.split_once(") ").map_or(item, |(_, item)| item))
        }
        Some(item) if item.starts_with(' ') => (true, item.trim_start()),
        _ => (false, line),
    }
}

fn imports(file: PathBuf, module: &str, code: &str) -> Imports {
    let mut inner = module.to_owned();
    let mut names = BTreeMap::new();
    let mut uses = Vec::new();
    let mut rest: Vec<(String, String)> = Vec::new();
    for line in code.lines() {
        let (is_shown, item) = item_in(line);
        if let Some(name) = item.strip_prefix("mod ") {
            match name.strip_suffix(';') {
                Some(name) => drop(names.insert(name.to_owned(), format!("{module}::{name}"))),
                None => inner = format!("{module}::{}", name.trim_end_matches(" {")),
            }
        } else if let Some(used) = item.strip_prefix("use ") {
            let used = used.trim_end_matches(';');
            assert!(
                !used.ends_with('*') || !is_own(used),
                "{}: one name a line, please: {line}",
                file.display()
            );
            let (path, name) = match used.split_once(" as ") {
                Some(both) => both,
                None => (used, used.rsplit("::").next().unwrap()),
            };
            uses.push((is_shown, name.to_owned(), path.to_owned(), inner.clone()));
        } else {
            rest.push((inner.clone(), item.to_owned()));
        }
        if line == "}" {
            module.clone_into(&mut inner);
        }
    }
    let mut paths = BTreeSet::new();
    for (is_shown, name, path, inner) in uses {
        let Some(path) = from_root(&path, &inner, &names) else {
            continue;
        };
        // A module that only shows something to others does not import it.
        let is_named = || rest.iter().any(|(_, line)| has_name(line, &name));
        if !is_shown || is_named() {
            paths.insert(path.clone());
        }
        if path != format!("{module}::{name}") && inner == module {
            names.insert(name, path);
        }
    }
    for (inner, line) in &rest {
        let found = written_paths(line).filter_map(|path| from_root(path, inner, &names));
        paths.extend(found);
    }
    Imports { file, names, paths }
}

fn is_own(path: &str) -> bool {
    ["crate::", "super::", "self::"]
        .iter()
        .any(|start| path.starts_with(start))
}

/// The path from the crate's root on; `None` for what no file of the program defines.
fn from_root(path: &str, module: &str, names: &BTreeMap<String, String>) -> Option<String> {
    let (first, rest) = path.split_once("::")?;
    let parent = |module: &str| {
        let above = module.rsplit_once("::").map_or("", |(above, _)| above);
        above.to_owned()
    };
    let start = match first {
        "crate" => return Some(rest.to_owned()),
        "self" => module.to_owned(),
        "super" => parent(module),
        name => names.get(name)?.clone(),
    };
    match rest.strip_prefix("super::") {
        Some(rest) => from_root(&format!("super::{rest}"), &start, names),
        None if start.is_empty() => Some(rest.to_owned()),
        None => Some(format!("{start}::{rest}")),
    }
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a line has the name, other than of a field or a method.
fn has_name(line: &str, name: &str) -> bool {
    super::names(&line.replace(&format!(".{name}"), ""), name)
}

/// Every path of two names or more.
fn written_paths(line: &str) -> impl Iterator<Item = &str> {
    let paths = line.split(|c| !(is_part(c) || c == ':'));
    let paths = paths.map(|path| path.trim_matches(':'));
    paths.filter(|path| path.contains("::"))
}

#[test]
fn an_import_is_seen_however_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    let read = |of_b: &str| {
        let files = vec![
            write("lib.rs", "pub mod a;\n"),
            write(
                "a/mod.rs",
                "mod b;\nmod c;\nmod d;\n#[cfg(test)]\nmod t;\npub use b::B;\npub use c::C;\n",
            ),
            write("a/b.rs", &format!("{of_b}\npub struct B;\n")),
            write(
                "a/c.rs",
                "use super::B;\nuse super::d::D;\npub struct C(B);\n",
            ),
            write("a/d.rs", "use std::fs;\npub struct D;\n"),
            write("a/t.rs", "use super::B;\nuse super::C;\n"),
        ];
        let program = Program::read(folder.path(), files);
        let circles = circles(&program.imports());
        circles.into_keys().map(str::to_owned).collect::<Vec<_>>()
    };
    for none in [
        "use super::d::D;",
        "pub use super::C;\nfn f(x: X) {\n    x.C",
        "// use super::C;",
        "pub(in crate::a) struct X;",
        "#[cfg(test)]\nmod tests {\n    use super::super::C;\n}",
        "fn f() {\n    #[cfg(test)]\n    super::t::f();\n}",
    ] {
        assert!(read(none).is_empty(), "{none}");
    }
    for circle in [
        "use super::C;",
        "use crate::a::C;",
        "use crate::a::c;",
        "use crate::a::C as Other;",
        "use crate::a::{c, d};",
        "use super::{\n    d::D as E,\n    C,\n};",
        "pub use super::C;\nstruct X(C);",
        "fn f() -> super::c::C {",
        "use crate::a;\nfn f() -> a::C {",
        "mod inner {\n    use super::super::c;\n}",
    ] {
        assert_eq!(read(circle), ["a::b", "a::c"], "{circle}");
    }
}

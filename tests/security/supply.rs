//! What the program is built of, and how.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

#[test]
fn releases_check_their_arithmetic_and_can_catch_a_panic() {
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    let release = &manifest["profile"]["release"];
    assert_eq!(release["overflow-checks"].as_bool(), Some(true));
    let packages = release["package"].as_table().unwrap();
    // With settings of its own Cargo would forget to strip it.
    assert!(!packages.contains_key("memdir"));
    assert_eq!(release["strip"].as_str(), Some("symbols"));
    assert!(
        release.get("panic").is_none(),
        "a panic must cost its call only"
    );
    // What people get has all of that, too.
    let given_out = manifest["profile"]["dist"].as_table().unwrap();
    assert_eq!(given_out["inherits"].as_str(), Some("release"));
    for key in ["overflow-checks", "strip", "panic", "package"] {
        assert!(!given_out.contains_key(key), "{key}");
    }
    assert_eq!(
        manifest["lints"]["rust"]["unsafe_code"].as_str(),
        Some("deny")
    );
}

#[test]
fn what_may_not_come_in_is_named_and_not_there() {
    let deny: toml::Table = read("deny.toml").parse().unwrap();
    let banned = deny["bans"]["deny"].as_array().unwrap().iter();
    let banned: Vec<&str> = banned
        .map(|entry| entry["crate"].as_str().unwrap())
        .collect();
    let lock: toml::Table = read("Cargo.lock").parse().unwrap();
    let packages = lock["package"].as_array().unwrap();
    for name in ["serde_yml", "libyml", "yaml-rust", "openssl"] {
        assert!(banned.contains(&name), "{name}");
        let is_there = packages
            .iter()
            .any(|package| package["name"].as_str() == Some(name));
        assert!(!is_there, "{name}");
    }
    assert_eq!(deny["sources"]["unknown-registry"].as_str(), Some("deny"));
    assert_eq!(deny["sources"]["unknown-git"].as_str(), Some("deny"));
    // Everything but the program itself comes from the registry, with its checksum.
    for package in packages {
        let name = package["name"].as_str().unwrap();
        assert_eq!(
            package.get("checksum").is_none(),
            name == "memdir",
            "{name}"
        );
    }
    for checks in [".ci/run", ".github/workflows/ci.yml"] {
        assert!(
            read(checks).contains("cargo deny --locked check"),
            "{checks}"
        );
    }
}

#[test]
fn the_bill_names_every_crate_with_its_checksum() {
    let bill = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/bill.py");
    let made = match Command::new("python3").arg(bill).output() {
        Ok(made) => made,
        Err(error) => return eprintln!("the bill was not made: no python3 ({error})"),
    };
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    let bill: serde_json::Value = serde_json::from_slice(&made.stdout).unwrap();
    assert_eq!(
        (&bill["bomFormat"], &bill["specVersion"]),
        (&"CycloneDX".into(), &"1.5".into())
    );
    assert_eq!(
        bill["metadata"]["component"]["version"],
        env!("CARGO_PKG_VERSION")
    );
    let components = bill["components"].as_array().unwrap();
    for component in components {
        let checksum = component["hashes"][0]["content"].as_str().unwrap();
        assert_eq!(checksum.len(), 64, "{component}");
    }
    let has = |name: &str| components.iter().any(|component| component["name"] == name);
    assert!(has("tantivy") && has("rmcp") && has("serde_json"));
    // What only tests need is not in the program.
    assert!(!has("proptest"));
}

/// The files of `folder` and below whose code, without its tests, `block` matches; below the root.
fn files_with(folder: &str, block: &str) -> Vec<String> {
    fn look(folder: &Path, block: &regex::Regex, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                look(&path, block, found);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
                found.extend(block.is_match(code).then_some(path));
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    look(
        &root.join(folder),
        &regex::Regex::new(block).unwrap(),
        &mut found,
    );
    let named = found
        .iter()
        .map(|path| path.strip_prefix(root).unwrap().to_str().unwrap());
    let mut named: Vec<String> = named.map(|path| path.replace('\\', "/")).collect();
    named.sort();
    named
}

#[test]
fn unsafe_code_stands_in_these_files_only() {
    let named = files_with("src", r"(?m)^[^/\n]*\bunsafe\s*(?:\{|fn|impl)");
    assert_eq!(named, UNSAFE);
}

#[test]
fn objects_are_read_from_repositories_that_check_them() {
    let opens = r"\bRepository::(?:open|discover|init)\w*\(";
    assert_eq!(files_with("src/git", opens), OPENS_REPOSITORIES);
}

/// The reader, the repository and the quarantine have loose objects checked; the others look at
/// settings and paths only.
const OPENS_REPOSITORIES: [&str; 6] = [
    "src/git/network/libgit2.rs",
    "src/git/network/program.rs",
    "src/git/network/quarantine.rs",
    "src/git/repository/loose_objects.rs",
    "src/git/repository/opening.rs",
    "src/git/settings.rs",
];

/// One call of git2 that registers a transport, a source of objects for libgit2, files that are
/// mapped with the handler of their faults, wider instructions, and calls of the C library about
/// memory that was freed and about the priority of a thread.
const UNSAFE: [&str; 8] = [
    "src/columns/guard.rs",
    "src/columns/mapped.rs",
    "src/embed/memory.rs",
    "src/embed/priority.rs",
    "src/git/network/transport.rs",
    "src/git/repository/loose_file.rs",
    "src/git/repository/loose_objects.rs",
    "src/simd.rs",
];

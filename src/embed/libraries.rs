//! Places where an ONNX Runtime may be installed.

use std::path::{Path, PathBuf};

/// Returns the ONNX Runtime libraries to try, best first: the one that the user named (`ORT_DYLIB_PATH`),
/// those in the model's folder, beside this program, in the system's usual folders; at last the
/// bare names, which the system's loader looks up by its own rules.
///
/// The named one is listed even if it is not there, so that whoever tries it can say so.
pub fn runtime_libraries(named: Option<&Path>, folder: &Path) -> Vec<PathBuf> {
    let program = std::env::current_exe().ok();
    let beside = program.as_deref().and_then(Path::parent);
    let mut folders = vec![folder.to_owned(), folder.join("lib")];
    folders.extend(beside.map(Path::to_owned));
    // `bin/memdir` and `lib/libonnxruntime.so`, as packages install them.
    folders.extend(
        beside
            .and_then(Path::parent)
            .map(|parent| parent.join("lib")),
    );
    folders.extend(system_folders());
    search(named, &folders)
}

fn search(named: Option<&Path>, folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = named.map(Path::to_owned).into_iter().collect();
    for folder in folders {
        let Ok(entries) = folder.read_dir() else {
            continue;
        };
        let mut libraries: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| is_library(path) && path.is_file())
            .collect();
        // The shortest name is the one that programs are linked with.
        libraries.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
        found.extend(libraries);
    }
    found.extend(BARE.iter().map(PathBuf::from));
    // Names of one file: `libonnxruntime.so` links to `libonnxruntime.so.1`, and that to the file.
    let mut known = Vec::new();
    found.retain(|path| {
        let file = path.canonicalize().unwrap_or_else(|_| path.clone());
        let is_new = !known.contains(&file);
        known.push(file);
        is_new
    });
    found
}

#[cfg(windows)]
const BARE: [&str; 0] = [];
#[cfg(target_vendor = "apple")]
const BARE: [&str; 1] = ["libonnxruntime.dylib"];
#[cfg(not(any(windows, target_vendor = "apple")))]
const BARE: [&str; 2] = ["libonnxruntime.so", "libonnxruntime.so.1"];

#[cfg(windows)]
fn is_library(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.eq_ignore_ascii_case("onnxruntime.dll"))
}

#[cfg(target_vendor = "apple")]
fn is_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_prefix("libonnxruntime.")
        .and_then(|rest| rest.strip_suffix("dylib"))
        .is_some_and(is_version)
}

#[cfg(not(any(windows, target_vendor = "apple")))]
fn is_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_prefix("libonnxruntime.so")
        .is_some_and(is_version)
}

/// Nothing, or numbers with dots between them.
#[cfg(not(windows))]
fn is_version(text: &str) -> bool {
    text.chars().all(|c| c == '.' || c.is_ascii_digit())
}

// Not the system's own folder on Windows: the library there is the system's, of any version, and
// loading it by accident is a known trouble.
#[cfg(windows)]
fn system_folders() -> Vec<PathBuf> {
    Vec::new()
}

#[cfg(target_vendor = "apple")]
fn system_folders() -> Vec<PathBuf> {
    let folders = ["/opt/homebrew/lib", "/usr/local/lib", "/opt/local/lib"];
    folders.iter().map(PathBuf::from).collect()
}

#[cfg(not(any(windows, target_vendor = "apple")))]
fn system_folders() -> Vec<PathBuf> {
    let multiarch = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let folders = [
        "/usr/local/lib",
        "/usr/local/lib64",
        "/usr/lib",
        "/usr/lib64",
    ];
    let folders = folders.iter().map(PathBuf::from);
    folders.chain([PathBuf::from(multiarch)]).collect()
}

// Of links, which Windows lets few users make.
#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_library_is_listed_once_the_named_one_first() {
        let folder = tempfile::tempdir().unwrap();
        let [model, system] = ["model", "system"].map(|name| folder.path().join(name));
        std::fs::create_dir_all(&model).unwrap();
        std::fs::create_dir_all(&system).unwrap();
        let suffix = std::env::consts::DLL_SUFFIX;
        let name = format!("libonnxruntime{suffix}");
        let in_system = system.join(format!("{name}.real"));
        std::fs::write(&in_system, "").unwrap();
        std::os::unix::fs::symlink(&in_system, system.join(&name)).unwrap();
        std::fs::write(model.join(&name), "").unwrap();
        std::fs::write(model.join(format!("libonnxruntime_providers{suffix}")), "").unwrap();
        std::fs::create_dir_all(folder.path().join(&name)).unwrap();
        let named = folder.path().join("of-the-user.so");

        let folders = [model.clone(), system.clone(), folder.path().to_owned()];
        let found = search(Some(&named), &folders);

        let (bare, files) = found.split_at(found.len() - BARE.len());
        assert_eq!(bare.len(), 3);
        assert_eq!(bare, [named, model.join(&name), system.join(&name)]);
        assert!(files.iter().all(|path| path.is_relative()));
    }
}

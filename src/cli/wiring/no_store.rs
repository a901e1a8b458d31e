//! Errors for a folder that is no store, or cannot become one, with a hint what to do.

use std::io;
use std::path::Path;

use crate::cli::terminal::fail::Failure;

/// Returns the error for a command that needs the store at `root`, where there is none.
pub fn no_store(root: &Path) -> Failure {
    let shown = root.display();
    let why = match obstacle(root) {
        Obstacle::File(_) | Obstacle::Unreadable(..) => return cannot("open", root),
        Obstacle::NoParent(parent) => {
            format!("neither it nor the folder {} exists", parent.display())
        }
        Obstacle::Missing => "there is nothing yet".to_owned(),
        Obstacle::None => {
            return Failure::new(format!("{shown} is no store: there is no folder `files` in it"))
                .hint(format!(
                    "`memdir init {shown}` makes one, `memdir init --notes {shown}` of the notes in it; `--store DIR` names another."
                ));
        }
    };
    Failure::new(format!("{shown} is no store: {why}")).hint(format!(
        "Check the path; `memdir init {shown}` makes the store there, `--store DIR` names another."
    ))
}

/// Returns the error for the store at `root`, which could not be made because of `error`.
pub fn not_made(root: &Path, error: io::Error) -> Failure {
    match obstacle(root) {
        Obstacle::File(_) | Obstacle::Unreadable(..) => cannot("make", root),
        _ => Failure::new(format!("cannot make a store in {}", root.display()))
            .because(error)
            .hint(
                "Check the permissions of the folder above it, or name another with `--store DIR`.",
            ),
    }
}

/// Returns the error for the store at `root`, in whose way something else stands.
fn cannot(verb: &str, root: &Path) -> Failure {
    let what = Failure::new(format!("cannot {verb} a store in {}", root.display()));
    match obstacle(root) {
        Obstacle::Unreadable(path, error) => Failure {
            causes: vec![format!("{} cannot be looked at: {error}", path.display())],
            ..what.hint("Give yourself permission, or name another folder with `--store DIR`.")
        },
        Obstacle::File(path) => Failure {
            causes: vec![format!(
                "{} is no folder, and a store is one",
                path.display()
            )],
            ..what.hint(
                "Name another folder with `--store DIR` or MEMDIR_STORE, or move that file away.",
            )
        },
        _ => what,
    }
}

/// The reason why a path is no folder.
enum Obstacle {
    None,
    /// The path is free, and the folder above it exists.
    Missing,
    /// The path is free, and this folder above it, the nearest missing one, is missing too.
    NoParent(std::path::PathBuf),
    /// This is no folder: the path itself, or one above it.
    File(std::path::PathBuf),
    Unreadable(std::path::PathBuf, io::Error),
}

fn obstacle(root: &Path) -> Obstacle {
    let mut missing = Vec::new();
    for path in root.ancestors().filter(|path| *path != Path::new("")) {
        match std::fs::metadata(path) {
            Ok(data) if !data.is_dir() => return Obstacle::File(path.to_owned()),
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::NotFound => match path.is_symlink() {
                // A link that leads nowhere.
                true => return Obstacle::File(path.to_owned()),
                false => missing.push(path),
            },
            // The file shows itself further up.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {}
            Err(error) => return Obstacle::Unreadable(path.to_owned(), error),
        }
    }
    match missing.as_slice() {
        [] => Obstacle::None,
        [_] => Obstacle::Missing,
        [.., parent] => Obstacle::NoParent((*parent).to_owned()),
    }
}

/// Returns the message of a command that made a missing store.
pub fn made(root: &std::path::Path) -> String {
    format!("there was no store in {}: it was made", root.display())
}

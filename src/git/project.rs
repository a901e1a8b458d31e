//! Finds the project that a folder belongs to.

use std::path::Path;

use super::settings;

/// Returns the name of the project that `folder` belongs to: that of its git remote `origin`,
/// else that of the folder git works in. `None` outside of a repository, and in a repository
/// whose work folder is, or lies in, `store`: a store is no project of its own.
///
/// The repository is not opened, and its configuration is read and not obeyed: the working folder
/// may be anybody's.
pub fn project_name(folder: &Path, store: &Path) -> Option<String> {
    let git_folder = settings::git_folder_of(folder)?;
    let work = work_folder(folder, &git_folder).canonicalize().ok()?;
    if store
        .canonicalize()
        .is_ok_and(|store| work.starts_with(store))
    {
        return None;
    }
    let from_remote = settings::origin_of(&git_folder);
    let from_remote = from_remote.as_deref().and_then(name_in_url);
    from_remote.or_else(|| cleaned(work.file_name()?.to_str()?))
}

/// Returns the folder that holds `.git`, be it a folder or a file; the repository itself where it has no
/// work folder.
fn work_folder<'a>(folder: &'a Path, git_folder: &'a Path) -> &'a Path {
    let holder = folder
        .ancestors()
        .find(|folder| folder.join(".git").exists());
    holder.unwrap_or(git_folder)
}

/// Returns the last part of a remote's address, without `.git`.
fn name_in_url(url: &str) -> Option<String> {
    let path = url.trim_end_matches('/');
    let last = path.rsplit(['/', ':', '\\']).next()?;
    cleaned(last.strip_suffix(".git").unwrap_or(last))
}

/// Returns a name with a dash for blanks and control characters.
fn cleaned(name: &str) -> Option<String> {
    let words: Vec<&str> = name
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|w| !w.is_empty())
        .collect();
    (!words.is_empty()).then(|| words.join("-"))
}

#[cfg(test)]
mod tests {
    use git2::Repository;

    use super::*;

    #[test]
    fn a_remote_names_the_project() {
        for url in [
            "https://git.example/team/atlas.git",
            "git@git.example:team/atlas.git",
            "ssh://git@git.example/team/atlas/",
            "/srv/git/atlas.git",
            "atlas",
        ] {
            assert_eq!(name_in_url(url).as_deref(), Some("atlas"), "{url}");
        }
        assert_eq!(
            name_in_url("https://git.example/"),
            Some("git.example".to_owned())
        );
        assert_eq!(cleaned("my notes\n"), Some("my-notes".to_owned()));
        assert_eq!(cleaned(" "), None);
    }

    #[test]
    fn a_folder_in_a_repository_has_its_name_and_a_store_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().join("my atlas");
        std::fs::create_dir_all(work.join("src/deep")).unwrap();
        assert_eq!(project_name(&work, folder.path()), None);
        let repository = Repository::init(&work).unwrap();
        let elsewhere = Path::new("elsewhere");
        assert_eq!(
            project_name(&work.join("src/deep"), elsewhere).as_deref(),
            Some("my-atlas")
        );
        repository
            .remote("origin", "git@git.example:team/compass.git")
            .unwrap();
        assert_eq!(project_name(&work, elsewhere).as_deref(), Some("compass"));
        assert_eq!(project_name(&work, &work), None);
    }
}

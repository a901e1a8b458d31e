//! What project a folder belongs to.

use std::path::Path;

use git2::Repository;

/// Returns the name of the project that `folder` belongs to: that of its git remote `origin`,
/// else that of the folder git works in. `None` outside of a repository, and in a repository
/// whose work folder is, or lies in, `store`: a store is no project of its own.
pub fn project_name(folder: &Path, store: &Path) -> Option<String> {
    let repository = Repository::discover(folder).ok()?;
    let work = repository.workdir().unwrap_or_else(|| repository.path());
    let work = work.canonicalize().ok()?;
    if store
        .canonicalize()
        .is_ok_and(|store| work.starts_with(store))
    {
        return None;
    }
    let remote = repository.find_remote("origin").ok();
    let from_remote = remote
        .as_ref()
        .and_then(|remote| remote.url().ok())
        .and_then(name_in_url);
    from_remote.or_else(|| cleaned(work.file_name()?.to_str()?))
}

/// The last part of a remote's address, without `.git`.
fn name_in_url(url: &str) -> Option<String> {
    let path = url.trim_end_matches('/');
    let last = path.rsplit(['/', ':', '\\']).next()?;
    cleaned(last.strip_suffix(".git").unwrap_or(last))
}

/// A name without blanks and control characters.
fn cleaned(name: &str) -> Option<String> {
    let words: Vec<&str> = name
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|w| !w.is_empty())
        .collect();
    (!words.is_empty()).then(|| words.join("-"))
}

#[cfg(test)]
mod tests {
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

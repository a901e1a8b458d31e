//! Files of the repository that are no memories: they stay whose they are.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::git::Git;
use crate::support::machines::Machines;
use crate::support::program::{Home, Ran, run};

/// A store at the root of somebody's repository, which is in step with the shared one.
struct Project {
    home: Home,
    folder: PathBuf,
}

impl Project {
    fn new(machines: &Machines) -> Project {
        let home = Home::new();
        let folder = home.root().join("project");
        let remote = machines.remote();
        let outside = Git::at(&home, home.root());
        outside.says(&["clone", "-q", remote.to_str().unwrap(), "project"]);
        let project = Project { home, folder };
        let git = project.git();
        fs::write(project.folder.join("code.py"), "one\ntwo\nthree\n").unwrap();
        fs::write(project.folder.join("run.sh"), "#!/bin/sh\n").unwrap();
        git.says(&["add", "."]);
        git.says(&["update-index", "--chmod=+x", "run.sh"]);
        git.says(&["commit", "-q", "-m", "Code"]);
        git.says(&["checkout", "-q", "--", "."]);
        git.says(&["push", "-q", "origin", "HEAD:main"]);
        project.on(&["init", "."]).done();
        project.on(&["sync", "--setup", "--allow-local"]).done();
        project
    }

    fn git(&self) -> Git<'_> {
        Git::at(&self.home, self.folder.clone())
    }

    fn on(&self, arguments: &[&str]) -> Ran {
        let mut command = self.home.bare();
        command.current_dir(&self.folder).arg("--store").arg(".");
        run(command.args(arguments))
    }
}

#[test]
fn at_the_root_of_somebodys_repository_only_memories_are_merged() {
    let machines = Machines::new(1);
    let project = Project::new(&machines);
    let copy = machines.copy();
    let folder = machines.remote().with_file_name("copy");
    fs::write(folder.join("code.py"), "one\nby another\nthree\n").unwrap();
    fs::write(folder.join("run.sh"), "#!/bin/sh\necho\n").unwrap();
    copy.says(&["commit", "-q", "-a", "-m", "Other code"]);
    copy.says(&["push", "-q"]);
    fs::write(project.folder.join("code.py"), "one\nby us\nthree\n").unwrap();
    let git = project.git();
    git.says(&["commit", "-q", "-a", "-m", "Our code"]);
    let head = git.says(&["rev-parse", "HEAD"]);
    let ran = project.on(&["sync", "--json"]);
    let said = ran.json();
    assert_eq!(said["state"], "paused", "{said}");
    assert!(
        said["reason"].as_str().unwrap().contains("other files"),
        "{said}"
    );
    assert_eq!(git.says(&["rev-parse", "HEAD"]), head);
    assert_eq!(git.says(&["status", "--porcelain"]), "");
    // Once its owner has pulled, memories go on, and the modes are as they were.
    git.says(&["pull", "-q", "--no-rebase", "-X", "ours", "origin", "main"]);
    git.says(&["push", "-q", "origin", "HEAD:main"]);
    project.on(&["remember", "one"]).done();
    project.on(&["sync"]).done();
    let listed = machines.shared().says(&["ls-tree", "main", "run.sh"]);
    assert!(listed.starts_with("100755"), "{listed}");
}

#[test]
fn other_files_of_the_stores_own_repository_never_block_the_memories() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    let git = Git::of(one);
    let write = |home: &Home, name: &str, text: &str| {
        fs::write(home.store().join(name), text).unwrap();
    };
    one.remember(&["one"]);
    write(one, "README.md", "one\n");
    write(one, "both", "before\n");
    git.says(&["add", "README.md", "both"]);
    git.says(&["commit", "-q", "-m", "Notes"]);
    machines.settle();
    assert_eq!(
        fs::read_to_string(two.store().join("README.md")).unwrap(),
        "one\n"
    );
    // Not committed: it stays, whatever comes.
    write(two, "README.md", "one\nmine\n");
    write(one, "README.md", "one\ntwo\n");
    write(one, "both", "by one\n");
    git.says(&["commit", "-q", "-a", "-m", "More"]);
    one.remember(&["two"]);
    machines.sync(0);
    write(two, "both", "by two\n");
    Git::of(two).says(&["commit", "-q", "-m", "Other", "both"]);
    two.remember(&["three"]);
    let said = machines.sync(1);
    assert_eq!(said["kept"], Value::from(vec!["both"]), "{said}");
    machines.sync(0);
    assert_eq!(one.files().read_dir().unwrap().count(), 3);
    assert_eq!(
        fs::read_to_string(two.store().join("README.md")).unwrap(),
        "one\nmine\n"
    );
    let shown = machines.shared().says(&["show", "main:README.md"]);
    assert_eq!(shown, "one\ntwo\n");
    assert_eq!(
        fs::read_to_string(one.store().join("both")).unwrap(),
        "by two\n"
    );
    assert_eq!(git.says(&["status", "--porcelain"]), "");
    assert_eq!(
        Git::of(two).says(&["status", "--porcelain"]),
        " M README.md\n"
    );
}

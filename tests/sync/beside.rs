//! Somebody uses git in the same repository, at the same time.

use std::fs;
#[cfg(target_os = "linux")]
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::support::git::Git;
use crate::support::machines::Machines;
#[cfg(target_os = "linux")]
use crate::support::make_executable;
use crate::support::program::Home;
use crate::support::session::Session;
use crate::support::until;

fn remember(session: &mut Session, content: &str) -> String {
    let arguments = json!({"agent": "claude", "user": "mira", "topics": ["a"], "content": content});
    let reply = session.tool("remember", arguments);
    reply["structuredContent"]["memory_id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// The memories of the newest commit.
fn committed(git: &Git<'_>) -> Vec<String> {
    let listed = git.says(&["ls-tree", "-r", "--name-only", "HEAD"]);
    let paths = listed.lines().filter(|path| path.contains("files/"));
    paths.map(str::to_owned).collect()
}

#[test]
fn a_commit_with_git_keeps_what_a_server_committed_a_moment_ago() {
    let home = Home::new();
    let git = Git::of(&home);
    home.remember(&["first"]);
    let mut session = Session::on(&home);
    for number in 0..3 {
        let id = remember(&mut session, &format!("Number {number}."));
        // As git itself does, it holds the lock of the index until both are written, the branch first.
        let lock = home.store().join(".git/index.lock");
        until("it is committed", || {
            git.subjects()[0].contains(&id) && !lock.exists()
        });
        // What git itself says is committed as its user means it.
        assert_eq!(git.says(&["diff", "--cached", "--name-status"]), "");
        home.write("store/README.md", format!("{number}"));
        git.says(&["add", "README.md"]);
        git.says(&["commit", "-q", "-m", "Mine"]);
        assert_eq!(committed(&git).len(), number + 2);
        // What a journal noted since waits for the next commit.
        let status = git.says(&["status", "--porcelain"]);
        let others = status.lines().filter(|line| !line.contains(" journal/"));
        assert_eq!(others.collect::<Vec<_>>(), Vec::<&str>::new());
    }
}

#[test]
fn a_commit_with_git_keeps_what_a_server_pulled_a_moment_ago() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    one.remember(&["first"]);
    machines.settle();
    let git = Git::of(two);
    let mut command = two.command(&["mcp"]);
    command.env("MEMDIR_SYNC_INTERVAL", "1");
    let session = Session::open_on(command);
    let id = one.remember(&["second"]);
    machines.sync(0);
    until("it came", || git.subjects()[0].contains(&id));
    two.write("store/README.md", "mine");
    git.says(&["add", "README.md"]);
    git.says(&["commit", "-q", "-m", "Mine"]);
    assert_eq!(committed(&git).len(), 2);
    drop(session);
    machines.settle();
    assert_eq!(committed(&Git::of(one)).len(), 2);
}

/// Git in a project with a file `code`, to the repository of which the stores `names` belong.
fn project<'a>(home: &'a Home, names: &[&str]) -> Git<'a> {
    let git = Git::at(home, home.root());
    git.says(&["init", "-q", "-b", "trunk"]);
    home.write("code", "aaa\n");
    git.says(&["add", "code"]);
    git.says(&["commit", "-q", "-m", "Theirs"]);
    git.says(&["init", "-q", "--bare", "-b", "trunk", "remote.git"]);
    let remote = home.root().join("remote.git");
    git.says(&["remote", "add", "origin", remote.to_str().unwrap()]);
    git.says(&["push", "-q", "origin", "trunk"]);
    for name in names {
        fs::create_dir(home.root().join(name)).unwrap();
        in_store(home, name, &["init", name]);
        in_store(home, name, &["sync", "--setup", "--allow-local"]);
    }
    git
}

fn in_store(home: &Home, name: &str, arguments: &[&str]) -> String {
    let mut command = home.bare();
    command.args(["--store", name]).args(arguments);
    crate::support::program::run(&mut command).done()
}

#[test]
fn two_stores_of_one_repository_are_both_told_of() {
    let home = Home::new();
    let git = project(&home, &["one", "two"]);
    for name in ["one", "two"] {
        in_store(&home, name, &["remember", "In one of them."]);
    }
    assert_eq!(git.says(&["diff", "--cached", "--name-status"]), "");
    assert_eq!(committed(&git).len(), 2);
}

#[test]
fn two_stores_of_one_repository_may_be_written_at_the_same_time() {
    let home = Home::new();
    let git = project(&home, &["one", "two"]);
    std::thread::scope(|scope| {
        for name in ["one", "two"] {
            let home = &home;
            scope.spawn(move || {
                for number in 0..12 {
                    let text = format!("Number {number}.");
                    let mut command = home.bare();
                    command.args(["--store", name, "remember", &text]);
                    assert_eq!(crate::support::program::run(&mut command).code, 0);
                }
            });
        }
    });
    for name in ["one", "two"] {
        in_store(&home, name, &["sync"]);
    }
    assert_eq!(git.says(&["diff", "--cached", "--name-status"]), "");
    assert_eq!(committed(&git).len(), 24);
    assert!(!home.root().join(".git/index.lock").exists());
}

#[test]
fn what_its_owner_changed_in_the_same_second_is_still_seen() {
    let home = Home::new();
    let git = project(&home, &["notes"]);
    // As if the file had been changed, git's index written, and the file changed again, all in one
    // second of long ago; the time of the inode, which nobody can set, counts for nothing here.
    git.says(&["config", "core.trustctime", "false"]);
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let at_once = |name: &str| {
        let file = fs::File::options()
            .append(true)
            .open(home.root().join(name));
        file.unwrap().set_modified(then).unwrap();
    };
    home.write("code", "bbb\n");
    at_once("code");
    git.says(&["commit", "-q", "-a", "-m", "Mine"]);
    home.write("code", "ccc\n");
    at_once("code");
    at_once(".git/index");
    in_store(&home, "notes", &["remember", "Noted."]);
    assert_eq!(git.says(&["diff", "--name-only"]), "code\n");
}

#[test]
fn a_lock_that_git_has_just_taken_is_not_taken_for_an_ended_one() {
    let home = Home::new();
    let git = Git::of(&home);
    home.remember(&["first"]);
    let inside = |name: &str| home.store().join(".git").join(name);
    // Killed before anything was written; a git holds its lock, and has written nothing either.
    let tip = git.says(&["rev-parse", "HEAD"]);
    let prepared = inside(&format!("memdir-index-{}", tip.trim()));
    fs::write(&prepared, "").unwrap();
    fs::write(inside("index.lock"), "").unwrap();
    home.remember(&["second"]);
    assert!(inside("index.lock").exists() && !prepared.exists());
    assert_eq!(committed(&git).len(), 1);
    fs::remove_file(inside("index.lock")).unwrap();
    home.run(&["sync"]).done();
    git.assert_sound();
}

#[test]
fn what_is_only_meant_to_be_added_becomes_what_was_committed() {
    let home = Home::new();
    let git = project(&home, &["notes"]);
    fs::create_dir_all(home.root().join("notes/files")).unwrap();
    home.write("notes/files/todo.md", "By hand.\n");
    git.says(&["add", "-N", "notes"]);
    in_store(&home, "notes", &["sync"]);
    assert_eq!(git.says(&["diff", "--cached", "--name-status"]), "");
    home.write("code", "changed\n");
    git.says(&["commit", "-q", "-m", "Mine", "code"]);
    assert_eq!(committed(&git), ["notes/files/todo.md"]);
}

#[cfg(unix)]
#[test]
fn somebodys_repository_keeps_the_modes_that_git_gives_it() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let git = project(&home, &["notes"]);
    let mode = |name: &str| {
        fs::metadata(home.root().join(name))
            .unwrap()
            .permissions()
            .mode()
    };
    let plain = mode("code");
    in_store(&home, "notes", &["remember", "Noted."]);
    for name in ["config", "index", "refs/heads/trunk"] {
        assert_eq!(mode(&format!(".git/{name}")), plain, "{name}");
    }
    let head = git.says(&["rev-parse", "HEAD"]);
    let folder = format!(".git/objects/{}", &head[..2]);
    assert_eq!(mode(&folder), mode(".git/objects"));
    // What is the store's is its user's alone.
    let kept = fs::read_dir(home.root().join("notes/files")).unwrap();
    for file in kept.map(|file| file.unwrap().path()) {
        assert_eq!(
            fs::metadata(file).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_commit_with_git_that_waits_for_its_hook_succeeds() {
    let home = Home::new();
    let git = project(&home, &["notes"]);
    let hook = home.write(
        ".git/hooks/pre-commit",
        "#!/bin/sh\ntouch .git/hooked; while [ ! -e .git/go ]; do sleep 0.02; done\n",
    );
    make_executable(&hook);
    home.write("code", "changed\n");
    let mut command = Command::new("git");
    home.surround(&mut command);
    let mut committing = command
        .current_dir(home.root())
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.org"])
        .args(["commit", "-q", "-a", "-m", "Mine"])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    until("the hook runs", || home.root().join(".git/hooked").exists());
    in_store(&home, "notes", &["remember", "Meanwhile."]);
    assert_eq!(committed(&git).len(), 0);
    fs::write(home.root().join(".git/go"), "").unwrap();
    assert!(committing.wait().unwrap().success());
    in_store(&home, "notes", &["remember", "Afterwards."]);
    in_store(&home, "notes", &["sync", "--status"]);
    assert!(!committed(&git).is_empty());
    assert_eq!(git.says(&["status", "--porcelain", "code"]), "");
}

#[test]
fn what_somebody_took_out_of_the_history_and_not_off_the_disk_is_committed_again() {
    let home = Home::new();
    let git = Git::of(&home);
    let id = home.remember(&["first"]);
    let mut session = Session::on(&home);
    let other = remember(&mut session, "second");
    until("it is committed", || git.subjects()[0].contains(&other));
    let name = home.file_of(&id);
    let name = name.file_name().unwrap().to_str().unwrap();
    git.says(&["rm", "-q", "--cached", &format!("files/{name}")]);
    git.says(&["commit", "-q", "-m", "By mistake"]);
    remember(&mut session, "third");
    until("all are committed", || committed(&git).len() == 3);
}

#[cfg(target_os = "linux")]
#[test]
fn a_lock_is_left_to_a_git_that_waits_for_its_editor() {
    let home = Home::new();
    let git = Git::of(&home);
    home.remember(&["first"]);
    home.write("store/README.md", "mine");
    git.says(&["add", "README.md"]);
    let editor = "f() { touch .git/editing; while [ ! -e .git/go ]; do sleep 0.02; done; echo Mine > \"$1\"; }; f";
    let mut command = Command::new("git");
    home.surround(&mut command);
    let mut committing = command
        .current_dir(home.store())
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.org"])
        .args(["commit", "-q", "-a"])
        .env("GIT_EDITOR", editor)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    until("the editor is open", || {
        home.store().join(".git/editing").exists()
    });
    let lock = home.store().join(".git/index.lock");
    let old = SystemTime::now() - Duration::from_secs(3600);
    fs::File::open(&lock).unwrap().set_modified(old).unwrap();
    let id = home.remember(&["second"]);
    assert!(lock.exists(), "taken");
    assert_eq!(committed(&git).len(), 1);
    fs::write(home.store().join(".git/go"), "").unwrap();
    assert!(committing.wait().unwrap().success());
    assert_eq!(git.subjects()[0], "Mine");
    home.run(&["sync"]).done();
    assert!(committed(&git).iter().any(|path| path.contains(&id)));
    git.assert_sound();
}

/// Where another branch changed the same memory, git refuses to merge; it has taken the edit off the
/// disk then, and puts it back.
#[cfg(target_os = "linux")]
#[test]
fn a_git_that_refuses_to_merge_puts_back_what_was_not_committed() {
    let home = Home::new();
    let git = Git::of(&home);
    let file = home.file_of(&home.remember(&["one line"]));
    let text = fs::read_to_string(&file).unwrap();
    git.says(&["checkout", "-q", "-b", "other"]);
    fs::write(&file, text.replace("one", "another")).unwrap();
    git.says(&["commit", "-q", "-a", "-m", "Theirs"]);
    git.says(&["checkout", "-q", "main"]);
    home.remember(&["second"]);
    let tip = git.says(&["rev-parse", "HEAD"]);
    let edited = text.replace("one", "an edited");
    fs::write(&file, &edited).unwrap();

    let real = git.says(&["--exec-path"]);
    let waiting = format!(
        "#!/bin/sh\ncase \"$1 $2\" in \"stash apply\") touch .git/applying; \
         i=0; while [ ! -e .git/go ] && [ $i -lt 3000 ]; do sleep 0.02; i=$((i+1)); done;; esac\nGIT_EXEC_PATH={0} exec {0}/git \"$@\"\n",
        real.trim(),
    );
    let program = home.write("programs/git", &waiting);
    make_executable(&program);
    let mut command = Command::new("git");
    home.surround(&mut command);
    let mut merging = command
        .current_dir(home.store())
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.org"])
        .args(["merge", "-q", "other"])
        .env("GIT_EXEC_PATH", program.parent().unwrap())
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("git is about to put it back", || {
        home.store().join(".git/applying").exists()
    });
    assert_ne!(fs::read_to_string(&file).unwrap(), edited);
    home.remember(&["third"]);
    assert_eq!(git.says(&["rev-parse", "HEAD"]), tip);
    fs::write(home.store().join(".git/go"), "").unwrap();
    assert!(!merging.wait().unwrap().success());
    assert_eq!(fs::read_to_string(&file).unwrap(), edited);
    home.run(&["sync"]).done();
    assert!(git.says(&["show", "HEAD"]).contains("+an edited line"));
}

#[test]
fn what_a_killed_process_began_is_ended_by_the_next() {
    for is_moved in [false, true] {
        let home = Home::new();
        let git = Git::of(&home);
        home.remember(&["first"]);
        let inside = |name: &str| home.store().join(".git").join(name);
        let before = fs::read(inside("index")).unwrap();
        home.remember(&["second"]);
        // As if it had been killed with the lock in its hands: before, or after the branch moved.
        let tip = git.says(&["rev-parse", "HEAD"]);
        let prepared = inside(&format!("memdir-index-{}", tip.trim()));
        fs::rename(inside("index"), &prepared).unwrap();
        fs::write(inside("index"), before).unwrap();
        fs::hard_link(&prepared, inside("index.lock")).unwrap();
        if !is_moved {
            git.says(&["update-ref", "refs/heads/main", "HEAD~1"]);
        }
        home.remember(&["third"]);
        home.run(&["sync"]).done();
        assert!(!prepared.exists() && !inside("index.lock").exists());
        assert_eq!(committed(&git).len(), 3, "{is_moved}");
        git.assert_sound();
    }
}

#[test]
fn an_index_of_another_version_is_understood_and_a_split_one_named() {
    let home = Home::new();
    let git = Git::of(&home);
    home.remember(&["first"]);
    git.says(&["update-index", "--index-version", "4"]);
    home.remember(&["second"]);
    git.assert_sound();
    git.says(&["update-index", "--split-index"]);
    let ran = home.run(&["remember", "third"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("--no-split-index"), "{}", ran.stderr);
    git.says(&["update-index", "--no-split-index"]);
    home.run(&["sync"]).done();
    assert_eq!(committed(&git).len(), 3);
    git.assert_sound();
}

/// Processes of this machine that were started with `word`.
#[cfg(target_os = "linux")]
fn processes_with(word: &str) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(word)).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn a_silent_remote_keeps_no_commit_waiting_and_no_process_alive() {
    let home = Home::new();
    let git = Git::of(&home);
    home.remember(&["first"]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://{}/silent.git", listener.local_addr().unwrap());
    for (key, value) in [
        ("remote.origin.url", address.as_str()),
        ("memdir...remote", "origin"),
        ("memdir...local", "refused"),
    ] {
        git.says(&["config", key, value]);
    }
    // The user names it; the repository's word alone would not do.
    let mut command = home.command(&["mcp"]);
    command.env("MEMDIR_REMOTE", &address);
    let mut session = Session::open_on(command);
    let asked = listener.accept().unwrap();
    assert_ne!(processes_with(&address), Vec::<String>::new());
    let id = remember(&mut session, "Meanwhile.");
    until("it is committed", || git.subjects()[0].contains(&id));
    assert_ne!(processes_with(&address), Vec::<String>::new());
    session.close_input();
    session.wait();
    assert_eq!(processes_with(&address), Vec::<String>::new());
    drop(asked);
}

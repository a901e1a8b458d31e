//! Remotes that are folders of this machine, and what holds for all remotes.

use std::fs;
use std::path::Path;

use memdir::git::{Address, NetworkError, Pushed, RemoteBranches};

use crate::git_network::by_both;
use crate::git_network::http_server::{HttpServer, Manner};
use crate::git_network::scene::{By, FETCHED, Scene, address, path_address};
use crate::support::make_executable;

by_both! {
    a_folder_is_a_remote,
    a_commit_that_is_not_there_is_not_pushed,
    names_that_git_could_misread_are_refused,
    a_folder_that_is_no_repository_is_not_found,
    a_shallow_repository_stays_as_shallow_as_it_is,
    a_shallow_repository_and_a_web_server,
    hooks_of_this_side_do_not_run,
    the_settings_of_a_repository_run_nothing,
    a_forced_push_of_others_shows_in_a_fetch,
}

/// Look, push, fetch and a late push, against an empty remote.
pub fn round_trip(scene: &Scene, address: &Address) {
    let (one, two) = (scene.work("one"), scene.work("two"));
    let network = scene.network();
    let look = || network.look(address, None, &|| false).unwrap();

    assert_eq!(look(), RemoteBranches::default());
    assert_eq!(scene.fetch(&one, address).unwrap(), None);
    let first = scene.commit(&one, "a.md", "heron\n");
    assert_eq!(scene.push(&one, address, &first).unwrap(), Pushed::Done);
    // Again, with nothing to do.
    assert_eq!(scene.push(&one, address, &first).unwrap(), Pushed::Done);
    let seen = look();
    assert_eq!(seen.head.as_deref(), Some("main"));
    assert_eq!(seen.branches, [("main".to_owned(), first.clone())]);
    assert_eq!(network.look(address, Some(&one), &|| false).unwrap(), seen);

    assert_eq!(scene.fetch(&two, address).unwrap(), Some(first.clone()));
    assert_eq!(scene.git(&two, &["rev-parse", FETCHED]), first);
    assert_eq!(
        scene.git(&two, &["show", &format!("{first}:a.md")]),
        "heron"
    );
    let absent = network.fetch(&two, address, "absent", "refs/memdir/x", &|| false);
    assert_eq!(absent.unwrap(), None);

    // Both go on, and the second comes too late.
    let second = scene.commit(&one, "b.md", "crane\n");
    assert_eq!(scene.push(&one, address, &second).unwrap(), Pushed::Done);
    scene.git(&two, &["reset", "-q", "--hard", &first]);
    let late = scene.commit(&two, "c.md", "stork\n");
    assert_eq!(scene.push(&two, address, &late).unwrap(), Pushed::Rejected);
    assert_eq!(scene.fetch(&two, address).unwrap(), Some(second.clone()));
    // Now what is missing is known, and still nothing is forced.
    assert_eq!(scene.push(&two, address, &late).unwrap(), Pushed::Rejected);
    assert_eq!(look().branches, [("main".to_owned(), second)]);
    scene.git(&two, &["merge", "-q", FETCHED]);
    let both = scene.git(&two, &["rev-parse", "HEAD"]);
    assert_eq!(scene.push(&two, address, &both).unwrap(), Pushed::Done);
    assert_eq!(scene.fetch(&one, address).unwrap(), Some(both));
    scene.is_sound(&one);
    scene.is_sound(&two);
    for name in ["FETCH_HEAD", "refs/tags", "refs/remotes"] {
        let path = two.join(".git").join(name);
        let is_there = fs::read_dir(&path).map_or(path.is_file(), |mut all| all.next().is_some());
        assert!(!is_there, "{name}");
    }
}

fn a_folder_is_a_remote(by: By) {
    let scene = Scene::new(by);
    let remote = scene.bare("remote with blanks.git");
    round_trip(&scene, &path_address(&remote));
    scene.is_sound(&remote);
}

fn a_commit_that_is_not_there_is_not_pushed(by: By) {
    let scene = Scene::new(by);
    let remote = path_address(&scene.bare("remote.git"));
    let work = scene.work("work");
    let id = scene.commit(&work, "a.md", "heron\n");
    assert_eq!(scene.push(&work, &remote, &id).unwrap(), Pushed::Done);
    let blob = scene.git(&work, &["rev-parse", "HEAD:a.md"]);
    for from in [
        "",
        &id[..10],
        &"0".repeat(40),
        &"1".repeat(40),
        "HEAD",
        "+main",
        &blob,
    ] {
        let refused = scene.push(&work, &remote, from).unwrap_err();
        assert!(
            matches!(refused, NetworkError::Other { .. }),
            "{from}: {refused}"
        );
    }
    assert_eq!(scene.fetch(&work, &remote).unwrap(), Some(id));
}

fn names_that_git_could_misread_are_refused(by: By) {
    let scene = Scene::new(by);
    let remote = path_address(&scene.bare("remote.git"));
    let work = scene.work("work");
    let id = scene.commit(&work, "a.md", "heron\n");
    let network = scene.network();
    for branch in [
        "", "*", "a:b", "a b", "a..b", "a\n", "x.lock", "/", "a~1", "@{", "a\\b",
    ] {
        let pushed = network.push(&work, &remote, &id, branch, &|| false);
        assert!(pushed.is_err(), "{branch:?}");
        let fetched = network.fetch(&work, &remote, branch, FETCHED, &|| false);
        assert!(fetched.is_err(), "{branch:?}");
    }
    for name in [
        "",
        "main",
        "--upload-pack=x",
        "refs/heads/*",
        "HEAD",
        "refs/a:refs/b",
    ] {
        let fetched = network.fetch(&work, &remote, "main", name, &|| false);
        assert!(fetched.is_err(), "{name:?}");
    }
}

fn a_folder_that_is_no_repository_is_not_found(by: By) {
    let scene = Scene::new(by);
    let work = scene.work("work");
    for name in ["home", "absent"] {
        let refused = scene.fetch(&work, &path_address(&scene.root().join(name)));
        let refused = refused.unwrap_err();
        assert!(
            matches!(refused, NetworkError::NotFound { .. }),
            "{refused}"
        );
        assert!(refused.hint().is_some());
    }
    let remote = path_address(&scene.bare("remote.git"));
    let refused = scene.fetch(Path::new("/absent"), &remote).unwrap_err();
    assert!(matches!(refused, NetworkError::Other { .. }), "{refused}");
}

fn a_shallow_repository_stays_as_shallow_as_it_is(by: By) {
    let scene = Scene::new(by);
    let remote = scene.bare("remote.git");
    match by {
        By::Program => shallow(&scene, &remote, &path_address(&remote)),
        // It would break the repository.
        By::Library => shallow_is_left_alone(&scene, &remote),
    }
}

fn shallow_is_left_alone(scene: &Scene, remote: &Path) {
    let one = scene.work("one");
    for name in ["a.md", "b.md"] {
        let id = scene.commit(&one, name, "heron\n");
        scene.push(&one, &path_address(remote), &id).unwrap();
    }
    let url = format!("file://{}", remote.display());
    scene.git(&scene.root(), &["clone", "-q", "--depth=1", &url, "two"]);
    let two = scene.root().join("two");
    let refused = scene.fetch(&two, &path_address(remote)).unwrap_err();
    assert!(matches!(refused, NetworkError::Other { .. }), "{refused:?}");
    scene.is_sound(&two);
}

fn a_shallow_repository_and_a_web_server(by: By) {
    let scene = Scene::new(by);
    let remote = scene.bare("remote.git");
    let server = HttpServer::start(&scene, Manner::Open);
    shallow(&scene, &remote, &address(&server.url("remote.git")));
}

fn shallow(scene: &Scene, remote: &Path, address: &Address) {
    let one = scene.work("one");
    for name in ["a.md", "b.md", "c.md"] {
        let id = scene.commit(&one, name, "heron\n");
        scene.push(&one, address, &id).unwrap();
    }
    let url = format!("file://{}", remote.display());
    scene.git(&scene.root(), &["clone", "-q", "--depth=1", &url, "two"]);
    let two = scene.root().join("two");
    let id = scene.commit(&one, "d.md", "crane\n");
    scene.push(&one, address, &id).unwrap();

    let fetched = scene.fetch(&two, address).unwrap();
    assert_eq!(fetched.as_deref(), Some(id.as_str()));
    scene.is_sound(&two);
    scene.git(&two, &["merge", "-q", "--ff-only", FETCHED]);
    assert_eq!(
        scene.git(&two, &["rev-parse", "--is-shallow-repository"]),
        "true"
    );
    assert_eq!(scene.git(&two, &["rev-list", "--count", "HEAD"]), "2");
    let id = scene.commit(&two, "e.md", "stork\n");
    let pushed = scene.push(&two, address, &id).unwrap();
    assert_eq!(pushed, Pushed::Done);
    scene.is_sound(&two);
    scene.is_sound(remote);
}

fn hooks_of_this_side_do_not_run(by: By) {
    let scene = Scene::new(by);
    let remote = path_address(&scene.bare("remote.git"));
    let work = scene.work("work");
    let id = scene.commit(&work, "a.md", "heron\n");
    let hooks = work.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    let ran = scene.root().join("ran");
    for name in [
        "pre-push",
        "reference-transaction",
        "post-update",
        "pre-auto-gc",
    ] {
        let hook = hooks.join(name);
        fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
        make_executable(&hook);
    }
    scene.push(&work, &remote, &id).unwrap();
    scene.fetch(&work, &remote).unwrap();
    assert!(!ran.exists());
}

fn the_settings_of_a_repository_run_nothing(by: By) {
    let scene = Scene::new(by);
    let remote = scene.bare("remote.git");
    let work = scene.work("work");
    let id = scene.commit(&work, "a.md", "heron\n");
    let ran = scene.root().join("ran");
    let touch = format!("touch {}", ran.display());
    let folder = scene.root();
    for (name, value) in [
        ("core.fsmonitor", touch.clone()),
        ("core.askPass", touch.clone()),
        ("core.editor", touch.clone()),
        ("push.gpgSign", "true".to_owned()),
        ("gpg.program", touch.clone()),
        (
            &format!("url.ext::{touch} .insteadOf"),
            "https://x/".to_owned(),
        ),
        (
            &format!("url.ext::sh -c touch% {} .insteadOf", ran.display()),
            format!("{}/", folder.display()),
        ),
    ] {
        scene.git(&work, &["config", name, &value]);
    }
    // Rewritten to a helper program: refused, or not rewritten at all. Never run.
    let _ = scene.push(&work, &path_address(&remote), &id);
    let _ = scene.fetch(&work, &path_address(&remote));
    assert!(!ran.exists());
}

fn a_forced_push_of_others_shows_in_a_fetch(by: By) {
    let scene = Scene::new(by);
    let remote = scene.bare("remote.git");
    let work = scene.work("work");
    let first = scene.commit(&work, "a.md", "heron\n");
    scene.push(&work, &path_address(&remote), &first).unwrap();
    scene.fetch(&work, &path_address(&remote)).unwrap();
    let other = scene.work("other");
    let forced = scene.commit(&other, "b.md", "crane\n");
    let url = remote.to_str().unwrap();
    scene.git(
        &other,
        &["push", "-q", "--force", url, "HEAD:refs/heads/main"],
    );
    let fetched = scene.fetch(&work, &path_address(&remote)).unwrap();
    assert_eq!(fetched, Some(forced.clone()));
    assert_eq!(scene.git(&work, &["rev-parse", FETCHED]), forced);
}

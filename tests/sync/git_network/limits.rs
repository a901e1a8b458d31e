//! Remotes that do not answer, break off or send too much; and callers that do not want to wait.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use memdir::git::NetworkError;

use crate::git_network::by_both;
use crate::git_network::http::noise_of;
use crate::git_network::http_server::{HttpServer, Manner};
use crate::git_network::scene::{By, FETCHED, Scene, address};

by_both! {
    a_server_that_stays_silent_is_given_up,
    a_caller_can_stop_while_it_hangs,
    a_token_is_in_no_argument_vector,
    a_refused_connection_is_offline,
    an_unknown_host_is_offline,
    a_pack_that_breaks_off_harms_nothing,
    a_pack_that_is_too_large_is_not_taken,
}

fn a_server_that_stays_silent_is_given_up(by: By) {
    let scene = Scene::new(by).patient_for(Duration::from_millis(500));
    let work = scene.work("work");
    let id = scene.commit(&work, "a.md", "heron\n");
    let server = HttpServer::start(&scene, Manner::Silent);
    let remote = address(&server.url("remote.git"));
    for refused in [
        scene.fetch(&work, &remote).unwrap_err(),
        scene.push(&work, &remote, &id).unwrap_err(),
        scene.network().look(&remote, None, &|| false).unwrap_err(),
    ] {
        assert!(
            matches!(refused, NetworkError::Offline { .. }),
            "{refused:?}"
        );
    }
    nothing_runs(&server.host());
}

fn a_caller_can_stop_while_it_hangs(by: By) {
    let scene = Scene::new(by);
    let work = scene.work("work");
    let server = HttpServer::start(&scene, Manner::Silent);
    let remote = address(&server.url("remote.git"));
    let stop = AtomicBool::new(false);
    let network = scene.network();
    let stop_if = || stop.load(Ordering::SeqCst);
    thread::scope(|scope| {
        let fetching = scope.spawn(|| {
            let fetched = network.fetch(&work, &remote, "main", FETCHED, &stop_if);
            (fetched, Instant::now())
        });
        server.wait();
        let begun = Instant::now();
        stop.store(true, Ordering::SeqCst);
        let (fetched, ended) = fetching.join().unwrap();
        assert_eq!(fetched, Err(NetworkError::Stopped));
        assert!(
            ended - begun < Duration::from_secs(1),
            "{:?}",
            ended - begun
        );
    });
    nothing_runs(&server.host());
}

fn a_token_is_in_no_argument_vector(by: By) {
    let scene = Scene::new(by).with("MEMDIR_GIT_TOKEN", "arg-SECRET");
    let work = scene.work("work");
    let server = HttpServer::start(&scene, Manner::Silent);
    let remote = address(&server.url("remote.git"));
    let stop = AtomicBool::new(false);
    let network = scene.network();
    let stop_if = || stop.load(Ordering::SeqCst);
    thread::scope(|scope| {
        let fetching = scope.spawn(|| {
            network
                .fetch(&work, &remote, "main", FETCHED, &stop_if)
                .is_err()
        });
        server.wait();
        let all = command_lines();
        stop.store(true, Ordering::SeqCst);
        assert!(fetching.join().unwrap());
        assert_eq!(
            all.iter().any(|line| line.contains(&server.host())),
            by == By::Program
        );
        assert!(!all.iter().any(|line| line.contains("arg-SECRET")));
    });
}

fn a_refused_connection_is_offline(by: By) {
    let scene = Scene::new(by);
    let work = scene.work("work");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    drop(listener);
    for text in [format!("http://{place}/x"), format!("ssh://{place}/x")] {
        let refused = scene.fetch(&work, &address(&text)).unwrap_err();
        assert!(
            matches!(refused, NetworkError::Offline { .. }),
            "{refused:?}"
        );
        assert!(refused.to_string().contains(&text), "{refused}");
    }
}

fn an_unknown_host_is_offline(by: By) {
    let scene = Scene::new(by);
    let work = scene.work("work");
    for text in ["https://memdir-test.invalid/x", "git@memdir-test.invalid:x"] {
        let refused = scene.fetch(&work, &address(text)).unwrap_err();
        assert!(
            matches!(refused, NetworkError::Offline { .. }),
            "{refused:?}"
        );
    }
}

fn a_pack_that_breaks_off_harms_nothing(by: By) {
    let scene = Scene::new(by);
    let (server, work) = noisy(&scene, 20);
    let remote = address(&server.url("remote.git"));
    let two = scene.work("two");
    server.becomes(Manner::Cut(300_000));
    let refused = scene.fetch(&two, &remote).unwrap_err();
    assert!(
        matches!(refused, NetworkError::Offline { .. }),
        "{refused:?}"
    );
    scene.is_sound(&two);
    assert_eq!(scene.git(&two, &["for-each-ref"]), "");
    assert_eq!(leftovers(&two), Vec::<PathBuf>::new());
    server.becomes(Manner::Open);
    let id = scene.git(&work, &["rev-parse", "HEAD"]);
    assert_eq!(scene.fetch(&two, &remote).unwrap(), Some(id));
    scene.is_sound(&two);
}

fn a_pack_that_is_too_large_is_not_taken(by: By) {
    // One that git keeps as it is, and one that it takes apart.
    for (commits, largest) in [(40, 500_000), (20, 40_000)] {
        let scene = Scene::new(by).at_most(largest);
        let (server, _) = noisy(&scene, commits);
        let remote = address(&server.url("remote.git"));
        let two = scene.work("two");
        let refused = scene.fetch(&two, &remote).unwrap_err();
        assert!(
            matches!(refused, NetworkError::TooLarge { .. }),
            "{refused:?}"
        );
        scene.is_sound(&two);
        assert_eq!(scene.git(&two, &["for-each-ref"]), "");
        assert_eq!(leftovers(&two), Vec::<PathBuf>::new());
    }
}

/// A server with so many commits of noise, and the repository they were made in.
fn noisy(scene: &Scene, commits: u64) -> (HttpServer, PathBuf) {
    let remote = scene.bare("remote.git");
    let work = scene.work("work");
    for number in 0..commits {
        scene.commit(&work, &format!("{number}.md"), &noise_of(number));
    }
    scene.git(
        &work,
        &[
            "push",
            "-q",
            remote.to_str().unwrap(),
            "HEAD:refs/heads/main",
        ],
    );
    (HttpServer::start(scene, Manner::Open), work)
}

/// Temporary files that an interrupted fetch left.
fn leftovers(work: &std::path::Path) -> Vec<PathBuf> {
    let packs = fs::read_dir(work.join(".git/objects/pack")).unwrap();
    let paths = packs.map(|entry| entry.unwrap().path());
    paths
        .filter(
            |path| !matches!(path.extension(), Some(e) if e == "pack" || e == "idx" || e == "rev"),
        )
        .collect()
}

/// The argument vectors of all processes.
fn command_lines() -> Vec<String> {
    let Ok(processes) = fs::read_dir("/proc") else {
        let listed = Command::new("ps").args(["-A", "-o", "args"]).output();
        let text = String::from_utf8_lossy(&listed.unwrap().stdout).into_owned();
        return text.lines().map(str::to_owned).collect();
    };
    processes
        .filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .collect()
}

/// Waits until no process has a text in its arguments; those that were killed may need a moment.
#[track_caller]
fn nothing_runs(text: &str) {
    let begun = Instant::now();
    while command_lines().iter().any(|line| line.contains(text)) {
        assert!(begun.elapsed() < Duration::from_secs(5), "{text}");
        thread::yield_now();
    }
}

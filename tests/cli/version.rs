//! The version, and the look for a newer one.

use serde_json::{Value, json};

use crate::support::fake_host::{Reply, Server};
use crate::support::program::Home;

const OWN: &str = env!("CARGO_PKG_VERSION");

/// A host whose repository has a release of this tag.
fn host(tag: &'static str) -> Server {
    Server::start(move |request| match request.path.as_str() {
        "/mira/memdir/releases/latest" => {
            Reply::redirect(format!("/mira/memdir/releases/tag/{tag}"))
        }
        "/mira/none/releases/latest" => Reply::redirect("/mira/none/releases"),
        _ => Reply::new(404, ""),
    })
}

#[test]
fn a_newer_release_is_named_with_its_page_and_not_visited() {
    let home = Home::new();
    let host = host("v99.1.0");
    let repository = host.url("/mira/memdir");
    let page = host.url("/mira/memdir/releases/tag/v99.1.0");
    let ran = home.run(&["version", "--check", "--releases", &repository]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(ran.lines()[1], format!("99.1.0 is newer: {page}"));
    let ran = home.run(&["version", "--check", "--releases", &repository, "--json"]);
    let said = ran.json();
    assert_eq!(said["version"], OWN);
    assert_eq!(said["newest"], "99.1.0");
    assert_eq!(said["is_newest"], false);
    assert_eq!(said["address"], Value::String(page));
    let paths: Vec<String> = host.asked().into_iter().map(|asked| asked.path).collect();
    assert_eq!(paths, ["/mira/memdir/releases/latest"; 2]);
}

#[test]
fn the_newest_one_and_one_before_its_release_are_told() {
    let home = Home::new();
    for (tag, said) in [
        (
            concat!("v", env!("CARGO_PKG_VERSION")),
            "it is the newest".to_owned(),
        ),
        ("0.0.9", "the newest release is 0.0.9".to_owned()),
    ] {
        let host = host(tag);
        let repository = host.url("/mira/memdir");
        let ran = home.run(&["version", "--check", "--releases", &repository]);
        assert_eq!((ran.code, &ran.lines()[1]), (0, &said), "{ran:?}");
    }
}

#[test]
fn without_check_nobody_is_asked_and_without_an_address_that_is_said() {
    let home = Home::new();
    // Settings that cannot be read do not matter.
    home.write("config/memdir/config.toml", "store = [");
    let said = home.run(&["version", "--json"]).json();
    assert_eq!(said["version"], OWN);
    assert_eq!(
        (&said["newest"], &said["is_newest"]),
        (&json!(null), &json!(null))
    );
    let host = host("latest");
    let elsewhere = host.url("/mira/other");
    home.run(&["version", "--check", "--releases", &elsewhere])
        .complains(2, &["answers 404"]);
    for repository in ["/mira/memdir", "/mira/none"] {
        let address = host.url(repository);
        home.run(&["version", "--check", "--releases", &address])
            .complains(2, &["names no release", &address]);
    }
    let gone = {
        let host = self::host("latest");
        host.url("/mira/memdir")
    };
    home.run(&["version", "--check", "--releases", &gone])
        .complains(2, &["cannot fetch", "hint: Try again later. A proxy"]);
    home.run(&["version", "--check", "--releases", "file:///etc"])
        .complains(2, &["is no address to fetch from"]);
}

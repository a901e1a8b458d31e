//! Remotes behind a web server, and what becomes of passwords.

use std::path::PathBuf;

use memdir::git::{Address, NetworkError, Pushed};

use crate::git_network::by_both;
use crate::git_network::http_server::{HttpServer, Manner, basic};
use crate::git_network::local::round_trip;
use crate::git_network::scene::{By, Scene, address};
use crate::support::make_executable;

by_both! {
    a_web_server_is_a_remote,
    a_web_server_gets_the_token_it_asks_for,
    a_wrong_password_is_refused_without_a_question,
    without_a_password_it_is_refused_at_once,
    another_server_gets_no_token,
    a_redirect_on_the_same_server_is_followed,
    a_repository_that_is_not_there_is_not_found,
    what_a_server_says_of_itself_is_understood,
    a_pack_of_many_commits_arrives,
    a_hook_of_the_server_is_no_late_push,
}

const TOKEN: &str = "t0ken-SECRET";

fn protected() -> Manner {
    Manner::Password(basic("x-access-token", TOKEN))
}

/// A server with one commit, a repository that has it, and its address.
fn served(scene: &Scene) -> (HttpServer, Address, PathBuf) {
    scene.bare("remote.git");
    let work = scene.work("work");
    let id = scene.commit(&work, "a.md", "heron\n");
    scene.git(
        &work,
        &[
            "push",
            "-q",
            "../remote.git",
            &format!("{id}:refs/heads/main"),
        ],
    );
    let server = HttpServer::start(scene, Manner::Open);
    let address = address(&server.url("remote.git"));
    (server, address, work)
}

#[track_caller]
fn is_denied(error: &NetworkError) {
    assert!(matches!(error, NetworkError::Denied { .. }), "{error:?}");
    assert!(!format!("{error} {error:?} {:?}", error.hint()).contains("SECRET"));
}

fn a_web_server_is_a_remote(by: By) {
    let scene = Scene::new(by);
    let remote = scene.bare("remote.git");
    let server = HttpServer::start(&scene, Manner::Open);
    round_trip(&scene, &address(&server.url("remote.git")));
    scene.is_sound(&remote);
}

fn a_web_server_gets_the_token_it_asks_for(by: By) {
    let scene = Scene::new(by).with("MEMDIR_GIT_TOKEN", TOKEN);
    scene.bare("remote.git");
    // A helper that would keep it.
    scene.write(
        "home/.gitconfig",
        "[user]\nname=A\nemail=a@b\n[credential]\nhelper=store\n",
    );
    let server = HttpServer::start(&scene, protected());
    round_trip(&scene, &address(&server.url("remote.git")));
    assert!(!scene.root().join("home/.git-credentials").exists());
}

fn a_wrong_password_is_refused_without_a_question(by: By) {
    let scene = Scene::new(by).with("MEMDIR_GIT_TOKEN", "wrong-SECRET");
    let (server, address, work) = served(&scene);
    server.becomes(protected());
    is_denied(&scene.fetch(&work, &address).unwrap_err());
    let id = scene.git(&work, &["rev-parse", "HEAD"]);
    is_denied(&scene.push(&work, &address, &id).unwrap_err());
    is_denied(&scene.network().look(&address, None, &|| false).unwrap_err());
    let used = server
        .asked()
        .iter()
        .any(|asked| asked.authorization.is_some());
    assert!(used);
}

fn without_a_password_it_is_refused_at_once(by: By) {
    let scene = Scene::new(by);
    let (server, address, work) = served(&scene);
    server.becomes(protected());
    is_denied(&scene.fetch(&work, &address).unwrap_err());
    assert!(
        server
            .asked()
            .iter()
            .all(|asked| asked.authorization.is_none())
    );
}

fn another_server_gets_no_token(by: By) {
    let scene = Scene::new(by).with("MEMDIR_GIT_TOKEN", TOKEN);
    let (server, address, work) = served(&scene);
    let other = HttpServer::start(&scene, Manner::Password("never".to_owned()));
    server.becomes(Manner::Redirect(format!("http://{}", other.host())));
    let refused = scene.fetch(&work, &address).unwrap_err();
    assert!(!matches!(refused, NetworkError::Stopped), "{refused}");
    assert!(!format!("{refused:?}").contains("SECRET"));
    for server in [&server, &other] {
        let asked = server.asked();
        assert!(
            asked.iter().all(|asked| asked.authorization.is_none()),
            "{asked:?}"
        );
    }
}

fn a_redirect_on_the_same_server_is_followed(by: By) {
    let scene = Scene::new(by).with("MEMDIR_GIT_TOKEN", TOKEN);
    let (server, _, work) = served(&scene);
    server.becomes(Manner::Renamed {
        from: "/old.git".to_owned(),
        to: "/remote.git".to_owned(),
        password: basic("x-access-token", TOKEN),
    });
    let old = address(&server.url("old.git"));
    let id = scene.git(&work, &["rev-parse", "HEAD"]);
    assert_eq!(scene.fetch(&work, &old).unwrap(), Some(id));
    let id = scene.commit(&work, "b.md", "crane\n");
    assert_eq!(scene.push(&work, &old, &id).unwrap(), Pushed::Done);
}

fn a_repository_that_is_not_there_is_not_found(by: By) {
    let scene = Scene::new(by);
    let (server, _, work) = served(&scene);
    let absent = address(&server.url("absent.git"));
    let refused = scene.fetch(&work, &absent).unwrap_err();
    assert!(
        matches!(refused, NetworkError::NotFound { .. }),
        "{refused:?}"
    );
}

fn what_a_server_says_of_itself_is_understood(by: By) {
    let scene = Scene::new(by);
    let (server, address, work) = served(&scene);
    server.becomes(Manner::Status(403));
    is_denied(&scene.fetch(&work, &address).unwrap_err());
    for code in [500, 503, 429] {
        server.becomes(Manner::Status(code));
        let refused = scene.fetch(&work, &address).unwrap_err();
        assert!(
            matches!(refused, NetworkError::Offline { .. }),
            "{refused:?}"
        );
    }
    // A page of a hotel's network.
    server.becomes(Manner::Status(200));
    let refused = scene.fetch(&work, &address).unwrap_err();
    assert!(!matches!(refused, NetworkError::Stopped), "{refused:?}");
}

fn a_pack_of_many_commits_arrives(by: By) {
    let scene = Scene::new(by);
    let (_server, address, work) = served(&scene);
    let mut id = String::new();
    for number in 0..40 {
        id = scene.commit(&work, &format!("{number}.md"), &noise_of(number));
    }
    assert_eq!(scene.push(&work, &address, &id).unwrap(), Pushed::Done);
    let other = scene.work("other");
    assert_eq!(scene.fetch(&other, &address).unwrap(), Some(id));
    scene.is_sound(&other);
}

fn a_hook_of_the_server_is_no_late_push(by: By) {
    let scene = Scene::new(by);
    let (_server, address, work) = served(&scene);
    let hook = scene.write(
        "remote.git/hooks/pre-receive",
        "#!/bin/sh\necho 'no herons here' >&2\nexit 1\n",
    );
    make_executable(&hook);
    let id = scene.commit(&work, "b.md", "heron\n");
    let refused = scene.push(&work, &address, &id).unwrap_err();
    assert!(matches!(refused, NetworkError::Other { .. }), "{refused:?}");
    assert!(refused.to_string().contains("hook"), "{refused}");
}

/// 64 KiB that do not compress, always the same for the same number.
pub fn noise_of(number: u64) -> String {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::new();
    while text.len() < 1 << 16 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text += &format!("{state:016x}\n");
    }
    text
}

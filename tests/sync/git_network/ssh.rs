//! Remotes behind an ssh server.

use memdir::git::NetworkError;

use crate::git_network::by_both;
use crate::git_network::local::round_trip;
use crate::git_network::scene::{By, Scene, address};
use crate::git_network::ssh_server::SshServer;

by_both! {
    an_ssh_server_is_a_remote,
    a_host_that_is_not_known_is_not_trusted,
    a_host_with_another_key_is_not_trusted,
    a_key_that_is_not_accepted_is_denied,
    a_path_is_not_read_by_a_shell,
}

fn an_ssh_server_is_a_remote(by: By) {
    let scene = Scene::new(by);
    let Some(server) = SshServer::start(&scene) else {
        return;
    };
    server.is_known();
    let remote = scene.bare("remote.git");
    let scene = scene.with("GIT_SSH_COMMAND", server.ssh_command());
    round_trip(&scene, &address(&server.url(&remote)));
    scene.is_sound(&remote);
    let absent = address(&server.url(&scene.root().join("absent.git")));
    let refused = scene.fetch(&scene.root().join("one"), &absent).unwrap_err();
    assert!(
        matches!(refused, NetworkError::NotFound { .. }),
        "{refused:?}"
    );
}

fn a_host_that_is_not_known_is_not_trusted(by: By) {
    let scene = Scene::new(by);
    let Some(server) = SshServer::start(&scene) else {
        return;
    };
    let remote = scene.bare("remote.git");
    let work = scene.work("work");
    let scene = scene.with("GIT_SSH_COMMAND", server.ssh_command());
    let refused = scene
        .fetch(&work, &address(&server.url(&remote)))
        .unwrap_err();
    assert!(
        matches!(refused, NetworkError::HostKey { .. }),
        "{refused:?}"
    );
    // ssh would ask: whoever set it so gets no answer, and no question either.
    let asking = server.ssh_command().replace("=yes", "=no");
    let asking = asking.replace("StrictHostKeyChecking=no", "StrictHostKeyChecking=ask");
    let scene = scene.with("GIT_SSH_COMMAND", asking);
    let refused = scene
        .fetch(&work, &address(&server.url(&remote)))
        .unwrap_err();
    assert!(
        matches!(refused, NetworkError::HostKey { .. }),
        "{refused:?}"
    );
}

fn a_host_with_another_key_is_not_trusted(by: By) {
    let scene = Scene::new(by);
    let Some(server) = SshServer::start(&scene) else {
        return;
    };
    server.is_known();
    let known = std::fs::read_to_string(scene.root().join("ssh/known_hosts")).unwrap();
    let user = std::fs::read_to_string(scene.root().join("ssh/user.pub")).unwrap();
    let place = known.split(' ').next().unwrap();
    scene.write("ssh/known_hosts", &format!("{place} {user}"));
    let remote = scene.bare("remote.git");
    let work = scene.work("work");
    let scene = scene.with("GIT_SSH_COMMAND", server.ssh_command());
    let refused = scene
        .fetch(&work, &address(&server.url(&remote)))
        .unwrap_err();
    assert!(
        matches!(refused, NetworkError::HostKey { .. }),
        "{refused:?}"
    );
}

fn a_key_that_is_not_accepted_is_denied(by: By) {
    let scene = Scene::new(by);
    let Some(server) = SshServer::start(&scene) else {
        return;
    };
    server.is_known();
    server.forgets_users();
    let remote = scene.bare("remote.git");
    let work = scene.work("work");
    let scene = scene.with("GIT_SSH_COMMAND", server.ssh_command());
    let refused = scene
        .fetch(&work, &address(&server.url(&remote)))
        .unwrap_err();
    assert!(
        matches!(refused, NetworkError::Denied { .. }),
        "{refused:?}"
    );
    assert!(refused.hint().is_some());
}

fn a_path_is_not_read_by_a_shell(by: By) {
    let scene = Scene::new(by);
    let Some(server) = SshServer::start(&scene) else {
        return;
    };
    server.is_known();
    let remote = scene.bare("re ma*in?;!(x)&.git");
    let work = scene.work("work");
    let id = scene.commit(&work, "a.md", "heron\n");
    let scene = scene.with("GIT_SSH_COMMAND", server.ssh_command());
    // What an address cannot hold as it is, it can hold encoded.
    let url = server.url(&remote);
    let coded = url
        .replace(' ', "%20")
        .replace('*', "%2a")
        .replace('?', "%3F")
        .replace(';', "%3b")
        .replace('!', "%21")
        .replace('(', "%28")
        .replace(')', "%29")
        .replace('&', "%26");
    scene.push(&work, &address(&coded), &id).unwrap();
    assert_eq!(scene.git(&remote, &["rev-parse", "main"]), id);
}

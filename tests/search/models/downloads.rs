//! Files come whole or not at all, whatever the server does.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use memdir::embed::catalog;
use memdir::embed::catalog::{Model, ModelFile, ModelKind, State};
use memdir::fetch::{
    DownloadRequest, FetchClient, FetchError, Progress, RequestLimits, Url, sha256_of,
};
use tempfile::TempDir;

use crate::support::fake_host::{Reply, Request, Server};
use crate::support::program::names;

/// A folder to download into, and what is to come.
struct Scene {
    folder: TempDir,
    bytes: Vec<u8>,
    sha256: String,
}

impl Scene {
    fn new() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..300_000_u32)
            .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
            .collect();
        let sha256 = sum_of(&bytes);
        Scene {
            folder,
            bytes,
            sha256,
        }
    }

    fn to(&self) -> PathBuf {
        self.folder.path().join("model.onnx")
    }

    fn part(&self) -> PathBuf {
        self.folder.path().join("model.onnx.part")
    }

    /// Downloads from `server` with the size known, and returns how far it was after each step.
    fn download(&self, server: &Server) -> Result<Vec<Progress>, FetchError> {
        self.download_as(server, Some(self.bytes.len() as u64))
    }

    fn download_as(&self, server: &Server, size: Option<u64>) -> Result<Vec<Progress>, FetchError> {
        let wanted = DownloadRequest {
            address: Url::parse(&server.url("/model.onnx")).unwrap(),
            sha256: &self.sha256,
            size,
        };
        let mut steps = Vec::new();
        let client = FetchClient::new(&HashMap::new(), limits());
        client.download(&wanted, &self.to(), &mut |step| steps.push(step))?;
        Ok(steps)
    }

    /// Fails unless the file is there, and nothing else.
    #[track_caller]
    fn is_done(&self) {
        assert!(fs::read(self.to()).unwrap() == self.bytes);
        assert_eq!(names(self.folder.path()), ["model.onnx"]);
    }

    /// Fails unless the download failed with all of `parts` in its reason, and left no file.
    #[track_caller]
    fn fails(&self, server: &Server, parts: &[&str]) {
        let error = self.download(server).unwrap_err();
        let said = format!(
            "{}. {}",
            error.in_one_line(),
            error.hint().unwrap_or_default()
        );
        for part in parts {
            assert!(said.contains(part), "{part} is not in: {said}");
        }
        assert!(!self.to().exists());
    }
}

/// Short waits, since nothing here is far away; those that end a test by themselves are longer.
fn limits() -> RequestLimits {
    RequestLimits {
        silence: Duration::from_millis(300),
        tries: 3,
        pause: Duration::from_millis(1),
        longest_wait: Duration::from_secs(5),
        ..RequestLimits::default()
    }
}

fn sum_of(bytes: &[u8]) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    sha256_of(file.path()).unwrap().unwrap()
}

/// A server of the scene's file.
fn serve(
    scene: &Scene,
    change: impl Fn(&Request, Reply) -> Reply + Send + Sync + 'static,
) -> Server {
    let bytes = scene.bytes.clone();
    Server::start(move |request| change(request, Reply::file(request, &bytes)))
}

fn starts(server: &Server) -> Vec<Option<usize>> {
    server.asked().iter().map(Request::start).collect()
}

#[test]
fn a_file_comes_whole_with_its_progress() {
    let scene = Scene::new();
    let server = serve(&scene, |_, reply| reply);
    let steps = scene.download(&server).unwrap();
    scene.is_done();
    let whole = scene.bytes.len() as u64;
    let ends = [steps[0], *steps.last().unwrap()].map(|step| (step.done, step.total));
    assert_eq!(ends, [(0, Some(whole)), (whole, Some(whole))]);
    assert!(steps.is_sorted_by_key(|step| step.done));
}

#[test]
fn a_file_that_is_there_is_not_asked_for() {
    let scene = Scene::new();
    fs::write(scene.to(), &scene.bytes).unwrap();
    let server = serve(&scene, |_, reply| reply);
    scene.download(&server).unwrap();
    scene.is_done();
    assert!(server.asked().is_empty());
}

#[test]
fn a_damaged_file_is_replaced() {
    let scene = Scene::new();
    fs::write(scene.to(), &scene.bytes[1..]).unwrap();
    scene.download(&serve(&scene, |_, reply| reply)).unwrap();
    scene.is_done();
}

#[test]
fn a_cut_connection_goes_on_where_it_broke() {
    let scene = Scene::new();
    let server = serve(&scene, |request, reply| match request.nth {
        0 => reply.cut(100_000),
        1 => reply.cut(200_000),
        _ => reply,
    });
    scene.download(&server).unwrap();
    scene.is_done();
    assert_eq!(starts(&server), [None, Some(100_000), Some(300_000)]);
    assert_eq!(server.asked()[2].headers["if-range"], "\"v1\"");
}

#[test]
fn a_later_download_goes_on_where_the_first_gave_up() {
    let scene = Scene::new();
    let server = serve(&scene, |_, reply| reply.cut(1_000));
    scene.fails(&server, &["it broke off after 3000 bytes", "Try again"]);
    assert_eq!(fs::metadata(scene.part()).unwrap().len(), 3_000);
    let server = serve(&scene, |_, reply| reply);
    scene.download(&server).unwrap();
    scene.is_done();
    assert_eq!(starts(&server), [Some(3_000)]);
}

#[test]
fn a_part_that_is_all_needs_no_request() {
    let scene = Scene::new();
    fs::write(scene.part(), &scene.bytes).unwrap();
    let server = serve(&scene, |_, reply| reply);
    scene.download(&server).unwrap();
    scene.is_done();
    assert!(server.asked().is_empty());
}

#[test]
fn a_part_that_is_too_long_is_begun_anew() {
    let scene = Scene::new();
    fs::write(scene.part(), [&scene.bytes[..], b"x"].concat()).unwrap();
    let server = serve(&scene, |_, reply| reply);
    scene.download(&server).unwrap();
    scene.is_done();
    assert_eq!(starts(&server), [None]);
}

#[test]
fn a_server_without_ranges_starts_anew() {
    let scene = Scene::new();
    let bytes = scene.bytes.clone();
    let server = Server::start(move |request| match request.nth {
        0 => Reply::new(200, bytes.clone()).cut(100_000),
        _ => Reply::new(200, bytes.clone()),
    });
    scene.download(&server).unwrap();
    scene.is_done();
    assert_eq!(starts(&server), [None, Some(100_000)]);
}

#[test]
fn a_file_that_changed_on_the_way_starts_anew() {
    let scene = Scene::new();
    let bytes = scene.bytes.clone();
    // The second version has another tag, so the rest of it is not asked for.
    let server = Server::start(move |request| match request.nth {
        0 => Reply::new(200, vec![7; bytes.len()])
            .with("ETag", "\"v0\"")
            .cut(50_000),
        _ => Reply::file(request, &bytes),
    });
    scene.download(&server).unwrap();
    scene.is_done();
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn a_part_of_something_else_costs_one_more_download() {
    let scene = Scene::new();
    fs::write(scene.part(), vec![7; 50_000]).unwrap();
    let server = serve(&scene, |_, reply| reply);
    scene.download(&server).unwrap();
    scene.is_done();
    assert_eq!(starts(&server), [Some(50_000), None]);
}

#[test]
fn another_part_than_was_asked_for_is_not_taken() {
    let scene = Scene::new();
    fs::write(scene.part(), &scene.bytes[..50_000]).unwrap();
    let bytes = scene.bytes.clone();
    let server = Server::start(move |request| match request.nth {
        0 => Reply::new(206, &bytes[10..]).with("Content-Range", "bytes 10-1199999/1200000"),
        _ => Reply::file(request, &bytes),
    });
    scene.download(&server).unwrap();
    scene.is_done();
    assert_eq!(starts(&server), [Some(50_000), None]);
}

#[test]
fn wrong_bytes_are_not_kept() {
    let scene = Scene::new();
    let mut bytes = scene.bytes.clone();
    bytes[700_000] ^= 1;
    let found = sum_of(&bytes);
    let server = Server::start(move |request| Reply::file(request, &bytes));
    scene.fails(&server, &[&scene.sha256, &found, "not kept"]);
    assert!(names(scene.folder.path()).is_empty());
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn a_file_of_another_size_is_refused_before_it_comes() {
    let scene = Scene::new();
    let server = Server::start(|_| Reply::new(200, "<html>Please log in</html>"));
    scene.fails(&server, &["26 bytes, not 1200000"]);
    assert!(names(scene.folder.path()).is_empty());
}

#[test]
fn a_body_without_end_is_left() {
    let scene = Scene::new();
    let server = Server::start(|_| Reply::new(200, vec![0; 10_000]).endless());
    scene.fails(&server, &["more than 1200000 bytes"]);
    assert!(names(scene.folder.path()).is_empty());
}

#[test]
fn a_file_in_chunks_of_unknown_size_comes_whole() {
    let scene = Scene::new();
    let server = serve(&scene, |_, reply| reply.chunked());
    let steps = scene.download_as(&server, None).unwrap();
    scene.is_done();
    assert_eq!(steps.last().unwrap().total, None);
}

#[test]
fn all_of_a_file_of_unknown_size_is_noticed() {
    let scene = Scene::new();
    fs::write(scene.part(), &scene.bytes).unwrap();
    let server = serve(&scene, |_, reply| reply);
    scene.download_as(&server, None).unwrap();
    scene.is_done();
    assert_eq!(starts(&server), [Some(1_200_000)]);
}

#[test]
fn a_file_that_is_shorter_there_than_its_part_is_wrong() {
    let scene = Scene::new();
    fs::write(scene.part(), &scene.bytes[..50_000]).unwrap();
    let server = Server::start(|request| Reply::file(request, b"short"));
    scene.fails(&server, &["5 bytes, not 1200000"]);
    assert_eq!(starts(&server), [Some(50_000), None]);
}

#[test]
fn what_a_server_refuses_is_told() {
    let scene = Scene::new();
    for (status, hint) in [
        (404, "Look at the address"),
        (403, "key or permission"),
        (401, "key"),
    ] {
        let server = Server::start(move |_| Reply::new(status, "no"));
        scene.fails(
            &server,
            &[&format!("answers {status}"), "/model.onnx", hint],
        );
        assert_eq!(server.asked().len(), 1, "it is asked once");
    }
    assert!(names(scene.folder.path()).is_empty());
}

#[test]
fn a_busy_server_is_asked_again_when_it_wants() {
    let scene = Scene::new();
    let server = serve(&scene, |request, reply| match request.nth {
        0 => Reply::new(429, "").with("Retry-After", "0"),
        1 => Reply::new(503, "").with("Retry-After", "1"),
        _ => reply,
    });
    scene.download(&server).unwrap();
    scene.is_done();
}

#[test]
fn a_server_that_stays_busy_is_left_in_peace() {
    let scene = Scene::new();
    let server = Server::start(|_| Reply::new(503, ""));
    scene.fails(&server, &["answers 503", "Try again later"]);
    assert_eq!(server.asked().len(), 3);
    let server = Server::start(|_| Reply::new(429, "").with("Retry-After", "86400"));
    scene.fails(&server, &["answers 429", "Wait"]);
    assert_eq!(server.asked().len(), 1, "nobody waits for a day");
}

#[test]
fn a_server_that_falls_silent_is_asked_again() {
    let scene = Scene::new();
    let server = serve(&scene, |request, reply| match request.nth {
        0 => reply.silent(100_000),
        _ => reply,
    });
    scene.download(&server).unwrap();
    scene.is_done();
    assert_eq!(starts(&server), [None, Some(100_000)]);
}

#[test]
fn a_host_that_nobody_serves_is_told() {
    let scene = Scene::new();
    let server = serve(&scene, |_, reply| reply);
    let address = Url::parse(&server.url("/model.onnx?signature=secret")).unwrap();
    drop(server);
    let client = FetchClient::new(&HashMap::new(), limits());
    let wanted = DownloadRequest {
        address,
        sha256: &scene.sha256,
        size: None,
    };
    let error = client
        .download(&wanted, &scene.to(), &mut |_| {})
        .unwrap_err();
    let said = error.in_one_line();
    assert!(said.starts_with("cannot fetch http://127.0.0.1:"), "{said}");
    assert!(!said.contains("secret"), "{said}");
}

#[test]
fn a_redirect_leads_to_the_file() {
    let scene = Scene::new();
    let elsewhere = serve(&scene, |_, reply| reply);
    let to = elsewhere.url("/deep/file");
    let server = Server::start(move |request| match request.path.as_str() {
        "/model.onnx" => Reply::redirect("/resolve/model.onnx?x=1"),
        _ => Reply::redirect(to.clone()),
    });
    scene.download(&server).unwrap();
    scene.is_done();
    assert_eq!(elsewhere.asked()[0].path, "/deep/file");
}

#[test]
fn redirects_in_a_circle_and_into_the_open_are_refused() {
    let scene = Scene::new();
    let server = Server::start(|_| Reply::redirect("/model.onnx"));
    scene.fails(&server, &["from one address to the next"]);
    let server = Server::start(|_| Reply::redirect("http://hub.example/model.onnx"));
    scene.fails(&server, &["hub.example without encryption"]);
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn a_proxy_is_asked_for_what_is_far_away() {
    let scene = Scene::new();
    let proxy = serve(&scene, |_, reply| reply);
    let variables = [("HTTP_PROXY".to_owned(), proxy.url("/"))];
    let client = FetchClient::new(&variables.into(), limits());
    let wanted = DownloadRequest {
        address: Url::parse("http://hub.example/model.onnx").unwrap(),
        sha256: &scene.sha256,
        size: None,
    };
    client.download(&wanted, &scene.to(), &mut |_| {}).unwrap();
    scene.is_done();
    let asked = proxy.asked();
    assert_eq!(
        (asked[0].method.as_str(), asked[0].path.as_str()),
        ("CONNECT", "hub.example:80")
    );
    assert_eq!(asked[1].path, "/model.onnx");
}

#[test]
fn two_downloads_at_once_are_one() {
    let scene = Scene::new();
    let (begun, wait) = mpsc::channel();
    let (go, gone) = mpsc::channel::<()>();
    let gone = std::sync::Mutex::new(gone);
    let bytes = scene.bytes.clone();
    let server = Server::start(move |request| {
        begun.send(()).unwrap();
        // The first one has its part open now, and the second one comes.
        gone.lock().unwrap().recv().unwrap();
        Reply::file(request, &bytes)
    });
    std::thread::scope(|scope| {
        let first = scope.spawn(|| scene.download(&server));
        wait.recv().unwrap();
        let second = scope.spawn(|| scene.download(&server));
        go.send(()).unwrap();
        first.join().unwrap().unwrap();
        // Were it asked a second time, it would wait for this.
        drop(go);
        second.join().unwrap().unwrap();
    });
    scene.is_done();
    assert_eq!(server.asked().len(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_part_that_is_no_file_is_not_written() {
    let scene = Scene::new();
    std::os::unix::fs::symlink("/dev/full", scene.part()).unwrap();
    let server = serve(&scene, |_, reply| reply);
    scene.fails(
        &server,
        &["cannot open", "model.onnx.part", "not a regular file"],
    );
    assert!(server.asked().is_empty());
}

#[test]
fn a_folder_that_is_gone_is_told() {
    let mut scene = Scene::new();
    let server = serve(&scene, |_, reply| reply);
    scene.folder.close().unwrap();
    scene.folder = tempfile::tempdir().unwrap();
    let gone = scene.folder.path().join("gone/model.onnx");
    let wanted = DownloadRequest {
        address: Url::parse(&server.url("/model.onnx")).unwrap(),
        sha256: &scene.sha256,
        size: None,
    };
    let client = FetchClient::new(&HashMap::new(), limits());
    let error = client.download(&wanted, &gone, &mut |_| {}).unwrap_err();
    assert!(
        error.to_string().contains("gone/model.onnx.part"),
        "{error}"
    );
    assert!(server.asked().is_empty());
}

#[test]
fn a_model_comes_from_its_repository_at_its_revision() {
    const TEXT: &[u8] = b"a model";
    let sha256: &'static str = sum_of(TEXT).leak();
    let file = |path, name| ModelFile {
        repository: "org/model",
        revision: "0123456789012345678901234567890123456789",
        path,
        name,
        sha256,
        bytes: TEXT.len() as u64,
    };
    let files = vec![
        file("onnx/model.onnx", "model.onnx"),
        file("tokenizer.json", "tokenizer.json"),
    ];
    let model: &'static Model = Box::leak(Box::new(Model {
        name: "model",
        about: "",
        licence: "MIT",
        kind: ModelKind::Embedding,
        dimensions: 4,
        max_tokens: 8,
        pooling: "cls",
        query_prefix: "q: ",
        passage_prefix: "",
        files,
    }));
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|request| Reply::file(request, TEXT));
    let hub = Url::parse(&server.url("/mirror")).unwrap();
    let client = FetchClient::new(&HashMap::new(), limits());
    let mut seen = Vec::new();
    model
        .download(&client, &hub, folder.path(), &mut |file, _| {
            seen.push(file.name);
        })
        .unwrap();
    seen.dedup();
    assert_eq!(seen, ["model.onnx", "tokenizer.json"]);
    let asked: Vec<String> = server
        .asked()
        .into_iter()
        .map(|request| request.path)
        .collect();
    let base = "/mirror/org/model/resolve/0123456789012345678901234567890123456789";
    assert_eq!(
        asked,
        [
            format!("{base}/onnx/model.onnx"),
            format!("{base}/tokenizer.json")
        ]
    );
    let states = |folder| -> Vec<State> {
        let files = model.check(folder).unwrap();
        files.into_iter().map(|(_, state)| state).collect()
    };
    assert_eq!(states(folder.path()), [State::Whole, State::Whole]);
    fs::write(folder.path().join("model.onnx"), "b model").unwrap();
    fs::remove_file(folder.path().join("tokenizer.json")).unwrap();
    assert_eq!(states(folder.path()), [State::Other, State::Missing]);
    assert_eq!(catalog::recognised(folder.path()), None);
}

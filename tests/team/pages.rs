//! The page of workspaces: who comes in by which token, what a session opens, when it ends, and what the audit has of it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use memdir::rows::access::{self, AuditLine, Quota, Role};
use serde_json::json;

use crate::access::make;
use crate::audit::lines;
use crate::postgres::{Session, TestDatabase};
use crate::serving::{json_of, server, token};
use crate::support::memdir_server::{Answered, Server, request};
use crate::support::until;

/// Longer than the pause between two comments on a stream that lives.
const PATIENCE: Duration = Duration::from_secs(60);

const FORM: &str = "Content-Type: application/x-www-form-urlencoded";

/// Sends the form of `/login`.
fn log_in(server: &Server, workspace: &str, secret: &str) -> Answered {
    let path = format!("/w/{workspace}/login");
    let form = format!("token={secret}");
    server.ask("POST", &path, &[FORM], form.as_bytes())
}

/// Comes in by a token, and returns the header with the cookie.
#[track_caller]
fn cookie(server: &Server, workspace: &str, secret: &str) -> String {
    let entered = log_in(server, workspace, secret);
    assert_eq!(entered.status, 303, "{entered:?}");
    let base = format!("/w/{workspace}/");
    assert_eq!(entered.header("location"), Some(&*base));
    let cookie = entered.header("set-cookie").unwrap();
    let end = format!("; Path={base}; HttpOnly; SameSite=Strict");
    assert!(cookie.ends_with(&end), "{cookie}");
    assert!(!cookie.contains(secret), "{cookie}");
    format!("Cookie: {}", cookie.split(';').next().unwrap())
}

/// A view of the workspace atlas.
fn view(server: &Server, cookie: &str, path: &str) -> Answered {
    server.ask("GET", &format!("/w/atlas/{path}"), &[cookie], b"")
}

/// Returns the token of the forms of a page.
#[track_caller]
fn form_token(answered: &Answered) -> String {
    let text = answered.text();
    let (_, rest) = text.split_once("name=\"token\" value=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

/// Returns the whole text of a memory, as the page saves it: with the keys that every memory has, and `keys`.
fn whole(id: &str, keys: &str, body: &str) -> String {
    format!(
        "---\nid: {id}\ntimestamp: 2026-11-30T12:00:00Z\nagent: test\nuser: anna\ntopics: []\n{keys}---\n\n{body}"
    )
}

/// Returns `value` as it stands in a form.
fn encoded(value: &str) -> String {
    form_urlencoded::byte_serialize(value.as_bytes()).collect()
}

/// Sends a form of the page of the workspace atlas.
fn send(server: &Server, cookie: &str, path: &str, form: &str) -> Answered {
    let path = format!("/w/atlas/{path}");
    server.ask("POST", &path, &[cookie, FORM], form.as_bytes())
}

/// Stores a memory in the workspace atlas by the operator's token, and returns its id as the page shows it.
fn remember(server: &Server, content: &str) -> String {
    let body = json!({"title": content, "content": content, "tier": "long"});
    let stored = server.json("POST", "/w/atlas/api/v1/memories", &token(server), &body);
    assert_eq!(stored.status, 201, "{stored:?}");
    let id = json_of(&stored)["id"].as_str().unwrap().to_owned();
    id[id.len() - 8..].to_owned()
}

#[test]
fn a_browser_comes_in_by_a_token_and_does_what_that_may_do() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let server = server(&test, &[]);
    let id = remember(&server, "The zebra has stripes.");
    let [reader, writer] = [Role::Reader, Role::Writer]
        .map(|role| cookie(&server, "atlas", &make(&test, "atlas", role.as_str(), role)));
    let operator = cookie(&server, "atlas", &token(&server));
    for cookie in [&reader, &writer, &operator] {
        let shown = view(&server, cookie, "");
        assert_eq!(shown.status, 200, "{shown:?}");
        assert!(shown.text().contains("The zebra has stripes."));
        let policy = shown.header("content-security-policy").unwrap();
        assert!(policy.contains("base-uri 'self'"), "{policy}");
        assert_eq!(shown.header("cache-control"), Some("no-store"));
    }
    let memory = format!("memory/{id}");
    let shown = view(&server, &reader, &memory);
    assert!(!shown.text().contains("/forget"), "{}", shown.text());
    let forget = format!("{memory}/forget");
    let form = format!("token={}", form_token(&shown));
    assert_eq!(send(&server, &reader, &forget, &form).status, 403);
    let form = format!("token={}", form_token(&view(&server, &writer, &memory)));
    let done = send(&server, &writer, &forget, &form);
    assert_eq!(done.status, 303, "{done:?}");
    let location = format!("/w/atlas/memory/{id}");
    assert_eq!(done.header("location"), Some(&*location));
    let archived = view(&server, &reader, &memory);
    assert!(archived.text().contains("archive"), "{archived:?}");
    // A token that is none, and one in an address.
    let unknown = log_in(&server, "atlas", &format!("memdir_{}", "0".repeat(64)));
    assert_eq!(unknown.status, 401, "{unknown:?}");
    assert!(unknown.text().contains("opens nothing here"));
    assert!(unknown.header("set-cookie").is_none());
    for path in ["login?token=", "?token="] {
        let path = format!("/w/atlas/{path}{}", token(&server));
        let asked = server.ask("GET", &path, &[], b"");
        assert!(asked.header("set-cookie").is_none(), "{asked:?}");
        assert!(!asked.text().contains("zebra"), "{asked:?}");
    }
    // An address without the slash at its end.
    let led = server.ask("GET", "/w/atlas", &[], b"");
    assert_eq!(
        (led.status, led.header("location")),
        (308, Some("/w/atlas/"))
    );
}

#[test]
fn a_session_opens_the_page_of_one_workspace_and_nothing_else() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    test.workspace("beta");
    let server = server(&test, &[]);
    let secret = make(&test, "atlas", "anna", Role::Owner);
    let cookie = cookie(&server, "atlas", &secret);
    assert_eq!(view(&server, &cookie, "store").status, 200);
    for path in [
        "/w/beta/",
        "/w/beta/store",
        "/w/atlas/api/v1/topics",
        "/w/atlas/api/v1/audit",
        "/w/atlas/mcp",
        "/w/atlas/metrics",
        "/",
    ] {
        let asked = server.ask("GET", path, &[&cookie], b"");
        assert_eq!(asked.status, 401, "{path}: {asked:?}");
    }
    // A token opens all but the page, and by itself no page.
    let bearer = format!("Authorization: Bearer {secret}");
    let asked = server.ask("GET", "/w/atlas/store", &[&bearer], b"");
    assert_eq!(asked.status, 401, "{asked:?}");
    assert_eq!(log_in(&server, "beta", &secret).status, 401);
}

#[test]
fn nobody_learns_from_the_page_which_workspaces_there_are() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    test.workspace("otter");
    let server = server(&test, &[]);
    let secret = make(&test, "otter", "anna", Role::Owner);
    let told = |name: &str, asked: Answered| {
        let head = asked.head.lines().filter(|line| {
            let line = line.to_ascii_lowercase();
            !line.starts_with("date") && !line.starts_with("x-request-id")
        });
        let head: Vec<&str> = head.collect();
        let all = format!("{}\n{}", head.join("\n"), asked.text());
        all.replace(&format!("/w/{name}/"), "/w/NAME/")
    };
    for path in [
        "",
        "login",
        "store",
        "memory/1a2b3c4d/edit",
        "live",
        "import",
    ] {
        let [there, nowhere] = ["atlas", "gamma"].map(|name| {
            let path = format!("/w/{name}/{path}");
            told(name, server.ask("GET", &path, &[], b""))
        });
        assert!(there.contains("name=\"token\""), "{there}");
        assert_eq!(there, nowhere);
    }
    let [there, nowhere] =
        ["atlas", "gamma"].map(|name| told(name, log_in(&server, name, &secret)));
    assert!(there.starts_with("HTTP/1.1 401"), "{there}");
    assert_eq!(there, nowhere);
    // The operator may know.
    assert_eq!(log_in(&server, "gamma", &token(&server)).status, 404);
    let odd = server.ask("GET", "/w/a\"><b>/", &[], b"");
    assert!(!odd.text().contains("<b>"), "{}", odd.text());
}

#[test]
fn a_session_ends_with_its_token_with_its_role_and_when_one_leaves() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let server = server(&test, &[]);
    let [anna, bert, carl] = ["anna", "bert", "carl"].map(|name| {
        let secret = make(&test, "atlas", name, Role::Writer);
        (cookie(&server, "atlas", &secret), secret)
    });
    for (cookie, _) in [&anna, &bert, &carl] {
        assert_eq!(view(&server, cookie, "").status, 200);
    }
    access::revoke(&test.open(), "atlas", "anna").unwrap();
    // The server hears of it, or asks again within seconds.
    let ended = loop {
        let shown = view(&server, &anna.0, "");
        if shown.status != 200 {
            break shown;
        }
    };
    assert_eq!(ended.status, 401, "{ended:?}");
    assert!(ended.text().contains("name=\"token\""), "{ended:?}");
    assert!(ended.header("set-cookie").unwrap().ends_with("Max-Age=0"));
    assert_eq!(log_in(&server, "atlas", &anna.1).status, 401);
    Session::new(&test.address()).query("UPDATE token SET role = 'reader' WHERE name = 'bert'");
    until("the session has ended", || {
        view(&server, &bert.0, "").status == 401
    });
    let shown = view(&server, &cookie(&server, "atlas", &bert.1), "");
    assert!(shown.text().contains("read-only"), "{shown:?}");
    // Of another one's session nothing has changed, until he leaves.
    let form = format!("token={}", form_token(&view(&server, &carl.0, "")));
    assert_eq!(send(&server, &carl.0, "logout", "token=0").status, 403);
    let left = send(&server, &carl.0, "logout", &form);
    assert_eq!(
        (left.status, left.header("location")),
        (303, Some("/w/atlas/login"))
    );
    assert_eq!(view(&server, &carl.0, "").status, 401);
}

#[test]
fn each_view_and_action_has_a_line_by_the_token_of_its_session() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let server = server(&test, &[]);
    let id = remember(&server, "The zebra has stripes.");
    let anna = cookie(
        &server,
        "atlas",
        &make(&test, "atlas", "anna", Role::Writer),
    );
    let timeline = view(&server, &anna, "");
    let form = format!("token={}", form_token(&timeline));
    assert_eq!(view(&server, &anna, "search?q=zebra&part=1").status, 200);
    assert_eq!(view(&server, &anna, &format!("memory/{id}")).status, 200);
    assert_eq!(view(&server, &anna, "memory/00000000").status, 404);
    let pin = format!("memory/{id}/pin");
    assert_eq!(send(&server, &anna, &pin, &form).status, 303);
    assert_eq!(send(&server, &anna, &pin, "token=0").status, 403);
    let bert = cookie(
        &server,
        "atlas",
        &make(&test, "atlas", "bert", Role::Reader),
    );
    let form = format!("token={}", form_token(&view(&server, &bert, "brief")));
    assert_eq!(send(&server, &bert, &pin, &form).status, 403);
    let all = lines(&rows, 11);
    let own = all.iter().filter(|line| line.action.starts_with("page/"));
    let who = |line: &AuditLine| {
        let identity = line.identity.clone().unwrap();
        format!("{identity} {} {}", line.action, line.outcome)
    };
    let mut told: Vec<String> = own.map(who).collect();
    told.sort();
    let expected = [
        "anna page/login done",
        "anna page/memory done",
        "anna page/memory failed",
        "anna page/memory/pin done",
        "anna page/memory/pin refused",
        "anna page/search done",
        "anna page/timeline done",
        "bert page/brief done",
        "bert page/login done",
        "bert page/memory/pin refused",
    ];
    assert_eq!(told, expected, "{all:#?}");
    let of = |action: &str| {
        let mut lines = all.iter();
        lines
            .find(|line| line.action == action && line.outcome == "done")
            .unwrap()
    };
    let pinned = of("page/memory/pin");
    assert_eq!((pinned.changes, pinned.count), (Some((2, 2)), 1));
    for action in ["page/timeline", "page/search", "page/memory"] {
        assert_eq!(of(action).memories, std::slice::from_ref(&id), "{action}");
    }
}

#[test]
fn a_text_that_a_quota_refuses_comes_back_in_a_form() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let limit = |quota, most| {
        access::set_quotas(&test.open(), "atlas", &[(quota, Some(most))]).unwrap();
    };
    limit(Quota::Requests, 8);
    let server = server(&test, &[]);
    let id = remember(&server, "The zebra has stripes.");
    limit(Quota::Bytes, 10);
    let anna = cookie(
        &server,
        "atlas",
        &make(&test, "atlas", "anna", Role::Writer),
    );
    let shown = view(&server, &anna, &format!("memory/{id}/edit"));
    let text = shown.text();
    let (_, seen) = text.split_once("name=\"seen\" value=\"").unwrap();
    let seen = seen.split('"').next().unwrap();
    let longer = format!("A longer text{}\n", " again".repeat(500));
    let form = format!(
        "token={}&seen={seen}&text={}",
        form_token(&shown),
        encoded(&whole(&id, "", &longer))
    );
    let save = || send(&server, &anna, &format!("memory/{id}/save"), &form);
    let refused = save();
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(refused.text().contains("its quota is 10"), "{refused:?}");
    assert!(refused.text().contains("\nA longer text again again"));
    let often = (0..10).map(|_| save()).find(|saved| saved.status == 429);
    let often = often.expect("the calls of a minute have an end");
    assert!(often.header("retry-after").is_some(), "{often:?}");
    assert!(often.text().contains("may be called 8 times a minute"));
    assert!(often.text().contains("\nA longer text again again"));
}

#[test]
fn a_form_needs_its_session_its_token_its_type_and_its_origin() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let server = server(&test, &[]);
    let id = remember(&server, "The zebra has stripes.");
    let [anna, bert] = ["anna", "bert"]
        .map(|name| cookie(&server, "atlas", &make(&test, "atlas", name, Role::Writer)));
    let form = format!("token={}", form_token(&view(&server, &anna, "")));
    let other = format!("token={}", form_token(&view(&server, &bert, "")));
    let path = format!("/w/atlas/memory/{id}/forget");
    let post =
        |headers: &[&str], form: &str| server.ask("POST", &path, headers, form.as_bytes()).status;
    assert_eq!(post(&[FORM], &form), 401);
    assert_eq!(post(&[&anna, FORM], ""), 403);
    assert_eq!(post(&[&anna, FORM], &other), 403);
    assert_eq!(post(&[&anna, "Content-Type: text/plain"], &form), 415);
    let evil = "Origin: http://evil.example";
    assert_eq!(post(&[&anna, FORM, evil], &form), 403);
    let cross = "Sec-Fetch-Site: cross-site";
    assert_eq!(post(&[&anna, FORM, cross], &form), 403);
    assert_eq!(server.ask("GET", &path, &[&anna], b"").status, 404);
    assert_eq!(post(&[&anna, FORM], &form), 303);
    // Nobody is logged in by another site, or by a body of another type.
    let secret = make(&test, "atlas", "eve", Role::Writer);
    let form = format!("token={secret}");
    for headers in [
        &[FORM, evil][..],
        &[FORM, cross],
        &["Content-Type: text/plain"],
    ] {
        let entered = server.ask("POST", "/w/atlas/login", headers, form.as_bytes());
        assert!(matches!(entered.status, 403 | 415), "{entered:?}");
        assert!(entered.header("set-cookie").is_none());
    }
    let long = "x".repeat(20_000);
    assert_eq!(log_in(&server, "atlas", &long).status, 413);
    // A link of another site shows nothing before a click, which leads to the same address.
    let navigation = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"];
    let headers = [&[anna.as_str(), cross][..], &navigation].concat();
    let led = server.ask("GET", "/w/atlas/search?q=zebra", &headers, b"");
    assert_eq!(led.status, 403);
    let text = led.text();
    assert!(text.contains("<base href=\"/w/atlas/\">"), "{text}");
    assert!(text.contains("<a href=\"search?q=zebra\">"), "{text}");
}

#[test]
fn over_tls_of_a_proxy_the_cookie_is_for_tls_alone() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let proxied = [
        "--allow-host",
        "team.example",
        "--allow-origin",
        "https://team.example",
    ];
    let server = server(&test, &proxied);
    let form = format!("token={}", token(&server));
    let headers = [FORM, "Origin: https://team.example"];
    let asked = request(
        "POST",
        "/w/atlas/login",
        "team.example",
        &headers,
        form.as_bytes(),
    );
    let entered = server.raw(&asked);
    assert_eq!(entered.status, 303, "{entered:?}");
    let cookie = entered.header("set-cookie").unwrap();
    assert!(
        cookie.ends_with("; Path=/w/atlas/; HttpOnly; SameSite=Strict; Secure"),
        "{cookie}"
    );
}

#[test]
fn all_addresses_of_the_page_lie_below_its_workspace() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let server = server(&test, &[]);
    let id = remember(
        &server,
        "The zebra[^1], see [[Nobody]].\n\n[^1]: With stripes.",
    );
    let anna = cookie(&server, "atlas", &make(&test, "atlas", "anna", Role::Owner));
    let mut assets = Vec::new();
    for path in [
        String::new(),
        "?topic=a".to_owned(),
        "search?q=zebra".to_owned(),
        "search?q=zebra&by=expression".to_owned(),
        "review".to_owned(),
        "brief".to_owned(),
        "store".to_owned(),
        format!("memory/{id}"),
        format!("memory/{id}/raw"),
        format!("memory/{id}/edit"),
        format!("memory/{id}/history"),
        "memory/00000000".to_owned(),
        "login".to_owned(),
    ] {
        let text = view(&server, &anna, &path).text();
        let base = "<base href=\"/w/atlas/\">";
        let (head, rest) = text
            .split_once(base)
            .unwrap_or_else(|| panic!("{path}: {text}"));
        assert!(
            !head.contains("href") && !rest.contains("<base"),
            "{path}: {text}"
        );
        for attribute in ["href=\"", "src=\"", "action=\""] {
            for found in rest.split(attribute).skip(1) {
                let address = found.split('"').next().unwrap();
                // What leads within the timeline, at the base itself, is `#main` alone.
                let is_outside = address.starts_with(['/', '\\'])
                    || address.contains("..")
                    || (address.starts_with('#') && !path.is_empty());
                assert!(!is_outside, "{path}: {address}");
                assets.extend(address.starts_with("assets/").then(|| address.to_owned()));
            }
        }
    }
    assets.sort();
    assets.dedup();
    assert_eq!(
        assets,
        ["assets/icon.svg", "assets/page.css", "assets/page.js"]
    );
    for asset in assets {
        // The form that takes a token needs them.
        let shown = server.ask("GET", &format!("/w/gamma/{asset}"), &[], b"");
        assert_eq!(shown.status, 200, "{asset}");
        assert!(!shown.header("content-type").unwrap().contains("html"));
    }
}

#[test]
fn changes_of_any_server_come_to_the_page() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let servers = [server(&test, &[]), server(&test, &[])];
    let anna = make(&test, "atlas", "anna", Role::Reader);
    let cookie = cookie(&servers[0], "atlas", &anna);
    let mut stream = servers[0].connect();
    let asked = request("GET", "/w/atlas/live", &servers[0].address, &[&cookie], b"");
    stream.write_all(&asked).unwrap();
    let mut told = String::new();
    let mut until = |text: &str| {
        let mut bytes = [0; 4096];
        while !told.contains(text) {
            let length = stream.read(&mut bytes).unwrap();
            assert_ne!(length, 0, "{told}");
            told.push_str(&String::from_utf8_lossy(&bytes[..length]));
        }
    };
    until(": listening");
    let id = remember(&servers[1], "The zebra has stripes.");
    until(&id);
    // A session belongs to the server where it began, as one of MCP does.
    assert_eq!(view(&servers[1], &cookie, "").status, 401);
}

#[test]
fn a_page_of_a_workspace_that_is_closed_is_told_no_more_and_its_stream_ends() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let server = server(&test, &["--writes-per-second", "0"]);
    let bearer = format!("Authorization: Bearer {}", token(&server));
    // Reads what a stream tells until `ends`, or to its end.
    let read = |stream: &mut TcpStream, ends: &str| {
        let (begun, mut told, mut bytes) = (Instant::now(), String::new(), [0; 4096]);
        while ends.is_empty() || !told.contains(ends) {
            let length = stream.read(&mut bytes).unwrap();
            if length == 0 {
                break;
            }
            told.push_str(&String::from_utf8_lossy(&bytes[..length]));
            assert!(begun.elapsed() < PATIENCE, "{told}");
        }
        told
    };
    let watch = |path: &str, header: &str| {
        let mut stream = server.connect();
        let asked = request("GET", path, &server.address, &[header], b"");
        stream.write_all(&asked).unwrap();
        let told = read(&mut stream, ": listening");
        assert!(told.contains(": listening"), "{told}");
        stream
    };
    let topics = |name: &str| {
        let path = format!("/w/{name}/api/v1/topics");
        server.ask("GET", &path, &[&bearer], b"").status
    };
    let mut atlas = watch("/w/atlas/live", &cookie(&server, "atlas", &token(&server)));
    // More than a server keeps open; all are watched but the last, which is closed after the one that asks.
    let mut others = Vec::new();
    for number in 0..65 {
        let name = format!("w{number}");
        test.workspace(&name);
        match number < 63 {
            true => others.push(watch(&format!("/w/{name}/api/v1/events"), &bearer)),
            false => assert_eq!(topics(&name), 200),
        }
    }
    read(&mut atlas, "");
    assert_eq!(topics("atlas"), 200);
}

#[test]
fn what_needs_a_folder_is_left_out_of_the_page() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let server = server(&test, &[]);
    let id = remember(&server, "The zebra has stripes.");
    let anna = cookie(&server, "atlas", &make(&test, "atlas", "anna", Role::Owner));
    let store = view(&server, &anna, "store");
    let text = store.text();
    let root = server.store.root().canonicalize().unwrap();
    let root = root.to_str().unwrap();
    for absent in [root, "doctor", "Sync", ">Import<", "store/check"] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
    let form = format!("token={}", form_token(&store));
    for path in ["import", "import/perform", "import/upload", "store/check"] {
        let answered = send(&server, &anna, path, &form);
        assert!(
            matches!(answered.status, 404 | 405 | 415),
            "{path}: {answered:?}"
        );
    }
    assert_eq!(view(&server, &anna, "import").status, 404);
    assert_eq!(view(&server, &anna, "login?code=a").status, 200);
    let edit = view(&server, &anna, &format!("memory/{id}/edit")).text();
    let (_, seen) = edit.split_once("name=\"seen\" value=\"").unwrap();
    let seen = seen.split('"').next().unwrap();
    let edited = whole(&id, "title: Zebra\n", "The zebra has spots.\n");
    let save = format!("{form}&seen={seen}&text={}", encoded(&edited));
    let path = format!("memory/{id}/save");
    assert_eq!(send(&server, &anna, &path, &save).status, 303);
    // Over another version nothing is saved, and both texts are shown.
    let conflict = send(&server, &anna, &path, &save);
    assert_eq!(conflict.status, 409, "{conflict:?}");
    let history = view(&server, &anna, &format!("memory/{id}/history")).text();
    assert!(
        history.contains("stripes") && history.contains("spots"),
        "{history}"
    );
    assert!(!history.contains("/undo"), "{history}");
    let undo = send(&server, &anna, &format!("memory/{id}/undo"), &form);
    assert_eq!(undo.status, 404, "{undo:?}");
    let restore = format!("{form}&version=1");
    let path = format!("memory/{id}/restore-version");
    assert_eq!(send(&server, &anna, &path, &restore).status, 303);
    let shown = view(&server, &anna, &format!("memory/{id}")).text();
    assert!(shown.contains("stripes"), "{shown}");
}

#[test]
fn where_no_token_is_asked_for_a_browser_has_a_session_at_once() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let server = server(&test, &["--no-token"]);
    let begun = server.ask("GET", "/w/atlas/", &[], b"");
    let cookie = begun.header("set-cookie").unwrap();
    let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
    assert_eq!(view(&server, &cookie, "").status, 200);
    assert_eq!(send(&server, &cookie, "memory/none/forget", "").status, 403);
}

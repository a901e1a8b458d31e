//! The page for people: who comes in, what a form may do, and what every answer says to the browser.

use crate::support::TestStore;
use crate::support::memdir_server::{Answered, Server, memdir};

/// Returns the address that `memdir open --print` gives, below the server's.
fn address(server: &Server, words: &[&str]) -> String {
    let mut command = memdir(server.store.root());
    command.args(words).args(["open", "--print"]);
    let said = command.output().unwrap();
    assert!(said.status.success(), "{said:?}");
    let said = String::from_utf8(said.stdout).unwrap();
    let path = said.trim().split_once(&server.address).unwrap().1;
    path.to_owned()
}

/// Logs in, and returns the header with the cookie.
pub(crate) fn cookie(server: &Server, words: &[&str]) -> String {
    let entered = server.ask("GET", &address(server, words), &[], b"");
    assert_eq!(entered.status, 303);
    let cookie = entered.header("set-cookie").unwrap();
    assert!(
        cookie.ends_with("Path=/; HttpOnly; SameSite=Strict"),
        "{cookie}"
    );
    format!("Cookie: {}", cookie.split(';').next().unwrap())
}

/// Returns the token of the forms of a page.
pub(crate) fn form_token(answered: &Answered) -> String {
    let text = answered.text();
    let (_, rest) = text.split_once("name=\"token\" value=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

pub(crate) const FORM: &str = "Content-Type: application/x-www-form-urlencoded";

#[test]
fn a_browser_comes_in_by_a_code_that_is_valid_once() {
    let server = Server::start(&[]);
    for path in [
        "/",
        "/search",
        "/memory/1a2b3c4d",
        "/review",
        "/brief",
        "/store",
        "/import",
        "/live",
    ] {
        let answered = server.ask("GET", path, &[], b"");
        assert_eq!(answered.status, 401, "{path}");
        assert!(
            answered
                .header("content-type")
                .unwrap()
                .starts_with("text/html"),
            "{path}"
        );
        assert!(answered.text().contains("memdir open"), "{path}");
    }
    let address = address(&server, &[]);
    assert_eq!(server.ask("GET", &address, &[], b"").status, 303);
    assert_eq!(server.ask("GET", &address, &[], b"").status, 401);
    let cookie = cookie(&server, &[]);
    let page = server.ask("GET", "/", &[&cookie], b"");
    assert_eq!(page.status, 200);
    // The cookie opens nothing but the page.
    assert_eq!(
        server.ask("GET", "/api/v1/health", &[&cookie], b"").status,
        401
    );
    let left = server.ask(
        "POST",
        "/logout",
        &[&cookie, FORM],
        format!("token={}", form_token(&page)).as_bytes(),
    );
    assert_eq!(left.status, 303);
    assert_eq!(server.ask("GET", "/", &[&cookie], b"").status, 401);
}

#[test]
fn every_answer_allows_a_browser_nothing_but_this_server() {
    let server = Server::start(&[]);
    let cookie = cookie(&server, &[]);
    for path in [
        "/",
        "/search?q=a",
        "/store",
        "/nothing/of/this",
        "/assets/page.js",
        "/login",
        "/memory/none",
    ] {
        let answered = server.ask("GET", path, &[&cookie], b"");
        assert_eq!(
            answered.header("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
        if path == "/nothing/of/this" {
            assert_eq!(answered.status, 401);
            continue;
        }
        let policy = answered.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"),
            "{path}"
        );
        assert!(
            policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"),
            "{path}"
        );
        assert!(
            answered.header("access-control-allow-origin").is_none(),
            "{path}"
        );
    }
}

#[test]
fn a_form_needs_its_token_its_type_and_the_right_to_write() {
    let store = TestStore::new();
    let server = Server::on(store, &[]);
    let said = memdir(server.store.root())
        .args(["remember", "Bread is at seven."])
        .output()
        .unwrap();
    let id = String::from_utf8(said.stdout).unwrap().trim().to_owned();
    let cookie = cookie(&server, &[]);
    let forget = format!("/memory/{id}/forget");
    let token = form_token(&server.ask("GET", "/", &[&cookie], b""));
    let form = format!("token={token}");
    let post =
        |headers: &[&str], body: &str| server.ask("POST", &forget, headers, body.as_bytes()).status;
    assert_eq!(post(&[FORM], &form), 401);
    assert_eq!(post(&[&cookie, FORM], ""), 403);
    assert_eq!(post(&[&cookie, FORM], "token=0"), 403);
    assert_eq!(
        post(&[&cookie, "Content-Type: application/json"], &form),
        415
    );
    assert_eq!(post(&[&cookie, "Content-Type: text/plain"], &form), 415);
    assert_eq!(
        post(&[&cookie, FORM, "Origin: http://evil.example"], &form),
        403
    );
    assert_eq!(
        post(&[&cookie, FORM, "Sec-Fetch-Site: cross-site"], &form),
        403
    );
    // Reading changes nothing, whatever is asked for.
    assert_eq!(server.ask("GET", &forget, &[&cookie], b"").status, 404);
    let reader = cookie_of_reader(&server);
    let page = server.ask("GET", &format!("/memory/{id}"), &[&reader], b"");
    assert!(!page.text().contains("/forget"));
    let form_of_reader = format!("token={}", form_token(&page));
    assert_eq!(post(&[&reader, FORM], &form_of_reader), 403);
    // The token of one session is none of another.
    assert_eq!(post(&[&cookie, FORM], &form_of_reader), 403);
    let long = format!("{form}&text={}", "x".repeat(9_000_000));
    assert_eq!(post(&[&cookie, FORM], &long), 413);
    assert_eq!(post(&[&cookie, FORM], &form), 303);
    assert!(
        server
            .ask("GET", &format!("/memory/{id}"), &[&cookie], b"")
            .text()
            .contains("archive")
    );
}

fn cookie_of_reader(server: &Server) -> String {
    cookie(server, &["--read-only"])
}

#[test]
fn a_link_of_another_site_shows_nothing_before_a_click() {
    let server = Server::start(&[]);
    let cookie = cookie(&server, &[]);
    let from_elsewhere = [
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Mode: navigate",
        "Sec-Fetch-Dest: document",
    ];
    let answered = server.ask(
        "GET",
        "/store",
        &[&[cookie.as_str()][..], &from_elsewhere].concat(),
        b"",
    );
    assert_eq!(answered.status, 403);
    assert!(
        answered.text().contains("<a href=\"store\">"),
        "{}",
        answered.text()
    );
    let frame = [
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Mode: navigate",
        "Sec-Fetch-Dest: iframe",
    ];
    let framed = server.ask(
        "GET",
        "/store",
        &[&[cookie.as_str()][..], &frame].concat(),
        b"",
    );
    assert!(!framed.text().contains("<a"), "{}", framed.text());
}

#[test]
fn without_tokens_a_browser_has_a_session_at_once() {
    let server = Server::start(&["--no-token"]);
    let answered = server.ask("GET", "/", &[], b"");
    let cookie = answered.header("set-cookie").unwrap();
    let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
    assert_eq!(server.ask("GET", "/", &[&cookie], b"").status, 200);
    assert_eq!(
        server
            .ask("POST", "/memory/none/forget", &[&cookie, FORM], b"")
            .status,
        403
    );
}

#[test]
fn markup_of_memories_and_addresses_is_text() {
    let server = Server::start(&[]);
    let said = memdir(server.store.root())
        .args([
            "remember",
            "--title",
            "<b>Title</b>",
            "--topics",
            "<i>t</i>",
            "<script>alert(1)</script>",
        ])
        .output()
        .unwrap();
    let id = String::from_utf8(said.stdout).unwrap().trim().to_owned();
    let cookie = cookie(&server, &[]);
    for path in [
        "/".to_owned(),
        "/search?q=script".to_owned(),
        "/search?q=%3Cscript%3E&by=keywords".to_owned(),
        "/search?q=%3Cscript%3E&by=expression".to_owned(),
        "/?topic=%3Cscript%3E".to_owned(),
        "/?before=%3Cscript%3E".to_owned(),
        "/?kind=%3Cscript%3E".to_owned(),
        "/brief?namespace=%3Cscript%3E".to_owned(),
        format!("/memory/{id}"),
        format!("/memory/{id}/raw"),
        format!("/memory/{id}/edit"),
        "/memory/%3Cscript%3E".to_owned(),
        "/login?code=%3Cscript%3E".to_owned(),
    ] {
        let text = server.ask("GET", &path, &[&cookie], b"").text();
        let text = text.replace("<script src=\"assets/page.js\" defer></script>", "");
        for tag in ["<script", "<b>", "<i>"] {
            assert!(!text.contains(tag), "{path}: {text}");
        }
    }
}

#[test]
fn all_addresses_of_a_document_are_relative_to_its_base() {
    let server = Server::start(&[]);
    let said = memdir(server.store.root())
        .args([
            "remember",
            "--topics",
            "tiles",
            "Tiles[^1], see [[Nobody]].\n\n[^1]: In PostgreSQL.",
        ])
        .output()
        .unwrap();
    let id = String::from_utf8(said.stdout).unwrap().trim().to_owned();
    let cookie = cookie(&server, &[]);
    for path in [
        "/".to_owned(),
        "/?topic=tiles".to_owned(),
        "/search?q=tiles".to_owned(),
        "/review".to_owned(),
        "/brief".to_owned(),
        "/store".to_owned(),
        "/import".to_owned(),
        "/login".to_owned(),
        format!("/memory/{id}"),
        format!("/memory/{id}/edit"),
        format!("/memory/{id}/history"),
        "/memory/none".to_owned(),
    ] {
        let text = server.ask("GET", &path, &[&cookie], b"").text();
        // Before whatever has an address.
        let head = "<meta charset=\"utf-8\"><base href=\"/\"><title>";
        assert!(text.contains(head), "{path}: {text}");
        // The text itself is one step away, whatever the base is.
        let skip = format!("class=\"skip\" href=\"{}#main\"", &path[1..]);
        let has_script = text.contains("page.js");
        assert_eq!(text.contains(&skip), has_script, "{path}: {text}");
        let text = text.replace("<base href=\"/\">", "").replace(&skip, "");
        for absolute in ["href=\"/", "src=\"/", "action=\"/", "href=\"#"] {
            assert!(!text.contains(absolute), "{path}: {absolute}: {text}");
        }
    }
    let read = server.ask("GET", &format!("/memory/{id}"), &[&cookie], b"");
    let footnote = format!("<a href=\"memory/{id}#1\">");
    assert!(read.text().contains(&footnote), "{}", read.text());
}

#[test]
fn a_form_leads_back_to_the_page_alone() {
    let server = Server::start(&[]);
    let said = memdir(server.store.root())
        .args(["remember", "Bread is at seven."])
        .output()
        .unwrap();
    let id = String::from_utf8(said.stdout).unwrap().trim().to_owned();
    let cookie = cookie(&server, &[]);
    let token = form_token(&server.ask("GET", "/", &[&cookie], b""));
    let back = |back: &str| {
        let form = format!("token={token}&back={back}");
        let path = format!("/memory/{id}/pin");
        let answered = server.ask("POST", &path, &[&cookie, FORM], form.as_bytes());
        answered.header("location").unwrap().to_owned()
    };
    assert_eq!(back("brief%3Fnamespace%3Da"), "/brief?namespace=a");
    assert_eq!(back("review"), "/review");
    for elsewhere in [
        "%2Fevil.example",
        "%09%2Fevil.example",
        "%5Cevil.example",
        "..%2Fx",
    ] {
        assert_eq!(back(elsewhere), format!("/memory/{id}"), "{elsewhere}");
    }
}

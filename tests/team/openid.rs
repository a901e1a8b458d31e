//! Tokens of an OpenID Connect issuer: which ones open a workspace, with which rights, and what the audit says of them.

use memdir::rows::access::{self, Role};
use memdir::rows::{Database, RowsError};
use serde_json::{Value, json};

use crate::access::{read, tool, write};
use crate::issuer::Issuer;
use crate::postgres::{Session, TestDatabase};
use crate::serving::{server, token};
use crate::support::memdir_server::{Answered, Server};
use crate::support::program::Home;
use crate::support::until;

/// The server as clients call it, by way of a proxy.
const PUBLIC: &str = "https://team.example";

/// Resource that is the workspace atlas.
const ATLAS: &str = "https://team.example/w/atlas/mcp";

/// A server of the workspaces atlas and beta that takes the tokens of `issuer`.
fn trusting(test: &TestDatabase, issuer: &str) -> Server {
    let database = test.open();
    for name in ["atlas", "beta"] {
        database.create_workspace(name).unwrap();
    }
    map_usual(&database);
    server(test, &["--issuer", issuer, "--audience", PUBLIC])
}

fn map_usual(database: &Database) {
    for (group, role) in [
        ("atlas-readers", Role::Reader),
        ("atlas-writers", Role::Writer),
        ("atlas-owners", Role::Owner),
    ] {
        access::map_group(database, "atlas", group, role).unwrap();
    }
}

fn refusal(server: &Server, workspace: &str, secret: &str) -> (u16, String) {
    let answered = server.get(&format!("/w/{workspace}/api/v1/topics"), secret);
    (answered.status, answered.text())
}

#[test]
fn groups_of_the_holder_say_what_a_token_may_do() {
    let (Some(test), Some(issuer)) = (TestDatabase::new(), Issuer::start()) else {
        return;
    };
    let server = trusting(&test, &issuer.name);
    for algorithm in ["RS256", "PS256", "ES256", "EdDSA"] {
        let reader = issuer.token(&format!("bert.{algorithm}"), ATLAS);
        assert_eq!(read(&server, "atlas", &reader), 200, "{algorithm}");
        assert_eq!(write(&server, "atlas", &reader).status, 403, "{algorithm}");
        let writer = issuer.token(&format!("anna.{algorithm}"), ATLAS);
        assert_eq!(write(&server, "atlas", &writer).status, 201, "{algorithm}");
    }
    let memory = json!({"content": "The okapi.", "topics": ["animals"]});
    let reader = issuer.token("bert.ES256", ATLAS);
    let refused = tool(&server, "atlas", &reader, "remember", memory);
    assert!(refused.contains("may only read"), "{refused}");
    // Of several groups the highest role counts.
    let owner = issuer.token("owner.ES256", ATLAS);
    let groups = server.get("/w/atlas/api/v1/groups", &owner);
    assert_eq!(groups.status, 200, "{groups:?}");
    let listed = groups.value()["groups"].clone();
    let listed = listed.as_array().unwrap().iter().map(|one| &one["group"]);
    let known = ["atlas-owners", "atlas-readers", "atlas-writers"];
    assert_eq!(listed.collect::<Vec<_>>(), known);
    assert_eq!(server.get("/w/atlas/api/v1/groups", &reader).status, 403);
    // Tokens of the workspace and of the server are taken as before.
    let own = crate::access::make(&test, "atlas", "ci", Role::Reader);
    assert_eq!(read(&server, "atlas", &own), 200);
    assert_eq!(read(&server, "beta", &token(&server)), 200);
}

#[test]
fn a_token_without_a_group_learns_no_more_than_one_that_is_unknown() {
    let (Some(test), Some(issuer)) = (TestDatabase::new(), Issuer::start()) else {
        return;
    };
    let server = trusting(&test, &issuer.name);
    let unknown = refusal(&server, "atlas", "memdir_unknown");
    assert_eq!(unknown.0, 401);
    for client in ["carla.ES256", "dora.ES256"] {
        let secret = issuer.token(client, ATLAS);
        assert_eq!(refusal(&server, "atlas", &secret), unknown, "{client}");
    }
    // For the whole server, without a role in the other workspace.
    let owner = issuer.token("owner.ES256", PUBLIC);
    assert_eq!(read(&server, "atlas", &owner), 200);
    for workspace in ["beta", "gamma", "Atlas", "atlas%27"] {
        assert_eq!(refusal(&server, workspace, &owner), unknown, "{workspace}");
    }
    assert_eq!(server.get("/w/atlas/metrics", &owner).status, 403);
    // With a role there, and made for atlas.
    access::map_group(&test.open(), "beta", "staff", Role::Writer).unwrap();
    let carla = issuer.token("carla.ES256", "https://team.example/w/beta/mcp");
    assert_eq!(read(&server, "beta", &carla), 200);
    assert_eq!(refusal(&server, "atlas", &carla), unknown);
    let anna = issuer.token("anna.ES256", ATLAS);
    assert_eq!(read(&server, "atlas", &anna), 200);
    assert_eq!(refusal(&server, "beta", &anna), unknown);
}

#[test]
fn a_token_that_the_issuer_did_not_make_for_this_server_and_now_opens_nothing() {
    let (Some(test), Some(issuer)) = (TestDatabase::new(), Issuer::start()) else {
        return;
    };
    let Some(foreign) = Issuer::start() else {
        return;
    };
    let server = trusting(&test, &issuer.name);
    let now = chrono::Utc::now().timestamp();
    let forge = |header: Value, claims: Value, key: &str| {
        let mut all = json!({"aud": ATLAS});
        let claims = claims.as_object().unwrap().clone();
        all.as_object_mut().unwrap().extend(claims);
        issuer.forge(header, all, key)
    };
    let rsa = || json!({"alg": "RS256"});
    // What is wrong below is what it says, and nothing else.
    let good = forge(rsa(), json!({}), "own");
    assert_eq!(read(&server, "atlas", &good), 200);
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let (head, _) = signed.split_once('.').unwrap();
    let other_claims = forge(rsa(), json!({"sub": "eve"}), "own");
    let other_claims = other_claims.split('.').nth(1).unwrap().to_owned();
    for (what, secret) in [
        (
            "another audience",
            issuer.token("owner.RS256", "https://other.example"),
        ),
        (
            "another scheme",
            issuer.token("owner.RS256", "http://team.example/w/atlas/mcp"),
        ),
        ("another issuer", foreign.token("owner.RS256", ATLAS)),
        (
            "another name of the issuer",
            forge(rsa(), json!({"iss": PUBLIC}), "own"),
        ),
        ("no audience", forge(rsa(), json!({"aud": null}), "own")),
        (
            "an ID token",
            forge(rsa(), json!({"aud": "a-client"}), "own"),
        ),
        ("expired", forge(rsa(), json!({"exp": now - 60}), "own")),
        ("no end", forge(rsa(), json!({"exp": null}), "own")),
        ("not yet", forge(rsa(), json!({"nbf": now + 60}), "own")),
        ("no subject", forge(rsa(), json!({"sub": null}), "own")),
        (
            "lines in the subject",
            forge(rsa(), json!({"sub": "a\nb"}), "own"),
        ),
        (
            "bound to a key",
            forge(rsa(), json!({"cnf": {"jkt": "x"}}), "own"),
        ),
        (
            "no algorithm",
            forge(json!({"alg": "none"}), json!({}), "none"),
        ),
        ("no signature", format!("{signed}.")),
        (
            "the public key as a secret",
            forge(json!({"alg": "HS256"}), json!({}), "public"),
        ),
        ("another key", forge(rsa(), json!({}), "other")),
        (
            "an unknown key",
            forge(json!({"alg": "RS256", "kid": "new"}), json!({}), "other"),
        ),
        (
            "another algorithm",
            forge(json!({"alg": "RS512"}), json!({}), "own"),
        ),
        (
            "another purpose",
            forge(json!({"alg": "RS256", "typ": "dpop+jwt"}), json!({}), "own"),
        ),
        (
            "changed claims",
            format!("{head}.{other_claims}.{signature}"),
        ),
        ("rubbish", "a.b.c".to_owned()),
    ] {
        let answered = server.get("/w/atlas/api/v1/topics", &secret);
        assert_eq!(answered.status, 401, "{what}: {answered:?}");
        let challenge = answered.header("WWW-Authenticate").unwrap();
        assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
        assert_eq!(write(&server, "atlas", &secret).status, 401, "{what}");
    }
    assert_eq!(read(&server, "atlas", &good), 200);
}

#[test]
fn new_keys_of_the_issuer_take_the_place_of_the_former_ones() {
    let (Some(test), Some(mut issuer)) = (TestDatabase::new(), Issuer::start()) else {
        return;
    };
    let server = trusting(&test, &issuer.name);
    let former = issuer.token("anna.ES256", ATLAS);
    assert_eq!(read(&server, "atlas", &former), 200);
    issuer.restart();
    let newer = issuer.token("anna.ES256", ATLAS);
    // Keys are not fetched more often than every few seconds.
    until("the new key is known", || {
        read(&server, "atlas", &newer) == 200
    });
    until("the former key is not", || {
        read(&server, "atlas", &former) == 401
    });
    assert_eq!(read(&server, "atlas", &newer), 200);
}

#[test]
fn known_keys_count_while_the_issuer_is_away() {
    let (Some(test), Some(mut issuer)) = (TestDatabase::new(), Issuer::start()) else {
        return;
    };
    let server = trusting(&test, &issuer.name);
    let [anna, bert] = ["anna.RS256", "bert.ES256"].map(|client| issuer.token(client, ATLAS));
    let unknown = issuer.forge(
        json!({"alg": "RS256", "kid": "new"}),
        json!({"aud": ATLAS}),
        "own",
    );
    assert_eq!(read(&server, "atlas", &anna), 200);
    issuer.end();
    assert_eq!(read(&server, "atlas", &anna), 200);
    assert_eq!(
        read(&server, "atlas", &bert),
        200,
        "it was never shown before"
    );
    // Whether its key is there now, nobody knows.
    let asked = || server.get("/w/atlas/api/v1/topics", &unknown);
    until("the issuer is asked", || asked().status != 401);
    let answered = asked();
    assert_eq!(answered.status, 503, "{answered:?}");
    assert_eq!(answered.header("WWW-Authenticate"), None);
    assert_eq!(read(&server, "atlas", &bert), 200);
}

#[test]
fn an_issuer_that_is_away_at_the_start_is_asked_when_its_tokens_come() {
    let (Some(test), Some(mut issuer)) = (TestDatabase::new(), Issuer::start()) else {
        return;
    };
    issuer.end();
    let server = trusting(&test, &issuer.name);
    server.wait_for_log("open nothing until it answers");
    issuer.restart();
    let anna = issuer.token("anna.ES256", ATLAS);
    until("it opens", || read(&server, "atlas", &anna) == 200);
}

#[test]
fn an_issuer_of_oauth_is_found_by_its_own_configuration() {
    let (Some(test), Some(issuer)) = (TestDatabase::new(), Issuer::of_oauth()) else {
        return;
    };
    let server = trusting(&test, &issuer.name);
    let anna = issuer.token("anna.ES256", ATLAS);
    assert_eq!(read(&server, "atlas", &anna), 200);
}

#[test]
fn an_issuer_with_another_name_is_not_trusted() {
    let (Some(test), Some(issuer)) = (TestDatabase::new(), Issuer::start()) else {
        return;
    };
    let server = trusting(&test, &issuer.name.replace("127.0.0.1", "localhost"));
    let logged = server.wait_for_log("it calls itself");
    assert!(logged.contains(&issuer.name), "{logged}");
    let anna = issuer.token("anna.ES256", ATLAS);
    assert_eq!(read(&server, "atlas", &anna), 503);
}

#[test]
fn the_audit_holds_subject_and_issuer_whatever_a_call_says_of_itself() {
    let (Some(test), Some(issuer)) = (TestDatabase::new(), Issuer::start()) else {
        return;
    };
    let server = trusting(&test, &issuer.name);
    let anna = issuer.token("anna.ES256", ATLAS);
    let memory = json!({
        "content": "The okapi.", "topics": ["animals"], "agent": "bert.ES256", "user": "operator:default",
    });
    let stored = tool(&server, "atlas", &anna, "remember", memory);
    assert!(!stored.contains("\"isError\":true"), "{stored}");
    let bert = issuer.token("bert.ES256", ATLAS);
    assert_eq!(write(&server, "atlas", &bert).status, 403);
    let rows = memdir::rows::Rows::open(&test.open(), "atlas").unwrap();
    let mut lines = Vec::new();
    until("both calls have lines", || {
        lines = access::audit(&rows, 0, 0, 1000).unwrap();
        lines.iter().any(|line| line.outcome == "refused")
    });
    let by = |name: &str| {
        let identity = Some(format!("{name}@{}", issuer.name));
        let of = lines.iter().filter(|line| line.identity == identity);
        of.map(|line| (line.outcome.as_str(), line.changes.is_some()))
            .collect::<Vec<_>>()
    };
    assert!(by("anna.ES256").contains(&("done", true)), "{lines:?}");
    assert_eq!(by("bert.ES256"), [("refused", false)], "{lines:?}");
    let writes = lines.iter().filter(|line| line.changes.is_some());
    let anna = Some(format!("anna.ES256@{}", issuer.name));
    for line in writes {
        assert_eq!(line.identity, anna, "{line:?}");
    }
}

#[test]
fn a_refusal_says_where_tokens_are_to_be_had_and_not_which_workspaces_there_are() {
    let (Some(test), Some(issuer)) = (TestDatabase::new(), Issuer::start()) else {
        return;
    };
    let server = trusting(&test, &issuer.name);
    let asked = |path: &str| server.ask("GET", path, &[], b"");
    let well_known = "/.well-known/oauth-protected-resource";
    for workspace in ["atlas", "nowhere"] {
        let path = format!("/w/{workspace}/mcp");
        let refused = asked(&path);
        assert_eq!(refused.status, 401, "{refused:?}");
        let challenge = refused.header("WWW-Authenticate").unwrap();
        let expected =
            format!("Bearer realm=\"memdir\", resource_metadata=\"{PUBLIC}{well_known}{path}\"");
        assert_eq!(challenge, expected);
        let metadata = asked(&format!("{well_known}{path}"));
        assert_eq!(metadata.status, 200, "{metadata:?}");
        assert_eq!(metadata.header("Access-Control-Allow-Origin"), Some("*"));
        let expected = json!({
            "resource": format!("{PUBLIC}{path}"),
            "authorization_servers": [issuer.name],
            "bearer_methods_supported": ["header"],
        });
        assert_eq!(metadata.value(), expected);
    }
    let of_rest = asked("/w/atlas/api/v1/topics");
    let challenge = of_rest.header("WWW-Authenticate").unwrap();
    assert!(challenge.ends_with("/w/atlas/mcp\""), "{challenge}");
    for nowhere in [
        "/w/Atlas/mcp",
        "/w/a%2Fb/mcp",
        "/w/atlas/api/v1",
        "/w/atlas",
        "",
    ] {
        let metadata = asked(&format!("{well_known}{nowhere}"));
        assert!(
            matches!(metadata.status, 401 | 404),
            "{nowhere}: {metadata:?}"
        );
        assert!(!metadata.text().contains("resource"), "{metadata:?}");
    }
    let foreign = server.raw(
        format!("GET {well_known}/w/atlas/mcp HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
            .as_bytes(),
    );
    assert_eq!(foreign.status, 403, "{foreign:?}");
}

#[test]
fn a_server_without_an_issuer_names_none() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let server = server(&test, &[]);
    let asked = |path: &str, secret: &str| server.get(path, secret);
    let metadata = asked("/.well-known/oauth-protected-resource/w/atlas/mcp", "");
    assert_eq!(metadata.status, 404, "{metadata:?}");
    let refused = asked("/w/atlas/mcp", "a.b.c");
    assert_eq!(refused.status, 401, "{refused:?}");
    let challenge = refused.header("WWW-Authenticate");
    assert_eq!(challenge, Some("Bearer realm=\"memdir\""));
}

#[test]
fn a_group_whose_role_is_taken_away_opens_nothing() {
    let (Some(test), Some(issuer)) = (TestDatabase::new(), Issuer::start()) else {
        return;
    };
    let server = trusting(&test, &issuer.name);
    let database = test.open();
    let anna = issuer.token("anna.ES256", ATLAS);
    assert_eq!(write(&server, "atlas", &anna).status, 201);
    access::map_group(&database, "atlas", "atlas-writers", Role::Reader).unwrap();
    until("it only reads", || {
        write(&server, "atlas", &anna).status == 403
    });
    assert_eq!(read(&server, "atlas", &anna), 200);
    access::unmap_group(&database, "atlas", "atlas-writers").unwrap();
    until("it opens nothing", || read(&server, "atlas", &anna) == 401);
    let gone = access::unmap_group(&database, "atlas", "atlas-writers").err();
    assert!(matches!(gone, Some(RowsError::NoGroup(_))));
    // Of a workspace that was removed and made again no group has a role.
    database.drop_workspace("atlas").unwrap();
    database.create_workspace("atlas").unwrap();
    assert!(access::groups(&database, "atlas").unwrap().is_empty());
}

#[test]
fn the_role_of_servers_gives_no_group_a_role() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    test.workspace("beta");
    map_usual(&test.open());
    access::map_group(&test.open(), "beta", "staff", Role::Reader).unwrap();
    let mut session = Session::new(&test.address());
    let begin = "BEGIN; SET LOCAL ROLE memdir_server; SET LOCAL memdir.workspace = 'beta'";
    session.execute(begin).unwrap();
    let groups = session.query("SELECT claim_group FROM issuer_role");
    let groups: Vec<&str> = groups.iter().map(|row| row.get(0)).collect();
    assert_eq!(groups, ["staff"]);
    for sql in [
        "UPDATE issuer_role SET role = 'owner'",
        "DELETE FROM issuer_role",
        "INSERT INTO issuer_role (workspace, claim_group, role) VALUES ('beta', 'eve', 'owner')",
    ] {
        let error = session.execute(&format!("SAVEPOINT s; {sql}")).unwrap_err();
        let message = error.as_db_error().unwrap().message().to_owned();
        assert!(message.contains("permission denied"), "{sql}: {message}");
        session.execute("ROLLBACK TO s").unwrap();
    }
}

#[test]
fn the_command_gives_lists_and_takes_roles_of_groups() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let home = Home::new();
    let team = |arguments: &[&str]| {
        let mut command = home.command(&[&["team"], arguments].concat());
        command.env("MEMDIR_DATABASE", test.address());
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let code = output.status.code().unwrap();
        (code, text(output.stdout), text(output.stderr))
    };
    assert_eq!(team(&["groups", "atlas"]).0, 1);
    let (code, _, told) = team(&["map", "atlas", "/staff/all of them", "--role", "reader"]);
    assert_eq!(code, 0, "{told}");
    assert_eq!(team(&["map", "atlas", "leads", "--role", "reader"]).0, 0);
    assert_eq!(team(&["map", "atlas", "leads", "--role", "owner"]).0, 0);
    let (code, listed, _) = team(&["groups", "atlas"]);
    let expected = "reader  /staff/all of them\nowner   leads\n";
    assert_eq!((code, listed.as_str()), (0, expected));
    let (_, listed, _) = team(&["groups", "atlas", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["groups"][1]["role"], "owner", "{listed}");
    assert_eq!(team(&["unmap", "atlas", "leads"]).0, 0);
    for wrong in [
        &["unmap", "atlas", "leads"][..],
        &["map", "nowhere", "leads", "--role", "reader"],
        &["map", "atlas", "leads", "--role", "king"],
        &["map", "atlas", "leads"],
        &["map", "atlas", "", "--role", "reader"],
        &["groups", "nowhere"],
    ] {
        assert_eq!(team(wrong).0, 2, "{wrong:?}");
    }
}

#[test]
fn a_server_that_cannot_tell_tokens_for_it_does_not_start() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let home = Home::new();
    let serve = |arguments: &[&str], variables: &[(&str, &str)]| {
        let own = ["serve", "--database", "--listen", "127.0.0.1:0"];
        let mut command = home.command(&[&own, arguments].concat());
        command.env("MEMDIR_DATABASE", test.address());
        let output = command.envs(variables.iter().copied()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let audience = ("MEMDIR_AUDIENCE", PUBLIC);
    let told = serve(&["--issuer", "https://id.example"], &[]);
    assert!(told.contains("--audience"), "{told}");
    let told = serve(&[], &[audience]);
    assert!(told.contains("no issuer"), "{told}");
    for issuer in ["http://id.example", "id.example", "https://id.example/?x"] {
        let told = serve(&[], &[audience, ("MEMDIR_ISSUER", issuer)]);
        assert!(told.contains("is no issuer"), "{issuer}: {told}");
    }
    for audience in ["team.example", "https://team.example/?x", "api://team"] {
        let told = serve(
            &["--issuer", "https://id.example", "--audience", audience],
            &[],
        );
        assert!(
            told.contains("no address of this server"),
            "{audience}: {told}"
        );
    }
    let told = serve(&["--issuer", "https://id.example", "--no-token"], &[]);
    assert!(told.contains("--no-token"), "{told}");
}

#[test]
fn groups_are_read_from_the_claim_that_is_named() {
    let (Some(test), Some(issuer)) = (TestDatabase::new(), Issuer::start()) else {
        return;
    };
    test.workspace("atlas");
    access::map_group(&test.open(), "atlas", "leads", Role::Writer).unwrap();
    let arguments = [
        "--allow-host",
        "team.example",
        "--groups-claim",
        "realm_access.roles",
    ];
    let server = server(
        &test,
        &[&["--issuer", &issuer.name][..], &arguments].concat(),
    );
    let made = |claims: Value| issuer.forge(json!({"alg": "ES256"}), claims, "own");
    let leads = made(json!({"aud": ATLAS, "realm_access": {"roles": ["leads"]}}));
    let answered: Answered = write(&server, "atlas", &leads);
    assert_eq!(answered.status, 201, "{answered:?}");
    let without = made(json!({"aud": ATLAS, "groups": ["leads"]}));
    assert_eq!(read(&server, "atlas", &without), 401);
}

//! The primary is away: reads go on and say how old they are, and writes are refused.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use memdir::rows::Database;
use memdir::rows::access;
use memdir::rows::access::{AccessTokens, Role};
use serde_json::{Value, json};

use crate::consistency::{Standby, ask, call, finds, remember, server};
use crate::postgres::{TestDatabase, query};
use crate::support::memdir_server::Answered;
use crate::support::until;

/// A cable to a server that can be pulled out and put in again.
struct Cable {
    port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    is_out: bool,
    /// Whether what both sides send is lost, and no connection ends.
    is_silent: bool,
    open: Vec<TcpStream>,
}

impl Cable {
    fn lay(address: &str) -> Cable {
        let rest = address.split_once('@').unwrap().1;
        let target = rest.split_once('/').unwrap().0.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::<Mutex<State>>::default();
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let mut state = shared.lock().unwrap();
                // Whoever connects now is sent away.
                if state.is_out {
                    continue;
                }
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(&target)) else {
                    continue;
                };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let shared = Arc::clone(&shared);
                    std::thread::spawn(move || carry(from, to, &shared));
                }
                state.open.extend([client, server]);
            }
        });
        Cable { port, state }
    }

    fn pull(&self) {
        let mut state = self.state.lock().unwrap();
        state.is_out = true;
        for stream in state.open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn silence(&self) {
        self.state.lock().unwrap().is_silent = true;
    }

    fn put_in(&self) {
        let mut state = self.state.lock().unwrap();
        (state.is_out, state.is_silent) = (false, false);
    }

    fn address(&self, test: &TestDatabase) -> String {
        format!("postgres://memdir@127.0.0.1:{}/{}", self.port, test.name)
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, state: &Mutex<State>) {
    let mut bytes = [0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if !state.lock().unwrap().is_silent && to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

/// Returns whether an answer says that it is of an earlier time.
fn is_old(answered: &Answered) -> bool {
    answered.header("memdir-stale-seconds").is_some()
}

#[test]
fn a_database_that_hangs_counts_as_away() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let cable = Cable::lay(&test.address());
    let served = server(&cable.address(&test), &[]);
    remember(&served, "The zebra.");
    assert!(finds(&served, "zebra", &[]));
    cable.silence();
    let path = "/api/v1/search?q=zebra";
    until("answers say their age", || {
        is_old(&ask(&served, "GET", path, &[], &Value::Null))
    });
    assert!(finds(&served, "zebra", &[]));
    let body = json!({"title": "The tapir.", "content": "The tapir.", "tier": "long"});
    let refused = ask(&served, "POST", "/api/v1/memories", &[], &body);
    assert_eq!(refused.status, 503, "{refused:?}");
    cable.put_in();
    until("a memory is written", || {
        ask(&served, "POST", "/api/v1/memories", &[], &body).status == 201
    });
}

#[test]
fn a_workspace_is_opened_from_a_replica_while_the_primary_is_away() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let mut standby = Standby::of(&test);
    remember(&server(&test.address(), &[]), "The zebra.");
    standby.catch_up(&test);
    let cable = Cable::lay(&test.address());
    let served = server(&cable.address(&test), &["--replica", &standby.address]);
    cable.pull();
    let path = "/api/v1/search?q=zebra";
    until("the workspace is opened", || {
        ask(&served, "GET", path, &[], &Value::Null).status == 200
    });
    let answered = ask(&served, "GET", path, &[], &Value::Null);
    assert!(is_old(&answered), "{answered:?}");
    assert!(answered.text().contains("The zebra."), "{answered:?}");
    let told = call(&served, "think", json!({"query": "zebra"}), json!({}));
    let age = &told["result"]["_meta"]["memdir/stale-seconds"];
    assert!(age.is_u64(), "{told}");
    cable.put_in();
    until("answers are new", || {
        !is_old(&ask(&served, "GET", path, &[], &Value::Null))
    });
}

#[test]
fn reads_say_how_old_they_are_and_writes_are_refused_until_the_database_is_back() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let other = server(&test.address(), &[]);
    remember(&other, "The zebra.");
    let number = remember(&other, "The okapi.");
    let cable = Cable::lay(&test.address());
    let served = server(&cable.address(&test), &[]);
    let path = "/api/v1/search?q=zebra";
    assert!(finds(&served, "zebra", &[]) && finds(&served, "okapi", &[]));
    let fresh = ask(&served, "GET", path, &[], &Value::Null);
    assert_eq!(fresh.header("memdir-stale-seconds"), None, "{fresh:?}");
    let shown = fresh.value().to_string();
    let (_, rest) = shown.split_once("\"id\":\"").unwrap();
    let by_id = format!("/api/v1/memories/{}", rest.split_once('"').unwrap().0);
    // Another change tells nothing about it.
    remember(&other, "The gnu.");
    cable.pull();
    let header = format!("Memdir-Sequence: {number}");
    // What was told up to 50 ms ago is new enough.
    until("answers say their age", || {
        is_old(&ask(&served, "GET", path, &[], &Value::Null))
    });
    for headers in [&[][..], &[header.as_str()][..]] {
        let stale = ask(&served, "GET", path, headers, &Value::Null);
        assert_eq!(stale.status, 200, "{stale:?}");
        assert!(String::from_utf8_lossy(&stale.body).contains("The zebra."));
        let seconds = stale.header("memdir-stale-seconds").unwrap();
        assert!(seconds.parse::<u64>().is_ok(), "{stale:?}");
    }
    let recalled = ask(&served, "GET", &by_id, &[], &Value::Null);
    assert!(is_old(&recalled), "{recalled:?}");
    assert!(String::from_utf8_lossy(&recalled.body).contains("The zebra."));
    let ready = served.ask("GET", "/ready", &[], b"");
    assert_eq!(ready.status, 503, "{ready:?}");
    assert!(
        ready.value()["reasons"][0]
            .as_str()
            .unwrap()
            .contains("away"),
        "{ready:?}"
    );
    assert_eq!(served.ask("GET", "/healthz", &[], b"").status, 200);
    let told = call(&served, "think", json!({"query": "zebra"}), json!({}));
    assert!(told.to_string().contains("The zebra."), "{told}");
    assert!(
        told["result"]["_meta"]["memdir/stale-seconds"].is_u64(),
        "{told}"
    );
    // A later change cannot be promised, and a workspace that is not open not be opened.
    let later = format!("Memdir-Sequence: {}", number + 1);
    let refused = ask(&served, "GET", path, &[&later], &Value::Null);
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.header("retry-after").is_some(), "{refused:?}");
    let body = json!({"title": "The tapir.", "content": "The tapir.", "tier": "long"});
    for _ in 0..20 {
        let refused = ask(&served, "POST", "/api/v1/memories", &[], &body);
        assert_eq!(refused.status, 503, "{refused:?}");
        assert!(refused.header("retry-after").is_some(), "{refused:?}");
    }
    let arguments =
        json!({"content": "The tapir.", "topics": ["animals"], "agent": "a", "user": "u"});
    let told = call(&served, "remember", arguments, json!({}));
    assert_eq!(told["result"]["isError"], true, "{told}");
    assert!(told.to_string().contains("nothing was written"), "{told}");
    // Written at another server meanwhile.
    remember(&other, "The quagga.");
    cable.put_in();
    until("a memory is written", || {
        ask(&served, "POST", "/api/v1/memories", &[], &body).status == 201
    });
    for word in ["zebra", "okapi", "quagga", "tapir"] {
        assert!(finds(&served, word, &[]), "{word}");
    }
    let fresh = ask(&served, "GET", path, &[], &Value::Null);
    assert_eq!(fresh.header("memdir-stale-seconds"), None, "{fresh:?}");
    // What it said holds for a second.
    let ready = || served.ask("GET", "/ready", &[], b"");
    until("the server is ready", || ready().status == 200);
    assert_eq!(ready().value()["status"], "ready");
    // Nothing that was refused was written later.
    let rows = query(&test.address(), "SELECT FROM memory WHERE place = 'files'");
    assert_eq!(rows.len(), 5);
}

#[test]
fn a_token_that_the_database_had_is_as_it_was_while_it_is_away() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let grant = |name: &str| {
        let lifetime = Some(Duration::from_secs(86_400));
        access::grant(&test.open(), "atlas", name, Role::Reader, lifetime)
            .unwrap()
            .secret
    };
    let (known, unknown) = (grant("known"), grant("unknown"));
    let cable = Cable::lay(&test.address());
    let tokens = AccessTokens::new(&Database::new(&cable.address(&test)).unwrap());
    let is_reader = |secret: &str| {
        let holder = tokens.holder("atlas", secret);
        holder.map(|holder| holder.is_some_and(|holder| holder.role == Role::Reader))
    };
    assert!(is_reader(&known).unwrap());
    cable.pull();
    assert!(is_reader(&known).unwrap());
    is_reader(&unknown).unwrap_err();
    cable.put_in();
    access::revoke(&test.open(), "atlas", "known").unwrap();
    // Once it is asked again, the database says that it is none.
    until("the token is revoked", || {
        !is_reader(&known).unwrap_or(true)
    });
    assert!(is_reader(&unknown).unwrap());
    cable.pull();
    assert!(is_reader(&known).is_err());
}

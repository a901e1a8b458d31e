//! The life of memories: tiers, ends, uses, relations, and what is noted of it all.

use std::fs;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use crate::support::program::Home;
use crate::support::{TestStore, at, clock, new_memory, noon, query, regular_files, until};
use memdir::clock::SystemClock;
use memdir::engine::{Background, Engine, Query, QueryKind, live, ops};
use memdir::model::{Filter, NewMemory, Stem, Tier, Visibility};
use memdir::ranking::Method;

fn after(hours: i64) -> DateTime<Utc> {
    noon() + TimeDelta::hours(hours)
}

fn tiered(content: &str, tier: Tier) -> NewMemory {
    NewMemory {
        tier: Some(tier),
        ..new_memory(content)
    }
}

fn remember(engine: &Engine, memory: NewMemory) -> Stem {
    ops::remember(engine, memory, None).unwrap().stem
}

fn found(engine: &Engine, text: &str) -> usize {
    let mut by_words = query(text);
    by_words.ranking.method = Method::Words;
    ops::search(engine, &by_words).unwrap().hits.len()
}

fn use_at(store: &TestStore, stem: &Stem, at: DateTime<Utc>) {
    let engine = store.engine_at(at);
    let recalled = ops::recall(&engine, &[stem.as_str().to_owned()]);
    engine.writer.count_uses(&recalled);
}

#[test]
fn a_memory_lives_as_long_as_its_tier_and_its_uses_say() {
    let store = TestStore::new();
    let engine = store.engine();
    let short = remember(&engine, tiered("a heron", Tier::Short));
    let mid = remember(&engine, tiered("a stork", Tier::Mid));
    remember(&engine, tiered("an egret", Tier::Long));
    remember(&engine, new_memory("a crane"));
    let living = |hours: i64| {
        let engine = store.engine_at(after(hours));
        ["heron", "stork", "egret", "crane"].map(|bird| found(&engine, bird))
    };
    assert_eq!(living(5), [1, 1, 1, 1]);
    assert_eq!(living(7), [0, 1, 1, 1]);
    assert_eq!(living(7 * 24 + 1), [0, 0, 1, 1]);
    // A use lets it live an hour, or a day, longer, and shortens nothing.
    use_at(&store, &short, after(1));
    use_at(&store, &mid, after(1));
    assert_eq!(living(5), [1, 1, 1, 1]);
    assert_eq!(living(7 * 24 - 1), [0, 1, 1, 1]);
    use_at(&store, &short, after(6));
    use_at(&store, &mid, after(7 * 24));
    assert_eq!(living(6), [1, 1, 1, 1]);
    assert_eq!(living(7 * 24 + 23), [0, 1, 1, 1]);
    assert_eq!(living(7 * 24 + 25), [0, 0, 1, 1]);
}

#[test]
fn recalls_make_nothing_permanent_and_change_no_file() {
    let store = TestStore::new();
    let engine = store.engine();
    let stems: Vec<Stem> = (0..42)
        .map(|number| remember(&engine, tiered(&format!("note {number}"), Tier::Mid)))
        .collect();
    let texts = store.texts();
    // As often as you like on four days.
    for day in 0..4 {
        let engine = store.engine_at(after(day * 24));
        for recall in 0..105 {
            let stem = &stems[(recall * 4 + day as usize) % stems.len()];
            engine
                .writer
                .count_uses(&ops::recall(&engine, &[stem.as_str().to_owned()]));
        }
    }
    assert_eq!(store.texts(), texts);
    let late = store.engine_at(after(24 * 7 + 23 + 3 * 24));
    assert_eq!(
        found(&late, "note"),
        0,
        "all have ended, none has become permanent"
    );
    let long = Query {
        filter: Filter {
            tiers: vec![Tier::Long],
            visibility: Visibility::Everything,
            ..Filter::default()
        },
        ..query("note")
    };
    assert!(ops::search(&late, &long).unwrap().hits.is_empty());
    // On a fifth day it is.
    use_at(&store, &stems[0], after(4 * 24 + 1));
    let late = store.engine_at(after(24 * 365));
    assert_eq!(
        found(&late, "note"),
        0,
        "it had been used on three days at most"
    );
    for day in 0..5 {
        use_at(&store, &stems[1], after(day * 24 + 2));
    }
    let late = store.engine_at(after(24 * 365));
    assert_eq!(
        ops::search(&late, &long).unwrap().hits[0].memory.stem,
        stems[1]
    );
    assert_eq!(found(&late, "note"), 1);
    assert_eq!(store.texts(), texts);
}

#[test]
fn importance_and_confidence_are_filtered_as_of_now() {
    let store = TestStore::new();
    let stated = NewMemory {
        importance: Some(8),
        confidence: Some(0.5),
        ..new_memory("a heron")
    };
    let stem = remember(&store.engine(), stated);
    let passing = |importance: Option<u8>, confidence: Option<f64>| {
        let search = Query {
            filter: Filter {
                min_importance: importance,
                min_confidence: confidence,
                ..Filter::default()
            },
            ..query("heron")
        };
        ops::search(&store.engine(), &search).unwrap().hits.len()
    };
    assert_eq!(
        (passing(Some(8), Some(0.5)), passing(Some(9), None)),
        (1, 0)
    );
    assert_eq!(passing(None, Some(0.55)), 0);
    (0..10).for_each(|_| use_at(&store, &stem, noon()));
    assert_eq!(
        (passing(Some(9), Some(1.0)), passing(Some(10), None)),
        (1, 0)
    );
    // What states none counts as usual.
    remember(&store.engine(), new_memory("another heron"));
    assert_eq!(
        (passing(Some(5), Some(1.0)), passing(Some(6), None)),
        (2, 1)
    );
}

#[test]
fn what_has_expired_is_archived_and_comes_back_as_it_was() {
    let store = TestStore::new();
    let engine = store.engine();
    let stem = remember(&engine, tiered("a heron", Tier::Short));
    remember(&engine, tiered("a stork", Tier::Mid));
    let before = store.texts();
    let late = store.engine_at(after(8));
    let planned = ops::expire(&late, true).unwrap();
    assert_eq!(planned.moved.len(), 1);
    assert_eq!(store.texts(), before, "nothing was done yet");
    let done = ops::expire(&late, false).unwrap();
    assert_eq!(
        (done.moved[0].stem.clone(), done.failed.len()),
        (stem.clone(), 0)
    );
    assert!(ops::expire(&late, false).unwrap().moved.is_empty());
    assert_eq!(store.texts().len(), 1);
    let records = live::records_of(&late.live, &stem).unwrap();
    let last = records.last().unwrap();
    assert_eq!(
        (last.did.as_str(), last.why.as_deref()),
        ("forget", Some("expired"))
    );
    ops::restore(&late, stem.as_str()).unwrap();
    assert_eq!(store.texts(), before);
    // Its life begins anew.
    assert!(ops::expire(&late, false).unwrap().moved.is_empty());
    assert_eq!(found(&late, "heron"), 1);
    let later = store.engine_at(after(15));
    assert_eq!(ops::expire(&later, true).unwrap().moved.len(), 1);
    // A use that came in time saves it.
    use_at(&store, &stem, after(14));
    assert!(ops::expire(&later, true).unwrap().moved.len() == 1);
    use_at(&store, &stem, after(15));
    assert!(ops::expire(&later, true).unwrap().moved.is_empty());
}

#[test]
fn who_does_not_know_all_uses_archives_nothing() {
    let store = TestStore::new();
    let stem = remember(&store.engine(), tiered("a heron", Tier::Mid));
    for day in 0..5 {
        use_at(&store, &stem, after(24 * day));
    }
    let late = store.engine_at(after(24 * 30));
    assert!(ops::expire(&late, true).unwrap().moved.is_empty());
    let journal = regular_files(&store.root().join("journal")).remove(0);
    let bytes = fs::read(&journal).unwrap();
    // What has the name of a journal and cannot be read as a file.
    let other = journal.with_file_name("0123456789abcdef.jsonl");
    fs::write(&other, &bytes).unwrap();
    #[cfg(unix)]
    {
        let permissions = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(&other, permissions(0o000)).unwrap();
    }
    // A program that shares it with nobody.
    #[cfg(windows)]
    let _held = {
        use std::os::windows::fs::OpenOptionsExt;
        let mut alone = fs::OpenOptions::new();
        alone.read(true).share_mode(0).open(&other).unwrap()
    };
    if fs::read(&other).is_ok() {
        return; // Nothing keeps this user out.
    }
    assert!(ops::expire(&store.engine_at(after(24 * 30)), false).is_err());
}

#[test]
fn many_at_once_are_not_archived_unasked() {
    let store = TestStore::new();
    for number in 0..40 {
        let stem = format!("20260101_000000_aaaaaa{number:02}");
        let text = format!(
            "---\nid: {}\ntimestamp: 2026-01-01T00:00:00Z\nagent: a\nuser: u\ntopics: [t]\n\
             tier: short\n---\n\nA heron.\n",
            &stem[16..]
        );
        store.put(&format!("{stem}.md"), text);
    }
    let engine = Engine::open(store.options(), Box::new(SystemClock)).unwrap();
    let engine = Arc::new(engine);
    let _background = Background::start(&engine).unwrap();
    let heartbeat = store.state().join("heartbeat");
    until("the leader has looked at everything", || {
        memdir::files::said(&heartbeat).is_some_and(|(text, _)| text.contains("\nstate "))
    });
    assert_eq!(store.texts().len(), 40);
    assert_eq!(ops::expire(&engine, false).unwrap().moved.len(), 40);
}

#[test]
fn a_server_archives_what_has_expired() {
    let store = TestStore::new();
    let text = "---\nid: aaaaaaaa\ntimestamp: 2026-01-01T00:00:00Z\nagent: a\nuser: u\ntopics: [t]\n\
                tier: short\n---\n\nA heron.\n";
    store.put("20260101_000000_aaaaaaaa.md", text);
    let other = text
        .replace("aaaaaaaa", "bbbbbbbb")
        .replace("short", "long");
    store.put("20260101_000000_bbbbbbbb.md", other);
    let engine = Engine::open(store.options(), Box::new(SystemClock)).unwrap();
    let _background = Background::start(&Arc::new(engine)).unwrap();
    let archived = store.root().join("archive/20260101_000000_aaaaaaaa.md");
    until("it is archived", || archived.exists());
    assert_eq!(store.texts().len(), 1);
    assert_eq!(fs::read_to_string(archived).unwrap(), text);
}

#[test]
fn every_change_is_recorded_with_time_and_reason() {
    let store = TestStore::new();
    let engine = store.engine();
    engine.writer.serve("claude-code");
    let old = remember(&engine, new_memory("a heron"));
    let new = NewMemory {
        supersedes: vec![old.as_str().to_owned()],
        ..new_memory("two herons")
    };
    let new = remember(&engine, new);
    ops::forget_because(&engine, old.as_str(), Some("it flew away")).unwrap();
    ops::restore(&engine, old.as_str()).unwrap();
    ops::link(&engine, old.as_str(), new.as_str(), "elaborates").unwrap();
    let told = |stem: &Stem| -> Vec<String> {
        let records = live::records_of(&engine.live, stem).unwrap().into_iter();
        records.map(|record| record.did).collect()
    };
    assert_eq!(
        told(&old),
        ["remember", "supersede", "forget", "restore", "link"]
    );
    assert_eq!(told(&new), ["remember"]);
    let forgotten = &live::records_of(&engine.live, &old).unwrap()[2];
    assert_eq!(forgotten.client, "claude-code");
    assert_eq!(forgotten.why.as_deref(), Some("it flew away"));
    assert_eq!(forgotten.at, noon());
}

#[test]
fn a_read_only_store_counts_nothing() {
    let store = TestStore::new();
    let stem = remember(&store.engine(), new_memory("a heron"));
    let before: Vec<_> = regular_files(&store.root().join("journal"))
        .into_iter()
        .map(|path| fs::read(path).unwrap())
        .collect();
    let options = memdir::engine::Options {
        read_only: true,
        ..store.options()
    };
    let engine = Engine::open(options, crate::support::clock(noon())).unwrap();
    let recalled = ops::recall(&engine, &[stem.as_str().to_owned()]);
    engine.writer.count_uses(&recalled);
    assert!(ops::expire(&engine, false).is_err());
    let after: Vec<_> = regular_files(&store.root().join("journal"))
        .into_iter()
        .map(|path| fs::read(path).unwrap())
        .collect();
    assert_eq!(after, before);
}

#[test]
fn relations_are_seen_from_both_ends() {
    let store = TestStore::new();
    let engine = store.engine();
    let heron = remember(&engine, new_memory("the heron"));
    let stork = remember(&engine, new_memory("the stork"));
    let text = format!(
        "see [[{heron}]], memory://{} and [[Somebody]]",
        stork.short()
    );
    let note = remember(&engine, new_memory(&text));
    assert!(ops::link(&engine, stork.as_str(), heron.short(), "related-to").unwrap());
    assert!(!ops::link(&engine, stork.as_str(), heron.as_str(), "related-to").unwrap());
    assert!(ops::link(&engine, stork.as_str(), heron.as_str(), "depends-on").unwrap());
    let told = |stem: &Stem| {
        let relations = ops::relations_of(&engine, stem.as_str()).unwrap();
        let to = relations.to.into_iter();
        let to: Vec<String> = to
            .map(|r| format!("{} {}", r.relation, r.headline))
            .collect();
        let from = relations.from.into_iter();
        let from: Vec<String> = from.map(|r| format!("{} {}", r.from, r.relation)).collect();
        (to, from)
    };
    let (to, from) = told(&heron);
    assert_eq!(to, Vec::<String>::new());
    let mut wanted = vec![
        format!("{stork} depends-on"),
        format!("{stork} related-to"),
        format!("{note} mentions"),
    ];
    wanted.sort();
    let mut from = from;
    from.sort();
    assert_eq!(from, wanted);
    assert_eq!(told(&note).0, ["mentions the heron", "mentions the stork"]);
    // What is in the archive is out of sight, and back with it.
    ops::forget(&engine, heron.as_str()).unwrap();
    assert_eq!(told(&note).0, ["mentions the stork"]);
    assert_eq!(told(&stork).0, Vec::<String>::new());
    // What is called as no memory is, is told as well.
    let dangling = |engine: &Engine| {
        let dangling = ops::dangling(engine).unwrap().to.into_iter();
        let (unknown, gone): (Vec<_>, Vec<_>) =
            dangling.partition(|relation| relation.written == "Somebody");
        assert_eq!(unknown.len(), 1);
        gone
    };
    assert!(dangling(&engine).is_empty());
    ops::restore(&engine, heron.as_str()).unwrap();
    assert_eq!(told(&stork).0.len(), 2);
    // What is gone for good is reported.
    ops::forget(&engine, heron.as_str()).unwrap();
    fs::remove_file(store.root().join("archive").join(format!("{heron}.md"))).unwrap();
    let dangling = dangling(&engine);
    assert_eq!(dangling.len(), 3);
    assert!(
        dangling
            .iter()
            .all(|relation| relation.written == heron.as_str())
    );
    assert_eq!(
        ops::unlink(&engine, stork.as_str(), heron.as_str(), Some("depends-on")).unwrap(),
        1
    );
    assert_eq!(
        ops::unlink(&engine, stork.as_str(), heron.as_str(), None).unwrap(),
        1
    );
    assert_eq!(
        ops::unlink(&engine, stork.as_str(), heron.as_str(), None).unwrap(),
        0
    );
    assert!(
        !String::from_utf8(store.read(&format!("{stork}.md")))
            .unwrap()
            .contains("links")
    );
}

#[test]
fn a_link_can_say_that_one_replaces_the_other() {
    let store = TestStore::new();
    let engine = store.engine();
    let old = remember(&engine, new_memory("the heron is grey"));
    let new = remember(&engine, new_memory("the heron is white"));
    assert!(ops::link(&engine, new.as_str(), old.as_str(), "supersedes").unwrap());
    assert!(!ops::link(&engine, new.as_str(), old.as_str(), "supersedes").unwrap());
    let hits = ops::search(&engine, &query("heron")).unwrap().hits;
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0].memory.stem, new);
    assert!(ops::link(&engine, new.as_str(), new.as_str(), "elaborates").is_err());
    assert!(ops::link(&engine, new.as_str(), "0badcafe", "elaborates").is_err());
}

#[test]
fn commands_tell_of_the_life_of_a_memory() {
    let home = Home::new();
    let run = |arguments: &[&str]| {
        let output = home.command(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (
            output.status.code().unwrap(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let (_, heron, _) = run(&["remember", "--topics", "bird", "--tier", "mid", "a heron"]);
    let (_, stork, _) = run(&["remember", "--topics", "bird", "a stork"]);
    let (heron, stork) = (heron.trim(), stork.trim());
    assert_eq!(run(&["link", stork, heron, "--type", "depends-on"]).0, 0);
    assert_eq!(run(&["recall", heron]).0, 0);
    let (_, shown, _) = run(&["inspect", heron]);
    for wanted in [
        "tier mid",
        "confidence 1.00",
        "1 on 1 days",
        "depends-on this",
        "remember",
    ] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
    let (_, shown, _) = run(&["--json", "inspect", stork]);
    let document: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(document["relations"]["to"][0]["to"], heron);
    assert_eq!(document["now"]["expires"], Value::Null);
    assert_eq!(document["uses"]["count"], 0);
    assert_eq!(document["records"][1]["did"], "link");
    let (_, shown, _) = run(&["links", heron]);
    assert!(shown.contains("depends-on this"), "{shown}");
    assert_eq!(run(&["unlink", stork, heron]).0, 0);
    assert_eq!(run(&["unlink", stork, heron]).0, 1);
    assert_eq!(run(&["forget", heron, "--reason", "it flew away"]).0, 0);
    let (_, shown, _) = run(&["log", "--audit"]);
    assert!(
        shown
            .lines()
            .next()
            .unwrap()
            .contains("forget: it flew away"),
        "{shown}"
    );
    let (_, shown, _) = run(&["log", "--audit", heron, "-n", "1"]);
    assert_eq!(shown.lines().count(), 1, "{shown}");
    let (code, _, said) = run(&["gc", "--dry-run"]);
    assert_eq!(
        (code, said.contains("nothing to archive")),
        (0, true),
        "{said}"
    );
    let (_, shown, _) = run(&["--json", "gc"]);
    assert_eq!(
        shown.trim(),
        r#"{"dry_run":false,"archived":[],"errors":[],"removed":[]}"#.trim()
    );
}

#[test]
fn everything_is_the_same_after_the_index_was_made_anew() {
    let store = TestStore::new();
    let engine = store.engine();
    for (number, tier) in [Tier::Short, Tier::Mid, Tier::Long].into_iter().enumerate() {
        let stem = remember(&engine, tiered(&format!("bird {number}"), tier));
        (0..number).for_each(|day| use_at(&store, &stem, after(24 * day as i64)));
    }
    let told = |engine: &Engine| -> Vec<String> {
        let search = Query {
            kind: QueryKind::Everything,
            ..query("")
        };
        let hits = ops::search(engine, &search).unwrap().hits;
        hits.iter()
            .map(|hit| {
                format!(
                    "{} {:?}",
                    hit.name,
                    live::state_of(&engine.live, &hit.memory)
                )
            })
            .collect()
    };
    let now = after(30);
    let before = told(&store.engine_at(now));
    assert_eq!(before.len(), 2);
    fs::remove_dir_all(store.state()).unwrap();
    assert_eq!(told(&store.engine_at(now)), before);
}

#[test]
fn a_store_is_counted_as_a_whole_and_by_namespace() {
    let home = Home::new();
    let run = |arguments: &[&str]| -> Value {
        let output = home
            .command(&[&["--json"], arguments].concat())
            .output()
            .unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let remember = |arguments: &[&str]| {
        let reply = run(&[&["remember", "--topics", "bird,water"], arguments].concat());
        reply["memory_id"].as_str().unwrap().to_owned()
    };
    let heron = remember(&["--kind", "semantic", "--tier", "long", "a heron"]);
    remember(&["--kind", "semantic", "--namespace", "zoo", "a stork"]);
    remember(&["--supersedes", &heron, "two herons"]);
    remember(&[
        "--timestamp=2019-01-01",
        "--expires=2020-01-01",
        "an old egret",
    ]);
    let gone = remember(&["a crane"]);
    home.run(&["forget", &gone]).done();
    let stats = run(&["stats"]);
    let count = |key: &str| stats[key].as_u64().unwrap();
    assert_eq!(
        [
            "memories", "current", "expired", "archived", "linked", "topics"
        ]
        .map(count),
        [4, 2, 1, 1, 1, 2],
        "{stats}"
    );
    assert_eq!(stats["kinds"]["semantic"], 2);
    assert_eq!(stats["tiers"]["long"], 1);
    let zoo = run(&["stats", "--namespace", "zoo"]);
    assert_eq!(
        (&zoo["memories"], &zoo["kinds"]["semantic"]),
        (&1.into(), &1.into())
    );
    let topics = run(&["topics"]);
    assert_eq!(topics["topics"][0]["memories"], 4, "{topics}");
    let namespaces = run(&["namespaces"]);
    let names: Vec<&str> = namespaces["namespaces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"zoo"), "{namespaces}");
    let shown = home.run(&["stats"]).text();
    assert!(shown.contains("superseded 1"), "{shown}");
}

#[test]
fn what_is_described_is_listed_before_it_is_forgotten() {
    let home = Home::new();
    home.remember(&["--namespace", "zoo", "a heron"]);
    home.remember(&["--namespace", "zoo", "--tier", "mid", "a stork"]);
    home.remember(&["a crane"]);
    let live = || regular_files(&home.files()).len();
    let ran = home.run(&["forget", "--namespace", "zoo"]);
    assert_eq!((ran.code, ran.lines().len(), live()), (0, 2, 3));
    assert!(ran.stderr.contains("--yes"), "{}", ran.stderr);
    let ran = home.run(&["forget", "--namespace", "zoo", "--yes", "--dry-run"]);
    assert_eq!((ran.code, live()), (0, 3));
    let yes = [
        "forget",
        "--namespace",
        "zoo",
        "--contains",
        "stork",
        "--yes",
        "--reason",
        "flown",
    ];
    assert_eq!((home.run(&yes).lines().len(), live()), (1, 2));
    assert!(
        home.run(&["log", "--audit", "-n", "1"])
            .text()
            .contains("forget: flown")
    );
    let ran = home.run(&["forget", "--tier", "short", "--yes"]);
    assert_eq!((ran.code, live()), (0, 2), "{}", ran.stderr);
    // Both, or nothing at all, is an error.
    assert_eq!(home.run(&["forget"]).code, 2);
    assert_eq!(home.run(&["forget", "0badcafe", "--tier", "mid"]).code, 2);
    assert_eq!(live(), 2);
}

#[test]
fn the_archive_is_listed_and_a_promoted_memory_stays_out_of_it() {
    let home = Home::new();
    assert_eq!(home.run(&["archived"]).code, 1);
    let heron = home.remember(&["--tier", "short", "--expires", "2999-01-01", "a heron"]);
    let stork = home.remember(&["--tier", "mid", "a stork"]);
    home.run(&["promote", &heron]).done();
    let text = home.text_of(&heron);
    assert!(
        text.contains("tier: long") && !text.contains("expires"),
        "{text}"
    );
    assert_eq!(home.run(&["promote", "0badcafe"]).code, 2);
    home.run(&["forget", &stork, "--reason", "flown"]).done();
    let shown = home.run(&["archived"]).text();
    assert!(
        shown.contains("a stork") && shown.contains("flown"),
        "{shown}"
    );
    let listed = home.run(&["archived", "--json"]).json();
    assert_eq!(
        (&listed["archived"][0]["why"], &listed["more"]),
        (&"flown".into(), &false.into())
    );
    let told = home.run(&["log", "--audit", &heron]).text();
    assert!(told.contains("promote"), "{told}");
}

#[test]
fn an_undo_brings_back_to_life_as_well() {
    let home = Home::new();
    home.remember(&["--timestamp=2019-01-01", "--expires=2020-01-01", "a heron"]);
    assert_eq!(home.run(&["gc"]).lines().len(), 1);
    home.run(&["undo"]).done();
    assert_eq!(regular_files(&home.files()).len(), 1);
    assert_eq!(home.run(&["list"]).lines().len(), 1);
    assert!(home.run(&["gc"]).lines().is_empty());
}

#[test]
fn that_one_replaces_another_can_be_taken_back() {
    let store = TestStore::new();
    let engine = store.engine();
    let older = ops::remember(&engine, new_memory("By hand."), None)
        .unwrap()
        .stem;
    let newer = ops::remember(&engine, new_memory("With a tag."), None)
        .unwrap()
        .stem;
    let before = store.texts();
    let (from, to) = (newer.as_str(), older.as_str());
    assert!(ops::link(&engine, from, to, "supersedes").unwrap());
    assert_eq!(ops::unlink(&engine, from, to, None).unwrap(), 0);
    assert_eq!(
        ops::unlink(&engine, from, to, Some("supersedes")).unwrap(),
        1
    );
    assert_eq!(
        ops::unlink(&engine, from, to, Some("supersedes")).unwrap(),
        0
    );
    assert_eq!(store.texts(), before);
    // Also where the older one is forgotten.
    ops::link(&engine, from, to, "supersedes").unwrap();
    ops::forget(&engine, to).unwrap();
    assert_eq!(
        ops::unlink(&engine, from, to, Some("supersedes")).unwrap(),
        1
    );
}

#[test]
fn sessions_are_counted_over_all_copies_and_changes_by_their_last() {
    let store = TestStore::new();
    let engine = store.engine();
    let stem = ops::remember(&engine, new_memory("By hand."), None)
        .unwrap()
        .stem;
    assert_eq!(ops::begin_session(&engine).unwrap(), 1);
    // Another copy of the store has a journal of its own.
    fs::remove_file(store.state().join("journal-id")).unwrap();
    assert_eq!(ops::begin_session(&store.engine()).unwrap(), 2);
    assert_eq!(ops::sessions(&engine).unwrap(), 2);
    let changed = || match ops::recall(&engine, &[stem.as_str().to_owned()]).remove(0) {
        memdir::engine::Recalled::Found { memory, .. } => {
            live::state_of(&engine.live, &memory).0.changed
        }
        memdir::engine::Recalled::Failed { error, .. } => panic!("{error}"),
    };
    assert_eq!(changed(), noon());
    let later = at("2026-06-02T12:00:00Z");
    let other = store.engine_at(later);
    ops::forget(&other, stem.as_str()).unwrap();
    ops::restore(&other, stem.as_str()).unwrap();
    assert_eq!(changed(), noon());
    ops::promote(&other, stem.as_str()).unwrap();
    assert_eq!(changed(), later);
    let read_only = memdir::engine::Options {
        read_only: true,
        ..store.options()
    };
    let reader = Engine::open(read_only, clock(noon())).unwrap();
    assert_eq!(ops::begin_session(&reader).unwrap(), 2);
}

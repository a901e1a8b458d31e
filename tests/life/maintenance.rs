//! Maintenance: plans are performed whole or not at all, and what they did is taken back.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use chrono::TimeDelta;

use crate::support::program::Home;
use crate::support::{TestStore, clock, new_memory, noon, query, regular_files};
use memdir::engine::{Engine, EngineError, Proposed, live, ops, upkeep};
use memdir::lifecycle::{
    Cleanup, Compaction, Decay, Grouping, Life, Maintenance, Observations, Reflection,
};
use memdir::model::{
    Change, Filter, Kind, MetaValue, NewMemory, Patch, Stem, Tier, Timestamp, Visibility,
};

/// An episodic memory of so many days before noon.
fn episode(content: &str, days: i64) -> NewMemory {
    NewMemory {
        kind: Some(Kind::Episodic),
        timestamp: Some(Timestamp::from_utc(noon() - TimeDelta::days(days))),
        ..new_memory(content)
    }
}

fn remember(engine: &Engine, memory: NewMemory) -> Stem {
    ops::remember(engine, memory, None).unwrap().stem
}

/// Five old episodic memories of one week.
fn remember_herons(engine: &Engine) {
    for number in 0..5 {
        remember(engine, episode(&format!("heron {number}\n"), 60));
    }
}

/// Every memory with its bytes, live and forgotten.
fn everything(store: &TestStore) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut texts = store.texts();
    let archive = store.root().join("archive");
    if archive.exists() {
        let files = regular_files(&archive).into_iter();
        texts.extend(files.map(|path| (path.clone(), fs::read(path).unwrap())));
    }
    texts
}

/// Has all files of the store written so many days before noon.
fn age_files(store: &TestStore, days: i64) {
    let written = std::time::SystemTime::from(noon() - TimeDelta::days(days));
    for path in regular_files(&store.files()) {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(written).unwrap();
    }
}

fn compaction(engine: &Engine) -> Proposed {
    let nothing_observed = Observations {
        min_count: 0,
        ..Observations::default()
    };
    ops::plan_compaction(
        engine,
        &Filter::default(),
        &Compaction::default(),
        &nothing_observed,
    )
    .unwrap()
}

fn hits(engine: &Engine, text: &str) -> Vec<Stem> {
    let found = ops::search(engine, &query(text)).unwrap().hits.into_iter();
    found.map(|hit| hit.memory.stem.clone()).collect()
}

#[test]
fn old_episodes_of_a_week_become_a_summary_and_come_back() {
    let store = TestStore::new();
    let engine = store.engine();
    for number in 0..6 {
        let text = format!("On day {number} the herons moved to pond {number}. It was quiet.\n");
        remember(&engine, episode(&text, 60));
    }
    let young = remember(&engine, episode("a heron of today\n", 1));
    let important = NewMemory {
        importance: Some(9),
        ..episode("the heron that counts\n", 60)
    };
    let important = remember(&engine, important);
    let knowledge = NewMemory {
        kind: Some(Kind::Semantic),
        ..episode("herons eat fish\n", 60)
    };
    let knowledge = remember(&engine, knowledge);
    let before = everything(&store);

    let plan = compaction(&engine);
    assert_eq!(plan.plan.proposals.len(), 1, "{plan:?}");
    assert_eq!(everything(&store), before, "a plan does nothing");
    let done = ops::perform_plan(&engine, &plan).unwrap().unwrap();
    assert_eq!((done.created.len(), done.archived.len()), (1, 6));
    let summary = done.created[0].as_str().to_owned();
    let text = store.read(&format!("{summary}.md"));
    let text = String::from_utf8(text).unwrap();
    for stem in &done.archived {
        assert!(text.contains(stem.as_str()), "{text}");
    }
    assert!(text.contains("the herons moved to pond 3"), "{text}");
    let mut found = hits(&engine, "herons");
    found.sort();
    let mut wanted = vec![done.created[0].clone(), young, important, knowledge];
    wanted.sort();
    assert_eq!(found, wanted);
    assert!(compaction(&engine).plan.is_empty(), "a summary stays");

    let taken = ops::take_back(&engine, &done.id, false).unwrap();
    assert_eq!((taken.restored.len(), taken.removed.len()), (6, 1));
    assert_eq!(everything(&store), before);
    assert_eq!(hits(&engine, "herons").len(), 9);
    let again = ops::take_back(&engine, &done.id, false).unwrap_err();
    assert!(again.to_string().contains("already"), "{again}");
}

#[test]
fn a_thousand_compacted_memories_are_as_before_when_that_is_undone() {
    let store = TestStore::new();
    let engine = store.engine();
    for number in 0..1_000 {
        let text = format!(
            "Note {number}: sensor {} said {}.\n",
            number % 7,
            number * 3
        );
        remember(&engine, episode(&text, 40 + number % 30));
    }
    let before = everything(&store);
    let done = ops::perform_plan(&engine, &compaction(&engine))
        .unwrap()
        .unwrap();
    assert_eq!(done.archived.len(), 1_000);
    assert!(done.created.len() >= 10);
    assert_eq!(store.texts().len(), done.created.len());
    ops::take_back(&engine, &done.id, false).unwrap();
    assert_eq!(everything(&store), before);
}

#[test]
fn a_plan_is_performed_whole_or_not_at_all() {
    let store = TestStore::new();
    let engine = store.engine();
    let mut stems = Vec::new();
    for number in 0..5 {
        stems.push(remember(&engine, episode(&format!("heron {number}\n"), 60)));
    }
    let plan = compaction(&engine);
    // By now the archive holds another memory of the name of the last one.
    let archive = store.root().join("archive");
    fs::create_dir_all(&archive).unwrap();
    let in_the_way = archive.join(format!("{}.md", stems[4]));
    fs::write(&in_the_way, "another one\n").unwrap();
    let before = everything(&store);
    let error = ops::perform_plan(&engine, &plan).unwrap_err();
    assert!(matches!(error, EngineError::Files(_)), "{error}");
    assert_eq!(everything(&store), before);
    assert!(ops::plans(&engine).unwrap().is_empty());
    fs::remove_file(in_the_way).unwrap();

    // Somebody has changed one since the plan was made.
    let name = format!("{}.md", stems[2]);
    let text = String::from_utf8(store.read(&name)).unwrap();
    store.put(&name, text + "and a stork\n");
    let before = everything(&store);
    let error = ops::perform_plan(&engine, &plan).unwrap_err().to_string();
    assert!(error.contains(&name), "{error}");
    assert_eq!(everything(&store), before);
}

#[test]
fn what_was_changed_since_keeps_a_plan_from_being_taken_back() {
    let store = TestStore::new();
    let engine = store.engine();
    remember_herons(&engine);
    let done = ops::perform_plan(&engine, &compaction(&engine))
        .unwrap()
        .unwrap();
    let name = format!("{}.md", done.created[0]);
    let text = String::from_utf8(store.read(&name)).unwrap();
    store.put(&name, text.clone() + "- and a stork\n");
    let before = everything(&store);
    let error = ops::take_back(&engine, &done.id, false)
        .unwrap_err()
        .to_string();
    assert!(error.contains(&name), "{error}");
    assert_eq!(everything(&store), before);
    store.put(&name, text);
    // One that somebody has restored already is no obstacle.
    ops::restore(&engine, done.archived[0].as_str()).unwrap();
    ops::take_back(&engine, &done.id, false).unwrap();
    assert_eq!(store.texts().len(), 5);
}

#[test]
fn a_purge_leaves_no_text_in_the_records_of_plans() {
    let store = TestStore::new();
    let engine = store.engine();
    remember_herons(&engine);
    let other = ops::perform_plan(&engine, &compaction(&engine))
        .unwrap()
        .unwrap();
    for number in 0..5 {
        remember(&engine, episode(&format!("stork {number}\n"), 60));
    }
    let done = ops::perform_plan(&engine, &compaction(&engine))
        .unwrap()
        .unwrap();
    ops::purge(&engine, done.archived[0].as_str()).unwrap();
    let plans = store.root().join(".memdir/plans");
    assert!(!plans.join(format!("{}.json", done.id)).exists());
    assert!(plans.join(format!("{}.json", other.id)).exists());
    assert!(ops::take_back(&engine, &done.id, false).is_err());
}

#[test]
fn a_plan_that_was_interrupted_is_taken_back_by_the_next_process() {
    let store = TestStore::new();
    let engine = store.engine();
    remember_herons(&engine);
    let before = everything(&store);
    let done = ops::perform_plan(&engine, &compaction(&engine))
        .unwrap()
        .unwrap();
    // As if the process had ended before the last of its steps.
    let record = store.state().join(format!("plans/{}.json", done.id));
    let text = fs::read_to_string(&record).unwrap();
    fs::write(&record, text.replace("\"done\"", "\"begun\"")).unwrap();
    let archived = format!("{}.md", done.archived[4]);
    fs::rename(
        store.root().join("archive").join(&archived),
        store.files().join(&archived),
    )
    .unwrap();
    let next = store.engine();
    let taken = ops::recover_plans(&next).unwrap();
    assert_eq!(taken.len(), 1);
    assert_eq!(taken[0].restored.len(), 4);
    assert_eq!(everything(&store), before);
    assert!(ops::recover_plans(&next).unwrap().is_empty());
}

#[test]
fn observations_that_repeat_become_knowledge_and_stay() {
    let store = TestStore::new();
    let engine = store.engine();
    let fact = "The staging cluster runs out of disk whenever the nightly backup overlaps a deploy";
    let mut observed = Vec::new();
    for (number, end) in ["", " of atlas", " again"].iter().enumerate() {
        observed.push(remember(
            &engine,
            episode(&format!("{fact}{end}.\n"), number as i64),
        ));
    }
    remember(&engine, episode("Mira likes herons.\n", 1));
    let plan = |engine: &Engine| {
        let everything = Filter::default();
        ops::plan_compaction(
            engine,
            &everything,
            &Compaction::default(),
            &Observations::default(),
        )
        .unwrap()
    };
    let done = ops::perform_plan(&engine, &plan(&engine)).unwrap().unwrap();
    assert_eq!((done.created.len(), done.archived.len()), (1, 0));
    let recalled = ops::search(&engine, &query("staging cluster disk")).unwrap();
    let knowledge = recalled
        .hits
        .iter()
        .find(|hit| hit.memory.kind == Some(Kind::Semantic));
    let knowledge = &knowledge.unwrap().memory;
    let linked: Vec<&str> = knowledge
        .links
        .iter()
        .map(|link| link.to.as_str())
        .collect();
    assert!(observed.iter().all(|stem| linked.contains(&stem.as_str())));
    assert!(plan(&engine).plan.is_empty(), "what is known is known");
}

#[test]
fn named_memories_become_one_and_the_text_may_be_given() {
    let store = TestStore::new();
    let engine = store.engine();
    let one = NewMemory {
        timestamp: Some(Timestamp::from_utc(noon() - TimeDelta::hours(1))),
        ..new_memory("Atlas listens on 8080.\n")
    };
    let one = remember(&engine, one);
    let other = NewMemory {
        topics: vec!["port".to_owned()],
        tier: Some(Tier::Short),
        importance: Some(7),
        ..new_memory("Atlas is behind a proxy.\n")
    };
    let other = remember(&engine, other);
    let before = everything(&store);
    let ids = [one.as_str().to_owned(), other.short().to_owned()];
    let plan = ops::plan_consolidation(&engine, &ids, Some("Atlas"), 2_000).unwrap();
    let done = ops::perform_plan(&engine, &plan).unwrap().unwrap();
    let made = ops::recall(&engine, &[done.created[0].as_str().to_owned()]);
    let memdir::engine::Recalled::Found { memory, .. } = &made[0] else {
        panic!("{made:?}");
    };
    assert_eq!(
        memory.content,
        "Atlas listens on 8080.\n\nAtlas is behind a proxy.\n"
    );
    assert_eq!(
        (memory.tier, memory.importance),
        (Some(Tier::Long), Some(7))
    );
    assert_eq!(memory.title.as_deref(), Some("Atlas"));
    ops::take_back(&engine, &done.id, false).unwrap();
    assert_eq!(everything(&store), before);
    let alone = ops::plan_consolidation(&engine, &ids[..1], None, 2_000).unwrap_err();
    assert!(alone.to_string().contains("from 2 to"), "{alone}");
    let twice = [ids[0].clone(), ids[0].clone()];
    assert!(ops::plan_consolidation(&engine, &twice, None, 2_000).is_err());
}

#[test]
fn memories_of_one_topic_become_one() {
    let store = TestStore::new();
    let engine = store.engine();
    let about = |topic: &str, content: &str, tier: Option<Tier>| NewMemory {
        topics: vec![topic.to_owned(), "all".to_owned()],
        tier,
        ..new_memory(content)
    };
    for number in 0..3 {
        remember(
            &engine,
            about("atlas", &format!("atlas {number}\n"), Some(Tier::Short)),
        );
        remember(&engine, about("heron", &format!("heron {number}\n"), None));
    }
    remember(&engine, about("stork", "one stork\n", None));
    let grouping = |short_only| Grouping {
        short_only,
        min_count: 3,
        budget: 2_000,
    };
    let plan = |short_only| {
        let plan = ops::plan_grouping(&engine, &Filter::default(), &grouping(short_only));
        plan.unwrap()
    };
    assert_eq!(plan(false).plan.proposals.len(), 2);
    let done = ops::perform_plan(&engine, &plan(true)).unwrap().unwrap();
    assert_eq!(done.archived.len(), 3);
    assert_eq!(plan(true).plan.proposals.len(), 0);
}

#[test]
fn only_what_is_doubted_or_superseded_and_unused_is_cleaned_up() {
    let store = TestStore::new();
    let life = Life {
        decay: Some(Decay {
            interval: TimeDelta::days(7),
            episodic: 0.5,
            others: 0.99,
        }),
        ..Life::default()
    };
    let options = memdir::engine::Options {
        life,
        ..store.options()
    };
    let engine = Engine::open(options, clock(noon())).unwrap();
    let doubted = remember(&engine, episode("an old rumour\n", 120));
    remember(&engine, episode("a young rumour\n", 20));
    let used = remember(&engine, episode("a rumour that is asked for\n", 120));
    engine
        .writer
        .count_uses(&ops::recall(&engine, &[used.as_str().to_owned()]));
    let old = NewMemory {
        kind: Some(Kind::Semantic),
        ..episode("the port is 8080\n", 120)
    };
    let old = remember(&engine, old);
    let new = NewMemory {
        supersedes: vec![old.as_str().to_owned()],
        ..new_memory("the port is 9090\n")
    };
    remember(&engine, new);
    let cleanup = || ops::plan_cleanup(&engine, &Filter::default(), &Cleanup::default());
    // The files are new, as those of a copy are; what they say is old.
    let plan = cleanup();
    let done = ops::perform_plan(&engine, &plan.unwrap()).unwrap().unwrap();
    let mut archived = done.archived.clone();
    archived.sort();
    let mut wanted = vec![doubted, old];
    wanted.sort();
    assert_eq!(archived, wanted);
}

#[test]
fn a_cleanup_brings_nothing_back_and_takes_nothing_that_is_current_or_pinned() {
    let store = TestStore::new();
    let engine = store.engine();
    let aged = |content: &str, supersedes: &[&Stem]| NewMemory {
        kind: Some(Kind::Semantic),
        supersedes: supersedes
            .iter()
            .map(|stem| stem.as_str().to_owned())
            .collect(),
        ..episode(content, 120)
    };
    // Two are superseded, one after the other.
    let first = remember(&engine, aged("the port is 1111\n", &[]));
    let second = remember(&engine, aged("the port is 2222\n", &[&first]));
    remember(&engine, aged("the port is 3333\n", &[&second]));
    engine
        .writer
        .count_uses(&ops::recall(&engine, &[first.as_str().to_owned()]));
    // What superseded it was forgotten.
    let current = remember(&engine, aged("the host is oak\n", &[]));
    let gone = remember(&engine, aged("the host is alder\n", &[&current]));
    ops::forget(&engine, gone.as_str()).unwrap();
    let plan = ops::plan_cleanup(&engine, &Filter::default(), &Cleanup::default()).unwrap();
    assert_eq!(ops::perform_plan(&engine, &plan).unwrap(), None);
    assert_eq!(hits(&engine, "port").len(), 1);
    assert_eq!(hits(&engine, "host"), [current]);
    // Hardly believed, but what it superseded would be found again.
    let doubted = NewMemory {
        confidence: Some(0.01),
        ..aged("the lamp is green\n", &[])
    };
    let blue = remember(&engine, aged("the lamp is blue\n", &[]));
    engine
        .writer
        .count_uses(&ops::recall(&engine, &[blue.as_str().to_owned()]));
    let green = remember(
        &engine,
        NewMemory {
            supersedes: vec![blue.as_str().to_owned()],
            ..doubted
        },
    );
    let plan = ops::plan_cleanup(&engine, &Filter::default(), &Cleanup::default()).unwrap();
    assert_eq!(ops::perform_plan(&engine, &plan).unwrap(), None);
    assert_eq!(hits(&engine, "lamp"), [green]);
    // What the brief shows always counts no use by that.
    let with = |key: &str, value: MetaValue| NewMemory {
        importance: Some(2),
        metadata: vec![(key.to_owned(), value)],
        ..episode("never on Fridays\n", 60)
    };
    let pinned = remember(&engine, with("pinned", MetaValue::Bool(true)));
    let standard = remember(
        &engine,
        with("standard_of", MetaValue::Text("atlas".to_owned())),
    );
    let reflection = Reflection::default();
    let (plan, _) = ops::plan_reflection(&engine, &Filter::default(), &reflection).unwrap();
    let archived = plan.plan.proposals.iter().flat_map(|one| &one.archive);
    assert!(
        archived
            .clone()
            .all(|stem| *stem != pinned && *stem != standard),
        "{plan:?}"
    );
}

#[test]
fn two_that_supersede_each_other_are_both_found() {
    let store = TestStore::new();
    let engine = store.engine();
    let one = remember(&engine, new_memory("the port is 1111\n"));
    let other = remember(&engine, new_memory("the port is 2222\n"));
    // As two machines decided, one so and one so.
    for (stem, newer) in [(&one, &other), (&other, &one)] {
        let name = format!("{stem}.md");
        let text = String::from_utf8(store.read(&name)).unwrap();
        let keys = format!("superseded_by: {newer}\nsupersedes: [{newer}]\nagent:");
        store.put(&name, text.replacen("agent:", &keys, 1));
    }
    assert_eq!(hits(&engine, "port").len(), 2);
    // One that a memory outside of them supersedes is not.
    let last = remember(&engine, new_memory("the port is 4444\n"));
    let name = format!("{last}.md");
    let text = String::from_utf8(store.read(&name)).unwrap();
    let keys = format!("supersedes: [{other}]\nagent:");
    store.put(&name, text.replacen("agent:", &keys, 1));
    // Nor is one that is superseded by one of them.
    let third = remember(&engine, new_memory("the port is 3333\n"));
    let change = Change {
        superseded_by: Patch::Set(one.as_str().to_owned()),
        ..Change::default()
    };
    ops::update(&engine, third.as_str(), &change).unwrap();
    let mut found = hits(&engine, "port");
    found.sort();
    let mut wanted = vec![one, last];
    wanted.sort();
    assert_eq!(found, wanted);
}

#[test]
fn a_look_back_proposes_and_changes_only_when_asked() {
    let store = TestStore::new();
    let engine = store.engine();
    let stated = |content: &str, source: Option<&str>, confidence| NewMemory {
        source: source.map(str::to_owned),
        confidence: Some(confidence),
        timestamp: Some(Timestamp::from_utc(noon() - TimeDelta::days(10))),
        ..new_memory(content)
    };
    let said = remember(&engine, stated("said by Mira\n", Some("user-stated"), 0.6));
    let unused = remember(&engine, stated("never asked for\n", None, 0.7));
    let proven = remember(&engine, stated("asked for often\n", None, 0.5));
    for _ in 0..5 {
        engine
            .writer
            .count_uses(&ops::recall(&engine, &[proven.as_str().to_owned()]));
    }
    let unimportant = NewMemory {
        importance: Some(2),
        ..stated("of no interest\n", None, 0.7)
    };
    let unimportant = remember(&engine, unimportant);
    let before = everything(&store);
    age_files(&store, 10);
    let reflect = || {
        let found = ops::plan_reflection(&engine, &Filter::default(), &Reflection::default());
        found.unwrap()
    };
    let (plan, stale) = reflect();
    assert_eq!(stale.len(), 3);
    assert_eq!(everything(&store), before);
    let done = ops::perform_plan(&engine, &plan).unwrap().unwrap();
    assert_eq!(done.archived, [unimportant]);
    let confidence = |stem: &Stem| {
        let everything = Filter {
            stems: Some(vec![stem.clone()]),
            visibility: Visibility::Everything,
            ..Filter::default()
        };
        let search = memdir::engine::Query {
            kind: memdir::engine::QueryKind::Everything,
            filter: everything,
            ..query("")
        };
        ops::search(&engine, &search).unwrap().hits[0]
            .memory
            .confidence
    };
    assert_eq!(confidence(&said), Some(0.9));
    assert_eq!(confidence(&unused), Some(0.55));
    assert_eq!(confidence(&proven), Some(0.8));
    assert!(reflect().0.plan.is_empty(), "one look is enough");
    ops::take_back(&engine, &done.id, false).unwrap();
    assert_eq!(everything(&store), before);
}

#[test]
fn a_server_maintains_by_its_schedule_alone() {
    let store = TestStore::new();
    let open = |schedule, now| {
        let options = memdir::engine::Options {
            maintenance: Maintenance {
                schedule,
                ..Maintenance::default()
            },
            ..store.options()
        };
        Engine::open(options, clock(now)).unwrap()
    };
    let engine = open(None, noon());
    remember_herons(&engine);
    assert!(!upkeep::maintain_if_due(&engine).unwrap());
    assert_eq!(store.texts().len(), 5);
    let week = Some(TimeDelta::days(7));
    assert!(upkeep::maintain_if_due(&open(week, noon())).unwrap());
    assert_eq!(store.texts().len(), 1);
    for number in 0..5 {
        remember(&engine, episode(&format!("stork {number}\n"), 60));
    }
    let soon = open(week, noon() + TimeDelta::days(6));
    assert!(!upkeep::maintain_if_due(&soon).unwrap());
    assert_eq!(store.texts().len(), 6);
    let later = open(week, noon() + TimeDelta::days(8));
    assert!(upkeep::maintain_if_due(&later).unwrap());
    assert_eq!(store.texts().len(), 2);
}

#[test]
fn commands_show_a_plan_perform_it_and_take_it_back() {
    let home = Home::new();
    for number in 0..5 {
        let text = format!("Heron {number} was seen at pond {number}.");
        home.remember(&["--kind", "episodic", "--timestamp", "2026-01-07", &text]);
    }
    let shown = home.run(&["compact", "--dry-run", "--json"]).json();
    assert_eq!(
        shown["proposals"][0]["archive"].as_array().unwrap().len(),
        5
    );
    assert_eq!(
        home.run(&["list", "--json"]).json()["memories"]
            .as_array()
            .unwrap()
            .len(),
        5
    );
    let done = home.run(&["compact", "--json"]).json();
    let plan = done["plan"].as_str().unwrap();
    assert_eq!(
        home.run(&["list", "--json"]).json()["memories"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let plans = home.run(&["plans", "--json"]).json();
    assert_eq!(plans["plans"][0]["id"], plan);
    assert!(home.run(&["log", "--audit"]).text().contains("compact"));
    assert!(home.run(&["archived"]).text().contains(plan));
    let undone = home.run(&["undo", plan, "--json"]).json();
    assert_eq!(undone["restored"].as_array().unwrap().len(), 5);
    assert_eq!(
        home.run(&["list", "--json"]).json()["memories"]
            .as_array()
            .unwrap()
            .len(),
        5
    );
    home.run(&["undo", plan]).complains(2, &["already"]);
    home.run(&["undo", "plan-0a0a0a0a"])
        .complains(2, &["no plan"]);
    home.run(&["compact", "--older-than", "soon"])
        .complains(2, &["soon", "30d"]);
}

#[test]
fn a_plan_is_one_commit_that_git_takes_back_too() {
    let home = Home::new();
    for number in 0..5 {
        let text = format!("Heron {number} was seen at pond {number}.");
        home.remember(&["--kind", "episodic", "--timestamp", "2026-01-07", &text]);
    }
    let commits = |home: &Home| {
        home.run(&["log", "--json"]).json()["commits"]
            .as_array()
            .unwrap()
            .len()
    };
    let before = commits(&home);
    home.run(&["compact"]).done();
    assert_eq!(commits(&home), before + 1);
    home.run(&["undo"]).done();
    let listed = home.run(&["list", "--json"]).json();
    assert_eq!(listed["memories"].as_array().unwrap().len(), 5);
}

#[test]
fn confidence_falls_by_the_time_however_often_it_is_stated() {
    let life = || Life {
        decay: Some(Decay::default()),
        ..Life::default()
    };
    let confidence = |steps: &[i64]| {
        let store = TestStore::new();
        let stem = remember(&store.engine(), episode("a heron\n", 0));
        let mut plans = Vec::new();
        for days in steps {
            let options = memdir::engine::Options {
                life: life(),
                ..store.options()
            };
            let engine = Engine::open(options, clock(noon() + TimeDelta::days(*days))).unwrap();
            let used = [stem.as_str().to_owned()];
            if *days == 40 {
                engine.writer.count_uses(&ops::recall(&engine, &used));
            }
            let plan = ops::plan_decay(&engine, &Filter::default()).unwrap();
            plans.extend(ops::perform_plan(&engine, &plan).unwrap());
        }
        let options = memdir::engine::Options {
            life: life(),
            ..store.options()
        };
        let engine = Engine::open(options, clock(noon() + TimeDelta::days(70))).unwrap();
        let found = ops::search(&engine, &query("heron")).unwrap();
        let as_it_is = live::state_of(&engine.live, &found.hits[0].memory)
            .0
            .confidence;
        // Taken back, last first, it is as if nothing had been stated.
        for plan in plans.iter().rev() {
            ops::take_back(&engine, &plan.id, false).unwrap();
        }
        let found = ops::search(&engine, &query("heron")).unwrap();
        (
            as_it_is,
            live::state_of(&engine.live, &found.hits[0].memory)
                .0
                .confidence,
        )
    };
    let near = |one: f64, other: f64| (one - other).abs() < 0.001;
    let once = 0.95_f64.powi(10);
    for steps in [
        &[][..],
        &[35],
        &[7, 14, 21, 28, 35, 42, 69, 70],
        &[70, 70, 70],
    ] {
        let (now, back) = confidence(steps);
        assert!(
            near(now, once) && near(back, once),
            "{steps:?}: {now} {back} {once}"
        );
    }
    // A use counts once, whether it is settled or not.
    let (settled, back) = confidence(&[40, 50]);
    assert!(
        settled > once + 0.02 && near(settled, back),
        "{settled} {back}"
    );
}

#[test]
fn what_sources_had_replaced_stays_replaced() {
    let store = TestStore::new();
    let engine = store.engine();
    let old = remember(&engine, new_memory("Postgres 12 on alder\n"));
    let older = remember(&engine, new_memory("Postgres 9 on oak\n"));
    let new = NewMemory {
        supersedes: vec![old.as_str().to_owned()],
        ..new_memory("Postgres 16 on birch\n")
    };
    let new = remember(&engine, new);
    // Only the oldest one says that it was replaced.
    let name = format!("{older}.md");
    let text = String::from_utf8(store.read(&name)).unwrap();
    store.put(
        &name,
        text.replacen("agent:", &format!("superseded_by: {new}\nagent:"), 1),
    );
    let other = remember(&engine, new_memory("Postgres is on port 5433\n"));
    assert_eq!(hits(&engine, "postgres").len(), 2);
    let ids = [new.as_str().to_owned(), other.as_str().to_owned()];
    let plan = ops::plan_consolidation(&engine, &ids, None, 2_000).unwrap();
    let done = ops::perform_plan(&engine, &plan).unwrap().unwrap();
    assert_eq!(hits(&engine, "postgres"), done.created);
}

#[test]
fn a_record_of_another_store_or_of_other_files_is_none() {
    let store = TestStore::new();
    let engine = store.engine();
    remember_herons(&engine);
    let done = ops::perform_plan(&engine, &compaction(&engine))
        .unwrap()
        .unwrap();
    let record = store.state().join(format!("plans/{}.json", done.id));
    let text = fs::read_to_string(&record).unwrap();
    let victim = store.root().join("victim.md");
    fs::write(&victim, "victim").unwrap();
    let place = text
        .split("\"place\":")
        .nth(1)
        .unwrap()
        .split(",\"steps")
        .next()
        .unwrap();
    let evil = |place: &str, name: &str| {
        format!(
            "{{\"version\":1,\"id\":\"plan-a0000000\",\"at\":\"2026-01-01T00:00:00Z\",\
             \"operation\":\"compact\",\"state\":\"begun\",\"place\":{place},\"steps\":\
             [{{\"step\":\"create\",\"name\":\"{name}\",\"text\":\"victim\"}}]}}"
        )
    };
    let path = store.state().join("plans/plan-a0000000.json");
    for name in [
        "../victim.md",
        "a/../../victim.md",
        "/victim.md",
        "a//b.md",
        ".git/b.md",
    ] {
        fs::write(&path, evil(place, name)).unwrap();
        assert!(ops::recover_plans(&engine).unwrap().is_empty(), "{name}");
    }
    let live = format!("{}.md", done.created[0]);
    for place in ["\"\"", "\"1:/elsewhere\""] {
        fs::write(&path, evil(place, &live)).unwrap();
        assert!(ops::recover_plans(&engine).unwrap().is_empty(), "{place}");
    }
    assert!(victim.exists() && store.files().join(live).exists());
    // A copy of the whole store has no plans of its own.
    let copy = store.root().join("copy");
    fs::create_dir_all(copy.join(".memdir/plans")).unwrap();
    fs::create_dir(copy.join("files")).unwrap();
    fs::copy(
        &record,
        copy.join(format!(".memdir/plans/{}.json", done.id)),
    )
    .unwrap();
    let options = memdir::engine::Options {
        root: copy,
        ..store.options()
    };
    let other = Engine::open(options, clock(noon())).unwrap();
    assert!(ops::plans(&other).unwrap().is_empty());
    assert!(ops::take_back(&other, &done.id, false).is_err());
}

#[test]
fn a_summary_stays_until_its_sources_are_back() {
    let store = TestStore::new();
    let engine = store.engine();
    remember_herons(&engine);
    let done = ops::perform_plan(&engine, &compaction(&engine))
        .unwrap()
        .unwrap();
    let record = store.state().join(format!("plans/{}.json", done.id));
    let text = fs::read_to_string(&record).unwrap();
    fs::write(&record, text.replace("\"done\"", "\"begun\"")).unwrap();
    let archive = store.root().join("archive");
    let changed = archive.join(format!("{}.md", done.archived[0]));
    let text = fs::read_to_string(&changed).unwrap().replace('\n', "\r\n");
    fs::write(&changed, text).unwrap();
    // One is out of reach.
    let gone = archive.join(format!("{}.md", done.archived[1]));
    let aside = store.root().join("aside.md");
    fs::rename(&gone, &aside).unwrap();
    let taken = ops::recover_plans(&engine).unwrap();
    assert_eq!((taken[0].restored.len(), taken[0].removed.len()), (4, 0));
    assert!(
        store
            .files()
            .join(format!("{}.md", done.created[0]))
            .exists()
    );
    fs::rename(&aside, &gone).unwrap();
    let taken = ops::recover_plans(&engine).unwrap();
    assert_eq!((taken[0].restored.len(), taken[0].removed.len()), (1, 1));
    assert_eq!(store.texts().len(), 5);
}

#[test]
fn what_was_brought_back_is_not_taken_again_at_once() {
    let store = TestStore::new();
    let engine = store.engine();
    remember_herons(&engine);
    let done = ops::perform_plan(&engine, &compaction(&engine))
        .unwrap()
        .unwrap();
    ops::take_back(&engine, &done.id, false).unwrap();
    assert!(compaction(&engine).plan.is_empty());
    let later = store.engine_at(noon() + TimeDelta::days(31));
    assert_eq!(compaction(&later).plan.proposals.len(), 1);
}

#[test]
fn what_cannot_be_done_does_not_hinder_the_rest() {
    let store = TestStore::new();
    let engine = store.engine();
    let mut stems = Vec::new();
    for number in 0..10 {
        let days = if number < 5 { 60 } else { 90 };
        stems.push(remember(
            &engine,
            episode(&format!("heron {number}\n"), days),
        ));
    }
    let archive = store.root().join("archive");
    fs::create_dir(&archive).unwrap();
    fs::write(archive.join(format!("{}.md", stems[0])), "in the way\n").unwrap();
    let plan = compaction(&engine);
    assert_eq!((plan.plan.proposals.len(), plan.left_out.len()), (1, 1));
    let done = ops::perform_plan(&engine, &plan).unwrap().unwrap();
    assert_eq!(done.archived.len(), 5);
    // A damaged one is named, not passed over.
    store.put("20260101_000000_aaaaaaaa.md", "---\nid: aaaaaaaa\nno end\n");
    let ids = ["aaaaaaaa".to_owned(), stems[1].as_str().to_owned()];
    let error = ops::plan_consolidation(&engine, &ids, None, 2_000)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("aaaaaaaa") && error.contains("verify"),
        "{error}"
    );
}

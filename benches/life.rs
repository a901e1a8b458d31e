//! What it costs to count, list, use and end memories.
//!
//! `cargo bench --bench life -- [SIZE]`, 10,000 memories if none is given, a tenth of which have
//! ended. Prints processor time, of this process with all its threads. That 10,000 recalls change
//! nothing but the journal is looked at, too; it fails if they do.

#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use memdir::clock::{Clock, SystemClock};
use memdir::engine::{Engine, Options, Query, live, ops};
use memdir::lifecycle::WritePolicy;
use memdir::model::{Filter, NewMemory};

const RECALLS: usize = 10_000;
/// What is quick is done so often.
const TIMES: u32 = 200;
const NAMESPACES: usize = 12;

fn main() {
    let sizes = std::env::args().filter_map(|argument| argument.parse().ok());
    let size: usize = sizes.min().unwrap_or(10_000);
    let folder = tempfile::tempdir().expect("a folder");
    let ended = size / 10;
    lay_out(folder.path(), size, ended);
    let engine = open(folder.path());
    let (_, indexing) =
        measured(|| live::reindex(&engine.live, false, &mut |_| {}).expect("indexed"));
    live::settle(&engine.live, false).expect("settled");
    println!("{size} memories, {ended} of which have ended; indexed in {indexing:?}");

    let everything = Filter::default();
    let list = Query::everything(everything.clone(), 50);
    each("stats", || {
        drop(ops::stats(&engine, &everything).expect("counted"));
    });
    each("list of 50", || {
        drop(ops::search(&engine, &list).expect("listed"));
    });
    each("namespaces", || {
        drop(ops::facet(&engine, "namespace").expect("counted"));
    });

    // As an agent says it: what is told of the build of one project may speak against another's.
    for (what, policy) in [
        ("remember", WritePolicy::plain()),
        (
            "remember, with a look for contradictions",
            WritePolicy::default(),
        ),
    ] {
        let number = Cell::new(0);
        each(what, || {
            number.set(number.get() + 1);
            let memory = NewMemory {
                agent: "bench".to_owned(),
                user: "mira".to_owned(),
                topics: vec!["all".to_owned()],
                namespace: Some(format!("project{}", number.get() % NAMESPACES)),
                content: format!("Note {}: the build took a minute.\n", number.get()),
                ..NewMemory::default()
            };
            ops::remember_as(&engine, memory, None, &policy).expect("written");
        });
    }

    let before = texts(folder.path());
    let stems = before.keys().filter_map(|path| path.file_stem()?.to_str());
    let stems: Vec<String> = stems.map(str::to_owned).cycle().take(RECALLS).collect();
    let ((), recalling) = measured(|| {
        for stem in &stems {
            let recalled = ops::recall(&engine, std::slice::from_ref(stem));
            engine.writer.count_uses(&recalled);
        }
    });
    println!("{RECALLS} recalls, each counted: {recalling:?}");
    assert_eq!(texts(folder.path()), before, "a recall changed a file");

    // Who was just used lives a little longer.
    drop(engine);
    fs::remove_dir_all(folder.path().join("journal")).expect("there is a journal");
    let engine = open(folder.path());
    let _ = ops::stats(&engine, &everything);
    let (archived, ending) = measured(|| ops::expire(&engine, false).expect("archived"));
    println!("gc that archives {}: {ending:?}", archived.moved.len());
    assert_eq!(archived.moved.len(), ended);
}

fn open(root: &Path) -> Engine {
    let options = Options {
        secrets: memdir::secrets::Policy::Warn,
        ..Options::new(root)
    };
    Engine::open(options, Box::new(SystemClock)).expect("a store")
}

/// Writes the files of a store, as any program may.
fn lay_out(root: &Path, size: usize, ended: usize) {
    let files = root.join("files");
    fs::create_dir(&files).expect("a folder");
    let now = SystemClock.now();
    for number in 0..size {
        let age = chrono::TimeDelta::minutes(10 * number as i64) + chrono::TimeDelta::days(2);
        let at = now - age;
        let id = format!("a{number:07x}");
        let tier = if number < ended { "tier: short\n" } else { "" };
        let namespace = number % NAMESPACES;
        let text = format!(
            "---\nid: {id}\ntimestamp: {}\nagent: bench\nuser: mira\n\
             topics: [topic{}, all]\nnamespace: project{namespace}\n{tier}---\n\n\
             Note {number}: the build of project {namespace} took {} seconds.\n",
            at.to_rfc3339(),
            number % 40,
            number % 97,
        );
        let name = format!("{}_{id}.md", at.format("%Y%m%d_%H%M%S"));
        fs::write(files.join(name), text).expect("written");
    }
}

fn texts(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(root.join("files")).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .map(|path| (path.clone(), fs::read(path).expect("read")))
        .collect()
}

fn each(what: &str, act: impl Fn()) {
    act();
    let ((), all) = measured(|| (0..TIMES).for_each(|_| act()));
    println!("{what}: {:?}", all / TIMES);
}

/// What `act` returns, and the processor time that it took.
fn measured<T>(act: impl FnOnce() -> T) -> (T, Duration) {
    let begun = processor_time();
    let done = act();
    (done, processor_time() - begun)
}

#[cfg(unix)]
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}

#[cfg(not(unix))]
fn processor_time() -> Duration {
    // Without a clock of the process, the wall's has to do.
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed();
    since.expect("it is later than 1970")
}

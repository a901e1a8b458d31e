//! Tries many orders in which processes that change one memory can act, and end.
//!
//! Each actor is a thread that stops before every disk operation ([`step`]) until it is given its
//! turn; whose turn it is, and who is killed there, is drawn at random. The code is the real one,
//! on a real folder. A drawn order that fails is named by its number, and can be run alone.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::files::storage::{Storage, WritableStorage};
use crate::files::{FilesError, Place, Replaced, Store, disk};

const NAME: &str = "20260101_000000_aaaaaaaa.md";
/// Orders that every run of the tests tries; `MEMDIR_SCHEDULES` asks for another number.
const SCHEDULES: u64 = 250;

thread_local! {
    static ACTOR: RefCell<Option<(Arc<Stage>, usize)>> = const { RefCell::new(None) };
}

/// Waits for this actor's turn; does nothing outside of these tests.
pub(in crate::files) fn step() {
    let actor = ACTOR.with_borrow(Clone::clone);
    if let Some((stage, number)) = actor {
        stage.wait(number);
    }
}

/// Payload with which a killed actor unwinds.
struct Killed;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Waits,
    Acts,
    IsKilled,
    Ended,
}

/// Lets one actor act at a time.
struct Stage {
    folder: PathBuf,
    turns: Mutex<Vec<Turn>>,
    changed: Condvar,
}

impl Stage {
    fn wait(&self, number: usize) {
        let mut turns = self.turns.lock().unwrap();
        turns[number] = Turn::Waits;
        self.changed.notify_all();
        let turns = self
            .changed
            .wait_while(turns, |turns| turns[number] == Turn::Waits)
            .unwrap();
        if turns[number] == Turn::IsKilled {
            drop(turns);
            // The dead delete no temporary files; unwinding would.
            hide_temps(&self.folder);
            ACTOR.set(None);
            resume_unwind(Box::new(Killed));
        }
    }

    /// Runs the actors to their ends, in an order drawn from `dice`.
    fn play(&self, dice: &mut Dice, may_be_killed: &[bool]) {
        loop {
            let turns = self.turns.lock().unwrap();
            let mut turns = self
                .changed
                .wait_while(turns, |turns| {
                    turns
                        .iter()
                        .any(|t| matches!(t, Turn::Acts | Turn::IsKilled))
                })
                .unwrap();
            let waiting: Vec<usize> = (0..turns.len())
                .filter(|&number| turns[number] == Turn::Waits)
                .collect();
            if waiting.is_empty() {
                return;
            }
            let number = waiting[dice.below(waiting.len())];
            turns[number] = if may_be_killed[number] && dice.below(30) == 0 {
                Turn::IsKilled
            } else {
                Turn::Acts
            };
            self.changed.notify_all();
        }
    }
}

const HIDDEN: &str = "hidden-";

fn hide_temps(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if disk::is_temp_name(&name) {
            fs::rename(entry.path(), folder.join(format!("{HIDDEN}{name}"))).unwrap();
        }
    }
}

fn show_temps(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if let Some(shown) = name.strip_prefix(HIDDEN) {
            fs::rename(entry.path(), folder.join(shown)).unwrap();
        }
    }
}

/// SplitMix64: the same numbers for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % most as u64) as usize
    }
}

/// Texts that were written, and those that somebody replaced after reading them, or without looking.
#[derive(Default)]
struct Ledger {
    written: BTreeSet<String>,
    /// Acknowledged, or written over by another program: these must be somewhere in the end.
    owed: BTreeSet<String>,
    replaced: Vec<String>,
}

type Shared = Arc<Mutex<Ledger>>;
type Actor = Box<dyn FnOnce(&Store, &Shared) + Send>;

/// Replaces what it has read, as `update` does: anew if somebody was faster.
fn updater(text: &'static str) -> Actor {
    Box::new(move |store, ledger| {
        for _ in 0..4 {
            let Ok(seen) = store.reader(Place::Files).read(NAME, u64::MAX) else {
                return;
            };
            let read = String::from_utf8(seen.bytes.clone()).unwrap();
            {
                let mut ledger = ledger.lock().unwrap();
                ledger.written.insert(text.to_owned());
                // From now on it may be gone: its successor was made by one who had read it.
                ledger.replaced.push(read.clone());
            }
            match store.replace(Place::Files, NAME, &seen, text.as_bytes()) {
                Ok(Replaced::Done | Replaced::KeptOther) => {
                    ledger.lock().unwrap().owed.insert(text.to_owned());
                    return;
                }
                Ok(Replaced::Stale) => {
                    let replaced = &mut ledger.lock().unwrap().replaced;
                    let ours = replaced.iter().position(|text| *text == read);
                    replaced.swap_remove(ours.expect("we put it there"));
                }
                Err(FilesError::Missing { .. } | FilesError::Io { .. }) => return,
                Err(error) => panic!("{error}"),
            }
        }
    })
}

/// Keeps its text as a conflict copy, as `edit` does when somebody was faster.
fn copier(text: &'static str) -> Actor {
    Box::new(move |store, ledger| {
        ledger.lock().unwrap().written.insert(text.to_owned());
        if store.add_copy(NAME, text.as_bytes()).is_ok() {
            ledger.lock().unwrap().owed.insert(text.to_owned());
        }
    })
}

/// Another program that puts its text in place of the memory without looking: what it destroys is
/// its own doing.
fn editor(texts: &'static [&'static str]) -> Actor {
    Box::new(move |store, ledger| {
        let target = store.path(Place::Files, NAME);
        for text in texts {
            disk::step();
            // One turn: nobody acts between the look and the rename.
            let mut ledger = ledger.lock().unwrap();
            let Ok(destroyed) = fs::read_to_string(&target) else {
                return;
            };
            // Windows exchanges no names: there a text is kept that is written into the file, but not
            // one that is renamed to it between memdir's two steps.
            if cfg!(windows) {
                fs::write(&target, text).unwrap();
            } else {
                let draft = store.root().join("draft");
                fs::write(&draft, text).unwrap();
                fs::rename(&draft, &target).unwrap();
            }
            ledger.replaced.push(destroyed);
            ledger.written.insert((*text).to_owned());
            ledger.owed.insert((*text).to_owned());
        }
    })
}

/// Clears what interrupted writes left, as every operation does first.
fn cleaner() -> Actor {
    Box::new(|store, _| {
        for _ in 0..2 {
            disk::step();
            let temps = store.list(Place::Files).unwrap().temps;
            store.remove_leftovers(Place::Files, &temps);
        }
    })
}

/// Forgets the memory and brings it back.
fn mover() -> Actor {
    Box::new(|store, _| {
        if store.relocate(NAME, Place::Files, Place::Archive).is_ok() {
            // Somebody may have taken the name; then it stays in the archive.
            let _ = store.relocate(NAME, Place::Archive, Place::Files);
        }
    })
}

/// Runs `actors` in the order with this number, some of them to an early end; then a last
/// clean-up. Every text that is owed must be in some memory file, and no file may hold what
/// nobody wrote.
fn play(number: u64, actors: Vec<(Actor, bool)>) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.unwrap();
    let store = Store::new(folder.path(), &folder.path().join(".memdir"));
    store.create().unwrap();
    fs::write(store.path(Place::Files, NAME), "the first text").unwrap();
    let ledger = Shared::default();
    ledger
        .lock()
        .unwrap()
        .written
        .insert("the first text".to_owned());
    ledger
        .lock()
        .unwrap()
        .owed
        .insert("the first text".to_owned());
    let stage = Arc::new(Stage {
        folder: store.folder(Place::Files),
        turns: Mutex::new(vec![Turn::Acts; actors.len()]),
        changed: Condvar::new(),
    });
    let (actors, may_be_killed): (Vec<Actor>, Vec<bool>) = actors.into_iter().unzip();
    std::thread::scope(|scope| {
        for (at, actor) in actors.into_iter().enumerate() {
            let (stage, store, ledger) = (stage.clone(), store.clone(), ledger.clone());
            scope.spawn(move || {
                ACTOR.set(Some((stage.clone(), at)));
                let ended = catch_unwind(AssertUnwindSafe(|| {
                    step();
                    actor(&store, &ledger);
                }));
                ACTOR.set(None);
                show_temps(&stage.folder);
                stage.turns.lock().unwrap()[at] = Turn::Ended;
                stage.changed.notify_all();
                if let Err(reason) = ended
                    && !reason.is::<Killed>()
                {
                    resume_unwind(reason);
                }
            });
        }
        stage.play(&mut Dice(number), &may_be_killed);
    });
    let temps = || store.list(Place::Files).unwrap().temps;
    // A child process that another test is just making holds the open file, and so its lock, until it runs its program.
    let until = Instant::now() + Duration::from_secs(20);
    let mut left = temps();
    while !left.is_empty() && Instant::now() < until {
        store.remove_leftovers(Place::Files, &left);
        left = temps();
    }
    assert!(left.is_empty(), "order {number}: {left:?} stays");
    let mut found = BTreeSet::new();
    for place in [Place::Files, Place::Archive] {
        for entry in store.list(place).unwrap().entries {
            found.insert(fs::read_to_string(store.path(place, &entry.name)).unwrap());
        }
    }
    let ledger = ledger.lock().unwrap();
    let lost: Vec<_> = ledger
        .owed
        .iter()
        .filter(|text| !found.contains(*text) && !ledger.replaced.contains(*text))
        .collect();
    assert!(
        lost.is_empty(),
        "order {number}: {lost:?} lost, found {found:?}"
    );
    let strange: Vec<_> = found.difference(&ledger.written).collect();
    assert!(
        strange.is_empty(),
        "order {number}: nobody wrote {strange:?}"
    );
}

#[track_caller]
fn check(actors: impl Fn() -> Vec<(Actor, bool)>) {
    let asked = std::env::var("MEMDIR_SCHEDULES").ok();
    let count = asked.map_or(SCHEDULES, |count| count.parse().unwrap());
    (0..count).for_each(|number| play(number, actors()));
}

#[test]
fn an_update_and_an_editor_lose_nothing_of_each_other() {
    check(|| {
        vec![
            (updater("the text of an update"), true),
            (editor(&["their text", "their other text"]), false),
            (cleaner(), false),
        ]
    });
}

#[test]
fn updates_at_once_lose_nothing_though_one_is_killed() {
    check(|| {
        vec![
            (updater("the text of one update"), true),
            (updater("the text of another update"), true),
            (editor(&["their text"]), false),
            (cleaner(), false),
        ]
    });
}

#[test]
fn an_update_of_a_memory_that_is_forgotten_and_brought_back_loses_nothing() {
    check(|| {
        vec![
            (updater("the text of an update"), true),
            (mover(), true),
            (editor(&["their text"]), false),
            (cleaner(), true),
        ]
    });
}

#[test]
fn conflict_copies_at_once_are_all_kept() {
    check(|| {
        vec![
            (copier("the text of one editor"), true),
            (copier("the text of another editor"), true),
            (updater("the text of an update"), true),
            (cleaner(), true),
        ]
    });
}

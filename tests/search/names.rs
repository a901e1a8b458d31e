//! Names of people in questions.

use crate::support::{TestStore, at, clock, new_memory, query};
use memdir::engine::{Engine, Hit, Options, Query, ops};
use memdir::model::{Filter, NewMemory, Timestamp};

/// A talk of Akib and Marina, who both grow something.
fn talk(store: &TestStore) -> Engine {
    let engine = Engine::open(store.options(), clock(at("2026-06-01T12:00:00Z"))).unwrap();
    for (minute, (user, text)) in (0..).zip([
        ("Marina", "I grow beans on the balcony."),
        ("Akib", "I grow melons behind the shed."),
        ("Marina", "The marine museum opens on Sunday."),
    ]) {
        let memory = NewMemory {
            timestamp: Timestamp::parse(&format!("2026-05-20T10:{minute:02}:00Z")),
            user: user.to_owned(),
            ..new_memory(text)
        };
        ops::remember(&engine, memory, None).unwrap();
    }
    engine
}

fn scores(engine: &Engine, question: &str) -> Vec<(String, f64)> {
    let hits: Vec<Hit> = ops::search(engine, &query(question)).unwrap().hits;
    let scored = hits
        .iter()
        .map(|hit| (hit.memory.content.clone(), hit.score));
    scored.collect()
}

#[test]
fn a_name_in_another_spelling_is_the_name() {
    let store = TestStore::new();
    let engine = talk(&store);
    let right = scores(&engine, "What does Akib grow?");
    assert_eq!(right[0].0, "I grow melons behind the shed.");
    assert_eq!(scores(&engine, "What does Aqib grow?"), right);
    // Without a capital it is a word, and so is one that a memory holds.
    assert_ne!(scores(&engine, "What does aqib grow?"), right);
    let marina = scores(&engine, "What does Marina grow?");
    assert_ne!(scores(&engine, "What does Marine grow?"), marina);
}

#[test]
fn a_name_of_the_settings_is_the_user() {
    let store = TestStore::new();
    let options = |people: &str| Options {
        people: people.parse().unwrap(),
        ..store.options()
    };
    let right = scores(&talk(&store), "What does Akib grow?");
    let clock = || clock(at("2026-06-01T12:00:00Z"));
    let engine =
        Engine::open(options("akib = Kit, Mister Moon; nobody = Marine"), clock()).unwrap();
    for question in [
        "What does Kit grow?",
        "What does kit grow?",
        "What does Mister Moon grow?",
    ] {
        assert_eq!(scores(&engine, question), right, "{question}");
    }
    assert_ne!(scores(&engine, "What does Moon grow?"), right);
    let marina = scores(&engine, "What does Marina grow?");
    assert_ne!(scores(&engine, "What does Marine grow?"), marina);
    let people = ops::search(&engine, &query("Does Kitt or Mister Moon grow?"))
        .unwrap()
        .people;
    let people: Vec<String> = people.iter().map(ToString::to_string).collect();
    assert_eq!(people, ["Mister Moon = Akib (setting)"], "Kit is short");
    // An index that is made anew knows it, too.
    std::fs::remove_dir_all(store.state()).unwrap();
    let engine = Engine::open(options("akib = Kit"), clock()).unwrap();
    assert_eq!(scores(&engine, "What does Kit grow?"), right);
}

/// Writes the messages of a talk in a namespace, a minute apart, from `start` on.
fn say(engine: &Engine, namespace: &str, start: &str, messages: &[(&str, &str)]) {
    for (minute, (user, text)) in (0..).zip(messages) {
        let memory = NewMemory {
            timestamp: Timestamp::parse(&format!("{start}:{minute:02}:00Z")),
            user: (*user).to_owned(),
            namespace: Some(namespace.to_owned()),
            ..new_memory(text)
        };
        ops::remember(engine, memory, None).unwrap();
    }
}

/// Returns the words of a question that were taken for users.
fn people(engine: &Engine, question: &str) -> Vec<String> {
    let results = ops::search(engine, &query(question)).unwrap();
    results.people.iter().map(ToString::to_string).collect()
}

/// Returns what "Kate" is taken for in a store with this talk alone.
#[track_caller]
fn check(messages: &[(&str, &str)], expected: &[&str]) {
    let store = TestStore::new();
    let engine = store.engine();
    say(&engine, "talk", "2026-05-20T10", messages);
    assert_eq!(people(&engine, "What does Kate grow?"), expected);
}

#[test]
fn whom_others_address_by_a_name_is_called_so() {
    let store = TestStore::new();
    let engine = store.engine();
    let messages = [
        ("Akib", "Hey Kate, how is the garden?"),
        ("Emi", "I grow melons behind the shed."),
        ("Akib", "Kate, can you send some to me?"),
        ("Emi", "They are not ripe. Ask Ana."),
        ("Akib", "I only grow beans on the balcony."),
        ("Ana", "I grow nothing."),
    ];
    say(&engine, "talk", "2026-05-20T10", &messages);
    let right = scores(&engine, "What does Emi grow?");
    assert_eq!(right[0].0, "I grow melons behind the shed.");
    assert_eq!(scores(&engine, "What does Kate grow?"), right);
    assert_eq!(people(&engine, "Kate's melons"), ["Kate = Emi (vocative)"]);
    assert_eq!(people(&engine, "What does kate grow?"), [""; 0]);
    assert_eq!(
        people(&engine, "Does Emy know Akib?"),
        [""; 0],
        "three letters are too few"
    );
    assert_eq!(
        people(&engine, "Does Aqib grow it?"),
        ["Aqib = Akib (spelling)"]
    );
}

#[test]
fn whoever_signs_by_a_name_is_called_so() {
    check(
        &[
            ("Emi", "Hi, I'm Kate!"),
            ("Akib", "Welcome. I grow beans."),
            ("Emi", "I send you some melons.\n— Kate"),
        ],
        &["Kate = Emi (signature)"],
    );
}

#[test]
fn a_name_is_taken_for_a_user_only_where_it_is_clear() {
    // Said once.
    check(
        &[
            ("Akib", "Hey Kate, here we come!"),
            ("Emi", "We grow melons."),
        ],
        &[],
    );
    // Of a third person, by both sides.
    check(
        &[
            ("Akib", "Hey Kate, come here."),
            ("Emi", "Kate, can you hear us?"),
            ("Akib", "Hi Kate!"),
            ("Emi", "Thanks, Kate!"),
            ("Akib", "We grow melons."),
        ],
        &[],
    );
    // Quoted, and with nobody who replies.
    check(
        &[
            ("Akib", "She said: \"Hey Kate, wait.\""),
            ("Emi", "> Thanks, Kate!\nI heard it, too."),
            ("Akib", "I grow melons."),
            ("Emi", "Hey Kate, what a song!"),
            ("Emi", "Thanks, Kate!"),
        ],
        &[],
    );
    // Two users of one alias.
    check(
        &[
            ("Akib", "Hey Kate, how are you?"),
            ("Emi", "I grow melons."),
            ("Akib", "Hi Kate! And you?"),
            ("Ana", "I grow beans."),
            ("Akib", "Thanks, Kate!"),
            ("Emi", "And roses."),
            ("Akib", "Thanks, Kate!"),
            ("Ana", "And cress."),
        ],
        &[],
    );
    // A user of the namespace is called so.
    check(
        &[
            ("Akib", "Hey Kate, how are you?"),
            ("Emi", "I grow melons."),
            ("Akib", "Thanks, Kate!"),
            ("Emi", "And roses."),
            ("Kate", "Sorry, I was away."),
        ],
        &[],
    );
    // Not in a chat with an assistant.
    check(
        &[
            ("assistant", "Hey Kate, how are you?"),
            ("user", "I grow melons."),
            ("assistant", "Thanks, Kate!"),
            ("user", "And roses."),
        ],
        &[],
    );
}

#[test]
fn a_name_means_a_user_in_its_namespace_alone() {
    let store = TestStore::new();
    let engine = store.engine();
    let called = [
        ("Akib", "Hey Kate, how are you?"),
        ("Emi", "I grow melons."),
        ("Akib", "Thanks, Kate!"),
        ("Emi", "Not for the ducks."),
    ];
    let spoken_of = [
        ("Emi", "The ducks ate everything."),
        ("Ben", "My sister Kate grows roses."),
        ("Emi", "I grow cress."),
    ];
    say(&engine, "one", "2026-05-20T10", &called);
    say(&engine, "two", "2026-05-21T10", &spoken_of);
    let ask = |namespace: Option<&str>, question: &str| {
        let filter = Filter {
            namespaces: namespace.map(str::to_owned).into_iter().collect(),
            ..Filter::default()
        };
        ops::search(&engine, &Query::text(question, filter, 10)).unwrap()
    };
    let question = "What does Kate grow?";
    let two = ask(Some("two"), question);
    assert_eq!(two.people, []);
    assert_eq!(two.hits[0].memory.content, "My sister Kate grows roses.");
    let one = ask(Some("one"), question);
    assert_eq!(one.people.len(), 1);
    assert_eq!(one.hits[0].memory.content, "I grow melons.");
    // Emi takes part in both talks, and is Kate in one of them.
    let both = ask(None, question).hits;
    let mut beside = both
        .iter()
        .filter(|hit| hit.memory.namespace.as_deref() == Some("two"));
    let first = beside.next().map(|hit| hit.memory.content.as_str());
    assert_eq!(
        first,
        Some("My sister Kate grows roses."),
        "it is a word there"
    );
    let both = both.into_iter();
    let named = both.filter(|hit| hit.parts.unwrap().participant > 0.0);
    let mut named: Vec<_> = named.map(|hit| hit.memory.namespace.clone()).collect();
    named.dedup();
    assert_eq!(named, [Some("one".to_owned())]);
    // Two users are called so, each in a talk.
    let other = [
        ("Ben", "Hey Kate, is it raining?"),
        ("Ana", "It snows."),
        ("Ben", "Thanks, Kate!"),
        ("Ana", "I grow ice."),
    ];
    say(&engine, "three", "2026-05-22T10", &other);
    assert_eq!(
        people(&engine, question),
        ["Kate = Emi (vocative)", "Kate = Ana (vocative)"]
    );
}

#[test]
fn who_a_text_names_it_is_about_whoever_wrote_it() {
    let store = TestStore::new();
    let engine = store.engine();
    let remember = |user: &str, text: String| {
        let memory = NewMemory {
            user: user.to_owned(),
            ..new_memory(&text)
        };
        ops::remember(&engine, memory, None).unwrap();
    };
    remember("marco", "Ana is on call.".to_owned());
    for what in [
        "line", "bill", "rent", "roof", "door", "lift", "gate", "lamp",
    ] {
        remember("ana", format!("The {what} is on hold."));
    }
    for question in ["Ana is on call.", "Is Ana on call?"] {
        let found = ops::search(&engine, &query(question)).unwrap();
        assert_eq!(
            found.hits[0].memory.content, "Ana is on call.",
            "{question}"
        );
    }
}

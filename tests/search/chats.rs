//! Chats between a person and an assistant: what answers a question, and what holds for all of them.

use crate::support::{TestStore, at, clock, new_memory, query};
use memdir::engine::{Engine, Hit, ops};
use memdir::model::{NewMemory, Timestamp};

fn engine(store: &TestStore) -> Engine {
    Engine::open(store.options(), clock(at("2026-06-01T12:00:00Z"))).unwrap()
}

/// Stores a message of a chat, `minute` minutes after its beginning.
fn say(engine: &Engine, chat: &str, user: &str, minute: u32, text: &str) {
    let message = NewMemory {
        timestamp: Timestamp::parse(&format!("2026-05-20T10:{minute:02}:00Z")),
        namespace: Some(chat.to_owned()),
        user: user.to_owned(),
        ..new_memory(text)
    };
    ops::remember(engine, message, None).unwrap();
}

/// A reply of the assistant that holds every word about `words` among many others.
fn long_reply(words: &str) -> String {
    let filler = "Here is a step that most people take before they go on with the next one. ";
    format!("{}{words}. {}", filler.repeat(12), filler.repeat(12))
}

fn ask(engine: &Engine, question: &str) -> Vec<Hit> {
    ops::search(engine, &query(question)).unwrap().hits
}

/// A store with two chats: about a garden and about taxes.
fn chats() -> (TestStore, Engine) {
    let store = TestStore::new();
    let engine = engine(&store);
    let reply = long_reply("Tomatoes in a raised bed want water, sun, compost and a south wall");
    for (minute, (user, text)) in (0..).zip([
        (
            "user",
            "I planted tomatoes in the raised bed by the south wall.",
        ),
        ("assistant", &*reply),
        ("user", "Always give weights in grams."),
        ("assistant", "I will give all weights in grams from now on."),
        ("user", "I'd rather have short answers about pests."),
        ("assistant", "Short answers it is."),
    ]) {
        say(&engine, "garden", user, minute, text);
    }
    let reply = long_reply("A tax return wants receipts, a number and the form for tomatoes sold");
    for (minute, (user, text)) in (0..).zip([
        ("user", "My tax return is due in July."),
        ("assistant", &*reply),
    ]) {
        say(&engine, "taxes", user, minute, text);
    }
    (store, engine)
}

#[test]
fn a_short_message_of_the_person_comes_before_a_long_reply_with_the_same_words() {
    let (_store, engine) = chats();
    let hits = ask(
        &engine,
        "Where did I plant the tomatoes, in the raised bed or the south wall?",
    );
    assert!(hits[0].memory.content.starts_with("I planted tomatoes"));
    let parts = hits[0].parts.unwrap();
    assert!(
        parts.role > 0.0 && parts.length == 0.0 && parts.replied > 0.0,
        "{parts:?}"
    );
    let long = hits
        .iter()
        .find(|hit| hit.memory.content.len() > 500)
        .unwrap();
    assert!(long.parts.unwrap().length > 1.0);
}

#[test]
fn a_standing_instruction_is_found_by_questions_that_do_not_name_it() {
    let (_store, engine) = chats();
    let hits = ask(&engine, "What do the tomatoes need?");
    let found = hits
        .iter()
        .find(|hit| hit.memory.content.starts_with("Always give"));
    let parts = found.expect("it is a candidate").parts.unwrap();
    assert_eq!((parts.words, parts.instruction), (0.0, 1.0));
    assert_eq!(found.unwrap().found_only_by(), Some("instruction"));
    // A list of words asks for these words.
    let hits = ask(&engine, "tomatoes");
    assert!(
        hits.iter()
            .all(|hit| !hit.memory.content.starts_with("Always give"))
    );
}

#[test]
fn a_preference_of_the_person_counts_more() {
    let (_store, engine) = chats();
    let hits = ask(&engine, "How should pests be answered?");
    let parts = hits[0].parts.unwrap();
    assert!(hits[0].memory.content.starts_with("I'd rather"));
    assert_eq!(parts.preference, 1.0);
}

#[test]
fn a_question_for_what_the_assistant_said_does_not_prefer_the_person() {
    let (_store, engine) = chats();
    let hits = ask(&engine, "What did you tell me about the tomatoes?");
    let by_person = hits.iter().filter(|hit| hit.memory.user == "user");
    assert!(
        by_person
            .map(|hit| hit.parts.unwrap().role)
            .all(|role| role < 0.0)
    );
}

#[test]
fn a_question_about_one_chat_is_answered_from_it_first() {
    let store = TestStore::new();
    let engine = engine(&store);
    for minute in 0..12 {
        let user = ["user", "assistant"][minute as usize % 2];
        let text = format!("Receipt {minute} belongs to the tax return.");
        say(&engine, "taxes", user, minute, &text);
        let text = format!("Bed {minute} of the garden, with a receipt for seeds.");
        say(&engine, "garden", user, minute, &text);
    }
    say(
        &engine,
        "notes",
        "mira",
        0,
        "The receipt of the bike is in the drawer.",
    );
    let hits = ask(&engine, "Which receipt is for the tax return?");
    let worth = |namespace: &str| {
        let is_of = |hit: &&Hit| hit.memory.namespace.as_deref() == Some(namespace);
        let parts = hits.iter().find(is_of).unwrap().parts.unwrap();
        parts.chat + parts.namespace
    };
    assert_eq!(hits[0].memory.namespace.as_deref(), Some("taxes"));
    assert!(worth("taxes") == 0.0 && worth("garden") < 0.0);
    // One memory is no measure of its namespace.
    assert!(worth("notes") == 0.0);
}

#[test]
fn people_who_talk_are_no_chat() {
    let store = TestStore::new();
    let engine = engine(&store);
    for (minute, (user, text)) in (0..).zip([
        ("user", "The heron stood in the pond."),
        ("Ana", "Always look for the heron at dawn."),
    ]) {
        say(&engine, "pond", user, minute, text);
    }
    let hits = ask(&engine, "Where was the heron?");
    assert!(hits.iter().all(|hit| hit.parts.unwrap().role == 0.0));
}

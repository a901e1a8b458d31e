//! Memories that say what others say: what becomes of them by each policy, and that no text is lost.

use serde_json::{Value, json};

use crate::support::program::{Home, names};
use crate::support::session::Session;
use crate::support::{TestStore, keywords, new_memory, query, regular_files};
use memdir::engine::{
    DuplicatePolicy, Engine, Remembered, Stored, Suggestion, WriteOutcome, WritePolicy, live, ops,
};
use memdir::model::{MetaValue, NewMemory, Stem, Tier, Timestamp};

const PORT: &str =
    "The gateway of atlas listens on port 8080 and is reached through the tunnel only.";
const OTHER_PORT: &str =
    "The gateway of atlas listens on port 9090 and is reached through the tunnel only.";

fn by(duplicates: DuplicatePolicy) -> WritePolicy {
    WritePolicy {
        duplicates,
        ..WritePolicy::default()
    }
}

fn titled(title: &str, content: &str) -> NewMemory {
    NewMemory {
        title: Some(title.to_owned()),
        ..new_memory(content)
    }
}

fn with_topics(content: &str, topics: &[&str]) -> NewMemory {
    NewMemory {
        topics: topics.iter().map(|topic| (*topic).to_owned()).collect(),
        ..new_memory(content)
    }
}

#[track_caller]
fn written(engine: &Engine, memory: NewMemory, policy: &WritePolicy) -> Remembered {
    match ops::remember_as(engine, memory, None, policy).unwrap() {
        Stored::Written(remembered) => *remembered,
        Stored::Suggested(suggestions) => panic!("{suggestions:?}"),
    }
}

#[track_caller]
fn suggested(engine: &Engine, memory: NewMemory, policy: &WritePolicy) -> Vec<Suggestion> {
    match ops::remember_as(engine, memory, None, policy).unwrap() {
        Stored::Suggested(suggestions) => suggestions,
        Stored::Written(remembered) => panic!("{remembered:?}"),
    }
}

fn stems(suggestions: &[Suggestion]) -> Vec<&Stem> {
    suggestions.iter().map(|one| &one.stem).collect()
}

/// How many memories hold a word.
fn holding(engine: &Engine, word: &str) -> usize {
    ops::search(engine, &keywords(&[word])).unwrap().hits.len()
}

#[test]
fn a_correction_is_stored_by_every_policy() {
    let twenty = "one two three four five six seven eight nine ten eleven twelve thirteen \
                  fourteen fifteen sixteen seventeen eighteen nineteen";
    for (name, policy) in DuplicatePolicy::ALL {
        let store = TestStore::new();
        let engine = store.engine();
        let old = titled("Counting", &format!("{twenty} twenty"));
        let old_stem = ops::remember(&engine, old, None).unwrap().stem;
        // Nearly all of its words are those of what it corrects, and then all of them.
        for last in ["21", "twenty"] {
            let correction = NewMemory {
                supersedes: vec![old_stem.as_str().to_owned()],
                ..titled("Counting", &format!("{twenty} {last}"))
            };
            let done = written(&engine, correction, &by(policy));
            assert_eq!(done.became, WriteOutcome::Added, "{name}");
            assert_eq!(done.superseded, std::slice::from_ref(&old_stem));
        }
        assert_eq!(store.texts().len(), 3, "{name}");
        assert_eq!(holding(&engine, "21"), 1, "{name}");
    }
}

#[test]
fn the_same_title_keeps_the_earlier_text_where_it_can_be_restored() {
    let store = TestStore::new();
    let engine = store.engine();
    let policy = by(DuplicatePolicy::SameTitle);
    let first = NewMemory {
        importance: Some(8),
        ..titled("How we deploy", "By hand, with scp.\n")
    };
    let stem = written(&engine, first, &policy).stem;
    let second = NewMemory {
        topics: vec!["deploy".to_owned()],
        ..titled("how we deploy ", "With a tag.\n")
    };
    let done = written(&engine, second, &policy);
    assert_eq!(done.stem, stem);
    let WriteOutcome::Updated {
        earlier: Some(earlier),
    } = done.became
    else {
        panic!("{done:?}");
    };
    assert_eq!((holding(&engine, "tag"), holding(&engine, "scp")), (1, 0));
    let memory = &ops::search(&engine, &query("deploy")).unwrap().hits[0].memory;
    assert_eq!(memory.topics, ["test", "deploy"]);
    assert_eq!(
        (memory.importance, memory.title.as_deref()),
        (Some(8), Some("How we deploy"))
    );
    // The record says what it is, and it is a sound memory beside the new text when it comes back.
    assert_eq!(ops::archived(&engine).unwrap()[0].memory.stem, earlier);
    let why = live::records_of(&engine.live, &earlier).unwrap()[0]
        .why
        .clone()
        .unwrap();
    assert_eq!(why, format!("an earlier text of {}", stem.short()));
    ops::restore(&engine, earlier.as_str()).unwrap();
    assert_eq!((holding(&engine, "tag"), holding(&engine, "scp")), (1, 1));
    let restored = &ops::search(&engine, &keywords(&["scp"])).unwrap().hits[0].memory;
    assert_eq!(restored.content, "By hand, with scp.\n");
    assert_eq!((&restored.stem, restored.problems.len()), (&earlier, 0));
}

#[test]
fn a_title_again_and_again_loses_no_text() {
    let store = TestStore::new();
    let engine = store.engine();
    let policy = by(DuplicatePolicy::SameTitle);
    for number in 0..20 {
        written(
            &engine,
            titled("Counter", &format!("It is at {number}.\n")),
            &policy,
        );
    }
    // The same once more changes nothing.
    let done = written(&engine, titled("Counter", "It is at 19.\n"), &policy);
    assert_eq!(done.became, WriteOutcome::Updated { earlier: None });
    assert_eq!(store.texts().len(), 1);
    let mut all = regular_files(&store.root().join("archive"));
    all.extend(regular_files(&store.files()));
    let mut texts: Vec<String> = all
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .map(|text| text.split_once("---\n\n").unwrap().1.trim().to_owned())
        .collect();
    texts.sort_by_key(|text| text.len());
    texts[..10].sort();
    texts[10..].sort();
    let expected: Vec<String> = (0..20)
        .map(|number| format!("It is at {number}."))
        .collect();
    assert_eq!(texts, expected);
}

#[test]
fn what_is_stated_beside_the_same_text_leaves_no_copy_of_it() {
    let store = TestStore::new();
    let engine = store.engine();
    let policy = by(DuplicatePolicy::SameTitle);
    let important = |importance: u8| NewMemory {
        importance: Some(importance),
        ..titled("Counter", "It is at 1.\n")
    };
    written(&engine, important(8), &policy);
    let done = written(&engine, important(3), &policy);
    assert_eq!(done.became, WriteOutcome::Updated { earlier: None });
    assert_eq!(done.changed, ["importance"]);
    assert!(ops::archived(&engine).unwrap().is_empty());
    let keeping = WritePolicy {
        keeps_importance: true,
        ..policy
    };
    let done = written(&engine, important(2), &keeping);
    assert_eq!(done.changed, [""; 0], "the higher one counts");
    let done = written(&engine, important(4), &keeping);
    assert_eq!(done.changed, ["importance"]);
}

#[test]
fn a_title_of_another_namespace_is_another_memory() {
    let store = TestStore::new();
    let engine = store.engine();
    let policy = by(DuplicatePolicy::SameTitle);
    let of = |namespace: &str| NewMemory {
        namespace: Some(namespace.to_owned()),
        ..titled("Database", "PostgreSQL.")
    };
    for namespace in ["atlas", "billing", "global"] {
        let done = written(&engine, of(namespace), &policy);
        assert_eq!(done.became, WriteOutcome::Added, "{namespace}");
    }
    let again = written(&engine, of("atlas"), &policy);
    assert_eq!(again.became, WriteOutcome::Updated { earlier: None });
}

#[test]
fn two_at_once_with_one_title_make_one_memory() {
    let store = TestStore::new();
    let engine = store.engine();
    let policy = by(DuplicatePolicy::SameTitle);
    std::thread::scope(|scope| {
        for number in 0..4 {
            let (engine, policy) = (&engine, &policy);
            scope.spawn(move || {
                written(
                    engine,
                    titled("Counter", &format!("It is at {number}.")),
                    policy,
                );
            });
        }
    });
    assert_eq!(store.texts().len(), 1);
    assert_eq!(ops::archived(&engine).unwrap().len(), 3);
}

#[test]
fn the_same_text_is_written_once_and_what_differs_is_kept_and_linked() {
    let store = TestStore::new();
    let engine = store.engine();
    let policy = by(DuplicatePolicy::Similar);
    let stem = written(&engine, new_memory(PORT), &policy).stem;
    let same = format!("  {}\n", PORT.replace(" and ", "\n and  "));
    let done = written(&engine, new_memory(&same), &policy);
    assert_eq!((&done.stem, &done.became), (&stem, &WriteOutcome::Known));
    assert_eq!(store.texts().len(), 1);
    let done = written(&engine, new_memory(OTHER_PORT), &policy);
    assert_eq!(done.became, WriteOutcome::Added);
    assert_eq!(stems(&done.near), [&stem]);
    let relations = ops::relations_of(&engine, done.stem.as_str()).unwrap();
    assert_eq!(relations.to.len(), 1);
    assert_eq!(relations.to[0].relation, "related-to");
    assert_eq!(relations.to[0].to.as_ref(), Some(&stem));
    assert_eq!((holding(&engine, "8080"), holding(&engine, "9090")), (1, 1));
    let elsewhere = NewMemory {
        namespace: Some("billing".to_owned()),
        ..new_memory(PORT)
    };
    let done = written(&engine, elsewhere, &policy);
    assert_eq!((done.became, done.near), (WriteOutcome::Added, Vec::new()));
}

#[test]
fn the_same_text_again_gives_the_known_one_what_is_stated_beside_it() {
    let store = TestStore::new();
    let engine = store.engine();
    let policy = by(DuplicatePolicy::Similar);
    let short = NewMemory {
        tier: Some(Tier::Short),
        ..with_topics(PORT, &["net"])
    };
    let stem = written(&engine, short, &policy).stem;
    let again = || NewMemory {
        tier: Some(Tier::Long),
        importance: Some(9),
        metadata: vec![("ticket".to_owned(), MetaValue::Text("A-1".to_owned()))],
        ..with_topics(PORT, &["vault"])
    };
    let remember =
        |memory, key| match ops::remember_as(&engine, memory, Some(key), &policy).unwrap() {
            Stored::Written(remembered) => *remembered,
            Stored::Suggested(suggestions) => panic!("{suggestions:?}"),
        };
    let done = remember(again(), "k-1");
    assert_eq!((&done.stem, &done.became), (&stem, &WriteOutcome::Known));
    assert_eq!(done.changed, ["topics", "tier", "importance", "metadata"]);
    let known = || ops::search(&engine, &keywords(&["8080"])).unwrap().hits[0].clone();
    let memory = known().memory;
    assert_eq!(memory.topics, ["net", "vault"]);
    assert_eq!(
        (memory.tier, memory.importance),
        (Some(Tier::Long), Some(9))
    );
    assert_eq!(live::state_of(&engine.live, &memory).0.expires, None);
    assert_eq!(memory.content, PORT);
    // The call is known by its key, and so is a later one.
    assert!(remember(again(), "k-1").existed());
    assert_eq!(remember(again(), "k-2").changed, ["metadata"]);
    assert!(remember(again(), "k-1").existed() && remember(again(), "k-2").existed());
    // A shorter life does not count, and that is said.
    let shorter = NewMemory {
        tier: Some(Tier::Short),
        ..new_memory(PORT)
    };
    let done = written(&engine, shorter, &policy);
    assert!(done.lives_on);
    assert_eq!(known().memory.tier, Some(Tier::Long));
    assert_eq!(store.texts().len(), 1);
    assert_eq!(ops::archived(&engine).unwrap().len(), 0);
}

#[test]
fn a_title_again_shortens_no_life_and_is_of_one_person() {
    let store = TestStore::new();
    let engine = store.engine();
    let policy = by(DuplicatePolicy::SameTitle);
    let of = |user: &str, content: &str, expires: Option<&str>| NewMemory {
        user: user.to_owned(),
        expires: expires.map(|text| Timestamp::parse(text).unwrap()),
        ..titled("How we deploy", content)
    };
    let end = Some("2999-01-01");
    let ann = written(&engine, of("ann", "By hand.", None), &policy).stem;
    let bob = written(&engine, of("bob", "With a tag.", end), &policy);
    assert_eq!(bob.became, WriteOutcome::Added);
    let again = written(&engine, of("ann", "With a cart.", end), &policy);
    assert_eq!((&again.stem, again.lives_on), (&ann, true));
    let cart = &ops::search(&engine, &keywords(&["cart"])).unwrap().hits[0].memory;
    assert_eq!((cart.user.as_str(), &cart.expires), ("ann", &None));
    // Without an end it is for ever.
    let lasting = written(&engine, of("bob", "With a ship.", None), &policy);
    assert_eq!(
        (&lasting.stem, lasting.changed),
        (&bob.stem, vec!["expires"])
    );
    let ship = &ops::search(&engine, &keywords(&["ship"])).unwrap().hits[0].memory;
    assert_eq!((ship.user.as_str(), &ship.expires), ("bob", &None));
    assert_eq!(store.texts().len(), 2);
}

#[test]
fn a_late_retry_of_a_call_before_the_update_is_recognised() {
    let store = TestStore::new();
    let engine = store.engine();
    let policy = by(DuplicatePolicy::SameTitle);
    let remember = |content: &str, key| {
        let memory = titled("Counter", content);
        match ops::remember_as(&engine, memory, Some(key), &policy).unwrap() {
            Stored::Written(remembered) => *remembered,
            Stored::Suggested(suggestions) => panic!("{suggestions:?}"),
        }
    };
    let stem = remember("It is at 11.", "k-1").stem;
    assert_eq!(remember("It is at 22.", "k-2").stem, stem);
    for (content, key) in [("It is at 11.", "k-1"), ("It is at 22.", "k-2")] {
        let retry = remember(content, key);
        assert_eq!((&retry.stem, retry.existed()), (&stem, true), "{key}");
    }
    assert_eq!((holding(&engine, "22"), holding(&engine, "11")), (1, 0));
    assert_eq!(store.texts().len(), 1);
}

#[test]
fn what_was_forgotten_is_no_reason_not_to_store_it() {
    let store = TestStore::new();
    let engine = store.engine();
    let policy = by(DuplicatePolicy::Similar);
    let stem = written(&engine, new_memory(PORT), &policy).stem;
    ops::forget(&engine, stem.as_str()).unwrap();
    assert_eq!(
        written(&engine, new_memory(PORT), &policy).became,
        WriteOutcome::Added
    );
}

#[test]
fn suggest_writes_nothing_before_it_is_told_to() {
    let store = TestStore::new();
    let engine = store.engine();
    let policy = by(DuplicatePolicy::Suggest);
    let port = written(&engine, with_topics(PORT, &["gateway"]), &policy).stem;
    let lunch = with_topics("Lunch is at noon.", &["canteen", "times"]);
    let lunch = written(&engine, lunch, &policy).stem;
    let before = store.texts();
    let said = suggested(&engine, new_memory(OTHER_PORT), &policy);
    assert_eq!(stems(&said), [&port]);
    assert_eq!(said[0].action.word(), "UPDATE");
    let said = suggested(&engine, new_memory(&PORT.to_uppercase()), &policy);
    assert_eq!(said[0].action.word(), "NOOP");
    // Without a word in common, by topics.
    let dinner = || with_topics("We eat again towards evening.", &["Canteen", "times"]);
    let said = suggested(&engine, dinner(), &policy);
    assert_eq!((stems(&said), said[0].action.word()), (vec![&lunch], "ADD"));
    assert_eq!(store.texts(), before);
    let elsewhere = NewMemory {
        namespace: Some("billing".to_owned()),
        ..dinner()
    };
    let broad = WritePolicy {
        broad: true,
        ..policy.clone()
    };
    assert_eq!(
        stems(&suggested(&engine, elsewhere.clone(), &broad)),
        [&lunch]
    );
    assert_eq!(
        written(&engine, elsewhere, &policy).became,
        WriteOutcome::Added
    );
    let force = WritePolicy {
        force: true,
        ..policy
    };
    assert_eq!(
        written(&engine, dinner(), &force).became,
        WriteOutcome::Added
    );
    assert_eq!(store.texts().len(), before.len() + 2);
}

#[test]
fn what_names_a_memory_is_never_there_twice() {
    let store = TestStore::new();
    let engine = store.engine();
    let policy = WritePolicy {
        named_by: vec!["list".to_owned(), "slot".to_owned()],
        ..WritePolicy::plain()
    };
    let named = |slot: &str, content: &str| {
        let text = |key: &str, text: &str| (key.to_owned(), MetaValue::Text(text.to_owned()));
        NewMemory {
            metadata: vec![text("list", "rota"), text("slot", slot)],
            ..new_memory(content)
        }
    };
    let first = written(&engine, named("monday", "Mira cooks."), &policy);
    assert_eq!(first.became, WriteOutcome::Added);
    let other = written(&engine, named("Monday", "Case counts."), &policy);
    assert_eq!(other.became, WriteOutcome::Added);
    let again = written(&engine, named("monday", "Jonas cooks."), &policy);
    assert_eq!(again.stem, first.stem);
    let WriteOutcome::Updated {
        earlier: Some(earlier),
    } = again.became
    else {
        panic!("{again:?}");
    };
    let archived = store.root().join(format!("archive/{earlier}.md"));
    let archived = std::fs::read_to_string(archived).unwrap();
    assert!(archived.ends_with("Mira cooks."), "{archived}");
    // What does not state all of it has no name.
    let bare = written(&engine, new_memory("Mira cooks."), &policy);
    assert_eq!(bare.became, WriteOutcome::Added);
    // By its id, one is given a new text whatever it is called.
    let id = bare.stem.as_str();
    let edited = ops::rewrite(&engine, id, &new_memory("Nobody cooks.")).unwrap();
    assert_eq!(edited.stem, bare.stem);
    assert!(ops::rewrite(&engine, "nothing", &new_memory("x")).is_err());
    assert_eq!(store.texts().len(), 3);
}

#[test]
fn only_what_is_asked_for_is_compared_and_linked() {
    let store = TestStore::new();
    let engine = store.engine();
    let plain = WritePolicy::plain();
    let of = |source: &str| NewMemory {
        source: Some(source.to_owned()),
        ..with_topics(PORT, &["net", "gateway"])
    };
    let here = written(&engine, of("here"), &plain).stem;
    let there = written(&engine, of("there"), &plain).stem;
    let policy = WritePolicy {
        among: Some(memdir::model::Filter {
            differs: vec![("source".to_owned(), "There".to_owned())],
            ..memdir::model::Filter::default()
        }),
        auto_links: 3,
        ..by(DuplicatePolicy::Suggest)
    };
    let new = || with_topics(OTHER_PORT, &["net", "gateway"]);
    assert_eq!(stems(&suggested(&engine, new(), &policy)), [&here]);
    let broad = WritePolicy {
        broad: true,
        ..policy.clone()
    };
    let said = suggested(&engine, new(), &broad);
    assert_eq!(said.len(), 2);
    assert!(stems(&said).contains(&&there));
    let force = WritePolicy {
        force: true,
        ..policy
    };
    assert_eq!(written(&engine, new(), &force).related, [here]);
}

#[test]
fn topics_link_memories_if_that_is_wanted() {
    let store = TestStore::new();
    let engine = store.engine();
    let plain = WritePolicy::default();
    let both = written(
        &engine,
        with_topics("one", &["net", "gateway", "x"]),
        &plain,
    )
    .stem;
    let third = written(
        &engine,
        with_topics("two", &["net", "gateway", "port"]),
        &plain,
    )
    .stem;
    written(&engine, with_topics("three", &["net", "y"]), &plain);
    let new = || with_topics("four", &["Net", "Gateway", "port"]);
    assert_eq!(written(&engine, new(), &plain).related, []);
    ops::forget(&engine, written(&engine, new(), &plain).stem.as_str()).unwrap();
    let linking = |auto_links| WritePolicy {
        auto_links,
        ..WritePolicy::default()
    };
    // The one that shares all three comes first; the first of this text is still there.
    let done = written(&engine, new(), &linking(9));
    assert_eq!(done.related.len(), 3);
    assert!(done.related.contains(&both) && done.related.contains(&third));
    assert_eq!(done.related[2], both);
    let relations = ops::relations_of(&engine, done.stem.as_str()).unwrap();
    assert_eq!(relations.to.len(), 3);
    assert_eq!(written(&engine, new(), &linking(1)).related.len(), 1);
}

#[test]
fn the_command_says_what_happened() {
    let home = Home::new();
    let remember = |arguments: &[&str]| {
        let mut all = vec!["remember", "--topics", "deploy"];
        all.extend(arguments);
        home.run(&all)
    };
    let id = remember(&["--title", "Deploys", "By hand."])
        .done()
        .trim()
        .to_owned();
    let ran = remember(&["--duplicates", "title", "--title", "Deploys", "With a tag."]);
    ran.complains(0, &[&id, "its earlier text is", "in the archive"]);
    assert_eq!(ran.text().trim(), id);
    let json = remember(&[
        "--json",
        "--duplicates",
        "title",
        "--title",
        "Deploys",
        "With a cart.",
    ])
    .json();
    assert_eq!(
        (&json["memory_id"], &json["action"]),
        (&json!(id), &json!("UPDATE"))
    );
    let earlier = json["earlier"].as_str().unwrap();
    home.run(&["restore", earlier]).done();
    assert!(home.text_of(earlier).ends_with("With a tag."));
    remember(&[
        "--duplicates",
        "similar",
        "--title",
        "Deploys",
        "With a cart.",
    ])
    .complains(0, &[&id, "nothing new was stored"]);
    let json = remember(&[
        "--json",
        "--duplicates",
        "similar",
        "--title",
        "Deploys",
        "--importance",
        "9",
        "With a cart.",
    ])
    .json();
    assert_eq!(
        (&json["memory_id"], &json["action"], &json["changed"]),
        (&json!(id), &json!("UPDATE"), &json!(["importance"]))
    );
    let message = json["message"].as_str().unwrap();
    assert!(
        message.ends_with("got what is new: importance"),
        "{message}"
    );
    let before = names(&home.files());
    let ran = remember(&[
        "--duplicates",
        "suggest",
        "--title",
        "Deploys",
        "With a ship.",
    ]);
    ran.complains(1, &["nothing was stored", "--force"]);
    assert!(ran.text().contains("it has the same title"), "{ran:?}");
    let ran = remember(&[
        "--duplicates",
        "suggest",
        "--json",
        "--title",
        "Deploys",
        "With a ship.",
    ]);
    assert_eq!(
        (ran.code, &ran.json()["candidates"][0]["action"]),
        (1, &json!("UPDATE"))
    );
    assert_eq!(names(&home.files()), before);
    remember(&[
        "--duplicates",
        "suggest",
        "--force",
        "--title",
        "Deploys",
        "With a ship.",
    ])
    .done();
    assert_eq!(names(&home.files()).len(), before.len() + 1);
    remember(&["--duplicates", "never", "x"]).complains(2, &["allow, title, similar, suggest"]);
}

#[test]
fn an_agent_is_told_as_the_settings_say() {
    let home = Home::new();
    home.write("store/memdir.toml", "[duplicates]\npolicy = \"suggest\"\n");
    let shown = home.run(&["config"]).text();
    let line = shown
        .lines()
        .find(|line| line.starts_with("duplicates.policy"));
    assert!(
        line.is_some_and(|line| line.contains("suggest") && line.contains("memdir.toml")),
        "{shown}"
    );
    let mut session = Session::on(&home);
    let mut remember = |content: &str, force: bool| -> Value {
        let arguments = json!({"agent": "claude", "user": "mira", "topics": ["net"],
            "content": content, "force": force});
        session.tool("remember", arguments)["structuredContent"].clone()
    };
    let first = remember(PORT, false);
    assert_ne!(first["memory_id"], "");
    let second = remember(OTHER_PORT, false);
    assert_eq!(
        (&second["memory_id"], &second["action"]),
        (&json!(""), &json!("SUGGEST"))
    );
    assert_eq!(second["candidates"][0]["id"], first["memory_id"]);
    let message = second["message"].as_str().unwrap();
    assert!(
        message.contains("Nothing was stored") && message.contains("`force`"),
        "{message}"
    );
    assert_eq!(names(&home.files()).len(), 1);
    assert_ne!(remember(OTHER_PORT, true)["memory_id"], "");
    assert_eq!(names(&home.files()).len(), 2);
}

#[test]
fn one_text_stored_by_many_at_once_is_there_once() {
    let store = TestStore::new();
    for round in 0..8 {
        let text = format!("The ferry leaves at nine on day {round}.");
        let added: usize = std::thread::scope(|scope| {
            let write = || {
                let engine = store.engine();
                let done = written(&engine, new_memory(&text), &by(DuplicatePolicy::Similar));
                usize::from(done.became == WriteOutcome::Added)
            };
            let writers: Vec<_> = (0..4).map(|_| scope.spawn(write)).collect();
            writers.into_iter().map(|one| one.join().unwrap()).sum()
        });
        assert_eq!(added, 1, "round {round}");
        assert_eq!(store.texts().len(), round + 1);
    }
}

#[test]
fn metadata_that_is_replaced_beside_the_same_text_lies_in_the_archive() {
    let store = TestStore::new();
    let engine = store.engine();
    let policy = by(DuplicatePolicy::Similar);
    let with = |key: &str, value: &str| NewMemory {
        metadata: vec![(key.to_owned(), MetaValue::Text(value.to_owned()))],
        ..new_memory("A fact.")
    };
    let first = written(&engine, with("note", "precious"), &policy);
    // What is only added replaces nothing.
    assert_eq!(
        written(&engine, with("more", "x"), &policy).stem,
        first.stem
    );
    assert_eq!(ops::archived(&engine).unwrap().len(), 0);
    assert_eq!(
        written(&engine, with("note", "other"), &policy).stem,
        first.stem
    );
    let archived = ops::archived(&engine).unwrap();
    let kept = [("note".to_owned(), MetaValue::Text("precious".to_owned()))];
    assert_eq!(archived.len(), 1);
    assert!(
        archived[0].memory.metadata.starts_with(&kept),
        "{archived:?}"
    );
}

#[test]
fn two_memories_do_not_replace_each_other() {
    let store = TestStore::new();
    let engine = store.engine();
    let stems: Vec<Stem> = ["one", "two", "three"]
        .iter()
        .map(|text| ops::remember(&engine, new_memory(text), None).unwrap().stem)
        .collect();
    let link = |from: usize, to: usize| {
        ops::link(
            &engine,
            stems[from].as_str(),
            stems[to].as_str(),
            "supersedes",
        )
    };
    assert!(link(1, 0).unwrap() && link(2, 1).unwrap());
    for (from, to) in [(0, 1), (0, 2), (1, 2)] {
        let error = link(from, to).unwrap_err().to_string();
        assert!(
            error.contains("replaces") && error.contains("memdir unlink"),
            "{error}"
        );
    }
    assert!(!link(2, 1).unwrap(), "it is said already");
    assert_eq!(holding(&engine, "three"), 1);
}

#[test]
fn many_at_once_become_what_each_by_itself_becomes() {
    let store = TestStore::new();
    let engine = store.engine();
    let policy = by(DuplicatePolicy::SameTitle);
    let many = |version: &str| -> Vec<Stem> {
        let texts =
            (0..40).map(|number| titled(&format!("T{number}"), &format!("{version} {number}")));
        // One title twice: the later one is the text of the earlier one.
        let twice = titled(" t0 ", &format!("{version} last"));
        let done = ops::remember_many(&engine, texts.chain([twice]).collect(), &policy);
        done.unwrap().into_iter().map(Result::unwrap).collect()
    };
    let first = many("one");
    assert_eq!(first[0], first[40]);
    assert_eq!(regular_files(&store.files()).len(), 40);
    assert_eq!(archived(&store).len(), 1);
    let second = many("two");
    assert_eq!(first, second);
    assert_eq!(regular_files(&store.files()).len(), 40);
    // Of each the former text, and of the doubled one the one between, too.
    assert_eq!(archived(&store).len(), 1 + 41);
    let said = ops::search(&engine, &query("two last")).unwrap();
    assert_eq!(said.hits[0].memory.content.trim(), "two last");
    // The very same again changes nothing but what is doubled.
    let before = archived(&store).len();
    many("two");
    assert!(archived(&store).len() <= before + 1);
}

#[test]
fn one_bad_memory_of_many_costs_only_itself() {
    let store = TestStore::new();
    let engine = store.engine();
    let policy = by(DuplicatePolicy::SameTitle);
    let memories = vec![
        titled("Good", "x"),
        titled("Bad", "a\0b"),
        titled("Fine", "y"),
    ];
    let done = ops::remember_many(&engine, memories, &policy).unwrap();
    assert_eq!(
        done.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [true, false, true]
    );
    assert_eq!(regular_files(&store.files()).len(), 2);
}

#[test]
fn a_text_that_is_replaced_again_and_again_is_archived_once() {
    let store = TestStore::new();
    let engine = store.engine();
    let policy = by(DuplicatePolicy::SameTitle);
    for number in 0..12 {
        let text = ["red", "green", "blue"][number % 3];
        let memory = titled("Colour", text);
        ops::remember_as(&engine, memory, None, &policy).unwrap();
    }
    let mut texts = archived(&store);
    texts.sort_unstable();
    assert_eq!(texts, ["blue", "green", "red"]);
}

/// The contents of the archive.
fn archived(store: &TestStore) -> Vec<String> {
    let archive = store.root().join("archive");
    if !archive.exists() {
        return Vec::new();
    }
    let files = regular_files(&archive);
    let content = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        text.rsplit("---").next().unwrap().trim().to_owned()
    };
    files.iter().map(content).collect()
}

#[test]
fn a_nul_is_refused_at_the_door() {
    let store = TestStore::new();
    let engine = store.engine();
    let refused = ops::remember(&engine, new_memory("a\0b"), None).unwrap_err();
    assert!(refused.to_string().contains("U+0000"), "{refused}");
    let stem = ops::remember(&engine, new_memory("whole"), None)
        .unwrap()
        .stem;
    let change = memdir::model::Change {
        content: Some("half\0".to_owned()),
        ..Default::default()
    };
    assert!(ops::update(&engine, stem.as_str(), &change).is_err());
    let (name, seen) = ops::open_text(&engine, stem.as_str()).unwrap();
    let edited = [seen.bytes.as_slice(), b"\0"].concat();
    assert!(ops::save_text(&engine, &name, &seen, &edited).is_err());
    assert_eq!(store.read(&name), seen.bytes);
}

#[test]
fn a_sign_that_is_no_word_is_found_as_it_stands() {
    let store = TestStore::new();
    let engine = store.engine();
    ops::remember(&engine, new_memory("The release went out \u{1f680}."), None).unwrap();
    ops::remember(&engine, new_memory("Nothing of the kind."), None).unwrap();
    let found = ops::search(&engine, &query("\u{1f680}")).unwrap().hits;
    assert_eq!(found.len(), 1);
    assert!(found[0].memory.content.contains("release"));
    assert!(ops::search(&engine, &query("?!")).unwrap().hits.is_empty());
}

#[test]
fn a_mention_of_what_is_called_as_no_memory_is_told() {
    let store = TestStore::new();
    let engine = store.engine();
    let stem = ops::remember(&engine, new_memory("See [[does not exist]] first."), None)
        .unwrap()
        .stem;
    let dangling = ops::dangling(&engine).unwrap().to;
    assert_eq!(dangling.len(), 1);
    assert_eq!(
        (&dangling[0].from, dangling[0].written.as_str()),
        (&stem, "does not exist")
    );
    // It is no link of the memory, which would take room wherever links are shown.
    assert!(
        ops::relations_of(&engine, stem.as_str())
            .unwrap()
            .to
            .is_empty()
    );
}

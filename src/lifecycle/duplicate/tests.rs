use super::*;
use crate::model::{Kind, Scope, Timestamp};

fn new(content: &str) -> NewMemory {
    NewMemory {
        agent: "claude".to_owned(),
        user: "mira".to_owned(),
        content: content.to_owned(),
        ..NewMemory::default()
    }
}

fn titled(title: &str) -> NewMemory {
    NewMemory {
        title: Some(title.to_owned()),
        ..new("text")
    }
}

/// Returns the memory that `new` became when it was stored.
fn stored(name: &str, new: &NewMemory) -> Memory {
    let timestamp = Timestamp::parse("2026-06-01T12:00:00Z").unwrap();
    let new = NewMemory {
        supersedes: Vec::new(),
        superseded_by: None,
        ..new.clone()
    };
    new.into_memory(Stem::from_file_name(name), timestamp)
}

fn like(memory: Memory, words: f32, meaning: Option<f32>) -> DuplicateCandidate {
    DuplicateCandidate {
        memory,
        words,
        meaning,
    }
}

fn by(duplicates: DuplicatePolicy) -> WritePolicy {
    WritePolicy {
        duplicates,
        ..WritePolicy::default()
    }
}

/// Returns the decision about `new` in the face of `old`, which is like it to these degrees.
fn decided(
    duplicates: DuplicatePolicy,
    new: &NewMemory,
    old: &NewMemory,
    (words, meaning): (f32, Option<f32>),
) -> String {
    let candidate = like(stored("old", old), words, meaning);
    match decide(new, &[candidate], &by(duplicates)) {
        Decision::Add { near } if near.is_empty() => "add".to_owned(),
        Decision::Add { near } => format!("add near {}", near[0].stem),
        Decision::Update(stem) => format!("update {stem}"),
        Decision::Known(stem) => format!("known {stem}"),
        Decision::Suggest(all) => {
            let reasons: Vec<String> = all[0]
                .reasons
                .iter()
                .map(ResemblanceReason::to_string)
                .collect();
            format!("{} {}", all[0].action.word(), reasons.join("; "))
        }
    }
}

const SAME: (f32, Option<f32>) = (1.0, Some(1.0));
const OTHER: (f32, Option<f32>) = (0.1, Some(0.3));

#[test]
fn a_correction_is_stored_by_every_policy() {
    let old = NewMemory {
        topics: vec!["a".to_owned(), "b".to_owned(), "c".to_owned()],
        ..titled("Deploys")
    };
    let correction = NewMemory {
        supersedes: vec!["old".to_owned()],
        ..old.clone()
    };
    for (_, policy) in DuplicatePolicy::ALL {
        for likeness in [SAME, (0.95, Some(0.95)), (0.95, None)] {
            assert_eq!(decided(policy, &correction, &old, likeness), "add");
        }
    }
    let force = WritePolicy {
        force: true,
        ..by(DuplicatePolicy::Suggest)
    };
    let same = [like(stored("old", &old), 1.0, None)];
    let stored = Decision::Add { near: Vec::new() };
    assert_eq!(decide(&old, &same, &force), stored);
    assert_eq!(decided(DuplicatePolicy::Allow, &old, &old, SAME), "add");
}

#[test]
fn the_same_title_in_the_same_namespace_is_an_update() {
    use DuplicatePolicy::SameTitle;
    let old = titled("How we deploy");
    let elsewhere = NewMemory {
        namespace: Some("atlas".to_owned()),
        ..titled("How we deploy")
    };
    let global = NewMemory {
        namespace: Some("global".to_owned()),
        ..titled("How we deploy")
    };
    for (new, expected) in [
        (titled("How we deploy"), "update old"),
        (titled(" how we DEPLOY "), "update old"),
        (titled("How we deploy atlas"), "add"),
        (new("text"), "add"),
        (elsewhere, "add"),
        (global, "update old"),
    ] {
        assert_eq!(decided(SameTitle, &new, &old, OTHER), expected, "{new:?}");
    }
    assert_eq!(decided(SameTitle, &new("text"), &new("text"), SAME), "add");
}

#[test]
fn only_the_very_same_text_is_not_stored_again() {
    use DuplicatePolicy::Similar;
    let old = new("Deploys go out on Tuesdays.\nAfter the backup.");
    let same = new("Deploys go out  on Tuesdays. After the backup.\n");
    assert_eq!(decided(Similar, &same, &old, SAME), "known old");
    let is_near = "add near old";
    for (new, likeness, expected) in [
        (
            new("Deploys go out on Tuesdays, after the backup!"),
            SAME,
            is_near,
        ),
        (
            new("Deploys go out on Wednesdays. After the backup."),
            (0.6, None),
            is_near,
        ),
        (
            new("Deploys go out on Wednesdays. After the backup."),
            (0.59, None),
            "add",
        ),
        (new("We deploy on Tuesdays."), (0.0, Some(0.92)), is_near),
        (new("We deploy on Tuesdays."), (0.0, Some(0.91)), "add"),
        // Of somebody else, or under another title, it is another memory.
        (
            NewMemory {
                user: "jonas".to_owned(),
                ..same.clone()
            },
            SAME,
            is_near,
        ),
        (
            NewMemory {
                title: Some("Deploys".to_owned()),
                ..same.clone()
            },
            SAME,
            is_near,
        ),
        // Of another kind, scope or namespace, it is nobody's duplicate.
        (
            NewMemory {
                kind: Some(Kind::Episodic),
                ..same.clone()
            },
            SAME,
            "add",
        ),
        (
            NewMemory {
                scope: Some(Scope::Group),
                ..same.clone()
            },
            SAME,
            "add",
        ),
        (
            NewMemory {
                namespace: Some("atlas".to_owned()),
                ..same.clone()
            },
            SAME,
            "add",
        ),
    ] {
        assert_eq!(decided(Similar, &new, &old, likeness), expected, "{new:?}");
    }
}

#[test]
fn what_may_be_meant_is_suggested_with_what_could_be_done() {
    use DuplicatePolicy::Suggest;
    let with_topics = |content: &str, topics: &[&str]| NewMemory {
        topics: topics.iter().map(|topic| (*topic).to_owned()).collect(),
        ..new(content)
    };
    let old = with_topics(
        "The gateway listens on port 8080 at night.",
        &["net", "gateway", "port"],
    );
    for (new, likeness, expected) in [
        (
            new("the gateway listens on port 8080, at night"),
            SAME,
            "NOOP it says the same",
        ),
        (
            new("The gateway does not listen on port 8080"),
            OTHER,
            "UPDATE it holds 75 % of the words",
        ),
        (
            new("The gateway listens on port 9090 at night."),
            (0.61, None),
            "UPDATE 61 % of the text is the same; it holds 80 % of the words",
        ),
        (new("Port"), OTHER, "add"),
        (
            with_topics("Something else.", &["Net", "gateway", "x"]),
            OTHER,
            "ADD it shares the topics gateway, net",
        ),
        (
            with_topics("Something else.", &["port", "net", "gateway"]),
            OTHER,
            "UPDATE it shares the topics gateway, net, port",
        ),
        (
            with_topics("Something else.", &["net", "net"]),
            OTHER,
            "add",
        ),
        (
            new("Something else."),
            (0.0, Some(0.95)),
            "UPDATE it means nearly the same (0.95)",
        ),
    ] {
        assert_eq!(decided(Suggest, &new, &old, likeness), expected, "{new:?}");
    }
    // The order of words and every "not" count.
    let swapped = decided(
        Suggest,
        &new("spaces over tabs always"),
        &new("tabs over spaces always"),
        OTHER,
    );
    assert_eq!(swapped, "UPDATE it holds 100 % of the words");
}

#[test]
fn broad_suggests_what_is_of_another_group() {
    let old = NewMemory {
        namespace: Some("atlas".to_owned()),
        ..new("The gateway listens on port 8080.")
    };
    let same = new("The gateway listens on port 8080.");
    assert_eq!(decided(DuplicatePolicy::Suggest, &same, &old, SAME), "add");
    let broad = WritePolicy {
        broad: true,
        ..by(DuplicatePolicy::Suggest)
    };
    let decision = decide(&same, &[like(stored("old", &old), 1.0, None)], &broad);
    assert!(matches!(decision, Decision::Suggest(all) if all[0].action == Action::Nothing));
}

#[test]
fn sets_of_words_and_topics_may_be_all_that_counts() {
    let old = NewMemory {
        topics: ["deploy", "atlas", "ci"].map(str::to_owned).to_vec(),
        ..titled("Deploys")
    };
    let old = NewMemory {
        content: "We deploy atlas from the main branch every Tuesday.".to_owned(),
        ..old
    };
    let policy = WritePolicy {
        resemblance: Resemblance::WordSets,
        // What may be meant was chosen before.
        among: Some(Filter::default()),
        ..by(DuplicatePolicy::Suggest)
    };
    let recommended = |content: &str, topics: &[&str]| {
        let topics = topics.iter().map(|topic| (*topic).to_owned());
        let new = NewMemory {
            topics: topics.collect(),
            namespace: Some("elsewhere".to_owned()),
            content: content.to_owned(),
            ..titled("Deploys")
        };
        let candidate = like(stored("old", &old), 1.0, Some(1.0));
        match decide(&new, &[candidate], &policy) {
            Decision::Suggest(all) => all[0].action.word(),
            _ => "none",
        }
    };
    for (content, topics, expected) in [
        (
            "Every Tuesday: deploy the main branch from atlas.",
            &[][..],
            "NOOP",
        ),
        (
            "We deploy atlas from the main branch every Friday.",
            &[],
            "UPDATE",
        ),
        ("Other words.", &["deploy", "Atlas", "ci"], "UPDATE"),
        ("Other words.", &["deploy", "ci"], "ADD"),
        ("Other words.", &["deploy"], "none"),
        ("deploy atlas", &[], "none"),
        // Neither runs of words, nor the title, nor the meaning count.
        ("Something entirely different happens.", &[], "none"),
    ] {
        assert_eq!(
            recommended(content, topics),
            expected,
            "{content} {topics:?}"
        );
    }
}

#[test]
fn suggestions_are_few_and_the_best_come_first() {
    let same = new("The gateway listens on port 8080.");
    let near = new("The gateway listens on port 9090.");
    let candidates: Vec<DuplicateCandidate> = (0..20)
        .map(|number| like(stored(&format!("near{number}"), &near), 0.5, None))
        .chain([like(stored("same", &same), 1.0, None)])
        .collect();
    let decision = decide(&same, &candidates, &by(DuplicatePolicy::Suggest));
    let Decision::Suggest(all) = decision else {
        panic!("{decision:?}");
    };
    assert_eq!(all.len(), MOST_SUGGESTED);
    assert_eq!(all[0].stem.as_str(), "same");
}

#[test]
fn topics_relate_as_many_memories_as_are_wanted() {
    let topics = |topics: &[&str]| NewMemory {
        topics: topics.iter().map(|topic| (*topic).to_owned()).collect(),
        ..new("text")
    };
    let others = [
        stored("two", &topics(&["a", "b"])),
        stored("one", &topics(&["a", "x"])),
        stored("three", &topics(&["A", "b", "c"])),
        stored("again", &topics(&["b", "c"])),
    ];
    let related = |auto_links, shared_topics| -> Vec<String> {
        let policy = WritePolicy {
            auto_links,
            shared_topics,
            ..WritePolicy::default()
        };
        let stems = related_by_topics(&topics(&["a", "b", "c"]).topics, &others, &policy);
        stems.iter().map(|stem| stem.as_str().to_owned()).collect()
    };
    assert_eq!(related(0, 2), [""; 0]);
    assert_eq!(related(2, 2), ["three", "two"]);
    assert_eq!(related(9, 2), ["three", "two", "again"]);
    assert_eq!(related(9, 3), ["three"]);
    assert_eq!(related(9, 0), ["three", "two", "again", "one"]);
}

#[test]
fn an_update_unites_what_can_be_and_shortens_no_life() {
    let old = NewMemory {
        topics: vec!["a".to_owned()],
        tier: Some(Tier::Mid),
        importance: Some(8),
        ..titled("Deploys")
    };
    let soon = Timestamp::parse("2026-06-02T12:00:00Z").unwrap();
    let late = Timestamp::parse("2026-07-01T12:00:00Z").unwrap();
    let update =
        |new: &NewMemory, old: &NewMemory, ends: (Option<&Timestamp>, Option<&Timestamp>)| {
            let ends = Ends {
                new: ends.0.map(Timestamp::utc),
                old: ends.1.map(Timestamp::utc),
            };
            as_update(new, &stored("old", old), ends)
        };
    let ending = |tier, expires: Option<&Timestamp>| NewMemory {
        tier,
        expires: expires.cloned(),
        ..old.clone()
    };
    let (soon, late) = (Some(&soon), Some(&late));
    assert_eq!(update(&old, &old, (late, late)), Change::default());
    let other = NewMemory {
        topics: vec!["B".to_owned(), "A".to_owned()],
        tier: Some(Tier::Short),
        content: "other".to_owned(),
        ..titled("Deploys")
    };
    let expected = Change {
        topics: Some(vec!["a".to_owned(), "B".to_owned()]),
        content: Some("other".to_owned()),
        ..Change::default()
    };
    assert_eq!(update(&other, &old, (soon, late)), expected);
    let life = |new: &NewMemory, old: &NewMemory, ends| {
        let change = update(new, old, ends);
        (change.tier, change.expires)
    };
    let keep = (Patch::Keep, Patch::Keep);
    // Who lives for ever, or longer, is given no end.
    let lasting = ending(None, None);
    assert_eq!(life(&ending(None, soon), &lasting, (soon, None)), keep);
    let long = ending(Some(Tier::Long), None);
    assert_eq!(life(&ending(None, soon), &long, (soon, None)), keep);
    assert_eq!(life(&long, &lasting, (None, None)), keep);
    assert_eq!(
        life(&ending(None, soon), &ending(None, late), (soon, late)),
        keep
    );
    // Who ends sooner lives as long as the new one would.
    assert_eq!(
        life(&long, &ending(Some(Tier::Mid), soon), (None, soon)),
        (Patch::Set(Tier::Long), Patch::Clear)
    );
    assert_eq!(
        life(&lasting, &ending(Some(Tier::Short), None), (None, soon)),
        (Patch::Clear, Patch::Keep)
    );
    assert_eq!(
        life(&ending(None, late), &ending(None, soon), (late, soon)),
        (Patch::Keep, Patch::Set(late.unwrap().clone()))
    );
    let short = ending(Some(Tier::Short), None);
    let (tier, expires) = life(&ending(Some(Tier::Mid), None), &short, (late, soon));
    assert_eq!(tier, Patch::Set(Tier::Mid));
    let Patch::Set(expires) = expires else {
        panic!("{expires:?}");
    };
    assert_eq!(Some(expires.utc()), late.map(Timestamp::utc));
}

#[test]
fn the_title_of_another_person_is_another_memory() {
    let old = titled("How we deploy");
    let of_jonas = NewMemory {
        user: "jonas".to_owned(),
        ..old.clone()
    };
    let title = DuplicatePolicy::SameTitle;
    assert_eq!(decided(title, &of_jonas, &old, OTHER), "add");
    let both = [&old, &of_jonas].map(|one| like(stored(&one.user, one), 1.0, None));
    let decision = decide(&of_jonas, &both, &by(title));
    assert_eq!(decision, Decision::Update(both[1].memory.stem.clone()));
}

#[test]
fn the_keys_of_all_calls_are_kept_up_to_a_number() {
    let text = |key: String| MetaValue::Text(key);
    let with = |key: MetaValue| NewMemory {
        metadata: vec![(IDEMPOTENCY_KEY.to_owned(), key)],
        ..new("text")
    };
    let never = Ends {
        new: None,
        old: None,
    };
    let mut old = stored("old", &with(text("k0".to_owned())));
    for number in [0, 1, 1] {
        let new = with(text(format!("k{number}")));
        if let Patch::Set(metadata) = as_update(&new, &old, never).metadata {
            old.metadata = metadata;
        }
    }
    let two = MetaValue::List(vec![text("k0".to_owned()), text("k1".to_owned())]);
    assert_eq!(old.metadata, [(IDEMPOTENCY_KEY.to_owned(), two)]);
    for number in 0..40 {
        let new = with(text(format!("k{number}")));
        if let Patch::Set(metadata) = as_update(&new, &old, never).metadata {
            old.metadata = metadata;
        }
    }
    let MetaValue::List(keys) = &old.metadata[0].1 else {
        panic!("{old:?}");
    };
    assert_eq!(keys.len(), MOST_KEYS);
    assert_eq!(keys.last(), Some(&text("k39".to_owned())));
}

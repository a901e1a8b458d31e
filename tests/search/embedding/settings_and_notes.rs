//! How a model is used: what is set, and what stands beside it in its folder.

use super::*;

#[test]
fn equal_files_and_settings_have_equal_ids() {
    let id = |settings| Local::new(settings).unwrap().id().to_owned();
    let folder = bare();
    let parent = tempfile::tempdir().unwrap();
    let copy = parent.path().join(folder.path().file_name().unwrap());
    fs::create_dir(&copy).unwrap();
    for name in ["model.onnx", "tokenizer.json"] {
        fs::copy(folder.path().join(name), copy.join(name)).unwrap();
    }
    assert_eq!(id(settings(folder.path())), id(settings(&copy)));
    let threads = LocalSettings {
        threads: 1,
        ..settings(&copy)
    };
    assert_eq!(id(threads), id(settings(&copy)));
}

#[test]
fn whatever_changes_vectors_changes_the_id() {
    let folder = bare();
    let id = |change: fn(&mut LocalSettings)| {
        let mut settings = settings(folder.path());
        change(&mut settings);
        Local::new(settings).unwrap().id().to_owned()
    };
    let mut ids = vec![
        id(|_| {}),
        id(|s| s.query_prefix = Some("query: ".to_owned())),
        id(|s| s.passage_prefix = Some("query: ".to_owned())),
        id(|s| s.dimensions = Some(16)),
        id(|s| s.max_tokens = Some(100)),
        id(|s| s.pooling = Some(Pooling::First)),
    ];
    let tokenizer = folder.path().join("tokenizer.json");
    let text = fs::read_to_string(&tokenizer).unwrap();
    fs::write(
        &tokenizer,
        text.replace("\"lowercase\":true", "\"lowercase\":false"),
    )
    .unwrap();
    ids.push(id(|_| {}));
    fs::copy(
        tiny().join("model_int8.onnx"),
        folder.path().join("model.onnx"),
    )
    .unwrap();
    ids.push(id(|_| {}));
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    assert!(ids.iter().all(|id| id.chars().all(is_name)), "{ids:?}");
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 8, "{ids:?}");
}

#[test]
fn prefixes_stand_before_questions_and_texts() {
    let plain = model();
    let prefixed = Local::new(LocalSettings {
        query_prefix: Some("query: ".to_owned()),
        passage_prefix: Some("text: ".to_owned()),
        ..settings(&tiny())
    })
    .unwrap();
    assert_eq!(prefixed.query("a cat"), plain.query("query: a cat"));
    assert_eq!(
        prefixed.passages(&["a cat"]),
        plain.passages(&["text: a cat"])
    );
    assert_eq!(prefixed.query(""), Err(EmbedError::NoWords));
    let long = "the cat drinks milk ".repeat(40);
    let pieces = prefixed.passages(&[&long]).unwrap().remove(0);
    // Forty tokens more than the text alone would be cut from.
    assert!(pieces.len() > plain.passages(&[&long]).unwrap()[0].len() - 1);
}

#[test]
fn notes_of_sentence_transformers_count_unless_something_is_set() {
    let folder = bare();
    write(
        &folder,
        "1_Pooling/config.json",
        &json!({"pooling_mode_cls_token": true}),
    );
    write(
        &folder,
        "config_sentence_transformers.json",
        &json!({"prompts": {"query": "query: ", "document": "text: "}}),
    );
    write(
        &folder,
        "sentence_bert_config.json",
        &json!({"max_seq_length": 20}),
    );
    let noted = Local::new(settings(folder.path())).unwrap();
    let plain = bare();
    let set = LocalSettings {
        pooling: Some(Pooling::from("cls")),
        query_prefix: Some("query: ".to_owned()),
        passage_prefix: Some("text: ".to_owned()),
        max_tokens: Some(20),
        ..settings(plain.path())
    };
    let set = Local::new(set).unwrap();
    let text = "the agent has a question about the index of postgres ".repeat(4);
    assert_eq!(noted.passages(&[&text]), set.passages(&[&text]));
    assert_eq!(noted.query(&text), set.query(&text));
    let other = LocalSettings {
        pooling: Some(Pooling::Mean),
        query_prefix: Some(String::new()),
        ..settings(folder.path())
    };
    let other = Local::new(other).unwrap();
    assert_eq!(other.query("a cat"), model().query("a cat"));
    assert_ne!(noted.query("a cat"), model().query("a cat"));
}

#[test]
fn fewer_dimensions_are_the_first_ones_at_length_one() {
    let short = LocalSettings {
        dimensions: Some(8),
        ..settings(&tiny())
    };
    let short = Local::new(short).unwrap();
    assert_eq!(short.dimensions(), 8);
    let whole = model().query("a cat").unwrap();
    let length = cosine(&whole[..8], &whole[..8]).sqrt();
    let expected: Vec<f32> = whole[..8].iter().map(|x| x / length).collect();
    assert!(difference(&short.query("a cat").unwrap(), &expected) < 1e-5);
    let why = refused(LocalSettings {
        dimensions: Some(33),
        ..settings(&tiny())
    });
    assert!(why.contains("32 numbers"), "{why}");
}

#[test]
fn what_cannot_be_done_rightly_is_refused() {
    let folder = bare();
    write(
        &folder,
        "1_Pooling/config.json",
        &json!({"pooling_mode_max_tokens": true}),
    );
    assert!(refused(settings(folder.path())).contains("pooling_mode_max_tokens"));
    let dense = json!([
        {"type": "sentence_transformers.models.Transformer", "path": ""},
        {"type": "sentence_transformers.models.Dense", "path": "2_Dense"},
    ]);
    write(&folder, "modules.json", &dense);
    assert!(refused(settings(folder.path())).contains("a step Dense"));
    fs::write(folder.path().join("modules.json"), "{").unwrap();
    assert!(refused(settings(folder.path())).contains("modules.json"));
    let long = LocalSettings {
        max_tokens: Some(129),
        ..settings(&tiny())
    };
    assert!(refused(long).contains("16 to 128 tokens"));
    let output = LocalSettings {
        pooling: Some("sentence_embedding".into()),
        ..settings(&tiny())
    };
    assert!(refused(output).contains("no output sentence_embedding, but last_hidden_state"));
    let prefix = LocalSettings {
        query_prefix: Some("cat ".repeat(40)),
        ..settings(&tiny())
    };
    let why = Local::new(prefix)
        .unwrap()
        .query("a cat")
        .unwrap_err()
        .to_string();
    assert!(why.contains("takes 42 of a piece's 64 tokens"), "{why}");
}

/// The tokenizer, and a model without token types that pools by itself.
fn bag() -> TempDir {
    let folder = bare();
    fs::copy(tiny().join("bag.onnx"), folder.path().join("model.onnx")).unwrap();
    folder
}

#[test]
fn a_model_that_pools_by_itself_and_takes_no_token_types_works() {
    let folder = bag();
    let own = Local::new(settings(folder.path())).unwrap();
    assert_eq!(own.dimensions(), 8);
    let named = LocalSettings {
        pooling: Some(Pooling::from("sentence_embedding")),
        ..settings(folder.path())
    };
    let named = Local::new(named).unwrap();
    let mean = LocalSettings {
        pooling: Some(Pooling::Mean),
        dimensions: Some(8),
        ..settings(folder.path())
    };
    let mean = Local::new(mean).unwrap();
    let found = own.query("the cat drinks milk").unwrap();
    assert_eq!(found.len(), 8);
    assert_eq!(named.query("the cat drinks milk").unwrap(), found);
    let pooled_here = mean.query("the cat drinks milk").unwrap();
    assert!(difference(&pooled_here, &found) < 1e-5);
    // A pooling that this program does not know is then no trouble.
    write(
        &folder,
        "1_Pooling/config.json",
        &json!({"pooling_mode_max_tokens": true}),
    );
    let noted = Local::new(settings(folder.path())).unwrap();
    assert_eq!(noted.query("the cat drinks milk").unwrap(), found);
}

#[test]
fn dimensions_that_the_model_leaves_open_come_from_its_notes() {
    let folder = bag();
    let mean = LocalSettings {
        pooling: Some(Pooling::Mean),
        ..settings(folder.path())
    };
    assert!(refused(mean.clone()).contains("Set the dimensions"));
    write(&folder, "config.json", &json!({"hidden_size": 8}));
    assert_eq!(Local::new(mean.clone()).unwrap().dimensions(), 8);
    write(&folder, "config.json", &json!({"hidden_size": 9}));
    let wrong = Local::new(mean).unwrap();
    let why = wrong.query("a cat").unwrap_err().to_string();
    assert!(
        why.contains("[1, 4, 8], and [1, 4, 9] was expected"),
        "{why}"
    );
}

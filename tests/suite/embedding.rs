//! What a model on this machine promises, tried with the tiny one in `fixtures/models/`.
//!
//! No ONNX Runtime is offered, so the one built in runs it.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use memdir::embed::EmbedError;
use memdir::embed::Embedder;
use memdir::embed::Local;
use memdir::embed::LocalSettings;
use memdir::embed::Pooling;
use serde_json::Value;
use serde_json::json;
use tempfile::TempDir;

fn tiny() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/models/tiny")
}

/// The tiny model, where nothing else is set.
fn settings(folder: &Path) -> LocalSettings {
    LocalSettings {
        folder: folder.to_owned(),
        threads: 2,
        ..LocalSettings::default()
    }
}

fn model() -> Local {
    Local::new(settings(&tiny())).unwrap()
}

/// A folder with the tiny model and its tokenizer, and nothing beside them.
fn bare() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["model.onnx", "tokenizer.json"] {
        fs::copy(tiny().join(name), folder.path().join(name)).unwrap();
    }
    folder
}

fn write(folder: &TempDir, name: &str, value: &Value) {
    let file = folder.path().join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, value.to_string()).unwrap();
}

/// Changes the model's bytes; both texts are of one length, so that the file stays well-formed.
fn replace(folder: &TempDir, old: &str, new: &str) {
    assert_eq!(old.len(), new.len());
    let file = folder.path().join("model.onnx");
    let mut bytes = fs::read(&file).unwrap();
    let places: Vec<usize> = (0..bytes.len() - old.len())
        .filter(|&at| bytes[at..].starts_with(old.as_bytes()))
        .collect();
    assert!(!places.is_empty(), "the model holds no {old}");
    for at in places {
        bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
    }
    fs::write(file, bytes).unwrap();
}

fn cosine(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(x, y)| x * y).sum()
}

fn difference(one: &[f32], other: &[f32]) -> f32 {
    assert_eq!(one.len(), other.len());
    let pairs = one.iter().zip(other);
    pairs.map(|(x, y)| (x - y).abs()).fold(0.0, f32::max)
}

#[track_caller]
fn refused(settings: LocalSettings) -> String {
    match Local::new(settings) {
        Ok(_) => panic!("it was taken"),
        Err(EmbedError::Unusable(why)) => why,
        Err(other) => panic!("{other:?}"),
    }
}

#[track_caller]
fn fails(folder: &TempDir) -> String {
    let error = match Local::new(settings(folder.path())) {
        Ok(model) => model.passages(&["the cat drinks milk"]).unwrap_err(),
        Err(error) => error,
    };
    let text = error.to_string();
    let path = folder.path().to_string_lossy().into_owned();
    assert!(text.contains(&path), "{text}");
    text.replace(&path, "DIR")
}

// What the vectors are.

#[test]
fn vectors_are_those_of_the_reference() {
    compare("model.onnx", 1e-3);
}

#[test]
fn a_quantised_model_gives_the_vectors_of_the_reference() {
    compare("model_int8.onnx", 1e-2);
}

#[track_caller]
fn compare(file: &str, at_most: f32) {
    let reference = fs::read_to_string(tiny().join("reference.json")).unwrap();
    let reference: Value = serde_json::from_str(&reference).unwrap();
    let model = Local::new(LocalSettings {
        model_file: Some(file.to_owned()),
        ..settings(&tiny())
    })
    .unwrap();
    let mut compared = 0;
    for row in reference[file].as_array().unwrap() {
        let text = row["text"].as_str().unwrap();
        let numbers = row["vector"].as_array().unwrap().iter();
        let expected: Vec<f32> = numbers.map(|x| x.as_f64().unwrap() as f32).collect();
        if ["", "…"].contains(&text) {
            continue;
        }
        let found = model.passages(&[text]).unwrap().remove(0);
        assert_eq!(found.len(), 1, "{text}");
        let difference = difference(&found[0], &expected);
        assert!(difference <= at_most, "{text}: {difference}");
        compared += 1;
    }
    assert_eq!(compared, 8);
}

#[test]
fn texts_that_share_words_are_nearer_than_others() {
    let model = model();
    let found = model
        .passages(&[
            "The cat drinks milk in the kitchen.",
            "Postgres needs a new index for this query.",
        ])
        .unwrap();
    let asked = model.query("a cat in the kitchen").unwrap();
    assert!(cosine(&asked, &found[0][0]) > cosine(&asked, &found[1][0]) + 0.2);
}

#[test]
fn vectors_have_length_one_and_the_dimensions_told_before() {
    let model = model();
    assert_eq!(model.dimensions(), 32);
    let vector = model.query("a cat").unwrap();
    assert_eq!(vector.len(), 32);
    assert!((cosine(&vector, &vector) - 1.0).abs() < 1e-5);
}

#[test]
fn a_text_has_the_same_vector_whatever_stands_beside_it() {
    for file in ["model.onnx", "model_int8.onnx"] {
        let model = Local::new(LocalSettings {
            model_file: Some(file.to_owned()),
            ..settings(&tiny())
        })
        .unwrap();
        let text = "the agent has a question about the index";
        let long = "remember the release of the project ".repeat(30);
        let alone = model.passages(&[text]).unwrap().remove(0);
        let together = model
            .passages(&["short", text, &long, "!!!", text])
            .unwrap();
        assert_eq!(together[1], alone);
        assert_eq!(together[4], alone);
        assert_eq!(model.query(text).unwrap(), alone[0]);
    }
}

// Long texts, and texts without words.

#[test]
fn a_long_text_has_pieces_and_each_is_found_by_its_own_words() {
    let model = model();
    let long = format!("{} postgres index query", "the cat drinks milk ".repeat(40));
    let pieces = model.passages(&[&long]).unwrap().remove(0);
    assert!(pieces.len() > 2, "{}", pieces.len());
    let asked = model.query("postgres index query").unwrap();
    let near: Vec<f32> = pieces.iter().map(|piece| cosine(&asked, piece)).collect();
    let best = near.iter().copied().fold(f32::MIN, f32::max);
    assert_eq!(near.last(), Some(&best), "{near:?}");
}

#[test]
fn an_endless_text_has_64_pieces() {
    let model = model();
    let endless = "the cat drinks milk\n".repeat(500_000);
    assert_eq!(endless.len(), 10_000_000);
    assert_eq!(model.passages(&[&endless]).unwrap()[0].len(), 64);
    assert_eq!(model.query(&endless).unwrap().len(), 32);
}

#[test]
fn an_endless_word_is_no_trouble() {
    let model = model();
    let word = "x".repeat(10_000_000);
    assert_eq!(model.passages(&[&word]).unwrap(), [Vec::<Vec<f32>>::new()]);
}

#[test]
fn a_text_without_words_has_no_piece() {
    let model = model();
    let found = model
        .passages(&["", " \n\t", "\u{0}", "語", "a cat"])
        .unwrap();
    let counts: Vec<usize> = found.iter().map(Vec::len).collect();
    assert_eq!(counts, [0, 0, 0, 0, 1]);
    assert_eq!(model.passages(&[]).unwrap().len(), 0);
}

#[test]
fn a_question_without_words_is_told() {
    let model = model();
    for nothing in ["", "  ", "語語"] {
        assert_eq!(model.query(nothing), Err(EmbedError::NoWords));
    }
}

// Settings, and what the folder says.

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

// Files that are missing, damaged or of another kind.

#[test]
fn a_folder_without_a_model_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    assert!(fails(&folder).contains("Put model.onnx and tokenizer.json there"));
    fs::create_dir(folder.path().join("model.onnx")).unwrap();
    assert!(fails(&folder).contains("holds no model"));
    let named = LocalSettings {
        model_file: Some("a.onnx".to_owned()),
        ..settings(folder.path())
    };
    assert!(refused(named).contains("a.onnx"));
    assert!(refused(settings(&folder.path().join("none"))).contains("no such folder"));
}

#[test]
fn a_missing_or_damaged_tokenizer_is_told() {
    let folder = bare();
    let file = folder.path().join("tokenizer.json");
    for damaged in [
        "",
        "{",
        "{}",
        "[1]",
        r#"{"version":"1.0","model":{"type":"Other"}}"#,
    ] {
        fs::write(&file, damaged).unwrap();
        assert!(fails(&folder).starts_with("the tokenizer DIR/tokenizer.json cannot be used"));
    }
    fs::remove_file(&file).unwrap();
    assert!(fails(&folder).contains("holds no tokenizer.json"));
}

#[test]
fn a_model_that_was_cut_short_is_told_before_it_is_loaded() {
    let folder = bare();
    let file = folder.path().join("model.onnx");
    let whole = fs::read(&file).unwrap();
    for length in [0, 1, 100, whole.len() / 2, whole.len() - 1] {
        fs::write(&file, &whole[..length]).unwrap();
        let why = refused(settings(folder.path()));
        assert!(
            why.contains("it is no whole model in ONNX"),
            "{length}: {why}"
        );
    }
    fs::write(&file, "version https://git-lfs.github.com/spec/v1\n").unwrap();
    assert!(refused(settings(folder.path())).contains("no whole model in ONNX"));
}

#[test]
fn a_model_of_another_kind_is_told() {
    let folder = bare();
    replace(&folder, "input_ids", "pixel_ids");
    assert!(fails(&folder).contains("it has no input input_ids"));
    let folder = bare();
    replace(&folder, "token_type_ids", "position__ids_");
    assert!(fails(&folder).contains("it wants an input position__ids_"));
}

#[test]
fn a_graph_that_makes_the_backend_panic_is_an_error() {
    let folder = bare();
    // The last node now gives what nobody asked for, and no node the output.
    let file = folder.path().join("model.onnx");
    let mut bytes = fs::read(&file).unwrap();
    let name = b"last_hidden_state";
    let at = bytes
        .windows(name.len())
        .position(|part| part == name)
        .unwrap();
    bytes[at] = b'p';
    fs::write(&file, bytes).unwrap();
    assert!(fails(&folder).starts_with("the model DIR/model.onnx cannot be loaded"));
}

#[test]
fn an_operator_nobody_knows_is_an_error() {
    let folder = bare();
    replace(&folder, "Softmax", "Hardmix");
    assert!(fails(&folder).starts_with("the model DIR/model.onnx cannot be loaded"));
}

#[test]
fn a_token_that_the_model_does_not_know_is_an_error_and_the_next_text_goes_well() {
    let folder = bare();
    let file = folder.path().join("tokenizer.json");
    let mut tokenizer: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    tokenizer["model"]["vocab"]["cat"] = json!(60_000);
    write(&folder, "tokenizer.json", &tokenizer);
    let model = Local::new(settings(folder.path())).unwrap();
    let error = model.passages(&["milk", "cat"]).unwrap_err();
    assert!(error.to_string().contains("cannot be run"), "{error}");
    assert!(model.query("cat").is_err());
    assert_eq!(model.query("milk"), self::model().query("milk"));
}

#[test]
fn a_model_that_gives_no_numbers_is_an_error() {
    let folder = bare();
    let file = folder.path().join("model.onnx");
    let mut bytes = fs::read(&file).unwrap();
    // The table of words is the largest weight; here it is no number anywhere.
    let name = b"words";
    let place = bytes
        .windows(7)
        .position(|part| part[0] == 0x42 && part[1] == 5 && &part[2..] == name);
    let start = place.unwrap() + 64;
    bytes[start..start + 40_000].fill(0xff);
    fs::write(&file, bytes).unwrap();
    assert!(fails(&folder).contains("it gives no numbers, or zeros"));
}

#[test]
fn weights_that_were_changed_at_random_never_end_the_process() {
    let folder = bare();
    let file = folder.path().join("model.onnx");
    let whole = fs::read(&file).unwrap();
    let text = "the cat drinks milk";
    let mut state = 5_u64;
    for _ in 0..60 {
        let mut bytes = whole.clone();
        for _ in 0..3 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let at = (state >> 33) as usize % 6_000;
            bytes[at] ^= 1 << (state >> 60 & 7);
        }
        fs::write(&file, bytes).unwrap();
        let Ok(model) = Local::new(settings(folder.path())) else {
            continue;
        };
        if let Ok(found) = model.passages(&[text]) {
            let length = cosine(&found[0][0], &found[0][0]);
            assert!((length - 1.0).abs() < 1e-5);
        }
    }
}

#[test]
fn tokenizers_of_other_kinds_work() {
    let folder = bare();
    let pieces = [
        ("<unk>", 0.0),
        ("▁", -3.0),
        ("▁cat", -1.0),
        ("▁milk", -1.0),
        ("s", -2.0),
    ];
    let unigram = json!({"type": "Unigram", "unk_id": 0, "vocab": pieces});
    check_tokenizer(
        &folder,
        &unigram,
        json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}),
    );
    let bpe = json!({
        "type": "BPE", "unk_token": "<unk>",
        "vocab": {"<unk>": 0, "c": 1, "a": 2, "t": 3, "m": 4, "i": 5, "l": 6, "k": 7, "s": 8, "at": 9, "cat": 10},
        "merges": ["a t", "c at"],
    });
    check_tokenizer(&folder, &bpe, json!({"type": "Whitespace"}));
}

#[track_caller]
fn check_tokenizer(folder: &TempDir, model: &Value, words: Value) {
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": null, "pre_tokenizer": words, "post_processor": null, "decoder": null,
        "model": model,
    });
    write(folder, "tokenizer.json", &tokenizer);
    let model = Local::new(LocalSettings {
        max_tokens: Some(64),
        ..settings(folder.path())
    })
    .unwrap();
    let found = model.passages(&["cat", "cats", "milk", ""]).unwrap();
    let counts: Vec<usize> = found.iter().map(Vec::len).collect();
    assert_eq!(counts, [1, 1, 1, 0]);
    let near = cosine(&found[0][0], &found[1][0]);
    assert!(near > cosine(&found[0][0], &found[2][0]), "{near}");
    let long = "cat milk ".repeat(300);
    assert!(model.passages(&[&long]).unwrap()[0].len() > 2);
}

// Loading and letting go.

#[test]
fn nothing_is_loaded_before_the_first_text_nor_after_a_rest() {
    let model = model();
    assert!(model.describe().ends_with("(not loaded)"));
    let before = model.query("a cat").unwrap();
    assert!(model.describe().ends_with("(built in)"));
    model.rest(Duration::from_secs(3600));
    assert!(model.describe().ends_with("(built in)"));
    model.rest(Duration::ZERO);
    assert!(model.describe().ends_with("(not loaded)"));
    assert_eq!(model.query("a cat").unwrap(), before);
}

#[test]
fn a_library_that_is_none_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("libonnxruntime.so");
    fs::write(&text, "not a library").unwrap();
    let model = Local::new(LocalSettings {
        libraries: vec![
            folder.path().join("missing.so"),
            folder.path().to_owned(),
            text,
        ],
        ..settings(&tiny())
    })
    .unwrap();
    assert_eq!(model.query("a cat"), self::model().query("a cat"));
    assert!(model.describe().ends_with("(built in)"));
}

#[test]
fn questions_and_texts_of_many_threads_get_their_vectors() {
    let model = model();
    let texts: Vec<String> = (0..50).map(|n| format!("the cat number {n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let expected = model.passages(&texts).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert_eq!(model.passages(&texts).unwrap(), expected));
            scope.spawn(|| {
                for (text, vectors) in texts.iter().zip(&expected) {
                    assert_eq!(model.query(text).unwrap(), vectors[0]);
                    model.rest(Duration::ZERO);
                }
            });
        }
    });
}

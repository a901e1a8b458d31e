//! What a model on this machine promises, tried with the tiny one in `fixtures/models/`.
//!
//! No ONNX Runtime is offered, so the one built in runs it.

mod damage;
mod settings_and_notes;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use memdir::embed::{EmbedError, Embedder, Local, LocalSettings, Pooling, Priority};
use serde_json::{Value, json};
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
    text.replace(&path, "DIR").replace('\\', "/")
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
        let many: Vec<&str> = [text, "short", &long].repeat(20);
        let behind = Priority::Low.run(|| model.passages(&many)).unwrap();
        for three in behind.chunks(3) {
            let expected = [&together[1], &together[0], &together[2]];
            assert_eq!(three.iter().collect::<Vec<_>>(), expected);
        }
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

//! Scores of a question and texts by a cross-encoder: the tiny one in `fixtures/models/`.
//!
//! It takes words apart, and counts the parts that a query and a text share: `milkous` holds `milk`, which
//! no search by words sees. No ONNX Runtime is offered, so the one built in runs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::support::fixture;
use memdir::embed::{CrossEncoder, CrossEncoderSettings, Local, LocalSettings, Unranked};

fn tiny_cross() -> PathBuf {
    fixture("models/tiny_cross")
}

fn cross_encoder(folder: &Path, budget: Duration) -> Arc<CrossEncoder> {
    Arc::new(CrossEncoder::new(CrossEncoderSettings {
        folder: folder.to_owned(),
        threads: 2,
        libraries: Vec::new(),
        budget,
    }))
}

/// Longer than any test takes.
fn ample() -> Duration {
    Duration::from_secs(600)
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

#[test]
fn logits_are_those_of_the_reference() {
    let text = fs::read_to_string(tiny_cross().join("reference.json")).unwrap();
    let reference: Vec<Value> = serde_json::from_str(&text).unwrap();
    let model = cross_encoder(&tiny_cross(), ample());
    model.load().unwrap();
    let found = reference.iter().map(|row| {
        let [question, text] = [0, 1].map(|at| row["pair"][at].as_str().unwrap());
        model.scores(question, &mut || texts(&[text])).unwrap()[0]
    });
    let found: Vec<f32> = found.collect();
    let expected = reference
        .iter()
        .map(|row| row["logit"].as_f64().unwrap() as f32);
    assert_eq!(found, expected.collect::<Vec<f32>>());
    assert_eq!(model.name(), "tiny_cross");
    assert!(model.describe().ends_with("tiny_cross (built in)"));
}

#[test]
fn scores_are_in_the_order_of_the_texts_and_wait_for_no_loading() {
    let model = cross_encoder(&tiny_cross(), ample());
    let mut given = || texts(&["bread and bread", "", "bread"]);
    assert_eq!(model.scores("bread", &mut given), Err(Unranked::NotLoaded));
    model.load().unwrap();
    assert_eq!(
        model.scores("bread", &mut given),
        Ok(vec![-1.0, -5.0, -3.0])
    );
    assert_eq!(model.scores("bread", &mut Vec::new), Ok(Vec::new()));
}

#[test]
fn an_embedding_model_is_no_cross_encoder_and_the_other_way_round() {
    let model = cross_encoder(&fixture("models/tiny"), ample());
    let error = model.load().unwrap_err().to_string();
    assert!(
        error.contains("does not give one number for a pair"),
        "{error}"
    );
    let settings = LocalSettings {
        folder: tiny_cross(),
        ..LocalSettings::default()
    };
    let error = Local::new(settings).err().unwrap().to_string();
    assert!(
        error.contains("scores pairs of texts and makes no vectors"),
        "{error}"
    );
}

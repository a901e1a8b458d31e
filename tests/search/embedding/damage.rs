//! Files that are missing, damaged or of another kind.

use super::*;

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
    let why = fails(&folder);
    assert!(
        why.starts_with("the model DIR/model.onnx cannot be loaded: it broke off"),
        "{why}"
    );
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

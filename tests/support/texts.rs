//! Random sentences.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

pub const VOCABULARY: [&str; 40] = [
    "garden",
    "tomatoes",
    "water",
    "balcony",
    "trellis",
    "soil",
    "rust",
    "cargo",
    "compiler",
    "lifetimes",
    "borrowing",
    "python",
    "flask",
    "deploy",
    "server",
    "database",
    "backup",
    "restore",
    "password",
    "meeting",
    "Tuesday",
    "yesterday",
    "Caroline",
    "Marco",
    "prefers",
    "running",
    "ran",
    "books",
    "reading",
    "std::path",
    "well-known",
    "東京",
    "京都",
    "coffee",
    "morning",
    "the",
    "of",
    "is",
    "Müller",
    "café",
];

pub fn sentence() -> impl Strategy<Value = String> {
    vec(select(&VOCABULARY[..]), 1..15).prop_map(|words| words.join(" ") + ".\n")
}

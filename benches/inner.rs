//! What the inner steps cost, each by itself: formats, words, ranking, vectors.
//!
//! `cargo bench --bench inner -- [WORD ...]`: those whose name holds a WORD, all of them if none is
//! given; `--help` tells more. The inputs are made here and are the same in every run. A number
//! behind a name says how large they are: words of a text, lines of a body, memories, vectors.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hint::black_box;
use std::sync::{Arc, LazyLock};

use chrono::{DateTime, TimeDelta, Utc};
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use memdir::format::{MergeSide, Merged};
use memdir::model::{Handle, Memory, NewMemory, Stem, Timestamp};
use memdir::ranking::fused::Cosines;
use memdir::ranking::keyword::Keyword;
use memdir::ranking::{
    Calling, Collection, Member, Names, Postings, Ranking, RankingSignals, ShingleSet, TextPart,
    TraitsBuilder, fused,
};
use memdir::vectors::{VectorEntry, VectorKey, VectorStore, View};
use memdir::words::Analyzer;
use memdir::{format, injection, ranking, secrets};

fn main() {
    divan::main();
}

/// Words of a usual memory: about 1.9 KB.
const USUAL: usize = 300;
const DIMENSIONS: usize = 384;

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// Between 0 and 1.
    fn share(&mut self) -> f64 {
        self.next() as f64 / u64::MAX as f64
    }

    /// A word, of which some are as common as in a language: the rank is spread evenly by its
    /// logarithm.
    fn word(&mut self) -> &'static str {
        let rank = (WORDS.len() as f64).powf(self.share());
        &WORDS[rank as usize - 1]
    }

    fn text(&mut self, words: usize) -> String {
        let mut text = String::new();
        for number in 0..words {
            let word = self.word();
            match number % 12 {
                0 => text.push_str(&format!("{}{}", word[..1].to_uppercase(), &word[1..])),
                11 => text.push_str(&format!(" {word}.\n")),
                _ => text.push_str(&format!(" {word}")),
            }
        }
        text
    }

    fn vector(&mut self) -> Vec<f32> {
        let numbers: Vec<f32> = (0..DIMENSIONS).map(|_| self.share() as f32 - 0.5).collect();
        let length = numbers.iter().map(|n| n * n).sum::<f32>().sqrt();
        numbers.into_iter().map(|n| n / length).collect()
    }
}

/// The commonest first. `postgres` is about as rare as such a word is in notes.
static WORDS: LazyLock<Vec<String>> = LazyLock::new(|| {
    const SYLLABLES: [&str; 16] = [
        "ba", "co", "di", "fu", "ga", "he", "ji", "ko", "lu", "ma", "ne", "pi", "ro", "sa", "tra",
        "ste",
    ];
    let mut random = Random(1);
    let mut words: Vec<String> = (0..8_000)
        .map(|_| {
            let syllables = 2 + random.below(3);
            (0..syllables)
                .map(|_| SYLLABLES[random.below(SYLLABLES.len())])
                .collect()
        })
        .collect();
    words.insert(400, "postgres".to_owned());
    words.insert(700, "deadlock".to_owned());
    words
});

fn moment() -> DateTime<Utc> {
    DateTime::from_timestamp(1_760_000_000, 0).expect("a moment")
}

fn stem(number: usize) -> Stem {
    let handle = Handle::parse(&format!("{number:08x}")).expect("eight digits");
    Stem::new(moment(), handle)
}

fn note(number: usize, words: usize) -> NewMemory {
    let mut random = Random(number as u64);
    NewMemory {
        agent: "claude".to_owned(),
        user: "alice".to_owned(),
        topics: (0..4).map(|_| random.word().to_owned()).collect(),
        title: Some(random.text(5).trim_end().to_owned()),
        namespace: Some("memdir".to_owned()),
        importance: Some(5),
        content: random.text(words),
        ..NewMemory::default()
    }
}

fn rendered(note: &NewMemory, stem: &Stem) -> String {
    format::render(note, stem, &Timestamp::from_utc(moment())).expect("it can be written")
}

#[divan::bench(args = [30, USUAL, 3_000])]
fn parse_words(bencher: Bencher<'_, '_>, words: usize) {
    let stem = stem(1);
    let text = rendered(&note(1, words), &stem);
    bencher
        .counter(BytesCount::of_str(&text))
        .bench_local(|| format::parse(&stem, black_box(text.as_bytes()), moment()));
}

#[divan::bench(args = [30, USUAL, 3_000])]
fn render_words(bencher: Bencher<'_, '_>, words: usize) {
    let (stem, note) = (stem(1), note(1, words));
    bencher
        .counter(BytesCount::of_str(&note.content))
        .bench_local(|| rendered(black_box(&note), &stem));
}

/// Both sides changed a line of the body and added a topic; a third of the body lies between.
#[divan::bench(args = [12, 100, 1_000])]
fn merge_lines(bencher: Bencher<'_, '_>, lines: usize) {
    let stem = stem(1);
    let mut note = note(1, 12 * lines);
    let base = rendered(&note, &stem);
    let body: Vec<String> = note.content.lines().map(str::to_owned).collect();
    let mut changed = |line: usize, topic: &str| {
        let mut body = body.clone();
        body[line].push_str(" That was measured again.");
        note.content = body.join("\n") + "\n";
        note.topics.truncate(4);
        note.topics.push(topic.to_owned());
        rendered(&note, &stem)
    };
    let (one, other) = (changed(lines / 3, "early"), changed(2 * lines / 3, "late"));
    let merged = || {
        let (bytes, at) = (one.as_bytes(), 1);
        let one = MergeSide { bytes, at };
        let (bytes, at) = (other.as_bytes(), 2);
        let other = MergeSide { bytes, at };
        format::merge(&stem, black_box(Some(base.as_bytes())), one, other)
    };
    assert!(
        matches!(merged(), Merged::One(_)),
        "the changes go together"
    );
    bencher
        .counter(BytesCount::of_str(&base))
        .bench_local(merged);
}

#[divan::bench(args = [30, USUAL, 3_000])]
fn secrets_in_words(bencher: Bencher<'_, '_>, words: usize) {
    let text = Random(2).text(words);
    bencher
        .counter(BytesCount::of_str(&text))
        .bench_local(|| secrets::find(black_box(&text)));
}

#[divan::bench(args = [30, USUAL, 3_000])]
fn injections_in_words(bencher: Bencher<'_, '_>, words: usize) {
    let text = Random(2).text(words);
    bencher
        .counter(BytesCount::of_str(&text))
        .bench_local(|| injection::find(black_box(&text)));
}

fn analyzer() -> Analyzer {
    Analyzer::new(&["english".parse().expect("a language")])
}

/// A text is cut into terms.
fn cut(bencher: Bencher<'_, '_>, text: &str) {
    let mut analyzer = analyzer();
    bencher
        .counter(BytesCount::of_str(text))
        .bench_local(move || {
            let mut terms = 0;
            analyzer.terms(black_box(text), |term, _, _| {
                black_box(term);
                terms += 1;
            });
            terms
        });
}

#[divan::bench(args = [30, USUAL, 3_000])]
fn terms_of_words(bencher: Bencher<'_, '_>, words: usize) {
    cut(bencher, &Random(3).text(words));
}

/// Names as programs have them, which become terms whole and in parts.
#[divan::bench(args = [USUAL])]
fn terms_of_identifiers(bencher: Bencher<'_, '_>, identifiers: usize) {
    let kinds = ["std::path ", "retry_count ", "HTTPServer ", "v1.2.3 "];
    let text: String = kinds.into_iter().cycle().take(identifiers).collect();
    cut(bencher, &text);
}

/// A script without spaces, which becomes pairs of characters.
#[divan::bench(args = [USUAL])]
fn terms_of_han_characters(bencher: Bencher<'_, '_>, characters: usize) {
    let text: String = "東京都数据库備份会議"
        .chars()
        .cycle()
        .take(characters)
        .collect();
    cut(bencher, &text);
}

/// Three words in a row for each: how much two texts have in common.
#[divan::bench(args = [30, USUAL, 3_000])]
fn shingles_of_words(bencher: Bencher<'_, '_>, words: usize) {
    let (one, other) = (Random(4).text(words), Random(5).text(words));
    bencher
        .counter(BytesCount::of_str(&one))
        .bench_local(|| ranking::resemblance(black_box(&one), black_box(&other)));
}

#[divan::bench(args = [USUAL])]
fn outline_of_words(bencher: Bencher<'_, '_>, words: usize) {
    let text = Random(4).text(words);
    bencher
        .counter(BytesCount::of_str(&text))
        .bench_local(|| ShingleSet::of(black_box(&text)));
}

/// One outline against so many, as duplicates are looked for.
#[divan::bench(args = [1_000])]
fn outlines_compared(bencher: Bencher<'_, '_>, memories: usize) {
    let outlines: Vec<ShingleSet> = (0..memories)
        .map(|number| ShingleSet::of(&note(number, USUAL).content))
        .collect();
    bencher.counter(ItemsCount::new(memories)).bench_local(|| {
        let one = black_box(&outlines[0]);
        let alike = |other: &&ShingleSet| one.is_like(other, 0.5);
        outlines.iter().filter(alike).count()
    });
}

/// Counts of two keywords, a common and a rare one, as `think` scores a memory.
#[divan::bench(args = [1_000])]
fn keywords_in_memories(bencher: Bencher<'_, '_>, memories: usize) {
    let asked = [WORDS[3].as_str(), "postgres"];
    let asked = asked.map(|word| Keyword::new(word).expect("a word"));
    let notes: Vec<NewMemory> = (0..memories).map(|number| note(number, USUAL)).collect();
    let bytes: usize = notes.iter().map(|note| note.content.len()).sum();
    bencher.counter(BytesCount::new(bytes)).bench_local(|| {
        let of_note = |note: &NewMemory| -> u32 {
            let of_keyword = |keyword: &Keyword| {
                let topics = note.topics.iter().map(|topic| keyword.count(topic)).sum();
                let elsewhere = [&note.content, &note.user, &note.agent];
                let elsewhere = elsewhere.map(|text| keyword.count(text)).into_iter().sum();
                ranking::keyword::score(topics, elsewhere)
            };
            asked.iter().map(of_keyword).sum()
        };
        black_box(&notes).iter().map(of_note).sum::<u32>()
    });
}

/// What ranking knows of memories, with their postings in memory.
struct Ranked {
    members: Vec<Member>,
    collection: Collection,
    text: HashMap<String, Vec<(u32, u32)>>,
    title: HashMap<String, Vec<u32>>,
}

impl Postings for Ranked {
    type Error = Infallible;

    fn text(&self, term: &str) -> Result<Vec<(u32, u32)>, Infallible> {
        Ok(self.text.get(term).cloned().unwrap_or_default())
    }

    fn frequency(&self, term: &str) -> Result<usize, Infallible> {
        Ok(self.text.get(term).map_or(0, Vec::len))
    }

    fn called(&self, _: Calling, _: &str) -> Result<Vec<u32>, Infallible> {
        Ok(Vec::new())
    }

    fn title(&self, term: &str) -> Result<Vec<u32>, Infallible> {
        Ok(self.title.get(term).cloned().unwrap_or_default())
    }

    fn date(&self, _: &str) -> Result<Vec<u32>, Infallible> {
        Ok(Vec::new())
    }
}

impl Ranked {
    fn of(memories: usize) -> Ranked {
        let mut analyzer = analyzer();
        let mut members = Vec::new();
        let mut text: HashMap<String, Vec<(u32, u32)>> = HashMap::new();
        let mut title: HashMap<String, Vec<u32>> = HashMap::new();
        let mut random = Random(6);
        let mut at = moment();
        for row in 0..memories as u32 {
            at += TimeDelta::seconds(60 + random.below(5_000) as i64);
            let note = note(row as usize, 60 + random.below(340));
            let (mut traits, mut length) = (TraitsBuilder::new(""), 0);
            let parts = [
                (TextPart::Title, note.title.as_deref().unwrap_or_default()),
                (TextPart::Content, note.content.as_str()),
            ];
            for (part, of_part) in parts {
                analyzer.terms(of_part, |term, word, kind| {
                    length += 1;
                    traits.term(part, term, word, kind);
                    let rows = text.entry(term.to_owned()).or_default();
                    match rows.last_mut() {
                        Some((last, times)) if *last == row => *times += 1,
                        _ => rows.push((row, 1)),
                    }
                    let titles = title.entry(term.to_owned()).or_default();
                    if part == TextPart::Title && titles.last() != Some(&row) {
                        titles.push(row);
                    }
                });
            }
            members.push(Member {
                namespace: 0,
                user: 0,
                timestamp: at.timestamp_micros(),
                length,
                vector: traits.vector(),
                traits: traits.finish(&note.content, &note.user),
            });
        }
        let collection = collected(&members);
        Ranked {
            members,
            collection,
            text,
            title,
        }
    }
}

fn collected(members: &[Member]) -> Collection {
    Collection::of(members.iter().copied().collect(), vec!["alice".to_owned()])
}

static THOUSAND: LazyLock<Ranked> = LazyLock::new(|| Ranked::of(1_000));
static TEN_THOUSAND: LazyLock<Ranked> = LazyLock::new(|| Ranked::of(10_000));

fn ranked(memories: usize) -> &'static Ranked {
    match memories {
        1_000 => &THOUSAND,
        10_000 => &TEN_THOUSAND,
        other => unreachable!("nobody asks for {other} memories"),
    }
}

/// Rows with their neighbours in time, from what is known of each.
#[divan::bench(args = [1_000, 10_000])]
fn collection_of_memories(bencher: Bencher<'_, '_>, memories: usize) {
    let members = &ranked(memories).members;
    bencher
        .counter(ItemsCount::new(memories))
        .bench_local(|| collected(black_box(members)));
}

/// Ranks all memories for a common word and two rarer ones.
fn rank(bencher: Bencher<'_, '_>, method: &str, memories: usize) {
    let ranked = ranked(memories);
    let ranking = Ranking {
        method: ranking::Method::named(method).expect("a method"),
        ..Ranking::default()
    };
    let mut random = Random(7);
    let cosines: Arc<[f32]> = (0..memories).map(|_| random.share() as f32).collect();
    let meaning = |_: &str| {
        let exact = cosines.clone();
        Some(Cosines {
            own: cosines.to_vec(),
            window: cosines.to_vec(),
            exact: Box::new(move |row| [exact[row as usize]; 2]),
            tokens: None,
        })
    };
    let text = format!("postgres {} deadlock", WORDS[30]);
    let input = fused::RankingInput {
        text: &text,
        first: 25,
        ranking: &ranking,
        meaning: &meaning,
        pieces: fused::Pieces {
            ahead: &|_| {},
            of: &|_| Vec::new(),
        },
        signals: &signals,
        memory: &|_| None::<Memory>,
        reranking: None,
    };
    let mut analyzer = analyzer();
    let names = Names::default();
    bencher
        .counter(ItemsCount::new(memories))
        .bench_local(move || {
            let input = black_box(&input);
            let collection = &ranked.collection;
            match fused::score(input, collection, &names, &mut analyzer, ranked, |_| true) {
                Ok(ranked) => {
                    assert!(!ranked.scored.is_empty(), "the words are there");
                    ranked.scored
                }
                Err(never) => match never {},
            }
        });
}

fn signals(_: u32) -> RankingSignals {
    RankingSignals {
        importance: 5.0,
        confidence: 1.0,
        tier: None,
        uses: 0,
        unchanged: 1.0,
        unused: None,
    }
}

#[divan::bench(args = [1_000, 10_000])]
fn bm25_of_memories(bencher: Bencher<'_, '_>, memories: usize) {
    rank(bencher, "bm25", memories);
}

/// Words with what stands around them: the ranking without a model.
#[divan::bench(args = [1_000, 10_000])]
fn words_of_memories(bencher: Bencher<'_, '_>, memories: usize) {
    rank(bencher, "words", memories);
}

/// The ranking with a model, whose cosines are given.
#[divan::bench(args = [1_000, 10_000])]
fn fused_of_memories(bencher: Bencher<'_, '_>, memories: usize) {
    rank(bencher, "fused", memories);
}

/// The places by BM25 and by cosine, put together.
#[divan::bench(args = [1_000, 10_000])]
fn rank_fusion_of_memories(bencher: Bencher<'_, '_>, memories: usize) {
    rank(bencher, "rrf", memories);
}

fn kept(vectors: usize) -> (tempfile::TempDir, Arc<View>) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let store = VectorStore::new(folder.path());
    let mut random = Random(8);
    let kept = (0..vectors).map(|number| VectorEntry {
        key: number as VectorKey,
        pieces: vec![random.vector()],
        tokens: Vec::new(),
    });
    store.add(kept.collect()).expect("vectors can be kept");
    let view = store.view().expect("they can be opened");
    (folder, view)
}

/// All cosines with vectors of 384 numbers.
#[divan::bench(args = [1_000, 10_000])]
fn scan_of_vectors(bencher: Bencher<'_, '_>, vectors: usize) {
    let (_folder, view) = kept(vectors);
    let query = Random(9).vector();
    bencher
        .counter(ItemsCount::new(vectors))
        .bench_local(|| view.near(black_box(&query)));
}

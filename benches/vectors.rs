//! How long vectors take to be kept, opened and searched, and how many of the nearest are found.
//!
//! `cargo bench --bench vectors -- [--vectors FILE] [--dimensions 384] [SIZE ...]`, sizes in
//! vectors, 10,000, 100,000 and 1,000,000 if none is given. FILE holds vectors of a real model,
//! 32-bit numbers one after the other, little endian; further ones are made by moving these a
//! little. Without it they are drawn in groups, as texts come in topics. Queries are vectors that
//! are not kept, moved in the same way. Recall is that of the 10 nearest by exact comparison.

#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use memdir::vectors::{VectorEntry, VectorKey, VectorStore};
use rayon::prelude::*;

const QUERIES: usize = 50;
const NEAREST: usize = 10;
/// Number of nearest vectors that are compared exactly.
const COMPARED: usize = 200;
/// How far a vector is moved: to a cosine of about .8 with what it was.
const MOVED: f32 = 0.75;
const BATCH: usize = 50_000;

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

    /// Of variance 1, nearly normal.
    fn normal(&mut self) -> f32 {
        let bits = self.next();
        let parts = (0..4).map(|part| ((bits >> (16 * part)) & 0xFFFF) as f32 / 65_536.0 - 0.5);
        parts.sum::<f32>() * 3.0_f32.sqrt()
    }

    fn vector(&mut self, dimensions: usize) -> Vec<f32> {
        let numbers = (0..dimensions).map(|_| self.normal()).collect();
        unit(numbers)
    }

    fn moved(&mut self, vector: &[f32]) -> Vec<f32> {
        let step = self.vector(vector.len());
        let sum = vector.iter().zip(step).map(|(a, b)| a + MOVED * b);
        unit(sum.collect())
    }
}

fn unit(vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.into_iter().map(|value| value / length).collect()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn read(path: &str, dimensions: usize) -> Vec<Vec<f32>> {
    let bytes = fs::read(path).expect("the file of vectors can be read");
    let numbers: Vec<f32> = bytes
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().expect("four bytes")))
        .collect();
    numbers
        .chunks_exact(dimensions)
        .map(|vector| unit(vector.to_vec()))
        .collect()
}

/// The places of the greatest values, the greatest first.
fn greatest(values: &[f32], count: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..values.len()).collect();
    places.sort_unstable_by(|&a, &b| values[b].total_cmp(&values[a]));
    places.truncate(count);
    places
}

fn median(times: &mut [Duration]) -> (f64, f64) {
    times.sort_unstable();
    let ms = |at: usize| times[at].as_secs_f64() * 1e3;
    (ms(times.len() / 2), ms(times.len() * 99 / 100))
}

fn key(number: usize) -> VectorKey {
    let hash = blake3::hash(&number.to_le_bytes());
    VectorKey::from_le_bytes(hash.as_bytes()[..16].try_into().expect("sixteen bytes"))
}

fn measure(size: usize, real: &[Vec<f32>], dimensions: usize) {
    let mut random = Random(size as u64);
    let made: Vec<Vec<f32>>;
    let seeds = match real.is_empty() {
        true => {
            made = (0..size.div_ceil(50))
                .map(|_| random.vector(dimensions))
                .collect();
            &made
        }
        false => real,
    };
    let queries: Vec<Vec<f32>> = (0..QUERIES)
        .map(|_| {
            let seed = random.below(seeds.len());
            random.moved(&seeds[seed])
        })
        .collect();
    let vectors: Vec<Vec<f32>> = (0..size)
        .map(|number| match real.get(number) {
            Some(vector) => vector.clone(),
            None => {
                let seed = random.below(seeds.len());
                random.moved(&seeds[seed])
            }
        })
        .collect();

    let folder = tempfile::tempdir().expect("a folder can be made");
    let store = VectorStore::new(folder.path());
    let start = Instant::now();
    for (batch, vectors) in vectors.chunks(BATCH).enumerate() {
        let numbered = (batch * BATCH..).zip(vectors);
        let kept = numbered.map(|(number, vector)| VectorEntry {
            key: key(number),
            pieces: vec![vector.clone()],
            tokens: Vec::new(),
        });
        store.add(kept.collect()).expect("vectors can be kept");
    }
    store.tidy(None).expect("files can be joined");
    let kept = start.elapsed();

    let start = Instant::now();
    let view = VectorStore::new(folder.path())
        .view()
        .expect("it can be opened");
    let opened = start.elapsed();
    let start = Instant::now();
    let places: Vec<_> = (0..size)
        .map(|n| view.find(key(n)).expect("it is kept"))
        .collect();
    let found = start.elapsed();

    let truth: Vec<Vec<usize>> = queries
        .par_iter()
        .map(|query| {
            let exact: Vec<f32> = vectors.iter().map(|vector| dot(vector, query)).collect();
            greatest(&exact, NEAREST)
        })
        .collect();
    let (mut times, mut hits) = (Vec::new(), 0);
    for (query, truth) in queries.iter().zip(&truth) {
        let start = Instant::now();
        let near = view.near(query);
        times.push(start.elapsed());
        let about: Vec<f32> = places.iter().map(|&place| near.at(place)).collect();
        let mut nearest = greatest(&about, COMPARED);
        nearest.sort_by(|&a, &b| {
            let exact = |number: usize| view.exact(places[number], query);
            exact(b).total_cmp(&exact(a))
        });
        hits += nearest
            .iter()
            .take(NEAREST)
            .filter(|n| truth.contains(n))
            .count();
    }
    let recall = hits as f64 / (QUERIES * NEAREST) as f64;
    let (half, most) = median(&mut times);
    let mb = view.bytes() as f64 / 1e6;
    println!(
        "{size:>9} {kept:>8.2?} {opened:>8.2?} {found:>8.2?} {half:>8.2} {most:>8.2} {recall:>7.3} {mb:>7.1}"
    );
    std::io::stdout().flush().expect("standard output is open");
}

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench");
    let (mut sizes, mut file, mut dimensions) = (Vec::new(), None, 384);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--vectors" => file = arguments.next(),
            "--dimensions" => {
                let number = arguments.next().and_then(|number| number.parse().ok());
                dimensions = number.expect("--dimensions takes a number");
            }
            size => sizes.push(
                size.replace([',', '_'], "")
                    .parse()
                    .expect("a size is a number"),
            ),
        }
    }
    if sizes.is_empty() {
        sizes = vec![10_000, 100_000, 1_000_000];
    }
    let real = file.map_or_else(Vec::new, |file| read(&file, dimensions));
    println!(
        "  vectors  kept in  open in  find in   search   (p99)  recall      MB   (search: ms)"
    );
    for size in sizes {
        measure(size, &real, dimensions);
    }
}

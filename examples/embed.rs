//! Embeds what it is told to, for `benches/embedding.py`.
//!
//! usage: `embed FOLDER THREADS [LIBRARY]`
//!
//! One JSON object a line on standard input, one answer a line. `{"passages": [TEXT, …]}` gives the
//! vectors of each text's pieces, with `"low": true` at low priority and on all threads, as a
//! rebuild does; `{"query": TEXT}` gives one vector, `{"rest": true}` lets go of the model; each says how long it took on the clock and, on Linux, on all cores.

#![expect(clippy::print_stdout, reason = "its answers go there")]

use std::error::Error;
use std::io::BufRead;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use memdir::embed::{Embedder, Local, LocalSettings, Priority};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next();
    let usage = "usage: embed FOLDER THREADS [LIBRARY]";
    let settings = LocalSettings {
        folder: PathBuf::from(next().ok_or(usage)?),
        threads: next().ok_or(usage)?.parse()?,
        libraries: next().map(PathBuf::from).into_iter().collect(),
        ..LocalSettings::default()
    };
    let begun = Instant::now();
    let model = Local::new(settings)?;
    println!(
        "{}",
        json!({"id": model.id(), "ms": milliseconds(begun.elapsed())})
    );
    for line in std::io::stdin().lock().lines() {
        let line: Value = serde_json::from_str(&line?)?;
        let (begun, computed) = (Instant::now(), processor_time());
        let vectors = if let Some(texts) = line["passages"].as_array() {
            let texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
            let priority = match line["low"] == true {
                true => Priority::Low,
                false => Priority::Usual,
            };
            json!(priority.run(|| model.passages(&texts))?)
        } else if let Some(text) = line["query"].as_str() {
            json!(model.query(text)?)
        } else {
            model.rest(Duration::ZERO);
            Value::Null
        };
        let took = milliseconds(begun.elapsed());
        let computed = milliseconds(processor_time().saturating_sub(computed));
        let runtime = model.describe();
        println!(
            "{}",
            json!({"vectors": vectors, "ms": took, "cpu_ms": computed, "runtime": runtime})
        );
    }
    Ok(())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// What the process has computed on all cores, in steps of a hundredth of a second.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name before it may hold blanks.
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields = after_name.split_whitespace().skip(11).take(2);
    let ticks: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

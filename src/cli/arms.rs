//! The comparison of the ranking with each of its parts as a search of its own: `memdir eval --arms`.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::args::eval::Eval;
use super::eval::{Corpus, corpus, dataset, modes, ranking};
use super::terminal::fail::Failure;
use super::terminal::progress::progress_bar;
use super::wiring::context::{Context, Outcome};
use crate::engine::{Method, QueryKind, Ranking, meaning};
use crate::eval::{Dataset, Difference, Measures, Tally};
use crate::words::is_stop_word;

/// Share by which an arm may be ahead: 0.3 points.
const MARGIN: f64 = 0.003;
/// Names of the compared measures.
const COMPARED: [&str; 2] = ["R@10", "NDCG@10"];
/// Searches without vectors that are compared with every ranking.
const PLAIN: [Arm; 3] = [
    Arm::Ranked(Method::Words),
    Arm::Ranked(Method::Bm25),
    Arm::Keywords,
];
/// Searches that are compared where there is a model.
const WITH_MEANING: [Arm; 3] = [
    Arm::Ranked(Method::Cosine),
    Arm::Ranked(Method::WindowCosine),
    Arm::Ranked(Method::ReciprocalRank),
];

/// A search that is compared with the ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arm {
    Ranked(Method),
    /// Keyword counts of the question's words without function words.
    Keywords,
}

/// Answers of one arm.
struct Answers {
    arm: Arm,
    /// Quality of each question's answers, in the order of the questions.
    measures: Vec<Measures>,
    tally: Tally,
}

/// One arm beside the ranking.
struct Row {
    name: &'static str,
    values: [f64; 2],
    /// Values of the arm less those of the ranking.
    differences: [Difference; 2],
    tally: Tally,
}

/// Runs `memdir eval --arms`.
pub fn compare(context: &mut Context, command: &Eval) -> Result<Outcome, Failure> {
    let ranking = ranking(command)?;
    let folder = crate::files::scratch_folder()
        .map_err(|error| Failure::new("cannot make a store to measure in").because(error))?;
    let (mut all, mut is_ahead) = (Vec::new(), false);
    for path in &command.datasets {
        let dataset = dataset(path, command.from, folder.path())?;
        let root = command.keep.as_deref().unwrap_or(folder.path());
        let corpus = corpus(context, &dataset, &root.join(&dataset.name))?;
        let arms = arms(&corpus, ranking.method)?;
        for mode in modes(command) {
            let answers: Vec<Answers> = arms
                .iter()
                .map(|&arm| ask(&corpus, &dataset, mode, arm, &ranking, command.limit))
                .collect::<Result<_, _>>()?;
            let rows = rows(answers);
            is_ahead |= rows.iter().any(|row| row.ahead().next().is_some());
            match context.output.json {
                true => all.push(document(&dataset, mode, &rows)),
                false => context.output.line(table(&dataset, mode, &rows))?,
            }
        }
    }
    if context.output.json {
        context.output.json(&Value::Array(all))?;
    }
    Ok(Outcome::found(!is_ahead))
}

/// Returns the ranking itself, then what it is compared with.
fn arms(corpus: &Corpus, method: Method) -> Result<Vec<Arm>, Failure> {
    let has_model = meaning::meaning_status(&corpus.engine.meaning)?.is_some();
    let mut arms = vec![Arm::Ranked(method)];
    if has_model && method.uses_meaning() {
        arms.extend(WITH_MEANING);
    }
    arms.extend(PLAIN);
    // The ranking may be one of the arms.
    let mut others = arms.split_off(1);
    others.retain(|arm| *arm != arms[0]);
    arms.append(&mut others);
    Ok(arms)
}

impl Arm {
    fn name(self) -> &'static str {
        match self {
            Arm::Ranked(method) => method.name(),
            Arm::Keywords => "keywords",
        }
    }

    fn query(self, question: &str) -> QueryKind {
        match self {
            Arm::Ranked(_) => QueryKind::Text(question.to_owned()),
            Arm::Keywords => QueryKind::Keywords(keywords(question)),
        }
    }

    fn ranking(self, ranking: &Ranking) -> Ranking {
        match self {
            Arm::Ranked(method) => Ranking { method, ..*ranking },
            Arm::Keywords => *ranking,
        }
    }
}

/// Returns the words of a question without function words; all of them if it has no other.
fn keywords(question: &str) -> Vec<String> {
    let lower = question.to_lowercase();
    let words = lower.split(|character: char| !character.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let mut content = words.clone();
    content.retain(|word| !is_stop_word(word));
    let sought = if content.is_empty() { words } else { content };
    sought.into_iter().map(str::to_owned).collect()
}

/// Asks one arm every question.
fn ask(
    corpus: &Corpus,
    dataset: &Dataset,
    mode: &str,
    arm: Arm,
    ranking: &Ranking,
    limit: usize,
) -> Result<Answers, Failure> {
    let ranking = arm.ranking(ranking);
    let mut answers = Answers {
        arm,
        measures: Vec::new(),
        tally: Tally::default(),
    };
    let bar = progress_bar(arm.name());
    bar.set_length(dataset.questions.len() as u64);
    for question in &dataset.questions {
        let kind = arm.query(&question.query);
        let hits = corpus.search(question, kind, mode, &ranking, limit)?;
        let measures = corpus.measures(question, &hits);
        answers.tally.add(&question.kind, &measures);
        answers.measures.push(measures);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(answers)
}

/// Returns the values of the compared measures.
fn compared(values: [f64; 9]) -> [f64; 2] {
    COMPARED.map(|name| {
        let place = Measures::NAMES.iter().position(|known| *known == name);
        values[place.expect("it is a measure")]
    })
}

/// Compares each arm with the first one, which is the ranking.
fn rows(answers: Vec<Answers>) -> Vec<Row> {
    let of = |answers: &Answers| -> Vec<[f64; 2]> {
        let measures = answers.measures.iter();
        measures.map(|one| compared(one.values())).collect()
    };
    let ranking = of(&answers[0]);
    let row = |answers: Answers| {
        let own = of(&answers);
        let mean = |at: usize| own.iter().map(|one| one[at]).sum::<f64>() / own.len() as f64;
        let difference = |at: usize| {
            let pairs = own.iter().zip(&ranking);
            let differences: Vec<f64> = pairs.map(|(own, other)| own[at] - other[at]).collect();
            Difference::of(&differences)
        };
        Row {
            name: answers.arm.name(),
            values: [0, 1].map(mean),
            differences: [0, 1].map(difference),
            tally: answers.tally,
        }
    };
    answers.into_iter().map(row).collect()
}

impl Row {
    /// Returns the measures in which it is ahead of the ranking by more than the margin.
    fn ahead(&self) -> impl Iterator<Item = (&'static str, Difference)> {
        let pairs = COMPARED.into_iter().zip(self.differences);
        pairs.filter(|(_, difference)| difference.mean > MARGIN)
    }
}

fn document(dataset: &Dataset, mode: &str, rows: &[Row]) -> Value {
    let arms = rows.iter().map(|row| {
        let differences = COMPARED
            .into_iter()
            .zip(row.differences)
            .map(|(name, one)| {
                let difference = json!({
                    "mean": one.mean, "low": one.low, "high": one.high,
                    "significant": one.is_significant(),
                });
                (name.to_owned(), difference)
            });
        let types = row.tally.rows().into_iter().map(|(kind, count, values)| {
            let [recall, ndcg] = compared(values);
            (
                kind.to_owned(),
                json!({"questions": count, "R@10": recall, "NDCG@10": ndcg}),
            )
        });
        json!({
            "arm": row.name,
            "types": Value::Object(types.collect()),
            "difference": Value::Object(differences.collect()),
            "ahead": row.ahead().map(|(name, _)| name).collect::<Vec<_>>(),
        })
    });
    json!({
        "dataset": dataset.name,
        "mode": mode,
        "ranking": rows[0].name,
        "arms": arms.collect::<Vec<_>>(),
    })
}

/// Returns a table with a line for each arm, and a line for each that is ahead.
fn table(dataset: &Dataset, mode: &str, rows: &[Row]) -> String {
    let count = dataset.questions.len();
    let mut table = format!(
        "{} · {mode} · {count} questions\n{:<14}",
        dataset.name, "arm"
    );
    for name in COMPARED {
        let _ = write!(table, " {name:>8}");
    }
    for name in COMPARED {
        let _ = write!(table, "   {:<22}", format!("{name}, less {}", rows[0].name));
    }
    for (place, row) in rows.iter().enumerate() {
        let _ = write!(table, "\n{:<14}", row.name);
        for value in row.values {
            let _ = write!(table, " {:>8.1}", 100.0 * value);
        }
        if place > 0 {
            for difference in row.differences {
                let _ = write!(table, "   {:<22}", points(difference));
            }
        }
    }
    let mut text: String = table
        .lines()
        .flat_map(|line| [line.trim_end(), "\n"])
        .collect();
    for row in rows {
        for (name, difference) in row.ahead() {
            let by = 100.0 * difference.mean;
            let significance = match difference.is_significant() {
                true => "significant",
                false => "not significant",
            };
            let _ = writeln!(
                text,
                "{} is ahead of {} by {by:.1} points in {name} ({significance})",
                row.name, rows[0].name
            );
        }
    }
    text
}

/// Returns a difference in points, with its interval.
fn points(difference: Difference) -> String {
    let Difference { mean, low, high } = difference;
    let [mean, low, high] = [mean, low, high].map(|share| 100.0 * share);
    format!("{mean:+.1} ({low:+.1} to {high:+.1})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_the_words_that_say_something() {
        assert_eq!(keywords("Where is Ruth's studio?"), ["ruth", "studio"]);
        assert_eq!(keywords("What is it?"), ["what", "is", "it"]);
    }

    #[test]
    fn an_arm_is_ahead_from_three_tenths_of_a_point() {
        let answers = |arm, found: usize| {
            let measures = (0..1000).map(|at| Measures::of(&[at < found], 1));
            Answers {
                arm,
                measures: measures.collect(),
                tally: Tally::default(),
            }
        };
        let ahead = |found| {
            let ranking = answers(Arm::Ranked(Method::Fused), 500);
            let rows = rows(vec![ranking, answers(Arm::Keywords, found)]);
            let ahead: Vec<&str> = rows[1].ahead().map(|(name, _)| name).collect();
            (rows[1].values, ahead)
        };
        assert_eq!(ahead(502), ([0.502; 2], vec![]));
        assert_eq!(ahead(504), ([0.504; 2], vec!["R@10", "NDCG@10"]));
        assert_eq!(ahead(400), ([0.4; 2], vec![]));
    }
}

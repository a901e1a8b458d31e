//! Ranks all files for a text as the index does, but reads and tokenizes them for each search.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

use super::{Claims, Row, Scan, passes};
use crate::index::filter::Conditions;
use crate::index::text::look;
use crate::index::{Indexed, facts, passage};
use crate::lifecycle::Stated;
use crate::model::Memory;
use crate::ranking;
use crate::ranking::fused::{Pieces, RankingInput, Scored};
use crate::ranking::{
    Calling, Collection, Excerpts, Member, NamedPerson, Names, ParsedQuery, Ranking, Rerank,
    Reranking, TextFeatures, TextPart, callings, date_terms, fused,
};
use crate::words::{Analyzer, TextVector};

/// Ranking data of one file.
struct Line {
    file: u32,
    namespace: String,
    user: String,
    agent: String,
    timestamp: i64,
    stated: Stated,
    indexed: Indexed,
    length: u32,
    traits: TextFeatures,
    vector: TextVector,
    passes: bool,
    claims: Option<Claims>,
    /// Numbers of the query's terms that the text holds, with their frequencies.
    terms: Vec<(u32, u32)>,
    /// Numbers of those that the title holds.
    title: Vec<u32>,
    /// Names by which it calls somebody.
    callings: Vec<(Calling, String)>,
    /// Numbers of the query's calendar terms that the timestamp has.
    dates: Vec<u32>,
}

/// Terms of the query, with their numbers.
#[derive(Default)]
struct QueryWords {
    terms: HashMap<String, u32>,
    dates: Vec<String>,
}

/// Postings of the query's terms, by number.
struct Postings {
    wanted: QueryWords,
    text: Vec<Vec<(u32, u32)>>,
    title: Vec<Vec<u32>>,
    date: Vec<Vec<u32>>,
    called: HashMap<(Calling, String), Vec<u32>>,
}

impl Scan {
    /// Returns the rows that match a text, the number of its terms that were not ranked, and the words that
    /// were taken for users.
    pub(super) fn ranked(
        &self,
        conditions: &Conditions<'_>,
        query: &str,
        ranking: &Ranking,
        rerank: Option<&Rerank<'_>>,
    ) -> (Vec<Row>, usize, Vec<NamedPerson>) {
        let mut analyzer = Analyzer::new(&self.languages);
        let mut wanted = QueryWords::default();
        wanted.add(&mut analyzer, query);
        wanted.dates = ParsedQuery::read(query, &Names::default()).dates;
        let (mut lines, collection, names) = loop {
            let mut lines = self.lines(conditions, &wanted);
            lines.sort_by(|a, b| {
                (&a.namespace, a.timestamp, a.file).cmp(&(&b.namespace, b.timestamp, b.file))
            });
            let collection = collection(&lines);
            let agents = lines.iter().map(|line| line.agent.clone()).collect();
            let names = Names::of(collection.user_names(), &agents, &self.people);
            // An identifier without a name in it may be another term, which was not searched for.
            let mut is_new = wanted.add(&mut analyzer, &ParsedQuery::read(query, &names).text);
            for (_, name) in names.misspelt(query) {
                is_new |= wanted.add(&mut analyzer, name);
            }
            if !is_new {
                break (lines, collection, names);
            }
        };
        let there: HashSet<u32> = lines.iter().map(|line| line.file).collect();
        let claims: Vec<(u32, Claims)> = lines
            .iter_mut()
            .filter_map(|line| Some((line.file, line.claims.take()?)))
            .collect();
        let superseded = self.superseded(&claims, |file| there.contains(&file));
        let postings = Postings::of(wanted, &lines);
        let passes = |row: u32| {
            let line = &lines[row as usize];
            line.passes && !superseded.contains(&line.file)
        };
        let kept: Mutex<HashMap<u32, Option<Memory>>> = Mutex::default();
        let kept = || kept.lock().unwrap_or_else(PoisonError::into_inner);
        // Together: a distant storage is asked once for them.
        let ahead = |rows: &[u32]| {
            let names = rows.iter().map(|&row| self.name(lines[row as usize].file));
            let read = (self.read)(&names.collect::<Vec<_>>()).into_iter();
            let memories = read.map(|document| document.map(|document| document.memory));
            *kept() = rows.iter().copied().zip(memories).collect();
        };
        let memory = |row: u32| {
            if let Some(memory) = kept().get(&row) {
                return memory.clone();
            }
            let document = self.read_one(self.name(lines[row as usize].file));
            document.map(|document| document.memory)
        };
        let excerpts = |row| memory(row).map_or_else(Excerpts::default, |m| passage::excerpts(&m));
        let input = RankingInput {
            text: query,
            first: usize::MAX,
            ranking,
            // Vectors are kept beside an index, and there is none.
            meaning: &|_| None,
            pieces: Pieces {
                ahead: &ahead,
                of: &|row| memory(row).map_or_else(Vec::new, |memory| passage::texts_of(&memory)),
            },
            signals: &|row| {
                let line = &lines[row as usize];
                conditions
                    .moment()
                    .signals(self.name(line.file), &line.stated)
            },
            memory: &memory,
            reranking: rerank.map(|rerank| Reranking {
                rerank,
                ahead: &ahead,
                excerpts: &excerpts,
            }),
        };
        let ranked = fused::score(
            &input,
            &collection,
            &names,
            &mut analyzer,
            &postings,
            passes,
        );
        let ranked = match ranked {
            Ok(ranked) => ranked,
            Err(never) => match never {},
        };
        let row = |scored: &Scored| {
            let line = &lines[scored.row as usize];
            Row {
                file: line.file,
                timestamp: line.timestamp,
                indexed: line.indexed,
                score: f64::from(scored.score),
                matched: Vec::new(),
                parts: Some(ranked.parts(scored.row)),
            }
        };
        let rows = ranked.scored.iter().map(row).collect();
        (rows, ranked.unranked, ranked.people)
    }

    fn lines(&self, conditions: &Conditions<'_>, wanted: &QueryWords) -> Vec<Line> {
        self.each_file(
            || Analyzer::new(&self.languages),
            |analyzer, file, document| {
                let memory = &document.memory;
                let mut line = wanted.line(analyzer, file, memory, document.indexed);
                line.passes = passes(conditions, analyzer, &document, &mut None);
                if conditions.hides_superseded() {
                    line.claims = Claims::of(memory);
                }
                Some(line)
            },
        )
    }
}

impl QueryWords {
    /// Adds the terms of `text`, and returns whether one of them is new.
    fn add(&mut self, analyzer: &mut Analyzer, text: &str) -> bool {
        let before = self.terms.len();
        analyzer.terms(text, |term, _, _| {
            let number = self.terms.len() as u32;
            self.terms.entry(term.to_owned()).or_insert(number);
        });
        self.terms.len() > before
    }

    fn line(&self, analyzer: &mut Analyzer, file: u32, memory: &Memory, indexed: Indexed) -> Line {
        let mut terms: HashMap<u32, u32> = HashMap::new();
        let mut title: HashSet<u32> = HashSet::new();
        let looked = look(analyzer, memory, |part, term| {
            let Some(&number) = self.terms.get(term) else {
                return;
            };
            *terms.entry(number).or_default() += 1;
            if part == TextPart::Title {
                title.insert(number);
            }
        });
        let dates = if self.dates.is_empty() {
            Vec::new()
        } else {
            let of_memory = date_terms(memory.timestamp.date());
            let dates = self.dates.iter().enumerate();
            dates
                .filter(|(_, date)| of_memory.contains(date))
                .map(|(number, _)| number as u32)
                .collect()
        };
        Line {
            file,
            namespace: memory.namespace_or_global().to_owned(),
            user: memory.user.clone(),
            agent: facts::comparable(&memory.agent),
            timestamp: memory.timestamp.utc().timestamp_micros(),
            stated: Stated::of(memory),
            indexed,
            length: looked.length,
            traits: looked.traits,
            vector: looked.vector,
            passes: false,
            claims: None,
            terms: terms.into_iter().collect(),
            title: title.into_iter().collect(),
            callings: callings(&memory.content, &memory.user),
            dates,
        }
    }
}

/// Returns the number of each text, and the distinct texts by number.
fn numbered<'a>(texts: impl Iterator<Item = &'a String>) -> (Vec<u32>, Vec<String>) {
    let mut known: HashMap<&str, u32> = HashMap::new();
    let mut distinct = Vec::new();
    let numbers = texts
        .map(|text| {
            *known.entry(text).or_insert_with(|| {
                distinct.push(text.clone());
                distinct.len() as u32 - 1
            })
        })
        .collect();
    (numbers, distinct)
}

fn collection(lines: &[Line]) -> Collection {
    let (users, user_names) = numbered(lines.iter().map(|line| &line.user));
    let (namespaces, _) = numbered(lines.iter().map(|line| &line.namespace));
    let numbered = lines.iter().zip(namespaces).zip(users);
    let member = |((line, namespace), user): ((&Line, u32), u32)| Member {
        namespace,
        user,
        timestamp: line.timestamp,
        length: line.length,
        traits: line.traits,
        vector: line.vector,
    };
    Collection::of(numbered.map(member).collect(), user_names)
}

impl Postings {
    fn of(wanted: QueryWords, lines: &[Line]) -> Postings {
        let (terms, dates) = (wanted.terms.len(), wanted.dates.len());
        let mut postings = Postings {
            wanted,
            text: vec![Vec::new(); terms],
            title: vec![Vec::new(); terms],
            date: vec![Vec::new(); dates],
            called: HashMap::new(),
        };
        for (row, line) in (0_u32..).zip(lines) {
            for &(term, times) in &line.terms {
                postings.text[term as usize].push((row, times));
            }
            for &term in &line.title {
                postings.title[term as usize].push(row);
            }
            for calling in &line.callings {
                postings
                    .called
                    .entry(calling.clone())
                    .or_default()
                    .push(row);
            }
            for &date in &line.dates {
                postings.date[date as usize].push(row);
            }
        }
        postings
    }

    fn number(&self, term: &str) -> Option<usize> {
        self.wanted.terms.get(term).map(|&number| number as usize)
    }
}

impl ranking::Postings for Postings {
    type Error = Infallible;

    fn text(&self, term: &str) -> Result<Vec<(u32, u32)>, Infallible> {
        let number = self.number(term);
        Ok(number.map_or_else(Vec::new, |number| self.text[number].clone()))
    }

    fn frequency(&self, term: &str) -> Result<usize, Infallible> {
        Ok(self
            .number(term)
            .map_or(0, |number| self.text[number].len()))
    }

    fn called(&self, whom: Calling, name: &str) -> Result<Vec<u32>, Infallible> {
        let rows = self.called.get(&(whom, name.to_owned()));
        Ok(rows.cloned().unwrap_or_default())
    }

    fn title(&self, term: &str) -> Result<Vec<u32>, Infallible> {
        let number = self.number(term);
        Ok(number.map_or_else(Vec::new, |number| self.title[number].clone()))
    }

    fn date(&self, term: &str) -> Result<Vec<u32>, Infallible> {
        let dates = &self.wanted.dates;
        let number = dates.iter().position(|date| date == term);
        Ok(number.map_or_else(Vec::new, |number| self.date[number].clone()))
    }
}

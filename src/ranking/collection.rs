//! What ranking knows of all memories of a store, row by row.
//!
//! Rows are in the order (namespace, time, name). Memories of one namespace less than an hour
//! apart form an *episode*; an episode whose memories have something to do with each other is a
//! *context*: what stands in one of them helps to find its neighbours.

use super::traits::Traits;

/// Neighbours further apart than this begin a new episode: an hour.
const EPISODE_GAP_MICROS: i64 = 3_600_000_000;
/// Episodes larger than this say nothing as a whole.
const MAX_EPISODE: usize = 50;
/// From this average similarity of neighbours on, an episode is a context.
const RELATED: f32 = 0.1;
/// Several people writing texts of at most so many words in turn are in conversation.
const TALK_WORDS: f32 = 100.0;
/// Neighbours with equal timestamps were imported together, not written together: with more
/// than this share of them, an episode is no context.
const MAX_EQUAL_TIMES: f32 = 0.5;

/// A run of memories close in time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Episode {
    pub start: u32,
    pub end: u32,
    /// Terms of all its memories.
    pub length: f32,
    /// Its memories are about each other.
    pub is_context: bool,
    /// It is a context, and small enough to be ranked as one text.
    pub is_ranked: bool,
}

/// The rows of a store.
#[derive(Debug, Default)]
pub struct Collection {
    namespaces: Vec<u32>,
    pub(super) users: Vec<u32>,
    timestamps: Vec<i64>,
    pub(super) lengths: Vec<f32>,
    pub(super) traits: Vec<Traits>,
    /// The user fields, as written, by number.
    user_names: Vec<String>,
    pub(super) episode_of: Vec<u32>,
    pub(super) episodes: Vec<Episode>,
    pub(super) mean_length: f32,
    pub(super) mean_episode_length: f32,
}

impl Collection {
    /// Adds the next row; `length` in terms, `timestamp` in microseconds since 1970.
    pub fn push(&mut self, namespace: u32, user: u32, timestamp: i64, length: u32, traits: Traits) {
        self.namespaces.push(namespace);
        self.users.push(user);
        self.timestamps.push(timestamp);
        self.lengths.push(length as f32);
        self.traits.push(traits);
    }

    /// Sets what the numbers of users stand for.
    pub fn set_users(&mut self, names: Vec<String>) {
        self.user_names = names;
    }

    pub fn user_names(&self) -> &[String] {
        &self.user_names
    }

    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// The row before this one in its context, if what was said there belongs to this one's
    /// meaning: not to that of a long text.
    pub fn previous(&self, row: u32) -> Option<u32> {
        let episode = &self.episodes[self.episode_of[row as usize] as usize];
        let follows = episode.is_context && row > episode.start;
        (follows && !self.traits[row as usize].is_long()).then(|| row - 1)
    }

    /// Microseconds since 1970.
    pub fn timestamp(&self, row: u32) -> i64 {
        self.timestamps[row as usize]
    }

    /// Cuts the rows into episodes; to be called once, after the last row.
    pub fn find_episodes(&mut self) {
        let mut start = 0;
        for row in 0..self.len() {
            let is_last = row + 1 == self.len()
                || self.namespaces[row] != self.namespaces[row + 1]
                || self.timestamps[row + 1] - self.timestamps[row] >= EPISODE_GAP_MICROS;
            self.episode_of.push(self.episodes.len() as u32);
            if is_last {
                let episode = self.episode(start, row + 1);
                self.episodes.push(episode);
                start = row + 1;
            }
        }
        let total: f32 = self.lengths.iter().sum();
        self.mean_length = mean(total, self.len());
        self.mean_episode_length = mean(total, self.episodes.len());
    }

    fn episode(&self, start: usize, end: usize) -> Episode {
        let size = end - start;
        let pairs = size.saturating_sub(1).max(1) as f32;
        let rows = start..end;
        let equal = rows
            .clone()
            .skip(1)
            .filter(|&row| self.timestamps[row] == self.timestamps[row - 1]);
        let similarity = |row: usize| {
            self.traits[row]
                .sketch
                .similarity(&self.traits[row - 1].sketch)
        };
        let is_related = || rows.clone().skip(1).map(similarity).sum::<f32>() / pairs >= RELATED;
        let words: f32 = self.traits[rows.clone()]
            .iter()
            .map(|t| f32::from(t.words))
            .sum();
        let is_talk = || {
            words / size as f32 <= TALK_WORDS
                && self.users[rows.clone()]
                    .iter()
                    .any(|user| *user != self.users[start])
        };
        let is_context = size >= 2
            && equal.count() as f32 / pairs <= MAX_EQUAL_TIMES
            && (is_talk() || is_related());
        Episode {
            start: start as u32,
            end: end as u32,
            length: self.lengths[rows].iter().sum(),
            is_context,
            is_ranked: is_context && size <= MAX_EPISODE,
        }
    }
}

fn mean(total: f32, count: usize) -> f32 {
    if count == 0 || total == 0.0 {
        1.0
    } else {
        total / count as f32
    }
}

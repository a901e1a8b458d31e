//! What ranking knows of all memories of a store, row by row.
//!
//! Rows are in the order (namespace, time, name). Memories of one namespace less than an hour
//! apart form an *episode*; an episode whose memories have something to do with each other is a
//! *context*: what stands in one of them helps to find its neighbours.

use std::ops::Range;

use super::splice::Splice;
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
#[derive(Debug, Clone, Copy, Default, PartialEq)]
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

/// What is known of one row.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    pub namespace: u32,
    pub user: u32,
    /// Microseconds since 1970.
    pub timestamp: i64,
    /// In terms.
    pub length: u32,
    pub traits: Traits,
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
    /// Adds the next row.
    pub fn push(&mut self, row: Member) {
        self.namespaces.push(row.namespace);
        self.users.push(row.user);
        self.timestamps.push(row.timestamp);
        self.lengths.push(row.length as f32);
        self.traits.push(row.traits);
    }

    /// The rows of this one after `splice`, with `new` rows and the names of all users: the same as
    /// if all had been pushed in their order, and the episodes found.
    pub fn spliced(&self, splice: &Splice, new: &[Member], users: Vec<String>) -> Collection {
        let mut spliced = Collection {
            namespaces: splice.apply(&self.namespaces, |at| new[at].namespace),
            users: splice.apply(&self.users, |at| new[at].user),
            timestamps: splice.apply(&self.timestamps, |at| new[at].timestamp),
            lengths: splice.apply(&self.lengths, |at| new[at].length as f32),
            traits: splice.apply(&self.traits, |at| new[at].traits),
            user_names: users,
            ..Collection::default()
        };
        spliced.episodes = self.spliced_episodes(splice, &spliced);
        spliced.know_episodes();
        spliced
    }

    /// The episodes of `spliced`: those that nothing happened in or beside are as they were.
    fn spliced_episodes(&self, splice: &Splice, spliced: &Collection) -> Vec<Episode> {
        const GONE: u32 = u32::MAX;
        let moved = splice.moved(GONE);
        let row = |row: u32| moved.get(row as usize).copied().unwrap_or(GONE);
        let mut episodes: Vec<Episode> = Vec::with_capacity(self.episodes.len() + 1);
        let mut done = 0;
        let cut_to = |episodes: &mut Vec<Episode>, end: u32, done: u32| {
            episodes.extend(spliced.cut(done as usize..end as usize));
        };
        for episode in &self.episodes {
            let (start, last) = (row(episode.start), row(episode.end - 1));
            let size = episode.end - episode.start;
            let rows = &moved[episode.start as usize..episode.end as usize];
            let is_whole = !rows.contains(&GONE) && last - start + 1 == size;
            if !is_whole {
                continue;
            }
            // A row that was put in before or behind it may belong to it.
            let is_first = match episode.start {
                0 => start == 0,
                row_before => row(row_before - 1) != GONE && start == row(row_before - 1) + 1,
            };
            let is_last = match episode.end as usize == self.len() {
                true => last as usize + 1 == spliced.len(),
                false => row(episode.end) != GONE && row(episode.end) == last + 1,
            };
            if !(is_first && is_last) {
                continue;
            }
            if start > done {
                cut_to(&mut episodes, start, done);
            }
            episodes.push(Episode {
                start,
                end: last + 1,
                ..*episode
            });
            done = last + 1;
        }
        if (done as usize) < spliced.len() {
            cut_to(&mut episodes, spliced.len() as u32, done);
        }
        episodes
    }

    /// Sets what the numbers of users stand for.
    pub fn set_users(&mut self, names: Vec<String>) {
        self.user_names = names;
    }

    /// Empties the names of users that no row is of: the last one may have gone.
    pub fn forget_absent_users(&mut self) {
        let mut is_there = vec![false; self.user_names.len()];
        for user in &self.users {
            is_there[*user as usize] = true;
        }
        for (name, is_there) in self.user_names.iter_mut().zip(is_there) {
            if !is_there {
                name.clear();
            }
        }
    }

    /// The number of a row's namespace.
    pub fn namespace(&self, row: u32) -> u32 {
        self.namespaces[row as usize]
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
        self.episodes = self.cut(0..self.len());
        self.know_episodes();
    }

    /// The episodes of `rows`, which begin and end where episodes do.
    fn cut(&self, rows: Range<usize>) -> Vec<Episode> {
        let mut episodes = Vec::new();
        let mut start = rows.start;
        for row in rows.clone() {
            let is_last = row + 1 == rows.end
                || self.namespaces[row] != self.namespaces[row + 1]
                || self.timestamps[row + 1] - self.timestamps[row] >= EPISODE_GAP_MICROS;
            if is_last {
                episodes.push(self.episode(start, row + 1));
                start = row + 1;
            }
        }
        episodes
    }

    /// What follows from the episodes.
    fn know_episodes(&mut self) {
        self.episode_of = Vec::with_capacity(self.len());
        for (number, episode) in self.episodes.iter().enumerate() {
            self.episode_of.resize(episode.end as usize, number as u32);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranking::traits::Sketch;
    use proptest::prelude::*;

    /// Rows in order, some of them close to their neighbours.
    fn rows() -> impl Strategy<Value = Vec<Member>> {
        let row = (0..3_u32, 0..3_u32, 0..40_i64, 1..60_u32);
        let rows = prop::collection::vec(row, 0..30);
        rows.prop_map(|mut rows: Vec<(u32, u32, i64, u32)>| {
            rows.sort_unstable_by_key(|&(namespace, _, time, _)| (namespace, time));
            let rows = rows.into_iter();
            let member = |(namespace, user, time, length)| Member {
                namespace,
                user,
                timestamp: time * EPISODE_GAP_MICROS / 3,
                length,
                traits: Traits::unpack(0, Sketch::unpack([0; 4])),
            };
            rows.map(member).collect::<Vec<_>>()
        })
    }

    fn collection(rows: &[Member]) -> Collection {
        let mut collection = Collection::default();
        rows.iter().for_each(|row| collection.push(*row));
        collection.find_episodes();
        collection
    }

    proptest! {
        #[test]
        fn what_is_spliced_is_as_if_it_had_been_pushed(
            old in rows(),
            new in rows(),
            gone in prop::collection::vec(any::<bool>(), 30),
        ) {
            let order = |row: &Member| (row.namespace, row.timestamp);
            let removed: Vec<u32> = (0..old.len() as u32).filter(|row| gone[*row as usize]).collect();
            let place = |row: &Member| old.partition_point(|known| order(known) <= order(row)) as u32;
            let inserted: Vec<u32> = new.iter().map(place).collect();
            let splice = Splice::new(old.len() as u32, &removed, &inserted);
            let spliced = collection(&old).spliced(&splice, &new, Vec::new());
            let all = splice.apply(&old, |at| new[at]);
            let pushed = collection(&all);
            prop_assert_eq!(&spliced.timestamps, &pushed.timestamps);
            prop_assert_eq!(&spliced.episodes, &pushed.episodes);
            prop_assert_eq!(&spliced.episode_of, &pushed.episode_of);
            prop_assert_eq!(spliced.mean_length, pushed.mean_length);
            prop_assert_eq!(spliced.mean_episode_length, pushed.mean_episode_length);
        }
    }
}

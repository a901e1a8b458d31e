//! What ranking knows of all memories of a store, row by row.
//!
//! Rows are in the order (namespace, time, name). Memories of one namespace less than an hour
//! apart form an *episode*; an episode whose memories have something to do with each other is a
//! *context*: what stands in one of them helps to find its neighbours.

use std::io;
use std::ops::Range;

use super::splice::Splice;
use super::traits::Sketch;
use super::traits::Traits;
use crate::columns::Column;
use crate::columns::Columns;
use crate::columns::Writer;

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
    namespaces: Column<u32>,
    pub(super) users: Column<u32>,
    timestamps: Column<i64>,
    pub(super) lengths: Column<f32>,
    /// [`Traits`] without their sketches, packed.
    traits: Column<u32>,
    sketches: Column<[u16; 16]>,
    /// The user fields, as written, by number.
    user_names: Vec<String>,
    pub(super) episode_of: Column<u32>,
    episodes: Column<PackedEpisode>,
    pub(super) mean_length: f32,
    pub(super) mean_episode_length: f32,
}

/// An [`Episode`] as it is kept: first row, row behind the last, length, and what it is.
type PackedEpisode = [u32; 4];

const IS_CONTEXT: u32 = 1;
const IS_RANKED: u32 = 2;

impl Episode {
    fn pack(&self) -> PackedEpisode {
        let is = |is: bool, bit: u32| if is { bit } else { 0 };
        let kind = is(self.is_context, IS_CONTEXT) | is(self.is_ranked, IS_RANKED);
        [self.start, self.end, self.length.to_bits(), kind]
    }

    fn unpack([start, end, length, kind]: PackedEpisode) -> Episode {
        Episode {
            start,
            end,
            length: f32::from_bits(length),
            is_context: kind & IS_CONTEXT != 0,
            is_ranked: kind & IS_RANKED != 0,
        }
    }
}

/// How many columns a collection has in a file.
const FILE_COLUMNS: usize = 9;

impl Collection {
    /// The collection of these rows, in their order, and what the numbers of users stand for.
    pub fn of(rows: &[Member], users: Vec<String>) -> Collection {
        fn column<T>(rows: &[Member], of: impl Fn(&Member) -> T) -> Column<T> {
            rows.iter().map(of).collect::<Vec<T>>().into()
        }
        let mut collection = Collection {
            namespaces: column(rows, |row| row.namespace),
            users: column(rows, |row| row.user),
            timestamps: column(rows, |row| row.timestamp),
            lengths: column(rows, |row| row.length as f32),
            traits: column(rows, |row| row.traits.pack()),
            sketches: column(rows, |row| row.traits.sketch.0),
            user_names: users,
            ..Collection::default()
        };
        collection.episodes = packed(&collection.cut(0..collection.len()));
        collection.know_episodes();
        collection
    }

    /// Writes it as the next columns of a file; what the numbers of users stand for is not in it.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn write(&self, file: &mut Writer) -> io::Result<()> {
        file.add(&self.namespaces)?;
        file.add(&self.users)?;
        file.add(&self.timestamps)?;
        file.add(&self.lengths)?;
        file.add(&self.traits)?;
        file.add(&self.sketches)?;
        file.add(&self.episode_of)?;
        file.add(&self.episodes)?;
        file.add(&[self.mean_length, self.mean_episode_length])
    }

    /// The collection whose columns begin at the one of number `first`, and the number of the
    /// column behind them; `None` if they are none of `rows` rows.
    pub fn open(
        file: &Columns,
        first: usize,
        rows: usize,
        users: Vec<String>,
    ) -> Option<(Collection, usize)> {
        let means = file.column::<f32>(first + 8)?;
        let collection = Collection {
            namespaces: file.column(first)?,
            users: file.column(first + 1)?,
            timestamps: file.column(first + 2)?,
            lengths: file.column(first + 3)?,
            traits: file.column(first + 4)?,
            sketches: file.column(first + 5)?,
            user_names: users,
            episode_of: file.column(first + 6)?,
            episodes: file.column(first + 7)?,
            mean_length: *means.first()?,
            mean_episode_length: *means.get(1)?,
        };
        let lengths = [
            collection.namespaces.len(),
            collection.users.len(),
            collection.timestamps.len(),
            collection.lengths.len(),
            collection.traits.len(),
            collection.sketches.len(),
            collection.episode_of.len(),
        ];
        let is_of_one_length = lengths.iter().all(|length| *length == rows);
        is_of_one_length.then_some((collection, first + FILE_COLUMNS))
    }

    /// The rows of this one after `splice`, with `new` rows and the names of all users: the same as
    /// if all had been pushed in their order, and the episodes found.
    pub fn spliced(&self, splice: &Splice, new: &[Member], users: Vec<String>) -> Collection {
        let mut spliced = Collection {
            namespaces: splice
                .apply(&self.namespaces, |at| new[at].namespace)
                .into(),
            users: splice.apply(&self.users, |at| new[at].user).into(),
            timestamps: splice
                .apply(&self.timestamps, |at| new[at].timestamp)
                .into(),
            lengths: splice
                .apply(&self.lengths, |at| new[at].length as f32)
                .into(),
            traits: splice
                .apply(&self.traits, |at| new[at].traits.pack())
                .into(),
            sketches: splice
                .apply(&self.sketches, |at| new[at].traits.sketch.0)
                .into(),
            user_names: users,
            ..Collection::default()
        };
        spliced.episodes = packed(&self.spliced_episodes(splice, &spliced));
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
        for episode in self.episodes.iter().copied().map(Episode::unpack) {
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
                ..episode
            });
            done = last + 1;
        }
        if (done as usize) < spliced.len() {
            cut_to(&mut episodes, spliced.len() as u32, done);
        }
        episodes
    }

    /// Empties the names of users that no row is of: the last one may have gone.
    pub fn forget_absent_users(&mut self) {
        let mut is_there = vec![false; self.user_names.len()];
        for user in self.users.iter() {
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
        let episode = self.episode(self.episode_of[row as usize]);
        let follows = episode.is_context && row > episode.start;
        (follows && !self.traits(row).is_long()).then(|| row - 1)
    }

    /// Microseconds since 1970.
    pub fn timestamp(&self, row: u32) -> i64 {
        self.timestamps[row as usize]
    }

    /// What is known of a row's text.
    pub(super) fn traits(&self, row: u32) -> Traits {
        let at = row as usize;
        Traits::unpack(self.traits[at], Sketch(self.sketches[at]))
    }

    /// The episode of this number.
    pub(super) fn episode(&self, number: u32) -> Episode {
        Episode::unpack(self.episodes[number as usize])
    }

    pub(super) fn episode_count(&self) -> usize {
        self.episodes.len()
    }

    /// The episodes of `rows`, which begin and end where episodes do.
    fn cut(&self, rows: Range<usize>) -> Vec<Episode> {
        let mut episodes = Vec::new();
        let mut start = rows.start;
        let (namespaces, timestamps) = (&*self.namespaces, &*self.timestamps);
        for row in rows.clone() {
            let is_last = row + 1 == rows.end
                || namespaces[row] != namespaces[row + 1]
                || timestamps[row + 1] - timestamps[row] >= EPISODE_GAP_MICROS;
            if is_last {
                episodes.push(self.seen(start, row + 1));
                start = row + 1;
            }
        }
        episodes
    }

    /// What follows from the episodes.
    fn know_episodes(&mut self) {
        let mut episode_of = Vec::with_capacity(self.len());
        for (number, &[_, end, ..]) in self.episodes.iter().enumerate() {
            episode_of.resize(end as usize, number as u32);
        }
        self.episode_of = episode_of.into();
        // Whole numbers, added as such: a sum of many small shares would depend on their order.
        let total: u64 = self.lengths.iter().map(|length| *length as u64).sum();
        self.mean_length = mean(total, self.len());
        self.mean_episode_length = mean(total, self.episodes.len());
    }

    fn seen(&self, start: usize, end: usize) -> Episode {
        let size = end - start;
        let pairs = size.saturating_sub(1).max(1) as f32;
        let rows = start..end;
        let equal = rows
            .clone()
            .skip(1)
            .filter(|&row| self.timestamps[row] == self.timestamps[row - 1]);
        let similarity = |row: usize| {
            let sketch = |row: usize| Sketch(self.sketches[row]);
            sketch(row).similarity(&sketch(row - 1))
        };
        let is_related = || rows.clone().skip(1).map(similarity).sum::<f32>() / pairs >= RELATED;
        let words = || -> f32 {
            let rows = rows.clone();
            rows.map(|row| f32::from(self.traits(row as u32).words))
                .sum()
        };
        let is_talk = || {
            words() / size as f32 <= TALK_WORDS
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

fn packed(episodes: &[Episode]) -> Column<PackedEpisode> {
    let packed: Vec<PackedEpisode> = episodes.iter().map(Episode::pack).collect();
    packed.into()
}

fn mean(total: u64, count: usize) -> f32 {
    match count == 0 || total == 0 {
        true => 1.0,
        false => (total as f64 / count as f64) as f32,
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
        Collection::of(rows, Vec::new())
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

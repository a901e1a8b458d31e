//! Ranking data of all memories of a store, row by row.
//!
//! Rows are in the order (namespace, time, name). Memories of one namespace less than an hour
//! apart form an *episode*; an episode whose memories are related is a *context*: the words of one of
//! them help to find its neighbours.
//!
//! All views of a store share the stored rows ([`Rows`]); each view has its own changes since, and
//! costs as much as those.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::episode::{Episode, PackedEpisode};
use super::rows::{MemberColumns, Members, Rows, present, sum};
use super::table_delta::{Origin, Piece, Spliced, TableDelta};
use super::text::{Sketch, TextFeatures};
use crate::columns::{Column, ColumnWriter, Plain};
use crate::words::TextVector;

/// Time between two neighbours from which on they are of different episodes: an hour.
const EPISODE_GAP_MICROS: i64 = 3_600_000_000;
/// Maximum number of memories of an episode that is ranked as a whole.
const MAX_EPISODE: usize = 50;
/// Mean similarity of neighbours from which on an episode is a context.
const RELATED: f32 = 0.1;
/// Maximum number of words of texts that several people write in turn, for these to count as a
/// conversation.
const TALK_WORDS: f32 = 100.0;
/// Time between two neighbours below which they are of one moment: nobody writes two texts within a
/// second, but a copy, a checkout or an import makes hundreds.
const MOMENT_MICROS: i64 = 1_000_000;
/// Maximum share of neighbours of one moment in a context: they were imported together, not written
/// together.
const MAX_OF_ONE_MOMENT: f32 = 0.5;

/// The rows of a store: the stored ones, and the changes since.
#[derive(Debug, Default)]
pub struct Collection {
    rows: Arc<Rows>,
    splice: Arc<TableDelta>,
    new: MemberColumns,
    /// Current user fields by number; those without a row are empty.
    user_names: Vec<String>,
    /// Episodes that were formed again, in their order, numbered after the stored ones.
    recut: Vec<Episode>,
    /// Number of stored episodes that no longer exist.
    dissolved: usize,
    /// First row that may have moved or be of another episode; those below are as stored.
    same: u32,
    /// Mean number of terms of a row.
    pub(super) mean_length: f32,
    /// Mean number of terms of an episode.
    pub(super) mean_episode_length: f32,
}

impl Collection {
    /// Makes the collection of these rows, in their order; `users` are the user fields by number.
    pub fn of(members: Members, users: Vec<String>) -> Collection {
        let mut rows_of_users = vec![0; users.len()];
        for user in &members.users {
            rows_of_users[*user as usize] += 1;
        }
        let rows = Rows {
            terms: sum(&members.lengths),
            columns: members.into(),
            users,
            rows_of_users,
            ..Rows::default()
        };
        let count = rows.len();
        let mut collection = Collection::from(Arc::new(rows));
        let episodes = collection.cut(0..count);
        let mut episode_of = Vec::with_capacity(count);
        for (number, episode) in (0..).zip(&episodes) {
            episode_of.resize(episode.end as usize, number);
        }
        if let Some(rows) = Arc::get_mut(&mut collection.rows) {
            rows.episode_of = episode_of.into();
            rows.episodes = episodes
                .iter()
                .map(Episode::pack)
                .collect::<Vec<_>>()
                .into();
        }
        collection.know_means(collection.rows.terms);
        collection
    }

    /// Makes the collection of stored rows and changes: `removed` are the rows that `splice` takes out,
    /// `new` the ones that it puts in. Equal to the collection of all rows in their order.
    ///
    /// Takes time in proportion to the changes. `more_users` are the user fields numbered after those of
    /// `rows`.
    pub fn changed(
        rows: &Arc<Rows>,
        splice: &Arc<TableDelta>,
        removed: &[u32],
        new: Members,
        more_users: Vec<String>,
    ) -> Collection {
        let mut rows_of_users = rows.rows_of_users.clone();
        rows_of_users.resize(rows.users.len() + more_users.len(), 0);
        for user in &new.users {
            rows_of_users[*user as usize] += 1;
        }
        let mut terms = rows.terms + sum(&new.lengths);
        let (gone_users, gone_lengths) = (&*rows.columns.users, &*rows.columns.lengths);
        for &row in removed {
            rows_of_users[gone_users[row as usize] as usize] -= 1;
            terms -= gone_lengths[row as usize] as u64;
        }
        let users = rows.users.iter().cloned().chain(more_users).collect();
        let mut collection = Collection {
            rows: Arc::clone(rows),
            splice: Arc::clone(splice),
            new: new.into(),
            user_names: present(users, &rows_of_users),
            same: u32::MAX,
            ..Collection::default()
        };
        collection.recut_episodes(removed);
        collection.know_means(terms);
        collection
    }

    /// Returns the stored rows, without the changes since.
    pub fn into_rows(self) -> Arc<Rows> {
        self.rows
    }

    /// Forms again the episodes in which or beside which rows changed.
    fn recut_episodes(&mut self, removed: &[u32]) {
        let rows = Arc::clone(&self.rows);
        let episode_of = &*rows.episode_of;
        let mut touched: Vec<u32> = Vec::new();
        touched.extend(removed.iter().map(|&row| episode_of[row as usize]));
        // A new row may belong to the episode before it, or to the one behind it.
        let mut before = None;
        let mut pieces = self.splice.pieces().peekable();
        while let Some(piece) = pieces.next() {
            match (piece, pieces.peek()) {
                (Piece::Old(rows), _) => before = Some(rows.end - 1),
                (Piece::New(_), next) => {
                    let behind = match next {
                        Some(Piece::Old(rows)) => Some(rows.start),
                        _ => None,
                    };
                    let beside = [before, behind].into_iter().flatten();
                    touched.extend(beside.map(|row| episode_of[row as usize]));
                }
            }
        }
        touched.sort_unstable();
        touched.dedup();
        self.dissolved = touched.len();
        for together in touched.chunk_by(|one, next| one + 1 == *next) {
            let first = rows.episode(together[0]).start;
            let behind = rows.episode(together[together.len() - 1]).end;
            // Neither these neighbours nor what lies between them and the rows was touched.
            let start = match first.checked_sub(1) {
                Some(before) => self.splice.moved(before).map_or(0, |row| row + 1),
                None => 0,
            };
            let end = self.splice.moved(behind).unwrap_or(self.len() as u32);
            self.same = self.same.min(start);
            let cut = self.cut(start as usize..end as usize);
            self.recut.extend(cut);
        }
        if rows.episodes.is_empty() {
            self.same = 0;
            self.recut = self.cut(0..self.len());
        }
    }

    fn know_means(&mut self, terms: u64) {
        self.mean_length = mean(terms, self.len());
        self.mean_episode_length = mean(terms, self.episode_count());
    }

    /// Writes it as the next columns of a file, without the user fields.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn write(&self, file: &mut ColumnWriter) -> io::Result<()> {
        file.add_slices(self.namespaces().slices())?;
        file.add_slices(self.column(|rows| &rows.users).slices())?;
        file.add_slices(self.column(|rows| &rows.timestamps).slices())?;
        file.add_slices(self.lengths().slices())?;
        file.add_slices(self.packed_features().slices())?;
        file.add_slices(self.column(|rows| &rows.sketches).slices())?;
        file.add_slices(self.vectors().slices())?;
        let mut numbers: Vec<u32> = self.episode_numbers().collect();
        numbers.sort_unstable_by_key(|number| self.episode(*number).start);
        let episodes: Vec<Episode> = numbers.iter().map(|&number| self.episode(number)).collect();
        let mut episode_of = Vec::with_capacity(self.len());
        for (number, episode) in (0_u32..).zip(&episodes) {
            episode_of.resize(episode.end as usize, number);
        }
        file.add(&episode_of)?;
        file.add(&episodes.iter().map(Episode::pack).collect::<Vec<_>>())?;
        file.add(&[self.lengths().slices().map(sum).sum::<u64>()])?;
        let mut counts = vec![0_u32; self.user_names.len()];
        let users = self.users();
        users
            .slices()
            .flatten()
            .for_each(|user| counts[*user as usize] += 1);
        file.add(&counts)
    }

    fn column<T: Plain>(&self, of: impl Fn(&MemberColumns) -> &Column<T>) -> Spliced<'_, T> {
        Spliced {
            splice: &self.splice,
            old: of(&self.rows.columns),
            new: of(&self.new),
        }
    }

    /// Returns the vector of each row's words.
    pub(super) fn vectors(&self) -> Spliced<'_, [u8; TextVector::BYTES]> {
        self.column(|rows| &rows.vectors)
    }

    /// Returns the number of terms of each row.
    pub(super) fn lengths(&self) -> Spliced<'_, f32> {
        self.column(|rows| &rows.lengths)
    }

    /// Returns the number of terms of a row as a multiple of the mean.
    pub fn relative_length(&self, row: u32) -> f32 {
        self.lengths().get(row) / self.mean_length
    }

    /// Returns the number of each row's user.
    pub(super) fn users(&self) -> Spliced<'_, u32> {
        self.column(|rows| &rows.users)
    }

    /// Returns the number of a row's user.
    pub fn user(&self, row: u32) -> u32 {
        self.users().get(row)
    }

    /// Returns the number of each row's namespace.
    pub(super) fn namespaces(&self) -> Spliced<'_, u32> {
        self.column(|rows| &rows.namespaces)
    }

    /// Returns the number of a row's namespace.
    pub fn namespace(&self, row: u32) -> u32 {
        self.namespaces().get(row)
    }

    /// Returns the user fields by number; those without a row are empty.
    pub fn user_names(&self) -> &[String] {
        &self.user_names
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.splice.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.splice.is_empty()
    }

    /// Returns the features of each row's text, packed, without its sketch.
    pub(super) fn packed_features(&self) -> Spliced<'_, u32> {
        self.column(|rows| &rows.traits)
    }

    /// Returns the row before this one in its context; `None` if there is none, or this one's text is
    /// long.
    pub fn previous(&self, row: u32) -> Option<u32> {
        let episode = self.episode(self.episodes().of(row));
        let follows = episode.is_context && row > episode.start;
        (follows && !self.traits(row).is_long()).then(|| row - 1)
    }

    /// Returns the moment of a row, in microseconds since 1970.
    pub fn timestamp(&self, row: u32) -> i64 {
        self.column(|rows| &rows.timestamps).get(row)
    }

    /// Returns the features of a row's text.
    pub(super) fn traits(&self, row: u32) -> TextFeatures {
        match self.splice.origin(row) {
            Origin::Old(row) => self.rows.columns.traits(row as usize),
            Origin::New(number) => self.new.traits(number as usize),
        }
    }

    /// Returns the lookup of episodes, for callers that look up many.
    pub(super) fn episodes(&self) -> Episodes<'_> {
        Episodes {
            collection: self,
            of_old: &self.rows.episode_of,
            old: &self.rows.episodes,
        }
    }

    /// Returns the episode of this number.
    pub(super) fn episode(&self, number: u32) -> Episode {
        self.episodes().get(number)
    }

    /// Returns the number of episodes.
    pub(super) fn episode_count(&self) -> usize {
        self.rows.episodes.len() - self.dissolved + self.recut.len()
    }

    /// Returns a bound above all numbers of episodes.
    pub(super) fn episode_bound(&self) -> usize {
        self.rows.episodes.len() + self.recut.len()
    }

    /// Returns the numbers of all episodes: the stored ones that still exist, then those that were formed
    /// again.
    fn episode_numbers(&self) -> impl Iterator<Item = u32> {
        let episodes = self.episodes();
        let is_there = move |number: &u32| {
            let first = self.splice.moved(self.rows.episode(*number).start);
            first.is_some_and(|row| episodes.of(row) == *number)
        };
        let written = self.rows.episodes.len() as u32;
        let kept = (0..written).filter(is_there);
        kept.chain(written..self.episode_bound() as u32)
    }

    /// Cuts `rows`, which begin and end where episodes do, into episodes.
    fn cut(&self, rows: Range<usize>) -> Vec<Episode> {
        let mut episodes = Vec::new();
        let namespaces = self.namespaces();
        let timestamps = self.column(|rows| &rows.timestamps);
        let (mut first, end) = (rows.start as u32, rows.end as u32);
        for row in rows.start as u32..end {
            let is_last = row + 1 == end
                || namespaces.get(row) != namespaces.get(row + 1)
                || timestamps.get(row + 1) - timestamps.get(row) >= EPISODE_GAP_MICROS;
            if is_last {
                episodes.push(self.seen(first..row + 1));
                first = row + 1;
            }
        }
        episodes
    }

    /// Makes one episode of these rows.
    fn seen(&self, rows: Range<u32>) -> Episode {
        let size = rows.len();
        let pairs = size.saturating_sub(1).max(1) as f32;
        let timestamps = self.column(|rows| &rows.timestamps);
        let of_one_moment = rows
            .clone()
            .skip(1)
            .filter(|&row| timestamps.get(row) - timestamps.get(row - 1) < MOMENT_MICROS);
        let similarity = |row: u32| {
            let sketch = |row: u32| Sketch(self.column(|rows| &rows.sketches).get(row));
            sketch(row).similarity(&sketch(row - 1))
        };
        let is_related = || rows.clone().skip(1).map(similarity).sum::<f32>() / pairs >= RELATED;
        let words = || -> f32 {
            let rows = rows.clone();
            rows.map(|row| f32::from(self.traits(row).words)).sum()
        };
        let users = self.users();
        let is_talk = || {
            words() / size as f32 <= TALK_WORDS
                && rows
                    .clone()
                    .any(|row| users.get(row) != users.get(rows.start))
        };
        let is_context = size >= 2
            && of_one_moment.count() as f32 / pairs <= MAX_OF_ONE_MOMENT
            && (is_talk() || is_related());
        let lengths = self.lengths();
        Episode {
            start: rows.start,
            end: rows.end,
            length: rows.clone().map(|row| lengths.get(row)).sum(),
            is_context,
            is_ranked: is_context && size <= MAX_EPISODE,
        }
    }
}

impl From<Arc<Rows>> for Collection {
    /// Returns the stored rows, without changes.
    fn from(rows: Arc<Rows>) -> Collection {
        let mut collection = Collection {
            splice: Arc::new(TableDelta::none(rows.len() as u32)),
            user_names: present(rows.users.clone(), &rows.rows_of_users),
            same: u32::MAX,
            ..Collection::default()
        };
        let terms = rows.terms;
        collection.rows = rows;
        collection.know_means(terms);
        collection
    }
}

/// Lookup of episodes by row and by number.
#[derive(Clone, Copy)]
pub(super) struct Episodes<'a> {
    collection: &'a Collection,
    of_old: &'a [u32],
    old: &'a [PackedEpisode],
}

impl Episodes<'_> {
    /// Returns the number of a row's episode.
    #[inline]
    pub fn of(&self, row: u32) -> u32 {
        match row < self.collection.same {
            true => self.of_old[row as usize],
            false => self.of_moved(row),
        }
    }

    fn of_moved(&self, row: u32) -> u32 {
        let recut = &self.collection.recut;
        let behind = recut.partition_point(|episode| episode.start <= row);
        if let Some(at) = behind.checked_sub(1).filter(|at| row < recut[*at].end) {
            return (self.old.len() + at) as u32;
        }
        match self.collection.splice.origin(row) {
            Origin::Old(row) => self.of_old[row as usize],
            Origin::New(_) => unreachable!("an episode into which a row was put was cut anew"),
        }
    }

    /// Returns the episode of this number.
    #[inline]
    pub fn get(&self, number: u32) -> Episode {
        match self
            .old
            .get(number as usize)
            .map(|packed| Episode::unpack(*packed))
        {
            Some(episode) if episode.end <= self.collection.same => episode,
            old => self.moved(number, old),
        }
    }

    fn moved(&self, number: u32, old: Option<Episode>) -> Episode {
        let Some(episode) = old else {
            return self.collection.recut[number as usize - self.old.len()];
        };
        // Its rows are still together.
        let start = self.collection.splice.moved(episode.start).unwrap_or(0);
        Episode {
            start,
            end: start + (episode.end - episode.start),
            ..episode
        }
    }
}

fn mean(total: u64, count: usize) -> f32 {
    match count == 0 || total == 0 {
        true => 1.0,
        false => (total as f64 / count as f64) as f32,
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::Member;
    use super::*;
    use crate::columns::Columns;
    use crate::ranking::text::Sketch;
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
                traits: TextFeatures::unpack(0, Sketch::unpack([0; 4])),
                vector: TextVector::ZERO,
            };
            rows.map(member).collect::<Vec<_>>()
        })
    }

    fn collection(rows: &[Member]) -> Collection {
        let users = ["a", "b", "c"].map(str::to_owned);
        Collection::of(rows.iter().copied().collect(), users.to_vec())
    }

    fn spliced_rows(splice: &TableDelta, old: &[Member], new: &[Member]) -> Vec<Member> {
        let spliced = Spliced { splice, old, new };
        spliced.slices().flatten().copied().collect()
    }

    proptest! {
        #[test]
        fn what_was_changed_is_as_if_it_had_been_so_from_the_beginning(
            old in rows(),
            new in rows(),
            gone in prop::collection::vec(any::<bool>(), 30),
        ) {
            let order = |row: &Member| (row.namespace, row.timestamp);
            let removed: Vec<u32> = (0..old.len() as u32).filter(|row| gone[*row as usize]).collect();
            let place = |row: &Member| old.partition_point(|known| order(known) <= order(row)) as u32;
            let inserted: Vec<u32> = new.iter().map(place).collect();
            let splice = Arc::new(TableDelta::new(old.len() as u32, &removed, &inserted));
            let before = collection(&old);
            let changed = Collection::changed(&before.rows, &splice, &removed, new.iter().copied().collect(), Vec::new());
            let all = spliced_rows(&splice, &old, &new);
            let wanted = collection(&all);
            prop_assert_eq!(changed.len(), wanted.len());
            for row in 0..all.len() as u32 {
                prop_assert_eq!(changed.timestamp(row), wanted.timestamp(row));
                let (number, other) = (changed.episodes().of(row), wanted.episodes().of(row));
                prop_assert_eq!(changed.episode(number), wanted.episode(other));
                prop_assert!((number as usize) < changed.episode_bound());
            }
            prop_assert_eq!(changed.episode_count(), wanted.episode_count());
            prop_assert_eq!(changed.user_names(), wanted.user_names());
            // What is written down of it is read as it was.
            let folder = tempfile::tempdir()?;
            let path = folder.path().join("rows");
            let mut file = ColumnWriter::begin(&path)?;
            changed.write(&mut file)?;
            file.finish()?;
            let file = Columns::open(&path)?.expect("it was just written");
            let users = changed.user_names().to_vec();
            let (rows, next) = Rows::open(&file, 0, all.len(), users).expect("it is whole");
            prop_assert_eq!(next, file.len());
            prop_assert_eq!(&rows.episodes, &wanted.rows.episodes);
            prop_assert_eq!(&rows.episode_of, &wanted.rows.episode_of);
            prop_assert_eq!(&rows.columns.lengths, &wanted.rows.columns.lengths);
            prop_assert_eq!(&rows.rows_of_users, &wanted.rows.rows_of_users);
            let (spliced, pushed) = (Collection::from(Arc::new(rows)), wanted);
            prop_assert_eq!(spliced.mean_length, pushed.mean_length);
            prop_assert_eq!(changed.mean_length, pushed.mean_length);
            prop_assert_eq!(changed.mean_episode_length, pushed.mean_episode_length);
            prop_assert_eq!(spliced.mean_episode_length, pushed.mean_episode_length);
        }
    }
}

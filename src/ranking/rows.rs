//! The stored rows of a store, by columns.

use super::episode::{Episode, PackedEpisode};
use super::text::{Sketch, TextFeatures};
use crate::columns::{Column, Columns};
use crate::words::TextVector;

/// Ranking data of one row.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// Number of the namespace.
    pub namespace: u32,
    /// Number of the user.
    pub user: u32,
    /// Moment of the memory, in microseconds since 1970.
    pub timestamp: i64,
    /// Number of terms.
    pub length: u32,
    /// Features of the text.
    pub traits: TextFeatures,
    /// Vector of its words.
    pub vector: TextVector,
}

/// The stored rows of a store, in memory or in a mapped file.
#[derive(Debug, Default)]
pub struct Rows {
    /// Columns of the rows.
    pub(super) columns: MemberColumns,
    /// Number of each row's episode.
    pub(super) episode_of: Column<u32>,
    /// Episodes by number.
    pub(super) episodes: Column<PackedEpisode>,
    /// Number of terms of all rows.
    pub(super) terms: u64,
    /// User fields, as written, by number.
    pub(super) users: Vec<String>,
    /// Number of rows of each user.
    pub(super) rows_of_users: Vec<u32>,
}

/// [`Member`]s, a column for each field.
#[derive(Debug, Default)]
pub(super) struct MemberColumns {
    /// Numbers of the namespaces.
    pub(super) namespaces: Column<u32>,
    /// Numbers of the users.
    pub(super) users: Column<u32>,
    /// Moments, in microseconds since 1970.
    pub(super) timestamps: Column<i64>,
    /// Numbers of terms.
    pub(super) lengths: Column<f32>,
    /// [`TextFeatures`] without their sketches, packed.
    pub(super) traits: Column<u32>,
    /// Sketches of the texts.
    pub(super) sketches: Column<[u16; 16]>,
    /// Vectors of the words of the texts.
    pub(super) vectors: Column<[u8; TextVector::BYTES]>,
}

/// Number of columns of the rows in a file.
const FILE_COLUMNS: usize = 11;

/// Columns that rows are appended to.
#[derive(Debug, Default)]
pub struct Members {
    namespaces: Vec<u32>,
    pub(super) users: Vec<u32>,
    timestamps: Vec<i64>,
    pub(super) lengths: Vec<f32>,
    traits: Vec<u32>,
    sketches: Vec<[u16; 16]>,
    vectors: Vec<[u8; TextVector::BYTES]>,
}

impl Members {
    /// Returns empty columns with room for `count` rows.
    pub fn with_capacity(count: usize) -> Members {
        Members {
            namespaces: Vec::with_capacity(count),
            users: Vec::with_capacity(count),
            timestamps: Vec::with_capacity(count),
            lengths: Vec::with_capacity(count),
            traits: Vec::with_capacity(count),
            sketches: Vec::with_capacity(count),
            vectors: Vec::with_capacity(count),
        }
    }

    /// Appends a row.
    pub fn push(&mut self, member: Member) {
        self.namespaces.push(member.namespace);
        self.users.push(member.user);
        self.timestamps.push(member.timestamp);
        self.lengths.push(member.length as f32);
        self.traits.push(member.traits.pack());
        self.sketches.push(member.traits.sketch.0);
        self.vectors.push(member.vector.0);
    }
}

impl FromIterator<Member> for Members {
    fn from_iter<T: IntoIterator<Item = Member>>(all: T) -> Members {
        let all = all.into_iter();
        let mut members = Members::with_capacity(all.size_hint().0);
        all.for_each(|member| members.push(member));
        members
    }
}

impl From<Members> for MemberColumns {
    fn from(members: Members) -> MemberColumns {
        MemberColumns {
            namespaces: members.namespaces.into(),
            users: members.users.into(),
            timestamps: members.timestamps.into(),
            lengths: members.lengths.into(),
            traits: members.traits.into(),
            sketches: members.sketches.into(),
            vectors: members.vectors.into(),
        }
    }
}

impl MemberColumns {
    /// Returns the features of a row's text.
    pub fn traits(&self, at: usize) -> TextFeatures {
        TextFeatures::unpack(self.traits[at], Sketch(self.sketches[at]))
    }
}

impl Rows {
    /// Opens the rows whose columns begin at number `first`; returns them and the number of the column
    /// after them. `None` if there are not `count` rows. `users` are the user fields by number.
    pub fn open(
        file: &Columns,
        first: usize,
        count: usize,
        users: Vec<String>,
    ) -> Option<(Rows, usize)> {
        let columns = MemberColumns {
            namespaces: file.column(first)?,
            users: file.column(first + 1)?,
            timestamps: file.column(first + 2)?,
            lengths: file.column(first + 3)?,
            traits: file.column(first + 4)?,
            sketches: file.column(first + 5)?,
            vectors: file.column(first + 6)?,
        };
        let (episode_of, episodes) = (file.column(first + 7)?, file.column(first + 8)?);
        let lengths = [
            columns.namespaces.len(),
            columns.users.len(),
            columns.timestamps.len(),
            columns.lengths.len(),
            columns.traits.len(),
            columns.sketches.len(),
            columns.vectors.len(),
            episode_of.len(),
        ];
        let rows_of_users: Column<u32> = file.column(first + 10)?;
        let is_of_one_length = lengths.iter().all(|length| *length == count);
        if !is_of_one_length || rows_of_users.len() != users.len() {
            return None;
        }
        let rows = Rows {
            columns,
            episode_of,
            episodes,
            terms: *file.column::<u64>(first + 9)?.first()?,
            users,
            rows_of_users: rows_of_users.to_vec(),
        };
        Some((rows, first + FILE_COLUMNS))
    }

    /// Returns the user fields by number.
    pub fn users(&self) -> &[String] {
        &self.users
    }

    /// Returns the number of a row's namespace, and its time in microseconds since 1970.
    pub fn place(&self, row: u32) -> (u32, i64) {
        let at = row as usize;
        (self.columns.namespaces[at], self.columns.timestamps[at])
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        self.columns.lengths.len()
    }

    /// Returns the episode of a number.
    pub(super) fn episode(&self, number: u32) -> Episode {
        Episode::unpack(self.episodes[number as usize])
    }
}

/// Returns the user fields with those emptied that have no row.
pub(super) fn present(mut users: Vec<String>, rows_of_users: &[u32]) -> Vec<String> {
    for (name, _) in users
        .iter_mut()
        .zip(rows_of_users)
        .filter(|(_, rows)| **rows == 0)
    {
        name.clear();
    }
    users
}

/// Adds lengths as whole numbers: a sum of floats would depend on their order.
pub(super) fn sum(lengths: &[f32]) -> u64 {
    lengths.iter().map(|length| *length as u64).sum()
}

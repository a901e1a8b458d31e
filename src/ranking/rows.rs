//! The rows of a store as they are written down, a column for each thing that is known of them.

use super::episode::{Episode, PackedEpisode};
use super::text_features::{Sketch, TextFeatures};
use crate::columns::{Column, Columns};

/// What is known of one row.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    pub namespace: u32,
    pub user: u32,
    /// Microseconds since 1970.
    pub timestamp: i64,
    /// In terms.
    pub length: u32,
    pub traits: TextFeatures,
}

/// The rows of a store as they were written down: in memory, or in a file that is mapped.
#[derive(Debug, Default)]
pub struct Rows {
    pub(super) columns: MemberColumns,
    pub(super) episode_of: Column<u32>,
    pub(super) episodes: Column<PackedEpisode>,
    /// The terms of all rows.
    pub(super) terms: u64,
    /// The user fields, as written, by number.
    pub(super) users: Vec<String>,
    /// How many rows each user has.
    pub(super) rows_of_users: Vec<u32>,
}

/// [`Member`]s, a column for each thing that is known of them.
#[derive(Debug, Default)]
pub(super) struct MemberColumns {
    pub(super) namespaces: Column<u32>,
    pub(super) users: Column<u32>,
    pub(super) timestamps: Column<i64>,
    pub(super) lengths: Column<f32>,
    /// [`TextFeatures`] without their sketches, packed.
    pub(super) traits: Column<u32>,
    pub(super) sketches: Column<[u16; 16]>,
}

/// How many columns the rows have in a file.
const FILE_COLUMNS: usize = 10;

/// Rows that are collected one after the other.
#[derive(Debug, Default)]
pub struct Members {
    namespaces: Vec<u32>,
    pub(super) users: Vec<u32>,
    timestamps: Vec<i64>,
    pub(super) lengths: Vec<f32>,
    traits: Vec<u32>,
    sketches: Vec<[u16; 16]>,
}

impl Members {
    /// No members yet, with room for `count`.
    pub fn with_capacity(count: usize) -> Members {
        Members {
            namespaces: Vec::with_capacity(count),
            users: Vec::with_capacity(count),
            timestamps: Vec::with_capacity(count),
            lengths: Vec::with_capacity(count),
            traits: Vec::with_capacity(count),
            sketches: Vec::with_capacity(count),
        }
    }

    pub fn push(&mut self, member: Member) {
        self.namespaces.push(member.namespace);
        self.users.push(member.user);
        self.timestamps.push(member.timestamp);
        self.lengths.push(member.length as f32);
        self.traits.push(member.traits.pack());
        self.sketches.push(member.traits.sketch.0);
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
        }
    }
}

impl MemberColumns {
    pub fn traits(&self, at: usize) -> TextFeatures {
        TextFeatures::unpack(self.traits[at], Sketch(self.sketches[at]))
    }
}

impl Rows {
    /// The rows whose columns begin at the one of number `first`, and the number of the column
    /// behind them; `None` if they are none of `count` rows. `users` are the names by number.
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
        };
        let (episode_of, episodes) = (file.column(first + 6)?, file.column(first + 7)?);
        let lengths = [
            columns.namespaces.len(),
            columns.users.len(),
            columns.timestamps.len(),
            columns.lengths.len(),
            columns.traits.len(),
            columns.sketches.len(),
            episode_of.len(),
        ];
        let rows_of_users: Column<u32> = file.column(first + 9)?;
        let is_of_one_length = lengths.iter().all(|length| *length == count);
        if !is_of_one_length || rows_of_users.len() != users.len() {
            return None;
        }
        let rows = Rows {
            columns,
            episode_of,
            episodes,
            terms: *file.column::<u64>(first + 8)?.first()?,
            users,
            rows_of_users: rows_of_users.to_vec(),
        };
        Some((rows, first + FILE_COLUMNS))
    }

    /// The user fields by number.
    pub fn users(&self) -> &[String] {
        &self.users
    }

    /// The number of a row's namespace, and its time in microseconds since 1970.
    pub fn place(&self, row: u32) -> (u32, i64) {
        let at = row as usize;
        (self.columns.namespaces[at], self.columns.timestamps[at])
    }

    pub(super) fn len(&self) -> usize {
        self.columns.lengths.len()
    }

    pub(super) fn episode(&self, number: u32) -> Episode {
        Episode::unpack(self.episodes[number as usize])
    }
}

/// The names of those users that have a row; the others are empty.
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

/// They are whole numbers: added as shares, the sum would depend on their order.
pub(super) fn sum(lengths: &[f32]) -> u64 {
    lengths.iter().map(|length| *length as u64).sum()
}

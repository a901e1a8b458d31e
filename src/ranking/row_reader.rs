//! Reader of the ranking data of many rows, with every column looked up once.

use super::collection::{Collection, Episodes};
use super::episode::Episode;
use super::table_delta::Spliced;
use super::text::{Sketch, TextFeatures};

/// Reader of the rows of a collection. A [`Collection`] looks up its columns for each row; this, once.
#[derive(Clone, Copy)]
pub(super) struct RowReader<'a> {
    features: Spliced<'a, u32>,
    users: Spliced<'a, u32>,
    namespaces: Spliced<'a, u32>,
    episodes: Episodes<'a>,
}

/// Ranking data of one row.
#[derive(Clone, Copy)]
pub(super) struct RowData {
    /// The row.
    pub row: u32,
    /// Number of its episode.
    pub number: u32,
    /// The episode.
    pub episode: Episode,
    /// Features of its text, packed.
    features: u32,
}

impl RowData {
    /// Returns the number of words of the text, at most 65,535.
    pub fn words(&self) -> f32 {
        f32::from(TextFeatures::words_of(self.features))
    }

    /// Returns the features of the text, without its sketch.
    pub fn features(&self) -> TextFeatures {
        TextFeatures::unpack(self.features, Sketch::EMPTY)
    }
}

impl<'a> RowReader<'a> {
    /// Returns the reader of these rows.
    pub fn new(collection: &'a Collection) -> RowReader<'a> {
        RowReader {
            features: collection.packed_features(),
            users: collection.users(),
            namespaces: collection.namespaces(),
            episodes: collection.episodes(),
        }
    }

    /// Returns the data of a row.
    pub fn row(&self, row: u32) -> RowData {
        let number = self.episodes.of(row);
        RowData {
            row,
            number,
            episode: self.episodes.get(number),
            features: self.features.get(row),
        }
    }

    /// Returns the features of a row's text, without its sketch.
    pub fn features(&self, row: u32) -> TextFeatures {
        TextFeatures::unpack(self.features.get(row), Sketch::EMPTY)
    }

    /// Returns the number of words of a row's text, at most 65,535.
    pub fn words(&self, row: u32) -> f32 {
        f32::from(TextFeatures::words_of(self.features.get(row)))
    }

    /// Returns the number of a row's user.
    pub fn user(&self, row: u32) -> u32 {
        self.users.get(row)
    }

    /// Returns the number of a row's namespace.
    pub fn namespace(&self, row: u32) -> u32 {
        self.namespaces.get(row)
    }
}

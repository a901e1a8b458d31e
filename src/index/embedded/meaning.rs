//! The vectors of a view's rows.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::part::Part;
use super::rows::table::{RowOf, Table};
use crate::index::{Embedded, IndexError, Unembedded, passage};
use crate::ranking::fused::{Cosines, QueryTokens};
use crate::vectors::{AskedToken, VectorKey, VectorLocation, View};

/// Vector keys of each row.
pub(super) struct Keys {
    /// Key of the memory itself; `None` of a talk, whose turns are embedded.
    own: Vec<Option<VectorKey>>,
    /// Key of the window with the previous memory; `None` if there is none in its context.
    window: Vec<Option<VectorKey>>,
}

/// Locations of each row's vectors in the vector file of one model.
pub(super) struct Places {
    view: Arc<View>,
    own: Vec<Option<VectorLocation>>,
    window: Vec<Option<VectorLocation>>,
}

impl Keys {
    /// Reads the keys of all rows from `segments`, each with the rows of its documents. The rows `talks` have none.
    pub fn read<'a>(
        table: &Table,
        segments: impl Iterator<Item = (&'a Part, RowOf<'a>)>,
        talks: &[u32],
    ) -> Result<Keys, IndexError> {
        let mut own: Vec<Option<VectorKey>> = vec![None; table.len()];
        for (part, row_of) in segments {
            let docs = row_of.all().map(|(doc, _)| doc);
            part.each_vector_key(docs, |doc, key| {
                if let Some(row) = row_of.get(doc) {
                    own[row as usize] = Some(key);
                }
            })?;
        }
        talks.iter().for_each(|&talk| own[talk as usize] = None);
        let collection = &table.collection;
        let window = (0..own.len() as u32)
            .map(|row| {
                let previous = collection.previous(row)?;
                Some(passage::window_key(
                    own[previous as usize]?,
                    own[row as usize]?,
                ))
            })
            .collect();
        Ok(Keys { own, window })
    }

    /// Returns the number of rows that are embedded.
    pub fn memories(&self) -> usize {
        self.own.iter().flatten().count()
    }

    /// Returns the number of keys: own passages and windows.
    pub fn len(&self) -> usize {
        self.own.iter().chain(&self.window).flatten().count()
    }

    /// Returns the distinct keys of all rows.
    pub fn all(&self) -> HashSet<VectorKey> {
        let keys = self.own.iter().chain(&self.window);
        keys.flatten().copied().collect()
    }

    /// Returns the passages without vectors in `places`, in the order of the rows.
    pub fn missing<'a>(
        &'a self,
        table: &'a Table,
        places: &'a Places,
    ) -> impl Iterator<Item = Unembedded> + 'a {
        (0..self.own.len() as u32).flat_map(move |row| {
            let at = row as usize;
            let name = |row: u32| table.name(row).to_owned();
            let own = self.own[at].filter(|_| places.own[at].is_none());
            let own = own.map(|key| Unembedded {
                key,
                name: name(row),
                previous: None,
            });
            let window = self.window[at].filter(|_| places.window[at].is_none());
            let window = window.map(|key| Unembedded {
                key,
                name: name(row),
                previous: table.collection.previous(row).map(name),
            });
            own.into_iter().chain(window)
        })
    }
}

impl Places {
    /// Finds the vectors of `keys` in `view`.
    pub fn of(keys: &Keys, view: Arc<View>) -> Places {
        let find = |key: &Option<VectorKey>| view.find((*key)?);
        Places {
            own: keys.own.iter().map(find).collect(),
            window: keys.window.iter().map(find).collect(),
            view,
        }
    }

    /// Returns whether these are places in `view`.
    pub fn are_in(&self, view: &Arc<View>) -> bool {
        Arc::ptr_eq(&self.view, view)
    }

    /// Returns the cosines of the query with each row's vectors; NaN where a row has none.
    pub fn cosines(self: &Arc<Places>, keys: &Arc<Keys>, embedded: Embedded) -> Cosines {
        let (query, tokens) = (embedded.vector, embedded.tokens);
        let near = self.view.near(&query);
        let at = |place: &Option<VectorLocation>| place.map_or(f32::NAN, |place| near.at(place));
        let own: Vec<f32> = self.own.iter().map(at).collect();
        let window = (0..own.len())
            .map(|row| match keys.window[row] {
                Some(_) => at(&self.window[row]),
                None => own[row],
            })
            .collect();
        let (places, keys) = (Arc::clone(self), Arc::clone(keys));
        let exact = move |row: u32| {
            let row = row as usize;
            let at = |place: Option<VectorLocation>| {
                place.map_or(f32::NAN, |place| places.view.exact(place, &query))
            };
            let own = at(places.own[row]);
            let window = match keys.window[row] {
                Some(_) => at(places.window[row]),
                None => own,
            };
            [own, window]
        };
        Cosines {
            own,
            window,
            exact: Box::new(exact),
            tokens: (!tokens.is_empty()).then(|| Arc::clone(self).query_tokens(tokens)),
        }
    }

    /// Returns the tokens of a query, to be compared with those of rows.
    fn query_tokens(self: Arc<Places>, tokens: Vec<(Range<usize>, Vec<f32>)>) -> QueryTokens {
        let asked = tokens.iter().map(|(_, state)| AskedToken::of(state));
        let asked: Vec<AskedToken> = asked.collect();
        let nearest = move |row: u32| {
            let codes = self.own[row as usize].map_or(&[][..], |place| self.view.tokens(place));
            let nearest = asked.iter().map_while(|token| token.nearest(codes));
            nearest.collect()
        };
        QueryTokens {
            places: tokens.into_iter().map(|(place, _)| place).collect(),
            nearest: Box::new(nearest),
        }
    }

    /// Returns the number of keys that have vectors, used by a row or not.
    pub fn kept(&self) -> usize {
        self.view.len()
    }

    /// Returns the size of all vectors on disk, in bytes.
    pub fn bytes(&self) -> usize {
        self.view.bytes()
    }

    /// Returns the number of rows that have all their vectors.
    pub fn complete(&self, keys: &Keys) -> usize {
        (0..self.own.len())
            .filter(|&row| {
                let has_window = keys.window[row].is_none() || self.window[row].is_some();
                self.own[row].is_some() && has_window
            })
            .count()
    }
}

//! The rows of a view: those of a mapped table of a committed state, and the changes since.
//!
//! Nothing is copied: a write costs the next search as much as was written, in a store of any size.
//! Each access to a row goes through the changes (`TableDelta`), so the table file is written again
//! when there is time (`kept`).

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::columns::{Column, Plain, text_in};
use crate::index::embedded::layers::Layer;
use crate::index::embedded::part::Part;
use crate::index::embedded::rows::documents::{
    DeltaRow, Values, Version, is_cut, newcomers_of, version, with_stamp,
};
use crate::index::embedded::rows::mapped_table::{MappedTable, NO_ROW, stated};
use crate::index::embedded::rows::touched::Touched;
use crate::index::{IndexError, Indexed, Overlay};
use crate::lifecycle::Stated;
use crate::model::Stamp;
use crate::ranking::{Collection, Member, Members, Origin, Piece, TableDelta};

/// If more than one row in this many changed, all rows are read again.
const MUCH: usize = 4;

/// The rows of all live documents of a view.
pub(in crate::index::embedded) struct Table {
    flat: Arc<MappedTable>,
    splice: Arc<TableDelta>,
    /// Removed rows of the mapped table, ascending.
    removed: Vec<u32>,
    /// Added documents, in the order of rows.
    newcomers: Vec<Arc<DeltaRow>>,
    /// Numbers of the added documents in the order of their names.
    newcomers_by_name: Vec<u32>,
    /// The namespaces by number.
    namespaces: Vec<String>,
    /// Present stamps of the touched files, by the rows of the mapped table.
    touched: Arc<FxHashMap<u32, Stamp>>,
    /// Ranking columns of the rows.
    pub collection: Collection,
}

/// Rows of a segment's documents.
pub(in crate::index::embedded) enum Documents {
    /// Rows in the mapped table, of a segment that it holds.
    Written(Arc<Column<u32>>),
    /// Rows in this table, or [`NO_ROW`], of a segment that was added since.
    New(Vec<u32>),
}

/// Lookup of the row of each document of a segment.
#[derive(Clone, Copy)]
pub(in crate::index::embedded) struct RowOf<'a> {
    rows: &'a [u32],
    splice: Option<&'a TableDelta>,
}

impl RowOf<'_> {
    /// Returns the row of a document; `None` if it was deleted or replaced.
    pub fn get(&self, doc: u32) -> Option<u32> {
        match (self.rows[doc as usize], self.splice) {
            (NO_ROW, _) => None,
            (row, None) => Some(row),
            (row, Some(splice)) => splice.moved(row),
        }
    }

    /// Returns the row of each document, or [`NO_ROW`].
    pub fn each(self) -> impl Iterator<Item = u32> {
        let docs = 0..self.rows.len() as u32;
        docs.map(move |doc| self.get(doc).unwrap_or(NO_ROW))
    }

    /// Returns each document that has a row, with the row.
    pub fn all(self) -> impl Iterator<Item = (u32, u32)> {
        let docs = 0..self.rows.len() as u32;
        docs.filter_map(move |doc| Some((doc, self.get(doc)?)))
    }
}

impl Table {
    /// Makes the table of `parts` from the mapped table of some state; with it, the rows of each part's
    /// documents. `None` if so much differs that reading everything is as quick. The files `touched` have
    /// the stamps in there.
    pub fn of(
        flat: &Arc<MappedTable>,
        parts: &[Arc<Part>],
        touched: &Touched,
    ) -> Result<Option<(Table, Vec<Documents>)>, IndexError> {
        let mut documents = Vec::new();
        let mut new: Vec<(usize, &Arc<Part>)> = Vec::new();
        let mut removed = Vec::new();
        for part in parts {
            let id = part.id();
            let Some(written) = flat.segments.iter().find(|written| written.id == id) else {
                new.push((documents.len(), part));
                documents.push(Documents::New(Vec::new()));
                continue;
            };
            // The table is of a newer state: a document that was deleted since has no row there.
            if written.deleted > part.deleted() {
                return Ok(None);
            }
            if written.deleted != part.deleted() {
                let rows = (0_u32..).zip(written.rows.iter());
                let gone = rows.filter(|(doc, _)| part.is_deleted(*doc));
                removed.extend(gone.map(|(_, row)| *row).filter(|row| *row != NO_ROW));
            }
            documents.push(Documents::Written(Arc::clone(&written.rows)));
        }
        let ids: Vec<String> = parts.iter().map(|part| part.id()).collect();
        let is_gone = |id: &String| !ids.contains(id);
        for written in flat.segments.iter().filter(|written| is_gone(&written.id)) {
            removed.extend(written.rows.iter().copied().filter(|row| *row != NO_ROW));
        }
        let count: usize = new.iter().map(|(_, part)| part.num_docs() as usize).sum();
        if (removed.len() + count) * MUCH > flat.len() {
            return Ok(None);
        }
        let mut newcomers = Vec::new();
        for (segment, part) in new {
            let is_live = |doc| !part.is_deleted(doc);
            newcomers_of(part, segment, is_live, &mut newcomers)?;
        }
        for one in &mut newcomers {
            let indexed = version(one.values.version, 0);
            let touched = touched.stamp(&one.name, indexed);
            // A segment that was merged has the stamps of its documents, and not those that the table took over.
            let known = || flat.stamp(&one.name, indexed);
            if let Some(stamp) = touched.or_else(known) {
                one.values.version = with_stamp(one.values.version, stamp);
            }
        }
        let newcomers = newcomers.into_iter().map(Arc::new).collect();
        removed.sort_unstable();
        let touched = Arc::new(touched.by_row(flat));
        let table = Table::changed(flat, touched, removed, newcomers);
        table.place_all(parts, &mut documents);
        Ok(Some((table, documents)))
    }

    /// Makes the table of all rows of a mapped table, unchanged but for the stamps of the files `touched`.
    pub fn whole(flat: &Arc<MappedTable>, touched: &Touched) -> (Table, Vec<Documents>) {
        let segments = flat.segments.iter();
        let documents = segments.map(|written| Documents::Written(Arc::clone(&written.rows)));
        let documents = documents.collect();
        let touched = Arc::new(touched.by_row(flat));
        let table = Table::changed(flat, touched, Vec::new(), Vec::new());
        (table, documents)
    }

    /// Makes this table with the documents of `overlay`, which are in `layers`, in place of those of the
    /// same names. `before` are the segments of this one; returned are the rows of all segments'
    /// documents, the layers' last.
    pub fn over(
        &self,
        before: &[(&Arc<Part>, &Documents)],
        layers: &[Arc<Layer>],
        overlay: &Overlay,
    ) -> Result<(Table, Vec<Documents>), IndexError> {
        let mut documents: Vec<Documents> = before
            .iter()
            .map(|(_, documents)| match documents {
                Documents::Written(rows) => Documents::Written(Arc::clone(rows)),
                Documents::New(_) => Documents::New(Vec::new()),
            })
            .collect();
        let mut parts: Vec<Arc<Part>> = before.iter().map(|(part, _)| Arc::clone(part)).collect();
        let mut added = Vec::new();
        for layer in layers {
            let is_current = |doc| layer.is_current(doc, overlay);
            newcomers_of(&layer.part, parts.len(), is_current, &mut added)?;
            documents.push(Documents::New(Vec::new()));
            parts.push(Arc::clone(&layer.part));
        }
        let covered = overlay.files.keys();
        let mut removed = self.removed.clone();
        removed.extend(covered.filter_map(|name| self.flat.row(name)));
        removed.sort_unstable();
        removed.dedup();
        let is_left = |one: &&Arc<DeltaRow>| !overlay.files.contains_key(one.name.as_str());
        let mut newcomers: Vec<Arc<DeltaRow>> =
            self.newcomers.iter().filter(is_left).cloned().collect();
        newcomers.extend(added.into_iter().map(Arc::new));
        let touched = Arc::clone(&self.touched);
        let table = Table::changed(&self.flat, touched, removed, newcomers);
        table.place_all(&parts, &mut documents);
        Ok((table, documents))
    }

    /// Makes the table of the mapped rows without `removed`, ascending, and with `newcomers`.
    fn changed(
        flat: &Arc<MappedTable>,
        touched: Arc<FxHashMap<u32, Stamp>>,
        removed: Vec<u32>,
        mut newcomers: Vec<Arc<DeltaRow>>,
    ) -> Table {
        newcomers.sort_by(|a, b| a.order().cmp(&b.order()));
        let mut namespaces = Numbered::of(&flat.namespaces);
        let mut users = Numbered::of(flat.rows.users());
        let mut members = Members::with_capacity(newcomers.len());
        let places = newcomers.iter().map(|one| place_for(flat, one));
        let splice = TableDelta::new(flat.len() as u32, &removed, &places.collect::<Vec<_>>());
        for one in &newcomers {
            members.push(Member {
                namespace: namespaces.number(&one.namespace),
                user: users.number(&one.user),
                timestamp: one.timestamp,
                length: one.values.length,
                traits: one.values.traits,
                vector: one.values.vector,
            });
        }
        let more = |known: usize, all: Vec<&str>| -> Vec<String> {
            all.into_iter().skip(known).map(str::to_owned).collect()
        };
        let more_users = more(flat.rows.users().len(), users.words);
        let more_namespaces = more(flat.namespaces.len(), namespaces.words);
        let splice = Arc::new(splice);
        let collection = Collection::changed(&flat.rows, &splice, &removed, members, more_users);
        let mut newcomers_by_name: Vec<u32> = (0..newcomers.len() as u32).collect();
        newcomers_by_name.sort_by_key(|&number| &newcomers[number as usize].name);
        Table {
            flat: Arc::clone(flat),
            splice,
            removed,
            newcomers,
            newcomers_by_name,
            namespaces: flat
                .namespaces
                .iter()
                .cloned()
                .chain(more_namespaces)
                .collect(),
            touched,
            collection,
        }
    }

    /// Fills in the rows of all documents of added segments.
    fn place_all(&self, parts: &[Arc<Part>], documents: &mut [Documents]) {
        for (part, documents) in parts.iter().zip(documents.iter_mut()) {
            if let Documents::New(rows) = documents {
                *rows = vec![NO_ROW; part.max_doc() as usize];
            }
        }
        for (one, place) in self.newcomers.iter().zip(self.splice.places()) {
            if let Documents::New(rows) = &mut documents[one.segment] {
                rows[one.doc as usize] = *place;
            }
        }
    }

    /// Returns the mapped table that this one was made from.
    pub fn flat(&self) -> &Arc<MappedTable> {
        &self.flat
    }

    /// Returns the lookup of the rows of a segment's documents.
    pub fn row_of<'a>(&'a self, documents: &'a Documents) -> RowOf<'a> {
        let is_changed = !(self.removed.is_empty() && self.newcomers.is_empty());
        match documents {
            Documents::Written(rows) => RowOf {
                rows,
                splice: is_changed.then_some(&*self.splice),
            },
            Documents::New(rows) => RowOf { rows, splice: None },
        }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.splice.len()
    }

    /// Returns the file name of a row.
    pub fn name(&self, row: u32) -> &str {
        match self.splice.origin(row) {
            Origin::Old(row) => self.flat.name(row),
            Origin::New(number) => &self.newcomers[number as usize].name,
        }
    }

    /// Returns the indexed version of a row's file.
    pub fn indexed(&self, row: u32) -> Indexed {
        match self.splice.origin(row) {
            Origin::Old(row) => {
                let at = row as usize;
                let of_file = self.present(row, self.flat.versions[at]);
                version(of_file, self.flat.flags[at])
            }
            Origin::New(number) => indexed(&self.newcomers[number as usize]),
        }
    }

    /// Returns the rows with a flag.
    pub fn with_flag(&self, flag: u8) -> Vec<u32> {
        let written = (0..).zip(self.flat.flags.iter());
        let written = written.filter(|(_, flags)| **flags & flag != 0);
        let mut rows: Vec<u32> = written
            .filter_map(|(row, _)| self.splice.moved(row))
            .collect();
        let new = self.newcomers.iter().zip(self.splice.places());
        let new = new.filter(|(one, _)| one.values.flags & flag != 0);
        rows.extend(new.map(|(_, place)| *place));
        rows
    }

    /// Returns the rows of memories that may expire, or are stated to be of a tier that can.
    pub fn impermanent(&self) -> impl Iterator<Item = u32> {
        let written = self.flat.impermanent.iter();
        let written = written.filter_map(|row| self.splice.moved(*row));
        let places = self.splice.places().iter().copied();
        written.chain(places.filter(|row| !self.stated(*row).is_permanent()))
    }

    /// Returns every name with its version, in the order of the names.
    pub fn files(&self) -> impl Iterator<Item = (&str, Indexed)> {
        let (flat, splice) = (&*self.flat, &*self.splice);
        let (by_name, ranges) = (&*flat.by_name, &*flat.name_ranges);
        let (versions, flags, names) = (&*flat.versions, &*flat.flags, &*flat.names.0);
        let written = by_name.iter().filter(|row| splice.moved(**row).is_some());
        let mut written = written
            .map(move |&row| {
                let at = row as usize;
                let of_file = self.present(row, versions[at]);
                (text_in(names, ranges[at]), version(of_file, flags[at]))
            })
            .peekable();
        let new = self.newcomers_by_name.iter();
        let new = new.map(|&number| &*self.newcomers[number as usize]);
        let mut new = new.map(|one| (one.name.as_str(), indexed(one))).peekable();
        std::iter::from_fn(move || match (written.peek(), new.peek()) {
            (Some(one), Some(other)) if other.0 < one.0 => new.next(),
            (Some(_), _) => written.next(),
            (None, _) => new.next(),
        })
    }

    /// Returns the lifecycle fields that a row's file states.
    pub fn stated(&self, row: u32) -> Stated {
        let timestamp = self.collection.timestamp(row);
        match self.splice.origin(row) {
            Origin::Old(row) => {
                let (flat, at) = (&*self.flat, row as usize);
                let moments = [timestamp, flat.expires[at], flat.updated[at]];
                let (importance, confidence) = (flat.importance[at], flat.confidence[at]);
                stated(moments, flat.flags[at], importance, confidence)
            }
            Origin::New(number) => {
                let new = &self.newcomers[number as usize].values;
                let moments = [timestamp, new.expires, new.updated];
                stated(moments, new.flags, new.importance, new.confidence)
            }
        }
    }

    /// Returns the row of the file `name`.
    pub fn row(&self, name: &str) -> Option<u32> {
        let new = |number: &u32| self.newcomers[*number as usize].name.as_str();
        let at = self
            .newcomers_by_name
            .binary_search_by(|number| new(number).cmp(name));
        match at {
            Ok(at) => Some(self.splice.places()[self.newcomers_by_name[at] as usize]),
            Err(_) => self.splice.moved(self.flat.row(name)?),
        }
    }

    /// Returns all rows in the order of their names.
    pub fn by_name(&self) -> Vec<u32> {
        let written = self.flat.by_name.iter();
        let written = written.filter_map(|row| self.splice.moved(*row));
        let mut new = self.newcomers_by_name.iter().copied().peekable();
        let mut rows = Vec::with_capacity(self.len());
        let place = |number: u32| self.splice.places()[number as usize];
        for row in written {
            let name = self.name(row);
            while let Some(number) =
                new.next_if(|number| self.newcomers[*number as usize].name.as_str() < name)
            {
                rows.push(place(number));
            }
            rows.push(row);
        }
        rows.extend(new.map(place));
        rows
    }

    /// Returns a column's values in the order of rows; `written` are those of the mapped table.
    pub fn values<'a, T: Plain>(
        &'a self,
        written: &'a [T],
        of: impl Fn(&Values) -> T + Copy + 'a,
    ) -> impl Iterator<Item = T> + 'a {
        self.splice.pieces().flat_map(move |piece| {
            let (old, new) = match piece {
                Piece::Old(rows) => (rows, 0..0),
                Piece::New(numbers) => (0..0, numbers),
            };
            let old = &written[old.start as usize..old.end as usize];
            let new = &self.newcomers[new.start as usize..new.end as usize];
            let new = new.iter().map(move |one| of(&one.values));
            old.iter().copied().chain(new)
        })
    }

    /// Returns the versions of the files in the order of rows.
    pub fn versions(&self) -> impl Iterator<Item = Version> {
        let written = &*self.flat.versions;
        self.splice.pieces().flat_map(move |piece| {
            let (old, new) = match piece {
                Piece::Old(rows) => (rows, 0..0),
                Piece::New(numbers) => (0..0, numbers),
            };
            let new = &self.newcomers[new.start as usize..new.end as usize];
            let new = new.iter().map(|one| one.values.version);
            let old = old.map(move |row| self.present(row, written[row as usize]));
            old.chain(new)
        })
    }

    /// Returns the version of the file of a row of the mapped table, which has the version `written` there.
    fn present(&self, row: u32, written: Version) -> Version {
        match self.touched.is_empty() {
            true => written,
            false => {
                let stamp = self.touched.get(&row);
                stamp.map_or(written, |stamp| with_stamp(written, *stamp))
            }
        }
    }

    /// Returns the rows of the memories in a namespace, without those of namespaces below it.
    pub fn rows_in(&self, namespace: &str) -> Range<u32> {
        let first = |is_before: &dyn Fn(&str) -> bool| {
            let (mut low, mut high) = (0, self.len() as u32);
            while low < high {
                let middle = low + (high - low) / 2;
                let number = self.collection.namespace(middle);
                match is_before(&self.namespaces[number as usize]) {
                    true => low = middle + 1,
                    false => high = middle,
                }
            }
            low
        };
        first(&|other| other < namespace)..first(&|other| other <= namespace)
    }

    /// Returns the names of files that are larger than the part of them that is indexed.
    pub fn cut(&self) -> impl Iterator<Item = &str> {
        let written = self.flat.cut.iter();
        let written = written.filter_map(|row| self.splice.moved(*row));
        let new = self.newcomers.iter().zip(self.splice.places());
        let new = new.filter(|(one, _)| is_cut(&one.values.version));
        let new = new.map(|(_, place)| *place);
        written.chain(new).map(|row| self.name(row))
    }

    /// Returns the namespaces by number.
    pub fn namespaces(&self) -> &[String] {
        &self.namespaces
    }
}

/// Returns the row of the mapped table before which a document belongs.
fn place_for(flat: &MappedTable, one: &DeltaRow) -> u32 {
    let order = |row: u32| {
        let (namespace, timestamp) = flat.rows.place(row);
        let namespace = &flat.namespaces[namespace as usize];
        (namespace.as_str(), timestamp, flat.name(row))
    };
    let (mut low, mut high) = (0, flat.len() as u32);
    while low < high {
        let middle = low + (high - low) / 2;
        match order(middle) < one.order() {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

fn indexed(one: &DeltaRow) -> Indexed {
    version(one.values.version, one.values.flags)
}

/// Words with their numbers: known ones, and new ones after them as they come.
struct Numbered<'a> {
    words: Vec<&'a str>,
    numbers: HashMap<&'a str, u32>,
}

impl<'a> Numbered<'a> {
    fn of(known: &'a [impl AsRef<str>]) -> Numbered<'a> {
        let words: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
        let numbers = words.iter().copied().zip(0..);
        Numbered {
            numbers: numbers.collect(),
            words,
        }
    }

    fn number(&mut self, word: &'a str) -> u32 {
        let words = &mut self.words;
        *self.numbers.entry(word).or_insert_with(|| {
            words.push(word);
            words.len() as u32 - 1
        })
    }
}

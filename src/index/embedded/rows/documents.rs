//! Column values of a segment's documents.

use tantivy::SegmentReader;
use tantivy::columnar::{BytesColumn, Column as Fast, StrColumn};

use crate::index::embedded::failure::unusable;
use crate::index::embedded::part::{LooseDocuments, Part};
use crate::index::embedded::schema::{SKETCH_NAMES, VECTOR_NAME, flag};
use crate::index::{IndexError, Indexed};
use crate::model::Stamp;
use crate::ranking::{Sketch, TextFeatures};
use crate::words::TextVector;

/// An [`Indexed`] as it is kept: size, modification time, inode, and the two halves of the hash.
/// Whether the file was racy is among the flags.
pub(in crate::index::embedded) type Version = [u64; 5];

/// Reads the columns of one segment.
pub(in crate::index::embedded) struct Columns {
    /// Name of the file.
    pub name: StrColumn,
    /// Namespace of the memory.
    pub namespace: StrColumn,
    /// User who wrote it.
    pub user: StrColumn,
    /// Moment of the memory, in microseconds since 1970.
    pub timestamp: Fast<i64>,
    expires: Fast<i64>,
    updated: Fast<i64>,
    importance: Fast<u64>,
    confidence: Fast<f64>,
    length: Fast<u64>,
    traits: Fast<u64>,
    sketch: Vec<Fast<u64>>,
    vector: Fast<u64>,
    /// Distinct vectors of the segment, by the ordinals in `vector`.
    vectors: Vec<[u8; TextVector::BYTES]>,
    flags: Fast<u64>,
    size: Fast<u64>,
    modified: Fast<i64>,
    inode: Fast<u64>,
    hash_high: Fast<u64>,
    hash_low: Fast<u64>,
}

impl Columns {
    /// Opens the columns of a segment; `None` if it has no documents.
    pub fn of(reader: &SegmentReader) -> tantivy::Result<Option<Columns>> {
        let fast = reader.fast_fields();
        let (Some(name), Some(namespace), Some(user)) =
            (fast.str("name")?, fast.str("namespace")?, fast.str("user")?)
        else {
            return Ok(None); // A segment without documents has no text columns.
        };
        let vectors = fast.bytes(VECTOR_NAME)?;
        let vectors = vectors.unwrap_or_else(|| BytesColumn::empty(reader.max_doc()));
        Ok(Some(Columns {
            name,
            namespace,
            user,
            timestamp: fast.i64("timestamp")?,
            expires: fast.i64("expires")?,
            updated: fast.i64("updated")?,
            importance: fast.u64("importance")?,
            confidence: fast.f64("confidence")?,
            length: fast.u64("length")?,
            traits: fast.u64("traits")?,
            sketch: SKETCH_NAMES
                .iter()
                .map(|name| fast.u64(name))
                .collect::<Result<_, _>>()?,
            vector: vectors.ords().clone(),
            vectors: vectors_of(&vectors)?,
            flags: fast.u64("flags")?,
            size: fast.u64("size")?,
            modified: fast.i64("modified")?,
            inode: fast.u64("inode")?,
            hash_high: fast.u64("hash_high")?,
            hash_low: fast.u64("hash_low")?,
        }))
    }
}

/// Reads the dictionary of the vectors of a segment. One of another size counts as none.
fn vectors_of(column: &BytesColumn) -> tantivy::Result<Vec<[u8; TextVector::BYTES]>> {
    let mut vectors = Vec::new();
    let mut stream = column.dictionary().stream()?;
    while stream.advance() {
        vectors.push(stream.key().try_into().unwrap_or(TextVector::ZERO.0));
    }
    Ok(vectors)
}

/// Column values of one document.
#[derive(Debug)]
pub(in crate::index::embedded) struct Values {
    /// Microseconds since 1970; the greatest number for never.
    pub expires: i64,
    /// The same; the smallest number where none is stated.
    pub updated: i64,
    /// 0: none is stated.
    pub importance: u8,
    /// Below 0: none is stated.
    pub confidence: f32,
    /// Bits of [`schema::flag`](crate::index::embedded::schema::flag).
    pub flags: u8,
    /// Version of the file.
    pub version: Version,
    /// Number of terms.
    pub length: u32,
    pub traits: TextFeatures,
    /// Vector of the words of the text.
    pub vector: TextVector,
}

/// A document that was not there when the rows of a table were written down.
#[derive(Debug)]
pub(in crate::index::embedded) struct DeltaRow {
    /// Number of its segment.
    pub segment: usize,
    /// Number of the document in its segment.
    pub doc: u32,
    pub namespace: String,
    pub user: String,
    pub timestamp: i64,
    pub name: String,
    pub values: Values,
}

impl Columns {
    /// Returns the values of one document.
    pub fn values(&self, doc: u32) -> Values {
        let number = |column: &Fast<u64>| column.first(doc).unwrap_or(0);
        Values {
            expires: self.expires.first(doc).unwrap_or(i64::MAX),
            updated: self.updated.first(doc).unwrap_or(i64::MIN),
            importance: number(&self.importance) as u8,
            confidence: self.confidence.first(doc).unwrap_or(-1.0) as f32,
            flags: number(&self.flags) as u8,
            version: [
                number(&self.size),
                self.modified.first(doc).unwrap_or(0).cast_unsigned(),
                number(&self.inode),
                number(&self.hash_high),
                number(&self.hash_low),
            ],
            length: number(&self.length) as u32,
            traits: TextFeatures::unpack(
                number(&self.traits) as u32,
                Sketch::unpack(std::array::from_fn(|at| number(&self.sketch[at]))),
            ),
            vector: self.vector(doc),
        }
    }

    /// Returns the vector of a document's words.
    fn vector(&self, doc: u32) -> TextVector {
        let ord = self.vector.first(doc);
        let vector = ord.and_then(|ord| self.vectors.get(ord as usize));
        vector.map_or(TextVector::ZERO, |vector| TextVector(*vector))
    }
}

impl DeltaRow {
    /// Returns the sort key of rows: namespace, time, name.
    pub fn order(&self) -> (&str, i64, &str) {
        (&self.namespace, self.timestamp, &self.name)
    }
}

/// Adds to `newcomers` the documents of a segment that `is_wanted` accepts; `segment` is its number.
pub(in crate::index::embedded) fn newcomers_of(
    part: &Part,
    segment: usize,
    is_wanted: impl Fn(u32) -> bool,
    newcomers: &mut Vec<DeltaRow>,
) -> Result<(), IndexError> {
    if let Some(documents) = part.documents() {
        let wanted = (0..part.max_doc()).filter(|doc| is_wanted(*doc));
        newcomers.extend(wanted.map(|doc| row_of(documents, doc, segment)));
    }
    let columns = part.reader().map_or(Ok(None), Columns::of);
    let Some(columns) = columns.map_err(|error| unusable(&error))? else {
        return Ok(());
    };
    let names = texts(&columns.name)?;
    let namespaces = texts(&columns.namespace)?;
    let users = texts(&columns.user)?;
    for doc in 0..part.max_doc() {
        let name = names.of(&columns.name, doc);
        let Some(name) = name.filter(|_| is_wanted(doc)) else {
            continue;
        };
        newcomers.push(DeltaRow {
            segment,
            doc,
            namespace: namespaces.of(&columns.namespace, doc).unwrap_or_default(),
            user: users.of(&columns.user, doc).unwrap_or_default(),
            timestamp: columns.timestamp.first(doc).unwrap_or(0),
            name,
            values: columns.values(doc),
        });
    }
    Ok(())
}

/// Returns the row of one of the `documents` of the part of this number.
fn row_of(documents: &LooseDocuments, doc: u32, segment: usize) -> DeltaRow {
    let fields = &documents.fields;
    let number = |field| documents.u64(doc, field).unwrap_or(0);
    let vector = documents.bytes(doc, fields.vector);
    let values = Values {
        expires: documents.i64(doc, fields.expires).unwrap_or(i64::MAX),
        updated: documents.i64(doc, fields.updated).unwrap_or(i64::MIN),
        importance: number(fields.importance) as u8,
        confidence: documents.f64(doc, fields.confidence).unwrap_or(-1.0) as f32,
        flags: number(fields.flags) as u8,
        version: [
            number(fields.size),
            documents
                .i64(doc, fields.modified)
                .unwrap_or(0)
                .cast_unsigned(),
            number(fields.inode),
            number(fields.hash_high),
            number(fields.hash_low),
        ],
        length: number(fields.length) as u32,
        traits: TextFeatures::unpack(
            number(fields.traits) as u32,
            Sketch::unpack(fields.sketch.map(number)),
        ),
        vector: vector
            .and_then(|vector| vector.try_into().ok())
            .map_or(TextVector::ZERO, TextVector),
    };
    DeltaRow {
        segment,
        doc,
        namespace: documents.text(doc, fields.namespace).to_owned(),
        user: documents.text(doc, fields.user).to_owned(),
        timestamp: documents.i64(doc, fields.timestamp).unwrap_or(0),
        name: documents.text(doc, fields.name).to_owned(),
        values,
    }
}

/// Returns whether the file is larger than the part of it that is indexed.
pub(in crate::index::embedded) fn is_cut(of: &Version) -> bool {
    version(*of, 0).stamp.is_cut()
}

/// Returns a version and its flags as an [`Indexed`].
pub(in crate::index::embedded) fn version(
    [size, modified, inode, high, low]: Version,
    flags: u8,
) -> Indexed {
    Indexed {
        stamp: Stamp {
            size,
            modified: modified.cast_signed(),
            inode,
        },
        hash: u128::from(high) << 64 | u128::from(low),
        racy: u64::from(flags) & flag::RACY != 0,
    }
}

/// Returns the version of the same bytes under another stamp.
pub(in crate::index::embedded) fn with_stamp(
    [_, _, _, high, low]: Version,
    stamp: Stamp,
) -> Version {
    let modified = stamp.modified.cast_unsigned();
    [stamp.size, modified, stamp.inode, high, low]
}

/// Returns the ordinal of a document's value in a column's dictionary.
pub(in crate::index::embedded) fn ord(column: &StrColumn, doc: u32) -> Option<usize> {
    column.ords().first(doc).map(|ord| ord as usize)
}

/// Texts of a dictionary in the order of their ordinals.
pub(in crate::index::embedded) struct Terms {
    /// All texts, one after the other.
    pub text: String,
    /// Start and end of each text, in bytes.
    pub ranges: Vec<(u32, u32)>,
}

impl Terms {
    /// Returns a document's value in the column.
    pub fn of(&self, column: &StrColumn, doc: u32) -> Option<String> {
        let &(start, end) = self.ranges.get(ord(column, doc)?)?;
        Some(self.text[start as usize..end as usize].to_owned())
    }
}

/// Reads the dictionary of a column.
pub(in crate::index::embedded) fn texts(column: &StrColumn) -> Result<Terms, IndexError> {
    let mut texts = Terms {
        text: String::new(),
        ranges: Vec::with_capacity(column.dictionary().num_terms()),
    };
    let mut stream = column
        .dictionary()
        .stream()
        .map_err(|error| unusable(&error))?;
    while stream.advance() {
        let start = texts.text.len() as u32;
        texts
            .text
            .push_str(std::str::from_utf8(stream.key()).unwrap_or_default());
        texts.ranges.push((start, texts.text.len() as u32));
    }
    Ok(texts)
}

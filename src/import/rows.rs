//! A JSON export → its objects, one by one, each as fields.
//!
//! The input is a file or standard input of any length; `records` cuts it up. A broken object is an error
//! with its line, and the next one is still read.

use std::fs::File;
use std::io;
use std::io::{BufReader, Chain, Cursor, Read};
use std::path::{Path, PathBuf};

use super::ImportError;
use super::fields::ForeignFields;
use super::records::{InputForm, OF_LOCI, RawRecord, RecordFault, RecordReader};
use super::source_file::{io_error, unreadable};
use crate::format;
use crate::model::MetaValue;

/// Beginning of every SQLite database.
pub(super) const SQLITE: &[u8] = b"SQLite format 3\0";
/// Maximum distance of the first list from the beginning of an object that wraps it.
const HEAD_BYTES: u64 = 64 * 1024;

type Input = Box<dyn Read>;

/// The objects of an export.
pub(super) struct ImportRows {
    records: RecordReader<BufReader<Chain<Cursor<Vec<u8>>, Input>>>,
    path: PathBuf,
    name: String,
}

type RowResult = Result<ImportRow, ImportError>;

/// An object of an export.
pub(super) struct ImportRow {
    /// Name of its list; the first name where there is only one list.
    pub list: &'static str,
    /// Location for messages.
    pub source: String,
    /// Fields of the object.
    pub fields: ForeignFields,
}

impl ImportRows {
    /// Opens the file at `path`, or standard input for `-`, whose records are in the lists `names` of one
    /// object, in one list, or one a line. Without names it is the list `memories`.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn open(path: &Path, names: &'static [&'static str]) -> Result<ImportRows, ImportError> {
        if path == Path::new("-") {
            return ImportRows::of(Box::new(io::stdin()), path, "standard input", names);
        }
        let open = || File::open(path).map_err(|source| io_error(path, source));
        let name = path.display().to_string();
        // A pipe can be read only once; there the list is told when it comes.
        if path.is_file() {
            let length = open()?.metadata().map_or(1, |data| data.len());
            if length == 0 {
                return Err(unreadable(path, "it is empty".to_owned()));
            }
            ImportRows::of(Box::new(open()?), path, &name, names)?.check_lists()?;
        }
        ImportRows::of(Box::new(open()?), path, &name, names)
    }

    /// Refuses an export of another source, which has unknown lists.
    fn check_lists(mut self) -> Result<(), ImportError> {
        if self.records.form != InputForm::Object {
            return Ok(());
        }
        let at_path = |source| io_error(&self.path, source);
        while let Some(record) = self.records.next().map_err(at_path)? {
            if let Err(fault @ RecordFault::UnknownList(_)) = record.bytes {
                return Err(unreadable(&self.path, fault.what()));
            }
        }
        Ok(())
    }

    /// Refuses an export of Loci, for a source with the same names of lists.
    ///
    /// # Errors
    ///
    /// Fails if the first record has keys that only Loci gives.
    pub fn refuse_loci(self) -> Result<impl Iterator<Item = RowResult>, ImportError> {
        let path = self.path.clone();
        let mut rows = self.peekable();
        let keys = ["source_group", "subject_id"];
        let is_of_loci = |row: &ImportRow| {
            let mut fields = row.fields.0.iter();
            fields.any(|(key, _)| keys.contains(&key.as_str()))
        };
        match rows.peek() {
            Some(Ok(row)) if is_of_loci(row) => Err(unreadable(&path, OF_LOCI.to_owned())),
            _ => Ok(rows),
        }
    }

    /// Opens as [`ImportRows::open`] an input that is called `name` in messages.
    pub fn of(
        mut input: Input,
        path: &Path,
        name: &str,
        names: &'static [&'static str],
    ) -> Result<ImportRows, ImportError> {
        let mut head = Vec::new();
        input
            .by_ref()
            .take(HEAD_BYTES)
            .read_to_end(&mut head)
            .map_err(|source| io_error(path, source))?;
        if head.starts_with(SQLITE) {
            let what = "it is a database. Have its program export it as JSON, and import that.";
            return Err(unreadable(path, what.to_owned()));
        }
        let (form, start) = match names {
            [] => InputForm::of(&head),
            names => InputForm::of_lists(&head, names),
        };
        Ok(ImportRows {
            records: RecordReader {
                line: 1 + memchr::memchr_iter(b'\n', &head[..start]).count(),
                input: BufReader::new(Cursor::new(head.split_off(start)).chain(input)),
                form,
                names,
                list: names.first().copied().unwrap_or_default(),
            },
            path: path.to_owned(),
            name: name.to_owned(),
        })
    }

    fn row(&self, record: RawRecord) -> Result<ImportRow, ImportError> {
        let RawRecord { line, bytes } = record;
        let error = |line: usize, what: String| ImportError::Unreadable {
            source_name: format!("{}:{line}", self.name),
            what,
        };
        let bytes = bytes.map_err(|fault| error(line, fault.what()))?;
        let value: serde_json::Value = serde_json::from_slice(&bytes).map_err(|cause| {
            let what = cause.to_string();
            let what = what.split(" at line ").next().unwrap_or_default();
            let what = format!("column {}: it is no JSON: {what}", cause.column());
            error(line + cause.line().saturating_sub(1), what)
        })?;
        let MetaValue::Map(entries) = format::from_json(value) else {
            return Err(error(line, "it is no JSON object".to_owned()));
        };
        Ok(ImportRow {
            list: self.records.list,
            source: format!("{}:{line}", self.name),
            fields: ForeignFields(entries),
        })
    }
}

impl Iterator for ImportRows {
    type Item = RowResult;

    fn next(&mut self) -> Option<Result<ImportRow, ImportError>> {
        match self.records.next() {
            Ok(record) => record.map(|record| self.row(record)),
            Err(source) => {
                self.records.form = InputForm::EndReason;
                Some(Err(io_error(&self.path, source)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::fields;

    const LISTS: &[&str] = &["memories", "links"];

    #[track_caller]
    fn check(input: &str, expected: &[&str]) {
        let input = Box::new(Cursor::new(input.as_bytes().to_vec()));
        let found: Vec<String> = ImportRows::of(input, Path::new("in"), "in", LISTS)
            .unwrap()
            .map(|row| match row {
                Ok(row) => {
                    let fields = fields::to_json(&MetaValue::Map(row.fields.0));
                    format!("{} {} {fields}", row.source, row.list)
                }
                Err(error) => error.to_string(),
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn lists_of_one_object_are_read_in_any_order_and_other_values_passed_over() {
        check(
            r#"{"count": 2, "links": [{"a": 1}], "x": {"memories": [{"b": 2}]}, "s": "}],\"",
"memories": [{"c": "]}"},
{"d": 4}], "links": []}"#,
            &[
                r#"in:1 links {"a":1}"#,
                r#"in:2 memories {"c":"]}"}"#,
                r#"in:3 memories {"d":4}"#,
            ],
        );
        check(r#"{"memories" : [ ] , "links" : [ ] }"#, &[]);
        check(
            r#"{"memories": null, "links": [{"a": 1}]}"#,
            &["in:1 links {\"a\":1}"],
        );
        check(r#"[{"a": 1}]"#, &[r#"in:1 memories {"a":1}"#]);
        check(
            "{\"a\": 1}\n{\"b\": 2}",
            &["in:1 memories {\"a\":1}", "in:2 memories {\"b\":2}"],
        );
    }

    #[test]
    fn damage_is_one_error_and_what_can_be_told_apart_is_read() {
        check(
            "{\"memories\": [{\"a\": 1}, {\"b\": tru}, 7, {\"c\": 3}], \"links\": [{\"d\": 4}]}",
            &[
                r#"in:1 memories {"a":1}"#,
                "in:1: column 10: it is no JSON: expected ident",
                "in:1: it is no JSON object",
                r#"in:1 memories {"c":3}"#,
                r#"in:1 links {"d":4}"#,
            ],
        );
        check(
            "{\"memories\": [{\"a\": 1}],\n",
            &[
                r#"in:1 memories {"a":1}"#,
                "in:2: the object has no closing `}`. The file may have been cut off here.",
            ],
        );
        check(
            "{\"memories\": [{\"a\": 1}], oops}",
            &[
                r#"in:1 memories {"a":1}"#,
                "in:1: here a key should stand; what follows was not read. Mend the JSON.",
            ],
        );
        check(
            "{\"memories\": []} x",
            &["in:1: what follows the list was not read"],
        );
    }

    #[test]
    fn a_database_is_told_from_an_export() {
        let input = Box::new(Cursor::new([SQLITE, b"more"].concat()));
        let error = ImportRows::of(input, Path::new("memory.db"), "memory.db", LISTS);
        let error = error.err().map(|error| error.to_string());
        let expected =
            "memory.db: it is a database. Have its program export it as JSON, and import that.";
        assert_eq!(error.as_deref(), Some(expected));
    }

    proptest::proptest! {
        #[test]
        fn no_input_makes_it_panic_or_run_for_ever(tail in "[\\[\\]{}\",:\\\\ \n0-9a-z]{0,200}") {
            let input = format!("{{\"memories\": [{tail}");
            let input = Box::new(Cursor::new(input.into_bytes()));
            let rows = ImportRows::of(input, Path::new("in"), "in", LISTS).unwrap();
            let count = rows.take(1_000).count();
            proptest::prop_assert!(count < 1_000);
        }
    }
}

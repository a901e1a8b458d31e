//! Erasure of a person from a workspace: what the person wrote by the audit, what names them, and the removal of what is
//! no present memory.
//!
//! Guarantees: looking changes nothing; the lines of the audit lose an identity in one transaction, which adds a line
//! that names nobody; a pseudonym is drawn at random and kept nowhere else, so that it leads to nobody; whatever is done
//! may be repeated. Present memories are removed by the engine's purge.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::Value as Json;
use tokio_postgres::Row;

use super::audit;
use super::tokens::{LOCK, NOTIFY, administer, notice};
use crate::files::{FilesError, FilesOf, Place, Replaced, Storage, WritableStorage};
use crate::format;
use crate::journal::LineStore;
use crate::model::Stem;
use crate::rows::database::{Database, Value, check_name};
use crate::rows::error::RowsError;
use crate::rows::workspace::{BESIDE, Rows, place_in};

/// Number of files that are read together.
const BATCH: i64 = 200;

/// Action of the erasure in the audit.
pub const ERASE: &str = "erase";

/// Word of the journal for a purge, whose record says nothing of the text.
const PURGE: &str = "purge";

/// The file at a column: an id is one memory in every folder, of other names each folder may have one.
macro_rules! file_of {
    ($name:literal) => {
        concat!(
            "CASE WHEN regexp_replace(",
            $name,
            ", '^.*/', '') ~ '^[0-9]{8}_[0-9]{6}_[0-9a-f]{8}\\.md$' THEN regexp_replace(",
            $name,
            ", '^.*/', '') ELSE ",
            $name,
            " END"
        )
    };
}

/// Memories that identities wrote: the file, whether its first text is theirs, whether others wrote texts of it, too, and
/// the hashes of their texts. A move is a removal and a text in one transaction, and writes nothing.
const BY_CHANGES: &str = concat!(
    "WITH theirs AS MATERIALIZED (SELECT generate_series(first_change, last_change) AS seq FROM audit \
     WHERE workspace = $1 AND identity = ANY($2) AND first_change IS NOT NULL), \
     told AS (SELECT seq, op, place, name, hash, \
     coalesce(lag(op) OVER w = 'remove' AND lag(token) OVER w = token, false) AS is_move \
     FROM change WHERE workspace = $1 WINDOW w AS (ORDER BY seq)), \
     put AS (SELECT t.seq, t.hash, ",
    file_of!("t.name"),
    " AS file, NOT t.is_move AND h.seq IS NOT NULL AS is_theirs, NOT t.is_move AND h.seq IS NULL AS is_other \
     FROM told t LEFT JOIN theirs h ON h.seq = t.seq WHERE t.op = 'put' AND t.place <> 'beside') \
     SELECT file, (array_agg(is_theirs ORDER BY seq))[1], bool_or(is_other), \
     array_agg(DISTINCT hash) FILTER (WHERE is_theirs) FROM put GROUP BY file HAVING bool_or(is_theirs)"
);

/// Present places and names of files, with the hashes of their texts.
const PRESENT: &str = concat!(
    "SELECT * FROM (SELECT ",
    file_of!("name"),
    " AS file, place, name, hash FROM memory WHERE workspace = $1 AND place <> 'beside') m \
     WHERE file = ANY($2) ORDER BY place DESC, name"
);

/// Former texts of files, and those with one of these hashes.
const FORMER: &str = concat!(
    "SELECT file, hash, count(*) FROM (SELECT ",
    file_of!("name"),
    " AS file, hash FROM version WHERE workspace = $1 AND place <> 'beside') v \
     WHERE file = ANY($2) OR hash = ANY($3) GROUP BY file, hash"
);

/// Present files after a place and a name, of memories and of proposals.
const TEXTS: &str = "SELECT place, name, bytes, hash FROM memory WHERE workspace = $1 \
     AND (place, name) > ($2, $3) AND (place <> 'beside' OR name LIKE 'proposals/%.md') \
     ORDER BY place, name LIMIT $4";

/// Former texts after a place, a name and a number.
const FORMER_TEXTS: &str = "SELECT place, name, bytes, hash, seq FROM version WHERE workspace = $1 \
     AND (place, name, seq) > ($2, $3, $4) AND place <> 'beside' ORDER BY place, name, seq LIMIT $5";

/// Proposals whose present text identities wrote.
const PROPOSALS: &str = "SELECT m.name FROM memory m JOIN audit a ON a.workspace = $1 \
     AND m.seq BETWEEN a.first_change AND a.last_change WHERE m.workspace = $1 AND m.place = 'beside' \
     AND m.name LIKE 'proposals/%.md' AND a.identity = ANY($2) ORDER BY m.name";

/// Numbers of the lines of the audit, and of the tokens, that have one of these names.
const NAMED: &str = "SELECT (SELECT count(*) FROM audit WHERE workspace = $1 AND identity = ANY($2)), \
     (SELECT count(*) FROM token WHERE workspace = $1 AND name = ANY($2))";

/// A person, by the names that a workspace has for them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Person {
    /// Identities in the audit: names of tokens, `SUB@ISSUER` of tokens of an issuer.
    pub identities: Vec<String>,
    /// Names in the frontmatter's `user`.
    pub users: Vec<String>,
    /// Names in the frontmatter's `agent`.
    pub agents: Vec<String>,
}

/// Data of a person in a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PersonalData {
    /// Memories that the person wrote first, or whose present text names them; also those of which only former texts are
    /// left, or nothing.
    pub own: Vec<WrittenFile>,
    /// Memories of others with a text that the person wrote, or that names them.
    pub shared: Vec<WrittenFile>,
    /// Hashes of the former texts in `shared` that the person wrote, or that name them.
    pub texts: Vec<Vec<u8>>,
    /// Paths of proposals.
    pub proposals: Vec<String>,
    /// Number of lines of the audit with the identities.
    pub lines: usize,
    /// Number of tokens with these names.
    pub tokens: usize,
}

/// A memory, as far as a person has a part in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WrittenFile {
    /// Name of the file; of an id without folders.
    pub file: String,
    /// Places and names where it is now; empty if it is gone.
    pub present: Vec<(Place, String)>,
    /// Number of its former texts that are the person's; of all if the memory is, or is gone.
    pub former: usize,
    /// Whether others wrote texts of it, too.
    pub has_others: bool,
    /// Whether its present text is the person's.
    pub is_last: bool,
}

impl WrittenFile {
    /// Returns the stem of the memory.
    pub fn stem(&self) -> Stem {
        Stem::from_file_name(self.file.strip_suffix(".md").unwrap_or(&self.file))
    }

    /// Returns the name of the file for the engine's purge, below its folder; `None` if it is gone.
    pub fn name(&self) -> Option<&str> {
        self.present.first().map(|(_, name)| name.as_str())
    }
}

impl PersonalData {
    /// Returns whether there is neither a text nor a name that can be erased beside present memories.
    pub fn has_no_leftovers(&self) -> bool {
        let left = |file: &WrittenFile| file.present.is_empty() && file.former > 0;
        let mut files = self.own.iter().chain(&self.shared);
        self.texts.is_empty() && self.proposals.is_empty() && !files.any(left)
    }
}

/// Texts of one file that are the person's, as one look counts them.
#[derive(Default)]
struct Found {
    is_own: bool,
    has_others: bool,
}

/// Finds the data of `person`, in the tables as they are.
///
/// # Errors
///
/// Fails if the database cannot be asked.
pub fn personal_data(rows: &Rows, person: &Person) -> Result<PersonalData, RowsError> {
    let mut data = PersonalData::default();
    let mut files: BTreeMap<String, Found> = BTreeMap::new();
    let mut hashes: HashSet<Vec<u8>> = HashSet::new();
    let mut proposals = BTreeSet::new();
    let identities = || Value::Texts(person.identities.clone());
    for row in rows.ask(BY_CHANGES, [identities()])? {
        let found = Found {
            is_own: row.get(1),
            has_others: row.get(2),
        };
        files.insert(row.get(0), found);
        hashes.extend(row.get::<_, Vec<Vec<u8>>>(3));
    }
    for row in rows.ask(PROPOSALS, [identities()])? {
        proposals.insert(row.get::<_, String>(0));
    }
    if let Some(row) = rows.ask(NAMED, [identities()])?.first() {
        data.lines = row.get::<_, i64>(0) as usize;
        data.tokens = row.get::<_, i64>(1) as usize;
    }
    if !(person.users.is_empty() && person.agents.is_empty()) {
        each_text(rows, &mut |text| {
            if !names(person, text.name, text.bytes) {
                return;
            }
            if text.place == BESIDE {
                proposals.insert(text.name.to_owned());
                return;
            }
            files.entry(file_of(text.name)).or_default().is_own |= text.is_present;
            hashes.insert(text.hash.to_vec());
        })?;
    }
    data.proposals = proposals.into_iter().collect();
    let mut all: BTreeMap<&String, WrittenFile> = BTreeMap::new();
    for (file, found) in &files {
        let written = WrittenFile {
            file: file.clone(),
            has_others: found.has_others,
            ..WrittenFile::default()
        };
        all.insert(file, written);
    }
    let names = Value::Texts(files.keys().cloned().collect());
    for row in rows.ask(PRESENT, [names])? {
        if let Some(written) = all.get_mut(&row.get::<_, String>(0)) {
            written.is_last |= hashes.contains(row.get::<_, &[u8]>(3));
            if let Some(place) = place_in(row.get(1)) {
                written.present.push((place, row.get(2)));
            }
        }
    }
    let names = Value::Texts(files.keys().cloned().collect());
    let known = Value::ManyBytes(hashes.iter().cloned().collect());
    let mut texts = BTreeSet::new();
    for row in rows.ask(FORMER, [names, known])? {
        let (file, hash): (String, &[u8]) = (row.get(0), row.get(1));
        let is_own = files.get(&file).is_some_and(|found| found.is_own);
        let is_theirs = hashes.contains(hash);
        if is_theirs && !is_own {
            texts.insert(hash.to_vec());
        }
        if let Some(written) = all.get_mut(&file)
            && (is_own || is_theirs || written.present.is_empty())
        {
            written.former += row.get::<_, i64>(2) as usize;
        }
    }
    data.texts = texts.into_iter().collect();
    for (file, written) in all {
        match files[file].is_own {
            true => data.own.push(written),
            false => data.shared.push(written),
        }
    }
    Ok(data)
}

/// Returns the file of a name below its folder, as `file_of!` does.
fn file_of(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    let stem = Stem::from_file_name(last.strip_suffix(".md").unwrap_or(last));
    let file = if stem.is_canonical() { last } else { name };
    file.to_owned()
}

/// Returns whether the frontmatter of a file names the person.
fn names(person: &Person, name: &str, bytes: &[u8]) -> bool {
    let stem = Stem::from_file_name(name.strip_suffix(".md").unwrap_or(name));
    let memory = format::parse(&stem, bytes, chrono::DateTime::UNIX_EPOCH);
    person.users.contains(&memory.user) || person.agents.contains(&memory.agent)
}

/// A text of a memory or of a file beside them, as the database has it.
struct StoredText<'a> {
    place: &'a str,
    name: &'a str,
    bytes: &'a [u8],
    hash: &'a [u8],
    /// Whether it is no former text.
    is_present: bool,
}

/// Calls `take` for each present and former text.
fn each_text(rows: &Rows, take: &mut dyn FnMut(StoredText<'_>)) -> Result<(), RowsError> {
    let mut give = |found: &[Row], is_present: bool| {
        for row in found {
            take(StoredText {
                place: row.get(0),
                name: row.get(1),
                bytes: row.get(2),
                hash: row.get(3),
                is_present,
            });
        }
    };
    let (mut place, mut name, mut number) = (String::new(), String::new(), 0);
    loop {
        let after = [Value::Text(place), Value::Text(name), Value::Number(BATCH)];
        let found = rows.ask(TEXTS, after)?;
        give(&found, true);
        let Some(last) = found.last() else { break };
        (place, name) = (last.get(0), last.get(1));
    }
    (place, name) = (String::new(), String::new());
    loop {
        let after = [
            Value::Text(place),
            Value::Text(name),
            Value::Number(number),
            Value::Number(BATCH),
        ];
        let found = rows.ask(FORMER_TEXTS, after)?;
        give(&found, false);
        let Some(last) = found.last() else {
            return Ok(());
        };
        (place, name, number) = (last.get(0), last.get(1), last.get(4));
    }
}

/// Erases what `data` has beside present memories: former texts and proposals.
///
/// # Errors
///
/// Fails if the database fails; it can be done again.
pub fn erase_leftovers(rows: &Rows, data: &PersonalData) -> Result<(), FilesError> {
    let files = data.own.iter().chain(&data.shared);
    // A purge that was killed may have left them.
    for file in files.filter(|file| file.present.is_empty()) {
        let stem = file.stem();
        let former = match stem.is_canonical() {
            true => FilesOf::Stem(stem.as_str()),
            false => FilesOf::Name(&file.file),
        };
        if file.former > 0 {
            rows.erase_former(former)?;
        }
    }
    if !data.texts.is_empty() {
        let erased = rows.erase_texts(&data.texts);
        erased.map_err(|error| error.at("erase former texts of", "the workspace"))?;
    }
    for path in &data.proposals {
        // Again, where another server writes it meanwhile.
        loop {
            let seen = match rows.beside().read(path, u64::MAX) {
                Err(FilesError::Missing { .. }) => break,
                seen => seen?,
            };
            if rows.put_beside(path, Some(&seen), None)? == Replaced::Done {
                break;
            }
        }
    }
    Ok(())
}

/// Removes the records of changes of these memories alone from the journal, with the reasons that they state; returns
/// their number.
///
/// # Errors
///
/// Fails if the database fails.
pub fn erase_records(rows: &Rows, stems: &BTreeSet<Stem>) -> std::io::Result<usize> {
    let stems: HashSet<&str> = stems.iter().map(Stem::as_str).collect();
    let is_theirs = |text: &str| {
        let line: Json = serde_json::from_str(text).unwrap_or_default();
        let of = line["of"].as_array();
        let mut of = of.into_iter().flatten().filter_map(Json::as_str).peekable();
        line["did"].as_str().is_some_and(|did| did != PURGE)
            && of.peek().is_some()
            && of.all(|stem| stems.contains(stem))
    };
    let lines = rows.lines_after(0)?.into_iter();
    let theirs = lines.filter(|line| is_theirs(&line.text));
    let numbers: Vec<u64> = theirs.map(|line| line.number).collect();
    // Of lines that were summed up meanwhile none is removed.
    match numbers.is_empty() || LineStore::replace(rows, &numbers, &[])? {
        true => Ok(numbers.len()),
        false => Err(std::io::Error::other("the journal was summed up meanwhile")),
    }
}

/// Ends the tokens with one of these names, and removes their rows; returns their number.
///
/// # Errors
///
/// Fails if the database cannot be asked.
pub fn erase_tokens(
    database: &Database,
    workspace: &str,
    names: &[String],
) -> Result<usize, RowsError> {
    check_name(workspace)?;
    let remove = "DELETE FROM token WHERE workspace = $1 AND name = ANY($2) RETURNING 1";
    let values = vec![Value::from(workspace), Value::Texts(names.to_vec())];
    let statements = vec![
        (LOCK, vec![Value::from(workspace)]),
        (remove, values),
        (NOTIFY, notice()),
    ];
    Ok(administer(database, statements)?.get(1).map_or(0, Vec::len))
}

/// Replaces the identities of `person` in all lines of the audit, and their names as authors of changes that came from
/// git, by one pseudonym; clears the ids of their requests, which clients may choose; and adds a line about the erasure of
/// `memories` memories. Returns the number of lines of the audit that lost a name.
///
/// # Errors
///
/// Fails if the database cannot be asked.
pub fn erase_identities(
    database: &Database,
    workspace: &str,
    person: &Person,
    memories: usize,
) -> Result<usize, RowsError> {
    check_name(workspace)?;
    let random = getrandom::u64().map_err(|error| RowsError::NotStarted(error.into()))?;
    let replace = "UPDATE audit SET identity = $3, request = '' \
         WHERE workspace = $1 AND identity = ANY($2) RETURNING 1";
    let authors = "UPDATE change SET author = $3 WHERE workspace = $1 AND author = ANY($2)";
    let values = |names: Vec<String>| {
        // No token of a workspace or of an issuer has such a name.
        let pseudonym = Value::Text(format!("erased:{random:016x}"));
        vec![Value::from(workspace), Value::Texts(names), pseudonym]
    };
    let names = [&*person.identities, &person.users, &person.agents].concat();
    let texts = |text: &str| Value::Texts(vec![text.to_owned()]);
    let numbers = |number: usize| Value::Numbers(vec![number as i64]);
    let line = vec![
        Value::from(workspace),
        Value::Number(1),
        numbers(0),
        texts(""),
        texts(ERASE),
        texts(""),
        texts("done"),
        texts(""),
        numbers(memories),
        numbers(0),
        numbers(0),
    ];
    let statements = vec![
        (LOCK, vec![Value::from(workspace)]),
        (replace, values(person.identities.clone())),
        (authors, values(names)),
        (audit::ADD, line),
    ];
    Ok(administer(database, statements)?.get(1).map_or(0, Vec::len))
}

/// Moment of a database, and how far its replicas are behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPosition {
    /// Time in seconds since 1970, by the clock of the database.
    pub at: i64,
    /// Position in its log (WAL).
    pub position: String,
    /// Number of replicas that are connected to it.
    pub replicas: usize,
    /// Bytes of the log that the last of them has not replayed; `None` if the user may not know.
    pub behind: Option<i64>,
}

/// Returns the present position in the log of the database.
///
/// # Errors
///
/// Fails if the database cannot be asked, or does not say.
pub fn log_position(database: &Database) -> Result<LogPosition, RowsError> {
    let sql = "SELECT extract(epoch FROM clock_timestamp())::bigint, pg_current_wal_lsn()::text, \
         (SELECT count(*) FROM pg_stat_replication), \
         (SELECT max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn))::bigint FROM pg_stat_replication)";
    let asked = administer(database, vec![(sql, Vec::new())])?;
    let row = asked.iter().flatten().next();
    let position = row.map(|row| LogPosition {
        at: row.get(0),
        position: row.get(1),
        replicas: row.get::<_, i64>(2) as usize,
        behind: row.get(3),
    });
    position.ok_or_else(|| RowsError::Unreachable("it answered without a row".into()))
}

//! Data that servers derive from memories and share: copies of indexes, [`IndexCopies`] over rows, and vectors of models.
//!
//! Promises: a copy is seen whole or not at all, and every piece of it is checked by its hash; one server at a time
//! publishes an index; a copy of a state before the last erasure is never seen. What a server that was killed left is
//! taken over by the next one.

mod pieces;
mod vectors;

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::sync::mpsc::sync_channel;

use tokio_postgres::Row;

use super::error::RowsError;
use super::server::Value;
use super::workspace::Rows;
use crate::index::{CopyState, IncomingIndex, IndexCopies};
use pieces::Piece;

/// Number of pieces that are asked for at once.
const AT_ONCE: usize = 4;

const STATE: &str = "SELECT (SELECT number FROM index_copy WHERE workspace = $1 AND name = $2), erased \
     FROM workspace WHERE name = $1";

const FILES: &str = "SELECT number, files, pieces FROM index_copy \
     WHERE workspace = $1 AND name = $2 AND number IS NOT NULL";

const PIECES: &str =
    "SELECT hash, bytes FROM index_piece WHERE workspace = $1 AND name = $2 AND hash = ANY($3)";

/// Begins to publish, unless another server began less than 15 minutes ago. What this one began, and could not end since
/// the database did not answer, it begins anew.
const CLAIM: &str = "INSERT INTO index_copy AS c (workspace, name, claim, claimed) \
     SELECT w.name, $2, $3, now() FROM workspace w WHERE w.name = $1 \
     ON CONFLICT (workspace, name) DO UPDATE SET claim = $3, claimed = now() \
     WHERE c.claim IS NULL OR c.claim = $3 OR c.claimed < now() - interval '15 minutes' RETURNING claim";

const KNOWN: &str =
    "SELECT hash FROM index_piece WHERE workspace = $1 AND name = $2 AND hash = ANY($3)";

const ADD: &str = "INSERT INTO index_piece (workspace, name, hash, bytes) VALUES ($1, $2, $3, $4) \
     ON CONFLICT DO NOTHING";

/// Makes the copy the newest one, if the server may still publish it and all its pieces are there.
const END: &str = "UPDATE index_copy c SET number = $4, files = $5, pieces = $6, published = now(), \
     claim = NULL, claimed = NULL FROM workspace w WHERE w.name = $1 AND c.workspace = $1 AND c.name = $2 \
     AND c.claim = $3 AND $4 >= w.erased AND NOT EXISTS (SELECT FROM unnest($6) AS wanted \
     WHERE NOT EXISTS (SELECT FROM index_piece WHERE workspace = $1 AND name = $2 AND hash = wanted)) \
     RETURNING c.number";

const GIVE_UP: &str = "UPDATE index_copy SET claim = NULL, claimed = NULL \
     WHERE workspace = $1 AND name = $2 AND claim = $3";

/// Removes what no copy has any more, and copies for programs that are gone.
const TIDY: &str = "WITH unused AS (DELETE FROM index_piece p USING index_copy c \
     WHERE c.workspace = $1 AND c.name = $2 AND c.claim IS NULL AND p.workspace = $1 AND p.name = $2 \
     AND NOT p.hash = ANY(c.pieces)) \
     DELETE FROM index_copy WHERE workspace = $1 AND name <> $2 \
     AND coalesce(published, claimed) < now() - interval '30 days'";

fn ask<const N: usize>(rows: &Rows, sql: &'static str, values: [Value; N]) -> io::Result<Vec<Row>> {
    rows.ask(sql, values).map_err(RowsError::into_io)
}

impl IndexCopies for Rows {
    fn state(&self, name: &str) -> io::Result<CopyState> {
        let rows = ask(self, STATE, [Value::from(name)])?;
        let state = |row: &Row| CopyState {
            number: row.get::<_, Option<i64>>(0).map(|number| number as u64),
            erased: row.get::<_, i64>(1) as u64,
        };
        Ok(rows.first().map(state).unwrap_or_default())
    }

    fn fetch(&self, name: &str, into: &mut dyn IncomingIndex) -> io::Result<Option<u64>> {
        let rows = ask(self, FILES, [Value::from(name)])?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let files: Vec<(String, usize)> =
            serde_json::from_str(row.get(1)).map_err(|_| damaged())?;
        let pieces: Vec<Vec<u8>> = row.get(2);
        let names = files
            .iter()
            .flat_map(|(name, count)| std::iter::repeat_n(name.as_str(), *count));
        let names: Vec<&str> = names.take(pieces.len() + 1).collect();
        if names.len() != pieces.len() {
            return Err(damaged());
        }
        // The next pieces are read while the last ones are written.
        let (sender, receiver) = sync_channel(1);
        std::thread::scope(|scope| {
            // Dropped at the end of this, so that the other thread does not wait for room in the channel where this one
            // has failed.
            let receiver = receiver;
            scope.spawn(|| {
                for some in pieces.chunks(AT_ONCE) {
                    let values = [Value::from(name), Value::ManyBytes(some.to_vec())];
                    let read = ask(self, PIECES, values);
                    let is_last = read.is_err();
                    if sender.send(read).is_err() || is_last {
                        return;
                    }
                }
                drop(sender);
            });
            for (some, names) in pieces.chunks(AT_ONCE).zip(names.chunks(AT_ONCE)) {
                let rows = receiver.recv().map_err(|_| damaged())??;
                for (hash, name) in some.iter().zip(names) {
                    let is_it = |row: &&Row| row.get::<_, &[u8]>(0) == hash;
                    let row = rows.iter().find(is_it).ok_or_else(damaged)?;
                    let bytes: &[u8] = row.get(1);
                    if pieces::hash(bytes) != *hash {
                        return Err(damaged());
                    }
                    into.add(name, bytes)?;
                }
            }
            Ok(Some(row.get::<_, i64>(0) as u64))
        })
    }

    fn publish(&self, name: &str, number: u64, files: &[(String, File)]) -> io::Result<bool> {
        let claim = self.claim;
        let values = [Value::from(name), Value::Number(claim)];
        if ask(self, CLAIM, values)?.is_empty() {
            return Ok(false);
        }
        let published = put(self, name, claim, number, files);
        if !matches!(published, Ok(true)) {
            // Another server waits for it otherwise.
            let values = [Value::from(name), Value::Number(claim)];
            ask(self, GIVE_UP, values)?;
            return published;
        }
        // What stays costs room until the next copy.
        let tidied = ask(self, TIDY, [Value::from(name)]);
        tidied.map(|_| true).or_else(|error| {
            tracing::info!("unused pieces of a copy of an index stay: {error}");
            Ok(true)
        })
    }
}

/// Writes the pieces that are not there, and ends what `claim` began.
fn put(
    rows: &Rows,
    name: &str,
    claim: i64,
    number: u64,
    files: &[(String, File)],
) -> io::Result<bool> {
    let mut listed = Vec::new();
    let mut all: Vec<Piece<'_>> = Vec::new();
    for (file, content) in files {
        let pieces = pieces::cut(content)?;
        listed.push((file, pieces.len()));
        all.extend(pieces);
    }
    let hashes: Vec<Vec<u8>> = all.iter().map(|piece| piece.hash.clone()).collect();
    let values = [Value::from(name), Value::ManyBytes(hashes.clone())];
    let there = ask(rows, KNOWN, values)?;
    let mut known: HashSet<Vec<u8>> = there.iter().map(|row| row.get(0)).collect();
    for piece in all {
        if known.insert(piece.hash.clone()) {
            let bytes = piece.bytes()?;
            let values = [
                Value::from(name),
                Value::Bytes(piece.hash),
                Value::Bytes(bytes),
            ];
            ask(rows, ADD, values)?;
        }
    }
    let values = [
        Value::from(name),
        Value::Number(claim),
        Value::Number(i64::try_from(number).map_err(io::Error::other)?),
        Value::Text(serde_json::to_string(&listed)?),
        Value::ManyBytes(hashes),
    ];
    Ok(!ask(rows, END, values)?.is_empty())
}

fn damaged() -> io::Error {
    let reason = "a piece of the copy of an index is damaged, or was removed meanwhile";
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

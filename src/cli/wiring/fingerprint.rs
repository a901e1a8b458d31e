//! The fingerprint of what decides about answers: two processes with the same one give the same answers.

use std::fmt::{Debug, Write as _};
use std::path::Path;

use crate::cli::wiring::context::Context;
use crate::config::Config;
use crate::files::digest;

/// Facts that are compared as one.
#[derive(Default)]
pub struct Facts(String);

impl Facts {
    /// Returns what decides about the answers that need no model: the program, the store, and how its texts are
    /// read. `None` without a store.
    pub fn without_models(context: &Context) -> Option<Facts> {
        let Config {
            store,
            index_dir,
            cache,
            user,
            languages,
            people,
            layout,
            life,
            ..
        } = &context.config;
        let mut facts = Facts::default();
        facts.add("program", &program()?);
        facts.add("store", &crate::files::place_of(&store.value).ok()?);
        facts.add("path", &store.value);
        facts.add("named by", &context.config.naming());
        facts.add("record", &record_of(context, &store.value));
        facts.add("index", &(&index_dir.value, cache));
        facts.add("user", &user.value);
        facts.add("texts", &(&languages.value, people, layout.value));
        facts.add("life", life);
        Some(facts)
    }

    /// Adds a fact.
    pub fn add(&mut self, name: &str, value: &dyn Debug) {
        let _ = writeln!(self.0, "{name}: {value:?}"); // A text takes all.
    }

    /// Returns the fingerprint, in hexadecimal digits.
    pub fn fingerprint(&self) -> String {
        format!("{:032x}", digest(self.0.as_bytes()))
    }
}

/// Returns what the user has consented to for a store, as a fact. The workspace that it is joined to decides about no
/// answer.
pub fn record_of(context: &Context, store: &Path) -> impl Debug + use<> {
    context.environment.records().map(|records| {
        let record = records.find(store);
        record.map(|mut record| {
            record.workspace = None;
            record
        })
    })
}

/// Returns which program this is: a file that was replaced since a server started is another one.
fn program() -> Option<(&'static str, u64, std::time::SystemTime)> {
    let file = std::env::current_exe().ok()?.metadata().ok()?;
    Some((env!("CARGO_PKG_VERSION"), file.len(), file.modified().ok()?))
}

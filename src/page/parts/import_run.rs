//! Imports of an upload: memories of other programs, or conversations.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;

use super::entry;
use super::error::PageError;
use super::locked::locked;
use super::uploads::{Outcome, Upload};
use crate::engine::{Engine, Imported, Mined, Mining, ops};
use crate::import::{Defaults, Program};
use crate::talks::{self, Format, Found};

/// Exports of conversations, which are read as talks.
const TALKS: [(&str, Format); 4] = [
    ("claude", Format::Claude),
    ("chatgpt", Format::Chatgpt),
    ("slack", Format::Slack),
    ("plain", Format::Plain),
];

/// Returns the formats that are read, each with its name and whether it holds conversations.
pub(in crate::page) fn formats() -> Vec<(&'static str, bool)> {
    let mut names: Vec<&str> = Program::OF_A_FOLDER.iter().map(|(name, _)| *name).collect();
    let of_one_file = Program::OF_ONE_FILE.iter().map(|(name, _)| *name);
    for name in of_one_file {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let memories = names.into_iter().map(|name| (name, false));
    let talks = TALKS.iter().map(|(name, _)| (*name, true));
    memories.chain(talks).collect()
}

/// An import of an upload, or a rehearsal of it.
pub(in crate::page) struct ImportRun<'a> {
    pub(in crate::page) engine: &'a Engine,
    /// User of the memories.
    pub(in crate::page) user: &'a str,
    pub(in crate::page) upload: &'a Upload,
    /// Counts, as they grow.
    pub(in crate::page) outcome: &'a Mutex<Outcome>,
    /// True for a rehearsal, which stores nothing.
    pub(in crate::page) is_dry_run: bool,
}

impl ImportRun<'_> {
    /// Reads the upload to its end.
    pub(in crate::page) fn run(&self) -> Result<(), PageError> {
        let upload = self.upload;
        if let Some(program) = called(&Program::OF_A_FOLDER, &upload.format) {
            return self.memories(program, &upload.path);
        }
        if let Some(program) = called(&Program::OF_ONE_FILE, &upload.format) {
            return self.each_file(program);
        }
        match called(&TALKS, &upload.format) {
            Some(format) => self.talks(format),
            None => {
                let format = entry::cut(&upload.format, 40);
                Err(PageError::Bad(format!("there is no format `{format}`")))
            }
        }
    }

    /// Reads the files of a program whose memories come as one file; one of several that cannot be read is a
    /// failure among the others.
    fn each_file(&self, program: Program) -> Result<(), PageError> {
        for file in &self.upload.files {
            match self.memories(program, file) {
                Err(PageError::Bad(what)) if self.upload.files.len() > 1 => {
                    locked(self.outcome).fail(what);
                }
                read => read?,
            }
        }
        Ok(())
    }

    /// Reads the memories that a program left at a path.
    fn memories(&self, program: Program, path: &Path) -> Result<(), PageError> {
        let defaults = Defaults {
            agent: "import".to_owned(),
            user: self.user.to_owned(),
            namespace: None,
        };
        let items = program.read(path, &defaults);
        let items = items.map_err(|error| PageError::Bad(self.shown(&error.to_string())))?;
        let options = crate::engine::Import {
            dry_run: self.is_dry_run,
            ..crate::engine::Import::default()
        };
        ops::import(self.engine, items, options, &mut |imported| {
            let mut outcome = locked(self.outcome);
            match imported {
                Imported::Added { .. } => outcome.added += 1,
                Imported::Known { .. } => outcome.known += 1,
                Imported::LeftOut { .. } => outcome.left_out += 1,
                Imported::Failed { source, reason, .. } => {
                    outcome.fail(self.shown(&format!("{source}: {reason}")));
                }
            }
        })?;
        Ok(())
    }

    /// Reads conversations.
    fn talks(&self, format: Format) -> Result<(), PageError> {
        let sources = talks::sources_at(&self.upload.path, Some(format));
        let sources = sources.map_err(|error| PageError::Bad(self.shown(&error.to_string())))?;
        let mut mining = Mining::begin(self.engine, self.user, self.is_dry_run)?;
        let mut failure = None;
        for source in &sources.found {
            let _ = talks::read(source, &mut |found| {
                let mut outcome = locked(self.outcome);
                match found {
                    Found::Session(session) => match mining.keep(&session) {
                        Ok(Mined::New { .. } | Mined::Continued { .. }) => outcome.added += 1,
                        Ok(Mined::Known { .. }) => outcome.known += 1,
                        Ok(Mined::Forgotten) => outcome.left_out += 1,
                        Err(error) => {
                            failure = Some(error);
                            return ControlFlow::Break(());
                        }
                    },
                    Found::Damaged { place, reason } => {
                        outcome.fail(self.shown(&format!("{place}: {reason}")));
                    }
                    Found::Bytes(_) => {}
                }
                ControlFlow::Continue(())
            });
        }
        match failure {
            Some(error) => Err(error.into()),
            None => Ok(mining.finish()?),
        }
    }

    /// Returns a message with the name of the file as it was sent, not with where it lies meanwhile.
    fn shown(&self, message: &str) -> String {
        message.replace(&self.upload.path.display().to_string(), &self.upload.name)
    }
}

fn called<T: Copy>(known: &[(&str, T)], name: &str) -> Option<T> {
    let found = known.iter().find(|(known, _)| *known == name);
    found.map(|(_, one)| *one)
}

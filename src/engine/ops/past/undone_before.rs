//! Changes that are undone already, as the commits tell.

use std::collections::{HashMap, HashSet};

use crate::engine::history::commits::commit_message;
use crate::engine::history::commits::commit_message::Undoes;
use crate::git::{CommitInfo, Id};

/// Undone commits and files, from the commits seen so far, newest first.
#[derive(Default)]
pub(in crate::engine) struct UndoneBefore {
    /// Undone commits, with the commits that undid them.
    pub by: HashMap<Id, Id>,
    /// Undone changes of single files.
    pub files: HashSet<(Id, String)>,
}

impl UndoneBefore {
    /// Records what `moment` undoes; returns whether it is a candidate for an undo without a commit id:
    /// no undo itself, not undone, and no merge.
    pub fn pass(&mut self, moment: &CommitInfo, file: Option<&str>) -> bool {
        let is_undone = self.by.contains_key(&moment.id);
        let undoes = commit_message::read(&moment.message).undoes;
        let is_undo = !undoes.is_empty();
        // An undo that is undone itself undoes nothing any more.
        if !is_undone {
            for Undoes { commit, file } in undoes {
                match file {
                    None => {
                        self.by.insert(commit, moment.id);
                    }
                    Some(file) => {
                        self.files.insert((commit, file));
                    }
                }
            }
        }
        let is_undone_here =
            file.is_some_and(|file| self.files.contains(&(moment.id, file.to_owned())));
        !is_undo && !is_undone && !is_undone_here && moment.parents.len() < 2
    }
}

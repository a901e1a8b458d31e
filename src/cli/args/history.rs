//! The words of commands about what was.

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub struct Log {
    /// A memory, also a forgotten one or one that is gone; on a terminal its versions open on the whole screen
    pub id: Option<String>,
    /// The most commits, or records, in lines [default: 50]
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
    /// Lines, also of one memory on a terminal
    #[arg(long)]
    pub plain: bool,
    /// What was done with which program, from the journal in place of git
    #[arg(long)]
    pub audit: bool,
}

impl Log {
    /// Returns whether it asks for the versions of one memory, and not for lines of them.
    pub fn is_of_one(&self) -> bool {
        self.id.is_some() && self.limit.is_none() && !self.audit && !self.plain
    }
}

#[derive(Debug, ClapArgs)]
pub struct Diff {
    /// A memory, also a forgotten one or one that is gone [default: picked on a terminal]
    pub id: Option<String>,
    /// What it is compared with [default: the newest text that is not the present one]
    #[arg(value_name = "REV")]
    pub revision: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Undo {
    /// A commit, a memory, or a plan
    #[arg(value_name = "COMMIT|ID|PLAN")]
    pub target: Option<String>,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Git {
    /// What git is given
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGS"
    )]
    pub arguments: Vec<std::ffi::OsString>,
}

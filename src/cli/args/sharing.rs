//! The words of the commands that bring memories to other places and back: `import`, `export`, `sync`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args as ClapArgs, Subcommand};

use super::shared::Filters;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Source {
    /// A store of the AI Agnostic Memory Layer: its base folder or `files/`
    Aiaml,
    /// One JSON object a line: id, timestamp, user, agent, topics, text or content, title, …
    Jsonl,
    /// A folder of markdown notes
    Markdown,
    /// An Obsidian vault
    Obsidian,
    /// The folder of a basic-memory project
    BasicMemory,
    /// The JSON of `loci export`
    Loci,
    /// The database of ai-memory, or the JSON of `ai-memory export`
    AiMemory,
    /// The memory.json of the i-am plugin
    IAm,
    /// The memory.jsonl of the reference server for MCP
    ServerMemory,
    /// The JSON that mem0 gives out
    Mem0,
}

#[derive(Debug, ClapArgs)]
pub struct Import {
    /// Whose memories they are
    #[arg(long, value_enum)]
    pub from: Source,
    /// A file or folder; `-` reads standard input (jsonl, loci, ai-memory, server-memory, mem0)
    pub path: PathBuf,
    /// Only say what would be imported
    #[arg(long)]
    pub dry_run: bool,
    /// Project of memories that name none
    #[arg(long)]
    pub namespace: Option<String>,
    /// Agent of memories that name none
    #[arg(long)]
    pub agent: Option<String>,
    /// User of memories that name none
    #[arg(long)]
    pub user: Option<String>,
}

/// What memories are exported to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// One JSON object a line.
    Jsonl,
    /// One markdown document.
    Markdown,
    /// A folder of notes.
    Folder(PathBuf),
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        const OTHERS: [&str; 8] = [
            "json", "md", "csv", "yaml", "html", "toml", "text", "obsidian",
        ];
        match text {
            "jsonl" => Ok(Target::Jsonl),
            "markdown" => Ok(Target::Markdown),
            // A format that was meant must not become a folder.
            other if OTHERS.contains(&other) => Err(format!(
                "`{other}` is none of jsonl, markdown; a folder of this name is `./{other}`"
            )),
            "" => Err("it is jsonl, markdown or a folder".to_owned()),
            other => Ok(Target::Folder(PathBuf::from(other))),
        }
    }
}

#[derive(Debug, ClapArgs)]
pub struct Export {
    /// jsonl (one JSON object a line), markdown (one document), or a folder for notes
    #[arg(long, value_name = "jsonl|markdown|FOLDER")]
    pub to: Target,
    #[command(flatten)]
    pub filters: Filters,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Direction {
    /// This one takes in what DIR has; DIR is only read
    Pull,
    /// DIR takes in what this one has
    Push,
    /// Both have the same memories afterwards
    #[default]
    Merge,
}

#[derive(Debug, Default, ClapArgs)]
pub struct Sync {
    /// Do it now, as without any option
    #[arg(long, conflicts_with = "setup")]
    pub now: bool,
    /// Show how this store is committed and stands to its remote; asks and changes nothing
    #[arg(long, conflicts_with_all = ["now", "setup", "accept_deletions", "accept_history", "adopt_remote"])]
    pub status: bool,
    /// Give the store a remote, or consent to commits in the repository it lies in; ADDRESS may
    /// be left away where the repository has a remote already
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "")]
    pub setup: Option<String>,
    /// Let a folder of this machine be the remote
    #[arg(long, requires = "setup")]
    pub allow_local: bool,
    /// Take over, or send, that more than a fifth of the memories, or all, were deleted
    #[arg(long)]
    pub accept_deletions: bool,
    /// Follow a remote whose history was rewritten: what was taken out of it is not sent again
    #[arg(long, conflicts_with_all = ["setup", "accept_history"])]
    pub adopt_remote: bool,
    /// Sync with another store on this machine, or on a stick: its folder; or with a workspace of a
    /// team's server: https://HOST/w/NAME, with its token in MEMDIR_TOKEN. No git is needed
    #[arg(long, value_name = "DIR|URL")]
    #[arg(conflicts_with_all = ["now", "status", "setup", "adopt_remote", "accept_history"])]
    pub with: Option<PathBuf>,
    /// Which store takes in what the other one has
    #[arg(long, value_enum, default_value_t = Direction::Merge, requires = "with")]
    pub direction: Direction,
    /// Only say what would be done
    #[arg(long, requires = "with")]
    pub dry_run: bool,
    /// Join the workspace of --with: a server exchanges with it in the background from now on, and so does
    /// `sync` alone
    #[arg(long, requires = "with", conflicts_with = "dry_run")]
    pub join: bool,
    /// Leave the workspace that this store is joined to; the memories stay on both sides
    #[arg(long)]
    #[arg(conflicts_with_all = ["now", "status", "setup", "accept_deletions", "adopt_remote", "accept_history", "with"])]
    pub leave: bool,
    /// Keep the token of MEMDIR_TOKEN for this workspace, in a file that only you can read
    #[arg(long, requires = "with")]
    pub keep_token: bool,
    /// Put the histories together although the remote's is another one than before, or with --setup
    /// although it holds other things than memories
    #[arg(long)]
    pub accept_history: bool,
}

/// Format of conversations that `mine` reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum TalkFormat {
    /// Transcripts of Claude Code
    ClaudeCode,
    /// Transcripts of Codex
    Codex,
    /// Sessions of Gemini CLI
    Gemini,
    /// The folder of opencode, or its database
    Opencode,
    /// The store of Cursor
    Cursor,
    /// Notes that Claude Code keeps of a project for itself
    ClaudeMemory,
    /// The export of Claude: conversations.json, projects.json, or the zip
    Claude,
    /// The export of ChatGPT: conversations.json, also split, or the zip
    Chatgpt,
    /// The export of Slack: the zip, or its folder
    Slack,
    /// Text with `User:` and `Assistant:` before the messages
    Plain,
}

#[derive(Debug, ClapArgs)]
pub struct Mine {
    /// Transcripts, exports, or folders with them [default: what programs keep on this machine]
    pub paths: Vec<PathBuf>,
    /// Format of the files [default: as each file says]
    #[arg(long, value_enum)]
    pub format: Option<TalkFormat>,
    /// Only say what would be kept
    #[arg(long)]
    pub dry_run: bool,
    /// Only sessions that went on after this moment: a date, yesterday, 2w
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Only sessions of these projects
    #[arg(long, value_name = "A,B")]
    pub project: Option<String>,
    /// Only sessions of at least so many messages
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true)]
    pub min_messages: usize,
    /// Keep the sessions that are new in this namespace [default: the project of each]
    #[arg(long, short)]
    pub namespace: Option<String>,
    /// No sessions whose file or folder holds this text; may be given several times
    #[arg(long, value_name = "TEXT")]
    pub exclude: Vec<String>,
    /// Propose memories of what the sessions say, for `memdir review`; also of those that are kept already
    #[arg(long)]
    pub proposals: bool,
    /// Propose by the rules alone, whatever `llm.proposals` says
    #[arg(long, requires = "proposals")]
    pub rules: bool,
    /// Do not ask before what is on this machine is read, or sent to a language model of yours
    #[arg(long, short)]
    pub yes: bool,
}

pub const MINE_EXAMPLES: &str = "Examples:
  memdir mine --dry-run                         what is on this machine?
  memdir mine                                   shows it, asks, and keeps it
  memdir mine ~/.claude/projects --since 3mo --project atlas
  memdir mine --format claude conversations.json
  memdir mine --format chatgpt export.zip
  memdir mine --format slack export/ --exclude random
  memdir mine --proposals                       proposes decisions, preferences, facts and open ends as memories

One session is one memory in files/talks/: who said what, and when. Credentials, <private>…</private>,
thinking and results of tools are left out. A second run changes nothing; sessions that went on are
appended to. `think` finds talks; lists leave them out unless --talks is given, and no agent is shown
one unasked. They are not committed or sent: docs/MINING.md.

Proposals are made by rules, of what people said. With `llm.proposals` the language model of [llm] makes
them, in one call a session; what that sends, and to whom, is shown and asked about before. None is a memory
before you accept it: `memdir review`.

Exit code: 0 kept or known, 1 there is nothing to read, or records were damaged, 2 error";

pub const TEAM_EXAMPLES: &str = "Examples:
  memdir team init atlas --owner anna           tables, a workspace, and the token of who owns it
  memdir team migrate                           bring the tables up to date for a newer memdir
  memdir team import atlas ~/memories           copy a store into the workspace, with its history
  memdir team export atlas ~/copy               copy the workspace into a new folder
  memdir serve --database postgres://memdir@db.example/memdir

The address of the database is MEMDIR_DATABASE, or --database, which every user of the machine can read in the list of
processes. The program has this command if it was built with the feature `team`; docs/TEAM.md says what is kept.";

#[derive(Debug, ClapArgs)]
pub struct Team {
    /// Address of the database, such as postgres://memdir@db.example/memdir [default: MEMDIR_DATABASE]
    #[arg(long, global = true, value_name = "URL")]
    pub database: Option<String>,
    #[command(subcommand)]
    pub what: TeamCommand,
}

pub const ERASE_EXAMPLES: &str = "\
Examples:
  memdir team erase atlas --person anna                        what would go?
  memdir team erase atlas --person anna --user Anna --yes
  memdir team erase atlas --person 7f3c@https://id.example --yes --backups 30d

Memories are the person's that they wrote first, by the audit, or that name them by --user or --agent. Of memories of
others the former texts go that they wrote. It ends with what it cannot reach: docs/TEAM.md#erasure-of-a-person.

Exit code: 0 erased, or there is something to erase; 1 there is nothing; 2 error; a repeated command goes on";

#[derive(Debug, ClapArgs)]
pub struct Erase {
    /// Name of the workspace
    pub workspace: String,
    /// Identity in the audit: the name of a token, or SUB@ISSUER of an issuer's; several times for several
    #[arg(long, value_name = "IDENTITY", required_unless_present_any = ["user", "agent"])]
    pub person: Vec<String>,
    /// Memories that name this user are the person's, too; several times for several
    #[arg(long, value_name = "NAME")]
    pub user: Vec<String>,
    /// Memories that name this agent are the person's, too; several times for several
    #[arg(long, value_name = "NAME")]
    pub agent: Vec<String>,
    /// Also purge memories that others wrote first, and the person changed
    #[arg(long)]
    pub edited: bool,
    /// Time for which backups and archives of the database's log are kept, to say from when none holds the data
    #[arg(long, value_name = "TIME")]
    pub backups: Option<String>,
    /// Erase it; nothing brings it back
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Subcommand)]
pub enum TeamCommand {
    /// Set the database up: tables, a workspace, the token of its owner; what is there stays as it is
    #[command(after_help = "\
Examples:
  memdir team init atlas --owner anna
  memdir team init atlas --owner anna > token.txt     nothing but the secret goes there")]
    Init {
        /// Name of the workspace: small letters, digits and hyphens
        workspace: Option<String>,
        /// Name of a token to make that owns the workspace; its secret is printed once
        #[arg(long, value_name = "TOKEN", requires = "workspace")]
        owner: Option<String>,
        /// Time until that token expires, such as 90d [default: never]
        #[arg(long, value_name = "TIME", requires = "owner")]
        expires: Option<String>,
    },
    /// Bring the tables of the database up to date
    Migrate,
    /// List the workspaces
    List,
    /// Make a workspace
    Create {
        /// Its name: small letters, digits and hyphens
        name: String,
    },
    /// Remove a workspace with all its memories, versions and journals
    Drop {
        /// Its name
        name: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Copy a store into a workspace, with the earlier texts that its git history has; nothing there is overwritten
    Import {
        /// Name of the workspace
        name: String,
        /// Folder of the store
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Copy a workspace into a folder that does not exist, or is empty
    #[command(after_help = "\
Examples:
  memdir team export atlas ~/copy
  memdir team export atlas ~/copy --history        also what stood there before, as commits of a git repository")]
    Export {
        /// Name of the workspace
        name: String,
        /// The folder
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Write the earlier changes of memories, too, as commits of a git repository in the folder
        #[arg(long)]
        history: bool,
    },
    /// Make a token that opens a workspace, and print its secret, which is shown once
    #[command(after_help = "\
Examples:
  memdir team grant atlas anna --role owner
  memdir team grant atlas ci --role writer --expires 90d
  memdir team grant atlas ci --rotate --overlap 7d")]
    Grant {
        /// Name of the workspace
        workspace: String,
        /// Name of the token: of a person, or of what uses it
        name: String,
        /// Rights: a reader reads, a writer also writes, an owner also sees who has access
        #[arg(long, value_parser = ["reader", "writer", "owner"], required_unless_present = "rotate")]
        role: Option<String>,
        /// Time until it expires, such as 90d [default: never; of --rotate, as long as the former secret was valid]
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
        /// Give the token another secret; its role stays
        #[arg(long, conflicts_with = "role")]
        rotate: bool,
        /// Time for which the former secret stays valid
        #[arg(long, value_name = "TIME", default_value = "1d", requires = "rotate")]
        overlap: String,
    },
    /// End the tokens of a name: they open nothing within seconds
    Revoke {
        /// Name of the workspace
        workspace: String,
        /// Name of the token
        name: String,
    },
    /// List the tokens of a workspace: names, roles, ends, last uses
    Tokens {
        /// Name of the workspace
        workspace: String,
    },
    /// Give a group of the issuer of tokens (`memdir serve --issuer`) a role in a workspace, in place of its former one
    #[command(after_help = "\
Examples:
  memdir team map atlas engineering --role writer
  memdir team map atlas /staff/leads --role owner")]
    Map {
        /// Name of the workspace
        workspace: String,
        /// Name of the group, as the issuer writes it in its tokens
        group: String,
        /// Rights, as of `grant`; of several groups of a person the highest counts
        #[arg(long, value_parser = ["reader", "writer", "owner"])]
        role: String,
    },
    /// Take the role of a group away: it opens nothing within seconds
    Unmap {
        /// Name of the workspace
        workspace: String,
        /// Name of the group
        group: String,
    },
    /// List the groups of the issuer that have a role in a workspace
    Groups {
        /// Name of the workspace
        workspace: String,
    },
    /// Print the audit of a workspace: who called what, when, with which outcome
    #[command(after_help = "\
Examples:
  memdir team audit atlas --since 2d
  memdir team audit atlas --json > audit.jsonl
  memdir team audit atlas --keep 90d")]
    Audit {
        /// Name of the workspace
        workspace: String,
        /// Earliest time: a date, or an amount such as 12h or 3d
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// Keep lines for this time from now on, in whole days [default of a workspace: 400d]
        #[arg(long, value_name = "TIME", conflicts_with = "since")]
        keep: Option<String>,
    },
    /// Erase a person from a workspace: what they wrote, with all former texts, and their name in tokens and audit.
    /// Shows what would go, unless --yes is given
    #[command(after_help = ERASE_EXAMPLES)]
    Erase(Erase),
    /// Show or set the quotas of a workspace
    #[command(after_help = "\
Examples:
  memdir team quota atlas
  memdir team quota atlas --memories 100000 --bytes 500000000 --requests 6000
  memdir team quota atlas --bytes none")]
    Quota {
        /// Name of the workspace
        workspace: String,
        /// Maximum number of memories, live and archived; `none` takes the limit back
        #[arg(long, value_name = "N")]
        memories: Option<String>,
        /// Maximum number of bytes of all files
        #[arg(long, value_name = "N")]
        bytes: Option<String>,
        /// Maximum number of calls a minute at each server
        #[arg(long, value_name = "N")]
        requests: Option<String>,
    },
    /// Check the hashes of all memories of a workspace, its feed of changes, and its index
    Check {
        /// Its name
        name: String,
    },
}

//! The command line of ai-memory: its 26 commands with their flags and defaults.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};

use crate::cli::args::sharing::Direction;

/// Memories that `recall` gives by default.
const RECALLED: u64 = 10;
/// Memories that `search` and `list` give by default.
const LISTED: u64 = 20;
/// The features that are on by default.
const FEATURES: &str = "semantic";

/// The command line of ai-memory, on a store of memdir
#[derive(Debug, Parser)]
#[command(name = "ai-memory", version, max_term_width = 100)]
#[command(after_help = "Examples:
  ai-memory store -T 'How we deploy' -c 'On Tuesdays, after the backup.' --tags deploy,atlas
  ai-memory recall 'what to do before a deploy' --limit 5
  ai-memory search 'deploy backup' --tier long
  ai-memory --json list --tags deploy
  ai-memory export > backup.json

Exit code: 0 done, also where nothing is found; 1 failed, or there is no such memory; 2 wrong usage")]
pub struct AiMemory {
    /// The store's folder. A database of ai-memory is not opened: `memdir import --from ai-memory FILE`
    /// brings its memories in [default: as of every command of memdir]
    #[arg(long, global = true, value_name = "DIR")]
    pub db: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    pub command: AiMemoryCommand,
}

#[derive(Debug, Subcommand)]
pub enum AiMemoryCommand {
    /// Serve MCP and the REST interface over HTTP
    Serve(Serve),
    /// Serve agents over standard input and output
    Mcp(Mcp),
    /// Store a memory; title and namespace name it
    Store(Box<Store>),
    /// Change fields of a memory
    Update(Box<Update>),
    /// Find memories for a context: any of its words may match; counts as a use
    Recall(Recall),
    /// Find memories that hold every word
    Search(Search),
    /// Show a memory and its links
    Get(Named),
    /// List memories, the newest first
    List(List),
    /// Move a memory to the archive
    Delete(Named),
    /// Let a memory live without end: tier long, no expiry
    Promote(Named),
    /// Move all memories to the archive that a namespace, words and a tier describe
    Forget(Forget),
    /// Link a memory to another
    Link(Link),
    /// Make one memory of several, which go to the archive
    Consolidate(Consolidate),
    /// Let one memory supersede another that contradicts it
    Resolve(Resolve),
    /// Read commands line by line
    Shell,
    /// Bring this store and another one into step
    Sync(Sync),
    /// Make one memory of those of a namespace that share their first tag
    AutoConsolidate(AutoConsolidate),
    /// Archive the memories whose life has ended
    Gc,
    /// The store in numbers
    Stats,
    /// The namespaces with their numbers of memories
    Namespaces,
    /// Print all memories and links as JSON
    Export,
    /// Bring in the JSON of `export` from standard input; known memories stay as they are
    Import,
    /// Print a completion script
    Completions(Completions),
    /// Print the manual page
    Man,
    /// Keep conversations as memories: exports of Claude, ChatGPT and Slack
    Mine(Mine),
    /// The archive: list, restore, purge, stats
    #[command(subcommand)]
    Archive(Archive),
}

#[derive(Debug, ClapArgs)]
pub struct Serve {
    /// Host to listen at: a number, or localhost
    #[arg(long, default_value = "127.0.0.1")]
    pub host: String,
    /// The port
    #[arg(long, default_value_t = 9077)]
    pub port: u16,
    /// Further options of `memdir serve`, such as --no-token
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "OPTIONS"
    )]
    pub more: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Mcp {
    /// keyword, semantic, smart or autonomous
    #[arg(long, default_value = FEATURES)]
    pub tier: String,
}

#[derive(Debug, ClapArgs)]
pub struct Store {
    /// One line that names it, at most 512 bytes
    #[arg(long, short = 'T', allow_hyphen_values = true)]
    pub title: String,
    /// Text of the memory; `-` reads standard input
    #[arg(long, short, allow_hyphen_values = true)]
    pub content: String,
    /// short (6 hours), mid (7 days) or long
    #[arg(long, short, default_value = "mid")]
    pub tier: String,
    /// Its project [default: the git project of the working folder, else the folder's name]
    #[arg(long, short)]
    pub namespace: Option<String>,
    /// With commas between
    #[arg(long, value_name = "A,B")]
    pub tags: Option<String>,
    /// 1 to 10
    #[arg(long, short, default_value_t = 5, allow_negative_numbers = true)]
    pub priority: i64,
    /// 0 to 1
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    pub confidence: f64,
    /// user, claude, hook, api, cli, import, consolidation or system
    #[arg(long, short = 'S', default_value = "cli")]
    pub source: String,
    /// End of its life (RFC3339), in place of the tier's time
    #[arg(long, value_name = "WHEN")]
    pub expires_at: Option<String>,
    /// Seconds after which it ends, in place of the tier's time
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub ttl_secs: Option<i64>,
}

#[derive(Debug, ClapArgs)]
pub struct Update {
    /// The memory
    pub id: String,
    /// One line that names it
    #[arg(long, short = 'T', allow_hyphen_values = true)]
    pub title: Option<String>,
    /// Text of the memory; `-` reads standard input
    #[arg(long, short, allow_hyphen_values = true)]
    pub content: Option<String>,
    /// short, mid or long
    #[arg(long, short)]
    pub tier: Option<String>,
    /// Its project
    #[arg(long, short)]
    pub namespace: Option<String>,
    /// All of its tags, with commas between
    #[arg(long, value_name = "A,B")]
    pub tags: Option<String>,
    /// 1 to 10
    #[arg(long, short, allow_negative_numbers = true)]
    pub priority: Option<i64>,
    /// 0 to 1
    #[arg(long, allow_negative_numbers = true)]
    pub confidence: Option<f64>,
    /// End of its life (RFC3339)
    #[arg(long, value_name = "WHEN")]
    pub expires_at: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Recall {
    /// Text about your task or question
    #[arg(allow_hyphen_values = true)]
    pub context: String,
    /// Only of this project and what lies in it; its standards come first
    #[arg(long, short)]
    pub namespace: Option<String>,
    /// The most
    #[arg(long, default_value_t = RECALLED)]
    pub limit: u64,
    /// Only with all of these
    #[arg(long, value_name = "A,B")]
    pub tags: Option<String>,
    /// Only made from this time on: RFC3339, a date, yesterday, 3d
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Only made before this time
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,
    /// Features: keyword (words alone), semantic, smart or autonomous
    #[arg(long, short = 'T', default_value = FEATURES)]
    pub tier: String,
}

#[derive(Debug, ClapArgs)]
pub struct Search {
    /// Words that must all be there, in title, tags or content
    #[arg(allow_hyphen_values = true)]
    pub query: String,
    /// Only of this project and what lies in it
    #[arg(long, short)]
    pub namespace: Option<String>,
    /// Only of this tier
    #[arg(long, short)]
    pub tier: Option<String>,
    /// The most
    #[arg(long, default_value_t = LISTED)]
    pub limit: u64,
    /// Only made from this time on
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Only made before this time
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,
    /// Only with all of these
    #[arg(long, value_name = "A,B")]
    pub tags: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Named {
    /// The memory
    pub id: String,
}

#[derive(Debug, ClapArgs)]
pub struct List {
    /// Only of this project and what lies in it
    #[arg(long, short)]
    pub namespace: Option<String>,
    /// Only of this tier
    #[arg(long, short)]
    pub tier: Option<String>,
    /// The most
    #[arg(long, default_value_t = LISTED)]
    pub limit: u64,
    /// Number of the newest memories to leave out
    #[arg(long, default_value_t = 0)]
    pub offset: u64,
    /// Only made from this time on
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Only made before this time
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,
    /// Only with all of these
    #[arg(long, value_name = "A,B")]
    pub tags: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Forget {
    /// Those of this project and what lies in it
    #[arg(long, short)]
    pub namespace: Option<String>,
    /// Those that hold every one of these words
    #[arg(long, short)]
    pub pattern: Option<String>,
    /// Those of this tier
    #[arg(long, short)]
    pub tier: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Link {
    /// The memory that holds the link
    pub source_id: String,
    /// The memory that it points to
    pub target_id: String,
    /// related_to, supersedes, contradicts or derived_from
    #[arg(long, short, default_value = "related_to")]
    pub relation: String,
}

#[derive(Debug, ClapArgs)]
pub struct Consolidate {
    /// The memories, with commas between
    #[arg(value_name = "ID,ID")]
    pub ids: String,
    /// Title of the new memory
    #[arg(long, short = 'T', allow_hyphen_values = true)]
    pub title: String,
    /// Text of the new memory
    #[arg(long, short, allow_hyphen_values = true)]
    pub summary: String,
    /// Its project [default: theirs, if it is one; else global]
    #[arg(long, short)]
    pub namespace: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Resolve {
    /// The memory that holds
    pub winner_id: String,
    /// The memory that it supersedes: its priority becomes 1, its confidence 0.1
    pub loser_id: String,
}

#[derive(Debug, ClapArgs)]
pub struct Sync {
    /// Another store's folder; of a database of ai-memory, which is only read, pull brings its
    /// memories in
    #[arg(value_name = "DB")]
    pub remote: PathBuf,
    /// Store that takes in the memories of the other
    #[arg(long, short, value_enum, default_value_t = Direction::Merge)]
    pub direction: Direction,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub struct AutoConsolidate {
    /// Only of this project and what lies in it
    #[arg(long, short)]
    pub namespace: Option<String>,
    /// Only memories of the tier `short`
    #[arg(long)]
    pub short_only: bool,
    /// Smaller groups stay as they are
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(2..))]
    pub min_count: u64,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Completions {
    /// Whose script
    pub shell: clap_complete::Shell,
}

#[derive(Debug, ClapArgs)]
pub struct Mine {
    /// The export's file or folder
    pub path: String,
    /// claude, chatgpt or slack
    #[arg(long, short)]
    pub format: String,
    /// Keep them in this project [default: the project of each]
    #[arg(long, short)]
    pub namespace: Option<String>,
    /// short, mid or long; read and not followed: conversations live as long as `[talks] keep` says
    #[arg(long, short, value_parser = ["short", "mid", "long"])]
    pub tier: Option<String>,
    /// Only conversations of at least so many messages
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub min_messages: usize,
    /// Only say what would be kept
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Subcommand)]
pub enum Archive {
    /// List what is archived, the last first
    List(ArchiveList),
    /// Bring one memory back
    Restore(Named),
    /// Remove archived memories for good
    Purge(ArchivePurge),
    /// The archive in numbers
    Stats,
}

#[derive(Debug, ClapArgs)]
pub struct ArchiveList {
    /// Only of this project
    #[arg(long, short)]
    pub namespace: Option<String>,
    /// The most
    #[arg(long, default_value_t = 50)]
    pub limit: u64,
    /// Number of the last archived memories to leave out
    #[arg(long, default_value_t = 0)]
    pub offset: u64,
}

#[derive(Debug, ClapArgs)]
pub struct ArchivePurge {
    /// Only those that were archived so long ago [default: all]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub older_than_days: Option<i64>,
}

impl Recall {
    /// The command without options.
    pub fn of(context: &str) -> Recall {
        Recall {
            context: context.to_owned(),
            namespace: None,
            limit: RECALLED,
            tags: None,
            since: None,
            until: None,
            tier: FEATURES.to_owned(),
        }
    }
}

impl Search {
    /// The command without options.
    pub fn of(query: &str) -> Search {
        Search {
            query: query.to_owned(),
            namespace: None,
            tier: None,
            limit: LISTED,
            since: None,
            until: None,
            tags: None,
        }
    }
}

impl List {
    /// The command without other options.
    pub fn of(namespace: Option<&str>) -> List {
        List {
            namespace: namespace.map(str::to_owned),
            tier: None,
            limit: LISTED,
            offset: 0,
            since: None,
            until: None,
            tags: None,
        }
    }
}

//! The commands, and the options of every one of them.

use super::programs::ai_memory::AiMemoryCommand;
use super::{
    archive, change, config, eval, history, life, maintenance, mcp, model, remember, search, serve,
    sessions, setup, shared, sharing,
};
use crate::cli::terminal::output::Color;
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// The memory of AI agents as a folder of markdown files.
#[derive(Debug, Default, Parser)]
#[command(name = "memdir", version, max_term_width = 100)]
#[command(after_help = "Examples:
  memdir init ~/memories                        make a store
  memdir remember --topics rust,style 'Prefers small commits.'
  memdir think how do we deploy atlas           find memories
  memdir recall 1f3a9c02                        read one
  memdir mcp                                    serve agents over standard input and output")]
pub struct Args {
    /// The store's folder [default: MEMDIR_STORE, AIAML_MEMORY_DIR, the nearest store above the
    /// working folder, else the user's data folder]
    #[arg(long, global = true, value_name = "DIR", help_heading = EVERYWHERE)]
    pub store: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub json: bool,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN", help_heading = EVERYWHERE)]
    pub color: Color,
    /// Send control characters of memories to the terminal as they are
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub raw: bool,
    /// Refuse every change of memories and of the store's settings
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub read_only: bool,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Stands above the options that every command has.
const EVERYWHERE: &str = "Options of every command";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a store, or open a folder of notes in place
    #[command(after_help = INIT_EXAMPLES)]
    Init(setup::Init),
    /// Set up the clients on this machine: server, hooks and instructions
    #[command(after_help = super::setup::SETUP_EXAMPLES)]
    Setup(setup::Setup),
    /// Store a memory; prints its id
    #[command(
        visible_aliases = ["store", "add"],
        after_help = "Examples:
  memdir remember --topics atlas,deploy 'Deploys go out on Tuesdays, after the backup.'
  git log -1 --format=%B | memdir remember - --topics release --title 'Release 2.1'
  memdir remember --topics plan --expires 30d --importance 8 'Freeze until the audit is over.'
  memdir remember --duplicates title --title 'How we deploy' 'With a tag.'
  memdir remember --duplicates suggest 'Deploys go out on Tuesdays.'      may one be meant?

Exit code: 0 stored or known, 1 nothing was stored because others may be meant, 2 error"
    )]
    Remember(Box<remember::Remember>),
    /// Find memories by a question, or by keywords
    #[command(
        visible_aliases = ["search", "find"],
        after_help = "Words may also be conditions (those with a dash in quotes, as below):
  \"a phrase\"  -excluded  topic:rust  -topic:old  user:\"Lena Maier\"  agent:claude  since:2w  until:2026-05-01

Examples:
  memdir think when did we move to postgres
  memdir think --keywords deploy atlas
  memdir think 'backup topic:atlas since:3mo -staging'

Exit code: 0 found, 1 nothing found, 2 error"
    )]
    Think(search::Think),
    /// Choose a memory on the whole screen: search as you type, read, open, link, forget; prints its id
    #[command(after_help = PICK_EXAMPLES)]
    Pick(search::Pick),
    /// Read memories by id, by a unique beginning of one, or by file name
    #[command(visible_aliases = ["get", "show"])]
    Recall(search::Recall),
    /// List memories, newest first
    #[command(visible_alias = "ls")]
    List(search::List),
    /// Find lines by regular expression, as FILE:LINE:TEXT
    #[command(after_help = "Examples:
  memdir grep 'TODO|FIXME'
  memdir grep -i 'postgresql \\d+' --namespace atlas

Exit code: 0 found, 1 nothing found, 2 error")]
    Grep(search::Grep),
    /// Print what a session begins with: standards, the last session, decisions, open ends
    #[command(after_help = sessions::BRIEF_EXAMPLES)]
    Brief(sessions::Brief),
    /// Show texts that others wrote, and accept them for the brief
    #[command(after_help = sessions::REVIEW_EXAMPLES)]
    Review(sessions::Review),
    /// Show agents nothing unasked for a while
    #[command(after_help = sessions::PAUSE_EXAMPLES)]
    Pause(sessions::Pause),
    /// Answer a hook of a client, at the beginning of a session and with each prompt
    #[command(after_help = sessions::HOOK_EXAMPLES)]
    Hook(sessions::Hook),
    /// Change fields or the content of a memory; every other byte of the file stays
    #[command(after_help = "Examples:
  memdir update 1f3a --topics rust,review --importance 9
  memdir update 1f3a --topics +deploy,-draft    add one, take one out
  memdir update 1f3a --title ''                 remove the title
  memdir update 1f3a --content - < new.md")]
    Update(Box<change::Update>),
    /// Edit a memory's file in $VISUAL or $EDITOR; it is checked before it is saved
    Edit(change::Edit),
    /// Move memories to the archive; `restore` brings them back
    #[command(
        visible_aliases = ["delete", "rm"],
        after_help = "Examples:
  memdir forget 1f3a9c02
  memdir forget 1f3a9c02 4be01c9a --reason 'The contract ended.'
  memdir forget --namespace atlas --tier short          which ones?
  memdir forget --namespace atlas --tier short --yes    these
  memdir forget --since 1h                              what was written in the last hour?"
    )]
    Forget(life::Forget),
    /// Bring forgotten memories back, or with ID@REV the text that a memory had
    #[command(after_help = "Examples:
  memdir restore 1f3a9c02                       out of the archive
  memdir restore 1f3a9c02@2w                    as it was two weeks ago
  memdir restore 1f3a9c02@4be01c9a77            as it was as of a commit

REV is the beginning of a commit's id, HEAD~3, a date, or an amount of time. The present text stays
in the history.")]
    Restore(shared::Ids),
    /// Everything known of a memory: fields, what it is as of now, uses, relations, changes
    Inspect(life::Inspect),
    /// Say how a memory stands to another
    #[command(after_help = "Examples:
  memdir link 1f3a9c02 4be01c9a                        related-to
  memdir link 1f3a9c02 4be01c9a --type depends-on
  memdir link 1f3a9c02 4be01c9a --type supersedes      it replaces the other

The link stands in the first memory's file; the second is found by it all the same.")]
    Link(life::LinkTo),
    /// Remove links from a memory to another
    Unlink(life::Unlink),
    /// Show what a memory points to and what points to it, or links that point to nothing
    Links(life::Links),
    /// List the forgotten memories, newest first, with when and why they went
    Archived(life::Counted),
    /// Forgotten memories: list them, bring them back, or take them away for good
    #[command(
        subcommand,
        after_help = "Examples:
  memdir archive list
  memdir archive restore 1f3a9c02
  memdir archive purge --older-than 90d         asks before it does it
  memdir archive stats                          how many, how large, since when"
    )]
    Archive(archive::Archive),
    /// Let memories live without end: tier long, and no `expires`
    Promote(shared::Ids),
    /// Archive the memories whose life has ended; a server does it every half hour
    #[command(after_help = "Examples:
  memdir gc --dry-run                           which ones?
  memdir gc
  memdir restore 1f3a9c02                       brings one back

A memory's life ends at its `expires`, or with its tier: `short` after 6 hours, `mid` after 7 days,
each later if it was used; see [life] in the settings. Replaced texts that lie in the archive for
longer than `keep` in [archive] (90d) and that the history holds leave it.")]
    Gc(life::Gc),
    /// Let summaries stand for old episodic memories, week by week, and knowledge for what was
    /// observed again and again
    #[command(after_help = "Examples:
  memdir compact --dry-run                      what would become of what?
  memdir compact --older-than 90d --namespace atlas
  memdir undo plan-1f3a9c02                     takes it back, byte for byte

A summary holds the sentences with numbers, dates and names of at least five memories of one week,
and is linked to them; they go to the archive. See [maintenance] in the settings.")]
    Compact(maintenance::Compact),
    /// Make one memory of several; they go to the archive
    #[command(after_help = "Examples:
  memdir consolidate 1f3a9c02 4be01c9a --title 'How atlas is deployed'
  memdir consolidate 1f3a9c02 4be01c9a --content - < new.md")]
    Consolidate(maintenance::Consolidate),
    /// Make one memory of those of a namespace that share their first topic
    #[command(after_help = "Examples:
  memdir auto-consolidate --dry-run
  memdir auto-consolidate --namespace atlas --short-only --min-count 4")]
    AutoConsolidate(maintenance::AutoConsolidate),
    /// Archive what is hardly believed any more, or was superseded, and was not used for long
    #[command(after_help = "Examples:
  memdir cleanup --dry-run                      which ones, and why?
  memdir cleanup

A memory is hardly believed below a confidence of 0.05 as of now, which falls only if `decay` is on.")]
    Cleanup(maintenance::Cleanup),
    /// Look back: what was never used, what is better in the archive, what is more or less sure
    #[command(after_help = "Examples:
  memdir reflect                                only shows it
  memdir reflect --namespace atlas --apply      does what is proposed")]
    Reflect(maintenance::Reflect),
    /// Show the confidence of memories as of now, where it is another than they state
    #[command(after_help = "Examples:
  memdir decay                                  only shows it
  memdir decay --apply                          states it in the files, for other programs

Nobody has to: confidence is computed when it is asked for, by the time that has gone by.")]
    Decay(maintenance::Decay),
    /// Say that one memory replaces another, which is then found only on request
    #[command(after_help = "Example:
  memdir supersede 1f3a9c02 4be01c9a            the second one holds now")]
    Supersede(maintenance::Supersede),
    /// List what maintenance has done on this machine; `undo` takes it back
    Plans,
    /// Count the memories, by kind, scope and tier
    Stats(life::Stats),
    /// List the topics with their numbers of memories
    Topics(life::Counted),
    /// List the namespaces with their numbers of memories
    Namespaces(life::Counted),
    /// Show the standards of namespaces: memories that hold for everything in one
    #[command(after_help = "Examples:
  memdir standards                              all of them
  memdir standards atlas/web                    what holds there: of global, atlas and atlas/web
  memdir standards atlas --set 1f3a9c02
  memdir standards atlas --clear")]
    Standards(maintenance::Standards),
    /// Show memories that contradict each other or share a title after a sync, or decide between two
    #[command(after_help = "Examples:
  memdir resolve                                the pairs; on a terminal one key decides about each
  memdir resolve 1f3a9c02 4be01c9a              the first holds: it supersedes the second
  memdir resolve 1f3a9c02 --keep 4be01c9a       keep one, forget the other
  memdir resolve 1f3a9c02 --keep 1f3a9c02       the same, by the one that stays
  memdir resolve 1f3a9c02 --both                keep both; they are no pair any more
  memdir resolve 7c0e11ad                       merge the sides of a text with git's conflict markers

Memories of one user with one title in one namespace are listed, too: tool sets in which a title
names a memory show the one that was changed last. Keep one, or give one of them another title.

Nothing is lost: `restore` brings the forgotten one back, `undo` both as they were.")]
    Resolve(change::Resolve),
    /// Take memories away for good, live and forgotten ones; `forget` is what you want otherwise
    #[command(after_help = "Examples:
  memdir purge 1f3a9c02                         asks before it does it
  memdir purge 1f3a9c02 4be01c9a --yes
  memdir purge 1f3a9c02 --history               also out of every commit here; of a purged one, too

No machine brings a purged memory back. Its text stays in the commits that hold it, here, on the
remote and in every copy: `memdir log ID` shows them. A password that was in it must be changed.")]
    Purge(change::Purge),
    /// Take all memories away into a backup beside them, or bring a backup back
    #[command(after_help = "Examples:
  memdir reset                                  asks before it does it, and says where the backup is
  memdir reset --dry-run                        how many memories it is about
  memdir reset --from 20261122T093000Z          bring the same bytes back

Settings, journals and the words of what was purged stay. With a remote nothing is sent before you say
`memdir sync --accept-deletions`. Bringing back overwrites nothing: what is in the way is named, and its
text stays in the backup. The history keeps the memories, too: `memdir undo`.

Exit code: 0 done, 1 nothing to do, 2 error")]
    Reset(change::Reset),
    /// Say that memories may hold the credentials they hold now, also on other machines
    #[command(after_help = "Examples:
  memdir allow 1f3a9c02                         commit and send it all the same

Where a store has a remote, a memory that holds a credential is not committed; `memdir status` names
it. The memory's file notes what may stand in it, under `secrets_allowed`, by a fingerprint: another
credential in the same memory holds it back again.")]
    Allow(shared::Ids),
    /// Replace the credentials in memories
    #[command(after_help = "Examples:
  memdir redact 1f3a9c02                        write [redacted: a GitHub token] in its place

What was committed before stays in the history: make such credentials invalid.")]
    Redact(shared::Ids),
    /// Show what happened, newest first: to the store, or to one memory
    #[command(after_help = "Examples:
  memdir log -n 10                              the last ten changes
  memdir log 1f3a9c02                           the life of one memory, also of one that is gone

Exit code: 0 found, 1 nothing found, 2 error")]
    Log(history::Log),
    /// Show how a memory differs from what it said before
    #[command(after_help = "Examples:
  memdir diff 1f3a9c02                          what its last change did
  memdir diff 1f3a9c02 yesterday                what changed since then
  memdir diff 1f3a9c02 4be01c9a77               what changed since a commit

REV is the beginning of a commit's id, HEAD~3, a date, or an amount of time such as 2w.

Exit code: 0 different, 1 no difference, 2 error")]
    Diff(history::Diff),
    /// Take back the last change, a commit, or the last change of a memory, as a new change
    #[command(after_help = "Examples:
  memdir undo                                   what was done last and is not undone
  memdir undo 1f3a9c02                          the last change of that memory
  memdir undo 4be01c9a77                        that commit; of an undo: do it again
  memdir undo plan-1f3a9c02                     what a plan of maintenance did; see `plans`
  memdir undo --dry-run                         only say what would be done

Nothing is deleted: a memory that was added goes to the archive. What was changed since stays; where
that is not possible, nothing is done.

Exit code: 0 done, 1 nothing had to be changed, 2 error")]
    Undo(history::Undo),
    /// Run git in the store's repository
    #[command(after_help = "Examples:
  memdir git log --stat
  memdir git show HEAD

Everything after `git` goes to git as it is. Exit code: git's")]
    Git(history::Git),
    /// Bring the index up to date with the files
    Reindex(change::Reindex),
    /// Measure how well questions find the memories that answer them
    #[command(after_help = "Examples:
  memdir eval questions/locomo-turn             recall, MRR and NDCG by type of question
  memdir eval --ranking bm25 SET                the same with plain BM25
  memdir eval --set window=0 SET                without one part of the ranking
  memdir eval --run-dir out --explain SET       keep the answers, with what each score is made of
  memdir eval --arms fixtures/eval/*            beside BM25, keyword counts and each cosine
  memdir eval --from longmemeval --scoped longmemeval_s.json

A store is made of each set in a temporary folder; your own store is left alone.

Exit code: 0 done, 1 with `--arms` a search of one part is ahead of the ranking, 2 error")]
    Eval(eval::Eval),
    /// Show what state the store is in
    Status(shared::Findings),
    /// Commit what waits, then fetch, merge and push; exchange with the workspace that the store is joined to
    #[command(after_help = "Examples:
  memdir sync --setup git@example.org:me/memories.git
  memdir sync                                   commit, get, merge, send
  memdir sync --status                          how it is, without asking the remote
  memdir sync --with /media/stick/memories      another store, without a remote; both have the same then
  memdir sync --with DIR --direction pull --dry-run
  memdir sync --with https://team.example/w/atlas --join --keep-token
                                                join a workspace of a team
  memdir sync --leave                           and leave it

`sync` alone exchanges with the remote and with the workspace, each where it is set up. A server does the same in
the background. What the store is joined to is kept in your own folder for state, never in the store.
Exit code: 0 all is committed and in step, 1 this store is not committed, 2 paused or failed")]
    Sync(sharing::Sync),
    /// Find memories by meaning: get a model, choose one, show which is used
    #[command(
        subcommand,
        after_help = "Examples:
  memdir model download                         get the default model, 23 MB, and use it
  memdir model download --list                  what there is, how large, under which licence
  memdir model use ~/models/my-model            a folder with model.onnx and tokenizer.json
  memdir model use none                         searches are by words and vectors of words again
  memdir model status

Nothing is downloaded unless you say so. Without a model searches are by words and vectors of words."
    )]
    Model(model::Model),
    /// Prove that files are sound and the index agrees with them; exit code 1 if not
    Verify(shared::Findings),
    /// Check that agents get what they need: program, store, server, remote, model
    #[command(after_help = "Examples:
  memdir doctor                                 a line for each, with what to do where one is wrong
  memdir doctor --fix                           and make a wrong index anew

Nothing is sent; the remote is asked for its newest commit only, and a workspace for its state.

Exit code: 0 all is well, 1 something is wrong, 2 error")]
    Doctor(setup::Doctor),
    /// Give notes that were written by hand ids and the names of memories
    #[command(after_help = "Examples:
  memdir adopt                                  what would be done to all of them
  memdir adopt --yes
  memdir adopt files/tulips.md --yes            only this one

A note keeps its folder, its text and its time; the name that it had becomes its title. [[Links]] to it
and links by its path follow. Notes work without this, too: they are called by their names.
`memdir undo` takes it back.")]
    Adopt(change::Adopt),
    /// Show in which folders memories lie, or move them
    #[command(after_help = "Examples:
  memdir layout                                 what is set, and how many files lie elsewhere
  memdir layout by-month                        files/2026-01/20260114_091500_1f3a9c02.md
  memdir layout flat                            files/20260114_091500_1f3a9c02.md

It is written into memdir.toml and counts for new memories, too, on every machine. Files with other
names, and those in folders of your own, stay where they are. A server that runs takes it up when
it is started again.")]
    Layout(change::Rearrange),
    /// Bring in memories from elsewhere; importing twice adds nothing
    #[command(after_help = "Examples:
  memdir import --from aiaml ~/.aiaml
  memdir import --from jsonl notes.jsonl --dry-run
  memdir import --from obsidian ~/vault --namespace notes
  memdir import --from ai-memory ai-memory.db
  loci export | memdir import --from loci -
  memdir import --from i-am .ai-state/memory.json
  memdir import --from server-memory memory.jsonl

Links between what comes in are kept, and point to the new memories. Nothing is written to what is
read. At the end it says what could not be carried over; docs/IMPORT.md has it field by field.")]
    Import(sharing::Import),
    /// Keep conversations with agents as memories: transcripts and exports
    #[command(after_help = sharing::MINE_EXAMPLES)]
    Mine(sharing::Mine),
    /// Write memories out, also as a folder of notes
    #[command(after_help = "Examples:
  memdir export --to jsonl > memories.jsonl     all that is known of each, one a line
  memdir export --to markdown --namespace atlas one document
  memdir export --to ~/notes                    a file each: by title, in a folder for each namespace

In a folder each file is the memory's own, with its frontmatter; links lead to the files there. Notes
with names of their own keep them, and their folders. Files that are there are never replaced: what is
new is added, and another text under the same name stays and is named.")]
    Export(sharing::Export),
    /// Answer commands one after another: a store stays open, so that each takes a millisecond
    #[command(after_help = SHELL_EXAMPLES)]
    Shell,
    /// Take the command line of another memory program: ai-memory, loci
    #[command(
        subcommand,
        arg_required_else_help = true,
        override_usage = "memdir as ai-memory|loci COMMAND [OPTIONS]",
        after_help = AS_EXAMPLES
    )]
    As(setup::As),
    /// A command of ai-memory, which `as` makes of its line.
    #[command(skip)]
    AiMemory(Box<AiMemoryCommand>),
    /// Serve agents over standard input and output (Model Context Protocol)
    #[command(after_help = "Examples:
  memdir mcp                                    remember, think, recall
  memdir mcp --dialect loci                     store_memory, recall_memory, forget_memory, …
  memdir mcp --dialect ai-memory --tier smart   the memory_* tools, with a language model
  claude mcp add --scope user memdir -- memdir mcp
  memdir mcp --connect                          use the store's `memdir serve` that runs already
  memdir mcp --connect unix:/run/memdir.sock    the same, over its socket
  memdir mcp --connect https://notes.lan:9077 --connect-ca notes.pem
                                                of another machine, with its token in MEMDIR_TOKEN

Where `memdir serve` of the store runs with the same settings, it is used without being named, and when it ends this
process goes on by itself; MEMDIR_RELAY=off serves alone.

With --connect many agents share one process that holds the store. A server that was started anew is
connected to again.")]
    Mcp(mcp::Mcp),
    /// Serve agents, scripts and pages over HTTP: MCP at /mcp, REST at /api/v1
    #[command(after_help = super::serve::SERVE_EXAMPLES)]
    Serve(Box<serve::Serve>),
    /// Look at the store in your browser: search, history, review, brief
    #[command(after_help = serve::OPEN_EXAMPLES)]
    Open(serve::Open),
    /// Make and fill the workspaces of a team in PostgreSQL
    #[command(after_help = sharing::TEAM_EXAMPLES)]
    Team(sharing::Team),
    /// Show and change the tokens that open `memdir serve`
    #[command(after_help = super::serve::TOKEN_EXAMPLES)]
    Token(serve::Token),
    /// Agree to use a store that was found above the working folder, and show what was agreed to
    #[command(after_help = TRUST_EXAMPLES)]
    Trust(setup::Trust),
    /// Print a completion script for a shell: it offers ids with titles, topics and namespaces, too
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(setup::Completions),
    /// Print the manual page
    Man,
    /// Print the version, and ask for a newer one if told to
    #[command(after_help = VERSION_EXAMPLES)]
    Version(setup::Version),
    /// Print the store's folder, or the file of a memory
    Path(setup::PathOf),
    /// Show every setting and where it comes from, or change one
    #[command(after_help = super::config::EXAMPLES)]
    Config {
        #[command(subcommand)]
        command: Option<config::Config>,
    },
}

const INIT_EXAMPLES: &str = "Examples:
  memdir init memories
  memdir init --here --notes .                  in an Obsidian vault: its notes are the memories
  memdir init --notes ~/vault
  memdir init ~/memories --remote git@example.org:mira/memories.git

Notes that are opened in place keep their names, folders and bytes; hidden folders are left alone. A
note changes when you, or an agent, change it, and has a history from the first moment on. `memdir
adopt` would give notes ids and other names; nothing needs it.";

const SHELL_EXAMPLES: &str = "Examples:
  memdir shell                                  with line editing, a history, and Tab for ids and topics
  memdir shell < commands.txt                   one command a line; `#` begins a comment

  recall what to do before a deploy             memories for a context: any word may match
  search deploy backup                          those that hold every word
  list atlas                                    the newest, of a namespace
  get 1f3a9c02                                  one whole; `delete` moves it to the archive
  stats, namespaces, help, quit

Every other command of memdir is called by its name, and so are these where an option is given:
`list --topics deploy`, `recall 1f3a9c02 --verbose`, `forget 1f3a9c02`. --store, --read-only and --color are
given to the shell itself.

Exit code of commands from a file or a pipe: 0 all were done, 1 one found nothing, 2 one failed";

const PICK_EXAMPLES: &str = "Examples:
  memdir pick                                   the newest; type to search, `?` shows the keys
  memdir pick atlas deploy --kind procedural
  memdir recall $(memdir pick)                  the screen is on the terminal, the id in the answer
  memdir pick --plain                           numbered lines and a prompt, for screen readers
  memdir edit                                   so do recall, forget, link and diff without an id

Words may be conditions as in `think`: topic:rust  user:mira  since:2w  -excluded  \"a phrase\".
Where TERM is `dumb`, lines are used unasked. `copy` needs a terminal that knows OSC 52.

Exit code: 0 chosen, 1 left without choosing, 2 error";

const AS_EXAMPLES: &str = "Examples:
  memdir as ai-memory store -T 'How we deploy' -c 'On Tuesdays.' --tags deploy
  memdir as ai-memory recall 'what to do before a deploy'
  memdir as ai-memory --help                    its 26 commands
  memdir as loci search how we deploy
  ln -s $(which memdir) ~/.local/bin/ai-memory  from now on `ai-memory` is memdir as ai-memory
  ai-memory list --tags deploy

docs/DIALECTS.md says which command of which program becomes what.";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  source <(memdir completions bash)                    in ~/.bashrc
  source <(memdir completions zsh)                     in ~/.zshrc, after compinit
  memdir completions fish | source                     in ~/.config/fish/config.fish

The script asks memdir, which reads the newest files of the store and writes nothing.";

const VERSION_EXAMPLES: &str = "Examples:
  memdir version                                of the program, and the system it is built for
  memdir version --check                        is there a newer one?
  memdir version --check --releases https://git.example.org/mira/memdir

Without --check nothing is asked of a network, by this command or by any other. Nothing is installed.

Exit code: 0 no newer one, 1 there is a newer one, 2 error";

const TRUST_EXAMPLES: &str = "Examples:
  memdir trust                                  the store above the working folder
  memdir trust ~/projects/atlas/notes
  memdir trust --show                           what was agreed to, and what the repository asks for
  memdir trust --revoke ~/projects/atlas/notes

A folder that somebody hands over could otherwise answer your agents with its author's memories, and
have memdir start programs that its repository's configuration names. What you agree to is kept in
your own folder for state, never in the store. A remote is agreed to by `memdir sync --setup`.

Exit code: 0 trusted, 1 not trusted, 2 error";

impl Command {
    /// Whether the answer may be longer than a screen, and asks nothing.
    pub fn is_long(&self) -> bool {
        matches!(
            self,
            Command::Think(_)
                | Command::Recall(_)
                | Command::List(_)
                | Command::Grep(_)
                | Command::Log(_)
                | Command::Diff(_)
                | Command::Inspect(_)
                | Command::Archived(_)
                | Command::Links(_)
                | Command::Topics(_)
                | Command::Namespaces(_)
                | Command::Plans
        )
    }
}

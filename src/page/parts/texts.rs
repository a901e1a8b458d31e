//! All texts of the page, in one place.

pub(in crate::page) const PRODUCT: &str = "memdir";
pub(in crate::page) const SKIP: &str = "Skip to the content";
pub(in crate::page) const TIMELINE: &str = "Timeline";
pub(in crate::page) const SEARCH: &str = "Search";
pub(in crate::page) const REVIEW: &str = "Review";
pub(in crate::page) const BRIEF: &str = "Brief";
pub(in crate::page) const STORE: &str = "Store";
pub(in crate::page) const IMPORT: &str = "Import";
pub(in crate::page) const LEAVE: &str = "Log out";
pub(in crate::page) const ONLY_READS: &str = "read-only";
pub(in crate::page) const SEARCH_FOR: &str = "Search memories";
pub(in crate::page) const KEYS: &str = "Keys";
pub(in crate::page) const CLOSE: &str = "Close";
/// Keys with their meanings, as the dialogue lists them.
pub(in crate::page) const KEY_LIST: [(&str, &str); 9] = [
    ("/", "search"),
    ("j  k", "next, previous entry"),
    ("Enter", "open the entry"),
    ("e", "edit the memory"),
    (
        "g then t s r b o i",
        "timeline, search, review, brief, store, import",
    ),
    ("1  2  3", "in a pair: keep the first, the second, both"),
    ("a  d  n", "for a proposal: accept, drop, never again"),
    ("Escape", "leave a field or this list"),
    ("?", "this list"),
];

pub(in crate::page) const NOTHING: &str = "There is no memory here yet. What an agent stores appears here at once; memdir remember \"…\" stores one from a terminal.";
pub(in crate::page) const NOTHING_OF_WORKSPACE: &str =
    "There is no memory here yet. What an agent stores appears here at once.";
pub(in crate::page) const NOTHING_FOUND: &str = "Nothing found.";
pub(in crate::page) const NEW_MEMORIES: &str = "New memories:";
pub(in crate::page) const OLDER: &str = "Older";
pub(in crate::page) const NEWEST: &str = "Newest";
pub(in crate::page) const FILTER: &str = "Filter";
pub(in crate::page) const REMOVE_FILTER: &str = "Remove the filter";
pub(in crate::page) const UNTITLED: &str = "(empty)";
pub(in crate::page) const MORE_LINES: &str =
    "There are more lines; a longer expression finds fewer.";

pub(in crate::page) const BY_QUESTION: &str = "question";
pub(in crate::page) const BY_KEYWORDS: &str = "keywords";
pub(in crate::page) const BY_EXPRESSION: &str = "expression";
pub(in crate::page) const ASK: &str = "Type a question or some words. The search runs as you type.";
pub(in crate::page) const EXPRESSION_HINT: &str = "A regular expression, line by line.";
pub(in crate::page) const WHY: &str = "Why it is here";

pub(in crate::page) const TEXT: &str = "Text";
pub(in crate::page) const RAW: &str = "Raw";
pub(in crate::page) const HISTORY: &str = "History";
pub(in crate::page) const EDIT: &str = "Edit";
pub(in crate::page) const PROPERTIES: &str = "Properties";
pub(in crate::page) const LINKS: &str = "Links";
pub(in crate::page) const LINKS_TO: &str = "From here";
pub(in crate::page) const LINKS_FROM: &str = "To here";
pub(in crate::page) const NEIGHBOURS: &str = "Neighbours of this memory";
pub(in crate::page) const NO_LINKS: &str = "No links.";
pub(in crate::page) const USES: &str = "uses";
pub(in crate::page) const NEVER_USED: &str = "never used";
pub(in crate::page) const FORGOTTEN: &str = "This memory is forgotten: it lies in the archive.";
pub(in crate::page) const SUPERSEDED: &str = "A newer memory supersedes this one:";
pub(in crate::page) const CONTRADICTED: &str = "Another memory contradicts this one:";
pub(in crate::page) const CUT: &str = "The text is cut here. All of it is under";
pub(in crate::page) const REMOTE_IMAGE: &str = "picture on another host:";
pub(in crate::page) const OPEN_EDITOR: &str = "Open in VS Code";
pub(in crate::page) const OPEN_OBSIDIAN: &str = "Open in Obsidian";
pub(in crate::page) const FORGET: &str = "Forget";
pub(in crate::page) const FORGET_SURE: &str =
    "Forget this memory? It moves to the archive and can be restored.";
pub(in crate::page) const RESTORE: &str = "Restore";
pub(in crate::page) const PIN: &str = "Pin";
pub(in crate::page) const UNPIN: &str = "Unpin";
pub(in crate::page) const UNLINK: &str = "Unlink";
pub(in crate::page) const NO_SUCH_LINK: &str = "This link is not there any more.";
pub(in crate::page) const LINK: &str = "Link";
pub(in crate::page) const LINK_TO: &str = "Id of the other memory";
pub(in crate::page) const LINK_TYPE: &str = "Relation";
pub(in crate::page) const SUSPICIOUS: &str = "Read with care: this text";

pub(in crate::page) const NO_HISTORY: &str = "There is no history of this memory.";
pub(in crate::page) const WHOLE_HISTORY: &str = "Older versions: memdir log";
pub(in crate::page) const RESTORE_VERSION: &str = "Restore this version";
pub(in crate::page) const UNDO_LAST: &str = "Undo the last change";
pub(in crate::page) const CHANGE: &str = "What this version changed";
pub(in crate::page) const OLDER_VERSIONS: &str = "There are older versions.";
pub(in crate::page) const FIRST_VERSION: &str = "The first version.";
pub(in crate::page) const NO_DIFFERENCE: &str = "No difference.";
pub(in crate::page) const MORE_DIFFERENCE: &str = "more lines";

pub(in crate::page) const SAVE: &str = "Save";
pub(in crate::page) const CANCEL: &str = "Cancel";
pub(in crate::page) const FILE_TEXT: &str = "Text of the file";
pub(in crate::page) const EDIT_HINT: &str =
    "This is the file as it is on disk: fields between the dashes, then the text.";
pub(in crate::page) const EDIT_HINT_OF_WORKSPACE: &str =
    "This is the memory as it is kept: fields between the dashes, then the text.";
pub(in crate::page) const NO_TEXT: &str = "This file holds what a browser would change: bytes that are no UTF-8, a NUL, or a carriage return without a line feed. Open it in an editor.";
pub(in crate::page) const CHANGED_MEANWHILE: &str =
    "Somebody else changed this memory while you edited it.";
pub(in crate::page) const NOT_SAVED: &str = "Nothing of yours is saved yet.";
pub(in crate::page) const SAVED_AS: &str = "Your text is kept beside it, as";
pub(in crate::page) const MERGE: &str = "Below are what the file has else than your text, the whole file, and your text. Merge the two in yours, then save.";
pub(in crate::page) const DIFFERING: &str = "What the file has else";
pub(in crate::page) const THEIRS: &str = "The file now";
pub(in crate::page) const YOURS: &str = "Your text";
pub(in crate::page) const UNSENT: &str =
    "Your text is not saved. It is here still: try again, or copy it.";
pub(in crate::page) const UNSENT_FOR_GOOD: &str =
    "Your text is not saved, and what it was for is gone. Copy it from here.";
pub(in crate::page) const RESTORED: &str =
    "This is your text of before, which was not saved. Save it, or";
pub(in crate::page) const DISCARD: &str = "show it as it is";
pub(in crate::page) const CHANGED_AND_EDITED: &str =
    "If you changed its text here, Save shows both texts.";
pub(in crate::page) const CHANGED_HERE: &str = "This memory was changed just now.";
pub(in crate::page) const RELOAD: &str = "Show the change";

pub(in crate::page) const PROPOSALS: &str = "Proposals";
pub(in crate::page) const NO_PROPOSALS: &str = "No proposals wait.";
pub(in crate::page) const CONFLICTS: &str = "Contradictions";
pub(in crate::page) const NO_CONFLICTS: &str = "No memories contradict each other.";
pub(in crate::page) const UNREVIEWED: &str = "From others, not reviewed";
pub(in crate::page) const NO_UNREVIEWED: &str = "Nothing of others waits for a review.";
pub(in crate::page) const ACCEPT: &str = "Accept";
pub(in crate::page) const DROP: &str = "Drop";
pub(in crate::page) const NEVER: &str = "Never again";
pub(in crate::page) const KEEP_FIRST: &str = "Keep the first";
pub(in crate::page) const KEEP_SECOND: &str = "Keep the second";
pub(in crate::page) const KEEP_BOTH: &str = "Keep both";
pub(in crate::page) const BLANK: &str = "the text is empty: a memory needs one";
pub(in crate::page) const CHANGED_SINCE: &str =
    "this memory was changed since it was shown, and is not accepted: look at it again";
pub(in crate::page) const FIRST: &str = "The first";
pub(in crate::page) const PROPOSED_TEXT: &str = "Text, as it will be stored";
pub(in crate::page) const FROM_TALK: &str = "from";
pub(in crate::page) const SAYS_THE_SAME: &str = "A memory says the same:";
pub(in crate::page) const SAYS_OTHERWISE: &str = "A memory says otherwise:";
pub(in crate::page) const MARKERS: &str =
    "Memories with conflict markers of git; memdir resolve takes them out";

pub(in crate::page) const NAMESPACE: &str = "Namespace";
pub(in crate::page) const SHOW: &str = "Show";
pub(in crate::page) const NEXT_SESSION: &str = "What the next session is given";
pub(in crate::page) const REASONS: &str = "Why each line is there";
pub(in crate::page) const LEFT_OUT: &str = "Left out";
pub(in crate::page) const NOTHING_TO_BEGIN: &str =
    "Nothing: a session here begins without memories.";
pub(in crate::page) const CHARACTERS: &str = "characters";

pub(in crate::page) const GROWTH: &str = "New memories by week";
pub(in crate::page) const DAYS: &str = "Days of the last year";
pub(in crate::page) const BY_TOPIC: &str = "By topic";
pub(in crate::page) const BY_AGENT: &str = "By agent";
pub(in crate::page) const BY_KIND: &str = "By kind";
pub(in crate::page) const NO_VALUES: &str = "No memory has one.";
pub(in crate::page) const HEALTH: &str = "Health";
pub(in crate::page) const SYNC: &str = "Sync";
pub(in crate::page) const INDEX: &str = "Index and model";
pub(in crate::page) const WAITS: &str = "What waits";
pub(in crate::page) const NOTHING_WAITS: &str = "Nothing.";
pub(in crate::page) const SOUND: &str = "All files can be read, and nothing is wrong with them.";
pub(in crate::page) const CHECK_NOW: &str = "Check now";
pub(in crate::page) const CHECKED: &str = "memdir doctor checked all of this";
pub(in crate::page) const CHECKING: &str =
    "memdir doctor checks store, server, sync, model and clients …";
pub(in crate::page) const WELL: &str = "well";
pub(in crate::page) const WRONG: &str = "wrong";

pub(in crate::page) const FORMAT: &str = "Format";
pub(in crate::page) const FILES: &str = "Files";
pub(in crate::page) const OR_FOLDER: &str = "or a folder";
pub(in crate::page) const SENDING: &str = "Files are sent and read …";
pub(in crate::page) const NO_FILE: &str =
    "There is no file to import; hidden files and folders are left out.";
pub(in crate::page) const WITHOUT_SCRIPT: &str =
    "This form needs JavaScript. Without it, in a terminal:";
pub(in crate::page) const IMPORT_HINT: &str = "Drop files or a folder anywhere on this page, or choose them. First you see what an import would do; nothing is stored before you say so.";
pub(in crate::page) const LOOK_FIRST: &str = "Show what would be imported";
pub(in crate::page) const WOULD_IMPORT: &str = "An import would do this";
pub(in crate::page) const DO_IMPORT: &str = "Import";
pub(in crate::page) const IMPORTED: &str = "Imported";

pub(in crate::page) const ENTER: &str = "memdir: log in";
pub(in crate::page) const ENTER_HOW: &str = "This page shows memories to their owner alone. Run this on the machine with the store; it opens the page with a code that is valid once:";
pub(in crate::page) const ENTER_CODE: &str =
    "Or type a code that memdir open --print or memdir serve has printed:";
pub(in crate::page) const CODE: &str = "Code";
pub(in crate::page) const ENTER_BUTTON: &str = "Log in";
pub(in crate::page) const BAD_CODE: &str =
    "This code is not valid: it was used, or is too old. Run memdir open for a new one.";

pub(in crate::page) const ENTER_TOKEN_HOW: &str = "This page shows the memories of a workspace to those who have a token of it. The session reads or writes as the token does, and ends with it.";
pub(in crate::page) const ENTER_TOKEN: &str = "Token, as memdir team grant has printed it:";
pub(in crate::page) const TOKEN: &str = "Token";
pub(in crate::page) const BAD_TOKEN: &str =
    "This token opens nothing here: it is none of this workspace, or no longer one.";

pub(in crate::page) const FROM_ELSEWHERE: &str = "A link on another site led here. It could do nothing yet: your memories are shown after a click of yours.";
pub(in crate::page) const GO_ON: &str = "Show the page";

pub(in crate::page) const MAY_NOT_WRITE: &str =
    "this session may only read; log in by a code of memdir open without --read-only";
pub(in crate::page) const READER_MAY_NOT_WRITE: &str =
    "this session may only read, as the token by which it began";
pub(in crate::page) const WENT_WRONG: &str = "That did not work";
pub(in crate::page) const BACK: &str = "Back to the timeline";

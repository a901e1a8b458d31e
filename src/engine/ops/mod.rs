//! Operations of the program: one per file, under its own name.
//!
//! Operations are functions over the parts of the engine. They never ask who is calling: what differs
//! between callers is passed as values. None answers from the index alone.

pub(in crate::engine) mod adopt_notes;
pub(in crate::engine) mod brief;
pub(in crate::engine) mod bulk;
pub(in crate::engine) mod conflicts;
pub(in crate::engine) mod duplicates;
pub(in crate::engine) mod expiry;
pub(in crate::engine) mod finding;
pub(in crate::engine) mod forget;
pub(in crate::engine) mod hints;
pub(in crate::engine) mod import_export;
pub(in crate::engine) mod maintenance;
pub(in crate::engine) mod past;
pub(in crate::engine) mod proposals;
pub(in crate::engine) mod relations;
pub(in crate::engine) mod remember;
pub(in crate::engine) mod remembered;
pub(in crate::engine) mod retrieval;
pub(in crate::engine) mod secrets;
pub(in crate::engine) mod sessions;
pub(in crate::engine) mod standards;
pub(in crate::engine) mod stats;
pub(in crate::engine) mod status;
pub(in crate::engine) mod talks;
pub(in crate::engine) mod update;
pub(in crate::engine) mod verify;

pub use adopt_notes::adopt_notes;
pub use brief::prompt::fitting_prompt;
pub use brief::provenance::{accept, accept_source, digest_of, unreviewed};
pub use brief::session_start::brief;
pub use bulk::remember_many;
pub use conflicts::{
    conflicts, conflicts_of, keep_both, keep_one, take_out_markers, title_conflicts, unmerged,
};
pub use duplicates::{rewrite, update_keeping};
pub use expiry::expire;
pub use forget::{
    archived, forget, forget_all, forget_because, forget_written_since, forgotten, forgotten_each,
    merged_into, resolve_forgotten, restore,
};
pub use hints::contradiction_between;
pub use import_export::{export, import};
pub use maintenance::perform::{check_plan, perform_plan, plans, recover_plans, take_back};
pub use maintenance::propose::{
    plan_cleanup, plan_compaction, plan_consolidation, plan_decay, plan_grouping, plan_reflection,
};
pub use maintenance::record::is_plan;
pub use past::erase::{check_erasing, erase, resolve_for_erasing};
pub use past::kept::remove_replaced;
pub use past::log::{headline, headline_at};
pub use past::purge::{
    earlier_texts, purge, purge_because, purge_each, purge_earlier_texts, purge_forgotten,
    purged_earlier_texts, resolve_for_purging, resolve_purged,
};
pub use past::rearrange::{in_no_folder, out_of_place, rearrange};
pub use past::recorded::{log, restore_as_of, versions};
pub use past::reset::{backups_holding, bring_back, reset};
pub use past::undo_recorded::undo;
pub use proposals::decide::{
    accept_likely_proposals, accept_proposal, drop_proposal, proposal_called,
};
pub use proposals::pending::{known_of_proposal, proposals};
pub use proposals::propose::propose;
pub use proposals::suggest::{propose_suggested, unasked_sessions};
pub use relations::graph::{
    count_stated_relations, dangling, dangling_of, named_in, relations_of, stated_relations,
};
pub use relations::links::{decide_between, link, unlink, unlink_from_all};
pub use relations::neighbours::neighbours;
pub use relations::succession::{
    count_links, current_among, current_of, current_relations, newer_than,
};
pub use relations::titles::same_titles;
pub use remember::{remember, remember_as};
pub use retrieval::grep::grep;
pub use retrieval::passages::think_in_talks;
pub use retrieval::recall::{recall, recall_one, recall_version};
pub use retrieval::related::{fitting_topics, related_words};
pub use retrieval::search::{completions, count, counts, search, search_committed};
pub use retrieval::similar::similar;
pub use retrieval::think::think;
pub use retrieval::time_filter::{asked_time, of_time};
pub use secrets::{allow_secrets, redact_secrets};
pub use sessions::{begin_session, sessions};
pub use standards::{clear_standard, set_standard, standards, standards_in};
pub use stats::{ending_by, facet, flagged, frequent, stats};
pub use status::status;
pub use update::{Parts, open_text, pin, promote, read_text, save_text, update, update_parts};
pub use verify::{verify, verify_index};

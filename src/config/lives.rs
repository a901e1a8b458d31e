//! The tables `[life]`, `[maintenance]`, `[archive]` and `[duplicates]` as what they decide.
//!
//! A store may bring the most of it: it decides about its own memories only, and what goes, goes to
//! the archive. Whether a server does that unasked, and what the archive gives up, is the user's.

use std::path::{Path, PathBuf};

use chrono::TimeDelta;

use super::choices::Capture;
use super::environment::Environment;
use super::store::is_same_folder;
use super::table::SettingId;
use super::value::list;
use super::values::SettingValues;
use crate::lifecycle::{
    Cleanup, Compaction, Decay, DuplicatePolicy, Life, Maintenance, Observations, Promotion,
    Reflection, WritePolicy,
};
use crate::model::PrivateRules;

pub(super) fn life(values: &SettingValues) -> Life {
    let count = |id| values.whole(id).value as u32;
    let decay = Decay {
        interval: values.span(SettingId::LifeDecayInterval),
        episodic: values.share(SettingId::LifeDecayEpisodic),
        others: values.share(SettingId::LifeDecayOthers),
    };
    Life {
        short_life: values.span(SettingId::LifeShort),
        mid_life: values.span(SettingId::LifeMid),
        short_extension: values.span(SettingId::LifeShortExtension),
        mid_extension: values.span(SettingId::LifeMidExtension),
        // Who sets both means the plain count.
        promotion: match (
            count(SettingId::LifePromoteAfterUses),
            count(SettingId::LifePromoteAfterDays),
        ) {
            (0, 0) => Promotion::Never,
            (0, days) => Promotion::Days(days),
            (uses, _) => Promotion::Uses(uses),
        },
        confidence_per_use: values.share(SettingId::LifeConfidencePerUse),
        uses_per_importance: count(SettingId::LifeUsesPerImportance),
        decay: values.switch(SettingId::LifeDecay).value.then_some(decay),
    }
}

pub(super) fn maintenance(values: &SettingValues) -> Maintenance {
    let count = |id| values.whole(id).value;
    Maintenance {
        schedule: values.span_or_never(SettingId::Schedule),
        compaction: Compaction {
            age: values.span(SettingId::CompactAfter),
            min_group: count(SettingId::CompactMinGroup),
            keep_importance: count(SettingId::CompactKeepImportance) as u8,
            budget: count(SettingId::SummaryLength),
        },
        observations: Observations {
            min_count: count(SettingId::Observations),
            similarity: values.share(SettingId::ObservationSimilarity) as f32,
            resemblance: values.share(SettingId::ObservationResemblance) as f32,
        },
        cleanup: Cleanup {
            confidence: values.share(SettingId::CleanupConfidence),
            unused: values.span(SettingId::CleanupAfter),
        },
        reflection: Reflection {
            stale: values.span(SettingId::ReflectStaleAfter),
            unimportant: count(SettingId::ReflectUnimportant) as u8,
            proven_uses: count(SettingId::ReflectProvenUses) as u32,
            proven: values.share(SettingId::ReflectProven),
            stated: values.share(SettingId::ReflectStated),
            doubt: values.share(SettingId::ReflectDoubt),
            least: values.share(SettingId::ReflectLeast),
            ..Reflection::default()
        },
        consolidate_min: count(SettingId::ConsolidateMinGroup),
        keep_replaced: values.span_or_never(SettingId::ArchiveKeep),
    }
}

pub(super) fn duplicates(values: &SettingValues) -> WritePolicy {
    let policy = values.text(SettingId::DuplicatesPolicy).value;
    let policy = policy.and_then(|name| DuplicatePolicy::named(&name));
    WritePolicy {
        duplicates: policy.unwrap_or_default(),
        near_words: values.share(SettingId::NearWords) as f32,
        near_meaning: values.share(SettingId::NearMeaning) as f32,
        auto_links: values.whole(SettingId::AutoLinks).value,
        shared_topics: values.whole(SettingId::SharedTopics).value,
        contradictions: values.switch(SettingId::Contradictions).value,
        ..WritePolicy::default()
    }
}

/// The rules of `[team]`: never from a store, which could loosen them.
pub(super) fn private(values: &SettingValues) -> PrivateRules {
    let stated = values.text(SettingId::TeamPrivate).value;
    PrivateRules::read(&stated.unwrap_or_default())
}

/// The user's table `[talks]`: never from a store, which may come from a remote and would have conversations
/// sent there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TalkSettings {
    /// Stores whose talks are committed and sent.
    sync: Vec<PathBuf>,
    /// Those of every store are.
    sync_all: bool,
    /// Time after its last message for which a talk is kept; `None` for ever.
    pub keep: Option<TimeDelta>,
}

impl TalkSettings {
    pub(super) fn read(values: &SettingValues, environment: &Environment) -> TalkSettings {
        let stated = values.text(SettingId::TalksSync).value.unwrap_or_default();
        let stated = list(&stated, str::to_owned);
        let home = environment.variables.get("HOME").map(PathBuf::from);
        let path = |text: &String| match (text.strip_prefix("~/"), &home) {
            (Some(below), Some(home)) => home.join(below),
            _ => PathBuf::from(text),
        };
        TalkSettings {
            sync: stated.iter().map(path).collect(),
            sync_all: stated.iter().any(|text| text == "all"),
            keep: values.span_or_never(SettingId::TalksKeep),
        }
    }

    /// Returns whether the talks of the store at `root` are committed and sent.
    pub fn are_sent_of(&self, root: &Path) -> bool {
        let mut stores = self.sync.iter();
        self.sync_all || stores.any(|store| store.is_absolute() && is_same_folder(store, root))
    }
}

/// Setting of sessions that are kept, and of the folders in which they are.
#[derive(Debug, Clone, PartialEq)]
pub struct CaptureSettings {
    keep: Capture,
    /// Folders with a word of their own, for what lies in them, too.
    folders: Vec<(PathBuf, Capture)>,
    /// Folders in which nothing is kept.
    exclude: Vec<PathBuf>,
    /// Confidence from which proposals become memories unasked; `None` for never.
    pub accept: Option<f64>,
}

impl CaptureSettings {
    pub(super) fn read(values: &SettingValues, environment: &Environment) -> CaptureSettings {
        let text = |id| values.text(id).value.unwrap_or_default();
        let path = |folder: &str| environment.folder.join(environment.expand_home(folder));
        let folder = |entry: &String| match entry.rsplit_once('=') {
            Some((folder, word)) => word.parse().ok().map(|keep| (path(folder.trim()), keep)),
            None => None,
        };
        let folders = list(&text(SettingId::CaptureFolders), str::to_owned);
        for entry in folders.iter().filter(|entry| folder(entry).is_none()) {
            tracing::warn!(
                "capture.folders: `{entry}` is not FOLDER=WORD, with one of {}",
                Capture::WORDS.join(", ")
            );
        }
        CaptureSettings {
            keep: values.parsed(SettingId::CaptureKeep).value,
            folders: folders.iter().filter_map(folder).collect(),
            exclude: list(&text(SettingId::CaptureExclude), path),
            accept: values.share_if_set(SettingId::CaptureAccept),
        }
    }

    /// Returns what is kept of the sessions in a folder.
    pub fn kept_in(&self, folder: &Path) -> Capture {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let folder = real(folder);
        let holds = |path: &Path| folder.starts_with(real(path));
        if self.exclude.iter().any(|path| holds(path)) {
            return Capture::Off;
        }
        let around = self.folders.iter().filter(|(path, _)| holds(path));
        let nearest = around.max_by_key(|(path, _)| real(path).components().count());
        nearest.map_or(self.keep, |(_, keep)| *keep)
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::Config;
    use super::super::tests::read;
    use super::*;

    #[test]
    fn the_defaults_of_the_table_are_those_of_the_parts() {
        let config = read("", "").unwrap();
        assert_eq!(config.life, Life::default());
        assert_eq!(config.maintenance, Maintenance::default());
        assert_eq!(config.duplicates, WritePolicy::default());
    }

    #[test]
    fn a_store_decides_about_its_memories_before_its_user() {
        let config = read(
            "[life]\nshort = \"2h\"\nmid = \"3w\"\n[duplicates]\npolicy = \"suggest\"\nauto_links = 2\n",
            "[life]\nshort = \"90m\"\n[duplicates]\npolicy = \"title\"\n",
        );
        let Config {
            life, duplicates, ..
        } = config.unwrap();
        assert_eq!(life.short_life.num_minutes(), 90);
        assert_eq!(life.mid_life.num_weeks(), 3);
        assert_eq!(duplicates.duplicates, DuplicatePolicy::SameTitle);
        assert_eq!(duplicates.auto_links, 2);
        let user = "[life]\npromote_after_uses = 3\n";
        let both = read(user, "[life]\npromote_after_days = 9\n").unwrap();
        assert_eq!(both.life.promotion, Promotion::Days(9));
        assert_eq!(read(user, "").unwrap().life.promotion, Promotion::Uses(3));
    }

    #[test]
    fn the_user_alone_says_what_is_done_unasked() {
        let theirs = "[maintenance]\nschedule = \"1d\"\n[archive]\nkeep = \"forever\"\n";
        let config = read("", theirs).unwrap();
        assert_eq!(config.maintenance, Maintenance::default());
        assert_eq!(config.warnings.len(), 2, "{:?}", config.warnings);
        let config = read(theirs, "").unwrap();
        let schedule = config.maintenance.schedule.unwrap();
        assert_eq!(schedule.num_days(), 1);
        assert_eq!(config.maintenance.keep_replaced, None);
    }
}

//! The settings, where each comes from, and the one value made of them.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use chrono::TimeDelta;

use super::discover;
use super::discover::StoreOrigin;
use super::duplicates::DuplicateSettings;
use super::embedding::Embedding;
use super::life::LifeSettings;
use super::llm::LlmSetting;
use super::maintenance::MaintenanceSettings;
use super::mcp::McpSettings;
use super::sources::Layer;
use super::sources::Sources;
use super::sources::printable;
use super::values::check_aiaml_sync;
use super::values::git_setting;
use super::values::languages;
use super::values::layout;
use super::values::limit;
use super::values::log;
use super::values::remote;
use super::values::secrets_setting;
use super::values::sync_interval;
use crate::git;
use crate::model::Layout;
use crate::model::is_global_namespace;
use crate::model::normalized_namespace;
use crate::secrets::Policy;
use crate::trust::Naming;
use crate::trust::Records;
use crate::words::Language;

/// What is wrong with a setting.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} is no TOML: {what}", path.display())]
    NotToml { path: PathBuf, what: String },
    #[error("{origin}: `{key}` {what}")]
    BadValue {
        origin: Origin,
        key: &'static str,
        what: String,
    },
    #[error(
        "there is no home folder to keep memories in: name a store with --store or MEMDIR_STORE"
    )]
    NoHome,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Flag,
    Variable(&'static str),
    File(PathBuf),
    /// Found by looking: a folder above, a git repository, the system's user name.
    Found(&'static str),
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag => f.write_str("flag"),
            Origin::Variable(name) => f.write_str(name),
            Origin::File(path) => write!(f, "{}", path.display()),
            Origin::Found(where_) => f.write_str(where_),
            Origin::Default => f.write_str("default"),
        }
    }
}

/// A value and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    pub value: T,
    pub origin: Origin,
}

/// What the command line says for all commands.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    pub store: Option<PathBuf>,
    pub read_only: bool,
}

/// What surrounds the process. Tests make their own.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    pub variables: HashMap<String, String>,
    pub folder: PathBuf,
    pub config_folder: Option<PathBuf>,
    pub data_folder: Option<PathBuf>,
    pub cache_folder: Option<PathBuf>,
    /// Where the user's records lie, such as which stores are trusted.
    pub state_folder: Option<PathBuf>,
}

impl Environment {
    /// The user's record of stores; `None` where there is no home to keep it in.
    pub fn records(&self) -> Option<Records> {
        self.state_folder.as_deref().map(Records::new)
    }
}

/// Everything that can be set.
#[derive(Debug, Clone)]
pub struct Config {
    pub store: Setting<PathBuf>,
    pub store_origin: StoreOrigin,
    /// A store above the working folder that the user has not agreed to use. Nothing of it was
    /// read; `store` is the one to use instead.
    pub untrusted: Option<PathBuf>,
    /// A folder at or above the working folder that looks like a store and is none, where `store` was
    /// not found by looking there.
    pub lookalike: Option<PathBuf>,
    /// The store that is used where nothing else is named: by the user's settings, or by default.
    pub usual_store: Option<PathBuf>,
    /// Where the index lies, if not in the store.
    pub index_dir: Setting<Option<PathBuf>>,
    /// Where it lies if the store cannot be written.
    pub cache: Option<PathBuf>,
    /// Who writes memories on the command line.
    pub agent: Setting<String>,
    pub user: Setting<String>,
    /// The namespace of new memories; `None` is `global`.
    pub namespace: Setting<Option<String>>,
    pub languages: Setting<Vec<Language>>,
    /// In which folder new memories are put.
    pub layout: Setting<Layout>,
    /// Hits of a search.
    pub limit: Setting<usize>,
    pub editor: Setting<Option<String>>,
    /// Whether changes are committed.
    pub git: Setting<bool>,
    /// How often a server looks at the remote.
    pub sync_interval: Setting<Duration>,
    /// The remote to come into step with, where the store names none; empty: the one that its
    /// repository names.
    pub remote: Setting<Option<String>>,
    /// What becomes of credentials in what is written.
    pub secrets: Setting<Policy>,
    /// How texts become vectors, if at all.
    pub embedding: Embedding,
    pub life: LifeSettings,
    pub maintenance: MaintenanceSettings,
    /// How long the archive keeps replaced texts that git holds; `None`: for ever.
    pub archive_keep: Setting<Option<TimeDelta>>,
    /// Who writes summaries, if not the memories themselves.
    pub llm: LlmSetting,
    pub duplicates: DuplicateSettings,
    /// How agents are served.
    pub mcp: McpSettings,
    /// What is logged to standard error.
    pub log: Setting<String>,
    pub read_only: bool,
    /// Things to tell the user once.
    pub warnings: Vec<String>,
}

pub(super) const KEYS: [&str; 18] = [
    "store",
    "index_dir",
    "agent",
    "user",
    "namespace",
    "languages",
    "limit",
    "editor",
    "git",
    "sync_interval",
    "secrets",
    "embedding",
    "life",
    "maintenance",
    "archive",
    "llm",
    "duplicates",
    "mcp",
];
/// Keys that a store may bring along; of `git` and `secrets` see [`is_weaker`].
const STORE_KEYS: [&str; 11] = [
    "agent",
    "user",
    "namespace",
    "languages",
    "layout",
    "limit",
    "git",
    "secrets",
    "life",
    "maintenance",
    "duplicates",
];

impl Config {
    /// Puts the settings together.
    ///
    /// A bad or unwelcome setting in the store's own file is passed over by itself, and `warnings` say
    /// so: the file may come from another machine, and must not stop this one.
    ///
    /// # Errors
    ///
    /// Fails if the user's settings cannot be read, or a value of theirs or of the environment has no
    /// sense; names file and key.
    pub fn read(flags: &Flags, environment: &Environment) -> Result<Config, ConfigError> {
        let mut warnings = Vec::new();
        let user_file = environment
            .config_folder
            .as_ref()
            .map(|folder| folder.join("config.toml"));
        let user_layer = Layer::read(user_file.as_deref(), &KEYS, &mut warnings)?;
        let FoundStore {
            store,
            origin: store_origin,
            untrusted,
            lookalike,
            usual: usual_store,
        } = find_store(flags, environment, &user_layer)?;
        let store_file = store.value.join(discover::MARK);
        let store_layer = store_layer(&store.value, &store_file, &user_layer, &mut warnings)?;
        let sources = Sources {
            environment,
            layers: [&store_layer, &user_layer],
        };
        let system_user = ["USER", "USERNAME", "LOGNAME"].iter().find_map(|name| {
            environment
                .variables
                .get(*name)
                .filter(|user| !user.is_empty())
        });
        let user = sources
            .text("user", &["MEMDIR_USER"])?
            .unwrap_or_else(|| match system_user {
                Some(user) => Setting {
                    value: user.clone(),
                    origin: Origin::Found("system user"),
                },
                None => Setting {
                    value: "unknown".to_owned(),
                    origin: Origin::Default,
                },
            });
        let default = |value: &str| Setting {
            value: value.to_owned(),
            origin: Origin::Default,
        };
        let secrets = secrets_setting(&sources)?;
        let embedding = Embedding::read(environment, &user_layer, &mut warnings)?;
        let layers = [&store_layer, &user_layer];
        let life = LifeSettings::read(environment, layers, &mut warnings)?;
        let maintenance = MaintenanceSettings::read(environment, layers, &mut warnings)?;
        let archive_keep = super::archive::read(environment, &user_layer, &mut warnings)?;
        let llm = LlmSetting::read(environment, &user_layer, &mut warnings)?;
        let duplicates = DuplicateSettings::read(environment, layers, &mut warnings)?;
        let mcp = McpSettings::read(environment, &user_layer, &mut warnings)?;
        let log = log(environment, &mut warnings);
        check_aiaml_sync(&sources, &mut warnings);
        let editor = sources.text("editor", &["MEMDIR_EDITOR", "VISUAL", "EDITOR"])?;
        Ok(Config {
            index_dir: optional(
                sources.text("index_dir", &["MEMDIR_INDEX_DIR"])?,
                PathBuf::from,
            ),
            cache: environment.cache_folder.clone(),
            agent: sources
                .text("agent", &["MEMDIR_AGENT"])?
                .unwrap_or_else(|| default("cli")),
            user,
            namespace: namespace(&sources, environment, &store.value)?,
            languages: languages(&sources)?,
            layout: layout(&sources)?,
            limit: limit(&sources)?,
            editor: optional(editor, |editor| editor),
            git: git_setting(&sources)?,
            sync_interval: sync_interval(&sources)?,
            remote: remote(&sources),
            secrets,
            embedding,
            life,
            maintenance,
            archive_keep,
            llm,
            duplicates,
            mcp,
            log,
            read_only: flags.read_only,
            store,
            store_origin,
            untrusted,
            lookalike,
            usual_store,
            warnings,
        })
    }

    /// By whose word the store is used.
    pub fn naming(&self) -> Naming {
        let is_usual = || {
            let usual = self.usual_store.as_deref();
            usual.is_some_and(|usual| is_same_folder(usual, &self.store.value))
        };
        match (self.store_origin, &self.store.origin) {
            (StoreOrigin::Parent, _) => Naming::Found,
            // However it is named, it is the one that the settings name.
            (StoreOrigin::Flag, _) | (_, Origin::Variable(_)) if !is_usual() => Naming::Process,
            _ => Naming::Settings,
        }
    }

    /// Every setting with its value as text and its origin, in the order of the documentation.
    pub fn list(&self) -> Vec<(&'static str, String, &Origin)> {
        let path = |path: &Option<PathBuf>| {
            path.as_ref()
                .map_or_else(String::new, |p| p.display().to_string())
        };
        let languages: Vec<&str> = self
            .languages
            .value
            .iter()
            .map(|language| language.name())
            .collect();
        let mut settings = vec![
            (
                "store",
                self.store.value.display().to_string(),
                &self.store.origin,
            ),
            (
                "index_dir",
                path(&self.index_dir.value),
                &self.index_dir.origin,
            ),
            ("agent", self.agent.value.clone(), &self.agent.origin),
            ("user", self.user.value.clone(), &self.user.origin),
            (
                "namespace",
                self.namespace
                    .value
                    .clone()
                    .unwrap_or_else(|| "global".to_owned()),
                &self.namespace.origin,
            ),
            ("languages", languages.join(","), &self.languages.origin),
            ("layout", self.layout.value.to_string(), &self.layout.origin),
            ("limit", self.limit.value.to_string(), &self.limit.origin),
            (
                "editor",
                self.editor.value.clone().unwrap_or_default(),
                &self.editor.origin,
            ),
            ("git", on_or_off(self.git.value), &self.git.origin),
            (
                "remote",
                self.remote
                    .value
                    .as_deref()
                    .map(git::without_credentials)
                    .unwrap_or_default(),
                &self.remote.origin,
            ),
            (
                "sync_interval",
                self.sync_interval.value.as_secs().to_string(),
                &self.sync_interval.origin,
            ),
            (
                "secrets",
                self.secrets.value.to_string(),
                &self.secrets.origin,
            ),
            ("log", self.log.value.clone(), &self.log.origin),
        ];
        settings.extend(self.embedding.list());
        settings.extend(self.life.list());
        settings.extend(self.maintenance.list());
        settings.push(super::archive::listed(&self.archive_keep));
        settings.extend(self.llm.list());
        settings.extend(self.duplicates.list());
        settings.extend(self.mcp.list());
        settings
    }
}

/// No more is said of one settings file.
const MOST_WARNINGS: usize = 8;

/// How many characters of a key, and of what is wrong with it, are shown.
pub(super) const LONGEST_KEY: usize = 80;
const LONGEST_REASON: usize = 200;

/// The settings that the store at `root` brings, without those that this machine does not follow.
fn store_layer(
    root: &Path,
    path: &Path,
    user: &Layer,
    warnings: &mut Vec<String>,
) -> Result<Layer, ConfigError> {
    let mut found = Vec::new();
    let mut layer = Layer::of_store(path, &STORE_KEYS, &mut found);
    let mut dropped = Vec::new();
    for (setting, alone) in layer.single_settings() {
        let mut unknown = Vec::new();
        let why = match check(&alone, &setting[0], &mut unknown) {
            Err(ConfigError::BadValue { what, .. }) => Some(what),
            Err(error) => Some(error.to_string()),
            Ok(()) => is_weaker(&alone, user, root)?.map(str::to_owned),
        };
        if why.is_some() || !unknown.is_empty() {
            let key = printable(&setting.join("."), LONGEST_KEY);
            let why = why.map(|why| {
                let why = printable(&why, LONGEST_REASON);
                format!("{}: `{key}` {why}; it is passed over", path.display())
            });
            found.extend(why.into_iter().chain(unknown));
            dropped.push(setting);
        }
    }
    dropped.iter().for_each(|setting| layer.remove(setting));
    if found.len() > MOST_WARNINGS {
        let more = found.len() - MOST_WARNINGS;
        found.truncate(MOST_WARNINGS);
        found.push(format!(
            "{}: {more} more settings are passed over",
            path.display()
        ));
    }
    warnings.append(&mut found);
    Ok(layer)
}

/// Fails if the one setting of `layer`, under `key`, has a value of no sense; one in a table that
/// nobody knows is `told`.
fn check(layer: &Layer, key: &str, told: &mut Vec<String>) -> Result<(), ConfigError> {
    let environment = Environment::default();
    let nothing = Layer::default();
    let layers = [layer, &nothing];
    let sources = Sources {
        environment: &environment,
        layers,
    };
    match key {
        "agent" => name(&sources, "agent"),
        "user" => name(&sources, "user"),
        "namespace" => name(&sources, "namespace"),
        "languages" => languages(&sources).map(drop),
        "layout" => layout(&sources).map(drop),
        "limit" => limit(&sources).map(drop),
        "git" => git_setting(&sources).map(drop),
        "secrets" => secrets_setting(&sources).map(drop),
        "life" => LifeSettings::read(&environment, layers, told).map(drop),
        "maintenance" => MaintenanceSettings::read(&environment, layers, told).map(drop),
        _ => DuplicateSettings::read(&environment, layers, told).map(drop),
    }
}

/// Fails if the setting is no text that can stand in the frontmatter of every new memory.
fn name(sources: &Sources<'_>, key: &'static str) -> Result<(), ConfigError> {
    const LONGEST: usize = 256;
    let Some(Setting { value, origin }) = sources.text(key, &[])? else {
        return Ok(());
    };
    let what = if value.trim().is_empty() {
        "is empty".to_owned()
    } else if value.chars().any(char::is_control) {
        "holds a control character".to_owned()
    } else if value.len() > LONGEST {
        format!("has more than {LONGEST} bytes")
    } else {
        return Ok(());
    };
    Err(ConfigError::BadValue { origin, key, what })
}

/// Why the one setting of a store's `layer` is not followed, if it would guard less than its user
/// wants: whoever may write into a shared store must not end its history or have credentials sent.
fn is_weaker(
    layer: &Layer,
    user: &Layer,
    root: &Path,
) -> Result<Option<&'static str>, ConfigError> {
    let environment = Environment::default();
    let of = |layer| Sources {
        environment: &environment,
        layers: [layer, layer],
    };
    if layer.has("secrets")
        && secrets_setting(&of(layer))?.value < secrets_setting(&of(user))?.value
    {
        return Ok(Some("may be made stricter by a store, and not weaker"));
    }
    if layer.has("git") && !git_setting(&of(layer))?.value && is_shared(root) {
        return Ok(Some(
            "may not be switched off by a store that other machines write, too: say it in your own config.toml, or by MEMDIR_GIT=off",
        ));
    }
    Ok(None)
}

/// Whether what lies in the store may come from elsewhere by git. One that cannot be read may.
fn is_shared(root: &Path) -> bool {
    match git::Repository::find(root, &git::Honoured::default()) {
        Ok(None) => false,
        Ok(Some(repository)) => {
            repository.owner() == git::Owner::Asked || repository.get("remote").is_some()
        }
        Err(_) => true,
    }
}

pub(super) fn optional<T>(
    setting: Option<Setting<String>>,
    make: impl FnOnce(String) -> T,
) -> Setting<Option<T>> {
    match setting {
        Some(Setting { value, origin }) => Setting {
            value: Some(make(value)),
            origin,
        },
        None => Setting {
            value: None,
            origin: Origin::Default,
        },
    }
}

/// The store to use, and how it was found.
struct FoundStore {
    store: Setting<PathBuf>,
    origin: StoreOrigin,
    /// As [`Config::untrusted`].
    untrusted: Option<PathBuf>,
    /// As [`Config::lookalike`].
    lookalike: Option<PathBuf>,
    /// As [`Config::usual_store`].
    usual: Option<PathBuf>,
}

fn find_store(
    flags: &Flags,
    environment: &Environment,
    user_layer: &Layer,
) -> Result<FoundStore, ConfigError> {
    let sources = Sources {
        environment,
        layers: [user_layer, user_layer],
    };
    let at = |value: &str| environment.folder.join(expand_home(value, environment));
    let usual = match sources.text("store", &[])? {
        Some(Setting { value, origin }) => Some((discover::store_at(&at(&value)), origin)),
        None => {
            let default = environment.data_folder.clone();
            default.map(|value| (value, Origin::Default))
        }
    };
    let found = |value: PathBuf, origin, store_origin| FoundStore {
        store: Setting {
            value: discover::store_at(&value),
            origin,
        },
        origin: store_origin,
        untrusted: None,
        lookalike: None,
        usual: usual.as_ref().map(|(value, _)| value.clone()),
    };
    if let Some(store) = &flags.store {
        let value = environment.folder.join(store);
        return Ok(found(value, Origin::Flag, StoreOrigin::Flag));
    }
    if let Some(Setting { value, origin }) = sources.variable(&["MEMDIR_STORE", "AIAML_MEMORY_DIR"])
    {
        let mut folder = at(&value);
        // That program's name for the folder of the memories themselves.
        let names_files = folder.ends_with("files") && !discover::is_store(&folder);
        if origin == Origin::Variable("AIAML_MEMORY_DIR") && names_files {
            folder.pop();
        }
        return Ok(found(folder, origin, StoreOrigin::Configured));
    }
    let is_usual = |above: &Path| {
        let usual = usual.as_ref();
        usual.is_some_and(|(usual, _)| is_same_folder(usual, above))
    };
    let is_trusted = |above: &Path| {
        let records = environment.records();
        records.is_some_and(|records| records.find(above).is_some())
    };
    let above = discover::nearest_store(&environment.folder).filter(|above| !is_usual(above));
    if let Some(above) = above.as_ref().filter(|above| is_trusted(above)) {
        let origin = Origin::Found("folder above");
        return Ok(found(above.clone(), origin, StoreOrigin::Parent));
    }
    let (value, origin) = usual.clone().ok_or(ConfigError::NoHome)?;
    let lookalike = discover::nearest_lookalike(&environment.folder)
        .filter(|lookalike| above.is_none() && !is_usual(lookalike));
    Ok(FoundStore {
        untrusted: above,
        lookalike,
        ..found(value, origin, StoreOrigin::Configured)
    })
}

fn is_same_folder(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

pub(super) fn expand_home(path: &str, environment: &Environment) -> PathBuf {
    match (path.strip_prefix("~/"), environment.variables.get("HOME")) {
        (Some(rest), Some(home)) => Path::new(home).join(rest),
        _ => PathBuf::from(path),
    }
}

/// `project` (the default) means the project of the working folder, `global` none.
fn namespace(
    sources: &Sources<'_>,
    environment: &Environment,
    store: &Path,
) -> Result<Setting<Option<String>>, ConfigError> {
    let set = sources.text("namespace", &["MEMDIR_NAMESPACE"])?;
    if let Some(Setting { value, origin }) = set
        && value != "project"
    {
        let value = normalized_namespace(&value).into_owned();
        return Ok(Setting {
            value: Some(value).filter(|value| !is_global_namespace(value)),
            origin,
        });
    }
    Ok(match git::project_name(&environment.folder, store) {
        Some(project) => Setting {
            value: Some(project),
            origin: Origin::Found("git project"),
        },
        None => Setting {
            value: None,
            origin: Origin::Default,
        },
    })
}

fn on_or_off(value: bool) -> String {
    (if value { "on" } else { "off" }).to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn environment(folder: &Path, variables: &[(&str, &str)]) -> Environment {
        Environment {
            variables: variables
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
            folder: folder.to_owned(),
            config_folder: Some(folder.join("config")),
            data_folder: Some(folder.join("data")),
            cache_folder: None,
            state_folder: Some(folder.join("state")),
        }
    }

    /// Reads the settings where `folder` is a store above that the user trusts.
    fn read_trusted(folder: &Path, environment: &Environment) -> Config {
        let records = environment.records().unwrap();
        records.change(folder, |_| {}).unwrap();
        Config::read(&Flags::default(), environment).unwrap()
    }

    #[test]
    fn a_store_above_that_nobody_agreed_to_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("memdir.toml"), "limit = 4\n").unwrap();
        let environment = environment(folder.path(), &[]);
        let read = Config::read(&Flags::default(), &environment).unwrap();
        assert_eq!(read.untrusted.as_deref(), Some(folder.path()));
        assert_eq!(read.store.value, folder.path().join("data"));
        assert_eq!((read.limit.value, read.naming()), (25, Naming::Settings));
        let read = read_trusted(folder.path(), &environment);
        assert_eq!(read.untrusted, None);
        assert_eq!((read.limit.value, read.naming()), (4, Naming::Found));
    }

    #[test]
    fn the_usual_store_is_trusted_from_inside() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        fs::create_dir_all(data.join("files")).unwrap();
        fs::write(data.join("memdir.toml"), "limit = 4\n").unwrap();
        let environment = Environment {
            folder: data.join("files"),
            ..environment(folder.path(), &[])
        };
        let read = Config::read(&Flags::default(), &environment).unwrap();
        assert_eq!((read.untrusted, read.limit.value), (None, 4));
    }

    #[test]
    fn each_layer_overrides_those_below() {
        let folder = tempfile::tempdir().unwrap();
        let (store, config) = (folder.path().join("store"), folder.path().join("config"));
        fs::create_dir_all(store.join("deep/er")).unwrap();
        fs::create_dir_all(&config).unwrap();
        fs::write(
            config.join("config.toml"),
            "user = \"mine\"\nlimit = 3\nagent = \"me\"\n",
        )
        .unwrap();
        fs::write(
            store.join("memdir.toml"),
            "limit = 4\nlanguages = [\"german\"]\n",
        )
        .unwrap();
        let here = environment(&store.join("deep/er"), &[("MEMDIR_AGENT", "env")]);
        let here = Environment {
            config_folder: Some(config),
            ..here
        };
        let read = read_trusted(&store, &here);
        assert_eq!(read.store.value, store);
        assert_eq!(read.store.origin, Origin::Found("folder above"));
        assert_eq!((read.limit.value, read.user.value.as_str()), (4, "mine"));
        assert_eq!(
            read.agent,
            Setting {
                value: "env".to_owned(),
                origin: Origin::Variable("MEMDIR_AGENT")
            }
        );
        assert_eq!(read.languages.value[0].name(), "german");
    }

    #[test]
    fn a_store_names_no_command_and_no_path() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("memdir.toml"),
            "editor = \"rm -rf\"\nindex_dir = \"/x\"\nlimit = 2\nnew = 1\n",
        )
        .unwrap();
        let read = read_trusted(folder.path(), &environment(folder.path(), &[]));
        assert_eq!(
            (read.editor.value, read.index_dir.value, read.limit.value),
            (None, None, 2)
        );
        assert_eq!(read.warnings.len(), 3);
    }

    #[test]
    fn a_store_does_not_switch_the_look_for_credentials_off() {
        let folder = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            fs::write(folder.path().join("memdir.toml"), text).unwrap();
            let read = read_trusted(folder.path(), &environment(folder.path(), &[]));
            (read.secrets.value, read.warnings.len())
        };
        assert_eq!(read("secrets = \"off\""), (Policy::Warn, 1));
        assert_eq!(read("secrets = false"), (Policy::Warn, 1));
        assert_eq!(read("secrets = \"refuse\""), (Policy::Refuse, 0));
        let variables = [("MEMDIR_SECRETS", "off")];
        let read = read_trusted(folder.path(), &environment(folder.path(), &variables));
        assert_eq!(read.secrets.value, Policy::Off);
    }

    #[test]
    fn a_bad_setting_of_a_store_costs_that_setting_alone() {
        let folder = tempfile::tempdir().unwrap();
        let read = |line: &str, table: &str| {
            let text = format!("limit = 4\n{line}\n[life]\nshort = \"2h\"\n{table}\n");
            fs::write(folder.path().join("memdir.toml"), text).unwrap();
            let read = read_trusted(folder.path(), &environment(folder.path(), &[]));
            assert_eq!(read.limit.value, 4, "{line} {table}");
            assert_eq!(read.life.value.short_life.num_hours(), 2, "{line} {table}");
            assert_eq!(read.agent.value, "cli", "{line} {table}");
            assert_eq!(read.namespace.value, None, "{line} {table}");
            assert_eq!(read.warnings.len(), 1, "{:?}", read.warnings);
            let warning = read.warnings[0].clone();
            assert!(
                !warning.contains(char::is_control) && warning.len() < 600,
                "{warning:?}"
            );
            warning
        };
        for line in [
            "agent = \"\\u001b[31m\"",
            "agent = \"\"",
            "agent = [1]",
            "namespace = \"a\\nb\"",
            "languages = [\"klingon\"]",
            "languages = 3",
            "layout = \"../..\"",
            "git = \"perhaps\"",
            "secrets = \"never\"",
            "maintenance = 5",
            "\"\\u001b\" = 1",
        ] {
            read(line, "");
        }
        let long = format!("user = \"{}\"", "u".repeat(5000));
        assert!(read(&long, "").contains("`user` has more than 256 bytes"));
        for table in [
            "mid = \"0d\"",
            "decay_others = -1",
            "mid = { a = 1 }",
            "unknown = 1",
            "[maintenance]\nsummary_length = 1000000000000",
            "[maintenance]\nschedule = \"1h\"",
            "[duplicates]\npolicy = \"never\"",
        ] {
            read("", table);
        }
    }

    #[test]
    fn of_many_bad_settings_some_are_named() {
        let folder = tempfile::tempdir().unwrap();
        for line in ["k$ = 1\n", "[life]\n", "[maintenance]\n"] {
            let table = if line.starts_with('[') { line } else { "" };
            let lines: String = (0..2000).map(|at| format!("k{at} = 1\n")).collect();
            fs::write(folder.path().join("memdir.toml"), format!("{table}{lines}")).unwrap();
            let read = read_trusted(folder.path(), &environment(folder.path(), &[]));
            assert_eq!(read.warnings.len(), MOST_WARNINGS + 1, "{line}");
            assert!(read.warnings[MOST_WARNINGS].contains("1992 more settings"));
        }
    }

    #[test]
    fn what_is_no_small_file_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("memdir.toml");
        let warned = |part: &str| {
            let flags = Flags {
                store: Some(folder.path().to_owned()),
                ..Flags::default()
            };
            let read = Config::read(&flags, &environment(folder.path(), &[])).unwrap();
            assert_eq!(read.limit.value, 25);
            assert!(read.warnings[0].contains(part), "{:?}", read.warnings);
        };
        fs::write(&file, format!("limit = 4 # {}", "x".repeat(70_000))).unwrap();
        warned("more than 65536 bytes");
        fs::write(&file, b"limit = 4 # \xff").unwrap();
        warned("not UTF-8");
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        warned("no regular file");
        #[cfg(unix)]
        {
            fs::remove_dir(&file).unwrap();
            fs::write(folder.path().join("other.toml"), "limit = 4").unwrap();
            std::os::unix::fs::symlink("other.toml", &file).unwrap();
            warned("no regular file");
        }
    }

    #[test]
    fn a_store_guards_no_less_than_its_user_wants() {
        let folder = tempfile::tempdir().unwrap();
        let (store, config) = (folder.path().join("store"), folder.path().join("config"));
        fs::create_dir_all(&store).unwrap();
        fs::create_dir_all(&config).unwrap();
        let read = |user: &str, text: &str| {
            fs::write(config.join("config.toml"), user).unwrap();
            fs::write(store.join("memdir.toml"), text).unwrap();
            let environment = environment(&store, &[]);
            let environment = Environment {
                config_folder: Some(config.clone()),
                ..environment
            };
            read_trusted(&store, &environment)
        };
        let redact = "secrets = \"redact\"";
        assert_eq!(
            read(redact, "secrets = \"warn\"").secrets.value,
            Policy::Redact
        );
        assert_eq!(
            read(redact, "secrets = \"refuse\"").secrets.value,
            Policy::Refuse
        );
        assert_eq!(
            read("secrets = \"off\"", redact).secrets.value,
            Policy::Redact
        );
        // One that nobody else writes is its owner's.
        assert!(!read("", "git = false").git.value);
        let repository = git::Repository::create(&store, "main").unwrap();
        assert!(!read("", "git = false").git.value);
        repository.set("remote", "origin").unwrap();
        let shared = read("", "git = false");
        assert!(shared.git.value && shared.warnings[0].contains("MEMDIR_GIT=off"));
        assert!(!read("git = false", "git = false").git.value);
        assert!(!read("git = false", "").git.value);
    }

    #[test]
    fn a_broken_settings_file_of_a_store_costs_only_its_settings() {
        let folder = tempfile::tempdir().unwrap();
        for text in [
            "languages = [\"klingon\"]",
            "limit = 0",
            "limit = [",
            "\u{0}",
        ] {
            fs::write(folder.path().join("memdir.toml"), text).unwrap();
            let read = read_trusted(folder.path(), &environment(folder.path(), &[]));
            assert_eq!(read.limit.value, 25, "{text}");
            assert_eq!(read.warnings.len(), 1, "{:?}", read.warnings);
        }
    }

    #[test]
    fn the_three_tool_programs_variables_count() {
        let folder = tempfile::tempdir().unwrap();
        let variables = [
            ("AIAML_MEMORY_DIR", "/somewhere/aiaml"),
            ("AIAML_MAX_SEARCH_RESULTS", "7"),
            ("AIAML_LOG_LEVEL", "DEBUG"),
        ];
        let read =
            Config::read(&Flags::default(), &environment(folder.path(), &variables)).unwrap();
        assert_eq!(read.store.value, Path::new("/somewhere/aiaml"));
        assert_eq!((read.limit.value, read.log.value.as_str()), (7, "debug"));
    }

    #[test]
    fn a_remote_is_named_by_the_environment_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("memdir.toml"),
            "remote = \"git@evil.example:x\"",
        )
        .unwrap();
        let read = |variables: &[(&str, &str)]| {
            let environment = environment(folder.path(), variables);
            read_trusted(folder.path(), &environment).remote.value
        };
        let url = "git@git.example:me/memories.git";
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[("AIAML_GITHUB_REMOTE", url)]).as_deref(), Some(url));
        let off = [("AIAML_GITHUB_REMOTE", url), ("AIAML_ENABLE_SYNC", "false")];
        assert_eq!(read(&off), None);
        let own = [("MEMDIR_REMOTE", url), ("AIAML_ENABLE_SYNC", "false")];
        assert_eq!(read(&own).as_deref(), Some(url));
        assert_eq!(read(&[("AIAML_ENABLE_SYNC", "true")]).as_deref(), Some(""));
    }

    #[test]
    fn variables_of_other_programs_are_followed_as_they_are_meant_there() {
        let folder = tempfile::tempdir().unwrap();
        let read = |variables: &[(&str, &str)]| {
            let environment = environment(folder.path(), variables);
            Config::read(&Flags::default(), &environment).unwrap()
        };
        let store = folder.path().join("aiaml");
        let files = store.join("files");
        fs::create_dir_all(&files).unwrap();
        let named = files.to_str().unwrap();
        assert_eq!(read(&[("AIAML_MEMORY_DIR", named)]).store.value, store);
        assert_eq!(read(&[("MEMDIR_STORE", named)]).store.value, files);
        assert!(!read(&[("AIAML_ENABLE_SYNC", "False")]).git.value);
        let own = [("AIAML_ENABLE_SYNC", "false"), ("MEMDIR_GIT", "on")];
        assert!(read(&own).git.value);
        assert_eq!(read(&[("LOCI_LOG_LEVEL", "INFO")]).log.value, "info");
        let own = [
            ("MEMDIR_LOG", "rmcp=trace,info"),
            ("LOCI_LOG_LEVEL", "loud"),
        ];
        let own = read(&own);
        assert_eq!(
            (own.log.value.as_str(), own.warnings.len()),
            ("rmcp=trace,info", 0)
        );
        assert_eq!(read(&[("RUST_LOG", "hyper")]).warnings.len(), 0);
    }

    #[test]
    fn a_variable_of_no_sense_is_warned_of_once_with_what_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let check = |name: &str, value: &str, taken: &str| {
            let environment = environment(folder.path(), &[(name, value)]);
            let read = Config::read(&Flags::default(), &environment).unwrap();
            let [warning] = read.warnings.as_slice() else {
                panic!("{name}={value}: {:?}", read.warnings);
            };
            let named = format!("{name} is `{value}`");
            assert!(
                warning.starts_with(&named) && warning.ends_with(taken),
                "{warning}"
            );
            assert!(read.git.value && read.remote.value.is_none(), "{name}");
            assert_eq!(read.log.value, "warn", "{name}");
        };
        check("AIAML_ENABLE_SYNC", "maybe", "taken as not set");
        check("AIAML_LOG_LEVEL", "LOUD", "`warn` is taken");
        check("LOCI_LOG_LEVEL", "loud", "`warn` is taken");
        check("MEMDIR_LOG", "loud", "`warn` is taken");
        check("MEMDIR_LOG", "memdir=loud", "`warn` is taken");
        check("RUST_LOG", "memdir=loud", "`warn` is taken");
    }

    #[test]
    fn a_bad_value_is_named_with_its_origin() {
        let folder = tempfile::tempdir().unwrap();
        let read = |variables: &[(&str, &str)]| {
            Config::read(&Flags::default(), &environment(folder.path(), variables))
                .unwrap_err()
                .to_string()
        };
        assert!(read(&[("MEMDIR_LIMIT", "many")]).starts_with("MEMDIR_LIMIT: `limit` is `many`"));
        assert!(read(&[("MEMDIR_LANGUAGES", "klingon")]).contains("klingon"));
    }
}

//! All settings as one value, made of what flags, variables and files state.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::discover::StoreOrigin;
use super::embedding::{Embedding, RerankSettings};
use super::environment::{Environment, Flags};
use super::layer::SettingsLayer;
use super::llm::LlmSetting;
use super::mcp::McpSettings;
use super::setting::{ConfigError, Origin, Setting};
use super::store::{FoundStore, find_store, is_same_folder};
use super::table::SettingId;
use super::value::list;
use super::values::SettingValues;
use super::{discover, lives, variables};
use crate::git;
use crate::lifecycle::{Life, Maintenance, WritePolicy};
use crate::model::{Layout, OtherNames, PrivateRules, is_global_namespace, normalized_namespace};
use crate::secrets::Policy;
use crate::trust::Naming;
use crate::words::Language;

/// All settings.
#[derive(Debug, Clone)]
pub struct Config {
    /// Root folder of the store.
    pub store: Setting<PathBuf>,
    /// Way by which the store was found.
    pub store_origin: StoreOrigin,
    /// A store above the working folder that the user has not agreed to use. Nothing of it was
    /// read; `store` is the one to use instead.
    pub untrusted: Option<PathBuf>,
    /// A folder at or above the working folder that looks like a store and is none, where `store` was
    /// not found by looking there.
    pub lookalike: Option<PathBuf>,
    /// The store that is used where nothing else is named: by the user's settings, or by default.
    pub usual_store: Option<PathBuf>,
    /// The folder of the index, if not in the store.
    pub index_dir: Setting<Option<PathBuf>>,
    /// The folder of the index if the store cannot be written.
    pub cache: Option<PathBuf>,
    /// The writer of memories on the command line.
    pub agent: Setting<String>,
    /// User of new memories.
    pub user: Setting<String>,
    /// The namespace of new memories; `None` is `global`.
    pub namespace: Setting<Option<String>>,
    /// Languages of the texts, for their analysis.
    pub languages: Setting<Vec<Language>>,
    /// Other names of users.
    pub people: OtherNames,
    /// The layout of the folders for new memories.
    pub layout: Setting<Layout>,
    /// Maximum number of hits of a search.
    pub limit: Setting<usize>,
    /// Command of the editor; `None` for the default one.
    pub editor: Setting<Option<String>>,
    /// Root folders of the stores that a server for agents answers from beside the one in use.
    pub also: Vec<PathBuf>,
    /// Whether changes are committed.
    pub git: Setting<bool>,
    /// Time between two looks of a server at the remote.
    pub sync_interval: Setting<Duration>,
    /// The remote to sync with, where the store names none; empty: the one that its
    /// repository names.
    pub remote: Setting<Option<String>>,
    /// The policy for credentials in texts that are written.
    pub secrets: Setting<Policy>,
    /// The settings of embeddings.
    pub embedding: Embedding,
    /// The settings of the cross-encoder.
    pub rerank: RerankSettings,
    /// The lives of memories.
    pub life: Life,
    /// The settings of maintenance, and of what the archive gives up.
    pub maintenance: Maintenance,
    /// Whether sessions of agents are kept.
    pub capture: lives::CaptureSettings,
    /// The settings of talks.
    pub talks: lives::TalkSettings,
    /// Memories that never leave for a team's server.
    pub private: PrivateRules,
    /// The language model that writes summaries, if any.
    pub llm: LlmSetting,
    /// The policy for memories that say what another one says.
    pub duplicates: WritePolicy,
    /// The settings of the server for agents.
    pub mcp: McpSettings,
    /// The filter of logs on standard error.
    pub log: Setting<String>,
    /// Whether nothing may be written.
    pub read_only: bool,
    /// Things to tell the user once.
    pub warnings: Vec<String>,
    /// All settings in the form in which they are shown.
    values: SettingValues,
}

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
        let user_layer = match &environment.config_folder {
            Some(folder) => SettingsLayer::of_user(&folder.join("config.toml"), &mut warnings)?,
            None => SettingsLayer::default(),
        };
        let FoundStore {
            store,
            origin: store_origin,
            untrusted,
            lookalike,
            usual: usual_store,
        } = find_store(flags, environment, &user_layer)?;
        let store_layer = store_layer(&store.value, &user_layer, &mut warnings);
        let mut values = SettingValues::read(environment, [&store_layer, &user_layer])?;
        let embedding = Embedding::read(environment, &user_layer, &mut values);
        let llm = LlmSetting::read(environment, &mut values);
        let git = variables::git(environment, &values);
        let remote = variables::remote(environment);
        let log = variables::log(environment, &mut warnings);
        variables::check_aiaml_sync(environment, &mut warnings);
        let user = user(environment, &values);
        let namespace = namespace(environment, &values, &store.value);
        let shown = remote.value.as_deref().map(git::without_credentials);
        for (id, shown, origin) in [
            (
                SettingId::Store,
                store.value.display().to_string(),
                &store.origin,
            ),
            (SettingId::User, user.value.clone(), &user.origin),
            (SettingId::Git, on_or_off(git.value), &git.origin),
            (SettingId::Remote, shown.unwrap_or_default(), &remote.origin),
            (SettingId::Log, log.value.clone(), &log.origin),
        ] {
            values.put(id, shown, origin.clone());
        }
        let shown = namespace.value.clone();
        let shown = shown.unwrap_or_else(|| "global".to_owned());
        values.put(SettingId::Namespace, shown, namespace.origin.clone());
        let seconds = |seconds| Duration::from_secs(seconds as u64);
        Ok(Config {
            index_dir: values
                .text(SettingId::IndexDir)
                .map(|path| path.map(PathBuf::from)),
            cache: environment.cache_folder.clone(),
            agent: values.text(SettingId::Agent).map(Option::unwrap_or_default),
            user,
            namespace,
            languages: languages(&values),
            people: values.parsed(SettingId::People).value,
            layout: values.parsed(SettingId::Layout),
            limit: values.whole(SettingId::Limit),
            editor: values.text(SettingId::Editor),
            git,
            sync_interval: values.whole(SettingId::SyncInterval).map(seconds),
            remote,
            secrets: values.parsed(SettingId::Secrets),
            embedding,
            rerank: RerankSettings::read(environment, &values),
            life: lives::life(&values),
            maintenance: lives::maintenance(&values),
            capture: lives::CaptureSettings::read(&values, environment),
            talks: lives::TalkSettings::read(&values, environment),
            private: lives::private(&values),
            llm,
            duplicates: lives::duplicates(&values),
            mcp: McpSettings::read(&values),
            also: also(environment, &values),
            log,
            read_only: flags.read_only,
            store,
            store_origin,
            untrusted,
            lookalike,
            usual_store,
            warnings,
            values,
        })
    }

    /// Returns by whose word the store is used.
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

    /// Returns every setting with its value as text and its origin, in the order of the documentation.
    pub fn list(&self) -> Vec<(&'static str, String, &Origin)> {
        self.values.list().collect()
    }
}

/// Maximum number of warnings about one settings file.
const MOST_WARNINGS: usize = 8;

/// Maximum number of characters of a fault that are shown.
const LONGEST_REASON: usize = 200;

/// Returns the settings that the store at `root` brings, without those that this machine does not follow.
fn store_layer(root: &Path, user: &SettingsLayer, warnings: &mut Vec<String>) -> SettingsLayer {
    let path = root.join(discover::MARK);
    let mut layer = SettingsLayer::of_store(&path, warnings);
    remove_weaker(&mut layer, user, root);
    let mut found: Vec<String> = layer.passed_over(LONGEST_REASON).collect();
    if found.len() > MOST_WARNINGS {
        let more = found.len() - MOST_WARNINGS;
        found.truncate(MOST_WARNINGS);
        found.push(format!(
            "{}: {more} more settings are passed over",
            path.display()
        ));
    }
    warnings.append(&mut found);
    layer
}

/// Takes out of a store's `layer` what would guard less than its user wants: whoever may write into
/// a shared store must not end its history or have credentials sent.
fn remove_weaker(layer: &mut SettingsLayer, user: &SettingsLayer, root: &Path) {
    let policy = |layer: &SettingsLayer| -> Option<Policy> {
        let name = layer.get(SettingId::Secrets)?.value.to_string();
        name.parse().ok()
    };
    if let Some(stated) = policy(layer)
        && stated < policy(user).unwrap_or_default()
    {
        layer.remove(
            SettingId::Secrets,
            "may be made stricter by a store, and not weaker",
        );
    }
    let is_off = |layer: &SettingsLayer| {
        let git = layer.get(SettingId::Git);
        git.is_some_and(|git| git.value.to_string() == "off")
    };
    if is_off(layer) && is_shared(root) {
        layer.remove(SettingId::Git, "may not be switched off by a store that other machines write, too: say it in your own config.toml, or by MEMDIR_GIT=off");
    }
}

/// Returns whether the store's files may come from elsewhere by git; true if the repository cannot be read.
fn is_shared(root: &Path) -> bool {
    match git::Repository::find(root, &git::Honoured::default()) {
        Ok(None) => false,
        Ok(Some(repository)) => {
            repository.owner() == git::Owner::Asked || repository.get("remote").is_some()
        }
        Err(_) => true,
    }
}

/// Returns the user whose memories are written: as stated, else the system's name of the user.
fn user(environment: &Environment, values: &SettingValues) -> Setting<String> {
    let stated = values.text(SettingId::User);
    if let Some(user) = stated.value {
        return Setting::new(user, stated.origin);
    }
    let system = environment.variable(&["USER", "USERNAME", "LOGNAME"]);
    match system {
        Some(system) => Setting::new(system.value, Origin::Found("system user")),
        None => Setting::new("unknown".to_owned(), Origin::Default),
    }
}

fn languages(values: &SettingValues) -> Setting<Vec<Language>> {
    let names = values.text(SettingId::Languages);
    let read = |name: &str| name.parse().expect("the table's type takes no other");
    names.map(|names| list(&names.unwrap_or_default(), read))
}

fn also(environment: &Environment, values: &SettingValues) -> Vec<PathBuf> {
    let folders = values.text(SettingId::StoresAlso).value.unwrap_or_default();
    list(&folders, |folder| {
        let folder = environment.folder.join(environment.expand_home(folder));
        discover::store_at(&folder)
    })
}

/// `project` (the default) means the project of the working folder, `global` none.
fn namespace(
    environment: &Environment,
    values: &SettingValues,
    store: &Path,
) -> Setting<Option<String>> {
    let stated = values.text(SettingId::Namespace);
    if let Some(name) = stated.value.filter(|name| name != "project") {
        let name = normalized_namespace(&name).into_owned();
        let name = Some(name).filter(|name| !is_global_namespace(name));
        return Setting::new(name, stated.origin);
    }
    match git::project_name(&environment.folder, store) {
        Some(project) => Setting::new(Some(project), Origin::Found("git project")),
        None => Setting::new(None, Origin::Default),
    }
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
            assert_eq!(read.life.short_life.num_hours(), 2, "{line} {table}");
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
        let store = folder.path().join("aiaml");
        let variables = [
            ("AIAML_MEMORY_DIR", store.to_str().unwrap()),
            ("AIAML_MAX_SEARCH_RESULTS", "7"),
            ("AIAML_LOG_LEVEL", "DEBUG"),
        ];
        let read =
            Config::read(&Flags::default(), &environment(folder.path(), &variables)).unwrap();
        assert_eq!(read.store.value, store);
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

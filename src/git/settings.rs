//! Reads a repository's own configuration file without obeying it.
//!
//! A repository may come from somebody else: from an archive, a stick, a synced folder. Its
//! configuration can name programs that git starts (`core.sshCommand`), hosts that git talks to
//! (`http.proxy`, `url.*.insteadOf`) and files outside of it (`include.path`). memdir therefore
//! reads the file itself, follows no include, and honours a setting of this kind only if the user has
//! agreed to the same value. The user's global configuration is not checked here.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::GitError;

/// A setting of a repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitSetting {
    /// Key: `section.name` or `section.subsection.name`; section and name in lower case.
    pub key: String,
    /// Value, without quotes and comment.
    pub value: String,
}

/// Settings of a repository that the user has agreed to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Honoured(pub Vec<GitSetting>);

impl Honoured {
    /// Returns whether the user has agreed to `setting`.
    pub fn contains(&self, setting: &GitSetting) -> bool {
        self.0.contains(setting)
    }
}

/// Maximum size of a configuration file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Pseudo key of the file by which a repository borrows the objects of another folder.
const ALTERNATES: &str = "objects/info/alternates";

/// Settings that git and memdir write into repositories, and that name neither a program nor a host nor a
/// file. All others are treated as dangerous: a list of dangerous ones would miss those of git's next
/// version. `*` is any subsection.
#[rustfmt::skip] // A line for each would be a page of nothing.
const HARMLESS: &[&str] = &[
    "author.email", "author.name", "branch.*.description", "branch.*.merge",
    "branch.*.mergeoptions", "branch.*.pushremote", "branch.*.rebase", "branch.*.remote",
    "branch.autosetupmerge", "branch.autosetuprebase", "branch.sort", "color.branch", "color.diff",
    "color.status", "color.ui", "column.ui", "commit.cleanup", "commit.gpgsign", "commit.status",
    "commit.verbose", "committer.email", "committer.name", "core.abbrev", "core.autocrlf",
    "core.bare", "core.bigfilethreshold", "core.checkstat", "core.commitgraph", "core.compression",
    "core.eol", "core.filemode", "core.fsync", "core.fsyncmethod", "core.fsyncobjectfiles",
    "core.hidedotfiles", "core.ignorecase", "core.logallrefupdates", "core.longpaths",
    "core.loosecompression", "core.multipackindex", "core.precomposeunicode", "core.preloadindex",
    "core.protecthfs", "core.protectntfs", "core.quotepath", "core.repositoryformatversion",
    "core.safecrlf", "core.sharedrepository", "core.sparsecheckout", "core.sparsecheckoutcone",
    "core.splitindex", "core.symlinks", "core.trustctime", "core.untrackedcache", "core.whitespace",
    "diff.algorithm", "diff.context", "diff.mnemonicprefix", "diff.renames",
    "extensions.objectformat", "extensions.refstorage", "extensions.worktreeconfig", "fetch.prune",
    "fetch.prunetags", "fetch.writecommitgraph", "gc.auto", "gc.autodetach", "gc.autopacklimit",
    "gc.pruneexpire", "gc.reflogexpire", "gc.reflogexpireunreachable", "gc.writecommitgraph",
    "index.sparse", "index.threads", "index.version", "log.date", "log.decorate",
    "maintenance.*.enabled", "maintenance.*.schedule", "maintenance.auto", "maintenance.strategy",
    "merge.conflictstyle", "merge.ff", "merge.renames", "pack.threads",
    "pack.windowmemory", "pull.ff", "pull.rebase", "push.autosetupremote", "push.default",
    "push.followtags", "rebase.autosquash", "rebase.autostash", "remote.*.fetch", "remote.*.mirror",
    "remote.*.prune", "remote.*.push", "remote.*.pushurl", "remote.*.tagopt", "remote.*.url",
    "remote.pushdefault", "rerere.autoupdate", "rerere.enabled", "status.showuntrackedfiles",
    "tag.sort", "user.email", "user.name", "user.useconfigonly",
];

/// Settings for which libgit2 reads files outside of the repository when it opens it.
const NAMES_A_FILE_AT_OPENING: &[&str] = &[
    "core.attributesfile",
    "core.excludesfile",
    "include.path",
    ALTERNATES,
];

/// Settings for remotes, among those that are not harmless.
const FOR_THE_NETWORK: &[&str] = &["core.gitproxy", "core.sshcommand", "ssh.variant"];
const FOR_THE_NETWORK_SECTIONS: &[&str] = &["credential.", "http.", "url."];

impl GitSetting {
    fn new(key: &str, value: &str) -> GitSetting {
        GitSetting {
            key: key.to_owned(),
            value: value.to_owned(),
        }
    }

    /// Returns whether it can name neither a program nor a host nor a file.
    pub fn is_harmless(&self) -> bool {
        // Settings of memdir itself name nothing that is run.
        self.key.starts_with("memdir.") || HARMLESS.contains(&self.pattern().as_str())
    }

    /// Returns whether it is a setting for remotes.
    pub fn is_for_network(&self) -> bool {
        FOR_THE_NETWORK.contains(&self.key.as_str())
            || FOR_THE_NETWORK_SECTIONS
                .iter()
                .any(|section| self.key.starts_with(section))
    }

    /// Returns whether opening the repository would read a file elsewhere because of it.
    fn names_a_file_at_opening(&self) -> bool {
        NAMES_A_FILE_AT_OPENING.contains(&self.key.as_str())
            || (self.key.starts_with("includeif.") && self.key.ends_with(".path"))
    }

    /// Returns the key with its subsection replaced by `*`.
    fn pattern(&self) -> String {
        match (self.key.find('.'), self.key.rfind('.')) {
            (Some(first), Some(last)) if first < last => {
                format!("{}.*{}", &self.key[..first], &self.key[last..])
            }
            _ => self.key.clone(),
        }
    }
}

/// Returns the settings that are not harmless of the repository that `folder` lies in; none where it
/// lies in none.
///
/// # Errors
///
/// Fails if the configuration cannot be read.
pub fn foreign_settings(folder: &Path) -> Result<Vec<GitSetting>, GitError> {
    let Some(git_folder) = git_folder_of(folder) else {
        return Ok(Vec::new());
    };
    let mut settings = settings_of(&git_folder)?;
    settings.retain(|setting| !setting.is_harmless());
    Ok(settings)
}

/// Boolean settings that this program writes and every git reads, each with its other values.
const SWITCHES: [(&str, &[&str]); 9] = [
    ("core.bare", &[]),
    ("core.filemode", &[]),
    ("core.logallrefupdates", &["always"]),
    ("core.autocrlf", &["input"]),
    ("core.safecrlf", &["warn"]),
    ("core.symlinks", &[]),
    ("core.ignorecase", &[]),
    ("core.precomposeunicode", &[]),
    ("core.quotepath", &[]),
];

impl GitSetting {
    /// Returns whether it has an invalid value that every git refuses, as after a damaged byte.
    fn is_nonsense(&self) -> bool {
        let switch = SWITCHES.iter().find(|(key, _)| *key == self.key);
        let value = self.value.to_ascii_lowercase();
        let is_boolean = matches!(
            value.as_str(),
            "" | "true" | "yes" | "on" | "false" | "no" | "off"
        ) || value.parse::<i64>().is_ok();
        switch.is_some_and(|(_, words)| !is_boolean && !words.contains(&value.as_str()))
    }
}

/// Checks that opening the repository at `git_folder` (its `.git`) reads no file elsewhere that the user
/// has not agreed to.
pub(super) fn check_opening(git_folder: &Path, honoured: &Honoured) -> Result<(), GitError> {
    let settings = settings_of(git_folder)?;
    let refused = settings
        .iter()
        .find(|setting| setting.names_a_file_at_opening() && !honoured.contains(setting));
    match refused {
        None => Ok(()),
        Some(setting) => Err(GitError::new(
            "use the repository",
            format!(
                "its configuration names a file elsewhere (`{}`): take that out, or agree to it with `memdir trust --git-settings`",
                setting.key
            ),
        )),
    }
}

/// Returns the address of the remote `origin` of the repository at `git_folder`, if it can be read.
pub(super) fn origin_of(git_folder: &Path) -> Option<String> {
    let settings = settings_of(git_folder).ok()?;
    let found = settings
        .into_iter()
        .rfind(|setting| setting.key == "remote.origin.url");
    found.map(|setting| setting.value)
}

/// Returns whether the repository that `folder` lies in names a remote; also if its settings cannot be read.
/// Without a repository it names none.
pub fn has_remote(folder: &Path) -> bool {
    let Some(git_folder) = git_folder_of(folder) else {
        return false;
    };
    let is_address =
        |setting: &GitSetting| setting.key.starts_with("remote.") && setting.key.ends_with(".url");
    settings_of(&git_folder).map_or(true, |settings| settings.iter().any(is_address))
}

/// Returns the `.git` of the repository that `folder` lies in, without opening it.
pub(super) fn git_folder_of(folder: &Path) -> Option<PathBuf> {
    git2::Repository::discover_path(folder, &[] as &[&Path]).ok()
}

/// Reads every setting of the repository at `git_folder`, in the order of its files.
fn settings_of(git_folder: &Path) -> Result<Vec<GitSetting>, GitError> {
    let common = common_folder(git_folder);
    let mut settings = Vec::new();
    for path in [common.join("config"), git_folder.join("config.worktree")] {
        if let Some(text) = read_small(&path)? {
            let parsed = parse(&text).map_err(|line| {
                let reason = format!("line {line} of its configuration cannot be read");
                GitError::new("use the repository", reason)
            })?;
            if let Some(setting) = parsed.iter().find(|setting| setting.is_nonsense()) {
                let key = &setting.key;
                let reason = format!("`{key}` in its configuration is neither true nor false");
                return Err(GitError::new("use the repository", reason));
            }
            settings.extend(parsed);
        }
    }
    let borrowed = read_small(&common.join("objects/info/alternates"))?;
    let borrowed = borrowed.filter(|text| !text.trim().is_empty());
    settings.extend(borrowed.map(|text| GitSetting::new(ALTERNATES, text.trim())));
    Ok(settings)
}

/// Returns the folder that all work trees of a repository share.
fn common_folder(git_folder: &Path) -> PathBuf {
    match read_small(&git_folder.join("commondir")) {
        Ok(Some(text)) => git_folder.join(text.trim_end_matches(['\n', '\r'])),
        _ => git_folder.to_owned(),
    }
}

/// Reads the text of a regular file; `None` where there is none. Follows no link, and does not block on a
/// FIFO.
fn read_small(path: &Path) -> Result<Option<String>, GitError> {
    let refused = |why: &str| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        GitError::new("use the repository", format!("its file `{name}` {why}"))
    };
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits() as i32);
    }
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(refused(&format!("cannot be read: {error}"))),
    };
    match file.metadata() {
        Ok(metadata) if metadata.is_file() && metadata.len() <= MAX_BYTES => {}
        Ok(metadata) if metadata.is_file() => return Err(refused("is too large")),
        _ => return Err(refused("is no regular file")),
    }
    let mut bytes = Vec::new();
    match file.take(MAX_BYTES).read_to_end(&mut bytes) {
        Ok(_) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) => Err(refused(&format!("cannot be read: {error}"))),
    }
}

/// Parses a configuration file (`git help config`); the error is the number of the first invalid line.
fn parse(text: &str) -> Result<Vec<GitSetting>, usize> {
    let mut settings = Vec::new();
    let mut section: Option<String> = None;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let number = at + 1;
        let mut rest = line.trim_start();
        if let Some(inner) = rest.strip_prefix('[') {
            let (name, after) = header(inner).ok_or(number)?;
            section = Some(name);
            rest = after.trim_start();
        }
        if rest.is_empty() || rest.starts_with(['#', ';']) {
            continue;
        }
        let section = section.as_deref().ok_or(number)?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(number);
        }
        let after = after.trim_start();
        let value = match after.strip_prefix('=') {
            // A name alone is a switch that is on.
            None if after.is_empty() || after.starts_with(['#', ';']) => "true".to_owned(),
            None => return Err(number),
            Some(first) => {
                let mut raw = first.to_owned();
                while is_continued(&raw) {
                    raw.pop();
                    let Some((_, next)) = lines.next() else { break };
                    raw.push_str(next);
                }
                value(&raw).ok_or(number)?
            }
        };
        settings.push(GitSetting {
            key: format!("{section}.{}", name.to_ascii_lowercase()),
            value,
        });
    }
    Ok(settings)
}

/// Parses a section header to its name and the text after it; `inner` begins after the bracket.
fn header(inner: &str) -> Option<(String, &str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    let end = inner.find(|c: char| !is_name(c))?;
    let (name, rest) = inner.split_at(end);
    let name = name.to_ascii_lowercase();
    if name.is_empty() {
        return None;
    }
    if let Some(after) = rest.strip_prefix(']') {
        return Some((name, after));
    }
    let quoted = rest.trim_start().strip_prefix('"')?;
    let mut subsection = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => {
                let after = quoted[at + 1..].strip_prefix(']')?;
                return Some((format!("{name}.{subsection}"), after));
            }
            '\\' => subsection.push(characters.next()?.1),
            c => subsection.push(c),
        }
    }
    None
}

/// Returns whether a value continues in the next line: it ends with an unescaped backslash.
fn is_continued(raw: &str) -> bool {
    let backslashes = raw.bytes().rev().take_while(|b| *b == b'\\').count();
    backslashes % 2 == 1
}

/// Returns a value without its quotes, escapes and comment.
fn value(raw: &str) -> Option<String> {
    let mut value = String::new();
    // Blanks at the end count only inside quotes.
    let mut kept = 0;
    let mut is_quoted = false;
    let mut characters = raw.trim_start().chars();
    while let Some(c) = characters.next() {
        match c {
            '"' => {
                is_quoted = !is_quoted;
                kept = value.len();
                continue;
            }
            '#' | ';' if !is_quoted => break,
            '\\' => value.push(match characters.next()? {
                'n' => '\n',
                't' => '\t',
                'b' => '\u{8}',
                c @ ('"' | '\\') => c,
                _ => return None,
            }),
            c => value.push(c),
        }
        if is_quoted || !c.is_whitespace() {
            kept = value.len();
        }
    }
    value.truncate(kept);
    (!is_quoted).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(text: &str, expected: &[(&str, &str)]) {
        let expected: Vec<GitSetting> = expected
            .iter()
            .map(|(k, v)| GitSetting::new(k, v))
            .collect();
        assert_eq!(parse(text), Ok(expected), "{text}");
    }

    #[test]
    fn the_syntax_of_git_is_read() {
        reads("", &[]);
        reads("[core]\n\tbare = false ; no\n", &[("core.bare", "false")]);
        reads("[Core]\nBare", &[("core.bare", "true")]);
        reads(
            "[core] sshCommand = ssh -x",
            &[("core.sshcommand", "ssh -x")],
        );
        reads(
            "[remote \"my \\\"one\\\" ]\"]\n url = \"a b\" # c",
            &[("remote.my \"one\" ].url", "a b")],
        );
        reads("[a.B]\nc = d\\\n  e\\n\\\"", &[("a.b.c", "d  e\n\"")]);
        reads(
            "[a]\nb = \"x ; y\"  z  \n# [b]\nc=",
            &[("a.b", "x ; y  z"), ("a.c", "")],
        );
    }

    #[test]
    fn what_is_no_setting_is_an_error_with_its_line() {
        for text in [
            "x = 1",
            "[a]\n= 1",
            "[a\nb = 1",
            "[a \"b]\nc=1",
            "[a]\nb = \"c",
            "[a]\n1b = c",
            "[a]\nb c",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse("[a]\nb = 1\n\n!\n"), Err(4));
    }

    #[test]
    fn git_reads_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let text = "[a]b=c\n[A \"Sub.x\"]\n\tKey = 1;2\n\tkey = \" x \" y\n[z.Q]\nlist\nlist = \\\"q\\\\\n";
        std::fs::write(&path, text).unwrap();
        let config = git2::Config::open(&path).unwrap();
        let mut entries = config.entries(None).unwrap();
        let mut theirs = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = entry.unwrap();
            let value = if entry.has_value() {
                entry.value().unwrap()
            } else {
                "true"
            };
            theirs.push(GitSetting::new(entry.name().unwrap(), value));
        }
        assert_eq!(parse(text).unwrap(), theirs);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_or_a_pipe_in_place_of_the_configuration_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        git2::Repository::init(folder.path()).unwrap();
        let git_folder = folder.path().join(".git");
        assert_eq!(foreign_settings(folder.path()).unwrap(), []);
        std::fs::remove_file(git_folder.join("config")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", git_folder.join("config")).unwrap();
        assert!(check_opening(&git_folder, &Honoured::default()).is_err());
    }

    #[test]
    fn what_reads_a_file_elsewhere_has_to_be_agreed_to() {
        let folder = tempfile::tempdir().unwrap();
        git2::Repository::init(folder.path()).unwrap();
        let git_folder = folder.path().join(".git");
        let config = git_folder.join("config");
        let plain = std::fs::read_to_string(&config).unwrap();
        let none = Honoured::default();
        for text in [
            "[include]\npath = ../x",
            "[includeIf \"gitdir:/\"]\npath = ../x",
            "[core]\nexcludesFile = /x",
            "[core]\nattributesFile = /x",
        ] {
            std::fs::write(&config, format!("{plain}{text}\n")).unwrap();
            assert!(check_opening(&git_folder, &none).is_err(), "{text}");
            let agreed = Honoured(foreign_settings(folder.path()).unwrap());
            assert!(check_opening(&git_folder, &agreed).is_ok(), "{text}");
        }
        std::fs::write(&config, plain).unwrap();
        std::fs::write(git_folder.join("objects/info/alternates"), "/x\n").unwrap();
        assert!(check_opening(&git_folder, &none).is_err());
    }

    #[test]
    fn a_switch_that_is_neither_on_nor_off_is_named() {
        let folder = tempfile::tempdir().unwrap();
        git2::Repository::init(folder.path()).unwrap();
        let git_folder = folder.path().join(".git");
        let config = git_folder.join("config");
        let plain = std::fs::read_to_string(&config).unwrap();
        let opened = |text: &[u8]| {
            std::fs::write(&config, [plain.as_bytes(), b"[core]\n", text].concat()).unwrap();
            check_opening(&git_folder, &Honoured::default())
        };
        for text in [
            "autocrlf = input",
            "quotePath = 0",
            "symlinks",
            "safecrlf = WARN",
        ] {
            assert!(opened(text.as_bytes()).is_ok(), "{text}");
        }
        for text in [
            &b"autocrlf = fa\xb0se"[..],
            b"quotePath = falqe",
            b"bare = warn",
        ] {
            let error = opened(text).unwrap_err().to_string();
            assert!(error.contains("neither true nor false"), "{error}");
        }
    }

    /// The settings of git's documentation that name a program, a host, a proxy, a helper or a file,
    /// or change which of those are used.
    #[rustfmt::skip] // A line for each would be a page of nothing.
    const NAMING: &[&str] = &[
        "alias.x", "blame.ignorerevsfile", "browser.x.cmd", "browser.x.path", "bundle.x.uri",
        "commit.template", "core.alternaterefscommand", "core.askpass", "core.attributesfile",
        "core.editor", "core.excludesfile", "core.fsmonitor", "core.gitproxy", "core.hookspath",
        "core.notesref", "core.pager", "core.sshcommand", "core.worktree", "credential.helper",
        "credential.https://x.helper", "credential.usehttppath", "credential.username", "diff.external",
        "diff.guitool", "diff.orderfile", "diff.tool", "diff.x.command", "diff.x.textconv",
        "difftool.x.cmd", "difftool.x.path", "fetch.bundleuri", "fetch.fsck.skiplist",
        "filter.x.clean", "filter.x.process", "filter.x.smudge", "format.signaturefile",
        "fsck.skiplist", "gc.recentobjectshook", "gitcvs.logfile", "gpg.minTrustLevel",
        "gpg.program", "gpg.ssh.allowedsignersfile", "gpg.ssh.defaultkeycommand",
        "gpg.ssh.program", "gpg.ssh.revocationfile", "gpg.x509.program", "guitool.x.cmd",
        "help.browser", "hook.x.command", "http.cookiefile", "http.extraheader",
        "http.https://x.proxy", "http.proxy", "http.proxysslcainfo", "http.proxysslcert",
        "http.proxysslkey", "http.sslcainfo", "http.sslcapath", "http.sslcert", "http.sslkey",
        "http.sslverify", "imap.tunnel", "include.path", "includeif.gitdir:x.path",
        "init.templatedir", "instaweb.browser", "instaweb.httpd", "interactive.difffilter",
        "lfs.url", "mailmap.blob", "mailmap.file", "man.x.cmd", "man.x.path", "merge.tool",
        "merge.x.driver", "mergetool.x.cmd", "mergetool.x.path", "objects/info/alternates",
        "pager.log", "protocol.allow", "protocol.ext.allow", "receive.fsck.skiplist",
        "receive.procreceiverefs", "remote.x.proxy", "remote.x.promisor", "remote.x.receivepack",
        "remote.x.uploadpack", "remote.x.vcs", "safe.directory", "sendemail.smtpserver",
        "sendemail.tocmd", "sequence.editor", "ssh.variant", "submodule.x.update",
        "submodule.x.url", "tar.x.command", "trailer.x.cmd", "trailer.x.command",
        "uploadpack.packobjectshook", "url.x.insteadof", "url.x.pushinsteadof", "user.signingkey",
        "web.browser",
    ];

    #[test]
    fn no_setting_that_names_a_program_a_host_or_a_file_is_harmless() {
        for key in NAMING {
            assert!(!GitSetting::new(key, "x").is_harmless(), "{key}");
        }
    }

    #[test]
    fn what_git_writes_into_a_new_repository_is_harmless() {
        let folder = tempfile::tempdir().unwrap();
        let repository = git2::Repository::init(folder.path()).unwrap();
        repository.remote("origin", "git@git.example:x").unwrap();
        let mut config = repository.config().unwrap();
        config.set_str("memdir...owner", "store").unwrap();
        config
            .set_str("branch.main.merge", "refs/heads/main")
            .unwrap();
        assert_eq!(foreign_settings(folder.path()).unwrap(), []);
    }
}

//! Errors of remotes, by kind, with a message and a hint.
//!
//! git and ssh report errors as text only. [`classify`] recognizes the usual ones, in the language that
//! `program` sets; any other text is [`NetworkError::Other`].

/// Error of using a remote. Every message is one line without any secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// The host cannot be reached, does not answer, or broke off. A later try may succeed.
    #[error("{message}")]
    Offline { message: String },
    /// Credentials are missing or were refused.
    #[error("{message}")]
    Denied { message: String },
    /// The key or certificate of the host is not the expected one.
    #[error("{message}")]
    HostKey { message: String },
    /// The host has no such repository, or does not show it.
    #[error("{message}")]
    NotFound { message: String },
    /// More was sent than the limit.
    #[error("{message}")]
    TooLarge { message: String },
    /// The caller stopped the operation.
    #[error("stopped")]
    Stopped,
    #[error("{message}")]
    Other { message: String },
}

impl NetworkError {
    /// Returns a hint for the user, as a sentence, if there is one.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            NetworkError::Offline { .. } => {
                "Nothing is lost: what is here is sent when the remote can be reached again."
            }
            NetworkError::Denied { .. } => {
                "Store the password with a git credential helper, set MEMDIR_GIT_TOKEN, or load \
                 the key into ssh-agent; then try `git ls-remote` with the same address."
            }
            NetworkError::HostKey { .. } => {
                "Connect to the host once by hand, compare its key or certificate with what its \
                 owner publishes, and let ssh or the system remember it."
            }
            NetworkError::NotFound { .. } => {
                "Check the address, and that the account may see the repository."
            }
            NetworkError::TooLarge { .. } => "Is this the repository of a memory directory?",
            NetworkError::Stopped | NetworkError::Other { .. } => return None,
        };
        Some(hint.to_owned())
    }

    /// Returns the error of a kind, with a message.
    pub(in crate::git) fn new(kind: Kind, message: String) -> NetworkError {
        match kind {
            Kind::Offline => NetworkError::Offline { message },
            Kind::Denied => NetworkError::Denied { message },
            Kind::HostKey => NetworkError::HostKey { message },
            Kind::NotFound => NetworkError::NotFound { message },
            Kind::TooLarge => NetworkError::TooLarge { message },
            Kind::Stopped => NetworkError::Stopped,
            Kind::Other => NetworkError::Other { message },
        }
    }
}

/// The variants of [`NetworkError`] without their messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::git) enum Kind {
    Offline,
    Denied,
    HostKey,
    NotFound,
    TooLarge,
    Stopped,
    Other,
}

/// An error of an operation on a remote, without the remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::git) struct Failure {
    /// Kind of the error.
    pub(in crate::git) kind: Kind,
    /// Reason, unredacted.
    pub(in crate::git) reason: String,
}

impl Failure {
    /// Returns the error of a kind.
    pub(in crate::git) fn new(kind: Kind, reason: impl Into<String>) -> Failure {
        Failure {
            kind,
            reason: reason.into(),
        }
    }

    /// Returns an error of no special kind.
    pub(in crate::git) fn other(reason: impl Into<String>) -> Failure {
        Failure::new(Kind::Other, reason)
    }
}

/// Error texts of git, ssh and curl, in small letters, with their kinds. The first that occurs counts:
/// after a refused key, git reports a missing repository, too.
const WORDS: &[(&str, Kind)] = &[
    ("host key verification failed", Kind::HostKey),
    ("remote host identification has changed", Kind::HostKey),
    ("host key is known for", Kind::HostKey),
    ("certificate", Kind::HostKey),
    ("authentication failed", Kind::Denied),
    ("could not read username", Kind::Denied),
    ("could not read password", Kind::Denied),
    ("terminal prompts disabled", Kind::Denied),
    ("unable to get password", Kind::Denied),
    ("permission denied", Kind::Denied),
    ("access denied", Kind::Denied),
    ("returned error: 401", Kind::Denied),
    ("returned error: 403", Kind::Denied),
    ("too many authentication failures", Kind::Denied),
    ("no supported authentication methods", Kind::Denied),
    ("denied to", Kind::Denied),
    ("not allowed to", Kind::Denied),
    ("marked as read only", Kind::Denied),
    ("write access to repository not granted", Kind::Denied),
    ("could not resolve", Kind::Offline),
    ("couldn't resolve", Kind::Offline),
    ("name or service not known", Kind::Offline),
    ("failure in name resolution", Kind::Offline),
    ("couldn't connect", Kind::Offline),
    ("could not connect", Kind::Offline),
    ("failed to connect", Kind::Offline),
    ("connection refused", Kind::Offline),
    ("connection reset", Kind::Offline),
    ("connection timed out", Kind::Offline),
    ("connection closed", Kind::Offline),
    ("connection was closed", Kind::Offline),
    ("operation timed out", Kind::Offline),
    ("operation too slow", Kind::Offline),
    ("timed out", Kind::Offline),
    ("not responding", Kind::Offline),
    ("network is unreachable", Kind::Offline),
    ("no route to host", Kind::Offline),
    ("empty reply from server", Kind::Offline),
    ("returned error: 429", Kind::Offline),
    ("returned error: 5", Kind::Offline),
    ("proxy connect aborted", Kind::Offline),
    ("recv failure", Kind::Offline),
    ("repository not found", Kind::NotFound),
    ("' not found", Kind::NotFound),
    ("returned error: 404", Kind::NotFound),
    ("could not be found", Kind::NotFound),
    ("does not appear to be a git repository", Kind::NotFound),
    ("no such repository", Kind::NotFound),
    ("file too large", Kind::TooLarge),
    ("died of signal 25", Kind::TooLarge),
    ("file size limit exceeded", Kind::TooLarge),
    ("exceeds maximum allowed size", Kind::TooLarge),
    // Texts of a connection that ends in the middle, which also follow those above.
    ("early eof", Kind::Offline),
    ("unexpected eof", Kind::Offline),
    ("unexpected disconnect", Kind::Offline),
    ("remote end hung up", Kind::Offline),
    ("transfer closed", Kind::Offline),
    ("rpc failed", Kind::Offline),
    ("partial file", Kind::Offline),
    ("end of file", Kind::Offline),
    ("bad band", Kind::Offline),
];

/// Returns the error in a program's standard error, unredacted.
pub(in crate::git) fn classify(stderr: &str) -> Failure {
    let lines: Vec<&str> = stderr
        .split(['\n', '\r'])
        .map(|line| line.trim_matches(|c: char| c.is_whitespace() || c == '@'))
        .filter(|line| !line.is_empty())
        .collect();
    for (words, kind) in WORDS {
        let found = lines
            .iter()
            .find(|line| line.to_ascii_lowercase().contains(words));
        if let Some(line) = found {
            return Failure::new(*kind, one_line(line));
        }
    }
    let is_error = |line: &&&str| line.starts_with("fatal: ") || line.starts_with("error: ");
    let line = lines.iter().rfind(is_error).or(lines.last());
    Failure::other(line.map_or_else(|| "it said nothing".to_owned(), |line| one_line(line)))
}

/// Returns a text as one line of at most 300 characters, without control characters.
pub(in crate::git) fn one_line(text: &str) -> String {
    let text = text
        .trim()
        .trim_start_matches("fatal: ")
        .trim_start_matches("error: ");
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    let line = words.join(" ");
    match line.char_indices().nth(300) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stderr: &str, kind: Kind, reason: &str) {
        assert_eq!(classify(stderr), Failure::new(kind, reason));
    }

    #[test]
    fn what_git_and_ssh_say_is_understood() {
        check(
            "Host key verification failed.\r\nfatal: Could not read from remote repository.\n\n\
             Please make sure you have the correct access rights\nand the repository exists.\n",
            Kind::HostKey,
            "Host key verification failed.",
        );
        check(
            "@@@@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n@@@@@@@\nx\n",
            Kind::HostKey,
            "WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!",
        );
        check(
            "fatal: unable to access 'https://x/': SSL certificate problem: self-signed",
            Kind::HostKey,
            "unable to access 'https://x/': SSL certificate problem: self-signed",
        );
        check(
            "git@x: Permission denied (publickey).\nfatal: Could not read from remote repository.",
            Kind::Denied,
            "git@x: Permission denied (publickey).",
        );
        check(
            "error: unable to read askpass response from '/bin/memdir'\n\
             fatal: could not read Username for 'https://x': terminal prompts disabled",
            Kind::Denied,
            "could not read Username for 'https://x': terminal prompts disabled",
        );
        check(
            "fatal: unable to access 'https://x/': Could not resolve host: x",
            Kind::Offline,
            "unable to access 'https://x/': Could not resolve host: x",
        );
        check(
            "ssh: connect to host x port 22: Connection refused\nfatal: Could not read",
            Kind::Offline,
            "ssh: connect to host x port 22: Connection refused",
        );
        check(
            "remote: Repository not found.\nfatal: repository 'https://x/' not found",
            Kind::NotFound,
            "remote: Repository not found.",
        );
        check(
            "fatal: write error: File too large\nfatal: fetch-pack: invalid index-pack output",
            Kind::TooLarge,
            "write error: File too large",
        );
        check("fatal: a\nfatal: b\nhint: c\n", Kind::Other, "b");
        check("", Kind::Other, "it said nothing");
    }

    #[test]
    fn a_message_is_one_short_line() {
        assert_eq!(one_line("error: a\u{1b}[2Jb\tc\n d\n"), "a [2Jb c d");
        assert_eq!(one_line(&"ä".repeat(1000)).chars().count(), 301);
    }
}

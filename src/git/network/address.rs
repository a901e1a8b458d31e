//! The address of a remote, validated when it is parsed.
//!
//! An address comes from a person, a settings file or an environment variable, and ends up in the
//! argument vector of a program. [`Address`] therefore accepts a short list of forms and refuses
//! the rest: nothing that git could take for an option, for the name of a helper program or for
//! another protocol; nothing that a terminal could take for a command; no secret. Neither an
//! address nor an [`AddressError`] holds a text that must not be shown. Whether the remote exists is
//! not checked here.

use std::borrow::Cow;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

use percent_encoding::percent_decode_str;

/// Maximum length of an address: longer than any path of a forge.
const MAX_BYTES: usize = 2048;

/// The protocol of a remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Https,
    /// For this machine only: passwords are sent in plain text.
    Http,
    Ssh,
    /// A folder of this machine.
    Local,
}

/// The address of a remote. Holds no secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    scheme: Scheme,
    user: Option<String>,
    /// In small letters; an IPv6 address without its brackets. Empty for a local path.
    host: String,
    port: Option<u16>,
    /// Path for the server, percent-decoded where git decodes it.
    path: String,
    /// The whole address, as it is passed to git.
    text: String,
}

/// Reason why a text is no address that memdir uses. Never holds a part of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("the address is empty")]
    Empty,
    #[error("the address is longer than 2048 bytes")]
    TooLong,
    #[error("the address holds a control character or an invisible one")]
    Control,
    #[error("the address holds a blank")]
    Blank,
    #[error("the address holds a backslash")]
    Backslash,
    #[error("the {0} begins with a dash")]
    Dash(&'static str),
    #[error("the address names a helper program of git")]
    Helper,
    #[error("addresses of the kind {0} are not used")]
    Kind(&'static str),
    #[error("plain http is used to this machine only")]
    Plain,
    #[error("the address holds a password, a token or a user name")]
    Credentials,
    #[error("the user name in the address is not valid")]
    User,
    #[error("the address names no valid host")]
    Host,
    #[error("the port in the address is not valid")]
    Port,
    #[error("the address names no path")]
    NoPath,
    #[error("the path in the address is not valid")]
    Path,
    #[error("the address has a query or a fragment")]
    Query,
    #[error("remotes on this machine are not allowed")]
    Local,
    #[error("the path of the remote is not absolute")]
    Relative,
}

impl AddressError {
    /// Returns a hint for the user, as a sentence.
    pub fn hint(self) -> &'static str {
        match self {
            AddressError::Credentials => {
                "Leave out everything before the @, and store the password with a git credential \
                 helper or set MEMDIR_GIT_TOKEN."
            }
            AddressError::Plain => "Use https://, or ssh.",
            AddressError::Local => {
                "Write https://host/path, ssh://user@host/path or user@host:path; a remote on \
                 this machine needs --allow-local, as in `memdir sync --setup ADDRESS --allow-local`."
            }
            AddressError::Query => "Leave out everything from the ? or # on.",
            AddressError::Relative => "Write the whole path.",
            AddressError::User => "Write ssh://host/path or user@host:path.",
            AddressError::Path => {
                "Letters, digits, and - _ . ~ + @ % : , / may occur in the path of a remote."
            }
            _ => "Write https://host/path, ssh://user@host/path or user@host:path.",
        }
    }
}

impl Address {
    /// Parses an address: `https://host[:port]/path`, `ssh://[user@]host[:port]/path`,
    /// `user@host:path`; and if `allow_local`, `file:///path`, an absolute path, and `http://` to
    /// this machine.
    ///
    /// # Errors
    ///
    /// Fails with the first thing that is wrong with anything else.
    pub fn parse(text: &str, allow_local: bool) -> Result<Address, AddressError> {
        parse(text, allow_local, None)
    }

    /// Parses an address that may be a path relative to `folder`.
    ///
    /// # Errors
    ///
    /// As [`Address::parse`].
    pub fn parse_in(folder: &Path, text: &str, allow_local: bool) -> Result<Address, AddressError> {
        parse(text, allow_local, Some(folder))
    }

    /// Returns the protocol.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Returns the host in small letters, an IPv6 address without brackets. `None` for a local path.
    pub fn host(&self) -> Option<&str> {
        (self.scheme != Scheme::Local).then_some(self.host.as_str())
    }

    /// Returns the port, if there is one.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Returns the user of an ssh address, if there is one.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Returns the path for the server.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns whether the remote is a folder of this machine.
    pub fn is_local(&self) -> bool {
        self.scheme == Scheme::Local
    }

    /// Returns whether the protocol is https or http.
    pub fn is_http(&self) -> bool {
        matches!(self.scheme, Scheme::Https | Scheme::Http)
    }

    /// Returns the address for git. It never begins with a dash, and only a local path has blanks.
    pub fn for_git(&self) -> &str {
        &self.text
    }

    /// Returns scheme, host and port of an https or http address: `https://git.example`.
    pub fn origin(&self) -> Option<String> {
        let scheme = match self.scheme {
            Scheme::Https => "https",
            Scheme::Http => "http",
            Scheme::Ssh | Scheme::Local => return None,
        };
        Some(format!("{scheme}://{}", place_of(&self.host, self.port)))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({})", self.text)
    }
}

fn parse(text: &str, allow_local: bool, folder: Option<&Path>) -> Result<Address, AddressError> {
    if text.is_empty() {
        return Err(AddressError::Empty);
    }
    if text.len() > MAX_BYTES {
        return Err(AddressError::TooLong);
    }
    if text.chars().any(is_unseen) {
        return Err(AddressError::Control);
    }
    if text.starts_with('-') {
        return Err(AddressError::Dash("address"));
    }
    let text = &with_slashes(text);
    if text.contains('\\') {
        return Err(AddressError::Backslash);
    }
    if text.trim() != text {
        return Err(AddressError::Blank);
    }
    let word = text
        .find(|c: char| !is_scheme_char(c))
        .unwrap_or(text.len());
    if text[word..].starts_with("::") {
        return Err(AddressError::Helper);
    }
    if let Some(rest) = text[word..].strip_prefix("://") {
        return parse_url(&text[..word].to_ascii_lowercase(), rest, allow_local);
    }
    match colon_of_scp(text) {
        Some(colon) if !is_drive(text, colon) => parse_scp(&text[..colon], &text[colon + 1..]),
        _ => parse_local(text, allow_local, folder),
    }
}

fn parse_url(scheme: &str, rest: &str, allow_local: bool) -> Result<Address, AddressError> {
    let kind = match scheme {
        "https" => Scheme::Https,
        "http" => Scheme::Http,
        "ssh" => Scheme::Ssh,
        "file" => return parse_file(rest, allow_local),
        "git" => return Err(AddressError::Kind("git://")),
        "ftp" | "ftps" => return Err(AddressError::Kind("ftp://")),
        "git+ssh" | "ssh+git" => return Err(AddressError::Kind("git+ssh://")),
        _ => return Err(AddressError::Kind("that it has")),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (user, place) = match authority.rsplit_once('@') {
        Some((user, place)) => (Some(user), place),
        None => (None, authority),
    };
    // A password with a slash in it: the text looks like a port and a path.
    let is_cut_password = port_of(place).is_err() && path.contains('@');
    if is_cut_password || user.is_some_and(|user| kind != Scheme::Ssh || user.contains(':')) {
        return Err(AddressError::Credentials);
    }
    if rest.contains(char::is_whitespace) {
        return Err(AddressError::Blank);
    }
    let user = user.map(checked_user).transpose()?;
    let (host, port) = port_of(place)?;
    let host = checked_host(host)?;
    if kind == Scheme::Http && !is_this_machine(&host) {
        return Err(AddressError::Plain);
    }
    if kind == Scheme::Http && !allow_local {
        return Err(AddressError::Local);
    }
    if path.contains(['?', '#']) {
        return Err(AddressError::Query);
    }
    if path.trim_matches('/').is_empty() {
        return Err(AddressError::NoPath);
    }
    checked_path(path)?;
    let plain = decoded(path)?;
    let name = user.as_deref().map(|user| format!("{user}@"));
    let text = format!(
        "{scheme}://{}{}{path}",
        name.unwrap_or_default(),
        place_of(&host, port)
    );
    // git and its servers read `/~name` as that user's home.
    let path = match kind {
        Scheme::Ssh if plain.starts_with("/~") => plain[1..].to_owned(),
        Scheme::Ssh => plain,
        _ => path.to_owned(),
    };
    Ok(Address {
        scheme: kind,
        user,
        host,
        port,
        path,
        text,
    })
}

/// Parses `user@host:path`, from the texts before and after the colon.
fn parse_scp(before: &str, path: &str) -> Result<Address, AddressError> {
    let Some((user, host)) = before.rsplit_once('@') else {
        // `user:password@host:path`, or a web address whose slashes were lost.
        return Err(if path.contains('@') {
            AddressError::Credentials
        } else {
            AddressError::User
        });
    };
    if before.contains(char::is_whitespace) || path.contains(char::is_whitespace) {
        return Err(AddressError::Blank);
    }
    let user = checked_user(user)?;
    let host = checked_host(host)?;
    if path.trim_matches('/').is_empty() {
        return Err(AddressError::NoPath);
    }
    if path.starts_with('-') {
        return Err(AddressError::Dash("path"));
    }
    if path.contains(['?', '#']) {
        return Err(AddressError::Query);
    }
    checked_path(path)?;
    Ok(Address {
        scheme: Scheme::Ssh,
        text: format!("{user}@{}:{path}", place_of(&host, None)),
        user: Some(user),
        host,
        port: None,
        path: path.to_owned(),
    })
}

/// Parses the text after `file://`.
fn parse_file(rest: &str, allow_local: bool) -> Result<Address, AddressError> {
    if !allow_local {
        return Err(AddressError::Local);
    }
    if !rest.starts_with('/') {
        return Err(AddressError::Host);
    }
    let path = decoded(rest)?;
    let path = match path.strip_prefix('/') {
        Some(drive) if cfg!(windows) && is_drive(drive, 1) => drive,
        _ => &path,
    };
    parse_local(path, allow_local, None)
}

fn parse_local(
    text: &str,
    allow_local: bool,
    folder: Option<&Path>,
) -> Result<Address, AddressError> {
    if !allow_local {
        return Err(AddressError::Local);
    }
    // A shell would have replaced it with the home folder.
    if text.starts_with('~') {
        return Err(AddressError::Relative);
    }
    if text.contains(|c: char| c.is_whitespace() && c != ' ') {
        return Err(AddressError::Blank);
    }
    let path = match folder {
        Some(folder) => folder.join(text),
        None => Path::new(text).to_owned(),
    };
    if !path.is_absolute() {
        return Err(AddressError::Relative);
    }
    let path = path.to_str().ok_or(AddressError::Path)?;
    let path = with_slashes(path);
    // `folder` was not checked with the text.
    if path.chars().any(is_unseen) {
        return Err(AddressError::Path);
    }
    Ok(Address {
        scheme: Scheme::Local,
        user: None,
        host: String::new(),
        port: None,
        path: path.clone().into_owned(),
        text: path.into_owned(),
    })
}

/// Returns whether a character is invisible, or changes the direction of the text.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

fn is_scheme_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_')
}

/// Finds the colon between host and path as git does: before the first slash, outside of brackets.
fn colon_of_scp(text: &str) -> Option<usize> {
    let brackets = text
        .find("]:")
        .filter(|end| text.find('[').is_some_and(|begin| begin < *end))
        .map(|end| end + 1);
    let colon = brackets.or_else(|| text.find(':'))?;
    let slash = text.find('/').unwrap_or(text.len());
    (colon < slash).then_some(colon)
}

/// Returns whether a text begins with a drive letter of Windows, and is therefore a path there.
fn is_drive(text: &str, colon: usize) -> bool {
    cfg!(windows) && colon == 1 && text.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// Returns a path of Windows such as `C:\memories.git` with slashes, as git has it; else the text.
fn with_slashes(text: &str) -> Cow<'_, str> {
    match text.find(':').is_some_and(|colon| is_drive(text, colon)) {
        true => Cow::Owned(text.replace('\\', "/")),
        false => Cow::Borrowed(text),
    }
}

fn checked_user(user: &str) -> Result<String, AddressError> {
    if user.starts_with('-') {
        return Err(AddressError::Dash("user name"));
    }
    if user.contains(':') {
        return Err(AddressError::Credentials);
    }
    let is_fine = !user.is_empty()
        && user.len() <= 64
        && user
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+'));
    is_fine.then(|| user.to_owned()).ok_or(AddressError::User)
}

/// Splits `host:port`; brackets stay around an IPv6 address.
fn port_of(place: &str) -> Result<(&str, Option<u16>), AddressError> {
    let after_brackets = match place.rfind(']') {
        Some(end) => end + 1,
        None if place.starts_with('[') => return Err(AddressError::Host),
        None => 0,
    };
    let Some(colon) = place[after_brackets..].find(':') else {
        return Ok((place, None));
    };
    let (host, port) = place.split_at(after_brackets + colon);
    let digits = &port[1..];
    let port = digits
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| digits.parse::<u16>().ok())
        .flatten()
        .filter(|port| *port > 0);
    Ok((host, Some(port.ok_or(AddressError::Port)?)))
}

fn checked_host(host: &str) -> Result<String, AddressError> {
    if host.starts_with('-') {
        return Err(AddressError::Dash("host"));
    }
    if let Some(inner) = host.strip_prefix('[') {
        let inner = inner.strip_suffix(']').ok_or(AddressError::Host)?;
        let address: Ipv6Addr = inner.parse().map_err(|_| AddressError::Host)?;
        return Ok(address.to_string());
    }
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    if host.len() > 253 || !host.split('.').all(is_label) {
        return Err(AddressError::Host);
    }
    Ok(host.to_ascii_lowercase())
}

fn is_this_machine(host: &str) -> bool {
    host == "localhost"
        || host == Ipv4Addr::LOCALHOST.to_string()
        || host == Ipv6Addr::LOCALHOST.to_string()
}

/// Checks the characters of a remote's path. Those with a meaning for a shell are refused: ssh servers
/// start one.
fn checked_path(path: &str) -> Result<(), AddressError> {
    let is_fine = |c: char| {
        c.is_alphanumeric()
            || matches!(c, '/' | '-' | '_' | '.' | '~' | '+' | '@' | '%' | ':' | ',')
    };
    if path.chars().all(is_fine) {
        Ok(())
    } else {
        Err(AddressError::Path)
    }
}

/// Percent-decodes a path as git does, and checks the decoded characters.
fn decoded(path: &str) -> Result<String, AddressError> {
    let is_byte = |after: &str| {
        let digits = after.as_bytes().get(..2);
        digits.is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
    };
    if !path.split('%').skip(1).all(is_byte) {
        return Err(AddressError::Path);
    }
    let text = percent_decode_str(path).decode_utf8();
    let text = text.map_err(|_| AddressError::Path)?.into_owned();
    let is_harmless = !text.chars().any(is_unseen) && !text.contains(['\\', '\'', '"', '`', '$']);
    is_harmless.then_some(text).ok_or(AddressError::Path)
}

/// Returns `host[:port]`, with brackets around an IPv6 address.
fn place_of(host: &str, port: Option<u16>) -> String {
    let host = if host.contains(':') {
        format!("[{host}]")
    } else {
        host.to_owned()
    };
    match port {
        Some(port) => format!("{host}:{port}"),
        None => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn accepts(text: &str, for_git: &str) -> Address {
        let address = Address::parse(text, false).unwrap();
        assert_eq!(address.for_git(), for_git);
        address
    }

    #[test]
    fn addresses_of_forges_are_accepted() {
        accepts(
            "https://github.com/team/notes.git",
            "https://github.com/team/notes.git",
        );
        accepts("HTTPS://GitHub.COM/Team/x", "https://github.com/Team/x");
        accepts(
            "https://git.example:8443/a/b",
            "https://git.example:8443/a/b",
        );
        accepts(
            "https://[2001:DB8::1]:8443/a",
            "https://[2001:db8::1]:8443/a",
        );
        accepts(
            "https://dev.example/My%20Team/_git/x",
            "https://dev.example/My%20Team/_git/x",
        );
        accepts("https://git.example/~anna/x", "https://git.example/~anna/x");
        accepts(
            "https://git.example/@scope/x",
            "https://git.example/@scope/x",
        );
        accepts("ssh://git.example/srv/x.git", "ssh://git.example/srv/x.git");
        accepts(
            "ssh://git@git.example:2222/x",
            "ssh://git@git.example:2222/x",
        );
        accepts(
            "git@github.com:team/notes.git",
            "git@github.com:team/notes.git",
        );
        accepts("git@[::1]:notes", "git@[::1]:notes");
        accepts("anna@my_host:/srv/x", "anna@my_host:/srv/x");
    }

    #[test]
    fn the_parts_of_an_address_can_be_asked_for() {
        let address = accepts(
            "ssh://git@git.example:2222/~anna/x%20y",
            "ssh://git@git.example:2222/~anna/x%20y",
        );
        assert_eq!(address.scheme(), Scheme::Ssh);
        assert_eq!(address.user(), Some("git"));
        assert_eq!(address.host(), Some("git.example"));
        assert_eq!(address.port(), Some(2222));
        assert_eq!(address.path(), "~anna/x y");
        assert_eq!(address.origin(), None);
        let address = Address::parse("http://[::1]:80/x", true).unwrap();
        assert_eq!(address.host(), Some("::1"));
        assert_eq!(address.origin().as_deref(), Some("http://[::1]:80"));
        assert!(address.is_http() && !address.is_local());
    }

    /// The text before an absolute path: Windows has a drive there.
    const DRIVE: &str = if cfg!(windows) { "C:" } else { "" };
    /// The text of an address of a file before that.
    const FILE_SCHEME: &str = if cfg!(windows) { "file:///" } else { "file://" };

    #[test]
    fn what_is_on_this_machine_has_to_be_allowed() {
        for text in [
            &format!("{FILE_SCHEME}{DRIVE}/srv/x.git")[..],
            "/srv/x.git",
            "./x.git",
            "x",
            "http://127.0.0.1:80/x",
            "http://localhost/x",
            "http://[::1]/x",
        ] {
            let refused = Address::parse(text, false).unwrap_err();
            assert_eq!(refused, AddressError::Local, "{text}");
            assert!(refused.hint().contains("--allow-local"), "{text}");
            let folder = std::env::temp_dir();
            assert!(Address::parse_in(&folder, text, true).is_ok(), "{text}");
        }
        let folder = std::path::PathBuf::from(format!("{DRIVE}/home/anna"));
        let address = Address::parse_in(&folder, "../x.git", true).unwrap();
        assert_eq!(address.for_git(), format!("{DRIVE}/home/anna/../x.git"));
        assert_eq!(address.host(), None);
        let text = format!("{FILE_SCHEME}{DRIVE}/srv/My%20x.git");
        let address = Address::parse(&text, true).unwrap();
        assert_eq!(address.for_git(), format!("{DRIVE}/srv/My x.git"));
        assert!(address.is_local());
    }

    #[test]
    fn nothing_in_an_address_is_an_option_to_git_or_ssh() {
        for text in [
            "ssh://a/-x",
            "https://a/-x",
            &format!("{DRIVE}/-x"),
            "a@b:x/-x",
            "ssh://a/~-x",
        ] {
            let address = Address::parse(text, true).unwrap();
            assert!(!address.for_git().starts_with('-'), "{text}");
            assert!(!address.path().starts_with('-'), "{text}");
        }
    }
}

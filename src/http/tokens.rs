//! The tokens that open the HTTP interface: a file of lines, for the owner's eyes only.
//!
//! Promises: a token has 256 random bits; the file has mode 0600; what a request shows is compared
//! in a time that tells nothing; a change of the file holds from the next request on. A token stands
//! in no address, log, error or list of processes.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use std::{fmt, fs, io};

use super::proof::{Key, nonce};
use crate::files::{FilesError, Lock};

/// Prefix of tokens, by which people and scanners recognize them.
pub const PREFIX: &str = "memdir_";

/// Name of the token that is created if there is none.
pub const FIRST: &str = "default";

const FILE: &str = "tokens";
const LONGEST_NAME: usize = 64;

/// Rights of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    ReadWrite,
    ReadOnly,
}

impl Rights {
    pub fn as_str(self) -> &'static str {
        match self {
            Rights::ReadWrite => "read-write",
            Rights::ReadOnly => "read-only",
        }
    }
}

/// A token of the file.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// Name, unique in the file.
    pub name: String,
    pub rights: Rights,
    /// Secret; shown only on request.
    pub secret: String,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({}, {})", self.name, self.rights.as_str())
    }
}

/// Error of reading or changing the tokens.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("cannot read the tokens in {}", .0.display())]
    Read(PathBuf, #[source] io::Error),
    #[error("cannot write the tokens to {}", .0.display())]
    Write(PathBuf, #[source] io::Error),
    #[error("{} can be read by others: make it yours alone (chmod 600)", .0.display())]
    Open(PathBuf),
    #[error("line {line} of {} is no token: NAME read-write|read-only SECRET", path.display())]
    Line { path: PathBuf, line: usize },
    #[error("there is a token `{0}` already")]
    Exists(String),
    #[error("there is no token `{0}`")]
    Missing(String),
    #[error("a token's name has 1 to {LONGEST_NAME} letters, digits, dots, dashes and underscores")]
    Name,
    #[error("cannot change the tokens")]
    Busy(#[source] FilesError),
    #[error("this system gives no random bytes: {0}")]
    Random(getrandom::Error),
}

/// Returns the path of the token file of the store whose locks and index are in `state`.
pub fn path(state: &Path) -> PathBuf {
    state.join(FILE)
}

/// Reads all tokens of the file, in its order; none if there is no file.
///
/// # Errors
///
/// Fails if it cannot be read, can be read by others, or has a line that is no token: one that is
/// passed over might be the one that was meant to be taken away.
pub fn read(path: &Path) -> Result<Vec<Token>, TokenError> {
    let text = crate::files::read_derived(path).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    });
    let text = match text {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.map_err(|error| TokenError::Read(path.to_owned(), error))?,
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let meta = fs::metadata(path).map_err(|error| TokenError::Read(path.to_owned(), error))?;
        if meta.permissions().mode() & 0o077 != 0 {
            return Err(TokenError::Open(path.to_owned()));
        }
    }
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    lines
        .map(|(at, line)| {
            parse(line).ok_or_else(|| TokenError::Line {
                path: path.to_owned(),
                line: at + 1,
            })
        })
        .collect()
}

fn parse(line: &str) -> Option<Token> {
    let mut words = line.split_whitespace();
    let (name, rights, secret) = (words.next()?, words.next()?, words.next()?);
    let rights = match rights {
        "read-write" => Rights::ReadWrite,
        "read-only" => Rights::ReadOnly,
        _ => return None,
    };
    // A short one can be guessed.
    let is_whole = words.next().is_none() && secret.len() >= 32 && is_name(name);
    is_whole.then(|| Token {
        name: name.to_owned(),
        rights,
        secret: secret.to_owned(),
    })
}

fn is_name(name: &str) -> bool {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(is_fine)
}

fn write(path: &Path, tokens: &[Token]) -> Result<(), TokenError> {
    let mut text =
        "# Tokens of `memdir serve`: NAME RIGHTS SECRET. See `memdir token`.\n".to_owned();
    for token in tokens {
        let rights = token.rights.as_str();
        text.push_str(&format!("{} {rights} {}\n", token.name, token.secret));
    }
    crate::files::write_synced(path, text.as_bytes())
        .map_err(|error| TokenError::Write(path.to_owned(), error))
}

/// Returns a new random secret.
fn drawn() -> Result<String, TokenError> {
    let random = nonce().map_err(TokenError::Random)?;
    Ok(format!("{PREFIX}{random}"))
}

/// Takes the lock of the file: of two changes at once, one would be lost, and a removed token be valid again.
fn lock(path: &Path) -> Result<Lock, TokenError> {
    Lock::take(&path.with_extension("lock"), "another change of the tokens")
        .map_err(TokenError::Busy)
}

/// Adds a token called `name`.
///
/// # Errors
///
/// Fails if there is one of that name, or if the file cannot be read and written.
pub fn add(path: &Path, name: &str, rights: Rights) -> Result<Token, TokenError> {
    if !is_name(name) {
        return Err(TokenError::Name);
    }
    let _alone = lock(path)?;
    let mut tokens = read(path)?;
    if tokens.iter().any(|token| token.name == name) {
        return Err(TokenError::Exists(name.to_owned()));
    }
    let token = Token {
        name: name.to_owned(),
        rights,
        secret: drawn()?,
    };
    tokens.push(token.clone());
    write(path, &tokens)?;
    Ok(token)
}

/// Adds a first token if there is none; another process may do the same.
///
/// # Errors
///
/// Fails if the file cannot be read and written.
pub fn first(path: &Path) -> Result<(), TokenError> {
    if !read(path)?.is_empty() {
        return Ok(());
    }
    match add(path, FIRST, Rights::ReadWrite) {
        Err(TokenError::Exists(_)) => Ok(()),
        other => other.map(drop),
    }
}

/// Replaces the secret of the token called `name`; the former one is invalid at once.
///
/// # Errors
///
/// Fails if there is none, or if the file cannot be read and written.
pub fn rotate(path: &Path, name: &str) -> Result<Token, TokenError> {
    let _alone = lock(path)?;
    let mut tokens = read(path)?;
    let mut named = tokens.iter_mut().filter(|token| token.name == name);
    let Some(token) = named.next() else {
        return Err(TokenError::Missing(name.to_owned()));
    };
    token.secret = drawn()?;
    let token = token.clone();
    write(path, &tokens)?;
    Ok(token)
}

/// Removes the token called `name`.
///
/// # Errors
///
/// As for [`rotate`].
pub fn remove(path: &Path, name: &str) -> Result<(), TokenError> {
    let _alone = lock(path)?;
    let mut tokens = read(path)?;
    let count = tokens.len();
    tokens.retain(|token| token.name != name);
    if tokens.len() == count {
        return Err(TokenError::Missing(name.to_owned()));
    }
    write(path, &tokens)
}

/// Tokens of a server: a cache of the file, which is read again whenever it changes.
pub struct Tokens {
    path: PathBuf,
    known: Mutex<CachedTokens>,
}

#[derive(Default)]
struct CachedTokens {
    stamp: Option<Stamp>,
    tokens: Vec<KnownToken>,
}

/// A token in a server's cache.
#[derive(Clone)]
pub struct KnownToken {
    /// Hash of the secret, for comparisons whose duration reveals nothing of it.
    digest: blake3::Hash,
    /// Key of proofs.
    pub key: Key,
    id: String,
    pub name: Arc<str>,
    pub rights: Rights,
}

/// Identifies one version of the file.
#[derive(PartialEq, Eq, Clone)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    inode: u64,
}

impl Stamp {
    fn of(meta: &Metadata) -> Stamp {
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(meta);
        #[cfg(not(unix))]
        let inode = 0;
        Stamp {
            modified: meta.modified().ok(),
            length: meta.len(),
            inode,
        }
    }
}

impl Tokens {
    /// Opens the tokens in the file at `path`; creates a first one if there is none.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or made.
    pub fn open(path: PathBuf) -> Result<Tokens, TokenError> {
        first(&path)?;
        let tokens = Tokens {
            path,
            known: Mutex::default(),
        };
        tokens.refresh(&mut tokens.known.lock().unwrap_or_else(PoisonError::into_inner))?;
        Ok(tokens)
    }

    fn refresh(&self, known: &mut CachedTokens) -> Result<(), TokenError> {
        let stamp = fs::metadata(&self.path).ok().map(|meta| Stamp::of(&meta));
        if stamp.is_some() && stamp == known.stamp {
            return Ok(());
        }
        // Whatever cannot be read now opens nothing.
        *known = CachedTokens::default();
        let tokens = read(&self.path)?.into_iter();
        known.tokens = tokens
            .map(|token| {
                let key = Key::of(&token.secret);
                KnownToken {
                    digest: blake3::hash(token.secret.as_bytes()),
                    id: key.id(),
                    key,
                    name: token.name.into(),
                    rights: token.rights,
                }
            })
            .collect();
        known.stamp = stamp;
        Ok(())
    }

    /// Returns the tokens, read again if the file has changed.
    fn known(&self) -> MutexGuard<'_, CachedTokens> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = self.refresh(&mut known) {
            tracing::error!("no token is valid: {error}");
        }
        known
    }

    /// Returns the token with this [identifier](Key::id).
    pub fn with_id(&self, id: &str) -> Option<KnownToken> {
        let known = self.known();
        known.tokens.iter().find(|token| token.id == id).cloned()
    }

    /// Returns name and rights of the token with this secret.
    pub fn who(&self, secret: &str) -> Option<(Arc<str>, Rights)> {
        let known = self.known();
        let shown = blake3::hash(secret.as_bytes());
        // All are compared, each in constant time, which the digests' `==` is.
        let mut found = None;
        for token in &known.tokens {
            if token.digest == shown {
                found = Some((Arc::clone(&token.name), token.rights));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn a_first_token_is_made_and_opens() {
        let folder = folder();
        let path = path(folder.path());
        let tokens = Tokens::open(path.clone()).unwrap();
        let made = read(&path).unwrap();
        assert_eq!(made.len(), 1);
        assert_eq!(made[0].secret.len(), PREFIX.len() + 64);
        let (name, rights) = tokens.who(&made[0].secret).unwrap();
        assert_eq!((&*name, rights), (FIRST, Rights::ReadWrite));
        assert!(tokens.who("").is_none() && tokens.who(PREFIX).is_none());
        assert!(!format!("{made:?}").contains(&made[0].secret));
    }

    #[test]
    fn what_is_rotated_or_removed_opens_no_more_from_the_next_request_on() {
        let folder = folder();
        let path = path(folder.path());
        let tokens = Tokens::open(path.clone()).unwrap();
        let reader = add(&path, "reader", Rights::ReadOnly).unwrap();
        assert_eq!(tokens.who(&reader.secret).unwrap().1, Rights::ReadOnly);
        let newer = rotate(&path, "reader").unwrap();
        assert!(tokens.who(&reader.secret).is_none());
        assert!(tokens.who(&newer.secret).is_some());
        remove(&path, "reader").unwrap();
        assert!(tokens.who(&newer.secret).is_none());
        assert!(matches!(
            remove(&path, "reader"),
            Err(TokenError::Missing(_))
        ));
        assert!(matches!(
            add(&path, "a b", Rights::ReadOnly),
            Err(TokenError::Name)
        ));
        assert!(matches!(
            add(&path, FIRST, Rights::ReadOnly),
            Err(TokenError::Exists(_))
        ));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_opens_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder();
        let path = path(folder.path());
        let tokens = Tokens::open(path.clone()).unwrap();
        let secret = read(&path).unwrap().remove(0).secret;
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        assert!(matches!(read(&path), Err(TokenError::Open(_))));
        // The stamp of the file is the same; the next change of it is seen.
        fs::write(&path, "x\n").unwrap();
        assert!(tokens.who(&secret).is_none());
    }
}

//! Codes that log a browser in, each valid once and for a quarter of an hour.
//!
//! A code is a file in the store's private folder of derived files, which holds no more than its hash: whoever can
//! write there owns the store. So `memdir open` needs to ask no server for one.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use crate::http::proof::nonce;
use crate::http::tokens::Rights;

/// Time for which a code is valid.
const VALID: Duration = Duration::from_secs(15 * 60);

/// Beginning of the names of the files.
const PREFIX: &str = "login-";

/// Number of characters of a code: 96 random bits.
const LENGTH: usize = 24;

/// Makes a code for a session with these rights, for the store with the derived files in `state`.
///
/// # Errors
///
/// Fails if it cannot be kept.
pub fn make(state: &Path, rights: Rights) -> io::Result<String> {
    remove_old(state);
    let random = nonce().map_err(|error| io::Error::other(error.to_string()))?;
    let code = random[..LENGTH].to_owned();
    crate::files::write_derived(&path_of(state, &code), rights.as_str().as_bytes())?;
    Ok(code)
}

/// Returns the rights of a code, which is used up then; `None` if it is not valid.
pub(in crate::http) fn redeem(state: &Path, code: &str) -> Option<Rights> {
    let path = path_of(state, code.trim());
    let is_old = age(&path).is_none_or(|age| age > VALID);
    // Of several that show the same code one removes the file.
    let rights = crate::files::take_derived(&path).ok()?;
    match rights.as_slice() {
        _ if is_old => None,
        rights if rights == Rights::ReadWrite.as_str().as_bytes() => Some(Rights::ReadWrite),
        rights if rights == Rights::ReadOnly.as_str().as_bytes() => Some(Rights::ReadOnly),
        _ => None,
    }
}

fn path_of(state: &Path, code: &str) -> PathBuf {
    let hash = blake3::hash(code.as_bytes()).to_hex();
    state.join(format!("{PREFIX}{}", &hash.as_str()[..32]))
}

/// Returns the age of a file; of one that is dated in the future, none.
fn age(path: &Path) -> Option<Duration> {
    fs::metadata(path).ok()?.modified().ok()?.elapsed().ok()
}

/// Removes codes that nobody used in time.
fn remove_old(state: &Path) {
    for name in crate::files::names_in(state).unwrap_or_default() {
        let path = state.join(&name);
        if name.starts_with(PREFIX) && age(&path).is_some_and(|age| age > VALID) {
            let _ = crate::files::remove_derived(&path); // It is not valid, either way.
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_code_is_valid_once_and_for_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path();
        let code = make(state, Rights::ReadOnly).unwrap();
        assert_eq!(redeem(state, "0123456789abcdef01234567"), None);
        assert_eq!(redeem(state, &code), Some(Rights::ReadOnly));
        assert_eq!(redeem(state, &code), None);
        let old = make(state, Rights::ReadWrite).unwrap();
        let file = fs::File::options()
            .append(true)
            .open(path_of(state, &old))
            .unwrap();
        file.set_modified(SystemTime::now() - VALID - Duration::from_secs(1))
            .unwrap();
        assert_eq!(redeem(state, &old), None);
        let text: Vec<u8> = fs::read_dir(state)
            .unwrap()
            .flat_map(|entry| fs::read(entry.unwrap().path()).unwrap())
            .collect();
        assert!(!String::from_utf8_lossy(&text).contains(&code));
    }
}

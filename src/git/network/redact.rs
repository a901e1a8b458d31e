//! Redaction of secrets in texts that are shown or logged.
//!
//! Messages of git, ssh and servers may repeat an address, and an address may hold a password although
//! [`Address`](crate::git::Address) refuses such: git itself rewrites addresses by the user's settings.
//! Too much is removed rather than too little. A secret without a known form can only be found by its
//! value: see [`Secrets`].

use std::fmt;

/// Text in place of a secret.
const GONE: &str = "***";

/// Prefixes of the tokens of forges.
const TOKENS: &[&str] = &[
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "gldt-",
    "glcbt-",
    "ATBB",
    "ATCTT",
];

/// Words before a secret, in small letters.
const NAMES: &[&str] = &[
    "authorization: basic ",
    "authorization: bearer ",
    "authorization: token ",
    "access_token=",
    "private_token=",
    "private-token: ",
    "password=",
    "token=",
];

/// Returns a text without the user names, passwords and tokens that stand in addresses, and
/// without what has the form of a token.
pub fn without_credentials(text: &str) -> String {
    let mut cleaned = without_named(text);
    cleaned = without_tokens(&cleaned);
    without_users(&cleaned)
}

/// Values that must not be shown, whatever they look like.
#[derive(Clone, Default)]
pub(in crate::git) struct Secrets(Vec<String>);

impl Secrets {
    /// Returns the set of `values`, without those of fewer than four bytes.
    pub(in crate::git) fn new(values: impl IntoIterator<Item = String>) -> Secrets {
        // Shorter ones would remove harmless letters from every message.
        Secrets(values.into_iter().filter(|v| v.len() >= 4).collect())
    }

    /// Returns a text without these values, and without credentials.
    pub(in crate::git) fn taken_out(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            text = text.replace(secret, GONE);
        }
        without_credentials(&text)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

fn is_end(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '\'' | '"' | '`' | '<' | '>')
}

/// Removes user names and passwords before the `@` of addresses.
fn without_users(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        cleaned.push_str(before);
        let address = &after[..after.find(is_end).unwrap_or(after.len())];
        let users = users_in(address);
        let user = &address[..users.saturating_sub(1)];
        let is_ssh = before.ends_with("ssh://") && !user.contains([':', '@', '/']);
        if users > 0 && is_ssh {
            cleaned.push_str(&address[..users]);
        } else if users > 0 {
            cleaned.push_str(GONE);
            cleaned.push('@');
        }
        rest = &after[users..];
    }
    cleaned.push_str(rest);
    cleaned
}

/// Returns the number of bytes of an address, after its `://`, that belong to users and passwords.
fn users_in(address: &str) -> usize {
    let end = address.find(['/', '?', '#']).unwrap_or(address.len());
    let authority = &address[..end];
    if let Some(at) = authority.rfind('@') {
        return at + 1;
    }
    // `user:pass/word@host`: what follows the colon is no port.
    let port = authority.rsplit(']').next().and_then(|p| p.split_once(':'));
    let is_port = port.is_none_or(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    if is_port {
        return 0;
    }
    address.rfind('@').map_or(0, |at| at + 1)
}

fn without_tokens(text: &str) -> String {
    let mut cleaned = text.to_owned();
    for token in TOKENS {
        let mut from = 0;
        while let Some(at) = cleaned[from..].find(token) {
            let begin = from + at;
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '=');
            let end = cleaned[begin..]
                .find(|c| !is_part(c))
                .map_or(cleaned.len(), |length| begin + length);
            // Words begin with these letters, too; tokens are longer.
            if end - begin >= token.len() + 8 {
                cleaned.replace_range(begin..end, GONE);
                from = begin + GONE.len();
            } else {
                from = end;
            }
        }
    }
    cleaned
}

fn without_named(text: &str) -> String {
    let mut cleaned = text.to_owned();
    for name in NAMES {
        let mut from = 0;
        while let Some(at) = cleaned.to_ascii_lowercase()[from..].find(name) {
            let begin = from + at + name.len();
            let end = cleaned[begin..]
                .find(|c| is_end(c) || c == '&')
                .map_or(cleaned.len(), |length| begin + length);
            cleaned.replace_range(begin..end, GONE);
            from = begin + GONE.len();
        }
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(without_credentials(text), expected);
    }

    #[test]
    fn users_and_passwords_leave_addresses() {
        check("https://u:SECRET@h/x", "https://***@h/x");
        check("https://SECRET@h/x", "https://***@h/x");
        check("https://u:SEC@RET@h:80/x", "https://***@h:80/x");
        check("https://u:SEC/RET@h/x", "https://***@h/x");
        check("https://u:SEC?RET#@h/x", "https://***@h/x");
        check(
            "fatal: unable to access 'https://u:SECRET@h/x/': no\nhttps://SECRET@h",
            "fatal: unable to access 'https://***@h/x/': no\nhttps://***@h",
        );
        check("ssh://u:SECRET@h/x", "ssh://***@h/x");
        check("http://u:SECRET@[::1]:80/x", "http://***@[::1]:80/x");
        check("ssh://git@h/x git@h:x", "ssh://git@h/x git@h:x");
        check(
            "https://h/@scope/x https://h:80/@x",
            "https://h/@scope/x https://h:80/@x",
        );
        check(
            "https://[::1]:80/@x https://",
            "https://[::1]:80/@x https://",
        );
    }

    #[test]
    fn tokens_are_known_by_their_form() {
        check("sent ghp_0123456789abcdef.", "sent ***");
        check("a glpat-01234567_89-abc'", "a ***'");
        check("see ghs_x and github_pat_", "see ghs_x and github_pat_");
        check(
            "> Authorization: Basic dTpw\n< 401",
            "> Authorization: Basic ***\n< 401",
        );
        check("GET /x?Access_Token=S&a=b", "GET /x?Access_Token=***&a=b");
        check("password=", "password=***");
        check("ÀÉ token=ß é", "ÀÉ token=*** é");
    }

    #[test]
    fn a_known_value_is_taken_out_wherever_it_stands() {
        let secrets = Secrets::new(["hunter2".to_owned(), "x".to_owned()]);
        assert_eq!(
            secrets.taken_out("xhunter2y https://u@h"),
            "x***y https://***@h"
        );
        assert_eq!(format!("{secrets:?}"), "Secrets(1)");
    }
}

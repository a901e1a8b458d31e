//! Tokens from the environment, and answers to git's questions for them.
//!
//! A token is never part of an argument vector or an address. git requests it through the program that
//! `GIT_ASKPASS` names, which is memdir itself; [`askpass`] answers only if the prompt names the server
//! of the token: a redirect to another server gets nothing. git itself calls the user's credential
//! helpers.

use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;

use crate::git::network::address::{Address, Scheme};

/// Name of the variable with the server of the token, like `https://git.example`; where it is set, the
/// program answers one prompt and ends.
pub const ASKPASS: &str = "MEMDIR_ASKPASS";
const TOKEN: &str = "MEMDIR_GIT_TOKEN";
const USER: &str = "MEMDIR_GIT_USER";

/// Variables that other programs use, each with its host and the user name for that forge.
const FORGES: &[(&str, &str, &str)] = &[
    ("GITHUB_TOKEN", "github.com", "x-access-token"),
    ("GH_TOKEN", "github.com", "x-access-token"),
    ("GITLAB_TOKEN", "gitlab.com", "oauth2"),
];

/// A user name and a password for one server.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::git) struct Credentials {
    /// User name.
    pub(in crate::git) user: String,
    /// Password or token.
    pub(in crate::git) password: String,
}

impl Credentials {
    /// Returns the value of the header `Authorization`.
    pub(in crate::git) fn basic(&self) -> String {
        let text = format!("{}:{}", self.user, self.password);
        format!("Basic {}", STANDARD.encode(text))
    }
}

/// Returns the value of an environment variable.
pub type Variables<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Returns the credentials in the environment for a remote. `None` if there are none, and for remotes
/// that are not https, or http on this machine.
pub(in crate::git) fn for_address(
    address: &Address,
    variables: &Variables<'_>,
) -> Option<Credentials> {
    let is_standard =
        address.scheme() == Scheme::Https && matches!(address.port(), None | Some(443));
    for_host(
        address.is_http().then(|| address.host())??,
        is_standard,
        variables,
    )
}

/// Returns every token for git in the environment, for redaction of messages.
pub(in crate::git) fn all_tokens(variables: &Variables<'_>) -> Vec<String> {
    let names = FORGES.iter().map(|(name, ..)| *name);
    names
        .chain([TOKEN])
        .filter_map(|name| value(name, variables))
        .collect()
}

/// Answers a prompt of git through `GIT_ASKPASS`, from the environment that [`crate::git::Network`]
/// made for it. `None` if the prompt is for another server, or there are no credentials.
pub fn askpass(prompt: &str, variables: &Variables<'_>) -> Option<String> {
    let expected = variables(ASKPASS)?;
    let (what, address) = prompt.split_once(" for '")?;
    let address = address.trim_end().strip_suffix("':")?;
    let (scheme, rest) = address.split_once("://")?;
    // The path is there if the user's settings ask for it, and a user name may hold an `@`.
    let authority = rest.split('/').next()?;
    let place = authority.rsplit('@').next()?;
    let asked = format!("{scheme}://{place}");
    if !asked.eq_ignore_ascii_case(&expected) {
        return None;
    }
    let remote = Address::parse(&format!("{expected}/-"), true).ok()?;
    let credentials = for_address(&remote, variables)?;
    match what {
        "Username" => Some(credentials.user),
        "Password" => Some(credentials.password),
        _ => None,
    }
}

fn for_host(host: &str, is_standard: bool, variables: &Variables<'_>) -> Option<Credentials> {
    if let Some(password) = value(TOKEN, variables) {
        let user = value(USER, variables).unwrap_or_else(|| "x-access-token".to_owned());
        return Some(Credentials { user, password });
    }
    FORGES
        .iter()
        .filter(|(_, forge, _)| is_standard && *forge == host)
        .find_map(|(name, _, user)| {
            Some(Credentials {
                user: (*user).to_owned(),
                password: value(name, variables)?,
            })
        })
}

/// Returns a variable's value; `None` if it is empty or has control characters.
fn value(name: &str, variables: &Variables<'_>) -> Option<String> {
    variables(name).filter(|value| !value.is_empty() && !value.contains(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENVIRONMENT: &[(&str, &str)] = &[
        (ASKPASS, "https://git.example"),
        (TOKEN, "SECRET"),
        ("GITHUB_TOKEN", "HUB"),
        ("GITLAB_TOKEN", "LAB"),
    ];

    fn answer(prompt: &str, variables: &[(&str, &str)]) -> Option<String> {
        askpass(prompt, &|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn git_is_answered_for_the_expected_server() {
        let user = answer("Username for 'https://git.example': ", ENVIRONMENT);
        assert_eq!(user.as_deref(), Some("x-access-token"));
        for prompt in [
            "Password for 'https://x-access-token@git.example': ",
            "Password for 'https://git.example':",
            "Password for 'https://a%40b@git.example': ",
            "Password for 'https://x@git.example/team/x.git': ",
        ] {
            assert_eq!(
                answer(prompt, ENVIRONMENT).as_deref(),
                Some("SECRET"),
                "{prompt}"
            );
        }
    }

    #[test]
    fn nobody_else_gets_an_answer() {
        for prompt in [
            "Password for 'https://x@evil.example': ",
            "Password for 'https://git.example@evil.example': ",
            "Password for 'https://evil.example/git.example': ",
            "Password for 'https://git.example.evil.example': ",
            "Password for 'https://git.example:8443': ",
            "Password for 'http://git.example': ",
            "Password for 'https://evil.example/@git.example': ",
            "Password for 'https://': ",
            "Password for '': ",
            "Password: ",
            "git@git.example's password: ",
            "Enter passphrase for key '/home/anna/.ssh/id_ed25519': ",
            "Are you sure you want to continue connecting (yes/no/[fingerprint])? ",
            "",
        ] {
            assert_eq!(answer(prompt, ENVIRONMENT), None, "{prompt}");
        }
        let prompt = "Password for 'https://git.example': ";
        assert_eq!(answer(prompt, &ENVIRONMENT[..1]), None);
        assert_eq!(answer(prompt, &ENVIRONMENT[1..]), None);
    }

    #[test]
    fn credentials_become_a_header() {
        for (password, expected) in [
            ("open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
            ("open", "Basic QWxhZGRpbjpvcGVu"),
            ("opens", "Basic QWxhZGRpbjpvcGVucw=="),
            ("openss", "Basic QWxhZGRpbjpvcGVuc3M="),
        ] {
            let (user, password) = ("Aladdin".to_owned(), password.to_owned());
            assert_eq!(Credentials { user, password }.basic(), expected);
        }
    }

    #[test]
    fn tokens_of_forges_are_for_these_forges() {
        let look = |text: &str, variables: &[(&str, &str)]| {
            let address = Address::parse(text, true).unwrap();
            let found = for_address(&address, &|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            });
            found.map(|found| format!("{}:{}", found.user, found.password))
        };
        let forges = &ENVIRONMENT[2..];
        assert_eq!(
            look("https://github.com/a/b", forges).as_deref(),
            Some("x-access-token:HUB")
        );
        assert_eq!(
            look("https://gitlab.com/a/b", forges).as_deref(),
            Some("oauth2:LAB")
        );
        assert_eq!(look("https://git.example/a/b", forges), None);
        assert_eq!(look("https://github.com.evil.example/a/b", forges), None);
        assert_eq!(look("https://github.com:8443/a/b", forges), None);
        assert_eq!(look("git@github.com:a/b", ENVIRONMENT), None);
        assert_eq!(
            look(
                "https://github.com/a/b",
                &[(TOKEN, "T"), (USER, "anna"), ("GH_TOKEN", "H")]
            )
            .as_deref(),
            Some("anna:T")
        );
        assert_eq!(
            look(
                "https://github.com/a/b",
                &[(TOKEN, ""), ("GH_TOKEN", "a\nb")]
            ),
            None
        );
    }
}

//! Finds what a name in front gives away: `password = …`, `--token …`, an `Authorization` header,
//! the user part of a URL, `curl -u`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::secret::Secret;
use super::value::{Delimiting, NameKind};
use super::{base64, placeholder, prose, value};

const PASSWORD: &str = "a password";
const SECRET: &str = "a secret";
const TOKEN: &str = "a token";
const KEY: &str = "a secret key";
pub(super) const AWS_KEY: &str = "an AWS secret key";
const HEROKU_KEY: &str = "a Heroku API key";
const TWILIO_TOKEN: &str = "a Twilio token";
const URL_PASSWORD: &str = "a password in a URL";
const COMMAND_PASSWORD: &str = "a password in a command";
const BASIC: &str = "a password in a header";
const BEARER: &str = "a token in a header";

/// Kinds of credentials that are found here.
pub(super) const KINDS: [&str; 11] = [
    PASSWORD,
    SECRET,
    TOKEN,
    KEY,
    AWS_KEY,
    HEROKU_KEY,
    TWILIO_TOKEN,
    URL_PASSWORD,
    COMMAND_PASSWORD,
    BASIC,
    BEARER,
];

/// Finds what has a name in front of it. In no order; findings may overlap, and of two that begin at
/// the same byte the earlier in the list says more. `small` is the text in small ASCII letters.
pub(super) fn find(text: &str, small: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    urls(text, &mut found);
    // To make an expression takes a command longer than all else that it does. Most texts hold
    // nothing that one of them needs.
    if holds_one(small, &SCHEMES) {
        headers(text, &mut found);
    }
    let has_name = holds_one(small, &PARTS_OF_NAMES);
    if has_name && small.contains("--") {
        options(text, &mut found);
    }
    if small.contains("-u") {
        logins(text, &mut found);
    }
    if has_name {
        named(text, &mut found);
    }
    found
}

fn holds_one(text: &str, words: &[&str]) -> bool {
    let holds = |word: &&str| memchr::memmem::find(text.as_bytes(), word.as_bytes()).is_some();
    words.iter().any(holds)
}

/// One of these, in small letters, stands in whatever [`NAMES`] matches.
const PARTS_OF_NAMES: [&str; 6] = ["pass", "pw", "kennwort", "secret", "token", "key"];
/// One of these stands in each header that tells a secret.
const SCHEMES: [&str; 3] = ["basic", "bearer", "authorization"];

/// The names of fields that hold secrets, with what may follow inside the name.
const NAMES: &str = concat!(
    r"(?P<name>pass(?:word|wd|phrase|code|wort)?|pwd|pw|kennwort|secret|token|",
    r"(?:api|access|account|app|auth|client|consumer|deploy|encryption|hmac|license|master|private|",
    r"secret|service|shared|signing|storage)[_.\- ]?key)",
    r"(?:[_.\-]?(?:access[_\-]?key|key(?:[_\-]base)?|token|password|secret|value|string|",
    r"prod|production|dev|staging|live|old|new|current|[0-9]{1,2}))?"
);

/// `password = "`, `"apiKey": "`, `SECRET_KEY: &str = "`, `**Password:** `, `<password>`,
/// `password is `: up to the value.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = [
        "(?i-u:",
        NAMES,
        r#"(?:\\?["'`]\]?)?\*{0,2}"#,
        // A type: `token: &'static str = `.
        r"(?:[ \t]{0,4}:[ \t]{0,4}&?(?:'static )?[A-Za-z0-9_<>:']{1,40}[ \t]{1,4}=[ \t]{1,4}|",
        r"[ \t]{0,16}(?P<sign>=>|:=|={1,3}|:|>)\*{0,2}[ \t]{0,16}|",
        r"(?P<is>[ \t]{1,4}(?:is|was|ist|lautet):?[ \t]{1,4}))",
        r#"(?P<open>\\?["'`])?)"#,
    ];
    Regex::new(&pattern.concat()).expect("it is valid")
});

fn named(text: &str, found: &mut Vec<Secret>) {
    let mut at = 0;
    while let Some(groups) = NAMED.captures_at(text, at) {
        let whole = groups.get(0).expect("it matched");
        let name = groups.name("name").expect("it has to match");
        let identifier = identifier_start(text, name.start());
        at = whole.end();
        if !is_name(text, identifier, name.as_str(), name.start()) {
            continue;
        }
        let Some((range, setting)) = named_value(text, &groups, identifier) else {
            continue;
        };
        let value = &text[range.clone()];
        let is_told = groups.name("is").is_some() && setting == Delimiting::Bare;
        if value::is_secret(value, kind_of_name(name.as_str()), setting)
            && (!is_told || is_outspoken(value))
        {
            let kind = kind_of(&text[identifier..name.end()], value);
            found.push(Secret { kind, range });
        } else if value.len() > MAX_NESTED {
            // Data, which may be full of names: looking at it again from each would take long.
            at = range.end;
        }
    }
}

/// A longer value holds no other field of its own: `token=f(password="…")` is shorter.
const MAX_NESTED: usize = 128;

/// Returns the place of the value of a field, and how it is set apart.
fn named_value(
    text: &str,
    groups: &Captures<'_>,
    identifier: usize,
) -> Option<(Range<usize>, Delimiting)> {
    let at = groups.get(0).expect("it matched").end();
    if groups.name("sign").is_some_and(|sign| sign.as_str() == ">") {
        // `<password>…</password>`; elsewhere it compares.
        let end = text[at..text.floor_char_boundary(at + 256)].find("</")?;
        let is_element = text[..identifier].ends_with('<');
        is_element.then_some((at..at + end, Delimiting::Quoted))
    } else if let Some(open) = groups.name("open") {
        Some((quoted(text, at, open.as_str())?, Delimiting::Quoted))
    } else if groups.name("is").is_none() && begins_line(text, identifier) {
        Some((bare(text, at, Delimiting::Line), Delimiting::Line))
    } else {
        Some((bare(text, at, Delimiting::Bare), Delimiting::Bare))
    }
}

/// Returns whether what a sentence says after "is" can be no word of it.
fn is_outspoken(value: &str) -> bool {
    let has = |is: fn(char) -> bool| value.contains(is);
    value.len() >= 7
        && has(|c| c.is_ascii_digit())
        && has(|c| c.is_ascii_alphabetic())
        && !prose::describes(value)
}

/// Returns the beginning of the identifier that ends in the name at `at`.
fn identifier_start(text: &str, at: usize) -> usize {
    let before = text.as_bytes()[..at].iter().rev().take(64);
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    at - before.take_while(is_part).count()
}

/// Returns whether the name is a word of its own in its identifier: `db_pass` and `dbPassword`, not
/// `bypass`, and not `max_token`, which counts something.
fn is_name(text: &str, identifier: usize, name: &str, at: usize) -> bool {
    let before = &text[identifier..at];
    let is_short = name.len() <= 4;
    let continues = before.ends_with(|c: char| c.is_ascii_alphabetic());
    let is_capital = name.starts_with(|c: char| c.is_ascii_uppercase())
        && before.ends_with(|c: char| c.is_ascii_lowercase());
    let counts = ["max", "min", "num", "per", "public"];
    let before = before.to_ascii_lowercase();
    let last = before.trim_end_matches(['_', '-', '.']);
    let last = last.rsplit(['_', '-', '.']).next().expect("a last part");
    let is_end_of_word = is_short && continues && !is_capital;
    !is_end_of_word && !counts.contains(&last)
}

/// Returns whether a line of settings begins with the identifier at `at`.
fn begins_line(text: &str, at: usize) -> bool {
    // Far into a line is no beginning, however long the line is.
    let near = &text[text.ceil_char_boundary(at.saturating_sub(64))..at];
    let line = near.rfind('\n').map(|end| &near[end + 1..]);
    let Some(line) = line.or((near.len() == at).then_some(near)) else {
        return false;
    };
    let mut before = line.trim_start_matches([' ', '\t', '-', '*', '>', '#', '"', '\'']);
    for word in ["export ", "ENV ", "ARG ", "set ", "SET ", "setx "] {
        before = before.strip_prefix(word).unwrap_or(before);
    }
    before.is_empty()
}

/// Returns the text from `at` to the quotation mark that ends it on the same line.
fn quoted(text: &str, at: usize, open: &str) -> Option<Range<usize>> {
    let near = &text[at..text.floor_char_boundary(at + value::MAX_LEN)];
    let line = near.split('\n').next()?;
    let mut from = 0;
    loop {
        let end = from + line[from..].find(open)?;
        let escapes = line[..end]
            .bytes()
            .rev()
            .take_while(|byte| *byte == b'\\')
            .count();
        if open.len() > 1 || escapes % 2 == 0 {
            return Some(at..at + end);
        }
        from = end + 1;
    }
}

/// Returns the word at `at`, without the signs of the sentence or the program around it. One that is too
/// long for a secret may be cut.
fn bare(text: &str, at: usize, setting: Delimiting) -> Range<usize> {
    let near = &text[at..text.floor_char_boundary(at + value::MAX_LEN + 4)];
    let ends = |(at, c): (usize, char)| {
        let in_line = setting != Delimiting::Line;
        c.is_whitespace()
            || (in_line && matches!(c, ',' | ';' | '"' | '\'' | '`' | ')' | ']' | '}' | '<'))
            || (in_line && c == '&' && begins_parameter(&near[at + 1..]))
    };
    let end = near.char_indices().find(|at| ends(*at));
    let word = &near[..end.map_or(near.len(), |(at, _)| at)];
    // An escaped line break ends a line, too.
    let word = ["\\n", "\\r", "\\\""].iter().fold(word, |word, escape| {
        word.split(escape).next().expect("a first part")
    });
    let word = word.trim_end_matches([',', ';', '.', ':', '"', '\'', '`', ')', ']', '}']);
    at..at + word.len()
}

/// Returns whether the next parameter of a URL follows an `&`, or the next command of a shell.
fn begins_parameter(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let rest = text.trim_start_matches(is_part);
    text.starts_with('&') || (rest.starts_with('=') && rest.len() < text.len())
}

fn kind_of_name(name: &str) -> NameKind {
    let name = name.to_ascii_lowercase();
    if name.ends_with("key") || name.ends_with("token") {
        NameKind::Token
    } else {
        NameKind::Password
    }
}

/// Returns the kind of credential that a field with this name holds.
fn kind_of(identifier: &str, value: &str) -> &'static str {
    let identifier = identifier
        .to_ascii_lowercase()
        .replace(['_', '-', '.', ' '], "");
    let is_hex = value.bytes().all(|byte| byte.is_ascii_hexdigit());
    let has = |part: &str| identifier.contains(part);
    match () {
        () if value.len() == 40 && has("aws") && has("secret") => AWS_KEY,
        () if value.len() == 36 && has("heroku") => HEROKU_KEY,
        () if value.len() == 32 && is_hex && has("twilio") => TWILIO_TOKEN,
        () if identifier.ends_with("secret") => SECRET,
        () if identifier.ends_with("token") => TOKEN,
        () if identifier.ends_with("key") => KEY,
        () => PASSWORD,
    }
}

/// `scheme://user:password@host` (RFC 3986, 3.2.1).
fn urls(text: &str, found: &mut Vec<Secret>) {
    static USER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"^(?P<user>[^\s/?\#:@"'`<>()\[\]]{0,128}):(?P<password>[^\s/"'`<>]{1,256})@[A-Za-z0-9\[_.$-]"#)
            .expect("it is valid")
    });
    for at in memchr::memmem::find_iter(text.as_bytes(), "://") {
        let has_scheme = text[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
        let start = at + "://".len();
        let near = &text[start..text.floor_char_boundary(start + 512)];
        if !has_scheme || !near.contains('@') {
            continue;
        }
        if let Some(groups) = USER.captures(near) {
            let password = groups.name("password").expect("it matched");
            if is_login(&groups["user"], password.as_str()) {
                found.push(Secret {
                    kind: URL_PASSWORD,
                    range: start + password.start()..start + password.end(),
                });
            }
        }
    }
}

/// Returns whether a user and a password are somebody's, not an example or a service's default.
fn is_login(user: &str, password: &str) -> bool {
    let masks = ['*', '•', '.', 'x', 'X', '-', '_', '?'];
    password.len() >= 4
        && !user.eq_ignore_ascii_case(password)
        && !placeholder::is_placeholder(password)
        && !placeholder::is_reference(password)
        && !placeholder::is_example_word(password)
        && !password.chars().all(|c| masks.contains(&c))
}

/// `Authorization: Basic …`, `Bearer …`, `Authorization: token …` (RFC 7617, RFC 6750).
fn headers(text: &str, found: &mut Vec<Secret>) {
    static SCHEME: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i-u:\b(?P<scheme>basic|bearer)|",
            r#"\bauthorization\\?["']?[ \t]{0,4}[:=][ \t]{0,4}\\?["']?(?:token|apikey|api-key|key|ghp))"#,
            r"[ \t]{1,4}(?P<value>[A-Za-z0-9._~+/-]{8,4096}={0,2})",
        ))
        .expect("it is valid")
    });
    for groups in SCHEME.captures_iter(text) {
        let value = groups.name("value").expect("it matched");
        let is_basic = groups
            .name("scheme")
            .is_some_and(|scheme| scheme.as_str().eq_ignore_ascii_case("basic"));
        let is_secret = if is_basic {
            holds_login(value.as_str())
        } else {
            value::is_secret(value.as_str(), NameKind::Token, Delimiting::Quoted)
        };
        if is_secret {
            found.push(Secret {
                kind: if is_basic { BASIC } else { BEARER },
                range: value.range(),
            });
        }
    }
}

/// Returns whether base64 holds a user and a password.
fn holds_login(value: &str) -> bool {
    let login = base64::decode(value).and_then(|bytes| String::from_utf8(bytes).ok());
    login.is_some_and(|login| {
        let is_text = !login.contains(char::is_control);
        is_text
            && login
                .split_once(':')
                .is_some_and(|(user, password)| is_login(user, password))
    })
}

/// Values of options: `--password …`.
fn options(text: &str, found: &mut Vec<Secret>) {
    static OPTION: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = [
            r"(?i-u:--(?:[a-z0-9]{1,16}-){0,4}",
            NAMES,
            r#"[ \t]{1,4}(?P<open>\\?["'])?)"#,
        ];
        Regex::new(&pattern.concat()).expect("it is valid")
    });
    for groups in OPTION.captures_iter(text) {
        let at = groups.get(0).expect("it matched").end();
        let (range, setting) = match groups.name("open") {
            Some(open) => (quoted(text, at, open.as_str()), Delimiting::Quoted),
            None => (Some(bare(text, at, Delimiting::Bare)), Delimiting::Bare),
        };
        let name = kind_of_name(&groups["name"]);
        let is_secret =
            |range: &Range<usize>| value::is_secret(&text[range.clone()], name, setting);
        if let Some(range) = range.filter(is_secret) {
            let kind = kind_of(&groups["name"], &text[range.clone()]);
            found.push(Secret { kind, range });
        }
    }
}

/// `curl -u user:password`.
fn logins(text: &str, found: &mut Vec<Secret>) {
    static USER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"[ \t](?:-u|--user|--proxy-user)[ =]?["']?(?P<user>[A-Za-z0-9_.@+-]{1,64}):"#)
            .expect("it is valid")
    });
    for groups in USER.captures_iter(text) {
        let at = groups.get(0).expect("it matched");
        let range = bare(text, at.end(), Delimiting::Bare);
        let is_request = calls_the_web(text, at.start());
        if is_request && is_login(&groups["user"], &text[range.clone()]) {
            found.push(Secret {
                kind: COMMAND_PASSWORD,
                range,
            });
        }
    }
}

/// Returns whether a program that makes requests is named shortly before `at`, on the line.
fn calls_the_web(text: &str, at: usize) -> bool {
    let near = &text[text.ceil_char_boundary(at.saturating_sub(400))..at];
    let line = near.rsplit('\n').next().expect("a last part");
    ["curl", "wget", "http"]
        .iter()
        .any(|program| line.contains(program))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::string::string_regex;

    use super::*;

    /// Texts that an expression matches, in letters of any size.
    fn written_as(expression: &str) -> impl Strategy<Value = String> {
        let plain = expression.replace("(?P<name>", "(?:");
        let text = string_regex(&plain).expect("it is an expression");
        (text, any::<u64>()).prop_map(|(text, large)| in_letters(&text, large))
    }

    /// Returns the text with those letters large whose bits are set.
    fn in_letters(text: &str, large: u64) -> String {
        let letters = text.char_indices();
        letters
            .map(|(at, letter)| match large >> (at % 64) & 1 {
                1 => letter.to_ascii_uppercase(),
                _ => letter,
            })
            .collect()
    }

    fn find_in(text: &str) -> Vec<Secret> {
        find(text, &text.to_ascii_lowercase())
    }

    /// As [`find`], looking for everything in any text.
    fn find_everything(text: &str) -> Vec<Secret> {
        let mut found = Vec::new();
        urls(text, &mut found);
        headers(text, &mut found);
        options(text, &mut found);
        logins(text, &mut found);
        named(text, &mut found);
        found
    }

    const PIECES: [&str; 24] = [
        "authorization: token ",
        "Authorization: key ",
        "basic ",
        "bearer ",
        "dXNlcjpodW50ZXIyeDlacTc=",
        "curl -u ",
        "curl --user ",
        "curl --proxy-user=",
        "alice:",
        " --password ",
        " --db-pass ",
        " --client-secret ",
        "https://",
        "postgres://alice:",
        "@db.example.org/x",
        "pwd = ",
        "pw: ",
        "Kennwort lautet ",
        "apiKey: \"",
        "shared.key=",
        "secret_token = ",
        "hunTer2x9Zq7",
        "a8Kd03jfQpL2mVx91bTzW4",
        "\n",
    ];

    proptest! {
        #[test]
        fn a_name_holds_one_of_its_parts(name in written_as(NAMES)) {
            prop_assert!(NAMED.is_match(&format!("{name}: ")), "{}", name);
            prop_assert!(holds_one(&name.to_ascii_lowercase(), &PARTS_OF_NAMES), "{}", name);
        }

        #[test]
        fn what_is_not_looked_for_is_not_there(
            pieces in prop::collection::vec((prop::sample::select(&PIECES[..]), any::<u64>(), any::<bool>()), 1..6),
        ) {
            let pieces = pieces.into_iter().map(|(piece, large, as_is)| match as_is {
                true => piece.to_owned(),
                false => in_letters(piece, large),
            });
            let text: String = pieces.collect();
            prop_assert_eq!(find_in(&text), find_everything(&text));
        }

        #[test]
        fn each_kind_is_found_alone(value in "[a-z]{3}[0-9][A-Z]{2}[0-9][a-z]{2}[A-Z][0-9]{2}[a-z]{4}") {
            prop_assume!(!placeholder::is_example(&value) && crate::secrets::randomness::entropy(&value) >= 2.8);
            for before in [
                "Authorization: token ",
                "curl -u alice:",
                "curl --user alice:",
                "curl --proxy-user=alice:",
                "x --password ",
                "pwd = ",
                "Kennwort: ",
                "shared.key=",
                "token = ",
            ] {
                let text = format!("{before}{value}");
                prop_assert!(!find_in(&text).is_empty(), "{}", text);
            }
            let url = format!("https://alice:{value}@db.example.org");
            prop_assert!(!find_in(&url).is_empty(), "{}", url);
        }
    }
}

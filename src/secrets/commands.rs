//! Finds credentials in forms of their own: options of programs whose names do not say so
//! (`mysql -p…`), `.netrc` and `.pgpass` lines, the code of a Wi-Fi network, addresses of one-time
//! passwords, cookies, the logins that Docker and npm keep, queries of addresses.
//!
//! Each form is looked for only where one of its words stands, and what is read there is bounded,
//! so the time is linear.

use std::ops::Range;

use super::formats::{FORMATS, Format, Take};
use super::mark::{Mark, Sign};
use super::secret::Secret;
use super::{base64, placeholder, value};

const COMMAND_PASSWORD: &str = "a password in a command";
const FILE_PASSWORD: &str = "a password in a file";
const WIFI: &str = "a Wi-Fi password";
const SEED: &str = "a seed of one-time passwords";
const COOKIE: &str = "a session cookie";
const LOGIN: &str = "a login in base64";
const URL_SECRET: &str = "a password in a URL";
const WEBHOOK: &str = "a webhook";
const KEY_DATA: &str = "a private key";

/// Kinds of credentials that are found here.
pub(super) const KINDS: [&str; 9] = [
    COMMAND_PASSWORD,
    FILE_PASSWORD,
    WIFI,
    SEED,
    COOKIE,
    LOGIN,
    URL_SECRET,
    WEBHOOK,
    KEY_DATA,
];

/// Maximum number of bytes that are searched behind a word.
const REACH: usize = 320;

/// Adds what stands in one of the forms. `marks` are in order.
pub(super) fn find(text: &str, marks: &[Mark], found: &mut Vec<Secret>) {
    // Where the part ends that was looked at for a form already: nothing is looked at twice.
    let mut looked_at = [0; FORMATS.len()];
    for mark in marks {
        let Sign::Format(format) = mark.sign else {
            continue;
        };
        let number = FORMATS.iter().position(|(other, _)| *other == format);
        let looked_at = &mut looked_at[number.unwrap_or_default()];
        if mark.start < *looked_at {
            continue;
        }
        *looked_at = match format {
            Format::Program(take) => program(text, mark.start, take, found),
            Format::Netrc => netrc(text, mark.start, found),
            Format::PgPass => pgpass(text, mark.start, found),
            Format::WifiCode => wifi_code(text, mark.end, found),
            Format::OneTime => one_time(text, mark.end, found),
            Format::Cookie => cookies(text, mark.end, found),
            Format::Login => login(text, mark.end, found),
            Format::Query => query(text, mark.end, found),
            Format::Webhook => webhook(text, mark.end, found),
            Format::KeyData => key_data(text, mark.start, found),
        };
    }
}

/// The rest of the line from `at` on, as far as it is looked at.
fn line(text: &str, at: usize) -> Range<usize> {
    let end = text.floor_char_boundary(at + REACH);
    let len = text[at..end].find('\n');
    at..len.map_or(end, |len| at + len)
}

/// Returns the words of a command: places, without the quotation marks around a word.
fn words(text: &str, line: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut at = line.start;
    std::iter::from_fn(move || {
        let rest = &text[at..line.end];
        let start = at + rest.find(|c: char| !c.is_whitespace())?;
        let mut quote = None;
        let len = text[start..line.end].find(|c: char| match quote {
            Some(open) => {
                if c == open {
                    quote = None;
                }
                false
            }
            None => {
                if matches!(c, '\'' | '"') {
                    quote = Some(c);
                }
                c.is_whitespace()
            }
        });
        // A quotation mark that nothing closes is part of a sentence.
        let len = match quote {
            Some(_) => text[start..line.end].find(char::is_whitespace),
            None => len,
        };
        let end = len.map_or(line.end, |len| start + len);
        at = end;
        Some(start..end)
    })
}

/// Returns a word without quotation marks around it and without what ends a sentence.
fn unquoted(text: &str, word: Range<usize>) -> Range<usize> {
    let written = &text[word.clone()];
    for quote in ['\'', '"', '`'] {
        if let Some(rest) = written.strip_prefix(quote)
            && let Some(len) = rest.find(quote)
        {
            return word.start + 1..word.start + 1 + len;
        }
    }
    let bare = written.trim_end_matches(['`', '"', '\'', ',', ';', ')', '|', '.']);
    word.start..word.start + bare.len()
}

fn program(text: &str, at: usize, take: Take, found: &mut Vec<Secret>) -> usize {
    let is_word = !text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '.'));
    if !is_word {
        return at;
    }
    let line = line(text, at);
    let end = line.end;
    let mut push = |range: Range<usize>| {
        let range = unquoted(text, range);
        if is_given(&text[range.clone()]) {
            found.push(Secret {
                kind: COMMAND_PASSWORD,
                range,
            });
        }
    };
    let (option, mut is_named) = match take {
        Take::Joined(option) | Take::Option(option) | Take::Prefix(option) => (option, true),
        Take::After(_, option) => (option, false),
        Take::BehindPercent => ("-U", true),
    };
    let mut is_value = false;
    for word in words(text, line) {
        let written = &text[word.clone()];
        // The next command of the line.
        if matches!(written, "|" | "&&" | "||" | ";") {
            return word.end;
        }
        if is_value {
            is_value = false;
            match take {
                Take::BehindPercent => {
                    if let Some(percent) = written.find('%') {
                        push(word.start + percent + 1..word.end);
                    }
                }
                _ => push(word.clone()),
            }
            continue;
        }
        if let Take::After(name, _) = take {
            is_named |= written == name || text[at..].starts_with("az login");
        }
        let Some(rest) = written.strip_prefix(option).filter(|_| is_named) else {
            continue;
        };
        let joined = word.end - rest.len()..word.end;
        match take {
            Take::Prefix(_) => push(joined),
            Take::Joined(_) if !rest.is_empty() => push(joined),
            Take::Joined(_) => {}
            _ if rest.is_empty() => is_value = true,
            Take::Option(_) if !rest.starts_with(['=', '-']) => push(joined),
            _ => {}
        }
    }
    end
}

/// Returns whether a value that a program takes for a password is one, and no reference or example.
fn is_given(value: &str) -> bool {
    let masks = ['*', '•', '.', 'x', 'X', '-', '_', '?'];
    (4..=256).contains(&value.len())
        && !value.starts_with(['-', '<', '/', '$'])
        && !value.contains(|c: char| c.is_control())
        && !placeholder::is_placeholder(value)
        && !placeholder::is_reference(value)
        && !placeholder::is_example_word(value)
        && !value.chars().all(|c| masks.contains(&c))
}

/// `machine HOST login USER password SECRET`, on one line or several.
fn netrc(text: &str, at: usize, found: &mut Vec<Secret>) -> usize {
    let end = text.floor_char_boundary(at + REACH);
    let mut words = words(text, at..end).peekable();
    let (mut has_login, mut last) = (false, at);
    for _ in 0..5 {
        let Some(word) = words.next() else {
            break;
        };
        last = word.start;
        match &text[word] {
            "default" => {}
            "machine" | "account" => drop(words.next()),
            "login" => {
                has_login = true;
                words.next();
            }
            "password" => {
                let password = words.next().map(|word| unquoted(text, word));
                if let Some(range) = password
                    && has_login
                    && is_given(&text[range.clone()])
                {
                    found.push(Secret {
                        kind: FILE_PASSWORD,
                        range,
                    });
                }
                break;
            }
            _ => break,
        }
    }
    last
}

/// `HOST:PORT:DATABASE:USER:SECRET`
pub(super) fn pgpass(text: &str, at: usize, found: &mut Vec<Secret>) -> usize {
    let mut line = line(text, at);
    let before = &text[text.ceil_char_boundary(at.saturating_sub(64))..at];
    let lead = before
        .rfind(char::is_whitespace)
        .map_or(before.len(), |blank| before.len() - blank - 1);
    line.start = at - lead;
    let end = line.end;
    for word in words(text, line) {
        let word = unquoted(text, word);
        let parts: Vec<&str> = text[word.clone()].splitn(5, ':').collect();
        let [host, port, _, user, password] = parts[..] else {
            continue;
        };
        let is_port = port == "*"
            || (3..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
        if is_port && !host.is_empty() && user != password && is_given(password) {
            found.push(Secret {
                kind: FILE_PASSWORD,
                range: word.end - password.len()..word.end,
            });
        }
    }
    end
}

/// `WIFI:T:WPA;S:name;P:SECRET;;`
fn wifi_code(text: &str, at: usize, found: &mut Vec<Secret>) -> usize {
    let mut field = at;
    let end = line(text, at).end;
    while field < end {
        let rest = &text[field..end];
        let mut is_escaped = false;
        let len = rest.find(|c| {
            let ends = c == ';' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            ends
        });
        let Some(len) = len else {
            return field;
        };
        if let Some(password) = rest[..len].strip_prefix("P:")
            && is_given(password)
        {
            found.push(Secret {
                kind: WIFI,
                range: field + 2..field + len,
            });
            return field;
        }
        if !rest[..len]
            .get(1..)
            .is_some_and(|field| field.starts_with(':'))
        {
            return field;
        }
        field += len + 1;
    }
    field
}

/// `otpauth://totp/…?secret=SEED&…`
fn one_time(text: &str, at: usize, found: &mut Vec<Secret>) -> usize {
    let line = line(text, at);
    let end = line.end;
    let address = text[line]
        .split(|c: char| c.is_whitespace() || matches!(c, '"' | '`' | '<' | '>'))
        .next();
    for name in ["secret=", "data="] {
        let Some(start) = address.and_then(|address| address.find(name)) else {
            continue;
        };
        let start = at + start + name.len();
        let rest = &text[start..text.floor_char_boundary(start + 1024)];
        let is_part = |c: char| c.is_ascii_alphanumeric() || "%+/=_-".contains(c);
        let len = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        if len >= 8 && !placeholder::is_example(&rest[..len]) {
            found.push(Secret {
                kind: SEED,
                range: start..start + len,
            });
        }
    }
    end
}

/// Returns the cookies of a header that say who somebody is.
fn cookies(text: &str, at: usize, found: &mut Vec<Secret>) -> usize {
    let line = {
        let end = text.floor_char_boundary(at + 4 * REACH);
        let len = text[at..end].find(['\n', '"', '\'']);
        at..len.map_or(end, |len| at + len)
    };
    let (mut start, end) = (line.start, line.end);
    for pair in text[line].split(';') {
        let from = start;
        start += pair.len() + 1;
        let Some((name, cookie)) = pair.split_once('=') else {
            continue;
        };
        let name = name.trim().to_ascii_lowercase();
        let is_session = [
            "sess", "sid", "auth", "token", "jwt", "csrf", "xsrf", "remember", "login", "sso",
            "identity", "secret", "key",
        ]
        .iter()
        .any(|word| name.contains(word));
        let cookie_start = from + pair.len() - cookie.len();
        let cookie = cookie.trim_end();
        if is_session
            && value::is_random(cookie)
            && !placeholder::is_example(cookie)
            && !placeholder::is_reference(cookie)
            && !cookie.contains(char::is_whitespace)
        {
            found.push(Secret {
                kind: COOKIE,
                range: cookie_start..cookie_start + cookie.len(),
            });
        }
    }
    end
}

/// `"auth": "dXNlcjpwYXNz"`, `_auth = dXNlcjpwYXNz`
pub(super) fn login(text: &str, at: usize, found: &mut Vec<Secret>) -> usize {
    let rest = &text[line(text, at)];
    let value = rest.trim_start_matches([' ', '\t', ':', '=', '"', '\\']);
    let start = at + rest.len() - value.len();
    let value = &text[start..text.floor_char_boundary(start + 1024)];
    let is_part = |c: char| c.is_ascii_alphanumeric() || "+/=_-".contains(c);
    let len = value.find(|c| !is_part(c)).unwrap_or(value.len());
    let is_set = start > at && text[at..start].contains([':', '=']);
    let decoded = base64::decode(&value[..len]).and_then(|bytes| String::from_utf8(bytes).ok());
    let password = decoded
        .as_deref()
        .and_then(|login| login.split_once(':'))
        .filter(|(user, _)| !user.is_empty() && !user.contains(char::is_control));
    if let Some((user, password)) = password
        && is_set
        && user != password
        && is_given(password)
    {
        found.push(Secret {
            kind: LOGIN,
            range: start..start + len,
        });
    }
    start + len
}

/// `?user=ada&password=SECRET`
fn query(text: &str, at: usize, found: &mut Vec<Secret>) -> usize {
    let rest = &text[at..text.floor_char_boundary(at + REACH)];
    let start = match rest.find('=') {
        _ if text[..at].ends_with('=') => at,
        Some(sign) if rest[..sign].bytes().all(|byte| byte.is_ascii_lowercase()) && sign <= 6 => {
            at + sign + 1
        }
        _ => return at,
    };
    let rest = &text[start..text.floor_char_boundary(start + REACH)];
    let len = rest.find(|c: char| c.is_whitespace() || "&;\"'`<>#)".contains(c));
    let value = &rest[..len.unwrap_or(rest.len())];
    let has_digit = value.bytes().any(|byte| !byte.is_ascii_lowercase());
    if value.len() >= 6 && has_digit && is_given(value) && !value.contains(['(', '{', '[']) {
        found.push(Secret {
            kind: URL_SECRET,
            range: start..start + value.len(),
        });
    }
    start + value.len()
}

/// Returns the last parts of an address that takes messages from whoever knows it.
pub(super) fn webhook(text: &str, at: usize, found: &mut Vec<Secret>) -> usize {
    let rest = &text[at..text.floor_char_boundary(at + REACH)];
    let len = rest.find(|c: char| c.is_whitespace() || "\"'`<>)],".contains(c));
    let path = &rest[..len.unwrap_or(rest.len())];
    let near = &text[text.ceil_char_boundary(at.saturating_sub(128))..at];
    let is_address = near
        .rsplit(char::is_whitespace)
        .next()
        .is_some_and(|start| start.contains("://"));
    let mut start = 0;
    for part in path.split(['/', '=', '&', '?']) {
        let is_id = part.contains('@') || part.len() < 20;
        if is_address && !is_id && value::is_random(part) && !placeholder::is_example(part) {
            let path = path.trim_end_matches(['.', ';']);
            found.push(Secret {
                kind: WEBHOOK,
                range: at + start..at + path.len().max(start + part.len()),
            });
            break;
        }
        start += part.len() + 1;
    }
    at + path.len()
}

/// Base64 of a text that begins with `-----BEGIN … PRIVATE KEY`.
fn key_data(text: &str, at: usize, found: &mut Vec<Secret>) -> usize {
    const HEADER: usize = 64;
    let near = &text[at..text.floor_char_boundary(at + 64 * 1024)];
    let is_part = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    let len = near.find(|c| !is_part(c)).unwrap_or(near.len());
    let head = near.floor_char_boundary(len.min(HEADER) / 4 * 4);
    let decoded = base64::decode(&near[..head]).unwrap_or_default();
    let is_private = memchr::memmem::find(&decoded, b"PRIVATE KEY").is_some();
    if is_private && len >= 2 * HEADER {
        found.push(Secret {
            kind: KEY_DATA,
            range: at..at + len,
        });
    }
    at + len
}

#[cfg(test)]
mod tests {
    use super::super::find as secrets;

    #[track_caller]
    fn check(text: &str, secret: &str) {
        let found = secrets(text);
        let written: Vec<&str> = found
            .iter()
            .map(|secret| &text[secret.range.clone()])
            .collect();
        assert_eq!(written, [secret], "{text}");
    }

    #[track_caller]
    fn nothing(text: &str) {
        assert_eq!(secrets(text), [], "{text}");
    }

    #[test]
    fn a_program_takes_a_password_by_its_option() {
        check("mysql -u root -pMohn7kuchen shop", "Mohn7kuchen");
        check("mariadb-dump -uapp -p'Mohn 7' shop", "Mohn 7");
        check("sshpass -p Mohn7kuchen ssh pi@host", "Mohn7kuchen");
        check("redis-cli -h cache -a Mohn7kuchen ping", "Mohn7kuchen");
        check("docker login -u ada -p Mohn7kuchen", "Mohn7kuchen");
        check("smbclient //nas/x -U ada%Mohn7kuchen", "Mohn7kuchen");
        check("openssl rsa -passin pass:Mohn7kuchen -in a", "Mohn7kuchen");
        nothing("mysql -u root -p shop");
        nothing("mysql -u root -p\"$PASSWORD\" shop");
        nothing("docker run -p 8080:80 nginx; docker login");
        nothing("mysql is open | grep -pattern");
    }

    #[test]
    fn a_netrc_entry_may_have_several_lines() {
        check(
            "machine a.example login ada password Mohnkuchen",
            "Mohnkuchen",
        );
        check(
            "machine a.example\n\tlogin ada\n\tpassword Mohn-7\n",
            "Mohn-7",
        );
        nothing("the machine, its login and its password are listed there");
    }

    #[test]
    fn a_wifi_code_may_escape_signs() {
        check("WIFI:S:home;T:WPA;P:Mohn\\;7;H:false;;", "Mohn\\;7");
        nothing("WIFI: works again");
    }

    #[test]
    fn a_login_in_base64_is_decoded() {
        check("\"auth\": \"YWRhOk1vaG43a3VjaGVu\"", "YWRhOk1vaG43a3VjaGVu");
        nothing("\"auth\": \"YWRhYWRhYWRhYWRh\"");
    }
}

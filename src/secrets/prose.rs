//! Finds what a sentence says: "the password for the database is …", "Kennwort: …", "le mot de passe
//! … est …", "la contraseña … es …", a PIN, recovery codes, the key of a Wi-Fi network.
//!
//! A noun names a credential (`nouns`). Behind it, inside of the sentence, a value stands next to
//! the noun or next to a word that links it: *is*, *ist*, *est*, *es*, a colon, *to*. The weaker the
//! link, the more the value has to look like nobody's word. What is looked at for one noun is
//! bounded, so the time is linear.

mod shape;

use std::ops::Range;

use super::mark::{Mark, Sign};
use super::nouns::Noun;
use super::placeholder;
use super::secret::Secret;
use super::words::WORDS;
pub(super) use shape::describes;
use shape::{
    Link, is_base32, is_password, is_phrase, is_recovery_code, is_seed, is_token, link_of,
};

const PASSWORD: &str = "a password";
const TOKEN: &str = "a token";
const SECRET: &str = "a secret";
const KEY: &str = "a secret key";
const WIFI: &str = "a Wi-Fi password";
const PIN: &str = "a PIN";
const CODE: &str = "an access code";
const RECOVERY: &str = "a recovery code";
const SEED: &str = "a seed of one-time passwords";
const PHRASE: &str = "a seed phrase";

/// Kinds of credentials that are found here.
pub(super) const KINDS: [&str; 10] = [
    PASSWORD, TOKEN, SECRET, KEY, WIFI, PIN, CODE, RECOVERY, SEED, PHRASE,
];

/// Maximum number of bytes that are searched behind a noun, and again for a value.
const REACH: usize = 160;
const LONGEST_VALUE: usize = 512;
/// Maximum number of words between a noun and its value.
const MOST_WORDS: usize = 16;

/// Adds the credentials that sentences tell. `small` is the text in small ASCII letters, `marks`
/// are in order.
pub(super) fn find(text: &str, small: &str, marks: &[Mark], found: &mut Vec<Secret>) {
    for mark in marks {
        let Sign::Noun(noun) = mark.sign else {
            continue;
        };
        let sentence = Sentence {
            text,
            small,
            start: mark.start,
            end: mark.end,
        };
        match noun {
            Noun::Password => sentence.password(PASSWORD, found),
            Noun::Pass => sentence.pass(found),
            Noun::Passphrase => {
                sentence.password(PASSWORD, found);
                sentence.phrase_of_words(4..=8, PASSWORD, found);
            }
            Noun::Wifi => {
                sentence.wifi_digits(found);
                sentence.password(WIFI, found);
            }
            Noun::Token => sentence.token(TOKEN, found),
            Noun::Secret => sentence.token(SECRET, found),
            Noun::Key => sentence.token(KEY, found),
            Noun::Pin => sentence.pin(found),
            Noun::Code => sentence.code(found),
            Noun::CodeOf if sentence.names_a_door() => sentence.code(found),
            Noun::CodeOf => {}
            Noun::Network => sentence.network(found),
            Noun::Recovery => sentence.recovery_codes(found),
            Noun::OneTime => sentence.one_time_seed(found),
            Noun::Phrase => sentence.phrase_of_words(11..=26, PHRASE, found),
            Noun::Login => sentence.login(found),
        }
    }
}

/// The rest of a sentence behind a noun.
struct Sentence<'a> {
    text: &'a str,
    small: &'a str,
    start: usize,
    end: usize,
}

/// A value and how it is linked to its noun.
struct Candidate {
    range: Range<usize>,
    link: Link,
    is_quoted: bool,
    /// Number of words between it and the noun.
    place: usize,
}

impl Sentence<'_> {
    fn password(&self, kind: &'static str, found: &mut Vec<Secret>) {
        if !self.is_noun() {
            return;
        }
        for candidate in self.candidates() {
            let value = &self.text[candidate.range.clone()];
            let is_phrase = candidate.is_quoted && is_phrase(value);
            if is_phrase || is_password(value, candidate.link) {
                found.push(Secret {
                    kind,
                    range: candidate.range,
                });
                return;
            }
        }
    }

    /// `user ada pass x9Kq!t`: the word is also a verb and a way over mountains.
    fn pass(&self, found: &mut Vec<Secret>) {
        let before =
            &self.small[self.small.ceil_char_boundary(self.start.saturating_sub(48))..self.start];
        let has_user = ["user", "login", "benutzer"]
            .iter()
            .any(|word| before.contains(word));
        if has_user {
            self.password(PASSWORD, found);
        }
    }

    fn token(&self, kind: &'static str, found: &mut Vec<Secret>) {
        let before =
            &self.small[self.small.ceil_char_boundary(self.start.saturating_sub(24))..self.start];
        let is_public = ["public", "öffentlich", "primär", "fremd", "cache", "pubkey"]
            .iter()
            .any(|word| before.contains(word));
        if is_public || !self.is_noun() {
            return;
        }
        for candidate in self.candidates() {
            let value = &self.text[candidate.range.clone()];
            let is_id = value.len() == 36 && value.matches('-').count() == 4;
            // A commit, a checksum, a request may stand anywhere behind a noun.
            let is_hash = value.bytes().all(|byte| byte.is_ascii_hexdigit());
            let is_far = candidate.link == Link::Beside && candidate.place > 0;
            let is_else = is_far && is_hash || is_id && candidate.link == Link::Beside;
            if is_token(value) && !is_else {
                found.push(Secret {
                    kind,
                    range: candidate.range,
                });
                return;
            }
        }
    }

    /// Returns whether the noun is a word of its own, or the end of one, that no other word turns into the
    /// name of something else: *password policy*, *token-bucket*.
    fn is_noun(&self) -> bool {
        let rest = &self.small[self.end..];
        if self.small[..self.end].ends_with(' ') {
            return true;
        }
        let next = rest.chars().next();
        if next.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '(' | '.' | '[')) {
            return false;
        }
        let mut words = rest.trim_start().split(|c: char| !c.is_alphanumeric());
        let word = words.next().unwrap_or_default();
        !WORDS.has("turns", word)
    }

    /// Returns the words that may be values, in order.
    fn candidates(&self) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        let window = self.window();
        let mut link = Some(Link::Beside);
        let (mut at, mut place) = (window.start, 0);
        while let Some(word) = next_word(self.text, at, window.end) {
            at = word.end;
            let written = &self.text[word.clone()];
            let small = self.small[word.clone()].trim_matches(['*', '_', '`', '"', '\'']);
            if let Some(links) = link_of(small) {
                link = Some(links);
                continue;
            }
            if link.is_none() && written.starts_with(['"', '`', '\'']) {
                link = Some(Link::Beside);
            }
            if let Some(link) = link.take() {
                let (range, is_quoted) = value_at(self.text, word.start);
                at = at.max(range.end).min(window.end);
                if !range.is_empty() && range.len() <= LONGEST_VALUE {
                    candidates.push(Candidate {
                        range,
                        link,
                        is_quoted,
                        place,
                    });
                }
            }
            if small.ends_with([':', '=']) {
                link = Some(Link::Is);
            }
            if ends_sentence(written) {
                break;
            }
            place += 1;
            if place == MOST_WORDS {
                break;
            }
        }
        candidates
    }

    /// Returns the bytes behind the noun on its line.
    fn window(&self) -> Range<usize> {
        let end = self.text.floor_char_boundary(self.end + REACH);
        let line = self.text[self.end..end].find('\n');
        self.end..line.map_or(end, |at| self.end + at)
    }

    /// Words of a passphrase behind *is* or a colon, until the sentence ends.
    fn phrase_of_words(
        &self,
        count: std::ops::RangeInclusive<usize>,
        kind: &'static str,
        found: &mut Vec<Secret>,
    ) {
        if !self.is_noun() {
            return;
        }
        let linked = |candidate: &Candidate| candidate.link == Link::Is && !candidate.is_quoted;
        let Some(first) = self.candidates().into_iter().find(linked) else {
            return;
        };
        let start = first.range.start;
        let (mut at, mut end, mut words) = (start, start, 0);
        let limit = self.text.floor_char_boundary(start + LONGEST_VALUE);
        while let Some(word) = next_word(self.text, at, limit) {
            at = word.end;
            let written = &self.text[word.clone()];
            let bare = written.trim_end_matches(['.', ',', ';', '!']);
            let is_number = bare.bytes().all(|byte| byte.is_ascii_digit());
            let is_part = (1..=12).contains(&bare.len())
                && bare.bytes().all(|byte| byte.is_ascii_alphanumeric())
                && (is_number || kind == PASSWORD || (3..=8).contains(&bare.len()))
                && (kind == PASSWORD || bare.bytes().all(|byte| !byte.is_ascii_uppercase()))
                && !(kind == PASSWORD && WORDS.has("function words", &bare.to_ascii_lowercase()));
            if !is_part {
                break;
            }
            words += 1;
            end = word.start + bare.len();
            if bare.len() < written.len() && (kind == PASSWORD || written.ends_with('.')) {
                break;
            }
        }
        // Words alone are a sentence's: "the passphrase is asked for every morning".
        let is_set_apart = self.text[..start].trim_end().ends_with(':')
            || self.text[start..end].contains(|c: char| c.is_ascii_digit());
        if count.contains(&words) && (is_set_apart || kind == PHRASE) {
            found.push(Secret {
                kind,
                range: start..end,
            });
        }
    }

    /// `5693 0642 8964 9329 9990`: a key as the maker of a router prints it.
    fn wifi_digits(&self, found: &mut Vec<Secret>) {
        let window = self.window();
        let window_text = &self.text[window.clone()];
        let Some(first) = window_text.find(|c: char| c.is_ascii_digit()) else {
            return;
        };
        let rest = &window_text[first..];
        let len = rest
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, ' ' | '-')))
            .unwrap_or(rest.len());
        let run = rest[..len].trim_end_matches([' ', '-']);
        let digits = run.bytes().filter(u8::is_ascii_digit).count();
        let is_apart = window_text[..first].ends_with([' ', ':', '=', '"', '`', '\'']);
        let goes_on = rest[run.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '.');
        if is_apart && !goes_on && (8..=63).contains(&digits) {
            let start = window.start + first;
            found.push(Secret {
                kind: WIFI,
                range: start..start + run.len(),
            });
        }
    }

    /// `wifi guest key: …`
    fn network(&self, found: &mut Vec<Secret>) {
        let near = &self.small[self.end..self.small.floor_char_boundary(self.end + 24)];
        let key = ["key", "schlüssel", "code", "clé"]
            .iter()
            .find_map(|word| near.find(word).map(|at| at + word.len()));
        let Some(end) = key.filter(|end| !near[..*end].contains(['\n', '.', ','])) else {
            return;
        };
        let key = Sentence {
            end: self.end + end,
            ..*self
        };
        if key.is_noun() {
            key.wifi_digits(found);
            key.password(WIFI, found);
        }
    }

    /// Returns whether something that a code opens is named behind the noun.
    fn names_a_door(&self) -> bool {
        WORDS.stand_in("doors", &self.small[self.window()])
    }

    fn pin(&self, found: &mut Vec<Secret>) {
        let written = &self.text[self.start..self.end];
        let before = self.text[..self.start].chars().next_back();
        let after = &self.small[self.end..];
        let is_code = ["-code", " code", "-nummer", " number"]
            .iter()
            .any(|word| after.starts_with(word));
        let is_word = !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '#' | '/'))
            && !(after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '(')))
            && (is_code || !written.bytes().any(|byte| byte.is_ascii_lowercase()));
        if !is_word {
            return;
        }
        let is_long = written.eq_ignore_ascii_case("puk");
        for candidate in self.candidates() {
            let value = self.text[candidate.range.clone()].trim_end_matches(['!', '?']);
            let is_digits = value.bytes().all(|byte| byte.is_ascii_digit());
            let fits = match (candidate.link, is_long) {
                (Link::Is, false) => (4..=8).contains(&value.len()),
                (Link::Beside, false) => candidate.place == 0 && matches!(value.len(), 4 | 6),
                (_, true) => value.len() == 8,
            };
            if is_digits && fits && !self.has_comma_before(candidate.range.start) {
                found.push(Secret {
                    kind: PIN,
                    range: candidate.range.start..candidate.range.start + value.len(),
                });
                return;
            }
        }
    }

    fn code(&self, found: &mut Vec<Secret>) {
        for candidate in self.candidates() {
            let value = &self.text[candidate.range.clone()];
            let digits = value.bytes().filter(u8::is_ascii_digit).count();
            let is_code = value
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b"*#ABCDEF-".contains(&byte));
            let is_near = candidate.link == Link::Is || candidate.place == 0;
            let is_date = placeholder::is_common_shape(value) && value.contains('-');
            let is_near = is_near && !self.has_comma_before(candidate.range.start);
            if is_near && is_code && !is_date && (4..=10).contains(&digits) && value.len() <= 14 {
                let sign = self.text[candidate.range.end..].starts_with('*');
                found.push(Secret {
                    kind: CODE,
                    range: candidate.range.start..candidate.range.end + usize::from(sign),
                });
                return;
            }
        }
    }

    /// Returns whether another part of the sentence begins between the noun and `at`.
    fn has_comma_before(&self, at: usize) -> bool {
        self.text[self.end..at].contains(',')
    }

    /// A list of codes; one by itself only in the form that no other thing has.
    fn recovery_codes(&self, found: &mut Vec<Secret>) {
        let limit = self.text.floor_char_boundary(self.end + LONGEST_VALUE);
        let (mut at, mut others) = (self.end, 0);
        let mut codes: Vec<Range<usize>> = Vec::new();
        while let Some(word) = next_word(self.text, at, limit) {
            at = word.end;
            let mut from = word.start;
            for part in self.text[word.clone()].split([',', ';', '|', '/']) {
                let bare = part.trim_matches(|c: char| !c.is_ascii_alphanumeric());
                let lead = part.find(bare).unwrap_or_default();
                let range = from + lead..from + lead + bare.len();
                from += part.len() + 1;
                if is_recovery_code(bare) {
                    codes.push(range);
                    others = 0;
                } else if bare.bytes().any(|byte| byte.is_ascii_alphanumeric()) {
                    others += 1;
                }
            }
            // Numbers of a list may stand between codes; before the first one, a few words.
            let most = if codes.is_empty() { 8 } else { 1 };
            if others > most {
                break;
            }
        }
        let is_certain = |code: &Range<usize>| self.text[code.clone()].contains('-');
        if codes.len() >= 2 || codes.iter().any(is_certain) {
            found.extend(codes.into_iter().map(|range| Secret {
                kind: RECOVERY,
                range,
            }));
        }
    }

    /// Base32, in groups or not.
    fn one_time_seed(&self, found: &mut Vec<Secret>) {
        let window = self.window();
        let mut at = window.start;
        let mut run: Option<Range<usize>> = None;
        let mut groups = 0;
        while let Some(word) = next_word(self.text, at, window.end) {
            at = word.end;
            let bare =
                self.text[word.clone()].trim_end_matches(['.', ',', ';', '"', '`', '\'', ')']);
            let lead = bare.len() - bare.trim_start_matches(['"', '`', '\'', '(']).len();
            let range = word.start + lead..word.start + bare.len();
            let value = &self.text[range.clone()];
            if is_seed(value) {
                let range = range.start..range.end;
                found.push(Secret { kind: SEED, range });
                return;
            }
            let is_group = value.len() == 4 && is_base32(value);
            if is_group {
                let start = run.as_ref().map_or(range.start, |run| run.start);
                run = Some(start..range.end);
                groups += 1;
            } else if groups >= 4 {
                break;
            } else {
                (run, groups) = (None, 0);
            }
        }
        let Some(run) = run.filter(|_| groups >= 4) else {
            return;
        };
        if self.text[run.clone()]
            .bytes()
            .any(|byte| byte.is_ascii_digit())
        {
            found.push(Secret {
                kind: SEED,
                range: run,
            });
        }
    }

    /// `admin / Gr4nite`, `ada/Gr4nite` behind a colon or a word for *are*.
    fn login(&self, found: &mut Vec<Secret>) {
        let window = self.window();
        let rest = &self.text[window.clone()];
        for (slash, _) in rest.match_indices('/').take(4) {
            let (before, after) = (&rest[..slash], &rest[slash + 1..]);
            let is_apart = before.ends_with(' ') && after.starts_with(' ');
            let is_joined = !before.ends_with([' ', '/', ':']) && !after.starts_with([' ', '/']);
            let mut words = before.split_whitespace().rev();
            let user = words.next().unwrap_or_default();
            let linked = words.next().is_some_and(|word| {
                let word = word.to_lowercase();
                word.ends_with([':', '=', ',']) || link_of(&word) == Some(Link::Is)
            });
            if !(is_apart || is_joined) || !linked || user.contains('/') {
                continue;
            }
            let start = window.start + slash + 1 + usize::from(is_apart);
            let (range, _) = value_at(self.text, start);
            let value = &self.text[range.clone()];
            if !value.contains('/') && is_password(value, Link::Beside) {
                found.push(Secret {
                    kind: PASSWORD,
                    range,
                });
                return;
            }
        }
    }
}

/// Returns the next word at `at` or behind, up to the next blank or `limit`.
fn next_word(text: &str, at: usize, limit: usize) -> Option<Range<usize>> {
    let rest = text.get(at..limit)?;
    let start = rest.find(|c: char| !c.is_whitespace())?;
    let word = &rest[start..];
    let len = word.find(char::is_whitespace).unwrap_or(word.len());
    Some(at + start..at + start + len)
}

fn ends_sentence(word: &str) -> bool {
    let word = word.trim_end_matches(['"', '\'', '`', ')', '”']);
    word.len() > 2 && word.ends_with(['.', '!', '?', ';'])
}

/// Returns the value that begins at `at`: what quotation marks hold, or a word without the signs of the
/// sentence around it. An exclamation mark may be part of it, and stays.
fn value_at(text: &str, at: usize) -> (Range<usize>, bool) {
    let near = &text[at..text.floor_char_boundary(at + LONGEST_VALUE + 1)];
    // Of `DB_PASSWORD=…` the sign that follows the noun is no part of the value.
    let trimmed = near.trim_start_matches(['=', '*', '(', '[']);
    let at = at + near.len() - trimmed.len();
    if let Some(quote) = trimmed.chars().next().filter(|c| "\"'`".contains(*c))
        && let Some(len) = trimmed[1..].find([quote, '\n'])
        && trimmed[1 + len..].starts_with(quote)
    {
        let inner = &trimmed[1..1 + len];
        let lead = inner.len() - inner.trim_start().len();
        let start = at + 1 + lead;
        return (start..start + inner.trim().len(), true);
    }
    let word = trimmed.split(char::is_whitespace).next().unwrap_or(trimmed);
    let word = word.split("\\n").next().unwrap_or(word);
    let word = word.trim_end_matches(|c: char| ".,;:)]}\"'`>?*".contains(c));
    (at..at + word.len(), false)
}

#[cfg(test)]
mod tests {
    use super::super::find as secrets;

    #[track_caller]
    fn check(text: &str, kind: &str, expected: &[&str]) {
        let found = secrets(text);
        let written: Vec<&str> = found
            .iter()
            .map(|secret| &text[secret.range.clone()])
            .collect();
        assert_eq!(written, expected, "{text}");
        assert!(found.iter().all(|secret| secret.kind == kind), "{found:?}");
    }

    #[track_caller]
    fn nothing(text: &str) {
        assert_eq!(secrets(text), [], "{text}");
    }

    #[test]
    fn a_sentence_tells_a_password_in_four_languages() {
        let check = |text, expected| check(text, "a password", &[expected]);
        check("The password for the queue is Brot-und-7.", "Brot-und-7");
        check("Ada changed the root password to x7Kq!w9, ok?", "x7Kq!w9");
        check("Das Passwort für die Ablage lautet Brot_77x.", "Brot_77x");
        check("Datenbankkennwort: „Brot77x“", "Brot77x");
        check("Le mot de passe du serveur est « Brot77x »", "Brot77x");
        check("La contraseña del correo es Brot77x.", "Brot77x");
        check("wiki: user ada pw Br0t77x", "Br0t77x");
        check("Login for the printer: ada / Br0t77x", "Br0t77x");
        check("Credentials are ada/Br0t!77x.", "Br0t!77x");
    }

    #[test]
    fn a_sentence_about_passwords_tells_none() {
        for text in [
            "The password for web-03 is stored in vault2 of the team.",
            "The password is argon2id-hashed and 12-character long.",
            "The password policy is pci-dss-4 since 2024.",
            "Change the password, then restart web-03b2.",
            "Das Passwort für db-02 liegt bei Ada.",
            "Das Passwort ist 12-stellig.",
            "Le mot de passe est dans KeePass2.",
            "La contraseña es obligatoria desde 2024-01.",
            "open(self, name, pwd=None, *, force_zip64=False)",
            "passwd 1:4.13+dfsg1-1",
            "Login for the wiki is by single sign-on / Okta2.",
        ] {
            nothing(text);
        }
    }

    #[test]
    fn a_sentence_tells_a_key() {
        let key = "Vq7w0LkZ3xTn5RbY9mHd";
        for text in [
            format!("The API token of the mirror is {key}."),
            format!("Der AWS-Schlüssel lautet {key}"),
            format!("la clé secrète est {key}"),
            format!("the client secret, by the way, is {key}"),
        ] {
            assert_eq!(secrets(&text).len(), 1, "{text}");
        }
        nothing(&format!("The public token of the page is {key}"));
        nothing("The cache token is sha256:9f86d081884c7d659a2feaa0c55ad015");
        nothing("The token bug went away with 9f86d081884c7d659a2feaa0c55ad015.");
    }

    #[test]
    fn a_pin_is_digits_behind_its_name() {
        check("The PIN of the safe is 4711.", "a PIN", &["4711"]);
        check("PIN: 4711", "a PIN", &["4711"]);
        check("Die PIN lautet 471100", "a PIN", &["471100"]);
        check("PUK 47110815", "a PIN", &["47110815"]);
        nothing("pin 4711 of the board");
        nothing("PIN 13 is ground, PINS are 4711");
        nothing("#define LED_PIN 4711");
    }

    #[test]
    fn codes_open_doors_and_accounts() {
        check("The gate code is #4711.", "an access code", &["#4711"]);
        check(
            "The code for the back door is 4711.",
            "an access code",
            &["4711"],
        );
        check("Türcode: 4711*", "an access code", &["4711*"]);
        let codes = ["k3f9w-2xq7p", "m4h8t-9zr2d"];
        let text = format!("backup codes:\n- {}\n- {}\n", codes[0], codes[1]);
        check(&text, "a recovery code", &codes);
        check(
            "Wiederherstellungscodes: 4711 0815, 48213377, 99120456",
            "a recovery code",
            &["48213377", "99120456"],
        );
        nothing("The code for the parser is 4711 lines long.");
        nothing("The gate code is in src/gate2.rs; exit code 4711.");
        nothing("The recovery codes are with 1Password.");
    }

    #[test]
    fn a_network_has_a_key_of_digits_maybe() {
        let kind = "a Wi-Fi password";
        check(
            "WPA2 key: 4711 0815 4711 0815",
            kind,
            &["4711 0815 4711 0815"],
        );
        check("Wi-Fi guest key: 4711-0815-4711", kind, &["4711-0815-4711"]);
        check("wifi key is Brot77xyz", kind, &["Brot77xyz"]);
        nothing("WPA2 key length 8 to 63");
    }

    #[test]
    fn seeds_are_base32_or_words() {
        let kind = "a seed of one-time passwords";
        check(
            "2FA seed: K5QW 4Z3B MFRG 2TZA",
            kind,
            &["K5QW 4Z3B MFRG 2TZA"],
        );
        nothing("2FA with TOTP CODE FROM YOUR APPS");
        let words = "ladder orbit velvet cactus humble tiger punch glory ivory wagon melt fox";
        check(&format!("seed phrase: {words}."), "a seed phrase", &[words]);
        check(
            "The passphrase is mule battery 7 stapler.",
            "a password",
            &["mule battery 7 stapler"],
        );
        nothing("The passphrase is asked for once a day.");
    }
}

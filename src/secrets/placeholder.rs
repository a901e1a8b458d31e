//! Tells what stands in a secret's place: examples, placeholders, references to where the secret is
//! kept, and values that are something else, such as paths, dates and expressions.

use std::sync::LazyLock;

use regex::Regex;

use super::randomness::{entropy, is_word, is_wordy};

/// Words that occur in examples.
const SAYING_SO: &str = "example xxxx changeme change_me change-me placeholder redacted your_ your- yourapi **** \
    .... dummy insert";

/// Returns whether it is a documentation's example: it says so, repeats itself, or counts.
pub(super) fn is_example(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    is_example_word(value)
        || longest_run(&lower, |a, b| a == b) >= 7
        || longest_run(&lower, |a, b| a.checked_add(1) == Some(b)) >= 8
        || lower.contains("567890")
        || entropy(&lower) < 1.5
}

/// Returns whether a text of any length is a documentation's example.
pub(super) fn is_example_word(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    SAYING_SO.split(' ').any(|word| lower.contains(word))
}

/// Returns the length of the longest run of bytes of which each follows the one before.
fn longest_run(text: &str, follows: impl Fn(u8, u8) -> bool) -> usize {
    let (mut longest, mut run) = (0, 1);
    for pair in text.as_bytes().windows(2) {
        run = if follows(pair[0], pair[1]) {
            run + 1
        } else {
            1
        };
        longest = longest.max(run);
    }
    longest
}

/// Words that are written in place of a secret, also with a number behind them.
const WORDS: &str = "password passwd passphrase pass pwd pw secret token key apikey api_key api-key \
    accesstoken access_token mypassword my_password my-password mysecret my_secret \
    mysecretpassword mytoken none null nil undefined true false yes no on off empty unset \
    unknown hidden masked test testing foo bar baz foobar qux user username admin root guest \
    string value todo tbd fixme required optional default sample random";

/// Methods by which secrets are made.
const METHODS: &str = "argon2id argon2i argon2d sha1 sha256 sha384 sha512 base64 base64url oauth2 ed25519 \
    x25519";

/// Returns whether it stands for a value, or for none.
pub(super) fn is_placeholder(value: &str) -> bool {
    let is_mark = |c: char| !c.is_alphanumeric();
    let word = value.trim_matches(is_mark).to_ascii_lowercase();
    let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let stem = stem.trim_end_matches(is_mark);
    let is_masked = |sign: char| value.chars().filter(|c| *c == sign).count() >= 3;
    word.is_empty()
        || lists(METHODS, &word)
        || lists(WORDS, &word)
        || lists(WORDS, stem)
        || is_crossed_out(value)
        || value.contains("***")
        || value.contains("...")
        || value.contains('…')
        || is_masked('•')
        || is_masked('█')
}

/// `sk-xxx`: crosses, and words at most beside them. A random value may hold three by chance.
fn is_crossed_out(value: &str) -> bool {
    let has_crosses = value.contains("xxx") || value.contains("XXX");
    has_crosses && is_wordy(&value.replace(['x', 'X'], ""))
}

fn lists(words: &str, word: &str) -> bool {
    words.split(' ').any(|listed| listed == word)
}

/// Returns whether it says where the secret is kept, not what it is.
pub(super) fn is_reference(value: &str) -> bool {
    static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
        let starts = [
            r"\$\{",
            r"\$\(",
            r"\$\[",
            r"\$[A-Za-z_][A-Za-z0-9_.:]*$",
            r"\{",
            r"<",
            r"\[",
            r"#\{",
            r"%\{",
            r"%\(",
            r"%[A-Za-z_][A-Za-z0-9_]*%$",
            r"%[sdvqr]$",
            r"@[A-Z_]+@$",
            r":[a-z_]+$",
            r"!(?:Ref|Sub|GetAtt|ImportValue|vault|env|secret)",
            r"(?i:env)(?:[:.(\[]|\$)",
            r"(?:os|process|Deno|Bun|import\.meta|std|System|ENV)(?:\.|::)(?i:get_?)?env",
            r"(?i:os\.getenv|getenv|get_env|env_var|lookup_env)",
            r"(?:secrets?|vars?|vault|local|data|self|this|config|settings|inputs|params|args|opts|options|request|req|ctx|context|env|cfg|conf|props|state|module|values?|Values)\.[A-Za-z_]",
            r"(?:op|vault|file|https?|ssm|keyring|keychain|gcpsm|awssm|ref\+[a-z]+|doppler|bws|sops|akv|secretsmanager)://",
            r"(?:vault|file|ssm|arn|env|keyring|keychain|sha(?:1|256|384|512)|md5|secretref|valueFrom):",
            r"data:[a-z]+/",
        ];
        Regex::new(&format!("^(?:{})", starts.join("|"))).expect("it is valid")
    });
    REFERENCE.is_match(value)
        || value.contains("${")
        || value.contains("{{")
        || value.contains("$(")
}

/// Returns whether it is a path, an address, a date, a version, an id of a memory, a hash of a password.
pub(super) fn is_common_shape(value: &str) -> bool {
    static COMMON: LazyLock<Regex> = LazyLock::new(|| {
        let whole = [
            // Files.
            r"[A-Za-z0-9_-]+\.(?:pem|key|crt|cert|json|ya?ml|toml|txt|env|md|rs|py|js|ts|go|sh|conf|cfg|ini|gpg|asc|html?|png|svg)",
            // Addresses.
            r"[a-z][a-z0-9+.-]*://[^@]*",
            r"[A-Za-z0-9._+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[a-z]{2,6}",
            r"(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|local|internal|svc|ai|app|eu|de)(?::[0-9]+)?(?:/.*)?",
            // Dates, versions, ids of memories.
            r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.]+(?:Z|[+-][0-9:]+)?)?",
            r"v?[0-9]+\.[0-9]+(?:\.[0-9]+)?(?:-?(?:alpha|beta|rc|dev|pre)[.-]?[0-9]*)?",
            r"[0-9]{8}_[0-9]{6}_[0-9a-f]{8}",
            // Numbers with a unit.
            r"[0-9]+(?:\.[0-9]+)?[A-Za-zµ%]{1,6}",
            r"(?:0x[0-9A-Fa-f_]{1,16}|[0-9_]+)_?(?:[iuf](?:8|16|32|64|128|size)|[UuLl]{1,3})?",
            // Hashes of passwords.
            r"\$(?:2[aby]|argon2[a-z]*|[156y]|scrypt|pbkdf2[a-z0-9-]*)\$.*",
        ];
        Regex::new(&format!("^(?:{})$", whole.join("|"))).expect("it is valid")
    });
    COMMON.is_match(value) || is_path(value)
}

/// Returns whether it is a path; base64 may begin like one, but goes on without words.
fn is_path(value: &str) -> bool {
    let is_anchored = ["/", "./", "../", "~/"]
        .iter()
        .any(|root| value.starts_with(root))
        || value.as_bytes().get(1..3) == Some(b":\\");
    is_anchored && is_wordy(value)
}

/// Returns whether a value without quotation marks is an expression of some program.
pub(super) fn is_code(value: &str) -> bool {
    static NAMES: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^[*&!]{0,2}[A-Za-z_][A-Za-z_]*[0-9]{0,2}(?:(?:\.|::|->|\?\.)[A-Za-z_]+[0-9]{0,2})+[?!;]?$")
            .expect("it is valid")
    });
    value.contains([
        '(', ')', '[', ']', '{', '}', '<', '>', '"', '\'', '`', '|', '\\',
    ]) || value.contains("::")
        || value.starts_with(['&', '*', '/', '-', '.', '#'])
        || is_name(value)
        || NAMES.is_match(value)
}

/// Returns whether it is a name of a program that is words for the most part: `x25519_make_key`.
fn is_name(value: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let pieces = value.split('_');
    let words = pieces.filter(|piece| piece.len() >= 4 && piece.is_ascii() && is_word(piece));
    value.bytes().all(is_part) && words.map(str::len).sum::<usize>() * 2 >= value.len()
}

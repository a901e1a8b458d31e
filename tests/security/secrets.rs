//! Credentials are found where people write them down, and nothing else is: on made-up secrets in
//! the places they are met in, on this repository's own lines, and on random text.
//!
//! No secret here was ever anybody's. Prefixes are put together in two pieces, so that no scanner
//! takes this file for a leak.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::time::Duration;

use memdir::secrets;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use crate::support::random;

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const HEX: &str = "0123456789abcdef";
const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BECH32: &str = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";
const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const DIGITS: &str = "0123456789";

/// Throws the same numbers on every run (SplitMix64; Steele, Lea, Flood 2014).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn one<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }

    /// `len` characters of an alphabet; the last one is no punctuation.
    fn text(&mut self, alphabet: &str, len: usize) -> String {
        let mut text = String::new();
        while text.len() < len {
            let byte = alphabet.as_bytes()[self.below(alphabet.len())];
            if text.len() + 1 < len || byte.is_ascii_alphanumeric() {
                text.push(char::from(byte));
            }
        }
        text
    }

    fn uuid(&mut self) -> String {
        let lens = [8, 4, 4, 4, 12];
        lens.map(|len| self.text(HEX, len)).join("-")
    }
}

/// A secret, the text it stands in, and what it is to be called.
struct Case {
    text: String,
    secret: String,
    kind: &'static str,
}

/// A token: what it is, how it begins in two pieces, and how it goes on.
type Token = (
    &'static str,
    &'static str,
    &'static str,
    fn(&mut Dice) -> String,
);

const TOKENS: &[Token] = &[
    ("an AWS access key", "AK", "IA", |d| d.text(BASE32, 16)),
    ("an AWS access key", "AS", "IA", |d| d.text(BASE32, 16)),
    ("a Google API key", "AI", "za", |d| d.text(URL, 35)),
    ("a Google OAuth secret", "GOC", "SPX-", |d| d.text(URL, 28)),
    ("a DigitalOcean token", "dop", "_v1_", |d| d.text(HEX, 64)),
    ("a GitHub token", "gh", "p_", |d| d.text(WORD, 36)),
    ("a GitHub token", "gh", "o_", |d| d.text(WORD, 36)),
    ("a GitHub token", "gh", "u_", |d| d.text(WORD, 36)),
    ("a GitHub token", "gh", "s_", |d| d.text(WORD, 36)),
    ("a GitHub token", "gh", "r_", |d| d.text(WORD, 76)),
    ("a GitHub token", "github", "_pat_", |d| {
        format!("{}_{}", d.text(WORD, 22), d.text(WORD, 59))
    }),
    ("a GitLab token", "gl", "pat-", |d| d.text(URL, 20)),
    ("a GitLab token", "gl", "dt-", |d| d.text(URL, 20)),
    ("a GitLab token", "gl", "rt-", |d| d.text(URL, 20)),
    ("a Bitbucket token", "AT", "BB", |d| d.text(WORD, 32)),
    ("an Atlassian token", "ATA", "TT3", |d| d.text(URL, 186)),
    ("a Slack token", "xo", "xb-", |d| {
        let numbers = format!("{}-{}", d.text(DIGITS, 12), d.text(DIGITS, 12));
        format!("{numbers}-{}", d.text(WORD, 24))
    }),
    ("a Slack token", "xo", "xp-", |d| {
        format!("{}-{}", d.text(DIGITS, 12), d.text(HEX, 32))
    }),
    ("a Slack token", "xa", "pp-1-A", |d| {
        format!(
            "{}-{}-{}",
            d.text(WORD, 10),
            d.text(DIGITS, 13),
            d.text(HEX, 64)
        )
    }),
    ("a Discord token", "M", "Tk4", |d| {
        format!(
            "{}.{}.{}",
            d.text(WORD, 21),
            d.text(URL, 6),
            d.text(URL, 38)
        )
    }),
    ("a Telegram token", "", "", |d| {
        let number = format!("7{}", d.text(DIGITS, 9));
        format!("{number}:A{}{}", "A", d.text(URL, 33))
    }),
    ("a Stripe key", "sk", "_live_", |d| d.text(WORD, 24)),
    ("a Stripe key", "rk", "_live_", |d| d.text(WORD, 99)),
    ("an OpenAI key", "s", "k-", |d| d.text(WORD, 48)),
    ("an OpenAI key", "sk-", "proj-", |d| d.text(URL, 120)),
    ("an Anthropic key", "sk-", "ant-api03-", |d| d.text(URL, 95)),
    ("an OpenRouter key", "sk-", "or-v1-", |d| d.text(HEX, 64)),
    ("a Hugging Face token", "h", "f_", |d| d.text(WORD, 34)),
    ("a Voyage AI key", "p", "a-", |d| d.text(URL, 43)),
    ("a Groq key", "g", "sk_", |d| d.text(WORD, 52)),
    ("an npm token", "np", "m_", |d| d.text(WORD, 36)),
    ("a PyPI token", "py", "pi-AgEIcHlwaS5vcmc", |d| {
        d.text(URL, 140)
    }),
    ("a crates.io token", "ci", "o", |d| d.text(WORD, 32)),
    ("a Docker token", "dckr", "_pat_", |d| d.text(URL, 27)),
    ("a Twilio key", "S", "K", |d| d.text(HEX, 32)),
    ("a SendGrid key", "S", "G.", |d| {
        format!("{}.{}", d.text(URL, 22), d.text(URL, 43))
    }),
    ("a Mailgun key", "ke", "y-", |d| d.text(HEX, 32)),
    ("a Mailchimp key", "", "", |d| {
        format!("{}-us{}", d.text(HEX, 32), 12)
    }),
    ("a Square token", "EA", "AA", |d| d.text(URL, 60)),
    ("a Square token", "sq0", "atp-", |d| d.text(URL, 22)),
    ("a Shopify token", "shp", "at_", |d| d.text(HEX, 32)),
    ("a Shopify token", "shp", "ss_", |d| d.text(HEX, 32)),
    ("a Linear key", "lin", "_api_", |d| d.text(WORD, 40)),
    ("a Notion token", "nt", "n_", |d| d.text(WORD, 46)),
    ("a Notion token", "sec", "ret_", |d| d.text(WORD, 43)),
    ("a Databricks token", "da", "pi", |d| d.text(HEX, 32)),
    ("a Vault token", "hv", "s.", |d| d.text(URL, 90)),
    ("an age key", "AGE-SECRET", "-KEY-1", |d| d.text(BECH32, 58)),
    ("a JSON web token", "", "", web_token),
];

/// Where tokens are met.
const PLACES: [&str; 22] = [
    "{}",
    "VALUE={}",
    "export GITHUB_TOKEN={}",
    "API_KEY=\"{}\"\nDEBUG=1",
    "  token: {}\n  user: ada",
    "secretKey: '{}' # rotate in May",
    "{\"type\": \"bot\", \"api_key\": \"{}\", \"n\": 3}",
    "{\\\"token\\\":\\\"{}\\\"}",
    "The key of the build machine is {}, do not lose it.",
    "Ask Ada (she has {}).",
    "- use `{}` for the mirror",
    "let client = Client::new(\"{}\");",
    "client = Client(api_key='{}', timeout=3)",
    "const key = `{}`;",
    "curl -H \"Authorization: Bearer {}\" https://api.example.com/v1/items",
    "curl -H 'X-Api-Key: {}' https://api.example.com",
    "https://api.example.com/v1?key={}&page=2",
    "git clone https://oauth2:{}@git.example.com/a/b.git",
    "program --token {} --verbose",
    "| mirror | {} |",
    "line one\\n{}\\nline three",
    "<token>{}</token>",
];

fn web_token(dice: &mut Dice) -> String {
    let header = encode(br#"{"alg":"HS256","typ":"JWT"}"#, URL);
    let claims = format!(r#"{{"sub":"{}","admin":true}}"#, dice.text(DIGITS, 10));
    format!(
        "{header}.{}.{}",
        encode(claims.as_bytes(), URL),
        dice.text(URL, 43)
    )
}

fn encode(bytes: &[u8], alphabet: &str) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..=chunk.len() {
            let place = (bits >> (18 - 6 * digit)) & 63;
            text.push(char::from(alphabet.as_bytes()[place as usize]));
        }
    }
    text
}

/// Fields of every name, with values that people and machines choose.
fn fields(dice: &mut Dice) -> Vec<Case> {
    let chosen: [fn(&mut Dice) -> String; 6] = [
        |d| {
            format!(
                "{}{}",
                d.one(&["sunny", "Winter", "kiwi", "dragon"]),
                d.text(DIGITS, 3)
            )
        },
        |d| {
            format!(
                "{}{}!{}",
                d.text(LOWER, 4),
                d.text(DIGITS, 2),
                d.text(WORD, 4)
            )
        },
        |d| {
            format!(
                "Tr{}b4{}&{}",
                d.text(DIGITS, 1),
                d.text(LOWER, 3),
                d.text(DIGITS, 2)
            )
        },
        |d| format!("{}#{}7", d.text(WORD, 8), d.text(WORD, 6)),
        |d| format!("{}9{}", d.text(WORD, 14), d.text(WORD, 4)),
        |d| {
            format!(
                "{}-{}{}",
                d.text(WORD, 9),
                d.text(DIGITS, 3),
                d.text(WORD, 7)
            )
        },
    ];
    let made: [fn(&mut Dice) -> String; 4] = [
        |d| format!("{}a7{}", d.text(HEX, 20), d.text(HEX, 10)),
        |d| format!("{}b8{}", d.text(WORD, 20), d.text(WORD, 18)),
        Dice::uuid,
        |d| format!("{}4x{}", d.text(URL, 30), d.text(WORD, 11)),
    ];
    let password_places = [
        ("DB_PASSWORD={}", "a password"),
        ("export PGPASSWORD='{}'", "a password"),
        ("POSTGRES_PASSWORD={}\nPOSTGRES_USER=ada", "a password"),
        ("password: {}", "a password"),
        ("  adminPassword: \"{}\"", "a password"),
        ("{\"user\": \"ada\", \"passwd\": \"{}\"}", "a password"),
        ("db.connect(user=\"ada\", password=\"{}\")", "a password"),
        ("const password: &str = \"{}\";", "a password"),
        ("my $pwd = '{}';", "a password"),
        ("**Password:** {}", "a password"),
        ("- Password: `{}`", "a password"),
        ("The password is `{}`.", "a password"),
        ("<password>{}</password>", "a password"),
        ("config['password'] = '{}'", "a password"),
        ("client_secret: {}", "a secret"),
        ("CLIENT_SECRET=\"{}\"", "a secret"),
        ("program --password '{}' run", "a password"),
        ("  passphrase = {}", "a password"),
        (
            "Server=db;User Id=ada;Password={};Encrypt=true",
            "a password",
        ),
    ];
    let token_places = [
        ("AUTH_TOKEN={}", "a token"),
        ("access_token: {}", "a token"),
        ("{\"refreshToken\":\"{}\",\"n\":1}", "a token"),
        ("api_key = \"{}\"", "a secret key"),
        ("X-Api-Key: {}", "a secret key"),
        ("https://example.com/feed?token={}&n=2", "a token"),
        ("let api_key = \"{}\";", "a secret key"),
        ("program --api-key {} --quiet", "a secret key"),
        ("SECRET_KEY_BASE={}", "a secret"),
        ("private_key: '{}'", "a secret key"),
        ("Authorization: token {}", "a token in a header"),
        (
            "headers={\"Authorization\": \"Bearer {}\"}",
            "a token in a header",
        ),
    ];
    let mut cases = Vec::new();
    for round in 0..3 {
        for (number, (place, kind)) in password_places.into_iter().enumerate() {
            let secret = chosen[(number + 2 * round) % chosen.len()](dice);
            cases.push(Case {
                text: place.replace("{}", &secret),
                secret,
                kind,
            });
        }
        for (number, (place, kind)) in token_places.into_iter().enumerate() {
            let secret = made[(number + round) % made.len()](dice);
            cases.push(Case {
                text: place.replace("{}", &secret),
                secret,
                kind,
            });
        }
    }
    cases
}

/// URLs, headers, connection strings, keys of services without a prefix.
fn places_of_their_own(dice: &mut Dice) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |before: &str, secret: String, after: &str, kind| {
        let text = format!("{before}{secret}{after}");
        cases.push(Case { text, secret, kind });
    };
    for scheme in [
        "postgres",
        "mysql",
        "redis",
        "amqp",
        "mongodb+srv",
        "https",
        "ftp",
        "smtp",
    ] {
        let password = dice.text(WORD, 12);
        add(
            &format!("{scheme}://ada:"),
            password,
            "@db.internal:5432/app",
            "a password in a URL",
        );
        let password = format!("k{}p!x", dice.text(LOWER, 5));
        let before = format!("The queue is at {scheme}://svc:");
        add(
            &before,
            password,
            "@10.0.0.7/x (staging).",
            "a password in a URL",
        );
    }
    for _ in 0..4 {
        let login = format!("ada:{}", dice.text(WORD, 11));
        let value = encode(login.as_bytes(), BASE64);
        add("Authorization: Basic ", value, "", "a password in a header");
        add(
            "curl -u ada:",
            dice.text(WORD, 10),
            " https://example.com",
            "a password in a command",
        );
        let key = dice.text(BASE64, 40);
        add("aws_secret_access_key = ", key, "\n", "an AWS secret key");
        let key = dice.text(BASE64, 40);
        add("AWS_SECRET_ACCESS_KEY=", key, "", "an AWS secret key");
        add("HEROKU_API_KEY=", dice.uuid(), "", "a Heroku API key");
        add(
            "twilio_auth_token: ",
            dice.text(HEX, 32),
            "",
            "a Twilio token",
        );
        let key = format!("{}==", dice.text(BASE64, 86));
        let account = "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=";
        add(
            account,
            key,
            ";EndpointSuffix=core.windows.net",
            "an Azure storage key",
        );
        let key = format!("{}=", dice.text(BASE64, 43));
        let bus = "Endpoint=sb://a.servicebus.windows.net/;SharedAccessKey=";
        add(bus, key, "", "an Azure access key");
        let signature = format!("{}%3D", dice.text(WORD, 43));
        let blob = "https://a.blob.core.windows.net/c?sv=2022-11-02&se=2030-01-01&sig=";
        add(blob, signature, "&sp=r", "an Azure access signature");
        let hook = format!(
            "T{}/B{}/{}",
            dice.text(BASE32, 10),
            dice.text(BASE32, 10),
            dice.text(WORD, 24)
        );
        add(
            "https://hooks.slack.com/services/",
            hook,
            "",
            "a Slack webhook",
        );
        let hook = dice.text(URL, 68);
        let discord = "https://discord.com/api/webhooks/123456789012345678/";
        add(discord, hook, "", "a Discord webhook");
        let number = dice.text("123456789", 10);
        let bot = format!("{number}:A{}{}", "A", dice.text(URL, 33));
        add(
            "https://api.telegram.org/bot",
            bot,
            "/getMe",
            "a Telegram token",
        );
    }
    cases
}

/// Private keys in files, in settings, in code.
fn private_keys(dice: &mut Dice) -> Vec<Case> {
    let mut cases = Vec::new();
    let kinds = ["", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED "];
    for (number, name) in kinds.into_iter().enumerate() {
        let dashes = "-".repeat(5);
        let lines: Vec<String> = (0..6 + number).map(|_| dice.text(BASE64, 64)).collect();
        let block = |lines: &[String], end: &str| {
            let (begin, footer) = ("BEGIN ", "END ");
            let title = format!("{name}PRIVATE KEY{dashes}");
            format!(
                "{dashes}{begin}{title}{end}{}{end}{dashes}{footer}{title}",
                lines.join(end)
            )
        };
        let kind = "a private key";
        for (before, end, after) in [
            ("", "\n", "\n"),
            ("{\"private_key\": \"", "\\n", "\\n\", \"client_id\": 1}"),
            ("key: |\n    ", "\n    ", "\nother: 1"),
            ("KEY = \"\"\"", "\r\n", "\"\"\""),
        ] {
            let secret = block(&lines, end);
            cases.push(Case {
                text: format!("{before}{secret}{after}"),
                secret,
                kind,
            });
        }
        // The end was cut off.
        let whole = block(&lines, "\n");
        let secret = whole[..whole.rfind("\n").unwrap()].to_owned();
        cases.push(Case {
            text: format!("{secret}\n\nThe rest is lost."),
            secret,
            kind,
        });
    }
    let dashes = "-".repeat(5);
    let lines: Vec<String> = (0..5).map(|_| dice.text(BASE64, 64)).collect();
    let title = format!("PGP PRIVATE KEY BLOCK{dashes}");
    let secret = format!(
        "{dashes}BEGIN {title}\nVersion: GnuPG v2\n\n{}\n=ab1C\n{dashes}END {title}",
        lines.join("\n")
    );
    let text = format!("My key:\n{secret}\nbye");
    cases.push(Case {
        text,
        secret,
        kind: "a private key",
    });
    let text = format!(
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 5\n{}\nPrivate-MAC: {}\n",
        lines.join("\n"),
        dice.text(HEX, 64)
    );
    cases.push(Case {
        text,
        secret: lines.join("\n"),
        kind: "a private key",
    });
    cases
}

fn positives() -> Vec<Case> {
    let mut dice = Dice(20_260_114);
    let mut cases = Vec::new();
    for (number, (kind, first, second, rest)) in TOKENS.iter().enumerate() {
        for round in 0..6 {
            let secret = format!("{first}{second}{}", rest(&mut dice));
            let place = PLACES[(number * 5 + round * 7) % PLACES.len()];
            cases.push(Case {
                text: place.replace("{}", &secret),
                secret,
                kind,
            });
        }
    }
    cases.extend(fields(&mut dice));
    cases.extend(places_of_their_own(&mut dice));
    cases.extend(private_keys(&mut dice));
    cases
}

#[test]
fn secrets_are_found_where_people_write_them_down() {
    let cases = positives();
    let mut missed = Vec::new();
    let mut misnamed = Vec::new();
    for case in &cases {
        let found = secrets::find(&case.text);
        let start = case.text.find(&case.secret).unwrap();
        let range = start..start + case.secret.len();
        let is_right = found.len() == 1 && found[0].range == range;
        if !is_right {
            missed.push(format!("{:?} in {:?}: {found:?}", case.secret, case.text));
        } else if found[0].kind != case.kind {
            misnamed.push(format!("{:?} is not {}", case.text, found[0].kind));
        }
    }
    eprintln!(
        "secrets: {} of {} found, {} misnamed",
        cases.len() - missed.len(),
        cases.len(),
        misnamed.len()
    );
    assert_eq!(cases.len(), 483);
    assert!(missed.is_empty(), "\n{}", missed.join("\n"));
    assert!(misnamed.is_empty(), "\n{}", misnamed.join("\n"));
}

#[test]
fn every_made_up_secret_is_gone_after_redaction() {
    for case in positives() {
        let redacted = secrets::redact(&case.text);
        assert_eq!(secrets::find(&redacted), [], "{redacted}");
        assert_eq!(secrets::redact(&redacted), redacted);
    }
}

#[test]
fn the_lines_of_this_repository_hold_no_secrets() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["src", "docs", "tests", "benches", "fixtures"] {
        files_below(&root.join(folder), &mut files);
    }
    files.extend(
        ["Cargo.lock", "Cargo.toml", "README.md", "CHANGELOG.md"].map(|name| root.join(name)),
    );
    // These speak of secrets, and hold what looks like some.
    files.retain(|file| {
        !file
            .strip_prefix(root)
            .unwrap()
            .to_string_lossy()
            .contains("secrets")
    });

    let texts: Vec<String> = files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok())
        .collect();
    let lines: Vec<&str> = texts.iter().flat_map(|text| text.lines()).collect();
    let alarms = alarms(&lines);
    eprintln!(
        "secrets: {} false alarms in {} lines of this repository",
        alarms.len(),
        lines.len()
    );
    // A share and no list: some lines hold made-up secrets, and each commit has other lines.
    assert!(lines.len() >= 100_000);
    assert!(
        alarms.len() * 5_000 <= lines.len(),
        "\n{}",
        alarms.join("\n")
    );
}

#[test]
fn ids_and_checksums_are_no_secrets() {
    let mut dice = Dice(7);
    let lines: Vec<String> = (0..5_000)
        .map(|number| harmless(&mut dice, number))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let alarms = alarms(&lines);
    eprintln!(
        "secrets: {} false alarms in {} made-up lines",
        alarms.len(),
        lines.len()
    );
    assert!(alarms.is_empty(), "\n{}", alarms.join("\n"));
}

#[test]
fn what_stands_for_a_secret_is_none() {
    let lines: Vec<&str> = include_str!("secrets_none.txt").lines().collect();
    let alarms = alarms(&lines);
    assert!(alarms.is_empty(), "\n{}", alarms.join("\n"));
}

/// A text of `fixtures/secrets`: the marks are taken out, and the places between them returned.
struct Sample {
    what: String,
    text: String,
    secrets: Vec<Range<usize>>,
    /// It is judged wrongly, which is known: `"known_fault": true`.
    is_known_fault: bool,
}

impl Sample {
    fn parse(line: &str) -> Self {
        let line: Value = serde_json::from_str(line).unwrap();
        let mut text = String::new();
        let mut secrets = Vec::new();
        let mut start = 0;
        for character in line["text"].as_str().unwrap().chars() {
            match character {
                '⟦' => start = text.len(),
                '⟧' => secrets.push(start..text.len()),
                '¦' => {}
                _ => text.push(character),
            }
        }
        Self {
            what: line["what"].as_str().unwrap_or_default().to_owned(),
            text,
            secrets,
            is_known_fault: line["known_fault"] == true,
        }
    }

    /// Whether anything in it is taken for a secret.
    fn is_alarm(&self) -> bool {
        !secrets::find(&self.text).is_empty()
    }

    /// Whether every byte of every credential would be replaced.
    fn is_found(&self) -> bool {
        let found = secrets::find(&self.text);
        self.secrets.iter().all(|secret| {
            secret
                .clone()
                .all(|at| found.iter().any(|found| found.range.contains(&at)))
        })
    }
}

/// Every second line: rules are developed on the first half of the lines (the odd ones) alone.
fn halves(lines: &str) -> [Vec<Sample>; 2] {
    [0, 1].map(|first| {
        lines
            .lines()
            .skip(first)
            .step_by(2)
            .map(Sample::parse)
            .collect()
    })
}

#[test]
fn credentials_of_the_samples_are_found_and_texts_near_them_pass() {
    let held = halves(include_str!("../../fixtures/secrets/credentials.jsonl"));
    let near = halves(include_str!(
        "../../fixtures/secrets/near_credentials.jsonl"
    ));
    let mut otherwise = Vec::new();
    for (half, (held, near)) in ["odd", "even"].into_iter().zip(held.iter().zip(&near)) {
        let missed = held.iter().filter(|sample| !sample.is_found());
        let alarms = near.iter().filter(|sample| sample.is_alarm());
        eprintln!(
            "secrets, samples, {half} lines: {} of {} missed, {} false alarms in {} texts",
            missed.clone().count(),
            held.len(),
            alarms.clone().count(),
            near.len()
        );
        let of_held = held
            .iter()
            .filter(|sample| sample.is_found() == sample.is_known_fault);
        let of_near = near
            .iter()
            .filter(|sample| sample.is_alarm() != sample.is_known_fault);
        otherwise.extend(of_held.chain(of_near).map(|sample| {
            format!(
                "{}, a known fault: {}: {:?}",
                sample.what, sample.is_known_fault, sample.text
            )
        }));
    }
    assert_eq!(held.iter().flatten().count(), 116);
    assert_eq!(near.iter().flatten().count(), 233);
    assert!(otherwise.is_empty(), "\n{}", otherwise.join("\n"));
}

#[test]
fn every_credential_of_the_samples_is_gone_after_redaction() {
    for sample in halves(include_str!("../../fixtures/secrets/credentials.jsonl"))
        .into_iter()
        .flatten()
        .filter(Sample::is_found)
    {
        let redacted = secrets::redact(&sample.text);
        assert_eq!(secrets::find(&redacted), [], "{redacted}");
        for secret in sample.secrets {
            let secret = &sample.text[secret];
            assert!(!redacted.contains(secret), "{redacted}");
        }
    }
}

#[test]
fn a_character_without_width_hides_no_credential() {
    for width in [
        "\u{200b}",
        "\u{200c}",
        "\u{200d}",
        "\u{2060}",
        "\u{feff}",
        "\u{ad}",
        "\u{fe0f}",
        "\u{202e}",
        "\u{e0041}",
    ] {
        for case in positives().into_iter().step_by(7) {
            let middle = case.secret.len() / 2;
            let (first, last) = case.secret.split_at(middle);
            let secret = format!("{first}{width}{last}");
            let text = case.text.replacen(&case.secret, &secret, 1);
            let plain = secrets::find(&case.text);
            let found = secrets::find(&text);
            assert_eq!(found.len(), plain.len(), "{text:?}");
            for (found, plain) in found.iter().zip(plain) {
                assert_eq!(found.kind, plain.kind);
                assert_eq!(found.fingerprint(&text), plain.fingerprint(&case.text));
            }
            assert_eq!(secrets::redact(&text), secrets::redact(&case.text));
        }
    }
}

/// The lines that are taken for secrets, each with what was found.
fn alarms(lines: &[&str]) -> Vec<String> {
    let found = lines.iter().map(|line| (line, secrets::find(line)));
    found
        .filter(|(_, found)| !found.is_empty())
        .map(|(line, found)| format!("{found:?}: {line}"))
        .collect()
}

/// A line with something in it that no one chose and no one has to hide.
fn harmless(dice: &mut Dice, number: usize) -> String {
    let commit = dice.text(HEX, 40);
    let sum = dice.text(HEX, 64);
    let uuid = dice.uuid();
    let word = dice.text(LOWER, 9);
    match number % 20 {
        0 => format!("commit {commit}"),
        1 => format!("{sum}  target/{word}.tar.gz"),
        2 => format!("checksum = \"{sum}\""),
        3 => format!("\"integrity\": \"sha512-{}==\",", dice.text(BASE64, 86)),
        4 => format!("session {uuid} was closed"),
        5 => format!("id: {uuid}"),
        6 => format!("![]({})", image(dice)),
        7 => format!("src=\"{}\"", image(dice)),
        8 => format!(
            "see 20260{}01_0{}0000_{}",
            1 + number % 9,
            number % 10,
            dice.text(HEX, 8)
        ),
        9 => format!("index {}..{} 100644", dice.text(HEX, 7), dice.text(HEX, 7)),
        10 => format!("image: registry.example.com/app@sha256:{sum}"),
        11 => format!("https://github.com/{word}/memdir/commit/{commit}"),
        12 => format!(
            "key: {word}, primary_key: {}, keys: {}",
            dice.text(DIGITS, 6),
            &commit[..12]
        ),
        13 => format!(
            "max_tokens: {}, tokens={}",
            dice.text(DIGITS, 4),
            dice.text(DIGITS, 3)
        ),
        14 => format!("fingerprint SHA256:{}", dice.text(BASE64, 43)),
        15 => format!(
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{} ada@host",
            dice.text(BASE64, 44)
        ),
        16 => format!(
            "{}:{} 0x{}",
            dice.text(HEX, 2),
            dice.text(HEX, 2),
            dice.text(HEX, 16)
        ),
        17 => format!("ETag: W/\"{}\"", dice.text(HEX, 32)),
        18 => format!(
            "let {word} = [0x{}, 0x{}];",
            dice.text(HEX, 8),
            dice.text(HEX, 8)
        ),
        _ => dice.text(BASE64, 76),
    }
}

fn image(dice: &mut Dice) -> String {
    format!(
        "data:image/png;base64,iVBORw0KGgo{}=",
        dice.text(BASE64, 400)
    )
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files_below(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// Pieces that begin, continue or end something that looks like a secret.
fn piece() -> impl Strategy<Value = String> {
    let fixed = select(vec![
        "password",
        "token",
        "secret",
        "api_key",
        ": ",
        "=",
        " = ",
        "\"",
        "'",
        "`",
        "\\\"",
        "\\n",
        "\n",
        " ",
        "://",
        "https://",
        "u:",
        "@h",
        "Bearer ",
        "Basic ",
        "Authorization: ",
        "--password ",
        "curl -u a:",
        "eyJ",
        ".",
        "-",
        "sk-",
        "gh",
        "p_",
        "key-",
        ":AA",
        "-us3",
        "Q~",
        "-----",
        "BEGIN ",
        "PRIVATE KEY",
        "END ",
        "Private-Lines: 3\n",
        "[redacted: ",
        "[redacted: a password]",
        "a password",
        "]",
        "é",
        "🦀",
        "\u{200d}",
        "ſ",
        "K",
        "İ",
        "hunter2",
        "Tr0ub4dor&3",
        "<password>",
        "</",
        "${X}",
    ]);
    prop_oneof![
        4 => fixed.prop_map(str::to_owned),
        2 => "[A-Za-z0-9+/_-]{1,70}",
        1 => "[0-9a-f]{8,64}",
        1 => "\\PC{0,8}",
    ]
}

proptest! {
    #![proptest_config(random(2_000))]

    #[test]
    fn whatever_the_text_redaction_leaves_no_secret(pieces in vec(piece(), 0..14)) {
        check_redaction(&pieces.concat())?;
    }

    #[test]
    fn any_text_can_be_searched(text in any::<String>()) {
        check_redaction(&text)?;
    }
}

fn check_redaction(text: &str) -> Result<(), TestCaseError> {
    let mut end = 0;
    for secret in secrets::find(text) {
        prop_assert!(secret.range.start >= end && secret.range.start < secret.range.end);
        prop_assert!(text.get(secret.range.clone()).is_some());
        prop_assert_eq!(secret.fingerprint(text).len(), 16);
        prop_assert!(secret.line(text) >= 1);
        end = secret.range.end;
    }
    let redacted = secrets::redact(text);
    prop_assert!(secrets::find(&redacted).is_empty(), "{}", redacted);
    prop_assert_eq!(secrets::redact(&redacted), redacted);
    Ok(())
}

// Only Unix tells the time of a thread by a call that the tests have.
#[cfg(unix)]
#[test]
fn a_text_of_many_beginnings_takes_no_longer_for_each() {
    // Texts that begin secrets all the way and end none, or end one at each. Ten times the length
    // takes ten times as long, with room for a cache that is too small; the square would take a
    // hundred times.
    for piece in [
        "sk-",
        "-----BEGIN PRIVATE KEY-----\n",
        "LS0tLS1CRUdJTiB",
        "eyJ",
        "-eyJ.",
        "token=",
        "a://b:",
        "password is ",
        "password is \"",
        "\"secret\":\"",
        "passphrase: a1 ",
        "api key ",
        "PIN: ",
        "login: a/b ",
        "recovery codes: ",
        "2fa ABCD ",
        "wpa key 1234 ",
        "mysql -p\"",
        "docker login -p ",
        "machine a login b ",
        "pgpass a:1:b:",
        "WIFI:T:a;",
        "otpauth://",
        "cookie: sid=a;",
        "?pass=&pass=",
        "https://webhook.office.com/",
        "adafruit ",
        "twitter = ",
        "curl -u ",
        "4929 ",
        "card 4929-4212-3460-0821-",
        "a\u{200b}",
        "[redacted: a password]",
    ] {
        let time = |len: usize| {
            let text = piece.repeat(len / piece.len());
            let begun = cpu_time();
            assert!(secrets::find(&text).len() <= len);
            cpu_time() - begun
        };
        time(1_000);
        let (short, long) = (time(5_000), time(50_000));
        assert!(
            long < short * 40 + Duration::from_millis(20),
            "{piece:?}: {short:?}, {long:?}"
        );
    }
}

/// The processor time that this thread has taken.
#[cfg(unix)]
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

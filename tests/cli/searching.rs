//! think, list, grep.

use std::fs;

use regex::bytes::RegexBuilder;
use serde_json::json;

use crate::support::memory_text;
use crate::support::program::{Home, names};

/// A home with `count` memories, one a day, called by their day.
fn home_of(count: usize) -> Home {
    let home = Home::new();
    (1..=count).for_each(|day| {
        let (handle, stamp) = (
            format!("aaaaaa{day:02}"),
            format!("2026-01-{day:02}T00:00:00Z"),
        );
        let name = format!("202601{day:02}_000000_{handle}.md");
        home.put(
            &name,
            memory_text(&handle, &stamp, &format!("Entry {day} of a needle.")),
        );
    });
    home
}

#[test]
fn a_list_is_newest_first_and_comes_in_pages() {
    let home = home_of(10);
    let page = |arguments: &[&str]| -> Vec<String> {
        let ran = home.run(&[&["list"], arguments].concat());
        ran.lines()
            .iter()
            .filter(|line| !line.starts_with(" "))
            .map(|line| line[..8].to_owned())
            .collect()
    };
    let newest = |days: std::ops::RangeInclusive<usize>| -> Vec<String> {
        days.rev().map(|day| format!("aaaaaa{day:02}")).collect()
    };
    assert_eq!(page(&[]), newest(1..=10));
    assert_eq!(page(&["--limit", "3"]), newest(8..=10));
    assert_eq!(page(&["-n", "3", "--offset", "3"]), newest(5..=7));
    assert_eq!(page(&["--limit", "3", "--offset", "9"]), newest(1..=1));
    assert_eq!(page(&["--offset", "10"]), [""; 0]);
    assert_eq!(page(&["--since", "2026-01-09"]), newest(9..=10));
    let document = home
        .run(&["list", "--limit", "2", "--offset", "1", "--json"])
        .json();
    assert_eq!([&document["total"], &document["offset"]], [10, 1]);
    assert_eq!(document["memories"][0]["id"], "aaaaaa09");
    assert_eq!(
        document["memories"][0]["file"],
        "files/20260109_000000_aaaaaa09.md"
    );
}

#[test]
fn filters_take_lists_and_fields_of_every_name() {
    let home = Home::new();
    let one = home.remember(&[
        "--agent", "a", "--topics", "x,y", "--meta", "team=red", "--status", "open", "One.",
    ]);
    let two = home.remember(&["--agent", "b", "--topics", "y", "--importance", "9", "Two."]);
    let three = home.remember(&[
        "--agent",
        "c",
        "--topics",
        "z",
        "--timestamp",
        "2019-01-01",
        "--expires",
        "2020-01-01",
        "Three.",
    ]);
    let check = |filter: &[&str], expected: &[&String]| {
        let ran = home.run(&[&["list"], filter].concat());
        let mut found: Vec<_> = ran
            .lines()
            .iter()
            .filter(|line| !line.starts_with(" "))
            .map(|line| line[..8].to_owned())
            .collect();
        let mut expected: Vec<String> = expected.iter().map(|id| (*id).clone()).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{filter:?}");
    };
    check(&[], &[&one, &two]);
    check(&["--all"], &[&one, &two, &three]);
    check(&["--agent", "a,b"], &[&one, &two]);
    check(&["--topics", "x,y"], &[&one]);
    check(&["--topics", "x,y", "--any-topic"], &[&one, &two]);
    check(&["--where", "metadata.team=red"], &[&one]);
    check(&["--where", "status=open"], &[&one]);
    check(&["--min-importance", "6"], &[&two]);
    check(&["--ids", &format!("{one},{two},nothere1")], &[&one, &two]);
    check(&["--since", "1h"], &[&one, &two]);
    check(&["--until", "yesterday"], &[]);
}

#[test]
fn words_may_be_conditions() {
    let home = Home::new();
    let one = home.remember(&[
        "--topics",
        "atlas",
        "--user",
        "mira",
        "The backup of staging runs.",
    ]);
    let two = home.remember(&["--topics", "compass", "The backup runs at night."]);
    let check = |words: &[&str], expected: &[&str]| {
        let ran = home.run(&[&["think"], words].concat());
        let found: Vec<_> = ran
            .lines()
            .iter()
            .filter(|line| !line.starts_with(" "))
            .map(|line| line[..8].to_owned())
            .collect();
        assert_eq!(found, expected, "{words:?}");
    };
    check(&["backup", "topic:atlas"], &[&one]);
    check(&["backup user:mira"], &[&one]);
    check(&["--", "backup", "-staging"], &[&two]);
    check(&["backup -staging"], &[&two]);
    check(&["\"runs at night\""], &[&two]);
    check(&["backup since:2000-01-01 topic:compass"], &[&two]);
    check(&["topic:compass"], &[&two]);
    check(&["backup -topic:compass"], &[&one]);
    check(&["backup until:2000-01-01"], &[]);
    let three = home.remember(&[
        "--user",
        "Lena Maier",
        "--title",
        "Quarterly budget review",
        "The numbers\nare in it.",
    ]);
    check(&["user:\"Lena Maier\""], &[&three]);
    check(&["\"budget review\""], &[&three]);
    check(&["„numbers are“"], &[&three]);
    check(&["\"numbers\" -budget"], &[]);
    check(&["\"numbers\" -bud"], &[&three]);
    check(&["\"numbers\" -\"review budget\""], &[&three]);
    // What stands behind the hyphen of an option or of a number is a word like others.
    let four = home.remember(&["git rebase -i and cargo nextest --no-fail-fast at -12.5 degrees"]);
    check(&["\"rebase\" -i"], &[&four]);
    check(&["\"nextest\" --no-fail-fast"], &[&four]);
    check(&["\"degrees\" -12.5"], &[&four]);
    assert_eq!(home.run(&["think", "backup", "-n", "1"]).lines().len(), 1);
    assert_eq!(home.run(&["think", "-k", "BACKUP"]).lines().len(), 2);
    home.run(&["think", "x", "--limit", "0"])
        .complains(2, &["--limit"]);
}

#[test]
fn a_search_keeps_to_its_tokens() {
    let home = home_of(20);
    let all = home.run(&["think", "-k", "entry", "--json"]).json();
    let some = home
        .run(&["think", "-k", "entry", "--json", "--max-tokens", "200"])
        .json();
    assert!((1..all.as_array().unwrap().len()).contains(&some.as_array().unwrap().len()));
    assert!(some.to_string().len() < 850, "{some}");
    let cut = home
        .run(&["recall", "aaaaaa07", "--json", "--max-tokens", "1"])
        .json();
    assert_eq!(
        [&cut[0]["content"], &cut[0]["truncated"]],
        [&json!(""), &json!(true)]
    );
}

/// Files whose lines try what a search by lines can get wrong.
fn odd_texts() -> Home {
    let home = Home::new();
    let put = |hex: &str, content: &[u8]| {
        let head = memory_text(hex, "2026-01-14T09:15:00Z", "");
        home.put(
            &format!("20260114_091500_{hex}.md"),
            [head.as_bytes(), content].concat(),
        );
    };
    put("aaaaaaaa", b"a needle here\nno match\n\nneedle needle\n");
    put(
        "bbbbbbbb",
        b"CRLF needle\r\nsecond\r\n\r\nlast without end: pin",
    );
    put(
        "cccccccc",
        b"bad \xff\xfe bytes and a needle\n\xffpin\xfe\nfine\n",
    );
    put(
        "dddddddd",
        "Überall NEEDLE, ﬁn, İstanbul, straße, K (Kelvin)\nfoobar baz123\n".as_bytes(),
    );
    put("eeeeeeee", b"");
    put("ffffffff", "x\n".repeat(3_000).as_bytes());
    put(
        "abababab",
        &[&b"y".repeat(10_000)[..], b"needle\n"].concat(),
    );
    put("cdcdcdcd", b"a\0b needle\0\npin\0\n");
    home.put("my own note.md", "A needle without frontmatter\n");
    home
}

/// What `grep -n` would print.
fn scanned(home: &Home, pattern: &str, ignore_case: bool) -> Vec<u8> {
    let regex = RegexBuilder::new(pattern)
        .case_insensitive(ignore_case)
        .build()
        .unwrap();
    let mut expected = Vec::new();
    for name in names(&home.files()) {
        let bytes = fs::read(home.files().join(&name)).unwrap();
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if regex.is_match(line) {
                expected.extend(format!("files/{name}:{}:", number + 1).into_bytes());
                expected.extend(line);
                expected.push(b'\n');
            }
        }
    }
    expected
}

#[test]
fn grep_prints_what_a_plain_scan_finds() {
    let home = odd_texts();
    let patterns = [
        "needle",
        "NEEDLE",
        "needle|pin",
        "^a needle",
        "needle$",
        "ne+dle",
        "n.edle",
        "^$",
        "^",
        ".",
        "x*",
        "[a-z]+[0-9]{3}",
        "\\bpin\\b",
        "(foo|ba)(r|z)",
        "foo(bar)?",
        "(?i)kelvin",
        "straße|ﬁn",
        "Ü",
        "i̇stanbul",
        "k \\(",
        "(?-u)\\xff",
        "(?-u:\\xff)pin",
        "topics: \\[",
        "id: a{8}",
        "needle.*needle",
        "\\d\\d:\\d\\d",
        "\\S+@\\S+",
        "absent",
        "^---$",
        "\\x00",
        "(needle|pin|second)",
        "n(ee|aa)dle h",
        "y{5}needle",
        "without (end|frontmatter)",
        "",
    ];
    let check = |state: &str| {
        for pattern in patterns {
            for ignore_case in [false, true] {
                let expected = scanned(&home, pattern, ignore_case);
                let flags: &[&str] = if ignore_case { &["-i"] } else { &[] };
                let ran = home.run(&[&["grep"], flags, &["--", pattern]].concat());
                let show =
                    |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&"y".repeat(9_000), "…");
                assert_eq!(
                    show(&ran.stdout),
                    show(&expected),
                    "{state}: {pattern} {flags:?}"
                );
                assert!(ran.stdout == expected, "{state}: {pattern} {flags:?}");
                assert_eq!(ran.code, i32::from(expected.is_empty()));
            }
        }
    };
    check("not indexed");
    home.run(&["reindex", "--full"]).done();
    check("indexed");
}

#[test]
fn grep_names_each_file_once_and_filters() {
    let home = home_of(5);
    home.put(
        "20260201_000000_bbbbbbbb.md",
        memory_text("bbbbbbbb", "2026-02-01T00:00:00Z", "needle\nneedle\n"),
    );
    let ran = home.run(&["grep", "-l", "needle"]);
    assert_eq!(ran.lines().len(), 6);
    assert_eq!(ran.lines()[5], "files/20260201_000000_bbbbbbbb.md");
    assert_eq!(
        home.run(&["grep", "needle", "--since", "2026-02-01"])
            .lines()
            .len(),
        2
    );
    assert_eq!(
        home.run(&["grep", "-l", "needle", "--ids", "aaaaaa01,aaaaaa02"])
            .lines()
            .len(),
        2
    );
    assert_eq!(home.run(&["grep", "needle", "--agent", "nobody"]).code, 1);
    // What no longer holds is text all the same.
    let text = home.text_of("aaaaaa01");
    let ended = text.replacen("agent:", "expires: 2020-01-01\nagent:", 1);
    std::fs::write(home.file_of("aaaaaa01"), ended).unwrap();
    assert_eq!(home.run(&["grep", "-l", "needle"]).lines().len(), 6);
}

#[test]
fn a_regex_cannot_take_the_machine() {
    let home = home_of(3);
    let check = |pattern: &str, code: i32| {
        let ran = home.run(&["grep", "--", pattern]);
        assert_eq!(ran.code, code, "{pattern:.40}: {ran:?}");
    };
    check("(x+x+)+y", 1);
    check("(.{1,1000}){1,1000}", 2);
    check(&"(".repeat(900), 2);
    check(&"(".repeat(10_000), 2);
    check(&format!("{}x{}", "(".repeat(500), ")".repeat(500)), 2);
    check("*", 2);
    check("(?P<n>a)\\1", 2);
    check(&"x".repeat(1_025), 2);
    check("[[:alpha:]]{1000}", 1);
}

#[test]
fn an_explanation_says_which_words_were_taken_for_users() {
    let home = Home::new();
    home.write("config/memdir/config.toml", "[people]\nakib = \"Moon\"\n");
    for (user, text) in [("Akib", "I grow melons."), ("Marina", "I grow beans.")] {
        home.run(&["remember", "--topics", "garden", "--user", user, text]);
    }
    let question = ["think", "--explain", "What do Moon and Marino grow?"];
    let ran = home.run(&question);
    assert_eq!(
        ran.lines()[..2],
        ["Moon = Akib (setting)", "Marino = Marina (spelling)"]
    );
    let ran = home.run(&[&["--json"], &question[..]].concat());
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&ran.stderr).unwrap()["people"],
        json!([
            {"word": "Moon", "user": "Akib", "by": "setting"},
            {"word": "Marino", "user": "Marina", "by": "spelling"},
        ])
    );
    let unasked = home.run(&["think", "What do Moon and Marino grow?"]);
    assert!(
        unasked.lines()[0].contains("melons"),
        "{:?}",
        unasked.lines()
    );
}

#[test]
fn a_mark_at_the_beginning_of_a_file_is_no_part_of_its_first_line() {
    let home = Home::new();
    home.put("bom.md", "\u{feff}# Heading one\n");
    let lines = home.run(&["grep", "^# Heading"]).lines();
    assert_eq!(lines, ["files/bom.md:1:# Heading one"]);
}

#[test]
fn a_letter_is_the_same_in_one_character_and_in_two() {
    let home = Home::new();
    let id = home.remember(&["--user", "Zoe\u{308}", "--topics", "cafe\u{301}", "Text."]);
    for filter in [["--user", "Zo\u{eb}"], ["--topics", "caf\u{e9}"]] {
        let found = home.run(&["list", filter[0], filter[1]]).done();
        assert!(found.contains(&id), "{filter:?}: {found}");
    }
}

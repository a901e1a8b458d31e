//! Notes that Claude Code keeps of a project for itself.

use super::kept::talks_of;
use super::sources;
use crate::support::program::{Home, run};

const INDEX: &str =
    "# Atlas\n\n- The deploy runs on Tuesdays.\n- [Renewing](renew.md) — the numbat token\n";
const TOPIC: &str = "---\nname: renew\ndescription: How the numbat token is renewed\ntype: project\n---\n\n\
    Renew it with `atlas renew`.\n\n```sh\natlas renew\n\natlas check\n```\n";

#[test]
fn notes_of_claude_code_lie_beside_its_transcripts() {
    let home = Home::new();
    let project = ".claude/projects/-home-mira-projects-atlas";
    let transcript = format!("{project}/{}.jsonl", sources::SESSION);
    home.write(&transcript, sources::claude_code(1));
    home.write(&format!("{project}/memory/MEMORY.md"), INDEX);
    home.write(&format!("{project}/memory/renew.md"), TOPIC);
    home.write(&format!("{project}/memory/empty.md"), "---\nname: x\n---\n");
    home.write(&format!("{project}/notes.md"), "Not a note of its own.\n");
    let asked = home.run(&["mine"]);
    asked.complains(
        2,
        &["claude-code: 1 file", "claude-memory: 3 files", "--yes"],
    );
    let report = home.run(&["mine", "--yes", "--json"]).json();
    assert_eq!(
        (&report["new"], &report["damaged"]),
        (&3.into(), &serde_json::json!([]))
    );
    let talks = talks_of(&home);
    let topic = talks
        .iter()
        .find(|text| text.contains("numbat token is"))
        .unwrap();
    for part in [
        "title: How the numbat token is renewed",
        "namespace: atlas",
        "source: claude-memory",
        "**Claude**\n\nRenew it with `atlas renew`.\n\n```sh\natlas renew\n\natlas check\n```\n",
    ] {
        assert!(topic.contains(part), "{part}: {topic}");
    }
    assert!(
        talks
            .iter()
            .any(|text| text.contains("- The deploy runs on Tuesdays."))
    );
}

#[test]
fn of_a_note_that_was_edited_what_is_new_is_added() {
    let home = Home::new();
    let file = "p/projects/-home-mira-atlas/memory/MEMORY.md";
    home.write(file, INDEX);
    let mine = || home.run(&["mine", "p", "--json"]).json();
    assert_eq!(mine()["new"], 1);
    let more = INDEX.replace("Tuesdays.", "Wednesdays.") + "- The key is on the hook.\n";
    home.write(file, more);
    assert_eq!(mine()["continued"], 1);
    let talk = talks_of(&home).concat();
    assert_eq!(talk.matches("numbat").count(), 1, "{talk}");
    for part in ["Tuesdays.", "Wednesdays.", "on the hook."] {
        assert!(talk.contains(part), "{part}: {talk}");
    }
    let report = mine();
    assert_eq!(
        (&report["known"], &report["ids"]),
        (&1.into(), &serde_json::json!([]))
    );
    assert_eq!(talks_of(&home).concat(), talk);
}

#[test]
fn notes_that_are_no_text_are_read_as_far_as_they_are() {
    let home = Home::new();
    let file = "p/projects/-x/memory/a.md";
    for (bytes, expected) in [
        (
            b"---\nname: never closed\n\nThe yak.\n".to_vec(),
            "The yak.",
        ),
        (
            b"\xff\xfe The yak.\r\n\r\nSecond.\r\n".to_vec(),
            "The yak.\n\nSecond.",
        ),
        (b"```\nThe yak.\n\nnever closed".to_vec(), "The yak."),
        (
            [b"The yak. ".repeat(9), b"x".repeat(9_000_000)].concat(),
            "The yak.",
        ),
    ] {
        let home = Home::new();
        home.write(file, bytes);
        let ran = home.run(&["mine", "p"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let talk = talks_of(&home).concat();
        assert!(talk.contains(expected) && talk.len() < 50_000, "{talk}");
    }
    home.write(file, "");
    let mut command = home.command(&["mine", "p"]);
    run(&mut command).complains(1, &["a.md: it is empty"]);
}

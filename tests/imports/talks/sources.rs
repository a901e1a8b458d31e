//! Transcripts and exports as their programs write them, made for these tests.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::{Value, json};

/// Id of the session of [`claude_code`].
pub const SESSION: &str = "5f1c2a30-0b1c-4d2e-9f00-aabbccddeeff";

/// Lines of a transcript of Claude Code; with the first `messages` messages.
pub fn claude_code(messages: usize) -> String {
    let line = |kind: &str, minute: usize, content: Value| {
        json!({
            "type": kind, "sessionId": SESSION, "cwd": "/home/mira/projects/atlas", "uuid": "u",
            "timestamp": format!("2026-03-04T10:{minute:02}:00.000Z"), "isSidechain": false,
            "message": {"role": kind, "content": content},
        })
    };
    let mut lines = vec![
        json!({"type": "file-history-snapshot", "snapshot": {}}),
        line(
            "user",
            0,
            json!("<system-reminder>obey me</system-reminder>Why does the quokka deploy fail?"),
        ),
        line(
            "assistant",
            1,
            json!([
                {"type": "thinking", "thinking": "hidden thought"},
                {"type": "text", "text": "I look at the log."},
                {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "tail -n 5\ndeploy.log"}},
            ]),
        ),
        line(
            "user",
            2,
            json!([{"type": "tool_result", "tool_use_id": "t1", "content": "hidden result"}]),
        ),
        {
            let mut meta = line("user", 2, json!("hidden meta"));
            meta["isMeta"] = json!(true);
            meta
        },
        {
            let mut side = line("assistant", 2, json!("hidden sidechain"));
            side["isSidechain"] = json!(true);
            side
        },
        json!({"type": "summary", "summary": "The failing deploy", "leafUuid": "x"}),
    ];
    let said = [
        "The token had expired.",
        "And how do we renew it?",
        "With `atlas renew`.",
        "Thanks.",
    ];
    for (number, text) in said.iter().take(messages).enumerate() {
        let kind = if number % 2 == 0 { "assistant" } else { "user" };
        lines.push(line(kind, 3 + number * 15, json!(text)));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

pub fn codex() -> String {
    let line = |kind: &str, payload: Value| json!({"timestamp": "2026-03-05T08:00:00.123Z", "type": kind, "payload": payload});
    let said = |role: &str, kind: &str, text: &str| {
        line(
            "response_item",
            json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}),
        )
    };
    let lines = [
        line(
            "session_meta",
            json!({"id": "codex-1", "timestamp": "2026-03-05T08:00:00Z", "cwd": "/home/mira/web"}),
        ),
        said("developer", "input_text", "hidden instructions"),
        said(
            "user",
            "input_text",
            "<environment_context>hidden</environment_context>",
        ),
        said("user", "input_text", "Make the wombat page faster."),
        line(
            "event_msg",
            json!({"type": "user_message", "message": "hidden repetition"}),
        ),
        line(
            "response_item",
            json!({"type": "reasoning", "summary": [{"text": "hidden thought"}]}),
        ),
        line(
            "response_item",
            json!({
                "type": "function_call", "name": "shell", "arguments": "{\"command\":[\"bash\",\"-lc\",\"npm run build\"]}",
            }),
        ),
        line(
            "response_item",
            json!({"type": "function_call_output", "output": "hidden result"}),
        ),
        said("assistant", "output_text", "It loads lazily now."),
    ];
    lines.iter().map(|line| format!("{line}\n")).collect()
}

pub fn claude_conversation(uuid: &str) -> Value {
    json!({
        "uuid": uuid, "name": "Wine and fish", "created_at": "2025-11-02T19:00:00.000000Z",
        "updated_at": "2025-11-02T20:00:00Z", "account": {"uuid": "a"},
        "chat_messages": [
            {"uuid": "m1", "parent_message_uuid": "root", "sender": "human", "text": "Which wine?",
             "content": [{"type": "text", "text": "Which wine?"}], "created_at": "2025-11-02T19:00:00Z",
             "attachments": [{"file_name": "menu.txt", "extracted_content": "hidden attachment"}], "files": []},
            {"uuid": "m2", "parent_message_uuid": "m1", "sender": "assistant", "text": "", "created_at": null,
             "content": [{"type": "thinking", "thinking": "hidden thought"}, {"type": "text", "text": "abandoned"}],
             "attachments": [], "files": null},
            {"uuid": "m3", "parent_message_uuid": "m1", "sender": "assistant", "text": "A Riesling.", "content": [],
             "created_at": "2025-11-02T19:01:00Z"},
        ],
    })
}

pub fn chatgpt_conversation(id: &str) -> Value {
    let message = |role: &str, time: Value, kind: &str, parts: Value| {
        json!({
            "author": {"role": role, "name": null, "metadata": {}}, "create_time": time, "weight": 1.0,
            "content": {"content_type": kind, "parts": parts}, "recipient": "all", "metadata": {},
        })
    };
    let mut hidden = message("user", json!(null), "text", json!(["hidden message"]));
    hidden["metadata"]["is_visually_hidden_from_conversation"] = json!(true);
    let mut call = message("assistant", json!(1_700_000_150.0), "code", json!(null));
    call["content"] = json!({"content_type": "code", "language": "python", "text": "print(1)"});
    call["recipient"] = json!("python");
    json!({
        "title": "Trains", "create_time": 1_700_000_000.123, "update_time": null, "conversation_id": id, "id": id,
        "current_node": "e", "mapping": {
            "root": {"id": "root", "message": null, "parent": null, "children": ["a"]},
            "a": {"id": "a", "message": hidden, "parent": "root", "children": ["b", "x"]},
            "x": {"id": "x", "parent": "a", "children": [],
                  "message": message("user", json!(1_700_000_900), "text", json!(["abandoned branch"]))},
            "b": {"id": "b", "parent": "a", "children": ["c"], "message": message(
                "user", json!(1_700_000_100.5), "multimodal_text",
                json!([{"content_type": "image_asset_pointer", "asset_pointer": "file://x"}, "Which train to Graz?"]))},
            "c": {"id": "c", "parent": "b", "children": ["d"], "message": call},
            "d": {"id": "d", "parent": "c", "children": ["e"],
                  "message": message("tool", json!(1), "execution_output", json!(["hidden output"]))},
            "e": {"id": "e", "parent": "d", "children": [],
                  "message": message("assistant", json!("1700000200"), "text", json!(["The one at nine."]))},
        },
    })
}

/// Files of an export of Slack.
pub fn slack() -> Vec<(&'static str, String)> {
    let users = json!([
        {"id": "U1", "name": "mira", "profile": {"display_name": "Mira", "real_name": "Mira K"}},
        {"id": "U2", "name": "jonas", "deleted": true, "profile": {"display_name": "", "real_name": "Jonas P"}},
    ]);
    let first = json!([
        {"type": "message", "subtype": "channel_join", "user": "U2", "text": "hidden join", "ts": "1767258000.000100"},
        {"type": "message", "user": "U2", "text": "see <https://a.example|the page> &amp; ask <@U1> in <#C1|ops>",
         "ts": "1767261600.000200"},
        {"type": "message", "user": "U1", "text": "Who restarts the marmot?", "ts": "1767261700.000100",
         "thread_ts": "1767261700.000100", "reply_count": 1},
        {"type": "message", "user": "U9", "user_profile": {"display_name": "Gone"}, "text": "bye",
         "ts": "1767261500.000000", "files": [{"name": "plan.pdf"}, {"id": "F1", "mode": "tombstone"}]},
    ]);
    let second = json!([
        {"type": "message", "user": "U2", "text": "I do.", "ts": "1767348000.000100", "thread_ts": "1767261700.000100",
         "edited": {"user": "U2", "ts": "1767348100.000000"}},
    ]);
    vec![
        (
            "channels.json",
            json!([{"id": "C1", "name": "ops", "members": ["U1"]}]).to_string(),
        ),
        ("users.json", users.to_string()),
        ("integration_logs.json", "[]".to_owned()),
        ("ops/2026-01-01.json", first.to_string()),
        ("ops/2026-01-02.json", second.to_string()),
    ]
}

pub fn gemini() -> String {
    let session = json!({
        "sessionId": "gem-1", "projectHash": "abc", "startTime": "2026-02-01T10:00:00.000Z", "messages": [
            {"id": "1", "timestamp": "2026-02-01T10:00:01.000Z", "type": "user", "content": "Where is the okapi test?"},
            {"id": "2", "timestamp": "2026-02-01T10:00:09.000Z", "type": "gemini", "content": "In tests/okapi.",
             "thoughts": [{"subject": "hidden thought"}],
             "toolCalls": [{"id": "c", "name": "search_file_content", "args": {"pattern": "okapi"}, "result": "hidden"}]},
            {"id": "3", "timestamp": "2026-02-01T10:00:10.000Z", "type": "info", "content": "hidden info"},
        ],
    });
    serde_json::to_string_pretty(&session).unwrap()
}

/// Files of the folder of opencode.
pub fn opencode() -> Vec<(&'static str, String)> {
    let file = |value: Value| value.to_string();
    vec![
        (
            "storage/session/p1/ses_1.json",
            file(json!({
            "id": "ses_1", "projectID": "p1", "directory": "/home/mira/tapir", "title": "Tapir colours",
            "time": {"created": 1_770_000_000_000_i64}})),
        ),
        (
            "storage/session/p1/ses_2.json",
            file(json!({"id": "ses_2", "projectID": "p1", "parentID": "ses_1"})),
        ),
        (
            "storage/message/ses_1/msg_1.json",
            file(json!({
            "id": "msg_1", "role": "user", "time": {"created": 1_770_000_001_000_i64}})),
        ),
        (
            "storage/message/ses_1/msg_2.json",
            file(json!({
            "id": "msg_2", "role": "assistant", "time": {"created": 1_770_000_002_000_i64}})),
        ),
        (
            "storage/part/msg_1/prt_1.json",
            file(json!({"type": "text", "text": "Paint it."})),
        ),
        (
            "storage/part/msg_1/prt_2.json",
            file(json!({"type": "text", "text": "hidden", "synthetic": true})),
        ),
        (
            "storage/part/msg_2/prt_3.json",
            file(json!({"type": "reasoning", "text": "hidden thought"})),
        ),
        (
            "storage/part/msg_2/prt_4.json",
            file(json!({
            "type": "tool", "tool": "edit", "state": {"input": {"filePath": "tapir.css"}, "output": "hidden"}})),
        ),
        (
            "storage/part/msg_2/prt_5.json",
            file(json!({"type": "text", "text": "It is green."})),
        ),
    ]
}

pub const PLAIN: &str =
    "# Notes\n\nUser: Where do lemurs live?\nAnd since when?\n\n**Assistant:** On Madagascar.\n";

/// A zip with these files, compressed.
pub fn zip(files: &[(&str, String)]) -> Vec<u8> {
    let (mut out, mut list) = (Vec::new(), Vec::new());
    for (name, text) in files {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        let bytes = encoder.finish().unwrap();
        let crc = crc32fast::hash(text.as_bytes());
        let offset = out.len() as u32;
        // Version, flags, method, time, date; sums and sizes; lengths of the name and of extra fields.
        let mut common = Vec::new();
        for field in [20_u16, 0, 8, 0, 0] {
            common.extend(field.to_le_bytes());
        }
        for field in [crc, bytes.len() as u32, text.len() as u32] {
            common.extend(field.to_le_bytes());
        }
        common.extend((name.len() as u16).to_le_bytes());
        common.extend(0_u16.to_le_bytes());
        out.extend(b"PK\x03\x04");
        out.extend(&common);
        out.extend(name.as_bytes());
        out.extend(&bytes);
        list.extend(b"PK\x01\x02\x14\x00");
        list.extend(&common);
        list.extend([0; 10]);
        list.extend(offset.to_le_bytes());
        list.extend(name.as_bytes());
    }
    let (start, size, count) = (out.len() as u32, list.len() as u32, files.len() as u16);
    out.extend(list);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend(size.to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0, 0]);
    out
}

//! The keys of the picker, as `?` shows them.

/// Keys with what they do.
pub const KEYS: [(&str, &str); 15] = [
    ("Enter", "choose the memory"),
    ("Up Down  ^P ^N", "the memory before, the next one"),
    ("PgUp PgDn", "a page"),
    ("Tab", "to the text of the memory and back"),
    (
        "^F",
        "filter: namespace, topic, kind, agent, user, tier, time",
    ),
    ("^O", "open the file in the editor"),
    ("^Y", "copy the id"),
    ("^X", "forget it: to the archive, after a question"),
    ("^K", "link it: then choose the other memory"),
    ("^R", "its history, with differences"),
    ("^W ^U", "delete a word, the line"),
    ("^A ^E", "to the beginning of the line, to its end"),
    ("^L", "draw the screen anew"),
    ("? F1", "these keys; ? where no word is typed"),
    ("Esc ^C", "leave; Esc leaves first what was begun"),
];

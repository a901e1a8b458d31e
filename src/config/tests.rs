//! Reads and shows settings files for the tests of the parts; checks the documents that follow from
//! the table.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value as Json, json};

use super::environment::{Environment, Flags};
use super::setting::{ConfigError, Origin};
use super::settings::Config;
use super::table::{Scope, SettingRow, TABLE};
use super::value::SettingType;

/// Returns the settings of a user and of a store with these files.
pub(super) fn read(user: &str, store: &str) -> Result<Config, ConfigError> {
    let folder = tempfile::tempdir().unwrap();
    let (config, root) = (folder.path().join("config"), folder.path().join("store"));
    for (folder, file, text) in [
        (&config, "config.toml", user),
        (&root, "memdir.toml", store),
    ] {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join(file), text).unwrap();
    }
    let environment = Environment {
        folder: folder.path().to_owned(),
        config_folder: Some(config),
        ..Environment::default()
    };
    let flags = Flags {
        store: Some(root),
        ..Flags::default()
    };
    Config::read(&flags, &environment)
}

/// A value of the type, other than the default, as TOML and as it is shown.
fn example(row: &SettingRow) -> (String, String) {
    let quoted = |text: &str| (format!("\"{text}\""), text.to_owned());
    match row.kind {
        SettingType::Text | SettingType::Verbatim | SettingType::Name | SettingType::Path => {
            quoted("a b")
        }
        SettingType::List => ("[\"a\", \"b\"]".to_owned(), "a,b".to_owned()),
        SettingType::Switch if row.default == "on" => ("false".to_owned(), "off".to_owned()),
        SettingType::Switch => ("\"yes\"".to_owned(), "on".to_owned()),
        SettingType::Whole { most, .. } => (most.to_string(), most.to_string()),
        SettingType::Group => ("7".to_owned(), "7".to_owned()),
        SettingType::Share => ("0.25".to_owned(), "0.25".to_owned()),
        SettingType::Span | SettingType::SpanOr { .. } => ("\"48h\"".to_owned(), "2d".to_owned()),
        SettingType::Choice(words) => {
            let other = words.iter().rfind(|word| **word != row.default);
            quoted(other.unwrap())
        }
        SettingType::Languages => ("[\"German\"]".to_owned(), "german".to_owned()),
        SettingType::OtherNames => (
            "{ emi = [\"Kate\", \"K\"], akib = \"Aqib\" }".to_owned(),
            "akib = Aqib; emi = Kate, K".to_owned(),
        ),
    }
}

#[test]
fn every_setting_is_read_where_it_may_stand_and_shown_with_its_origin() {
    // These are shown as what follows from them.
    let derived = [
        "store",
        "embedding.api_key_env",
        "llm.api_key_env",
        "llm.timeout",
    ];
    for row in TABLE.iter().filter(|row| row.scope != Scope::Variable) {
        let (written, shown) = example(row);
        let file = match row.name.split_once('.') {
            Some((table, key)) => format!("[{table}]\n{key} = {written}\n"),
            None => format!("{} = {written}\n", row.name),
        };
        for is_users in [true, false] {
            let may = match row.scope {
                Scope::Anyone => true,
                Scope::User => is_users,
                Scope::Store => !is_users,
                Scope::Variable => false,
            };
            let config = match is_users {
                true => read(&file, ""),
                false => read("", &file),
            };
            let config = config.unwrap();
            let list = config.list();
            let (_, value, origin) = list.iter().find(|(name, ..)| *name == row.name).unwrap();
            if row.name == "store" {
                continue; // The flag says it.
            }
            assert_eq!(
                matches!(origin, Origin::File(_)),
                may,
                "{} {file}",
                row.name
            );
            assert_eq!(config.warnings.is_empty(), may, "{:?}", config.warnings);
            if may && !derived.contains(&row.name) {
                assert_eq!(*value, shown, "{file}");
            }
        }
    }
}

#[test]
fn what_is_no_value_is_named() {
    for (line, wanted) in [
        (
            "[life]\nshort = \"soon\"",
            "`life.short` is `soon`, which is no span of time",
        ),
        ("[life]\nshort = 6", "span of time"),
        ("[life]\nmid = \"-1d\"", "`life.mid`"),
        ("[life]\nmid = \"999999999999w\"", "span of time"),
        ("[life]\ndecay = \"perhaps\"", "neither on nor off"),
        ("[life]\ndecay_others = 1.5", "from 0 to 1"),
        ("[life]\nuses_per_importance = -1", "whole number"),
        ("[maintenance]\nschedule = \"5m\"", "less than 1h"),
        ("[maintenance]\nobservations = 1", "no group"),
        ("[maintenance]\nsummary_length = 99", "from 100 to 100000"),
        ("[archive]\nkeep = \"soon\"", "`forever` is none"),
        (
            "[duplicates]\npolicy = \"never\"",
            "allow, title, similar, suggest",
        ),
        ("[duplicates]\nauto_links = 21", "from 0 to 20"),
        ("[duplicates]\nshared_topics = 0", "from 1 to 8"),
        (
            "[mcp]\nmax_results = 21",
            "`mcp.max_results` is `21`, which is no whole number",
        ),
        ("[mcp]\nrecall_tokens = \"many\"", "no whole number"),
        ("[llm]\nprovider = \"cloud\"", "none of ollama, openai, off"),
        ("user = \"\"", "`user` is empty"),
        (
            "[people]\nemi = []",
            "`people` is `emi = `, which is no user with names: `emi =`",
        ),
        ("people = \"emi\"", "no user with names: `emi`"),
        ("[people]\nana = { a = 1 }", "`people` must be a text"),
    ] {
        let error = read(&format!("{line}\n"), "").unwrap_err().to_string();
        assert!(error.contains(wanted), "{line}: {error}");
    }
}

#[test]
fn an_unknown_key_is_told() {
    for table in [
        "life",
        "maintenance",
        "duplicates",
        "mcp",
        "llm",
        "rerank",
        "archive",
    ] {
        let config = read(&format!("[{table}]\nunknown = 1\n"), "").unwrap();
        let told = format!("`{table}.unknown` is unknown and is ignored");
        assert!(config.warnings[0].contains(&told), "{:?}", config.warnings);
    }
    let config = read("layout = \"flat\"\nremote = \"x\"\n", "").unwrap();
    let [layout, remote] = config.warnings.as_slice() else {
        panic!("{:?}", config.warnings);
    };
    assert!(
        layout.contains("is set in a store's memdir.toml"),
        "{layout}"
    );
    assert!(remote.contains("is set by a variable alone"), "{remote}");
}

/// Returns the values of a type, as the documentation says it.
fn described(kind: SettingType) -> String {
    match kind {
        SettingType::Text | SettingType::Verbatim | SettingType::Name => "text".to_owned(),
        SettingType::Path => "path".to_owned(),
        SettingType::List => "list of words".to_owned(),
        SettingType::Switch => "`true` or `false`".to_owned(),
        SettingType::Whole { least, most } => format!("{least} … {most}"),
        SettingType::Group => "0, 2 … 10000".to_owned(),
        SettingType::Share => "0.0 … 1.0".to_owned(),
        SettingType::Span => "span".to_owned(),
        SettingType::SpanOr { none, .. } => format!("span, `{none}`"),
        SettingType::Choice(words) => format!("`{}`", words.join("`, `")),
        SettingType::Languages => "list of languages".to_owned(),
        SettingType::OtherNames => "table of names".to_owned(),
    }
}

/// Returns the tables of the documentation, one for the settings themselves and one for each table.
fn documentation() -> String {
    let mut text = String::new();
    let mut table = None;
    for row in &TABLE {
        let (own, key) = match row.name.split_once('.') {
            Some((own, key)) => (Some(own), key),
            None => (None, row.name),
        };
        if text.is_empty() || own.is_some() && own != table {
            table = own;
            let title = own.map_or("Settings of no table".to_owned(), |own| {
                format!("`[{own}]`")
            });
            text += &format!(
                "\n### {title}\n\n| key | value | default | set by | meaning |\n| --- | --- | --- | --- | --- |\n"
            );
        }
        let name = match (own, table) {
            (None, Some(_)) => continue, // A variable alone; below.
            _ => key,
        };
        text += &line(name, row);
    }
    text += "\n### Variables alone\n\n| name | value | default | set by | meaning |\n| --- | --- | --- | --- | --- |\n";
    let mut seen_table = false;
    for row in &TABLE {
        seen_table |= row.name.contains('.');
        if seen_table && !row.name.contains('.') {
            text += &line(row.name, row);
        }
    }
    text
}

fn line(name: &str, row: &SettingRow) -> String {
    let default = match row.default {
        "" => String::new(),
        "on" => "`true`".to_owned(),
        "off" if matches!(row.kind, SettingType::Switch) => "`false`".to_owned(),
        text => format!("`{text}`"),
    };
    let files: &[&str] = match row.scope {
        Scope::Anyone => &["you", "stores"],
        Scope::User => &["you"],
        Scope::Store => &["stores"],
        Scope::Variable => &[],
    };
    let files = files.iter().map(|who| (*who).to_owned());
    let variables = row.variables.iter().map(|name| format!("`{name}`"));
    let set_by: Vec<String> = files.chain(variables).collect();
    format!(
        "| `{name}` | {} | {default} | {} | {} |\n",
        described(row.kind),
        set_by.join(", "),
        row.help,
    )
}

/// Returns a JSON Schema of settings files, for editors.
fn schema() -> Json {
    let mut properties = Map::new();
    for row in TABLE.iter().filter(|row| row.scope != Scope::Variable) {
        let mut property = match row.kind {
            SettingType::Switch => json!({"type": "boolean"}),
            SettingType::Whole { least, most } => {
                json!({"type": "integer", "minimum": least, "maximum": most})
            }
            SettingType::Group => json!({"type": "integer", "minimum": 0, "maximum": 10_000}),
            SettingType::Share => json!({"type": "number", "minimum": 0, "maximum": 1}),
            SettingType::Choice(words) => json!({"enum": words}),
            SettingType::List | SettingType::Languages => {
                json!({"type": ["array", "string"], "items": {"type": "string"}})
            }
            SettingType::OtherNames => json!({"type": "object", "additionalProperties": {
                "type": ["array", "string"], "items": {"type": "string"},
            }}),
            SettingType::Span => json!({"type": "string", "pattern": "^[0-9]+[smhdw]$"}),
            SettingType::SpanOr { none, .. } => {
                json!({"type": "string", "pattern": format!("^([0-9]+[smhdw]|{none})$")})
            }
            SettingType::Text | SettingType::Verbatim | SettingType::Name | SettingType::Path => {
                json!({"type": "string"})
            }
        };
        property["description"] = json!(row.help);
        let (table, key) = row.name.split_once('.').unwrap_or(("", row.name));
        let place = match table {
            "" => &mut properties,
            _ => {
                let empty =
                    || json!({"type": "object", "properties": {}, "additionalProperties": false});
                let table = properties.entry(table).or_insert_with(empty);
                table["properties"].as_object_mut().unwrap()
            }
        };
        place.insert(key.to_owned(), property);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "memdir: config.toml of a user, memdir.toml of a store",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

/// `MEMDIR_RENEW=1 cargo test --lib config::tests::the_documents` writes both anew.
#[test]
fn the_documents_say_what_the_table_says() {
    const BEGIN: &str = "<!-- made from src/config/table.rs -->\n";
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let (settings, json) = (docs.join("SETTINGS.md"), docs.join("settings.schema.json"));
    let text = fs::read_to_string(&settings).unwrap();
    let (before, _) = text.split_once(BEGIN).expect("the mark stands there");
    let expected = format!("{before}{BEGIN}{}", documentation());
    let schema = format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap());
    if std::env::var_os("MEMDIR_RENEW").is_some() {
        fs::write(&settings, &expected).unwrap();
        fs::write(&json, &schema).unwrap();
    }
    let again = "MEMDIR_RENEW=1 cargo test --lib config::tests::the_documents writes it anew";
    assert!(
        fs::read_to_string(&settings).unwrap() == expected,
        "{again}"
    );
    assert!(
        fs::read_to_string(&json).unwrap_or_default() == schema,
        "{again}"
    );
}

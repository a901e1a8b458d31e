//! The text of a launchd agent.

use super::definition::Definition;

/// Beginning of the comment in every agent that memdir wrote. A comment of XML holds no two dashes.
pub(super) const MARK: &str = "<!-- Written by memdir,";

/// Returns the property list of the agent; its standard error goes to the file `log`.
pub fn agent(definition: &Definition, log: &str) -> String {
    let strings = |words: &[String]| -> String {
        let lines = words.iter();
        lines
            .map(|word| format!("        <string>{}</string>\n", escaped(word)))
            .collect()
    };
    let variables = definition.variables.iter();
    let variables: String = variables
        .map(|(name, value)| {
            let (name, value) = (escaped(name), escaped(value));
            format!("        <key>{name}</key>\n        <string>{value}</string>\n")
        })
        .collect();
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
{MARK} which replaces and removes it. -->
<plist version="1.0">
<dict>
    <key>Label</key>
    <string>{}</string>
    <key>ProgramArguments</key>
    <array>
{}    </array>
    <key>EnvironmentVariables</key>
    <dict>
{variables}    </dict>
    <key>RunAtLoad</key>
    <true/>
    <key>KeepAlive</key>
    <dict>
        <key>SuccessfulExit</key>
        <false/>
    </dict>
    <key>Umask</key>
    <integer>63</integer>
    <key>StandardErrorPath</key>
    <string>{}</string>
</dict>
</plist>
"#,
        escaped(&definition.name()),
        strings(&definition.command),
        escaped(log),
    )
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
}

//! The text of a systemd user unit.

use super::definition::Definition;

/// Beginning of every unit that memdir wrote.
pub(super) const MARK: &str = "# Written by `memdir serve --install-service`";

/// Limits that a server of a user's can bear. Those that need a namespace of their own (`ProtectSystem`,
/// `PrivateTmp`, …) are left out: in a user's unit they map user ids, and ssh refuses a configuration whose
/// owner it does not know. Memory that is written and executed is what libraries of models may need.
const LIMITS: &str = "\
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictNamespaces=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native
UMask=0077
";

/// Returns the unit. `Type=notify`: who starts it learns whether it serves.
pub fn unit(definition: &Definition) -> String {
    let store = definition.store.display();
    let command: Vec<String> = definition.command.iter().map(|one| command(one)).collect();
    let variables = definition.variables.iter();
    let variables: String = variables
        .map(|(name, value)| format!("Environment={}\n", quoted(&format!("{name}={value}"))))
        .collect();
    format!(
        "{MARK}, which replaces it; `--uninstall-service` removes it.\n\
         [Unit]\n\
         Description=memdir: memories of AI agents in {}\n\
         \n\
         [Service]\n\
         Type=notify\n\
         ExecStart={}\n\
         {variables}\
         Restart=on-failure\n\
         RestartSec=2\n\
         TimeoutStopSec=15\n\
         {LIMITS}\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        percent(&store.to_string()),
        command.join(" "),
    )
}

/// Returns a word of a command: in it `$` begins a variable, too.
fn command(word: &str) -> String {
    quoted(word).replace('$', "$$")
}

/// Returns a word in quotes, which may hold any character but a control character.
fn quoted(word: &str) -> String {
    let word = word.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", percent(&word))
}

fn percent(text: &str) -> String {
    text.replace('%', "%%")
}

//! The clients that memdir sets up, with the files of each.
//!
//! `docs/CLIENTS.md` says for each which of this was tried with the client itself.

use super::client::{Base, Client, Files, Hooks, Place, Server, Sign};
use super::style::{HookStyle, ServerStyle};

/// Every client, in the order in which they are shown.
pub const CLIENTS: &[Client] = &[
    Client {
        name: "claude-code",
        title: "Claude Code",
        signs: &[
            Sign::Program("claude"),
            Sign::Exists(at(Base::Claude, &[""])),
            Sign::Exists(at(Base::ClaudeState, &[".claude.json"])),
        ],
        is_windowed: false,
        server: Server {
            files: Files {
                user: Some(at(Base::ClaudeState, &[".claude.json"])),
                project: Some(at(Base::Project, &[".mcp.json"])),
            },
            style: ServerStyle::ClaudeCode("mcpServers"),
        },
        hooks: Some(Hooks {
            files: Files {
                user: Some(at(Base::Claude, &["settings.json"])),
                project: Some(at(Base::Project, &[".claude/settings.json"])),
            },
            style: HookStyle::ClaudeCode,
        }),
        instructions: Files {
            user: Some(at(Base::Claude, &["CLAUDE.md"])),
            project: Some(at(Base::Project, &["CLAUDE.md"])),
        },
        skill: Files {
            user: Some(at(Base::Claude, &["skills/memdir/SKILL.md"])),
            project: Some(at(Base::Project, &[".claude/skills/memdir/SKILL.md"])),
        },
        list: Some("claude"),
    },
    Client {
        name: "claude-desktop",
        title: "Claude Desktop",
        signs: &[Sign::Exists(at(Base::Application, &["Claude"]))],
        is_windowed: true,
        server: Server {
            files: Files {
                user: Some(at(
                    Base::Application,
                    &["Claude/claude_desktop_config.json"],
                )),
                project: None,
            },
            style: ServerStyle::Plain("mcpServers"),
        },
        hooks: None,
        instructions: Files::NONE,
        skill: Files::NONE,
        list: None,
    },
    Client {
        name: "codex",
        title: "Codex",
        signs: &[Sign::Program("codex"), Sign::Exists(at(Base::Codex, &[""]))],
        is_windowed: false,
        server: Server {
            files: Files {
                user: Some(at(Base::Codex, &["config.toml"])),
                project: Some(at(Base::Project, &[".codex/config.toml"])),
            },
            style: ServerStyle::Toml("mcp_servers"),
        },
        hooks: Some(Hooks {
            files: Files {
                user: Some(at(Base::Codex, &["hooks.json"])),
                project: Some(at(Base::Project, &[".codex/hooks.json"])),
            },
            style: HookStyle::ClaudeCode,
        }),
        instructions: Files {
            user: Some(at(Base::Codex, &["AGENTS.md"])),
            project: AGENTS,
        },
        skill: SHARED_SKILL,
        list: Some("codex"),
    },
    Client {
        name: "cursor",
        title: "Cursor",
        signs: &[
            Sign::Exists(at(Base::Home, &[".cursor"])),
            Sign::Program("cursor-agent"),
            Sign::Program("cursor"),
        ],
        is_windowed: true,
        server: Server {
            files: Files {
                user: Some(at(Base::Home, &[".cursor/mcp.json"])),
                project: Some(at(Base::Project, &[".cursor/mcp.json"])),
            },
            style: ServerStyle::Plain("mcpServers"),
        },
        hooks: Some(Hooks {
            files: Files {
                user: Some(at(Base::Home, &[".cursor/hooks.json"])),
                project: Some(at(Base::Project, &[".cursor/hooks.json"])),
            },
            style: HookStyle::Cursor,
        }),
        // The user's rules are no file.
        instructions: Files {
            user: None,
            project: AGENTS,
        },
        skill: SHARED_SKILL,
        list: None,
    },
    Client {
        name: "vscode",
        title: "VS Code",
        signs: &[
            Sign::Exists(at(Base::Application, &["Code/User"])),
            Sign::Program("code"),
        ],
        is_windowed: true,
        server: Server {
            files: Files {
                user: Some(at(Base::Application, &["Code/User/mcp.json"])),
                project: Some(at(Base::Project, &[".vscode/mcp.json"])),
            },
            style: ServerStyle::Typed("servers"),
        },
        hooks: None,
        instructions: Files {
            user: None,
            project: AGENTS,
        },
        skill: Files::NONE,
        list: None,
    },
    Client {
        name: "copilot",
        title: "Copilot CLI",
        signs: &[
            Sign::Program("copilot"),
            Sign::Exists(at(Base::Copilot, &[""])),
        ],
        is_windowed: false,
        server: Server {
            files: Files {
                user: Some(at(Base::Copilot, &["mcp-config.json"])),
                project: Some(at(Base::Project, &[".github/mcp.json"])),
            },
            style: ServerStyle::Copilot("mcpServers"),
        },
        hooks: Some(Hooks {
            files: Files {
                user: Some(at(Base::Copilot, &["hooks/memdir.json"])),
                project: Some(at(Base::Project, &[".github/hooks/memdir.json"])),
            },
            style: HookStyle::Copilot,
        }),
        instructions: Files {
            user: Some(at(Base::Copilot, &["copilot-instructions.md"])),
            project: AGENTS,
        },
        skill: SHARED_SKILL,
        list: Some("copilot"),
    },
    Client {
        name: "windsurf",
        title: "Windsurf",
        signs: &[Sign::Exists(at(Base::Home, &[".codeium/windsurf"]))],
        is_windowed: true,
        server: Server {
            files: Files {
                user: Some(at(Base::Home, &[".codeium/windsurf/mcp_config.json"])),
                project: None,
            },
            style: ServerStyle::Plain("mcpServers"),
        },
        hooks: None,
        instructions: Files {
            user: Some(at(
                Base::Home,
                &[".codeium/windsurf/memories/global_rules.md"],
            )),
            project: AGENTS,
        },
        skill: Files::NONE,
        list: None,
    },
    Client {
        name: "gemini",
        title: "Gemini CLI",
        signs: &[
            Sign::Program("gemini"),
            Sign::Exists(at(Base::Home, &[".gemini/settings.json"])),
        ],
        is_windowed: false,
        server: Server {
            files: GEMINI_SETTINGS,
            style: ServerStyle::Plain("mcpServers"),
        },
        hooks: Some(Hooks {
            files: GEMINI_SETTINGS,
            style: HookStyle::Gemini,
        }),
        instructions: Files {
            user: Some(at(Base::Home, &[".gemini/GEMINI.md"])),
            project: Some(at(Base::Project, &["GEMINI.md"])),
        },
        skill: SHARED_SKILL,
        list: Some("gemini"),
    },
    Client {
        name: "antigravity",
        title: "Antigravity",
        signs: &[
            Sign::Exists(at(Base::Home, &[".gemini/config"])),
            Sign::Exists(at(Base::Home, &[".gemini/antigravity"])),
            Sign::Program("antigravity"),
        ],
        is_windowed: true,
        server: Server {
            files: Files {
                user: Some(at(Base::Home, &[".gemini/config/mcp_config.json"])),
                project: Some(at(Base::Project, &[".agents/mcp_config.json"])),
            },
            style: ServerStyle::Plain("mcpServers"),
        },
        hooks: None,
        instructions: ANTIGRAVITY_RULES,
        skill: Files::NONE,
        list: None,
    },
    Client {
        name: "antigravity-cli",
        title: "Antigravity CLI",
        signs: &[
            Sign::Program("agy"),
            Sign::Exists(at(Base::Home, &[".gemini/antigravity-cli"])),
        ],
        is_windowed: false,
        server: Server {
            files: Files {
                user: Some(at(Base::Home, &[".gemini/antigravity-cli/mcp_config.json"])),
                project: Some(at(Base::Project, &[".agents/mcp_config.json"])),
            },
            style: ServerStyle::Plain("mcpServers"),
        },
        hooks: None,
        instructions: ANTIGRAVITY_RULES,
        skill: Files::NONE,
        list: None,
    },
    Client {
        name: "zed",
        title: "Zed",
        signs: &[
            Sign::Exists(at(Base::Config, &["zed", "Zed"])),
            Sign::Program("zed"),
        ],
        is_windowed: true,
        server: Server {
            files: Files {
                user: Some(at(
                    Base::Config,
                    &["zed/settings.json", "Zed/settings.json"],
                )),
                project: Some(at(Base::Project, &[".zed/settings.json"])),
            },
            style: ServerStyle::Zed("context_servers"),
        },
        hooks: None,
        instructions: Files {
            user: None,
            project: AGENTS,
        },
        skill: Files::NONE,
        list: None,
    },
    Client {
        name: "opencode",
        title: "opencode",
        signs: &[
            Sign::Program("opencode"),
            Sign::Exists(at(Base::Config, &["opencode"])),
        ],
        is_windowed: false,
        server: Server {
            files: Files {
                user: Some(at(
                    Base::Config,
                    &["opencode/opencode.json", "opencode/opencode.jsonc"],
                )),
                project: Some(at(Base::Project, &["opencode.json", "opencode.jsonc"])),
            },
            style: ServerStyle::OpenCode("mcp"),
        },
        // They are programs in TypeScript.
        hooks: None,
        instructions: Files {
            user: Some(at(Base::Config, &["opencode/AGENTS.md"])),
            project: AGENTS,
        },
        skill: SHARED_SKILL,
        list: Some("opencode"),
    },
    Client {
        name: "goose",
        title: "Goose",
        signs: &[
            Sign::Program("goose"),
            Sign::Exists(at(Base::Config, &["goose"])),
        ],
        is_windowed: false,
        server: Server {
            files: Files {
                user: Some(at(Base::Config, &["goose/config.yaml"])),
                project: None,
            },
            style: ServerStyle::Yaml,
        },
        hooks: None,
        instructions: Files {
            user: Some(at(Base::Config, &["goose/.goosehints"])),
            project: Some(at(Base::Project, &[".goosehints"])),
        },
        skill: Files::NONE,
        list: None,
    },
];

const AGENTS: Option<Place> = Some(at(Base::Project, &["AGENTS.md"]));

const GEMINI_SETTINGS: Files = Files {
    user: Some(at(Base::Home, &[".gemini/settings.json"])),
    project: Some(at(Base::Project, &[".gemini/settings.json"])),
};

const ANTIGRAVITY_RULES: Files = Files {
    user: Some(at(Base::Home, &[".gemini/GEMINI.md"])),
    project: AGENTS,
};

/// Folder for skills of the clients that share one.
const SHARED_SKILL: Files = Files {
    user: Some(at(Base::Home, &[".agents/skills/memdir/SKILL.md"])),
    project: Some(at(Base::Project, &[".agents/skills/memdir/SKILL.md"])),
};

const fn at(base: Base, paths: &'static [&'static str]) -> Place {
    Place { base, paths }
}

/// Returns the client called `name`.
pub fn named(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_different_words() {
        let mut names: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CLIENTS.len());
        assert!(names.iter().all(|name| named(name).is_some()));
        let is_word = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        assert!(names.iter().all(|name| is_word(name)), "{names:?}");
    }
}

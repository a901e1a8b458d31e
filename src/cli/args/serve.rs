//! The words of the commands that serve over HTTP.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use super::mcp::ToolSet;
use crate::http::Address;

pub const SERVE_EXAMPLES: &str = "Examples:
  memdir serve                                  at http://127.0.0.1:9077, with a token
  curl -H @<(memdir token header) http://127.0.0.1:9077/api/v1/stats
  memdir serve --no-token                       any program on this machine may read and write
  memdir serve --socket ~/.memdir.sock --listen 127.0.0.1:0
  memdir serve --listen 0.0.0.0:9077 --allow-host notes.lan --tls-cert cert.pem --tls-key key.pem
  memdir serve --install-service                start it with every session from now on
  memdir serve --install-service --print        show the unit of systemd, or the agent of launchd
  memdir serve --uninstall-service

It ends in order on Ctrl-C or SIGTERM. docs/HTTP.md says what is answered at which address.";

pub const TOKEN_EXAMPLES: &str = "Examples:
  curl -H @<(memdir token header) http://127.0.0.1:9077/api/v1/stats
                                                in no list of processes; bash and zsh read it so
  memdir token header | curl -H @- http://127.0.0.1:9077/api/v1/stats
                                                the same for every shell
  memdir token show > token.txt                 the secret of the first one, made if need be
  memdir token new dashboard --read-only
  memdir token rotate                           the former secret opens nothing from now on";

#[derive(Debug, ClapArgs)]
pub struct Serve {
    /// Where to listen; several times for several. Without it 127.0.0.1:9077 and, where there is
    /// one, [::1]:9077. Other machines reach it only over TLS, or with --insecure
    #[arg(long, value_name = "HOST:PORT")]
    pub listen: Vec<Address>,
    /// Listen at a socket, too, which only you can open, without a token
    #[arg(long, value_name = "FILE")]
    pub socket: Option<PathBuf>,
    /// Ask for no token: any program on this machine may read and write
    #[arg(long)]
    pub no_token: bool,
    /// Serve over TLS: the certificates, in a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The private key, in a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Let other machines connect without TLS: behind a proxy that has it
    #[arg(long)]
    pub insecure: bool,
    /// A further name by which requests may call this server, such as a proxy's
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// A page that may ask, such as https://notes.example
    #[arg(long, value_name = "ORIGIN")]
    pub allow_origin: Vec<String>,
    /// Maximum reads a second and client, 200 at once after a rest; 0 is no limit [default: 50; no
    /// limit for the store's own token on a server that only this machine reaches]
    #[arg(long, value_name = "N")]
    pub reads_per_second: Option<u32>,
    /// Maximum writes a second and client, 40 at once after a rest; 0 is no limit [default: 10; no
    /// limit for the store's own token on a server that only this machine reaches]
    #[arg(long, value_name = "N")]
    pub writes_per_second: Option<u32>,
    /// Serve the workspaces of a team in PostgreSQL, each at /w/NAME/mcp and /w/NAME/api/v1; without URL the address
    /// is MEMDIR_DATABASE
    #[arg(
        long, value_name = "URL", num_args = 0..=1, default_missing_value = "", help_heading = "Team",
        conflicts_with_all = ["install_service", "uninstall_service"]
    )]
    pub database: Option<String>,
    /// A replica of the database, which is asked first for what it has; several times for several. Without it
    /// MEMDIR_REPLICAS, addresses with spaces in between
    #[arg(long, value_name = "URL", requires = "database", help_heading = "Team")]
    pub replica: Vec<String>,
    /// Take tokens of this OpenID Connect issuer, too: its address, as its tokens name it. `memdir team map` says what
    /// its groups may do. Without it MEMDIR_ISSUER
    #[arg(
        long,
        value_name = "URL",
        requires = "database",
        conflicts_with = "no_token",
        help_heading = "Team"
    )]
    pub issuer: Option<String>,
    /// Address of this server as clients call it, for which the issuer's tokens must be made, itself or a workspace's
    /// /w/NAME/mcp below it. Without it MEMDIR_AUDIENCE [default: https:// and the first --allow-host]
    #[arg(long, value_name = "URL", requires = "database", help_heading = "Team")]
    pub audience: Option<String>,
    /// Claim of the issuer's tokens with the groups of the holder; dots lead into objects. Without it
    /// MEMDIR_GROUPS_CLAIM [default: groups]
    #[arg(
        long,
        value_name = "NAME",
        requires = "database",
        help_heading = "Team"
    )]
    pub groups_claim: Option<String>,
    /// Folder of the indexes of workspaces, which can be deleted, and of the file `tokens` [default: `team` in the
    /// user's folder for caches]
    #[arg(long, value_name = "DIR", requires = "database", help_heading = "Team")]
    pub cache: Option<PathBuf>,
    /// Size of the indexes in the cache in GB, beyond which those go that were opened longest ago; open ones stay
    #[arg(
        long,
        value_name = "GB",
        requires = "database",
        help_heading = "Team",
        default_value_t = 20
    )]
    pub cache_size: u32,
    /// Seconds for which the server goes on after SIGTERM while /ready says 503, so that a load balancer takes it out
    /// first: 0 to 600. Without it MEMDIR_DRAIN [default: 5]
    #[arg(
        long, value_name = "SECONDS", requires = "database", help_heading = "Team",
        value_parser = clap::value_parser!(u16).range(..=600)
    )]
    pub drain: Option<u16>,
    /// Name by which load balancers or clients know this server, such as its host or address: the servers that have one
    /// agree which of them a workspace prefers, and replies say it (Memdir-Server). Without it MEMDIR_ADVERTISE
    #[arg(
        long,
        value_name = "NAME|URL",
        requires = "database",
        help_heading = "Team"
    )]
    pub advertise: Option<String>,
    /// How lines of the log look: `json` is one object a line
    #[arg(long, value_parser = ["text", "json"], default_value = "text")]
    pub log_format: String,
    /// Have the system start this server with your session, now and from now on: a systemd user unit, or a
    /// launchd agent on macOS, with the options that are given here. Once more with others replaces it
    #[arg(long, conflicts_with = "uninstall_service", help_heading = "Service")]
    pub install_service: bool,
    /// Stop the store's service and remove it
    #[arg(long, help_heading = "Service")]
    pub uninstall_service: bool,
    /// With --install-service: print the text of the service, and change nothing
    #[arg(long, requires = "install_service", help_heading = "Service")]
    pub print: bool,
    #[command(flatten)]
    pub tool_set: ToolSet,
}

pub const OPEN_EXAMPLES: &str = "Examples:
  memdir open                   the page of the store in your browser, logged in
  memdir open 3f9a1c2e          a memory there
  memdir open --print           print the address instead, for another browser; it is valid once
  memdir open --read-only       a session that can change nothing

Where `memdir serve` runs for the store, its page is opened; otherwise a server begins, and ends with Ctrl-C.";

#[derive(Debug, ClapArgs)]
pub struct Open {
    /// A memory to look at; without it the timeline
    pub id: Option<String>,
    /// Print the address, and open no browser
    #[arg(long)]
    pub print: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Token {
    #[command(subcommand)]
    pub what: Option<TokenCommand>,
}

#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Names and rights, without the secrets; so does `memdir token` alone
    List,
    /// The header that shows one, for `curl -H @-` or a file: `Authorization: Bearer …`. An argument
    /// that holds it could be read by every user of the machine
    Header {
        /// Its name
        #[arg(default_value = crate::http::tokens::FIRST)]
        name: String,
    },
    /// The secret of one, alone on standard output, for a file or a variable
    Show {
        /// Its name
        #[arg(default_value = crate::http::tokens::FIRST)]
        name: String,
    },
    /// Make a further one
    New {
        /// What to call it: letters, digits, dots, dashes
        name: String,
        /// It may not change anything
        #[arg(long)]
        read_only: bool,
    },
    /// Give one another secret; the former opens nothing from now on
    Rotate {
        /// Its name
        #[arg(default_value = crate::http::tokens::FIRST)]
        name: String,
    },
    /// Take one away
    Remove {
        /// Its name
        name: String,
    },
}

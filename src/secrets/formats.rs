//! The programs, files and headers that hold credentials in their own way, and the words that announce them.

/// A form in which credentials are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// A program, and which of its options takes a password.
    Program(Take),
    Netrc,
    PgPass,
    WifiCode,
    OneTime,
    Cookie,
    /// `"auth": "…"` of Docker, `_auth=…` of npm.
    Login,
    /// `&password=…`: no program's code, whatever it looks like.
    Query,
    Webhook,
    /// A private key in base64 once more, as kubeconfig files have it.
    KeyData,
}

/// The form in which a program takes a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Take {
    /// `-pSECRET`: without a blank.
    Joined(&'static str),
    /// `-a SECRET`, `-aSECRET`.
    Option(&'static str),
    /// `-a SECRET` behind another word of the program: `docker login -p SECRET`.
    After(&'static str, &'static str),
    /// `pass:SECRET`
    Prefix(&'static str),
    /// `user%SECRET` behind `-U`.
    BehindPercent,
}

pub(super) const MYSQL: Format = Format::Program(Take::Joined("-p"));

/// The words, in small letters.
pub(super) const FORMATS: &[(Format, &[&str])] = &[
    (
        MYSQL,
        &["mysql", "mariadb", "mycli", "mytop", "mongo", "7z ", "7za "],
    ),
    (Format::Program(Take::Option("-p")), &["sshpass", "mongo"]),
    (Format::Program(Take::Option("-a")), &["redis-cli"]),
    (
        Format::Program(Take::After("login", "-p")),
        &[
            "docker", "podman", "buildah", "skopeo", "helm", "az login", "oc login", "cf login",
            "nerdctl",
        ],
    ),
    (
        Format::Program(Take::Option("-w")),
        &[
            "ldapsearch",
            "ldapadd",
            "ldapmodify",
            "ldapdelete",
            "ldapwhoami",
            "ldappasswd",
        ],
    ),
    (
        Format::Program(Take::Option("-P")),
        &["sqlcmd", "mosquitto_", "unzip", "zip -", "bcp "],
    ),
    (Format::Program(Take::Prefix("pass:")), &["openssl"]),
    (Format::Program(Take::Prefix("/p:")), &["freerdp"]),
    (
        Format::Program(Take::BehindPercent),
        &["smbclient", "rpcclient", "net rpc", "wmic"],
    ),
    (Format::Netrc, &["machine ", "default login "]),
    (Format::PgPass, &["pgpass", ":5432:", ":5433:", ":6432:"]),
    (Format::WifiCode, &["wifi:"]),
    (Format::OneTime, &["otpauth://", "otpauth-migration://"]),
    (Format::Cookie, &["cookie:", "cookie: "]),
    (Format::Login, &["\"auth\"", "_auth", "\\\"auth\\\""]),
    (
        Format::Query,
        &["?pass", "&pass", "?pwd=", "&pwd=", ";pwd=", "?pw=", "&pw="],
    ),
    (
        Format::Webhook,
        &[
            "webhook.office.com/",
            "outlook.office.com/webhook",
            "hooks.zapier.com/",
            "maker.ifttt.com/",
            "chat.googleapis.com/v1/spaces/",
            ".make.com/",
            "/hooks/",
            "hook.integromat.com/",
        ],
    ),
    (Format::KeyData, &["ls0tls1crudjtib"]),
];

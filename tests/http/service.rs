//! The service of a store: the texts of its file, and what becomes of it where no service manager answers.

use std::path::Path;
use std::process::Command;

use memdir::service::{Definition, Folders, Manager, Service};

/// A service whose paths and values hold what means something to the formats of its file.
fn service(manager: Manager) -> Service {
    let definition = Definition {
        store: "/home/mira/100% \"notes\" & more".into(),
        is_usual: false,
        command: [
            "/opt/mem dir/memdir",
            "--store",
            "/home/mira/100% \"notes\" & more",
            "serve",
            "--listen=127.0.0.1:7000",
            "--group=$HOME \\ <a>",
        ]
        .map(str::to_owned)
        .to_vec(),
        variables: vec![("MEMDIR_USER".to_owned(), "Mira \"M\" 50% <m>".to_owned())],
    };
    let folders = Folders {
        home: Some("/home/mira".into()),
        config: Some("/home/mira/.config".into()),
    };
    Service::of(&definition, manager, &folders).unwrap()
}

#[test]
fn a_unit_states_command_and_variables_and_holds_no_surprise() {
    let service = service(Manager::Systemd);
    let expected = r#"# Written by `memdir serve --install-service`, which replaces it; `--uninstall-service` removes it.
[Unit]
Description=memdir: memories of AI agents in /home/mira/100%% "notes" & more

[Service]
Type=notify
ExecStart="/opt/mem dir/memdir" "--store" "/home/mira/100%% \"notes\" & more" "serve" "--listen=127.0.0.1:7000" "--group=$$HOME \\ <a>"
Environment="MEMDIR_USER=Mira \"M\" 50%% <m>"
Restart=on-failure
RestartSec=2
TimeoutStopSec=15
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictNamespaces=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native
UMask=0077

[Install]
WantedBy=default.target
"#;
    assert_eq!(service.text, expected);
    let folder = Path::new("/home/mira/.config/systemd/user");
    assert_eq!(service.path, folder.join(&service.name));
    assert!(service.name.starts_with("memdir-100notesmore-"));
    assert!(service.name.ends_with(".service"));
}

#[cfg(unix)]
#[test]
fn an_agent_states_command_and_variables() {
    let service = service(Manager::Launchd);
    let name = service.name.as_str();
    let agents = Path::new("/home/mira/Library/LaunchAgents");
    assert_eq!(service.path, agents.join(format!("{name}.plist")));
    for line in [
        format!("    <key>Label</key>\n    <string>{name}</string>\n"),
        "        <string>/opt/mem dir/memdir</string>\n".to_owned(),
        "        <string>/home/mira/100% \"notes\" &amp; more</string>\n".to_owned(),
        "        <string>--group=$HOME \\ &lt;a&gt;</string>\n".to_owned(),
        "        <key>MEMDIR_USER</key>\n        <string>Mira \"M\" 50% &lt;m&gt;</string>\n"
            .to_owned(),
        "    <key>RunAtLoad</key>\n    <true/>\n".to_owned(),
        format!("    <string>/home/mira/Library/Logs/{name}.log</string>\n"),
    ] {
        assert!(
            service.text.contains(&line),
            "{line} is not in {}",
            service.text
        );
    }
    let Some(read) = read_by_python(&service.text) else {
        return;
    };
    assert_eq!(read["Label"], name);
    assert_eq!(
        read["ProgramArguments"][2],
        "/home/mira/100% \"notes\" & more"
    );
    assert_eq!(read["ProgramArguments"][5], "--group=$HOME \\ <a>");
    assert_eq!(
        read["EnvironmentVariables"]["MEMDIR_USER"],
        "Mira \"M\" 50% <m>"
    );
    assert_eq!(read["KeepAlive"]["SuccessfulExit"], false);
    assert_eq!(read["Umask"], 0o077);
}

/// Returns the property list as Python reads it; `None` where there is no Python.
#[cfg(unix)]
fn read_by_python(text: &str) -> Option<serde_json::Value> {
    let script =
        "import json,plistlib,sys; print(json.dumps(plistlib.loads(sys.argv[1].encode())))";
    let output = Command::new("python3")
        .args(["-c", script, text])
        .output()
        .ok()?;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn a_line_break_comes_into_no_file() {
    let definition = Definition {
        store: "/home/mira/a\nExecStart=/bin/true".into(),
        is_usual: false,
        command: Vec::new(),
        variables: Vec::new(),
    };
    let folders = Folders {
        home: Some("/home/mira".into()),
        config: Some("/home/mira/.config".into()),
    };
    for manager in [Manager::Systemd, Manager::Launchd] {
        let error = Service::of(&definition, manager, &folders).unwrap_err();
        assert!(error.to_string().contains("control character"), "{error}");
    }
}

/// Runs of the program on Linux, without a session of the user's: no service manager can be reached.
#[cfg(target_os = "linux")]
mod without_a_session {
    use std::fs;
    use std::process::Stdio;

    use super::*;
    use crate::support::program::Home;

    /// The unit of the store of `home`.
    fn unit(home: &Home) -> std::path::PathBuf {
        let printed = home.run(&["--json", "serve", "--uninstall-service"]).json();
        printed["file"].as_str().unwrap().into()
    }

    #[test]
    fn what_is_printed_is_a_unit_that_systemd_understands() {
        let home = Home::new();
        let printed = home.run(&[
            "serve",
            "--install-service",
            "--print",
            "--socket",
            "a.sock",
        ]);
        let text = printed.done();
        let socket = format!("\"--socket={}\"", home.root().join("a.sock").display());
        assert!(text.contains(&socket), "{text}");
        assert!(!unit(&home).exists());
        let file = home.write("memdir-test.service", &text);
        // Absent on many machines.
        let Ok(verified) = Command::new("systemd-analyze")
            .args(["--user", "verify"])
            .arg(&file)
            .env("XDG_RUNTIME_DIR", home.make("run"))
            .stdin(Stdio::null())
            .output()
        else {
            return;
        };
        let said = String::from_utf8_lossy(&verified.stderr);
        let of_ours = said.lines().filter(|line| line.contains("memdir-test"));
        assert_eq!(of_ours.collect::<Vec<_>>(), Vec::<&str>::new(), "{said}");
    }

    #[test]
    fn an_install_that_fails_leaves_nothing_and_says_what_to_do() {
        let home = Home::new();
        let ran = home.run(&["serve", "--install-service"]);
        let unit = unit(&home);
        let path = unit.display().to_string();
        ran.complains(2, &["does not answer", "Nothing was written", &path]);
        assert!(
            ran.text().contains("ExecStart="),
            "the text is there to be copied"
        );
        assert!(!unit.exists());
        assert!(!home.root().join("config/systemd").exists());
    }

    #[test]
    fn a_file_of_another_is_left_alone() {
        let home = Home::new();
        let unit = unit(&home);
        fs::create_dir_all(unit.parent().unwrap()).unwrap();
        fs::write(&unit, "[Service]\nExecStart=/bin/true\n").unwrap();
        for option in ["--install-service", "--uninstall-service"] {
            let ran = home.run(&["serve", option]);
            ran.complains(2, &["is not memdir's", "remove that file yourself"]);
        }
        let text = fs::read_to_string(&unit).unwrap();
        assert_eq!(text, "[Service]\nExecStart=/bin/true\n");
    }

    #[test]
    fn removing_takes_the_file_and_its_link_away_and_twice_is_the_same() {
        let home = Home::new();
        let (unit, text) = (
            unit(&home),
            home.run(&["serve", "--install-service", "--print"]),
        );
        let folder = unit.parent().unwrap();
        let link = folder
            .join("default.target.wants")
            .join(unit.file_name().unwrap());
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        fs::write(&unit, text.done()).unwrap();
        std::os::unix::fs::symlink(&unit, &link).unwrap();
        // Doctor tells of one that does not run.
        let doctor = home.run(&["doctor"]);
        assert!(
            doctor.text().contains("is installed and does not run"),
            "{doctor:?}"
        );
        let removed = home.run(&["--json", "serve", "--uninstall-service"]);
        assert_eq!(
            (removed.code, &removed.json()["state"]),
            (0, &"removed".into())
        );
        assert!(!unit.exists() && fs::symlink_metadata(&link).is_err());
        let again = home.run(&["--json", "serve", "--uninstall-service"]);
        assert_eq!((again.code, &again.json()["state"]), (0, &"absent".into()));
    }

    /// A service manager of the test's own, ended with the value.
    struct OwnManager(std::process::Child);

    impl Drop for OwnManager {
        fn drop(&mut self) {
            // It stops its services when it is asked to end.
            let _ = Command::new("kill").arg(self.0.id().to_string()).status();
            let _ = self.0.wait();
        }
    }

    /// Starts a manager for `home`; `None` where the system was not started by systemd, or lets nobody have
    /// groups of processes.
    fn manager(home: &Home) -> Option<OwnManager> {
        if !Path::new("/run/systemd/system").is_dir() {
            return None;
        }
        let run = home.make("run");
        let program = "/lib/systemd/systemd";
        let mut command = Command::new(program);
        home.surround(&mut command);
        // It says that it is ready as its services do.
        let ready = std::os::unix::net::UnixDatagram::bind(run.join("ready")).unwrap();
        ready
            .set_read_timeout(Some(std::time::Duration::from_secs(10)))
            .unwrap();
        let started = command
            .args(["--user", "--log-target=console", "--unit=basic.target"])
            .env("XDG_RUNTIME_DIR", &run)
            .env("NOTIFY_SOCKET", run.join("ready"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let manager = OwnManager(started.ok()?);
        let mut said = [0; 4096];
        let mut is_ready = || {
            let count = ready.recv(&mut said).ok()?;
            Some(String::from_utf8_lossy(&said[..count]).contains("READY=1"))
        };
        loop {
            match is_ready() {
                Some(true) => return Some(manager),
                Some(false) => {}
                None => return None,
            }
        }
    }

    #[test]
    fn with_a_service_manager_it_runs_until_it_is_removed() {
        let home = Home::new();
        let Some(_manager) = manager(&home) else {
            return;
        };
        let socket = home.root().join("served.sock");
        let run = |arguments: &[&str]| {
            let mut command = home.command(arguments);
            crate::support::program::run(command.env("XDG_RUNTIME_DIR", home.root().join("run")))
        };
        let install = [
            "--json",
            "serve",
            "--install-service",
            "--socket",
            "served.sock",
        ];
        let installed = run(&install);
        assert_eq!(installed.code, 0, "{installed:?}");
        // It was waited for until it listens.
        std::os::unix::net::UnixStream::connect(&socket).unwrap();
        assert!(run(&["doctor"]).text().contains("runs"));
        assert_eq!(run(&install).code, 0);
        std::os::unix::net::UnixStream::connect(&socket).unwrap();
        // One that cannot serve is not left behind, and the former one goes on.
        let far = [
            "serve",
            "--install-service",
            "--socket",
            "no/such/folder/a.sock",
        ];
        run(&far).complains(2, &["cannot install the service", "as it was before"]);
        std::os::unix::net::UnixStream::connect(&socket).unwrap();
        let removed = run(&["--json", "serve", "--uninstall-service"]).json();
        assert_eq!(removed["state"], "removed");
        assert!(!Path::new(removed["file"].as_str().unwrap()).exists());
        assert!(std::os::unix::net::UnixStream::connect(&socket).is_err());
    }
}

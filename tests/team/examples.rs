//! The files of `examples/team` fit the program: its commands, options and variables.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_yaml::Value;

use crate::support::program::Home;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/team")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

/// Returns the documents of a file in YAML.
fn documents(name: &str) -> Vec<Value> {
    let text = text(name);
    let documents = serde_yaml::Deserializer::from_str(&text);
    let documents = documents.map(|one| Value::deserialize(one).unwrap());
    let mut documents: Vec<Value> = documents.collect();
    for document in &mut documents {
        document.apply_merge().unwrap();
    }
    documents
}

fn words(list: &Value) -> Vec<String> {
    let list = list.as_sequence().unwrap().iter();
    list.map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// Returns the commands of the containers with the program.
fn of_containers() -> Vec<Vec<String>> {
    let compose = documents("compose.yaml").remove(0);
    let services = compose["services"].as_mapping().unwrap().values();
    let ours = services.filter(|service| service["image"] == "memdir-team");
    let mut commands: Vec<_> = ours.map(|service| words(&service["command"])).collect();
    for document in documents("kubernetes.yaml") {
        let containers = &document["spec"]["template"]["spec"]["containers"];
        let containers = containers.as_sequence().into_iter().flatten();
        commands.extend(containers.map(|container| words(&container["args"])));
    }
    let dockerfile = text("Dockerfile");
    let command = dockerfile
        .lines()
        .find_map(|line| line.strip_prefix("CMD "));
    commands.push(serde_json::from_str(command.unwrap()).unwrap());
    commands
}

/// Returns the commands that the page shows: after `memdir` or the service that runs it.
fn of_page() -> Vec<Vec<String>> {
    let page = text("README.md");
    let starts = ["memdir ", "run --rm set-up ", "-- memdir "];
    let lines = page.split(['\n', '`']);
    let commands = lines.filter_map(|line| {
        let at = starts
            .iter()
            .find_map(|start| Some(line.find(start)? + start.len()));
        let words = line[at?..].split_whitespace().map(str::to_owned);
        Some(words.collect::<Vec<_>>())
    });
    let known = ["serve", "sync", "team"];
    commands
        .filter(|words| known.contains(&words[0].as_str()))
        .collect()
}

/// Returns the text of the help of a command.
fn help(words: &[&str]) -> String {
    let output = Home::new().command(words).arg("--help").output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_command_and_option_of_the_examples_is_one_of_the_program() {
    let commands = [of_containers(), of_page()].concat();
    assert!(commands.len() > 8, "{commands:?}");
    for command in commands {
        let depth = if command[0] == "team" { 2 } else { 1 };
        let names: Vec<&str> = command[..depth].iter().map(String::as_str).collect();
        let help = help(&names);
        let options = command.iter().filter(|word| word.starts_with("--"));
        for option in options {
            let name = option.split('=').next().unwrap();
            let is_known = help
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
                .any(|word| word == name);
            assert!(is_known, "{command:?}: {name} is unknown");
        }
    }
}

#[test]
fn every_variable_of_the_examples_is_one_of_the_program() {
    let known = [help(&["serve"]), help(&["team"]), help(&["sync"])].concat();
    let known = variables(&known);
    for name in [
        "compose.yaml",
        "kubernetes.yaml",
        "README.md",
        "haproxy.cfg",
        "Dockerfile",
    ] {
        let used = variables(&text(name));
        let unknown: Vec<_> = used.difference(&known).collect();
        assert!(unknown.is_empty(), "{name}: {unknown:?}");
    }
    assert!(variables(&text("compose.yaml")).len() > 1);
}

fn variables(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let ours = words.filter(|word| word.starts_with("MEMDIR_"));
    ours.map(str::to_owned).collect()
}

#[test]
fn servers_may_drain_before_they_are_killed() {
    let compose = documents("compose.yaml").remove(0);
    let server = &compose["services"]["memdir-1"];
    let seconds = server["stop_grace_period"].as_str().unwrap();
    let seconds = seconds.strip_suffix('s').unwrap().parse().unwrap();
    check_grace(&words(&server["command"]), seconds);
    let of_kubernetes = documents("kubernetes.yaml");
    let deployment = of_kubernetes.iter().find(|one| one["kind"] == "Deployment");
    let pod = &deployment.unwrap()["spec"]["template"]["spec"];
    let seconds = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
    check_grace(&words(&pod["containers"][0]["args"]), seconds);
}

/// Checks that a server with these options has the time that the documentation asks for.
#[track_caller]
fn check_grace(words: &[String], seconds: u64) {
    let drain = words.iter().find_map(|word| word.strip_prefix("--drain="));
    let drain: u64 = drain.unwrap().parse().unwrap();
    assert!(seconds >= drain + 15, "{drain} of {seconds} s");
}

//! The version of the program, and whether there is a newer one.

use serde_json::json;

use super::args::setup::Version as Command;
use super::terminal::fail::Failure;
use super::terminal::output::Output;
use super::wiring::context::Outcome;
use crate::config::Environment;
use crate::fetch::{FetchClient, RequestLimits, Url};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Address of the repository whose releases are asked for; a build of somebody's own may have none.
const REPOSITORY: &str = match option_env!("MEMDIR_REPOSITORY") {
    Some(address) => address,
    None => env!("CARGO_PKG_REPOSITORY"),
};

/// Runs `memdir version`.
pub fn version(
    command: &Command,
    environment: &Environment,
    output: &mut Output,
) -> Result<Outcome, Failure> {
    let system = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    let newest = match command.check {
        true => Some(newest(environment, command)?),
        false => None,
    };
    let is_newest = newest
        .as_ref()
        .map(|(newest, _)| numbers(VERSION) >= numbers(newest));
    if output.json {
        let (name, address) = newest.unzip();
        output.json(&json!({
            "version": VERSION,
            "system": system,
            "newest": name,
            "is_newest": is_newest,
            "address": address.map(|address| address.to_string()),
        }))?;
    } else {
        output.line(format!("memdir {VERSION} ({system})"))?;
        match (newest, is_newest) {
            (Some((newest, address)), Some(false)) => {
                output.line(format!("{newest} is newer: {address}"))?;
            }
            (Some((newest, _)), _) if newest == VERSION => output.line("it is the newest")?,
            (Some((newest, _)), _) => output.line(format!("the newest release is {newest}"))?,
            (None, _) => {}
        }
    }
    Ok(Outcome::found(is_newest.unwrap_or(true)))
}

/// Returns the newest release and its page: as on GitHub, `releases/latest` of the repository sends on to the page
/// of its tag.
fn newest(environment: &Environment, command: &Command) -> Result<(String, Url), Failure> {
    let repository = command.releases.as_deref().unwrap_or(REPOSITORY);
    if repository.is_empty() {
        return Err(
            Failure::new("this program does not know where its releases are")
                .hint("Name the address of the repository: memdir version --check --releases URL"),
        );
    }
    let latest = Url::parse(repository)?.join("releases/latest")?;
    let client = FetchClient::new(&environment.variables, RequestLimits::default());
    let page = client.redirect_of(&latest).map_err(|error| {
        let is_passing = error.is_passing();
        let failure = Failure::from(error);
        match is_passing {
            // Nothing is downloaded that could go on.
            true => failure.hint("Try again later. A proxy is named by HTTPS_PROXY."),
            false => failure,
        }
    })?;
    let release = page.and_then(|page| {
        let tag = page.path().rsplit('/').next()?;
        let name = tag.strip_prefix('v').unwrap_or(tag).to_owned();
        numbers(&name)?;
        Some((name, page))
    });
    release.ok_or_else(|| Failure::new(format!("{latest} names no release")))
}

/// Returns the numbers of a version such as `1.2.3`; one with something behind them (`1.2.3-rc1`) stands before it.
fn numbers(version: &str) -> Option<([u64; 3], bool)> {
    let (numbers, is_final) = match version.split_once(['-', '+']) {
        Some((numbers, _)) => (numbers, false),
        None => (version, true),
    };
    let mut parts = numbers.split('.').map(|part| part.parse::<u64>().ok());
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some((numbers, is_final))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        assert!(numbers("0.10.0") > numbers("0.9.3"));
        assert!(numbers("1.0.0-rc1") < numbers("1.0.0"));
        assert!(numbers("0.1.0").is_some());
        assert!(
            ["latest", "1.2", "1.2.3.4", "1.x.3", ""]
                .into_iter()
                .all(|text| numbers(text).is_none())
        );
    }
}

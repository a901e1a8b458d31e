//! `memdir pause`: nothing is shown to agents unasked for a while.

use serde_json::json;

use crate::cli::args::sessions::Pause as PauseArgs;
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::{Context, Outcome};
use crate::engine::{Toward, read_moment};
use crate::sessions::{Pause, Sessions};

/// Runs `memdir pause`.
pub fn pause(context: &mut Context, command: &PauseArgs) -> Result<Outcome, Failure> {
    let sessions = sessions(context)?;
    let now = context.now();
    let failed = |error| Failure::new("cannot change the pause").because(error);
    let mut was_paused = sessions.paused(now).is_some();
    if command.end {
        was_paused = sessions.resume(now).map_err(failed)?;
    } else if !command.show {
        let until = match &command.span {
            None => None,
            Some(span) => Some(
                read_moment(span, now, Toward::Future)
                    .filter(|until| *until > now)
                    .ok_or_else(|| {
                        Failure::new(format!("`{span}` is no time to come"))
                            .hint("Write an amount such as 30min, 2h or 1d, or a time: `tomorrow`.")
                    })?,
            ),
        };
        sessions.pause(Pause { until }).map_err(failed)?;
    }
    let pause = sessions.paused(now);
    let output = &mut context.output;
    if output.json {
        output.json(&json!({
            "paused": pause.is_some(),
            "until": pause.and_then(|pause| pause.until).map(|until| until.to_rfc3339()),
        }))?;
    } else {
        output.line(match (pause, command.end, was_paused) {
            (Some(pause), ..) => format!("{pause}: agents are shown nothing unasked"),
            (None, true, true) => "the pause ended".to_owned(),
            (None, ..) => "there is no pause".to_owned(),
        })?;
    }
    let is_done = match (command.end, command.show) {
        (true, _) => was_paused,
        (_, true) => pause.is_some(),
        _ => true,
    };
    Ok(Outcome::found(is_done))
}

/// Returns the user's records of sessions.
pub fn sessions(context: &Context) -> Result<Sessions, Failure> {
    let folder = context.environment.state_folder.as_deref();
    folder.map(Sessions::new).ok_or_else(|| {
        Failure::new("there is no folder for records of sessions")
            .hint("Set HOME or XDG_STATE_HOME.")
    })
}

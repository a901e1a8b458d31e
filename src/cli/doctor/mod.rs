//! `memdir doctor`: checks of all that agents need, a line for each.
//!
//! Promises: every check is made, whatever the others find; what is wrong comes with what to do about it;
//! without `--fix` nothing is changed but what every command brings up to date. `--fix` does what cannot do
//! harm: it makes derived state anew.

mod check;
mod clients;
mod run;
mod server;
mod state;

use serde_json::json;

use crate::cli::args::setup::Doctor;
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::{Context, Outcome};

use self::check::{Check, Finding};

/// Runs `memdir doctor`.
pub fn doctor(context: &mut Context, command: &Doctor) -> Result<Outcome, Failure> {
    let mut checks = vec![state::program(context)];
    match context.engine() {
        Ok(engine) => {
            checks.push(state::store(context, &engine, command.fix));
            checks.push(server::server(context, &engine));
            checks.push(state::sync(&engine));
            checks.extend(state::workspace(&engine));
        }
        Err(failure) => checks.push(Check::of_failure("store", &failure)),
    }
    checks.push(state::model(context));
    checks.extend(clients::clients(context));
    checks.extend(clients::hooks(context));
    checks.extend(state::variables(context));
    let is_well = checks.iter().all(Check::is_well);
    show(context, &checks, is_well)?;
    Ok(Outcome::found(is_well))
}

fn show(context: &mut Context, checks: &[Check], is_well: bool) -> Result<(), Failure> {
    let output = &mut context.output;
    if output.json {
        let checks: Vec<_> = checks.iter().map(Check::as_json).collect();
        output.json(&json!({"well": is_well, "checks": checks}))?;
        return Ok(());
    }
    for check in checks {
        let Check { name, finding } = check;
        let (mark, what) = match finding {
            Finding::Well(what) => ("✓", what),
            Finding::Fixed(what) => ("✓", what),
            Finding::Wrong { what, .. } => ("✗", what),
        };
        let what = output.shown(what);
        output.line(format!("{mark} {name:<10} {what}"))?;
        if let Finding::Wrong { hint, .. } = finding {
            output.line(format!("{:13}{}", "", output.shown(hint)))?;
        }
    }
    Ok(())
}

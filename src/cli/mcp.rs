//! `memdir mcp`: a store served to agents, in the words that they know.

use std::sync::Arc;

use super::Context;
use super::Outcome;
use super::args::Mcp;
use super::fail::Failure;
use crate::dialect;
use crate::dialect::Dialect;
use crate::dialect::FeatureTier;
use crate::dialect::Preferences;
use crate::dialect::core::Core;
use crate::engine::Background;
use crate::mcp::Served;

/// Serves agents until standard input ends.
pub(super) fn mcp(context: &mut Context, command: &Mcp) -> Result<Outcome, Failure> {
    let dialect = dialect(command)?;
    let preferences = preferences(context, command);
    let engine = Arc::new(context.engine_for_writing()?);
    let background = Background::start(&engine)
        .map_err(|error| Failure::new("cannot start the background loop").because(error))?;
    let served = crate::mcp::serve_stdio(Served {
        engine: Arc::clone(&engine),
        dialect,
        preferences: Arc::new(preferences),
    });
    drop(background);
    crate::git::end_children();
    match served {
        // A tool that still runs must not keep the process; its file is whole or absent.
        Ok(()) => std::process::exit(0),
        Err(error) => Err(Failure::new("the server ended").because(error)),
    }
}

fn dialect(command: &Mcp) -> Result<Arc<dyn Dialect>, Failure> {
    let name = command.dialect.as_deref().unwrap_or(dialect::NAMES[0]);
    if command.tools.is_empty() {
        let dialect = dialect::named(name);
        return dialect.ok_or_else(|| Failure::new(format!("there is no tool set `{name}`")));
    }
    if name != dialect::NAMES[0] {
        let what = "is served as it is: --tools adds to `core` only";
        return Err(Failure::new(format!("the tool set `{name}` {what}")));
    }
    match Core::with(&command.tools) {
        Ok(core) => Ok(Arc::new(core)),
        Err(error) => Err(Failure::new(error.to_string())),
    }
}

fn preferences(context: &Context, command: &Mcp) -> Preferences {
    let variable = |name: &str| {
        let value = context.environment.variables.get(name);
        value.filter(|value| !value.trim().is_empty()).cloned()
    };
    let tiers = FeatureTier::ALL.into_iter();
    let tier = command.tier.as_deref().and_then(|name| {
        let mut named = tiers.filter_map(|(known, tier)| (known == name).then_some(tier));
        named.next()
    });
    Preferences {
        user: context.config.user.value.clone(),
        group: command.group.clone().or_else(|| variable("LOCI_GROUP")),
        tier: tier.unwrap_or_default(),
        ..Preferences::default()
    }
}

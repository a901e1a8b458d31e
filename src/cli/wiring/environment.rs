//! The environment of the process: limits of the system, mask of new files, folders, variables.

use crate::cli::terminal::fail::Failure;
use crate::config::Environment;

/// Has limits of the system be errors instead of deaths, and reads the environment.
pub fn prepare() -> Result<Environment, Failure> {
    #[cfg(unix)]
    {
        // Without a handler the first write past a file size limit ends the process; with one it
        // fails like any other. (SIGPIPE is ignored by the standard library already.)
        let noticed = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let _ = signal_hook::flag::register(SIGXFSZ, noticed);
    }
    // What is made is the owner's alone, whatever the caller's mask: the index holds the words of
    // memories, and its library makes files by the mask.
    crate::git::make_private();
    let folder = std::env::current_dir()
        .map_err(|error| Failure::new("cannot tell the working folder").because(error))?;
    let folders = etcetera::choose_base_strategy().ok();
    let below = |get: fn(&dyn etcetera::BaseStrategy) -> std::path::PathBuf| {
        folders.as_ref().map(|folders| get(folders).join("memdir"))
    };
    let ours = |name: &std::ffi::OsStr| {
        let name = name.as_encoded_bytes();
        name.starts_with(b"MEMDIR_") || name.starts_with(b"AIAML_")
    };
    // Left out, it would send memories to another store than the one that was meant.
    if let Some((name, _)) =
        std::env::vars_os().find(|(name, value)| ours(name) && value.to_str().is_none())
    {
        let name = name.to_string_lossy();
        return Err(Failure::new(format!("the variable {name} is not UTF-8"))
            .hint("Name such a path with --store."));
    }
    Ok(Environment {
        variables: std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect(),
        folder,
        config_folder: below(|folders| folders.config_dir()),
        data_folder: below(|folders| folders.data_dir()),
        cache_folder: below(|folders| folders.cache_dir()),
        // Windows has none of its own.
        state_folder: below(|folders| {
            folders
                .state_dir()
                .unwrap_or_else(|| folders.cache_dir().join("state"))
        }),
    })
}

/// The number of the signal on every system that has it.
#[cfg(unix)]
const SIGXFSZ: i32 = 25;

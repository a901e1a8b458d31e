//! Finds the store to use: of the command line, of a variable, above the working folder, of the
//! user's settings, or the default.

use std::path::{Path, PathBuf};

use super::discover;
use super::discover::StoreOrigin;
use super::environment::{Environment, Flags};
use super::layer::SettingsLayer;
use super::setting::{ConfigError, Origin, Setting};
use super::table::SettingId;

/// The store to use, and how it was found.
pub(super) struct FoundStore {
    /// Root folder of the store.
    pub store: Setting<PathBuf>,
    /// Way by which the store was found.
    pub origin: StoreOrigin,
    /// As [`Config::untrusted`](super::Config::untrusted).
    pub untrusted: Option<PathBuf>,
    /// As [`Config::lookalike`](super::Config::lookalike).
    pub lookalike: Option<PathBuf>,
    /// As [`Config::usual_store`](super::Config::usual_store).
    pub usual: Option<PathBuf>,
}

pub(super) fn find_store(
    flags: &Flags,
    environment: &Environment,
    user_layer: &SettingsLayer,
) -> Result<FoundStore, ConfigError> {
    let at = |value: &str| environment.folder.join(environment.expand_home(value));
    let usual = match user_layer.get(SettingId::Store) {
        Some(Setting { value, origin }) => {
            let path = at(&value.to_string());
            Some((discover::store_at(&path), origin))
        }
        None => {
            let default = environment.data_folder.clone();
            default.map(|value| (value, Origin::Default))
        }
    };
    let found = |value: PathBuf, origin, store_origin| FoundStore {
        store: Setting {
            value: discover::store_at(&value),
            origin,
        },
        origin: store_origin,
        untrusted: None,
        lookalike: None,
        usual: usual.as_ref().map(|(value, _)| value.clone()),
    };
    if let Some(store) = &flags.store {
        let value = environment.folder.join(store);
        return Ok(found(value, Origin::Flag, StoreOrigin::Flag));
    }
    if let Some(Setting { value, origin }) = environment.variable(SettingId::Store.row().variables)
    {
        let mut folder = at(&value);
        // That program's name for the folder of the memories themselves.
        let names_files = folder.ends_with("files") && !discover::is_store(&folder);
        if origin == Origin::Variable("AIAML_MEMORY_DIR") && names_files {
            folder.pop();
        }
        return Ok(found(folder, origin, StoreOrigin::Configured));
    }
    let is_usual = |above: &Path| {
        let usual = usual.as_ref();
        usual.is_some_and(|(usual, _)| is_same_folder(usual, above))
    };
    let is_trusted = |above: &Path| {
        let records = environment.records();
        records.is_some_and(|records| records.find(above).is_some())
    };
    let above = discover::nearest_store(&environment.folder).filter(|above| !is_usual(above));
    if let Some(above) = above.as_ref().filter(|above| is_trusted(above)) {
        let origin = Origin::Found("folder above");
        return Ok(found(above.clone(), origin, StoreOrigin::Parent));
    }
    let (value, origin) = usual.clone().ok_or(ConfigError::NoHome)?;
    let lookalike = discover::nearest_lookalike(&environment.folder)
        .filter(|lookalike| above.is_none() && !is_usual(lookalike));
    Ok(FoundStore {
        untrusted: above,
        lookalike,
        ..found(value, origin, StoreOrigin::Configured)
    })
}

pub(super) fn is_same_folder(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

//! The address of the page with a code, and the browser that opens it.

use std::io;
use std::path::Path;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::cli::terminal::fail::Failure;
use crate::engine::{Engine, live};
use crate::http::codes;
use crate::http::tokens::Rights;

/// Name of the file, among those of a store's index, that leads a browser to the page.
const FILE: &str = "open.html";

/// Returns whether a server can be reached at this name by a browser.
pub fn is_address(name: &str) -> bool {
    name.starts_with("http://") || name.starts_with("https://")
}

/// Returns the address of the page of a server that listens at `names`, with a new code; with an id that of a
/// memory.
pub fn address_of<'a>(
    engine: &Engine,
    names: impl Iterator<Item = &'a String>,
    rights: Rights,
    id: Option<&str>,
) -> Result<String, Failure> {
    let mut names = names.filter(|name| is_address(name));
    let name = names.next().ok_or_else(|| {
        Failure::new("the server of this store listens at a socket only")
            .hint("Give it --listen HOST:PORT, too.")
    })?;
    let code = codes::make(engine.live.state(), rights)
        .map_err(|error| Failure::new("cannot make a code for the page").because(error))?;
    let next = match id {
        Some(id) => {
            let (stem, _) = live::resolve(&engine.live, id)?;
            let id = engine.live.shown_id(&stem);
            format!("&memory={}", utf8_percent_encode(&id, NON_ALPHANUMERIC))
        }
        None => String::new(),
    };
    Ok(format!("{name}/login?code={code}{next}"))
}

/// Opens an address in the browser of the desktop.
///
/// Arguments of programs can be read by every user of the machine: the browser gets a file that only this user can
/// read, and that leads on.
pub fn open_browser(state: &Path, address: &str) -> io::Result<()> {
    let file = state.join(FILE);
    let text = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url={address}\"><a href=\"{address}\">memdir</a>\n"
    );
    crate::files::write_synced(&file, text.as_bytes())?;
    open::that_detached(&file)
}

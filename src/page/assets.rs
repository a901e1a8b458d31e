//! Files of the page that the program holds.

/// A file of the page.
#[derive(Debug, Clone, Copy)]
pub struct Asset {
    /// Type of its content.
    pub content_type: &'static str,
    /// Content.
    pub bytes: &'static [u8],
}

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// Files by their names. `highlight.min.js` is the common build of Highlight.js, unchanged.
const ASSETS: [(&str, Asset); 4] = [
    (
        "page.css",
        Asset {
            content_type: "text/css; charset=utf-8",
            bytes: include_bytes!("assets/page.css"),
        },
    ),
    (
        "page.js",
        Asset {
            content_type: JAVASCRIPT,
            bytes: include_bytes!("assets/page.js"),
        },
    ),
    (
        "highlight.min.js",
        Asset {
            content_type: JAVASCRIPT,
            bytes: include_bytes!("assets/highlight.min.js"),
        },
    ),
    (
        "icon.svg",
        Asset {
            content_type: "image/svg+xml",
            bytes: include_bytes!("assets/icon.svg"),
        },
    ),
];

/// Returns the file of a name.
pub fn asset(name: &str) -> Option<Asset> {
    let mut assets = ASSETS.iter();
    assets.find_map(|(known, asset)| (*known == name).then_some(*asset))
}

//! The languages whose words can be stemmed.

use std::str::FromStr;

use rust_stemmers::Algorithm;

/// A language with a Snowball stemmer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Language {
    name: &'static str,
    pub(super) algorithm: Algorithm,
}

const LANGUAGES: [Language; 18] = [
    Language {
        name: "arabic",
        algorithm: Algorithm::Arabic,
    },
    Language {
        name: "danish",
        algorithm: Algorithm::Danish,
    },
    Language {
        name: "dutch",
        algorithm: Algorithm::Dutch,
    },
    Language {
        name: "english",
        algorithm: Algorithm::English,
    },
    Language {
        name: "finnish",
        algorithm: Algorithm::Finnish,
    },
    Language {
        name: "french",
        algorithm: Algorithm::French,
    },
    Language {
        name: "german",
        algorithm: Algorithm::German,
    },
    Language {
        name: "greek",
        algorithm: Algorithm::Greek,
    },
    Language {
        name: "hungarian",
        algorithm: Algorithm::Hungarian,
    },
    Language {
        name: "italian",
        algorithm: Algorithm::Italian,
    },
    Language {
        name: "norwegian",
        algorithm: Algorithm::Norwegian,
    },
    Language {
        name: "portuguese",
        algorithm: Algorithm::Portuguese,
    },
    Language {
        name: "romanian",
        algorithm: Algorithm::Romanian,
    },
    Language {
        name: "russian",
        algorithm: Algorithm::Russian,
    },
    Language {
        name: "spanish",
        algorithm: Algorithm::Spanish,
    },
    Language {
        name: "swedish",
        algorithm: Algorithm::Swedish,
    },
    Language {
        name: "tamil",
        algorithm: Algorithm::Tamil,
    },
    Language {
        name: "turkish",
        algorithm: Algorithm::Turkish,
    },
];

impl Language {
    /// Returns the language's English name in lower case.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Every language's name, for messages.
    pub fn names() -> Vec<&'static str> {
        LANGUAGES.iter().map(|language| language.name).collect()
    }
}

impl Default for Language {
    fn default() -> Language {
        LANGUAGES[3]
    }
}

impl FromStr for Language {
    type Err = String;

    fn from_str(name: &str) -> Result<Language, String> {
        let name = name.trim().to_lowercase();
        LANGUAGES
            .into_iter()
            .find(|language| language.name == name)
            .ok_or_else(|| {
                format!(
                    "language `{name}` is none of {}",
                    Language::names().join(", ")
                )
            })
    }
}

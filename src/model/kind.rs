//! The closed vocabularies of a memory's fields.

use std::fmt;

/// A word that is none of those a field knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownWord {
    /// Name of the field.
    pub field: &'static str,
    /// The word.
    pub word: String,
    /// Valid words of the field.
    pub known: &'static [&'static str],
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} `{}` is none of {}",
            self.field,
            self.word,
            self.known.join(", ")
        )
    }
}

impl std::error::Error for UnknownWord {}

/// Makes an enum whose variants are written as words.
macro_rules! vocabulary {
    ($(#[$doc:meta])* $name:ident, $field:literal, $($(#[$of:meta])* $variant:ident = $word:literal),+) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$of])* $variant),+ }

        impl $name {
            /// Every word of the vocabulary, in the order of the documentation.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::model::UnknownWord;
            fn from_str(word: &str) -> Result<$name, $crate::model::UnknownWord> {
                match word.trim().to_lowercase().as_str() {
                    $($word => Ok($name::$variant),)+
                    _ => Err($crate::model::UnknownWord { field: $field, word: word.to_owned(), known: $name::WORDS }),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use vocabulary;

vocabulary! {
    /// The sort of knowledge that a memory holds.
    Kind, "kind", Episodic = "episodic", Semantic = "semantic", Procedural = "procedural", Entity = "entity"
}

vocabulary! {
    /// The readers that a memory is meant for: its own group, or everybody.
    Scope, "scope", Group = "group", Global = "global"
}

vocabulary! {
    /// The time that a memory is meant to live.
    Tier, "tier", Short = "short", Mid = "mid", Long = "long"
}

impl Kind {
    /// Returns the scope of a memory of this kind that states none: what happened concerns the
    /// group it happened in, what holds concerns all.
    pub fn usual_scope(self) -> Scope {
        match self {
            Kind::Episodic => Scope::Group,
            Kind::Semantic | Kind::Procedural | Kind::Entity => Scope::Global,
        }
    }
}

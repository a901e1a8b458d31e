//! Completion by Tab in the shell: commands, options, ids with titles, topics, namespaces.

use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::line::{COMMANDS, own_name};
use crate::cli::complete::{self, Meant, Offer};

/// Completes the word before the cursor.
pub struct LineCompleter;

impl Completer for LineCompleter {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = &line[..position];
        let start = before
            .char_indices()
            .rfind(|(_, character)| character.is_whitespace())
            .map_or(0, |(at, character)| at + character.len_utf8());
        let (before, typed) = before.split_at(start);
        Ok((start, offers(before, typed).into_iter().map(pair).collect()))
    }
}

impl Helper for LineCompleter {}
impl Highlighter for LineCompleter {}
impl Validator for LineCompleter {}

impl Hinter for LineCompleter {
    type Hint = String;
}

/// Returns what may stand in place of `typed`, behind `before`.
fn offers(before: &str, typed: &str) -> Vec<Offer> {
    let before = shlex::split(before)
        .unwrap_or_else(|| before.split_whitespace().map(str::to_owned).collect());
    let is_option = typed.starts_with('-') || before.iter().any(|word| word.starts_with('-'));
    let own = before.first().and_then(|word| own_name(word));
    let meant = match own.filter(|_| !is_option) {
        Some("recall" | "search") => Some(Meant::Topic),
        Some("list") if before.len() == 1 => Some(Meant::Namespace),
        Some("get" | "delete") => Some(Meant::Memory),
        _ => None,
    };
    if let Some(meant) = meant {
        return complete::values(meant, typed);
    }
    let mut offers = complete::offers(&before, typed);
    if before.is_empty() {
        let known: Vec<String> = offers.iter().map(|offer| offer.value.clone()).collect();
        let own = COMMANDS.iter().map(|(names, _, does)| (names[0], *does));
        let own = own.filter(|(name, _)| name.starts_with(typed));
        let own = own.filter(|(name, _)| !known.iter().any(|known| known == name));
        offers.extend(own.map(|(name, does)| Offer {
            value: name.to_owned(),
            about: Some(does.to_owned()),
        }));
    }
    offers
}

fn pair(offer: Offer) -> Pair {
    let display = match &offer.about {
        Some(about) => format!("{}  ({about})", offer.value),
        None => offer.value.clone(),
    };
    Pair {
        display,
        replacement: offer.value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_the_shell_and_of_memdir_are_offered() {
        let values = |before: &str, typed: &str| -> Vec<String> {
            let offers = offers(before, typed).into_iter();
            offers.map(|offer| offer.value).collect()
        };
        assert_eq!(values("", "qu"), ["quit"]);
        assert!(values("", "rem").contains(&"remember".to_owned()));
        assert!(values("forget ", "--re").contains(&"--reason".to_owned()));
    }
}

//! The command line of Loci, in the words of memdir's own.

use std::ffi::{OsStr, OsString};

/// Commands that are called otherwise here, or want something beside: their words there and here. What
/// else stands in a line is kept; all other commands have one name.
const COMMANDS: [(&[&str], &[&str]); 4] = [
    (&["serve", "--sse"], &["serve", "--dialect", "loci"]),
    (&["serve"], &["mcp", "--dialect", "loci"]),
    (&["export"], &["export", "--to", "jsonl", "--json"]),
    (&["import"], &["import", "--from", "loci"]),
];

/// Returns a line of Loci, without its name, in the words of memdir.
pub fn words(words: &[OsString]) -> Vec<OsString> {
    let begins = |there: &&[&str]| {
        let mut pairs = there.iter().zip(words);
        there.len() <= words.len() && pairs.all(|(there, word)| *word == *OsStr::new(there))
    };
    let known = COMMANDS.iter().find(|(there, _)| begins(there));
    let (there, here) = known.copied().unwrap_or((&[], &[]));
    let here = here.iter().map(OsString::from);
    here.chain(words[there.len()..].iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(there: &str, here: &str) {
        let line: Vec<OsString> = there.split_whitespace().map(OsString::from).collect();
        let line: Vec<String> = words(&line)
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect();
        assert_eq!(line.join(" "), here);
    }

    #[test]
    fn commands_of_other_names_are_called_as_here() {
        check("serve", "mcp --dialect loci");
        check("serve --group atlas", "mcp --dialect loci --group atlas");
        check("serve --sse", "serve --dialect loci");
        check("export", "export --to jsonl --json");
        check("import old.json", "import --from loci old.json");
        check("search how we deploy", "search how we deploy");
        check("cleanup --dry-run", "cleanup --dry-run");
        check("", "");
    }
}

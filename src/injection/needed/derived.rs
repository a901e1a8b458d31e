//! The table of the words that the expressions need, made from the expressions.

use std::collections::BTreeMap;

use regex_syntax::hir::Hir;

use super::{ExpressionSet, LINE_END};
use crate::literals::required;

/// Maximum number of expressions: each has a bit of [`ExpressionSet`].
const MOST: usize = 128;

/// Returns the table of `expressions`, at most [`MOST`], which are named by their places.
fn table<'a>(
    expressions: impl Iterator<Item = &'a str>,
) -> Result<String, Box<regex_syntax::Error>> {
    let mut always: ExpressionSet = 0;
    let mut words: BTreeMap<Vec<u8>, ExpressionSet> = BTreeMap::new();
    for (at, expression) in expressions.enumerate() {
        assert!(at < MOST, "there are too many expressions");
        match required(&parsed(expression)?, 1) {
            None => always |= 1 << at,
            Some(texts) => texts
                .into_iter()
                .for_each(|text| *words.entry(text).or_default() |= 1 << at),
        }
    }
    let mut table = format!("{always:x}\n");
    for (word, of) in words {
        let word = String::from_utf8(word).expect("the expressions are text");
        assert!(!word.contains(LINE_END), "{word:?} cannot be written down");
        table += &format!("{of:x} {}\n", word.replace('\n', LINE_END));
    }
    Ok(table)
}

/// Returns an expression, parsed for its words alone: what Unicode's classes of characters hold says nothing
/// about them, and takes most of the time. Blanks stay as they are, as there are so few in ASCII
/// that each would be taken for a text.
fn parsed(expression: &str) -> Result<Hir, Box<regex_syntax::Error>> {
    let mut parser = regex_syntax::ParserBuilder::new();
    let has_few = [r"\s", r"\d", r"\p"]
        .iter()
        .any(|class| expression.contains(class));
    if !has_few {
        parser.unicode(false).utf8(false);
    }
    match parser.build().parse(expression) {
        Ok(parsed) => Ok(parsed),
        // It names characters outside of ASCII.
        Err(_) => Ok(regex_syntax::parse(expression)?),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::injection::needed::Needed;
    use crate::injection::patterns::expressions;

    #[test]
    fn the_table_is_that_of_the_signs() {
        let derived = table(expressions().iter().map(String::as_str)).unwrap();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/injection/words.txt");
        if std::env::var_os("MEMDIR_RENEW").is_some() {
            fs::write(&path, &derived).unwrap();
        }
        let written = fs::read_to_string(&path).unwrap();
        assert!(
            derived == written,
            "the signs are others than those of {}: run this test with MEMDIR_RENEW=1",
            path.display()
        );
    }

    #[test]
    fn an_expression_is_named_where_one_of_its_words_stands() {
        let expressions = [r"\babc (?:def|ghi)", r"x*", r"abc d[^.]*zzz", "défense"];
        let of_these = table(expressions.into_iter()).unwrap();
        let needed = Needed::read(of_these.leak());
        let check = |text: &str, expected| assert_eq!(needed.named_by(text), expected, "{text}");
        check("", 0b0010);
        check("ab", 0b0010);
        check("abc ghi", 0b0011);
        check("abc", 0b0010);
        check("abc d", 0b0110);
        check("1 défense zzz", 0b1010);
        assert!(table(["("].into_iter()).is_err());
    }
}

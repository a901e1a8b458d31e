//! What people and agents ask.

use arbitrary::Arbitrary;
use memdir::engine::{Query as EngineQuery, QueryKind, ops};
use memdir::model::Filter;
use memdir::ranking::keyword::Keyword;
use memdir::words::{Analyzer, Language};

/// A question or keywords, and a text to look in.
#[derive(Debug, Arbitrary)]
pub struct Query<'a> {
    text: &'a str,
    keyword: &'a str,
    as_keywords: bool,
}

/// Cutting texts into words and counting keywords never fails; asking a store fails only for an
/// empty question.
pub fn query(input: Query<'_>) {
    let Query {
        text,
        keyword,
        as_keywords,
    } = input;
    let terms = Analyzer::new(&[Language::default()]).term_list(text);
    assert!(terms.iter().all(|term| !term.is_empty()));
    let lower = text.to_lowercase();
    if let Some(keyword) = Keyword::new(keyword) {
        let count = keyword.count(&lower);
        assert_eq!(
            count.anywhere as usize,
            lower.matches(keyword.as_str()).count()
        );
        assert!(count.as_word <= count.anywhere);
    }
    let kind = if as_keywords {
        QueryKind::Keywords(vec![keyword.to_owned(), text.to_owned()])
    } else {
        QueryKind::Text(text.to_owned())
    };
    let is_empty = match &kind {
        QueryKind::Keywords(words) => words.iter().all(|word| word.trim().is_empty()),
        _ => text.trim().is_empty(),
    };
    let query = EngineQuery {
        kind,
        ..EngineQuery::everything(Filter::default(), 10)
    };
    let found = ops::search(crate::engine(), &query);
    assert_eq!(found.is_err(), is_empty, "{found:?}");
    if let Ok(results) = found {
        assert!(results.hits.iter().all(|hit| hit.score.is_finite()));
        assert!(
            results
                .hits
                .is_sorted_by(|one, next| one.score >= next.score)
        );
    }
}

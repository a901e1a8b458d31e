//! What people and agents ask.

use arbitrary::Arbitrary;
use memdir::engine::Ranking;
use memdir::engine::Search;
use memdir::engine::QueryKind;
use memdir::model::Filter;
use memdir::ranking::keyword::Keyword;
use memdir::words::Analyzer;
use memdir::words::Language;

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
    let wanted = if as_keywords {
        QueryKind::Keywords(vec![keyword.to_owned(), text.to_owned()])
    } else {
        QueryKind::Text(text.to_owned())
    };
    let is_empty = match &wanted {
        QueryKind::Keywords(words) => words.iter().all(|word| word.trim().is_empty()),
        _ => text.trim().is_empty(),
    };
    let search = Search {
        wanted,
        filter: Filter::default(),
        ranking: Ranking::default(),
        limit: 10,
        offset: 0,
    };
    let found = crate::engine().search(&search);
    assert_eq!(found.is_err(), is_empty, "{found:?}");
    if let Ok(thought) = found {
        assert!(thought.hits.iter().all(|hit| hit.score.is_finite()));
        assert!(
            thought
                .hits
                .is_sorted_by(|one, next| one.score >= next.score)
        );
    }
}

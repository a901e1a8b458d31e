//! Git's conflict markers, which a merge that nobody finished leaves in a text.

/// Whether lines begin with git's `<<<<<<< ` and, further down, `>>>>>>> `.
pub fn has_conflict_markers(bytes: &[u8]) -> bool {
    let line_starts_with = |bytes: &[u8], mark: &[u8]| {
        memchr::memmem::find_iter(bytes, mark).find(|&at| at == 0 || bytes[at - 1] == b'\n')
    };
    line_starts_with(bytes, b"<<<<<<< ")
        .is_some_and(|at| line_starts_with(&bytes[at..], b">>>>>>> ").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_count_at_the_beginning_of_lines_and_in_their_order() {
        assert!(has_conflict_markers(
            b"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n"
        ));
        assert!(has_conflict_markers(
            b"a\r\n<<<<<<< a\r\n=======\r\n>>>>>>> b"
        ));
        for text in [
            "",
            ">>>>>>> b\n<<<<<<< a\n",
            "x <<<<<<< a\n>>>>>>> b\n",
            "<<<<<<< a\nx >>>>>>> b\n",
            "<<<<<<<\n=======\n>>>>>>>\n",
            "Title\n=======\n",
        ] {
            assert!(!has_conflict_markers(text.as_bytes()), "{text:?}");
        }
    }
}

//! Git's conflict markers, which a merge that nobody finished leaves in a text.
//!
//! A text about git may show some: in a fenced block of code they are its content. Git knows no
//! blocks, but what it leaves in one is as rare as such texts are common, among programmers.

/// The whole texts of both sides of an unfinished merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sides {
    pub ours: Vec<u8>,
    pub theirs: Vec<u8>,
    /// The text that both come from, if git has written it down at every conflict.
    pub base: Option<Vec<u8>>,
}

/// The lines of one unfinished merge: of its markers, from 0.
struct Hunk {
    begin: usize,
    base: Option<usize>,
    middle: usize,
    end: usize,
}

/// Returns whether lines begin with git's `<<<<<<< `, `=======` and `>>>>>>> `, in this order.
pub fn has_conflict_markers(bytes: &[u8]) -> bool {
    first_conflict_marker(bytes).is_some()
}

/// Returns the line on which the first of git's conflict markers stands, from 1.
pub fn first_conflict_marker(bytes: &[u8]) -> Option<usize> {
    // Nearly every text has none.
    memchr::memmem::find(bytes, b"<<<<<<< ")?;
    let lines = lines(bytes);
    hunks(&lines).first().map(|hunk| hunk.begin + 1)
}

/// Both sides of what git's conflict markers divide; `None` if there are none.
pub fn conflict_sides(bytes: &[u8]) -> Option<Sides> {
    let lines = lines(bytes);
    let hunks = hunks(&lines);
    if hunks.is_empty() {
        return None;
    }
    let mut sides = Sides {
        ours: Vec::new(),
        theirs: Vec::new(),
        base: hunks.iter().all(|hunk| hunk.base.is_some()).then(Vec::new),
    };
    let mut done = 0;
    let text = |from: usize, to: usize| lines[from..to].concat();
    for hunk in &hunks {
        let common = text(done, hunk.begin);
        sides.ours.extend_from_slice(&common);
        sides.theirs.extend_from_slice(&common);
        let ours_end = hunk.base.unwrap_or(hunk.middle);
        sides.ours.extend(text(hunk.begin + 1, ours_end));
        sides.theirs.extend(text(hunk.middle + 1, hunk.end));
        if let (Some(all), Some(at)) = (&mut sides.base, hunk.base) {
            all.extend_from_slice(&common);
            all.extend(text(at + 1, hunk.middle));
        }
        done = hunk.end + 1;
    }
    let common = text(done, lines.len());
    let base = sides.base.as_mut();
    for side in [&mut sides.ours, &mut sides.theirs].into_iter().chain(base) {
        side.extend_from_slice(&common);
    }
    Some(sides)
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

fn hunks(lines: &[&[u8]]) -> Vec<Hunk> {
    let mut hunks = Vec::new();
    let mut fence: Option<&[u8]> = None;
    let mut at = 0;
    while at < lines.len() {
        match fence {
            None => match hunk_at(lines, at) {
                Some(hunk) => {
                    at = hunk.end;
                    hunks.push(hunk);
                }
                None => fence = fence_of(lines[at]),
            },
            Some(mark) if lines[at].trim_ascii_start().starts_with(mark) => fence = None,
            Some(_) => {}
        }
        at += 1;
    }
    hunks
}

/// Returns the hunk that begins on a line.
fn hunk_at(lines: &[&[u8]], begin: usize) -> Option<Hunk> {
    if !lines[begin].starts_with(b"<<<<<<< ") {
        return None;
    }
    let find = |from: usize, is: fn(&[u8]) -> bool| {
        let found = lines[from..].iter().position(|line| is(line));
        found.map(|at| from + at)
    };
    let middle = find(begin + 1, |line| line.trim_ascii_end() == b"=======")?;
    let end = find(middle + 1, |line| line.starts_with(b">>>>>>> "))?;
    let base = lines[begin + 1..middle]
        .iter()
        .position(|line| line.starts_with(b"||||||| "))
        .map(|at| begin + 1 + at);
    Some(Hunk {
        begin,
        base,
        middle,
        end,
    })
}

/// Returns the marks that end a block of code which begins on this line.
fn fence_of(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_start();
    let mark = *line.first().filter(|byte| b"`~".contains(byte))?;
    let length = line.iter().take_while(|byte| **byte == mark).count();
    (length >= 3).then(|| &line[..length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_count_at_the_beginning_of_lines_and_in_their_order() {
        let line = |text: &str| first_conflict_marker(text.as_bytes());
        let hunk = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n";
        assert_eq!(line(hunk), Some(1));
        assert_eq!(line("a\r\n<<<<<<< a\r\n=======\r\n>>>>>>> b"), Some(2));
        // A block of code that is over, and one that is not.
        assert_eq!(line(&format!("```sh\nx\n```\n{hunk}")), Some(4));
        assert_eq!(line(&format!("~~~~\n~~~\n{hunk}~~~~\n")), None);
        for text in [
            "",
            ">>>>>>> b\n=======\n<<<<<<< a\n",
            "x <<<<<<< a\n=======\n>>>>>>> b\n",
            "<<<<<<< a\n=======\nx >>>>>>> b\n",
            "<<<<<<< a\n>>>>>>> b\n",
            "<<<<<<<\n=======\n>>>>>>>\n",
            "Title\n=======\n",
            "```\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n```\n",
        ] {
            assert_eq!(line(text), None, "{text:?}");
        }
    }

    #[test]
    fn both_sides_are_whole_texts_again() {
        let text = b"1\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n2\n<<<<<<< HEAD\n=======\nc\n>>>>>>> x\n3\n";
        let sides = conflict_sides(text).unwrap();
        assert_eq!(sides.ours, b"1\na\n2\n3\n");
        assert_eq!(sides.theirs, b"1\nb\n2\nc\n3\n");
        assert_eq!(sides.base, None);
        let text = b"1\n<<<<<<< HEAD\na\n||||||| o\nz\n=======\nb\n>>>>>>> x\n";
        let sides = conflict_sides(text).unwrap();
        assert_eq!(sides.ours, b"1\na\n");
        assert_eq!(sides.theirs, b"1\nb\n");
        assert_eq!(sides.base.unwrap(), b"1\nz\n");
        assert_eq!(conflict_sides(b"1\n"), None);
    }
}

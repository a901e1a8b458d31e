//! Markdown → HTML that runs nothing.
//!
//! Promises: raw HTML is shown as text; a link leads to `http`, `https`, `mailto` or a memory, every other
//! address is left out; a picture of another host is a link, so that opening a memory asks nobody else.

use maud::{Markup, PreEscaped, html};
use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};

use super::parameters::Parameters;
use super::{entry, texts};

/// Maximum size in bytes of a text that is rendered: a browser is slow with more.
pub(in crate::page) const MOST_BYTES: usize = 256 << 10;

const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_WIKILINKS);

/// Returns a piece of a text as people read it, on one line, without the marks of markdown.
pub(in crate::page) fn plain(piece: &str) -> String {
    let mut plain = String::with_capacity(piece.len());
    for event in Parser::new_ext(piece, OPTIONS) {
        match event {
            Event::Text(text)
            | Event::Code(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::FootnoteReference(text) => plain.push_str(&text),
            Event::SoftBreak | Event::HardBreak | Event::Rule => plain.push(' '),
            Event::End(end) if !is_inline(end) => plain.push(' '),
            _ => {}
        }
    }
    let words = plain.split_whitespace().filter(|word| !is_block_mark(word));
    words.collect::<Vec<&str>>().join(" ")
}

/// Returns whether a word is the mark of a heading, a table or a rule, which stands within a line where line ends
/// became blanks.
fn is_block_mark(word: &str) -> bool {
    let is_heading = word.len() <= 6 && word.bytes().all(|byte| byte == b'#');
    let is_rule = word.contains("---") && word.bytes().all(|byte| b"|:-".contains(&byte));
    is_heading || is_rule || word == "|"
}

/// Returns whether what ends stands within a line.
fn is_inline(end: TagEnd) -> bool {
    matches!(
        end,
        TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image
    )
}

/// Returns the HTML of a text that is shown at the address `here`. `known` gives the id of the memory that a wikilink
/// names.
pub(in crate::page) fn render(
    text: &str,
    here: &str,
    known: &dyn Fn(&str) -> Option<String>,
) -> Markup {
    let mut picture: Option<String> = None;
    let events = Parser::new_ext(text, OPTIONS).map(|event| match event {
        Event::Html(raw) | Event::InlineHtml(raw) => Event::Text(raw),
        // Text in between is what the picture shows.
        Event::Start(Tag::Image { dest_url, .. }) => {
            picture = Some(dest_url.into_string());
            Event::Html(CowStr::Borrowed("<span class=\"picture\">"))
        }
        Event::End(TagEnd::Image) => Event::Html(picture_end(picture.take()).into()),
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) => {
            let dest_url = address(link_type, &dest_url, known);
            Event::Start(Tag::Link {
                link_type: LinkType::Inline,
                dest_url: dest_url.into(),
                title,
                id,
            })
        }
        // Headings of a memory stand below that of the page.
        Event::Start(Tag::Heading { level, .. }) => Event::Html(heading(level, false).into()),
        Event::End(TagEnd::Heading(level)) => Event::Html(heading(level, true).into()),
        other => other,
    });
    let mut html = String::with_capacity(text.len() * 3 / 2);
    pulldown_cmark::html::push_html(&mut html, events);
    // Wide tables scroll by themselves, also by the keyboard.
    let html = html.replace(
        "<table>",
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"table\"><table>",
    );
    let html = html
        .replace("</table>", "</table></div>")
        .replace("<pre>", "<pre tabindex=\"0\">");
    // Footnotes: what begins with `#` is meant within this view, and the document's base is another one.
    let here = html! { (here) }.into_string();
    let html = html.replace("<a href=\"#", &format!("<a href=\"{here}#"));
    PreEscaped(html)
}

fn heading(level: pulldown_cmark::HeadingLevel, is_end: bool) -> String {
    let level = (level as usize + 2).min(6);
    let slash = if is_end { "/" } else { "" };
    format!("<{slash}h{level}>")
}

/// Returns the address of a link, or `#` for one that leads nowhere.
fn address(kind: LinkType, target: &str, known: &dyn Fn(&str) -> Option<String>) -> String {
    let named = match kind {
        LinkType::WikiLink { .. } => Some(target.split(['#', '|']).next().unwrap_or(target)),
        _ => target.strip_prefix("memory://"),
    };
    if let Some(name) = named {
        // A name that no memory has is searched for.
        let search = || {
            Parameters::default()
                .and("q", name.trim())
                .address("search")
        };
        return known(name.trim()).map_or_else(search, |id| entry::address(&id, ""));
    }
    match is_harmless(target) {
        true => target.to_owned(),
        false => "#".to_owned(),
    }
}

/// Returns whether an address has one of the schemes that a click may follow.
fn is_harmless(target: &str) -> bool {
    let target = target.trim().to_ascii_lowercase();
    let harmless = ["http://", "https://", "mailto:"];
    harmless.iter().any(|scheme| target.starts_with(scheme))
}

/// Returns what stands behind the description of a picture: a link to it.
fn picture_end(target: Option<String>) -> String {
    let target = target.filter(|target| is_harmless(target));
    let link = html! {
        @if let Some(target) = &target {
            " (" (texts::REMOTE_IMAGE) " " a href=(target) rel="noreferrer noopener" { (entry::cut(target, 80)) } ")"
        }
    };
    format!("{}</span>", link.into_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &str) -> String {
        let known = |name: &str| (name == "Atlas").then(|| "1a2b3c4d".to_owned());
        render(text, "memory/ab?x=1&y", &known).into_string()
    }

    #[test]
    fn a_piece_in_a_list_has_no_marks_of_markdown() {
        for (piece, read) in [
            (
                "# Steps\n\nWith **a tag**, see [[Runbook]].",
                "Steps With a tag, see Runbook.",
            ),
            (
                "Steps # Then | step | who | |---|---| | backup | Mira |",
                "Steps Then step who backup Mira",
            ),
            (
                "| step | who |\n|---|---|\n| backup | Mira |\n",
                "step who backup Mira",
            ),
            (
                "See [the page](https://a.example/b) and `just release`.",
                "See the page and just release.",
            ),
            (
                "<b>bold</b> is text, C# stays, a-b too",
                "<b>bold</b> is text, C# stays, a-b too",
            ),
            ("… the end of **a sentence", "… the end of **a sentence"),
            ("```rust\nlet a = 1;\n```", "let a = 1;"),
        ] {
            assert_eq!(plain(piece), read);
        }
    }

    #[test]
    fn nothing_of_a_text_runs() {
        for text in [
            "<img src=x onerror=alert(1)>",
            "a <script>alert(1)</script> b",
            "[x](javascript:alert(1))",
            "[x](JaVaScRiPt:alert(1))",
            "[x](&#106;avascript:alert(1))",
            "[x](data:text/html,<script>alert(1)</script>)",
            "[x]( vbscript:x)",
            "![x](http://other.example/a.png)",
            "<svg onload=alert(1)>",
            "[[x\" onclick=\"alert(1)]]",
            "```\" onclick=\"x\n<b>\n```",
            "[x](http://e.example/\"onmouseover=alert(1)//)",
            "| a |\n|---|\n| <img src=x onerror=alert(1)> |",
        ] {
            let html = rendered(text);
            let tags: Vec<&str> = html
                .split('<')
                .skip(1)
                .map(|tag| tag.split('>').next().unwrap())
                .collect();
            for tag in tags {
                assert!(
                    !tag.starts_with("script")
                        && !tag.starts_with("img")
                        && !tag.starts_with("svg"),
                    "{html}"
                );
                let outside: String = tag.split('"').step_by(2).collect();
                assert!(!outside.contains("on"), "{text}: {html}");
                assert!(
                    !tag.to_lowercase().contains("javascript:"),
                    "{text}: {html}"
                );
            }
        }
    }

    #[test]
    fn links_within_a_text_stay_within_its_view() {
        let html = rendered("Tiles[^1], [nowhere](#there).\n\n[^1]: In PostgreSQL.");
        let here = "<a href=\"memory/ab?x=1&amp;y#";
        assert!(html.contains(&format!("{here}1\">1</a>")), "{html}");
        assert!(html.contains(&format!("{here}\">nowhere</a>")), "{html}");
        assert!(html.contains("id=\"1\""), "{html}");
        let text = rendered("`<a href=\"#x\">`");
        assert!(!text.contains("memory/ab"), "{text}");
    }

    #[test]
    fn wikilinks_lead_to_memories() {
        assert!(rendered("See [[Atlas]].").contains("<a href=\"memory/1a2b3c4d\">Atlas</a>"));
        assert!(
            rendered("See [[Atlas#Plan|the plan]].")
                .contains("<a href=\"memory/1a2b3c4d\">the plan</a>")
        );
        assert!(rendered("See [[Nobody]].").contains("<a href=\"search?q=Nobody\">Nobody</a>"));
        assert!(rendered("[x](memory://Atlas)").contains("memory/1a2b3c4d"));
        assert!(rendered("# Title\n\n`[[Atlas]]`").contains("<h3>Title</h3>"));
    }
}

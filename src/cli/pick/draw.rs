//! The picture of a picker's state.
//!
//! One line of what is typed, one of the filters, the list with the text of the selected memory beside it (or
//! below it, where the terminal is narrow), one line of what was done or of the keys. A pane takes the place of the
//! list. What is selected has a mark, so that it is seen without colours, too.

use anstream::{AutoStream, ColorChoice};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use textwrap::core::display_width;
use unicode_segmentation::UnicodeSegmentation;

use super::fields::{Chosen, FIELDS, SPANS};
use super::keys::KEYS;
use super::panes::{Ask, DiffKind, HistoryPane, Pane, Values};
use super::source::one_line;
use super::state::{Picker, Purpose, Row};
use crate::cli::terminal::prose::HighlightedWords;
use crate::engine::QueryKind;

/// Columns from which on the text stands beside the list.
const WIDE: u16 = 72;
/// Lines of the body from which on the text stands below the list.
const TALL: u16 = 10;
/// Columns from which on a row of the list has its day.
const WITH_DAY: usize = 40;
/// Lines above and below the body.
const AROUND: u16 = 3;
/// Blanks in the place of a tab.
const TAB: &str = "    ";

/// Styles, and the words that are marked.
pub struct Look {
    is_coloured: bool,
    words: HighlightedWords,
}

impl Look {
    /// Returns the look for what is typed. Colours as everywhere: `--color`, `NO_COLOR`, what the terminal can.
    pub fn of(picker: &Picker) -> Look {
        let words: Vec<&str> = picker.words.text().split_whitespace().collect();
        let words = words.into_iter().map(str::to_owned).collect();
        Look {
            is_coloured: AutoStream::choice(&std::io::stdout()) != ColorChoice::Never,
            words: HighlightedWords::of(&QueryKind::Keywords(words)),
        }
    }

    fn paint(&self, color: Color) -> Style {
        match self.is_coloured {
            true => Style::new().fg(color),
            false => Style::new(),
        }
    }

    fn dim(&self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    fn bold(&self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Returns `text` in spans, with what was searched for marked.
    fn marked(&self, text: &str, style: Style) -> Vec<Span<'static>> {
        let mark = style
            .patch(self.paint(Color::Red))
            .add_modifier(Modifier::BOLD);
        let mut spans = Vec::new();
        let mut end = 0;
        for place in self.words.places(text) {
            spans.push(Span::styled(text[end..place.start].to_owned(), style));
            spans.push(Span::styled(text[place.clone()].to_owned(), mark));
            end = place.end;
        }
        spans.push(Span::styled(text[end..].to_owned(), style));
        spans
    }
}

/// The places of list, separator and preview in the body.
struct Layout {
    list: Rect,
    preview: Rect,
    /// Between them; empty where there is no preview.
    separator: Rect,
}

impl Layout {
    fn of(body: Rect) -> Layout {
        let Rect {
            x,
            y,
            width,
            height,
        } = body;
        if width >= WIDE {
            let left = width / 2;
            return Layout {
                list: Rect::new(x, y, left - 1, height),
                separator: Rect::new(x + left - 1, y, 1, height),
                preview: Rect::new(x + left + 1, y, width - left - 1, height),
            };
        }
        let top = match height >= TALL {
            true => height / 2,
            false => height,
        };
        let bar = u16::from(top < height);
        Layout {
            list: Rect::new(x, y, width, top),
            separator: Rect::new(x, y + top, width, bar),
            preview: Rect::new(x, y + top + bar, width, height - top - bar),
        }
    }
}

/// Returns the number of rows that the list has on a screen of this size.
pub fn rows_that_fit(width: u16, height: u16) -> usize {
    let body = Rect::new(0, 0, width, height.saturating_sub(AROUND));
    usize::from(Layout::of(body).list.height).max(1)
}

/// Draws the state. A scroll beyond the end of a text becomes one to its end.
pub fn draw(frame: &mut Frame<'_>, picker: &mut Picker, look: &Look) {
    let area = frame.area();
    if area.height <= AROUND || area.width < 10 {
        frame
            .buffer_mut()
            .set_stringn(0, 0, "too small", usize::from(area.width), Style::new());
        return;
    }
    let body = Rect::new(0, 2, area.width, area.height - AROUND);
    let bottom = area.height - 1;
    let cursor = top_line(frame.buffer_mut(), picker, look, area.width);
    let buffer = frame.buffer_mut();
    put(buffer, (0, 1), area.width, &filter_line(picker, look));
    let picked = picker.row().cloned();
    match &mut picker.pane {
        Pane::Keys => lines(buffer, body, &key_lines(look)),
        Pane::Fields => lines(buffer, body, &field_lines(&picker.chosen, look)),
        Pane::Values(values) => draw_values(buffer, body, values, look),
        Pane::History(pane) => draw_history(buffer, body, pane, look),
        Pane::List | Pane::Ask(_) | Pane::Relation { .. } => {
            draw_list(buffer, body, picker, picked.as_ref(), look);
        }
    }
    let (bottom_line, own_cursor) = bottom_line(picker, look, area.width);
    put(buffer, (0, bottom), area.width, &bottom_line);
    let last = area.width - 1;
    match own_cursor {
        Some(column) => frame.set_cursor_position((column.min(last), bottom)),
        None => frame.set_cursor_position((cursor.min(last), 0)),
    }
}

/// Draws what is typed, with the place and the number of memories; returns the column of the cursor.
fn top_line(buffer: &mut Buffer, picker: &Picker, look: &Look, width: u16) -> u16 {
    let (place, total) = match (&picker.pane, picker.purpose) {
        (Pane::History(pane), Purpose::Versions) => (pane.selected, pane.versions.len()),
        _ => (picker.selected, picker.total),
    };
    let count = format!("{}/{total}", (place + 1).min(total));
    let (prompt, input) = match &picker.pane {
        Pane::Values(values) => (format!("{}> ", values.field.label), &values.typed),
        _ => (prompt(picker), &picker.words),
    };
    let room =
        usize::from(width).saturating_sub(display_width(&prompt) + display_width(&count) + 2);
    // The end of a long text is where one types.
    let before = tail(input.before(), room);
    let after = cut(
        &input.text()[input.before().len()..],
        room.saturating_sub(display_width(before)),
    );
    let column = display_width(&prompt) + display_width(before);
    let line = Line::from(vec![
        Span::styled(prompt, look.bold()),
        Span::raw(format!("{before}{after}")),
    ]);
    put(buffer, (0, 0), width, &line);
    let start = width.saturating_sub(display_width(&count) as u16);
    put(
        buffer,
        (start, 0),
        width - start,
        &Line::styled(count, look.dim()),
    );
    column as u16
}

fn prompt(picker: &Picker) -> String {
    if let Some((from, _)) = &picker.link_from {
        return format!("link {from} to> ");
    }
    match picker.purpose {
        Purpose::Print => "> ".to_owned(),
        Purpose::Command(name) => format!("{name}> "),
        Purpose::Forget => "forget> ".to_owned(),
        Purpose::LinkFrom => "link from> ".to_owned(),
        Purpose::LinkTo => "link to> ".to_owned(),
        Purpose::Versions => "versions".to_owned(),
    }
}

fn filter_line(picker: &Picker, look: &Look) -> Line<'static> {
    let mut chips = chips(&picker.chosen);
    if chips.is_empty() && picker.purpose != Purpose::Versions {
        chips.push("all memories".to_owned());
    }
    Line::styled(chips.join(" · "), look.dim().patch(look.paint(Color::Cyan)))
}

/// Returns a text for each condition.
pub fn chips(chosen: &Chosen) -> Vec<String> {
    let equals = chosen.equals.iter();
    let mut chips: Vec<String> = equals
        .map(|(field, value)| format!("{} {}", field.label, one_line(value)))
        .collect();
    if let Some((name, _)) = chosen.span.and_then(|span| SPANS.get(span)) {
        chips.push(format!("last {name}"));
    }
    if chosen.everything {
        chips.push("expired, superseded, talks too".to_owned());
    }
    chips
}

fn draw_list(
    buffer: &mut Buffer,
    body: Rect,
    picker: &mut Picker,
    picked: Option<&Row>,
    look: &Look,
) {
    let layout = Layout::of(body);
    // Where both do not fit, the text takes all.
    let is_alone = layout.preview.height == 0;
    if !(is_alone && picker.is_in_preview) {
        for (number, row) in picker
            .rows
            .iter()
            .take(layout.list.height.into())
            .enumerate()
        {
            let is_selected = picker.top + number == picker.selected;
            let line = list_row(row, layout.list.width.into(), is_selected, look);
            let y = layout.list.y + number as u16;
            put(buffer, (layout.list.x, y), layout.list.width, &line);
        }
        if picker.rows.is_empty() {
            let line = Line::styled("nothing found", look.dim());
            put(
                buffer,
                (layout.list.x, layout.list.y),
                layout.list.width,
                &line,
            );
        }
        separator(buffer, layout.separator, picker.is_in_preview, look);
    }
    let preview = match is_alone && picker.is_in_preview {
        true => body,
        false => layout.preview,
    };
    if let Some(row) = picked {
        draw_preview(buffer, preview, row, &mut picker.scroll, look);
    }
}

fn separator(buffer: &mut Buffer, area: Rect, is_in_preview: bool, look: &Look) {
    let is_upright = area.width == 1 && area.height > 1;
    let style = if is_in_preview {
        look.bold()
    } else {
        look.dim()
    };
    for y in area.top()..area.bottom() {
        let line = match is_upright {
            true => "│".to_owned(),
            false => "─".repeat(area.width.into()),
        };
        put(buffer, (area.x, y), area.width, &Line::styled(line, style));
    }
}

fn list_row(row: &Row, width: usize, is_selected: bool, look: &Look) -> Line<'static> {
    let mark = if is_selected { "> " } else { "  " };
    let id = cut(&row.id, (width / 3).max(8));
    let mut start = format!("{id}  ");
    if width >= WITH_DAY {
        start.push_str(&format!("{}  ", row.day));
    }
    let room = width.saturating_sub(display_width(mark) + display_width(&start));
    let headline = shortened(&row.headline, room);
    let style = match is_selected {
        true => look.bold(),
        false => Style::new(),
    };
    let mut spans = vec![
        Span::styled(mark, look.bold()),
        Span::styled(start, look.paint(Color::Yellow)),
    ];
    spans.extend(look.marked(&headline, style));
    Line::from(spans)
}

fn draw_preview(buffer: &mut Buffer, area: Rect, row: &Row, scroll: &mut usize, look: &Look) {
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    if width == 0 || height == 0 {
        return;
    }
    let mut all: Vec<Line<'static>> = Vec::new();
    let wrap = |text: &str| -> Vec<String> {
        let text = text.replace('\t', TAB);
        let lines = textwrap::wrap(&text, width);
        lines
            .into_iter()
            .map(std::borrow::Cow::into_owned)
            .collect()
    };
    let dim = |line: String| Line::styled(line, look.dim());
    for line in wrap(&row.headline) {
        all.push(Line::from(look.marked(&line, look.bold())));
    }
    for field in &row.fields {
        all.extend(wrap(field).into_iter().map(dim));
    }
    all.push(Line::default());
    let mut is_whole = true;
    for text in row.content.lines() {
        // Longer texts are wrapped as far as they are seen.
        if all.len() > *scroll + height {
            is_whole = false;
            break;
        }
        let lines = wrap(text).into_iter();
        all.extend(lines.map(|line| Line::from(look.marked(&line, Style::new()))));
    }
    if is_whole && row.left_out > 0 {
        let end = format!("… {} more bytes: memdir recall {}", row.left_out, row.id);
        all.extend(wrap(&end).into_iter().map(dim));
    }
    *scroll = (*scroll).min(all.len().saturating_sub(height));
    lines(buffer, area, &all[*scroll..]);
}

fn draw_values(buffer: &mut Buffer, body: Rect, values: &Values, look: &Look) {
    let offered = values.offered();
    let height = usize::from(body.height);
    let first = (values.selected + 1).saturating_sub(height);
    let rows = offered.iter().enumerate().skip(first).take(height);
    let mut drawn: Vec<Line<'static>> = rows
        .map(|(number, (value, count))| {
            let (mark, style) = match number == values.selected {
                true => ("> ", look.bold()),
                false => ("  ", Style::new()),
            };
            let value = one_line(value);
            Line::styled(format!("{mark}{count:>7}  {value}"), style)
        })
        .collect();
    if drawn.is_empty() {
        drawn.push(Line::styled("no memory has one", look.dim()));
    }
    lines(buffer, body, &drawn);
}

fn draw_history(buffer: &mut Buffer, body: Rect, pane: &HistoryPane, look: &Look) {
    let versions = usize::from(body.height / 3).max(1);
    let first = (pane.selected + 1).saturating_sub(versions);
    let rows = pane.versions.iter().enumerate().skip(first).take(versions);
    let mut drawn: Vec<Line<'static>> = rows
        .map(|(number, version)| match number == pane.selected {
            true => Line::styled(format!("> {}", version.line), look.bold()),
            false => Line::raw(format!("  {}", version.line)),
        })
        .collect();
    if drawn.is_empty() {
        drawn.push(Line::styled("no commit holds it yet", look.dim()));
    }
    let bar = format!("── {} {} ", pane.id, pane.headline);
    let bar = format!(
        "{}{}",
        shortened(&bar, body.width.into()),
        "─".repeat(body.width.into())
    );
    drawn.push(Line::styled(
        cut(&bar, body.width.into()).to_owned(),
        look.dim(),
    ));
    let left = usize::from(body.height).saturating_sub(drawn.len());
    let difference = pane.difference.iter().skip(pane.scroll).take(left);
    drawn.extend(difference.map(|(kind, text)| {
        let style = match kind {
            DiffKind::Place => look.paint(Color::Yellow),
            DiffKind::Same => Style::new(),
            DiffKind::Added => look.paint(Color::Green),
            DiffKind::Removed => look.paint(Color::Red),
        };
        Line::styled(text.replace('\t', TAB), style)
    }));
    lines(buffer, body, &drawn);
}

fn key_lines(look: &Look) -> Vec<Line<'static>> {
    let line = |(key, does): &(&str, &str)| {
        Line::from(vec![
            Span::styled(format!("{key:>16}"), look.bold()),
            Span::raw(format!("  {does}")),
        ])
    };
    KEYS.iter().map(line).collect()
}

/// Returns the article of a noun.
fn article(noun: &str) -> &'static str {
    match noun.starts_with(['a', 'e', 'i', 'o']) {
        true => "an",
        false => "a",
    }
}

fn field_lines(chosen: &Chosen, look: &Look) -> Vec<Line<'static>> {
    let mut rows: Vec<(char, String)> = FIELDS
        .iter()
        .map(|field| {
            (
                field.key,
                format!("{} {}", article(field.label), field.label),
            )
        })
        .collect();
    let spans: Vec<&str> = SPANS.iter().map(|(name, _)| *name).collect();
    rows.push((
        's',
        format!("since: last {}; again for the next", spans.join(", ")),
    ));
    rows.push((
        'a',
        match chosen.everything {
            true => "current ones only".to_owned(),
            false => "all: expired, superseded and talks too".to_owned(),
        },
    ));
    rows.push(('c', "clear the filters".to_owned()));
    let line = |(key, text): (char, String)| {
        Line::from(vec![
            Span::styled(format!("  {key}"), look.bold()),
            Span::raw(format!("  {text}")),
        ])
    };
    let heading = Line::styled("Filter by", look.dim());
    std::iter::once(heading)
        .chain(rows.into_iter().map(line))
        .collect()
}

/// Returns the last line, and the column of the cursor where one types in it.
fn bottom_line(picker: &Picker, look: &Look, width: u16) -> (Line<'static>, Option<u16>) {
    let width = usize::from(width);
    match &picker.pane {
        Pane::Ask(Ask { id, headline }) => {
            let end = "? y: yes, any other key: no";
            let room = width.saturating_sub(display_width(end) + display_width(id) + 8);
            let text = format!("forget {id} {}{end}", shortened(headline, room));
            let column = display_width(&text) as u16;
            (Line::styled(text, look.bold()), Some(column))
        }
        Pane::Relation { to, word } => {
            let start = format!("relation to {to}: ");
            let column = display_width(&start) + display_width(word.before());
            let text = format!("{start}{}", word.text());
            (Line::styled(text, look.bold()), Some(column as u16))
        }
        pane => {
            let text = match (&picker.said, pane) {
                (Some(said), Pane::List) => said.clone(),
                (_, Pane::History(_)) if picker.purpose == Purpose::Versions => {
                    "Up Down version  PgUp PgDn scroll  q leave".to_owned()
                }
                (_, Pane::History(_)) => "Up Down version  PgUp PgDn scroll  Esc back".to_owned(),
                (_, Pane::Values(_)) => "type to narrow  Enter filter  Esc back".to_owned(),
                (_, Pane::Keys | Pane::Fields) => "Esc back".to_owned(),
                _ => "Enter choose  ^F filter  ^O open  ^R history  ? keys  Esc leave".to_owned(),
            };
            (Line::styled(shortened(&text, width), look.dim()), None)
        }
    }
}

fn lines(buffer: &mut Buffer, area: Rect, lines: &[Line<'static>]) {
    for (y, line) in (area.top()..area.bottom()).zip(lines) {
        put(buffer, (area.x, y), area.width, line);
    }
}

fn put(buffer: &mut Buffer, (x, y): (u16, u16), width: u16, line: &Line<'_>) {
    buffer.set_line(x, y, line, width);
}

/// Returns as much of the beginning of `text` as `width` columns hold.
fn cut(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        used += display_width(grapheme);
        if used > width {
            return &text[..at];
        }
    }
    text
}

/// Returns as much of the end of `text` as `width` columns hold.
fn tail(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true).rev() {
        used += display_width(grapheme);
        if used > width {
            return &text[at + grapheme.len()..];
        }
    }
    text
}

/// As [`cut`], with a sign where something is missing.
fn shortened(text: &str, width: usize) -> String {
    let short = cut(text, width);
    match short.len() == text.len() {
        true => short.to_owned(),
        false => format!("{}…", cut(text, width.saturating_sub(1))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_columns_and_between_characters() {
        assert_eq!(cut("東京 tower", 3), "東");
        assert_eq!(cut("e\u{301}a", 1), "e\u{301}");
        assert_eq!(tail("how we 東京", 3), "京");
        assert_eq!(shortened("deploys", 7), "deploys");
        assert_eq!(shortened("deploys", 6), "deplo…");
    }

    #[test]
    fn the_text_stands_beside_below_or_in_place_of_the_list() {
        assert_eq!(rows_that_fit(80, 24), 21);
        assert_eq!(rows_that_fit(60, 24), 10);
        assert_eq!(rows_that_fit(60, 10), 7);
        assert_eq!(rows_that_fit(5, 2), 1);
    }
}

//! The neighbourhood of a memory as a picture: it in the middle, what is linked with it around it.

use maud::{Markup, html};

use super::visit::Visit;
use super::{entry, texts};
use crate::engine::Relations;

/// Maximum number of neighbours in the picture.
const MOST: usize = 12;
const WIDTH: f64 = 640.0;
/// Heights of a picture with many neighbours, and with two at most.
const HEIGHT: f64 = 280.0;
const LOW: f64 = 100.0;
/// Maximum number of characters of a name.
const MOST_NAME: usize = 22;

/// Returns the picture; nothing for a memory without links.
pub(in crate::page) fn neighbourhood(
    visit: &Visit<'_>,
    headline: &str,
    relations: &Relations,
) -> Markup {
    let to = relations
        .to
        .iter()
        .filter_map(|relation| Some((relation.to.as_ref()?, relation, true)));
    let from = relations
        .from
        .iter()
        .map(|relation| (&relation.from, relation, false));
    let mut seen = Vec::new();
    let mut around = Vec::new();
    for (stem, relation, is_from_here) in to.chain(from) {
        if !seen.contains(&stem) && around.len() < MOST {
            seen.push(stem);
            around.push((visit.engine.live.shown_id(stem), relation, is_from_here));
        }
    }
    if around.is_empty() {
        return html! {};
    }
    // Two at most stand right and left.
    let (height, first) = match around.len() {
        0..=2 => (LOW, 0.0),
        _ => (HEIGHT, 0.5),
    };
    let (x, y) = (WIDTH / 2.0, height / 2.0);
    let place = |number: usize| {
        let turn = std::f64::consts::TAU * (number as f64 + first) / around.len() as f64;
        let (sine, cosine) = turn.sin_cos();
        (x + cosine * (x - 110.0), y + sine * (y - 30.0))
    };
    let number = |value: f64| format!("{value:.1}");
    html! {
        div.wide { svg.picture viewBox={ "0 0 " (WIDTH) " " (height) } role="group" aria-label=(texts::NEIGHBOURS) {
            @for (at, (_, relation, is_from_here)) in around.iter().enumerate() {
                @let (to_x, to_y) = place(at);
                line.edge.out[*is_from_here] x1=(number(x)) y1=(number(y)) x2=(number(to_x)) y2=(number(to_y)) {}
                text.relation x=(number((x + 2.0 * to_x) / 3.0)) y=(number((y + 2.0 * to_y) / 3.0)) {
                    (entry::cut(&relation.relation, MOST_NAME))
                }
            }
            circle.here cx=(number(x)) cy=(number(y)) r="7" {}
            text.here x=(number(x)) y=(number(y + 22.0)) { (entry::cut(headline, MOST_NAME)) }
            @for (at, (id, relation, _)) in around.iter().enumerate() {
                @let (to_x, to_y) = place(at);
                a href=(entry::address(id, "")) {
                    circle cx=(number(to_x)) cy=(number(to_y)) r="6" {}
                    text x=(number(to_x)) y=(number(to_y + 20.0)) { (entry::cut(&relation.headline, MOST_NAME)) }
                }
            }
        } }
    }
}

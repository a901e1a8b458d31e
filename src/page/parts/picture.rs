//! The neighbourhood of a memory as a picture: it in the middle, what is linked with it around it.

use maud::{Markup, html};

use super::visit::Visit;
use super::{entry, texts};
use crate::engine::Relations;

/// Maximum number of neighbours in the picture.
const MOST: usize = 12;
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 280.0;
/// Maximum number of neighbours that stand below and above the memory, so that the picture is narrow.
const FEW: usize = 2;
const FEW_WIDTH: f64 = 280.0;
/// Distance of these neighbours from the memory.
const STEP: f64 = 75.0;
/// Space beside the outermost of them, for a name.
const EDGE: f64 = 25.0;
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
    let count = around.len();
    let is_few = count <= FEW;
    let (width, height) = match is_few {
        true => (FEW_WIDTH, count as f64 * STEP + 2.0 * EDGE),
        false => (WIDTH, HEIGHT),
    };
    let x = width / 2.0;
    let y = if count == 1 { EDGE } else { height / 2.0 };
    let place = |number: usize| {
        if is_few {
            return (x, if number == 0 { y + STEP } else { y - STEP });
        }
        let turn = std::f64::consts::TAU * (number as f64 + 0.5) / count as f64;
        let (sine, cosine) = turn.sin_cos();
        (x + cosine * (x - 110.0), y + sine * (y - 30.0))
    };
    // Names stand below their circles: between circles that stand above each other, the middle of the free part.
    let place_of_relation = |to_x: f64, to_y: f64| match is_few {
        true => (x, (y + to_y) / 2.0 + 14.0),
        false => ((x + 2.0 * to_x) / 3.0, (y + 2.0 * to_y) / 3.0),
    };
    let number = |value: f64| format!("{value:.1}");
    html! {
        div.wide { svg.picture.few[is_few] viewBox={ "0 0 " (width) " " (height) } role="group" aria-label=(texts::NEIGHBOURS) {
            @for (at, (_, relation, is_from_here)) in around.iter().enumerate() {
                @let (to_x, to_y) = place(at);
                line.edge.out[*is_from_here] x1=(number(x)) y1=(number(y)) x2=(number(to_x)) y2=(number(to_y)) {}
                @let (relation_x, relation_y) = place_of_relation(to_x, to_y);
                text.relation x=(number(relation_x)) y=(number(relation_y)) {
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

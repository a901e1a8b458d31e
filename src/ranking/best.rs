//! Selection of the first few of many.

use std::cmp::Ordering;

/// Returns the first `count` of `all` by `order`, unsorted.
///
/// Every other element is mostly compared once, with the last of them. Of two that are equal by
/// `order` either may be taken.
pub fn first<T>(
    all: impl IntoIterator<Item = T>,
    count: usize,
    order: impl Fn(&T, &T) -> Ordering,
) -> Vec<T> {
    let Some(last) = count.checked_sub(1) else {
        return Vec::new();
    };
    // Twice as many are kept before they are cut, so that few are moved for each that stays.
    let room = count.saturating_mul(2);
    let mut kept: Vec<T> = Vec::new();
    let mut is_cut = false;
    let cut = |kept: &mut Vec<T>| {
        kept.select_nth_unstable_by(last, &order);
        kept.truncate(count);
    };
    for one in all {
        if is_cut && order(&one, &kept[last]).is_ge() {
            continue;
        }
        kept.push(one);
        if kept.len() == room {
            cut(&mut kept);
            is_cut = true;
        }
    }
    if kept.len() > count {
        cut(&mut kept);
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::first;

    proptest! {
        #[test]
        fn the_first_are_those_of_the_whole_order(
            all in prop::collection::vec(0..1_000_u32, 0..200),
            count in 0..80_usize,
        ) {
            let mut kept = first(all.iter().copied(), count, u32::cmp);
            kept.sort_unstable();
            let mut sorted = all;
            sorted.sort_unstable();
            sorted.truncate(count);
            prop_assert_eq!(kept, sorted);
        }
    }
}

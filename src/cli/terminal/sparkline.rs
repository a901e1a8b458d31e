//! Numbers in a row as bars of one character each.

/// Bars from the lowest to the highest.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns a bar for each number, in relation to the greatest; a blank for 0.
pub fn sparkline(numbers: &[usize]) -> String {
    let most = numbers.iter().copied().max().unwrap_or(0);
    let bar = |number: &usize| match number {
        0 => ' ',
        // From 1 up: what is there is seen.
        _ => BARS[(number * BARS.len()).div_ceil(most).clamp(1, BARS.len()) - 1],
    };
    numbers.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_is_full_and_what_is_there_is_seen() {
        assert_eq!(sparkline(&[0, 1, 50, 100, 800]), " ▁▁▁█");
        assert_eq!(sparkline(&[1, 2, 3, 4]), "▂▄▆█");
        assert_eq!(sparkline(&[0, 0]), "  ");
        assert_eq!(sparkline(&[]), "");
    }
}

//! Parallel work on many files.

/// Calls `work` with each of `items`, those of one lane one after another and the lanes in parallel:
/// writing files mostly waits for the disk, which syncs those of several threads together.
pub(super) fn in_lanes<T: Sync, R: Send>(
    items: &[T],
    lane_of: impl Fn(&T) -> u8 + Sync,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    const LANES: u8 = 8;
    if items.len() < usize::from(LANES) {
        return items.iter().map(work).collect();
    }
    let of_lane = |lane: u8| -> Vec<(usize, R)> {
        let items = items.iter().enumerate();
        let items = items.filter(|(_, item)| lane_of(item) % LANES == lane);
        items.map(|(place, item)| (place, work(item))).collect()
    };
    let of_lane = &of_lane;
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let begin = |lane| {
            let thread = std::thread::Builder::new();
            (lane, thread.spawn_scoped(scope, move || of_lane(lane)))
        };
        let lanes: Vec<_> = (0..LANES).map(begin).collect();
        let mut done = Vec::with_capacity(items.len());
        for (lane, thread) in lanes {
            done.extend(match thread {
                Ok(thread) => thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                // A machine that is short of threads has time.
                Err(_) => of_lane(lane),
            });
        }
        done
    });
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

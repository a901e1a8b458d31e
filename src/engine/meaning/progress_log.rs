//! Logs how far embedding is and how long it will take, where it takes long.

use std::time::{Duration, Instant};

use crate::engine::live::indexing::Progress;

/// Interval between two lines.
const EVERY: Duration = Duration::from_secs(30);

pub(in crate::engine::meaning) struct ProgressLog {
    begun: Instant,
    logged: Instant,
}

impl ProgressLog {
    /// Begins with nothing done.
    pub fn begin() -> ProgressLog {
        let now = Instant::now();
        ProgressLog {
            begun: now,
            logged: now,
        }
    }

    /// Logs a line, unless one was logged shortly before.
    pub fn note(&mut self, progress: Progress) {
        if self.logged.elapsed() < EVERY {
            return;
        }
        self.logged = Instant::now();
        tracing::info!("{}", line(progress, self.begun.elapsed()));
    }
}

/// Returns what is told after the time `elapsed`.
fn line(progress: Progress, elapsed: Duration) -> String {
    let Progress { done, total } = progress;
    let a_second = done as f64 / elapsed.as_secs_f64();
    let left = total.saturating_sub(done) as f64 / a_second;
    let left = match left {
        left if !left.is_finite() => return format!("embedding: 0 of {total} passages"),
        left if left < 100.0 => format!("{left:.0} s"),
        left if left < 6_000.0 => format!("{:.0} min", left / 60.0),
        left => format!("{:.1} h", left / 3_600.0),
    };
    format!("embedding: {done} of {total} passages, {a_second:.1} a second, about {left} left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_speed_so_far() {
        let told = |done, total| line(Progress { done, total }, Duration::from_secs(60));
        assert_eq!(
            told(600, 1_000),
            "embedding: 600 of 1000 passages, 10.0 a second, about 40 s left"
        );
        assert!(told(60, 3_660).ends_with("1.0 a second, about 60 min left"));
        assert!(told(60, 36_060).ends_with("about 10.0 h left"));
        assert_eq!(told(0, 7), "embedding: 0 of 7 passages");
    }
}

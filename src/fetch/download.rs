//! Gets a file whole, however often the connection breaks.

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use ureq::Body;
use ureq::http::{HeaderMap, Response};

use super::address::Url;
use super::client::{FetchClient, broken, refusal};
use super::error::FetchError;
use super::part::{PartialFile, sha256_of};
use super::retry::{AttemptFailure, Tries};

/// A file somewhere else, and what it must be.
#[derive(Debug, Clone)]
pub struct DownloadRequest<'a> {
    pub address: Url,
    /// In small hexadecimal letters.
    pub sha256: &'a str,
    /// In bytes, where it is known.
    pub size: Option<u64>,
}

/// The part of a file that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub done: u64,
    pub total: Option<u64>,
}

/// Larger is no file that anybody asked for without knowing its size.
const MAX_UNKNOWN: u64 = 4 << 30;
/// Number of bytes since the last break after which breaks are counted anew.
const GETTING_ON: u64 = 1 << 20;

impl FetchClient {
    /// Puts a file under the name `to`, whole and synced. What an earlier call, or another
    /// process, left in `to.part` is not fetched again. Does nothing if the file is there.
    ///
    /// # Errors
    ///
    /// Fails if the host cannot be reached, refuses, or sends other bytes, or if the file cannot
    /// be written. Nothing lies under the name `to` then that did not before; wrong bytes are
    /// removed.
    pub fn download(
        &self,
        wanted: &DownloadRequest<'_>,
        to: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), FetchError> {
        if is_whole(wanted, to)? {
            return Ok(());
        }
        let mut part = PartialFile::open(to)?;
        // Another process may have had it, and have finished.
        if is_whole(wanted, to)? {
            part.leave();
            return Ok(());
        }
        match self.complete(wanted, &mut part, progress) {
            Ok(()) => part.finish(to),
            Err(error) => {
                part.leave();
                Err(error)
            }
        }
    }

    /// Fetches what is missing, until the sum is right.
    fn complete(
        &self,
        wanted: &DownloadRequest<'_>,
        part: &mut PartialFile,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), FetchError> {
        let mut tries = Tries::new(&self.limits);
        let mut tag = None;
        let mut was_cleared = false;
        if wanted.size.is_some_and(|size| part.length() > size) {
            part.clear()?;
        }
        loop {
            let had = part.length();
            if wanted.size != Some(had) {
                let fetched = self.fetch_rest(wanted, part, &mut tag, progress);
                if let Err(trouble) = fetched {
                    if part.length() >= had + GETTING_ON {
                        tries.begin_anew();
                    }
                    std::thread::sleep(tries.next(trouble)?);
                    continue;
                }
            }
            let found = part.sha256();
            if found == wanted.sha256 {
                return Ok(());
            }
            // What was there before may have been of another file.
            let is_worth_it = part.is_resumed() && !was_cleared;
            part.clear()?;
            if !is_worth_it {
                return Err(wrong(
                    wanted,
                    format!("SHA-256 {found}, not {}", wanted.sha256),
                ));
            }
            was_cleared = true;
            tag = None;
        }
    }

    fn fetch_rest(
        &self,
        wanted: &DownloadRequest<'_>,
        part: &mut PartialFile,
        tag: &mut Option<String>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), AttemptFailure> {
        let address = &wanted.address;
        let had = part.length();
        let mut headers = vec![("Accept-Encoding", "identity".to_owned())];
        if had > 0 {
            headers.push(("Range", format!("bytes={had}-")));
            headers.extend(tag.take().map(|tag| ("If-Range", tag)));
        }
        let response = self.get(address, &headers)?;
        let total = match response.status().as_u16() {
            // Also a server that knows no ranges, or has another file by now.
            200 => {
                part.clear()?;
                number(response.headers(), "content-length")
            }
            206 if had > 0 => match range(response.headers()) {
                Some((start, total)) if start == had => {
                    part.resumes();
                    total
                }
                _ => {
                    part.clear()?;
                    return Err(broken(address, "it sends another part than was asked for"));
                }
            },
            // There is no more: the sum says whether that is all.
            416 if had > 0 => {
                part.resumes();
                return Ok(());
            }
            _ => return Err(refusal(address, &response, String::new())),
        };
        *tag = strong_tag(response.headers());
        if let (Some(size), Some(total)) = (wanted.size, total)
            && size != total
        {
            part.clear()?;
            let what = format!("{total} bytes, not {size}");
            return Err(AttemptFailure::Final(wrong(wanted, what)));
        }
        let total = wanted.size.or(total);
        self.receive(wanted, response, part, total, progress)
    }

    fn receive(
        &self,
        wanted: &DownloadRequest<'_>,
        response: Response<Body>,
        part: &mut PartialFile,
        total: Option<u64>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), AttemptFailure> {
        let address = &wanted.address;
        let limit = total.unwrap_or(MAX_UNKNOWN);
        // It is counted below.
        let body = response.into_body().into_with_config();
        let mut body = body.limit(u64::MAX).reader();
        let mut pace = Pace::new(self.limits.silence, self.limits.least, Instant::now());
        let mut buffer = vec![0; 1 << 16];
        loop {
            let done = part.length();
            progress(Progress { done, total });
            match body.read(&mut buffer) {
                Ok(0) if total.is_some_and(|total| done < total) => {
                    let what = format!("it broke off after {done} of {limit} bytes");
                    return Err(broken(address, what));
                }
                Ok(0) => return Ok(()),
                Ok(length) if done + length as u64 > limit => {
                    part.clear()?;
                    let what = format!("more than {limit} bytes");
                    return Err(AttemptFailure::Final(wrong(wanted, what)));
                }
                Ok(length) => {
                    part.append(&buffer[..length])?;
                    if !pace.goes_on(length as u64, Instant::now()) {
                        return Err(broken(address, "hardly anything comes any more"));
                    }
                }
                Err(error) => {
                    let what = format!("it broke off after {done} bytes: {error}");
                    return Err(broken(address, what));
                }
            }
        }
    }
}

/// Returns whether the file is there already.
fn is_whole(wanted: &DownloadRequest<'_>, path: &Path) -> Result<bool, FetchError> {
    Ok(sha256_of(path)?.as_deref() == Some(wanted.sha256))
}

fn wrong(wanted: &DownloadRequest<'_>, what: String) -> FetchError {
    FetchError::wrong_bytes(&wanted.address, what)
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// Returns the beginning of a part, and the length of the whole.
fn range(headers: &HeaderMap) -> Option<(u64, Option<u64>)> {
    let text = headers.get("content-range")?.to_str().ok()?;
    let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (start, _) = range.split_once('-')?;
    Some((start.trim().parse().ok()?, total.trim().parse().ok()))
}

/// Returns a tag that stands for the very same bytes.
fn strong_tag(headers: &HeaderMap) -> Option<String> {
    let tag = headers.get("etag")?.to_str().ok()?;
    (!tag.starts_with("W/")).then(|| tag.to_owned())
}

/// Tells a slow connection from one that trickles forever.
struct Pace {
    time: Duration,
    least: u64,
    since: Instant,
    came: u64,
}

impl Pace {
    fn new(time: Duration, least: u64, now: Instant) -> Pace {
        Pace {
            time,
            least,
            since: now,
            came: 0,
        }
    }

    /// Notes that `bytes` came; false if too few did for too long.
    fn goes_on(&mut self, bytes: u64, now: Instant) -> bool {
        self.came += bytes;
        if now.duration_since(self.since) < self.time {
            return true;
        }
        let is_enough = self.came >= self.least;
        (self.since, self.came) = (now, 0);
        is_enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trickle_is_no_download() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut pace = Pace::new(Duration::from_secs(10), 100, start);
        assert!(pace.goes_on(1, at(9)), "the time is not over");
        assert!(pace.goes_on(99, at(10)), "enough came");
        assert!(pace.goes_on(99, at(19)));
        assert!(!pace.goes_on(0, at(20)), "a byte was missing");
    }

    #[test]
    fn a_range_is_read_as_servers_write_it() {
        let read = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("content-range", text.parse().unwrap());
            range(&headers)
        };
        assert_eq!(read("bytes 5-9/10"), Some((5, Some(10))));
        assert_eq!(read("bytes 5-9/*"), Some((5, None)));
        assert_eq!(read("bytes */10"), None);
        assert_eq!(read("lines 5-9/10"), None);
    }
}

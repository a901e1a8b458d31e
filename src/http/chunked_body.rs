//! A response body that is sent in chunks and counts against the limit of unread responses.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

/// Maximum size of a chunk in bytes; the rest waits here, where it is counted.
const PORTION: usize = 64 * 1024;

/// Unsent rest of a response.
pub struct ChunkedBody {
    rest: Bytes,
    _counted: Option<OwnedSemaphorePermit>,
}

impl ChunkedBody {
    /// Creates a body of `bytes`; `counted` is released once they are sent.
    pub fn new(bytes: Vec<u8>, counted: Option<OwnedSemaphorePermit>) -> ChunkedBody {
        ChunkedBody {
            rest: bytes.into(),
            _counted: counted,
        }
    }
}

impl Body for ChunkedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let length = self.rest.len().min(PORTION);
        let portion = self.rest.split_to(length);
        Poll::Ready(Some(Ok(Frame::data(portion))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

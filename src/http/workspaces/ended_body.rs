//! The body of a response that ends at an event.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body as ResponseBody;
use bytes::Bytes;
use http_body::{Body, Frame};

/// A body that ends when `ending` is ready.
pub(super) struct EndedBody {
    body: ResponseBody,
    ending: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl EndedBody {
    pub(super) fn new(
        body: ResponseBody,
        ending: impl Future<Output = ()> + Send + 'static,
    ) -> EndedBody {
        EndedBody {
            body,
            ending: Box::pin(ending),
        }
    }
}

impl Body for EndedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.ending.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }
}

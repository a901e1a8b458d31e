//! Closes a connection whose client reads less than 16 KiB of a response in 10 s.
//!
//! Reading is bounded by the request's own time; what is watched here is writing: an answer that
//! nobody takes holds its memory. By hand, because tower-http has limits for requests and none for how
//! fast an answer is taken.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Maximum time a client may read nothing before its connection is closed.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Number of bytes a client must read to restart that time: a byte now and then does not.
const PORTION: usize = 16 * 1024;

/// A stream with that timeout.
pub struct WriteTimeout<S> {
    stream: S,
    /// Deadline of the data that waits to be read by the client.
    until: Option<Pin<Box<Sleep>>>,
    taken: usize,
    timeout: Duration,
}

impl<S> WriteTimeout<S> {
    /// Wraps a stream with [`IDLE_TIMEOUT`].
    pub fn new(stream: S) -> WriteTimeout<S> {
        WriteTimeout {
            stream,
            until: None,
            taken: 0,
            timeout: IDLE_TIMEOUT,
        }
    }

    /// Waits for the deadline while the client reads nothing; fails when it has passed.
    fn wait<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let timeout = self.timeout;
        let until = self
            .until
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        match until.as_mut().poll(cx) {
            Poll::Ready(()) => {
                tracing::debug!("a connection is cut: nobody takes what was answered");
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn took(&mut self, bytes: usize) {
        self.taken += bytes;
        if self.taken >= PORTION {
            self.taken = 0;
            if let Some(until) = &mut self.until {
                until.as_mut().reset(Instant::now() + self.timeout);
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write(cx, bytes) {
            Poll::Ready(Ok(count)) => {
                self.took(count);
                Poll::Ready(Ok(count))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => self.wait(cx),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write_vectored(cx, slices) {
            Poll::Ready(Ok(count)) => {
                self.took(count);
                Poll::Ready(Ok(count))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => self.wait(cx),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_flush(cx) {
            Poll::Ready(Ok(())) => {
                // All that there was is taken.
                self.until = None;
                self.taken = 0;
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => self.wait(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_shutdown(cx) {
            Poll::Ready(done) => Poll::Ready(done),
            Poll::Pending => self.wait(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

    /// Both ends of a connection that holds a kilobyte, ours with a timeout.
    fn pair(timeout: Duration) -> (WriteTimeout<DuplexStream>, DuplexStream) {
        let (ours, theirs) = tokio::io::duplex(1024);
        let patient = WriteTimeout {
            timeout,
            ..WriteTimeout::new(ours)
        };
        (patient, theirs)
    }

    #[tokio::test]
    async fn who_takes_nothing_is_given_up() {
        let (mut patient, _theirs) = pair(Duration::from_millis(20));
        let error = patient.write_all(&[0; 4096]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_byte_now_and_then_does_not_keep_us() {
        let (mut patient, mut theirs) = pair(Duration::from_millis(50));
        let slow = tokio::spawn(async move {
            while theirs.read_u8().await.is_ok() {
                // What is tested: a reader that takes a little at a time.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        let bytes = vec![0; 1024 * 1024];
        let error = patient.write_all(&bytes).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(patient);
        slow.await.unwrap();
    }

    #[tokio::test]
    async fn who_takes_steadily_is_served_to_the_end_however_long_it_takes() {
        let timeout = Duration::from_secs(2);
        let (mut patient, mut theirs) = pair(timeout);
        let steady = tokio::spawn(async move {
            let mut portion = vec![0; 2 * PORTION];
            for _ in 0..8 {
                theirs.read_exact(&mut portion).await.unwrap();
                // What is tested: steady, and longer in all than the timeout.
                tokio::time::sleep(timeout / 4).await;
            }
        });
        let begun = Instant::now();
        patient.write_all(&vec![0; 16 * PORTION]).await.unwrap();
        steady.await.unwrap();
        assert!(begun.elapsed() > timeout);
    }
}

//! A listener of a test's own server, at an address of this machine that nobody else has.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::thread::JoinHandle;

/// Listens until it is dropped.
pub struct Listener {
    pub address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Hands each connection to `serve`, in a thread of its own.
    pub fn start(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Listener {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let (ends, serve) = (Arc::clone(&is_over), Arc::new(serve));
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                let serve = Arc::clone(&serve);
                thread::spawn(move || serve(stream.unwrap()));
            }
        });
        Listener {
            address,
            is_over,
            thread: Some(thread),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // Wakes the thread, which then ends.
        drop(TcpStream::connect(self.address));
        self.thread.take().unwrap().join().unwrap();
    }
}

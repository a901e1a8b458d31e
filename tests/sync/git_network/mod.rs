//! Other copies of a repository: what is accepted as their address, and how they are reached, by
//! both means, with remotes that are real and close by.

mod addresses;
mod http;
mod http_server;
mod limits;
mod local;
mod scene;
#[cfg(unix)]
mod ssh;
#[cfg(unix)]
mod ssh_server;
mod tls;

/// Makes two tests of a function that takes the means.
macro_rules! by_both {
    ($($name:ident),* $(,)?) => {
        $(mod $name {
            use crate::git_network::scene::By;

            #[test]
            fn program() {
                super::$name(By::Program);
            }

            #[test]
            fn library() {
                super::$name(By::Library);
            }
        })*
    };
}

use by_both;

//! Rendezvous hashing: which server a workspace prefers.
//!
//! Each pair of a workspace and a server has a weight, and the highest one wins. So who knows the same servers chooses
//! the same one, without asking anybody; and a server that comes or goes takes or leaves its own workspaces, and moves
//! no other.

/// Returns the server of `servers` that `workspace` prefers; `None` if there is none.
pub(super) fn preferred<'a>(
    workspace: &str,
    servers: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let servers = servers.into_iter();
    servers.max_by_key(|server| (weight(workspace, server), *server))
}

/// Returns the weight of a pair: the first 8 bytes, as a little-endian number, of the BLAKE3 hash of the workspace, a zero
/// byte, and the server. `docs/TEAM.md` promises it to whoever chooses without asking.
fn weight(workspace: &str, server: &str) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(workspace.as_bytes());
    hasher.update(&[0]);
    hasher.update(server.as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    u64::from_le_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVERS: [&str; 4] = ["a", "b", "c", "d"];

    fn choices(servers: &[&'static str]) -> Vec<&'static str> {
        let choose = |number: usize| {
            preferred(&format!("w{number}"), servers.iter().copied()).expect("there are servers")
        };
        (0..4000).map(choose).collect()
    }

    #[test]
    fn only_the_workspaces_of_a_server_move_when_it_goes() {
        let (before, after) = (choices(&SERVERS), choices(&SERVERS[..3]));
        let moved = before.iter().zip(&after).filter(|(old, new)| old != new);
        let moved: Vec<_> = moved.collect();
        assert!(moved.iter().all(|(old, _)| **old == "d"), "{moved:?}");
        assert_eq!(
            moved.len(),
            before.iter().filter(|one| **one == "d").count()
        );
    }

    #[test]
    fn every_server_has_about_the_same_number() {
        let all = choices(&SERVERS);
        for server in SERVERS {
            let count = all.iter().filter(|one| **one == server).count();
            assert!((900..1100).contains(&count), "{server}: {count}");
        }
    }

    #[test]
    fn the_order_of_the_servers_makes_no_difference() {
        assert_eq!(choices(&SERVERS), choices(&["d", "b", "a", "c"]));
        assert_eq!(preferred("w", []), None);
    }
}

//! Metadata that is no object: it is kept and named, and costs no second call.

use serde_json::json;

use super::done;
use super::open;
use crate::program::Home;

#[test]
fn metadata_that_is_no_object_is_kept_and_named_by_the_other_sets() {
    let home = Home::new();
    let loci = json!({"content": "Atlas ships on Fridays.", "type": "semantic", "metadata": "from the retro"});
    let titled =
        json!({"title": "Atlas", "content": "Atlas ships on Fridays.", "metadata": ["a", 7]});
    for (dialect, tool, given) in [
        ("loci", "store_memory", loci),
        ("ai-memory", "memory_store", titled),
    ] {
        let kept = given["metadata"].clone();
        let reply = done(&mut open(&home, dialect, &[]), tool, given);
        let told = reply["warnings"].to_string();
        assert!(told.contains("`metadata` is no object"), "{reply}");
        let id = reply["id"]
            .as_str()
            .or(reply["memory_id"].as_str())
            .unwrap();
        let memory = home.run(&["--json", "recall", id]).json();
        let memory = memory.get(0).unwrap_or(&memory);
        assert!(
            memory.to_string().contains(&format!("\"note\":{kept}")),
            "{memory}"
        );
    }
}

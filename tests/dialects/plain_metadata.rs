//! Metadata that is no object: it is kept and named, and costs no second call.

use serde_json::json;

use crate::support::dialect::{done, open};
use crate::support::program::Home;

#[test]
fn the_typed_set_keeps_metadata_that_is_no_object_and_names_it() {
    let home = Home::in_folder("the command line works on a folder");
    let given = json!({
        "content": "Atlas ships on Fridays.", "type": "semantic", "metadata": "from the retro",
    });
    let reply = done(&mut open(&home, "loci", &[]), "store_memory", given);
    let told = reply["warnings"].to_string();
    assert!(told.contains("`metadata` is no object"), "{reply}");
    let memory = home.run(&["recall", reply["id"].as_str().unwrap()]);
    assert!(memory.text().contains("from the retro"), "{memory:?}");
}

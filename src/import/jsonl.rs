//! TO BE WRITTEN
use super::Defaults;
use super::ImportError;
use super::Memories;
pub fn jsonl(_path: &std::path::Path, _defaults: &Defaults) -> Result<Memories, ImportError> {
    todo!()
}

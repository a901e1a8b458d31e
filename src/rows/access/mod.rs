//! Access to the workspaces of a database: tokens with roles, groups of an issuer, an audit of what is done by them, quotas,
//! and the erasure of a person.

pub(super) mod audit;
mod erasure;
mod groups;
mod quotas;
mod tokens;

pub use audit::{Actor, AuditLine, AuditLog, audit, keep_audit};
pub use erasure::{
    ERASE, LogPosition, Person, PersonalData, WrittenFile, erase_identities, erase_leftovers,
    erase_records, erase_tokens, log_position, personal_data,
};
pub use groups::{GroupRole, groups, map_group, unmap_group};
pub use quotas::{Quota, Quotas, lease_calls, set_quotas};
pub use tokens::{
    Access, AccessTokens, Grant, Role, TokenState, grant, granted, is_token_name, revoke, rotate,
};

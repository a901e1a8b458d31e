//! Access to the workspaces of a database: tokens with roles, and an audit of what is done by them.

pub(super) mod audit;
mod tokens;

pub use audit::{Actor, AuditLine, AuditLog, audit, keep_audit};
pub use tokens::{
    Access, AccessTokens, Grant, Role, TokenState, grant, granted, is_token_name, revoke, rotate,
};

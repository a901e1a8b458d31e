//! Access to the workspaces of a database: tokens with roles, an audit of what is done by them, and quotas.

pub(super) mod audit;
mod quotas;
mod tokens;

pub use audit::{Actor, AuditLine, AuditLog, audit, keep_audit};
pub use quotas::{Quota, Quotas, set_quotas};
pub use tokens::{
    Access, AccessTokens, Grant, Role, TokenState, grant, granted, is_token_name, revoke, rotate,
};

//! Access to the workspaces of a database: tokens with roles.

mod tokens;

pub use tokens::{
    Access, AccessTokens, Grant, Role, TokenState, grant, granted, is_token_name, revoke, rotate,
};

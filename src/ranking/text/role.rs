//! Roles in a chat with an assistant, by the user field.

/// Role of an author in a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The person who asks.
    Person,
    /// The assistant who replies.
    Assistant,
}

/// User fields of the person, in lower case.
const PERSON: [&str; 2] = ["user", "human"];
/// User fields of the assistant, in lower case.
const ASSISTANT: [&str; 5] = ["assistant", "ai", "bot", "chatbot", "model"];

impl Role {
    /// Returns the role that a user field names; `None` if it names none.
    pub fn of(user: &str) -> Option<Role> {
        let is = |name: &&&str| user.trim().eq_ignore_ascii_case(name);
        if PERSON.iter().find(is).is_some() {
            Some(Role::Person)
        } else {
            ASSISTANT.iter().find(is).map(|_| Role::Assistant)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_a_whole_user_field() {
        assert_eq!(Role::of("User"), Some(Role::Person));
        assert_eq!(Role::of("assistant "), Some(Role::Assistant));
        assert_eq!(Role::of("userland"), None);
    }
}

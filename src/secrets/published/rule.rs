//! One published rule: where it runs, and what it takes for a secret.

/// One published rule.
pub(in crate::secrets) struct Rule {
    /// What it finds, with the rule's id: `a credential (adafruit-api-key)`.
    pub(super) kind: &'static str,
    /// The rule runs where one of these stands, in letters of either case.
    pub marks: &'static [&'static str],
    /// The secret's entropy is higher, in bits a byte; 0: any will do.
    pub(super) entropy: f32,
    /// The group of the expression that is the secret; 0: the first that is not empty, or the match.
    pub(super) group: usize,
    /// A secret that one of these matches is none.
    pub(super) allowed: &'static [&'static str],
    pub(super) shape: &'static str,
}

//! Sorts of what talks say.

/// Sort of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CandidateKind {
    /// Something was decided.
    Decision,
    /// Somebody wants things to be so from now on.
    Preference,
    /// An assistant had something wrong.
    Correction,
    /// A fact about people, or about things they work with.
    Fact,
    /// Something is still to be done or to be found out.
    OpenEnd,
}

impl CandidateKind {
    /// Kinds with their names.
    pub const NAMES: [(&'static str, CandidateKind); 5] = [
        ("decision", CandidateKind::Decision),
        ("preference", CandidateKind::Preference),
        ("correction", CandidateKind::Correction),
        ("fact", CandidateKind::Fact),
        ("open", CandidateKind::OpenEnd),
    ];

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        let mut names = CandidateKind::NAMES.into_iter();
        let named = names.find_map(|(name, kind)| (kind == self).then_some(name));
        named.expect("every kind has a name")
    }

    /// Returns the kind called `name`.
    pub fn named(name: &str) -> Option<CandidateKind> {
        let mut names = CandidateKind::NAMES.into_iter();
        names.find_map(|(known, kind)| (known == name).then_some(kind))
    }
}

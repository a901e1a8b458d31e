//! Other names by which people call the users of a store.

use std::fmt;
use std::str::FromStr;

/// Users with their other names, as they were stated; as text `emi = Kate, Katherine; akib = Aqib`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtherNames(Vec<(String, Vec<String>)>);

impl OtherNames {
    /// Returns the other names of the user called `user`, in any case.
    pub fn of(&self, user: &str) -> impl Iterator<Item = &str> {
        let user = user.to_lowercase();
        let entries = self.0.iter();
        let of_user = entries.filter(move |(known, _)| known.to_lowercase() == user);
        of_user.flat_map(|(_, names)| names.iter().map(String::as_str))
    }
}

impl FromStr for OtherNames {
    type Err = String;

    /// # Errors
    ///
    /// Says what is no user with names.
    fn from_str(text: &str) -> Result<OtherNames, String> {
        let entries = text.split(';').map(str::trim);
        let entry = |entry: &str| {
            let (user, names) = entry.split_once('=').unwrap_or((entry, ""));
            let user = user.trim().to_owned();
            let names = names.split(',').map(|name| name.trim().to_owned());
            let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
            let is_name = |name: &String| {
                let is_plain = !name.contains(['=', ',']) && !name.chars().any(char::is_control);
                is_plain && name.chars().any(char::is_alphanumeric)
            };
            match names.is_empty() || !names.iter().chain([&user]).all(is_name) {
                true => Err(format!("no user with names: `{entry}`")),
                false => Ok((user, names)),
            }
        };
        let entries = entries.filter(|entry| !entry.is_empty()).map(entry);
        Ok(OtherNames(entries.collect::<Result<_, String>>()?))
    }
}

impl fmt::Display for OtherNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.0.iter();
        let entries = entries.map(|(user, names)| format!("{user} = {}", names.join(", ")));
        f.write_str(&entries.collect::<Vec<_>>().join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_in_any_case_and_written_as_they_were_read() {
        let names: OtherNames = "emi = Kate,Katherine Lee ; Akib=Aqib;".parse().unwrap();
        assert_eq!(
            names.of("Emi").collect::<Vec<_>>(),
            ["Kate", "Katherine Lee"]
        );
        assert_eq!(names.of("akib").collect::<Vec<_>>(), ["Aqib"]);
        assert_eq!(names.of("kate").count(), 0);
        assert_eq!(names.to_string(), "emi = Kate, Katherine Lee; Akib = Aqib");
        assert_eq!("".parse(), Ok(OtherNames::default()));
        for bad in [
            "emi",
            "emi =",
            "= Kate",
            "emi = Kate = K",
            "emi = !",
            "e\u{7}mi = Kate",
        ] {
            assert!(bad.parse::<OtherNames>().is_err(), "{bad}");
        }
    }
}

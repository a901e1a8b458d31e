//! Parameters of an address or of a form, in their order.

use super::error::PageError;

/// Maximum number of parameters of an address: each link of a list holds all of them.
pub(in crate::page) const MOST_OF_ADDRESS: usize = 32;
/// Maximum number of fields of a form.
pub(in crate::page) const MOST_OF_FORM: usize = 64;

/// Names and values, as a browser sends them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads the part of an address behind `?`, or the body of a form; of too many pairs as much as shows that.
    pub fn parse(text: &str) -> Parameters {
        let pairs = form_urlencoded::parse(text.as_bytes()).into_owned();
        Parameters(pairs.take(MOST_OF_FORM + 1).collect())
    }

    /// Checks that there are at most `most`.
    ///
    /// # Errors
    ///
    /// Fails if there are more.
    pub(in crate::page) fn check(&self, most: usize) -> Result<(), PageError> {
        match self.0.len() <= most {
            true => Ok(()),
            false => Err(PageError::Bad(format!(
                "more than {most} parameters are too many"
            ))),
        }
    }

    /// Returns the first value of a name, if it is not blank.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(known, _)| known == name);
        values.find_map(|(_, value)| Some(value.trim()).filter(|value| !value.is_empty()))
    }

    /// Returns the first value of a name as it was sent, also an empty one.
    pub fn text(&self, name: &str) -> Option<&str> {
        let mut pairs = self.0.iter();
        pairs.find_map(|(known, value)| (known == name).then_some(value.as_str()))
    }

    /// Returns the values of a name that are not blank.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let values = self.0.iter().filter(move |(known, _)| known == name);
        let values = values.map(|(_, value)| value.trim());
        values.filter(|value| !value.is_empty())
    }

    /// Returns these with the values of `name` replaced by `value`; `None` removes them.
    #[must_use]
    pub fn with(&self, name: &str, value: Option<&str>) -> Parameters {
        let mut pairs = self.0.clone();
        pairs.retain(|(known, _)| known != name);
        pairs.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        Parameters(pairs)
    }

    /// Returns these without one value of a name.
    #[must_use]
    pub fn without(&self, name: &str, value: &str) -> Parameters {
        let mut pairs = self.0.clone();
        pairs.retain(|(known, given)| known != name || given.trim() != value);
        Parameters(pairs)
    }

    /// Returns these and one more.
    #[must_use]
    pub fn and(&self, name: &str, value: &str) -> Parameters {
        let mut pairs = self.without(name, value).0;
        pairs.push((name.to_owned(), value.to_owned()));
        Parameters(pairs)
    }

    /// Returns only those of the given names.
    #[must_use]
    pub fn only(&self, names: &[&str]) -> Parameters {
        let mut pairs = self.0.clone();
        pairs.retain(|(known, value)| names.contains(&known.as_str()) && !value.trim().is_empty());
        Parameters(pairs)
    }

    /// Returns the address `path` with these.
    pub fn address(&self, path: &str) -> String {
        if self.0.is_empty() {
            return path.to_owned();
        }
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(&self.0);
        format!("{path}?{}", query.finish())
    }

    /// Returns the pairs in their order.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_what_is_not_changed() {
        let asked = Parameters::parse("q=a+b%26c&topic=x&topic=y%20z&before=");
        assert_eq!(asked.get("q"), Some("a b&c"));
        assert_eq!(asked.all("topic").collect::<Vec<_>>(), ["x", "y z"]);
        assert_eq!(
            (asked.get("before"), asked.text("before")),
            (None, Some(""))
        );
        let less = asked.without("topic", "x").with("before", None);
        assert_eq!(less.address("/"), "/?q=a+b%26c&topic=y+z");
        assert_eq!(
            asked.only(&["topic"]).and("topic", "x").address("/"),
            "/?topic=y+z&topic=x"
        );
        assert_eq!(Parameters::default().address("/store"), "/store");
    }
}

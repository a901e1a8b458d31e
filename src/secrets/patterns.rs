//! The tokens that show by their prefix: one table, a row a shape.
//!
//! The shapes are what the services document or issue, compared with the rules of gitleaks
//! (<https://github.com/gitleaks/gitleaks>). Lengths are given some room where a service does not
//! promise them.

use Proof::Random;
use Proof::Shape;

/// What is asked of a match besides its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// Nothing: the shape is like no other text.
    Shape,
    /// Digits and letters without an order: words could have this shape.
    Random,
}

/// How one kind of token looks.
pub(super) struct Pattern {
    pub kind: &'static str,
    /// Every match holds one of these.
    pub marks: &'static [&'static str],
    /// How many bytes of a match may stand before its mark.
    pub lead: usize,
    /// The token from its first byte. The first group, if there is one, is the secret part.
    /// Repetitions are bounded, so that trying is cheap anywhere.
    pub shape: &'static str,
    pub proof: Proof,
}

/// A token that begins with one of `marks`.
const fn row(
    kind: &'static str,
    marks: &'static [&'static str],
    shape: &'static str,
    proof: Proof,
) -> Pattern {
    Pattern {
        kind,
        marks,
        lead: 0,
        shape,
        proof,
    }
}

/// A token with a mark inside, after at most `lead` bytes.
const fn inner(
    kind: &'static str,
    marks: &'static [&'static str],
    lead: usize,
    shape: &'static str,
    proof: Proof,
) -> Pattern {
    Pattern {
        lead,
        ..row(kind, marks, shape, proof)
    }
}

/// Tried in this order where several have the same mark.
#[rustfmt::skip]
pub(super) static PATTERNS: &[Pattern] = &[
    // Clouds.
    row("an AWS access key", &["AKIA", "ASIA", "ABIA", "ACCA"], r"A(?:KI|SI|BI|CC)A[A-Z2-7]{16}", Shape),
    row("an AWS Bedrock key", &["ABSK"], r"ABSK[A-Za-z0-9+/]{100,300}={0,2}", Shape),
    row("a Google API key", &["AIza"], r"AIza[A-Za-z0-9_-]{35}", Shape),
    row("a Google OAuth secret", &["GOCSPX-"], r"GOCSPX-[A-Za-z0-9_-]{28}", Shape),
    row("a Google OAuth token", &["ya29."], r"ya29\.[A-Za-z0-9_-]{30,400}", Shape),
    row("an Azure storage key", &["AccountKey="], r"AccountKey=([A-Za-z0-9+/]{86}==)", Shape),
    row("an Azure access key", &["SharedAccessKey="], r"SharedAccessKey=([A-Za-z0-9+/]{43}=)", Shape),
    row("an Azure access signature", &["sig="], r"sig=([A-Za-z0-9%+/]{43,80}(?:%3[Dd]|=))", Random),
    inner("an Azure client secret", &["Q~"], 4, r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", Random),
    row("a memdir token", &["memdir_"], r"memdir_[0-9a-f]{64}", Shape),
    row("a DigitalOcean token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"do[opr]_v1_[a-f0-9]{64}", Shape),
    row("an Alibaba Cloud key", &["LTAI"], r"LTAI[A-Za-z0-9]{16,24}", Random),
    row("a Heroku API key", &["HRKU-"], r"HRKU-[A-Za-z0-9_-]{36,80}", Random),
    row("a Fly.io token", &["fo1_"], r"fo1_[A-Za-z0-9_-]{43}", Random),
    // Code and packages.
    row("a GitHub token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"gh[pousr]_[A-Za-z0-9]{36,255}", Shape),
    row("a GitHub token", &["github_pat_"], r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}", Shape),
    row("a GitLab token", &["glpat-", "gldt-", "glptt-", "glrt-", "glrtr-", "glcbt-", "glagent-", "glsoat-", "glft-", "glimt-", "gloas-"],
        r"gl(?:pat|dt|ptt|rt|rtr|cbt|agent|soat|ft|imt|oas)-[A-Za-z0-9_-]{20,300}(?:\.[a-z0-9]{2}\.[a-z0-9]{9})?", Random),
    row("a Bitbucket token", &["ATBB"], r"ATBB[A-Za-z0-9]{32}", Shape),
    row("an Atlassian token", &["ATATT3", "ATCTT3"], r"AT[AC]TT3[A-Za-z0-9_=-]{100,250}", Shape),
    row("an npm token", &["npm_"], r"npm_[A-Za-z0-9]{36}", Random),
    row("a PyPI token", &["pypi-"], r"pypi-[A-Za-z0-9_-]{50,400}", Random),
    row("a crates.io token", &["cio"], r"cio[A-Za-z0-9]{32}", Random),
    row("a RubyGems key", &["rubygems_"], r"rubygems_[a-f0-9]{48}", Shape),
    row("a Docker token", &["dckr_pat_", "dckr_oat_"], r"dckr_[po]at_[A-Za-z0-9_-]{27,40}", Shape),
    // Language models.
    row("an Anthropic key", &["sk-"], r"sk-ant-[a-z0-9]{3,10}-[A-Za-z0-9_-]{32,200}", Random),
    row("an OpenRouter key", &["sk-"], r"sk-or-v1-[a-f0-9]{64}", Shape),
    row("an OpenAI key", &["sk-"], r"sk-(?:proj|svcacct|admin|None|service)-[A-Za-z0-9_-]{20,250}", Random),
    row("an OpenAI key", &["sk-"], r"sk-[A-Za-z0-9]{20,64}", Random),
    row("a Hugging Face token", &["hf_"], r"hf_[A-Za-z0-9]{34,40}", Shape),
    row("a Voyage AI key", &["pa-"], r"pa-[A-Za-z0-9_-]{40,64}", Random),
    row("a Groq key", &["gsk_"], r"gsk_[A-Za-z0-9]{52}", Shape),
    row("a Perplexity key", &["pplx-"], r"pplx-[A-Za-z0-9]{48}", Shape),
    row("a Replicate token", &["r8_"], r"r8_[A-Za-z0-9]{37}", Random),
    row("an xAI key", &["xai-"], r"xai-[A-Za-z0-9]{70,90}", Random),
    // Messages.
    row("a Slack token", &["xox"], r"xox[abeoprs](?:\.xox[abp])?-[A-Za-z0-9-]{16,250}", Random),
    row("a Slack token", &["xapp-"], r"xapp-[0-9]-[A-Za-z0-9-]{30,250}", Random),
    row("a Slack webhook", &["hooks.slack.com/"],
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9]{8,14}/[A-Za-z0-9]{8,24}/[A-Za-z0-9]{16,64})", Random),
    row("a Discord webhook", &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        r"discord(?:app)?\.com/api/webhooks/[0-9]{15,22}/([A-Za-z0-9_-]{60,80})", Random),
    // The first part is a number in base64.
    row("a Discord token", &["MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"],
        r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}", Random),
    inner("a Telegram token", &[":AA"], 13, r"(?:bot)?([0-9]{8,10}:AA[A-Za-z0-9_-]{33})", Shape),
    row("a Twilio key", &["SK"], r"SK[a-f0-9]{32}", Random),
    row("a SendGrid key", &["SG."], r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}", Random),
    row("a Mailgun key", &["key-"], r"key-[a-f0-9]{32}", Random),
    inner("a Mailchimp key", &["-us"], 32, r"[a-f0-9]{32}-us[0-9]{1,2}", Random),
    // Money and shops.
    row("a Stripe key", &["sk_live_", "rk_live_"], r"[sr]k_live_[A-Za-z0-9]{16,250}", Random),
    row("a Stripe webhook secret", &["whsec_"], r"whsec_[A-Za-z0-9+/]{32,64}={0,2}", Random),
    row("a Square token", &["EAAA"], r"EAAA[A-Za-z0-9_-]{60}", Random),
    row("a Square token", &["sq0atp-", "sq0csp-"], r"sq0(?:atp-[A-Za-z0-9_-]{22}|csp-[A-Za-z0-9_-]{43})", Random),
    row("a Shopify token", &["shpat_", "shpca_", "shppa_", "shpss_"], r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}", Shape),
    // Services.
    row("a Linear key", &["lin_api_"], r"lin_api_[A-Za-z0-9]{40}", Shape),
    row("a Notion token", &["ntn_"], r"ntn_[A-Za-z0-9]{40,60}", Random),
    row("a Notion token", &["secret_"], r"secret_[A-Za-z0-9]{43}", Random),
    row("a Databricks token", &["dapi"], r"dapi[a-f0-9]{32}(?:-[0-9])?", Shape),
    row("a Vault token", &["hvs.", "hvb.", "hvr."], r"hv[sbr]\.[A-Za-z0-9_-]{24,300}", Random),
    row("an age key", &["AGE-SECRET-KEY-1"], r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}", Shape),
    row("an age key", &["AGE-PLUGIN-"], r"AGE-PLUGIN-[A-Z0-9-]{1,30}-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{20,200}", Random),
    row("a 1Password token", &["ops_eyJ"], r"ops_eyJ[A-Za-z0-9+/_-]{200,900}={0,3}", Shape),
    row("a Sentry token", &["sntrys_"], r"sntrys_[A-Za-z0-9+/=_-]{60,250}", Random),
    row("a Grafana token", &["glsa_"], r"glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}", Random),
    row("a Postman key", &["PMAK-"], r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", Shape),
    row("a Tailscale key", &["tskey-"], r"tskey-[a-z]{2,10}-[A-Za-z0-9]{8,24}(?:-[A-Za-z0-9]{16,48})?", Random),
    row("a Supabase token", &["sbp_"], r"sbp_[a-f0-9]{40}", Shape),
    row("a PlanetScale token", &["pscale_"], r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_-]{32,64}", Random),
    row("a New Relic key", &["NRAK-"], r"NRAK-[A-Z0-9]{27}", Random),
];

/// What the table can find, in words; some occur twice.
pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    PATTERNS.iter().map(|pattern| pattern.kind)
}

//! The tokens that show by their prefix: one table, a row a shape.
//!
//! The shapes are what the services document or issue. Lengths are given some room where a service
//! does not promise them. A service stands here if no rule in `published` finds its tokens, or not all
//! of them, or if people know it by a name that belongs into a message.

use Proof::{Random, Shape};

/// Condition on a match besides its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// Nothing: the shape is like no other text.
    Shape,
    /// Digits and letters without an order: words could have this shape.
    Random,
}

/// The shape of one kind of token.
pub(super) struct Pattern {
    pub kind: &'static str,
    /// Every match holds one of these.
    pub marks: &'static [&'static str],
    /// Maximum number of bytes of a match before its mark.
    pub lead: usize,
    /// The token from its first byte. The first group, if there is one, is the secret part.
    /// Repetitions are bounded, so that trying is cheap anywhere.
    pub shape: &'static str,
    pub proof: Proof,
}

/// Returns a token that begins with one of `marks`.
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

/// Returns a token with a mark inside, after at most `lead` bytes.
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

/// Base64 of three digits: Discord's tokens begin with a number.
#[rustfmt::skip]
const DISCORD: &[&str] = &[
    "MTA", "MTE", "MTI", "MTM", "MTQ", "MTU", "MTY", "MTc", "MTg", "MTk",
    "MjA", "MjE", "MjI", "MjM", "MjQ", "MjU", "MjY", "Mjc", "Mjg", "Mjk",
    "MzA", "MzE", "MzI", "MzM", "MzQ", "MzU", "MzY", "Mzc", "Mzg", "Mzk",
    "NDA", "NDE", "NDI", "NDM", "NDQ", "NDU", "NDY", "NDc", "NDg", "NDk",
    "NTA", "NTE", "NTI", "NTM", "NTQ", "NTU", "NTY", "NTc", "NTg", "NTk",
    "NjA", "NjE", "NjI", "NjM", "NjQ", "NjU", "NjY", "Njc", "Njg", "Njk",
    "NzA", "NzE", "NzI", "NzM", "NzQ", "NzU", "NzY", "Nzc", "Nzg", "Nzk",
    "ODA", "ODE", "ODI", "ODM", "ODQ", "ODU", "ODY", "ODc", "ODg", "ODk",
    "OTA", "OTE", "OTI", "OTM", "OTQ", "OTU", "OTY", "OTc", "OTg", "OTk",
];

/// The prefix of Twilio's keys, with each hexadecimal digit that may follow.
const TWILIO: &[&str] = &[
    "SK0", "SK1", "SK2", "SK3", "SK4", "SK5", "SK6", "SK7", "SK8", "SK9", "SKa", "SKb", "SKc",
    "SKd", "SKe", "SKf",
];

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
    inner("an Azure client secret", &["0Q~", "1Q~", "2Q~", "3Q~", "4Q~", "5Q~", "6Q~", "7Q~", "8Q~", "9Q~"], 3, r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", Random),
    row("a memdir token", &["memdir_"], r"memdir_[0-9a-f]{64}", Shape),
    row("a DigitalOcean token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"do[opr]_v1_[a-f0-9]{64}", Shape),
    row("an Alibaba Cloud key", &["LTAI"], r"LTAI[A-Za-z0-9]{16,24}", Random),
    row("a Heroku API key", &["HRKU-"], r"HRKU-[A-Za-z0-9_-]{36,80}", Random),
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
    row("a Docker token", &["dckr_pat_", "dckr_oat_"], r"dckr_[po]at_[A-Za-z0-9_-]{27,40}", Shape),
    // Language models.
    row("an Anthropic key", &["sk-"], r"sk-ant-[a-z0-9]{3,10}-[A-Za-z0-9_-]{32,200}", Random),
    row("an OpenRouter key", &["sk-"], r"sk-or-v1-[a-f0-9]{64}", Shape),
    row("an OpenAI key", &["sk-"], r"sk-(?:proj|svcacct|admin|None|service)-[A-Za-z0-9_-]{20,250}", Random),
    row("an OpenAI key", &["sk-"], r"sk-[A-Za-z0-9]{20,64}", Random),
    row("a Hugging Face token", &["hf_"], r"hf_[A-Za-z0-9]{34,40}", Shape),
    row("a Voyage AI key", &["pa-"], r"pa-[A-Za-z0-9_-]{40,64}", Random),
    row("a Groq key", &["gsk_"], r"gsk_[A-Za-z0-9]{52}", Shape),
    row("a Replicate token", &["r8_"], r"r8_[A-Za-z0-9]{37}", Random),
    row("an xAI key", &["xai-"], r"xai-[A-Za-z0-9]{70,90}", Random),
    // Messages.
    row("a Slack token", &["xox"], r"xox[abeoprs](?:\.xox[abp])?-[A-Za-z0-9-]{16,250}", Random),
    row("a Slack token", &["xapp-"], r"xapp-[0-9]-[A-Za-z0-9-]{30,250}", Random),
    row("a Slack webhook", &["hooks.slack.com/"],
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9]{8,14}/[A-Za-z0-9]{8,24}/(?:[0-9]{8,24}/)?[A-Za-z0-9]{16,64})", Random),
    row("a Discord webhook", &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        r"discord(?:app)?\.com/api/webhooks/[0-9]{15,22}/([A-Za-z0-9_-]{60,80})", Random),
    // The first part is a number in base64.
    row("a Discord token", DISCORD,
        r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}", Random),
    inner("a Telegram token", &[":AA"], 13, r"(?:bot)?([0-9]{8,10}:AA[A-Za-z0-9_-]{33})", Shape),
    row("a Twilio key", TWILIO, r"SK[a-f0-9]{32}", Random),
    row("a SendGrid key", &["SG."], r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}", Random),
    row("a Mailgun key", &["key-"], r"key-[a-f0-9]{32}", Random),
    inner("a Mailchimp key", &["-us"], 32, r"[a-f0-9]{32}-us[0-9]{1,2}", Random),
    // Money and shops.
    row("a Stripe key", &["sk_live_", "rk_live_", "sk_test_", "rk_test_", "sk_prod_", "rk_prod_"], r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16,250}", Random),
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
    row("a Tailscale key", &["tskey-"], r"tskey-[a-z]{2,10}-[A-Za-z0-9]{8,24}(?:-[A-Za-z0-9]{16,48})?", Random),
    row("a Supabase token", &["sbp_"], r"sbp_[a-f0-9]{40}", Shape),
    row("a New Relic key", &["NRAK-"], r"NRAK-[A-Z0-9]{27}", Random),
    // Found in the wild more rarely.
    row("an AWS session token", &["IQoJb3JpZ2lu", "FwoGZXIvYXdz", "FQoGZXIvYXdz"], r"(?:IQoJb3JpZ2lu|F[wQ]oGZXIvYXdz)[A-Za-z0-9+/]{100,900}={0,2}", Random),
    row("a Google OAuth token", &["1//0"], r"1//0[A-Za-z0-9_-]{30,150}", Random),
    row("a Fly.io token", &["fm1_", "fm1a_", "fm1r_", "fm2_"], r"fm(?:1[ar]?|2)_[A-Za-z0-9+/_-]{60,900}={0,3}", Random),
    row("a Mapbox token", &["sk.eyJ"], r"sk\.eyJ[A-Za-z0-9_-]{40,300}\.[A-Za-z0-9_-]{20,60}", Random),
    row("a Figma token", &["figd_", "figoh_", "figor_"], r"fig(?:d|oh|or)_[A-Za-z0-9_-]{36,64}", Random),
    row("an Airtable token", &["pat"], r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}", Shape),
    row("an Artifactory key", &["AKCp"], r"AKCp[A-Za-z0-9]{60,75}", Random),
    row("a Contentful token", &["CFPAT-"], r"CFPAT-[A-Za-z0-9_-]{40,60}", Random),
    row("a Defined Networking token", &["dnkey-"], r"dnkey-[A-Za-z0-9=_-]{26}-[A-Za-z0-9=_-]{52}", Random),
    row("a Doppler token", &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."],
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}", Random),
    row("a Dropbox token", &["sl."], r"sl\.(?:u\.)?[A-Za-z0-9_-]{120,400}", Random),
    row("a Dynatrace token", &["dt0c01.", "dt0s16.", "dt0s02."], r"dt0[cs](?:01|16|02)\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}", Random),
    row("a Facebook token", &["EAA"], r"EAA[A-Za-z0-9]{80,400}", Random),
    row("a Flutterwave key", &["FLWSECK"], r"FLWSECK(?:_TEST|_LIVE)?-[A-Za-z0-9]{12,40}(?:-X)?", Random),
    row("a Grafana token", &["glc_"], r"glc_[A-Za-z0-9+/=]{32,400}", Random),
    row("a HubSpot token", &["pat-na", "pat-eu"], r"pat-(?:na|eu)[0-9]-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}", Shape),
    row("a Hugging Face token", &["api_org_"], r"api_org_[A-Za-z0-9]{34}", Random),
    row("a LangSmith key", &["lsv2_"], r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}", Shape),
    row("a LaunchDarkly key", &["sdk-", "api-"], r"(?:sdk|api)-[a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[a-f0-9]{4}-[a-f0-9]{12}", Shape),
    row("a Linear secret", &["lin_oauth_"], r"lin_oauth_[A-Za-z0-9]{40,64}", Random),
    row("a Netlify token", &["nfp_", "nfo_", "nfc_"], r"nf[poc]_[A-Za-z0-9]{36,48}", Random),
    row("a New Relic key", &["NRII-", "NRJS-", "NRRA-"], r"NR(?:II|JS|RA)-[A-Za-z0-9-]{19,42}", Random),
    row("a NuGet key", &["oy2"], r"oy2[a-z0-9]{43}", Random),
    row("an NVIDIA key", &["nvapi-"], r"nvapi-[A-Za-z0-9_-]{60,70}", Random),
    row("a Pinecone key", &["pcsk_"], r"pcsk_[A-Za-z0-9]{5,8}_[A-Za-z0-9]{50,70}", Random),
    row("a Plaid token", &["access-"], r"access-(?:sandbox|development|production)-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}", Shape),
    row("a Prefect token", &["pnu_", "pnb_"], r"pn[ub]_[A-Za-z0-9]{36}", Random),
    row("a Render key", &["rnd_"], r"rnd_[A-Za-z0-9]{28,40}", Random),
    row("a Resend key", &["re_"], r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}", Random),
    row("a Razorpay key", &["rzp_live_", "rzp_test_"], r"rzp_(?:live|test)_[A-Za-z0-9]{14,24}", Random),
    row("a Brevo key", &["xkeysib-", "xsmtpsib-"], r"x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}", Shape),
    row("a Sonar token", &["sqp_", "squ_", "sqa_"], r"sq[pua]_[a-f0-9]{40}", Shape),
    row("a Tavily key", &["tvly-"], r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{28,40}", Random),
    row("a Together AI key", &["tgp_v1_"], r"tgp_v1_[A-Za-z0-9_-]{40,48}", Random),
    row("a Typeform token", &["tfp_"], r"tfp_[A-Za-z0-9_.=-]{40,64}", Random),
    row("a Trello token", &["ATTA"], r"ATTA[a-f0-9]{64}[A-F0-9]{8}", Shape),
    row("a Vercel token", &["vcp_", "vck_"], r"vc[pk]_[A-Za-z0-9]{24,64}", Random),
    row("a WooCommerce key", &["ck_", "cs_"], r"c[ks]_[a-f0-9]{40}", Shape),
    row("a Yandex key", &["AQVN"], r"AQVN[A-Za-z0-9_-]{35,38}", Random),
    row("a Yandex token", &["t1."], r"t1\.[A-Za-z0-9_-]{20,300}={0,2}\.[A-Z0-9a-z_-]{86}={0,2}", Random),
    row("a Yandex key", &["YCAJ", "YCMS", "YCNV"], r"YC[A-Za-z0-9_-]{38}", Random),
    row("a Buildkite token", &["bkua_", "bkpt_"], r"bk(?:ua|pt)_[a-f0-9]{40}", Shape),
    row("a CircleCI token", &["CCIPAT_", "CCIPRJ_"], r"CCIP(?:AT|RJ)_[A-Za-z0-9]{16,32}_[a-f0-9]{40}", Random),
    row("a Braintree token", &["access_token$"], r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}", Shape),
    row("an ElevenLabs key", &["sk_"], r"sk_[a-f0-9]{48}", Random),
    row("a Cerebras key", &["csk-"], r"csk-[a-z0-9]{40,56}", Random),
    row("a Fireworks key", &["fw_"], r"fw_[A-Za-z0-9]{22,32}", Random),
    row("an extended private key", &["xprv", "yprv", "zprv"], r"[xyz]prv[1-9A-HJ-NP-Za-km-z]{100,112}", Random),
];

/// Returns the names of all kinds in the table; some occur twice.
pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    PATTERNS.iter().map(|pattern| pattern.kind)
}

//! The formats of keys and tokens, one row each: kind, prefixes, shape of the rest, an example and a near miss.
//!
//! Prefixes, alphabets and lengths are those that issuers and public rule sets document. Lengths are minimums where
//! issuers have changed them or where a prefix is unmistakable.
//!
//! No example is a whole token, so that scanners of this repository find nothing. In an example `<36>` means 36 random
//! letters and digits, `<h32>` hexadecimal digits, `<d11>` digits, `<u16>` capitals and digits, `<l26>` small letters
//! and digits, `<b52>` base32, `<s50>` letters, digits and symbols, and `<uuid>` a UUID.

use crate::redact::format::Format;
use crate::redact::parsers::{address, cookies, jwt, private_key};
use crate::redact::shape::Part::{Optional, Text};
use crate::redact::shape::{
    ANY_HEX, BASE32, BASE64, DIGIT, DJANGO, DOTTED, HEX, IDENT, LIST, LOWER, PERCENT, PLUS, TILDE, UPPER, URL, UUID,
    WIDE, WORD, at_least, between, exactly,
};

/// All secret formats.
#[rustfmt::skip]
pub(super) static FORMATS: [Format; 249] = [
    // Clouds and hosting.
    Format::token("aws key", &["AKIA", "ASIA", "ABIA", "ACCA"], &[exactly(UPPER, 16)]).like("AKIA<u16>", "AKIA<u15>"),
    Format::token("aws token", &["IQoJb3JpZ2luX2", "FwoGZXIvYXdz"], &[at_least(BASE64, 80)]).like("IQoJb3JpZ2luX2<200>", "IQoJb3JpZ2luX2<40>"),
    Format::token("aws key", &["ABSKQmVkcm9ja0FQSUtleS", "bedrock-api-key-"], &[at_least(BASE64, 60)]).like("ABSKQmVkcm9ja0FQSUtleS<100>", "bedrock-api-key-<20>"),
    Format::token("aws key", &["da2-"], &[exactly(LOWER, 26)]).like("da2-<l26>", "da2-<l27>"),
    Format::token("aws token", &["amzn.mws."], &[exactly(UUID, 36)]).like("amzn.mws.<uuid>", "amzn.mws.<h20>"),
    Format::named("aws key", &["secret_access_key", "secretaccesskey", "secret-access-key", "aws_secret"], &[exactly(BASE64, 40)]).like("AWS_SECRET_ACCESS_KEY=/<39>", "AWS_SECRET_ACCESS_KEY=/<38>"),
    Format::token("google key", &["AIza"], &[at_least(URL, 35)]).like("AIzaSy<33>", "AIzaSy<32>"),
    Format::token("google key", &["AQ.Ab8"], &[at_least(URL, 40)]).like("AQ.Ab8<47>", "AQ.Ab8<20>"),
    Format::token("google token", &["ya29."], &[at_least(URL, 20)]).like("ya29.<120>", "ya29.<19>"),
    Format::token("google secret", &["GOCSPX-"], &[at_least(URL, 20)]).like("GOCSPX-<28>", "GOCSPX-<12>"),
    Format::token("google token", &["1//0"], &[at_least(URL, 35)]).like("1//0<60>", "1//0<20>"),
    Format::token("google key", &["GOOG1E"], &[at_least(UPPER, 50)]).like("GOOG1E<u55>", "GOOG1E<u20>"),
    Format::around("google key", exactly(URL, 11), &[":APA91b"], &[at_least(URL, 100)]).like("AAAA<7>:APA91b<134>", "AAAA<7>:APA91b<30>"),
    Format::after("azure key", &["AccountKey=", "SharedAccessKey=", "SharedSecretValue="], &[at_least(BASE64, 40)]).like("AccountKey=/<85>==", "AccountKey=/home/me"),
    Format::named("azure key", &["azure", "storage_key", "storage-key", "storagekey", "cosmos"], &[exactly(BASE64, 88)]).like("AZURE_STORAGE_KEY=<86>==", "AZURE_STORAGE_KEY=<40>=="),
    Format::around("azure secret", exactly(TILDE, 3), &["0Q~", "1Q~", "2Q~", "3Q~", "4Q~", "5Q~", "6Q~", "7Q~", "8Q~", "9Q~"], &[at_least(TILDE, 31)]).like("Zx48Q~<34>", "Zx48Q~<20>"),
    Format::around("azure key", exactly(WORD, 52), &["JQQJ99"], &[between(WORD, 20, 30)]).like("<52>JQQJ99<26>", "<20>JQQJ99<26>"),
    Format::around("azure key", between(URL, 40, 46), &["AzSe", "AzFu", "AzCa"], &[at_least(BASE64, 4)]).like("<42>AzSeB<6>", "<20>AzSeB<6>"),
    Format::around("azure devops token", between(WORD, 70, 80), &["AZDO"], &[between(WORD, 4, 8)]).like("<76>AZDO<4>", "<40>AZDO<4>"),
    Format::named("azure devops token", &["devops", "azdo", "ado_pat", "vsts", "visualstudio", "dev.azure"], &[exactly(BASE32, 52)]).like("AZURE_DEVOPS_EXT_PAT=<b52>", "AZURE_DEVOPS_EXT_PAT=<b40>"),
    Format::line("azure devops token", &["devops", "dev.azure.com", "visualstudio.com"], r"\b([a-z2-7]{52})\b").like("the Azure DevOps PAT <b52> expired", "the Azure DevOps build <h40> passed"),
    Format::line("azure signature", &["sig="], r"[?&]sig=([A-Za-z0-9%+/=]{32,})").like("https://x.blob.core.windows.net/c?sv=2022&sig=<43>%3D", "https://x/c?sig=<20>"),
    Format::token("digitalocean token", &["dop_v1_", "doo_v1_", "dor_v1_"], &[at_least(HEX, 64)]).like("dop_v1_<h64>", "dop_v1_<h63>"),
    Format::token("digitalocean key", &["DO00"], &[exactly(UPPER, 16)]).random().like("DO00<u16>", "DO00<u17>"),
    Format::token("alibaba key", &["LTAI"], &[between(WORD, 12, 20)]).random().like("LTAI5t<18>", "LTAI5t<30>"),
    Format::token("tencent key", &["AKID"], &[between(WORD, 32, 36)]).random().like("AKID<32>", "AKID<20>"),
    Format::token("cloudflare token", &["cfut_", "cfat_", "cfk_"], &[at_least(WORD, 40)]).like("cfut_<48>", "cfut_<20>"),
    Format::token("cloudflare key", &["v1.0-"], &[exactly(HEX, 24), Text("-"), at_least(HEX, 100)]).like("v1.0-<h24>-<h146>", "v1.0-<h24>-<h20>"),
    Format::named("cloudflare key", &["cloudflare", "cf_api"], &[between(URL, 37, 40)]).like("CLOUDFLARE_API_KEY=<h37>", "CLOUDFLARE_ACCOUNT_ID=<h37>"),
    Format::named("fastly token", &["fastly"], &[exactly(URL, 32)]).like("Fastly key: <32>", "Fastly key: <31>"),
    Format::token("heroku key", &["HRKU-"], &[at_least(URL, 30)]).like("HRKU-AA<58>", "HRKU-AA<20>"),
    Format::named("heroku key", &["heroku"], &[exactly(UUID, 36)]).like("HEROKU_AUTH_TOKEN=<uuid>", "HEROKU_APP_ID=<uuid>"),
    Format::token("fly token", &["fo1_", "fm1a_", "fm1r_", "fm2_"], &[at_least(BASE64, 40)]).like("fm2_<120>", "fm2_<20>"),
    Format::token("fly token", &["fo1_"], &[at_least(URL, 40)]).like("fo1_<20>-<22>", "fo1_<20>-<12>"),
    Format::after("fly token", &["FlyV1 "], &[at_least(LIST, 30)]).like("FlyV1 <60>", "FlyV1 <20>"),
    Format::token("vercel token", &["vcp_", "vck_", "vci_", "vca_", "vcr_", "vercel_blob_rw_"], &[at_least(IDENT, 24)]).like("vcp_<56>", "vcp_<12>"),
    Format::token("netlify token", &["nfp_", "nfc_", "nfo_", "nfu_", "nfb_"], &[at_least(WORD, 30)]).like("nfp_<36>", "nfp_<20>"),
    Format::named("netlify token", &["netlify"], &[between(URL, 40, 46)]).like("NETLIFY_AUTH_TOKEN=<43>", "NETLIFY_SITE_ID=<43>"),
    Format::token("render key", &["rnd_"], &[at_least(WORD, 24)]).random().like("rnd_<28>", "rnd_<10>"),
    Format::named("railway token", &["railway"], &[exactly(UUID, 36)]).like("RAILWAY_TOKEN=<uuid>", "RAILWAY_PROJECT_ID=<uuid>"),
    Format::token("deno token", &["ddp_", "ddo_"], &[exactly(WORD, 36)]).like("ddp_<36>", "ddp_<20>"),
    Format::line("convex key", &["|eyJ"], r"\b(?:prod|dev|preview|project):[\w:.-]+\|(eyJ[A-Za-z0-9+/=_-]{30,})").like("prod:calm-otter-123|eyJ2MiI6I<60>", "prod:calm-otter-123|eyJ<20>"),
    Format::token("supabase token", &["sbp_"], &[at_least(ANY_HEX, 40)]).like("sbp_<h40>", "sbp_<h39>"),
    Format::token("supabase token", &["sbp_oauth_", "sbp_v0_"], &[at_least(HEX, 40)]).like("sbp_v0_<h40>", "sbp_v0_<h20>"),
    Format::token("supabase token", &["sb_secret_"], &[at_least(URL, 20)]).like("sb_secret_<31>", "sb_secret_<12>"),
    Format::named("linode token", &["linode"], &[exactly(HEX, 64)]).like("LINODE_CLI_PAT=<h64>", "LINODE_CLI_PAT=<h63>"),
    Format::named("hetzner token", &["hcloud", "hetzner"], &[exactly(WORD, 64)]).like("HCLOUD_TOKEN=<64>", "HCLOUD_TOKEN=<70>"),
    Format::token("scaleway key", &["SCW"], &[exactly(UPPER, 17)]).random().like("SCW<u16>5", "SCW<u16>"),
    Format::named("scaleway key", &["scw_", "scaleway"], &[exactly(UUID, 36)]).like("SCW_SECRET_KEY=<uuid>", "SCW_DEFAULT_PROJECT_ID=<uuid>"),
    Format::token("yandex key", &["AQVN"], &[between(URL, 35, 38)]).random().like("AQVN<36>", "AQVN<20>"),
    Format::token("yandex token", &["y0_A", "t1.9"], &[at_least(DOTTED, 40)]).random().like("y0_A<58>", "y0_A<20>"),
    Format::token("scalingo token", &["tk-us-"], &[at_least(URL, 48)]).like("tk-us-<48>", "tk-us-<20>"),
    Format::token("openshift token", &["sha256~"], &[at_least(URL, 43)]).like("sha256~<43>", "sha256~<42>"),
    Format::named("ibm cloud key", &["ibmcloud", "ibm_cloud", "bluemix"], &[exactly(URL, 44)]).like("IBMCLOUD_API_KEY=<44>", "IBMCLOUD_API_KEY=<43>"),
    // Code hosts and continuous integration.
    Format::token("github token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], &[at_least(WORD, 30)]).like("ghp_<36>", "ghp_<20>"),
    Format::token("github token", &["github_pat_"], &[at_least(IDENT, 22)]).like("github_pat_11A<21>_<59>", "github_pat_<12>"),
    Format::token("gitlab token", &["glpat-", "gldt-", "glrt-", "glrtr-", "glptt-", "glcbt-", "glffct-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-", "glwt-"], &[at_least(DOTTED, 18)]).like("glpat-<20>", "glpat-<12>"),
    Format::token("gitlab token", &["GR1348941"], &[at_least(URL, 20)]).like("GR1348941<20>", "GR1348941<12>"),
    Format::token("bitbucket password", &["ATBB"], &[exactly(WORD, 32)]).random().like("ATBB<32>", "ATBB<31>"),
    Format::token("bitbucket token", &["BBDC-"], &[at_least(BASE64, 40)]).like("BBDC-<44>", "BBDC-<20>"),
    Format::named("bitbucket secret", &["bitbucket"], &[between(URL, 32, 64)]).like("bitbucket_secret = \"<32>\"", "bitbucket_secret = \"<20>\""),
    Format::named("gitea token", &["gitea", "forgejo", "codeberg"], &[exactly(HEX, 40)]).like("Gitea token: <h40>", "Gitea token: <h41>"),
    Format::token("sourcegraph token", &["sgp_"], &[at_least(IDENT, 40)]).like("sgp_<h16>_<h40>", "sgp_<h16>"),
    Format::token("sourcegraph token", &["slk_"], &[at_least(HEX, 64)]).like("slk_<h64>", "slk_<h40>"),
    Format::token("circleci token", &["CCIPAT_", "CCIPRJ_"], &[at_least(WORD, 20), Text("_"), at_least(HEX, 40)]).like("CCIPAT_<22>_<h40>", "CCIPAT_<22>"),
    Format::token("buildkite token", &["bkua_", "bkct_"], &[at_least(LOWER, 40)]).like("bkua_<l40>", "bkua_<l20>"),
    Format::named("travis token", &["travis"], &[exactly(WORD, 22)]).like("TRAVIS_API_TOKEN=<22>", "TRAVIS_API_TOKEN=<23>"),
    Format::named("drone token", &["drone"], &[exactly(WORD, 32)]).like("DRONE_TOKEN=<32>", "DRONE_TOKEN=<33>"),
    Format::named("jenkins token", &["jenkins"], &[between(HEX, 32, 34)]).like("JENKINS_TOKEN=11<h32>", "JENKINS_BUILD=11<h32>"),
    Format::token("harness token", &["pat.", "sat."], &[exactly(URL, 22), Text("."), exactly(WORD, 24), Text("."), exactly(WORD, 20)]).like("pat.<22>.<24>.<20>", "pat.<22>.<24>"),
    Format::token("octopus key", &["API-"], &[exactly(UPPER, 26)]).random().like("API-<u25>7", "API-<u30>"),
    Format::named("codecov token", &["codecov"], &[exactly(UUID, 36)]).like("CODECOV_TOKEN=<uuid>", "CODECOV_FLAG=<uuid>"),
    Format::token("snyk token", &["snyk_uat.", "snyk_sat."], &[at_least(DOTTED, 30)]).like("snyk_uat.<8>.<60>", "snyk_uat.<8>"),
    Format::named("snyk token", &["snyk"], &[exactly(UUID, 36)]).like("SNYK_TOKEN=<uuid>", "SNYK_ORG=<uuid>"),
    Format::token("sonar token", &["squ_", "sqp_", "sqa_", "sqco_"], &[at_least(WORD, 40)]).like("squ_<h40>", "squ_<h39>"),
    Format::named("sonar token", &["sonar"], &[exactly(HEX, 40)]).like("sonar.login=<h40>", "sonar.projectKey=<h41>"),
    // Package registries.
    Format::token("npm token", &["npm_"], &[exactly(WORD, 36)]).like("npm_<36>", "npm_config_<29>"),
    Format::token("pypi token", &["pypi-AgE"], &[at_least(URL, 50)]).like("pypi-AgEIcHlwaS5vcmc<150>", "pypi-AgEIcHlwaS5vcmc<12>"),
    Format::token("crates.io token", &["cio"], &[exactly(WORD, 32)]).random().like("cio<32>", "cio<31>"),
    Format::token("crates.io token", &["cio_tp_"], &[at_least(WORD, 30)]).like("cio_tp_<32>", "cio_tp_<12>"),
    Format::token("rubygems key", &["rubygems_"], &[at_least(HEX, 48)]).like("rubygems_<h48>", "rubygems_<h40>"),
    Format::token("nuget key", &["oy2"], &[exactly(LOWER, 43)]).random().like("oy2<l43>", "oy2<l42>"),
    Format::token("docker token", &["dckr_pat_", "dckr_oat_"], &[at_least(URL, 20)]).like("dckr_pat_<27>", "dckr_pat_<12>"),
    Format::line("docker login", &["\"auth\""], r#""auth\\?"\s*:\s*\\?"((?:[A-Za-z0-9+/]{4}){5,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\\?""#).like(r#"{"auths":{"ghcr.io":{"auth":"<40>"}}}"#, r#"{"auth":"<12>"}"#),
    Format::token("open vsx token", &["ovsxp_", "ovsxat_"], &[at_least(URL, 30)]).like("ovsxp_<36>", "ovsxp_<20>"),
    Format::token("artifactory key", &["AKCp"], &[at_least(WORD, 60)]).like("AKCp<69>", "AKCp<40>"),
    Format::token("artifactory token", &["cmVmd"], &[exactly(WORD, 59)]).random().like("cmVmd<59>", "cmVmd<58>"),
    Format::named("artifactory key", &["artifactory", "jfrog"], &[between(WORD, 64, 73)]).like("jfrog_token: <64>", "jfrog_token: <63>"),
    Format::token("clojars token", &["CLOJARS_"], &[at_least(WORD, 60)]).like("CLOJARS_<60>", "CLOJARS_<20>"),
    Format::token("jsr token", &["jsrp_", "jsrd_", "jsrs_"], &[at_least(WORD, 30)]).like("jsrp_<43>", "jsrp_<12>"),
    // Models and search for them.
    Format::token("anthropic key", &["sk-ant-"], &[at_least(URL, 20)]).like("sk-ant-api03-<93>AA", "sk-ant-api03-<8>"),
    Format::token("openai key", &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"], &[at_least(URL, 20)]).like("sk-proj-<74>T3BlbkFJ<74>", "sk-proj-<12>"),
    Format::token("api key", &["sk-or-v1-", "sk-lf-", "sk-helicone-", "sk-kimi-", "sk-cp-"], &[at_least(URL, 30)]).like("sk-or-v1-<h64>", "sk-or-v1-<h20>"),
    Format::token("api key", &["sk-"], &[at_least(WORD, 20)]).like("sk-<48>", "sk-<19>"),
    Format::token("elevenlabs key", &["sk_"], &[exactly(HEX, 48)]).like("sk_<h48>", "sk_<h40>"),
    Format::token("hugging face token", &["hf_", "api_org_"], &[at_least(WORD, 30)]).like("hf_<34>", "hf_<20>"),
    Format::token("groq key", &["gsk_"], &[at_least(WORD, 40)]).like("gsk_<52>", "gsk_<20>"),
    Format::token("xai key", &["xai-"], &[at_least(WORD, 40)]).like("xai-<80>", "xai-<20>"),
    Format::token("perplexity key", &["pplx-"], &[at_least(WORD, 40)]).like("pplx-<48>", "pplx-<20>"),
    Format::token("replicate token", &["r8_"], &[at_least(WORD, 36)]).like("r8_<37>", "r8_<20>"),
    Format::token("nvidia key", &["nvapi-"], &[at_least(URL, 40)]).like("nvapi-<64>", "nvapi-<20>"),
    Format::token("cerebras key", &["csk-"], &[at_least(WORD, 40)]).like("csk-<48>", "csk-<20>"),
    Format::token("langsmith key", &["lsv2_pt_", "lsv2_sk_"], &[at_least(IDENT, 32)]).like("lsv2_pt_<h32>_<h10>", "lsv2_pt_<h20>"),
    Format::token("llamaindex key", &["llx-"], &[at_least(WORD, 40)]).like("llx-<48>", "llx-<20>"),
    Format::token("voyage key", &["pa-"], &[exactly(URL, 43)]).random().like("pa-<43>", "pa-<30>"),
    Format::token("together key", &["tgp_v1_"], &[at_least(URL, 40)]).like("tgp_v1_<43>", "tgp_v1_<20>"),
    Format::token("fireworks key", &["fw_"], &[between(WORD, 22, 28)]).random().like("fw_<24>", "fw_<12>"),
    Format::token("jina key", &["jina_"], &[at_least(URL, 40)]).like("jina_<h32><28>", "jina_<20>"),
    Format::token("tavily key", &["tvly-"], &[at_least(URL, 30)]).like("tvly-dev-<32>", "tvly-dev-<12>"),
    Format::token("firecrawl key", &["fc-"], &[exactly(HEX, 32)]).like("fc-<h32>", "fc-<h31>"),
    Format::token("e2b key", &["e2b_"], &[at_least(HEX, 40)]).like("e2b_<h40>", "e2b_<h20>"),
    Format::token("pinecone key", &["pcsk_"], &[at_least(IDENT, 50)]).like("pcsk_<6>_<63>", "pcsk_<20>"),
    Format::token("apify token", &["apify_api_"], &[at_least(WORD, 30)]).like("apify_api_<36>", "apify_api_<12>"),
    Format::named("cohere key", &["cohere", "co_api"], &[exactly(WORD, 40)]).like("COHERE_KEY=<40>", "COHERE_KEY=<41>"),
    Format::named("mistral key", &["mistral"], &[exactly(WORD, 32)]).like("MISTRAL_KEY=<32>", "MISTRAL_KEY=<33>"),
    Format::named("deepgram key", &["deepgram", "assemblyai", "wandb"], &[between(HEX, 32, 40)]).like("WANDB_KEY=<h40>", "WANDB_RUN=<h40>"),
    // Payment and shops.
    Format::token("stripe key", &["sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"], &[at_least(WORD, 10)]).like("sk_live_<24>", "sk_live_<8>"),
    Format::token("stripe key", &["sk_live_", "sk_test_"], &[at_least(IDENT, 24)]).random().like("sk_live_<8>_<24>", "sk_test_<4>_case"),
    Format::token("webhook secret", &["whsec_"], &[at_least(BASE64, 24)]).like("whsec_<32>", "whsec_<12>"),
    Format::token("square token", &["sq0atp-", "sq0csp-", "sq0idp-", "sq0idb-"], &[at_least(URL, 20)]).like("sq0atp-<22>", "sq0atp-<12>"),
    Format::token("square token", &["EAAA"], &[between(URL, 56, 64)]).random().like("EAAAE<59>", "EAAA<30>"),
    Format::token("braintree token", &["access_token$production$", "access_token$sandbox$"], &[exactly(LOWER, 16), Text("$"), at_least(HEX, 32)]).like("access_token$production$<l16>$<h32>", "access_token$production$<l16>"),
    Format::token("shopify token", &["shpat_", "shpca_", "shppa_", "shpss_", "shpua_", "shptka_"], &[at_least(ANY_HEX, 32)]).like("shpat_<h32>", "shpat_<h31>"),
    Format::token("adyen key", &["AQE"], &[at_least(BASE64, 40), Text("-"), at_least(BASE64, 20), Text("-"), at_least(WIDE, 8)]).like("AQEyhmfx<40>-<43>-<16>", "AQEyhmfx<40>"),
    Format::token("razorpay key", &["rzp_live_", "rzp_test_"], &[at_least(WORD, 14)]).like("rzp_live_<14>", "rzp_live_<8>"),
    Format::token("flutterwave key", &["FLWSECK-", "FLWSECK_TEST-"], &[at_least(WORD, 12)]).like("FLWSECK_TEST-<h32>-X", "FLWSECK_TEST-<h8>"),
    Format::token("payment key", &["live_", "test_"], &[between(WORD, 30, 40)]).random().like("live_<30>", "test_<20>"),
    Format::token("plaid token", &["access-sandbox-", "access-development-", "access-production-"], &[exactly(UUID, 36)]).like("access-sandbox-<uuid>", "access-sandbox-<h12>"),
    Format::token("paddle key", &["pdl_live_apikey_", "pdl_sdbx_apikey_"], &[at_least(IDENT, 30)]).like("pdl_live_apikey_<l26>_<22>_<3>", "pdl_live_apikey_<l12>"),
    Format::token("polar token", &["polar_oat_", "polar_pat_", "polar_whs_"], &[at_least(WORD, 30)]).like("polar_oat_<43>", "polar_oat_<12>"),
    Format::token("duffel token", &["duffel_test_", "duffel_live_"], &[at_least(URL, 40)]).like("duffel_live_<43>", "duffel_live_<12>"),
    Format::token("easypost key", &["EZAK", "EZTK"], &[exactly(WORD, 54)]).random().like("EZAK<54>", "EZAK<53>"),
    Format::token("shippo token", &["shippo_live_", "shippo_test_"], &[at_least(ANY_HEX, 40)]).like("shippo_live_<h40>", "shippo_live_<h20>"),
    Format::named("coinbase token", &["coinbase"], &[exactly(URL, 64)]).like("COINBASE_TOKEN=<64>", "COINBASE_TOKEN=<63>"),
    // Messages and mail.
    Format::token("slack token", &["xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-"], &[at_least(PERCENT, 10)]).like("xoxb-<d12>-<d12>-<24>", "xoxb-<8>"),
    Format::token("slack token", &["xapp-", "xwfp-"], &[exactly(DIGIT, 1), Text("-"), at_least(URL, 20)]).like("xapp-1-A<u10>-<d13>-<h64>", "xapp-1-A<u10>"),
    Format::after("slack webhook", &["hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"], &[at_least(PLUS, 20)]).like("https://hooks.slack.com/services/T<u8>/B<u10>/<24>", "https://hooks.slack.com/services/T<u8>"),
    Format::token("discord token", &DISCORD_IDS, &[between(URL, 20, 26), Text("."), exactly(URL, 6), Text("."), at_least(URL, 27)]).random().like("MTA<23>.<6>.<38>", "MTA<23>.<6>.<12>"),
    Format::line("discord token", &["discord"], r"\b([MNO][A-Za-z0-9_-]{23,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})").like("discord bot: MzQ<23>.<6>.<27>", "discord id: <d18>"),
    Format::line("discord webhook", &["/api/webhooks/"], r"/api/webhooks/\d+/([A-Za-z0-9_-]{40,})").like("https://discord.com/api/webhooks/<d18>/<68>", "https://discord.com/api/webhooks/<d18>/<20>"),
    Format::line("zapier webhook", &["hooks.zapier.com"], r"hooks\.zapier\.com/hooks/(?:catch|standard)/(\d+/[A-Za-z0-9]{6,})").like("https://hooks.zapier.com/hooks/catch/<d7>/<l7>/", "https://hooks.zapier.com/hooks/catch/<d7>/"),
    Format::token("inngest key", &["signkey-prod-", "signkey-test-", "signkey-branch-"], &[at_least(HEX, 32)]).like("signkey-prod-<h64>", "signkey-prod-<h20>"),
    Format::around("telegram token", between(DIGIT, 8, 10), &[":AA"], &[at_least(URL, 32)]).like("<d10>:AA<33>", "<d10>:AA<20>"),
    Format::token("twilio key", &TWILIO_KEYS, &[exactly(HEX, 31)]).not_digest().like("SKa<h31>", "checksum SKa<h31>"),
    Format::line("twilio key", &["twilio"], r"\b((?:SK|AC)[0-9a-f]{32})\b").like("TWILIO_ACCOUNT_SID=AC<h32>", "TWILIO_ACCOUNT_SID=AC<h31>"),
    Format::token("sendgrid key", &["SG."], &[between(URL, 16, 32), Text("."), at_least(URL, 30)]).like("SG.<22>.<43>", "SG.<22>.<12>"),
    Format::token("mailgun key", &["key-"], &[exactly(HEX, 32)]).like("key-<h32>", "key-<h31>"),
    Format::line("mailgun key", &["mailgun"], r"\b([0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8})\b").like("MAILGUN_KEY=<h32>-<h8>-<h8>", "MAILGUN_KEY=<h32>"),
    Format::around("mailchimp key", exactly(HEX, 32), &["-us"], &[between(DIGIT, 1, 2)]).like("<h32>-us12", "<h31>-us12"),
    Format::token("mandrill key", &["md-"], &[exactly(URL, 22)]).random().like("md-<22>", "md-<21>"),
    Format::named("postmark token", &["postmark"], &[exactly(UUID, 36)]).like("X-Postmark-Server-Token: <uuid>", "X-Postmark-Message-Id: <uuid>"),
    Format::token("resend key", &["re_"], &[between(WORD, 8, 9), Text("_"), between(WORD, 22, 26)]).random().like("re_<8>_<24>", "re_<8>"),
    Format::token("brevo key", &["xkeysib-", "xsmtpsib-"], &[at_least(URL, 64)]).like("xkeysib-<h64>-<16>", "xkeysib-<h40>"),
    Format::token("mailersend token", &["mlsn."], &[at_least(WORD, 60)]).like("mlsn.<h64>", "mlsn.<h20>"),
    Format::after("teams webhook", &["IncomingWebhook/"], &[exactly(WORD, 32), Text("/"), at_least(UUID, 36)]).like("https://x.webhook.office.com/webhookb2/<uuid>/IncomingWebhook/<h32>/<uuid>", "https://x.webhook.office.com/webhookb2/IncomingWebhook/<h12>"),
    Format::token("facebook token", &["EAA"], &[at_least(WORD, 100)]).random().like("EAAC<140>", "EAAC<60>"),
    Format::token("twitter token", &["AAAAAAAAAAAAAAAAAAAAA"], &[at_least(WIDE, 60)]).random().like("AAAAAAAAAAAAAAAAAAAAAB<90>", "AAAAAAAAAAAAAAAAAAAAAB<20>"),
    Format::token("matrix token", &["syt_"], &[at_least(BASE64, 4), Text("_"), exactly(WORD, 20), Text("_"), at_least(WORD, 6)]).like("syt_<8>_<20>_<6>", "syt_<8>"),
    Format::token("ntfy token", &["tk_"], &[exactly(LOWER, 29)]).random().like("tk_<l29>", "tk_<l28>"),
    Format::named("intercom token", &["intercom"], &[exactly(DOTTED, 60)]).like("INTERCOM_KEY=<60>", "INTERCOM_KEY=<61>"),
    Format::named("mattermost token", &["mattermost"], &[exactly(LOWER, 26)]).like("mattermost token: <l26>", "mattermost token: <l27>"),
    Format::token("twitch token", &["oauth:"], &[exactly(LOWER, 30)]).random().like("oauth:<l30>", "oauth:<l29>"),
    // Observability.
    Format::named("datadog key", &["datadog", "dd_a", "dd-a"], &[between(HEX, 32, 40)]).like("DD-APPLICATION-KEY: <h40>", "DD_AGENT_HOST: <h40>"),
    Format::token("new relic key", &["NRAK-", "NRII-", "NRJS-", "NRIQ-", "NRRA-", "NRSP-", "NRAA-"], &[at_least(URL, 19)]).like("NRAK-<u27>", "NRAK-<u12>"),
    Format::around("new relic key", exactly(HEX, 36), &["NRAL"], &[]).like("<h36>NRAL", "<h30>NRAL"),
    Format::token("sentry token", &["sntrys_", "sntryu_", "sntrya_", "sntryi_"], &[at_least(PLUS, 40)]).like("sntryu_<h64>", "sntryu_<h20>"),
    Format::named("sentry token", &["sentry"], &[exactly(HEX, 64)]).like("SENTRY_AUTH_TOKEN=<h64>", "SENTRY_RELEASE=<h64>"),
    Format::token("grafana token", &["glsa_", "glc_"], &[at_least(PLUS, 30)]).like("glsa_<32>_<h8>", "glsa_<20>"),
    Format::token("grafana key", &["eyJrIjoi"], &[at_least(BASE64, 70)]).like("eyJrIjoi<90>", "eyJrIjoi<40>"),
    Format::token("honeycomb key", &["hcaik_", "hcaic_", "hcamk_", "hcalk_"], &[at_least(WORD, 40)]).like("hcaik_<l58>", "hcaik_<l20>"),
    Format::named("honeycomb key", &["honeycomb"], &[between(WORD, 22, 32)]).like("HONEYCOMB_API_KEY=<22>", "HONEYCOMB_DATASET=<22>"),
    Format::token("dynatrace token", &["dt0c01.", "dt0s01.", "dt0s02.", "dt0s16."], &[exactly(WORD, 24), Text("."), at_least(WORD, 64)]).like("dt0c01.<u24>.<u64>", "dt0c01.<u24>"),
    Format::token("posthog key", &["phx_", "phs_", "pha_", "phr_"], &[at_least(IDENT, 32)]).random().like("phx_<43>", "phx_<20>"),
    Format::token("axiom token", &["xaat-", "xapt-"], &[exactly(UUID, 36)]).like("xaat-<uuid>", "xaat-<h12>"),
    Format::token("launchdarkly key", &["sdk-", "api-", "mob-"], &[exactly(HEX, 8), Text("-"), exactly(HEX, 4), Text("-"), exactly(HEX, 4), Text("-"), exactly(HEX, 4), Text("-"), exactly(HEX, 12)]).like("sdk-<uuid>", "sdk-<h8>-<h4>"),
    Format::token("statsig key", &["secret-"], &[exactly(WORD, 43)]).random().like("secret-<43>", "secret-<42>"),
    Format::named("splunk token", &["splunk"], &[exactly(UUID, 36)]).like("Authorization for Splunk token: <uuid>", "splunk_index=<uuid>"),
    Format::named("sumo logic key", &["sumo"], &[exactly(WORD, 64)]).like("SUMO_ACCESS_KEY=<64>", "SUMO_ACCESS_KEY=<63>"),
    Format::named("opsgenie key", &["opsgenie", "pagerduty"], &[between(URL, 20, 36)]).like("OPSGENIE_KEY=<uuid>", "OPSGENIE_TEAM=<uuid>"),
    // Databases and content.
    Format::token("planetscale token", &["pscale_tkn_", "pscale_oauth_", "pscale_pw_"], &[at_least(DOTTED, 30)]).like("pscale_tkn_<43>", "pscale_tkn_<20>"),
    Format::token("neon key", &["napi_", "npg_"], &[at_least(WORD, 12)]).random().like("napi_<64>", "napi_<8>"),
    Format::token("mongodb secret", &["mdb_sa_sk_"], &[at_least(URL, 30)]).like("mdb_sa_sk_<40>", "mdb_sa_sk_<12>"),
    Format::token("cockroachdb key", &["CCDB1_"], &[at_least(IDENT, 40)]).like("CCDB1_<22>_<40>", "CCDB1_<22>"),
    Format::token("clickhouse key", &["4b1d"], &[exactly(WORD, 38)]).random().like("4b1d<38>", "4b1d<36>"),
    Format::token("elastic key", &["essu_"], &[at_least(BASE64, 40)]).like("essu_<60>", "essu_<20>"),
    Format::token("astra token", &["AstraCS:"], &[at_least(WORD, 20), Text(":"), at_least(HEX, 60)]).like("AstraCS:<24>:<h64>", "AstraCS:<24>"),
    Format::token("xata key", &["xau_"], &[at_least(WORD, 28)]).random().like("xau_<32>", "xau_<12>"),
    Format::token("contentful token", &["CFPAT-"], &[at_least(URL, 40)]).like("CFPAT-<43>", "CFPAT-<20>"),
    Format::named("contentful token", &["contentful"], &[exactly(URL, 43)]).like("CONTENTFUL_ACCESS_TOKEN=<43>", "CONTENTFUL_SPACE=<43>"),
    Format::named("algolia key", &["algolia"], &[exactly(HEX, 32)]).like("ALGOLIA_ADMIN_KEY=<h32>", "ALGOLIA_INDEX=<h32>"),
    Format::named("confluent key", &["confluent"], &[between(BASE64, 60, 64)]).like("CONFLUENT_SECRET=<64>", "CONFLUENT_SECRET=<20>"),
    // Infrastructure.
    Format::token("vault token", &["hvs.", "hvb.", "hvr."], &[at_least(URL, 24)]).like("hvs.<90>", "hvs.<20>"),
    Format::around("terraform token", exactly(WORD, 14), &[".atlasv1."], &[at_least(DOTTED, 60)]).like("<14>.atlasv1.<67>", "<14>.atlasv1.<20>"),
    Format::token("pulumi token", &["pul-"], &[exactly(HEX, 40)]).like("pul-<h40>", "pul-<h39>"),
    Format::token("doppler token", &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."], &[at_least(DOTTED, 36)]).like("dp.pt.<43>", "dp.pt.<20>"),
    Format::token("1password token", &["ops_eyJ"], &[at_least(BASE64, 60)]).like("ops_eyJ<250>", "ops_eyJ<20>"),
    Format::token("1password key", &["A3-"], &[exactly(UPPER, 6), Text("-"), at_least(UPPER, 6), Text("-"), at_least(UPPER, 5), Text("-"), at_least(UPPER, 5), Text("-"), at_least(UPPER, 5), Optional(&[Text("-"), exactly(UPPER, 5)])]).like("A3-<u6>-<u6>-<u5>-<u5>-<u5>-<u5>", "A3-<u6>-<u6>"),
    Format::token("tailscale key", &["tskey-"], &[at_least(LOWER, 1), Text("-"), at_least(URL, 16)]).like("tskey-auth-<11>CNTRL-<32>", "tskey-auth-<8>"),
    Format::token("databricks token", &["dapi"], &[exactly(HEX, 32), Optional(&[Text("-"), exactly(DIGIT, 1)])]).like("dapi<h32>-2", "dapi<h31>"),
    Format::token("databricks secret", &["dose"], &[exactly(HEX, 32)]).like("dose<h32>", "dose<h31>"),
    Format::token("infracost key", &["ico-"], &[exactly(WORD, 32)]).random().like("ico-<32>", "ico-<31>"),
    Format::token("prefect key", &["pnu_", "pnb_"], &[exactly(WORD, 36)]).like("pnu_<36>", "pnu_<35>"),
    Format::token("infisical token", &["st."], &[exactly(HEX, 24), Text("."), at_least(HEX, 32)]).like("st.<h24>.<h32>.<h32>", "st.<h24>"),
    Format::token("defined token", &["dnkey-"], &[exactly(WORD, 26), Text("-"), at_least(WORD, 52)]).like("dnkey-<26>-<52>", "dnkey-<26>"),
    Format::named("okta token", &["okta"], &[Text("00"), exactly(URL, 40)]).like("OKTA_API_TOKEN=00<40>", "OKTA_API_TOKEN=00<39>"),
    Format::named("ngrok token", &["ngrok"], &[at_least(WORD, 20), Text("_"), at_least(WORD, 18)]).like("NGROK_AUTHTOKEN=2<26>_<21>", "NGROK_AUTHTOKEN=2<26>"),
    Format::token("stytch secret", &["secret-live-", "secret-test-"], &[at_least(URL, 30)]).like("secret-live-<36>", "secret-live-<12>"),
    Format::token("private key", &["AGE-SECRET-KEY-1"], &[at_least(UPPER, 40)]).like("AGE-SECRET-KEY-1<u58>", "AGE-SECRET-KEY-1<u20>"),
    Format::read("private key", &["-----BEGIN"], private_key).like("-----BEGIN RSA PRIVATE KEY-----\n<64>\n<64>\n-----END RSA PRIVATE KEY-----", "-----BEGIN CERTIFICATE-----\n<64>\n-----END CERTIFICATE-----"),
    Format::read("jwt", &["eyJ"], jwt).like("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOi<30>.<43>", "eyJhbGciOiJIUzI1NiJ9"),
    // Documents, design and other services.
    Format::token("notion token", &["ntn_"], &[at_least(WORD, 40)]).like("ntn_<d11><35>", "ntn_<20>"),
    Format::token("notion token", &["secret_"], &[exactly(WORD, 43)]).random().like("secret_<43>", "secret_<42>"),
    Format::token("airtable token", &["pat"], &[exactly(WORD, 14), Text("."), exactly(HEX, 64)]).like("pat<14>.<h64>", "pat<14>.<h40>"),
    Format::named("airtable key", &["airtable"], &[Text("key"), exactly(WORD, 14)]).like("AIRTABLE_API_KEY=key<14>", "AIRTABLE_API_KEY=key<10>"),
    Format::token("linear key", &["lin_api_", "lin_oauth_", "lin_wh_"], &[at_least(WORD, 32)]).like("lin_api_<40>", "lin_api_<20>"),
    Format::line("asana token", &["asana"], r"\b([0-2]/\d{13,17}(?:/\d{13,17})?:[0-9a-f]{32})").like("ASANA_PAT=2/<d16>/<d16>:<h32>", "asana task 1/<d16>"),
    Format::token("figma token", &["figd_", "figu_", "figo_"], &[at_least(URL, 30)]).like("figd_<40>", "figd_<20>"),
    Format::token("atlassian token", &["ATATT3x", "ATCTT3x"], &[at_least(DOTTED, 40)]).like("ATATT3x<180>", "ATATT3x<20>"),
    Format::named("atlassian token", &["atlassian", "jira", "confluence"], &[exactly(WORD, 24)]).like("JIRA_API_TOKEN=<24>", "JIRA_API_TOKEN=<25>"),
    Format::token("trello token", &["ATTA"], &[at_least(ANY_HEX, 64)]).like("ATTA<h72>", "ATTA<h40>"),
    Format::token("dropbox token", &["sl."], &[at_least(URL, 120)]).random().like("sl.<140>", "sl.<60>"),
    Format::token("mapbox token", &["sk.eyJ", "tk.eyJ"], &[at_least(URL, 20), Text("."), at_least(URL, 20)]).like("sk.eyJ1Ijoi<60>.<22>", "sk.eyJ1Ijoi<60>"),
    Format::token("hubspot token", &["pat-na1-", "pat-na2-", "pat-na3-", "pat-eu1-", "pat-ap1-"], &[exactly(UUID, 36)]).like("pat-na1-<uuid>", "pat-na1-<h12>"),
    Format::named("hubspot key", &["hubspot", "squarespace", "sendbird", "kucoin"], &[exactly(UUID, 36)]).like("HUBSPOT_TOKEN=<uuid>", "HUBSPOT_PORTAL=<uuid>"),
    Format::token("typeform token", &["tfp_"], &[at_least(DOTTED, 40)]).like("tfp_<59>", "tfp_<20>"),
    Format::token("postman key", &["PMAK-"], &[exactly(ANY_HEX, 24), Text("-"), at_least(ANY_HEX, 34)]).like("PMAK-<h24>-<h34>", "PMAK-<h24>"),
    Format::token("postman key", &["PMAT-"], &[exactly(UPPER, 26)]).like("PMAT-<u26>", "PMAT-<u20>"),
    Format::token("readme key", &["rdme_"], &[at_least(LOWER, 60)]).like("rdme_<l70>", "rdme_<l20>"),
    Format::token("clickup token", &["pk_"], &[between(DIGIT, 6, 9), Text("_"), exactly(UPPER, 32)]).like("pk_<d8>_<u32>", "pk_<d8>"),
    Format::named("zendesk key", &["zendesk"], &[exactly(WORD, 40)]).like("ZENDESK_TOKEN=<40>", "ZENDESK_TOKEN=<41>"),
    Format::token("frame.io token", &["fio-u-"], &[at_least(URL, 60)]).like("fio-u-<64>", "fio-u-<20>"),
    Format::token("adobe secret", &["p8e-"], &[at_least(URL, 32)]).like("p8e-<32>", "p8e-<20>"),
    Format::token("adafruit key", &["aio_"], &[exactly(WORD, 28)]).like("aio_<28>", "aio_<27>"),
    Format::around("salesforce token", exactly(WORD, 15), &["!AQ", "!AR"], &[at_least(TILDE, 80)]).like("00D<12>!AQ<94>", "00D<12>!AQ<20>"),
    Format::around("maxmind key", exactly(IDENT, 36), &["_mmk"], &[]).like("<6>_<29>_mmk", "<6>_mmk"),
    Format::token("wakatime key", &["waka_"], &[exactly(UUID, 36)]).like("waka_<uuid>", "waka_<h12>"),
    Format::token("stackhawk key", &["hawk."], &[exactly(URL, 20), Text("."), exactly(URL, 20)]).like("hawk.<20>.<20>", "hawk.<20>"),
    Format::named("rapidapi key", &["rapidapi"], &[exactly(WORD, 50)]).like("x-rapidapi-key: <50>", "x-rapidapi-host: <50>"),
    Format::named("spotify secret", &["spotify", "facebook", "fb_app", "linkedin", "flickr"], &[exactly(HEX, 32)]).like("SPOTIFY_SECRET=<h32>", "SPOTIFY_PLAYLIST=<h32>"),
    Format::named("virustotal key", &["virustotal"], &[exactly(HEX, 64)]).like("VIRUSTOTAL_KEY=<h64>", "VIRUSTOTAL_FILE=<h64>"),
    // Frameworks, sessions and passwords.
    Format::token("django key", &["django-insecure-"], &[at_least(DJANGO, 30)]).like("django-insecure-<s50>", "django-insecure-<12>"),
    Format::named("django key", &["secret_key"], &[at_least(DJANGO, 40)]).like("SECRET_KEY = '<s50>'", "SECRET_KEY = '<s20>'"),
    Format::after("session cookie", &["JSESSIONID=", "PHPSESSID=", "ASP.NET_SessionId=", "sessionid=", "session=", "sid=", "SID=", "connect.sid=", "laravel_session=", "_gitlab_session=", "user_session=", "_session_id=", "_session=", "session-token=", "ASPSESSIONID="], &[at_least(WIDE, 16)]).random().like("PHPSESSID=<l26>", "sessionid=<uuid>"),
    Format::read("session cookie", &["cookie"], cookies).like("Cookie: theme=dark; auth=<32>", "Cookie: theme=dark; lang=en-US"),
    Format::read("password", &["://"], address).like("postgres://app:<14>@db/main", "postgres://app@db/main"),
    Format::line("password", &["curl "], r#"(?:^|\s)(?:-u|--user|--proxy-user)[ =]?["']?[^\s:"'$]+:([^\s"'$<{]{3,})"#).like("curl -u ci:<12> https://ci", "curl -u ci https://ci"),
    Format::line("password", &["sshpass "], r#"\s-p ?["']?([^\s"'$<{-][^\s"'$<{]{3,})"#).like("sshpass -p <10> ssh host", "sshpass -p $PW ssh host"),
    Format::line("password", &["mysql", "mariadb"], r#"\s-p["']?([^\s"'$<{=]{4,})"#).like("mysql -u root -p<10> shop", "mysql -u root -p shop"),
    Format::line("password", &["machine "], r#"\blogin\s+\S+\s+password\s+([^\s"'$<{]{4,})"#).like("machine host login ci password <9>", "machine host login ci"),
];

/// The first three characters of a Discord token: the base64 of two digits of the user's id.
#[rustfmt::skip]
const DISCORD_IDS: [&str; 90] = [
    "MTA", "MTE", "MTI", "MTM", "MTQ", "MTU", "MTY", "MTc", "MTg", "MTk", "MjA", "MjE", "MjI", "MjM", "MjQ",
    "MjU", "MjY", "Mjc", "Mjg", "Mjk", "MzA", "MzE", "MzI", "MzM", "MzQ", "MzU", "MzY", "Mzc", "Mzg", "Mzk",
    "NDA", "NDE", "NDI", "NDM", "NDQ", "NDU", "NDY", "NDc", "NDg", "NDk", "NTA", "NTE", "NTI", "NTM", "NTQ",
    "NTU", "NTY", "NTc", "NTg", "NTk", "NjA", "NjE", "NjI", "NjM", "NjQ", "NjU", "NjY", "Njc", "Njg", "Njk",
    "NzA", "NzE", "NzI", "NzM", "NzQ", "NzU", "NzY", "Nzc", "Nzg", "Nzk", "ODA", "ODE", "ODI", "ODM", "ODQ",
    "ODU", "ODY", "ODc", "ODg", "ODk", "OTA", "OTE", "OTI", "OTM", "OTQ", "OTU", "OTY", "OTc", "OTg", "OTk",
];

/// The beginnings of a Twilio key.
#[rustfmt::skip]
const TWILIO_KEYS: [&str; 16] = [
    "SK0", "SK1", "SK2", "SK3", "SK4", "SK5", "SK6", "SK7", "SK8", "SK9", "SKa", "SKb", "SKc", "SKd", "SKe", "SKf",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::{redact, secrets};

    /// Returns the characters of a class of the notation for examples.
    fn class(letter: &str) -> &'static str {
        match letter {
            "h" => "0123456789abcdef",
            "d" => "0123456789",
            "u" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
            "l" => "abcdefghijklmnopqrstuvwxyz0123456789",
            "b" => "abcdefghijklmnopqrstuvwxyz234567",
            "s" => "abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)",
            _ => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
        }
    }

    /// Replaces the notation of an example with random characters.
    fn expand(example: &str, state: &mut u64) -> String {
        let example = example.replace("<uuid>", "<h8>-<h4>-4<h3>-8<h3>-<h12>");
        let mut parts = example.split('<');
        let mut text = parts.next().unwrap_or_default().to_string();
        for part in parts {
            let (run, rest) = part.split_once('>').expect("closed");
            let digits = run.trim_start_matches(|c: char| c.is_ascii_lowercase());
            let characters = class(&run[..run.len() - digits.len()]).as_bytes();
            for _ in 0..digits.parse().expect("a length") {
                *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let index = usize::try_from(*state >> 33).expect("small") % characters.len();
                text.push(char::from(characters[index]));
            }
            text.push_str(rest);
        }
        text
    }

    /// Returns the kinds of the secrets in a text.
    fn masked_kinds(text: &str) -> Vec<&'static str> {
        secrets(text).iter().map(|secret| secret.kind).collect()
    }

    #[test]
    fn every_format_finds_its_example_but_not_its_near_miss() {
        let mut state = 5;
        for format in &FORMATS {
            let [example, near_miss] = format.examples;
            assert!(!example.is_empty() && !near_miss.is_empty(), "{} has no examples", format.kind);
            let mut count = |example| {
                let texts = (0..50).map(|_| format!("see {} there", expand(example, &mut state)));
                texts.filter(|text| masked_kinds(text).contains(&format.kind)).count()
            };
            // Random letters look like words now and then.
            assert!(count(example) >= 47, "{}: {example}", format.kind);
            assert_eq!(count(near_miss), 0, "{}: {near_miss}", format.kind);
        }
    }

    #[test]
    fn at_least_107_kinds_are_known() {
        let kinds: std::collections::BTreeSet<_> = FORMATS.iter().map(|format| format.kind).collect();
        assert!(kinds.len() >= 107, "{}", kinds.len());
    }

    /// A token is masked to its last character, whatever follows it.
    #[test]
    fn nothing_of_a_token_stays_visible() {
        let mut state = 9;
        for example in [
            "ghp_<36>",
            "nfp_<36>",
            "cio<32>",
            "dckr_pat_<27>",
            "EAAAE<59>",
            "<h32>-us12",
            "SKa<h31>",
            "MTA<23>.<6>.<38>",
        ] {
            let token = expand(example, &mut state);
            for (before, after) in [("", ""), ("\"", "\","), ("key=", "&x=1"), ("\\n", "\\n"), ("(", ")"), ("`", "`.")]
            {
                let clean = redact(&format!("{before}{token}{after}")).into_owned();
                assert!(clean.starts_with(&format!("{before}[redacted: ")), "{clean}");
                assert!(clean.ends_with(&format!("]{after}")), "{clean}");
            }
        }
    }

    /// Ordinary text, code, hashes, UUIDs, images and identifiers.
    #[test]
    fn ordinary_text_is_not_changed() {
        let mut state = 7;
        let page = [
            "commit <h40>",
            "index <h7>..<h7> 100644",
            "sha256:<h64>",
            "md5 <h32>  file.iso",
            "checksum = \"<h64>\"",
            "session_id: <uuid>",
            "\"sessionId\":\"<uuid>\",\"uuid\":\"<uuid>\"",
            "token <uuid> cancelled",
            "data:image/png;base64,iVBORw0KGgo<4000>==",
            "\"integrity\": \"sha512-<86>==\"",
            "src=\"/img/<h20>.png\"",
            "https://cdn.example.com/app.<h8>.js?v=<h8>",
            "/home/me/.cache/<h32>/out.o",
            "toolu_01<22>",
            "msg_01<22>",
            "req_011<21>",
            "call_<24>",
            "chatcmpl-<29>",
            "pk_test_page",
            "sk_test_case",
            "live_reload_enabled",
            "test_parses_empty_input_without_a_panic",
            "test_the_quick_brown_fox_jumps_over_it",
            "secret_manager_client_factory",
            "re_compile_patterns",
            "pat.match(value)",
            "api-gateway-eu-west-1",
            "sdk-for-javascript",
            "task-list-item",
            "NODE_ENV=production",
            "Cookie: theme=dark; lang=en",
            "Set-Cookie: theme=dark; Path=/; Max-Age=3600",
            "document.cookie = 'theme=dark'",
            "session=requests.Session()",
            "sid=os.getpid()",
            "const session = await getSession();",
            "SECRET_KEY = os.environ['SECRET_KEY']",
            "SECRET_KEY = get_random_secret_key()",
            "key-value store",
            "HEROKU_APP_NAME=calm-river-123",
            "CLOUDFLARE_ACCOUNT_ID=<h32>",
            "DD_SERVICE=web",
            "datadog: enabled",
            "npm_config_registry=https://registry.npmjs.org/",
            "hf_hub_download",
            "cio-dashboard",
            "ciovec_len",
            "MTAtest.example.com",
            "NDAs are signed",
            "MTU 1500",
            "OTA update 3.4.5",
            "NTE.x.y",
            "ASIA-PACIFIC",
            "EAAAB",
            "0x<h64>",
            "font-face: url(data:font/woff2;base64,d09GMgABAAAAA<3000>)",
            "arn:aws:iam::<d12>:role/deploy",
            "<h8>-us-east-1",
            "trace <h32> span <h16>",
            "etag: \"<h32>\"",
            "Qm<44>",
            "<d10>:<d10>",
            "AAAAB3NzaC1yc2E<100>",
        ];
        for line in page {
            for _ in 0..20 {
                let text = expand(line, &mut state);
                assert_eq!(redact(&text), text);
            }
        }
    }
}

"""Find secrets in texts, and mask them where texts are shown or passed on.

Only what its form or the name before it proves to be one counts: a token in the form of its issuer,
a private key, the password in an address, the value of a header for authorization, a secret key of
AWS. Nothing is guessed from how random a text looks, so commit ids, hashes and pictures stay. The
user's patterns, `boocode.secret`, are for all others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import NamedTuple

from git_boocode.repo.config import configured
from git_boocode.repo.errors import FatalError
from git_boocode.repo.git import Git
from git_boocode.repo.user_patterns import UserPatterns

PATTERNS = "boocode.secret"
"""The setting with a regular expression of the user, which can be given several times."""
# A token begins after anything but a letter or digit, also after an escape such as `\n` or `%3D`.
_BEGIN = r"(?:(?<![0-9A-Za-z])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2}))"
_END = r"(?![0-9A-Za-z_])"
# Base64 of a picture may contain what has no sign but letters and digits.
_PLAIN_BEGIN = r"(?:(?<![0-9A-Za-z+/_-])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2}))"
_PLAIN_END = r"(?![0-9A-Za-z+/_-])"
_KEY_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = re.compile(r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_TEXT = re.compile(r"[0-9A-Za-z+/=]{16}")
# What a key whose end is cut off may consist of, as text, in JSON, or in a diff.
_KEY_REST = re.compile(r"(?:\\[nrt]|[\s0-9A-Za-z+/=:,>|.]|-(?!-)){0,20000}")
# Program code between the two lines shows that these are only mentioned.
_CODE = re.compile(r"[(){}\[\];]")
_LONGEST_KEY = 20_000
_KEY_SIGN = "PRIVATE KEY"
_ADDRESS_SIGN = "://"
# What colours a terminal ends in a letter, as itself or as an escape in program text.
_COLOUR = re.compile(r"(?:\x1b|\\(?:u001[bB]|x1[bB]|033|e))\[[0-9;]{0,20}[A-Za-z]")
# Most files have addresses, but few have one with a password.
_ADDRESS = re.compile(rb"://[^\s:/@]{0,256}:[^\s:/@]{8,512}@")
# What stands for a token in documentation and in templates.
_EXAMPLE = re.compile(r"EXAMPLE|your[_-]|YOUR[_-]|([xX0*])\1{7}")


class _TokenKind(NamedTuple):
    """A kind of token: its name, texts one of which it contains, and its form.

    The form is an expression, which is compiled when a text has a sign. If it has a group, only
    that is secret.
    """

    name: str
    signs: tuple[str, ...]
    form: str


def _token(name: str, form: str, *signs: str) -> _TokenKind:
    return _TokenKind(name, signs, f"{_BEGIN}(?:{form}){_END}")


def _plain(name: str, form: str, *signs: str) -> _TokenKind:
    return _TokenKind(name, signs, f"{_PLAIN_BEGIN}(?:{form}){_PLAIN_END}")


_KINDS = (
    _plain("AWS access key", r"A(?:KI|SI)A[A-Z2-7]{16}", "AKIA", "ASIA"),
    # It has no form of its own, but stands beside its name in every file that holds one.
    _TokenKind(
        "AWS secret key",
        ("ecret_access_key", "ECRET_ACCESS_KEY", "ecretAccessKey", "ws_secret", "WS_SECRET"),
        r"(?i:secret_?access_?key|aws_secret(?:_key)?)\\?[\"']?\s{0,9}[:=]\s{0,9}\\?[\"']?"
        r"([0-9A-Za-z/+]{40})(?![0-9A-Za-z/+=])",
    ),
    _token(
        "AWS session token",
        r"(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)[0-9A-Za-z+/=%]{100,}",
        *("IQoJb3JpZ2lu", "FwoGZXIvYXdz"),
    ),
    _TokenKind(
        "Azure key",
        ("AccountKey=", "SharedAccessKey="),
        r"(?:Account|SharedAccess)Key=([0-9A-Za-z+/]{43,86}={1,2})",
    ),
    _token("Azure secret", r"[0-9A-Za-z_~.]{3}[78]Q~[\w~.-]{31,34}", "7Q~", "8Q~"),
    _plain("Azure secret", r"[0-9A-Za-z]{76}AZDO[0-9A-Za-z]{4}", "AZDO"),
    _token("GitHub token", r"gh[opsur]_\w{36,}", "gho_", "ghp_", "ghs_", "ghu_", "ghr_"),
    _token("GitHub token", r"github_pat_\w{22,}", "github_pat_"),
    _token(
        "GitLab token",
        r"gl(?:pat|ptt|dt|rt|rtr|cbt|ft|imt|agent|soat|ffct|wt)-[\w.-]{20,}",
        *("glpat-", "glptt-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glft-", "glimt-", "glagent-"),
        *("glsoat-", "glffct-", "glwt-"),
    ),
    _token("GitLab token", r"GR1348941[\w-]{20}", "GR1348941"),
    _token("Slack token", r"xox[a-z](?:\.xox[a-z])?-[\w-]{10,}", "xox"),
    _token("Slack token", r"xapp-\d-[\w-]{20,}", "xapp-"),
    _token("Slack webhook", r"hooks\.slack\.com/(?:services|workflows)/[\w/]{20,}", "hooks.slack"),
    _token("Stripe key", r"[rs]k_(?:live|test)_[0-9A-Za-z]{16,}", "k_live_", "k_test_"),
    _token("Stripe secret", r"whsec_[0-9A-Za-z+/=]{24,}", "whsec_"),
    _token("Anthropic key", r"sk-ant-[a-z0-9]+-[\w-]{20,}", "sk-ant-"),
    _token("OpenRouter key", r"sk-or-v1-[0-9a-f]{40,}", "sk-or-"),
    _token(
        "OpenAI key",
        r"sk-(?:proj|svcacct|admin|None)-[\w-]{40,}|sk-[0-9A-Za-z]{20}T3BlbkFJ[0-9A-Za-z]{20}"
        r"|sk-[0-9A-Za-z]{48}",
        "sk-",
    ),
    _token("Google key", r"AIza[\w-]{35}|AQ\.Ab[\w-]{40,}", "AIza", "AQ.Ab"),
    _token("Google secret", r"GOCSPX-[\w-]{20,}", "GOCSPX-"),
    _token("Google token", r"ya29\.[\w-]{20,}|1//0[\w-]{40,}", "ya29.", "1//0"),
    _token("npm token", r"npm_[0-9A-Za-z]{36,}", "npm_"),
    _TokenKind("npm token", (":_auth",), r":_auth(?:Token)?=([\w+/=-]{20,})"),
    _token("PyPI token", r"pypi-AgE[\w-]{50,}", "pypi-AgE"),
    _token("Hugging Face token", r"(?:hf|api_org)_[0-9A-Za-z]{34}", "hf_", "api_org_"),
    _token("Docker token", r"dckr_(?:pat|oat)_[\w-]{20,}", "dckr_"),
    _token("DigitalOcean token", r"do[oprt]_v1_[0-9a-f]{64}", "_v1_"),
    _token("SendGrid key", r"SG\.[\w-]{22}\.[\w-]{43}", "SG."),
    _token("Shopify token", r"shp(?:at|ca|pa|ss|ua)_[0-9a-fA-F]{32}", "shp"),
    _token("Groq key", r"gsk_[0-9A-Za-z]{48,}", "gsk_"),
    _token("xAI key", r"xai-[0-9A-Za-z]{60,}", "xai-"),
    _token("Vault token", r"hv[sbr]\.[\w-]{24,}", "hvs.", "hvb.", "hvr."),
    _token("Atlassian token", r"AT[AC]TT3[\w=-]{100,}", "ATATT3", "ATCTT3"),
    _token("Databricks token", r"dapi[0-9a-f]{32}(?:-\d)?", "dapi"),
    _token(
        "Doppler token",
        r"dp\.(?:pt|st|ct|sa)\.[\w.-]{40,}",
        *("dp.pt.", "dp.st.", "dp.ct.", "dp.sa."),
    ),
    _token("Dynatrace token", r"dt0[cs]01\.[0-9A-Z]{24}\.[0-9A-Z]{64}", "dt0c01.", "dt0s01."),
    _token("Figma token", r"figd_[\w-]{40,}", "figd_"),
    _token(
        "Grafana token",
        r"glsa_[0-9A-Za-z]{32}_[0-9a-fA-F]{8}|glc_[0-9A-Za-z+/=]{32,}",
        *("glsa_", "glc_"),
    ),
    _token(
        "HubSpot token",
        r"pat-(?:na|eu)\d-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        *("pat-na", "pat-eu"),
    ),
    _token("LangSmith key", r"lsv2_[a-z]{2}_[0-9a-f]{32}_[0-9a-f]{10}", "lsv2_"),
    _token("Linear key", r"lin_(?:api|oauth)_[0-9A-Za-z]{32,}", "lin_api_", "lin_oauth_"),
    _token("New Relic key", r"NRAK-[0-9A-Z]{27}", "NRAK-"),
    _token("Notion token", r"ntn_[0-9A-Za-z]{40,}", "ntn_"),
    _token("NVIDIA key", r"nvapi-[\w-]{60,}", "nvapi-"),
    _token("Perplexity key", r"pplx-[0-9A-Za-z]{40,}", "pplx-"),
    _token("PlanetScale token", r"pscale_(?:tkn|pw|oauth)_[\w.-]{30,}", "pscale_"),
    _token("Postman key", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}", "PMAK-"),
    _token("Pulumi token", r"pul-[0-9a-f]{40}", "pul-"),
    _token("Replicate token", r"r8_[0-9A-Za-z]{37}", "r8_"),
    _token("RubyGems key", r"rubygems_[0-9a-f]{48}", "rubygems_"),
    _token("Sentry token", r"sntrys_[\w+/=-]{60,}|sntryu_[0-9a-f]{64}", "sntry"),
    _token("Supabase key", r"sbp_[0-9a-f]{40}|sb_secret_[\w-]{20,}", "sbp_", "sb_secret_"),
    _token("Tailscale key", r"tskey-[a-z]+-[0-9A-Za-z]{8,}-[0-9A-Za-z]{20,}", "tskey-"),
    _token("Telegram token", r"\d{8,10}:AA[\w-]{33}", ":AA"),
    _token("Terraform token", r"[0-9A-Za-z]{14}\.atlasv1\.[\w-]{60,}", ".atlasv1."),
    _token(
        "Discord webhook",
        r"discord(?:app)?\.com/api/webhooks/\d{17,20}/[\w-]{60,}",
        "/api/webhooks/",
    ),
    _token("age key", r"AGE-SECRET-KEY-1[0-9A-Z]{58}", "AGE-SECRET-KEY-1"),
    _token("JSON Web Token", r"eyJ[\w-]{8,900}\.eyJ[\w-]{8,4000}\.[\w-]{16,}", ".eyJ"),
    _TokenKind(
        "authorization",
        ("uthorization", "UTHORIZATION", "earer "),
        r"(?i)(?:\bauthorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)\s+"
        r"|\bbearer\s+(?=\S*\d))([\w.~+/=-]{16,})",
    ),
    # Not program code, such as `config.keys.of_v2` or `get_key_v2()`.
    _TokenKind(
        "authorization",
        ("-api-key", "-Api-Key", "-API-KEY"),
        r"(?i)\bx-api-key[\"']?\s*[:=]\s*[\"']?(?=[\w~+/=-]{0,200}\d)"
        r"([\w~+/=-]{16,})(?!\.?[\w~+/=(\[-])",
    ),
    _TokenKind(
        "private key",
        ("Private-Lines: ",),
        r"Private-Lines: \d{1,3}\s+((?:[0-9A-Za-z+/=]{4,64}\s+){1,99})Private-",
    ),
    # The password of an address, unless it is one for a machine of its own or a placeholder.
    _TokenKind(
        "password",
        (_ADDRESS_SIGN,),
        r"(?<=[a-z])://[^\s:/@\"'<>{}$]{0,64}:(?!(?i:password|changeme|postgres)@)"
        r"([^\s:/@\"'<>{}()$*]{8,128})@(?!localhost|127\.|[\w.-]*example)[\w-]+\.[\w]",
    ),
)

_SIGNS = (
    _KEY_SIGN.encode(),
    *(sign.encode() for kind in _KINDS for sign in kind.signs if sign != _ADDRESS_SIGN),
)


class Secret(NamedTuple):
    """A secret in a text: its kind, and where it begins and ends."""

    kind: str
    start: int
    end: int


class Masker:
    """Finds the secrets in texts, and masks them."""

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        """`patterns` are the user's; of one with a group, only the group is secret (FatalError)."""
        self.masked = 0  # the number of secrets that were masked
        self._patterns = UserPatterns(patterns, PATTERNS) if patterns else None

    def __call__(self, text: str) -> str:
        """The text with `⟨masked: GitHub token⟩` and the like instead of its secrets."""
        parts, at = list[str](), 0
        for kind, start, end in self.find(text):
            parts += [text[at:start], f"⟨masked: {kind}⟩"]
            at = end
            self.masked += 1
        return "".join((*parts, text[at:])) if parts else text

    def find(self, text: str) -> list[Secret]:
        """The secrets in a text, in order; they do not overlap."""
        plain = _COLOUR.sub(_blank, text) if "[" in text else text
        found = [*_keys(plain)] if _KEY_SIGN in text else []
        for kind in _KINDS:
            if any(sign in text for sign in kind.signs):
                form = re.compile(kind.form)
                spans = (each.span(form.groups) for each in form.finditer(plain))
                found += (Secret(kind.name, *s) for s in spans if not _EXAMPLE.search(plain, *s))
        if self._patterns is not None:
            found += (Secret("secret", *span) for span in self._patterns.spans(text))
        return _apart(found)

    def may_have_secrets(self, data: bytes) -> bool:
        """Whether it is worth while to decode some bytes and look for secrets in them."""
        if self._patterns is not None or any(sign in data for sign in _SIGNS):
            return True
        return _ADDRESS.search(data) is not None


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _apart(found: list[Secret]) -> list[Secret]:
    """Secrets in order, of which those that overlap become one, of the kind of the first."""
    apart: list[Secret] = []
    for each in sorted(found, key=attrgetter("start")):
        if apart and each.start < apart[-1].end:
            apart[-1] = apart[-1]._replace(end=max(apart[-1].end, each.end))
        else:
            apart.append(each)
    return apart


def _keys(text: str) -> Iterator[Secret]:
    """The private keys in a text, also if their end is cut off."""
    at, end = 0, _KEY_END.search(text)
    for begin in _KEY_BEGIN.finditer(text):
        if begin.start() < at:
            continue
        after = begin.end()
        while end and end.start() < after:
            end = _KEY_END.search(text, end.end())
        if end and end.start() - after <= _LONGEST_KEY:
            inner, last = end.start(), end.end()
        else:
            rest = _KEY_REST.match(text, after)
            inner = last = rest.end() if rest else after
        if _KEY_TEXT.search(text, after, inner) and not _CODE.search(text, after, inner):
            yield Secret("private key", begin.start(), last)
            at = last


def mask_value(mask: Callable[[str], str], name: str, text: str) -> str:
    """The text at a name, which is masked already, without secrets; the name may say it is one."""
    front = f"{name}: "
    return mask(front + mask(text)).removeprefix(front)


def masker_of(git: Git) -> Masker:
    """A masker that also masks what the user's patterns match (FatalError if one is invalid)."""
    return Masker(configured(git, PATTERNS))


class LenientMasker:
    """Masks texts that a command shows beside its work; hides them if a pattern cannot be used."""

    def __init__(self, git: Git) -> None:
        self._masker: Masker | None = None
        with suppress(FatalError):
            self._masker = masker_of(git)

    def __call__(self, text: str) -> str:
        """The text without its secrets, or a note instead of it."""
        try:
            if self._masker:
                return self._masker(text)
        except FatalError:
            # It would take as long for the next text.
            self._masker = None
        return f"⟨masked: {PATTERNS} cannot be used⟩"

"""Secrets with a known form are masked, and nothing else is."""

from __future__ import annotations

import base64
import hashlib
import random
import string
import uuid
from collections.abc import Callable

import pytest

from git_boocode.repo import user_patterns
from git_boocode.repo.errors import FatalError
from git_boocode.repo.masking import LenientMasker, Masker, masker_of
from git_boocode.repo.repository import Repository
from tests.repo_kit import Repo

LETTERS = string.ascii_letters + string.digits
KEY = """-----BEGIN {0}PRIVATE KEY-----
{1}
{1}
-----END {0}PRIVATE KEY-----"""

Random = random.Random


def some(chance: Random, length: int, alphabet: str = LETTERS) -> str:
    return "".join(chance.choices(alphabet, k=length))


def pem(chance: Random) -> str:
    kind = chance.choice(("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "))
    return KEY.format(kind, some(chance, 64))


def jwt(chance: Random) -> str:
    url = LETTERS + "-_"
    return f"eyJ{some(chance, 20, url)}.eyJ{some(chance, 60, url)}.{some(chance, 43)}"


SECRETS: dict[str, Callable[[Random], str]] = {
    "AWS access key": lambda chance: "AKIA" + some(chance, 16, string.ascii_uppercase + "234567"),
    "AWS secret key": lambda chance: some(chance, 40, LETTERS + "/+"),
    "GitHub token": lambda chance: chance.choice(("ghp_", "gho_", "ghs_")) + some(chance, 36),
    "GitHub token ": lambda chance: f"github_pat_{some(chance, 22)}_{some(chance, 59)}",
    "GitLab token": lambda chance: f"glpat-{some(chance, 20)}",
    "Slack token": lambda chance: f"xoxb-{some(chance, 12, string.digits)}-{some(chance, 24)}",
    "Stripe key": lambda chance: chance.choice(("sk_live_", "rk_test_")) + some(chance, 24),
    "Anthropic key": lambda chance: f"sk-ant-api03-{some(chance, 90, LETTERS + '-_')}A",
    "OpenAI key": lambda chance: f"sk-proj-{some(chance, 60, LETTERS + '-_')}A",
    "OpenAI key ": lambda chance: f"sk-{some(chance, 20)}T3BlbkFJ{some(chance, 20)}",
    "Google key": lambda chance: f"AIza{some(chance, 34, LETTERS + '-_')}A",
    "npm token": lambda chance: f"npm_{some(chance, 36)}",
    "PyPI token": lambda chance: f"pypi-AgEIcHlwaS5vcmc{some(chance, 120, LETTERS + '-_')}A",
    "Hugging Face token": lambda chance: f"hf_{some(chance, 34, string.ascii_letters)}",
    "private key": pem,
    "JSON Web Token": jwt,
    "authorization": lambda chance: some(chance, 30) + "7",
}
AROUND = (
    "{}",
    "export TOKEN={}",
    'the token is "{}", keep it',
    "https://x:{}@example.org/a.git",
    "first line\\n{}\\nlast line",
    "{{'key': '{}'}}",
    "one\n{}\ntwo",
    "q=1&token%3D{}&x=2",
)


def planted(number: int) -> tuple[str, str, str]:
    """A secret, its kind, and a text that contains it."""
    chance = random.Random(number)
    kind, make = list(SECRETS.items())[number % len(SECRETS)]
    secret = make(chance)
    around = AROUND[number // len(SECRETS) % len(AROUND)]
    if kind == "authorization":
        around = chance.choice(("Authorization: Bearer {}", 'curl -H "authorization: token {}"'))
    if kind == "AWS secret key":
        around = chance.choice(
            (
                "aws_secret_access_key = {}\nregion = eu-west-1",
                "export AWS_SECRET_ACCESS_KEY={}",
                '{{"SecretAccessKey": "{}"}}',
                r"{{\"secretAccessKey\": \"{}\"}}",
            )
        )
    return secret, kind.strip(), around.format(secret)


def innocent(chance: Random) -> str:
    """A text that looks random, or like the beginning of a token."""
    data = chance.randbytes(chance.randrange(16, 400))
    return chance.choice(
        (
            lambda: hashlib.sha1(data).hexdigest(),
            lambda: f"sha256:{hashlib.sha256(data).hexdigest()}",
            lambda: f"sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}",
            lambda: str(uuid.UUID(bytes=data[:16])),
            lambda: f"data:image/png;base64,{base64.b64encode(data).decode()}",
            lambda: base64.urlsafe_b64encode(data).decode(),
            lambda: f"index {data[:4].hex()}..{data[4:8].hex()} 100644",
            lambda: f"msg_{some(chance, 24)}",
            lambda: f"call_{some(chance, 24)}",
            lambda: f"sk-{some(chance, 12, string.ascii_lowercase)}-learn",
            lambda: f"npm_config_{some(chance, 30, string.ascii_lowercase + '_')}",
            lambda: f"hf_hub_{some(chance, 34, string.ascii_lowercase + '_')}",
            lambda: f"ghp_{some(chance, 12)}",
            lambda: f"secret_access_key = {hashlib.sha256(data).hexdigest()}",
            lambda: f"glob-{some(chance, 30, string.ascii_lowercase + '-')}",
            lambda: f"sk-{some(chance, 40, string.ascii_lowercase + '-')}",
            lambda: f"the bearer of {some(chance, 20)} has authorization: all of it",
            lambda: f"-----BEGIN PRIVATE KEY----- {some(chance, 12)}",
            lambda: f"-----BEGIN CERTIFICATE-----\n{some(chance, 64)}\n-----END CERTIFICATE-----",
            lambda: KEY.format("", f"f({some(chance, 20)})"),
            lambda: f"password = os.environ['{some(chance, 20)}']",
            lambda: f"/home/me/{some(chance, 10)}/{some(chance, 40)}.py",
            lambda: "Authorization: Bearer <token>, the bearer authentication of everyone",
        )
    )()


def test_planted_secrets_are_masked() -> None:
    for number in range(240):
        secret, kind, text = planted(number)
        mask = Masker()
        assert mask(text) == text.replace(secret, f"⟨masked: {kind}⟩"), text
        assert mask.masked == 1


def test_innocent_texts_stay() -> None:
    chance, mask = random.Random(39), Masker()
    for _ in range(10_000):
        text = innocent(chance)
        assert mask(text) == text
    assert mask.masked == 0


def test_a_private_key_without_its_end_is_masked() -> None:
    key = KEY.format("RSA ", some(random.Random(1), 64)).partition("-----END")[0]
    assert Masker()(f"+{key}") == "+⟨masked: private key⟩"
    text = f"key = '{key.strip()}'\nprint(key)"
    assert Masker()(text) == "key = '⟨masked: private key⟩'\nprint(key)"


@pytest.mark.slow
def test_masking_takes_linear_time() -> None:
    begin = "-----BEGIN PRIVATE KEY-----"
    for text in (begin * 20_000, "eyJ" + "a" * 500_000, "Bearer " * 100_000, "sk-" * 200_000):
        assert Masker()(text) == text


def test_patterns_of_the_user(repo: Repo) -> None:
    for pattern in ("PIN: [0-9]+", r"password=(\S+)"):
        repo.git("config", "--add", "boocode.secret", pattern)
    mask = masker_of(Repository.discover().git)
    shown = mask("PIN: 1234, password=hunter2, password=")
    assert shown == "⟨masked: secret⟩, password=⟨masked: secret⟩ password="
    assert mask.masked == 2
    repo.git("config", "--add", "boocode.secret", "(")
    with pytest.raises(FatalError, match="not a valid regular expression"):
        masker_of(Repository.discover().git)


def test_texts_are_hidden_if_a_pattern_takes_too_long(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.git("config", "boocode.secret", r"(a+)+$")
    mask = LenientMasker(Repository.discover().git)
    assert mask("one") == "one"
    monkeypatch.setattr(user_patterns, "_SECONDS", 0.2)
    hidden = "⟨masked: boocode.secret cannot be used⟩"
    assert mask(f"{'a' * 60}!") == hidden
    # Not as long for each text.
    assert mask("one") == hidden


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(?:.*,)*x"])
def test_a_pattern_that_takes_too_long_is_named(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mask = Masker(["PIN: [0-9]+", pattern])
    assert mask("PIN: 1234") == "⟨masked: secret⟩"
    monkeypatch.setattr(user_patterns, "_SECONDS", 0.2)
    with pytest.raises(FatalError, match="takes more") as caught:
        mask(f"{'a,' * 5_000}{'a' * 60}!")
    assert pattern in caught.value.message
    monkeypatch.undo()
    assert mask("PIN: 1234") == "⟨masked: secret⟩"

"""No password comes out, however it was written into a URL."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwave.platform.doctor import collect_findings
from longwave.platform.errors import LongwaveError, StoreError
from longwave.platform.redaction import find_secrets, make_logger, redact_code, redact_document, redacted
from longwave.platform.render.terminal import Terminal
from longwave.platform.storage.engine import without_password
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.trackers.tracker import TrackerError

CANARY = "c4n4ryS3cret"
PARTS = ("@", "/", "#", ":", "?", " ", "%40", "&", "=", "ü", "漢", "'", '"', "\\", "[", "]", "://", "1", "a", "<", "{")
hostile = st.lists(st.sampled_from(PARTS), max_size=5).map("".join)
schemes = st.sampled_from(["postgresql", "POSTGRESQL", "postgresql+psycopg", "https", "HTTP", "mysql", "s3", "oddity"])


@given(schemes, hostile, hostile, st.sampled_from(["", "alice"]), st.sampled_from(["h", "10.0.0.1:5432", "[::1]:80"]))
def test_whatever_a_password_is_made_of_it_is_not_in_the_text(
    scheme: str, before: str, after: str, user: str, host: str
) -> None:
    url = f"{scheme}://{user}:{before}{CANARY}{after}@{host}/db"
    for text in (url, f"The store {url} cannot be used: no.", f"Both http://there:80/x and {url} failed", repr(url)):
        assert CANARY not in redacted(text)
    assert CANARY not in without_password(url)
    assert redacted(url).endswith(f"@{host}/db"), "the place is what a reader needs"
    assert redacted(redacted(url)) == redacted(url)
    misread = f"could not translate host name '{before}{CANARY}{after}@{host}' to address"
    assert CANARY not in redacted(misread, url)


@pytest.mark.parametrize(
    "text",
    [
        f"postgres:/u:{CANARY}@h/db", f"u:{CANARY}@h/db", f"postgresql://u:{CANARY}", f"https://{CANARY}@h/x",
        f"host=h password={CANARY} user=u", f"host=h password='a \\' {CANARY}' user=u", f"password = {CANARY}",
        f"https://h/x?token={CANARY}&y=1", f"https://h/x?a=1&API_KEY={CANARY}", f"sslpassword={CANARY}",
        f"{{'password': 'a {CANARY}'}}", f'{{"access_token": "{CANARY}"}}', f"Authorization: Bearer {CANARY}",
        f"https://acc.blob.core.windows.net/c?sv=2020&sig={CANARY}%3D&se=2030", f"a;AccountKey={CANARY}=",
        f"?SharedAccessSignature={CANARY}", f"PGPASSWORD={CANARY} psql", f"postgresql://h/db?user=u&pass={CANARY}",
        f"https://h?auth={CANARY}", f"wandb.ai/authorize?key={CANARY}", f"password: {CANARY}", f"pwd: 'a {CANARY}'",
        f"X-Api-Key: {CANARY}", f"Authorization: Token {CANARY}", f"Authorization: {CANARY}", f"--password {CANARY}",
        f"--api-key '{CANARY}'", f"private_key={CANARY}", f"secretkey={CANARY}", f"dbPassword={CANARY}",
        f"postgresql://h/db?user=u&password=a {CANARY}", f"a://u:p@h b://u:{CANARY}@h2", f"https://u:1/{CANARY} x@h/",
        f'{{"body": "{{\\"password\\": \\"{CANARY}\\"}}"}}', f"{{'api_key': b'{CANARY}'}}", f"X-Auth-Token: {CANARY}",
        f"os.environ['PGPASSWORD'] = '{CANARY}'", f"password:{CANARY}",
    ],
)  # fmt: skip
def test_other_ways_to_write_a_secret_are_known(text: str) -> None:
    assert CANARY not in redacted(text) and "***" in redacted(text)


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1:5000: connection refused", "sqlite:////tmp/x.db has no sweep tiny@1a2b3c4d", "a 50 % b = 3",
        "No sweep 'tiny@1a2b3c4d'. Known: b.", "https://zenodo.org/record/1/files/a.ts (HTTP 404). Try again.",
        "A store is sqlite:///file.db or postgresql://..., got 'x'.", "tokens = 50, inputs: 10", "http://[::1]:80/x",
        "Unexpected token: <", "signature: (x, y)", "the key = 3 of pass = 2", "--store URL --key 1",
    ],
)  # fmt: skip
def test_text_without_a_secret_stays_as_it_is(text: str) -> None:
    assert redacted(text) == text


def test_several_urls_in_a_line_keep_their_places() -> None:
    line = "from postgresql://a:b@one/db to https://c:d@two/x, see http://three:80/y"
    assert redacted(line) == "from postgresql://***@one/db to https://***@two/x, see http://three:80/y"


@pytest.mark.parametrize("odd", ["", "p@ss", "p/w", "p#w", "p w", "p:w", "ü?x", "a:1"])
def test_no_error_of_a_store_and_no_finding_tells_a_password(odd: str) -> None:
    url = f"postgresql://u:{odd}{CANARY}@127.0.0.1:1/db"
    with pytest.raises(StoreError, match=r"\*\*\*@127\.0\.0\.1:1/db") as caught:
        Store(url, create=False)
    assert CANARY not in str(caught.value) and "\n" not in str(caught.value)
    findings = [f for f in collect_findings(url) if f.what.startswith("store")]
    assert findings and not any(f.good for f in findings) and CANARY not in str(findings)


def test_an_error_of_ours_and_the_terminal_hide_what_they_are_given(capsys: pytest.CaptureFixture[str]) -> None:
    url = f"https://u:{CANARY}@h:5000"
    for kind in (LongwaveError, StoreError, TrackerError):
        assert str(kind(f"MLflow at {url} did not answer.")) == "MLflow at https://***@h:5000 did not answer."
    Terminal(width=200).print(f"[yellow]{url}. Nothing is lost.[/]")
    assert re.match(r"https://\*\*\*@h:5000. Nothing is lost.\n", capsys.readouterr().out)


def test_code_loses_its_passwords_and_nothing_else() -> None:
    code = f'''token = next(tokens)
signature = inspect.signature(step)
y = x[:, 0]@w  # a basic matrix product, see https://example.org/a
password = "a {CANARY}", API_KEY='{CANARY}'
url = f"postgresql://bob:{CANARY}@host/db", "https://h/x?token={CANARY}&y=1", {{"secret": "{CANARY}"}}
empty = password == "", secret="", password: str = "", key="dt", monkey["key"] = "lem"
os.environ["DB_PASSWORD"] = "{CANARY}"; os.environ['WANDB_API_KEY']='{CANARY}'; dbPassword = "{CANARY}"
password: str = "{CANARY}", secret: Final[str | None] = f"{CANARY}", PASSWORD = b"{CANARY}"
password = \"""{CANARY}\""", headers = {{"Authorization": "{CANARY}"}}
headers["Authorization"] = "Bearer {CANARY}", ("authorization", "Basic {CANARY}")
'''
    clean = code.replace(f"a {CANARY}", "***").replace(f"bob:{CANARY}", "***").replace(CANARY, "***")
    assert redact_code(code) == redact_code(clean) == clean


def test_a_document_loses_its_passwords_in_texts_names_and_values_of_telling_names() -> None:
    url = f"https://bob:{CANARY}@host/x"
    document = {"run": {"reason": f"no {url}", "n": 3, "ok": [None, True, url]}, url: 1.5, "db_password": CANARY}
    clean = redact_document(document)
    assert clean == {
        "run": {"reason": "no https://***@host/x", "n": 3, "ok": [None, True, "https://***@host/x"]},
        "https://***@host/x": 1.5,
        "db_password": "***",
    }
    assert list(find_secrets(document)) == ["run.reason", "run.ok.2", "https://***@host/x", "db_password"]
    assert list(find_secrets(clean)) == []


NAMED = ["password=", "u:p@h", "https://", "Bearer abcdefg", "***", "&b", "t = ", "token = ", "password: ", "\\"]


@given(st.lists(st.sampled_from([*PARTS, *NAMED, "Authorization: Basic ", "'password': "])))
def test_what_was_redacted_holds_no_secret_any_more(parts: list[str]) -> None:
    assert list(find_secrets(redact_document("".join(parts)))) == []
    assert redact_code(redact_code("".join(parts))) == redact_code("".join(parts))


def test_a_log_has_no_password(logged: io.StringIO) -> None:
    make_logger("longwave.tests").warning("No probe: %s", OSError(f"cannot reach https://bob:{CANARY}@host/x"))
    assert logged.getvalue() == "No probe: cannot reach https://***@host/x\n"


@pytest.mark.parametrize("part", ["_", "a", "a+", ":", '\\"', "password= ", "a:/***@", "a:b/", "http:", "''", " a"])
@pytest.mark.parametrize("start", ["", "password=", '"token": "', "http://"])
def test_a_long_text_takes_time_in_proportion_to_its_length(start: str, part: str) -> None:
    # A second of processor is the limit of a test; with a quadratic search some of these take minutes.
    assert len(redacted(start + part * (100_000 // len(part)) + " @")) > 0

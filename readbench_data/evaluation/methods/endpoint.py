"""A language model behind an HTTP endpoint in OpenAI's or Anthropic's format, provided by the user.

READBENCH_LLM_URL     https://host/v1            (…/chat/completions or …/messages is added)
READBENCH_LLM_MODEL   the model's name at that endpoint
READBENCH_LLM_STYLE   openai (default) or anthropic
READBENCH_LLM_KEY     the API key; may be empty for a local server
"""

from __future__ import annotations

import http.client
import json
import os
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from readbench_data.errors import ReadbenchError

STYLES = ("openai", "anthropic")
TRIES = 3
BUSY = (408, 429, 500, 502, 503, 504, 529)
LONGEST_ANSWER = 1024
"""Tokens a reply may have."""


@dataclass(frozen=True)
class Endpoint:
    """Address and format of a language model. ``pause_s``: wait before the second attempt, doubled before the third."""

    url: str
    model: str
    style: str = "openai"
    key: str = ""
    timeout_s: float = 120.0
    pause_s: float = 1.0

    @classmethod
    def from_environment(cls) -> Endpoint:
        """Return the endpoint that the environment describes.

        Raises
        ------
        ReadbenchError
            A variable is not set; the message names it.
        """
        found = {k: os.environ.get(f"READBENCH_LLM_{k}", "") for k in ("URL", "MODEL", "STYLE", "KEY")}
        if not found["URL"] or not found["MODEL"]:
            raise ReadbenchError("needs a language model: set READBENCH_LLM_URL and READBENCH_LLM_MODEL")
        style = found["STYLE"] or "openai"
        if style not in STYLES:
            raise ReadbenchError(f"READBENCH_LLM_STYLE is {style!r}; use {' or '.join(STYLES)}")
        return cls(found["URL"].rstrip("/"), found["MODEL"], style, found["KEY"])

    def ask(self, prompt: str) -> str:
        """Return the text of the reply, at temperature 0. A busy server gets three attempts.

        Raises
        ------
        ReadbenchError
            The server did not answer.
        """
        place = "/chat/completions" if self.style == "openai" else "/messages"
        body = {
            "model": self.model,
            "max_tokens": LONGEST_ANSWER,
            "temperature": 0,
            "messages": [{"role": "user", "content": prompt}],
        }
        headers = {"Content-Type": "application/json"}
        if self.style == "anthropic":
            headers |= {"x-api-key": self.key, "anthropic-version": "2023-06-01"}
        elif self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        request = urllib.request.Request(self.url + place, json.dumps(body).encode(), headers)
        for attempt in range(TRIES):
            try:
                with urllib.request.urlopen(request, timeout=self.timeout_s) as answer:
                    return self._text(json.loads(answer.read()))
            except urllib.error.HTTPError as error:
                if error.code not in BUSY or attempt == TRIES - 1:
                    raise ReadbenchError(f"{self.url} answered {error.code} {error.reason}") from error
            except (OSError, http.client.HTTPException) as error:
                if attempt == TRIES - 1:
                    raise ReadbenchError(f"{self.url} cannot be reached: {error}") from error
            except ValueError as error:
                raise ReadbenchError(f"{self.url} did not answer in the {self.style} format") from error
            time.sleep(self.pause_s * 2**attempt)
        raise AssertionError("unreachable")

    def _text(self, answer: Any) -> str:
        try:
            if self.style == "openai":
                return str(answer["choices"][0]["message"]["content"])
            return "".join(str(part["text"]) for part in answer["content"] if part["type"] == "text")
        except (KeyError, IndexError, TypeError) as error:
            raise ValueError("no text in the reply") from error

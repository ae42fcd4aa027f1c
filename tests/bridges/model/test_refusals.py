"""One test for each error row that was measured: its code, its numbers, and a fit message."""

from __future__ import annotations

import json
from typing import Any

import pytest

from onlooker.bridges.boundary import LimitRejected
from onlooker.bridges.model.refusals import read_error, read_refusal
from onlooker.errors import BridgeError, BridgeRejected

pytestmark = pytest.mark.pure

BAD = "BadRequestError"


def refusal(
    status: int, message: str, kind: str = BAD, param: str | None = None, code: Any = None
) -> BridgeError:
    error = {"message": message, "type": kind, "param": param, "code": code or status}
    return read_refusal(
        status,
        "application/json",
        json.dumps({"error": error}).encode(),
        bridge="model",
        where="http://here",
    )


def plain(status: int, body: bytes, content_type: str = "text/plain") -> BridgeError:
    return read_refusal(status, content_type, body, bridge="model", where="http://here")


@pytest.mark.parametrize(
    ("message", "limit", "asked"),
    [
        ("Input length (17373) exceeds model's maximum context length (16384).", 16_384, 17_373),
        (
            "This model's maximum context length is 8192 tokens. However, you requested 9000 "
            "tokens (8800 in the messages, 200 in the completion).",
            8_192,
            9_000,
        ),
        (
            "The decoder prompt (length 17373) is longer than the maximum model length of 16384.",
            16_384,
            17_373,
        ),
        ("'max_tokens' is too large: the maximum model length is small", None, None),
    ],
)
def test_context_exceeded_with_its_numbers(
    message: str, limit: int | None, asked: int | None
) -> None:
    error = refusal(400, message)
    assert error.code == "context_exceeded"
    assert isinstance(error, LimitRejected)
    assert (error.limit, error.asked, error.status) == (limit, asked, 400)
    assert not error.retryable


def test_context_exceeded_by_its_code_alone() -> None:
    assert refusal(400, "", code="context_length_exceeded").code == "context_exceeded"


def test_max_tokens_past_the_context_is_no_long_prompt() -> None:
    error = refusal(400, "max_tokens=20000 cannot be greater than max_model_len=16384. Please")
    assert error.code == "max_tokens_too_large"
    assert isinstance(error, LimitRejected)
    assert (error.limit, error.asked) == (16_384, 20_000)


def test_too_many_images_with_the_limit() -> None:
    message = "At most 120 image(s) may be provided in one prompt. (parameter=image)"
    error = refusal(400, message, param="image")
    assert error.code == "too_many_images"
    assert isinstance(error, LimitRejected)
    assert error.limit == 120


@pytest.mark.parametrize(
    "message",
    ["tiny is not a multimodal model", "At most 0 image(s) may be provided in one prompt."],
)
def test_a_model_that_takes_no_pictures(message: str) -> None:
    assert refusal(400, message).code == "not_multimodal"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Cache miss for image at index 0 but data is not provided."),
        (400, "Failed to apply Qwen3VLProcessor on data={'text': '', 'images': [None, None]}"),
        (500, "Expected a cached item for mm_hash='abc'"),
    ],
)
def test_c29_a_picture_that_is_not_held_any_more(status: int, message: str) -> None:
    error = refusal(status, message)
    assert error.code == "cache_miss"
    assert error.retryable


@pytest.mark.parametrize(
    "message",
    [
        "Non-base64 digit found",
        "Failed to load image: cannot identify image file <_io.BytesIO object at 0x7f>",
        "Failed to load image: image file is truncated (33 bytes not processed)",
        "Failed to apply Qwen3VLProcessor on data={'text': 'x'}",
    ],
)
def test_a_picture_that_cannot_be_read(message: str) -> None:
    error = refusal(400, message)
    assert error.code == "bad_image"
    assert not error.retryable


def test_an_unhandled_error_of_the_server() -> None:
    error = refusal(500, "Internal server error", "InternalServerError")
    assert error.code == "server_error"
    assert error.retryable


def test_a_failed_prompt_replacement_is_the_servers_fault() -> None:
    message = "Failed to apply prompt replacement for mm_items['image'][46]"
    assert refusal(500, message, "InternalServerError").code == "server_error"


def test_a_dead_engine() -> None:
    message = "EngineCore encountered an issue. See stack trace (above) for the root cause."
    assert refusal(500, message, "InternalServerError").code == "engine_dead"


def test_a_busy_engine() -> None:
    message = "The engine is currently busy and cannot accept new requests."
    error = refusal(503, message, "ServiceUnavailableError")
    assert error.code == "busy"
    assert error.retryable


def test_a_model_that_is_not_there() -> None:
    error = refusal(404, "The model `x` does not exist.", "NotFoundError", "model")
    assert error.code == "model_not_found"
    assert "model.name" in error.message


def test_a_bad_grammar() -> None:
    assert refusal(400, "Grammar error: unexpected token").code == "bad_grammar"


def test_bad_sampling_names_the_parameter_and_no_value() -> None:
    error = refusal(400, "temperature must be non-negative, got -1.", param="temperature")
    assert error.code == "bad_request"
    assert "(temperature)" in error.message
    assert "-1" not in error.message


@pytest.mark.parametrize("param", ["What is my password?", "x" * 60, "<b>", ""])
def test_a_parameter_that_could_be_content_is_not_shown(param: str) -> None:
    error = refusal(400, "no", param=param)
    assert not param or param not in error.message


def test_unauthorized_with_an_error_that_is_a_string() -> None:
    error = plain(401, b'{"error":"Unauthorized"}', "application/json")
    assert error.code == "unauthorized"
    assert isinstance(error, BridgeRejected)
    assert error.status == 401


@pytest.mark.parametrize("status", [404, 405])
def test_a_path_nobody_knows_is_a_wrong_url(status: int) -> None:
    error = plain(status, b'{"detail":"Not Found"}', "application/json")
    assert error.code == "wrong_url"


def test_a_redirect_is_a_wrong_url() -> None:
    assert plain(307, b"").code == "wrong_url"


@pytest.mark.parametrize("status", [200, 400, 500])
@pytest.mark.parametrize("content_type", ["text/html; charset=utf-8", "text/plain", ""])
def test_c35_a_web_page_is_no_reply(status: int, content_type: str) -> None:
    error = plain(status, b"  <!DOCTYPE html><h1>Welcome</h1>", content_type)
    assert error.code == "html_reply"
    assert "Welcome" not in error.message


@pytest.mark.parametrize(
    ("status", "code"), [(502, "unreachable"), (503, "busy"), (504, "timeout"), (429, "busy")]
)
def test_a_gateways_page_means_its_status(status: int, code: str) -> None:
    error = plain(status, b"<html>502 Bad Gateway</html>", "text/html")
    assert error.code == code
    assert error.retryable


@pytest.mark.parametrize("body", [b"", b"ok", b'{"object":"chat.completion"}', b"[]"])
def test_a_success_that_is_no_stream(body: bytes) -> None:
    assert plain(200, body, "application/json").code == "not_json"


def test_an_error_without_json_goes_by_its_status() -> None:
    assert plain(500, b"Internal Server Error").code == "server_error"
    assert plain(400, b"no").code == "bad_request"
    assert plain(413, b"no").code == "request_too_large"


def test_deeply_nested_json_is_just_no_json() -> None:
    assert plain(400, b"[" * 100_000).code == "bad_request"


def test_inside_a_stream_the_objects_code_is_the_status() -> None:
    def code(value: Any) -> str:
        return read_error({"message": "m", "code": value}, bridge="model", where="h").code

    assert code(503) == "busy"
    assert code(400) == "bad_request"
    assert code("odd") == code(None) == code(7) == "server_error"

"""The official OpenAI library for Python against hob."""

import json
import os

import openai
import pydantic

URL, KEY = os.environ["HOB_URL"], os.environ["HOB_KEY"]
client = openai.OpenAI(base_url=URL, api_key=KEY, max_retries=0)
HELLO = "Hello from the model."
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather of a city",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        },
    }
]


def says(text):
    return [{"role": "user", "content": text}]


def models():
    ids = [model.id for model in client.models.list()]
    assert "hob" in ids and any(name.startswith("sim/") for name in ids), ids
    one = next(name for name in ids if name.startswith("sim/"))
    assert client.models.retrieve(one).owned_by == "sim"


def chat():
    for model in ["sim/one", "hob", "default"]:
        done = client.chat.completions.create(
            model=model, messages=says("hi"), temperature=0, user="me", seed=1
        )
        assert done.choices[0].message.content == HELLO, done
        assert done.choices[0].finish_reason == "stop"
        assert done.model == "sim/one"
        # Behind `hob` stand its own tools, whose words count.
        expected = 3000 if model == "hob" else 12
        assert done.usage.total_tokens == expected, done.usage


def stream():
    chunks = list(
        client.chat.completions.create(
            model="sim/one",
            messages=says("hi"),
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    assert chunks[0].choices[0].delta.role == "assistant"
    pieces = [c.choices[0].delta.content for c in chunks if c.choices and c.choices[0].delta.content]
    assert "".join(pieces) == HELLO and len(pieces) > 1, pieces
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].choices == [] and chunks[-1].usage.total_tokens == 12
    assert len({chunk.id for chunk in chunks}) == 1


def parsed():
    class City(pydantic.BaseModel):
        city: str

    done = client.chat.completions.parse(
        model="sim/one", messages=says("json"), response_format=City
    )
    assert done.choices[0].message.parsed == City(city="Paris")


def tools():
    messages = says("weather")
    first = client.chat.completions.create(model="sim/one", messages=messages, tools=TOOLS)
    assert first.choices[0].finish_reason == "tool_calls"
    message = first.choices[0].message
    cities = [json.loads(call.function.arguments)["city"] for call in message.tool_calls]
    assert cities == ["Bath", "Rome"], cities
    messages.append(message)
    for call, answer in zip(message.tool_calls, ["wet", "warm"]):
        messages.append({"role": "tool", "tool_call_id": call.id, "content": answer})
    done = client.chat.completions.create(model="sim/one", messages=messages, tools=TOOLS)
    assert done.choices[0].message.content == "It is wet and warm."


def streamed_tools():
    messages = says("weather")
    with client.chat.completions.stream(model="hob", messages=messages, tools=TOOLS) as events:
        for _ in events:
            pass
        message = events.get_final_completion().choices[0].message
    calls = message.tool_calls
    assert [call.function.name for call in calls] == ["get_weather"] * 2, calls
    messages.append(message.model_dump(exclude={"parsed"}, exclude_none=True))
    for part in messages[-1]["tool_calls"]:
        part["function"].pop("parsed_arguments", None)
        part.pop("index", None)
    for call, answer in zip(calls, ["dry", "hot"]):
        messages.append({"role": "tool", "tool_call_id": call.id, "content": answer})
    done = client.chat.completions.create(model="hob", messages=messages, tools=TOOLS)
    assert done.choices[0].message.content == "It is dry and hot."


def session():
    for words in ["first", "second"]:
        done = client.chat.completions.create(
            model="hob",
            messages=[{"role": "user", "content": "not taken"}] + says(words),
            metadata={"session": "from-the-client"},
        )
        assert done.choices[0].message.content == HELLO


def fails(error, status, code, param=None, *, key=KEY, **ask):
    other = openai.OpenAI(base_url=URL, api_key=key, max_retries=0)
    ask = {"model": "sim/one", "messages": says("hi"), **ask}
    try:
        other.chat.completions.create(**ask)
    except error as failure:
        got = (failure.status_code, failure.code, failure.param)
        assert got == (status, code, param), (got, failure)
    else:
        raise AssertionError(f"{ask} did not fail")


def errors():
    fails(openai.AuthenticationError, 401, "invalid_api_key", key="wrong")
    fails(openai.NotFoundError, 404, "model_not_found", "model", model="nobody/nothing")
    fails(openai.NotFoundError, 404, "model_not_found", "model", model="nonsense", stream=True)
    fails(openai.BadRequestError, 400, "unsupported_value", "n", n=2)
    fails(openai.BadRequestError, 400, "invalid_type", "messages[0].content", messages=[{"role": "user", "content": 5}])
    fails(openai.InternalServerError, 502, "model_failed", messages=says("refuse"))
    fails(openai.InternalServerError, 502, "model_failed", messages=says("refuse"), stream=True)


def hang_up():
    stream = client.chat.completions.create(model="sim/one", messages=says("endless"), stream=True)
    heard = 0
    for chunk in stream:
        heard += bool(chunk.choices[0].delta.content)
        if heard == 3:
            break
    stream.close()
    client.close()


for step in [models, chat, stream, parsed, tools, streamed_tools, session, errors, hang_up]:
    step()
    print("well:", step.__name__, flush=True)
print("all well")

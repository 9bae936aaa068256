// The official OpenAI library for JavaScript against hob.

const assert = require("node:assert/strict");
const { OpenAI } = require("openai");

const [baseURL, apiKey] = [process.env.HOB_URL, process.env.HOB_KEY];
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const HELLO = "Hello from the model.";
const tools = [
  {
    type: "function",
    function: {
      name: "get_weather",
      description: "The weather of a city",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    },
  },
];
const says = (content) => [{ role: "user", content }];
const create = (ask) => client.chat.completions.create({ model: "sim/one", ...ask });

async function models() {
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  const one = ids.find((id) => id.startsWith("sim/"));
  assert(ids.includes("hob") && one, ids.join());
  assert.equal((await client.models.retrieve(one)).owned_by, "sim");
}

async function chat() {
  for (const model of ["sim/one", "hob", "default"]) {
    const done = await create({ model, messages: says("hi"), temperature: 0 });
    assert.equal(done.choices[0].message.content, HELLO);
    assert.equal(done.choices[0].finish_reason, "stop");
    assert.equal(done.model, "sim/one");
    // Behind `hob` stand its own tools, whose words count.
    assert.equal(done.usage.total_tokens, model === "hob" ? 3000 : 12);
  }
}

async function stream() {
  const chunks = [];
  const asked = { messages: says("hi"), stream: true, stream_options: { include_usage: true } };
  for await (const chunk of await create(asked)) chunks.push(chunk);
  assert.equal(chunks[0].choices[0].delta.role, "assistant");
  const pieces = chunks.map((chunk) => chunk.choices[0]?.delta.content).filter(Boolean);
  assert.equal(pieces.join(""), HELLO);
  assert(pieces.length > 1);
  assert.equal(chunks.at(-2).choices[0].finish_reason, "stop");
  assert.equal(chunks.at(-1).usage.total_tokens, 12);
}

async function clientTools() {
  const messages = says("weather");
  const first = await create({ messages, tools });
  assert.equal(first.choices[0].finish_reason, "tool_calls");
  const message = first.choices[0].message;
  const cities = message.tool_calls.map((call) => JSON.parse(call.function.arguments).city);
  assert.deepEqual(cities, ["Bath", "Rome"]);
  messages.push(message);
  message.tool_calls.forEach((call, at) =>
    messages.push({ role: "tool", tool_call_id: call.id, content: ["wet", "warm"][at] }),
  );
  const done = await create({ messages, tools });
  assert.equal(done.choices[0].message.content, "It is wet and warm.");
}

// The library runs the tools by itself, over a stream.
async function runTools() {
  const asked = [];
  const runner = client.chat.completions.runTools({
    model: "hob",
    messages: says("weather"),
    stream: true,
    tools: [
      {
        type: "function",
        function: {
          ...tools[0].function,
          parse: JSON.parse,
          function: ({ city }) => {
            asked.push(city);
            return `${city} is fine`;
          },
        },
      },
    ],
  });
  assert.equal(await runner.finalContent(), "It is Bath is fine and Rome is fine.");
  assert.deepEqual(asked, ["Bath", "Rome"]);
}

async function session() {
  for (const words of ["first", "second"]) {
    const messages = [...says("not taken"), ...says(words)];
    const metadata = { session: "from-the-client" };
    const done = await create({ model: "hob", messages, metadata });
    assert.equal(done.choices[0].message.content, HELLO);
  }
}

async function errors() {
  const fails = async (kind, expected, ask, key = apiKey) => {
    const other = new OpenAI({ baseURL, apiKey: key, maxRetries: 0 });
    const asked = { model: "sim/one", messages: says("hi"), ...ask };
    const failure = await other.chat.completions.create(asked).then(
      () => assert.fail(`${JSON.stringify(ask)} did not fail`),
      (failure) => failure,
    );
    assert(failure instanceof kind, String(failure));
    assert.deepEqual([failure.status, failure.code, failure.param], expected);
  };
  await fails(OpenAI.AuthenticationError, [401, "invalid_api_key", null], {}, "wrong");
  await fails(OpenAI.NotFoundError, [404, "model_not_found", "model"], { model: "nobody/nothing" });
  await fails(OpenAI.BadRequestError, [400, "unsupported_value", "n"], { n: 2 });
  await fails(OpenAI.BadRequestError, [400, "invalid_type", "messages"], { messages: "hi" });
  await fails(OpenAI.InternalServerError, [502, "model_failed", null], { messages: says("refuse") });
}

async function hangUp() {
  const stream = await create({ messages: says("endless"), stream: true });
  let heard = 0;
  for await (const chunk of stream) {
    if (chunk.choices[0].delta.content && ++heard === 3) break;
  }
}

(async () => {
  for (const step of [models, chat, stream, clientTools, runTools, session, errors, hangUp]) {
    await step();
    console.log("well:", step.name);
  }
  console.log("all well");
})().catch((failure) => {
  console.error(failure);
  process.exit(1);
});

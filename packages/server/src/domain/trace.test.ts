import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { attemptSpan, executionSpan, keptTraceparent, spanContextOf, traceparentOf } from "./trace.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const EXECUTION = "019a2b7c-4d01-7a3e-8f00-9c1d2e3f4a5b";
const RUN = "019a2b7c-4d01-7a3e-8f00-1c1d2e3f4a5b";

describe("a traceparent", () => {
  it("is kept in the form of version 00, with the flag that says whether the trace is recorded", () => {
    assert.equal(keptTraceparent(`00-${TRACE}-${SPAN}-01`), `00-${TRACE}-${SPAN}-01`);
    assert.equal(keptTraceparent(`00-${TRACE}-${SPAN}-02`), `00-${TRACE}-${SPAN}-00`);
    assert.equal(keptTraceparent(` 00-${TRACE}-${SPAN}-03 `), `00-${TRACE}-${SPAN}-01`);
    assert.equal(keptTraceparent(`cc-${TRACE}-${SPAN}-01-of-a-later-version`), `00-${TRACE}-${SPAN}-01`);
    assert.equal(keptTraceparent(undefined), undefined);
  });

  const wrong = {
    "an empty text": "",
    "another text": "4bf92f3577b34da6a3ce929d0e0e4736",
    "the version ff": `ff-${TRACE}-${SPAN}-01`,
    "more behind version 00": `00-${TRACE}-${SPAN}-01-more`,
    "a trace id of zeros": `00-${"0".repeat(32)}-${SPAN}-01`,
    "a span id of zeros": `00-${TRACE}-${"0".repeat(16)}-01`,
    "upper case": `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    "a short trace id": `00-${TRACE.slice(1)}-${SPAN}-01`,
    "two headers": `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  };
  for (const [name, text] of Object.entries(wrong)) {
    it(`is none: ${name}`, () => assert.equal(keptTraceparent(text), undefined));
  }
});

describe("the span of an execution", () => {
  const traceparent = `00-${TRACE}-${SPAN}-01`;

  it("is a part of the submitter's, and its attempts are parts of it", () => {
    const span = executionSpan({ executionId: EXECUTION, workflowId: null, traceparent });
    assert.deepEqual([span.traceId, span.parentId, span.isSampled], [TRACE, SPAN, true]);
    const attempts = [1, 2].map((attempt) =>
      attemptSpan({ executionId: EXECUTION, workflowId: null, traceparent }, attempt),
    );
    for (const attempt of attempts) assert.deepEqual([attempt.traceId, attempt.parentId], [TRACE, span.spanId]);
    assert.equal(new Set([span.spanId, ...attempts.map(({ spanId }) => spanId)]).size, 3);
  });

  it("begins the trace of its own id where the submitter has none", () => {
    const span = executionSpan({ executionId: EXECUTION, workflowId: null });
    assert.deepEqual([span.traceId, span.parentId, span.isSampled], [EXECUTION.replaceAll("-", ""), null, true]);
  });

  it("is a part of the run's for a node, in the trace of the run", () => {
    const run = executionSpan({ executionId: RUN, workflowId: null });
    const node = executionSpan({ executionId: EXECUTION, workflowId: RUN });
    assert.deepEqual([node.traceId, node.parentId], [run.traceId, run.spanId]);
    const traced = executionSpan({ executionId: EXECUTION, workflowId: RUN, traceparent });
    assert.deepEqual([traced.traceId, traced.parentId], [TRACE, run.spanId]);
  });

  it("is not recorded where the submitter's is not", () => {
    const traced = { executionId: EXECUTION, workflowId: null, traceparent: `00-${TRACE}-${SPAN}-00` };
    assert.equal(traceparentOf(attemptSpan(traced, 1)).slice(-3), "-00");
  });

  it("has the ids that other systems have stored", () => {
    assert.equal(executionSpan({ executionId: EXECUTION, workflowId: null }).spanId, "ae0d5c0ef5f18e88");
    assert.equal(attemptSpan({ executionId: EXECUTION, workflowId: null }, 1).spanId, "446e058b763057b7");
    const context = spanContextOf(traceparentOf(attemptSpan({ executionId: EXECUTION, workflowId: null }, 1)));
    assert.equal(context?.spanId, "446e058b763057b7");
  });
});

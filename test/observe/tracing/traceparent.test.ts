import { describe, expect, test } from "@jest/globals";
import { ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { contextOf, currentTraceparent } from "../../../src/observe/tracing/traceparent.js";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

describe("traceparent", () => {
  test.each([
    [`00-${TRACE}-${SPAN}-01`, { traceId: TRACE, spanId: SPAN, traceFlags: 1, isRemote: true }],
    [`00-${TRACE}-${SPAN}-00`, { traceId: TRACE, spanId: SPAN, traceFlags: 0, isRemote: true }],
    [undefined, undefined],
    ["", undefined],
    [`01-${TRACE}-${SPAN}-01`, undefined],
    [`00-${"0".repeat(32)}-${SPAN}-01`, undefined],
    [`00-${TRACE}-${"0".repeat(16)}-01`, undefined],
    [`00-${TRACE}-${SPAN}-01 and more`, undefined],
  ])("%s is read as %j", (text, span) => {
    expect(trace.getSpanContext(contextOf(text, ROOT_CONTEXT))).toEqual(span);
  });

  test("without a trace there is none", () => {
    expect(currentTraceparent()).toBeUndefined();
  });
});

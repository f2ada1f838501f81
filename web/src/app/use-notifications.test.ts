// @vitest-environment jsdom
import { expect, it } from "vitest";
import { noticeOf } from "./use-notifications";

it("reads what is told of a review", () => {
  const data =
    '{"type":"review.requested","run_id":"run_1","time":1.5,"review_id":"review:1","why":"Limit reached."}';
  expect(noticeOf(data)).toEqual({ type: "review.requested", run_id: "run_1", why: "Limit reached." });
});

it("leaves out what it does not know", () => {
  expect(noticeOf('{"type":"weather"}')).toBeNull();
  expect(noticeOf("[]")).toBeNull();
});

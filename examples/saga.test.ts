import assert from "node:assert/strict";
import { test } from "node:test";
import { simulate } from "@mainspring/testkit";
import { CardDeclined, receiptOf, type TravelServices, tripTasks, tripWorkflow } from "./saga.ts";

const TRIP = { traveller: "m-7", to: "Oslo", cents: 45_000 };

/** Services that write down what they are asked. */
function someServices(more: Partial<TravelServices> = {}) {
  const calls: string[] = [];
  const services: TravelServices = {
    reserve: async (what, { to }) => {
      calls.push(`reserve ${what}`);
      return { booking: `${what} to ${to}` };
    },
    cancel: async (booking) => void calls.push(`cancel ${booking}`),
    charge: async ({ cents }) => {
      calls.push("charge");
      return { receipt: `${cents} cents` };
    },
    ...more,
  };
  return { calls, services };
}

const declined = () => Promise.reject(new CardDeclined("the card was declined"));

test("a trip is booked and charged", async () => {
  const { calls, services } = someServices();
  await using m = await simulate({ tasks: Object.values(tripTasks(services)) });
  const { workflowId } = await m.client.workflows.submit(tripWorkflow(TRIP));
  await m.waitFor(workflowId);
  assert.equal(await receiptOf(m.client, workflowId), "45000 cents");
  assert.deepEqual(calls, ["reserve flight", "reserve hotel", "charge"]);
});

test("a declined card cancels the hotel and then the flight", async () => {
  const { calls, services } = someServices({ charge: declined });
  await using m = await simulate({ tasks: Object.values(tripTasks(services)) });
  const { workflowId } = await m.client.workflows.submit(tripWorkflow(TRIP));
  await m.waitFor(workflowId, "DEAD");
  assert.equal(await receiptOf(m.client, workflowId), null);
  assert.deepEqual(calls, ["reserve flight", "reserve hotel", "cancel hotel to Oslo", "cancel flight to Oslo"]);
});

test("a cancellation is tried until it gets through, and the flight waits for the hotel", async () => {
  let isDown = true;
  const { calls, services } = someServices({ charge: declined });
  const { cancel } = services;
  services.cancel = (booking, key) => (isDown ? Promise.reject(new Error("down")) : cancel(booking, key));
  await using m = await simulate({ tasks: Object.values(tripTasks(services)) });
  const { workflowId } = await m.client.workflows.submit(tripWorkflow(TRIP));
  await m.clock.advance("30 min");
  assert.deepEqual(calls, ["reserve flight", "reserve hotel"]);
  isDown = false;
  await m.waitFor(workflowId, "DEAD", { within: "1 hour" });
  assert.equal(await receiptOf(m.client, workflowId), null);
  assert.deepEqual(calls.slice(2), ["cancel hotel to Oslo", "cancel flight to Oslo"]);
});

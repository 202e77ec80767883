import assert from "node:assert/strict";
import { test } from "node:test";
import { simulate } from "@mainspring/testkit";
import { type Payments, payrollTask, schedulePayroll } from "./month-end.ts";

test("a quarter's salaries are paid at the end of each month, however often the application starts", async () => {
  const payments: Payments = new Map();
  const payroll = payrollTask(payments);
  await using m = await simulate({ tasks: [payroll], startAt: "2027-01-04T08:00:00Z" });
  const jobId = await schedulePayroll(m.client, payroll);
  await m.clock.advance("45 days");
  assert.equal(await schedulePayroll(m.client, payroll), jobId);
  await m.clock.advance("45 days");
  assert.deepEqual([...payments.keys()], ["2027-01", "2027-02", "2027-03"]);
  const paidAt: string[] = [];
  for await (const { local } of m.client.jobs.ledger(jobId)) paidAt.unshift(local);
  assert.deepEqual(paidAt, ["2027-01-29T18:00:00+01:00", "2027-02-26T18:00:00+01:00", "2027-03-31T18:00:00+02:00"]);
});

test("what fell into a pause is made up for, each month by itself", async () => {
  const payments: Payments = new Map();
  const payroll = payrollTask(payments);
  await using m = await simulate({ tasks: [payroll], startAt: "2027-01-04T08:00:00Z" });
  const jobId = await schedulePayroll(m.client, payroll);
  await m.client.jobs.pause(jobId);
  await m.clock.advance("90 days");
  assert.equal(payments.size, 0);
  await m.client.jobs.resume(jobId, { catchUp: true });
  await m.clock.advance("1 min");
  assert.deepEqual([...payments.keys()], ["2027-01", "2027-02", "2027-03"]);
});
